/**
 * Packing of a term for the engine: two arrays and two strings, whatever the term contains. `src/crossing/term.rs` unpacks it.
 */
import { mustHaveMemory, type Floats } from "./arrays.js";
import type { PackedLoss } from "./loss.js";
import type { NamedColumn } from "./residual.js";
import type { EachOf, Rows, RowsOf } from "./slots.js";
import type { Layout } from "./layout.js";
import type { NativeEngine } from "./native.js";
import type { Words } from "./words.js";

/** Kind of a term: a residual, an energy, or a constraint c = 0, c ≤ 0 or c ≥ 0. @internal */
export type TermKind = "residual" | "energy" | "=0" | "<=0" | ">=0";

/** Kinds in the order of the engine's numbers for them. */
const KINDS: readonly TermKind[] = ["residual", "energy", "=0", "<=0", ">=0"];

/** A term without its tapes. @internal */
export interface TermCrossing {
  readonly name: string;
  readonly layout: Layout;
  readonly columns: readonly NamedColumn[];
  /** Columns with one value for each entry of the ragged slots. */
  readonly entries: readonly NamedColumn[];
  readonly weight: number | Floats | undefined;
  readonly loss: PackedLoss | undefined;
  readonly rows: Rows | undefined;
  readonly ragged: readonly (RowsOf<unknown> | EachOf<unknown>)[];
  /** True if the term sums over its rows; it has one trace then. */
  readonly summed: boolean;
  readonly kind: TermKind;
}

/** Packs a term without its traces, which follow. @internal */
export function writeTerm(words: Words, term: TermCrossing, traces: number): void {
  const { layout: { count, indices, slots }, columns, entries, weight, loss, rows, ragged, summed, kind } = term;
  words.push3(count, indices.length, slots.length);
  words.push3(columns.length, typeof weight === "object" ? weight.length + 1 : 0, ragged.length);
  words.push3(entries.length, traces, summed ? 1 : 0);
  words.push3(loss ? loss.words.length : 0, loss ? loss.reals.length : 0, KINDS.indexOf(kind));
  if (loss) words.append(loss.words);
  for (const slot of slots) words.push2(slot.table, slot.column);
  for (const { plain } of columns) words.push3(plain.form.width, plain.shared ? 1 : 0, plain.values.length);
  for (const slot of ragged) words.push2(slot.table.handle, slot.rows.indices.length);
  for (const { plain } of entries) words.push(plain.values.length);
  for (const column of indices) words.append(column);
  if (rows) words.append(rows.offsets);
  for (const slot of ragged) words.append(slot.rows.indices);
}

/** Adds a packed term to the engine's problem; returns its handle. @internal */
export function addTerm(native: NativeEngine, problem: number, { name, columns, entries, weight = 1, loss }: TermCrossing, words: Words): number {
  if (columns.length === 0 && entries.length === 0 && typeof weight === "number" && !loss) {
    one[0] = weight;
    return native.term(problem, name, "", words.all, one);
  }
  const all = [...columns, ...entries];
  const names = all.map((column) => `${column.name}\0`).join("");
  return native.term(problem, name, names, words.all, joined(`term "${name}": what was given`, [loss ? loss.reals : [], typeof weight === "number" ? [weight] : weight, ...all.map(({ plain }) => plain.values)]));
}

/** The weight of a term without columns, reused from call to call. */
const one = new Float64Array(1);

/** Concatenation of the parts, which must have their memory still: the caller's functions ran since they were checked. @internal */
export function joined(what: string, parts: readonly ArrayLike<number>[]): Float64Array {
  for (const part of parts) if (ArrayBuffer.isView(part)) mustHaveMemory(what, part, {});
  const all = new Float64Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
