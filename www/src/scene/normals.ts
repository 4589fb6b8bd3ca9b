/** Normals of vertices at rest, before a problem has them: `normalTable` of `leastwise/mesh` computes those that move. */

/** Normals of positions in memory, weighted by area. */
export function normalsOnHost(positions: Float32Array, triangles: Uint32Array, normals: Float32Array): void {
  normals.fill(0);
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * triangles[t]!, b = 3 * triangles[t + 1]!, c = 3 * triangles[t + 2]!;
    const ux = positions[b]! - positions[a]!, uy = positions[b + 1]! - positions[a + 1]!, uz = positions[b + 2]! - positions[a + 2]!;
    const vx = positions[c]! - positions[a]!, vy = positions[c + 1]! - positions[a + 1]!, vz = positions[c + 2]! - positions[a + 2]!;
    const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
    for (const at of [a, b, c]) {
      normals[at]! += nx;
      normals[at + 1]! += ny;
      normals[at + 2]! += nz;
    }
  }
  for (let k = 0; k < normals.length; k += 3) {
    const length = Math.hypot(normals[k]!, normals[k + 1]!, normals[k + 2]!) || 1;
    normals[k]! /= length;
    normals[k + 1]! /= length;
    normals[k + 2]! /= length;
  }
}
