/**
 * Exact search in f64, to compare with: every query against every vector, in plain JavaScript on one core. No engine is needed; an index of
 * compressed vectors is many times as fast.
 */
import type { F64, Floats } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import type { Host } from "../host.js";
import { checked, given, REPORTING, takesNoMore, whole } from "../options.js";
import { dimension, pointsOf, type Points } from "../points.js";
import { maskOf, type Filter } from "./filter.js";
import { metricKind, normOf, withoutDirection, type Metric } from "./metric.js";

/**
 * Options of {@link exactSearch}.
 *
 * @example
 * const options: ExactOptions = { dim: 8, k: 10, metric: "cosine" };
 * const { ids } = await exactSearch(points, points.subarray(0, 80), options);
 */
export interface ExactOptions {
  /** Components of a vector. */
  readonly dim: number;
  /** Neighbours wanted of each query. */
  readonly k: number;
  /** Metric, as of an index. @defaultValue `"l2"` */
  readonly metric?: Metric;
  /** Which vectors may be found, by their places; there are no keys. @defaultValue all */
  readonly filter?: Filter;
  /** Ends the search; it then rejects with the signal's reason. @defaultValue none */
  readonly signal?: Host<"AbortSignal">;
}

/**
 * Nearest vectors of queries, k for each query, the nearest first; of equally near ones the first in the array.
 *
 * @example
 * const { ids, distances, k }: ExactHits = await exactSearch(points, points.subarray(0, 8), { dim: 8, k: 10 });
 */
export interface ExactHits {
  /** Places in the array; 4,294,967,295 where there are fewer than k. */
  readonly ids: Uint32Array;
  /** Squared Euclidean distances, 1 − cosine, or minus dot products; ∞ where there are fewer than k. */
  readonly distances: F64;
  readonly k: number;
}

const EXACT = { dim: dimension, k: whole(), metric: metricKind, filter: given<Filter>(), signal: REPORTING.signal } as const;

/** Milliseconds of work between two turns of the event loop. */
const SLICE = 8;

/**
 * The exact nearest vectors of each query, in f64: the right answers that recall is measured by. Takes 1 to 3 ns a component, vector
 * and query, and leaves time to the event loop.
 *
 * @throws `invalid-option`, `data-length`; `non-finite` for vectors or queries with a NaN or an infinity
 * @example
 * const { ids } = await exactSearch(points, points.subarray(0, 80), { dim: 8, k: 10 });
 */
export async function exactSearch(points: Points, queries: Points, options: ExactOptions): Promise<ExactHits> {
  takesNoMore("exactSearch(points, queries, options)", 3, arguments);
  const { dim, k, metric = "l2", filter, signal } = checked("exactSearch(points, queries, options): options", options, EXACT);
  if (k === undefined) throw new LeastwiseError("invalid-option", "k: say how many neighbours are wanted");
  const rows = finite("exactSearch(points): points", pointsOf("exactSearch(points): points", points, dim), dim!);
  const asked = finite("exactSearch(queries): queries", pointsOf("exactSearch(queries): queries", queries, dim), dim!).slice();
  const count = rows.length / dim!, mask = filter === undefined ? undefined : maskOf("filter", filter, count, undefined);
  const near = nearness(metric, rows, dim!, "exactSearch(points)");
  const lengths = metric === "cosine" ? lengthsOf(asked, dim!, "exactSearch(queries)") : undefined;
  const total = asked.length / dim!, ids = new Uint32Array(total * k).fill(0xffffffff), distances = new Float64Array(total * k).fill(Infinity);
  const pause = pausing(signal);
  for (let query = 0; query < total; query++) {
    await pause();
    const own = asked.subarray(query * dim!, (query + 1) * dim!), length = lengths?.[query] ?? 1;
    const heap = new Nearest(Math.min(k, count));
    for (let row = 0; row < count; row++) if (!mask || mask[row]) heap.offer(near(own, length, row), row);
    heap.sorted().forEach(([distance, row], place) => {
      ids[query * k + place] = row;
      distances[query * k + place] = distance;
    });
  }
  return { ids, distances, k };
}

/**
 * Options of {@link predict}.
 *
 * @example
 * const options: PredictOptions = { dim: 2, metric: "l2" };
 */
export interface PredictOptions {
  readonly dim: number;
  /** Metric that the centroids were found by: `"cosine"` brings the vectors to unit length first. @defaultValue `"l2"` */
  readonly metric?: "l2" | "cosine";
  /** Ends the work; it then rejects with the signal's reason. @defaultValue none */
  readonly signal?: Host<"AbortSignal">;
}

/**
 * The nearest centroid of each vector.
 *
 * @example
 * const { labels, energy }: Prediction = await predict(points, points.subarray(0, 16), { dim: 2 });
 */
export interface Prediction {
  /** Nearest centroid of each vector; of equally near ones the first. */
  readonly labels: Uint32Array;
  /** Squared distance of each vector to it. */
  readonly distances: F64;
  /** Mean of these; NaN without vectors. */
  readonly energy: number;
}

const PREDICT = { dim: dimension, metric: metricKind, signal: REPORTING.signal } as const;

/**
 * Assigns vectors to the centroids of a codebook, such as {@link Clustering.centroids}: those that it was made of, or others. In f64.
 *
 * @throws `invalid-option`, `data-length`; `non-finite` for vectors or centroids with a NaN or an infinity
 * @example
 * const { centroids } = await lw.cluster(points, { dim: 2, clusters: 16 });
 * const { labels } = await predict(points, centroids, { dim: 2 });
 */
