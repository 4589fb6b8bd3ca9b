/** Quadrics: sums of weighted squared distances from planes, xᵀAx + 2bᵀx + c, ten numbers a vertex. */
import type { F64 } from "../arrays.js";

/** Numbers of a quadric: the upper half of A, row by row, b and c. @internal */
export const QUADRIC = 10;

/** Adds weight · (n·x + d)² to the quadric of vertex v. @internal */
export function addPlane(quadrics: F64, v: number, nx: number, ny: number, nz: number, d: number, weight: number): void {
  const at = QUADRIC * v;
  quadrics[at]! += weight * nx * nx;
  quadrics[at + 1]! += weight * nx * ny;
  quadrics[at + 2]! += weight * nx * nz;
  quadrics[at + 3]! += weight * ny * ny;
  quadrics[at + 4]! += weight * ny * nz;
  quadrics[at + 5]! += weight * nz * nz;
  quadrics[at + 6]! += weight * nx * d;
  quadrics[at + 7]! += weight * ny * d;
  quadrics[at + 8]! += weight * nz * d;
  quadrics[at + 9]! += weight * d * d;
}

const sum = new Float64Array(QUADRIC);

function errorAt(x: number, y: number, z: number): number {
  const q = sum;
  return x * (q[0]! * x + 2 * (q[1]! * y + q[2]! * z + q[6]!)) + y * (q[3]! * y + 2 * (q[4]! * z + q[7]!)) + z * (q[5]! * z + 2 * q[8]!) + q[9]!;
}

/**
 * Point of the least error of both quadrics, where their matrix is well conditioned; otherwise the best of both vertices and their
 * midpoint. Gives the error.
 *
 * @internal
 */
export function bestPoint(quadrics: F64, places: F64, a: number, b: number, point: F64): number {
  for (let k = 0; k < QUADRIC; k++) sum[k] = quadrics[QUADRIC * a + k]! + quadrics[QUADRIC * b + k]!;
  const [xx, xy, xz, yy, yz, zz, bx, by, bz] = sum as unknown as [number, number, number, number, number, number, number, number, number];
  const [cx, cy, cz] = [yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy];
  const det = xx * cx + xy * cy + xz * cz, trace = xx + yy + zz;
  const [p, q] = [3 * a, 3 * b];
  const [mx, my, mz] = [(places[p]! + places[q]!) / 2, (places[p + 1]! + places[q + 1]!) / 2, (places[p + 2]! + places[q + 2]!) / 2];
  if (det > 1e-6 * trace * trace * trace) {
    point[0] = -(cx * bx + cy * by + cz * bz) / det;
    point[1] = -(cy * bx + (xx * zz - xz * xz) * by + (xy * xz - xx * yz) * bz) / det;
    point[2] = -(cz * bx + (xy * xz - xx * yz) * by + (xx * yy - xy * xy) * bz) / det;
    const length = (places[q]! - places[p]!) ** 2 + (places[q + 1]! - places[p + 1]!) ** 2 + (places[q + 2]! - places[p + 2]!) ** 2;
    // A point far off says that the planes are nearly parallel after all.
    if ((point[0]! - mx) ** 2 + (point[1]! - my) ** 2 + (point[2]! - mz) ** 2 <= 4 * length) return errorAt(point[0]!, point[1]!, point[2]!);
  }
  let best = errorAt(mx, my, mz);
  point.set([mx, my, mz]);
  for (const k of [p, q]) {
    const error = errorAt(places[k]!, places[k + 1]!, places[k + 2]!);
    if (error >= best) continue;
    best = error;
    point.set(places.subarray(k, k + 3));
  }
  return best;
}
