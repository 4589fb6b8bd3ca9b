// `npm run bench -- classics [webgpu/default webgpu/f32 webgpu/mixed webgpu/f32x2 cpu/f64]`: the functions of Moré, Garbow & Hillstrom
// with the default options, from the paper's starts, and as Ceres poses 19 of them from one, ten and a hundred times those: how many
// reach a known minimum (Ceres' criterion, four digits), by which precision. `default` is what an engine does that was told nothing.
import { performance } from "node:perf_hooks";
import { init } from "leastwise";
import { AS_CERES, MORE_GARBOW_HILLSTROM, moreGarbowHillstrom, reaches } from "../problems/more-garbow-hillstrom.mjs";

const LISTS = [["the paper's", MORE_GARBOW_HILLSTROM, [1]], ["Ceres'", AS_CERES, [1, 10, 100]]];

export async function classics(chosen) {
  const results = [];
  for (const name of chosen.length ? chosen : ["cpu/f64", "webgpu/default"]) {
    const [backend, precision] = name.split("/");
    const lw = await init({ backend, ...(precision !== "default" && { precision }) });
    for (const [whose, list, scales] of LISTS) {
      console.log(`\n── ${name}, ${lw.adapter}: ${whose}`);
      let [right, all, mixed] = [0, 0, 0];
      const begun = performance.now();
      for (const entry of list) {
        for (const scale of scales) {
          const started = performance.now();
          const { problem } = moreGarbowHillstrom(lw, entry, scale);
          const found = await problem.solve().catch((error) => ({ cost: Infinity, iterations: [], termination: error.code, precision }));
          problem.dispose();
          const reached = entry.minima.some((minimum) => reaches(2 * found.cost, minimum));
          [right, all, mixed] = [right + (reached ? 1 : 0), all + 1, mixed + (found.precision === "mixed" ? 1 : 0)];
          console.log(`${reached ? " " : "✗"} ${entry.name} ×${scale}: ${2 * found.cost}, ${found.iterations.length} steps, ${found.termination}, ${found.precision}, ${(performance.now() - started).toFixed(0)} ms`);
        }
      }
      results.push(`${name}, ${whose}: ${right} of ${all} reach a minimum, ${mixed} in mixed precision, ${((performance.now() - begun) / 1000).toFixed(1)} s with what kernels take to compile`);
    }
    lw.dispose();
  }
  console.log(`\n${results.join("\n")}`);
}
