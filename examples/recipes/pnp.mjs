// # Camera pose from known points (PnP)
//
// Twelve points of known position are seen by a calibrated camera: the pose is the rigid motion that projects them onto
// their pixels. Two of the matches are wrong.
//
// - `se3` moves rotation and translation together, along a screw; its step has six degrees of freedom.
// - Tukey's loss leaves wrong matches without influence. It is not convex: the first solve uses Huber's, which is.
// - `term.worst(n)` names the instances that cost most.
import assert from "node:assert/strict";
import { column, huber, init, se3, tukey } from "leastwise";

let state = 5;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const focal = 600, noise = 0.5;
const points = Array.from({ length: 12 }, () => [4 * random() - 2, 4 * random() - 2, 4 * random() - 2]);
// A turn by 0.6 about the y axis, then six units ahead.
const [cos, sin] = [Math.cos(0.6), Math.sin(0.6)], ahead = [0.3, -0.2, 6];
const pixels = points.flatMap(([x, y, z], k) => {
  const p = [cos * x + sin * z + ahead[0], y + ahead[1], cos * z - sin * x + ahead[2]];
  const wrong = k === 3 || k === 8 ? 80 : 0;
  return [(focal * p[0]) / p[2] + noise * normal() + wrong, (focal * p[1]) / p[2] + noise * normal() - wrong];
});

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const pose = problem.variables("pose", { shape: se3, values: [0, 0, 0, 1, 0, 0, 5] });
const project = (slots, { point, seen }) => {
  const p = slots[0].transform(point);
  return p.xy.div(p.z).mul(focal).sub(seen);
};
const data = { point: column(points, 3), seen: column(pixels, 2) };
const first = problem.residuals("huber", { of: [pose], data, loss: huber(3 * noise) }, project);
await problem.solve();
first.enabled = false;
const matches = problem.residuals("tukey", { of: [pose], data, loss: tukey(10 * noise) }, project);
const report = await problem.solve();
const [qx, qy, qz, qw, ...t] = await pose.read();
const worst = (await matches.worst(2)).map(({ instance }) => instance).sort((a, b) => a - b);
lw.dispose();

assert.ok(report.converged, report.reason);
assert.deepEqual(worst, [3, 8]);
assert.ok(Math.abs(2 * Math.atan2(qy, qw) - 0.6) < 0.005 && Math.hypot(qx, qz) < 0.005, "the rotation");
assert.ok(Math.hypot(...t.map((v, k) => v - ahead[k])) < 0.03, "the translation");

export { ahead, focal, pixels, points, qw, qx, qy, qz, t, worst };
