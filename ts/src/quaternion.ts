/** Quaternions x, y, z, w, as in three.js: rotations, where they are of unit length. */
import { isA } from "./errors.js";
import { Expression, refuse, traceOf, write } from "./instruction.js";
import { Mat3 } from "./matrix.js";
import { Opcode } from "./opcodes.js";
import { component, isNum, type Num, type Scalar } from "./scalar.js";
import { isVec, vecOf, type Vec3, type Vec4 } from "./vector.js";

/**
 * A quaternion x i + y j + z k + w. No vector: nothing adds quaternions; {@link Quat.xyzw} gives their numbers.
 * What is said of unit quaternions below is not checked: normalise where they may not be, `quat(v.normalize())`.
 *
 * @example
 * const seen = (q: Quat, p: Vec3, camera: Vec3) => q.rotate(p.sub(camera));
 */
export class Quat extends Expression<"quat"> {
  get x(): Scalar { return component(this, 0); }
  get y(): Scalar { return component(this, 1); }
  get z(): Scalar { return component(this, 2); }
  get w(): Scalar { return component(this, 3); }
  /** Its four numbers, as a vector. */
  xyzw(): Vec4 { return vecOf(this.owner, this.value, 4); }
  /** this · o: the rotation o, then this one. */
  mul(o: Quat): Quat {
    if (!isA(o, Quat)) refuse("mul", [this, o], "two quaternions");
    return this.like(write(this.owner, Opcode.QuatMul, [this, o]));
  }
  /** (−x, −y, −z, w): the inverse of a unit quaternion. */
  conjugate(): Quat { return this.like(write(this.owner, Opcode.QuatConjugate, [this])); }
  /** The conjugate / ‖this‖². Not finite at 0. */
  inverse(): Quat { return this.like(write(this.owner, Opcode.QuatInverse, [this])); }
  /** this · v · this⁻¹ for a unit quaternion: v, rotated. */
  rotate(v: Vec3): Vec3 {
    if (!isVec(v, 3)) refuse("rotate", [this, v], "a quaternion and a Vec3");
    return vecOf(this.owner, write(this.owner, Opcode.QuatRotate, [this, v]), 3);
  }
  /**
   * The v with quatExp(v) = this and ‖v‖ ≤ π, for a unit quaternion: half of a rotation vector. Where w is −1 any axis
   * fits: 0 there, and the derivative too.
   */
  log(): Vec3 { return vecOf(this.owner, write(this.owner, Opcode.QuatLog, [this]), 3); }
  /**
   * The rotation vector (axis times angle, at most π) of a unit quaternion; this and −this give the same. It jumps from
   * π to −π where w is 0.
   */
  toAngleAxis(): Vec3 { return vecOf(this.owner, write(this.owner, Opcode.QuatToAngleAxis, [this]), 3); }
  /** The rotation matrix of a unit quaternion. */
  toMatrix(): Mat3 { return new Mat3(this.owner, write(this.owner, Opcode.QuatToMatrix, [this])); }

  /** @internal */ get what(): string { return "a Quat"; }
  /** @internal */ like(value: number): Quat { return new Quat(this.owner, value); }
}

/**
 * The quaternion x i + y j + z k + w, of its four numbers or a vector of them. The rotation by nothing is quat(0, 0, 0, 1).
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * quat(0, 0, 0, 1).rotate(a)  // the identity: x, y, z, w
 */
export function quat(xyzw: Vec4): Quat;
export function quat(x: Num, y: Num, z: Num, w: Num): Quat;
export function quat(...items: readonly [Vec4] | readonly Num[]): Quat {
  const [first] = items;
  if (items.length === 1 && isVec(first, 4)) return new Quat(first.owner, first.value);
  const numbers = items as readonly Num[];
  if (numbers.length !== 4 || !numbers.every(isNum)) refuse("quat", numbers.slice(0, 8), "x, y, z, w, or a Vec4");
  const trace = traceOf("quat", numbers);
  return new Quat(trace, write(trace, Opcode.Pack, numbers));
}

/**
 * The unit quaternion of a rotation vector (axis times angle); smooth at 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * fromAngleAxis(turn).rotate(a)  // a, turned by |turn| about turn
 */
export function fromAngleAxis(v: Vec3): Quat { return ofVector("fromAngleAxis", Opcode.QuatFromAngleAxis, v); }

/**
 * (v sin‖v‖/‖v‖, cos‖v‖), the rotation by 2‖v‖ around v; smooth at 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * quatExp(turn.mul(0.5)).mul(q)
 */
export function quatExp(v: Vec3): Quat { return ofVector("quatExp", Opcode.QuatExp, v); }

/**
 * A unit quaternion of a rotation matrix, by its largest component (which is positive: the sign changes where another
 * one becomes the largest). For other matrices see {@link closestRotation}.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * fromMatrix(closestRotation(m))
 */
export function fromMatrix(m: Mat3): Quat {
  if (!isA(m, Mat3)) refuse("fromMatrix", [m], "a Mat3");
  return new Quat(m.owner, write(m.owner, Opcode.QuatFromMatrix, [m]));
}

function ofVector(name: string, opcode: Opcode, v: Vec3): Quat {
  if (!isVec(v, 3)) refuse(name, [v], "a Vec3");
  return new Quat(v.owner, write(v.owner, opcode, [v]));
}
