// The problems of the benchmark page: what each contender does, in sizes, and a number by which results are compared.
import { exp, grad, init } from "leastwise";
import { median, step } from "./lib/engine.mjs";
import { icosphere } from "./lib/meshes.mjs";
import { energyOf, mixture } from "./lib/mixture.mjs";
import { arap, springs } from "./lib/problems.mjs";

const LEVELS = [3, 4, 5, 6, 7], DIM = 16, CLUSTERS = 64, WIDTHS = [64, 128];

/** Numbers between −½ and ½, made of a seed. */
function random(length, seed) {
  let state = seed;
  return Float32Array.from({ length }, () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32) - 0.5);
}

/** Milliseconds of `work` by `effort`: once to warm up, then until the budget is spent, and three times at least. */
async function timed(work, { budgetMs }) {
  const check = await work(), taken = [], begun = performance.now();
  while (taken.length < 3 || (performance.now() - begun < budgetMs && taken.length < 50)) {
    const started = performance.now();
    await work();
    taken.push(performance.now() - started);
  }
  return { ms: median(taken), samples: taken.length, check };
}

let engine;
/** The engine of this worker, which has one contender. */
async function engineOf(backend, precision) {
  const lw = await (engine ??= init({ backend, ...(precision && { precision }) }));
  return { lw, about: `${lw.adapter ?? "CPU"}, ${lw.precision}` };
}

// ── a curve through observations ──

const TRUTH = [3, 1.7, 0.5];
function observations(count) {
  const noise = random(count, 7), t = Float64Array.from({ length: count }, (_, k) => (8 * k) / count);
  return { t, y: t.map((t, k) => TRUTH[0] * Math.exp(-t / TRUTH[1]) + TRUTH[2] + 0.2 * noise[k]) };
}

/** ½Σr². */
const costOf = ({ t, y }, [a, tau, c]) => t.reduce((sum, t, k) => sum + (a * Math.exp(-t / tau) + c - y[k]) ** 2, 0) / 2;

const fits = {
  async leastwise(count, effort, backend, precision) {
    const { lw, about } = await engineOf(backend, precision), data = observations(count);
    const found = await timed(async () => {
      const problem = lw.problem(), p = problem.variables("p", { shape: { a: 1, tau: 1, c: 1 }, values: [1, 1, 0] });
      problem.residuals("decay", { of: [p], data }, ([{ a, tau, c }], { t, y }) => a.mul(exp(t.neg().div(tau))).add(c).sub(y));
      await problem.solve();
      const cost = costOf(data, await p.read());
      problem.dispose();
      return cost;
    }, effort);
    return { ...found, about };
  },
  async "ml-levenberg-marquardt"(count, effort) {
    const { levenbergMarquardt } = await import("./rivals/ml-levenberg-marquardt.mjs"), data = observations(count);
    return timed(() => costOf(data, levenbergMarquardt({ x: data.t, y: data.y }, ([a, tau, c]) => (t) => a * Math.exp(-t / tau) + c, {
      initialValues: [1, 1, 0],
      // Exact, as ours is: differences are slower and less accurate.
      jacobianFunction: ([a, tau]) => (t) => { const decay = Math.exp(-t / tau); return [decay, (a * t * decay) / tau ** 2, 1]; },
      improvementThreshold: 1e-6, maxIterations: 100,
    }).parameterValues), effort);
  },
};

// ── steps on meshes ──

const steps = (make) => ({
  async leastwise(vertices, { steps }, backend, precision) {
    const { lw, about } = await engineOf(backend, precision), mesh = icosphere(Math.round(Math.log2((vertices - 2) / 10) / 2));
    const { problem } = make(lw, mesh), solver = lw.native.solver(problem.handle, { linear: "pcg" }), taken = [];
    await step(lw.native, solver);
    let last;
    for (let k = 0; k < steps; k++) taken.push((last = await step(lw.native, solver)).wallMs);
    problem.dispose();
    return { ms: median(taken), samples: taken.length, check: last.cost, about };
  },
});

// ── clustering ──

