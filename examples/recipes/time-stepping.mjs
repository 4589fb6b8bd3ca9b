// # Time stepping: cloth with two steps a frame
//
// A sheet of 15 × 15 points swings, and its frames are computed without waiting: `advance` makes two steps for each, and
// `copyFrom` hands the values of a frame on to the next one on the device. Nothing is read back.
//
// - Springs are residuals ‖a − b‖ − L with **`curvature: "full"`**: their steps take the exact Hessian of ½k(‖a − b‖ − L)², projected
//   to be semidefinite. It has the stiffness across a stretched spring, which JᵀJ lacks.
// - `ahead.copyFrom([[2, x], [-1, last]])` is 2xₙ − xₙ₋₁, where inertia leads. **Steps start there**, too (`x.copyFrom(ahead)`): two
//   of them suffice then.
// - `forcing: 1e-3` has each step solve its linear system well, since there are only two.
// - The reference solves each frame by up to 25 steps with a sparse factor. Without the curvature the same loop shows
//   another cloth, one that hardly falls.
import assert from "node:assert/strict";
import { init } from "leastwise";

const side = 15, gap = 1 / (side - 1), mass = 1 / side ** 2, h = 1 / 60, stiffness = 100, frames = 100;
const at = (i, j) => i * side + j;
const over = [], length = [];
for (let i = 0; i < side; i++) {
  for (let j = 0; j < side; j++) {
    for (const [di, dj] of [[0, 1], [1, 0], [1, 1], [1, -1]]) {
      if (i + di >= side || j + dj < 0 || j + dj >= side) continue;
      over.push([at(i, j), at(i + di, j + dj)]);
      length.push(gap * Math.hypot(di, dj));
    }
  }
}
const rest = Float64Array.from({ length: 3 * side * side }, (_, k) => [(Math.floor(k / 3) % side) * gap, 0, Math.floor(k / 3 / side) * gap][k % 3]);

/** The lowest point of every frame, with steps made by `frame`. */
async function swing(lw, curvature, options, frame) {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 3, values: rest });
  const last = problem.constants("last", { shape: 3, values: rest }), ahead = problem.constants("ahead", { shape: 3, values: rest });
  problem.residuals("springs", { over, of: [x, x], data: { length: Float64Array.from(length) }, weight: stiffness, curvature },
    ([a, b], { length }) => a.sub(b).norm().sub(length));
  problem.residuals("inertia", { of: [x, ahead], data: { fall: [0, -9.81 * h * h, 0] }, weight: mass / h ** 2 },
    ([p, ahead], { fall }) => p.sub(ahead).sub(fall));
  x.fix([at(0, 0), at(0, side - 1)]);
  const solver = problem.solver(options);
  await solver.report();                                   // on a GPU: kernels are compiled before the first frame
  const lows = [];
  for (let k = 0; k < frames; k++) {
    ahead.copyFrom([[2, x], [-1, last]]);                  // 2xₙ − xₙ₋₁
    last.copyFrom(x);                                      // xₙ
    x.copyFrom(ahead);                                     // where the steps start
    await frame(solver);
    // A page would draw x.buffer instead: here the values are looked at.
    lows.push((await x.read()).reduce((low, y, k) => (k % 3 === 1 ? Math.min(low, y) : low), Infinity));
  }
  problem.dispose();
  return lows;
}

const lw = await init({ backend: "cpu" });
const twoSteps = (solver) => solver.advance({ iterations: 2, budgetMs: Infinity });
const reference = await swing(lw, "full", { method: "newton", linear: "sparse-cholesky", maxIterations: 25, costTolerance: 1e-10 }, (solver) => solver.solve());
const full = await swing(lw, "full", { method: "newton", forcing: 1e-3 }, twoSteps);
const half = await swing(lw, "gauss-newton", { method: "lm", forcing: 1e-3 }, twoSteps);
lw.dispose();

const off = (lows) => Math.max(...lows.slice(19).map((low, k) => Math.abs(low / reference[k + 19] - 1)));
assert.ok(off(full) < 0.02, `off by ${100 * off(full)} %`);
assert.ok(off(half) > 0.2, `off by ${100 * off(half)} %`);

export { frames, full, half, reference };
