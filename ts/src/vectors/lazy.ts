/** Indices whose codes stay in their file until a search needs them. */
import type { F32 } from "../arrays.js";
import type { Engine } from "../engine.js";
import { LeastwiseError, reading } from "../errors.js";
import { describe } from "../instruction.js";
import type { NativeHits } from "../native.js";
import { checked, given, hasMethods, REPORTING, takesNoMore, whole } from "../options.js";
import { remember, whenForgotten } from "../owners.js";
import { NEEDS } from "../parts.js";
import { pointsOf, type Points } from "../points.js";
import type { Tasks } from "../tasks.js";
import type { Hits, IndexInfo, RangeHits, RangeOptions, SearchOptions } from "../vector-index.js";
import { CodeLists } from "./code-lists.js";
import { endsInEnvelope, envelopeBytes, mayBeEnvelope, readEnvelope, spaceOf, type Description } from "./envelope.js";
import type { Filter } from "./filter.js";
import { hasKey, idsOfKeys, type Key, type KeyList, type Keys } from "./keys.js";
import { metricKind, type Metric, type Space } from "./metric.js";
import { filtersOf, LIMITS, MOST_OF_CALL, rangeLimit, search, searchRange, type LazyQuery, type Searchable } from "./search.js";
import { Bytes, truncated, type RandomAccess, type Source } from "./source.js";

/**
 * Node's `FileHandle`, of which ranges are read (`pread`).
 *
 * @example
 * // In Node: await open("index.lwi") of node:fs/promises. Here a file in memory.
 * const bytes = new Uint8Array(1024);
 * const handle: PositionedFile = {
 *   stat: async () => ({ size: bytes.length }),
 *   read: async ({ buffer, offset, length, position }) => {
 *     const part = bytes.subarray(position, position + length);
 *     buffer.set(part, offset);
 *     return { bytesRead: part.length };
 *   },
 * };
 */
export interface PositionedFile {
  stat(): Promise<{ readonly size: number }>;
  read(options: { buffer: Uint8Array; offset: number; length: number; position: number }): Promise<{ readonly bytesRead: number }>;
}

/**
 * How an index is kept while it is searched.
 *
 * @example
 * const options: LazyOptions = { cacheBytes: 2 ** 28 };
 */
export interface LazyOptions {
  /** Bytes of codes that are kept for later searches; those that were used least recently go first. @defaultValue 64 MiB */
  readonly cacheBytes?: number;
}

/**
 * What was read of a file so far.
 *
 * @example
 * const lazy = await openLazily(lw, await index.save({ lazy: true }));
 * const { reads, bytes }: LazyReads = lazy.reads;
 */
export interface LazyReads {
  /** Number of reads. */
  readonly reads: number;
  readonly bytes: number;
  /** Bytes of codes that are kept now. */
  readonly cached: number;
}

/**
 * An index that is searched in its file: `openLazily` makes it. Hits are those of the whole index, to the bit. It does not change; `lw.openIndex` opens the
 * same file to change it.
 *
 * @example
 * const lazy: LazyIndex = await openLazily(lw, await index.save({ lazy: true }));
 * const { ids } = await lazy.search(points, { k: 10, probes: 4 });
 */
export interface LazyIndex extends Disposable {
  readonly dim: number;
  readonly metric: Metric;
  /** Vectors in it. */
  readonly count: number;
  /** Bytes of its file. */
  readonly bytes: number;
  /** Everything that is known of it. `memory` is what it takes without the codes that are kept. */
  readonly info: IndexInfo;
  readonly reads: LazyReads;
  /** The nearest vectors of each query. Reads the codes of the clusters that queries probe, or of those that a walk in the graph ends in. */
  search(queries: Points, options: SearchOptions): Promise<Hits>;
  /** All vectors within a distance of each query. Reads all codes unless `probes` says fewer clusters. */
  searchRange(queries: Points, options: RangeOptions): Promise<RangeHits>;
  /** True if a vector has this key. */
  has(key: Key): boolean;
  /** Ids of keys, all of which must be in the index. */
  idsOf(keys: KeyList): Uint32Array;
  dispose(): void;
}

const OPEN = { cacheBytes: whole(0, Number.MAX_SAFE_INTEGER) } as const;
const SEARCH = { k: whole(), probes: whole(), effort: whole(), filter: given<Filter>(), filters: given(), metric: metricKind, signal: REPORTING.signal } as const;
const RANGE = { ...LIMITS, probes: whole(), filter: given<Filter>(), metric: metricKind, signal: REPORTING.signal } as const;

/** Bytes that are read first: header and table of a file are in them. */
const FIRST = 4096;
/** Queries whose lists are read together, and milliseconds between two looks at what else there is to do. */
const TOGETHER = 64, SLICE_MS = 8;

