// # Non-negative least squares
//
// A measured spectrum is a mixture of eight known ones, and amounts are not negative: minimise ½‖Ax − b‖² for x ≥ 0.
//
// - All unknowns are one instance of shape 8; a row of A is one instance's data column of eight numbers.
// - `bound` holds limits by projection with an active set. What is 0 at the solution is 0 to the bit.
// - Optimality is checked by plain arithmetic: the gradient is 0 where x > 0, and not negative where x = 0.
import assert from "node:assert/strict";
import { column, init } from "leastwise";

let state = 27182;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const bands = 80, truth = [0.9, 0, 0.4, 0, 0, 0.7, 0, 0.2];
const pure = truth.map((_, k) => Array.from({ length: bands }, (_, i) => {
  const x = i / bands, peak = (centre, width) => Math.exp(-(((x - centre) / width) ** 2));
  return peak(0.08 + 0.12 * k, 0.07) + 0.6 * peak((0.55 + 0.31 * k) % 1, 0.12);
}));
const A = Array.from({ length: bands }, (_, i) => pure.map((spectrum) => spectrum[i]));
const b = A.map((row) => row.reduce((sum, v, k) => sum + v * truth[k], 0) + 0.01 * normal());

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const x = problem.variables("x", { shape: 8, values: new Float64Array(8).fill(0.5) });
x.bound({ lower: 0 });
problem.residuals("spectrum", { of: [x], data: { row: column(A, 8), b: Float64Array.from(b) } }, ([x], { row, b }) => row.dot(x).sub(b));
const report = await problem.solve();
const amounts = [...await x.read()];
lw.dispose();

const residual = A.map((row, i) => row.reduce((sum, v, k) => sum + v * amounts[k], 0) - b[i]);
const gradient = truth.map((_, k) => A.reduce((sum, row, i) => sum + row[k] * residual[i], 0));
assert.ok(report.converged, report.reason);
for (const [k, amount] of amounts.entries()) {
  assert.ok(amount >= 0 && Math.abs(amount - truth[k]) < 0.05, `amount ${k} is ${amount}`);
  assert.ok(amount > 0 ? Math.abs(gradient[k]) < 1e-8 : gradient[k] > -1e-8, `slope ${k} is ${gradient[k]}`);
}
assert.ok(amounts.filter((amount) => amount === 0).length >= 2);

export { amounts, b, pure, truth };