const clusterings = {
  async leastwise(count, effort, backend, precision) {
    const { lw, about } = await engineOf(backend, precision), { points, dim } = mixture(count, DIM, CLUSTERS);
    const found = await timed(async () => energyOf(points, dim, (await lw.cluster(points, { dim, clusters: CLUSTERS, method: "lloyd" })).centroids), effort);
    return { ...found, about };
  },
  async "ml-kmeans"(count, effort) {
    const { kmeans } = await import("./rivals/ml-kmeans.mjs"), { points, dim } = mixture(count, DIM, CLUSTERS);
    const rows = Array.from({ length: count }, (_, i) => [...points.subarray(i * dim, (i + 1) * dim)]);
    return timed(() => energyOf(points, dim, kmeans(rows, CLUSTERS, { seed: 1 }).centroids.flat()), effort);
  },
};

// ── tensors ──

async function tensorflow(device) {
  const tf = await import("./rivals/tfjs.mjs");
  if (!await tf.setBackend(device)) throw new Error(`TensorFlow.js has no backend "${device}" here`);
  await tf.ready();
  return { tf, about: `${tf.version_core}, ${tf.getBackend()}` };
}

async function jaxJs(device) {
  const jax = await import("./rivals/jax.mjs"), there = await jax.init(device);
  if (!there.includes(device)) throw new Error(`jax-js has no device "${device}" here`);
  jax.defaultDevice(device);
  return { jax, about: device };
}

const products = {
  async leastwise(n, effort, backend, precision) {
    const { lw, about } = await engineOf(backend, precision), [a, b] = [1, 2].map((seed) => lw.tensor(random(n * n, seed), [n, n]));
    await lw.evaluate(a, b);
    const found = await timed(async () => {
      const { done } = lw.scope(() => {
        const result = a.matmul(b);
        return { done: Promise.all([result.reshape([-1]).slice([0, 1]).item(), lw.evaluate(result)]) };
      });
      return (await done)[0];
    }, effort);
    return { ...found, about };
  },
  async "TensorFlow.js"(n, effort, device) {
    const { tf, about } = await tensorflow(device), [a, b] = [1, 2].map((seed) => tf.tensor2d(random(n * n, seed), [n, n]));
    await Promise.all([a.data(), b.data()]);
    const found = await timed(async () => {
      const result = tf.matMul(a, b), first = tf.slice(result, [0, 0], [1, 1]), [value] = await first.data();
      tf.dispose([result, first]);
      return value;
    }, effort);
    return { ...found, about };
  },
  async "jax-js"(n, effort, device) {
    const { jax, about } = await jaxJs(device), [a, b] = [1, 2].map((seed) => jax.numpy.array(random(n * n, seed), { shape: [n, n] }));
    await Promise.all([a.ref.blockUntilReady(), b.ref.blockUntilReady()]);
    const found = await timed(async () => {
      const result = jax.numpy.matmul(a.ref, b.ref);
      await result.ref.blockUntilReady();
      return (await result.slice([0, 1], [0, 1]).data())[0];
    }, effort);
    return { ...found, about };
  },
};

/** Numbers of a network of one hidden layer: mean((tanh(x·U + c)·v − y)²). */
function network(rows) {
  const [inputs, hidden] = WIDTHS;
  return { inputs, hidden, x: random(rows * inputs, 1), y: random(rows, 2), u: random(inputs * hidden, 3), c: random(hidden, 4), v: random(hidden, 5) };
}

