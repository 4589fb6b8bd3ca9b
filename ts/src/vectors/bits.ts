/** Vectors of bits, searched exhaustively by Hamming distance. */
import { bytesOf, indicesOf, isArrayLike, type Indices, type U8 } from "../arrays.js";
import type { Engine } from "../engine.js";
import { LeastwiseError, reading } from "../errors.js";
import type { Host } from "../host.js";
import { describe, shownValue } from "../instruction.js";
import { checked, given, hasMethods, REPORTING, takesNoMore, whole } from "../options.js";
import { NEEDS } from "../parts.js";
import { dimension } from "../points.js";
import type { Tasks } from "../tasks.js";
import { maskOf, type Filter } from "./filter.js";
import { framed, idsIn, idsOfSection, isFramed, mustBe, putKeys, runsOf, unframed, type Kind } from "./framed.js";
import { Keys, hasKey, idsOfKeys, keysOf, withoutKeys, type Key, type KeyList } from "./keys.js";
import { filtersOf, grown, MOST_OF_CALL, NONE } from "./search.js";

/**
 * Options of {@link indexBits}.
 *
 * @example
 * const options: BitOptions = { dim: 256, keys: ["a", "b"] };
 */
export interface BitOptions {
  /** Bits of a vector, which takes ⌈dim / 8⌉ bytes. */
  readonly dim: number;
  /** Keys of the vectors, as an index by other metrics has them. @defaultValue none: ids alone */
  readonly keys?: KeyList;
}

/**
 * Options of {@link BitIndex.search}.
 *
 * @example
 * const options: BitSearchOptions = { k: 10, filter: (id) => id % 2 === 0 };
 */
export interface BitSearchOptions {
  /** Neighbours wanted of each query. */
  readonly k: number;
  /** Vectors that may be found. @defaultValue all */
  readonly filter?: Filter;
  /** A filter for each query, instead of one for all; undefined for those without. @defaultValue none */
  readonly filters?: readonly (Filter | undefined)[];
  /** Ends the search; it then rejects with the signal's reason. @defaultValue none */
  readonly signal?: Host<"AbortSignal">;
}

/**
 * Options of {@link BitIndex.searchRange}.
 *
 * @example
 * const options: BitRangeOptions = { maxDistance: 20 };
 */
export interface BitRangeOptions extends Omit<BitSearchOptions, "k" | "filters"> {
  /** Greatest number of bits in which a hit differs from the query. */
  readonly maxDistance: number;
}

/**
 * Device of a search.
 *
 * @example
 * const bits = await indexBits(lw, new Uint8Array(3200), { dim: 256 });
 * const { searchedBy, reason }: BitSearched = await bits.search(new Uint8Array(32), { k: 10 });
 */
export interface BitSearched {
  readonly searchedBy: "cpu";
  /** Reason that it was the CPU, where the engine has another device; absent otherwise. */
  readonly reason?: string;
}

/**
 * Nearest vectors of queries: k for each, one query after the other, the nearest first; of equally near ones the lower id.
 *
 * @example
 * const bits = await indexBits(lw, new Uint8Array(3200), { dim: 256 });
 * const { ids, distances, k }: BitHits = await bits.search(new Uint8Array(32), { k: 10 });
 */
export interface BitHits extends BitSearched {
  /** 4,294,967,295 where there are fewer than k. */
  readonly ids: Uint32Array;
  /** Keys of the same vectors, of an index that has keys; undefined where there are fewer than k. */
  readonly keys?: readonly (Key | undefined)[];
  /** Hamming distances: numbers of bits that differ; 4,294,967,295 where there are fewer than k. */
  readonly distances: Uint32Array;
  readonly k: number;
}

/**
 * All vectors within a distance of each query, the nearest first.
 *
 * @example
 * const bits = await indexBits(lw, new Uint8Array(3200), { dim: 256 });
 * const { ids, offsets }: BitRangeHits = await bits.searchRange(new Uint8Array(32), { maxDistance: 20 });
 * const ofFirst = ids.subarray(offsets[0], offsets[1]);
 */
export interface BitRangeHits extends BitSearched {
  /** Begin of each query's hits, and end of the last one's: one more than queries. */
  readonly offsets: Uint32Array;
  readonly ids: Uint32Array;
  readonly keys?: readonly Key[];
  readonly distances: Uint32Array;
}

