/** Dense factorizations in f64, for few unknowns: Cholesky of JᵀJ + λI, and Householder QR of J with √λ I below it. */
import type { SparseJacobian } from "./compiled.js";

/** JᵀJ, row by row: its lower triangle. @internal */
export function denseNormal({ starts, columns, values }: SparseJacobian, size: number): Float64Array {
  const normal = new Float64Array(size * size);
  for (let row = 0; row + 1 < starts.length; row++) {
    for (let a = starts[row]!; a < starts[row + 1]!; a++) {
      for (let b = starts[row]!; b < starts[row + 1]!; b++) {
        if (columns[b]! > columns[a]!) continue;
        const at = columns[a]! * size + columns[b]!;
        normal[at] = normal[at]! + values[a]! * values[b]!;
      }
    }
  }
  return normal;
}

/** Solves (A + λI)x = b by Cholesky; undefined where the matrix is not positive definite. @internal */
export function solveCholesky(normal: Float64Array, damping: number, right: Float64Array): Float64Array | undefined {
  const size = right.length, l = normal.slice(), x = right.slice();
  for (let j = 0; j < size; j++) {
    let d = l[j * size + j]! + damping;
    for (let k = 0; k < j; k++) d -= l[j * size + k]! ** 2;
    // A diagonal of which rounding alone is left is no pivot.
    if (!(d > 1e-15 * (l[j * size + j]! + damping))) return undefined;
    const pivot = (l[j * size + j] = Math.sqrt(d));
    for (let i = j + 1; i < size; i++) {
      let sum = l[i * size + j]!;
      for (let k = 0; k < j; k++) sum -= l[i * size + k]! * l[j * size + k]!;
      l[i * size + j] = sum / pivot;
    }
  }
  for (let i = 0; i < size; i++) {
    let sum = x[i]!;
    for (let k = 0; k < i; k++) sum -= l[i * size + k]! * x[k]!;
    x[i] = sum / l[i * size + i]!;
  }
  for (let i = size - 1; i >= 0; i--) {
    let sum = x[i]!;
    for (let k = i + 1; k < size; k++) sum -= l[k * size + i]! * x[k]!;
    x[i] = sum / l[i * size + i]!;
  }
  return x;
}

/** Solves min ‖Jx + r‖² + λ‖x‖² by Householder reflections; undefined where the columns are dependent. @internal */
export function solveQr({ starts, columns, values }: SparseJacobian, damping: number, residuals: Float64Array, size: number): Float64Array | undefined {
  const rows = residuals.length + size, a = Array.from({ length: size }, () => new Float64Array(rows)), b = new Float64Array(rows);
  for (let row = 0; row < residuals.length; row++) {
    b[row] = -residuals[row]!;
    for (let k = starts[row]!; k < starts[row + 1]!; k++) a[columns[k]!]![row]! += values[k]!;
  }
  for (let k = 0; k < size; k++) a[k]![residuals.length + k] = Math.sqrt(damping);
  const norms = a.map((column) => Math.sqrt(dot(column, column, 0)));
  const diagonal = new Float64Array(size);
  for (let j = 0; j < size; j++) {
    const v = a[j]!, norm = Math.sqrt(dot(v, v, j));
    if (!(norm > 1e-14 * norms[j]!)) return undefined;
    const alpha = v[j]! > 0 ? -norm : norm;
    diagonal[j] = alpha;
    v[j] = v[j]! - alpha;
    const scale = 2 / dot(v, v, j);
    for (const other of [...a.slice(j + 1), b]) {
      const by = scale * dot(v, other, j);
      for (let i = j; i < rows; i++) other[i] = other[i]! - by * v[i]!;
    }
  }
  const x = new Float64Array(size);
  for (let i = size - 1; i >= 0; i--) {
    let sum = b[i]!;
    for (let k = i + 1; k < size; k++) sum -= a[k]![i]! * x[k]!;
    x[i] = sum / diagonal[i]!;
  }
  return x;
}

function dot(a: Float64Array, b: Float64Array, from: number): number {
  let sum = 0;
  for (let k = from; k < a.length; k++) sum += a[k]! * b[k]!;
  return sum;
}
