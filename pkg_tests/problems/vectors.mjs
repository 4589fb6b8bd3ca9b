// Vectors to cluster and to search, and what a plain program makes of them.
import { Random } from "./random.mjs";

/** `count` vectors in normal clusters whose centres are far from each other, and from where each came. */
export function inClusters(count, dim, clusters, { seed = 1, spread = 1, distance = 8 } = {}) {
  const random = new Random(seed);
  const centres = Array.from({ length: clusters }, () => random.normals(dim, distance));
  const origin = Uint32Array.from({ length: count }, (_, i) => i % clusters);
  return { dim, origin, points: Float32Array.from([...origin].flatMap((c) => centres[c].map((at) => at + spread * random.normal()))) };
}

/** Vectors whose components matter less and less, as those of embeddings do once they are rotated. */
export function decaying(count, dim, { seed = 1, power = 0.7 } = {}) {
  const random = new Random(seed);
  return Float32Array.from({ length: count * dim }, (_, k) => random.normal() * (1 + (k % dim)) ** -power);
}

/** The published compressor's own rows in f32 values of half precision: c + ½ sin(0.1 (i d + j)), c = 0, 5, 10 in turn. */
export function publishedRows(count, dim, fromHalf, toHalf) {
  const tenth = Math.fround(0.1);
  const rows = Float32Array.from({ length: count * dim }, (_, k) =>
    Math.fround([0, 5, 10][Math.floor(k / dim) % 3] + Math.fround(0.5 * Math.fround(Math.sin(Math.fround(Math.fround(k) * tenth))))));
  return fromHalf(toHalf(rows));
}

export function squaredDistance(a, i, b, j, dim) {
  let sum = 0;
  for (let k = 0; k < dim; k++) sum += (a[i * dim + k] - b[j * dim + k]) ** 2;
  return sum;
}

/** Mean squared distance of each vector to its centroid. */
export function energyOf(points, dim, centroids, labels) {
  return labels.reduce((sum, label, i) => sum + squaredDistance(points, i, centroids, label, dim), 0) / labels.length;
}

/** The ids of the k nearest of those vectors that `allowed` lets pass, for each query; equally near ones in order. */
export function nearest(points, queries, dim, k, allowed = () => true) {
  return Array.from({ length: queries.length / dim }, (_, q) => Array.from({ length: points.length / dim }, (_, i) => i).filter(allowed)
    .map((i) => [squaredDistance(points, i, queries, q, dim), i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, k).map(([, i]) => i));
}

/** The ids of the k of `count` with the greatest score for each query; equal ones in order. */
export function nearestBy(score, count, queries, k, allowed = () => true) {
  return Array.from({ length: queries }, (_, q) => Array.from({ length: count }, (_, i) => i).filter(allowed)
    .map((i) => [score(i, q), i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, k).map(([, i]) => i));
}

/** The same rows at unit length. */
export function unitRows(rows, dim) {
  const out = Float32Array.from(rows);
  for (let at = 0; at < out.length; at += dim) {
    const length = Math.sqrt(rows.subarray(at, at + dim).reduce((sum, value) => sum + value ** 2, 0));
    for (let k = at; k < at + dim; k++) out[k] = rows[k] / length;
  }
  return out;
}

/** The share of `expected` that was found. */
export function recallOf({ ids, k }, expected) {
  const hits = expected.map((wanted, q) => wanted.filter((id) => ids.subarray(q * k, (q + 1) * k).includes(id)).length);
  return hits.reduce((a, b) => a + b, 0) / expected.flat().length;
}
