/** A structure as an expression of the engine: the function that a term of the engine is traced from. */
import { abs, acos, asin, atan, atan2, ceil, cos, cosh, cube, eigenSymmetric, exp, floor, log, mat3, max, min, pow, reciprocal, relu, select, sigmoid, sign, sin, sinh, softplus, sqrt, sum, tan, tanh, vec, type Bool, type Scalar } from "../expression.js";
import { Op } from "./rules.js";
import type { Structure } from "./structure.js";

const number = (is: Bool): Scalar => select(is, 1, 0);

/** The integer part of a. */
const truncated = (a: Scalar): Scalar => sign(a).mul(floor(abs(a)));

type Traced = (a: Scalar, b: Scalar, c: Scalar) => Scalar;

const OPERATIONS: { readonly [op: number]: Traced } = {
  [Op.Add]: (a, b) => a.add(b), [Op.Sub]: (a, b) => a.sub(b), [Op.Mul]: (a, b) => a.mul(b), [Op.Div]: (a, b) => a.div(b), [Op.Neg]: (a) => a.neg(), [Op.Square]: (a) => a.square(), [Op.Cube]: cube,
  [Op.Reciprocal]: reciprocal, [Op.Pow]: pow, [Op.Mod]: (a, b) => a.sub(b.mul(truncated(a.div(b)))), [Op.Sqrt]: sqrt, [Op.Abs]: abs, [Op.Sign]: sign, [Op.Floor]: floor, [Op.Ceil]: ceil,
  [Op.Round]: (a) => floor(a.add(0.5)), [Op.Min]: (a, b) => min(a, b), [Op.Max]: (a, b) => max(a, b), [Op.Clamp]: (a, low, high) => max(min(a, high), low), [Op.Select]: (when, a, b) => select(when.ne(0), a, b),
  [Op.Exp]: exp, [Op.Log]: log, [Op.Sin]: sin, [Op.Cos]: cos, [Op.Tan]: tan, [Op.Asin]: asin, [Op.Acos]: acos, [Op.Atan]: atan, [Op.Atan2]: atan2, [Op.Sinh]: sinh, [Op.Cosh]: cosh, [Op.Tanh]: tanh,
  [Op.Sigmoid]: sigmoid, [Op.Relu]: relu, [Op.Softplus]: softplus,
  [Op.Eq]: (a, b) => number(a.eq(b)), [Op.Neq]: (a, b) => number(a.ne(b)), [Op.Gt]: (a, b) => number(a.gt(b)), [Op.Lt]: (a, b) => number(a.lt(b)), [Op.Gte]: (a, b) => number(a.ge(b)), [Op.Lte]: (a, b) => number(a.le(b)),
};

/** The value of a structure's root, from its leaves in their order. @internal */
export function traced({ steps, leaves, size, root }: Structure, inputs: readonly Scalar[]): Scalar {
  const places = new Array<Scalar>(size);
  inputs.forEach((input, slot) => { places[leaves[slot]!] = input; });
  for (const { op, place, operands } of steps) {
    const of = Array.from(operands, (operand) => places[operand]!);
    places[place] = op === Op.Sum ? sum(of) : op === Op.SmallestEigenvalue ? smallest(of) : OPERATIONS[op]!(of[0]!, of[1]!, of[2]!);
  }
  return places[root]!;
}

function smallest([c00, c01, c02, c11, c12, c22]: readonly Scalar[]): Scalar {
  return eigenSymmetric(mat3(vec(c00!, c01!, c02!), vec(c01!, c11!, c12!), vec(c02!, c12!, c22!))).values.x;
}
