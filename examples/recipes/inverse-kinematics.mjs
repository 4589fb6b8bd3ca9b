// # Inverse kinematics with joint limits
//
// An arm of six links reaches for a moving target. Joints have limits, and prefer to be straight.
//
// - The row of all joints is one slot, `joint.rows(…)`: the function gets an array of six angles and loops over it.
// - `bound` holds limits exactly, by projection; it is no penalty.
// - The target is data. Every frame edits it and solves from the last pose.
import assert from "node:assert/strict";
import { column, cos, init, sin, vec } from "leastwise";

const links = 6, reach = 0.5, limit = 0.9;
const targets = Array.from({ length: 24 }, (_, k) => [1.6 + 0.7 * Math.cos(0.26 * k), 0.9 + 0.8 * Math.sin(0.26 * k)]);

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const joint = problem.variables("joint", { shape: 1, values: new Float64Array(links).fill(0.1) });
joint.bound({ lower: -limit, upper: limit });
const hand = problem.residuals("hand", { of: [joint.rows({ offsets: [0, links], indices: [0, 1, 2, 3, 4, 5] })], data: { target: column(targets[0], 2) } }, ([joints], { target }) => {
  let angle = joints[0], tip = vec(cos(angle), sin(angle)).mul(reach);
  for (const joint of joints.slice(1)) {
    angle = angle.add(joint);
    tip = tip.add(vec(cos(angle), sin(angle)).mul(reach));
  }
  return tip.sub(target);
});
problem.residuals("straight", { of: [joint], weight: 1e-6 }, ([angle]) => angle);
const solver = problem.solver();
const poses = [];
for (const target of targets) {
  hand.set({ target: column(target, 2) });
  await solver.solve();
  poses.push([...await joint.read()]);
}
lw.dispose();

/** Places of all joints and of the hand, by plain arithmetic. */
const armOf = (angles) => {
  let angle = 0, at = [0, 0];
  return [at, ...angles.map((joint) => {
    angle += joint;
    return (at = [at[0] + reach * Math.cos(angle), at[1] + reach * Math.sin(angle)]);
  })];
};
const arms = poses.map(armOf);
for (const [k, arm] of arms.entries()) {
  assert.ok(Math.hypot(arm[links][0] - targets[k][0], arm[links][1] - targets[k][1]) < 1e-3, `frame ${k}`);
  assert.ok(poses[k].every((angle) => Math.abs(angle) <= limit), `limits of frame ${k}`);
}
assert.ok(poses.flat().some((angle) => Math.abs(angle) === limit), "some joint comes to its limit");

export { arms, targets };
