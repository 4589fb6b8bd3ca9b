/** Powers: by multiplication where the exponent is a whole number that is written as one. */
import { refuse, traceOf, values } from "./instruction.js";
import { Opcode } from "./opcodes.js";
import { Scalar, isNum, scalar, type Num } from "./scalar.js";

/** True for a literal exponent whose power is a product of factors. @internal */
export const isWholeExponent = (b: unknown): b is number => typeof b === "number" && Number.isInteger(b) && Math.abs(b) <= 1024;

/**
 * aᵇ. For a whole number b from −1024 to 1024 by multiplication, for every a (a ≠ 0 where b < 0). Otherwise a > 0, or
 * a = 0 with b ≥ 0 (the derivative at a = 0 is 1 in a where b = 1, else 0), or a < 0 where b is whole and does not depend on a
 * variable: data, `detach(b)`, `round(b)`.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * pow(s, 3)  // s·s·s, for every s
 */
export function pow(a: Num, b: Num): Scalar {
  if (isWholeExponent(b)) {
    if (!isNum(a)) refuse("pow", [a, b], "numbers and scalars");
    const trace = traceOf("pow", [a]);
    return new Scalar(trace, trace.write(Opcode.PowInt, [values(trace, [a])[0]!, b >>> 0]));
  }
  return scalar("pow", Opcode.Pow, [a, b]);
}
