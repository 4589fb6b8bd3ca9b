/**
 * Manifolds that variables may lie on. A solver needs nothing of them but x ⊕ δ, the point that a step δ of the tangent
 * space at x leads to, with x ⊕ 0 = x; residuals are differentiated with respect to δ at 0. The engine derives both
 * symbolically. docs/MANIFOLDS.md has all of them in one table.
 *
 * Steps of the groups are on the right, x · exp δ, in x's own frame, as in Sophus and GTSAM, and in the order in which the
 * scalars are stored: rotation, then translation, then scale. Formulas are those of Solà, Deray & Atchuthan, "A micro Lie
 * theory for state estimation in robotics", 2018, and, of the sphere, of Hertzberg et al., "Integrating generic sensor
 * fusion algorithms with sound state representations through encapsulation of manifolds", Information Fusion 14, 2013.
 *
 * Values, as they are given and written, must lie on the manifold: a unit vector or quaternion whose length is off by more
 * than 1e-3, as one of zeros is, is refused (`shape`, with the `instance`); one that is nearer is divided by its length.
 * So are constants; data columns are taken as they are.
 */
import { isList, listOf } from "./arrays.js";
import { LeastwiseError, reading } from "./errors.js";
import { describe, wrap, writeOutputs, type Output, type Value } from "./expression.js";
import { So2, Se2, Se3, Sim3 } from "./motions.js";
import { Opcode } from "./opcodes.js";
import { shapeQuaternion, shapeSe2, shapeSe3, shapeSim3, shapeSo2, shapeSphere, shapeSubset, shapeTraced } from "./packed.js";
import { Quat } from "./quaternion.js";
import { ManifoldOf, type Instance, type Manifold } from "./shape.js";
import { Trace } from "./trace.js";
import { Words } from "./words.js";

/** Scalars of an instance, at most. */
const MAX_WIDTH = 1024;

function refuse(message: string): never {
  throw new LeastwiseError("shape", message);
}

function count(call: string, name: string, value: unknown, least: number, most: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) {
    refuse(`${call}: ${name} is a whole number from ${least} to ${most}, not ${typeof value === "number" ? value : describe(value)}`);
  }
  return value;
}

function vecAt<N extends number>(of: Instance, first: number, length: N): Value<N> {
  return wrap(of.trace, of.part(first, length), length);
}

function quatAt(of: Instance, first: number): Quat {
  return new Quat(of.trace, of.part(first, 4));
}

/**
 * Unit quaternions x, y, z, w, as in three.js: rotations of space. Four scalars, three degrees of freedom: q ⊕ δ = q · exp(δ/2),
 * the rotation by the rotation vector δ (radians) in q's own frame, then q. {@link Quat} in a residual function.
 * (Solà et al. 2018, appendix B. Ceres' `QuaternionManifold` takes w first and a step of half the size, from the left.)
 *
 * @example
 * const turn = problem.variables("turn", { shape: quaternion, values: [0, 0, 0, 1] });  // x, y, z, w
 */
export const quaternion: Manifold<Quat> = /* @__PURE__ */ new ManifoldOf("quaternion", 4, 3, /* @__PURE__ */ shapeQuaternion(), quatAt);

/**
 * SO(3), the rotations of space, stored as unit quaternions: the same as {@link quaternion}.
 *
 * @example
 * const turn = problem.variables("turn", { shape: so3, values: [0, 0, 0, 1] });
 */
export const so3: Manifold<Quat> = quaternion;

/**
 * SO(2), the rotations of the plane, stored as (cos φ, sin φ). Two scalars, one degree of freedom: φ ⊕ δ = φ + δ
 * (radians). {@link So2} in a residual function. (Solà et al. 2018, appendix A.)
 *
 * @example
 * const wheel = problem.variables("wheel", { shape: so2, values: [1, 0] });
 */
