/** Searches through an index of the engine's: filters, metrics, keys, and all within a distance. */
import { listOf, type F32, type Floats } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import type { NativeHits } from "../native.js";
import { real } from "../options.js";
import type { Tasks } from "../tasks.js";
import type { Hits, RangeHits, Searched } from "../vector-index.js";
import { maskOf, type Filter } from "./filter.js";
import type { Key, Keys } from "./keys.js";
import type { Asked, Space } from "./metric.js";

/** Id where there are fewer hits than wanted. @internal */
export const NONE = 0xffffffff;

/** What searches need of an index. @internal */
export interface Searchable {
  readonly tasks: Tasks;
  readonly space: Space;
  readonly keys: Keys | undefined;
  handle(): number;
  sizes(): { count: number; nextId: number };
  clusters(): number;
  /** Loads what walks in a graph need, if there is one; undefined where nothing is to be waited for. */
  walks(): Promise<void> | undefined;
  /** True if searches through lists go by one-bit sketches. */
  readonly byBits?: () => boolean;
  /** Search of an index whose codes are in its file. */
  readonly lazily?: (query: LazyQuery) => Promise<NativeHits>;
}

/** Queries as the engine takes them; `allowed` has a byte for each id. @internal */
export interface LazyQuery extends Search { readonly rows: Floats; readonly allowed: Uint8Array | undefined }

interface Search {
  readonly k: number;
  readonly probes: number | undefined;
  readonly effort?: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** True for all codes of the lists, not those alone that one-bit sketches choose: the engine then makes its sketches anew for searches that go by them. */
  readonly exact?: boolean;
}

/** One filter for all queries, or one for each. */
interface Filters { readonly filter?: Filter | undefined; readonly filters?: readonly (Filter | undefined)[] | undefined }

/** Filters of queries, as given. @internal */
export function filtersOf(given: unknown, queries: number): readonly (Filter | undefined)[] {
  const filters = listOf("filters", given, "must be an array with a filter for each query");
  if (filters.length !== queries) throw new LeastwiseError("data-length", `filters has ${filters.length} entries, but there are ${queries} queries`);
  return filters as readonly (Filter | undefined)[];
}

/** @internal */
export function search(index: Searchable, asked: Asked, options: Search & Filters): Promise<Hits> {
  const work = () => searchKeyed(index, asked, options);
  return index.keys ? index.keys.during(work) : work();
}

async function searchKeyed(index: Searchable, asked: Asked, { filter, filters, ...options }: Search & Filters): Promise<Hits> {
  const hits = filters ? await searchEach(index, asked.rows, filters, options) : await find(index, asked.rows, options, filter, "filter");
  const { ids, distances: squared } = hits, { k } = options;
  const distances = new Float32Array(ids.length), scores = new Float32Array(ids.length);
  for (let at = 0; at < ids.length; at++) {
    const distance = index.space.distance(squared[at]!, asked.norms?.[Math.floor(at / k)] ?? 1);
    distances[at] = distance;
    scores[at] = index.space.score(distance);
  }
  return { ids, ...(index.keys && { keys: keysAt(index.keys, ids) }), distances, scores, k, ...searched(hits) };
}

/** Means of a search. */
function searched({ searchedBy, through, reason }: Searched): Searched {
  return { searchedBy, through, ...(reason !== undefined && { reason }) };
}

function keysAt(keys: Keys, ids: Uint32Array): (Key | undefined)[] {
  return Array.from(ids, (id) => {
    const key = id === NONE ? undefined : keys.key(id);
    if (key === undefined && id !== NONE) throw new LeastwiseError("file-corrupt", `the vector of id ${id} has no key: the file's keys are not those of its vectors`);
    return key;
  });
}

const NOTHING: Searched = { searchedBy: "cpu", through: "lists" };

