/**
 * Expressions: what a residual function computes with while it is traced.
 *
 * Arithmetic is methods (`a.sub(b).mul(2)`), mathematics is free functions (`sin(a)`). Expressions are immutable: every
 * operation gives a new one. JavaScript's own operators cannot be traced and throw.
 */
import { LeastwiseError } from "./errors.js";
import { Opcode } from "./opcodes.js";
import { runningTrace, Trace } from "./trace.js";

declare const tag: unique symbol;

/** A number or a traced scalar. */
export type Num = Scalar | number;

/** What every expression is made of: its trace, the number of its value on the tape, and how many scalars it has. */
abstract class Expression {
  /** @internal */ readonly trace: Trace;
  /** @internal */ readonly value: number;

  /** @internal */
  constructor(trace: Trace, value: number) {
    this.trace = trace;
    this.value = value;
  }

  /** Throws: an expression has no number while it is traced. @internal */
  [Symbol.toPrimitive](): never {
    throw untraceable(this.trace);
  }
  /** @internal */ toString(): never {
    throw untraceable(this.trace);
  }
  /** @internal */ toJSON(): never {
    throw untraceable(this.trace);
  }
}

function untraceable(trace: Trace): LeastwiseError {
  return new LeastwiseError(
    "untraceable",
    `the residual "${trace.term}" used an expression as a JavaScript number or string (an operator such as + or <, Math.*, a template string, sorting): it has no value while it is traced. ` +
      "Use methods and functions instead: a.add(b) for a + b, sin(a) for Math.sin(a), select(a.lt(b), x, y) for a < b ? x : y",
    { term: trace.term },
  );
}

/** A truth value; conditions of {@link select}. */
export class Bool extends Expression {
  declare readonly [tag]: "bool";
  /** Both. */
  and(o: Bool): Bool { return new Bool(this.trace, apply(Opcode.And, [this, o], this.trace)); }
  /** One or both. */
  or(o: Bool): Bool { return new Bool(this.trace, apply(Opcode.Or, [this, o], this.trace)); }
  /** The opposite. */
  not(): Bool { return new Bool(this.trace, apply(Opcode.Not, [this], this.trace)); }
}

/** One number an instance. */
export class Scalar extends Expression {
  declare readonly [tag]: 1;
  /** this + o */
  add(o: Num): Scalar { return scalar(Opcode.Add, [this, o]); }
  /** this − o */
  sub(o: Num): Scalar { return scalar(Opcode.Sub, [this, o]); }
  /** this · o */
  mul(o: Num): Scalar { return scalar(Opcode.Mul, [this, o]); }
  /** this / o */
  div(o: Num): Scalar { return scalar(Opcode.Div, [this, o]); }
  /** −this */
  neg(): Scalar { return scalar(Opcode.Neg, [this]); }
  /** this² */
  square(): Scalar { return scalar(Opcode.Square, [this]); }
  /** Whether this > o. */
  gt(o: Num): Bool { return compare(Opcode.Lt, o, this); }
  /** Whether this < o. */
  lt(o: Num): Bool { return compare(Opcode.Lt, this, o); }
  /** Whether this ≥ o. */
  ge(o: Num): Bool { return compare(Opcode.Le, o, this); }
  /** Whether this ≤ o. */
  le(o: Num): Bool { return compare(Opcode.Le, this, o); }
}

/** `N` numbers an instance. */
export class Vec<N extends number> extends Expression {
  declare readonly [tag]: N;
  /** How many scalars it has. */
  readonly length: N;

  /** @internal */
  constructor(trace: Trace, value: number, length: N) {
    super(trace, value);
    this.length = length;
  }

  /** this + o, elementwise. */
  add(o: Vec<N>): Value<N> { return vector(Opcode.Add, [this, o], this.length); }
  /** this − o, elementwise. */
  sub(o: Vec<N>): Value<N> { return vector(Opcode.Sub, [this, o], this.length); }
  /** this · o: every element by one scalar, or elementwise. */
  mul(o: Num | Vec<N>): Value<N> { return vector(Opcode.Mul, [this, o], this.length); }
  /** Every element divided by o. */
  div(o: Num): Value<N> { return vector(Opcode.Div, [this, o], this.length); }
  /** −this */
  neg(): Value<N> { return vector(Opcode.Neg, [this], this.length); }
  /** Σ thisᵢ oᵢ */
  dot(o: Vec<N>): Scalar { return scalar(Opcode.Dot, [this, o]); }
  /** √(Σ thisᵢ²), whose derivative at 0 is 0. */
  norm(): Scalar { return scalar(Opcode.Norm, [this]); }
  /** Σ thisᵢ² */
  normSq(): Scalar { return scalar(Opcode.NormSq, [this]); }
  /** this / ‖this‖, and 0 at 0. */
  normalize(): Value<N> { return vector(Opcode.Normalize, [this], this.length); }
  /** Element i, counted from 0. */
  at(i: number): Scalar {
    if (!Number.isInteger(i) || i < 0 || i >= this.length) {
      throw new LeastwiseError("shape", `the residual "${this.trace.term}" asks for element ${i} of a vector of ${this.length} (0 to ${this.length - 1})`, { term: this.trace.term });
    }
    return new Scalar(this.trace, this.trace.write(Opcode.Component, [this.value, i]));
  }
}