/**
 * Opens an index that was saved by `index.save({ lazy: true })`, without its codes: a search reads those of the clusters that it needs. From a `Blob` (a
 * `File`, also of the origin private file system), Node's `FileHandle`, the bytes, or anything with `size` and `read(offset, length)`, such as
 * {@link remoteFile} gives. Everything that is read is checked.
 *
 * @throws `file-format` for a file that was saved otherwise, `file-version`, `file-truncated`, `file-corrupt`; `invalid-option` for other sources and options
 * @example
 * const file = new Blob([await index.save({ lazy: true })]);
 * const lazy = await openLazily(lw, file);
 */
export async function openLazily(lw: Engine, source: Source | PositionedFile, options: LazyOptions = {}): Promise<LazyIndex> {
  takesNoMore("openLazily(lw, source, options)", 3, arguments);
  const { cacheBytes = 1 << 26 } = checked("openLazily(lw, source, options): options", options, OPEN);
  const tasks = reading("openLazily(lw): lw", () => (lw as unknown as { readonly tasks?: Tasks } | undefined)?.tasks);
  if (typeof lw !== "object" || !hasMethods(tasks, "call")) throw new LeastwiseError("invalid-option", `openLazily(lw, source): lw must be an engine, as init() gives it, not ${describe(lw)}`);
  const counted = await countedOf(source), file = new Bytes(counted);
  const loading = tasks.parts.need(NEEDS.graph);
  if (loading) await loading;
  const start = await file.peek(FIRST);
  let description: Description = { metric: "l2" }, from = 0, head = start;
  if (start.length > 0 && mayBeEnvelope(start)) {
    from = envelopeBytes(start);
    if (file.size < from) throw endsInEnvelope(from, file.size);
    description = readEnvelope(from <= start.length ? start.subarray(0, from) : await file.read(0, from));
    head = await file.read(from, Math.min(FIRST, file.size - from));
  }
  const [offset, padded, total] = tasks.call((native) => native.placeOfLazyCodes(head)) as unknown as [number, number, number];
  if (file.size - from < total) throw truncated(from + total, file.size);
  if (file.size - from > total) throw new LeastwiseError("file-format", `this is not an index: ${file.size - from - total} bytes follow its end`);
  const before = offset <= head.length ? head.subarray(0, offset) : await file.read(from, offset);
  const behind = await file.read(from + offset + padded, total - offset - padded);
  const handle = tasks.call((native) => native.openLazyIndex(before, behind));
  try {
    const space = spaceOf(tasks.call((native) => native.lazyIndexSizes(handle)), description);
    const { rowBytes } = infoOf(tasks, handle), starts = tasks.call((native) => native.lazyIndexStarts(handle));
    return new LazyIndexOf(tasks, handle, space, description.keys, from, counted, new CodeLists(file, from + offset, starts, rowBytes, cacheBytes));
  } catch (thrown) {
    tasks.release((native) => native.freeLazyIndex(handle));
    throw thrown;
  }
}

/** A source that counts what is read of it. */
interface Counted extends RandomAccess { reads: number; bytes: number }

async function countedOf(source: Source | PositionedFile): Promise<Counted> {
  const isHandle = hasMethods(source, "stat") && hasMethods(source, "read");
  const { size } = isHandle ? await (source as PositionedFile).stat() : new Bytes(source as Source);
  const bytes = isHandle ? undefined : new Bytes(source as Source);
  const counted: Counted = {
    size,
    reads: 0,
    bytes: 0,
    async read(offset, length) {
      counted.reads++;
      const got = bytes ? await bytes.read(offset, length) : await positioned(source as PositionedFile, offset, length);
      counted.bytes += got.length;
      return got;
    },
  };
  return counted;
}

/** Bytes of a file, as many as there are: one call may give fewer. */
async function positioned(file: PositionedFile, position: number, length: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(length);
  for (let at = 0; at < length;) {
    const { bytesRead } = await file.read({ buffer, offset: at, length: length - at, position: position + at });
    if (bytesRead === 0) return buffer.subarray(0, at);
    at += bytesRead;
  }
  return buffer;
}

type NativeInfo = Omit<IndexInfo, "metric" | "maxNorm" | "keyed">;
const infoOf = (tasks: Tasks, handle: number) => JSON.parse(tasks.call((native) => native.lazyIndexInfo(handle))) as NativeInfo;

class LazyIndexOf implements LazyIndex {
  #disposed = false;

  constructor(private readonly tasks: Tasks, private readonly handle: number, private readonly space: Space, private readonly keys: Keys | undefined, private readonly envelope: number, private readonly file: Counted, private readonly codes: CodeLists) {
    whenForgotten(this, () => { tasks.release((native) => native.freeLazyIndex(handle)); });
  }

