// `LEASTWISE_DATA=… npm run bench -- bundle [cuda/f64 cuda/f32 webgpu/f32 cpu/f64]`: bundle adjustment of BAL's problem-16-22106 with
// defaults, until the cost is at most 1.8034e4; the second of two solves, whose kernels the process has, and the first.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { init } from "leastwise";
import { bundle as built, readBal } from "../problems/bundle.mjs";

const LEVEL = 1.8034e4;

export async function bundle(chosen) {
  const name = "bal/problem-16-22106-pre.txt.gz", folder = process.env.LEASTWISE_DATA;
  const path = folder && join(folder, name);
  if (!path || !existsSync(path)) throw new Error(`LEASTWISE_DATA must name a folder that has ${name}; it is ${folder ?? "not set"}.`);
  const data = readBal(path);
  const rows = [];
  for (const backend of chosen.length ? chosen : ["cpu/f64"]) {
    const [kind, precision] = backend.split("/");
    for (const which of ["first", "second"]) {
      const lw = await init({ backend: kind, ...(kind !== "webgpu" && { precision }) });
      const started = performance.now();
      const { problem } = built(lw, data);
      let reached;
      const report = await problem.solve({ maxIterations: 100, onIteration: ({ cost }) => { if (cost <= LEVEL) reached ??= performance.now() - started; } });
      const ms = performance.now() - started;
      const inner = report.iterations.reduce((sum, { innerIterations }) => sum + innerIterations, 0);
      console.log(`${backend}, ${which} solve: ${reached === undefined ? "MISSED" : `${reached.toFixed(1)} ms`} to ${LEVEL}, ${ms.toFixed(1)} ms in all (structure and layout included); ${report.linear}, ${report.iterations.length} steps, ${inner} inner iterations, cost ${report.cost}; ${report.termination}`);
      rows.push({ backend, which, reached, ms, linear: report.linear, steps: report.iterations.length, inner, cost: report.cost });
      lw.dispose();
    }
  }
  console.log(`\n${JSON.stringify(rows)}`);
}
