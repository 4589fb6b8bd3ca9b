/** Meshes of simple shapes. */
import { checked, real, takesNoMore, whole } from "../options.js";
import type { Mesh } from "./input.js";
import { midpoints } from "./subdivide.js";

const positive = real(0, Infinity, true);
const GRID = { columns: whole(1, 8192), rows: whole(1, 8192), width: positive, height: positive } as const;

/**
 * Rectangle in the plane z = 0, its corner in the origin, of `columns` × `rows` cells of two triangles each. Vertex (i, j) is
 * number j (columns + 1) + i, at (i width/columns, j height/rows, 0); normals point along z.
 *
 * Defaults: `rows` as many as columns, `width` and `height` 1.
 *
 * @throws `invalid-option` for an option that is out of range or unknown
 * @example
 * const sheet = grid({ columns: 20, rows: 10, width: 2 });
 */
export function grid(options: { columns: number; rows?: number; width?: number; height?: number }): Mesh {
  takesNoMore("grid(options)", 1, arguments);
  const { columns = 1, rows = columns, width = 1, height = 1 } = checked("grid(options): options", options, GRID, { prefix: "grid(options): " });
  const positions = new Float64Array(3 * (columns + 1) * (rows + 1)), triangles = new Uint32Array(6 * columns * rows);
  for (let j = 0; j <= rows; j++) {
    for (let i = 0; i <= columns; i++) positions.set([(i * width) / columns, (j * height) / rows, 0], 3 * (j * (columns + 1) + i));
  }
  for (let j = 0; j < rows; j++) {
    for (let i = 0; i < columns; i++) {
      const v = j * (columns + 1) + i, above = v + columns + 1;
      triangles.set([v, v + 1, above + 1, v, above + 1, above], 6 * (j * columns + i));
    }
  }
  return { positions, triangles };
}

const DISK = { rings: whole(1, 4096), radius: positive } as const;

/**
 * Disk in the plane z = 0 around the origin: ring k of `rings` has 6k vertices, at equal distances from each other, so that all
 * triangles are of about one size. 3n(n + 1) + 1 vertices, the centre first; normals point along z.
 *
 * `radius`: default 1.
 *
 * @throws `invalid-option` for an option that is out of range or unknown
 * @example
 * const round = disk({ rings: 8 });                        // 217 vertices
 */
export function disk(options: { rings: number; radius?: number }): Mesh {
  takesNoMore("disk(options)", 1, arguments);
  const { rings = 1, radius = 1 } = checked("disk(options): options", options, DISK, { prefix: "disk(options): " });
  const positions = [0, 0, 0], triangles: number[] = [];
  for (let k = 1; k <= rings; k++) {
    for (let i = 0; i < 6 * k; i++) positions.push(((radius * k) / rings) * Math.cos((Math.PI * i) / (3 * k)), ((radius * k) / rings) * Math.sin((Math.PI * i) / (3 * k)), 0);
  }
  // Number of vertex i, counted around, of ring k.
  const at = (k: number, i: number): number => (k === 0 ? 0 : 3 * k * (k - 1) + 1 + (i % (6 * k)));
  for (let k = 1; k <= rings; k++) {
    for (let side = 0; side < 6; side++) {
      for (let i = 0; i < k; i++) {
        const [outer, inner] = [side * k + i, side * (k - 1) + i];
        triangles.push(at(k, outer), at(k, outer + 1), at(k - 1, inner));
        if (i < k - 1) triangles.push(at(k, outer + 1), at(k - 1, inner + 1), at(k - 1, inner));
      }
    }
  }
  return { positions: Float64Array.from(positions), triangles: Uint32Array.from(triangles) };
}

const SPHERE = { subdivisions: whole(0, 9), radius: positive } as const;

const FACES = [
  0, 11, 5, 0, 5, 1, 0, 1, 7, 0, 7, 10, 0, 10, 11, 1, 5, 9, 5, 11, 4, 11, 10, 2, 10, 7, 6, 7, 1, 8,
  3, 9, 4, 3, 4, 2, 3, 2, 6, 3, 6, 8, 3, 8, 9, 4, 9, 5, 2, 4, 11, 6, 2, 10, 8, 6, 7, 9, 8, 1,
];

/**
 * Sphere around the origin: an icosahedron whose faces are split into four, `subdivisions` times, every new vertex being moved to
 * the sphere. 10·4ⁿ + 2 vertices and 20·4ⁿ faces; normals point outwards.
 *
 * `radius`: default 1.
 *
 * @throws `invalid-option` for an option that is out of range or unknown
 * @example
 * const ball = icosphere({ subdivisions: 4 });            // 2,562 vertices
 */
export function icosphere(options: { subdivisions: number; radius?: number }): Mesh {
  takesNoMore("icosphere(options)", 1, arguments);
  const { subdivisions = 0, radius = 1 } = checked("icosphere(options): options", options, SPHERE, { prefix: "icosphere(options): " });
  const g = (1 + Math.sqrt(5)) / 2;
  const corners = [-1, g, 0, 1, g, 0, -1, -g, 0, 1, -g, 0, 0, -1, g, 0, 1, g, 0, -1, -g, 0, 1, -g, g, 0, -1, g, 0, 1, -g, 0, -1, -g, 0, 1];
  let mesh: Mesh = { positions: onSphere(Float64Array.from(corners), radius), triangles: Uint32Array.from(FACES) };
  for (let n = 0; n < subdivisions; n++) {
    const { positions, triangles } = midpoints(mesh.positions, mesh.triangles);
    mesh = { positions: onSphere(positions, radius), triangles };
  }
  return mesh;
}

function onSphere(positions: Mesh["positions"], radius: number): Mesh["positions"] {
  for (let k = 0; k < positions.length; k += 3) {
    const factor = radius / Math.hypot(positions[k]!, positions[k + 1]!, positions[k + 2]!);
    for (let j = k; j < k + 3; j++) positions[j]! *= factor;
  }
  return positions;
}
