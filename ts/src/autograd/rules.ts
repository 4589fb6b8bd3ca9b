/**
 * Scalar operations of `leastwise/autograd` in f64: value, slopes and domain, one line each. Values and slopes are those
 * of the engine's operations of the same name (docs/OPERATIONS.md), which a test compares on random operands; `mod` and
 * `round` are JavaScript's, which the engine builds from its own.
 */
import { smallestEigenpair } from "./eigen.js";

/** Number of an operation. Leaves have none: {@link Op.Leaf}. @internal */
export const Op = {
  Leaf: 0, Custom: 1,
  Add: 2, Sub: 3, Mul: 4, Div: 5, Neg: 6, Square: 7, Cube: 8, Reciprocal: 9, Pow: 10, Mod: 11, Sqrt: 12,
  Abs: 13, Sign: 14, Floor: 15, Ceil: 16, Round: 17, Min: 18, Max: 19, Clamp: 20, Select: 21,
  Exp: 22, Log: 23, Sin: 24, Cos: 25, Tan: 26, Asin: 27, Acos: 28, Atan: 29, Atan2: 30, Sinh: 31, Cosh: 32, Tanh: 33,
  Sigmoid: 34, Relu: 35, Softplus: 36,
  Eq: 37, Neq: 38, Gt: 39, Lt: 40, Gte: 41, Lte: 42,
  Sum: 43, SmallestEigenvalue: 44,
} as const;
/** @internal */
export type Op = (typeof Op)[keyof typeof Op];

/** Smallest divisor in magnitude. @internal */
export const SMALLEST_DIVISOR = 1e-12;

/** Operation of up to three operands. @internal */
export interface Rule {
  readonly name: string;
  readonly arity: 1 | 2 | 3;
  value(a: number, b: number, c: number): number;
  /** Slope with respect to operand k, from the operands and the value y. */
  slope(k: number, a: number, b: number, c: number, y: number): number;
  /** Error message outside of the domain; the result is checked to be finite besides. `moves`: the second operand may change. */
  outside?(a: number, b: number, moves: boolean): string | undefined;
  /** Text between two operands, if it is not written as a function. */
  readonly infix?: string;
}

type Unary = (a: number, y: number) => number;
type Binary = (a: number, b: number, y: number) => number;

const zero = () => 0;

function unary(name: string, value: (a: number) => number, slope: Unary, outside?: (a: number) => string | undefined): Rule {
  return { name, arity: 1, value, slope: (_, a, _b, _c, y) => slope(a, y), ...(outside && { outside: (a: number) => outside(a) }) };
}

function binary(name: string, infix: string | undefined, value: (a: number, b: number) => number, first: Binary, second: Binary, outside?: Rule["outside"]): Rule {
  return { name, arity: 2, value, slope: (k, a, b, _, y) => (k === 0 ? first(a, b, y) : second(a, b, y)), ...(outside && { outside }), ...(infix && { infix }) };
}

const comparison = (name: string, infix: string, holds: (a: number, b: number) => boolean): Rule =>
  binary(name, infix, (a, b) => (holds(a, b) ? 1 : 0), zero, zero);

const sigmoid = (a: number): number => {
  if (a >= 0) return 1 / (1 + Math.exp(-a));
  const e = Math.exp(a);
  return e / (1 + e);
};

/** 1/√(1 − a²), and 0 at ±1. */
const arcSlope = (a: number): number => (Math.abs(a) === 1 ? 0 : 1 / Math.sqrt((1 - a) * (1 + a)));

const beyondOne = (name: string) => (a: number) => (Math.abs(a) > 1 ? `${name} of ${a}: it is defined from −1 to 1` : undefined);

const tooSmall = (what: string) => (b: number) => (Math.abs(b) < SMALLEST_DIVISOR ? `${what} ${b}: the divisor's magnitude must be at least ${SMALLEST_DIVISOR}` : undefined);
const divisor = tooSmall("division by"), reciprocal = tooSmall("reciprocal of");

