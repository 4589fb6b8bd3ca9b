// # Developable surface
//
// A paper can be bent into a surface if its Gaussian curvature is 0 everywhere: if the angles around every inner vertex
// sum to 2π. A doubly curved sheet is bent as little as possible until that holds.
//
// - `over` has seven columns: a vertex, and its six neighbours in order. `x` stands for all seven.
// - `angleBetween` is exact for small and large angles alike. (acos of a dot product is not.)
// - The angle defect is a *constraint*, met by the augmented Lagrangian.
// - The cost is that of changing edges' vectors, so that neighbours move alike, and a little of moving at all.
// - No angle defect is no promise of smoothness: a sheet so coarse may crease. Add a bending energy where that matters.
import assert from "node:assert/strict";
import { angleBetween, init, sum } from "leastwise";

const rows = 9, columns = 17, at = (i, j) => i * columns + j;
const start = Array.from({ length: rows * columns }, (_, v) => {
  const [x, y] = [(v % columns) / (columns - 1) - 0.5, (Math.floor(v / columns) / (rows - 1) - 0.5) * 0.5];
  return [x, y, 0.35 - 0.9 * x * x - 0.7 * y * y];
});
const triangles = [], rings = [], edges = [];
for (let i = 0; i < rows; i++) {
  for (let j = 0; j < columns; j++) {
    if (i < rows - 1 && j < columns - 1) triangles.push(at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i, j), at(i + 1, j + 1), at(i + 1, j));
    if (i < rows - 1) edges.push([at(i, j), at(i + 1, j)]);
    if (j < columns - 1) edges.push([at(i, j), at(i, j + 1)]);
    if (i > 0 && j > 0 && i < rows - 1 && j < columns - 1) rings.push([at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j), at(i, j - 1), at(i - 1, j - 1), at(i - 1, j)]);
  }
}

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const x = problem.variables("x", { shape: 3, values: start });
problem.constrain("flat", { over: rings, of: [x, x, x, x, x, x, x], to: "=0" }, ([v, ...ring]) => {
  const spokes = ring.map((p) => p.sub(v));
  return sum(spokes.map((spoke, k) => angleBetween(spoke, spokes[(k + 1) % 6]))).sub(2 * Math.PI);
});
const at0 = problem.constants("start", { shape: 3, values: start.flat() });
problem.residuals("alike", { over: edges, of: [x, x, at0.at(0), at0.at(1)] }, ([a, b, a0, b0]) => a.sub(b).sub(a0.sub(b0)));
problem.residuals("close", { of: [x, at0], weight: 1e-3 }, ([x, x0]) => x.sub(x0));
const report = await problem.solve({ feasibilityTolerance: 1e-7, maxIterations: 100 });
const values = await x.read();
lw.dispose();

const bent = start.map((_, v) => [...values.slice(3 * v, 3 * v + 3)]);
/** 2π minus the angles around each inner vertex, by plain arithmetic. */
const defects = (points) => rings.map(([v, ...ring]) => 2 * Math.PI - ring.reduce((total, _, k) => {
  const [a, b] = [ring[k], ring[(k + 1) % 6]].map((w) => points[w].map((value, axis) => value - points[v][axis]));
  return total + Math.acos(a.reduce((dot, value, axis) => dot + value * b[axis], 0) / (Math.hypot(...a) * Math.hypot(...b)));
}, 0));
const largest = (points) => Math.max(...defects(points).map(Math.abs));
assert.ok(report.converged, report.reason);
assert.ok(largest(start) > 3e-3 && largest(bent) < 1e-6, `${largest(start)} before, ${largest(bent)} after`);
const moved = Math.max(...bent.map((p, v) => Math.hypot(...p.map((value, axis) => value - start[v][axis]))));
assert.ok(moved < 0.15, `a point moved by ${moved}`);

export { bent, defects, start, triangles };
