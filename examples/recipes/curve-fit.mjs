// # Curve fit with a confidence band
//
// The model is y = a·exp(−t/τ) + c, observed 40 times with noise of unknown size.
// The three unknowns are one record with one instance, so all observations share it.
//
// - The covariance block of the record gives standard errors and the band: σ(t)² = gᵀΣg, with g = ∂y/∂(a, τ, c).
// - The noise is estimated from the residuals. If it is known, pass `variance: 1` and weights 1/σ².
// - The band is that of the mean. Add the variance of the noise for a prediction interval.
import assert from "node:assert/strict";
import { exp, init } from "leastwise";

// Observations: the truth and normal noise of 0.08.
let state = 20261;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
const truth = { a: 3, tau: 1.7, c: 0.5 };
const t = Float64Array.from({ length: 40 }, (_, k) => k * 0.2);
const y = t.map((t) => truth.a * Math.exp(-t / truth.tau) + truth.c + 0.08 * normal());

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const p = problem.variables("p", { shape: { a: 1, tau: 1, c: 1 }, values: [1, 1, 0] });
problem.residuals("decay", { of: [p], data: { t, y } }, ([{ a, tau, c }], { t, y }) => a.mul(exp(t.neg().div(tau))).add(c).sub(y));
const report = await problem.solve();
const [a, tau, c] = await p.read();
const covariance = await problem.covariance(p);            // 3 × 3, row by row

/** The curve and twice its standard error: a band of 95 %. */
const curve = Array.from({ length: 100 }, (_, k) => {
  const t = 0.08 * k, decay = Math.exp(-t / tau);
  const gradient = [decay, (a * t * decay) / tau ** 2, 1];
  const variance = gradient.reduce((sum, g, i) => sum + gradient.reduce((sum, h, j) => sum + g * h * covariance[3 * i + j], 0), 0);
  return { t, y: a * decay + c, band: 2 * Math.sqrt(variance) };
});
lw.dispose();

// The truth is within three standard errors of every unknown, and nearly everywhere in the band.
assert.ok(report.converged, report.reason);
for (const [k, value] of [a, tau, c].entries()) {
  assert.ok(Math.abs(value - Object.values(truth)[k]) < 3 * Math.sqrt(covariance[4 * k]));
}
const inside = curve.filter(({ t, y, band }) => Math.abs(truth.a * Math.exp(-t / truth.tau) + truth.c - y) < band);
assert.ok(inside.length > 80, `${inside.length} of 100 points`);

export { curve, t, truth, y };
