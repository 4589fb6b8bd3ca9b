/** Mini-batch k-means: codebooks of vectors that come in batches, of a file or a stream, and may have weights. No engine is needed. */
import type { F32, F64, Floats } from "../arrays.js";
import { isList } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import type { Host } from "../host.js";
import { describe } from "../instruction.js";
import { checked, given, REPORTING, takesNoMore, whole } from "../options.js";
import { dimension, pointsOf, type Points } from "../points.js";
import { finite, predict } from "./exact.js";
import { metricKind, normOf, withoutDirection } from "./metric.js";

/**
 * Vectors that come together, with weights: one that counts for so many.
 *
 * @example
 * const batch: Batch = { points: new Float32Array(16), weights: [1, 0.5] };  // two vectors of 8 components
 */
export interface Batch {
  readonly points: Points;
  /** Weight of each vector, not negative. @defaultValue 1 each */
  readonly weights?: ArrayLike<number>;
}

/**
 * Options of {@link clusterBatches}: one of `clusters` and `start`.
 *
 * @example
 * const options: BatchOptions = { dim: 8, clusters: 16, seed: 1 };
 */
export interface BatchOptions {
  /** Components of a vector. */
  readonly dim: number;
  /** Number of centroids, which k-means++ draws from the first batch. @defaultValue none: `start` holds */
  readonly clusters?: number;
  /** Starting centroids. @defaultValue none: `clusters` holds */
  readonly start?: Points;
  /** Weight that is behind each of `start`, as {@link BatchClustering.weights}: the work goes on where it was. @defaultValue 0 each: the first vectors replace them */
  readonly startWeights?: ArrayLike<number>;
  /** `"cosine"` brings vectors to unit length first. @defaultValue `"l2"` */
  readonly metric?: "l2" | "cosine";
  /** Seed of the draw. @defaultValue 0 */
  readonly seed?: number;
  /** Ends the work; it then rejects with the signal's reason. @defaultValue none */
  readonly signal?: Host<"AbortSignal">;
}

/**
 * A codebook of batches.
 *
 * @example
 * const { centroids, weights, energy }: BatchClustering = await clusterBatches([points], { dim: 8, clusters: 4 });
 */
export interface BatchClustering {
  /** Clusters × dim. */
  readonly centroids: F32;
  /** Weight of all vectors that each is the mean of. */
  readonly weights: F64;
  /** Mean squared distance of the vectors to their centroids when they came, by weight; NaN without vectors. */
  readonly energy: number;
  /** Vectors that came. */
  readonly count: number;
}

const BATCHES = { dim: dimension, clusters: whole(), start: given<Points>(), startWeights: given<ArrayLike<number>>(), metric: metricKind, seed: whole(0), signal: REPORTING.signal } as const;

/**
 * Centroids of vectors that come in batches (Sculley, *Web-scale k-means clustering*, 2010). Each vector of a batch belongs to the centroid that is
 * nearest before the batch; then a centroid is the mean, by weight, of all vectors that ever belonged to it: c ← c + w (x − c) / Σw. One batch of all
 * vectors is a step of Lloyd's iteration. In f64, the same for the same batches; batches should be drawn without order.
 *
 * @throws `invalid-option`, `data-length`; `non-finite` for vectors with a NaN or an infinity
 * @example
 * const file = await openVectors(bytes);
 * const { centroids } = await clusterBatches(file.chunks(1024), { dim: file.dim, clusters: 16 });
 */
