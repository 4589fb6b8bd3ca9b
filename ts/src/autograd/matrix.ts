/** Eigenvalues of symmetric 3×3 matrices. */
import { Op } from "./rules.js";
import type { Operand } from "./v.js";
import { ofList, type Value } from "./value.js";

/**
 * Functions of the symmetric matrix with these entries on and above its diagonal.
 *
 * @example
 * const smallest = Matrix3x3.smallestEigenvalue(V.W(3), V.C(0), V.C(0), V.W(1), V.C(0), V.W(2));
 * console.log(smallest.data);  // 1
 */
export class Matrix3x3 {
  /** The smallest eigenvalue λ, by rotations. ∂λ/∂C = vvᵀ for its unit vector v; of equal eigenvalues one vector is taken. */
  static smallestEigenvalue(c00: Operand, c01: Operand, c02: Operand, c11: Operand, c12: Operand, c22: Operand): Value {
    return ofList(Op.SmallestEigenvalue, [c00, c01, c02, c11, c12, c22]);
  }
  /** The same as {@link Matrix3x3.smallestEigenvalue}. */
  static smallestEigenvalueCustomGrad(c00: Operand, c01: Operand, c02: Operand, c11: Operand, c12: Operand, c22: Operand): Value {
    return Matrix3x3.smallestEigenvalue(c00, c01, c02, c11, c12, c22);
  }
}
