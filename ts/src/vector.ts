/** Vectors of any size; those of 2, 3 and 4 have named components. */
import { isA, LeastwiseError } from "./errors.js";
import { Expression, refuse, traceOf, write } from "./instruction.js";
import { Opcode } from "./opcodes.js";
import { checkNums, component, isNum, Scalar, type Num } from "./scalar.js";
import type { Trace } from "./trace.js";

/**
 * What an element of `N` scalars is in a residual function.
 *
 * @example
 * const polynomial = (s: Scalar, coefficients: Value<4>) => coefficients.x.add(coefficients.y.mul(s));
 */
export type Value<N extends number> = N extends 1 ? Scalar : VecOf<N>;
/**
 * The vector of `N` scalars.
 *
 * @example
 * const halved = (v: VecOf<3>) => v.mul(0.5);  // a Vec3
 */
export type VecOf<N extends number> = N extends 2 ? Vec2 : N extends 3 ? Vec3 : N extends 4 ? Vec4 : Vec<N>;

/**
 * `N` numbers an instance.
 *
 * @example
 * const length = (v: Vec<5>) => v.norm();
 */
export class Vec<N extends number> extends Expression<N> {
  /** How many scalars it has. */
  readonly length: N;

  /** @internal */
  constructor(owner: Trace, value: number, length: N) {
    super(owner, value);
    this.length = length;
  }

  /** this + o, elementwise. */
  add(o: Vec<N>): VecOf<N> { return elementwise("add", Opcode.Add, this, o); }
  /** this − o, elementwise. */
  sub(o: Vec<N>): VecOf<N> { return elementwise("sub", Opcode.Sub, this, o); }
  /** this · o: every element by one scalar, or elementwise. */
  mul(o: Num | Vec<N>): VecOf<N> { return scaled("mul", Opcode.Mul, this, o); }
  /** this / o: every element by one scalar, or elementwise. Not finite where o is 0. */
  div(o: Num | Vec<N>): VecOf<N> { return scaled("div", Opcode.Div, this, o); }
  /** −this */
  neg(): VecOf<N> { return this.like(write(this.owner, Opcode.Neg, [this])); }
  /** Σ thisᵢ oᵢ */
  dot(o: Vec<N>): Scalar { return dot(this, o); }
  /** √(Σ thisᵢ²), whose derivative at 0 is 0. */
  norm(): Scalar { return norm(this); }
  /** Σ thisᵢ² */
  normSq(): Scalar { return new Scalar(this.owner, write(this.owner, Opcode.NormSq, [this])); }
  /** this / ‖this‖; 0, with derivative 0, at 0. */
  normalize(): VecOf<N> { return normalize<N>(this); }
  /** Element i, counted from 0. */
  at(i: number): Scalar {
    if (!Number.isInteger(i) || i < 0 || i >= this.length) {
      throw new LeastwiseError("shape", `${this.owner.title} asks for element ${i} of a vector of ${this.length} (0 to ${this.length - 1})`, { term: this.owner.term });
    }
    return component(this, i);
  }

  /** @internal */ get what(): string { return `a ${vectorName(this.length)}`; }
  /** @internal */ like(value: number): VecOf<N> { return vecOf(this.owner, value, this.length); }
}

/**
 * Two numbers an instance: x and y, elements 0 and 1.
 *
 * @example
 * const turned = (v: Vec2) => vec(v.y.neg(), v.x);
 */
export class Vec2 extends Vec<2> {
  get x(): Scalar { return component(this, 0); }
  get y(): Scalar { return component(this, 1); }
  /** x·o.y − y·o.x */
  cross(o: Vec2): Scalar { return cross(this, o); }
}

/**
 * Three numbers an instance: x, y and z, elements 0 to 2; `xy`, `xz` and `yz` are vectors of two of them.
 *
 * @example
 * const stretch = (a: Vec3, b: Vec3, rest: Scalar) => a.sub(b).norm().sub(rest);
 */