/** Queries of one filter are searched together. */
async function searchEach(index: Searchable, rows: Floats, filters: readonly (Filter | undefined)[], options: Search): Promise<NativeHits> {
  const groups = new Map<Filter | undefined, number[]>(), { width } = index.space, { k } = options, { nextId } = index.sizes();
  if (filters.length * k > MOST_OF_CALL) throw new LeastwiseError("limits", `${filters.length} queries × k = ${k} are too many hits for one call: ${MOST_OF_CALL} are the most`);
  filters.forEach((filter, query) => {
    const queries = groups.get(filter);
    if (queries) queries.push(query);
    else groups.set(filter, [query]);
  });
  const ids = new Uint32Array(filters.length * k), distances = new Float32Array(ids.length);
  // Before the first of them is searched: callers may write to their arrays once a call has returned.
  const parts = [...groups].map(([filter, queries]) => ({ filter, queries, rows: gathered(rows, queries, width) }));
  let by: Searched = NOTHING;
  for (const { filter, queries, rows: own } of parts) {
    const hits = await find(index, own, options, filter, `filters[${queries[0]}]`, nextId);
    by = searched(hits);
    scatter(hits, queries, k, ids, distances);
  }
  return { ids, distances, ...by };
}

function gathered(rows: Floats, queries: readonly number[], width: number): F32 {
  const own = new Float32Array(queries.length * width);
  queries.forEach((query, k) => own.set(rows.subarray(query * width, (query + 1) * width), k * width));
  return own;
}

function scatter(hits: NativeHits, queries: readonly number[], k: number, ids: Uint32Array, distances: Float32Array): void {
  queries.forEach((query, row) => {
    ids.set(hits.ids.subarray(row * k, (row + 1) * k), query * k);
    distances.set(hits.distances.subarray(row * k, (row + 1) * k), query * k);
  });
}

/** The nearest of those that a filter lets pass: k, or all of them. The filter is for `nextId` ids. */
async function find(index: Searchable, rows: Floats, { k, probes, effort, signal, exact = false }: Search, filter: Filter | undefined, what: string, nextId = index.sizes().nextId): Promise<NativeHits> {
  const run = async (asked: Floats, most: number | undefined, allowed: Uint8Array | undefined) => {
    if (index.lazily) return index.lazily({ rows: asked, k, probes: most, effort: most === undefined ? effort : undefined, allowed, signal });
    const byBits = index.byBits?.() ?? false, loading = most === undefined || byBits ? index.walks() : undefined, beam = most === undefined || byBits ? effort : undefined;
    // Callers may write to their arrays meanwhile.
    if (loading) [asked, allowed] = [asked.slice(), allowed?.slice()];
    if (loading) await loading;
    const handle = index.handle(), task = index.tasks.call((native) => {
      const begin = () => native.searchIndex(handle, asked, k, most, beam, allowed && grown(allowed, index.sizes().nextId));
      if (!exact || !index.byBits?.()) return begin();
      // What a search goes by is settled when it begins.
      native.setIndexSketching(handle, 0);
      try {
        return begin();
      } finally {
        native.setIndexSketching(handle, 1);
      }
    });
    return (await index.tasks.run(task, { signal, onAbort: "reject" })).hits!;
  };
  if (filter === undefined) return run(rows, probes, undefined);
  const mask = maskOf(what, filter, nextId, index.keys), clusters = index.clusters();
  if ((probes ?? ALL_PROBED) >= clusters) return run(rows, probes, grown(mask, index.sizes().nextId));
  // Queries and filter may be needed again, when their owner may have written to them.
  const own = rows.slice(), allowed = mask.slice(), { width } = index.space;
  const wanted = Math.min(k, allowed.reduce((sum, may) => sum + (may ? 1 : 0), 0));
  const hits = await run(own, probes, grown(allowed, index.sizes().nextId));
  const short = Array.from({ length: own.length / width }, (_, query) => query).filter((query) => wanted > 0 && hits.ids[query * k + wanted - 1] === NONE);
  if (short.length > 0) scatter(await run(gathered(own, short, width), clusters, grown(allowed, index.sizes().nextId)), short, k, hits.ids, hits.distances);
  return hits;
}

