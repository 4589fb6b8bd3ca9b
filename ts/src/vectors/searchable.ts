/** Class of indices: the engine's, with metric and keys around it. */
import { indicesOf, isArrayLike, type F32, type Floats, type Indices, type U8 } from "../arrays.js";
import type { Made } from "../compress.js";
import { LeastwiseError } from "../errors.js";
import { shownValue } from "../instruction.js";
import type { NativeEvaluation } from "../native.js";
import { checked, flag, given, oneOf, REPORTING, takesNoMore, whole, type Reporting } from "../options.js";
import { NEEDS } from "../parts.js";
import { pointsOf, type Points } from "../points.js";
import type { Tasks } from "../tasks.js";
import type { AddOptions, BuildGraphOptions, EvaluateOptions, Hits, IndexEvaluation, IndexInfo, RangeHits, RangeOptions, SaveOptions, SearchOptions, UpsertOptions, VectorIndex } from "../vector-index.js";
import { envelope, nameOf } from "./envelope.js";
import type { Filter } from "./filter.js";
import { hasKey, idsOfKeys, keysOf, withoutKeys, type Key, type KeyList, type Keys } from "./keys.js";
import { metricKind, type Metric, type Space } from "./metric.js";
import { filtersOf, LIMITS, rangeLimit, search, searchRange, type Searchable } from "./search.js";

const SEARCHING = oneOf("auto", "cpu", "device");
const SEARCH = { k: whole(), probes: whole(), effort: whole(), filter: given<Filter>(), filters: given(), metric: metricKind, signal: REPORTING.signal } as const;
const RANGE = { ...LIMITS, probes: whole(), filter: given<Filter>(), metric: metricKind, signal: REPORTING.signal } as const;
const EVALUATE = { k: whole(), probes: whole(), effort: whole(), points: given<Points>(), ...REPORTING } as const;
const BUILD = { degree: whole(), effort: whole(), ...REPORTING } as const;
const ADD = { keys: given(), ...REPORTING } as const;
const SAVE = { lazy: flag } as const;
const REMOVE = { keys: given() } as const;

/** Vectors that an index was given, for as long as their owner keeps them, and the id of the first. */
interface Given { readonly points: WeakRef<Points>; readonly length: number; readonly first: number }

/** What functions of `leastwise/vectors` need of an index. @internal */
export interface Inside {
  readonly tasks: Tasks;
  readonly space: Space;
  readonly keys: Keys | undefined;
  /** Functions that are called with the ids that are removed. */
  readonly removing: Set<(ids: Uint32Array) => void>;
  handle(): number;
  sizes(): { count: number; nextId: number };
  /** Runs what changes or stores keys after all of that which was called before. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** Names of the files that it was opened from or has written. */
  readonly files: Set<string>;
  remove(ids: Uint32Array): number;
}

/** @internal */
export class VectorIndexOf implements VectorIndex {
  #disposed = false;
  #sketches: boolean | "bits" = true;
  #searching: "auto" | "cpu" | "device" = "auto";
  /** Undefined of an index from a file, as long as nobody asked. */
  #hasGraph: boolean | undefined;
  /** Undefined where the index came from a file. */
  readonly #given: Given[] | undefined;
  readonly #handle: number;
  readonly #space: Space;
  readonly #keys: Keys | undefined;
  readonly #ratio: number | undefined;
  /** Bytes before the engine's file, as of a revision of the keys and a greatest length. */
  #head: { bytes: U8; revision: number; maxNorm: number | undefined } | undefined;
  /** The last of what changes or stores keys; undefined when all of it is done. */
  #last: Promise<unknown> | undefined;
  readonly #removing = new Set<(ids: Uint32Array) => void>();
  readonly #files = new Set<string>();

