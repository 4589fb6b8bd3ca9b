/** Triangles, and what has to do with rotations but not with quaternions. */
import { refuse, write } from "./instruction.js";
import { Mat3 } from "./matrix.js";
import { Opcode } from "./opcodes.js";
import { Scalar } from "./scalar.js";
import { components, isVec, vecOf, type Vec, type Vec2, type Vec3 } from "./vector.js";

/**
 * The area of the triangle abc: ‖(b − a) × (c − a)‖/2. In 2-D it is signed, positive counter-clockwise; in 3-D its
 * derivative where it is 0 is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * triangleArea(a, b, c).sub(1)
 */
export function triangleArea<V extends Vec2 | Vec3>(a: V, b: NoInfer<V>, c: NoInfer<V>): Scalar {
  return ofPoints("triangleArea", Opcode.TriangleArea, [a, b, c], [2, 3]);
}

/**
 * The unit vector along (b − a) × (c − a); 0, with derivative 0, for a triangle without area.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * triangleNormal(a, b, c).dot(d.sub(a))  // the distance of d from the plane
 */
export function triangleNormal(a: Vec3, b: Vec3, c: Vec3): Vec3 {
  if (![a, b, c].every((point) => isVec(point, 3))) refuse("triangleNormal", [a, b, c], "three Vec3");
  return vecOf(a.owner, write(a.owner, Opcode.TriangleNormal, [a, b, c]), 3);
}

/**
 * The angle, in [−π, π], by which the triangles abc and dcb are folded along their edge bc: 0 where they are flat, or
 * one of them has no area; positive where d lies behind abc, as at a convex edge of a surface whose normals point
 * outwards. It jumps from π to −π where they are folded onto each other.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * dihedralAngle(a, b, c, d)  // of the two triangles at an edge
 */
export function dihedralAngle(a: Vec3, b: Vec3, c: Vec3, d: Vec3): Scalar {
  return ofPoints("dihedralAngle", Opcode.DihedralAngle, [a, b, c, d], [3]);
}

/**
 * The cotangent of the angle at a in the triangle abc; 0, with derivative 0, for a triangle without area.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * cotangent(a, b, c)
 */
export function cotangent<V extends Vec2 | Vec3>(a: V, b: NoInfer<V>, c: NoInfer<V>): Scalar {
  return ofPoints("cotangent", Opcode.Cotangent, [a, b, c], [2, 3]);
}

/**
 * Result of {@link eigenSymmetric}: vector i belongs to value i.
 *
 * @example
 * const { values, vectors }: Eigen = eigenSymmetric(m);
 */
export interface Eigen { readonly values: Vec3; readonly vectors: readonly [Vec3, Vec3, Vec3] }

/**
 * The eigenvalues of a symmetric matrix, in ascending order, with a unit eigenvector of each; of any other matrix those
 * of its symmetric part (m + mᵀ)/2. The same matrix gives the same signs, but they may jump between matrices: square or
 * multiply by them. Where eigenvalues are equal their vectors have derivative 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * const { values, vectors } = eigenSymmetric(m);
 * const smallest = values.x, direction = vectors[0];
 */
export function eigenSymmetric(m: Mat3): Eigen {
  if (!(m instanceof Mat3)) refuse("eigenSymmetric", [m], "a Mat3");
  const all = vecOf<number>(m.owner, write(m.owner, Opcode.EigenSymmetric, [m]), 12);
  return { values: components(all, [0, 1, 2]), vectors: [components(all, [3, 4, 5]), components(all, [6, 7, 8]), components(all, [9, 10, 11])] };
}

/**
 * The rotation R closest to m, that of the greatest tr(Rᵀm); det R is 1 even where det m < 0 (Kabsch, 1976). Where
 * several are closest, as for a matrix of rank 1, it is one of them.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * closestRotation(m).sub(m)  // how far m is from a rotation
 */
export function closestRotation(m: Mat3): Mat3 {
  if (!(m instanceof Mat3)) refuse("closestRotation", [m], "a Mat3");
  return m.like(write(m.owner, Opcode.ClosestRotation, [m]));
}

/**
 * Rz(angles.z) · Ry(angles.y) · Rx(angles.x) · v (radians): three.js's Euler order "ZYX".
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * rotateXYZ(turn, b.sub(a))  // as-rigid-as-possible: the rest edge, turned
 */
export function rotateXYZ(angles: Vec3, v: Vec3): Vec3 {
  if (!isVec(angles, 3) || !isVec(v, 3)) refuse("rotateXYZ", [angles, v], "two Vec3, the angles first");
  return vecOf(v.owner, write(v.owner, Opcode.RotateXYZ, [angles, v]), 3);
}

function ofPoints(name: string, opcode: Opcode, points: readonly Vec<number>[], sizes: readonly number[]): Scalar {
  const [first] = points;
  const fits = isVec(first) && sizes.includes(first.length) && points.every((point) => isVec(point, first.length));
  if (!fits) refuse(name, points, `${points.length} points, ${sizes.map((size) => `all Vec${size}`).join(" or ")}`);
  return new Scalar(first.owner, write(first.owner, opcode, points));
}
