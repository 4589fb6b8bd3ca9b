/** Compressed vectors that can be searched. */
import type { F32, Indices, Mask, U8 } from "./arrays.js";
import { bytesOf, indicesOf } from "./arrays.js";
import { LeastwiseError } from "./errors.js";
import type { Host } from "./host.js";
import { describe } from "./instruction.js";
import type { NativeEvaluation } from "./native.js";
import { pointsOf, type Points } from "./points.js";
import { checked, flag, given, oneOf, REPORTING, takesNoMore, whole, type Reporting } from "./options.js";
import type { Tasks } from "./tasks.js";

/**
 * Device of a search: batches of 16 queries or more on the engine's device, with at most 512 neighbours; all else on the CPU.
 *
 * @example
 * const { searchedBy, reason }: Searched = await index.search(points, { k: 10 });
 */
export interface Searched {
  readonly searchedBy: "cpu" | "webgpu" | "cuda";
  /** Why it was the CPU, where the engine has another device; absent otherwise. */
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
  /** Squared Euclidean distances, as far as the codes tell; ∞ where there are fewer than k. */
  readonly distances: F32;
  readonly k: number;
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
  /** Clusters to search, the nearest first. @defaultValue all up to 256, and an eighth of those beyond */
  readonly probes?: number;
  /** Which vectors may be found: one byte for each id, 0 for those that may not. @defaultValue all */
  readonly filter?: Mask;
  /** Ends the search; it then rejects with the signal's reason. @defaultValue none */
  readonly signal?: Host<"AbortSignal">;
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
  readonly code: "none" | "int8" | "int4" | "pq" | "bits";
  readonly dim: number;
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
  /** Bytes of memory that its sketches take now ({@link VectorIndex.sketches}). */
  readonly sketchBytes: number;
  /** Description of the code. */
  readonly quantization?: { readonly [name: string]: unknown };
  /** How it was made: `method`, `clusters`, `bits` or `ratio` as asked, `seed`, and what its clustering came to; or which files it was read from. */
  readonly about: { readonly [name: string]: unknown };
}

/**
 * A searchable index. Its vectors have ids: 0, 1, 2, … in the order in which they were given, never used twice.
 *
 * @example
 * const index: VectorIndex = await lw.compress(points, { dim: 8, ratio: 0.125 });
 * const { ids } = await index.search(points.subarray(0, 8), { k: 5 });
 * const file = await index.save();
 */
export interface VectorIndex extends Disposable {
  readonly dim: number;
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
   * `true` unless set; setting it to `false` frees them.
   */
  sketches: boolean;
  /**
   * Device that searches. `"auto"`, the default: batches of 16 queries and more on a GPU, everything else on the CPU, and on software adapters,
   * which take longer, all of it. `"cpu"`: on the CPU. `"device"`: on the engine's device whatever is possible there. {@link Hits.searchedBy}
   * says what it was, and {@link Hits.reason} why.
   */
  searching: "auto" | "cpu" | "device";
  /**
   * The nearest vectors of each query. Many queries at once take much less time than one by one: on a GPU they are searched there, by the
   * codes, which stay there until vectors come or go.
   */
  search(queries: Points, options: SearchOptions): Promise<Hits>;
  /**
   * Adds vectors, each to its nearest cluster, with the code that there is (an index that was made of no vectors makes clusters and code of
   * the first that it is given); gives their ids. They are in it when the promise resolves, all of
   * them or, where it rejects, none; of several calls that run at once none resolves before the earlier ones, and ids are in their order.
   * Components outside of the range that `"int8"`, `"int4"` and `"pq"` were made for are cut off at its ends; vectors that lie outside by more
   * than half of the range, all components taken together, or too far for the other codes, are refused with `"limits"`.
   */
  add(points: Points, options?: Reporting): Promise<Uint32Array>;
  /**
   * Takes vectors out; gives how many of them were in it. Their ids are never used again, which costs the file a few bytes. Clusters and
   * model stay, so that `ratio` grows where many are taken out.
   */
  remove(ids: Indices): number;
  /** Vectors as their codes have them. */
  reconstruct(ids: Indices): F32;
  /** Measures recall and latency against exact search among the original vectors. */
  evaluate(queries: Points, options: EvaluateOptions): Promise<IndexEvaluation>;
  /** The index as a file, for {@link Engine.openIndex}. */
  save(): Promise<U8>;
  dispose(): void;
}

