// `npm run bench -- scaling`: how a Levenberg–Marquardt step grows with the instances, from 10³ to 10⁶, on every backend: springs
// in a chain, and lines that all share one parameter, whose sums go along trees.
import { column } from "leastwise";
import { median, openEngine, step } from "./lib/engine.mjs";

const SIZES = [1e3, 1e4, 1e5, 1e6];
const BACKENDS = [["cpu", "f64"], ["cpu", "f32"], ["webgpu", "f32"]];
const STEPS = 5;
/** Every step has as many inner iterations, so that steps can be compared. */
const INNER = 10;

/** |xᵢ − xᵢ₊₁| − lengthᵢ: `count` links between points in the plane. */
function chain(lw, count) {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: Float64Array.from({ length: 2 * count + 2 }, (_, k) => (k % 2 ? Math.sin(k) : 0.45 * k)) });
  const ends = Uint32Array.from({ length: 2 * count }, (_, k) => (k + 1) >> 1);
  problem.residuals("links", { over: ends, of: [x, x], data: { length: Float64Array.from({ length: count }, (_, i) => 1 + 0.1 * Math.cos(3 * i)) } },
    ([a, b], { length }) => a.sub(b).norm().sub(length));
  return problem;
}

/** (s·aᵢ − bᵢ)(s² + 1): one parameter in `count` residuals. */
function shared(lw, count) {
  const problem = lw.problem();
  const s = problem.variables("s", { shape: 1, values: [0.5] });
  const [a, b] = [1, 2].map((k) => Float64Array.from({ length: count }, (_, i) => 1 + Math.sin(k * i)));
  problem.residuals("lines", { of: [s], data: { a: column(a, 1), b: column(b, 1) } },
    ([s], { a, b }) => s.mul(a).sub(b).mul(s.square().add(1)));
  return problem;
}

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
