// # Fitting an ordinary differential equation
//
// Hares and lynxes: ẋ = αx − βxy, ẏ = δxy − γy, observed with noise at 41 times. Unknown are the four rates and the states
// at all of these times (multiple shooting; Bock 1983).
//
// - A residual is what a Runge–Kutta step from one state lacks to the next. The function runs once, so the steps
//   between two observations are a plain loop.
// - The states are unknowns of their own. So a bad guess of the rates does not send a trajectory to infinity, as it does when
//   everything is integrated from the first state.
// - `exp` of the rates' logarithms keeps them positive.
import assert from "node:assert/strict";
import { column, exp, init, vec } from "leastwise";

let state = 57721;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const truth = [1.1, 0.4, 0.4, 0.1], count = 41, gap = 0.5, steps = 4;

/** A step of the classical Runge–Kutta method: of numbers and of expressions alike. */
const rk4 = (slope, add, x, h) => {
  const k1 = slope(x), k2 = slope(add(x, k1, h / 2)), k3 = slope(add(x, k2, h / 2)), k4 = slope(add(x, k3, h));
  return [[k1, h / 6], [k2, h / 3], [k3, h / 3], [k4, h / 6]].reduce((x, [k, part]) => add(x, k, part), x);
};

const path = [[10, 5]];
for (let k = 1; k < count; k++) {
  let at = path[k - 1];
  for (let i = 0; i < 100; i++) at = rk4(([x, y]) => [truth[0] * x - truth[1] * x * y, truth[3] * x * y - truth[2] * y], (x, k, h) => x.map((v, i) => v + h * k[i]), at, gap / 100);
  path.push(at);
}
const seen = path.map((at) => at.map((v) => v * (1 + 0.05 * normal())));

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const states = problem.variables("state", { shape: 2, values: seen.flat() });
const rates = problem.variables("ln rates", { shape: 4, values: [0, -1.5, -0.5, -1.5] });
problem.residuals("dynamics", { over: path.slice(1).map((_, k) => [k, k + 1]), of: [states, states, rates], weight: 1e6 }, ([from, to, rates]) => {
  const [alpha, beta, gamma, delta] = [0, 1, 2, 3].map((k) => exp(rates.at(k)));
  const slope = ({ x, y }) => vec(alpha.mul(x).sub(beta.mul(x).mul(y)), delta.mul(x).mul(y).sub(gamma.mul(y)));
  let at = from;
  for (let i = 0; i < steps; i++) at = rk4(slope, (x, k, h) => x.add(k.mul(h)), at, gap / steps);
  return at.sub(to);
});
problem.residuals("seen", { of: [states], data: { seen: column(seen, 2), scale: column(seen.map((at) => at.map((v) => 1 / (0.05 * v))), 2) } },
  ([at], { seen, scale }) => vec(at.x.sub(seen.x).mul(scale.x), at.y.sub(seen.y).mul(scale.y)));
const report = await problem.solve();
const logarithms = await rates.read(), found = [...logarithms].map(Math.exp);
const fitted = [...await states.read()];
const marginals = await problem.marginals({ variance: 1 });
const errors = await marginals.standardErrors(rates);       // of logarithms: relative
marginals.dispose();
lw.dispose();

assert.ok(report.converged, report.reason);
for (const [k, value] of found.entries()) {
  assert.ok(Math.abs(Math.log(value / truth[k])) < 3 * errors[k] && errors[k] < 0.05, `rate ${k} is ${value} ± ${100 * errors[k]} %`);
}

export { fitted, found, gap, path, seen };
