// Compiled, never run: `lw.cluster`, `lw.compress` and indices.
import { half, init } from "leastwise";
import type { ClusterIteration, Clustering, ClusterOptions, CodeOptions, CompressOptions, Engine, F32, F64, Filter, Hits, Key, Metric, Points, RangeHits, VectorIndex } from "leastwise";
import { clusterBatches, exactSearch, indexBits, mergeIndices, openBits, openWithChanges, predict, trackChanges, type BatchClustering, type BitHits, type BitIndex } from "leastwise/vectors";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function is<T extends true>(_proof?: T): void {}

export async function compressAndSearch(embeddings: F32, queries: F32) {
  using lw = await init();
  const { centroids, labels, energy } = await lw.cluster(embeddings, { dim: 384, clusters: 256 });
  using index = await lw.compress(embeddings, { dim: 384, code: "int4", onProgress: (done, of) => console.log(done / of) });
  const { ids, distances } = await index.search(queries, { k: 10 });
  const { recall, ratio } = await index.evaluate(queries, { k: 10 });
  return { centroids, labels, energy, ids, distances, recall, ratio, file: await index.save() };
}

export async function clusterings(lw: Engine, points: F32, doubles: F64, words: Uint16Array, signal: AbortSignal) {
  const found = await lw.cluster(points, { dim: 2, clusters: 3, seed: 7, maxIterations: 10, tolerance: 1e-4, signal, onProgress: (done: number, total: number) => void (done / total) });
  is<Same<typeof found, Clustering>>();
  is<Same<typeof found.centroids, F32>>();
  is<Same<typeof found.labels, Uint32Array>>();
  is<Same<typeof found.termination, "converged" | "max-iterations" | "stopped">>();
  for (const iteration of found.iterations) is<Same<typeof iteration, ClusterIteration>>();
  await lw.cluster(doubles, { dim: 2, clusters: 3, method: "anneal", cooling: 0.9 });
  await lw.cluster(points, { dim: 2, clusters: 3, method: "lloyd", start: found.centroids });
  await lw.cluster(half(words), { dim: 2, clusters: 3, method: "lloyd", start: "farthest", mean: { huber: 2 }, minChanges: 1 });
  await lw.cluster(points, { dim: 2, clusters: 3, method: "vlc", mean: { trim: 0.1 }, temperature: 1, cooling: 0.05, learningRate: 0.2, momentum: 0, minChanges: 1, maintenanceInterval: 20 });
  await lw.cluster(points, { dim: 2, clusters: 3, method: "lloyd", ranks: true });
  // @ts-expect-error ranks have Lloyd's iteration, which is not the default
  await lw.cluster(points, { dim: 2, clusters: 3, ranks: true });
  // @ts-expect-error nor is the published algorithm theirs
  await lw.cluster(points, { dim: 2, clusters: 3, method: "vlc", ranks: true });
  const options: ClusterOptions = { dim: 2, clusters: 3, method: "vlc", start: "k-means++" };
  await lw.cluster(points, options);
  // @ts-expect-error the published compressor has starts of its own
  await lw.cluster(points, { dim: 2, clusters: 3, method: "vlc", start: found.centroids });
  // @ts-expect-error how long is a vector?
  await lw.cluster(points, { clusters: 3 });
  // @ts-expect-error how many centroids?
  await lw.cluster(points, { dim: 2 });
  // @ts-expect-error there is no such method
  await lw.cluster(points, { dim: 2, clusters: 3, method: "kmeans" });
  // @ts-expect-error annealing does not depend on where it starts
  await lw.cluster(points, { dim: 2, clusters: 3, start: "farthest" });
  // @ts-expect-error nor does the default
  await lw.cluster(points, { dim: 2, clusters: 3, method: "anneal", start: "farthest" });
  // @ts-expect-error Lloyd's iteration has no temperature
  await lw.cluster(points, { dim: 2, clusters: 3, method: "lloyd", temperature: 1 });
  // @ts-expect-error only the published algorithm has a learning rate
  await lw.cluster(points, { dim: 2, clusters: 3, learningRate: 0.1 });
  // @ts-expect-error one robust mean at a time
  await lw.cluster(points, { dim: 2, clusters: 3, method: "lloyd", mean: { median: true } });
  // @ts-expect-error indeed
  await lw.cluster(points, { dim: 2, clusters: 3, method: "lloyd", mean: { trim: 0.1, huber: 1 } });
  await lw.cluster(points, { dim: 2, clusters: 3, metric: "cosine" });
  // @ts-expect-error dot products have no centroids
  await lw.cluster(points, { dim: 2, clusters: 3, metric: "dot" });
  await lw.cluster(new Int8Array(4), { dim: 2, clusters: 1 });
  await lw.cluster(new Uint8Array(4), { dim: 2, clusters: 1 });
  // @ts-expect-error words without half() could be anything
  await lw.cluster(words, { dim: 2, clusters: 3 });
  // @ts-expect-error a list of numbers is no typed array
  await lw.cluster([1, 2, 3], { dim: 1, clusters: 3 });
}

