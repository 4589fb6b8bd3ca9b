/** Where each slot's instances are: the distinct index columns of a term. */
import { firstNonIndex, type IndexTable } from "./arrays.js";
import { LeastwiseError } from "./errors.js";
import type { SlotOf } from "./slots.js";
import type { NativeSlot } from "./native.js";

/** Indices are 32 bits wide. */
const MOST_INSTANCES = 4294967295;

/** The columns of a term's plain slots, and how many instances it has. @internal */
export interface Layout { readonly count: number; readonly indices: readonly IndexTable[]; readonly slots: readonly NativeSlot[] }

/**
 * Every slot's index column; equal ones are one. `positions` are the slots' places among all of the term's, `rows` is
 * the number of instances that ragged slots say.
 *
 * @internal
 */
export function indexColumns(name: string, slots: readonly SlotOf<unknown>[], positions: readonly number[], over: number | IndexTable | undefined, rows: number | undefined): Layout {
  const table = typeof over === "object" ? over : undefined;
  // A bare slot at position k takes column k of a table; without one it is instance i itself.
  const columnOf: (number | IndexTable | undefined)[] = [];
  let widest = 0;
  for (let k = 0; k < slots.length; k++) {
    const column = slots[k]!.column ?? (table ? positions[k] : undefined);
    if (typeof column === "number") {
      if (!table) throw new LeastwiseError("invalid-option", `term "${name}": slot ${positions[k]} takes column ${column} of \`over\`, but the term has no index table: give \`over\`, or an index column of the slot's own`, { term: name, slot: positions[k] });
      widest = Math.max(widest, column + 1);
    }
    columnOf.push(column);
  }
  if (table && widest > 0 && table.length % widest !== 0) {
    throw new LeastwiseError("data-length", `term "${name}": \`over\` has ${table.length} indices, which is not a multiple of its ${widest} columns (the highest column that a slot takes is ${widest - 1})`, { term: name });
  }
  if (table && widest === 0) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`over\` is given, but every slot has an index column of its own: leave it out`, { term: name });
  }
  const count = typeof over === "number" ? over : table ? table.length / widest : rows ?? ownCount(slots, columnOf);
  if (!Number.isInteger(count) || count < 0) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`over\` is ${count}, but a number of instances is 0, 1, 2, …`, { term: name });
  }
  if (count > MOST_INSTANCES) {
    throw new LeastwiseError("limits", `term "${name}": ${count} instances are more than a term can have (${MOST_INSTANCES})`, { term: name });
  }
  if (rows !== undefined && count !== rows) {
    throw new LeastwiseError("data-length", `term "${name}": its ragged slots have ${rows} rows, but \`over\` gives ${count} instances`, { term: name });
  }
  // Before anything of that length is made.
  for (let k = 0; k < slots.length; k++) if (columnOf[k] === undefined) checkIdentity(name, slots[k]!, positions[k]!, count, typeof over === "number");
  const [indices, keys, placed]: [IndexTable[], unknown[], NativeSlot[]] = [[], [], []];
  for (let k = 0; k < slots.length; k++) {
    const column = columnOf[k];
    let number = keys.indexOf(column);
    if (number < 0) {
      number = keys.push(column) - 1;
      indices.push(
        typeof column === "object" ? ownColumn(name, column, slots[k]!, positions[k]!, count)
        : column === undefined ? Uint32Array.from({ length: count }, (_, i) => i)
        : tableColumn(name, table!, column, widest, positions[k]!, count));
    }
    placed.push({ table: slots[k]!.table.handle, column: number });
  }
  return { count, indices, slots: placed };
}

/** The instances of a term that neither a table nor rows count: those of its slots' own columns, else of a table. */
function ownCount(slots: readonly SlotOf<unknown>[], columnOf: readonly (number | IndexTable | undefined)[]): number {
  for (const column of columnOf) if (typeof column === "object") return column.length;
  return slots[0]?.table.count ?? 0;
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

/** A column of the term's table. */
function tableColumn(name: string, table: IndexTable, column: number, widest: number, slot: number, count: number): IndexTable {
  const taken = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    const value = table[i * widest + column]!;
    if (!(Number.isInteger(value) && value >= 0 && value < 4294967296)) throw noIndex(name, slot, i, value);
    taken[i] = value;
  }
  return taken;
}

function noIndex(name: string, slot: number, instance: number, value: unknown): LeastwiseError {
  return new LeastwiseError("index-out-of-range", `term "${name}": slot ${slot} of instance ${instance} has index ${value}, which is no index (0, 1, 2, …)`, { term: name, slot, instance });
}
