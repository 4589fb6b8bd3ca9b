/**
 * Edges with their faces. Half-edge 3f + k goes from corner k of face f to corner k + 1. No structure is kept between calls:
 * every function makes these tables from the triangles, in O(n log n), and the same triangles give the same tables.
 */
import { LeastwiseError } from "../errors.js";
import { MOST_VERTICES, offsetsOf } from "./input.js";

/** @internal */
export interface HalfEdges {
  /** Two vertices of every edge, the smaller first; edges in ascending order. */
  readonly edges: Uint32Array;
  /** Edge of every half-edge. */
  readonly edgeOf: Uint32Array;
  /** Half-edges of every edge, ascending: those of edge e begin at offsets[e]. */
  readonly offsets: Uint32Array;
  readonly around: Uint32Array;
}

/** The half-edge after h in its face. @internal */
export const next = (h: number): number => (h % 3 === 2 ? h - 2 : h + 1);
/** The half-edge before h in its face. @internal */
export const previous = (h: number): number => (h % 3 === 0 ? h + 2 : h - 1);

/** @internal */
export function halfEdgesOf(faces: Uint32Array): HalfEdges {
  const keys = new Float64Array(faces.length);
  for (let h = 0; h < faces.length; h++) {
    const a = faces[h]!, b = faces[next(h)]!;
    keys[h] = Math.min(a, b) * MOST_VERTICES + Math.max(a, b);
  }
  const sorted = keys.slice().sort();
  let count = 0;
  for (let k = 0; k < sorted.length; k++) {
    if (k === 0 || sorted[k] !== sorted[k - 1]) sorted[count++] = sorted[k]!;
  }
  const edges = new Uint32Array(2 * count), edgeOf = new Uint32Array(faces.length), counts = new Uint32Array(count);
  for (let e = 0; e < count; e++) {
    edges[2 * e] = Math.floor(sorted[e]! / MOST_VERTICES);
    edges[2 * e + 1] = sorted[e]! % MOST_VERTICES;
  }
  for (let h = 0; h < faces.length; h++) {
    const key = keys[h]!;
    let low = 0, high = count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle]! < key) low = middle + 1;
      else high = middle;
    }
    edgeOf[h] = low;
    counts[low]!++;
  }
  const offsets = offsetsOf(counts), filled = offsets.slice(), around = new Uint32Array(faces.length);
  for (let h = 0; h < faces.length; h++) around[filled[edgeOf[h]!]!++] = h;
  return { edges, edgeOf, offsets, around };
}

/**
 * The opposite half-edge of every half-edge, in the neighbouring face; −1 at a boundary. Edges of three faces or more, and
 * neighbours of opposite orientation, are refused.
 *
 * @internal
 */
export function twinsOf(call: string, faces: Uint32Array, { edges, offsets, around }: HalfEdges): Int32Array {
  const twins = new Int32Array(faces.length).fill(-1);
  for (let e = 0; e < edges.length / 2; e++) {
    const first = offsets[e]!, count = offsets[e + 1]! - first;
    if (count === 1) continue;
    const [g, h] = [around[first]!, around[first + 1]!];
    if (count > 2) {
      const all = Array.from(around.subarray(first, Math.min(first + count, first + 4)), (half) => Math.floor(half / 3));
      throw new LeastwiseError("shape", `${call}: the edge ${edges[2 * e]}–${edges[2 * e + 1]} belongs to ${count} faces (${all.join(", ")}${count > 4 ? ", …" : ""}): this needs a surface, whose edges have one face or two`);
    }
    if (faces[g] === faces[h]) {
      throw new LeastwiseError("shape", `${call}: the faces ${Math.floor(g / 3)} and ${Math.floor(h / 3)} both go from vertex ${faces[g]} to ${faces[next(g)]}, so one of them is turned over: orient(triangles) turns faces alike`);
    }
    twins[g] = h;
    twins[h] = g;
  }
  return twins;
}
