/** Functions that expressions may call: slopes, and how they are written. */
import { binary, call, negative, number, type ASTNode } from "./nodes.js";

/** Scalar function. */
interface Known {
  readonly arity: number | "any";
  /** Slope with respect to argument k; undefined where it is 0 everywhere. */
  slope(k: number, args: readonly ASTNode[]): ASTNode | undefined;
  /** JavaScript of a call; without it, `Math` has the function. What is no call itself is in brackets. */
  code?(args: readonly string[]): string;
  /** The value, if the arguments are numbers. */
  value(...args: number[]): number;
}

const one = number(1), two = number(2);
const square = (of: ASTNode) => binary("**", of, two), over = (above: ASTNode, below: ASTNode) => binary("/", above, below), times = (a: ASTNode, b: ASTNode) => binary("*", a, b);
const unary = (value: (a: number) => number, slope: (a: ASTNode) => ASTNode | undefined, code?: (a: string) => string): Known => ({ arity: 1, value, slope: (_, [a]) => slope(a!), ...(code && { code: ([a]) => code(a!) }) });
const flat = (value: (a: number) => number): Known => unary(value, () => undefined);
const sigmoid = (a: number): number => 1 / (1 + Math.exp(-a));

/** 1 for the first argument that is the least or the greatest. */
const extreme = (value: (...all: number[]) => number, first: "<=" | ">=", other: "<" | ">"): Known => ({
  arity: "any", value,
  // Every comparison with what comes before is strict, with what comes after is not: of equal ones the first has slope 1.
  slope: (k, args) => args.reduce<ASTNode>((product, arg, j) => (j === k ? product : times(product, binary(j < k ? other : first, args[k]!, arg))), one),
});

/** By name. @internal */
export const FUNCTIONS: { readonly [name: string]: Known } = {
  sin: unary(Math.sin, (a) => call("cos", a)),
  cos: unary(Math.cos, (a) => negative(call("sin", a))),
  tan: unary(Math.tan, (a) => binary("+", one, square(call("tan", a)))),
  asin: unary(Math.asin, (a) => over(one, call("sqrt", binary("-", one, square(a))))),
  acos: unary(Math.acos, (a) => negative(over(one, call("sqrt", binary("-", one, square(a)))))),
  atan: unary(Math.atan, (a) => over(one, binary("+", one, square(a)))),
  sinh: unary(Math.sinh, (a) => call("cosh", a)),
  cosh: unary(Math.cosh, (a) => call("sinh", a)),
  tanh: unary(Math.tanh, (a) => binary("-", one, square(call("tanh", a)))),
  exp: unary(Math.exp, (a) => call("exp", a)),
  log: unary(Math.log, (a) => over(one, a)),
  ln: unary(Math.log, (a) => over(one, a), (a) => `Math.log(${a})`),
  log2: unary(Math.log2, (a) => over(one, times(a, number(Math.LN2)))),
  log10: unary(Math.log10, (a) => over(one, times(a, number(Math.LN10)))),
  log1p: unary(Math.log1p, (a) => over(one, binary("+", one, a))),
  sqrt: unary(Math.sqrt, (a) => over(one, times(two, call("sqrt", a)))),
  abs: unary(Math.abs, (a) => call("sign", a)),
  sign: flat(Math.sign), floor: flat(Math.floor), ceil: flat(Math.ceil), round: flat(Math.round),
  square: unary((a) => a * a, (a) => times(two, a), (a) => `Math.pow(${a}, 2)`),
  cube: unary((a) => a * a * a, (a) => times(number(3), square(a)), (a) => `Math.pow(${a}, 3)`),
  reciprocal: unary((a) => 1 / a, (a) => negative(over(one, square(a))), (a) => `(1 / (${a}))`),
  sigmoid: unary(sigmoid, (a) => times(call("sigmoid", a), binary("-", one, call("sigmoid", a))), (a) => `(1 / (1 + Math.exp(-(${a}))))`),
  relu: unary((a) => Math.max(a, 0), (a) => binary(">", a, number(0)), (a) => `Math.max(${a}, 0)`),
  softplus: unary((a) => Math.max(a, 0) + Math.log1p(Math.exp(-Math.abs(a))), (a) => call("sigmoid", a), (a) => `(Math.max(${a}, 0) + Math.log1p(Math.exp(-Math.abs(${a}))))`),
  pow: { arity: 2, value: Math.pow, slope: (k, [a, b]) => powerSlope(k, a!, b!) },
  atan2: { arity: 2, value: Math.atan2, slope: (k, [y, x]) => over(k === 0 ? x! : negative(y!), binary("+", square(x!), square(y!))) },
  hypot: { arity: "any", value: Math.hypot, slope: (k, args) => over(args[k]!, call("hypot", ...args)) },
  min: extreme(Math.min, "<=", "<"),
  max: extreme(Math.max, ">=", ">"),
  clamp: {
    arity: 3, value: (a, low, high) => Math.min(Math.max(a, low), high), code: ([a, low, high]) => `Math.min(Math.max(${a}, ${low}), ${high})`,
    slope: (k, [a, low, high]) => (k === 0 ? times(binary(">=", a!, low!), binary("<=", a!, high!)) : k === 1 ? times(binary("<", a!, low!), binary("<=", low!, high!)) : binary(">", call("max", a!, low!), high!)),
  },
  ifThenElse: {
    arity: 3, value: (when, a, b) => (when !== 0 ? a : b), code: ([when, a, b]) => `(${when} !== 0 ? ${a} : ${b})`,
    slope: (k, [when]) => (k === 0 ? undefined : binary(k === 1 ? "!=" : "==", when!, number(0))),
  },
};

/** Slope of aᵇ with respect to a or b. @internal */
export function powerSlope(k: number, a: ASTNode, b: ASTNode): ASTNode {
  if (k === 1) return times(binary("**", a, b), call("log", a));
  return times(b, binary("**", a, b.type === "Number" ? number(b.value - 1) : binary("-", b, one)));
}

/** Value of an operation of two numbers. @internal */
export const OPERATORS: { readonly [operator: string]: (a: number, b: number) => number } = {
  "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b, "%": (a, b) => a % b, "**": (a, b) => a ** b,
  "<": (a, b) => Number(a < b), ">": (a, b) => Number(a > b), "<=": (a, b) => Number(a <= b), ">=": (a, b) => Number(a >= b), "==": (a, b) => Number(a === b), "!=": (a, b) => Number(a !== b),
};
