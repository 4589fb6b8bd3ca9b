// A row of `npm run bench -- compression`, in a process of its own: one way to find a codebook, one code of an index, or searches of batches.
import { performance } from "node:perf_hooks";
import { init } from "leastwise";
import { energyOf, mixture } from "./lib/mixture.mjs";
import { published, vectorsOf } from "./lib/vectors.mjs";

const { what, data, clusters, backend, options, code, queries, k, counts, runs } = JSON.parse(process.argv[2]);
const send = (message) => new Promise((resolve) => { process.send(message, resolve); });
const load = ({ file, rows, dim, components }) => (file ? vectorsOf(file) : components ? mixture(rows, dim, components) : published(rows, dim));

/** What the packages on npm take: an array of arrays. */
const nested = ({ points, dim }) => Array.from({ length: points.length / dim }, (_, i) => [...points.subarray(i * dim, (i + 1) * dim)]);

const FINDERS = {
  async leastwise(vectors) {
    const lw = await init({ backend });
    const started = performance.now();
    const found = await lw.cluster(vectors.points, { dim: vectors.dim, clusters, ...options });
    return { ms: performance.now() - started, centroids: found.centroids, iterations: found.iterations.length, adapter: lw.adapter };
  },
  async "ml-kmeans"(vectors) {
    const { kmeans } = await import("ml-kmeans");
    const rows = nested(vectors), started = performance.now();
    const found = kmeans(rows, clusters, { seed: 1, ...options });
    return { ms: performance.now() - started, centroids: found.centroids.flat(), iterations: found.iterations };
  },
  async skmeans(vectors) {
    const { default: skmeans } = await import("skmeans");
    const rows = nested(vectors), started = performance.now();
    const found = skmeans(rows, clusters, "kmpp", options.maxIterations);
    return { ms: performance.now() - started, centroids: found.centroids.flat(), iterations: found.it };
  },
};

async function index(vectors) {
  const lw = await init({ backend });
  const asked = await vectorsOf(queries);
  const started = performance.now();
  const made = await lw.compress(vectors.points, { dim: vectors.dim, ...code });
  const buildMs = performance.now() - started;
  const evaluation = await made.evaluate(asked.points, { k, points: vectors.points });
  return { buildMs, ...evaluation, bytesPerVector: evaluation.bytes / made.count, clusters: made.info.clusters };
}

/** Queries like the vectors: middles between one and another. */
function queriesLike({ points, dim }, count) {
  const rows = points.length / dim;
  return Float32Array.from({ length: count * dim }, (_, at) => {
    const query = Math.floor(at / dim), row = (7919 * query) % rows, other = (row + 1 + query) % rows;
    return (points[row * dim + (at % dim)] + points[other * dim + (at % dim)]) / 2;
  });
}

/** Of each number of queries: milliseconds of the first search, which may copy the index to the device, and the median of others. */
async function search(vectors) {
  const lw = await init({ backend });
  const built = await (await init({ backend: "cpu" })).compress(vectors.points, { dim: vectors.dim, ...code });
  const made = await lw.openIndex(await built.save());
  const searches = [];
  for (const count of counts) {
    const asked = queriesLike(vectors, count), times = [];
    let by;
    for (let run = 0; run <= runs; run++) {
      const started = performance.now();
      by = await made.search(asked, { k });
      times.push(performance.now() - started);
    }
    const [firstMs, ...rest] = times;
    searches.push({ count, firstMs, ms: rest.sort((a, b) => a - b)[rest.length >> 1], searchedBy: by.searchedBy, reason: by.reason });
    await send({ searches, adapter: lw.adapter });
  }
  return { searches, adapter: lw.adapter };
}

try {
  await send({ stage: "data" });
  const vectors = await load(data);
  await send({ stage: what });
  if (what === "index") await send(await index(vectors));
  else if (what === "search") await send(await search(vectors));
  else {
    const { centroids, ...measured } = await FINDERS[what](vectors);
    await send({ ...measured, found: centroids.length / vectors.dim, energy: energyOf(vectors.points, vectors.dim, centroids) });
  }
  await send({ done: true });
  process.exit(0);
} catch (error) {
  await send({ error: `${error.code ? `${error.code}: ` : ""}${error.message ?? error}` });
  process.exit(1);
}