export class Vec3 extends Vec<3> {
  get x(): Scalar { return component(this, 0); }
  get y(): Scalar { return component(this, 1); }
  get z(): Scalar { return component(this, 2); }
  get xy(): Vec2 { return components(this, [0, 1]); }
  get xz(): Vec2 { return components(this, [0, 2]); }
  get yz(): Vec2 { return components(this, [1, 2]); }
  /** this × o */
  cross(o: Vec3): Vec3 { return cross(this, o); }
}

/**
 * Four numbers an instance: x, y, z and w, elements 0 to 3; `xy`, `zw` and `xyz` are vectors of some. No quaternion: {@link quat} makes one of it.
 *
 * @example
 * const plane = (p: Vec3, n: Vec4) => p.x.mul(n.x).add(p.y.mul(n.y)).add(p.z.mul(n.z)).add(n.w);
 */
export class Vec4 extends Vec<4> {
  get x(): Scalar { return component(this, 0); }
  get y(): Scalar { return component(this, 1); }
  get z(): Scalar { return component(this, 2); }
  get w(): Scalar { return component(this, 3); }
  get xy(): Vec2 { return components(this, [0, 1]); }
  get zw(): Vec2 { return components(this, [2, 3]); }
  get xyz(): Vec3 { return components(this, [0, 1, 2]); }
}

/** Name of a vector's type. @internal */
export const vectorName = (length: number): string => (length > 1 && length < 5 ? `Vec${length}` : `Vec<${length}>`);

function elementwise<N extends number>(name: string, opcode: Opcode, a: Vec<N>, b: Vec<N>): VecOf<N> {
  if (!isVec(b, a.length)) refuse(name, [a, b], "two vectors of one size");
  return a.like(write(a.owner, opcode, [a, b]));
}

function scaled<N extends number>(name: string, opcode: Opcode, a: Vec<N>, b: Num | Vec<N>): VecOf<N> {
  if (!isNum(b) && !isVec(b, a.length)) refuse(name, [a, b], "a vector, and a number, a scalar or a vector of that size");
  return a.like(write(a.owner, opcode, [a, b]));
}

/** @internal */
export function isVec(operand: unknown, length?: number): operand is Vec<number> {
  return isA(operand, Vec) && (length === undefined || operand.length === length);
}

/** A vector of `length` scalars. @internal */
export function vecOf<N extends number>(owner: Trace, value: number, length: N): VecOf<N> {
  const made =
    length === 2 ? new Vec2(owner, value, 2)
    : length === 3 ? new Vec3(owner, value, 3)
    : length === 4 ? new Vec4(owner, value, 4)
    : new Vec(owner, value, length);
  return made as unknown as VecOf<N>;
}

/** An expression of `length` scalars. @internal */
export function wrap<N extends number>(owner: Trace, value: number, length: N): Value<N> {
  return (length === 1 ? new Scalar(owner, value) : vecOf(owner, value, length)) as Value<N>;
}

/** The vector of some of an expression's scalars. @internal */
export function components<const I extends readonly number[]>(of: Expression<unknown>, indices: I): VecOf<I["length"]> {
  return vecOf<I["length"]>(of.owner, write(of.owner, Opcode.Pack, indices.map((i) => component(of, i))), indices.length);
}

function pack(name: string, items: readonly Num[]): Vec<number> {
  checkNums(name, items);
  const trace = traceOf(name, items);
  return vecOf(trace, write(trace, Opcode.Pack, items), items.length);
}

/**
 * The vector of two, three or four components: `vec(x, y, z)`.
 *
 * @throws `shape` for other numbers of items and other kinds; `non-finite` for numbers that are; `foreign-expression` outside of a residual function
 * @example
 * vec(s, u, 1)  // a Vec3
 */