/**
 * Vectors of bits that are searched exactly, by Hamming distance: {@link indexBits} and {@link openBits} make it. All vectors are compared with every query, on
 * the CPU. Vectors and queries are packed in a `Uint8Array`, ⌈dim / 8⌉ bytes each, as `numpy.packbits(x, axis=1)` packs them: the first component is the
 * highest bit of the first byte, and bits behind the last one are 0.
 *
 * @example
 * const index: BitIndex = await indexBits(lw, new Uint8Array(3200), { dim: 256 });
 * const { ids } = await index.search(new Uint8Array(32), { k: 10 });
 */
export interface BitIndex extends Disposable {
  /** Bits of a vector. */
  readonly dim: number;
  readonly metric: "hamming";
  /** Vectors in it. */
  readonly count: number;
  /** Id that the next vector gets: the length of a filter. */
  readonly nextId: number;
  /** True if its vectors have keys. */
  readonly keyed: boolean;
  /** Bytes of memory: ⌈dim / 64⌉ · 8 a vector, some room to grow, and some bits of an id after removals. */
  readonly memory: number;
  /** The nearest vectors of each query, exactly. */
  search(queries: Uint8Array, options: BitSearchOptions): Promise<BitHits>;
  /** All vectors within a distance of each query, exactly. */
  searchRange(queries: Uint8Array, options: BitRangeOptions): Promise<BitRangeHits>;
  /** Adds vectors; gives their ids. Keys are needed by an index that has keys, and refused by others. */
  add(vectors: Uint8Array, options?: { readonly keys?: KeyList }): Uint32Array;
  /** Adds vectors under their keys, each instead of the vector that has its key, if there is one; gives their new ids. */
  upsert(vectors: Uint8Array, options: { readonly keys: KeyList }): Uint32Array;
  /** Takes vectors out, by ids or by keys; gives how many of them were in it. Their ids are never used again. */
  remove(vectors: Indices | { readonly keys: KeyList }): number;
  /** True if a vector has this key. */
  has(key: Key): boolean;
  /** Ids of keys, all of which must be in the index. */
  idsOf(keys: KeyList): Uint32Array;
  /** The packed vectors of ids. */
  vectors(ids: Indices): Promise<U8>;
  /** The index as a file, for {@link openBits}: ⌈dim / 8⌉ bytes a vector. */
  save(): Promise<U8>;
  dispose(): void;
}

const MAKE = { dim: dimension, keys: given() } as const, ADD = { keys: given() } as const;
const SEARCH = { k: whole(), filter: given<Filter>(), filters: given(), signal: REPORTING.signal } as const;
const RANGE = { maxDistance: whole(0), filter: given<Filter>(), signal: REPORTING.signal } as const;
const BITS: Kind = { magic: "LWVBITS\n", name: "an index of bits" };

/** Bytes that are compared between two looks at the clock, and milliseconds after which others have their turn. */
const SLICE_BYTES = 2 ** 23, SLICE_MS = 8;
/** Kind of the engine's section of ids. */
const IDS = 2;

/**
 * An index of vectors of bits, for exact search by Hamming distance. They come packed, as {@link BitIndex} says; `new Uint8Array(0)` for none yet.
 *
 * @throws `invalid-option`, `data-length`; `invalid-option` for bits behind the last component that are not 0
 * @example
 * const index = await indexBits(lw, new Uint8Array(3200), { dim: 256 });
 */
export async function indexBits(lw: Engine, vectors: Uint8Array, options: BitOptions): Promise<BitIndex> {
  takesNoMore("indexBits(lw, vectors, options)", 3, arguments);
  const tasks = tasksOf("indexBits", lw), { dim, keys } = checked("indexBits(lw, vectors, options): options", options, MAKE);
  const rows = packed("indexBits(lw, vectors): vectors", vectors).slice();
  const loading = tasks.parts.need(NEEDS.graph);
  if (loading) await loading;
  const index = new BitIndexOf(tasks, tasks.call((native) => native.newBitIndex(dim!)), lw.backend, keys === undefined ? undefined : new Keys());
  try {
    index.add(rows, keys === undefined ? {} : { keys: keys as KeyList });
    return index;
  } catch (thrown) {
    index.dispose();
    throw thrown;
  }
}

/**
 * An index of bits that was saved.
 *
 * @throws `file-format`, `file-version`, `file-truncated` and `file-corrupt` for files that are none, of another version, cut, or changed
 * @example
 * const bits = await indexBits(lw, new Uint8Array(3200), { dim: 256 });
 * const again = await openBits(lw, await bits.save());
 */
