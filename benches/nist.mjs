// `npm run bench -- nist [webgpu/default webgpu/f32 webgpu/mixed webgpu/f32x2 cpu/f64]`: NIST's 27 nonlinear regressions from both
// starts, with the default options: how many are found to six digits, by which precision, and how long they take. `default` is what an engine
// does that was told nothing. The files are those of the package's tests.
import { performance } from "node:perf_hooks";
import { init } from "leastwise";
import { digits, NIST, nist, readNist } from "../problems/nist.mjs";

const DIGITS = 6;

export async function regressions(chosen) {
  const results = [];
  for (const name of chosen.length ? chosen : ["webgpu/default"]) {
    const [backend, precision] = name.split("/");
    const lw = await init({ backend, ...(precision !== "default" && { precision }) });
    console.log(`\n── ${name}, ${lw.adapter}`);
    let [right, all, ms] = [0, 0, 0];
    for (const regression of NIST) {
      const file = readNist(regression);
      for (const start of [0, 1]) {
        const begun = performance.now();
        const { problem, b } = nist(lw, regression, file, start);
        const report = await problem.solve();
        const found = digits(await b.read(new Float64Array(file.certified.length)), file.certified);
        const took = performance.now() - begun;
        problem.dispose();
        [right, all, ms] = [right + (found >= DIGITS ? 1 : 0), all + 1, ms + took];
        console.log(`${found >= DIGITS ? " " : "✗"} ${regression} from start ${start + 1}: ${found.toFixed(1)} digits, ${report.iterations.length} steps, ${report.termination}, ${report.precision}, ${took.toFixed(0)} ms`);
      }
    }
    lw.dispose();
    results.push(`${name}: ${right} of ${all} to ${DIGITS} digits, ${(ms / 1000).toFixed(1)} s with what kernels take to compile`);
  }
  console.log(`\n${results.join("\n")}`);
}