const gradients = {
  async leastwise(rows, effort, backend, precision) {
    const { lw, about } = await engineOf(backend, precision), { inputs, hidden, ...given } = network(rows);
    const [x, y, u, c, v] = [[given.x, [rows, inputs]], [given.y, [rows, 1]], [given.u, [inputs, hidden]], [given.c, [hidden]], [given.v, [hidden, 1]]].map(([values, shape]) => lw.tensor(values, shape));
    await lw.evaluate(x, y, u, c, v);
    const found = await timed(async () => {
      const { done } = lw.scope(() => {
        const loss = x.matmul(u).add(c).tanh().matmul(v).sub(y).square().mean();
        return { done: Promise.all([loss.item(), lw.evaluate(...grad(loss, [u, c, v]))]) };
      });
      return (await done)[0];
    }, effort);
    return { ...found, about };
  },
  async "TensorFlow.js"(rows, effort, device) {
    const { tf, about } = await tensorflow(device), { inputs, hidden, ...given } = network(rows);
    const [x, y, u, c, v] = [tf.tensor2d(given.x, [rows, inputs]), tf.tensor2d(given.y, [rows, 1]), tf.tensor2d(given.u, [inputs, hidden]), tf.tensor1d(given.c), tf.tensor2d(given.v, [hidden, 1])];
    const slopes = tf.valueAndGrads((u, c, v) => tf.mean(tf.square(tf.sub(tf.matMul(tf.tanh(tf.add(tf.matMul(x, u), c)), v), y))));
    const found = await timed(async () => {
      const { value, grads } = slopes([u, c, v]), [loss] = await Promise.all([value.data(), ...grads.map((each) => each.data())]);
      tf.dispose([value, ...grads]);
      return loss[0];
    }, effort);
    return { ...found, about };
  },
  async "jax-js"(rows, effort, device) {
    const { jax, about } = await jaxJs(device), { inputs, hidden, ...given } = network(rows), np = jax.numpy;
    const [x, y, u, c, v] = [[given.x, [rows, inputs]], [given.y, [rows, 1]], [given.u, [inputs, hidden]], [given.c, [hidden]], [given.v, [hidden, 1]]].map(([values, shape]) => np.array(values, { shape }));
    const slopes = jax.jit(jax.valueAndGrad((u, c, v, x, y) => np.mean(np.square(np.matmul(np.tanh(np.matmul(x, u).add(c)), v).sub(y))), { argnums: [0, 1, 2] }));
    const found = await timed(async () => {
      const [value, each] = slopes(u.ref, c.ref, v.ref, x.ref, y.ref), [loss] = await Promise.all([value.data(), ...each.map((one) => one.data())]);
      return loss[0];
    }, effort);
    return { ...found, about };
  },
};

const OURS = ["cpu f64", "cpu f32", "webgpu f32"].map((way) => ["leastwise", ...way.split(" ")]);
const TENSORS = [["leastwise", "cpu"], ["leastwise", "webgpu"], ["TensorFlow.js", "cpu"], ["TensorFlow.js", "webgpu"], ["jax-js", "wasm"], ["jax-js", "webgpu"]];

/** `check` says of what the number is, which contenders of one size should agree on. */
export const PROBLEMS = [
  { id: "fit", title: "Fit of a curve with three unknowns", size: "observations", sizes: [100, 1000, 10_000, 100_000, 1_000_000], check: "½Σr²", work: fits, contenders: [...OURS, ["ml-levenberg-marquardt"]] },
  { id: "springs", title: "A step on a mesh of springs", size: "vertices", sizes: LEVELS.map((level) => 10 * 4 ** level + 2), check: "cost", work: steps(springs), contenders: OURS },
  { id: "arap", title: "A step of as-rigid-as-possible deformation", size: "vertices", sizes: LEVELS.map((level) => 10 * 4 ** level + 2), check: "cost", work: steps(arap), contenders: OURS },
  { id: "clustering", title: `${CLUSTERS} clusters of vectors of ${DIM}`, size: "vectors", sizes: [1000, 5000, 20_000, 100_000], check: "mean squared distance", work: clusterings, contenders: [["leastwise", "cpu"], ["leastwise", "webgpu"], ["ml-kmeans"]] },
  { id: "product", title: "Product of two n × n matrices", size: "n", sizes: [128, 256, 512, 1024, 2048, 4096], check: "first element", work: products, contenders: TENSORS },
  { id: "gradient", title: `Gradient of a network of ${WIDTHS.join(" × ")} × 1`, size: "rows", sizes: [100, 1000, 10_000, 100_000], check: "loss", work: gradients, contenders: TENSORS },
];

/** Sizes of a test, which takes seconds. */
export const TINY = { fit: [50, 100], springs: [162], arap: [162], clustering: [500], product: [16, 32], gradient: [20] };