function power(a: number, b: number, moves: boolean): string | undefined {
  if (a === 0 && b < 0) return `0 to the power of ${b}: the exponent must not be negative`;
  if (a >= 0) return undefined;
  if (!Number.isInteger(b)) return `${a} to the power of ${b}: a negative base needs a whole exponent`;
  return moves ? `${a} to the power of a trainable exponent (now ${b}): a negative base needs a constant whole exponent` : undefined;
}

function powerSlope(k: number, a: number, b: number, _: number, y: number): number {
  if (k === 1) return a > 0 ? y * Math.log(a) : 0;
  if (b === 0) return 0;
  return a === 0 && b < 1 ? 0 : b * Math.pow(a, b - 1);
}

/** Operations by number; the two of any number of operands, sums and eigenvalues, are not among them. @internal */
export const RULES: { readonly [op: number]: Rule } = {
  [Op.Add]: binary("add", "+", (a, b) => a + b, () => 1, () => 1),
  [Op.Sub]: binary("sub", "-", (a, b) => a - b, () => 1, () => -1),
  [Op.Mul]: binary("mul", "*", (a, b) => a * b, (_, b) => b, (a) => a),
  [Op.Div]: binary("div", "/", (a, b) => a / b, (_, b) => 1 / b, (_, b, y) => -y / b, (_, b) => divisor(b)),
  [Op.Neg]: unary("neg", (a) => -a, () => -1),
  [Op.Square]: unary("square", (a) => a * a, (a) => 2 * a),
  [Op.Cube]: unary("cube", (a) => a * a * a, (a) => 3 * a * a),
  [Op.Reciprocal]: unary("reciprocal", (a) => 1 / a, (_, y) => -y * y, reciprocal),
  [Op.Pow]: { name: "pow", arity: 2, infix: "^", value: (a, b) => Math.pow(a, b), slope: powerSlope, outside: power },
  [Op.Mod]: binary("mod", "%", (a, b) => a % b, () => 1, (a, b) => -Math.trunc(a / b), (_, b) => (b === 0 ? "remainder of a division by 0" : undefined)),
  [Op.Sqrt]: unary("sqrt", Math.sqrt, (_, y) => (y === 0 ? 0 : 0.5 / y), (a) => (a < 0 ? `square root of ${a}: it is defined from 0 on` : undefined)),
  [Op.Abs]: unary("abs", Math.abs, (a) => Math.sign(a)),
  [Op.Sign]: unary("sign", Math.sign, zero),
  [Op.Floor]: unary("floor", Math.floor, zero),
  [Op.Ceil]: unary("ceil", Math.ceil, zero),
  [Op.Round]: unary("round", Math.round, zero),
  [Op.Min]: binary("min", undefined, (a, b) => (b < a ? b : a), (a, b) => (b < a ? 0 : 1), (a, b) => (b < a ? 1 : 0)),
  [Op.Max]: binary("max", undefined, (a, b) => (b > a ? b : a), (a, b) => (b > a ? 0 : 1), (a, b) => (b > a ? 1 : 0)),
  [Op.Clamp]: {
    // max(low, min(a, high)): of bounds in the wrong order, the lower one holds.
    name: "clamp", arity: 3, value: (a, low, high) => { const lowered = high < a ? high : a; return low > lowered ? low : lowered; },
    slope: (k, a, low, high) => { const taken = low > (high < a ? high : a) ? 1 : high < a ? 2 : 0; return k === taken ? 1 : 0; },
  },
  [Op.Select]: { name: "ifThenElse", arity: 3, value: (when, a, b) => (when !== 0 ? a : b), slope: (k, when) => (k === (when !== 0 ? 1 : 2) ? 1 : 0) },
  [Op.Exp]: unary("exp", Math.exp, (_, y) => y),
  [Op.Log]: unary("log", Math.log, (a) => 1 / a, (a) => (a <= 0 ? `logarithm of ${a}: it is defined above 0` : undefined)),
  [Op.Sin]: unary("sin", Math.sin, (a) => Math.cos(a)),
  [Op.Cos]: unary("cos", Math.cos, (a) => -Math.sin(a)),
  [Op.Tan]: unary("tan", Math.tan, (_, y) => 1 + y * y),
  [Op.Asin]: unary("asin", Math.asin, arcSlope, beyondOne("arcsine")),
  [Op.Acos]: unary("acos", Math.acos, (a) => -arcSlope(a), beyondOne("arccosine")),
  [Op.Atan]: unary("atan", Math.atan, (a) => 1 / (1 + a * a)),
  [Op.Atan2]: binary("atan2", undefined, (y, x) => (y === 0 ? (x < 0 ? Math.PI : 0) : Math.atan2(y, x)), (y, x) => overSquares(x, y, x), (y, x) => overSquares(-y, y, x)),
  [Op.Sinh]: unary("sinh", Math.sinh, (a) => Math.cosh(a)),
  [Op.Cosh]: unary("cosh", Math.cosh, (a) => Math.sinh(a)),
  [Op.Tanh]: unary("tanh", Math.tanh, (_, y) => 1 - y * y),
  [Op.Sigmoid]: unary("sigmoid", sigmoid, (a) => sigmoid(a) * sigmoid(-a)),
  [Op.Relu]: unary("relu", (a) => (a > 0 ? a : 0), (a) => (a > 0 ? 1 : 0)),
  [Op.Softplus]: unary("softplus", (a) => Math.max(a, 0) + Math.log1p(Math.exp(-Math.abs(a))), sigmoid),
  [Op.Eq]: comparison("eq", "==", (a, b) => a === b),
  [Op.Neq]: comparison("neq", "!=", (a, b) => a !== b),
  [Op.Gt]: comparison("gt", ">", (a, b) => a > b),
  [Op.Lt]: comparison("lt", "<", (a, b) => a < b),
  [Op.Gte]: comparison("gte", ">=", (a, b) => a >= b),
  [Op.Lte]: comparison("lte", "<=", (a, b) => a <= b),
};

