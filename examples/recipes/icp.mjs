// # Iterative closest point (ICP)
//
// Two scans of one curve, 0.5 rad and a shift apart. Each round pairs every point with its nearest neighbour and lowers
// the distances along the normals (point-to-plane; Chen & Medioni 1991).
//
// - The pairs are data: `term.set` changes them, and nothing is compiled again.
// - One solver serves all rounds. It keeps its buffers and its damping.
// - `se2` is a rotation and a translation of the plane: `transform(p)` is R p + t.
import assert from "node:assert/strict";
import { column, init, se2 } from "leastwise";

/** A closed curve with three lobes, and its unit normals. */
const place = (s) => [(1 + 0.25 * Math.cos(3 * s)) * Math.cos(s), (1 + 0.25 * Math.cos(3 * s)) * 1.4 * Math.sin(s)];
const scan = Array.from({ length: 300 }, (_, k) => place((2 * Math.PI * k) / 300));
const normals = scan.map((_, k) => {
  const [a, b] = [scan[(k + 299) % 300], scan[(k + 1) % 300]], [x, y] = [b[1] - a[1], a[0] - b[0]], length = Math.hypot(x, y);
  return [x / length, y / length];
});

const truth = { angle: 0.5, t: [0.2, -0.15] };
const moved = Array.from({ length: 120 }, (_, k) => {
  const [x, y] = place((2 * Math.PI * (k + 0.37)) / 120), [cos, sin] = [Math.cos(truth.angle), Math.sin(truth.angle)];
  const [u, v] = [x - truth.t[0], y - truth.t[1]];            // the motion that brings the scan back is `truth`
  return [cos * u + sin * v, cos * v - sin * u];
});

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const motion = problem.variables("motion", { shape: se2, values: [1, 0, 0, 0] });
const pairs = problem.residuals("point to plane", { of: [motion], data: { p: column(moved, 2), q: column(moved, 2), n: column(moved, 2) } },
  ([motion], { p, q, n }) => motion.transform(p).sub(q).dot(n));
const solver = problem.solver();
const rounds = [];
for (let round = 0; round < 30; round++) {
  const [cos, sin, tx, ty] = await motion.read();
  const nearest = moved.map(([x, y]) => {
    const [u, v] = [cos * x - sin * y + tx, sin * x + cos * y + ty];
    let best = 0;
    for (let k = 1; k < scan.length; k++) if (Math.hypot(scan[k][0] - u, scan[k][1] - v) < Math.hypot(scan[best][0] - u, scan[best][1] - v)) best = k;
    return best;
  });
  pairs.set({ q: column(nearest.map((k) => scan[k]), 2), n: column(nearest.map((k) => normals[k]), 2) });
  const { cost } = await solver.solve();
  rounds.push({ cost, motion: [cos, sin, tx, ty] });
  if (round > 0 && Math.abs(cost - rounds[round - 1].cost) < 1e-12) break;
}
const [cos, sin, ...t] = await motion.read();
lw.dispose();

assert.ok(Math.abs(Math.atan2(sin, cos) - truth.angle) < 2e-3, `the angle is ${Math.atan2(sin, cos)}`);
assert.ok(Math.hypot(t[0] - truth.t[0], t[1] - truth.t[1]) < 2e-3, `the shift is ${t}`);
assert.ok(rounds.at(-1).cost < 1e-3 * rounds[0].cost);

export { moved, rounds, scan };
