/** Edges and neighbours, of triangles alone: no edge is refused, whatever number of faces it has. */
import { taken, type Rows } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { shownValue } from "../instruction.js";
import { checked, flag, given, takesNoMore } from "../options.js";

function trianglesOf(given: ArrayLike<number> | Rows): ArrayLike<number> {
  const { values } = taken("triangles", given, { width: 3 });
  if (values.length % 3 !== 0) throw new LeastwiseError("data-length", `triangles has ${values.length} indices, which is not a multiple of 3`);
  return values;
}

const EDGES = { directed: flag, map: given<Uint32Array>() } as const;

/**
 * The edges of a triangle mesh, each once, as a flat table of two columns (from, to), sorted.
 *
 * `directed` gives both directions of every edge. `map` renames vertices first (see {@link weld}); edges that it
 * collapses are left out.
 *
 * @throws `data-length` or `index-out-of-range` for what are no triangles, naming the face
 * @example
 * problem.residuals("lengths", { over: edges(triangles), of: [x, x] }, ([a, b]) => a.sub(b).norm().sub(1));
 */
export function edges(triangles: ArrayLike<number> | Rows, options: { directed?: boolean; map?: Uint32Array } = {}): Uint32Array {
  takesNoMore("edges(triangles, options)", 2, arguments);
  const corners = trianglesOf(triangles);
  const { directed = false, map: renamed } = checked("edges(triangles, options): options", options, EDGES, { prefix: "edges(triangles, options): " });
  const map = renamed === undefined ? undefined : taken("edges(triangles, { map }): map", renamed).values;
  // A pair as one number: below 2⁵³ as long as there are fewer than 2²⁶ vertices a side.
  const keys = new Float64Array(directed ? corners.length * 2 : corners.length);
  let count = 0;
  for (let t = 0; t < corners.length; t += 3) {
    for (let k = 0; k < 3; k++) {
      const from = corners[t + k]!, to = corners[t + ((k + 1) % 3)]!;
      const a = map ? map[from]! : from, b = map ? map[to]! : to;
      if (a === undefined || b === undefined || !Number.isInteger(a) || !Number.isInteger(b) || a < 0 || b < 0 || a >= 67108864 || b >= 67108864) {
        throw new LeastwiseError("index-out-of-range", `triangle ${t / 3} has the vertices ${corners[t]}, ${corners[t + 1]}, ${corners[t + 2]}: indices are integers from 0 to 67108863${map ? ` that the map knows (0 to ${map.length - 1})` : ""}`);
      }
      if (a === b) continue;
      keys[count++] = Math.min(a, b) * 67108864 + Math.max(a, b);
      if (directed) keys[count++] = Math.max(a, b) * 67108864 + Math.min(a, b);
    }
  }
  const sorted = keys.subarray(0, count).sort();
  const table = new Uint32Array(2 * count);
  let length = 0;
  for (let k = 0; k < count; k++) {
    if (k > 0 && sorted[k] === sorted[k - 1]) continue;
    table[length++] = Math.floor(sorted[k]! / 67108864);
    table[length++] = sorted[k]! % 67108864;
  }
  return table.slice(0, length);
}

/**
 * The neighbours of every vertex, ascending, as rows for `x.rows(…)`: those that an edge connects it with. A vertex that
 * no triangle uses has an empty row.
 *
 * @throws `data-length` or `index-out-of-range` for what are no triangles, naming the face; `shape` for a number of vertices that is none
 * @example
 * problem.residuals("smooth", { of: [x, x.rows(stars(triangles, x.count))] }, ([p, around]) => mean(around).sub(p));
 */
export function stars(triangles: ArrayLike<number> | Rows, vertices: number): { offsets: Uint32Array; indices: Uint32Array } {
  takesNoMore("stars(triangles, vertices)", 2, arguments);
  if (!Number.isInteger(vertices) || vertices < 1 || vertices > 67108864) throw new LeastwiseError("shape", `stars(triangles, vertices): vertices is how many there are, not ${shownValue(vertices)}`);
  // Sorted by their first vertex: the second ones are the rows.
  const pairs = edges(triangles, { directed: true });
  const offsets = new Uint32Array(vertices + 1);
  const indices = new Uint32Array(pairs.length / 2);
  for (let e = 0; e < indices.length; e++) {
    const from = pairs[2 * e]!;
    if (from >= vertices) throw new LeastwiseError("index-out-of-range", `a triangle has the vertex ${from}, but there are ${vertices} (0 to ${vertices - 1})`);
    indices[e] = pairs[2 * e + 1]!;
    offsets[from + 1]!++;
  }
  for (let v = 0; v < vertices; v++) offsets[v + 1]! += offsets[v]!;
  return { offsets, indices };
}