const SEARCHING = oneOf("auto", "cpu", "device");
const SEARCH = { k: whole(), probes: whole(), filter: given<Mask>(), signal: REPORTING.signal } as const;
const EVALUATE = { k: whole(), probes: whole(), points: given<Points>(), ...REPORTING } as const;

/** Vectors that an index was given, for as long as their owner keeps them, and the id of the first. */
interface Given { readonly points: WeakRef<Points>; readonly length: number; readonly first: number }

/** @internal */
export class VectorIndexOf implements VectorIndex {
  #disposed = false;
  #sketches = true;
  #searching: "auto" | "cpu" | "device" = "auto";
  /** Undefined where the index came from a file. */
  readonly #given: Given[] | undefined;

  constructor(private readonly tasks: Tasks, private readonly handle: number, made?: { points: Points; length: number }) {
    tasks.owners.adopt(this, "indices", handle);
    this.#given = made && (made.length > 0 ? [{ points: new WeakRef(made.points), length: made.length, first: 0 }] : []);
  }

  get dim(): number { return this.#sizes().dim; }
  get count(): number { return this.#sizes().count; }
  get bytes(): number {
    const index = this.#alive();
    return this.tasks.call((native) => native.indexBytes(index));
  }
  get ratio(): number {
    const { count, dim } = this.#sizes();
    return this.bytes / (4 * count * dim);
  }
  get info(): IndexInfo {
    const index = this.#alive();
    return JSON.parse(this.tasks.call((native) => native.indexInfo(index))) as IndexInfo;
  }

  get sketches(): boolean { return this.#sketches; }
  set sketches(may: boolean) {
    const index = this.#alive();
    flag("sketches", may, {});
    this.tasks.call((native) => native.setIndexSketching(index, may));
    this.#sketches = may;
  }

  get searching(): "auto" | "cpu" | "device" { return this.#searching; }
  set searching(place: "auto" | "cpu" | "device") {
    const index = this.#alive();
    SEARCHING("searching", place, {});
    this.tasks.call((native) => native.setIndexSearching(index, place));
    this.#searching = place;
  }

  async search(queries: Points, options: SearchOptions): Promise<Hits> {
    takesNoMore("index.search(queries, options)", 2, arguments);
    const index = this.#alive();
    const { k, probes, filter: given, signal } = checked("search(queries, options): options", options, SEARCH);
    mustBeThere(k);
    const filter = given === undefined ? undefined : bytesOf("filter", given);
    if (given !== undefined && !filter) throw new LeastwiseError("invalid-option", `filter must be a Uint8Array with a byte for each id, not ${describe(given)}`);
    const { dim, nextId } = this.#sizes();
    if (filter && filter.length !== nextId) throw new LeastwiseError("data-length", `filter has ${filter.length} bytes, but ${nextId} are needed: one for each id, those of removed vectors among them`);
    const floats = pointsOf("search(queries): queries", queries, dim);
    const task = this.tasks.call((native) => native.searchIndex(index, floats, k, probes, filter));
    const { hits } = await this.tasks.run(task, { signal, onAbort: "reject" });
    const { ids, distances, ...searched } = hits!;
    return { ids, distances: distances as F32, k, ...searched };
  }

  async add(points: Points, options: Reporting = {}): Promise<Uint32Array> {
    takesNoMore("index.add(points, options)", 2, arguments);
    const index = this.#alive();
    const { signal, onProgress } = checked("add(points, options): options", options, REPORTING);
    const floats = pointsOf("add(points): points", points, this.dim);
    const task = this.tasks.call((native) => native.addToIndex(index, floats));
    const { ids } = await this.tasks.run(task, { signal, onProgress, onAbort: "reject" });
    if (floats.length > 0) this.#given?.push({ points: new WeakRef(points), length: floats.length, first: ids![0]! });
    return ids!;
  }

  remove(ids: Indices): number {
    takesNoMore("index.remove(ids)", 1, arguments);
    const given = idsOf("remove", ids);
    return this.tasks.call((native) => native.removeFromIndex(this.#alive(), given));
  }

  reconstruct(ids: Indices): F32 {
    takesNoMore("index.reconstruct(ids)", 1, arguments);
    const given = idsOf("reconstruct", ids);
    return this.tasks.call((native) => native.reconstructFromIndex(this.#alive(), given)) as F32;
  }

  async evaluate(queries: Points, options: EvaluateOptions): Promise<IndexEvaluation> {
    takesNoMore("index.evaluate(queries, options)", 2, arguments);
    const index = this.#alive();
    const { k, probes, points: given, signal, onProgress } = checked("evaluate(queries, options): options", options, EVALUATE);
    mustBeThere(k);
    const { dim, nextId } = this.#sizes();
    const asked = pointsOf("evaluate(queries): queries", queries, dim);
    const points = pointsOf("evaluate(queries, { points }): points", given ?? this.#originals(), dim);
    if (points.length !== nextId * dim) throw new LeastwiseError("data-length", `evaluate(queries, { points }): points has ${points.length / dim} vectors, but the index has given ${nextId} ids; row i must be the vector of id i`);
    const task = this.tasks.call((native) => native.evaluateIndex(index, asked, points, k, probes));
    return (await this.tasks.run(task, { signal, onProgress, onAbort: "reject" })).evaluation as NativeEvaluation;
  }

  /** The vectors that the index was made of, one after the other. */
  #originals(): Points {
    const given = this.#given?.sort((a, b) => a.first - b.first);
    const parts = given?.map(({ points }) => points.deref());
    if (!given || !parts) throw new LeastwiseError("invalid-option", "evaluate(queries): an index from a file does not have the original vectors; give them as points");
    const numbers = parts.map((part) => part && pointsOf("evaluate(queries): the vectors that the index was made of", part, 1));
    const gone = numbers.findIndex((part, k) => !part || part.length !== given[k]!.length);
    if (gone >= 0) throw new LeastwiseError("invalid-option", "evaluate(queries): the vectors that the index was made of are not in memory any more; give them as points");
    if (parts.length === 1) return parts[0]!;
    const all = new Float32Array(numbers.reduce((sum, part) => sum + part!.length, 0));
    let at = 0;
    for (const part of numbers) {
      all.set(part!, at);
      at += part!.length;
    }
    return all;
  }

  async save(): Promise<U8> {
    takesNoMore("index.save()", 0, arguments);
    const task = this.tasks.call((native) => native.saveIndex(this.#alive()));
    return (await this.tasks.run(task)).bytes as U8;
  }

  /** What of its info costs next to nothing. */
  #sizes(): { dim: number; count: number; nextId: number } {
    const index = this.#alive(), [dim, count, nextId] = this.tasks.call((native) => native.indexSizes(index));
    return { dim: dim!, count: count!, nextId: nextId! };
  }

  #alive(): number {
    if (this.#disposed) throw new LeastwiseError("disposed", "this index was disposed: it can't be used any more");
    return this.handle;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.tasks.owners.dispose(this, "indices", this.handle);
  }

  [Symbol.dispose](): void { this.dispose(); }
}

function mustBeThere(k: number | undefined): asserts k is number {
  if (k === undefined) throw new LeastwiseError("invalid-option", "k: say how many neighbours are wanted");
}

function idsOf(call: string, ids: Indices): Uint32Array {
  const must = "must be an array of non-negative integers";
  return indicesOf(`${call}(ids): ids`, ids, (k, id) => new LeastwiseError("invalid-option", `${call}(ids): ids ${must}; ids[${k}] is ${id}`), { must });
}
