/** Compressed vectors that can be searched: their interface. `vectors/searchable.ts` has the class. */
import type { F32, Indices, U8 } from "./arrays.js";
import type { Host } from "./host.js";
import type { Reporting } from "./options.js";
import type { Points } from "./points.js";
import type { Filter } from "./vectors/filter.js";
import type { Key, KeyList } from "./vectors/keys.js";
import type { Metric } from "./vectors/metric.js";

/**
 * Device and path of a search: batches of 16 queries or more on the engine's device, with at most 512 neighbours; all else on the CPU.
 *
 * @example
 * const { searchedBy, through, reason }: Searched = await index.search(points, { k: 10 });
 */
export interface Searched {
  readonly searchedBy: "cpu" | "webgpu" | "cuda";
  /** `"graph"` if a walk in the index's graph found the vectors, `"lists"` if all vectors of the searched clusters were compared. */
  readonly through: "lists" | "graph";
  /** Why it was the CPU, where the engine has another device, or lists, where the index has a graph; absent otherwise. */
  readonly reason?: string;
}

/**
 * Nearest vectors of queries: k for each query, one query after the other, the nearest first.
 *
 * @example
 * const { ids, distances, k }: Hits = await index.search(points, { k: 10 });  // k of each query, the nearest first
 */
export interface Hits extends Searched {
  /** 4,294,967,295 where there are fewer than k. */
  readonly ids: Uint32Array;
  /** Keys of the same vectors, of an index that has keys; undefined where there are fewer than k. */
  readonly keys?: readonly (Key | undefined)[];
  /**
   * Distances, as far as the codes tell, the least first: squared Euclidean ones, 1 − cosine, or −⟨q, x⟩, as the metric is; ∞ where there
   * are fewer than k.
   */
  readonly distances: F32;
  /** Scores, the greatest first: the cosine, the dot product, or minus the squared distance; −∞ where there are fewer than k. */
  readonly scores: F32;
  readonly k: number;
}

/**
 * All vectors within a distance of each query, the nearest first.
 *
 * @example
 * const { ids, offsets }: RangeHits = await index.searchRange(points, { maxDistance: 0.5 });
 * const ofFirst = ids.subarray(offsets[0], offsets[1]);
 */
export interface RangeHits extends Searched {
  /** Where hits of each query begin, and where those of the last end: one more than queries. */
  readonly offsets: Uint32Array;
  readonly ids: Uint32Array;
  /** Keys of the same vectors, of an index that has keys. */
  readonly keys?: readonly Key[];
  /** Distances as {@link Hits.distances}. */
  readonly distances: F32;
  /** Scores as {@link Hits.scores}. */
  readonly scores: F32;
}

/**
 * Options of {@link VectorIndex.search}.
 *
 * @example
 * const options: SearchOptions = { k: 10, probes: 8 };
 * const { ids } = await index.search(points, options);
 */
export interface SearchOptions {
  /** Neighbours wanted of each query. */
  readonly k: number;
  /** Clusters to search, the nearest first: not through the graph. @defaultValue all up to 256, and an eighth of those beyond */
  readonly probes?: number;
  /**
   * Beam of the walk in the graph ({@link VectorIndex.buildGraph}), from `k` to 8192: more of it finds more and takes longer. With {@link VectorIndex.sketches}
   * `"bits"` and without a walk, the vectors that are decoded. Refused by an index with neither, and where sketches don't pay: of fewer than 32 components or 16 · `k` vectors.
   *
   * @defaultValue 64, or three times `k` where that is more; with such sketches 128, or four times `k`
   */
  readonly effort?: number;
  /**
   * Which vectors may be found. Queries with fewer than k hits in the clusters that they search go on to all others, so that there are
   * k hits or as many as there are vectors that may be found.
   *
   * @defaultValue all
   */
  readonly filter?: Filter;
  /** A filter for each query, instead of one for all; undefined for those without. Queries of the same filter are searched together; none may change before the search is over. @defaultValue none */
  readonly filters?: readonly (Filter | undefined)[];
  /** Metric that the caller counts on: another one than the index has is refused. @defaultValue that of the index */
  readonly metric?: Metric;
  /** Ends the search; it then rejects with the signal's reason. @defaultValue none */
  readonly signal?: Host<"AbortSignal">;
}

