/** Square matrices of two and three rows. */
import { isA, LeastwiseError } from "./errors.js";
import { Expression, refuse, traceOf, write } from "./instruction.js";
import { Opcode } from "./opcodes.js";
import { component, isNum, Scalar, type Num } from "./scalar.js";
import { components, isVec, vecOf, Vec2, Vec3, type Vec, type VecOf } from "./vector.js";

/**
 * The matrix of `N` rows.
 *
 * @example
 * const volume = (m: MatOf<3>) => m.determinant();  // a Mat3
 */
export type MatOf<N extends 2 | 3> = N extends 2 ? Mat2 : Mat3;

/**
 * An `N`×`N` matrix: {@link Mat2}, {@link Mat3}.
 *
 * @example
 * const volume = (m: Mat<3>) => m.determinant();
 */
export abstract class Mat<N extends 2 | 3> extends Expression<`mat${N}`> {
  /** How many rows it has, and columns. */
  abstract readonly size: N;

  /** this · o: matrix times vector, matrix times matrix, or every entry by one scalar. */
  mul(o: Num): MatOf<N>;
  mul(o: MatOf<N>): MatOf<N>;
  mul(o: VecOf<N>): VecOf<N>;
  mul(o: Expression<unknown> | number): VecOf<N> | MatOf<N> {
    if (isVec(o, this.size)) return vecOf(this.owner, write(this.owner, Opcode.MatVec, [this, o]), this.size);
    if (isMat(o, this.size)) return this.like(write(this.owner, Opcode.MatMul, [this, o]));
    if (!isNum(o)) refuse("mul", [this, o], `a Mat${this.size}, and a number, a Scalar, a Vec${this.size} or a Mat${this.size}`);
    return this.like(write(this.owner, Opcode.Mul, [this, o]));
  }
  /** Every entry divided by o. Not finite where o is 0. */
  div(o: Num): MatOf<N> {
    if (!isNum(o)) refuse("div", [this, o], "a matrix, and a number or a scalar");
    return this.like(write(this.owner, Opcode.Div, [this, o]));
  }
  /** this + o */
  add(o: MatOf<N>): MatOf<N> { return entrywise("add", Opcode.Add, this, o); }
  /** this − o */
  sub(o: MatOf<N>): MatOf<N> { return entrywise("sub", Opcode.Sub, this, o); }
  /** −this */
  neg(): MatOf<N> { return this.like(write(this.owner, Opcode.Neg, [this])); }
  /** thisᵀ */
  transpose(): MatOf<N> { return this.like(write(this.owner, Opcode.Transpose, [this])); }
  /** det this */
  determinant(): Scalar { return new Scalar(this.owner, write(this.owner, Opcode.Determinant, [this])); }
  /** this⁻¹, by cofactors. Not finite where the determinant is 0. */
  inverse(): MatOf<N> { return this.like(write(this.owner, Opcode.Inverse, [this])); }
  /** The sum of the diagonal. */
  trace(): Scalar {
    const diagonal = Array.from({ length: this.size }, (_, i) => this.at(i, i));
    return new Scalar(this.owner, write(this.owner, Opcode.Sum, diagonal));
  }
  /** Row i, counted from 0. */
  row(i: number): VecOf<N> { return line(this, "row", i, (k) => i * this.size + k); }
  /** Column j, counted from 0. */
  column(j: number): VecOf<N> { return line(this, "column", j, (k) => k * this.size + j); }
  /** The entry of row i and column j, counted from 0. */
  at(i: number, j: number): Scalar {
    for (const index of [i, j]) checkIndex(this, `entry (${i}, ${j})`, index);
    return component(this, i * this.size + j);
  }

  /** @internal */ get what(): string { return `a Mat${this.size}`; }
  /** @internal */ abstract override like(value: number): MatOf<N>;
}

/**
 * A 2×2 matrix.
 *
 * @example
 * const area = (m: Mat2) => m.determinant();
 */
export class Mat2 extends Mat<2> {
  get size(): 2 { return 2; }
  /** @internal */ like(value: number): Mat2 { return new Mat2(this.owner, value); }
}

/**
 * A 3×3 matrix.
 *
 * @example
 * const moved = (m: Mat3, p: Vec3) => m.mul(p);
 */
export class Mat3 extends Mat<3> {
  get size(): 3 { return 3; }
  /** @internal */ like(value: number): Mat3 { return new Mat3(this.owner, value); }
}

function isMat<N extends 2 | 3>(operand: unknown, size: N): operand is MatOf<N> { return isA(operand, Mat) && operand.size === size; }

function entrywise<N extends 2 | 3>(name: string, opcode: Opcode, a: Mat<N>, b: MatOf<N>): MatOf<N> {
  if (!isMat(b, a.size)) refuse(name, [a, b], "two matrices of one size");
  return a.like(write(a.owner, opcode, [a, b]));
}

function line<N extends 2 | 3>(m: Mat<N>, name: string, index: number, place: (k: number) => number): VecOf<N> {
  checkIndex(m, `${name} ${index}`, index);
  return components(m, Array.from({ length: m.size }, (_, k) => place(k))) as unknown as VecOf<N>;
}

function checkIndex(m: Mat<2 | 3>, what: string, index: number): void {
  if (!Number.isInteger(index) || index < 0 || index >= m.size) {
    throw new LeastwiseError("shape", `${m.owner.title} asks for ${what} of ${m.what} (0 to ${m.size - 1})`, { term: m.owner.term });
  }
}

/**
 * The 2×2 matrix of these rows.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * mat2(vec(s, 0), vec(0, u)).determinant()
 */
export function mat2(first: Vec2, second: Vec2): Mat2 {
  const rows = checked("mat2", [first, second], 2);
  const trace = traceOf("mat2", rows);
  return new Mat2(trace, write(trace, Opcode.Pack, rows));
}

/**
 * The 3×3 matrix of these rows.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * mat3(a, b, c).determinant()  // the volume that three edges span
 */
export function mat3(first: Vec3, second: Vec3, third: Vec3): Mat3 {
  const rows = checked("mat3", [first, second, third], 3);
  const trace = traceOf("mat3", rows);
  return new Mat3(trace, write(trace, Opcode.Pack, rows));
}

function checked<V extends Vec<number>>(name: string, rows: readonly V[], size: number): readonly V[] {
  if (!rows.every((row) => isVec(row, size))) refuse(name, rows, `its ${size} rows, each a Vec${size}`);
  return rows;
}
