/** Linear algebra of matrices, which are the last two axes: what NumPy has in `linalg`. */
import { apply, mustBeTensor } from "./apply.js";
import { made } from "./composed.js";
import { mustBeTensors, type DType, type Kept, type Tensor } from "./tensor.js";

/**
 * Factors of {@link qr}.
 *
 * @example
 * const { q, r }: QRResult = qr(weights);
 */
export interface QRResult<D extends DType = "f32"> {
  /** Orthonormal columns, [.., m, n]. */
  readonly q: Tensor<D>;
  /** Upper triangle, [.., n, n]. */
  readonly r: Tensor<D>;
}

/**
 * Factors of {@link svd}.
 *
 * @example
 * const { u, s, vh }: SVDResult = svd(weights);
 */
export interface SVDResult<D extends DType = "f32"> {
  /** Left singular vectors as orthonormal columns, [.., m, k] with k the smaller of m and n. */
  readonly u: Tensor<D>;
  /** Singular values in descending order, [.., k]. */
  readonly s: Tensor<D>;
  /** Right singular vectors as orthonormal rows, [.., k, n]. */
  readonly vh: Tensor<D>;
}

/**
 * Eigenvalues and eigenvectors of {@link eigh}.
 *
 * @example
 * const { eigenvalues, eigenvectors }: EighResult = eigh(weights.matmul(weights.T));
 */
export interface EighResult<D extends DType = "f32"> {
  /** In ascending order, [.., n]. */
  readonly eigenvalues: Tensor<D>;
  /** Orthonormal columns, [.., n, n]. */
  readonly eigenvectors: Tensor<D>;
}

/** Rows of matrices that lie one below the other, from a first one to before another. */
const rows = <D extends DType>(x: Tensor<D>, from: number, to: number): Tensor<D> => x.slice(...x.shape.map((_, axis) => (axis === x.rank - 2 ? ([from, to] as const) : (":" as const))));

/**
 * X of A X = B, by elimination with partial pivoting: A [.., n, n] and B [.., n, k], whose batches broadcast, or B [n]. Where A is singular, X is not
 * finite. A workgroup of a GPU has a matrix.
 *
 * @throws `shape` for shapes that do not fit; `dtype` for kinds that differ; `foreign-tensor` for tensors of another engine
 * @example
 * const x = linearSolve(lw.tensor([[2, 1], [1, 3]]), lw.tensor([3, 4]));  // 1, 1
 */
export function linearSolve<D extends DType>(a: Kept<D>, b: Kept<NoInfer<D>>): Tensor<D> {
  mustBeTensors("linearSolve(a, b)", [a, b]);
  return apply("solve", [a, b as Kept<D>]);
}

/**
 * The lower triangle L of A = L Lᵀ, of the symmetric part of A [.., n, n]; it has NaN where that is not positive definite.
 *
 * @throws `shape` for matrices that are not square
 * @example
 * const l = cholesky(lw.tensor([[4, 2], [2, 5]]));  // 2, 0, 1, 2
 */
export function cholesky<D extends DType>(a: Kept<D>): Tensor<D> {
  mustBeTensor("cholesky(a)", "a", a);
  return apply("cholesky", [a as Kept<D>]);
}

/**
 * A = Q R of matrices [.., m, n] with m ≥ n, by Householder's reflections, with the signs of LAPACK and NumPy.
 *
 * @throws `shape` for matrices with fewer rows than columns
 * @example
 * const { q, r } = qr(weights);
 */
export function qr<D extends DType>(a: Kept<D>): QRResult<D> {
  const what = "qr(a)";
  mustBeTensor(what, "a", a);
  const m = a.shape.at(-2) ?? 0, n = a.shape.at(-1) ?? 0;
  const [q, r] = made(what, a, () => {
    const both = apply("qr", [a as Kept<D>]);
    return [rows(both, 0, m), rows(both, m, m + n)] as const;
  });
  return { q, r };
}

/**
 * A = U diag(s) Vᵀ of matrices [.., m, n], by one-sided Jacobi rotations (Demmel & Veselić 1992). Vectors are known up to their sign, where singular values
 * are equal up to a turn, and their gradients are large where these are close; those of the values never are.
 *
 * @throws `shape` for a tensor that has no matrices
 * @example
 * const { u, s, vh } = svd(weights);
 */
export function svd<D extends DType>(a: Kept<D>): SVDResult<D> {
  const what = "svd(a)";
  mustBeTensor(what, "a", a);
  const m = a.shape.at(-2) ?? 0, n = a.shape.at(-1) ?? 0, isWide = m < n, [long, short] = isWide ? [n, m] : [m, n];
  const [u, s, vh] = made(what, a, () => {
    const all = apply("svd", [isWide ? (a as Kept<D>).T : (a as Kept<D>)]) as Tensor<D>, left = rows(all, 0, long), right = rows(all, long + 1, long + 1 + short);
    return [isWide ? right : left, rows(all, long, long + 1).squeeze(-2), isWide ? left.T : right.T] as const;
  });
  return { u, s, vh };
}

/**
 * A = V diag(λ) Vᵀ of the symmetric part of A [.., n, n], by Jacobi rotations. Vectors are known up to their sign, where eigenvalues are equal up to a turn,
 * and their gradients are large where these are close; those of the values never are.
 *
 * @throws `shape` for matrices that are not square
 * @example
 * const { eigenvalues } = eigh(lw.tensor([[2, 1], [1, 2]]));  // 1, 3
 */
export function eigh<D extends DType>(a: Kept<D>): EighResult<D> {
  const what = "eigh(a)";
  mustBeTensor(what, "a", a);
  const n = a.shape.at(-1) ?? 0;
  const [eigenvalues, eigenvectors] = made(what, a, () => {
    const both = apply("eigh", [a as Kept<D>]) as Tensor<D>;
    return [rows(both, 0, 1).squeeze(-2), rows(both, 1, 1 + n)] as const;
  });
  return { eigenvalues, eigenvectors };
}
