/** Vectors of values in two and three dimensions. */
import type { Operand } from "./v.js";
import { V } from "./v.js";
import { operand, type Value } from "./value.js";

/**
 * A vector in the plane.
 *
 * @example
 * const p = Vec2.W(3, 4);
 * p.magnitude.backward();
 * console.log(p.x.grad, p.y.grad);  // 0.6 0.8
 */
export class Vec2 {
  x: Value;
  y: Value;

  constructor(x: Operand, y: Operand) {
    this.x = operand(x);
    this.y = operand(y);
  }

  /** Trainable components. */
  static W(x: number, y: number): Vec2 { return new Vec2(V.W(x), V.W(y)); }
  /** Constant components. */
  static C(x: number, y: number): Vec2 { return new Vec2(V.C(x), V.C(y)); }
  static zero(): Vec2 { return Vec2.C(0, 0); }
  static one(): Vec2 { return Vec2.C(1, 1); }
  /** a · b */
  static dot(a: Vec2, b: Vec2): Value { return V.add(V.mul(a.x, b.x), V.mul(a.y, b.y)); }
  /** a.x b.y − a.y b.x */
  static cross(a: Vec2, b: Vec2): Value { return V.sub(V.mul(a.x, b.y), V.mul(a.y, b.x)); }
  /** Distance of a point from the line through two others. */
  static distanceToLine(point: Vec2, lineStart: Vec2, lineEnd: Vec2): Value {
    const along = lineEnd.sub(lineStart);
    return V.div(V.abs(Vec2.cross(along, point.sub(lineStart))), along.magnitude);
  }
  /** Angle between two vectors, in [0, π]; slopes 0 where they are parallel. */
  static angleBetween(a: Vec2, b: Vec2): Value { return V.atan2(V.abs(Vec2.cross(a, b)), Vec2.dot(a, b)); }

  add(other: Vec2): Vec2 { return new Vec2(V.add(this.x, other.x), V.add(this.y, other.y)); }
  sub(other: Vec2): Vec2 { return new Vec2(V.sub(this.x, other.x), V.sub(this.y, other.y)); }
  mul(factor: Operand): Vec2 { return new Vec2(V.mul(this.x, factor), V.mul(this.y, factor)); }
  div(divisor: Operand): Vec2 { return new Vec2(V.div(this.x, divisor), V.div(this.y, divisor)); }
  /** ‖v‖, with slopes 0 at 0. */
  get magnitude(): Value { return V.sqrt(this.sqrMagnitude); }
  /** ‖v‖² */
  get sqrMagnitude(): Value { return V.add(V.square(this.x), V.square(this.y)); }
  /** v/‖v‖. @throws `non-finite` at 0 */
  get normalized(): Vec2 { return this.div(this.magnitude); }
  /** (−y, x) */
  get perpendicular(): Vec2 { return new Vec2(V.neg(this.y), this.x); }
  /** The components. */
  get trainables(): Value[] { return [this.x, this.y]; }
  toString(): string { return `Vec2(${this.x.data}, ${this.y.data})`; }
}

/**
 * A vector in space.
 *
 * @example
 * const normal = Vec3.cross(Vec3.C(1, 0, 0), Vec3.W(0, 1, 0)).normalized;
 * console.log(normal.toArray());  // [0, 0, 1]
 */
export class Vec3 {
  x: Value;
  y: Value;
  z: Value;

  constructor(x: Operand, y: Operand, z: Operand) {
    this.x = operand(x);
    this.y = operand(y);
    this.z = operand(z);
  }

