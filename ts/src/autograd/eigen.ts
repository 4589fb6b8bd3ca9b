/** Smallest eigenvalue of a symmetric 3×3 matrix, with its vector, by cyclic Jacobi rotations. */

/** Sweeps over the three entries beside the diagonal; convergence is quadratic, and five are enough. */
const MOST_SWEEPS = 12;

/** Eigenvalue and unit eigenvector of (c00, c01, c02, c11, c12, c22). The first of equal ones on the diagonal. @internal */
export function smallestEigenpair(c: ArrayLike<number>): { value: number; vector: readonly [number, number, number] } {
  const a = [[c[0]!, c[1]!, c[2]!], [c[1]!, c[3]!, c[4]!], [c[2]!, c[4]!, c[5]!]];
  const v = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  for (let sweep = 0; sweep < MOST_SWEEPS; sweep++) {
    if (a[0]![1] === 0 && a[0]![2] === 0 && a[1]![2] === 0) break;
    rotate(a, v, 0, 1, 2);
    rotate(a, v, 0, 2, 1);
    rotate(a, v, 1, 2, 0);
  }
  let least = 0;
  for (let k = 1; k < 3; k++) if (a[k]![k]! < a[least]![least]!) least = k;
  return { value: a[least]![least]!, vector: [v[0]![least]!, v[1]![least]!, v[2]![least]!] };
}

/** Rotates rows and columns p and q so that their common entry is 0; r is the third. */
function rotate(a: number[][], v: number[][], p: number, q: number, r: number): void {
  const apq = a[p]![q]!, app = a[p]![p]!, aqq = a[q]![q]!;
  if (apq === 0) return;
  const small = Math.abs(apq);
  // Below rounding of both diagonal entries it is 0 already.
  if (Math.abs(app) + small === Math.abs(app) && Math.abs(aqq) + small === Math.abs(aqq)) {
    a[p]![q] = a[q]![p] = 0;
    return;
  }
  const theta = (aqq - app) / (2 * apq);
  const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const cos = 1 / Math.sqrt(t * t + 1), sin = t * cos;
  a[p]![p] = app - t * apq;
  a[q]![q] = aqq + t * apq;
  a[p]![q] = a[q]![p] = 0;
  const arp = a[r]![p]!, arq = a[r]![q]!;
  a[r]![p] = a[p]![r] = cos * arp - sin * arq;
  a[r]![q] = a[q]![r] = sin * arp + cos * arq;
  for (const row of v) {
    const vp = row[p]!, vq = row[q]!;
    row[p] = cos * vp - sin * vq;
    row[q] = sin * vp + cos * vq;
  }
}
