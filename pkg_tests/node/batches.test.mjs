// Mini-batch k-means: what one batch comes to, weights, going on, streams, and what is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterBatches, encodeNpy, openVectors, predict } from "leastwise/vectors";
import { inClusters, nearest } from "../problems/vectors.mjs";
import { rejects } from "./support.mjs";

const DIM = 3, COUNT = 600;
const { points, origin } = inClusters(COUNT, DIM, 6, { seed: 3, spread: 0.5 });
const rowsOf = (from, to) => points.subarray(from * DIM, to * DIM);
const start = points.slice(0, 6 * DIM);

/** Means of the vectors of each label, by weight, in f64. */
function means(rows, labels, clusters, weights = new Float64Array(labels.length).fill(1)) {
  const sums = new Float64Array(clusters * DIM), totals = new Float64Array(clusters);
  labels.forEach((label, row) => {
    totals[label] += weights[row];
    for (let k = 0; k < DIM; k++) sums[label * DIM + k] += weights[row] * rows[row * DIM + k];
  });
  return sums.map((sum, at) => sum / totals[Math.floor(at / DIM)]);
}

function near(found, expected, within = 1e-5) {
  assert.equal(found.length, expected.length);
  found.forEach((value, at) => assert.ok(Math.abs(value - expected[at]) <= within, `${value} and ${expected[at]} at ${at}`));
}

test("one batch is a step of Lloyd's iteration", async () => {
  const { centroids, weights, energy, count } = await clusterBatches([points], { dim: DIM, start });
  const labels = nearest(start, points, DIM, 1).flat();
  near(centroids, means(points, labels, 6));
  assert.deepEqual([...weights], Array.from({ length: 6 }, (_, c) => labels.filter((label) => label === c).length));
  const before = await predict(points, start, { dim: DIM });
  assert.ok(Math.abs(energy - before.energy) < 1e-9);
  assert.equal(count, COUNT);
});

test("weights count for so many vectors, and nothing with a weight of 0", async () => {
  const some = rowsOf(0, 90), weights = Float64Array.from({ length: 90 }, (_, k) => k % 3);
  const weighted = await clusterBatches([{ points: some, weights }], { dim: DIM, start });
  const copies = Float32Array.from([...weights].flatMap((weight, row) => Array.from({ length: weight }, () => [...some.subarray(row * DIM, (row + 1) * DIM)]).flat()));
  const copied = await clusterBatches([copies], { dim: DIM, start });
  near(weighted.centroids, copied.centroids);
  assert.deepEqual(weighted.weights, copied.weights);
  assert.ok(Math.abs(weighted.energy - copied.energy) < 1e-9);
});

test("many batches find the clusters, and another call goes on where one ended", async () => {
  const parts = Array.from({ length: 10 }, (_, k) => rowsOf(60 * k, 60 * (k + 1)));
  const { centroids, weights, energy } = await clusterBatches(parts, { dim: DIM, clusters: 6, seed: 2 });
  const { labels, energy: after } = await predict(points, centroids, { dim: DIM });
  for (let c = 0; c < 6; c++) assert.equal(new Set([...labels].filter((_, row) => origin[row] === c)).size, 1, "clusters that are far from each other");
  assert.ok(after < 1 && energy < 1.5, `${after} ${energy}`);
  // Whatever the batches, each is the mean of what belonged to it.
  near(centroids, means(points, labels, 6), 1e-4);
  const half = await clusterBatches(parts.slice(0, 5), { dim: DIM, clusters: 6, seed: 2 });
  const rest = await clusterBatches(parts.slice(5), { dim: DIM, start: half.centroids, startWeights: half.weights });
  near(rest.centroids, centroids, 1e-4);
  assert.deepEqual(rest.weights, weights);
  assert.deepEqual(await clusterBatches(parts, { dim: DIM, clusters: 6, seed: 2 }), await clusterBatches(parts, { dim: DIM, clusters: 6, seed: 2 }));
});

test("batches of a file, and by cosine", async () => {
  const file = await openVectors(encodeNpy(points, [COUNT, DIM]));
  const streamed = await clusterBatches(file.chunks(100), { dim: DIM, clusters: 6 });
  assert.deepEqual(streamed, await clusterBatches(Array.from({ length: 6 }, (_, k) => rowsOf(100 * k, 100 * (k + 1))), { dim: DIM, clusters: 6 }));
  const longer = points.map((value, at) => value * (1 + (Math.floor(at / DIM) % 4)));
  const [one, other] = await Promise.all([points, longer].map((rows) => clusterBatches([rows], { dim: DIM, clusters: 4, metric: "cosine" })));
  near(one.centroids, other.centroids);
});

test("equal vectors, and what is refused", async () => {
  const same = new Float32Array(10 * DIM).fill(2), { centroids, energy } = await clusterBatches([same], { dim: DIM, clusters: 3 });
  assert.deepEqual([[...centroids], energy], [Array(9).fill(2), 0]);
  assert.ok(Number.isNaN((await clusterBatches([], { dim: DIM, start })).energy));
  for (const [batches, options, code, message, place] of [
    [[points], { dim: DIM }, "invalid-option", /give one of clusters and start$/],
    [[points], { dim: DIM, clusters: 2, start }, "invalid-option", /give one of clusters and start$/],
    [[points], { dim: DIM, clusters: 2, startWeights: [1, 1] }, "invalid-option", /^startWeights: they belong to start$/],
    [[points], { dim: DIM, start, startWeights: [1] }, "data-length", /^startWeights has 1 numbers, but 6 are needed$/],
    [[points], { dim: DIM, start: [] }, "data-length", /^start: there are no centroids$/],
    [[points], { dim: DIM, clusters: 2, metric: "dot" }, "invalid-option", /"dot" has no centroids/],
    [[], { dim: DIM, clusters: 2 }, "data-length", /no batch came/],
    [[rowsOf(0, 1)], { dim: DIM, clusters: 2 }, "data-length", /the first batch has 1 vectors of positive weight, but 2 clusters/],
    [[rowsOf(0, 1).subarray(1)], { dim: DIM, start }, "data-length", /a batch has 2 numbers/],
    [[{ points: rowsOf(0, 2), weights: [1] }], { dim: DIM, start }, "data-length", /^weights has 1 numbers, but 2 are needed$/],
    [[{ points: rowsOf(0, 2), weights: [1, -1] }], { dim: DIM, start }, "invalid-option", /^weights\[1\] is -1, but/],
    [[{ points: rowsOf(0, 2), weights: 3 }], { dim: DIM, start }, "invalid-option", /^weights must be an array of numbers/],
    [[Float32Array.of(1, NaN, 2)], { dim: DIM, start }, "non-finite", /component 1 of row 0 is NaN/, { instance: 0 }],
    [[Float32Array.of(0, 0, 0)], { dim: DIM, start, metric: "cosine" }, "invalid-option", /zero/, { instance: 0 }],
    [[3], { dim: DIM, start }, "invalid-option", /a batch must be a Float32Array/],
  ]) await rejects(clusterBatches(batches, options), code, message, place);
  const ending = new AbortController();
  const endless = async function* () { for (let k = 0; ; k++) { if (k === 5) ending.abort(new Error("enough")); yield points; } };
  await assert.rejects(clusterBatches(endless(), { dim: DIM, clusters: 3, signal: ending.signal }), /enough/);
});
