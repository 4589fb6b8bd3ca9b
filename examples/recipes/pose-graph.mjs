// # Pose graph with loop closures
//
// A robot drives three rounds of a square. Odometry drifts; places that it visits again close loops.
// Each edge says where pose j lies in the frame of pose i.
//
// - `se2` composes: `a.inverse().mul(b)` is b seen from a. Its rotation `r` has an `angle()`, an ordinary scalar of the residual.
// - Information enters by `weight`, or by multiplying rows of the residual, as the angle's here.
// - `linear: "auto"` takes dense Cholesky for so few unknowns and sparse Cholesky for large graphs.
import assert from "node:assert/strict";
import { column, init, se2 } from "leastwise";

let state = 987654;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

/** a · b and a⁻¹ · b of rigid motions [angle, x, y]. */
const times = (a, b) => [a[0] + b[0], a[1] + Math.cos(a[0]) * b[1] - Math.sin(a[0]) * b[2], a[2] + Math.sin(a[0]) * b[1] + Math.cos(a[0]) * b[2]];
const from = (a, b) => {
  const [x, y] = [b[1] - a[1], b[2] - a[2]];
  return [b[0] - a[0], Math.cos(a[0]) * x + Math.sin(a[0]) * y, Math.cos(a[0]) * y - Math.sin(a[0]) * x];
};
const noisy = (pose) => [pose[0] + ANGLE * normal(), pose[1] + PLACE * normal(), pose[2] + PLACE * normal()];
const ANGLE = 0.02, PLACE = 0.03;

const truth = [[0, 0, 0]];
for (let k = 1; k <= 120; k++) truth.push(times(truth[k - 1], [k % 10 ? 0 : Math.PI / 2, 0.5, 0]));
const odometry = truth.slice(1).map((pose, k) => noisy(from(truth[k], pose)));
const driven = odometry.reduce((poses, step) => [...poses, times(poses.at(-1), step)], [truth[0]]);
const over = [], steps = [];
for (let k = 0; k < 120; k++) { over.push([k, k + 1]); steps.push(odometry[k]); }
for (let k = 0; k + 40 <= 120; k += 5) { over.push([k, k + 40]); steps.push(noisy(from(truth[k], truth[k + 40]))); }

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const pose = problem.variables("pose", { shape: se2, values: driven.flatMap(([p, x, y]) => [Math.cos(p), Math.sin(p), x, y]) });
pose.fix([0]);
problem.residuals("steps", { over, of: [pose, pose], data: { step: column(steps.flatMap(([p, x, y]) => [Math.cos(p), Math.sin(p), x, y]), se2) }, weight: 1 / PLACE ** 2 },
  ([a, b], { step }) => {
    const error = step.inverse().mul(a.inverse().mul(b));
    return [error.r.angle().mul(PLACE / ANGLE), error.t];
  });
const report = await problem.solve();
const values = await pose.read();
lw.dispose();

const solved = truth.map((_, k) => [Math.atan2(values[4 * k + 1], values[4 * k]), values[4 * k + 2], values[4 * k + 3]]);
const off = (poses) => Math.max(...poses.map(([, x, y], k) => Math.hypot(x - truth[k][1], y - truth[k][2])));
assert.ok(report.converged, report.reason);
assert.ok(off(solved) < 0.25 * off(driven) && off(solved) < 0.3, `${off(driven)} before, ${off(solved)} after`);
// Chi-squared: 3 rows an edge, 3 unknowns a pose but the first.
const freedom = 3 * over.length - 360;
assert.ok(Math.abs((2 * report.cost) / freedom - 1) < 0.6, `${2 * report.cost} of ${freedom}`);

export { driven, over, solved, truth };
