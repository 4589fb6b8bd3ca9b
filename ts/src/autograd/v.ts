/** `V`: all operations of values as functions, which take numbers, too. */
import { LeastwiseError } from "../errors.js";
import { CompiledResiduals } from "./compiled.js";
import { nonlinearLeastSquares, type NonlinearLeastSquaresOptions, type NonlinearLeastSquaresResult } from "./least-squares.js";
import { Op, SMALLEST_DIVISOR } from "./rules.js";
import { binary, mean, operand, power, sum, ternary, unary, SharedConstant, Value } from "./value.js";

/**
 * A value, or a number, which stands for a constant.
 *
 * @example
 * const double = (a: Operand): Value => V.mul(a, 2);
 */
export type Operand = Value | number;

/** Constants by number: the same number is the same object. */
const interned = new Map<number, SharedConstant>();
const MOST_INTERNED = 10_000;

/** Refuses a divisor that is smaller than a caller's own limit. */
function mustDivide(of: Operand, limit: number): void {
  const divisor = operand(of).data;
  if (Math.abs(divisor) < limit) throw new LeastwiseError("non-finite", `division by ${divisor}: the divisor's magnitude must be at least ${limit}`);
}

/** An `eps` other than the default may only be larger: below it, results lose all of their digits. */
const limitOf = (eps: number): number => Math.max(eps, SMALLEST_DIVISOR);

/**
 * The operations of {@link Value}, as functions of values and numbers.
 *
 * @example
 * const a = V.W(2), b = V.W(3);
 * const y = V.add(V.mul(a, 2), V.sin(b));
 * y.backward();
 * console.log(a.grad);  // 2
 */
export class V {
  /**
   * A constant. The same number gives the same object (of the first 10,000 numbers), so its `data` can't be assigned to; {@link V.Param} makes constants that may change.
   *
   * @throws `non-finite` unless `value` is a finite number
   */
  static C(value: number, label = ""): Value {
    const known = interned.get(value);
    if (known) return known;
    // −0 is found by the key 0, too: without the sum it would be everybody's 0 from then on.
    const data = typeof value === "number" ? value + 0 : value;
    if (interned.size >= MOST_INTERNED) return new Value(data, label);
    const made = new SharedConstant(data, label);
    interned.set(value, made);
    return made;
  }
  /** A trainable leaf. */
  static W(value: number, label = ""): Value { return new Value(value, label, true); }
  /** A named constant, an object of its own, whose `data` may be assigned between evaluations of a compiled set. */
  static Param(value: number, paramName: string): Value {
    const made = new Value(value, paramName);
    made.paramName = paramName;
    return made;
  }

