/**
 * Residual functions: from what a caller gives (slots, data, a function) to what the engine takes. The function runs
 * once; with ragged slots once for every length of their rows, unless these are summed over.
 */
import { floats, isArrayLike, type Floats } from "./arrays.js";
import type { TermCrossing } from "./crossing.js";
import { EntryData, plain, type Columns, type PlainColumn } from "./data.js";
import { LeastwiseError, mustBeObject } from "./errors.js";
import { describe, outputs, wrap } from "./expression.js";
import { indexColumns } from "./layout.js";
import { Opcode } from "./opcodes.js";
import { EachOf, RowsOf, SlotOf, type Rows, type Slots } from "./slots.js";
import { Each } from "./sums.js";
import { TableOf } from "./table.js";
import type { TermOptions } from "./term.js";
import { Trace } from "./trace.js";

/** A column with its name; those of entries come last. @internal */
export interface NamedColumn { readonly name: string; readonly plain: PlainColumn }

/** What was traced: the engine's term, and what the columns are called. @internal */
export interface Traced { readonly native: TermCrossing; readonly columns: readonly NamedColumn[] }

interface Place { readonly slot: SlotOf<unknown> | RowsOf<unknown> | EachOf<unknown>; readonly key: string | number }

/** Looks at the slots, runs the function, and gives what the engine needs. @internal */
export function trace(name: string, options: TermOptions<Slots, Columns>, residual: (of: never, data: never) => unknown, problem: object): Traced {
  const where = { term: name };
  if (typeof options !== "object" || options === null || typeof options.of !== "object" || options.of === null) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`of\` must list the variables and constants that the residual takes`, where);
  }
  if (typeof residual !== "function") {
    throw new LeastwiseError("no-residual", `term "${name}": the residual must be a function, not ${describe(residual)}`, where);
  }
  const isList = Array.isArray(options.of);
  const places = Object.entries(options.of as Record<string, unknown>).map(([key, slot], k) => place(name, slot, isList ? k : key, k, problem));
  const { over, data } = options;
  if (over !== undefined && typeof over !== "number" && !isArrayLike(over)) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`over\` must be a number of instances or an array of indices, not ${describe(over)}`, where);
  }
  const weight = plainWeight(name, options.weight);
  const bare = places.flatMap(({ slot }, k) => (slot instanceof SlotOf ? [{ slot, k }] : []));
  const ragged = places.flatMap(({ slot }) => (slot instanceof SlotOf ? [] : [slot]));
  const summed = ragged.some((slot) => slot instanceof EachOf);
  if (summed && ragged.some((slot) => slot instanceof RowsOf)) {
    throw new LeastwiseError("invalid-option", `term "${name}": some slots are of .rows(…) and others of .each(…): a residual takes the entries of its rows in one way`, where);
  }
  const rows = sameRows(name, ragged);
  const layout = indexColumns(name, bare.map(({ slot }) => slot), bare.map(({ k }) => k), over, rows && rows.offsets.length - 1);
  if (data !== undefined) mustBeObject(data, `term "${name}": data`, where);
  if (data && "weight" in data) {
    throw new LeastwiseError("invalid-option", `term "${name}": a data column can't be called "weight", because term.set({ weight }) sets the term's weight`, where);
  }
  const given = Object.entries(data ?? {});
  const columns = given.filter(([, values]) => !(values instanceof EntryData)).map(([column, values]) => ({ name: column, plain: plain(values, name, column) }));
  const entries = given.flatMap(([column, values]) => (values instanceof EntryData ? [{ name: column, plain: { width: 1, shared: false, entries: true, values: values.values } }] : []));
  if (entries.length && !rows) {
    throw new LeastwiseError("invalid-option", `term "${name}": data column "${entries[0]!.name}" has a value an entry, but no slot has rows of entries: use .rows(…) or .each(…)`, where);
  }

  const run = (length: number) => {
    const tracing = new Trace(name);
    const input = (source: number, width: number) => wrap(tracing, tracing.write(Opcode.Input, [source]), width);
    const first = bare.length + columns.length;
    const each = ragged.length + entries.length;
    const array = (offset: number, width: number) => Object.freeze(Array.from({ length }, (_, entry) => input(first + entry * each + offset, width)));
    const row = (offset: number, width: number) => (summed ? new Each(tracing, input(first + offset, width)) : array(offset, width));
    let [nextBare, nextRagged] = [0, 0];
    const values = places.map(({ slot }) => (slot instanceof SlotOf ? input(nextBare++, slot.table.width) : row(nextRagged++, slot.table.width)));
    const of = isList ? values : Object.fromEntries(places.map(({ key }, k) => [key, values[k]]));
    const row_ = Object.fromEntries([
      ...columns.map((column, k) => [column.name, input(bare.length + k, column.plain.width)] as const),
      ...entries.map((column, k) => [column.name, row(ragged.length + k, 1)] as const),
    ]);
    const returned = tracing.run(() => residual(of as never, row_ as never));
    const results = outputs(returned, tracing);
    return { length, tape: tracing.close(), outputs: results };
  };
  const lengths = summed ? [1] : rows ? [...new Set(rows.lengths)].sort((a, b) => a - b) : [0];
  // Longer rows are the engine's to refuse: it says which.
  const traced = lengths.filter((length) => length <= LONGEST_ROW).map(run);
  return {
    columns: [...columns, ...entries],
    native: { name, ...layout, columns, entries, weight, traces: traced, rows, ragged, summed },
  };
}

/** Entries that a row may have and still be traced one by one. */
const LONGEST_ROW = 64;

/** What stands in a slot. */
function place(name: string, given: unknown, key: string | number, k: number, problem: object): Place {
  const slot = given instanceof TableOf ? new SlotOf<unknown>(given, undefined) : given;
  if (!(slot instanceof SlotOf || slot instanceof RowsOf || slot instanceof EachOf)) {
    throw new LeastwiseError("shape", `term "${name}": slot ${key} is ${describe(given)}, but must be a variable or constant, or its .at(…), .rows(…) or .each(…)`, { term: name, slot: k });
  }
  if (slot.table.problem !== problem) {
    throw new LeastwiseError("foreign-variable", `term "${name}": slot ${key} is "${slot.table.name}" of another problem`, { term: name, slot: k });
  }
  return { slot, key };
}

/** The offsets of the ragged slots, which must be the same for all. */
function sameRows(name: string, ragged: readonly (RowsOf<unknown> | EachOf<unknown>)[]): Rows | undefined {
  const first = ragged[0]?.rows;
  for (const { rows, table } of ragged) {
    const other = rows.offsets.findIndex((offset, k) => offset !== first!.offsets[k]);
    if (rows.offsets.length !== first!.offsets.length || other >= 0) {
      throw new LeastwiseError("data-length", `term "${name}": the rows of "${table.name}" and "${ragged[0]!.table.name}" differ in length: an entry of one belongs to an entry of the other, so their offsets must be the same`, { term: name });
    }
  }
  return first;
}

/** A weight as the engine takes it. @internal */
export function plainWeight(term: string, weight: unknown): number | Floats | undefined {
  if (weight === undefined || typeof weight === "number") return weight;
  if (isArrayLike(weight)) return floats(weight);
  throw new LeastwiseError("invalid-option", `term "${term}": weight must be a number, or an array with one for each instance, not ${describe(weight)}`, { term });
}
