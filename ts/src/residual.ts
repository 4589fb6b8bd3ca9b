/**
 * Residual functions (and energies): from what a caller gives (slots, data, a function) to what the engine takes. The function runs
 * once; with ragged slots once for every length of their rows, unless these are summed over.
 */
import { isArrayLike, listOf, numbersOf, type Floats } from "./arrays.js";
import { EntryData, lentColumn, plain, type Columns, type PlainColumn } from "./data.js";
import { isA, isOurs, LeastwiseError, reading, wordsOf } from "./errors.js";
import { describe, writeOutputs } from "./expression.js";
import { indexColumns } from "./layout.js";
import { packedLoss } from "./loss.js";
import { named } from "./named.js";
import { Opcode } from "./opcodes.js";
import { checked, entriesOf, given as any, oneOf } from "./options.js";
import { packTrace, type TermKind } from "./packed.js";
import { formOf, type Form } from "./shape.js";
import { EachOf, RowsOf, SlotOf, type Rows, type Slots } from "./slots.js";
import { Each } from "./sums.js";
import { TableOf } from "./table.js";
import { isTensor } from "./tensor/apply.js";
import type { TermOptions } from "./term.js";
import { Trace } from "./trace.js";
import { vectorName } from "./vector.js";
import { writeTerm, type TermCrossing } from "./wire.js";
import type { Words } from "./words.js";

/** A column with its name; those of entries come last. @internal */
export interface NamedColumn { readonly name: string; readonly plain: PlainColumn }

type AnySlot = SlotOf<unknown> | RowsOf<unknown> | EachOf<unknown>;

/** Of a hundred thousand terms most have none. */
const NONE: readonly never[] = [];

/** `loss` and `curvature` are known to all: why energies and constraints do not take them is told. */
const RESIDUAL = { over: any<TermOptions<Slots, Columns>["over"]>(), of: any(), data: any(), weight: any(), loss: any(), curvature: oneOf("gauss-newton", "full") } as const;
const CONSTRAINT = { ...RESIDUAL, to: any() } as const;

/** A term, looked at: its parts, its slots by name or in a list, and the lengths of rows that it is traced for. */
interface Looked { readonly term: TermCrossing; readonly slots: readonly AnySlot[]; readonly keys: readonly string[] | undefined; readonly lengths: readonly number[] }

/** Looks at the slots, packs the term into `words`, runs the function, and gives what the engine needs besides. @internal */
export function trace(words: Words, name: string, options: TermOptions<Slots, Columns>, residual: Residual, problem: object, kind: TermKind = "residual", largest?: number): TermCrossing {
  // Nothing of the caller's but the function itself runs after this.
  const { term, slots, keys, lengths } = reading(`term "${name}"`, () => look(name, options, residual, problem, kind), { term: name });
  writeTerm(words, term, lengths.length);
  for (const length of lengths) writeTrace(words, term, slots, keys, residual, length, largest);
  return term;
}