export async function clusterBatches(batches: AsyncIterable<Points | Batch> | Iterable<Points | Batch>, options: BatchOptions): Promise<BatchClustering> {
  takesNoMore("clusterBatches(batches, options)", 2, arguments);
  const { dim, clusters, start, startWeights, metric = "l2", seed = 0, signal } = checked("clusterBatches(batches, options): options", options, BATCHES);
  if (metric === "dot") throw new LeastwiseError("invalid-option", "metric: \"dot\" has no centroids, as no mean is nearest by dot product: take \"cosine\" or \"l2\"");
  if ((clusters === undefined) === (start === undefined)) throw new LeastwiseError("invalid-option", "clusterBatches(batches, options): give one of clusters and start");
  let book = start === undefined ? undefined : Float64Array.from(pointsOf("start", start, dim));
  if (book?.length === 0) throw new LeastwiseError("data-length", "start: there are no centroids");
  if (startWeights !== undefined && !book) throw new LeastwiseError("invalid-option", "startWeights: they belong to start");
  const weights = new Float64Array(book ? book.length / dim! : clusters!);
  if (startWeights !== undefined) weights.set(weightsOf("startWeights", startWeights, weights.length));
  let energy = 0, all = 0, count = 0;
  for await (const batch of batches) {
    signal?.throwIfAborted();
    const [points, own] = partsOf(batch, dim!), rows = metric === "cosine" ? unit(points, dim!) : Float64Array.from(points);
    book ??= drawn(rows, own, dim!, clusters!, seed);
    const { labels, distances } = await predict(rows, book, { dim: dim!, ...(signal && { signal }) });
    for (let row = 0; row < own.length; row++) {
      const weight = own[row]!, label = labels[row]!;
      if (weight === 0) continue;
      energy += weight * distances[row]!;
      all += weight;
      const share = weight / (weights[label]! += weight);
      for (let k = 0; k < dim!; k++) book[label * dim! + k]! += share * (rows[row * dim! + k]! - book[label * dim! + k]!);
    }
    count += own.length;
  }
  if (!book) throw new LeastwiseError("data-length", `clusterBatches(batches): no batch came, of whose vectors ${clusters!} clusters could be made`);
  return { centroids: Float32Array.from(book), weights, energy: energy / all, count };
}

function partsOf(batch: Points | Batch, dim: number): [Floats, F64] {
  const isPair = typeof batch === "object" && batch !== null && !ArrayBuffer.isView(batch) && !isList(batch) && "points" in batch;
  const what = "clusterBatches(batches): a batch", points = finite(what, pointsOf(what, isPair ? batch.points : batch, dim), dim), rows = points.length / dim;
  return [points, isPair && batch.weights !== undefined ? weightsOf("weights", batch.weights, rows) : new Float64Array(rows).fill(1)];
}

function weightsOf(what: string, weights: ArrayLike<number>, count: number): F64 {
  if (!isList(weights) && !ArrayBuffer.isView(weights)) throw new LeastwiseError("invalid-option", `${what} must be an array of numbers, not ${describe(weights)}`);
  if (weights.length !== count) throw new LeastwiseError("data-length", `${what} has ${weights.length} numbers, but ${count} are needed`);
  return Float64Array.from({ length: count }, (_, k) => {
    const weight = weights[k]!;
    if (!(Number.isFinite(weight) && weight >= 0)) throw new LeastwiseError("invalid-option", `${what}[${k}] is ${weight}, but weights are finite and not negative`);
    return weight;
  });
}

function unit(points: Floats, dim: number): F64 {
  return Float64Array.from(points, (value, at) => {
    const row = Math.floor(at / dim), length = normOf(points, row * dim, dim);
    if (length === 0) throw withoutDirection("clusterBatches(batches): a batch", row);
    return value / length;
  });
}

/** Starting centroids by k-means++ (Arthur and Vassilvitskii, 2007): each drawn with a probability ∝ w d², d the distance to the nearest before it. */
function drawn(rows: F64, weights: F64, dim: number, clusters: number, seed: number): F64 {
  const book = new Float64Array(clusters * dim), far = new Float64Array(weights.length).fill(1), positive = weights.reduce((sum, weight) => sum + (weight > 0 ? 1 : 0), 0);
  if (positive < clusters) throw new LeastwiseError("data-length", `clusterBatches(batches): the first batch has ${positive} vectors of positive weight, but ${clusters} clusters start from it`);
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  for (let cluster = 0; cluster < clusters; cluster++) {
    let sum = 0;
    for (let row = 0; row < far.length; row++) sum += weights[row]! * far[row]!;
    let rest = uniform() * sum, chosen = -1;
    for (let row = 0; row < far.length && (chosen < 0 || rest >= 0); row++) {
      if (weights[row]! * far[row]! > 0 || (sum === 0 && weights[row]! > 0)) chosen = row;
      rest -= weights[row]! * far[row]!;
    }
    book.set(rows.subarray(chosen * dim, (chosen + 1) * dim), cluster * dim);
    for (let row = 0; row < far.length; row++) {
      let distance = 0;
      for (let k = 0; k < dim; k++) distance += (rows[row * dim + k]! - rows[chosen * dim + k]!) ** 2;
      far[row] = cluster === 0 ? distance : Math.min(far[row]!, distance);
    }
  }
  return book;
}
