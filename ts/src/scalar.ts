/** Scalars, and the truth values that comparing them gives. */
import { isA } from "./errors.js";
import { Expression, refuse, traceOf, valueOf, write } from "./instruction.js";
import { Opcode } from "./opcodes.js";

/**
 * A number or a traced scalar.
 *
 * @example
 * const scaledBy = (v: Scalar, factor: Num) => v.mul(factor);  // a number or an expression
 */
export type Num = Scalar | number;

/**
 * A truth value: the condition of {@link select}. It is no JavaScript boolean: `if`, `?:`, `&&` and `!` do not see it.
 *
 * @example
 * const inside = (v: Scalar): Bool => and(v.gt(0), v.lt(1));
 */
export class Bool extends Expression<"bool"> {
  /** Both. */
  and(o: Bool): Bool { return logical("and", Opcode.And, [this, o]); }
  /** One or both. */
  or(o: Bool): Bool { return logical("or", Opcode.Or, [this, o]); }
  /** The opposite. */
  not(): Bool { return logical("not", Opcode.Not, [this]); }

  /** @internal */ get what(): string { return "a Bool"; }
  /** @internal */ like(value: number): Bool { return new Bool(this.owner, value); }
}

/**
 * One number an instance.
 *
 * @example
 * const decay = (a: Scalar, tau: Scalar, t: Scalar) => a.mul(exp(t.neg().div(tau)));
 */
export class Scalar extends Expression<1> {
  /** this + o */
  add(o: Num): Scalar { return binary("add", Opcode.Add, this, o); }
  /** this − o */
  sub(o: Num): Scalar { return binary("sub", Opcode.Sub, this, o); }
  /** this · o */
  mul(o: Num): Scalar { return binary("mul", Opcode.Mul, this, o); }
  /** this / o. Not finite where o is 0. */
  div(o: Num): Scalar { return binary("div", Opcode.Div, this, o); }
  /** −this */
  neg(): Scalar { return new Scalar(this.owner, this.owner.write1(Opcode.Neg, this.value)); }
  /** this² */
  square(): Scalar { return new Scalar(this.owner, this.owner.write1(Opcode.Square, this.value)); }
  /** True where this > o. */
  gt(o: Num): Bool { return comparison("gt", Opcode.Lt, o, this); }
  /** True where this < o. */
  lt(o: Num): Bool { return comparison("lt", Opcode.Lt, this, o); }
  /** True where this ≥ o. */
  ge(o: Num): Bool { return comparison("ge", Opcode.Le, o, this); }
  /** True where this ≤ o. */
  le(o: Num): Bool { return comparison("le", Opcode.Le, this, o); }
  /** True where this = o, exactly: after rounding, which differs from precision to precision. */
  eq(o: Num): Bool { return comparison("eq", Opcode.Eq, this, o); }
  /** True where this ≠ o; the opposite of {@link Scalar.eq}. */
  ne(o: Num): Bool { return comparison("ne", Opcode.Ne, this, o); }

  // What a vector has too, for elements whose size is known at run time only, and is 1.
  /** @internal */ get length(): 1 { return 1; }
  /** @internal */ at(i: number): Scalar { return i === 0 ? this : refuse("at", [this, i], "element 0"); }
  /** @internal */ dot(o: Num): Scalar { return this.mul(o); }
  /** @internal */ norm(): Scalar { return scalar("norm", Opcode.Norm, [this]); }
  /** @internal */ normSq(): Scalar { return this.square(); }
  /** @internal */ normalize(): Scalar { return scalar("normalize", Opcode.Normalize, [this]); }

  /** @internal */ get what(): string { return "a Scalar"; }
  /** @internal */ like(value: number): Scalar { return new Scalar(this.owner, value); }
}

/** @internal */
export function isNum(operand: unknown): operand is Num {
  return typeof operand === "number" || isA(operand, Scalar);
}

/** Refuses a list that has nothing in it, or anything but numbers and scalars: names its first and the one that is odd. @internal */
export function checkNums(name: string, items: readonly unknown[]): void {
  const odd = items.findIndex((item) => !isNum(item));
  if (odd >= 0 || items.length === 0) refuse(name, odd > 0 ? [items[0], items[odd]] : items.slice(0, 1), "one or more numbers and scalars");
}

/** A scalar of scalars. @internal */
export function scalar(name: string, opcode: Opcode, operands: readonly Num[]): Scalar {
  if (!operands.every(isNum)) refuse(name, operands, "numbers and scalars");
  const trace = traceOf(name, operands);
  return new Scalar(trace, write(trace, opcode, operands));
}

/** The same for the arithmetic of which most residuals are made, without a list of its operands. */
function binary(name: string, opcode: Opcode, a: Scalar, b: Num): Scalar {
  if (!isNum(b)) refuse(name, [a, b], "numbers and scalars");
  return new Scalar(a.owner, a.owner.write2(opcode, a.value, valueOf(a.owner, b)));
}

/** Scalar i of an expression of several. @internal */
export function component(of: Expression<unknown>, i: number): Scalar {
  return new Scalar(of.owner, of.owner.write2(Opcode.Component, of.value, i));
}

/** @internal */
export function logical(name: string, opcode: Opcode, operands: readonly Bool[]): Bool {
  if (!operands.every((operand) => isA(operand, Bool))) refuse(name, operands, "conditions, such as a.lt(b)");
  const trace = traceOf(name, operands);
  return new Bool(trace, write(trace, opcode, operands));
}

function comparison(name: string, opcode: Opcode, a: Num, b: Num): Bool {
  if (!isNum(a) || !isNum(b)) refuse(name, [a, b], "numbers and scalars");
  const trace = traceOf(name, [a, b]);
  return new Bool(trace, write(trace, opcode, [a, b]));
}
