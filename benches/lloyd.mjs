// `npm run bench -- lloyd [cuda/f32 webgpu/f32 cpu/f32]`: what a GPU makes of codebooks. The published mode on 10,000 × 128 points with 256
// anchors, from points to centroids; and an iteration on a million × 128 with 2,048 anchors, as the difference of runs of 3 and of 103
// iterations. On the machine of the GPU, `python3 benches/torch_lloyd.py` has PyTorch's iteration.
import { performance } from "node:perf_hooks";
import { init } from "leastwise";
import { published } from "./lib/vectors.mjs";

const VLC = { method: "vlc", start: "farthest", mean: { trim: 0.1 }, temperature: 1, cooling: 0.05, learningRate: 0.2, maxIterations: 50, tolerance: 1e-3, minChanges: 1, maintenanceInterval: 20 };

/** Normal numbers, which have no clusters: an iteration takes the same time. */
function normal(length) {
  const values = new Float32Array(length);
  let state = 1;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  for (let i = 0; i < length; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform())), angle = 2 * Math.PI * uniform();
    values[i] = radius * Math.cos(angle);
    if (i + 1 < length) values[i + 1] = radius * Math.sin(angle);
  }
  return values;
}

async function timed(lw, points, options) {
  const started = performance.now();
  const found = await lw.cluster(points, options);
  return { ms: performance.now() - started, found };
}

const chosen = process.argv.slice(2).filter((word) => /^\w+\/f(32|64)$/.test(word));
const rows = Number(process.argv.find((word) => word.startsWith("--rows="))?.slice(7) ?? 1_000_000);
for (const name of chosen.length ? chosen : ["cuda/f32", "webgpu/f32"]) {
  const [backend, precision] = name.split("/");
  const lw = await init({ backend, precision });
  console.log(`${name}: ${lw.adapter ?? "CPU"}`);
  const { points, dim } = published(10_000, 128);
  for (const [label, options] of [["published", { ...VLC }], ["lloyd", { method: "lloyd", tolerance: 0 }], ["anneal", {}]]) {
    let best;
    for (let run = 0; run < 4; run++) {
      const one = await timed(lw, points, { dim, clusters: 256, ...options });
      if (run > 0 && !(best?.ms < one.ms)) best = one;
    }
    const { ms, found } = best;
    console.log(`  10,000 × 128, 256 anchors, ${label}: ${ms.toFixed(1)} ms in all, ${found.iterations.length} iterations, energy ${found.energy.toPrecision(6)} (${found.reason})`);
  }
  const many = normal(rows * 128), clusters = 2048;
  const runs = {};
  for (const maxIterations of [3, 103, 3, 103]) {
    const { ms, found } = await timed(lw, many, { dim: 128, clusters, method: "lloyd", tolerance: 0, maxIterations });
    runs[maxIterations] = Math.min(ms, runs[maxIterations] ?? Infinity);
    if (found.iterations.length !== maxIterations) throw new Error(`${found.iterations.length} iterations, where ${maxIterations} were asked for`);
  }
  const each = (runs[103] - runs[3]) / 100;
  const teraflops = (2 * rows * 128 * clusters) / each / 1e9;
  console.log(`  ${rows} × 128, ${clusters} anchors: ${each.toFixed(2)} ms an iteration, ${teraflops.toFixed(1)} TFLOP/s of assignment, the rest of an iteration counted; ${(runs[3] / 1000).toFixed(2)} s with bringing the points, choosing anchors and three iterations`);
  lw.dispose?.();
}
process.exit(0);
