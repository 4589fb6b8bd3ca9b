/** Choosing between values, and going from one to another. */
import { Expression, refuse, traceOf, write } from "./instruction.js";
import { Mat } from "./matrix.js";
import { Opcode } from "./opcodes.js";
import { Quat } from "./quaternion.js";
import { Bool, isNum, Scalar, scalar, type Num } from "./scalar.js";
import { Vec } from "./vector.js";
import type { Mat2, Mat3 } from "./matrix.js";

/**
 * `then` where the condition holds, else `otherwise`; both of one kind. Both are computed, but only the one that is
 * taken has to be finite, and the derivative is that one's.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * select(s.gt(0), s, s.mul(0.1))  // a leaky ramp
 */
export function select(when: Bool, then: Num, otherwise: Num): Scalar;
export function select<V extends Vec<number> | Mat2 | Mat3 | Quat>(when: Bool, then: V, otherwise: NoInfer<V>): V;
export function select(when: Bool, then: Num | Expression<unknown>, otherwise: Num | Expression<unknown>): Expression<unknown> {
  if (!(when instanceof Bool)) refuse("select", [when, then, otherwise], "a condition first, such as a.gt(b)");
  const fit = isNum(then) ? isNum(otherwise) : isChosen(then) && isChosen(otherwise) && then.what === otherwise.what;
  if (!fit) refuse("select", [when, then, otherwise], "a condition and two scalars, or two vectors, matrices or quaternions of one size");
  const value = write(when.owner, Opcode.Select, [when, then, otherwise]);
  return typeof then === "number" ? new Scalar(when.owner, value) : then.like(value);
}

function isChosen(operand: unknown): operand is Expression<unknown> {
  return operand instanceof Vec || operand instanceof Mat || operand instanceof Quat;
}

/**
 * a(1 − t) + bt: a at t = 0, b at t = 1, and on the same line beyond. For vectors elementwise, with one t or one for
 * each element.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * mix(a, b, 0.5)  // the midpoint
 */
export function mix(a: Num, b: Num, t: Num): Scalar;
export function mix<V extends Vec<number>>(a: V, b: NoInfer<V>, t: Num | NoInfer<V>): V;
export function mix(a: Num | Vec<number>, b: Num | Vec<number>, t: Num | Vec<number>): Expression<unknown> {
  const isPart = (part: unknown): boolean => (a instanceof Vec ? part instanceof Vec && part.length === a.length : isNum(part));
  if (!isPart(a) || !isPart(b) || !(isNum(t) || isPart(t))) refuse("mix", [a, b, t], "three numbers or scalars, or two vectors of one size and a scalar or a vector of that size");
  const trace = traceOf("mix", [a, b, t]);
  const value = write(trace, Opcode.Mix, [a, b, t]);
  return a instanceof Vec ? a.like(value) : new Scalar(trace, value);
}

/**
 * min(max(x, low), high). Its derivative at the bounds is that of x; beyond them that of the bound.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * clamp(s, 0, 1)
 */
export function clamp(x: Num, low: Num, high: Num): Scalar { return scalar("clamp", Opcode.Clamp, [x, low, high]); }

/**
 * 1 where edge ≤ x, else 0; its derivative is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * step(0.5, s)  // 0 below 0.5, else 1
 */
export function step(edge: Num, x: Num): Scalar { return scalar("step", Opcode.Step, [edge, x]); }

/**
 * t²(3 − 2t) with t = clamp((x − low)/(high − low), 0, 1): from 0 at low to 1 at high, with derivative 0 at both. low ≠ high.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * smoothstep(0, 1, s)  // 3s² − 2s³ in between
 */
export function smoothstep(low: Num, high: Num, x: Num): Scalar { return scalar("smoothstep", Opcode.Smoothstep, [low, high, x]); }