  /** Trainable components. */
  static W(x: number, y: number, z: number): Vec3 { return new Vec3(V.W(x), V.W(y), V.W(z)); }
  /** Constant components. */
  static C(x: number, y: number, z: number): Vec3 { return new Vec3(V.C(x), V.C(y), V.C(z)); }
  /** The same as {@link Vec3.C}. */
  static fromData(x: number, y: number, z: number): Vec3 { return Vec3.C(x, y, z); }
  static zero(): Vec3 { return Vec3.C(0, 0, 0); }
  static one(): Vec3 { return Vec3.C(1, 1, 1); }
  /** a · b */
  static dot(a: Vec3, b: Vec3): Value { return V.add(V.add(V.mul(a.x, b.x), V.mul(a.y, b.y)), V.mul(a.z, b.z)); }
  /** a × b */
  static cross(a: Vec3, b: Vec3): Vec3 {
    const minor = (p: Value, q: Value, r: Value, s: Value) => V.sub(V.mul(p, q), V.mul(r, s));
    return new Vec3(minor(a.y, b.z, a.z, b.y), minor(a.z, b.x, a.x, b.z), minor(a.x, b.y, a.y, b.x));
  }
  /** Angle between two vectors, in [0, π]; slopes 0 where they are parallel. */
  static angleBetween(a: Vec3, b: Vec3): Value { return V.atan2(Vec3.cross(a, b).magnitude, Vec3.dot(a, b)); }
  /** The part of a along b. */
  static project(a: Vec3, b: Vec3): Vec3 { return b.mul(V.div(Vec3.dot(a, b), b.sqrMagnitude)); }
  /** The part of a at right angles to b. */
  static reject(a: Vec3, b: Vec3): Vec3 { return a.sub(Vec3.project(a, b)); }
  /** a + (b − a)t */
  static lerp(a: Vec3, b: Vec3, t: Operand): Vec3 { return a.add(b.sub(a).mul(t)); }
  /** The smaller of each component; of equal ones that of a. */
  static min(a: Vec3, b: Vec3): Vec3 { return new Vec3(V.min(a.x, b.x), V.min(a.y, b.y), V.min(a.z, b.z)); }
  /** The larger of each component; of equal ones that of a. */
  static max(a: Vec3, b: Vec3): Vec3 { return new Vec3(V.max(a.x, b.x), V.max(a.y, b.y), V.max(a.z, b.z)); }
  /** ‖a − b‖ */
  static distance(a: Vec3, b: Vec3): Value { return a.sub(b).magnitude; }
  /** ‖a − b‖² */
  static sqrDistance(a: Vec3, b: Vec3): Value { return a.sub(b).sqrMagnitude; }

  add(other: Vec3): Vec3 { return new Vec3(V.add(this.x, other.x), V.add(this.y, other.y), V.add(this.z, other.z)); }
  sub(other: Vec3): Vec3 { return new Vec3(V.sub(this.x, other.x), V.sub(this.y, other.y), V.sub(this.z, other.z)); }
  mul(factor: Operand): Vec3 { return new Vec3(V.mul(this.x, factor), V.mul(this.y, factor), V.mul(this.z, factor)); }
  div(divisor: Operand): Vec3 { return new Vec3(V.div(this.x, divisor), V.div(this.y, divisor), V.div(this.z, divisor)); }
  /** ‖v‖, with slopes 0 at 0. */
  get magnitude(): Value { return V.sqrt(this.sqrMagnitude); }
  /** ‖v‖² */
  get sqrMagnitude(): Value { return V.add(V.add(V.square(this.x), V.square(this.y)), V.square(this.z)); }
  /** v/‖v‖. @throws `non-finite` at 0 */
  get normalized(): Vec3 { return this.div(this.magnitude); }
  /** The same as `normalized`, whose derivative is (I − nnᵀ)/‖v‖ as well. */
  normalizedCustomGrad(): Vec3 { return this.normalized; }
  /** The components. */
  get trainables(): Value[] { return [this.x, this.y, this.z]; }
  /** Constants of the same numbers. */
  clone(): Vec3 { return Vec3.C(this.x.data, this.y.data, this.z.data); }
  toArray(): number[] { return [this.x.data, this.y.data, this.z.data]; }
  toString(): string { return `Vec3(${this.x.data}, ${this.y.data}, ${this.z.data})`; }
}
