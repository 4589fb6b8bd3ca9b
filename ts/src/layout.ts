/** Where each slot's instances are: the distinct index columns of a term. */
import { firstNonIndex, LARGE, settled, taken, type IndexTable, type Rows, type Taken, type Typed } from "./arrays.js";
import { LeastwiseError } from "./errors.js";
import { SlotOf } from "./slots.js";
import type { PackedSlot } from "./packed.js";

/** Indices are 32 bits wide. */
const MOST_INSTANCES = 4294967295;

/** Columns of an index table that crosses by itself. */
interface TableColumns { readonly table: Uint32Array; readonly columns: readonly number[] }

/** The columns of a term's plain slots, and how many instances it has. Those of `over` are empty lists among `indices`. @internal */
export interface Layout { readonly count: number; readonly indices: readonly IndexTable[]; readonly over: TableColumns | undefined; readonly slots: readonly PackedSlot[] }

/** Numbers of instances that a term's other parts give: its ragged slots' rows, and the first column or weight with a value an instance. @internal */
export interface Counts { readonly rows: number | undefined; readonly data: number | undefined }

/** Column of a slot whose table has one instance, which all instances of the term share. */
const SHARED = Symbol("shared");

/** Column of a slot: one of `over`, one of its own, `undefined` for instance i itself, or {@link SHARED}. */
type Column = number | IndexTable | undefined | typeof SHARED;

/**
 * Index columns of all slots; equal ones are one. `positions` are the slots' places among all of the term's.
 *
 * A bare slot at position k takes column k of an index table `over`, and without one instance i for instance i. A bare slot of a
 * table with one instance is shared: without a table always, with one if that has no column k.
 *
 * @internal
 */
export function indexColumns(name: string, given: readonly SlotOf<unknown>[], positions: readonly number[], over: number | IndexTable | Rows | undefined, counts: Counts): Layout {
  const slots = ownColumns(name, given, positions);
  const index = typeof over === "object" ? tableOf(name, over) : undefined, table = index?.values;
  const widest = index ? columnsOf(name, index, slots, positions, counts.rows ?? ownCount(slots) ?? counts.data) : 0;
  const columnOf = slots.map(({ column, table: { count } }, k): Column => {
    if (typeof column === "number" && !table) throw new LeastwiseError("invalid-option", `term "${name}": slot ${positions[k]} takes column ${column} of \`over\`, but the term has no index table: give \`over\`, or an index column of the slot's own`, { term: name, slot: positions[k]! });
    if (column !== undefined) return column;
    return count === 1 && positions[k]! >= widest ? SHARED : table && positions[k];
  });
  const count = typeof over === "number" ? over : table ? table.length / widest : counts.rows ?? ownCount(slots) ?? tableCount(slots) ?? (slots.length ? counts.data ?? 1 : 0);
  if (!Number.isInteger(count) || count < 0) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`over\` is ${count}, but a number of instances is 0, 1, 2, …`, { term: name });
  }
  if (count > MOST_INSTANCES) {
    throw new LeastwiseError("limits", `term "${name}": ${count} instances are more than a term can have (${MOST_INSTANCES})`, { term: name });
  }
  if (counts.rows !== undefined && count !== counts.rows) {
    throw new LeastwiseError("data-length", `term "${name}": its ragged slots have ${counts.rows} rows, but \`over\` gives ${count} instances`, { term: name });
  }
  // Before anything of that length is made.
  for (let k = 0; k < slots.length; k++) if (columnOf[k] === undefined) checkIdentity(name, slots[k]!, positions[k]!, count, typeof over === "number");
  const [indices, keys, placed]: [IndexTable[], Column[], PackedSlot[]] = [[], [], []];
  // A table of which little is taken would be copied in vain by hosts that copy.
  const columns: number[] | undefined = table && table.length >= LARGE && widest <= 2 * new Set(columnOf.filter(isNumber)).size ? [] : undefined;
  for (let k = 0; k < slots.length; k++) {
    const column = columnOf[k];
    let number = keys.indexOf(column);
    if (number < 0) {
      number = keys.push(column) - 1;
      indices.push(
        column === SHARED ? new Uint32Array(count)
        : column === undefined ? identity(count)
        : typeof column === "object" ? ownColumn(name, column, slots[k]!, positions[k]!, count)
        : tableColumn(name, table!, column, widest, slots[k]!, positions[k]!, count, columns));
    }
    placed.push({ table: slots[k]!.table.handle, column: number });
  }
  return { count, indices, over: columns?.length ? { table: wholeTable(table!), columns } : undefined, slots: placed };
}

