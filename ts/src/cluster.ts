/** Clustering: codebooks for vectors. */
import type { F32, Floats } from "./arrays.js";
import { LeastwiseError, reading } from "./errors.js";
import { shownValue } from "./instruction.js";
import type { NativeClustering, NativeClusterOptions, NativeEngine, RankedNative } from "./native.js";
import { NEEDS } from "./parts.js";
import { dimension, pointsOf, type Points } from "./points.js";
import { checked, flag, mustBePlain, oneOf, real, REPORTING, whole, type Kind, type Reporting } from "./options.js";
import type { Tasks } from "./tasks.js";
import { normalised } from "./vectors/metric.js";

/**
 * Centroid of the vectors assigned to it: their mean, or a robust one. `{ trim: 0.1 }` leaves out a tenth of them at
 * either end of their order by distance; `{ huber: δ }` weighs those that are farther than δ by δ over their distance.
 *
 * @example
 * const mean: Mean = { huber: 0.5 };  // a mean that outliers move little
 * await lw.cluster(points, { dim: 2, clusters: 16, method: "lloyd", mean });
 */
export type Mean = "plain" | { readonly trim: number; readonly huber?: never } | { readonly huber: number; readonly trim?: never };

/**
 * Options of every method.
 *
 * @example
 * const common: ClusterBase = { dim: 2, clusters: 16, maxIterations: 100 };
 * await lw.cluster(points, { ...common, method: "lloyd" });
 */
export interface ClusterBase extends Reporting {
  /** Components of a vector. */
  readonly dim: number;
  /** Number of centroids; the result has fewer if there are fewer distinct vectors. */
  readonly clusters: number;
  /**
   * Metric. `"cosine"` clusters the directions of the vectors: they are brought to unit length, of which centroids are plain means and
   * `energy` the mean squared distance to them. Zero vectors are refused. There is no `"dot"`: no mean is nearest by dot product.
   *
   * @defaultValue `"l2"`
   */
  readonly metric?: "l2" | "cosine";
  /**
   * Greatest number of iterations of assignment and means.
   *
   * @defaultValue 800 for `"anneal"` (up to half of them between moves of centroids; soft ones are not counted), 300 for `"lloyd"`, 1000 for `"vlc"`
   */
  readonly maxIterations?: number;
  /**
   * Converged when an iteration changes the energy by less than this part of the points' variance; for `"vlc"`, by less than this.
   *
   * @defaultValue 1e-5; 1e-4 for `"vlc"`
   */
  readonly tolerance?: number;
  /** Seed of all random numbers. The same seed gives the same bits. @defaultValue 0 */
  readonly seed?: number;
  /**
   * Bytes of points that may be on the device at a time, where more do not fit: they are then sent again in every iteration.
   *
   * @defaultValue 268,435,456 on the CPU; no limit on a GPU
   */
  readonly deviceBytes?: number;
}

/** Options that a method does not have: an object with them is refused by its type, even where the method is the default. */
type Without<Names extends string> = { readonly [Name in Names]?: never };

/**
 * Deterministic annealing (Rose 1998): assignments are soft, at a temperature that falls; centroids split where it passes a critical
 * temperature, as matter does at a phase transition. It ends with hard assignments.
 * It needs no
 * start to be chosen; where it was measured, the energies of two seeds differed by up to 0.4 %.
 *
 * @example
 * const options: AnnealOptions = { dim: 2, clusters: 16, seed: 7 };
 * const { centroids, labels } = await lw.cluster(points, options);
 */
export interface AnnealOptions extends ClusterBase, Without<"start" | "mean" | "minChanges" | "ranks" | "temperature" | "learningRate" | "momentum" | "maintenanceInterval"> {
  /** Name of the method. @defaultValue `"anneal"` */
  readonly method?: "anneal";
  /** Share of the temperature that every step takes away, at least 0.01. @defaultValue 0.1 */
  readonly cooling?: number;
}

/**
 * Lloyd's iteration: assign to the nearest centroid, move every centroid to the mean of its vectors.
 *
 * @example
 * const options: LloydOptions = { dim: 2, clusters: 16, method: "lloyd", mean: { trim: 0.1 } };
 */