export const so2: Manifold<So2> = /* @__PURE__ */ new ManifoldOf("so2", 2, 1, /* @__PURE__ */ shapeSo2(), (of, first) => new So2(vecAt(of, first, 2)));

/**
 * SE(2), the rigid motions of the plane, stored as (cos φ, sin φ, x, y). Four scalars, three degrees of freedom: T ⊕ δ =
 * T · exp δ, with δ of an angle (radians) and a translation, in T's own frame. {@link Se2} in a residual function.
 * (Solà et al. 2018, appendix C.)
 *
 * @example
 * const robot = problem.variables("robot", { shape: se2, values: new Float64Array(4 * 10), count: 10 });
 */
export const se2: Manifold<Se2> = /* @__PURE__ */ new ManifoldOf("se2", 4, 3, /* @__PURE__ */ shapeSe2(), (of, first) => new Se2(new So2(vecAt(of, first, 2)), vecAt(of, first + 2, 2)));

/**
 * SE(3), the rigid motions of space, stored as a unit quaternion (x, y, z, w) and a translation. Seven scalars, six degrees
 * of freedom: T ⊕ δ = T · exp δ, with δ of a rotation vector (radians) and a translation, in T's own frame: a screw.
 * {@link Se3} in a residual function. (Solà et al. 2018, appendix D, where translations come first.) The record
 * `{ q: quaternion, t: 3 }` stores the same, but moves t by itself, in the world's frame.
 *
 * @example
 * const camera = problem.variables("camera", { shape: se3, values: [0, 0, 0, 1, 0, 0, 5] });
 */
export const se3: Manifold<Se3> = /* @__PURE__ */ new ManifoldOf("se3", 7, 6, /* @__PURE__ */ shapeSe3(), (of, first) => new Se3(quatAt(of, first), vecAt(of, first + 4, 3)));

/**
 * Sim(3), the similarities of space, stored as a unit quaternion (x, y, z, w), a translation and a scale s > 0. Eight
 * scalars, seven degrees of freedom: S ⊕ δ = S · exp δ, with δ of a rotation vector (radians), a translation and the
 * logarithm of the scale. {@link Sim3} in a residual function. (Strasdat, "Local accuracy and global consistency for
 * efficient visual SLAM", 2012, where translations come first.)
 *
 * @example
 * const alignment = problem.variables("alignment", { shape: sim3, values: [0, 0, 0, 1, 0, 0, 0, 1] });
 */
export const sim3: Manifold<Sim3> = /* @__PURE__ */ new ManifoldOf("sim3", 8, 7, /* @__PURE__ */ shapeSim3(), (of, first) => new Sim3(quatAt(of, first), vecAt(of, first + 4, 3), vecAt(of, first + 7, 1)));

/**
 * The unit vectors of `n` scalars, 2 to 1024: directions, normals. n − 1 degrees of freedom: x ⊕ δ lies ‖δ‖ (radians) away
 * on the great circle that leaves x in the direction of δ, which a Householder reflection puts into the plane tangent at x
 * (Hertzberg et al. 2013; Ceres' `SphereManifold`). A vector in a residual function.
 *
 * @throws `shape` unless `n` is a whole number from 2 to 1024
 * @example
 * const normals = problem.variables("normals", { shape: sphere(3), values: [0, 0, 1] });
 */
export function sphere<const N extends number>(n: N): Manifold<Value<N>> {
  count("sphere(n)", "n", n, 2, MAX_WIDTH);
  return new ManifoldOf(`sphere(${n})`, n, n - 1, shapeSphere(n), (of, first) => vecAt(of, first, n));
}

/**
 * `n` scalars of which some, `constant`, stay as they are in every instance: x ⊕ δ = x + δ in the others (Ceres'
 * `SubsetManifold`). What differs from instance to instance, or changes, is {@link Variables.fix}'s. A vector in a residual function.
 *
 * @throws `shape` unless `n` and the components are whole numbers in range
 * @example
 * const onFloor = problem.variables("onFloor", { shape: subset(3, [1]), values: [0, 0, 0] });  // y stays
 */
