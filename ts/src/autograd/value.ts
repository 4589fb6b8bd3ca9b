/**
 * Values: numbers that remember how they were computed. Every operation computes its result at once, and throws where
 * that is not a finite number; {@link Value.backward} differentiates by one reverse sweep.
 */
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { LIST_RULES, nameOf, Op, RULES } from "./rules.js";
import { labelOf } from "./label.js";
import { clear, sweep } from "./sweep.js";

/** Operands of results without any. */
const NONE: readonly Value[] = [];

/** Scratch for the operands of a list. */
let list = new Float64Array(16);

/** True inside of {@link Value.withNoGrad}. */
let isWithoutGradients = false;

/**
 * Backward pass of a custom operation: adds to its operands' gradients.
 *
 * @example
 * const a = V.W(2);
 * const doubled = Value.make(2 * a.data, a, null, (out): BackwardFn => () => { a.grad += 2 * out.grad; }, "doubled");
 */
export type BackwardFn = () => void;

/**
 * A number with a gradient, and the operands that it came from.
 *
 * @example
 * const x = V.W(3, "x");
 * const y = x.square().add(x);
 * y.backward();
 * console.log(y.data, x.grad);  // 12 7
 */
export class Value {
  /** The number. Assigning to it changes no result that was computed before. */
  declare data: number;
  /** ∂root/∂this, added up by {@link Value.backward}. */
  grad = 0;
  /** True for trainable leaves, and for results with an operand that requires gradients. */
  requiresGrad: boolean;
  /** Name as an input of a compiled set. */
  paramName: string | undefined = undefined;
  /** @internal */ op: Op = Op.Leaf;
  /** @internal */ operands: readonly Value[] = NONE;
  /** @internal */ custom: BackwardFn | undefined = undefined;
  /** Number of the walk that met it last, and its place there. @internal */
  stamp = 0;
  /** @internal */ place = 0;
  private text: string | undefined;

  /** @throws `non-finite` unless `data` is a finite number */
  constructor(data: number, label = "", requiresGrad = false) {
    if (typeof data !== "number" || !Number.isFinite(data)) throw invalid(data, label);
    this.data = data;
    this.requiresGrad = requiresGrad;
    this.text = label === "" ? undefined : label;
  }

  /** Text for people: of a result, its expression in the operands' labels, cut where it grows long. */
  get label(): string { return this.text ?? (this.op === Op.Leaf ? "" : labelOf(this)); }
  set label(text: string) { this.text = text; }
  /** The label that was given. @internal */
  get ownLabel(): string | undefined { return this.text; }

  /** The operands. */
  get prev(): readonly Value[] { return this.operands; }

  /** this + other */
  add(other: Value | number): Value { return binary(Op.Add, this, other); }
  /** this − other */
  sub(other: Value | number): Value { return binary(Op.Sub, this, other); }
  /** this · other */
  mul(other: Value | number): Value { return binary(Op.Mul, this, other); }
  /** this / other. @throws `non-finite` if |other| < 1e-12 */
  div(other: Value | number): Value { return binary(Op.Div, this, other); }
  /** this to a constant power. */
  pow(exponent: number): Value { return power(this, exponent); }
  /** this to the power of a value. */
  powValue(other: Value | number): Value { return binary(Op.Pow, this, other); }
  /** The remainder with the sign of this, as `%` has it. */
  mod(other: Value | number): Value { return binary(Op.Mod, this, other); }
  /** The smaller one; of equal ones this. */
  min(other: Value | number): Value { return binary(Op.Min, this, other); }
  /** The larger one; of equal ones this. */
  max(other: Value | number): Value { return binary(Op.Max, this, other); }
  /** −this */
  neg(): Value { return unary(Op.Neg, this); }
  /** |this|, with slope 0 at 0. */
  abs(): Value { return unary(Op.Abs, this); }
  /** −1, 0 or 1. */
  sign(): Value { return unary(Op.Sign, this); }
  /** this² */
  square(): Value { return unary(Op.Square, this); }
  /** this³ */
  cube(): Value { return unary(Op.Cube, this); }
  /** 1/this. @throws `non-finite` if |this| < 1e-12 */
  reciprocal(): Value { return unary(Op.Reciprocal, this); }
  /** √this, with slope 0 at 0. */
  sqrt(): Value { return unary(Op.Sqrt, this); }
  /** eᵃ */
  exp(): Value { return unary(Op.Exp, this); }
  /** The natural logarithm. */
  log(): Value { return unary(Op.Log, this); }
  /** Sine. */
  sin(): Value { return unary(Op.Sin, this); }
  /** Cosine. */
  cos(): Value { return unary(Op.Cos, this); }
  /** Tangent. */
  tan(): Value { return unary(Op.Tan, this); }
  /** Arcsine, with slope 0 at ±1. */
  asin(): Value { return unary(Op.Asin, this); }
  /** Arccosine, with slope 0 at ±1. */
  acos(): Value { return unary(Op.Acos, this); }
  /** Arctangent. */
  atan(): Value { return unary(Op.Atan, this); }
  /** Hyperbolic tangent. */
  tanh(): Value { return unary(Op.Tanh, this); }
  /** 1/(1 + e⁻ᵃ) */
  sigmoid(): Value { return unary(Op.Sigmoid, this); }
  /** this where it is positive, else 0; slope 0 at 0. */
  relu(): Value { return unary(Op.Relu, this); }
  /** ln(1 + eᵃ), without overflow. */
  softplus(): Value { return unary(Op.Softplus, this); }
  /** The whole number at or below. */
  floor(): Value { return unary(Op.Floor, this); }
  /** The whole number at or above. */
  ceil(): Value { return unary(Op.Ceil, this); }
  /** The nearest whole number; halves go up, as `Math.round` has it. */
  round(): Value { return unary(Op.Round, this); }
  /** max(min, min(this, max)), with slope 1 at both bounds. */
  clamp(min: number, max: number): Value { return ternary(Op.Clamp, this, min, max); }
  /** 1 where this = other, else 0. */
  eq(other: Value | number): Value { return binary(Op.Eq, this, other); }
  /** 1 where this ≠ other, else 0. */
  neq(other: Value | number): Value { return binary(Op.Neq, this, other); }
  /** 1 where this > other, else 0. */
  gt(other: Value | number): Value { return binary(Op.Gt, this, other); }
  /** 1 where this < other, else 0. */
  lt(other: Value | number): Value { return binary(Op.Lt, this, other); }
  /** 1 where this ≥ other, else 0. */
  gte(other: Value | number): Value { return binary(Op.Gte, this, other); }
  /** 1 where this ≤ other, else 0. */
  lte(other: Value | number): Value { return binary(Op.Lte, this, other); }

