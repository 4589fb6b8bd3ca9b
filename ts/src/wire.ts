/** Terms on their way to the engine: what `packed.ts` makes of them crosses as arrays and two strings, whatever they contain. */
import { isUnshared, LARGE, mustHaveMemory, type Floats } from "./arrays.js";
import type { Layout } from "./layout.js";
import type { NativeEngine } from "./native.js";
import { packTerm, type Packed, type PackedColumn, type PackedEntryColumn, type PackedRaggedSlot, type TermKind } from "./packed.js";
import type { NamedColumn } from "./residual.js";
import type { EachOf, Rows, RowsOf } from "./slots.js";
import type { AnyTensor } from "./tensor/tensor.js";
import type { Words } from "./words.js";

/** A term without its tapes. @internal */
export interface TermCrossing {
  readonly name: string;
  readonly layout: Layout;
  readonly columns: readonly NamedColumn[];
  /** Columns with one value for each entry of the ragged slots. */
  readonly entries: readonly NamedColumn[];
  readonly weight: number | Floats | undefined;
  /** Tensor in place of the weight. */
  readonly lentWeight: AnyTensor | undefined;
  readonly loss: Packed | undefined;
  readonly rows: Rows | undefined;
  readonly ragged: readonly (RowsOf<unknown> | EachOf<unknown>)[];
  /** True if the term sums over its rows; it has one trace then. */
  readonly summed: boolean;
  readonly kind: TermKind;
}

/** Of a hundred thousand terms most have no columns. */
const NONE: readonly never[] = [];

/** Packs a term without its traces, which follow. @internal */
export function writeTerm(words: Words, { layout: { count, indices, over, slots }, columns, entries, weight = 1, loss, rows, ragged, summed, kind }: TermCrossing, traces: number): void {
  const weighted = typeof weight === "object";
  let room = rows ? rows.offsets.length : 0;
  for (const { length } of indices) room += length;
  for (const slot of ragged) room += slot.rows.indices.length;
  words.room(room);
  words.over = over?.table;
  packTerm(words, {
    count, kind, summed, loss, weighted, weights: weighted ? weight : weight === 1 && columns.length ? NONE : [weight], slots,
    columns: columns.length ? columns.map(packedColumn) : NONE,
    entries: entries.length ? entries.map(packedEntries) : NONE,
    indices, over: over ? over.columns : NONE, ragged: ragged.length ? ragged.map(packedRagged) : NONE, offsets: rows ? rows.offsets : NONE, traces,
  });
}

const packedColumn = ({ name, plain: { form: { width }, shared, values } }: NamedColumn): PackedColumn => ({ name, width, shared, values });
const packedEntries = ({ name, plain: { values } }: NamedColumn): PackedEntryColumn => ({ name, values });
const packedRagged = ({ table: { handle }, rows: { indices } }: RowsOf<unknown> | EachOf<unknown>): PackedRaggedSlot => ({ table: handle, rows: indices });

/**
 * Adds a packed term to the engine's problem; returns its handle. Large arrays are not copied here but by the engine, within the call.
 *
 * @internal
 */
export function addTerm(native: NativeEngine, problem: number, name: string, { names, reals, all, over }: Words): number {
  if (over) mustHaveMemory(`term "${name}": \`over\``, over, { term: name });
  if (reals.length === 1 && reals[0]!.length === 1) {
    one[0] = reals[0]![0]!;
    return native.term(problem, name, "", all, one, over, undefined);
  }
  const what = `term "${name}": what was given`;
  mustAllHaveMemory(what, reals);
  // The first of the longest, and only that: the engine knows it by its length.
  const longest = reals.reduce((longest, part) => (part.length > longest.length ? part : longest));
  const [alone, others] = isLarge(longest) ? [longest, othersOf(reals, longest)] : [undefined, reals];
  const rest = others.length === 1 && isLarge(others[0]) ? others[0] : joined(what, others);
  return native.term(problem, name, names.map((column) => `${column}\0`).join(""), all, rest, over, alone);
}

/** One real, reused from call to call: most terms have their weight alone. */
const one = new Float64Array(1);

/** True for what crosses as it is. */
const isLarge = (part: ArrayLike<number> | undefined): part is Float64Array => part instanceof Float64Array && part.length >= LARGE && isUnshared(part);

/** All parts but this one that have reals. */
const othersOf = (parts: readonly ArrayLike<number>[], part: ArrayLike<number>): readonly ArrayLike<number>[] => parts.filter((other) => other !== part && other.length > 0);

/** The caller's functions ran since the parts were checked. */
function mustAllHaveMemory(what: string, parts: readonly ArrayLike<number>[]): void {
  for (const part of parts) if (ArrayBuffer.isView(part)) mustHaveMemory(what, part, {});
}

/** Concatenation of the parts, which must have their memory still. @internal */
export function joined(what: string, parts: readonly ArrayLike<number>[]): Float64Array {
  mustAllHaveMemory(what, parts);
  const all = new Float64Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
