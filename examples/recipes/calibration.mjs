// # Camera calibration from a chessboard
//
// Twelve views of a flat board of 7 × 5 corners. Unknown are the camera's focal length, principal point and two
// coefficients of radial distortion, and the pose of the board in each view (Zhang 2000).
//
// - The lens is a table of one instance, shared by all 420 observations. The index table has one column, for the views.
// - A pose is a quaternion and a translation; the quaternion's steps are rotation vectors.
// - Standard errors come from the same call as in a curve fit. `variance: 1` says that residuals are in units of noise.
import assert from "node:assert/strict";
import { column, init, quaternion } from "leastwise";

let state = 11;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const NOISE = 0.2;                                          // pixels
const truth = { f: 820, cx: 327, cy: 236, k1: -0.21, k2: 0.06 };
const board = Array.from({ length: 35 }, (_, k) => [(k % 7) - 3, Math.floor(k / 7) - 2, 0]);   // in squares
const views = Array.from({ length: 12 }, (_, k) => {
  const axis = [Math.sin(2.1 * k), Math.cos(1.3 * k), 0.3 * Math.sin(k)], angle = 0.55 + 0.1 * Math.sin(5 * k), length = Math.hypot(...axis);
  return { q: [...axis.map((v) => (v / length) * Math.sin(angle / 2)), Math.cos(angle / 2)], t: [0.8 * Math.sin(k), 0.6 * Math.cos(2 * k), 13 + Math.sin(3 * k)] };
});

/** q v q⁻¹ for a unit quaternion x, y, z, w. */
function rotate(quaternion, v) {
  const [x, y, z, w] = quaternion, [a, b, c] = v;
  const [p, q, r] = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
  return [a + w * p + y * r - z * q, b + w * q + z * p - x * r, c + w * r + x * q - y * p];
}

const pixels = views.flatMap(({ q, t }) => board.flatMap((corner) => {
  const [x, y, z] = rotate(q, corner).map((v, k) => v + t[k]);
  const [u, v] = [x / z, y / z], squared = u * u + v * v, stretch = 1 + truth.k1 * squared + truth.k2 * squared ** 2;
  return [truth.f * u * stretch + truth.cx + NOISE * normal(), truth.f * v * stretch + truth.cy + NOISE * normal()];
}));

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const view = problem.variables("view", { shape: { q: quaternion, t: 3 }, values: views.flatMap(() => [0, 0, 0, 1, 0, 0, 9]) });
const corner = problem.constants("corner", { shape: 3, values: board.flat() });
const lens = problem.variables("lens", { shape: { f: 1, centre: 2, k: 2 }, values: [700, 320, 240, 0, 0] });
problem.residuals("corners", {
  over: views.flatMap((_, i) => board.map((_, j) => [i, j])), of: { view, corner, lens },
  data: { seen: column(pixels, 2) }, weight: 1 / NOISE ** 2,
}, ({ view, corner, lens }, { seen }) => {
  const p = view.q.rotate(corner).add(view.t);
  const m = p.xy.div(p.z), squared = m.normSq();
  const stretch = squared.mul(lens.k.x).add(squared.square().mul(lens.k.y)).add(1);
  return m.mul(stretch).mul(lens.f).add(lens.centre).sub(seen);
});
const report = await problem.solve();
const found = await lens.read();
const marginals = await problem.marginals({ variance: 1 });
const errors = await marginals.standardErrors(lens);
marginals.dispose();
lw.dispose();

assert.ok(report.converged, report.reason);
// Chi-squared: 840 rows, 5 + 12 · 6 unknowns.
assert.ok(Math.abs((2 * report.cost) / (840 - 77) - 1) < 0.2, `${report.cost}`);
for (const [k, value] of found.entries()) {
  assert.ok(Math.abs(value - Object.values(truth)[k]) < 4 * errors[k], `${Object.keys(truth)[k]} is ${value} ± ${errors[k]}`);
}
assert.ok(errors[0] < 5, `the focal length is known to ${errors[0]} pixels`);

export { errors, found, pixels, truth };
