// Driving the engine for a benchmark: below the façade, so that nothing but the engine is timed.
import { init } from "leastwise";

/** An engine, with the time that WebGPU's synchronous calls for kernels take. */
export async function openEngine({ backend, precision }) {
  const lw = await init({ backend, precision });
  const kernels = { ms: 0 };
  for (const name of ["createShaderModule", "createComputePipeline", "createComputePipelineAsync", "createBindGroupLayout", "createPipelineLayout"]) {
    const original = lw.device?.[name];
    if (!original) continue;
    lw.device[name] = (...args) => {
      const started = performance.now();
      try {
        return original.apply(lw.device, args);
      } finally {
        kernels.ms += performance.now() - started;
      }
    };
  }
  return { lw, native: lw.native, kernels };
}

/** Runs a task to its end without pauses. */
export async function finish(native, task) {
  for (;;) {
    const progress = native.resume(task, Infinity);
    if (progress.state === "done") return progress;
    if (progress.state === "waiting") await progress.ready;
    if (progress.state === "iteration") finish.last = progress.iteration;
  }
}

/** One Levenberg–Marquardt step: its numbers and its wall time. */
export async function step(native, solver) {
  const started = performance.now();
  await finish(native, native.solve(solver, "step"));
  return { ...finish.last, wallMs: performance.now() - started };
}

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length % 2 ? sorted[(sorted.length - 1) / 2] : (sorted[sorted.length / 2 - 1] + sorted[sorted.length / 2]) / 2;
};

/**
 * Median and least milliseconds of one repetition. A sample has as many repetitions as fill `sampleMs`; there are
 * as many samples as fill `budgetMs`, and three at least.
 */
export async function timed(begin, native, { sampleMs, warmMs, budgetMs }) {
  const once = async (repeats) => (await finish(native, begin(repeats))).values[0];
  // V8 compiles wasm twice, the second time well and only what has run for a while.
  const started = performance.now();
  let repeats = 1;
  do {
    const ms = await once(repeats);
    repeats = Math.max(1, Math.min(200, Math.round(sampleMs / Math.max(ms, 1e-3))));
  } while (performance.now() - started < warmMs);
  const taken = [];
  const sampling = performance.now();
  while (taken.length < 3 || performance.now() - sampling < budgetMs) taken.push(await once(repeats));
  // An empty submission that was held up, of all times, makes the difference to it 0.
  return { ms: median(taken), leastMs: Math.min(...taken.filter((ms) => ms > 0)), samples: taken.length, repeats };
}
