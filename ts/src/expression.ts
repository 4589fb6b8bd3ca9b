/**
 * Expressions: what a residual function computes with while it is traced.
 *
 * Arithmetic is methods (`a.sub(b).mul(2)`), mathematics is free functions (`sin(a)`). Expressions are immutable: every
 * operation gives a new one. JavaScript's own operators cannot be traced and throw. No mathematics happens here: an
 * operation writes an instruction to the tape, whose meaning stands in the engine.
 */
import { isList } from "./arrays.js";
import { isA, LeastwiseError } from "./errors.js";
import { describe, type Expression } from "./instruction.js";
import { Mat, type Mat2, type Mat3 } from "./matrix.js";
import { Quat } from "./quaternion.js";
import { Scalar } from "./scalar.js";
import type { Trace } from "./trace.js";
import { Vec } from "./vector.js";
import type { Words } from "./words.js";

export { and, hypot, logsumexp, max, mean, min, not, or, sum } from "./lists.js";
export { clamp, mix, select, smoothstep, step } from "./choice.js";
export * from "./functions.js";
export { closestRotation, cotangent, dihedralAngle, eigenSymmetric, rotateXYZ, triangleArea, triangleNormal, type Eigen } from "./geometry.js";
export { Mat, mat2, Mat2, mat3, Mat3, type MatOf } from "./matrix.js";
export { pow } from "./power.js";
export { fromAngleAxis, fromMatrix, quat, Quat, quatExp } from "./quaternion.js";
export { Bool, Scalar, type Num } from "./scalar.js";
export { angleBetween, cross, distance, dot, norm, normalize, vec, Vec, Vec2, Vec3, Vec4, vector, type Value, type VecOf } from "./vector.js";
/** @internal */
export { describe } from "./instruction.js";
/** @internal */
export { wrap } from "./vector.js";

/** Part of a residual: its scalars are rows of r. */
export type Output = Scalar | Vec<number> | Mat2 | Mat3 | Quat;

/** Appends the numbers of the values that a residual function returned, checked; how many there are. @internal */
export function writeOutputs(returned: unknown, trace: Trace, words: Words): number {
  if (!isList(returned)) {
    words.push(output(returned, trace).value);
    return 1;
  }
  if (returned.length === 0) noResidual("an empty array", trace);
  for (const item of returned) words.push(output(item, trace).value);
  return returned.length;
}

function output(item: unknown, trace: Trace): Expression<unknown> {
  if (!(isA(item, Scalar) || isA(item, Vec) || isA(item, Mat) || isA(item, Quat))) {
    return noResidual(isA(item, Promise) ? "a promise" : describe(item), trace);
  }
  if (item.owner !== trace) {
    throw new LeastwiseError("foreign-expression", `${trace.title} returned an expression of ${item.owner.title}: every residual only knows the arguments of its own function`, { term: trace.term });
  }
  return item;
}

function noResidual(returned: string, trace: Trace): never {
  throw new LeastwiseError("no-residual", `${trace.title} returned ${returned}: return a scalar, a vector, a matrix, a quaternion, or an array of them (is a \`return\` missing?)`, { term: trace.term });
}
