/** Meshes as callers give them: typed arrays or rows, checked once, with errors that name the vertex or the face. */
import { taken, type F64, type Rows } from "../arrays.js";
import { LeastwiseError, reading } from "../errors.js";
import { describe, shownValue } from "../instruction.js";

/**
 * Triangle mesh, as every function takes it. Rows (`[[x, y, z], …]`, `[[i, j, k], …]`) are taken as well as flat arrays.
 *
 * @example
 * const triangle: MeshLike = { positions: [[0, 0, 0], [1, 0, 0], [0, 1, 0]], triangles: [[0, 1, 2]] };
 */
export interface MeshLike {
  /** x y z of every vertex. */
  readonly positions: ArrayLike<number> | Rows;
  /** Three vertices of every face, counter-clockwise seen from outside. */
  readonly triangles: ArrayLike<number> | Rows;
}

/**
 * Triangle mesh, as every function gives it: both arrays flat and of their own.
 *
 * @example
 * const ball: Mesh = icosphere({ subdivisions: 2 });
 */
export interface Mesh extends MeshLike {
  readonly positions: F64;
  readonly triangles: Uint32Array;
}

/**
 * Rows of different length, for `x.rows(…)`: row i is `indices[offsets[i]] … indices[offsets[i + 1] − 1]`.
 *
 * @example
 * const faces: RaggedTable = vertexFaces(triangles);
 * const ofFirst = faces.indices.subarray(faces.offsets[0], faces.offsets[1]);
 */
export interface RaggedTable {
  readonly offsets: Uint32Array;
  readonly indices: Uint32Array;
}

/** Vertices below this number: a pair of them is one exact f64. @internal */
export const MOST_VERTICES = 67108864;

/** Faces of a caller's: a view of a `Uint32Array`, else a copy. Every index is below `vertices`. @internal */
export function facesOf(call: string, given: unknown, vertices?: number): Uint32Array {
  if (vertices !== undefined && !(Number.isInteger(vertices) && vertices >= 0 && vertices <= MOST_VERTICES)) {
    throw new LeastwiseError("shape", `${call}: vertices is the number of vertices, an integer from 0 to ${MOST_VERTICES}, not ${shownValue(vertices)}`);
  }
  const { values } = taken(`${call}: triangles`, given, { width: 3 });
  if (values.length % 3 !== 0) throw new LeastwiseError("data-length", `${call}: triangles has ${values.length} indices, which is not a multiple of 3`);
  const most = vertices ?? MOST_VERTICES;
  for (let k = 0; k < values.length; k++) {
    const vertex = values[k]!;
    if (Number.isInteger(vertex) && vertex >= 0 && vertex < most) continue;
    const there = vertices === undefined ? `indices are integers from 0 to ${MOST_VERTICES - 1}` : `there are ${vertices} vertices (0 to ${vertices - 1})`;
    throw new LeastwiseError("index-out-of-range", `${call}: face ${Math.floor(k / 3)} has the vertex ${vertex}, but ${there}`);
  }
  return values instanceof Uint32Array ? values : Uint32Array.from(values);
}

/** Refuses faces that name a vertex twice: they have no area, and an edge from a vertex to itself. @internal */
export function mustHaveCorners(call: string, faces: Uint32Array): void {
  for (let k = 0; k < faces.length; k += 3) {
    const [a, b, c] = [faces[k]!, faces[k + 1]!, faces[k + 2]!];
    if (a === b || b === c || c === a) {
      throw new LeastwiseError("shape", `${call}: face ${k / 3} names the vertex ${a === b || a === c ? a : b} twice (${a}, ${b}, ${c}): clean(mesh) leaves such faces out`);
    }
  }
}

/** Number of vertices, given (and checked, with the faces) or one more than the greatest index. @internal */
export function vertexCount(faces: Uint32Array, given?: number): number {
  let most = -1;
  for (let k = 0; k < faces.length; k++) most = Math.max(most, faces[k]!);
  return given ?? most + 1;
}

/** Points of a caller's in f64: a view of a `Float64Array`, else a copy. Every number is finite. @internal */
export function pointsOf(call: string, what: string, given: unknown, width = 3): F64 {
  const { values } = taken(`${call}: ${what}`, given, { width });
  if (values.length % width !== 0) throw new LeastwiseError("data-length", `${call}: ${what} has ${values.length} numbers, which is not a multiple of ${width}`);
  for (let k = 0; k < values.length; k++) {
    if (!Number.isFinite(values[k]!)) throw new LeastwiseError("non-finite", `${call}: ${what}: vertex ${Math.floor(k / width)} has the coordinate ${values[k]}`);
  }
  return values instanceof Float64Array ? values as F64 : Float64Array.from(values);
}

/** A mesh, read and checked. Its arrays may be the caller's: they are only read. @internal */
export function meshOf(call: string, given: unknown): { positions: F64; faces: Uint32Array; vertices: number } {
  const [places, triangles] = reading(`${call}: mesh`, () => {
    if (typeof given !== "object" || given === null || !("positions" in given) || !("triangles" in given)) {
      throw new LeastwiseError("invalid-option", `${call}: a mesh is { positions, triangles }, not ${describe(given)}`);
    }
    return [given.positions, given.triangles];
  });
  const positions = pointsOf(call, "positions", places), vertices = positions.length / 3;
  return { positions, faces: facesOf(call, triangles, vertices), vertices };
}

/** Counts, summed up: where each row of a ragged table begins. @internal */
export function offsetsOf(counts: Uint32Array): Uint32Array {
  const offsets = new Uint32Array(counts.length + 1);
  for (let k = 0; k < counts.length; k++) offsets[k + 1] = offsets[k]! + counts[k]!;
  return offsets;
}
