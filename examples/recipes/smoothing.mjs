// # Mesh smoothing with a fixed boundary
//
// A noisy surface of 21 × 21 points. Every inner point is drawn to the mean of its neighbours and to where it was measured.
//
// - `stars` gives the neighbours of every vertex as ragged rows; `x.rows(…)` makes an array of them for the function.
// - The boundary is what only one triangle has. `x.fix(boundary)` holds it to the bit.
// - All residuals are linear, so one step of Gauss–Newton is the solution.
import assert from "node:assert/strict";
import { column, init, mean } from "leastwise";
import { stars } from "leastwise/mesh";

let state = 31415;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const side = 21, last = side - 1, at = (i, j) => i * side + j;
const height = (x, z) => 0.2 * Math.sin(3 * x) * Math.cos(2.5 * z);
const truth = Array.from({ length: side * side }, (_, v) => [(v % side) / last, 0, Math.floor(v / side) / last]).map(([x, , z]) => [x, height(x, z), z]);
const triangles = [];
for (let i = 0; i < last; i++) for (let j = 0; j < last; j++) triangles.push(at(i, j), at(i + 1, j), at(i, j + 1), at(i, j + 1), at(i + 1, j), at(i + 1, j + 1));

// An edge of one triangle alone is on the boundary.
const seen = new Map();
for (let k = 0; k < triangles.length; k++) {
  const [a, b] = [triangles[k], triangles[k % 3 === 2 ? k - 2 : k + 1]].sort((a, b) => a - b);
  seen.set(`${a} ${b}`, [a, b, (seen.get(`${a} ${b}`)?.[2] ?? 0) + 1]);
}
const boundary = [...new Set([...seen.values()].filter(([, , count]) => count === 1).flatMap(([a, b]) => [a, b]))];
const isBoundary = new Set(boundary);
const inner = truth.map((_, v) => v).filter((v) => !isBoundary.has(v));
const noisy = truth.map((p, v) => (isBoundary.has(v) ? p : [p[0], p[1] + 0.03 * normal(), p[2]]));

const all = stars(triangles, truth.length);
const rows = { offsets: [0], indices: [] };                 // the stars of inner vertices alone
for (const v of inner) {
  rows.indices.push(...all.indices.subarray(all.offsets[v], all.offsets[v + 1]));
  rows.offsets.push(rows.indices.length);
}

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const x = problem.variables("x", { shape: 3, values: noisy.flat() });
x.fix(boundary);
problem.residuals("fair", { of: [x.at(inner), x.rows(rows)] }, ([x, star]) => mean(star).sub(x));
problem.residuals("measured", { of: [x.at(inner)], data: { to: column(inner.map((v) => noisy[v]), 3) }, weight: 0.02 }, ([x], { to }) => x.sub(to));
const report = await problem.solve({ method: "gauss-newton" });
const values = await x.read();
lw.dispose();

const smooth = truth.map((_, v) => [...values.slice(3 * v, 3 * v + 3)]);
const error = (points) => Math.sqrt(inner.reduce((sum, v) => sum + (points[v][1] - truth[v][1]) ** 2, 0) / inner.length);
assert.ok(report.converged, report.reason);
assert.ok(error(smooth) < 0.4 * error(noisy), `${error(noisy)} before, ${error(smooth)} after`);
for (const v of boundary) assert.deepEqual(smooth[v], noisy[v]);

export { noisy, side, smooth, triangles };