const isNumber = (column: Column): column is number => typeof column === "number";

/** A table as it crosses: its indices as they lie in memory, or converted. */
function wholeTable(table: Typed): Uint32Array {
  if (table instanceof Uint32Array) return table;
  if (table instanceof Int32Array) return new Uint32Array(table.buffer, table.byteOffset, table.length);
  return new Uint32Array(table);
}

/** A term's index table, flat or with a row for each instance. */
function tableOf(name: string, over: IndexTable | Rows): Taken {
  const { length } = over;
  if (length > MOST_INSTANCES) throw new LeastwiseError("limits", `term "${name}": ${length} instances are more than a term can have (${MOST_INSTANCES})`, { term: name });
  const { values, stride } = taken(`term "${name}": \`over\``, over, { term: name, width: 0 });
  return { values: settled(values), stride };
}

/** The slots, with index columns of their own as they are now: what was given once is one column. */
function ownColumns(name: string, slots: readonly SlotOf<unknown>[], positions: readonly number[]): readonly SlotOf<unknown>[] {
  let known: Map<IndexTable, IndexTable> | undefined;
  return slots.map((slot, k) => {
    const { table, column: given } = slot;
    if (typeof given !== "object") return slot;
    known ??= new Map();
    const column = known.get(given) ?? settled(taken(`term "${name}": the index column of slot ${positions[k]}`, given, { term: name, slot: positions[k]! }).values);
    known.set(given, column);
    return new SlotOf<unknown>(table, column);
  });
}

/**
 * Columns of an index table: those of its rows, or as many as slots take. A shared slot takes none, so there may be several numbers of columns; the term's
 * number of instances decides, if something else gives it, otherwise the entries: an index of a table with one instance is 0.
 */
function columnsOf(name: string, { values: table, stride }: Taken, slots: readonly SlotOf<unknown>[], positions: readonly number[], instances: number | undefined): number {
  let least = 0;
  const singles: number[] = [];
  slots.forEach(({ column, table: { count } }, k) => {
    if (typeof column === "number") least = Math.max(least, column + 1);
    else if (column === undefined && count !== 1) least = Math.max(least, positions[k]! + 1);
    else if (column === undefined) singles.push(positions[k]!);
  });
  const optional = singles.filter((position) => position >= least);
  const possible = [...(least ? [least] : []), ...optional.map((position) => position + 1)];
  if (possible.length === 0) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`over\` is given, but every slot has an index column of its own: leave it out`, { term: name });
  }
  if (stride !== undefined) {
    if (stride < Math.max(1, least)) throw new LeastwiseError("data-length", `term "${name}": the rows of \`over\` have ${stride} indices, but its slots take ${least} columns`, { term: name });
    const most = Math.max(least, ...singles.map((position) => position + 1));
    // Who names a column has looked at the rows, and may leave others out.
    if (stride > most && !slots.some(({ column }) => typeof column === "number")) {
      const taking = slots.filter(({ column }) => column === undefined).length;
      throw new LeastwiseError("data-length", `term "${name}": the rows of \`over\` have ${stride} indices, but ${taking} ${taking === 1 ? "slot takes" : "slots take"} an index from it: leave the others out of the rows, or say by .at(column) which ones slots take`, { term: name });
    }
    return stride;
  }
  const divides = (columns: number) => table.length % columns === 0;
  const isZero = (columns: number) => optional.every((position) => {
    for (let i = position; position < columns && i < table.length; i += columns) if (table[i] !== 0) return false;
    return true;
  });
  const fitting = instances === undefined ? possible.filter((columns) => divides(columns) && isZero(columns)) : possible.filter((columns) => columns * instances === table.length);
  const columns = fitting[0] ?? possible[0]!;
  if (fitting.length > 1 && table.length > 0) {
    const position = optional.find((position) => position >= columns)!;
    throw new LeastwiseError("invalid-option", `term "${name}": \`over\` has ${table.length} indices, which may be ${fitting.map((columns) => `${table.length / columns} instances of ${columns}`).join(" or ")}, as slot ${position} ("${slots[positions.indexOf(position)]!.table.name}") is a table of one instance, which needs no column: say .at(${position}) if \`over\` has one for it, or give \`over\` as rows ([[0, 1], …]), which say how many columns there are`, { term: name, slot: position });
  }
  if (!divides(columns)) {
    throw new LeastwiseError("data-length", `term "${name}": \`over\` has ${table.length} indices, which is not a multiple of its ${columns} columns (the highest column that a slot takes is ${columns - 1})`, { term: name });
  }
  return columns;
}