export async function openBits(lw: Engine, file: Uint8Array): Promise<BitIndex> {
  takesNoMore("openBits(lw, file)", 2, arguments);
  const tasks = tasksOf("openBits", lw), bytes = packed("openBits(lw, file): file", file);
  const loading = tasks.parts.need(NEEDS.graph);
  if (loading) await loading;
  let keys: Keys | undefined, rest = bytes, runs: unknown;
  if (isFramed(BITS, bytes)) {
    const framing = unframed(BITS, bytes);
    putKeys(BITS, keys = new Keys(), runs = framing.said.ids, framing.said.keys);
    rest = framing.rest;
  }
  const handle = tasks.call((native) => native.openBitIndex(rest)), index = new BitIndexOf(tasks, handle, lw.backend, keys);
  try {
    if (keys) mustBe(BITS, idsOfSection(rest, IDS, index.count), idsIn(BITS, runs, keys.size));
    return index;
  } catch (thrown) {
    index.dispose();
    throw thrown;
  }
}

function tasksOf(call: string, lw: unknown): Tasks {
  const tasks = reading(`${call}(lw): lw`, () => (lw as { readonly tasks?: Tasks } | undefined)?.tasks);
  if (typeof lw !== "object" || !hasMethods(tasks, "call")) throw new LeastwiseError("invalid-option", `${call}(lw, …): lw must be an engine, as init() gives it, not ${describe(lw)}`);
  return tasks;
}

function packed(what: string, given: unknown): Uint8Array {
  const bytes = bytesOf(what, given);
  if (!bytes) throw new LeastwiseError("invalid-option", `${what} must be a Uint8Array, eight bits a byte, not ${describe(given)}`);
  return bytes;
}

/** Hits of some queries, as the engine has them. */
interface Found { readonly offsets: Uint32Array; readonly ids: Uint32Array; readonly distances: Uint32Array }

class BitIndexOf implements BitIndex {
  readonly metric = "hamming";
  #disposed = false;

  constructor(private readonly tasks: Tasks, private readonly handle: number, private readonly backend: string, private readonly keys: Keys | undefined) {
    tasks.owners.adopt(this, "bits", handle);
  }

