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
  const columnOf = slots.map((slot, k) => slot.column ?? (table ? positions[k] : undefined));
  const lost = table ? -1 : columnOf.findIndex((column) => typeof column === "number");
  if (lost >= 0) {
    throw new LeastwiseError("invalid-option", `term "${name}": slot ${positions[lost]} takes column ${columnOf[lost]} of \`over\`, but the term has no index table: give \`over\`, or an index column of the slot's own`, { term: name, slot: positions[lost] });
  }
  const widest = columnOf.reduce<number>((most, column) => (typeof column === "number" ? Math.max(most, column + 1) : most), 0);
  if (table && widest > 0 && table.length % widest !== 0) {
    throw new LeastwiseError("data-length", `term "${name}": \`over\` has ${table.length} indices, which is not a multiple of its ${widest} columns (the highest column that a slot takes is ${widest - 1})`, { term: name });
  }
  if (table && widest === 0) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`over\` is given, but every slot has an index column of its own: leave it out`, { term: name });
  }
  const lengths = slots.map((_slot, k) => {
    const column = columnOf[k];
    return typeof column === "object" ? column.length : undefined;
  });
  const identity = slots.find((_slot, k) => columnOf[k] === undefined);
  const count = typeof over === "number" ? over
    : table ? table.length / widest
    : rows ?? lengths.find((length) => length !== undefined) ?? identity?.table.count ?? 0;
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
  const short = typeof over === "number" ? slots.findIndex((slot, k) => columnOf[k] === undefined && slot.table.count < count) : -1;
  if (short >= 0) {
    const { name: called, count: instance } = slots[short]!.table;
    throw new LeastwiseError("index-out-of-range", `term "${name}": slot ${positions[short]} of instance ${instance} has index ${instance}, but "${called}" has ${instance} instances (0 to ${instance - 1})`, { term: name, slot: positions[short], instance });
  }
  const uneven = typeof over === "number" ? -1 : slots.findIndex((slot, k) => columnOf[k] === undefined && slot.table.count !== count);
  if (uneven >= 0) {
    throw new LeastwiseError("data-length", `term "${name}": slot ${positions[uneven]} ("${slots[uneven]!.table.name}") has ${slots[uneven]!.table.count} instances, but the term has ${count}: slots without indices take instance i for instance i`, { term: name, slot: positions[uneven] });
  }
  const indices: IndexTable[] = [];
  const known = new Map<unknown, number>();
  const add = (key: unknown, make: () => IndexTable): number => {
    let number = known.get(key);
    if (number === undefined) {
      number = indices.push(make()) - 1;
      known.set(key, number);
    }
    return number;
  };
  const placed = slots.map((slot, k) => {
    const column = columnOf[k];
    const checked = (values: IndexTable, at: (i: number) => number): Uint32Array => {
      const taken = new Uint32Array(count);
      for (let i = 0; i < count; i++) {
        const value = values[at(i)]!;
        if (!(Number.isInteger(value) && value >= 0 && value < 4294967296)) {
          throw new LeastwiseError("index-out-of-range", `term "${name}": slot ${positions[k]} of instance ${i} has index ${value}, which is no index (0, 1, 2, …)`, { term: name, slot: positions[k], instance: i });
        }
        taken[i] = value;
      }
      return taken;
    };
    if (typeof column === "object") {
      if (column.length !== count) {
        throw new LeastwiseError("data-length", `term "${name}": the index column of slot ${positions[k]} ("${slot.table.name}") has ${column.length} entries, but the term has ${count} instances`, { term: name, slot: positions[k] });
      }
      const wrong = firstNonIndex(column);
      return { table: slot.table.handle, column: add(column, () => (wrong < 0 ? column : checked(column, (i) => i))) };
    }
    if (column === undefined || !table) {
      return { table: slot.table.handle, column: add("identity", () => Uint32Array.from({ length: count }, (_, i) => i)) };
    }
    return { table: slot.table.handle, column: add(column, () => checked(table, (i) => i * widest + column)) };
  });
  return { count, indices, slots: placed };
}
