/** Tuning tables: which schedule products are computed in, where that was measured. */
import { LeastwiseError, mustBeObject } from "./errors.js";
import { describe } from "./expression.js";
import type { NativeEngine } from "./native.js";

/**
 * How `"pcg"` computes the product JᵀWJ·p of a term's instances:
 * - `"two-pass"`: every instance stores its part Jᵀu, which every variable gathers.
 * - `"recompute"`: the same, but J's entries are computed from the variables instead of loaded.
 * - `"owner-computes"`: where instances are sorted by one of their variables, it adds up its own part in the pass that forms
 *   u = W·J·p, and only what belongs to others is stored.
 * - `"owner-recomputes"`: both.
 */
export type Schedule = "two-pass" | "recompute" | "owner-computes" | "owner-recomputes";

const SCHEDULES: readonly string[] = ["two-pass", "recompute", "owner-computes", "owner-recomputes"] satisfies Schedule[];

/**
 * What {@link Engine.tune} measured; plain JSON. Products that are not in it are computed in the schedule that moves the fewest
 * bytes. With the same table, the same problem is always computed in the same way, to the bit.
 */
export interface Tuning {
  /**
   * Schedules by product, as reports call it (`report.products[].key`): a hash of its kernel and the power of two that its
   * instances reach. `"*"` stands for all that are not named.
   */
  readonly products: { readonly [key: string]: Schedule };
}

/** @internal */
export function tuningOf(native: NativeEngine): Tuning {
  const all = native.tuning(), count = all.length / 2;
  return { products: Object.fromEntries(all.slice(0, count).map((key, k) => [key, all[count + k] as Schedule])) };
}

/** A table that may come from anywhere, as keys and schedules. @internal */
export function checkedTuning(table: Tuning): { keys: string[]; schedules: string[] } {
  mustBeObject(table, "tuning table: it");
  const unknown = Object.keys(table).find((key) => key !== "products");
  if (unknown !== undefined) throw new LeastwiseError("invalid-option", `tuning table: it has no "${unknown}", only products`);
  const { products } = table as { products: unknown };
  mustBeObject(products, "tuning table: products");
  const keys = Object.keys(products as object);
  const schedules = keys.map((key) => {
    const schedule = (products as { [key: string]: unknown })[key];
    if (typeof schedule === "string" && SCHEDULES.includes(schedule)) return schedule;
    const what = typeof schedule === "string" ? `"${schedule}"` : describe(schedule);
    throw new LeastwiseError("invalid-option", `tuning table: products["${key}"] is ${what}, which is not one of "${SCHEDULES.join("\", \"")}"`);
  });
  return { keys, schedules };
}
