/**
 * Rotations and motions as residual functions get them from variables on {@link so2}, {@link se2}, {@link se3} and
 * {@link sim3}: what the groups do to points, and to each other. Compositions are on the right, as of matrices:
 * `a.mul(b)` is b, then a.
 */
import { atan2, reciprocal } from "./functions.js";
import { refuse } from "./instruction.js";
import type { Quat } from "./quaternion.js";
import type { Scalar } from "./scalar.js";
import { isVec, vec, type Vec2, type Vec3 } from "./vector.js";

/**
 * A rotation of the plane, by the angle φ.
 *
 * @example
 * const turned = (wheel: So2, p: Vec2) => wheel.rotate(p);
 */
export class So2 {
  /** The unit vector (cos φ, sin φ). */
  readonly cs: Vec2;
  /** @internal */
  constructor(cs: Vec2) { this.cs = cs; }

  /** cos φ */
  get cos(): Scalar { return this.cs.x; }
  /** sin φ */
  get sin(): Scalar { return this.cs.y; }
  /** φ, in (−π, π]. It jumps where the cosine is −1. */
  angle(): Scalar { return atan2(this.sin, this.cos); }
  /** v, rotated by φ. */
  rotate(v: Vec2): Vec2 {
    if (!isVec(v, 2)) refuse("rotate", [v], "a Vec2");
    return vec(v.x.mul(this.cos).sub(v.y.mul(this.sin)), v.x.mul(this.sin).add(v.y.mul(this.cos)));
  }
  /** The rotation by the sum of both angles. */
  mul(o: So2): So2 {
    if (!(o instanceof So2)) refuse("mul", [o], "a So2");
    return new So2(this.rotate(o.cs));
  }
  /** The rotation by −φ. */
  inverse(): So2 { return new So2(vec(this.cos, this.sin.neg())); }
}

/**
 * A rigid motion of the plane: p ↦ R p + t.
 *
 * @example
 * const seen = (robot: Se2, landmark: Vec2) => robot.inverse().transform(landmark);
 */
export class Se2 {
  /** The rotation R. */
  readonly r: So2;
  /** The translation t. */
  readonly t: Vec2;
  /** @internal */
  constructor(r: So2, t: Vec2) {
    this.r = r;
    this.t = t;
  }

  /** R p + t */
  transform(p: Vec2): Vec2 {
    if (!isVec(p, 2)) refuse("transform", [p], "a Vec2");
    return this.r.rotate(p).add(this.t);
  }
  /** o, then this. */
  mul(o: Se2): Se2 {
    if (!(o instanceof Se2)) refuse("mul", [o], "a Se2");
    return new Se2(this.r.mul(o.r), this.transform(o.t));
  }
  /** p ↦ R⁻¹(p − t) */
  inverse(): Se2 {
    const r = this.r.inverse();
    return new Se2(r, r.rotate(this.t).neg());
  }
}

/**
 * A rigid motion of space, p ↦ q p q⁻¹ + t, by a unit quaternion and a translation.
 *
 * @example
 * const seen = (camera: Se3, p: Vec3) => camera.transform(p);
 */
export class Se3 {
  /** The rotation, a unit quaternion. */
  readonly q: Quat;
  /** The translation. */
  readonly t: Vec3;
  /** @internal */
  constructor(q: Quat, t: Vec3) {
    this.q = q;
    this.t = t;
  }

  /** q p q⁻¹ + t */
  transform(p: Vec3): Vec3 {
    if (!isVec(p, 3)) refuse("transform", [p], "a Vec3");
    return this.q.rotate(p).add(this.t);
  }
  /** o, then this. */
  mul(o: Se3): Se3 {
    if (!(o instanceof Se3)) refuse("mul", [o], "a Se3");
    return new Se3(this.q.mul(o.q), this.transform(o.t));
  }
  /** p ↦ q⁻¹ (p − t) q */
  inverse(): Se3 {
    const q = this.q.conjugate();
    return new Se3(q, q.rotate(this.t).neg());
  }
}

/**
 * A similarity of space, p ↦ s q p q⁻¹ + t, by a unit quaternion, a translation and a scale s > 0.
 *
 * @example
 * const aligned = (motion: Sim3, p: Vec3) => motion.transform(p);
 */
export class Sim3 {
  /** The rotation, a unit quaternion. */
  readonly q: Quat;
  /** The translation. */
  readonly t: Vec3;
  /** The scale. */
  readonly s: Scalar;
  /** @internal */
  constructor(q: Quat, t: Vec3, s: Scalar) {
    this.q = q;
    this.t = t;
    this.s = s;
  }

  /** s q p q⁻¹ + t */
  transform(p: Vec3): Vec3 {
    if (!isVec(p, 3)) refuse("transform", [p], "a Vec3");
    return this.q.rotate(p).mul(this.s).add(this.t);
  }
  /** o, then this. */
  mul(o: Sim3): Sim3 {
    if (!(o instanceof Sim3)) refuse("mul", [o], "a Sim3");
    return new Sim3(this.q.mul(o.q), this.transform(o.t), this.s.mul(o.s));
  }
  /** p ↦ q⁻¹ (p − t) q / s */
  inverse(): Sim3 {
    const q = this.q.conjugate();
    return new Sim3(q, q.rotate(this.t).div(this.s).neg(), reciprocal(this.s));
  }
}
