// # Cloth: implicit Euler as an energy
//
// A sheet of 11 × 11 points hangs by two corners and swings. Each frame minimises the incremental potential
// ½m‖x − x̂‖²/h² + Σ springs − m g·x (Martin et al. 2011): its minimum is the step of implicit Euler.
//
// - Springs are an *energy*, ½k(‖a − b‖ − L)², and the method is Newton's. Compression makes this energy concave; its
//   projected Hessian keeps the curvature that stretching has.
// - **As residuals** √k(‖a − b‖ − L), each solver uses JᵀJ alone. JᵀJ has no stiffness across a spring, although a stretched
//   spring has it. So Levenberg–Marquardt needs many damped steps a frame. If it is cut short, motion is slowed down in
//   a way that looks plausible and is wrong.
// - Check the balance of forces, as here: m(xₙ₊₁ − 2xₙ + xₙ₋₁)/h² = f(xₙ₊₁) for every point, by plain arithmetic.
import assert from "node:assert/strict";
import { column, init } from "leastwise";

const side = 11, gap = 1 / (side - 1), mass = 1 / side ** 2, h = 1 / 30, gravity = 9.81, stiffness = 60;
const at = (i, j) => i * side + j, count = side * side, pinned = [at(0, 0), at(0, side - 1)];
const springs = [];
for (let i = 0; i < side; i++) {
  for (let j = 0; j < side; j++) {
    for (const [di, dj] of [[0, 1], [1, 0], [1, 1], [1, -1]]) {
      if (i + di < side && j + dj >= 0 && j + dj < side) springs.push({ a: at(i, j), b: at(i + di, j + dj), length: gap * Math.hypot(di, dj) });
    }
  }
}
const rest = Float64Array.from({ length: 3 * count }, (_, k) => [(Math.floor(k / 3) % side) * gap, 0, Math.floor(k / 3 / side) * gap][k % 3]);

/** A cloth as `kind` of term, on an engine: `frame()` makes a step in time and gives the places of all points. */
function cloth(lw, kind, options) {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 3, values: rest });
  x.fix(pinned);
  const inertia = problem.residuals("inertia", { of: [x], data: { ahead: column(rest, 3) }, weight: mass / h ** 2 }, ([x], { ahead }) => x.sub(ahead));
  const over = springs.map(({ a, b }) => [a, b]), data = { length: Float64Array.from(springs, ({ length }) => length) };
  if (kind === "energy") {
    problem.energy("springs", { over, of: [x, x], data, weight: stiffness }, ([a, b], { length }) => a.sub(b).norm().sub(length).square().mul(0.5));
  } else {
    problem.residuals("springs", { over, of: [x, x], data, weight: stiffness }, ([a, b], { length }) => a.sub(b).norm().sub(length));
  }
  const solver = problem.solver(options);
  let before = rest, now = rest;
  return async () => {
    // Where inertia and gravity alone would lead: 2xₙ − xₙ₋₁ + h²g.
    const ahead = now.map((v, k) => 2 * v - before[k] - (k % 3 === 1 ? h * h * gravity : 0));
    inertia.set({ ahead: column(ahead, 3) });
    await solver.solve();
    [before, now] = [now, await x.read()];
    return now;
  };
}

/** The largest unbalanced force of a step over the weight of a point. */
function unbalanced(before, now, next) {
  const force = next.map((v, k) => (mass * (v - 2 * now[k] + before[k])) / h ** 2 + (k % 3 === 1 ? mass * gravity : 0));
  for (const { a, b, length } of springs) {
    const d = [0, 1, 2].map((k) => next[3 * a + k] - next[3 * b + k]), long = Math.hypot(...d);
    d.forEach((v, k) => {
      const pull = (stiffness * (long - length) * v) / long;
      force[3 * a + k] += pull;
      force[3 * b + k] -= pull;
    });
  }
  return Math.max(...Array.from({ length: count }, (_, i) => (pinned.includes(i) ? 0 : Math.hypot(...force.slice(3 * i, 3 * i + 3)) / (mass * gravity))));
}

const lw = await init({ backend: "cpu" });
const limits = { linear: "sparse-cholesky", maxIterations: 8, costTolerance: 1e-9 };
const run = async (kind, method) => {
  const frame = cloth(lw, kind, { ...limits, method });
  const frames = [rest, rest];
  for (let k = 0; k < 24; k++) frames.push(await frame());
  return { frames, worst: frames.slice(2).map((next, k) => unbalanced(frames[k], frames[k + 1], next)) };
};
const runs = { energy: await run("energy", "newton"), residuals: await run("residuals", "lm") };
lw.dispose();

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const off = { energy: median(runs.energy.worst), residuals: median(runs.residuals.worst) };
// Newton's steps are those of implicit Euler, to a thousandth of a point's weight; cut-short steps on residuals are off by whole weights.
assert.ok(off.energy < 5e-3, `unbalanced: ${off.energy} weights`);
assert.ok(off.residuals > 1, `unbalanced as residuals: ${off.residuals} weights`);

export { off, rest, runs, side };
