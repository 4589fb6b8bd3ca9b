// What every consumer runs: a regression that NIST has certified, a clustering and a product of tensors, which need different parts of the engine.
import { exp } from "leastwise";

// Misra1a (https://www.itl.nist.gov/div898/strd/nls/data/misra1a.shtml), from its second start.
const x = Float64Array.of(77.6, 114.9, 141.1, 190.8, 239.9, 289, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760);
const y = Float64Array.of(10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.4, 75.47, 81.78);
const start = [250, 5e-4], certified = [238.94212918, 5.5015643181e-4], squares = 0.12455138894;

/** Solves all three on an engine that `init` opens, and gives what was found as plain data. Throws where it is wrong. */
export async function run(init, options = {}) {
  const lw = await init(options);
  const problem = lw.problem();
  const limit = problem.variables("limit", { shape: 1, values: [start[0]] });
  // The unit is the start, so that f32 holds both parameters as well.
  const rate = problem.variables("rate", { shape: 1, values: [1] });
  problem.residuals("misra1a", { of: [limit, rate], data: { x, y } },
    ([limit, rate], { x, y }) => limit.mul(exp(rate.mul(x).mul(-start[1])).neg().add(1)).sub(y));
  const { cost, termination } = await problem.solve();
  const fit = { cost, termination, limit: (await limit.read())[0], rate: (await rate.read())[0] * start[1] };
  near("the cost", 2 * cost, squares, 1e-6);
  near("the limit", fit.limit, certified[0], 1e-6);
  near("the rate", fit.rate, certified[1], 1e-6);

  // Two heaps of three points each.
  const { labels } = await lw.cluster(new Float32Array([0, 0, 0, 1, 1, 0, 9, 9, 9, 8, 8, 9]), { dim: 2, clusters: 2 });
  const heaps = Array.from(labels, (label) => Number(label === labels[0]));
  if (heaps.join() !== "1,1,1,0,0,0") throw new Error(`the clusters are ${heaps}`);

  const product = Array.from(await lw.tensor([[1, 2], [3, 4]]).matmul(lw.tensor([[5, 6], [7, 8]])).read());
  if (product.join() !== "19,22,43,50") throw new Error(`the product is ${product}`);
  const { backend } = lw;
  lw.dispose();
  return { backend, ...fit, heaps, product };
}

function near(what, found, expected, tolerance) {
  if (!(Math.abs(found / expected - 1) <= tolerance)) throw new Error(`${what} is ${found}, not ${expected}`);
}