  constructor(private readonly tasks: Tasks, { handle, space, keys, ratio, file }: Made, made?: { points: Points; length: number }) {
    tasks.owners.adopt(this, "indices", handle);
    [this.#handle, this.#space, this.#keys, this.#ratio] = [handle, space, keys, ratio];
    this.#given = made && (made.length > 0 ? [{ points: new WeakRef(made.points), length: made.length, first: 0 }] : []);
    this.#hasGraph = made && false;
    if (file !== undefined) this.#files.add(file);
  }

  /** @internal */
  get inside(): Inside {
    return {
      tasks: this.tasks, space: this.#space, keys: this.#keys, removing: this.#removing, handle: () => this.#alive(), sizes: () => this.#sizes(), inTurn: (work) => this.#inTurn(work),
      files: this.#files, remove: (ids) => this.#removeIds(ids),
    };
  }

  get dim(): number {
    this.#alive();
    return this.#space.dim;
  }
  get metric(): Metric { return this.#space.metric; }
  get count(): number { return this.#sizes().count; }
  get bytes(): number {
    const index = this.#alive();
    return this.tasks.call((native) => native.indexBytes(index)) + this.#envelope().length;
  }
  get ratio(): number { return this.bytes / (4 * this.count * this.dim); }
  get info(): IndexInfo {
    const index = this.#alive(), { metric, dim, maxNorm } = this.#space;
    const { code, dim: _, about, ...rest } = JSON.parse(this.tasks.call((native) => native.indexInfo(index))) as Omit<IndexInfo, "metric" | "maxNorm" | "keyed">;
    return {
      code, dim, metric, ...(maxNorm !== undefined && { maxNorm }), keyed: this.#keys !== undefined, ...rest, bytes: rest.bytes + this.#envelope().length,
      about: this.#ratio === undefined ? about : { ...about, ratio: this.#ratio },
    };
  }

  get sketches(): boolean | "bits" { return this.#sketches; }
  set sketches(may: boolean | "bits") {
    const index = this.#alive();
    if (may !== "bits") flag("sketches", may, {});
    this.tasks.call((native) => native.setIndexSketching(index, may === "bits" ? 1 : may ? 8 : 0));
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
    this.#alive();
    const { k, probes, effort, filter, filters, metric, signal } = checked("search(queries, options): options", options, SEARCH);
    mustBeThere(k);
    this.#mustBe(metric);
    if (filter !== undefined && filters !== undefined) throw new LeastwiseError("invalid-option", "filter and filters: give one filter for all queries, or one for each");
    if (effort !== undefined && probes !== undefined && this.#sketches !== "bits") throw new LeastwiseError("invalid-option", "effort and probes: a search goes through the graph or through lists, so give one of them");
    this.#mustPay(k, probes, effort);
    const floats = pointsOf("search(queries): queries", queries, this.dim);
    const each = filters === undefined ? undefined : filtersOf(filters, floats.length / this.dim);
    return search(this.#searchable(), this.#space.ask("search(queries)", floats), { k, probes, effort, filter, filters: each, signal });
  }

  async searchRange(queries: Points, options: RangeOptions): Promise<RangeHits> {
    takesNoMore("index.searchRange(queries, options)", 2, arguments);
    this.#alive();
    const { maxDistance, minScore, probes, filter, metric, signal } = checked("searchRange(queries, options): options", options, RANGE);
    this.#mustBe(metric);
    const limit = rangeLimit(this.#space, maxDistance, minScore);
    const floats = pointsOf("searchRange(queries): queries", queries, this.dim);
    return searchRange(this.#searchable(), this.#space.ask("searchRange(queries)", floats), limit, { probes: probes ?? this.info.clusters, filter, signal });
  }

  /** Refuses an effort where one-bit sketches do not pay, so that searches go by all codes: the engine's own bounds. */
  #mustPay(k: number, probes: number | undefined, effort: number | undefined): void {
    if (effort === undefined || this.#sketches !== "bits") return;
    const { graph, count, rowBytes } = this.info, { width } = this.#space;
    if ((graph && probes === undefined) || (rowBytes > 0 && width >= 32 && 16 * k <= count)) return;
    throw new LeastwiseError("invalid-option", `effort: one-bit sketches are not used for k = ${k} of ${count} vectors of ${width} components, since they don't pay (from 32 components and 16 · k vectors on), so that all codes are compared: leave it out`);
  }

  #searchable(): Searchable {
    return { tasks: this.tasks, space: this.#space, keys: this.#keys, handle: () => this.#alive(), sizes: () => this.#sizes(), clusters: () => this.info.clusters, walks: () => this.#walks(), byBits: () => this.#sketches === "bits" };
  }

  /** Loads what walks need, if there is a graph, and searches by one-bit sketches. */
  #walks(): Promise<void> | undefined {
    this.#hasGraph ??= this.info.graph !== undefined;
    return this.#hasGraph || this.#sketches === "bits" ? this.tasks.parts.need(NEEDS.graph) : undefined;
  }

  async buildGraph(options: BuildGraphOptions = {}): Promise<void> {
    takesNoMore("index.buildGraph(options)", 1, arguments);
    this.#alive();
    const { degree, effort, signal, onProgress } = checked("buildGraph(options): options", options, BUILD);
    const loading = this.tasks.parts.need(NEEDS.graph);
    if (loading) await loading;
    const index = this.#alive(), task = this.tasks.call((native) => native.buildIndexGraph(index, degree, effort));
    await this.tasks.run(task, { signal, onProgress, onAbort: "reject" });
    this.#hasGraph = true;
  }

  #mustBe(metric: Metric | undefined): void {
    if (metric !== undefined && metric !== this.metric) throw new LeastwiseError("invalid-option", `metric: "${metric}" was asked for, but the index was made for "${this.metric}"`);
  }

  async add(points: Points, options: AddOptions = {}): Promise<Uint32Array> {
    takesNoMore("index.add(points, options)", 2, arguments);
    this.#alive();
    const { keys, ...watch } = checked("add(points, options): options", options, ADD);
    const floats = pointsOf("add(points): points", points, this.dim);
    if (this.#keys) {
      if (keys === undefined) throw new LeastwiseError("invalid-option", "add(points, { keys }): this index has keys, so that vectors need them");
      return this.#addKeyed("add", points, floats, keysOf("keys", keys, floats.length / this.dim), watch, false);
    }
    if (keys !== undefined) throw withoutKeys("keys");
    return this.#add("add", points, floats, watch);
  }

  async upsert(points: Points, options: UpsertOptions): Promise<Uint32Array> {
    takesNoMore("index.upsert(points, options)", 2, arguments);
    this.#alive();
    const { keys, ...watch } = checked("upsert(points, options): options", options, ADD);
    if (!this.#keys) throw withoutKeys("upsert(points, { keys })");
    const floats = pointsOf("upsert(points): points", points, this.dim);
    return this.#addKeyed("upsert", points, floats, keysOf("keys", keys, floats.length / this.dim), watch, true);
  }

  async #add(call: string, points: Points, floats: Floats, { signal, onProgress }: Partial<Reporting>): Promise<Uint32Array> {
    const index = this.#alive(), stored = this.#space.enter(`${call}(points)`, floats);
    const task = this.tasks.call((native) => native.addToIndex(index, stored));
    const { ids } = await this.tasks.run(task, { signal, onProgress, onAbort: "reject" });
    if (floats.length > 0) this.#given?.push({ points: new WeakRef(points), length: floats.length, first: ids![0]! });
    return ids!;
  }

  #addKeyed(call: string, points: Points, floats: Floats, keys: readonly Key[], watch: Partial<Reporting>, mayReplace: boolean): Promise<Uint32Array> {
    const own = this.#keys!;
    // What waits must not change meanwhile.
    const held = this.#last ? floats.slice() : floats;
    return this.#inTurn(async () => {
      const taken = mayReplace ? undefined : keys.find((key) => own.id(key) !== undefined);
      if (taken !== undefined) throw new LeastwiseError("invalid-option", `keys: ${shownValue(taken)} is in the index already; upsert(points, { keys }) replaces its vector`);
      own.expect(this.#sizes().nextId, keys);
      try {
        const ids = await this.#add(call, points, held, watch);
        // Of those vectors that are still there.
        const replaced = keys.flatMap((key) => own.id(key) ?? []);
        keys.forEach((key, k) => own.set(ids[k]!, key));
        if (replaced.length > 0) this.#removeIds(Uint32Array.from(replaced));
        return ids;
      } finally {
        own.expectNone();
      }
    });
  }

  /** Runs what changes or stores keys after all of that which was called before; at once, where there is none. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last ? this.#last.then(work, work) : work();
    const done: Promise<unknown> = turn.then(() => undefined, () => undefined).then(() => { if (this.#last === done) this.#last = undefined; });
    this.#last = done;
    return turn;
  }

  remove(vectors: Indices | { readonly keys: KeyList }): number {
    takesNoMore("index.remove(vectors)", 1, arguments);
    this.#alive();
    const isNamed = typeof vectors === "object" && vectors !== null && !isArrayLike(vectors);
    if (!isNamed) return this.#removeIds(idsOf("remove", vectors as Indices));
    const { keys } = checked("remove({ keys }): vectors", vectors, REMOVE), own = this.#keys;
    if (!own) throw withoutKeys("remove({ keys })");
    return this.#removeIds(Uint32Array.from(keysOf("keys", keys, undefined, true).flatMap((key) => own.id(key) ?? [])));
  }

  #removeIds(ids: Uint32Array): number {
    const removed = this.tasks.call((native) => native.removeFromIndex(this.#alive(), ids));
    for (const id of ids) this.#keys?.delete(id);
    for (const note of this.#removing) note(ids);
    return removed;
  }

  has(key: Key): boolean {
    takesNoMore("index.has(key)", 1, arguments);
    this.#alive();
    return hasKey(this.#keys, key);
  }

  idsOf(keys: KeyList): Uint32Array {
    takesNoMore("index.idsOf(keys)", 1, arguments);
    this.#alive();
    return idsOfKeys(this.#keys, keys);
  }

  reconstruct(ids: Indices): F32 {
    takesNoMore("index.reconstruct(ids)", 1, arguments);
    const given = idsOf("reconstruct", ids);
    return this.#space.leave(this.tasks.call((native) => native.reconstructFromIndex(this.#alive(), given)) as F32);
  }

  async evaluate(queries: Points, options: EvaluateOptions): Promise<IndexEvaluation> {
    takesNoMore("index.evaluate(queries, options)", 2, arguments);
    this.#alive();
    const { k, probes, effort, points: given, signal, onProgress } = checked("evaluate(queries, options): options", options, EVALUATE);
    mustBeThere(k);
    this.#mustPay(k, probes, effort);
    const { nextId } = this.#sizes(), { dim } = this;
    const asked = this.#space.ask("evaluate(queries)", pointsOf("evaluate(queries): queries", queries, dim)).rows;
    const points = pointsOf("evaluate(queries, { points }): points", given ?? this.#originals(), dim);
    if (points.length !== nextId * dim) throw new LeastwiseError("data-length", `evaluate(queries, { points }): points has ${points.length / dim} vectors, but the index has given ${nextId} ids; row i must be the vector of id i`);
    const stored = this.#space.enter("evaluate(queries, { points })", points);
    const loading = probes === undefined || this.#sketches === "bits" ? this.#walks() : undefined;
    const [own, rows] = loading ? [asked.slice(), stored.slice()] : [asked, stored];
    if (loading) await loading;
    const task = this.tasks.call((native) => native.evaluateIndex(this.#alive(), own, rows, k, probes, effort));
    const found = (await this.tasks.run(task, { signal, onProgress, onAbort: "reject" })).evaluation as NativeEvaluation;
    return this.#hasEnvelope ? { ...found, bytes: this.bytes, ratio: this.ratio } : found;
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

  async save(options: SaveOptions = {}): Promise<U8> {
    takesNoMore("index.save(options)", 1, arguments);
    this.#alive();
    const { lazy = false } = checked("save(options): options", options, SAVE);
    const loading = lazy ? this.#walks() : undefined;
    if (loading) await loading;
    const stored = async (head: Uint8Array) => {
      const bytes = (await this.tasks.run(this.tasks.call((native) => native.saveIndex(this.#alive(), lazy)))).bytes as U8;
      this.#files.add(nameOf(head, bytes));
      return bytes;
    };
    if (!this.#hasEnvelope) return stored(new Uint8Array(0));
    return this.#inTurn(async () => {
      for (;;) {
        const head = this.#envelope(), bytes = await stored(head);
        // Something was removed meanwhile.
        if (head !== this.#envelope()) continue;
        const file = new Uint8Array(head.length + bytes.length);
        file.set(head);
        file.set(bytes, head.length);
        return file;
      }
    });
  }

  get #hasEnvelope(): boolean { return this.metric !== "l2" || this.#keys !== undefined; }

  /** Bytes before the engine's file. */
  #envelope(): U8 {
    if (!this.#hasEnvelope) return new Uint8Array(0);
    const { metric, maxNorm } = this.#space, keys = this.#keys, ratio = this.#ratio, revision = keys?.revision ?? 0;
    if (this.#head?.revision !== revision || this.#head.maxNorm !== maxNorm) {
      const bytes = envelope({ metric, ...(maxNorm !== undefined && { maxNorm }), ...(ratio !== undefined && { ratio }), ...(keys && { keys }) });
      this.#head = { bytes, revision, maxNorm };
    }
    return this.#head.bytes;
  }

  /** What of its info costs next to nothing. */
  #sizes(): { count: number; nextId: number } {
    const index = this.#alive(), [, count, nextId] = this.tasks.call((native) => native.indexSizes(index));
    return { count: count!, nextId: nextId! };
  }

  #alive(): number {
    if (this.#disposed) throw new LeastwiseError("disposed", "this index was disposed: it can't be used any more");
    return this.#handle;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.tasks.owners.dispose(this, "indices", this.#handle);
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
