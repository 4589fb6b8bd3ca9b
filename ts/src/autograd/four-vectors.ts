/** Vectors of four values, w first. */
import { V, type Operand } from "./v.js";
import { operand, type Value } from "./value.js";

/**
 * A vector of four components, w first.
 *
 * @example
 * const q = Vec4.W(1, 0, 0, 0);
 * console.log(q.sqrMagnitude.data);  // 1
 */
export class Vec4 {
  w: Value;
  x: Value;
  y: Value;
  z: Value;

  constructor(w: Operand, x: Operand, y: Operand, z: Operand) {
    this.w = operand(w);
    this.x = operand(x);
    this.y = operand(y);
    this.z = operand(z);
  }

  /** Trainable components. */
  static W(w: number, x: number, y: number, z: number): Vec4 { return new Vec4(V.W(w), V.W(x), V.W(y), V.W(z)); }
  /** Constant components. */
  static C(w: number, x: number, y: number, z: number): Vec4 { return new Vec4(V.C(w), V.C(x), V.C(y), V.C(z)); }
  /** The same as {@link Vec4.C}. */
  static fromData(w: number, x: number, y: number, z: number): Vec4 { return Vec4.C(w, x, y, z); }
  static zero(): Vec4 { return Vec4.C(0, 0, 0, 0); }
  /** (1, 0, 0, 0) */
  static identity(): Vec4 { return Vec4.C(1, 0, 0, 0); }
  /** a · b */
  static dot(a: Vec4, b: Vec4): Value { return V.sum([V.mul(a.w, b.w), V.mul(a.x, b.x), V.mul(a.y, b.y), V.mul(a.z, b.z)]); }

  private map(of: (component: Value, k: number) => Value): Vec4 {
    const [w, x, y, z] = this.trainables.map(of) as [Value, Value, Value, Value];
    return new Vec4(w, x, y, z);
  }

  add(other: Vec4): Vec4 { return this.map((a, k) => V.add(a, other.trainables[k]!)); }
  sub(other: Vec4): Vec4 { return this.map((a, k) => V.sub(a, other.trainables[k]!)); }
  mul(factor: Operand): Vec4 { return this.map((a) => V.mul(a, factor)); }
  div(divisor: Operand): Vec4 { return this.map((a) => V.div(a, divisor)); }
  /** ‖v‖, with slopes 0 at 0. */
  get magnitude(): Value { return V.sqrt(this.sqrMagnitude); }
  /** ‖v‖² */
  get sqrMagnitude(): Value { return V.sum(this.trainables.map((a) => V.square(a))); }
  /** v/‖v‖. @throws `non-finite` at 0 */
  get normalized(): Vec4 { return this.div(this.magnitude); }
  /** The same as `normalized`, whose derivative is (I − nnᵀ)/‖v‖ as well. */
  normalizedCustomGrad(): Vec4 { return this.normalized; }
  /** The components. */
  get trainables(): Value[] { return [this.w, this.x, this.y, this.z]; }
  /** Constants of the same numbers. */
  clone(): Vec4 { return Vec4.C(this.w.data, this.x.data, this.y.data, this.z.data); }
  toArray(): number[] { return this.trainables.map(({ data }) => data); }
  toString(): string { return `Vec4(${this.toArray().join(", ")})`; }
}
