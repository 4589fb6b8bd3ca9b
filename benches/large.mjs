// `npm run bench -- large [cuda/f64 cuda/f32 webgpu/f32 cpu/f64] [--springs=30000000] [--arap=10000000]`: residual and Jacobian, and a
// product of conjugate gradients, of problems far beyond any cache, as shares of what our own kernel copies on the same device in
// the same run; and the time of an inner iteration of a problem within the caches.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measure } from "./lib/measure.mjs";
import { short } from "./lib/table.mjs";
import { machine } from "./lib/machine.mjs";

const EFFORT = { sampleMs: 20, warmMs: 300, budgetMs: 1000, steps: 3 };
const LIMIT = 240;

function given(args) {
  const chosen = { springs: 3e7, arap: 1e7, backends: [] };
  for (const arg of args) {
    const [, name, value] = arg.match(/^--(springs|arap)=(\d+)$/) ?? [];
    if (name) chosen[name] = Number(value);
    else if (/^(cuda|cpu)\/f(32|64)$|^webgpu\/f32$/.test(arg)) chosen.backends.push(arg.split("/"));
    else throw new Error(`bench -- large has no "${arg}": it has backends such as cuda/f64, --springs=COUNT and --arap=COUNT`);
  }
  if (!chosen.backends.length) chosen.backends = [["cpu", "f64"], ["webgpu", "f32"]];
  return chosen;
}

/** How long a process takes until it could solve: kernels that nothing has compiled before, and again. */
async function start(backend, precision) {
  const folder = mkdtempSync(join(tmpdir(), "leastwise-"));
  const [before, times] = [process.env.LEASTWISE_CACHE, []];
  process.env.LEASTWISE_CACHE = folder;
  for (const which of ["cold", "again"]) {
    const { initMs, traceMs, pipelineMs } = await measure({ what: "arap", level: 5, backend, precision, ...EFFORT, budgetMs: 1, warmMs: 1, steps: 0 }, LIMIT);
    times.push({ which, initMs, traceMs, pipelineMs });
    console.log(`  start, ${which}: init ${initMs?.toFixed(0)} ms, trace ${traceMs?.toFixed(0)} ms, kernels ${pipelineMs?.toFixed(0)} ms`);
  }
  if (before === undefined) delete process.env.LEASTWISE_CACHE;
  else process.env.LEASTWISE_CACHE = before;
  rmSync(folder, { recursive: true });
  return { what: "start", backend, precision, times };
}

export async function large(args) {
  const { springs, arap, backends } = given(args);
  const host = machine();
  console.log(`${host.cpu}, ${host.cores} cores, ${host.memoryGiB} GiB; node ${host.node}; ${host.commit}`);
  const rows = [];
  for (const [backend, precision] of backends) {
    const { copy, cut } = await measure({ what: "copy", backend, precision, bytes: 2 ** 30, ...EFFORT }, LIMIT);
    console.log(`\n${backend} ${precision}${copy ? `, ${copy.adapter}: our copy moves ${short(copy.gbPerSecond)} GB/s (${copy.bytes / 2 ** 20} MiB)` : `: no copy, ${cut}`}`);
    // Three springs a vertex of a sheet, and six directed edges.
    const jobs = [["springs", Math.round(springs / 3)], ["arap", Math.round(arap / 6)]].map(([what, vertices]) => ({ what, vertices, backend, precision, ...EFFORT }));
    for (const job of [...jobs, { what: "arap", level: 5, backend, precision, ...EFFORT, budgetMs: 200, steps: 8 }]) {
      const measured = await measure(job, LIMIT);
      const share = ({ ms, bytes }) => `${ms.toFixed(3)} ms, ${short(bytes / ms / 1e6)} GB/s, ${copy ? ((100 * bytes) / ms / 1e6 / copy.gbPerSecond).toFixed(0) : "?"} %`;
      const { evaluation, product, iteration, residuals, memory } = measured;
      const name = job.vertices ? `${job.what}, ${job.vertices} vertices` : "arap, icosphere of 10242 vertices";
      const inner = iteration && Math.min(...iteration.steps.map((each) => (1000 * each.ms) / Math.max(each.inner, 1)));
      console.log(`  ${name}${residuals ? ` (${residuals} rows, ${(memory.live / 2 ** 30).toFixed(2)} GiB)` : ""}: r + J ${evaluation ? share(evaluation) : "–"}; product ${product ? share(product) : "–"}; ${inner ? `${inner.toFixed(1)} µs an inner iteration, at best, of a step` : "no step"}${measured.cut ? `; ${measured.cut}` : ""}`);
      rows.push({ ...job, ...measured, copy });
    }
    rows.push(await start(backend, precision));
  }
  if (rows.some((row) => row.cut?.startsWith("failed"))) process.exitCode = 1;
  console.log(`\n${JSON.stringify({ machine: host, rows })}`);
}
