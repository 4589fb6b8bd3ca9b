/**
 * How a term crosses into the engine: two arrays and two strings, whatever it is made of. A hundred thousand terms of one
 * instance each cross in well under a second that way; `src/js/term.rs` reads it.
 */
import type { Floats } from "./arrays.js";
import type { NamedColumn } from "./residual.js";
import type { EachOf, Rows, RowsOf } from "./slots.js";
import type { Layout } from "./layout.js";
import type { NativeEngine } from "./native.js";

/** A term in parts. @internal */
export interface TermCrossing extends Layout {
  readonly name: string;
  readonly columns: readonly NamedColumn[];
  /** Columns with a value an entry of the ragged slots. */
  readonly entries: readonly NamedColumn[];
  readonly weight: number | Floats | undefined;
  /** The traced function; of a ragged term, once a length. */
  readonly traces: readonly { readonly length: number; readonly tape: readonly number[]; readonly outputs: readonly number[] }[];
  readonly rows: Rows | undefined;
  readonly ragged: readonly (RowsOf<unknown> | EachOf<unknown>)[];
  /** Whether the rows are summed over: then there is one trace. */
  readonly summed: boolean;
}

/** Gives a term to the engine; its handle. @internal */
export function addTerm(native: NativeEngine, problem: number, term: TermCrossing): number {
  const { count, indices, slots, columns, entries, ragged, rows, traces, summed } = term;
  const weight = term.weight ?? 1;
  const isEach = typeof weight === "object";
  const header = [count, indices.length, slots.length, columns.length, isEach ? weight.length + 1 : 0, ragged.length, entries.length, traces.length, summed ? 1 : 0];
  for (const slot of slots) header.push(slot.table, slot.column);
  for (const { plain } of columns) header.push(plain.width, plain.shared ? 1 : 0, plain.values.length);
  for (const slot of ragged) header.push(slot.table.handle, slot.rows.indices.length);
  for (const { plain } of entries) header.push(plain.values.length);
  const parts: ArrayLike<number>[] = [header];
  for (const { length, tape, outputs } of traces) parts.push([length, outputs.length, tape.length], outputs, tape);
  parts.push(...indices);
  if (rows) parts.push(rows.offsets, ...ragged.map((slot) => slot.rows.indices));
  const reals: ArrayLike<number>[] = [isEach ? weight : [weight], ...[...columns, ...entries].map(({ plain }) => plain.values)];
  const names = [...columns, ...entries].map((column) => `${column.name}\0`).join("");
  const packedWords = joined(parts, words, (length) => new Uint32Array(length));
  const packedReals = joined(reals, numbers, (length) => new Float64Array(length));
  return native.term(problem, term.name, names, packedWords.subarray(0, lengthOf(parts)), packedReals.subarray(0, lengthOf(reals)));
}

// What crosses is copied at once, so one pair of buffers serves all small terms: two new ones each would keep the
// garbage collector busy for longer than the rest takes. Large terms come seldom and get their own.
const words = new Uint32Array(1024);
const numbers = new Float64Array(256);

const lengthOf = (parts: readonly ArrayLike<number>[]): number => parts.reduce((length, part) => length + part.length, 0);

/** The parts one after the other, in `into` or, where that is too small, in something longer. */
function joined<A extends Uint32Array | Float64Array>(parts: readonly ArrayLike<number>[], into: A, make: (length: number) => A): A {
  const length = lengthOf(parts);
  const all = length > into.length ? make(length) : into;
  let at = 0;
  for (const part of parts) {
    // Setting a few elements by hand is quicker than a call.
    if (part.length < 32) for (let k = 0; k < part.length; k++) all[at + k] = part[k]!;
    else all.set(part, at);
    at += part.length;
  }
  return all;
}