export interface LloydOptions extends ClusterBase, Without<"temperature" | "cooling" | "learningRate" | "momentum" | "maintenanceInterval"> {
  readonly method: "lloyd";
  /**
   * `"k-means++"` draws a few candidates for every starting centroid, with probabilities ∝ d², and takes the one that leaves the
   * least energy (Arthur & Vassilvitskii 2007, section 5); `"farthest"` takes the farthest vector each time.
   *
   * Centroids of one's own, `clusters` of them one after the other, are where it begins: those that no vector comes to belong to are left out.
   *
   * @defaultValue `"k-means++"`
   */
  readonly start?: "k-means++" | "farthest" | Points;
  /** Centroid of the vectors assigned to it. @defaultValue `"plain"` */
  readonly mean?: Mean;
  /** Converged only where fewer assignments than these change, too. @defaultValue no limit */
  readonly minChanges?: number;
  /**
   * True to cluster by all ranks. An engine with `devices` splits its vectors among them. On engines with a `world` each rank gives its own
   * vectors, all of them make the call with the same options, and get the same centroids, counts and numbers; `labels` are those of their
   * own vectors. Without centroids to start from, and without `mean: { trim }`. On CUDA the engine has `precision: "f32"`. An engine that
   * is no rank clusters its own vectors.
   *
   * @defaultValue false: each rank of a world by itself, and of `devices` the first one
   */
  readonly ranks?: boolean;
}

/**
 * The published annealed compressor, step for step, with centroids in half precision: to compare with. It is not the best one. Its
 * maintenance splits as it likes, so there may be more centroids than requested (`clusters` says how many), and some may have no
 * vectors. Vectors beyond ±65504, where half precision ends, are refused.
 *
 * @example
 * const options: VlcOptions = { dim: 8, clusters: 256, method: "vlc" };
 */
export interface VlcOptions extends ClusterBase {
  readonly method: "vlc";
  /** `"farthest"` as published, beginning with the first vector; `"k-means++"` as for `"lloyd"`. @defaultValue `"farthest"` */
  readonly start?: "k-means++" | "farthest";
  /** Mean of a cluster; `"plain"` is that of the published GPU kernels. @defaultValue `{ trim: 0.1 }` */
  readonly mean?: Mean;
  /** Temperature at the start. @defaultValue 1 */
  readonly temperature?: number;
  /** Share of the temperature that every iteration takes away. @defaultValue 0.01 */
  readonly cooling?: number;
  /** Learning rate of moves towards means: η = learningRate · T/(1 + T). @defaultValue 0.1 */
  readonly learningRate?: number;
  /** Momentum: share of its last move that a centroid repeats. @defaultValue 0 */
  readonly momentum?: number;
  /** Converged when fewer assignments change (and the energy, by less than `tolerance`), three times in a row. @defaultValue 10 */
  readonly minChanges?: number;
  /** Iterations between two rounds of merging and splitting. @defaultValue 50 */
  readonly maintenanceInterval?: number;
}

/**
 * How to cluster; what a method does not know does not compile.
 *
 * @example
 * const options: ClusterOptions = { dim: 2, clusters: 16, method: "lloyd", start: "farthest" };
 */
export type ClusterOptions = AnnealOptions | LloydOptions | VlcOptions;

/**
 * One iteration.
 *
 * @example
 * const { iterations } = await lw.cluster(points, { dim: 2, clusters: 16 });
 * console.log(iterations.map(({ energy, changed }: ClusterIteration) => [energy, changed]));
 */
export interface ClusterIteration {
  /** Mean squared distance of a vector to its centroid. */
  readonly energy: number;
  /** Assignments that changed. */
  readonly changed: number;
  /** Temperature of the annealing; 0 without annealing. */
  readonly temperature: number;
  /** Centroids there are. */
  readonly clusters: number;
}

/**
 * A codebook: centroids, and which of them is nearest to each vector.
 *
 * @example
 * const found: Clustering = await lw.cluster(points, { dim: 2, clusters: 16 });
 * console.log(found.counts, found.energy, found.reason);
 */
export interface Clustering {
  readonly dim: number;
  /** Centroids that it came to. */
  readonly clusters: number;
  /** One centroid after the other. */
  readonly centroids: F32;
  /** The centroid of each vector. */
  readonly labels: Uint32Array;
  /** Vectors of each centroid. */
  readonly counts: Uint32Array;
  /** Mean squared distance of a vector to its centroid, in the last iteration: one that ended before it converged may be a step further. */
  readonly energy: number;
  readonly iterations: readonly ClusterIteration[];
  /** `"stopped"` by its signal: what is there is the best so far. Where there is no codebook yet, the call rejects with the signal's reason. */
  readonly termination: "converged" | "max-iterations" | "stopped";
  /** The termination in a sentence, with its numbers. */
  readonly reason: string;
  readonly ms: number;
}

const MEAN = { trim: real(0, 0.49), huber: real(0, Infinity, true) } as const;

const mean: Kind<Mean> = (name, value, place) => {
  const all = typeof value === "object" && value !== null ? checked(name, value, MEAN, { prefix: `${name}.` }) : {};
  if (value !== "plain" && Object.keys(all).length !== 1) {
    throw new LeastwiseError("invalid-option", `${name}: ${shownValue(value)} is not one of "plain", { trim: share }, { huber: distance }`, place);
  }
  return (value === "plain" ? value : all) as Mean;
};

