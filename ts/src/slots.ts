/** Slots: how a term reaches the instances of variables and constants. */
import type { IndexTable } from "./arrays.js";

/** One argument of a residual function: a variable or constant, and which of its instances. */
export interface Slot<V> { readonly slot: V }
/** The slots of a term: a list, or names. */
export type Slots = readonly Slot<unknown>[] | { readonly [name: string]: Slot<unknown> };
/** What a residual function gets for its slots. */
export type Args<O> = { readonly [K in keyof O]: O[K] extends Slot<infer V> ? V : never };

/** A slot with its way in: `undefined` is "column k of `over`, k being my position". @internal */
export class SlotOf<V> implements Slot<V> {
  declare readonly slot: V;
  constructor(readonly table: TableIdentity, readonly column: number | IndexTable | undefined) {}
}

/** What a slot knows of its table. @internal */
export interface TableIdentity { readonly problem: object; readonly handle: number; readonly width: number; readonly name: string; readonly count: number }
