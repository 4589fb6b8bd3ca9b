/** Functions of lists of any length. */
import { Expression, refuse, traceOf, writeAny } from "./instruction.js";
import { Mat } from "./matrix.js";
import { Opcode } from "./opcodes.js";
import { Bool, checkNums, isNum, logical, Scalar, type Num } from "./scalar.js";
import { Vec } from "./vector.js";
import type { Mat2, Mat3 } from "./matrix.js";

/** What no list has: the compiler's error says so by this name. */
interface ItemsOfOneKind { readonly "items of one kind": never }
/** Nothing for a list of one kind, and what it cannot have for a mixed one. */
type OneKind<V, W = V> = V extends unknown ? ([W] extends [V] ? unknown : ItemsOfOneKind) : never;

/**
 * The sum of one or more scalars and numbers, or of vectors or matrices of one size.
 *
 * @throws `shape` for no items, and for items of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * sum([a, b, c]).div(3)
 */
export function sum(items: readonly Num[]): Scalar;
export function sum<V extends Vec<number> | Mat2 | Mat3>(items: readonly V[] & OneKind<V>): V;
export function sum(items: readonly (Num | Vec<number> | Mat2 | Mat3)[]): Expression<unknown> {
  const trace = checkedKinds("sum", items);
  return madeLike(items[0]!, writeAny(trace, Opcode.Sum, items), trace);
}

/**
 * The mean of one or more scalars and numbers, or of vectors or matrices of one size.
 *
 * @throws `shape` for no items, and for items of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * mean([a, b, c])  // the centroid of three points
 */
export function mean(items: readonly Num[]): Scalar;
export function mean<V extends Vec<number> | Mat2 | Mat3>(items: readonly V[] & OneKind<V>): V;
export function mean(items: readonly (Num | Vec<number> | Mat2 | Mat3)[]): Expression<unknown> {
  const trace = checkedKinds("mean", items);
  if (items.length <= 65535) return madeLike(items[0]!, writeAny(trace, Opcode.Mean, items), trace);
  const total = madeLike(items[0]!, writeAny(trace, Opcode.Sum, items), trace);
  return madeLike(total, trace.write(Opcode.Div, [total.value, trace.literal(items.length)]), trace);
}

/**
 * The least; the first of equal ones, whose derivative it has.
 *
 * @throws `shape` for no items, and for items of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * min(s, u)
 */
export function min(...items: readonly Num[]): Scalar { return ofScalars("min", Opcode.Min, items); }
/**
 * The greatest; the first of equal ones, whose derivative it has.
 *
 * @throws `shape` for no items, and for items of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * max(s, u, 0)
 */
export function max(...items: readonly Num[]): Scalar { return ofScalars("max", Opcode.Max, items); }
/**
 * √(Σ aᵢ²), without overflow of the squares; its derivative where all are 0 is 0.
 *
 * @throws `shape` for no items, and for items of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * hypot(a.x, a.y)  // √(x² + y²), without overflow
 */
export function hypot(...items: readonly Num[]): Scalar { return ofScalars("hypot", Opcode.Hypot, items); }
/**
 * ln Σ exp(aᵢ), without overflow: a smooth maximum.
 *
 * @throws `shape` for no items, and for items of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * logsumexp([s, u])  // log(eˢ + eᵘ), without overflow
 */
export function logsumexp(items: readonly Num[]): Scalar {
  if (!Array.isArray(items)) refuse("logsumexp", [items], "an array of numbers and scalars");
  return ofScalars("logsumexp", Opcode.LogSumExp, items);
}

/**
 * Conjunction: true if all hold.
 *
 * @throws `shape` for no items, and for items of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * select(and(s.gt(0), s.lt(1)), s, 0)
 */
export function and(...items: readonly Bool[]): Bool { return folded("and", Opcode.And, items); }
/**
 * Disjunction: true if at least one holds.
 *
 * @throws `shape` for no items, and for items of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * select(or(s.lt(0), s.gt(1)), 0, s)
 */
export function or(...items: readonly Bool[]): Bool { return folded("or", Opcode.Or, items); }
/**
 * Negation.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * select(not(s.gt(0)), 0, s)
 */
export function not(a: Bool): Bool { return logical("not", Opcode.Not, [a]); }

function ofScalars(name: string, opcode: Opcode, items: readonly Num[]): Scalar {
  checkNums(name, items);
  const trace = traceOf(name, items);
  return new Scalar(trace, writeAny(trace, opcode, items));
}

function folded(name: string, opcode: Opcode, items: readonly Bool[]): Bool {
  const [first, ...others] = items;
  if (!(first instanceof Bool)) refuse(name, items.slice(0, 2), "one or more conditions, such as a.lt(b)");
  return others.reduce((all, item) => logical(name, opcode, [all, item]), first);
}

/** The trace of items that are all scalars, or all vectors or matrices of one size. */
function checkedKinds(name: string, items: readonly unknown[]): ReturnType<typeof traceOf> {
  const takes = "an array of one or more numbers and scalars, or of vectors or matrices of one size";
  if (!Array.isArray(items) || items.length === 0) refuse(name, Array.isArray(items) ? [] : [items], takes);
  const [first] = items as unknown[];
  if (!isNum(first) && !(first instanceof Vec) && !(first instanceof Mat)) refuse(name, [first], takes);
  const odd = items.findIndex((item) => (isNum(first) ? !isNum(item) : !(item instanceof Expression) || item.what !== first.what));
  if (odd >= 0) refuse(name, [first, items[odd]], takes);
  return traceOf(name, items);
}

function madeLike(item: Num | Expression<unknown>, value: number, trace: ReturnType<typeof traceOf>): Expression<unknown> {
  return typeof item === "number" ? new Scalar(trace, value) : item.like(value);
}
