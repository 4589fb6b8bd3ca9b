// `npm run bench -- matmul [webgpu/f32 cpu/f32 cuda/f32]`: products of matrices and attention by the tensor layer, as a program in Node has them: from the call until a number of
// the result is there, less what one small kernel takes that way. On the CPU beside the most that simd128 can do on a core. TensorFlow.js and jax-js are measured on the
// same adapter where they are installed beside this file: `npm install --no-save @tensorflow/tfjs-core @tensorflow/tfjs-backend-webgpu @jax-js/jax`.
import { performance } from "node:perf_hooks";
import { attention, init } from "leastwise";
import { simd128Peak } from "./lib/peak.mjs";

const REPEATS = 7;

async function least(work) {
  await work();
  let best = Infinity;
  for (let i = 0; i < REPEATS; i++) {
    const started = performance.now();
    await work();
    best = Math.min(best, performance.now() - started);
  }
  return best;
}

const shown = (what, n, ms) => `${what}: ${ms.toFixed(3)} ms, ${(2 * n ** 3 / ms / 1e9).toFixed(3)} TFLOP/s`;

async function leastwise(name, sizes) {
  const [backend, precision] = name.split("/");
  const lw = await init({ backend, precision });
  console.log(`leastwise, ${name}: ${lw.adapter ?? "CPU"}`);
  const peak = backend === "cpu" ? await simd128Peak() : undefined;
  if (peak) console.log(`  simd128 of one core: ${peak.toFixed(1)} GFLOP/s`);
  const random = (shape, seed) => lw.random(shape, { seed, low: -0.5, high: 0.5, distribution: "uniform" });
  const tiny = random([8], 1);
  const idle = await least(() => lw.scope(() => ({ values: tiny.exp().read() })).values);
  console.log(`  a small kernel: ${idle.toFixed(3)} ms; taken off below`);
  const share = (n, ms) => (peak ? `, ${(2 * n ** 3 / ms / 1e6 / peak).toFixed(2)} of simd128's most` : "");
  for (const products of backend === "cuda" ? ["library", "tf32", "own"] : ["own"]) {
    if (backend === "cuda") lw.tensors({ products });
    for (const n of sizes) {
      const [a, b, bias] = [random([n, n], 2), random([n, n], 3), random([n], 4)];
      await lw.evaluate(a, b, bias);
      const timed = (make) => least(() => {
        const { done } = lw.scope(() => {
          const result = make();
          return { done: Promise.all([lw.evaluate(result), result.reshape([-1]).slice([0, 1]).read()]) };
        });
        return done;
      });
      const ms = await timed(() => a.matmul(b)) - idle;
      console.log(`  ${shown(`matmul ${n}³ (${products})`, n, ms)}${share(n, ms)}`);
      const layer = await timed(() => a.matmul(b).add(bias).gelu()) - idle;
      console.log(`  ${shown(`linear + bias + GELU ${n}³ (${products})`, n, layer)}`);
      [a, b, bias].forEach((tensor) => tensor.dispose());
    }
    const [a, b] = [random([512, 512], 2), random([512, 512], 3)], count = peak || isQuick ? 4 : 100;
    await lw.evaluate(a, b);
    const chain = () => {
      let x = a;
      for (let i = 0; i < count; i++) x = x.matmul(b);
      return { values: x.sum().read() };
    };
    const ms = await least(() => lw.scope(chain).values) - idle;
    console.log(`  ${count} dependent products 512³ (${products}): ${(ms / count).toFixed(4)} ms each`);
    if (products === "tf32") continue;
    const heads = peak || isQuick ? 2 : 64, q = random([heads, 1024, 64], 5), k = random([heads, 1024, 64], 6), v = random([heads, 1024, 64], 7);
    await lw.evaluate(q, k, v);
    for (const causal of [false, true]) {
      const ms = await least(() => lw.scope(() => {
        const result = attention(q, k, v, { causal });
        return { done: Promise.all([lw.evaluate(result), result.reshape([-1]).slice([0, 1]).read()]) };
      }).done) - idle;
      console.log(`  attention ${heads} × 1024 × 64${causal ? ", causal" : ""} (${products}): ${ms.toFixed(3)} ms`);
    }
  }
  await lw.dispose?.();
}

async function webgpuGlobals() {
  const { create, globals } = await import("webgpu");
  Object.assign(globalThis, globals);
  Object.defineProperty(globalThis, "navigator", { value: { gpu: create([]), userAgent: "node" }, configurable: true });
}

async function installed(name) {
  try {
    return await import(name);
  } catch {
    console.log(`${name} is not installed: not compared`);
  }
}

async function tensorflow(sizes) {
  const tf = await installed("@tensorflow/tfjs-core");
  if (!tf || !await installed("@tensorflow/tfjs-backend-webgpu")) return;
  await tf.setBackend("webgpu");
  await tf.ready();
  console.log(`TensorFlow.js ${tf.version_core}, ${tf.getBackend()}`);
  // Of fewer than 1,000 elements, it would be done on the CPU.
  const small = tf.randomUniform([4096]);
  const idle = await least(async () => {
    const result = tf.exp(small);
    await result.data();
    result.dispose();
  });
  console.log(`  a small kernel: ${idle.toFixed(3)} ms; taken off below`);
  for (const n of sizes) {
    const [a, b] = [tf.randomUniform([n, n], -0.5, 0.5), tf.randomUniform([n, n], -0.5, 0.5)];
    await Promise.all([a.data(), b.data()]);
    const ms = await least(async () => {
      const result = tf.matMul(a, b), first = tf.slice(result, [0, 0], [1, 1]);
      await first.data();
      tf.dispose([result, first]);
    });
    console.log(`  ${shown(`matmul ${n}³`, n, ms - idle)}`);
    tf.dispose([a, b]);
  }
}

async function jaxJs(sizes) {
  const jax = await installed("@jax-js/jax");
  if (!jax) return;
  await jax.init("webgpu");
  jax.defaultDevice("webgpu");
  console.log("jax-js, webgpu");
  const small = jax.random.uniform(jax.random.key(0), [8]), one = jax.numpy.ones([1]);
  const idle = await least(async () => { await jax.numpy.exp(small.ref).data(); });
  console.log(`  a small kernel: ${idle.toFixed(3)} ms; taken off below`);
  for (const n of sizes) {
    const [a, b] = [0, 1].map((seed) => jax.random.uniform(jax.random.key(seed), [n, n]));
    await Promise.all([a.ref.blockUntilReady(), b.ref.blockUntilReady()]);
    const ms = await least(async () => {
      const result = jax.numpy.matmul(a.ref, b.ref);
      await result.blockUntilReady();
      // A readback comes after the queue's work is done, whatever "ready" means.
      await jax.numpy.exp(one.ref).data();
      result.dispose?.();
    });
    console.log(`  ${shown(`matmul ${n}³`, n, ms - idle)}`);
  }
}

const chosen = process.argv.slice(2).filter((word) => /^\w+\/f(32|64)$/.test(word));
const isQuick = process.argv.includes("--quick");
for (const name of chosen.length ? chosen : ["cpu/f32", "webgpu/f32"]) {
  const sizes = isQuick ? [128] : name.startsWith("cpu") ? [128, 512, 1024] : [512, 1024, 4096];
  await leastwise(name, sizes);
  if (!name.startsWith("webgpu")) continue;
  await webgpuGlobals();
  await tensorflow(sizes);
  await jaxJs(sizes);
}
process.exit(0);