/**
 * Options of {@link VectorIndex.searchRange}: one of `maxDistance` and `minScore`.
 *
 * @example
 * const options: RangeOptions = { maxDistance: 0.5 };
 * const { ids, offsets } = await index.searchRange(points, options);
 */
export interface RangeOptions extends Omit<SearchOptions, "k" | "filters" | "effort"> {
  /** Greatest distance of a hit, as {@link Hits.distances} has it: squared, of `"l2"`. @defaultValue none: `minScore` holds */
  readonly maxDistance?: number;
  /** Least score of a hit, as {@link Hits.scores} has it. @defaultValue none: `maxDistance` holds */
  readonly minScore?: number;
  /** Clusters to search, the nearest first. @defaultValue all of them */
  readonly probes?: number;
}

/**
 * Options of {@link VectorIndex.buildGraph}.
 *
 * @example
 * const options: BuildGraphOptions = { degree: 16 };  // half the memory, a little less recall
 * await index.buildGraph(options);
 */
export interface BuildGraphOptions extends Reporting {
  /** Most neighbours of a vector, from 4 to 128; each takes ⌈log₂ count⌉ bits of file and memory. @defaultValue 32 */
  readonly degree?: number;
  /** Beam of the searches that find the neighbours, from 1 to 8192: more of it makes a better graph and takes longer. @defaultValue 96 */
  readonly effort?: number;
}

/**
 * Options of {@link VectorIndex.add}.
 *
 * @example
 * const options: AddOptions = { onProgress: (done, total) => console.log(done / total) };
 * await index.add(points, options);
 */
export interface AddOptions extends Reporting {
  /** Keys of the vectors; needed by an index that has keys, and refused by others. @defaultValue none */
  readonly keys?: KeyList;
}

/**
 * Options of {@link VectorIndex.upsert}.
 *
 * @example
 * const options: UpsertOptions = { keys: ["page-1"] };
 */
export interface UpsertOptions extends Reporting { readonly keys: KeyList }

/**
 * Options of {@link VectorIndex.save}.
 *
 * @example
 * const options: SaveOptions = { lazy: true };
 * const file = await index.save(options);
 */
export interface SaveOptions {
  /**
   * Makes a file whose codes can be read when searches need them: in order of their clusters, with a checksum each, and, of an index with a graph, with the
   * sketches that walks go by. It takes 4 bytes a cluster and those of the sketches more than `bytes`. Refused for the code `"none"`, which has no codes.
   *
   * @defaultValue false
   */
  readonly lazy?: boolean;
}

/**
 * Options of {@link VectorIndex.evaluate}.
 *
 * @example
 * const options: EvaluateOptions = { k: 10, probes: 8 };
 * const { recall } = await index.evaluate(points, options);
 */
export interface EvaluateOptions extends Reporting {
  readonly k: number;
  /** Clusters to search, the nearest first. @defaultValue all clusters up to 256, and an eighth of those beyond */
  readonly probes?: number;
  /** Beam of walks in the graph, as {@link SearchOptions.effort}. @defaultValue 64, or three times `k` where that is more */
  readonly effort?: number;
  /** The original vectors, row i that of id i. @defaultValue those that the index was made of, if they are still in memory */
  readonly points?: Points;
}

/**
 * How good an index is, measured now; and what searched for all queries together.
 *
 * @example
 * const { recall, ratio }: IndexEvaluation = await index.evaluate(points, { k: 10 });
 */
export interface IndexEvaluation extends Searched {
  /** The share of the k truly nearest vectors that the index finds, on average; others just as near count as well. */
  readonly recall: number;
  /** Bytes of its file. */
  readonly bytes: number;
  /** These over those of the vectors in f32. */
  readonly ratio: number;
  /** Milliseconds of a query, all of them searched together. */
  readonly msPerQuery: number;
  /** Milliseconds of one query alone. */
  readonly msSingle: number;
  /** Milliseconds of a query of the exact search among the original vectors, all queries together. */
  readonly exactMsPerQuery: number;
}

