/**
 * Operations as WebAssembly on two lanes of f64: values and slopes in the formulas of `rules.ts`, so that they have the same
 * bits. What the instructions do not have are calls, of `Math` where a rule is one of its functions.
 */
import { Op, RULES, SMALLEST_DIVISOR } from "./rules.js";
import type { Instruction } from "./assembly.js";

/** What an operation's code is written with. @internal */
export interface Emitter {
  put(...names: Instruction[]): Emitter;
  /** A constant in both lanes. */
  f64x2(value: number): Emitter;
  /** Operand k, and the operation's value. */
  operand(k: number): Emitter;
  result(): Emitter;
  /** A function of numbers, called for each lane with operands (`"y"`: the value). `key` is what identifies it. */
  call(key: string, of: (...numbers: number[]) => number, operands: readonly (number | "y")[]): Emitter;
}

type Emit = (e: Emitter) => void;

/** Operation whose code is instructions. */
interface Inline {
  value: Emit;
  /** Slopes with respect to the operands; a number is constant. */
  slopes: readonly (Emit | number)[];
  /** Adds a mask of lanes that are not defined although their value is finite. */
  outside?: Emit;
}

const unary = (value: Instruction, slope: Emit | number): Inline => ({ value: (e) => e.operand(0).put(value), slopes: [slope] });
const comparison = (name: Instruction): Inline => ({ value: (e) => e.operand(0).operand(1).put(name).f64x2(1).put("v128.and"), slopes: [0, 0] });
/** The operation's slope from a call of `Math`. */
const called = (name: string, of: (...numbers: number[]) => number, slope: Emit): Inline => ({ value: (e) => e.call(name, of, [0]), slopes: [slope] });
const one = (e: Emitter, mask: (e: Emitter) => Emitter) => mask(e).f64x2(1).put("v128.and");

/** |divisor| < 1e-12. */
const tiny = (k: number): Emit => (e) => e.operand(k).put("f64x2.abs").f64x2(SMALLEST_DIVISOR).put("f64x2.lt");

/** 1/√((1 − a)(1 + a)), and 0 at ±1. */
const arcSlope: Emit = (e) => {
  e.f64x2(1).f64x2(1).operand(0).put("f64x2.sub").f64x2(1).operand(0).put("f64x2.add", "f64x2.mul", "f64x2.sqrt", "f64x2.div");
  e.operand(0).put("f64x2.abs").f64x2(1).put("f64x2.ne", "v128.and");
};

/** n/(y² + x²) for y, x = operands 0 and 1, and 0 at the origin. */
const overSquares = (numerator: Emit): Emit => (e) => {
  const squares = () => e.operand(1).operand(1).put("f64x2.mul").operand(0).operand(0).put("f64x2.mul", "f64x2.add");
  numerator(e);
  squares().put("f64x2.div");
  squares().f64x2(0).put("f64x2.ne", "v128.and");
};

