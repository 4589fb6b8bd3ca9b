/** Filters: which vectors a search may find. */
import { bytesOf, firstNonIndex, isList, taken, type Indices, type Mask } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { checked, given } from "../options.js";
import { keysOf, withoutKeys, type Key, type KeyList, type Keys } from "./keys.js";

/**
 * Vectors that a search may find:
 *
 * - a `Uint8Array` with a byte for each id, 0 for those that may not be found;
 * - `{ ids }` or `{ keys }`: these alone;
 * - `{ bits }`: a bitmap, bit `id & 7` of byte `id >> 3` (`numpy.packbits(…, bitorder="little")`, validity bitmaps of Arrow);
 * - a predicate, called once for each vector; of an index without keys for each id that was ever given.
 *
 * @example
 * const filter: Filter = (id) => id % 2 === 0;
 * const { ids } = await index.search(points, { k: 10, filter });
 */
export type Filter = Mask | { readonly ids: Indices } | { readonly keys: KeyList } | { readonly bits: Uint8Array } | ((id: number, key: Key | undefined) => boolean);

const FILTER = { ids: given(), keys: given(), bits: given() } as const;

/** A byte for each id, of which there are `nextId`. @internal */
export function maskOf(what: string, filter: unknown, nextId: number, keys: Keys | undefined): Uint8Array {
  const mask = bytesOf(what, filter);
  if (mask) {
    if (mask.length !== nextId) throw new LeastwiseError("data-length", `${what} has ${mask.length} bytes, but ${nextId} are needed: one for each id, those of removed vectors among them`);
    return mask;
  }
  if (typeof filter === "function") return ofPredicate(filter as (id: number, key: Key | undefined) => unknown, nextId, keys);
  if (typeof filter !== "object" || filter === null || isList(filter) || ArrayBuffer.isView(filter)) {
    throw new LeastwiseError("invalid-option", `${what} must be a Uint8Array with a byte for each id, { ids }, { keys }, { bits } or a function, not ${describe(filter)}`);
  }
  const { ids, keys: named, bits } = checked(`${what}: properties`, filter, FILTER, { prefix: `${what}.` });
  if ([ids, named, bits].filter((each) => each !== undefined).length !== 1) throw new LeastwiseError("invalid-option", `${what} must have one of ids, keys and bits`);
  if (ids !== undefined) return ofIds(what, ids, nextId);
  return named === undefined ? ofBits(what, bits, nextId) : ofKeys(what, named, nextId, keys);
}

function ofPredicate(may: (id: number, key: Key | undefined) => unknown, nextId: number, keys: Keys | undefined): Uint8Array {
  const mask = new Uint8Array(nextId);
  if (keys) for (const [id, key] of keys.entries()) mask[id] = may(id, key) ? 1 : 0;
  else for (let id = 0; id < nextId; id++) mask[id] = may(id, undefined) ? 1 : 0;
  return mask;
}

function ofIds(what: string, given: unknown, nextId: number): Uint8Array {
  const mask = new Uint8Array(nextId), { values } = taken(`${what}.ids`, given);
  const wrong = firstNonIndex(values);
  if (wrong >= 0) throw new LeastwiseError("invalid-option", `${what}.ids must be an array of non-negative integers; ids[${wrong}] is ${values[wrong]}`);
  for (let k = 0; k < values.length; k++) {
    if (values[k]! >= nextId) throw new LeastwiseError("index-out-of-range", `${what}.ids[${k}] is ${values[k]}, but the index has given ${nextId} ids`);
    mask[values[k]!] = 1;
  }
  return mask;
}

function ofKeys(what: string, named: unknown, nextId: number, keys: Keys | undefined): Uint8Array {
  const mask = new Uint8Array(nextId);
  if (!keys) throw withoutKeys(`${what}.keys`);
  for (const key of keysOf(`${what}.keys`, named, undefined, true)) {
    const id = keys.id(key);
    if (id !== undefined) mask[id] = 1;
  }
  return mask;
}

function ofBits(what: string, given: unknown, nextId: number): Uint8Array {
  const bits = bytesOf(`${what}.bits`, given), needed = Math.ceil(nextId / 8);
  if (!bits) throw new LeastwiseError("invalid-option", `${what}.bits must be a Uint8Array with a bit for each id, not ${describe(given)}`);
  if (bits.length !== needed) throw new LeastwiseError("data-length", `${what}.bits has ${bits.length} bytes, but ${needed} are needed: a bit for each of ${nextId} ids, those of removed vectors among them`);
  return Uint8Array.from({ length: nextId }, (_, id) => (bits[id >> 3]! >> (id & 7)) & 1);
}
