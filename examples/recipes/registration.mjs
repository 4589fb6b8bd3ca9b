// # Registration where most matches are wrong
//
// 100 pairs of points, of which 75 are wrong. Least squares, and Huber's loss as well, are off by radians.
// Graduated non-convexity minimises a robust cost through a sequence of costs that begin convex.
//
// - `threshold` is the largest residual of a right match, here three standard deviations of the noise.
// - `inliers(term)` tells the right matches; `weights(term)` their weights.
// - There is no proof that the minimum is global. Wrong matches that agree with each other can win.
import assert from "node:assert/strict";
import { column, init, se3 } from "leastwise";

let state = 3;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const noise = 0.01, angle = 1.2, shift = [0.4, -0.3, 0.8];
const from = Array.from({ length: 100 }, () => [2 * random() - 1, 2 * random() - 1, 2 * random() - 1]);
const isRight = from.map((_, k) => k % 4 === 0);
const to = from.map(([x, y, z], k) => {
  const moved = [Math.cos(angle) * x - Math.sin(angle) * y, Math.sin(angle) * x + Math.cos(angle) * y, z];
  return moved.map((v, i) => (isRight[k] ? v + shift[i] + noise * normal() : 4 * random() - 2));
});

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const motion = problem.variables("motion", { shape: se3, values: [0, 0, 0, 1, 0, 0, 0] });
const matches = problem.residuals("matches", { of: [motion], data: { from: column(from, 3), to: column(to, 3) } },
  ([motion], { from, to }) => motion.transform(from).sub(to));

await problem.solve();
const [, , z, w] = await motion.read();
const plain = Math.abs(2 * Math.atan2(z, w) - angle);       // the error of least squares, in radians
const graduated = await problem.solveGraduated({ suspects: [{ term: matches, threshold: 3 * Math.sqrt(3) * noise }] });
const inliers = graduated.inliers(matches);
const [qx, qy, qz, qw, ...t] = await motion.read();
lw.dispose();

const error = Math.abs(2 * Math.atan2(qz, qw) - angle);
assert.ok(plain > 0.1, `least squares is off by ${plain}`);
assert.ok(error < 0.01 && Math.hypot(qx, qy) < 0.01, `off by ${error}`);
assert.ok(Math.hypot(...t.map((v, k) => v - shift[k])) < 0.01);
assert.deepEqual([...inliers].map(Boolean), isRight);

export { angle, from, inliers, shift, to };
