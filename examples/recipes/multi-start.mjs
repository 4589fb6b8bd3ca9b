// # Many minima: several starts
//
// The frequency of a sine: the cost has a minimum near every wrong frequency as well, and a solve ends in the nearest.
//
// - `multiStart` solves from every start as if it were the only one, and leaves the variables where the best one ended.
// - Starts are drawn by a function from a seeded generator: the same seed draws the same starts.
// - A solve from a poor start ends in another minimum and reports convergence. Only its cost tells.
import assert from "node:assert/strict";
import { init, sin } from "leastwise";

let state = 91093;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
const t = Float64Array.from({ length: 60 }, (_, k) => k / 6);
const truth = { amplitude: 1.5, frequency: 4.2, phase: 0.7 };
const y = t.map((t) => truth.amplitude * Math.sin(truth.frequency * t + truth.phase) + 0.2 * normal());

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const wave = problem.variables("wave", { shape: { amplitude: 1, frequency: 1, phase: 1 }, values: [1, 1, 0] });
problem.residuals("wave", { of: [wave], data: { t, y } }, ([{ amplitude, frequency, phase }], { t, y }) => sin(frequency.mul(t).add(phase)).mul(amplitude).sub(y));
const single = await problem.solve();
const starts = await problem.multiStart({ starts: { count: 30, seed: 1, sample: (random) => [[wave, [1, 8 * random(), 6 * random() - 3]]] } });
const [amplitude, frequency, phase] = await wave.read();
lw.dispose();

assert.ok(single.converged && single.cost > 10 * starts.costs[starts.best], "one solve ends in a wrong minimum");
assert.equal(starts.costs[starts.best], Math.min(...starts.costs));
assert.ok(Math.abs(frequency - truth.frequency) < 0.03, `${frequency}`);
assert.ok(Math.abs(Math.abs(amplitude) - truth.amplitude) < 0.15, `${amplitude}`);

export { amplitude, frequency, phase, starts, t, y };