  get dim(): number { return this.#sizes()[0]!; }
  get count(): number { return this.#sizes()[1]!; }
  get nextId(): number { return this.#sizes()[2]!; }
  get memory(): number { return this.#sizes()[3]!; }
  get keyed(): boolean { return this.keys !== undefined; }

  async search(queries: Uint8Array, options: BitSearchOptions): Promise<BitHits> {
    takesNoMore("index.search(queries, options)", 2, arguments);
    const { k, filter, filters, signal } = checked("search(queries, options): options", options, SEARCH);
    if (k === undefined) throw new LeastwiseError("invalid-option", "k: say how many neighbours are wanted");
    if (filter !== undefined && filters !== undefined) throw new LeastwiseError("invalid-option", "filter and filters: give one filter for all queries, or one for each");
    const rows = this.#queries("search(queries): queries", queries), count = rows.length / this.#rowBytes;
    if (count * k > MOST_OF_CALL) throw new LeastwiseError("limits", `${count} queries × k = ${k} are too many hits for one call: ${MOST_OF_CALL} are the most`);
    const each = filters === undefined ? undefined : filtersOf(filters, count);
    return this.#during(async () => {
      const found = await this.#find(rows, k, undefined, each ?? filter, signal);
      const ids = new Uint32Array(count * k).fill(NONE), distances = new Uint32Array(count * k).fill(NONE);
      for (let query = 0; query < count; query++) {
        const [from, to] = [found.offsets[query]!, found.offsets[query + 1]!];
        ids.set(found.ids.subarray(from, to), query * k);
        distances.set(found.distances.subarray(from, to), query * k);
      }
      return { ids, ...(this.keys && { keys: this.#keysOf(ids) }), distances, k, ...this.#searched() };
    });
  }

  async searchRange(queries: Uint8Array, options: BitRangeOptions): Promise<BitRangeHits> {
    takesNoMore("index.searchRange(queries, options)", 2, arguments);
    const { maxDistance, filter, signal } = checked("searchRange(queries, options): options", options, RANGE);
    if (maxDistance === undefined) throw new LeastwiseError("invalid-option", "searchRange(queries, options): maxDistance: say in how many bits hits may differ");
    const rows = this.#queries("searchRange(queries): queries", queries);
    return this.#during(async () => {
      const found = await this.#find(rows, 1, maxDistance, filter, signal);
      return { ...found, ...(this.keys && { keys: this.#keysOf(found.ids) as Key[] }), ...this.#searched() };
    });
  }

  #during<T>(work: () => Promise<T>): Promise<T> { return this.keys ? this.keys.during(work) : work(); }

  #searched(): BitSearched { return { searchedBy: "cpu", ...(this.backend !== "cpu" && { reason: "vectors of bits are searched on the CPU" }) }; }

  #keysOf(ids: Uint32Array): (Key | undefined)[] { return Array.from(ids, (id) => (id === NONE ? undefined : this.keys!.key(id))); }

  get #rowBytes(): number { return Math.ceil(this.dim / 8); }

  #queries(what: string, queries: Uint8Array): Uint8Array {
    const bytes = packed(what, queries), each = this.#rowBytes;
    if (bytes.length % each !== 0) throw new LeastwiseError("data-length", `${what} has ${bytes.length} bytes, which is no multiple of ${each}, the bytes of a vector of ${this.dim} bits`);
    // Callers may write to their arrays meanwhile.
    return bytes.slice();
  }

  /** Hits of all queries; others have their turn in between. Filters are for the vectors that are there when it begins. */
  async #find(rows: Uint8Array, k: number, within: number | undefined, filters: Filter | undefined | readonly (Filter | undefined)[], signal: AbortSignal | undefined): Promise<Found> {
    const each = this.#rowBytes, count = rows.length / each, { nextId } = this, isEach = Array.isArray(filters);
    const filterOf = (query: number) => (isEach ? (filters as readonly (Filter | undefined)[])[query] : filters as Filter | undefined);
    // One at a time: it has a byte for each id.
    let masked: Filter | undefined, mask: Uint8Array | undefined, hits = 0;
    const maskFor = (query: number): Uint8Array | undefined => {
      const filter = filterOf(query);
      if (filter !== masked) mask = filter === undefined ? undefined : maskOf(isEach ? `filters[${query}]` : "filter", filter, nextId, this.keys).slice();
      masked = filter;
      return mask;
    };
    const together = isEach ? 1 : Math.max(1, Math.floor(SLICE_BYTES / Math.max(1, this.count * each)));
    const parts: Found[] = [];
    let since = performance.now();
    for (let first = 0; first < count; first += together) {
      signal?.throwIfAborted();
      const index = this.#alive(), some = rows.subarray(first * each, (first + together) * each), may = maskFor(first), allowed = may && grown(may, this.nextId);
      parts.push(unpacked(this.tasks.call((native) => native.searchBitIndex(index, some, k, within, allowed)), some.length / each));
      hits += parts.at(-1)!.ids.length;
      if (hits > MOST_OF_CALL) throw new LeastwiseError("limits", `there are more hits than one call may have, ${MOST_OF_CALL}: ask for a smaller distance, or fewer queries at once`);
      if (performance.now() - since < SLICE_MS || first + together >= count) continue;
      await new Promise((resolve) => setTimeout(resolve));
      since = performance.now();
    }
    return joined(parts, count);
  }

  add(vectors: Uint8Array, options: { readonly keys?: KeyList } = {}): Uint32Array {
    takesNoMore("index.add(vectors, options)", 2, arguments);
    const { keys } = checked("add(vectors, options): options", options, ADD);
    return this.#add("add", vectors, keys, false);
  }

  upsert(vectors: Uint8Array, options: { readonly keys: KeyList }): Uint32Array {
    takesNoMore("index.upsert(vectors, options)", 2, arguments);
    const { keys } = checked("upsert(vectors, options): options", options, ADD);
    if (!this.keys) throw withoutKeys("upsert(vectors, { keys })");
    return this.#add("upsert", vectors, keys, true);
  }

  #add(call: string, vectors: Uint8Array, named: unknown, mayReplace: boolean): Uint32Array {
    const index = this.#alive(), bytes = packed(`${call}(vectors): vectors`, vectors), count = bytes.length / this.#rowBytes, own = this.keys;
    if (!own && named !== undefined) throw withoutKeys("keys");
    if (own && named === undefined) throw new LeastwiseError("invalid-option", `${call}(vectors, { keys }): this index has keys, so that vectors need them`);
    const keys = own ? keysOf("keys", named, Number.isInteger(count) ? count : undefined) : [];
    const taken = mayReplace ? undefined : keys.find((key) => own!.id(key) !== undefined);
    if (taken !== undefined) throw new LeastwiseError("invalid-option", `keys: ${shownValue(taken)} is in the index already; upsert(vectors, { keys }) replaces its vector`);
    const first = this.tasks.call((native) => native.addToBitIndex(index, bytes)), ids = Uint32Array.from({ length: count }, (_, k) => first + k);
    const replaced = keys.flatMap((key) => own!.id(key) ?? []);
    keys.forEach((key, k) => own!.set(ids[k]!, key));
    if (replaced.length > 0) this.#remove(Uint32Array.from(replaced));
    return ids;
  }

  remove(vectors: Indices | { readonly keys: KeyList }): number {
    takesNoMore("index.remove(vectors)", 1, arguments);
    this.#alive();
    const isNamed = typeof vectors === "object" && vectors !== null && !isArrayLike(vectors);
    if (!isNamed) return this.#remove(idsOf("remove", vectors as Indices));
    const { keys } = checked("remove({ keys }): vectors", vectors, ADD), own = this.keys;
    if (!own) throw withoutKeys("remove({ keys })");
    return this.#remove(Uint32Array.from(keysOf("keys", keys, undefined, true).flatMap((key) => own.id(key) ?? [])));
  }

  #remove(ids: Uint32Array): number {
    const index = this.#alive(), removed = this.tasks.call((native) => native.removeFromBitIndex(index, ids));
    for (const id of ids) this.keys?.delete(id);
    return removed;
  }

  has(key: Key): boolean {
    takesNoMore("index.has(key)", 1, arguments);
    this.#alive();
    return hasKey(this.keys, key);
  }

  idsOf(keys: KeyList): Uint32Array {
    takesNoMore("index.idsOf(keys)", 1, arguments);
    this.#alive();
    return idsOfKeys(this.keys, keys);
  }

  async vectors(ids: Indices): Promise<U8> {
    takesNoMore("index.vectors(ids)", 1, arguments);
    const index = this.#alive(), wanted = idsOf("vectors", ids);
    return (await this.tasks.run(this.tasks.call((native) => native.bitIndexVectors(index, wanted)))).bytes as U8;
  }

  async save(): Promise<U8> {
    takesNoMore("index.save()", 0, arguments);
    const index = this.#alive(), task = this.tasks.call((native) => native.saveBitIndex(index));
    // As of now, like the engine's part.
    const entries = this.keys?.entries(), bytes = (await this.tasks.run(task)).bytes as U8;
    return entries ? framed(BITS, { ids: runsOf(entries.map(([id]) => id)), keys: entries.map(([, key]) => key) }, bytes) : bytes;
  }

  #sizes(): Uint32Array {
    const index = this.#alive();
    return this.tasks.call((native) => native.bitIndexSizes(index));
  }

  #alive(): number {
    if (this.#disposed) throw new LeastwiseError("disposed", "this index was disposed: it can't be used any more");
    return this.handle;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.tasks.owners.dispose(this, "bits", this.handle);
  }

  [Symbol.dispose](): void { this.dispose(); }
}

function idsOf(call: string, ids: Indices): Uint32Array {
  const must = "must be an array of non-negative integers";
  return indicesOf(`${call}(ids): ids`, ids, (k, id) => new LeastwiseError("invalid-option", `${call}(ids): ids ${must}; ids[${k}] is ${id}`), { must });
}

function unpacked(words: Uint32Array, queries: number): Found {
  const offsets = words.subarray(0, queries + 1), hits = offsets[queries]!, from = queries + 1;
  return { offsets, ids: words.subarray(from, from + hits), distances: words.subarray(from + hits, from + 2 * hits) };
}

function joined(parts: readonly Found[], queries: number): Found {
  const total = parts.reduce((sum, { ids }) => sum + ids.length, 0);
  const offsets = new Uint32Array(queries + 1), ids = new Uint32Array(total), distances = new Uint32Array(total);
  let query = 0, at = 0;
  for (const part of parts) {
    for (let k = 1; k < part.offsets.length; k++) offsets[++query] = at + part.offsets[k]!;
    ids.set(part.ids, at);
    distances.set(part.distances, at);
    at += part.ids.length;
  }
  return { offsets, ids, distances };
}