  /** a + b */
  static add(a: Operand, b: Operand): Value { return binary(Op.Add, a, b); }
  /** a − b */
  static sub(a: Operand, b: Operand): Value { return binary(Op.Sub, a, b); }
  /** a · b */
  static mul(a: Operand, b: Operand): Value { return binary(Op.Mul, a, b); }
  /** a / b. @throws `non-finite` if |b| < eps */
  static div(a: Operand, b: Operand, eps = SMALLEST_DIVISOR): Value {
    mustDivide(b, limitOf(eps));
    return binary(Op.Div, a, b);
  }
  /** −a */
  static neg(a: Operand): Value { return unary(Op.Neg, a); }
  /** aⁿ for a constant n. */
  static pow(a: Operand, exponent: number): Value { return power(a, exponent); }
  /** aᵇ. At a = 0 the slopes are finite: 0 in b. A negative base needs a constant whole exponent. */
  static powValue(a: Operand, b: Operand, _eps?: number): Value { return binary(Op.Pow, a, b); }
  /** The remainder with the sign of a, as `%` has it. */
  static mod(a: Operand, b: Operand): Value { return binary(Op.Mod, a, b); }
  /** |a|, with slope 0 at 0. */
  static abs(a: Operand): Value { return unary(Op.Abs, a); }
  /** −1, 0 or 1. */
  static sign(a: Operand): Value { return unary(Op.Sign, a); }
  /** The whole number at or below. */
  static floor(a: Operand): Value { return unary(Op.Floor, a); }
  /** The whole number at or above. */
  static ceil(a: Operand): Value { return unary(Op.Ceil, a); }
  /** The nearest whole number; halves go up. */
  static round(a: Operand): Value { return unary(Op.Round, a); }
  /** a² */
  static square(a: Operand): Value { return unary(Op.Square, a); }
  /** a³ */
  static cube(a: Operand): Value { return unary(Op.Cube, a); }
  /** 1/a. @throws `non-finite` if |a| < eps */
  static reciprocal(a: Operand, eps = SMALLEST_DIVISOR): Value {
    mustDivide(a, limitOf(eps));
    return unary(Op.Reciprocal, a);
  }
  /** √a, with slope 0 at 0. */
  static sqrt(a: Operand): Value { return unary(Op.Sqrt, a); }
  /** eᵃ */
  static exp(a: Operand): Value { return unary(Op.Exp, a); }
  /** ln a, exact wherever it is defined. */
  static log(a: Operand, _eps?: number): Value { return unary(Op.Log, a); }
  /** Sine. */
  static sin(a: Operand): Value { return unary(Op.Sin, a); }
  /** Cosine. */
  static cos(a: Operand): Value { return unary(Op.Cos, a); }
  /** Tangent. */
  static tan(a: Operand): Value { return unary(Op.Tan, a); }
  /** Arcsine, with slope 0 at ±1. */
  static asin(a: Operand): Value { return unary(Op.Asin, a); }
  /** Arccosine, with slope 0 at ±1. */
  static acos(a: Operand): Value { return unary(Op.Acos, a); }
  /** Arctangent. */
  static atan(a: Operand): Value { return unary(Op.Atan, a); }
  /** The angle of (x, y) in (−π, π]; 0 with slopes 0 at the origin. */
  static atan2(y: Operand, x: Operand): Value { return binary(Op.Atan2, y, x); }
  /** Hyperbolic sine. */
  static sinh(a: Operand): Value { return unary(Op.Sinh, a); }
  /** Hyperbolic cosine. */
  static cosh(a: Operand): Value { return unary(Op.Cosh, a); }
  /** Hyperbolic tangent. */
  static tanh(a: Operand): Value { return unary(Op.Tanh, a); }
  /** 1/(1 + e⁻ᵃ) */
  static sigmoid(a: Operand): Value { return unary(Op.Sigmoid, a); }
  /** a where it is positive, else 0; slope 0 at 0. */
  static relu(a: Operand): Value { return unary(Op.Relu, a); }
  /** ln(1 + eᵃ), without overflow. */
  static softplus(a: Operand): Value { return unary(Op.Softplus, a); }
  /** The smaller one; of equal ones a. */
  static min(a: Operand, b: Operand): Value { return binary(Op.Min, a, b); }
  /** The larger one; of equal ones a. */
  static max(a: Operand, b: Operand): Value { return binary(Op.Max, a, b); }
  /** max(min, min(a, max)), with slope 1 at both bounds. */
  static clamp(a: Operand, min: number, max: number): Value { return ternary(Op.Clamp, a, min, max); }
  /** The sum; 0 of none. */
  static sum(values: readonly Operand[]): Value { return sum(values); }
  /** The mean; 0 of none. */
  static mean(values: readonly Operand[]): Value { return mean(values); }
  /** 1 where a = b, else 0. */
  static eq(a: Operand, b: Operand): Value { return binary(Op.Eq, a, b); }
  /** 1 where a ≠ b, else 0. */
  static neq(a: Operand, b: Operand): Value { return binary(Op.Neq, a, b); }
  /** 1 where a > b, else 0. */
  static gt(a: Operand, b: Operand): Value { return binary(Op.Gt, a, b); }
  /** 1 where a < b, else 0. */
  static lt(a: Operand, b: Operand): Value { return binary(Op.Lt, a, b); }
  /** 1 where a ≥ b, else 0. */
  static gte(a: Operand, b: Operand): Value { return binary(Op.Gte, a, b); }
  /** 1 where a ≤ b, else 0. */
  static lte(a: Operand, b: Operand): Value { return binary(Op.Lte, a, b); }
  /** `then` where `when` is not 0, else `otherwise`; both are computed, and the gradient goes to the one taken. */
  static ifThenElse(when: Operand, then: Operand, otherwise: Operand): Value { return ternary(Op.Select, when, then, otherwise); }

  /** The same as the function of this name. */
  static nonlinearLeastSquares(params: readonly Value[], residuals: ((params: Value[]) => Value[]) | CompiledResiduals, options: NonlinearLeastSquaresOptions = {}): NonlinearLeastSquaresResult {
    return nonlinearLeastSquares(params, residuals, options);
  }
  /** Compiles one function. */
  static compileObjective(params: readonly Value[], objective: (params: Value[]) => Value): CompiledResiduals {
    return CompiledResiduals.compile(params, (all) => [objective(all)]);
  }
}