export function subset<const N extends number>(n: N, constant: readonly number[]): Manifold<Value<N>> {
  const call = "subset(n, constant)";
  count(call, "n", n, 1, MAX_WIDTH);
  if (!isList(constant)) refuse(`${call}: constant is an array of components (0, 1, …), not ${describe(constant)}`);
  const components = listOf(`${call}: constant`, constant, "is an array of components (0, 1, …)");
  for (const component of components) count(call, "a component", component, 0, n - 1);
  const still = [...new Set(components as readonly number[])].sort((a, b) => a - b);
  if (still.length === n) refuse(`${call}: every component is constant: use problem.constants for what never moves`);
  return new ManifoldOf(`subset(${n}, [${still.join(", ")}])`, n, n - still.length, shapeSubset(n, still), (of, first) => vecAt(of, first, n));
}

/**
 * Definition of a {@link manifold}.
 *
 * @example
 * const exponential: Retraction<1, 1> = { ambient: 1, tangent: 1, retract: (x, delta) => x.mul(exp(delta)) };
 * const positive = manifold(exponential);
 */
export interface Retraction<A extends number, T extends number> {
  /** Scalars of an instance: 1 to 1024. */
  readonly ambient: A;
  /** Degrees of freedom: 1 to `ambient`. */
  readonly tangent: T;
  /** x ⊕ δ: as many scalars as x has, in one expression or an array of them. */
  readonly retract: (x: Value<A>, delta: Value<T>) => Output | readonly Output[];
}

/**
 * A manifold of your own: `retract` gives x ⊕ δ. It is traced once, and differentiated at δ = 0, so it must be smooth there
 * and give back x; every component of δ must move something. `x` is a vector in residual functions.
 *
 * ```ts
 * // Positive numbers, by factors: x ⊕ δ = x exp δ.
 * const positive = manifold({ ambient: 1, tangent: 1, retract: (x, d) => x.mul(exp(d)) });
 * ```
 *
 * Values that are given must lie on the manifold: where x ⊕ 0 is another point by more than 1e-3 they are refused. A function
 * that gives another number of scalars, or ignores a component of δ, is refused when a variable is made of it (`shape`).
 *
 * @throws `shape` unless `ambient` and `tangent` are whole numbers, and `retract` gives `ambient` scalars
 * @example
 * const positive = manifold({ ambient: 1, tangent: 1, retract: (x, delta) => x.mul(exp(delta)) });
 * const rate = problem.variables("rate", { shape: positive, values: [0.5] });
 */
export function manifold<const A extends number, const T extends number>(made: Retraction<A, T>): Manifold<Value<A>> {
  const call = "manifold({ ambient, tangent, retract })";
  if (typeof made !== "object" || made === null) refuse(`${call} takes an object, not ${describe(made)}`);
  const { ambient, tangent, retract } = reading(call, () => ({ ambient: made.ambient, tangent: made.tangent, retract: made.retract }));
  count(call, "ambient", ambient, 1, MAX_WIDTH);
  count(call, "tangent", tangent, 1, ambient);
  if (typeof retract !== "function") refuse(`${call}: retract is a function of x and δ, not ${describe(retract)}`);
  const [tape, outputs] = [new Words(), new Words()];
  const trace = new Trace("manifold(…)", tape);
  const input = <N extends number>(source: number, width: N): Value<N> => wrap(trace, trace.write1(Opcode.Input, source), width);
  const returned: unknown = trace.run(retract, input(0, ambient), input(1, tangent));
  writeOutputs(returned, trace, outputs);
  const packed = shapeTraced(ambient, tangent, tape.all, outputs.all);
  return new ManifoldOf(`manifold(${ambient}, ${tangent})`, ambient, tangent, packed, (of, first) => vecAt(of, first, ambient));
}
