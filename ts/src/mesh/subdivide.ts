/** Subdivision of every face into four. */
import type { F64 } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { checked, oneOf, takesNoMore, whole } from "../options.js";
import { halfEdgesOf, previous, type HalfEdges } from "./half-edges.js";
import { meshOf, MOST_VERTICES, mustHaveCorners, type Mesh, type MeshLike } from "./input.js";

const SUBDIVIDE = { scheme: oneOf("midpoint", "loop"), times: whole(0, 12) } as const;

/**
 * Subdivision: every face (u, v, w) becomes (u, uv, wu), (v, vw, uv), (w, wu, vw), (uv, vw, wu). Old vertices keep their numbers;
 * the new ones follow in the order of the edges.
 *
 * - `"midpoint"`: new vertices in the middle of edges; the surface stays as it is.
 * - `"loop"`: the smooth scheme of Loop (1987): edges 3/8, 3/8, 1/8, 1/8, vertices (1 − nβ) and β. Boundaries, and edges of three
 *   faces or more, are creases: they become cubic B-splines. A vertex of one such edge, or of more than two, stays.
 *
 * Defaults: `scheme` `"midpoint"`, `times` 1.
 *
 * @throws `data-length`, `index-out-of-range` or `non-finite` for what is no mesh, naming the vertex or the face; `shape` for a face that names a vertex twice; `limits` for a mesh that would be too large
 * @example
 * const smooth = subdivide(mesh, { scheme: "loop", times: 2 });
 */
export function subdivide(mesh: MeshLike, options: { scheme?: "midpoint" | "loop"; times?: number } = {}): Mesh {
  const call = "subdivide(mesh, options)";
  takesNoMore(call, 2, arguments);
  const { scheme = "midpoint", times = 1 } = checked(`${call}: options`, options, SUBDIVIDE, { prefix: `${call}: ` });
  const { positions, faces, vertices } = meshOf(call, mesh);
  mustHaveCorners(call, faces);
  if ((vertices + faces.length) * 4 ** times > MOST_VERTICES) throw new LeastwiseError("limits", `${call}: ${faces.length / 3} faces would become ${(faces.length / 3) * 4 ** times}, and at most ${MOST_VERTICES} vertices are taken`);
  let made: Mesh = { positions: positions.slice(), triangles: faces.slice() };
  for (let k = 0; k < times; k++) made = (scheme === "loop" ? loop : midpoints)(made.positions, made.triangles);
  return made;
}

/** @internal */
export function midpoints(positions: F64, faces: Uint32Array): Mesh {
  const half = halfEdgesOf(faces), made = new Float64Array(positions.length + 1.5 * half.edges.length);
  made.set(positions);
  for (let e = 0; e < half.edges.length / 2; e++) {
    for (let k = 0; k < 3; k++) made[positions.length + 3 * e + k] = (positions[3 * half.edges[2 * e]! + k]! + positions[3 * half.edges[2 * e + 1]! + k]!) / 2;
  }
  return { positions: made, triangles: split(faces, half, positions.length / 3) };
}

function split(faces: Uint32Array, { edgeOf }: HalfEdges, vertices: number): Uint32Array {
  const triangles = new Uint32Array(4 * faces.length);
  for (let k = 0; k < faces.length; k += 3) {
    const [u, v, w] = [faces[k]!, faces[k + 1]!, faces[k + 2]!], [a, b, c] = [vertices + edgeOf[k]!, vertices + edgeOf[k + 1]!, vertices + edgeOf[k + 2]!];
    triangles.set([u, a, c, v, b, a, w, c, b, a, b, c], 4 * k);
  }
  return triangles;
}

function loop(positions: F64, faces: Uint32Array): Mesh {
  const half = halfEdgesOf(faces), { edges, offsets, around } = half, vertices = positions.length / 3;
  const { positions: made, triangles } = midpoints(positions, faces);
  // Of every vertex: neighbours and their sum; the same of creases.
  const valence = new Uint32Array(vertices), creases = new Uint32Array(vertices), sums = new Float64Array(positions.length), along = new Float64Array(positions.length);
  for (let e = 0; e < edges.length / 2; e++) {
    const first = offsets[e]!, [a, b] = [edges[2 * e]!, edges[2 * e + 1]!], isCrease = offsets[e + 1]! - first !== 2;
    for (const [v, other] of [[a, b], [b, a]] as const) {
      valence[v]!++;
      if (isCrease) creases[v]!++;
      for (let k = 0; k < 3; k++) {
        sums[3 * v + k]! += positions[3 * other + k]!;
        if (isCrease) along[3 * v + k]! += positions[3 * other + k]!;
      }
    }
    if (isCrease) continue;
    const [c, d] = [faces[previous(around[first]!)]!, faces[previous(around[first + 1]!)]!];
    for (let k = 0; k < 3; k++) made[positions.length + 3 * e + k] = (3 * (positions[3 * a + k]! + positions[3 * b + k]!) + positions[3 * c + k]! + positions[3 * d + k]!) / 8;
  }
  for (let v = 0; v < vertices; v++) {
    const n = valence[v]!, isCrease = creases[v]! > 0;
    if (n === 0 || (isCrease && creases[v] !== 2)) continue;
    const beta = (5 / 8 - (3 / 8 + Math.cos((2 * Math.PI) / n) / 4) ** 2) / n;
    for (let k = 3 * v; k < 3 * v + 3; k++) made[k] = isCrease ? (6 * positions[k]! + along[k]!) / 8 : (1 - n * beta) * positions[k]! + beta * sums[k]!;
  }
  return { positions: made, triangles };
}
