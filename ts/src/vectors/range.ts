/** Ranges of rows. */
import type { F32 } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { shownValue } from "../instruction.js";

/** How many rows a range has that begins at `first`: `given`, or all from there on. @internal */
export function rangeOf(first: number, given: number | undefined, all: number): number {
  const isIndex = (value: number) => Number.isInteger(value) && value >= 0;
  const count = given ?? (isIndex(first) ? all - first : 0);
  if (!isIndex(first) || !isIndex(count) || first + count > all) {
    throw new LeastwiseError("index-out-of-range", `${shownValue(count)} vectors from vector ${shownValue(first)} on were asked for, but there are ${all}`);
  }
  return count;
}

/** @internal */
export function mustBeRows(rows: number): void {
  if (!(Number.isSafeInteger(rows) && rows >= 1)) throw new LeastwiseError("invalid-option", `chunks(rows): ${shownValue(rows)} is no positive integer`);
}

/** All rows, so many at a time. @internal */
export async function *inChunks(vectors: { readonly count: number; rows(first: number, count: number): Promise<F32> }, rows: number): AsyncGenerator<F32, void, void> {
  mustBeRows(rows);
  for (let first = 0; first < vectors.count; first += rows) yield vectors.rows(first, Math.min(rows, vectors.count - first));
}