export function vec(x: Num, y: Num): Vec2;
export function vec(x: Num, y: Num, z: Num): Vec3;
export function vec(x: Num, y: Num, z: Num, w: Num): Vec4;
export function vec(...items: readonly Num[]): Vec<number> {
  if (items.length < 2 || items.length > 4) refuse("vec", [...items], "two, three or four numbers and scalars; vector([…]) takes any number of them");
  return pack("vec", items);
}

/**
 * The vector of these components, as many as there are (1 to 4096): `vector(list)`.
 *
 * @throws `shape` for other kinds of items; `non-finite` for numbers that are; `foreign-expression` outside of a residual function
 * @example
 * vector([s, u, s.mul(u), 1, 0])  // a Vec<5>
 */
export function vector<const T extends readonly Num[]>(items: T): VecOf<T["length"]> {
  if (!Array.isArray(items)) refuse("vector", [items], "an array of numbers and scalars");
  return pack("vector", items) as VecOf<T["length"]>;
}

/**
 * Σ aᵢ bᵢ
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * dot(a, b)
 */
export function dot<N extends number>(a: Vec<N>, b: Vec<NoInfer<N>>): Scalar {
  if (!isVec(a) || !isVec(b, a.length)) refuse("dot", [a, b], "two vectors of one size");
  return new Scalar(a.owner, write(a.owner, Opcode.Dot, [a, b]));
}

/**
 * a × b for 3-vectors; the scalar a.x·b.y − a.y·b.x for 2-vectors.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * cross(b.sub(a), c.sub(a))  // twice the area, along the normal
 */
export function cross(a: Vec3, b: Vec3): Vec3;
export function cross(a: Vec2, b: Vec2): Scalar;
export function cross(a: Vec2 | Vec3, b: Vec2 | Vec3): Scalar | Vec3 {
  if (!isVec(a) || a.length > 3 || a.length < 2 || !isVec(b, a.length)) refuse("cross", [a, b], "two Vec3, or two Vec2");
  return wrap(a.owner, write(a.owner, Opcode.Cross, [a, b]), a.length === 2 ? 1 : 3);
}

/**
 * ‖a‖ = √(Σ aᵢ²), whose derivative at 0 is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * norm(a).sub(1)  // a on the unit sphere
 */
export function norm(a: Vec<number>): Scalar {
  if (!isVec(a)) refuse("norm", [a], "a vector");
  return new Scalar(a.owner, write(a.owner, Opcode.Norm, [a]));
}

/**
 * a / ‖a‖; 0, with derivative 0, at 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * normalize(b.sub(a))  // the direction from a to b
 */
export function normalize<N extends number>(a: Vec<N>): VecOf<N> {
  if (!isVec(a)) refuse("normalize", [a], "a vector");
  return a.like(write(a.owner, Opcode.Normalize, [a])) as VecOf<N>;
}

/**
 * ‖a − b‖, whose derivative where a = b is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * distance(a, b).sub(1)  // a rod of length 1
 */
export function distance<N extends number>(a: Vec<N>, b: Vec<NoInfer<N>>): Scalar {
  if (!isVec(a) || !isVec(b, a.length)) refuse("distance", [a, b], "two vectors of one size");
  return new Scalar(a.owner, write(a.owner, Opcode.Distance, [a, b]));
}

/**
 * The angle between two directions, in [0, π]: atan2(‖a × b‖, a · b), exact for nearly parallel ones too. 0 where one
 * of them is 0. The derivative where they are parallel is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * angleBetween(a.sub(b), c.sub(b))  // the angle at b
 */
export function angleBetween<V extends Vec2 | Vec3>(a: V, b: NoInfer<V>): Scalar {
  if (!isVec(a) || (a as Vec<number>).length > 3 || (a as Vec<number>).length < 2 || !isVec(b, (a as Vec<number>).length)) refuse("angleBetween", [a, b], "two Vec3, or two Vec2");
  return new Scalar(a.owner, write(a.owner, Opcode.AngleBetween, [a, b]));
}