  /**
   * Differentiates: sets this `grad` to 1 and adds ∂this/∂leaf to the `grad` of every leaf that requires it. Gradients of
   * results in between are those of this sweep alone. `zeroGrad` first clears the gradients of the leaves, too.
   */
  backward(zeroGrad = false): void {
    if (zeroGrad) clear(this);
    sweep(this);
  }

  toString(): string {
    const { label } = this;
    return `Value(data=${this.data.toFixed(4)}, grad=${this.grad.toFixed(4)}, label=${label})`;
  }
  /** Throws where JavaScript wants a number: operators compute nothing here, and would compare texts. @internal */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === "string") return this.toString();
    throw new LeastwiseError("untraceable", "a Value was used as a JavaScript number (an operator such as - or <, Math.*): use methods, such as a.sub(b) and a.lt(b), or `data` for its number");
  }

  /** The sum of values; 0 of none. */
  static sum(values: readonly (Value | number)[]): Value { return sum(values); }
  /** The mean of values; 0 of none. */
  static mean(values: readonly (Value | number)[]): Value { return mean(values); }
  /** Clears the gradients of a value and of all that it came from. */
  static zeroGradTree(root: Value): void { clear(root); }
  /** Clears the gradients of values and of all that they came from. */
  static zeroGradAll(values: readonly Value[]): void { for (const value of values) clear(value); }

  /** True where results are made without gradients and operands. */
  static get no_grad_mode(): boolean { return isWithoutGradients; }
  static set no_grad_mode(is: boolean) { isWithoutGradients = is; }

  /** Runs a function whose results need no gradients: they are leaves. */
  static withNoGrad<T>(run: () => T): T {
    const before = isWithoutGradients;
    isWithoutGradients = true;
    try {
      return run();
    } finally {
      isWithoutGradients = before;
    }
  }

  /**
   * An operation of your own, of one or two operands. `backward(out)` gives the function that adds to the operands'
   * gradients from `out.grad`. Such operations can't be compiled: a set that meets one throws.
   */
  static make(data: number, left: Value, right: Value | null, backward: (out: Value) => BackwardFn, label: string, _op?: string): Value {
    return Value.makeNary(data, right ? [left, right] : [left], backward, label);
  }

  /** The same of any number of operands. */
  static makeNary(data: number, inputs: readonly Value[], backward: (out: Value) => BackwardFn, label: string, _op?: string): Value {
    const made = node(Op.Custom, data, [...inputs]);
    made.label = label;
    if (made.op === Op.Custom) made.custom = backward(made);
    return made;
  }
}

/**
 * A constant that all who ask for its number share: its `data` is not to be assigned to.
 *
 * @internal
 */
export class SharedConstant extends Value {
  /** The number. An accessor of the prototype stands for `data`, so that all values have one shape but these. */
  declare private held: number | undefined;

  static {
    Object.defineProperty(this.prototype, "data", {
      get(this: SharedConstant) { return this.held; },
      set(this: SharedConstant, next: unknown) {
        if (this.held !== undefined) throw new LeastwiseError("invalid-option", `V.C(${this.held}) is one constant for all who ask for ${this.held}: V.Param(${this.held}, name) makes one whose data may be assigned, not ${describe(next)} to this one`);
        this.held = next as number;
      },
    });
  }

