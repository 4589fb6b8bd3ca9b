/** Slots: how a term reaches the instances of variables and constants. */
import { indicesOf, isArrayLike, isList, type IndexTable } from "./arrays.js";
import { LeastwiseError, reading } from "./errors.js";
import { describe } from "./instruction.js";
import { checked, given } from "./options.js";
import type { Form } from "./shape.js";
import type { Each } from "./sums.js";

/**
 * One argument of a residual function: a variable or constant, and which of its instances.
 *
 * @example
 * const first: Slot<Vec3> = x.at([0, 2, 4]), second: Slot<Vec3> = x.at([1, 3, 5]);
 * problem.residuals("pairs", { of: [first, second] }, ([a, b]) => a.sub(b));
 */
export interface Slot<V> { readonly slot: V }
/**
 * The slots of a term: a list, or names.
 *
 * @example
 * const of = { from: x.at([0, 1]), to: x.at([1, 2]) } satisfies Slots;
 * problem.residuals("edges", { of }, ({ from, to }) => to.sub(from));
 */
export type Slots = readonly Slot<unknown>[] | { readonly [name: string]: Slot<unknown> };
/**
 * Arguments of a residual function for its slots.
 *
 * @example
 * const residual = ([a, b]: Args<[Slot<Vec3>, Slot<Vec3>]>) => a.sub(b);
 */
export type Args<O> = { readonly [K in keyof O]: O[K] extends Slot<infer V> ? V : never };

/** A slot with its way in: `undefined` is "column k of `over`, k being my position". @internal */
export class SlotOf<V> implements Slot<V> {
  declare readonly slot: V;
  constructor(readonly table: TableIdentity, readonly column: number | IndexTable | undefined) {}
}

/**
 * Rows of different length: instance i has the entries `indices[offsets[i]] … indices[offsets[i + 1] − 1]`. `offsets` begin with 0, and end with the
 * number of indices. A list of rows, as `[[1, 2], [0]]`, is taken as well.
 *
 * @example
 * const neighbours: Ragged = { offsets: [0, 2, 3], indices: [1, 2, 0] };  // of 0: 1 and 2; of 1: 0
 * const slot = x.rows(neighbours);
 */
export interface Ragged { readonly offsets: IndexTable; readonly indices: IndexTable }

/** Rows one after the other, and where each begins. */
function joined(rows: readonly unknown[], refuse: (message: string) => never): Ragged {
  const offsets = [0], indices: number[] = [];
  for (const [k, row] of rows.entries()) {
    if (!isArrayLike(row)) refuse(`row ${k} is ${describe(row)}, but must be an array of indices`);
    else for (let j = 0; j < row.length; j++) indices.push(row[j] as number);
    offsets.push(indices.length);
  }
  return { offsets, indices };
}

/** Rows, checked and copied. @internal */
export interface Rows { readonly offsets: Uint32Array; readonly indices: Uint32Array; readonly lengths: Uint32Array }

/** A slot with a row of instances. @internal */
export class RowsOf<V> implements Slot<readonly V[]> {
  declare readonly slot: readonly V[];
  constructor(readonly table: TableIdentity, readonly rows: Rows) {}
}

/** A slot with a row of instances that are only summed over. @internal */
export class EachOf<V> implements Slot<Each<V>> {
  declare readonly slot: Each<V>;
  constructor(readonly table: TableIdentity, readonly rows: Rows) {}
}

const RAGGED = { offsets: given<IndexTable>(), indices: given<IndexTable>() } as const;

/** Checks what was given as rows, and copies it. @internal */
export function rowsOf(name: string, ragged: Ragged | readonly ArrayLike<number>[], how: "rows" | "each" = "rows"): Rows {
  const refuse: (message: string) => never = (message) => { throw new LeastwiseError("shape", `"${name}".${how}(…): ${message}`); };
  const what = `"${name}".${how}({ offsets, indices }): rows`;
  const isOfRows = isList(ragged);
  const both = isOfRows ? reading(what, () => joined(ragged as readonly unknown[], refuse)) : checked(what, ragged, RAGGED, { code: "shape" });
  if (both.offsets === undefined || both.indices === undefined) refuse("give { offsets, indices }: where each row begins (and, last, where the final one ends), and all rows one after the other");
  const listed = (what: "offsets" | "indices") => {
    const no = (k: number, value: number) => new LeastwiseError("shape", `"${name}".${how}(…): ${what}[${k}] is ${value}, which is no index (0, 1, 2, …)`);
    // Kept for longer than the call.
    return indicesOf(`"${name}".${how}(…): ${what}`, both[what], no, { code: "shape", must: "must be an array of indices" }).slice();
  };
  const offsets = listed("offsets"), indices = listed("indices");
  if (isOfRows && offsets.length === 1) refuse("the list has no rows: each of the term's instances has one, which may be empty, as in [[1, 2], []]");
  if (offsets.length < 2 || offsets[0] !== 0) refuse(`offsets must begin with 0 and have one more element than there are rows, but ${offsets.length ? `begin with ${offsets[0]}` : "are empty"}${offsets.length === 1 ? " and end there" : ""}`);
  const lengths = new Uint32Array(offsets.length - 1);
  for (let row = 0; row < lengths.length; row++) {
    if (offsets[row + 1]! < offsets[row]!) refuse(`offsets must not fall, but offsets[${row + 1}] is ${offsets[row + 1]} after ${offsets[row]}`);
    lengths[row] = offsets[row + 1]! - offsets[row]!;
  }
  const entries = offsets[offsets.length - 1]!;
  if (entries !== indices.length) refuse(`there are ${indices.length} indices, but the last offset is ${entries}: they must be the same`);
  return { offsets, indices, lengths };
}

/** What a slot knows of its table. @internal */
export interface TableIdentity { readonly problem: object; readonly handle: number; readonly form: Form; readonly name: string; readonly count: number }