/** A mask for the ids that there are now; those that came since are none of it. @internal */
export function grown(mask: Uint8Array, nextId: number): Uint8Array {
  if (mask.length === nextId) return mask;
  const all = new Uint8Array(nextId);
  all.set(mask);
  return all;
}

/** Clusters of which the engine searches all by default. */
const ALL_PROBED = 256;
/** Hits of one call. @internal */
export const MOST_OF_CALL = 2 ** 28;

/** @internal */
export const LIMITS = { maxDistance: real(-Infinity), minScore: real(-Infinity) } as const;

/** The greatest distance that is asked for. @internal */
export function rangeLimit(space: Space, maxDistance: number | undefined, minScore: number | undefined): number {
  if ((maxDistance === undefined) === (minScore === undefined)) throw new LeastwiseError("invalid-option", "searchRange(queries, options): give one of maxDistance and minScore");
  return maxDistance ?? (space.metric === "cosine" ? 1 - minScore! : 0 - minScore!);
}

/** Neighbours of the first search of a range, and by how much the next asks for more. */
const FIRST = 64, MORE = 4;
/** Hits of one search of a range. */
const MOST_HITS = 2 ** 22;

/** @internal */
export function searchRange(index: Searchable, asked: Asked, limit: number, options: InRange): Promise<RangeHits> {
  const work = () => searchWithin(index, asked, limit, options);
  return index.keys ? index.keys.during(work) : work();
}

type InRange = Omit<Search, "k"> & { readonly filter: Filter | undefined };

async function searchWithin(index: Searchable, { rows, norms }: Asked, limit: number, { filter, ...options }: InRange): Promise<RangeHits> {
  const { width } = index.space, queries = rows.length / width, own = rows.slice();
  const found: { ids: Uint32Array; distances: F32; scores: F32 }[] = Array.from({ length: queries }, () => ({ ids: new Uint32Array(0), distances: new Float32Array(0), scores: new Float32Array(0) }));
  let by: Searched = NOTHING;
  const mask = filter === undefined ? undefined : maskOf("filter", filter, index.sizes().nextId, index.keys).slice();
  let open = Array.from({ length: queries }, (_, query) => query);
  for (let k = FIRST; open.length > 0; k *= MORE) {
    const all = index.sizes().count, most = Math.max(1, Math.min(k, all)), step = Math.max(1, Math.floor(MOST_HITS / most)), left: number[] = [];
    for (let first = 0; first < open.length; first += step) {
      const some = open.slice(first, first + step);
      const lengths = norms && Float64Array.from(some, (query) => norms[query]!);
      const hits = await search(index, { rows: gathered(own, some, width), ...(lengths && { norms: lengths }) }, { ...options, k: most, exact: true, filter: mask && grown(mask, index.sizes().nextId) });
      by = searched(hits);
      some.forEach((query, row) => {
        const from = row * most;
        let count = 0;
        while (count < most && hits.ids[from + count] !== NONE && hits.distances[from + count]! <= limit) count++;
        if (count === most && most < all) left.push(query);
        else found[query] = { ids: hits.ids.slice(from, from + count), distances: hits.distances.slice(from, from + count), scores: hits.scores.slice(from, from + count) };
      });
    }
    open = left;
  }
  const offsets = new Uint32Array(queries + 1);
  found.forEach(({ ids }, query) => { offsets[query + 1] = offsets[query]! + ids.length; });
  const ids = new Uint32Array(offsets[queries]!), distances = new Float32Array(ids.length), scores = new Float32Array(ids.length);
  found.forEach((each, query) => {
    ids.set(each.ids, offsets[query]);
    distances.set(each.distances, offsets[query]);
    scores.set(each.scores, offsets[query]);
  });
  return { offsets, ids, ...(index.keys && { keys: keysAt(index.keys, ids) as Key[] }), distances, scores, ...by };
}