function look(name: string, options: TermOptions<Slots, Columns>, residual: unknown, problem: object, kind: TermKind): Looked {
  const energy = kind === "energy", constraint = !energy && kind !== "residual";
  const what = energy ? "energy" : constraint ? "constraint" : "residual";
  const where = { term: name };
  const { over, of, data, ...rest } = checked(`term "${name}": options`, options, constraint ? CONSTRAINT : RESIDUAL, where);
  if (of instanceof TableOf || of instanceof SlotOf || of instanceof RowsOf || of instanceof EachOf) {
    const { name: table } = of instanceof TableOf ? of : of.table;
    throw new LeastwiseError("invalid-option", `term "${name}": \`of\` is "${table}" itself, but lists what the ${what} takes: write \`of: [${/^[A-Za-z_$][\w$]*$/.test(table) ? table : "x"}]\``, where);
  }
  if (typeof of !== "object" || of === null) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`of\` must list the variables and constants that the ${what} takes`, where);
  }
  if (typeof residual !== "function") {
    throw new LeastwiseError("no-residual", `term "${name}": the ${what} must be a function, not ${describe(residual)}`, where);
  }
  const named = Array.isArray(of) ? undefined : entriesOf(`term "${name}": \`of\``, of, where);
  const keys = named?.map(([key]) => key);
  const given = named ? named.map(([, slot]) => slot) : listOf(`term "${name}": \`of\``, of, "must be a list", where);
  const slots: AnySlot[] = [], bare: SlotOf<unknown>[] = [], positions: number[] = [];
  let ragged: (RowsOf<unknown> | EachOf<unknown>)[] | undefined;
  for (let k = 0; k < given.length; k++) {
    const slot = slotOf(name, given[k], keys ? keys[k]! : k, k, problem);
    slots.push(slot);
    if (slot instanceof SlotOf) {
      bare.push(slot);
      positions.push(k);
    } else (ragged ??= []).push(slot);
  }
  if (over !== undefined && typeof over !== "number" && !isArrayLike(over)) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`over\` must be a number of instances or an array of indices, not ${describe(over)}`, where);
  }
  const lentWeight = isTensor(rest.weight) ? rest.weight : undefined;
  const weight = lentWeight ? (lentWeight.rank ? new Float64Array(lentWeight.size) : 0) : plainWeight(name, rest.weight);
  if (energy && rest.loss !== undefined) throw new LeastwiseError("invalid-option", `term "${name}": an energy has no loss, which is a function of ‖r‖²: make it a part of the energy`, where);
  if (constraint && rest.loss !== undefined) throw new LeastwiseError("invalid-option", `term "${name}": a constraint has no loss: it is met, or it is not`, where);
  if ((energy || constraint) && rest.curvature !== undefined) {
    throw new LeastwiseError("invalid-option", `term "${name}": ${energy ? "an energy's steps take its exact Hessian always" : "a constraint's steps take its exact Hessian always"}: leave \`curvature\` out`, where);
  }
  const loss = packedLoss(name, rest.loss);
  const summed = ragged !== undefined && ragged.some((slot) => slot instanceof EachOf);
  if (constraint && summed) {
    throw new LeastwiseError("invalid-option", `term "${name}": a constraint can't sum over rows of any length: take their entries by .rows(…)`, where);
  }
  if (summed && ragged!.some((slot) => slot instanceof RowsOf)) {
    throw new LeastwiseError("invalid-option", `term "${name}": some slots are of .rows(…) and others of .each(…): a residual takes the entries of its rows in one way`, where);
  }
  const rows = ragged && sameRows(name, ragged);
  const [columns, entries] = data === undefined ? [NONE, NONE] : dataColumns(name, data);
  const layout = indexColumns(name, bare, positions, over, { rows: rows && rows.offsets.length - 1, data: valuesCount(columns, weight) });
  if (entries.length && !rows) {
    throw new LeastwiseError("invalid-option", `term "${name}": data column "${entries[0]!.name}" has a value an entry, but no slot has rows of entries: use .rows(…) or .each(…)`, where);
  }
  const term: TermCrossing = { name, layout, columns, entries, weight, lentWeight, loss, rows, ragged: ragged ?? NONE, summed, kind: rest.curvature === "full" ? "curved" : kind };
  // Longer rows are the engine's to refuse: it says which.
  const lengths = summed ? ONE_ENTRY : rows ? [...new Set(rows.lengths)].filter((length) => length <= LONGEST_ROW).sort((a, b) => a - b) : NO_ENTRIES;
  return { term, slots, keys, lengths };
}

const [NO_ENTRIES, ONE_ENTRY] = [[0], [1]] as const;

/**
 * What the last function got. An engine forgets the shape of a class of which a collection of garbage finds no object, and
 * with it all code compiled for that shape: so there are always expressions to be found, and a trace.
 *
 * @internal
 */
export const kept: { values: readonly unknown[] } = { values: NONE };

/** Entries that a row may have and still be traced one by one. */
const LONGEST_ROW = 64;

/** The slots of a list as a function gets them. It knows when more were taken of it than there are, as by `([a, b, c]) => …` of two slots. */
class Arguments extends Array<unknown> {
  #isOverrun = false;