/**
 * Properties of an index.
 *
 * @example
 * const { code, count, bytes }: IndexInfo = index.info;
 */
export interface IndexInfo {
  readonly code: "none" | "int8" | "int4" | "bits" | "f32" | "f16";
  readonly dim: number;
  readonly metric: Metric;
  /** Greatest length that a vector may have, of the metric `"dot"` once there have been vectors. */
  readonly maxNorm?: number;
  /** True if its vectors have keys. */
  readonly keyed: boolean;
  /** Vectors in it. */
  readonly count: number;
  /** Inverted lists, each with an anchor. */
  readonly clusters: number;
  /** Bytes of a vector's code, without its cluster. */
  readonly rowBytes: number;
  readonly bitsPerDimension: number;
  /** The id that the next vector gets: the length of a filter. */
  readonly nextId: number;
  /** Bytes of its file: everything that is stored. */
  readonly bytes: number;
  /**
   * Bytes of memory that its sketches take now: a byte a component of those that go with lists ({@link VectorIndex.sketches}), a bit a component and
   * 4 bytes a vector of those that go with a graph.
   */
  readonly sketchBytes: number;
  /** Bytes of memory that it takes now, by what they are for; more of it is taken while something is searched or made. */
  readonly memory: {
    readonly codes: number;
    /** Cluster of every vector: ⌈log₂ clusters⌉ bits, as in the file. */
    readonly labels: number;
    /** Nothing while ids are 0, 1, 2, …; otherwise 2 + ⌈log₂(nextId / count)⌉ bits a vector, about. */
    readonly ids: number;
    /** In f16, as in the file, and twice in f32. */
    readonly anchors: number;
    /** Model of the code. */
    readonly model: number;
    /** Vectors by cluster, 4 bytes each, as long as searches go through clusters. */
    readonly lists: number;
    /** `sketchBytes`. */
    readonly sketches: number;
    readonly graph: number;
    readonly total: number;
  };
  /** Its graph, if it has one. */
  readonly graph?: {
    readonly degree: number;
    readonly effort: number;
    /** Vectors in it: the first so many of the index. The others are looked at one by one, until `buildGraph()` inserts them. */
    readonly vectors: number;
    /** Vectors removed since it was built whole. */
    readonly removed: number;
    /** Bytes of file and of memory. */
    readonly bytes: number;
    /** Device that inserted vectors when `buildGraph()` was called last; absent where the graph comes from a file. */
    readonly builtBy?: "cpu" | "webgpu" | "cuda";
    /** Why it was the CPU, where the engine has another device and `searching` is not `"cpu"`; absent otherwise. */
    readonly reason?: string;
  };
  /** Description of the code. */
  readonly quantization?: { readonly [name: string]: unknown };
  /** How it was made: `method`, `clusters`, `bits` or `ratio` as asked, `seed`, and what its clustering came to; or which files it was read from. */
  readonly about: { readonly [name: string]: unknown };
}

/**
 * A searchable index. Its vectors have ids: 0, 1, 2, … in the order in which they were given, never used twice; and, where it was made
 * with them, keys of the caller's.
 *
 * @example
 * const index: VectorIndex = await lw.compress(points, { dim: 8, ratio: 0.125 });
 * const { ids } = await index.search(points.subarray(0, 8), { k: 5 });
 * const file = await index.save();
 */