/** n/(x² + y²), and 0 at the origin. */
function overSquares(n: number, y: number, x: number): number {
  const squares = x * x + y * y;
  return squares === 0 ? 0 : n / squares;
}

/** Operations of a list of operands. @internal */
export interface ListRule {
  readonly name: string;
  value(operands: ArrayLike<number>): number;
  /** Writes the slopes with respect to all operands. */
  slopes(operands: ArrayLike<number>, into: Float64Array): void;
}

/** @internal */
export const LIST_RULES: { readonly [op: number]: ListRule } = {
  [Op.Sum]: {
    name: "sum",
    value: (operands) => {
      let sum = 0;
      for (let k = 0; k < operands.length; k++) sum += operands[k]!;
      return sum;
    },
    slopes: (operands, into) => { into.fill(1, 0, operands.length); },
  },
  [Op.SmallestEigenvalue]: {
    name: "smallestEigenvalue",
    value: (operands) => smallestEigenpair(operands).value,
    // ∂λ/∂C = v vᵀ; an entry beside the diagonal stands for two.
    slopes: (operands, into) => {
      const { vector: [x, y, z] } = smallestEigenpair(operands);
      into[0] = x * x; into[1] = 2 * x * y; into[2] = 2 * x * z;
      into[3] = y * y; into[4] = 2 * y * z; into[5] = z * z;
    },
  },
};

/** Operations whose slopes are 0 everywhere. */
const FLAT = new Set<Op>([Op.Sign, Op.Floor, Op.Ceil, Op.Round, Op.Eq, Op.Neq, Op.Gt, Op.Lt, Op.Gte, Op.Lte]);

/** True if an operation's slope with respect to operand k is 0 everywhere. @internal */
export const isFlat = (op: Op, k: number): boolean => FLAT.has(op) || (op === Op.Select && k === 0);

/** Name of an operation in messages and labels. @internal */
export const nameOf = (op: number): string => RULES[op]?.name ?? LIST_RULES[op]?.name ?? (op === Op.Custom ? "a custom operation" : "a leaf");