export async function indices(lw: Engine, points: Points, queries: F32, bytes: Uint8Array, stream: ReadableStream<Uint8Array>) {
  const index = await lw.compress(points, { dim: 8 });
  is<Same<typeof index, VectorIndex>>();
  await lw.compress(points, { dim: 8, clusters: 16, code: "bits", bits: 2.5, method: "lloyd", seed: 1 });
  await lw.compress(points, { dim: 8, ratio: 0.125 });
  await lw.compress(points, { dim: 8, ratio: 0.125, sample: 4096, trainFor: 1e6 });
  // What is known only when it runs.
  const small = bytes.length > 100;
  const chosen: CompressOptions = { dim: 8, code: small ? "int8" : "bits" };
  await lw.compress(points, chosen);
  await lw.compress(points, { dim: 8, ...(small && { ratio: 0.2 }) });
  const codes: CodeOptions[] = [{}, { code: "none" }, { code: "f32" }, { code: "f16" }, { code: small ? "int4" : "none" }, { bits: 3 }, { ratio: 0.1 }, { code: "bits", bits: 2 }];
  for (const code of codes) await lw.compress(points, { dim: 8, ...code });
  // @ts-expect-error int8 has no bits, should it be that
  await lw.compress(points, { dim: 8, code: small ? "int8" : "bits", bits: 4 });
  // @ts-expect-error the code has its bits in its name
  await lw.compress(points, { dim: 8, code: "int8", bits: 4 });
  // @ts-expect-error bits and ratio follow from each other
  await lw.compress(points, { dim: 8, bits: 4, ratio: 0.5 });
  // @ts-expect-error product quantisation is no code here
  await lw.compress(points, { dim: 8, code: "pq" });
  // @ts-expect-error there is no such code
  await lw.compress(points, { dim: 8, code: "int2" });
  // @ts-expect-error clustering's own options are not compression's
  await lw.compress(points, { dim: 8, learningRate: 0.1 });
  const hits = await index.search(queries, { k: 10, probes: 4, filter: new Uint8Array(100) });
  is<Same<typeof hits, Hits>>();
  is<Same<typeof hits.searchedBy, "cpu" | "webgpu" | "cuda">>();
  is<Same<typeof hits.through, "lists" | "graph">>();
  await index.buildGraph();
  await index.buildGraph({ degree: 16, effort: 200, onProgress: (done, total) => done / total });
  await lw.compress(points, { dim: 8, graph: true });
  await lw.compress(points, { dim: 8, graph: { degree: 16 } });
  await index.search(queries, { k: 10, effort: 100 });
  is<Same<NonNullable<typeof index.info.graph>["vectors"], number>>();
  // @ts-expect-error ranges are exhaustive
  await index.searchRange(queries, { maxDistance: 1, effort: 100 });
  is<Same<typeof hits.reason, string | undefined>>();
  is<Same<typeof hits.scores, F32>>();
  is<Same<typeof hits.keys, readonly (Key | undefined)[] | undefined>>();
  const cosine = await lw.compress(points, { dim: 8, metric: "cosine", keys: ["a", 1] });
  is<Same<typeof cosine.metric, Metric>>();
  await lw.compress(points, { dim: 8, metric: "dot", maxNorm: 3, ratio: 0.2, keys: Uint32Array.of(1, 2) });
  // @ts-expect-error there is no such metric
  await lw.compress(points, { dim: 8, metric: "euclidean" });
  await cosine.add(points, { keys: ["b"], onProgress: (done, total) => done / total });
  await cosine.upsert(points, { keys: ["b"] });
  // @ts-expect-error vectors are exchanged by their keys
  await cosine.upsert(points);
  const has: boolean = cosine.has("b"), places: Uint32Array = cosine.idsOf(["b", 1]), taken: number = cosine.remove({ keys: ["b"] });
  const filters: Filter[] = [new Uint8Array(3), { ids: [1] }, { keys: ["a"] }, { bits: new Uint8Array(1) }, (id, key) => id > 3 && key !== "a"];
  for (const filter of filters) await cosine.search(queries, { k: 1, filter, metric: "cosine" });
  await cosine.search(queries, { k: 1, filters: [...filters, undefined] });
  // @ts-expect-error keys are strings or integers
  await cosine.search(queries, { k: 1, filter: { keys: [true] } });
  const { offsets, keys }: RangeHits = await cosine.searchRange(queries, { minScore: 0.5, filter: { ids: places } });
  is<Same<typeof keys, readonly Key[] | undefined>>();
  // @ts-expect-error a range has no k
  await cosine.searchRange(queries, { k: 3, maxDistance: 1 });
  const codebook: BatchClustering = await clusterBatches([points, { points, weights: [1, 2] }], { dim: 8, clusters: 4 });
  await clusterBatches((async function* () { yield points; })(), { dim: 8, start: codebook.centroids, startWeights: codebook.weights, metric: "cosine" });
  // @ts-expect-error batches are vectors
  await clusterBatches(["a"], { dim: 8, clusters: 4 });
  const exact = await exactSearch(points, queries, { dim: 8, k: 3, metric: "dot" });
  is<Same<typeof exact.distances, F64>>();
  const { labels } = await predict(points, queries, { dim: 8 });
  is<Same<typeof labels, Uint32Array>>();
  // @ts-expect-error how many neighbours?
  await index.search(queries, {});
  // @ts-expect-error a filter has a byte for each id
  await index.search(queries, { k: 1, filter: [1, 2] });
  const ids = await index.add(points);
  is<Same<typeof ids, Uint32Array>>();
  const removed = index.remove([1, 2]), vectors = index.reconstruct(ids);
  is<Same<typeof removed, number>>();
  is<Same<typeof vectors, F32>>();
  const { recall, msSingle } = await index.evaluate(queries, { k: 10, points });
  const opened: VectorIndex[] = [await lw.openIndex(bytes), await lw.openIndex(stream), await lw.openIndex({ idx: bytes, anchors: bytes, assign: bytes })];
  // @ts-expect-error a published index has three files
  await lw.openIndex({ idx: bytes });
  index.sketches = false;
  index.searching = "device";
  // @ts-expect-error: no such place
  index.searching = "gpu";
  // @ts-expect-error yes or no
  index.sketches = 1;
  // @ts-expect-error an index is as long as it is
  index.count = 3;
  return { recall, msSingle, opened };
}

