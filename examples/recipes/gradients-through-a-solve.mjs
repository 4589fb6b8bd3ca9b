// # Gradients through a solve: learning a weight
//
// A curve is smoothed by a penalty on its second differences. How strong should it be? The error on held-out observations
// is a function of the weight, through the solve; its derivative comes from the implicit function theorem.
//
// - `problem.backward([[x, ∂L/∂x]])` gives dL/d(everything that x depends on), at the price of one linear system.
// - The weight is learned by descent on its logarithm, to where the derivative is 0.
// - A derivative is checked by central differences of whole solves.
import assert from "node:assert/strict";
import { init } from "leastwise";

let state = 66260;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const count = 80;
const y = Float64Array.from({ length: count }, (_, k) => Math.sin(k / 9) + 0.5 * Math.sin(k / 4) + 0.3 * normal());
const isHeldOut = (k) => k % 4 === 2;
const all = Array.from({ length: count }, (_, k) => k), training = all.filter((k) => !isHeldOut(k)), testing = all.filter(isHeldOut);

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const x = problem.variables("x", { shape: 1, values: y });
problem.residuals("seen", { of: [x.at(training)], data: { y: Float64Array.from(training, (k) => y[k]) } }, ([x], { y }) => x.sub(y));
const smooth = problem.residuals("smooth", { over: all.slice(2).map((k) => [k - 2, k - 1, k]), of: [x, x, x], weight: 1 }, ([a, b, c]) => a.sub(b.mul(2)).add(c));
const solver = problem.solver();

/** The held-out error and its derivative with respect to ln w, at a weight of e^s; and the curve. */
async function evaluate(s, { slope = true } = {}) {
  smooth.set({ weight: Math.exp(s) });
  await solver.solve();
  const curve = await x.read();
  const error = testing.reduce((sum, k) => sum + (curve[k] - y[k]) ** 2, 0) / testing.length;
  if (!slope) return { curve, error };
  const cotangent = Float64Array.from(all, (k) => (isHeldOut(k) ? (2 * (curve[k] - y[k])) / testing.length : 0));
  const gradients = await problem.backward([[x, cotangent]]);
  return { curve, error, slope: gradients.of(smooth).weight[0] * Math.exp(s) };
}

const first = await evaluate(-1);
const [above, below] = [await evaluate(-1 + 1e-4, { slope: false }), await evaluate(-1 - 1e-4, { slope: false })];
const difference = (above.error - below.error) / 2e-4;

// Newton's method on the slope, by secants.
const steps = [{ s: -1, ...first }];
let [s, before] = [0.5, { s: -1, slope: first.slope }];
for (let k = 0; k < 12; k++) {
  const now = await evaluate(s);
  steps.push({ s, ...now });
  if (Math.abs(now.slope) < 1e-7) break;
  const curvature = (now.slope - before.slope) / (s - before.s);
  const step = curvature > 0 ? -now.slope / curvature : -Math.sign(now.slope);
  before = { s, slope: now.slope };
  s += Math.max(-1, Math.min(1, step));
}
lw.dispose();

const last = steps.at(-1);
assert.ok(Math.abs(first.slope - difference) < 1e-5 * Math.abs(difference), `${first.slope} and ${difference} by differences`);
assert.ok(Math.abs(last.slope) < 1e-6, `slope ${last.slope} after ${steps.length} steps`);
assert.ok(steps.every(({ error }) => error >= last.error - 1e-12), "no other weight that was tried is better");

export { isHeldOut, steps, y };
