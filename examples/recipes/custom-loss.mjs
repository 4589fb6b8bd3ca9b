// # A loss of your own: Student's t
//
// Noise with heavy tails: the loss is the negative log likelihood of Student's t distribution, ρ(s) = νσ² ln(1 + s/(νσ²)).
// It is scaled so that ρ(s) ≈ s near 0.
//
// - `loss(f, parameters)`: f gets s = ‖r‖² and the parameters as expressions. It is traced and differentiated twice.
// - Parameters are data: `term.set({ loss: … })` changes them, and compiles nothing.
// - A loss has ρ(0) = 0 and rises. What it does beyond its inflection decides the influence of outliers.
import assert from "node:assert/strict";
import { init, log1p, loss } from "leastwise";

const student = (nu, sigma) => loss((s, { nu, sigma }) => {
  const scale = nu.mul(sigma.square());
  return log1p(s.div(scale)).mul(scale);
}, { nu, sigma });

let state = 16028056;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
const t = Float64Array.from({ length: 80 }, (_, k) => k / 8);
// Noise of the distribution t with two degrees of freedom, whose variance is infinite.
const y = t.map((t) => 1 + 0.6 * t + (0.3 * normal()) / Math.sqrt((normal() ** 2 + normal() ** 2) / 2));

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const line = problem.variables("line", { shape: { a: 1, b: 1 }, values: [0, 0] });
const term = problem.residuals("line", { of: [line], data: { t, y }, loss: student(1e6, 0.3) }, ([{ a, b }], { t, y }) => b.mul(t).add(a).sub(y));
await problem.solve();
const squares = [...await line.read()];                     // of very large ν: least squares
term.set({ loss: student(2, 0.3) });
const report = await problem.solve();
const robust = [...await line.read()];
lw.dispose();

// The gradient of the log likelihood is 0, by plain arithmetic.
const slopes = [0, 0];
t.forEach((t, k) => {
  const r = robust[0] + robust[1] * t - y[k], influence = r / (1 + (r * r) / (2 * 0.3 ** 2));
  slopes[0] += influence;
  slopes[1] += influence * t;
});
assert.ok(report.converged, report.reason);
assert.ok(slopes.every((slope) => Math.abs(slope) < 1e-5), `${slopes}`);
const error = (line) => Math.max(...[0, 10].map((t) => Math.abs(line[0] + line[1] * t - (1 + 0.6 * t))));
assert.ok(error(robust) < 0.25 && error(robust) < error(squares), `${error(squares)} by least squares, ${error(robust)}`);

export { robust, squares, t, y };