const method = oneOf("anneal", "lloyd", "vlc");
const start = oneOf("k-means++", "farthest");
/** A way to start, or centroids, which are looked at once it is known how many there are. */
const startOrCentroids: Kind<"k-means++" | "farthest" | Points> = (name, value, place) =>
  typeof value === "object" && value !== null ? value as Points : start(name, value, place);
const metric: Kind<"l2" | "cosine"> = (name, value, place) => {
  if (value === "dot") throw new LeastwiseError("invalid-option", `${name}: "dot" has no centroids, as no mean is nearest by dot product: take "cosine" or "l2"`, place);
  return oneOf("l2", "cosine")(name, value, place);
};
const BASE = {
  dim: dimension, clusters: whole(), method, metric, maxIterations: whole(), tolerance: real(0), seed: whole(0), deviceBytes: real(1),
  // Ranks have one method: another is refused by all of them, once all were told.
  ranks: flag, ...REPORTING,
} as const;
const cooling = real(0, 0.999);
const METHODS = {
  anneal: { ...BASE, cooling },
  lloyd: { ...BASE, start: startOrCentroids, mean, minChanges: whole(0) },
  vlc: { ...BASE, start, mean, temperature: real(0, Infinity, true), cooling, learningRate: real(0, Infinity, true), momentum: real(0, 0.999), minChanges: whole(0), maintenanceInterval: whole() },
} as const;

/** Options as the engine takes them, checked, and what reports on the work. @internal */
export function nativeClusterOptions(options: ClusterOptions): { native: NativeClusterOptions; centroids?: Floats } & Pick<LloydOptions, "signal" | "onProgress" | "metric" | "ranks"> {
  const what = "cluster(points, options): options";
  // The method first: it says what the others may be.
  const asked = reading(what, () => (mustBePlain(what, options), options.method)) ?? "anneal";
  method("method", asked, {});
  const { signal, onProgress, metric, ranks, start: from, ...rest } = checked(`cluster({ method: "${asked}" }): options`, options, METHODS[asked] as typeof METHODS.lloyd);
  const native = { ...rest, ...(typeof from === "string" && { start: from }) };
  if (native.clusters === undefined) throw new LeastwiseError("invalid-option", "clusters: say how many centroids are wanted");
  const centroids = from === undefined || typeof from === "string" ? undefined : startingCentroids(from, native.clusters, native.dim, metric);
  return { native: { ...native, method: asked } as NativeClusterOptions, ...(centroids && { centroids }), ...(metric && { metric }), ...(ranks && { ranks }), ...(signal && { signal }), ...(onProgress && { onProgress }) };
}

/** Centroids to begin with, checked. */
function startingCentroids(given: Points, clusters: number, dim: number | undefined, metric: "l2" | "cosine" | undefined): Floats {
  const what = "cluster({ start })", floats = pointsOf(`${what}: start`, given, dim);
  if (floats.length !== clusters * dim!) throw new LeastwiseError("data-length", `start has ${floats.length / dim!} centroids, but clusters asks for ${clusters}`);
  return metric === "cosine" ? normalised(what, floats, dim!) : floats;
}

/** True for engines that may be ranks. */
const mayBeRank = (engine: NativeEngine): engine is RankedNative => "clusterByRanks" in engine;

/** Vectors as the engine takes them. */
function vectorsOf(points: Points, dim: number, metric: "l2" | "cosine" | undefined): Floats {
  const given = pointsOf("cluster(points): points", points, dim);
  return metric === "cosine" ? normalised("cluster(points)", given, dim) : given;
}

/** @internal */
export async function cluster(tasks: Tasks, points: Points, options: ClusterOptions): Promise<Clustering> {
  const { native, centroids, metric, ranks, signal, onProgress } = nativeClusterOptions(options);
  const start = centroids && Float64Array.from(centroids);
  const begin = (engine: NativeEngine, vectors: Floats) => ranks && mayBeRank(engine) ? engine.clusterByRanks(vectors, start, native, metric ?? "l2") : engine.cluster(vectors, start, native);
  let floats: Floats;
  try {
    floats = vectorsOf(points, native.dim, metric);
  } catch (thrown) {
    // Other ranks wait for this one: they hear that it has no vectors.
    if (ranks && mayBeRank(tasks.native)) await tasks.beginWith(NEEDS.vectors, new Float32Array(0), begin).catch(() => undefined);
    throw thrown;
  }
  const { clustering } = await tasks.beginWith(NEEDS.vectors, floats, begin, { signal, onProgress });
  if (!clustering) throw new LeastwiseError("internal", "the engine gave no clustering; this is a bug of Leastwise, please report it");
  return clusteringOf(clustering, native.dim);
}

function clusteringOf(native: NativeClustering, dim: number): Clustering {
  const { centroids, labels, counts, energy, iterations, termination, reason, ms } = native;
  return { dim, clusters: centroids.length / dim, centroids: centroids as F32, labels, counts, energy, iterations, termination: termination as Clustering["termination"], reason, ms };
}
