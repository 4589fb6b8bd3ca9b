// # Mesh parametrisation without flips
//
// A dome is flattened: first to a disc by Tutte's embedding, then to the minimum of the symmetric Dirichlet energy.
// The energy sums A(‖F‖² + ‖F⁻¹‖²) over triangles of area A and Jacobian F (Smith & Schaefer 2015).
//
// - Tutte's embedding is linear least squares: inner vertices are the means of their neighbours, the boundary is a circle.
//   No triangle of it is turned over, which the second energy needs as its start.
// - The energy is undefined where det F ≤ 0: `log(det)` makes it so. No step leads there, so no triangle turns over.
// - `method: "newton"` projects each triangle's Hessian. Convergence is quadratic in the end.
import assert from "node:assert/strict";
import { column, init, log, mean, reciprocal, select } from "leastwise";
import { stars } from "leastwise/mesh";

// A dome in rings: a vertex on top, and 10 rings of 30 around it.
const rings = 10, around = 30;
const points = [[0, 0, 0.9]];
for (let r = 1; r <= rings; r++) {
  for (let k = 0; k < around; k++) {
    const phi = (2 * Math.PI * k) / around, theta = (1.35 * r) / rings, wide = 1 + 0.2 * Math.sin(3 * phi);
    points.push([wide * Math.sin(theta) * Math.cos(phi), wide * Math.sin(theta) * Math.sin(phi), 0.9 * Math.cos(theta)]);
  }
}
const at = (r, k) => (r === 0 ? 0 : 1 + (r - 1) * around + (k % around));
const triangles = [];
for (let k = 0; k < around; k++) triangles.push(0, at(1, k), at(1, k + 1));
for (let r = 1; r < rings; r++) for (let k = 0; k < around; k++) triangles.push(at(r, k), at(r + 1, k), at(r + 1, k + 1), at(r, k), at(r + 1, k + 1), at(r, k + 1));

// Every triangle laid flat: the inverse of [edge, edge], and its area.
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const inverse = [], areas = [];
for (let t = 0; t < triangles.length; t += 3) {
  const [a, b, c] = [0, 1, 2].map((k) => points[triangles[t + k]]), [e, f] = [b, c].map((p) => p.map((v, k) => v - a[k]));
  const along = Math.sqrt(dot(e, e)), x = dot(e, f) / along, y = Math.sqrt(dot(f, f) - x * x);
  inverse.push([1 / along, -x / (along * y), 0, 1 / y]);
  areas.push((along * y) / 2);
}

const lw = await init({ backend: "cpu" });
const tutte = lw.problem();
const disc = tutte.variables("disc", { shape: 2, values: points.flatMap(([x, y]) => [x, y]) });
const rim = Array.from({ length: around }, (_, k) => at(rings, k));
disc.write(rim.flatMap((_, k) => [1.4 * Math.cos((2 * Math.PI * k) / around), 1.4 * Math.sin((2 * Math.PI * k) / around)]), { at: rim });
disc.fix(rim);
tutte.residuals("harmonic", { of: [disc, disc.rows(stars(triangles, points.length))] }, ([p, star]) => mean(star).sub(p));
await tutte.solve();
const start = await disc.read();

const problem = lw.problem();
const uv = problem.variables("uv", { shape: 2, values: start });
uv.fix([0]);                                                // it may still turn: damping takes care of that
problem.energy("symmetric Dirichlet", { over: triangles, of: [uv, uv, uv], data: { inverse: column(inverse, 4) }, weight: Float64Array.from(areas) }, ([a, b, c], { inverse }) => {
  const [e, f] = [b.sub(a), c.sub(a)];
  const [u, v] = [e.mul(inverse.x), e.mul(inverse.y).add(f.mul(inverse.w))];
  const det = u.cross(v), squared = u.normSq().add(v.normSq());
  return select(det.gt(0), squared.mul(reciprocal(det.square()).add(1)), log(det));
});
const report = await problem.solve({ method: "newton", costTolerance: 1e-10, maxIterations: 100 });
const flat = await uv.read();
lw.dispose();

/** Area of a triangle in the plane over that on the dome. */
const scales = (uv) => areas.map((area, t) => {
  const [a, b, c] = [0, 1, 2].map((k) => uv.subarray(2 * triangles[3 * t + k]));
  return ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / (2 * area);
});
const least = 4 * areas.reduce((sum, area) => sum + area);  // of an isometry
assert.ok(report.converged, report.reason);
assert.ok(scales(start).every((scale) => scale > 0) && scales(flat).every((scale) => scale > 0), "a triangle is turned over");
assert.ok(report.cost < 1.2 * least && report.cost < 0.7 * report.initialCost, `${report.initialCost} to ${report.cost}, at least ${least}`);
assert.ok(Math.max(...scales(flat)) / Math.min(...scales(flat)) < 3);

export { flat, points, scales, start, triangles };