export async function predict(points: Points, centroids: Points, options: PredictOptions): Promise<Prediction> {
  takesNoMore("predict(points, centroids, options)", 3, arguments);
  const { dim, metric = "l2", signal } = checked("predict(points, centroids, options): options", options, PREDICT);
  if (metric === "dot") throw new LeastwiseError("invalid-option", "metric: \"dot\" has no centroids, as no mean is nearest by dot product: take \"cosine\" or \"l2\"");
  const rows = finite("predict(points): points", pointsOf("predict(points): points", points, dim), dim!).slice();
  const book = finite("predict(centroids): centroids", pointsOf("predict(centroids): centroids", centroids, dim), dim!).slice();
  if (book.length === 0) throw new LeastwiseError("data-length", "predict(centroids): there are no centroids");
  const lengths = metric === "cosine" ? lengthsOf(rows, dim!, "predict(points)") : undefined;
  const count = rows.length / dim!, labels = new Uint32Array(count), distances = new Float64Array(count), pause = pausing(signal);
  for (let row = 0; row < count; row++) {
    if (row % 16 === 0) await pause();
    const length = lengths?.[row] ?? 1;
    let best = 0, least = Infinity;
    for (let at = 0; at < book.length; at += dim!) {
      const distance = squared(rows, row * dim!, length, book, at, dim!, least);
      if (distance < least) [best, least] = [at / dim!, distance];
    }
    labels[row] = best;
    distances[row] = least;
  }
  return { labels, distances, energy: distances.reduce((sum, each) => sum + each, 0) / count };
}

/** Squared distance of row `at`, divided by its length, to a centroid; given up where it exceeds `most`. */
function squared(rows: Floats, at: number, length: number, book: Floats, centroid: number, dim: number, most: number): number {
  let sum = 0;
  for (let k = 0; k < dim; k++) {
    sum += (rows[at + k]! / length - book[centroid + k]!) ** 2;
    if ((k & 31) === 31 && sum > most) return sum;
  }
  return sum;
}

/** Distance of a query, of some length, to a row. */
function nearness(metric: Metric, rows: Floats, dim: number, what: string): (query: Floats, length: number, row: number) => number {
  const product = (query: Floats, at: number) => {
    let sum = 0;
    for (let k = 0; k < dim; k++) sum += query[k]! * rows[at + k]!;
    return sum;
  };
  if (metric === "dot") return (query, _, row) => 0 - product(query, row * dim);
  if (metric === "cosine") {
    const lengths = lengthsOf(rows, dim, what);
    return (query, length, row) => 1 - product(query, row * dim) / length / lengths[row]!;
  }
  return (query, _, row) => {
    let sum = 0;
    for (let k = 0, at = row * dim; k < dim; k++) sum += (query[k]! - rows[at + k]!) ** 2;
    return sum;
  };
}

function lengthsOf(rows: Floats, dim: number, what: string): Float64Array {
  return Float64Array.from({ length: rows.length / dim }, (_, row) => {
    const norm = normOf(rows, row * dim, dim);
    if (norm === 0) throw withoutDirection(what, row);
    return norm;
  });
}

/** @internal */
export function finite(what: string, rows: Floats, dim: number): Floats {
  for (let at = 0; at < rows.length; at++) {
    if (Number.isFinite(rows[at]!)) continue;
    const row = Math.floor(at / dim);
    throw new LeastwiseError("non-finite", `${what}: component ${at % dim} of row ${row} is ${rows[at]}, but all numbers must be finite`, { instance: row });
  }
  return rows;
}

/** Gives way to the event loop after every slice of work. */
function pausing(signal: AbortSignal | undefined): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    signal?.throwIfAborted();
    if (performance.now() - began < SLICE) return undefined;
    return new Promise((resolve) => setTimeout(() => {
      began = performance.now();
      resolve();
    }));
  };
}

/** The k least of what it is offered, as a heap whose greatest is first; of equal ones those that came first. */
class Nearest {
  readonly #distances: Float64Array;
  readonly #rows: Uint32Array;
  #size = 0;

  constructor(k: number) {
    this.#distances = new Float64Array(k);
    this.#rows = new Uint32Array(k);
  }

  offer(distance: number, row: number): void {
    if (this.#size < this.#rows.length) return this.#rise(this.#size++, distance, row);
    if (distance < this.#distances[0]!) this.#sink(distance, row);
  }

  /** True if the entry at `place` comes after another: farther, or as far and later. */
  #isAfter(place: number, distance: number, row: number): boolean {
    return this.#distances[place]! > distance || (this.#distances[place] === distance && this.#rows[place]! > row);
  }

  #put(place: number, distance: number, row: number): void {
    this.#distances[place] = distance;
    this.#rows[place] = row;
  }

  #rise(place: number, distance: number, row: number): void {
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (this.#isAfter(above, distance, row)) break;
      this.#put(place, this.#distances[above]!, this.#rows[above]!);
      place = above;
    }
    this.#put(place, distance, row);
  }

  #sink(distance: number, row: number): void {
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= this.#size) break;
      if (below + 1 < this.#size && this.#isAfter(below + 1, this.#distances[below]!, this.#rows[below]!)) below++;
      if (!this.#isAfter(below, distance, row)) break;
      this.#put(place, this.#distances[below]!, this.#rows[below]!);
      place = below;
    }
    this.#put(place, distance, row);
  }

  sorted(): [distance: number, row: number][] {
    return Array.from(this.#distances.subarray(0, this.#size), (distance, place): [number, number] => [distance, this.#rows[place]!]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  }
}