  get dim(): number { return this.space.dim; }
  get metric(): Metric { return this.space.metric; }
  get count(): number { return this.#sizes().count; }
  get bytes(): number { return this.file.size; }
  get reads(): LazyReads { return { reads: this.file.reads, bytes: this.file.bytes, cached: this.codes.bytes }; }
  get info(): IndexInfo {
    const { metric, dim, maxNorm } = this.space, { bytes, ...rest } = infoOf(this.tasks, this.#alive());
    return { ...rest, dim, metric, ...(maxNorm !== undefined && { maxNorm }), keyed: this.keys !== undefined, bytes: bytes + this.envelope };
  }

  async search(queries: Points, options: SearchOptions): Promise<Hits> {
    takesNoMore("index.search(queries, options)", 2, arguments);
    this.#alive();
    const { k, probes, effort, filter, filters, metric, signal } = checked("search(queries, options): options", options, SEARCH);
    if (k === undefined) throw new LeastwiseError("invalid-option", "k: say how many neighbours are wanted");
    this.#mustBe(metric);
    if (filter !== undefined && filters !== undefined) throw new LeastwiseError("invalid-option", "filter and filters: give one filter for all queries, or one for each");
    if (effort !== undefined && probes !== undefined) throw new LeastwiseError("invalid-option", "effort and probes: a search goes through the graph or through lists, so give one of them");
    const floats = pointsOf("search(queries): queries", queries, this.dim);
    const each = filters === undefined ? undefined : filtersOf(filters, floats.length / this.dim);
    return search(this.#searchable(), this.space.ask("search(queries)", floats), { k, probes, effort, filter, filters: each, signal });
  }

  async searchRange(queries: Points, options: RangeOptions): Promise<RangeHits> {
    takesNoMore("index.searchRange(queries, options)", 2, arguments);
    this.#alive();
    const { maxDistance, minScore, probes, filter, metric, signal } = checked("searchRange(queries, options): options", options, RANGE);
    this.#mustBe(metric);
    const limit = rangeLimit(this.space, maxDistance, minScore);
    const floats = pointsOf("searchRange(queries): queries", queries, this.dim);
    return searchRange(this.#searchable(), this.space.ask("searchRange(queries)", floats), limit, { probes: probes ?? this.info.clusters, filter, signal });
  }

  #searchable(): Searchable {
    return { tasks: this.tasks, space: this.space, keys: this.keys, handle: () => this.#alive(), sizes: () => this.#sizes(), clusters: () => this.info.clusters, walks: () => undefined, lazily: (query) => this.#find(query) };
  }

  /** Hits of some queries after others, since each reads its lists. */
  async #find({ rows, k, probes, effort, allowed, signal }: LazyQuery): Promise<NativeHits> {
    const { width } = this.space, count = rows.length / width;
    if (count * k > MOST_OF_CALL) throw new LeastwiseError("limits", `${count} queries × k = ${k} are too many hits for one call: ${MOST_OF_CALL} are the most`);
    // Callers may write to their arrays meanwhile.
    const own = rows.slice(), mask = allowed?.slice();
    const ids = new Uint32Array(count * k), distances: F32 = new Float32Array(count * k);
    let by: NativeHits | undefined;
    for (let first = 0; first < count || !by; first += TOGETHER) {
      by = await this.#scanned(own.subarray(first * width, (first + TOGETHER) * width), { k, probes, effort, allowed: mask, signal });
      ids.set(by.ids, first * k);
      distances.set(by.distances, first * k);
    }
    return { ...by, ids, distances };
  }

  async #scanned(rows: LazyQuery["rows"], { k, probes, effort, allowed, signal }: Omit<LazyQuery, "rows">): Promise<NativeHits> {
    const index = this.#alive(), { tasks } = this;
    const search = tasks.call((native) => native.beginLazySearch(index, rows, k, probes, effort, allowed));
    let task: number | undefined;
    try {
      let since = performance.now();
      for await (const some of this.codes.read(tasks.call((native) => native.lazySearchLists(search)))) {
        if (signal?.aborted) throw signal.reason;
        this.#alive();
        tasks.call((native) => native.scanLazyList(search, some.list, some.codes));
        if (!some.isKept) this.codes.keep(some);
        if (performance.now() - since < SLICE_MS) continue;
        await new Promise((resolve) => setTimeout(resolve));
        since = performance.now();
      }
      task = tasks.call((native) => native.endLazySearch(search));
    } finally {
      if (task === undefined) tasks.release((native) => native.freeLazySearch(search));
    }
    return (await tasks.run(task, { signal, onAbort: "reject" })).hits!;
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

  #mustBe(metric: Metric | undefined): void {
    if (metric !== undefined && metric !== this.metric) throw new LeastwiseError("invalid-option", `metric: "${metric}" was asked for, but the index was made for "${this.metric}"`);
  }

  #sizes(): { count: number; nextId: number } {
    const index = this.#alive(), [, count, nextId] = this.tasks.call((native) => native.lazyIndexSizes(index));
    return { count: count!, nextId: nextId! };
  }

  #alive(): number {
    if (this.#disposed) throw new LeastwiseError("disposed", "this index was disposed: it can't be used any more");
    return this.handle;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    remember(this);
    this.tasks.release((native) => native.freeLazyIndex(this.handle));
  }

  [Symbol.dispose](): void { this.dispose(); }
}