  static override get [Symbol.species](): ArrayConstructor { return Array; }
  get isOverrun(): boolean { return this.#isOverrun; }

  override *[Symbol.iterator](): ArrayIterator<unknown> {
    for (let k = 0; k < this.length; k++) yield this[k];
    this.#isOverrun = true;
  }
}

/** Runs the residual for rows of a length, and packs its tape and outputs. */
function writeTrace(words: Words, term: TermCrossing, slots: readonly AnySlot[], keys: readonly string[] | undefined, residual: Residual, length: number, largest: number | undefined): void {
  const tracing = new Trace(term.name, words, undefined, largest);
  let returned: unknown;
  packTrace(words, {
    length,
    tape: () => { returned = run(tracing, term, slots, keys, residual, length); },
    outputs: () => { reading(`${tracing.title}: what it returned`, () => writeOutputs(returned, tracing, words), { term: term.name }); },
  });
}

type Residual = (of: never, data: never) => unknown;

/** Runs the residual on expressions; gives what it returned. */
function run(tracing: Trace, { name, layout, columns, entries, ragged, summed }: TermCrossing, slots: readonly AnySlot[], keys: readonly string[] | undefined, residual: Residual, length: number): unknown {
  const bare = layout.slots.length;
  const input = (source: number, form: Form) => form.element(tracing, tracing.write1(Opcode.Input, source));
  const [first, each] = [bare + columns.length, ragged.length + entries.length];
  const array = (offset: number, form: Form) => Object.freeze(Array.from({ length }, (_, entry) => input(first + entry * each + offset, form)));
  const row = (offset: number, form: Form) => (summed ? new Each(tracing, input(first + offset, form)) : array(offset, form));
  let [nextBare, nextRagged] = [0, 0];
  const values = slots.map((slot) => (slot instanceof SlotOf ? input(nextBare++, slot.table.form) : row(nextRagged++, slot.table.form)));
  const naming = (what: string) => ({ what: () => `${tracing.title}: the ${what}`, isPlural: true, term: name });
  const list = keys ? undefined : new Arguments();
  if (list) for (const value of values) list.push(value);
  const of = keys ? named(keys.map((key, k) => [key, values[k]]), naming("slots")) : list;
  const data = named([
    ...columns.map((column, k) => [column.name, input(bare + k, column.plain.form)] as const),
    ...entries.map((column, k) => [column.name, row(ragged.length + k, column.plain.form)] as const),
  ], naming("data"));
  kept.values = values;
  try {
    return tracing.run(residual, of as never, data as never);
  } catch (thrown) {
    throw withHint(withSlots(thrown, tracing.title, name, list), layout.count, columns);
  }
}

/**
 * An error about `undefined` says, too, how many slots there are, if more were taken: a slot that is not there is undefined. What JavaScript
 * itself throws of it becomes an error of ours.
 */
function withSlots(thrown: unknown, title: string, term: string, slots: Arguments | undefined): unknown {
  const isNative = isA(thrown, TypeError);
  if (!slots?.isOverrun || !(isNative || (isOurs(thrown) && thrown.code === "shape"))) return thrown;
  const message = wordsOf(thrown);
  if (!/\bundefined\b/.test(message)) return thrown;
  return new LeastwiseError("shape", `${isNative ? `${title}: ` : ""}${message}. \`of\` has ${slots.length} ${slots.length === 1 ? "slot" : "slots"}, and the function takes more: those are undefined`, { term, cause: thrown });
}

/** An error of shapes says, too, if an array literal was probably meant as a column. */
function withHint(thrown: unknown, count: number, columns: readonly NamedColumn[]): unknown {
  if (!isOurs(thrown) || thrown.code !== "shape") return thrown;
  const { term, message } = thrown;
  // Where no column says how many instances there are, there is one: then the operand that was refused tells which literal it was.
  const [operands = ""] = message.split(": it takes");
  const isOperand = (width: number) => new RegExp(`\\b${vectorName(width)}(?!\\d)`).test(operands);
  const found = columns.find(({ plain: { shared, form: { width } } }) => shared && width > 1 && (count === 1 ? isOperand(width) : width === count));
  if (!found) return thrown;
  const { name, plain: { form: { width } } } = found;
  const meaning = count === 1 ? "which is one vector that all instances share, and there is one instance" : `which is one vector for all ${count} instances`;
  return new LeastwiseError("shape", `${message}. The data "${name}" are an array literal of ${width} numbers, ${meaning}: for one number an instance give new Float64Array(${name})`, { term, cause: thrown });
}

/** What stands in a slot. */
function slotOf(name: string, given: unknown, key: string | number, k: number, problem: object): AnySlot {
  const slot = given instanceof TableOf ? new SlotOf<unknown>(given, undefined) : given;
  if (!(slot instanceof SlotOf || slot instanceof RowsOf || slot instanceof EachOf)) {
    throw new LeastwiseError("shape", `term "${name}": slot ${key} is ${describe(given)}, but must be a variable or constant, or its .at(…), .rows(…) or .each(…)`, { term: name, slot: k });
  }
  if (slot.table.problem !== problem) {
    throw new LeastwiseError("foreign-variable", `term "${name}": slot ${key} is "${slot.table.name}" of another problem`, { term: name, slot: k });
  }
  return slot;
}

/** The data columns: those of instances, then those of entries. */
function dataColumns(name: string, data: unknown): readonly [readonly NamedColumn[], readonly NamedColumn[]] {
  const all = entriesOf(`term "${name}": data`, data, { term: name });
  const [columns, entries]: [NamedColumn[], NamedColumn[]] = [[], []];
  for (const [column, values] of all) {
    if (column === "weight" || column === "loss") {
      throw new LeastwiseError("invalid-option", `term "${name}": a data column can't be called "${column}", because term.set({ ${column} }) sets the ${column === "weight" ? "term's weight" : "parameters of the term's loss"}`, { term: name });
    }
    if (values instanceof EntryData) entries.push({ name: column, plain: isTensor(values.values) ? { ...lentColumn(values.values, formOf(1)), entries: true } : { form: formOf(1), shared: false, entries: true, values: numbersOf(`term "${name}": data column "${column}"`, values.values, { term: name }) } });
    else columns.push({ name: column, plain: plain(values, name, column) });
  }
  return [columns, entries];
}

/** Instances that data give: those of the first column with a value an instance, otherwise of the weights. */
function valuesCount(columns: readonly NamedColumn[], weight: number | Floats | undefined): number | undefined {
  const each = columns.find(({ plain }) => !plain.shared)?.plain;
  if (!each) return typeof weight === "object" ? weight.length : undefined;
  return Math.ceil(each.values.length / each.form.width);
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
  return numbersOf(`term "${term}": weight`, weight, { term, must: "must be a number, or an array with one for each instance" });
}