export interface VectorIndex extends Disposable {
  readonly dim: number;
  readonly metric: Metric;
  /** Vectors in it. */
  readonly count: number;
  /** Bytes of its file: everything that is stored. */
  readonly bytes: number;
  /** `bytes` over those of the vectors in f32; infinite without vectors. */
  readonly ratio: number;
  /** Everything that is known of it. */
  readonly info: IndexInfo;
  /**
   * Whether searches may keep, from the first one on, what codes decode to, a byte a component: `dim` bytes of memory a vector, with which a
   * query decodes only those few vectors that can be among its nearest. Hits are the same to the bit, with sketches or without.
   * `"bits"` keeps one bit a component and 4 bytes a vector instead, with which a query decodes the `effort` vectors of the least estimated distances
   * (default: 128, or four times `k`): nearly the same hits, in an eighth of the memory. {@link VectorIndex.searchRange} compares all codes, whatever sketches there are.
   * `true` unless set; setting it to `false` frees them.
   */
  sketches: boolean | "bits";
  /**
   * Device that searches. `"auto"`, the default: batches of 16 queries and more on a GPU, everything else on the CPU, and on software adapters,
   * which take longer, all of it. `"cpu"`: on the CPU. `"device"`: on the engine's device whatever is possible there. {@link Hits.searchedBy}
   * says what it was, and {@link Hits.reason} why. `buildGraph()` goes by it as well: `"auto"` builds graphs of 4,096 new vectors and more on a GPU.
   */
  searching: "auto" | "cpu" | "device";
  /**
   * The nearest vectors of each query. Many queries at once take much less time than one by one: on a GPU they are searched there, by the
   * codes, which stay there until vectors come or go.
   */
  search(queries: Points, options: SearchOptions): Promise<Hits>;
  /**
   * Makes a proximity graph, with which a search looks at some hundred vectors instead of all of the searched clusters. From then on searches on the
   * CPU without `probes` walk in it; {@link Hits.through} says if one did, and {@link Hits.reason} why not: a filter that lets less than a sixteenth of
   * the vectors pass, more than 1024 neighbours or a quarter of all. Distances are those of a search through lists; which vectors are found depends on
   * `effort`. The graph is part of the file.
   *
   * The graph is Vamana's (Subramanya et al., 2019), built in batches that double in size (Manohar et al., 2024): the same for the same calls, whatever
   * the number of threads, on the CPU or on a GPU. `info.graph.builtBy` says which it was, and `info.graph.reason` why. Vectors that are removed leave it at once, and those around are linked instead. Vectors that are added later are compared one
   * by one; calling this again inserts them, or makes the graph anew if options differ or more than a quarter of it was removed. If vectors come or
   * go while it is made, it begins anew.
   *
   * @throws `invalid-option` without vectors, and for the code `"none"`.
   */
  buildGraph(options?: BuildGraphOptions): Promise<void>;
  /**
   * All vectors within a distance of each query, through lists. Searches with k = 64, and four times as many for those queries whose last hit is still within
   * the distance: what the codes of the searched clusters tell, exactly.
   */
  searchRange(queries: Points, options: RangeOptions): Promise<RangeHits>;
  /**
   * Adds vectors, each to its nearest cluster, with the code that there is (an index that was made of no vectors makes clusters and code of
   * the first that it is given); gives their ids. They are in it when the promise resolves, all of
   * them or, where it rejects, none; of several calls that run at once none resolves before the earlier ones, and ids are in their order.
   * Components outside of the range that `"int8"` and `"int4"` were made for are cut off at its ends; vectors that lie outside by more
   * than half of the range, all components taken together, or too far for the other codes, are refused with `"limits"`.
   */
  add(points: Points, options?: AddOptions): Promise<Uint32Array>;
  /**
   * Adds vectors under their keys, each instead of the vector that has its key, if there is one; gives their new ids. All of them are
   * exchanged when the promise resolves or, where it rejects, none.
   */
  upsert(points: Points, options: UpsertOptions): Promise<Uint32Array>;
  /**
   * Takes vectors out, by ids or by keys; gives how many of them were in it. Their codes leave the index at once; their ids are never used
   * again, which costs the file a few bytes. Clusters and model stay, so that `ratio` grows where many are taken out.
   */
  remove(vectors: Indices | { readonly keys: KeyList }): number;
  /** True if a vector has this key. */
  has(key: Key): boolean;
  /** Ids of keys, all of which must be in the index. */
  idsOf(keys: KeyList): Uint32Array;
  /** Vectors as their codes have them; of the metric `"cosine"` at unit length, about. */
  reconstruct(ids: Indices): F32;
  /** Measures recall and latency against exact search among the original vectors. */
  evaluate(queries: Points, options: EvaluateOptions): Promise<IndexEvaluation>;
  /** The index as a file, for {@link Engine.openIndex}, and with `lazy: true` also for `openLazily` of `leastwise/vectors`. */
  save(options?: SaveOptions): Promise<U8>;
  dispose(): void;
}
