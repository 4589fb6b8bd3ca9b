/** Tuning tables: which schedule products are computed in and what runs programs, where that was measured. */
import { LeastwiseError } from "./errors.js";
import { shownValue } from "./instruction.js";
import type { NativeEngine } from "./native.js";
import { entriesOf } from "./options.js";

/**
 * How `"pcg"` computes the product JᵀWJ·p of a term's instances:
 * - `"two-pass"`: every instance stores its part Jᵀu, which every variable gathers.
 * - `"recompute"`: the same, but J's entries are computed from the variables instead of loaded.
 * - `"owner-computes"`: where instances are sorted by one of their variables, it adds up its own part in the pass that forms
 *   u = W·J·p, and only what belongs to others is stored.
 * - `"owner-recomputes"`: both.
 *
 * @example
 * const schedules: Schedule[] = Object.values(lw.tuning.products);
 */
export type Schedule = "two-pass" | "recompute" | "owner-computes" | "owner-recomputes";

/**
 * Evaluator of a term's programs on the CPU, with the same bits either way:
 * - `"interpreted"`: the block interpreter, which goes through a program step by step, 64 instances at a time.
 * - `"compiled"`: WebAssembly that is written of the program and that the browser (or Node) compiles in the background; the
 *   interpreter goes on until that is done.
 *
 * @example
 * const evaluator: Evaluator = "compiled";
 * lw.setTuning({ products: {}, evaluators: { "*": evaluator } });
 */
export type Evaluator = "interpreted" | "compiled";

const EVALUATORS: readonly string[] = ["interpreted", "compiled"] satisfies Evaluator[];

const SCHEDULES: readonly string[] = ["two-pass", "recompute", "owner-computes", "owner-recomputes"] satisfies Schedule[];

/**
 * Measurements of {@link Engine.tune}; plain JSON. Products that are not in it are computed in the schedule that moves the fewest
 * bytes. With the same table, the same problem is always computed in the same way, to the bit.
 *
 * @example
 * const table: Tuning = await lw.tune(problem);
 * const again = await init({ tuning: table });  // the same choices, and the same bits
 */
export interface Tuning {
  /**
   * Schedules by product, as reports call it (`report.products[].key`): a hash of its kernel and the power of two that its
   * instances reach. `"*"` stands for all that are not named.
   */
  readonly products: { readonly [key: string]: Schedule };
  /**
   * Evaluators by program, as reports call it (`report.evaluators[].key`), on a CPU that has both: the engine in WebAssembly.
   * `"*"` stands for all that are not named. Programs that are in no table are compiled from 256 instances on.
   *
   * @defaultValue compiled from 256 instances on
   */
  readonly evaluators?: { readonly [key: string]: Evaluator };
}

/** @internal */
export function tuningOf(native: NativeEngine): Tuning {
  const all = native.tuning(), count = all.length / 2;
  const pairs = all.slice(0, count).map((key, k): [string, string] => [key, all[count + k] as string]);
  const [products, evaluators] = [SCHEDULES, EVALUATORS].map((names) => pairs.filter(([, name]) => names.includes(name)));
  return {
    products: Object.fromEntries(products!) as Tuning["products"],
    ...(evaluators!.length > 0 && { evaluators: Object.fromEntries(evaluators!) as NonNullable<Tuning["evaluators"]> }),
  };
}

/** A table that may come from anywhere, as keys and the names of schedules and evaluators. @internal */
export function checkedTuning(table: Tuning): { keys: string[]; choices: string[] } {
  const parts = Object.fromEntries(entriesOf("tuning table: it", table));
  const unknown = Object.keys(parts).find((key) => key !== "products" && key !== "evaluators");
  if (unknown !== undefined) throw new LeastwiseError("invalid-option", `tuning table: it has no "${unknown}", only products and evaluators`);
  const { products, evaluators } = parts;
  const pairs = [...chosen("products", products, SCHEDULES), ...(evaluators === undefined ? [] : chosen("evaluators", evaluators, EVALUATORS))];
  return { keys: pairs.map(([key]) => key), choices: pairs.map(([, choice]) => choice) };
}

function chosen(part: string, choices: unknown, names: readonly string[]): [string, string][] {
  return entriesOf(`tuning table: ${part}`, choices).map(([key, choice]) => {
    if (typeof choice === "string" && names.includes(choice)) return [key, choice];
    throw new LeastwiseError("invalid-option", `tuning table: ${part}["${key}"] is ${shownValue(choice)}, which is not one of "${names.join("\", \"")}"`);
  });
}