/** Operations but sums, by number. */
const INLINE: { readonly [op: number]: Inline } = {
  [Op.Add]: { value: (e) => e.operand(0).operand(1).put("f64x2.add"), slopes: [1, 1] },
  [Op.Sub]: { value: (e) => e.operand(0).operand(1).put("f64x2.sub"), slopes: [1, -1] },
  [Op.Mul]: { value: (e) => e.operand(0).operand(1).put("f64x2.mul"), slopes: [(e) => e.operand(1), (e) => e.operand(0)] },
  [Op.Div]: {
    value: (e) => e.operand(0).operand(1).put("f64x2.div"), outside: tiny(1),
    slopes: [(e) => e.f64x2(1).operand(1).put("f64x2.div"), (e) => e.result().put("f64x2.neg").operand(1).put("f64x2.div")],
  },
  [Op.Neg]: unary("f64x2.neg", -1),
  [Op.Square]: { value: (e) => e.operand(0).operand(0).put("f64x2.mul"), slopes: [(e) => e.f64x2(2).operand(0).put("f64x2.mul")] },
  [Op.Cube]: { value: (e) => e.operand(0).operand(0).put("f64x2.mul").operand(0).put("f64x2.mul"), slopes: [(e) => e.f64x2(3).operand(0).put("f64x2.mul").operand(0).put("f64x2.mul")] },
  [Op.Reciprocal]: { value: (e) => e.f64x2(1).operand(0).put("f64x2.div"), slopes: [(e) => e.result().put("f64x2.neg").result().put("f64x2.mul")], outside: tiny(0) },
  [Op.Sqrt]: unary("f64x2.sqrt", (e) => e.f64x2(0.5).result().put("f64x2.div").result().f64x2(0).put("f64x2.ne", "v128.and")),
  [Op.Abs]: unary("f64x2.abs", (e) => sign(e)),
  [Op.Sign]: { value: (e) => sign(e), slopes: [0] },
  [Op.Floor]: unary("f64x2.floor", 0),
  [Op.Ceil]: unary("f64x2.ceil", 0),
  // ⌈a⌉ − 1 where ⌈a⌉ − ½ > a.
  [Op.Round]: { value: (e) => one(e.operand(0).put("f64x2.ceil"), () => e.operand(0).put("f64x2.ceil").f64x2(0.5).put("f64x2.sub").operand(0).put("f64x2.gt")).put("f64x2.sub"), slopes: [0] },
  [Op.Min]: { value: (e) => e.operand(0).operand(1).put("f64x2.pmin"), slopes: [(e) => one(e, () => e.operand(1).operand(0).put("f64x2.ge")), (e) => one(e, () => e.operand(1).operand(0).put("f64x2.lt"))] },
  [Op.Max]: { value: (e) => e.operand(0).operand(1).put("f64x2.pmax"), slopes: [(e) => one(e, () => e.operand(1).operand(0).put("f64x2.le")), (e) => one(e, () => e.operand(1).operand(0).put("f64x2.gt"))] },
  [Op.Clamp]: {
    value: (e) => lowered(e).operand(1).put("f64x2.pmax"),
    slopes: [
      (e) => one(e, () => lowered(e.operand(1)).put("f64x2.le").operand(2).operand(0).put("f64x2.ge", "v128.and")),
      (e) => one(e, () => lowered(e.operand(1)).put("f64x2.gt")),
      (e) => one(e, () => lowered(e.operand(1)).put("f64x2.le").operand(2).operand(0).put("f64x2.lt", "v128.and")),
    ],
  },
  [Op.Select]: {
    value: (e) => e.operand(1).operand(2).operand(0).f64x2(0).put("f64x2.ne", "v128.bitselect"),
    slopes: [0, (e) => one(e, () => e.operand(0).f64x2(0).put("f64x2.ne")), (e) => one(e, () => e.operand(0).f64x2(0).put("f64x2.eq"))],
  },
  [Op.Exp]: called("exp", Math.exp, (e) => e.result()),
  [Op.Log]: called("log", Math.log, (e) => e.f64x2(1).operand(0).put("f64x2.div")),
  [Op.Sin]: called("sin", Math.sin, (e) => e.call("cos", Math.cos, [0])),
  [Op.Cos]: called("cos", Math.cos, (e) => e.call("sin", Math.sin, [0]).put("f64x2.neg")),
  [Op.Tan]: called("tan", Math.tan, (e) => e.f64x2(1).result().result().put("f64x2.mul", "f64x2.add")),
  [Op.Asin]: called("asin", Math.asin, arcSlope),
  [Op.Acos]: called("acos", Math.acos, (e) => { arcSlope(e); e.put("f64x2.neg"); }),
  [Op.Atan]: called("atan", Math.atan, (e) => e.f64x2(1).f64x2(1).operand(0).operand(0).put("f64x2.mul", "f64x2.add", "f64x2.div")),
  [Op.Atan2]: {
    // At y = 0 it is π or 0 whatever the sign of y is.
    value: (e) => {
      e.f64x2(Math.PI).operand(1).f64x2(0).put("f64x2.lt", "v128.and");
      e.call("atan2", Math.atan2, [0, 1]).operand(0).f64x2(0).put("f64x2.eq", "v128.bitselect");
    },
    slopes: [overSquares((e) => e.operand(1)), overSquares((e) => e.operand(0).put("f64x2.neg"))],
  },
  [Op.Sinh]: called("sinh", Math.sinh, (e) => e.call("cosh", Math.cosh, [0])),
  [Op.Cosh]: called("cosh", Math.cosh, (e) => e.call("sinh", Math.sinh, [0])),
  [Op.Tanh]: called("tanh", Math.tanh, (e) => e.f64x2(1).result().result().put("f64x2.mul", "f64x2.sub")),
  [Op.Relu]: { value: (e) => e.operand(0).operand(0).f64x2(0).put("f64x2.gt", "v128.and"), slopes: [(e) => one(e, () => e.operand(0).f64x2(0).put("f64x2.gt"))] },
  [Op.Eq]: comparison("f64x2.eq"), [Op.Neq]: comparison("f64x2.ne"), [Op.Gt]: comparison("f64x2.gt"), [Op.Lt]: comparison("f64x2.lt"), [Op.Gte]: comparison("f64x2.ge"), [Op.Lte]: comparison("f64x2.le"),
};

/** −1, 0 or 1, with the sign of 0. */
function sign(e: Emitter): void {
  e.f64x2(1).f64x2(-1).operand(0).operand(0).f64x2(0).put("f64x2.lt", "v128.bitselect").operand(0).f64x2(0).put("f64x2.gt", "v128.bitselect");
}

/** The smaller one of operands 0 and 2. */
const lowered = (e: Emitter): Emitter => e.operand(0).operand(2).put("f64x2.pmin");

/** Code of a value. `moves`: the second operand may change. @internal */
export function emitValue(e: Emitter, op: Op, moves: boolean): void {
  const inline = INLINE[op];
  if (inline) return inline.value(e);
  const { arity, value, outside } = RULES[op]!, operands = Array.from({ length: arity }, (_, k) => k);
  e.call(`value${op}${moves ? "m" : ""}`, outside ? (a, b, c) => (outside(a!, b!, moves) === undefined ? value(a!, b!, c!) : NaN) : (a, b, c) => value(a!, b!, c!), operands);
}

/** Code of a slope, or the number that it always is. @internal */
export function slopeOf(op: Op, k: number): Emit | number {
  const inline = INLINE[op];
  if (inline) return inline.slopes[k]!;
  const { arity, slope } = RULES[op]!;
  return (e) => e.call(`slope${op}by${k}`, arity === 1 ? (a, y) => slope(k, a!, 0, 0, y!) : (a, b, y) => slope(k, a!, b!, 0, y!), [...(arity === 1 ? [0] : [0, 1]), "y"]);
}

/** Mask of lanes that are not defined although their values are finite, if there can be any. @internal */
export const outsideOf = (op: Op): Emit | undefined => INLINE[op]?.outside;

/** True if an operation's value is not finite wherever its operand k is not. @internal */
export function passesOn(op: Op, k: number): boolean {
  return k === 0 ? PASSING.has(op) : PASSING_ALL.has(op);
}
const PASSING_ALL = new Set<Op>([Op.Add, Op.Sub, Op.Mul, Op.Sum]);
const PASSING = new Set<Op>([...PASSING_ALL, Op.Div, Op.Neg, Op.Square, Op.Cube, Op.Sqrt, Op.Abs, Op.Sin, Op.Cos, Op.Floor, Op.Ceil]);
