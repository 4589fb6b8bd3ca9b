/** Keys: a caller's own names of vectors, beside the ids that an index gives. */
import { isList, listOf, taken } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { describe, shownValue } from "../instruction.js";

/**
 * A caller's own name of a vector: a string, or an integer up to 2⁵³ − 1 in absolute value (`1` and `"1"` are two keys).
 *
 * @example
 * const keys: Key[] = ["page-1", "page-2"];
 */
export type Key = string | number;

/**
 * Keys of some vectors, in their order.
 *
 * @example
 * const list: KeyList = Uint32Array.of(1001, 1002);
 */
export type KeyList = readonly Key[] | Uint32Array | Int32Array | Uint16Array | Float64Array;

const isKey = (value: unknown): value is Key => typeof value === "string" || Number.isSafeInteger(value);

/** Keys of a caller's, each read once and none twice; `count` of them, if it is given. @internal */
export function keysOf(what: string, given: unknown, count?: number, mayRepeat = false): Key[] {
  if (!isList(given) && !ArrayBuffer.isView(given)) throw new LeastwiseError("invalid-option", `${what} must be an array of strings or integers, not ${describe(given)}`);
  const keys: readonly unknown[] = isList(given) ? listOf(what, given, "must be an array of strings or integers") : Array.from(taken(what, given).values);
  const seen = new Map<Key, number>();
  keys.forEach((key, k) => {
    if (!isKey(key)) throw new LeastwiseError("invalid-option", `${what}[${k}] is ${shownValue(key)}, which is neither a string nor a safe integer (give larger numbers as strings)`);
    const before = seen.get(key);
    if (before !== undefined && !mayRepeat) throw new LeastwiseError("invalid-option", `${what}: ${shownValue(key)} is there twice, at ${before} and at ${k}`);
    seen.set(key, k);
  });
  if (count !== undefined && keys.length !== count) throw new LeastwiseError("data-length", `${what} has ${keys.length} keys, but there are ${count} vectors`);
  return keys as Key[];
}

/** Which key is of which id. @internal */
export class Keys {
  readonly #ids = new Map<Key, number>();
  readonly #keys = new Map<number, Key>();
  /** Keys of vectors that are being added, and the id that the first of them gets. */
  #coming: { readonly first: number; readonly keys: readonly Key[] } | undefined;
  /** Searches that run, and keys of what was taken out meanwhile, which they may have found before. */
  #searches = 0;
  readonly #gone = new Map<number, Key>();
  /** Number of changes so far. */
  revision = 0;

  get size(): number { return this.#ids.size; }

  id(key: Key): number | undefined { return this.#ids.get(key); }

  key(id: number): Key | undefined { return this.#keys.get(id) ?? this.#coming?.keys[id - this.#coming.first] ?? this.#gone.get(id); }

  /** Ids and keys, in the order of the ids. */
  entries(): (readonly [id: number, key: Key])[] { return [...this.#keys].sort((a, b) => a[0] - b[0]); }

  set(id: number, key: Key): void {
    this.#ids.set(key, id);
    this.#keys.set(id, key);
    this.revision++;
  }

  delete(id: number): void {
    const key = this.#keys.get(id);
    if (key === undefined) return;
    this.#keys.delete(id);
    if (this.#searches > 0) this.#gone.set(id, key);
    // Unless the key has passed to another vector.
    if (this.#ids.get(key) === id) this.#ids.delete(key);
    this.revision++;
  }

  /** Runs a search, whose hits keep the keys that they had when it began. */
  async during<T>(search: () => Promise<T>): Promise<T> {
    this.#searches++;
    try {
      return await search();
    } finally {
      if (--this.#searches === 0) this.#gone.clear();
    }
  }

  expect(first: number, keys: readonly Key[]): void { this.#coming = { first, keys }; }

  expectNone(): void { this.#coming = undefined; }
}

/** @internal */
export function withoutKeys(what: string): LeastwiseError {
  return new LeastwiseError("invalid-option", `${what}: this index was made without keys, and knows its vectors by their ids; make it with compress(points, { keys }), or indexBits(lw, vectors, { dim, keys })`);
}

/** True if an index has a key. @internal */
export function hasKey(keys: Keys | undefined, key: unknown): boolean {
  if (!keys) throw withoutKeys("has(key)");
  return keys.id(keysOf("has(key): key", [key])[0]!) !== undefined;
}

/** Ids of the vectors with these keys, of which an index has all. @internal */
export function idsOfKeys(keys: Keys | undefined, named: unknown): Uint32Array {
  if (!keys) throw withoutKeys("idsOf(keys)");
  return Uint32Array.from(keysOf("idsOf(keys): keys", named, undefined, true), (key) => {
    const id = keys.id(key);
    if (id === undefined) throw new LeastwiseError("index-out-of-range", `idsOf(keys): no vector has the key ${shownValue(key)}`);
    return id;
  });
}