/** Two numbers an instance. */
export class Vec2 extends Vec<2> {
  get x(): Scalar { return this.at(0); }
  get y(): Scalar { return this.at(1); }
  /** x·o.y − y·o.x */
  cross(o: Vec2): Scalar { return scalar(Opcode.Cross, [this, o]); }
}

/** Three numbers an instance. */
export class Vec3 extends Vec<3> {
  get x(): Scalar { return this.at(0); }
  get y(): Scalar { return this.at(1); }
  get z(): Scalar { return this.at(2); }
  get xy(): Vec2 { return pack([this.x, this.y]) as Vec2; }
  /** this × o */
  cross(o: Vec3): Vec3 { return vector(Opcode.Cross, [this, o], 3); }
}

/** Four numbers an instance. */
export class Vec4 extends Vec<4> {
  get x(): Scalar { return this.at(0); }
  get y(): Scalar { return this.at(1); }
  get z(): Scalar { return this.at(2); }
  get w(): Scalar { return this.at(3); }
}

/** A 3×3 matrix, for small matrix-vector products. */
export class Mat3 extends Expression {
  declare readonly [tag]: "mat3";
  /** this · v */
  mul(v: Vec3): Vec3 { return vector(Opcode.MatVec, [this, v], 3); }
}

/** What an element of `N` scalars is in a residual function. */
export type Value<N extends number> = N extends 1 ? Scalar : N extends 2 ? Vec2 : N extends 3 ? Vec3 : N extends 4 ? Vec4 : Vec<N>;

/** The value numbers of operands; numbers become literals. All must belong to one trace. */
function apply(opcode: Opcode, operands: readonly (Expression | number)[], trace: Trace): number {
  const values = operands.map((operand) => {
    if (typeof operand === "number") return trace.literal(operand);
    if (!(operand instanceof Expression)) {
      throw new LeastwiseError("shape", `the residual "${trace.term}" combines an expression with ${describe(operand)}: only numbers and expressions go together`, { term: trace.term });
    }
    if (operand.trace !== trace) {
      throw new LeastwiseError("foreign-expression", `the residual "${trace.term}" uses an expression of "${operand.trace.term}": every residual only knows the arguments of its own function`, { term: trace.term });
    }
    return operand.value;
  });
  return trace.write(opcode, values);
}

export function describe(what: unknown): string {
  return what === null ? "null" : Array.isArray(what) ? "an array" : typeof what === "object" ? `a ${what.constructor?.name ?? "object"}` : what === undefined ? "undefined" : `a ${typeof what}`;
}

function traceOf(operands: readonly unknown[], what: string): Trace {
  const found = operands.find((operand) => operand instanceof Expression);
  const trace = found ? (found as Expression).trace : runningTrace();
  if (!trace) throw new LeastwiseError("foreign-expression", `${what} outside of a residual function: expressions exist only while one is traced; with numbers alone use Math`);
  return trace;
}

function scalar(opcode: Opcode, operands: readonly (Expression | number)[]): Scalar {
  const trace = traceOf(operands, "an operation");
  widths(opcode, operands, trace);
  return new Scalar(trace, apply(opcode, operands, trace));
}

function compare(opcode: Opcode, a: Num, b: Num): Bool {
  const trace = traceOf([a, b], "a comparison");
  return new Bool(trace, apply(opcode, [a, b], trace));
}

function vector<N extends number>(opcode: Opcode, operands: readonly (Expression | number)[], length: N): Value<N> {
  const trace = traceOf(operands, "an operation");
  widths(opcode, operands, trace);
  return wrap(trace, apply(opcode, operands, trace), length);
}

/** For callers without types: sizes that do not go together are named here, before the engine sees them. */
function widths(opcode: Opcode, operands: readonly (Expression | number)[], trace: Trace): void {
  const odd = operands.findIndex((operand) => !(typeof operand === "number" || operand instanceof Scalar || operand instanceof Vec || operand instanceof Mat3));
  if (odd >= 0) {
    throw new LeastwiseError("shape", `the residual "${trace.term}" combines an expression with ${describe(operands[odd])}: only numbers and expressions go together`, { term: trace.term });
  }
  const sizes = operands.map((operand) => (operand instanceof Vec ? operand.length : 1));
  const [a = 1, b = a] = sizes;
  const scales = opcode === Opcode.Mul || opcode === Opcode.Div || opcode === Opcode.MatVec;
  if (a !== b && !(scales && (b === 1 || opcode === Opcode.MatVec))) {
    const name = Object.entries(Opcode).find((entry) => entry[1] === opcode)?.[0].toLowerCase();
    throw new LeastwiseError("shape", `the residual "${trace.term}": ${name} of ${a} and ${b} scalars does not go together`, { term: trace.term });
  }
}

