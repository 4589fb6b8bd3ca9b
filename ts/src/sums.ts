/**
 * Sums over rows of any length: the function says what one entry adds, and the device loops. Derivatives are exact, and
 * a row of a million entries is traced no longer than one of three.
 */
import { LeastwiseError } from "./errors.js";
import { describe, Expression } from "./instruction.js";
import { Mat, type Mat2, type Mat3 } from "./matrix.js";
import { Opcode } from "./opcodes.js";
import { Scalar, type Num } from "./scalar.js";
import type { Trace } from "./trace.js";
import { Vec } from "./vector.js";

declare const tag: unique symbol;

/**
 * The entries of a row, whatever their number: what a residual function gets for {@link Table.each}. Only {@link sumOver} takes it.
 *
 * @example
 * const spread = (around: Each<Vec3>, p: Vec3) => sumOver(around, (q) => q.sub(p).normSq());
 */
export class Each<V> {
  declare readonly [tag]: V;
  /** @internal */ readonly owner: Trace;
  /** Any one of the entries. @internal */ readonly entry: V;

  /** @internal */
  constructor(owner: Trace, entry: V) {
    this.owner = owner;
    this.entry = entry;
  }

  /** Throws: there is no number of entries while the function is traced. @internal */
  [Symbol.iterator](): never {
    throw new LeastwiseError("untraceable", `${this.owner.title} loops over the entries of .each(…), which are as many as a row has: use sumOver(entries, (entry) => …)`, { term: this.owner.term });
  }
}

/**
 * More of what the same entries have: their other slots, and columns of `perEntry`.
 *
 * @example
 * const weighted = (around: Each<Vec3>, more: { w: Each<Scalar> }) => sumOver(around, more satisfies More, (q, { w }) => q.mul(w));
 */
export type More = { readonly [name: string]: Each<unknown> };
/**
 * Arguments of the body of a {@link sumOver}.
 *
 * @example
 * const weighted = (entry: EntryOf<{ w: Each<Scalar> }>) => entry.w.square();
 */
export type EntryOf<M> = { readonly [K in keyof M]: M[K] extends Each<infer V> ? V : never };

/**
 * The sum, over the entries of a row, of what `body` makes of one: 0 for an empty row. The body runs once. It may use the
 * row's own slots and data, but not what another sum gives.
 *
 * @throws `shape` unless `items` are the entries of a row; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * const ragged = { offsets: [0, 2, 3], indices: [1, 2, 0] };
 * problem.residuals("centre", { of: [x.at([0, 1]), x.each(ragged)] },
 *   ([p, around]) => sumOver(around, (q) => q.sub(p)));
 */
export function sumOver<V>(items: Each<V>, body: (entry: V) => Num): Scalar;
export function sumOver<V, R extends Vec<number> | Mat2 | Mat3>(items: Each<V>, body: (entry: V) => R): R;
export function sumOver<V, M extends More>(items: Each<V>, more: M, body: (entry: V, more: EntryOf<M>) => Num): Scalar;
export function sumOver<V, M extends More, R extends Vec<number> | Mat2 | Mat3>(items: Each<V>, more: M, body: (entry: V, more: EntryOf<M>) => R): R;
export function sumOver(items: Each<unknown>, given: unknown, last?: unknown): Expression<unknown> {
  const [more, body] = last === undefined ? [{}, given] : [given, last];
  if (!(items instanceof Each)) {
    throw new LeastwiseError("shape", `sumOver() of ${describe(items)}: it takes the entries of a row, as a slot of x.each(…) or a column of perEntry(…) gives them`);
  }
  const trace = items.owner;
  const refuse = (code: "shape" | "invalid-option" | "foreign-expression" | "no-residual", message: string): never => {
    throw new LeastwiseError(code, `${trace.title}: ${message}`, { term: trace.term });
  };
  if (typeof body !== "function") refuse("no-residual", `the last argument of sumOver() must be a function of one entry, not ${describe(body)}`);
  if (typeof more !== "object" || more === null) refuse("shape", `sumOver(items, more, body): more must be an object of further slots and columns of the same entries, not ${describe(more)}`);
  const pairs = Object.entries(more as Record<string, unknown>).map(([name, each]) => {
    if (!(each instanceof Each)) refuse("shape", `sumOver(items, more, body): more.${name} is ${describe(each)}, but must be entries, as a slot of x.each(…) or a column of perEntry(…) gives them; what is the row's the body can use as it is`);
    if ((each as Each<unknown>).owner !== trace) refuse("foreign-expression", `sumOver(items, more, body): more.${name} belongs to ${(each as Each<unknown>).owner.title}`);
    return [name, (each as Each<unknown>).entry] as const;
  });
  if (summing.has(trace)) refuse("invalid-option", "a sumOver() within the body of another: a sum over a row can't be part of an entry of it");
  summing.add(trace);
  try {
    return sumOf(trace, (body as (entry: unknown, more: unknown) => unknown)(items.entry, Object.fromEntries(pairs)), refuse);
  } finally {
    summing.delete(trace);
  }
}

/** The traces that are within the body of a sum. */
const summing = new WeakSet<Trace>();

function sumOf(trace: Trace, returned: unknown, refuse: (code: "no-residual" | "foreign-expression", message: string) => never): Expression<unknown> {
  if (typeof returned === "number") return new Scalar(trace, trace.write(Opcode.SumOver, [trace.literal(returned)]));
  if (!(returned instanceof Scalar || returned instanceof Vec || returned instanceof Mat)) {
    return refuse("no-residual", `the body of sumOver() returned ${describe(returned)}: return a scalar, a vector or a matrix (is a \`return\` missing?)`);
  }
  const summed = returned as Expression<unknown>;
  if (summed.owner !== trace) return refuse("foreign-expression", `the body of sumOver() returned an expression of "${summed.owner.term}"`);
  return summed.like(trace.write(Opcode.SumOver, [summed.value]));
}