  /** Fields as other values have them. */
  toJSON(): object {
    const { held, ...rest } = this;
    return { ...rest, data: held };
  }
}

/** Constants that operands given as numbers became: equal ones are one object, which nobody assigns to. */
const constants = new Map<number, Value>();
const MOST_CONSTANTS = 10_000;

/** An operand. @internal */
export function operand(of: Value | number): Value {
  if (of instanceof Value) return of;
  if (typeof of !== "number") throw new LeastwiseError("shape", `an operand is ${describe(of)}: operands are Values and numbers`);
  const known = constants.get(of);
  if (known && Object.is(known.data, of)) return known;
  const made = new Value(of);
  if (constants.size < MOST_CONSTANTS) constants.set(of, made);
  return made;
}

/** Makes the result of an operation. */
function node(op: Op, data: number, operands: readonly Value[]): Value {
  if (!Number.isFinite(data)) throw invalid(data, nameOf(op));
  const made = new Value(data);
  if (isWithoutGradients) return made;
  made.op = op;
  made.operands = operands;
  for (let k = 0; k < operands.length; k++) {
    if (operands[k]!.requiresGrad) {
      made.requiresGrad = true;
      break;
    }
  }
  return made;
}

function invalid(data: unknown, what: string): LeastwiseError {
  const of = what === "" ? "" : ` (${what})`;
  return new LeastwiseError("non-finite", `Invalid number passed to Value: ${typeof data === "number" ? data : describe(data)}${of}: values are finite numbers`);
}

/** @internal */
export function unary(op: Op, of: Value | number): Value {
  const a = operand(of), rule = RULES[op]!;
  const wrong = rule.outside?.(a.data, 0, false);
  if (wrong !== undefined) throw outside(wrong);
  return node(op, rule.value(a.data, 0, 0), [a]);
}

/** @internal */
export function binary(op: Op, first: Value | number, second: Value | number): Value {
  const a = operand(first), b = operand(second), rule = RULES[op]!;
  const wrong = rule.outside?.(a.data, b.data, b.requiresGrad);
  if (wrong !== undefined) throw outside(wrong);
  return node(op, rule.value(a.data, b.data, 0), [a, b]);
}

/** @internal */
export function ternary(op: Op, first: Value | number, second: Value | number, third: Value | number): Value {
  const a = operand(first), b = operand(second), c = operand(third);
  return node(op, RULES[op]!.value(a.data, b.data, c.data), [a, b, c]);
}

/** An operation of a list. @internal */
export function ofList(op: Op, of: readonly (Value | number)[]): Value {
  const operands = of.map(operand);
  if (list.length < operands.length) list = new Float64Array(2 * operands.length);
  for (let k = 0; k < operands.length; k++) list[k] = operands[k]!.data;
  return node(op, LIST_RULES[op]!.value(list.subarray(0, operands.length)), operands);
}

/** @internal */
export function power(of: Value | number, exponent: number): Value {
  if (typeof exponent !== "number" || !Number.isFinite(exponent)) throw new LeastwiseError("non-finite", `pow: the exponent is ${typeof exponent === "number" ? exponent : describe(exponent)}, but must be a finite number (powValue takes a Value)`);
  return exponent === 2 ? unary(Op.Square, of) : exponent === 3 ? unary(Op.Cube, of) : binary(Op.Pow, of, exponent);
}

/** @internal */
export function sum(of: readonly (Value | number)[]): Value {
  if (of.length === 0) return new Value(0);
  return of.length === 1 ? operand(of[0]!) : ofList(Op.Sum, of);
}

/** @internal */
export function mean(of: readonly (Value | number)[]): Value {
  return of.length === 0 ? new Value(0) : binary(Op.Div, sum(of), of.length);
}

const outside = (message: string): LeastwiseError => new LeastwiseError("non-finite", message);

/** Refuses what is no list of values. @internal */
export function valuesOf(what: string, given: unknown): readonly Value[] {
  if (!Array.isArray(given)) throw new LeastwiseError("invalid-option", `${what} must be an array of Values, not ${describe(given)}`);
  given.forEach((value: unknown, k) => {
    if (!(value instanceof Value)) throw new LeastwiseError("invalid-option", `${what}[${k}] must be a Value, not ${describe(value)}`);
  });
  return given as Value[];
}

/** The data of parameters. @internal */
export function read(params: readonly Value[]): Float64Array {
  const data = new Float64Array(params.length);
  for (let k = 0; k < params.length; k++) data[k] = params[k]!.data;
  return data;
}

/** @internal */
export function write(params: readonly Value[], data: Float64Array): void {
  for (let k = 0; k < params.length; k++) params[k]!.data = data[k]!;
}
