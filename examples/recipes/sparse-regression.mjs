// # Sparse regression (lasso)
//
// Of 30 features only four matter: minimise ½‖Ax − b‖² + λ‖x‖₁ (Tibshirani 1996).
//
// - |x| has a kink, at which Newton's model is wrong. So x = u − v with u, v ≥ 0, and λ‖x‖₁ becomes the linear energy
//   λ(u + v). Limits hold the zeros exactly.
// - Residuals and energies mix in one problem. The weight of the energy is λ, and can be edited: a path of solutions
//   compiles nothing anew.
// - Optimality is checked by plain arithmetic: |Aᵀ(Ax − b)| = λ where x ≠ 0, and at most λ elsewhere.
import assert from "node:assert/strict";
import { column, init } from "leastwise";

let state = 16180;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const features = 30, truth = new Float64Array(features);
for (const [k, value] of [[2, 1.5], [9, -1], [17, 0.7], [24, -0.5]]) truth[k] = value;
const A = Array.from({ length: 60 }, () => Array.from({ length: features }, normal));
const b = Float64Array.from(A, (row) => row.reduce((sum, v, k) => sum + v * truth[k], 0) + 0.1 * normal());

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const zeros = new Float64Array(features);
const u = problem.variables("u", { shape: features, values: zeros }), v = problem.variables("v", { shape: features, values: zeros });
for (const part of [u, v]) part.bound({ lower: 0 });
problem.residuals("fit", { of: [u, v], data: { row: column(A, features), b } }, ([u, v], { row, b }) => row.dot(u.sub(v)).sub(b));
const sparse = problem.energy("sparse", { of: [u, v], data: { ones: new Array(features).fill(1) }, weight: 1 }, ([u, v], { ones }) => ones.dot(u.add(v)));

const path = [];
const solver = problem.solver({ costTolerance: 1e-14 });
for (const lambda of [40, 20, 10, 5, 2, 0.5, 0.1]) {
  sparse.set({ weight: lambda });
  await solver.solve();
  const [plus, minus] = [await u.read(), await v.read()];
  path.push({ lambda, x: [...plus].map((value, k) => value - minus[k]) });
}
lw.dispose();

for (const { lambda, x } of path) {
  const residual = A.map((row, i) => row.reduce((sum, value, k) => sum + value * x[k], 0) - b[i]);
  for (const [k, value] of x.entries()) {
    const slope = A.reduce((sum, row, i) => sum + row[k] * residual[i], 0);
    if (value !== 0) assert.ok(Math.abs(slope + lambda * Math.sign(value)) < 1e-4 * lambda + 1e-6, `λ = ${lambda}, x[${k}] = ${value}: slope ${slope}`);
    else assert.ok(Math.abs(slope) < lambda * (1 + 1e-4), `λ = ${lambda}, x[${k}] = 0: slope ${slope}`);
  }
}
const support = ({ x }) => x.flatMap((value, k) => (value === 0 ? [] : [k]));
assert.deepEqual(support(path[1]), [2, 9, 17, 24]);
assert.ok(support(path.at(-1)).length > 4, "a small λ lets noise in");

export { path, truth };
