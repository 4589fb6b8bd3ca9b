// One row, in a process of its own: nothing is warm that a user's program would find cold, and the parent can end it.
// What is measured goes to the parent at once, stage by stage.
import { performance } from "node:perf_hooks";
import { isSoftware } from "./lib/machine.mjs";
import { icosphere, sheet } from "./lib/meshes.mjs";
import { arap, springs } from "./lib/problems.mjs";
import { finish, median, openEngine, step, timed } from "./lib/engine.mjs";

const { what, backend, precision, level, vertices, bytes, steps, traceOnly, ...effort } = JSON.parse(process.argv[2]);
const send = (message) => new Promise((resolve) => { process.send(message, resolve); });
const stage = (name) => send({ stage: name });

async function copy({ lw, native }) {
  await stage("copy");
  // A GPU does not tell how large its own cache is, but none reaches 128 MiB. Its memory can be too small for eight of those.
  const wanted = backend === "cpu" || isSoftware(lw.adapter) ? bytes : Math.max(bytes, 2 ** 30);
  for (let size = wanted; ; size /= 2) {
    try {
      // What the memory can do, not what others leave of it: the least time, so that shares are rather too small.
      const { leastMs } = await timed((repeats) => native.measureCopy(size, repeats), native, effort);
      return send({ copy: { bytes: size, enough: size === wanted, ms: leastMs, gbPerSecond: (2 * size) / leastMs / 1e6, adapter: lw.adapter } });
    } catch (error) {
      if (error.code !== "out-of-memory" || size < 2 ** 20) throw error;
    }
  }
}

async function row({ lw, native, kernels }) {
  const mesh = level === undefined ? sheet(vertices) : icosphere(level);
  await stage("trace");
  const { problem, traceMs, instances } = (what === "springs" ? springs : arap)(lw, mesh);
  await send({ adapter: lw.adapter, traceMs: traceMs - kernels.ms });
  if (traceOnly) return;

  await stage("pipelines");
  const before = kernels.ms;
  const started = performance.now();
  const solver = native.solver(problem.handle, { linear: "pcg" });
  // Waits for every kernel, and hardly takes time itself.
  await finish(native, native.measureCopy(64, 1));
  await send({ pipelineMs: backend === "cpu" ? 0 : before + performance.now() - started });

  // The first step lays the problem out, without which nothing can be counted.
  await stage("first LM step");
  await step(native, solver);
  const traffic = native.traffic(solver);
  const residuals = instances.reduce((sum, count, term) => sum + count * native.describeTerm(problem.handle, term).residuals, 0);
  const { live } = lw.memory();
  await send({ traffic, residuals, memory: { live, perResidual: (live - traffic.jacobian) / residuals } });

  for (const operation of ["evaluation", "product"]) {
    await stage(operation);
    const time = await timed((repeats) => native.measure(solver, operation, repeats), native, effort);
    await send({ [operation]: { ...time, bytes: traffic[operation] } });
  }
  const taken = [];
  for (let k = 0; k < steps; k++) {
    await stage(`LM step ${k + 2}`);
    taken.push(await step(native, solver));
    const middle = median(taken.map((each) => each.wallMs));
    const typical = taken.reduce((best, each) => (Math.abs(each.wallMs - middle) < Math.abs(best.wallMs - middle) ? each : best));
    const bytes = traffic.step + typical.innerIterations * traffic.inner;
    const all = taken.map(({ wallMs, innerIterations, accepted }) => ({ ms: wallMs, inner: innerIterations, accepted }));
    await send({ iteration: { ms: typical.wallMs, inner: typical.innerIterations, bytes, steps: all } });
  }
  // Known until here: what is forgotten is freed.
  problem.dispose();
  lw.dispose();
}

try {
  const started = performance.now();
  const engine = await openEngine({ backend, precision });
  await send({ initMs: performance.now() - started });
  await (what === "copy" ? copy(engine) : row(engine));
  await send({ done: true });
  process.exit(0);
} catch (error) {
  await send({ error: `${error.code ? `${error.code}: ` : ""}${error.message ?? error}` });
  process.exit(1);
}
