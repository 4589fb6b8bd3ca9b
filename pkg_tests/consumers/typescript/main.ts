// A program of one's own: what is imported is typed by the package alone.
import { exp, init, LeastwiseError, type Engine, type Report } from "leastwise";
import { edges } from "leastwise/mesh";
import { mlp } from "leastwise/nn";
import { sketch } from "leastwise/sketch";
import { formatOf } from "leastwise/vectors";
import type { ThreadedEngine } from "leastwise/threads";
import type { Binding } from "leastwise/three";
import type { init as inline } from "leastwise/inline";

export type Entries = [typeof edges, typeof mlp, typeof sketch, typeof formatOf, ThreadedEngine, Binding, typeof inline, LeastwiseError];

const x = Float64Array.of(77.6, 114.9, 141.1, 190.8, 239.9, 289, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760);
const y = Float64Array.of(10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.4, 75.47, 81.78);

export async function solve() {
  const lw: Engine = await init({ backend: "cpu" });
  const problem = lw.problem();
  const limit = problem.variables("limit", { shape: 1, values: [250] });
  const rate = problem.variables("rate", { shape: 1, values: [1] });
  problem.residuals("misra1a", { of: [limit, rate], data: { x, y } },
    ([limit, rate], { x, y }) => limit.mul(exp(rate.mul(x).mul(-5e-4)).neg().add(1)).sub(y));
  const { cost, termination }: Report = await problem.solve();
  const { labels } = await lw.cluster(new Float32Array([0, 0, 0, 1, 1, 0, 9, 9, 9, 8, 8, 9]), { dim: 2, clusters: 2 });
  const product: ArrayLike<number> = await lw.tensor([[1, 2], [3, 4]]).matmul(lw.tensor([[5, 6], [7, 8]])).read();
  return {
    backend: lw.backend, cost, termination, limit: (await limit.read())[0]!, rate: (await rate.read())[0]! * 5e-4,
    heaps: Array.from(labels, (label) => Number(label === labels[0])), product: Array.from(product),
  };
}