/** Length of the first index column that is a slot's own. */
function ownCount(slots: readonly SlotOf<unknown>[]): number | undefined {
  for (const { column } of slots) if (typeof column === "object") return column.length;
  return undefined;
}

/** Instances of the first bare slot that isn't shared. */
function tableCount(slots: readonly SlotOf<unknown>[]): number | undefined {
  return slots.find(({ column, table }) => column === undefined && table.count !== 1)?.table.count;
}

/** A slot that takes instance i for instance i needs as many as the term has, or more if that number was given. */
function checkIdentity(name: string, { table }: SlotOf<unknown>, slot: number, count: number, given: boolean): void {
  if (given && table.count < count) {
    throw new LeastwiseError("index-out-of-range", `term "${name}": slot ${slot} of instance ${table.count} has index ${table.count}, but "${table.name}" has ${table.count} instances (0 to ${table.count - 1})`, { term: name, slot, instance: table.count });
  }
  if (!given && table.count !== count) {
    throw new LeastwiseError("data-length", `term "${name}": slot ${slot} ("${table.name}") has ${table.count} instances, but the term has ${count}: slots without indices take instance i for instance i`, { term: name, slot });
  }
}

/** A slot's own index column. */
function ownColumn(name: string, column: IndexTable, { table }: SlotOf<unknown>, slot: number, count: number): IndexTable {
  if (column.length !== count) {
    throw new LeastwiseError("data-length", `term "${name}": the index column of slot ${slot} ("${table.name}") has ${column.length} entries, but the term has ${count} instances`, { term: name, slot });
  }
  const wrong = firstNonIndex(column);
  if (wrong >= 0) throw noIndex(name, slot, wrong, column[wrong]);
  return column;
}

/** The column 0, 1, 2, …: a loop, for `from` with a function takes ten times as long. */
function identity(count: number): Uint32Array {
  const column = new Uint32Array(count);
  for (let i = 0; i < count; i++) column[i] = i;
  return column;
}

/** No indices: a column of a table that crosses by itself. */
const NONE = new Uint32Array(0);

/** A column of the term's table; its number goes to `whole` instead if all of the table crosses. */
function tableColumn(name: string, table: Typed, column: number, widest: number, of: SlotOf<unknown>, slot: number, count: number, whole: number[] | undefined): IndexTable {
  const isShared = of.table.count === 1 && of.column === undefined;
  // Those of a Uint32Array are indices, and any is right as far as is known here.
  if (isShared || !(table instanceof Uint32Array)) checkColumn(name, table, column, widest, of, slot, count, isShared);
  if (whole) {
    whole.push(column);
    return NONE;
  }
  const indices = new Uint32Array(count);
  for (let i = 0, from = column; i < count; i++, from += widest) indices[i] = table[from]!;
  return indices;
}

function checkColumn(name: string, table: Typed, column: number, widest: number, { table: of }: SlotOf<unknown>, slot: number, count: number, isShared: boolean): void {
  for (let i = 0, from = column; i < count; i++, from += widest) {
    const value = table[from]!;
    if (value >>> 0 !== value) throw noIndex(name, slot, i, value);
    if (isShared && value > 0) {
      throw new LeastwiseError("index-out-of-range", `term "${name}": slot ${slot} of instance ${i} has index ${value}, but "${of.name}" has one instance. It is shared if \`over\` has no column for it: put it behind the slots that have one`, { term: name, slot, instance: i });
    }
  }
}

function noIndex(name: string, slot: number, instance: number, value: unknown): LeastwiseError {
  return new LeastwiseError("index-out-of-range", `term "${name}": slot ${slot} of instance ${instance} has index ${value}, which is no index (0, 1, 2, …)`, { term: name, slot, instance });
}
