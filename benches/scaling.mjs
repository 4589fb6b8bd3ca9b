// `npm run bench -- scaling`: how a Levenberg–Marquardt step grows with the instances, from 10³ to 10⁶, on every backend: springs
// in a chain, and lines that all share one parameter, whose sums go along trees.
import { chain, shared } from "./lib/chains.mjs";
import { median, openEngine, step } from "./lib/engine.mjs";

const SIZES = [1e3, 1e4, 1e5, 1e6];
const BACKENDS = [["cpu", "f64"], ["cpu", "f32"], ["webgpu", "f32"]];
const STEPS = 5;
/** Every step has as many inner iterations, so that steps can be compared. */
const INNER = 10;

async function measure(make, count, backend, precision) {
  const { lw, native } = await openEngine({ backend, precision });
  try {
    const problem = make(lw, count);
    const solver = native.solver(problem.handle, { linear: "pcg", maxInnerIterations: INNER, forcing: 1e-12, costTolerance: 0, stepTolerance: 0, gradientTolerance: 0 });
    await step(native, solver);
    const taken = [];
    while (taken.length < STEPS) {
      const before = lw.counters().dispatches;
      const { wallMs, innerIterations } = await step(native, solver);
      taken.push({ ms: wallMs, inner: innerIterations, dispatches: lw.counters().dispatches - before });
    }
    // Known until here: what is forgotten is freed.
    problem.dispose();
    return { ms: median(taken.map(({ ms }) => ms)), inner: taken.at(-1).inner, dispatches: Math.max(...taken.map(({ dispatches }) => dispatches)) };
  } finally {
    lw.dispose();
  }
}

export async function scaling() {
  console.log("One LM step (median of five): ms, ns an instance, inner iterations, dispatches");
  for (const [what, make] of [["chain", chain], ["one parameter", shared]]) {
    for (const [backend, precision] of BACKENDS) {
      for (const count of SIZES) {
        const { ms, inner, dispatches } = await measure(make, count, backend, precision);
        console.log(`${what.padEnd(14)} ${`${backend} ${precision}`.padEnd(11)} ${String(count).padStart(8)} instances: ${ms.toFixed(2).padStart(9)} ms ${((ms * 1e6) / count).toFixed(1).padStart(9)} ns ${String(inner).padStart(3)} ${String(dispatches).padStart(5)}`);
      }
    }
  }
}