/** An expression of `length` scalars. @internal */
export function wrap<N extends number>(trace: Trace, value: number, length: N): Value<N> {
  const made =
    length === 1 ? new Scalar(trace, value)
    : length === 2 ? new Vec2(trace, value, 2)
    : length === 3 ? new Vec3(trace, value, 3)
    : length === 4 ? new Vec4(trace, value, 4)
    : new Vec(trace, value, length);
  return made as unknown as Value<N>;
}

function pack(items: readonly Num[]): Vec<number> {
  const trace = traceOf(items, "vec()");
  return wrap(trace, apply(Opcode.Pack, items, trace), items.length) as unknown as Vec<number>;
}

/** A vector of its components. */
export function vec(x: Num, y: Num): Vec2;
export function vec(x: Num, y: Num, z: Num): Vec3;
export function vec(x: Num, y: Num, z: Num, w: Num): Vec4;
export function vec(...items: Num[]): Vec<number> {
  return pack(items);
}

/** The 3×3 matrix of these rows. */
export function mat3(first: Vec3, second: Vec3, third: Vec3): Mat3 {
  const trace = traceOf([first, second, third], "mat3()");
  return new Mat3(trace, apply(Opcode.Pack, [first, second, third], trace));
}

/** sin a (radians). */
export function sin(a: Num): Scalar { return scalar(Opcode.Sin, [a]); }
/** cos a (radians). */
export function cos(a: Num): Scalar { return scalar(Opcode.Cos, [a]); }
/** √a; its derivative at 0 is defined as 0. A negative a makes the residual non-finite. */
export function sqrt(a: Num): Scalar { return scalar(Opcode.Sqrt, [a]); }

/** The sum of one or more scalars, or of vectors of one size. */
export function sum<V extends Scalar | Vec<number>>(items: readonly V[]): V {
  const first = items[0];
  if (first === undefined) throw new LeastwiseError("shape", "sum() of nothing: give at least one expression");
  const length = (item: V) => (item instanceof Vec ? item.length : 1);
  const other = items.find((item) => length(item) !== length(first));
  if (other !== undefined) {
    throw new LeastwiseError("shape", `the residual "${first.trace.term}": sum() of ${length(first)} and ${length(other)} scalars does not go together`, { term: first.trace.term });
  }
  return wrap(first.trace, apply(Opcode.Sum, items, first.trace), length(first)) as unknown as V;
}

/**
 * `then` where the condition holds, else `otherwise`. Both are computed; the derivative is that of the one taken.
 * One of the two may be a number.
 */
export function select(when: Bool, then: Scalar, otherwise: Num): Scalar;
export function select(when: Bool, then: Num, otherwise: Scalar): Scalar;
export function select<V extends Scalar | Vec<number>>(when: Bool, then: V, otherwise: NoInfer<V>): V;
export function select(when: Bool, then: Num | Vec<number>, otherwise: Num | Vec<number>): Scalar | Vec<number> {
  if (!(when instanceof Bool)) {
    throw new LeastwiseError("shape", `select() needs a condition such as a.gt(b), not ${describe(when)}`);
  }
  const length = (item: Num | Vec<number>) => (item instanceof Vec ? item.length : 1);
  if (length(then) !== length(otherwise)) {
    throw new LeastwiseError("shape", `the residual "${when.trace.term}": select() of ${length(then)} and ${length(otherwise)} scalars does not go together`, { term: when.trace.term });
  }
  return wrap(when.trace, apply(Opcode.Select, [when, then, otherwise], when.trace), length(then)) as Scalar | Vec<number>;
}

/** Rz(angles.z) · Ry(angles.y) · Rx(angles.x) · v */
export function rotateXYZ(angles: Vec3, v: Vec3): Vec3 {
  return vector(Opcode.RotateXYZ, [angles, v], 3);
}

/** The values that a residual function returned, checked. @internal */
export function outputs(returned: unknown, trace: Trace): number[] {
  const items: readonly unknown[] = Array.isArray(returned) ? returned : [returned];
  const wrong = items.find((item) => !(item instanceof Scalar || item instanceof Vec));
  if (items.length === 0 || items.some((item) => !(item instanceof Scalar || item instanceof Vec))) {
    const what = items.length === 0 ? "an empty array" : wrong instanceof Promise ? "a promise" : describe(wrong);
    throw new LeastwiseError("no-residual", `the residual "${trace.term}" returned ${what}: return a scalar, a vector, or an array of them (is a \`return\` missing?)`, { term: trace.term });
  }
  return (items as (Scalar | Vec<number>)[]).map((item) => {
    if (item.trace !== trace) {
      throw new LeastwiseError("foreign-expression", `the residual "${trace.term}" returned an expression of "${item.trace.term}": every residual only knows the arguments of its own function`, { term: trace.term });
    }
    return item.value;
  });
}