export async function merging(lw: Engine, index: VectorIndex, other: VectorIndex, file: Uint8Array, controller: AbortController) {
  const ids = await mergeIndices(index, other, { replace: true, signal: controller.signal, onProgress: (done, of) => void (done / of) });
  is<Same<typeof ids, Uint32Array>>();
  // @ts-expect-error two indices
  await mergeIndices(index);
  // @ts-expect-error an index, not its file
  await mergeIndices(index, file);
  // @ts-expect-error yes or no
  await mergeIndices(index, other, { replace: "keys" });
  using log = await trackChanges(index, file);
  const changes: Uint8Array = await log.save();
  const again: VectorIndex = await openWithChanges(lw, [file, changes, changes]);
  // @ts-expect-error the file that the changes follow on
  await trackChanges(index);
  // @ts-expect-error at least the file of the index
  await openWithChanges(lw, []);
  // @ts-expect-error files in an array
  await openWithChanges(lw, file);
  index.sketches = "bits";
  // @ts-expect-error one bit or a byte
  index.sketches = "bytes";
  return again;
}

export async function bits(lw: Engine, packed: Uint8Array, floats: Float32Array) {
  using index: BitIndex = await indexBits(lw, packed, { dim: 256, keys: ["a"] });
  const hits: BitHits = await index.search(packed, { k: 3, filter: (id) => id > 2 });
  is<Same<typeof hits.distances, Uint32Array>>();
  is<Same<typeof index.metric, "hamming">>();
  await index.searchRange(packed, { maxDistance: 12, filter: { ids: [1] } });
  index.upsert(packed, { keys: ["b"] });
  const file: Uint8Array = await index.save();
  await openBits(lw, file);
  // @ts-expect-error bits are packed in bytes
  await indexBits(lw, floats, { dim: 256 });
  // @ts-expect-error how many bits?
  await indexBits(lw, packed, {});
  // @ts-expect-error queries are packed as well
  await index.search(floats, { k: 3 });
  // @ts-expect-error all vectors are compared: there are no clusters to probe
  await index.search(packed, { k: 3, probes: 2 });
  // @ts-expect-error a distance, not a score
  await index.searchRange(packed, { minScore: 3 });
  // @ts-expect-error keys are needed to replace by them
  index.upsert(packed);
}
