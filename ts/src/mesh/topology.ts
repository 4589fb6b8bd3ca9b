/** Index tables of a surface: hinges, fans, adjacency, boundary loops, components. */
import type { Rows } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { takesNoMore } from "../options.js";
import { halfEdgesOf, next, previous, twinsOf } from "./half-edges.js";
import { facesOf, mustHaveCorners, offsetsOf, vertexCount, type RaggedTable } from "./input.js";

type Triangles = ArrayLike<number> | Rows;

/** @internal */
export function surfaceOf(call: string, triangles: unknown, vertices?: number): { faces: Uint32Array; twins: Int32Array } {
  const faces = facesOf(call, triangles, vertices);
  mustHaveCorners(call, faces);
  return { faces, twins: twinsOf(call, faces, halfEdgesOf(faces)) };
}

/**
 * Hinges: for every inner edge (b, c) with b < c the four vertices a, b, c, d of its two faces abc and dcb, as a flat table of
 * four columns, in ascending order of the edges. The columns are the arguments of `dihedralAngle`.
 *
 * ```ts
 * problem.residuals("flat", { over: hinges(triangles), of: [x, x, x, x] }, ([a, b, c, d]) => dihedralAngle(a, b, c, d));
 * ```
 * @throws `shape` for an edge of three faces or more, for neighbours of opposite orientation, and for a face that names a vertex twice
 * @example
 * problem.residuals("flat", { over: hinges(triangles), of: [x, x, x, x] }, ([a, b, c, d]) => dihedralAngle(a, b, c, d));
 */
export function hinges(triangles: Triangles): Uint32Array {
  takesNoMore("hinges(triangles)", 1, arguments);
  const call = "hinges(triangles)", faces = facesOf(call, triangles);
  mustHaveCorners(call, faces);
  const half = halfEdgesOf(faces), twins = twinsOf(call, faces, half), { edges, offsets, around } = half;
  const table = new Uint32Array(2 * edges.length);
  let length = 0;
  for (let e = 0; e < edges.length / 2; e++) {
    const first = around[offsets[e]!]!;
    if (twins[first]! < 0) continue;
    // The half-edge from b to c, whose face has a.
    const h = faces[first] === edges[2 * e] ? first : twins[first]!;
    table[length++] = faces[previous(h)]!;
    table[length++] = faces[h]!;
    table[length++] = faces[next(h)]!;
    table[length++] = faces[previous(twins[h]!)]!;
  }
  return table.slice(0, length);
}

/**
 * Faces around every vertex, in order. Row v of `next` and `previous` has the other two corners of each face: (v, next, previous).
 *
 * @example
 * const { offsets, closed }: Fans = fans(triangles);
 */
export interface Fans {
  /** Beginning of every vertex' row, and the end of the last one. */
  readonly offsets: Uint32Array;
  /** Faces, counter-clockwise. Of a closed fan the lowest face comes first, of an open one the first at the boundary. */
  readonly faces: Uint32Array;
  /** The corner after the vertex, face by face. */
  readonly next: Uint32Array;
  /** The corner before the vertex, face by face: that after the vertex in the next face. */
  readonly previous: Uint32Array;
  /** 1 for a vertex whose faces go all around, 0 for one at a boundary or without faces. */
  readonly closed: Uint8Array;
}

/**
 * Fans: for every vertex its faces in counter-clockwise order, and their other two corners, as rows for `x.rows(…)`.
 *
 * ```ts
 * const { offsets, next, previous } = fans(triangles, vertices);
 * problem.energy("…", { of: [x, x.rows({ offsets, indices: next }), x.rows({ offsets, indices: previous })] }, ([v, b, c]) => …);
 * ```
 * @throws `shape` as {@link hinges} does, and for a vertex in which two fans meet
 * @example
 * const { offsets, next } = fans(triangles), valence = offsets[1]! - offsets[0]!;
 * const around = x.rows({ offsets, indices: next });
 */
export function fans(triangles: Triangles, vertices?: number): Fans {
  takesNoMore("fans(triangles, vertices)", 2, arguments);
  const call = "fans(triangles, vertices)", { faces, twins } = surfaceOf(call, triangles, vertices);
  const count = vertexCount(faces, vertices);
  const counts = new Uint32Array(count), starts = new Int32Array(count).fill(-1), closed = new Uint8Array(count);
  for (let h = 0; h < faces.length; h++) {
    const v = faces[h]!;
    counts[v]!++;
    if (starts[v]! < 0) [starts[v], closed[v]] = [h, 1];
    if (twins[h]! < 0 && closed[v]) [starts[v], closed[v]] = [h, 0];
  }
  const offsets = offsetsOf(counts), [around, after, before] = [0, 1, 2].map(() => new Uint32Array(faces.length)) as [Uint32Array, Uint32Array, Uint32Array];
  for (let v = 0; v < count; v++) {
    let at = offsets[v]!;
    for (let h = starts[v]!; h >= 0;) {
      around[at] = Math.floor(h / 3);
      after[at] = faces[next(h)]!;
      before[at] = faces[previous(h)]!;
      at++;
      h = twins[previous(h)]!;
      if (h === starts[v]) break;
    }
    if (at !== offsets[v + 1]) {
      throw new LeastwiseError("shape", `${call}: vertex ${v} has ${counts[v]} faces, of which only ${at - offsets[v]!} follow each other: two parts of the surface meet in it, and cutAlong(mesh, []) separates them`);
    }
  }
  return { offsets, faces: around, next: after, previous: before, closed };
}

/**
 * The faces of every vertex, ascending, as rows. Any triangles are taken.
 *
 * @throws `data-length` or `index-out-of-range` for what are no triangles, naming the face
 * @example
 * const { offsets, indices } = vertexFaces(triangles, x.count);
 */
export function vertexFaces(triangles: Triangles, vertices?: number): RaggedTable {
  takesNoMore("vertexFaces(triangles, vertices)", 2, arguments);
  const call = "vertexFaces(triangles, vertices)", faces = facesOf(call, triangles, vertices), counts = new Uint32Array(vertexCount(faces, vertices));
  for (let h = 0; h < faces.length; h++) counts[faces[h]!]!++;
  const offsets = offsetsOf(counts), filled = offsets.slice(), indices = new Uint32Array(faces.length);
  for (let h = 0; h < faces.length; h++) indices[filled[faces[h]!]!++] = Math.floor(h / 3);
  return { offsets, indices };
}

/**
 * For every face those that share an edge with it, ascending and each once, as rows. Edges may have any number of faces.
 *
 * @throws `data-length` or `index-out-of-range` for what are no triangles, naming the face; `shape` for a face that names a vertex twice
 * @example
 * const { offsets, indices } = faceAdjacency(triangles);
 */
export function faceAdjacency(triangles: Triangles): RaggedTable {
  takesNoMore("faceAdjacency(triangles)", 1, arguments);
  const call = "faceAdjacency(triangles)", faces = facesOf(call, triangles);
  mustHaveCorners(call, faces);
  const { edgeOf, offsets: first, around } = halfEdgesOf(faces);
  const counts = new Uint32Array(faces.length / 3), indices: number[] = [];
  for (let f = 0; f < counts.length; f++) {
    const found = new Set<number>();
    for (let h = 3 * f; h < 3 * f + 3; h++) {
      for (let k = first[edgeOf[h]!]!; k < first[edgeOf[h]! + 1]!; k++) found.add(Math.floor(around[k]! / 3));
    }
    found.delete(f);
    counts[f] = found.size;
    for (const other of [...found].sort((a, b) => a - b)) indices.push(other);
  }
  return { offsets: offsetsOf(counts), indices: Uint32Array.from(indices) };
}

/**
 * The neighbour of every face across each of its three edges (corner 0–1, 1–2, 2–0), as a flat table; −1 at a boundary. Refuses what {@link hinges} does.
 *
 * @throws `shape` as {@link hinges}
 * @example
 * const isBoundary = faceNeighbors(triangles).includes(-1);
 */
export function faceNeighbors(triangles: Triangles): Int32Array {
  takesNoMore("faceNeighbors(triangles)", 1, arguments);
  return surfaceOf("faceNeighbors(triangles)", triangles).twins.map((twin) => (twin < 0 ? -1 : Math.floor(twin / 3)));
}

/**
 * Boundary loops: each a list of vertices in the direction of its faces' edges, beginning with its smallest vertex; loops in
 * the order of their first half-edges. A closed surface has none.
 *
 * @throws `shape` as {@link hinges} does
 * @example
 * for (const loop of boundaryLoops(triangles)) x.fix(loop);
 */
export function boundaryLoops(triangles: Triangles): Uint32Array[] {
  takesNoMore("boundaryLoops(triangles)", 1, arguments);
  const { faces, twins } = surfaceOf("boundaryLoops(triangles)", triangles);
  const done = new Uint8Array(faces.length), loops: Uint32Array[] = [];
  for (let first = 0; first < faces.length; first++) {
    if (twins[first]! >= 0 || done[first]) continue;
    const loop: number[] = [];
    for (let h = first; !done[h];) {
      done[h] = 1;
      loop.push(faces[h]!);
      // Around the end of h, from face to face, to the boundary on the other side.
      for (h = next(h); twins[h]! >= 0;) h = next(twins[h]!);
    }
    const start = loop.reduce((best, vertex, k) => (vertex < loop[best]! ? k : best), 0);
    loops.push(Uint32Array.from([...loop.slice(start), ...loop.slice(0, start)]));
  }
  return loops;
}

/**
 * Connected components, numbered in the order of their smallest vertices.
 *
 * @example
 * const { count, ofFace }: Components = components(triangles);
 */
export interface Components {
  readonly count: number;
  /** Component of every vertex. A vertex without faces is a component of its own. */
  readonly ofVertex: Uint32Array;
  /** Component of every face. */
  readonly ofFace: Uint32Array;
}

/**
 * Connected components: vertices that edges connect. Any triangles are taken.
 *
 * @throws `data-length` or `index-out-of-range` for what are no triangles, naming the face
 * @example
 * const parts = components(triangles, x.count).count;
 */
export function components(triangles: Triangles, vertices?: number): Components {
  takesNoMore("components(triangles, vertices)", 2, arguments);
  const call = "components(triangles, vertices)", faces = facesOf(call, triangles, vertices), count = vertexCount(faces, vertices);
  const parents = Uint32Array.from({ length: count }, (_, v) => v);
  const root = (v: number): number => {
    while (parents[v] !== v) v = parents[v] = parents[parents[v]!]!;
    return v;
  };
  // The smaller root stays, so that a component's root is its smallest vertex.
  const join = (a: number, b: number): void => { [a, b] = [root(a), root(b)]; parents[Math.max(a, b)] = Math.min(a, b); };
  for (let k = 0; k < faces.length; k += 3) {
    join(faces[k]!, faces[k + 1]!);
    join(faces[k]!, faces[k + 2]!);
  }
  const ofVertex = new Uint32Array(count);
  let found = 0;
  for (let v = 0; v < count; v++) ofVertex[v] = root(v) === v ? found++ : ofVertex[root(v)]!;
  return { count: found, ofVertex, ofFace: Uint32Array.from({ length: faces.length / 3 }, (_, f) => ofVertex[faces[3 * f]!]!) };
}

/**
 * The same triangles, turned alike: neighbours go along their common edge in opposite directions. Of every component the lowest
 * face stays as it is.
 *
 * @throws `shape` for an edge of three faces or more, and for a surface with one side only (a Möbius strip)
 * @example
 * const table = hinges(orient(triangles));
 */
export function orient(triangles: Triangles): Uint32Array {
  takesNoMore("orient(triangles)", 1, arguments);
  const call = "orient(triangles)", faces = facesOf(call, triangles).slice();
  mustHaveCorners(call, faces);
  const { edges, edgeOf, offsets, around } = halfEdgesOf(faces), turned = new Int8Array(faces.length / 3).fill(-1), queue = new Uint32Array(turned.length);
  let [head, tail] = [0, 0];
  for (let seed = 0; seed < turned.length; seed++) {
    if (turned[seed]! >= 0) continue;
    turned[seed] = 0;
    queue[tail++] = seed;
    while (head < tail) {
      const f = queue[head++]!;
      for (let h = 3 * f; h < 3 * f + 3; h++) {
        const e = edgeOf[h]!, all = around.subarray(offsets[e], offsets[e + 1]);
        if (all.length > 2) throw new LeastwiseError("shape", `${call}: the edge ${edges[2 * e]}–${edges[2 * e + 1]} belongs to ${all.length} faces: they can't all be turned alike`);
        if (all.length < 2) continue;
        const other = all[0] === h ? all[1]! : all[0]!, g = Math.floor(other / 3), wanted = turned[f]! ^ Number(faces[other] === faces[h]);
        if (turned[g]! < 0) {
          turned[g] = wanted;
          queue[tail++] = g;
        } else if (turned[g] !== wanted) {
          throw new LeastwiseError("shape", `${call}: the surface has one side only: going around through the faces ${f} and ${g}, one comes back turned over`);
        }
      }
    }
  }
  for (let f = 0; f < turned.length; f++) {
    if (turned[f]) [faces[3 * f + 1], faces[3 * f + 2]] = [faces[3 * f + 2]!, faces[3 * f + 1]!];
  }
  return faces;
}

/**
 * Shape of a mesh, as {@link inspect} finds it.
 *
 * @example
 * const found: Inspection = inspect(triangles);
 * if (found.nonManifoldEdges > 0) console.log("no surface");
 */
export interface Inspection {
  readonly vertices: number;
  readonly edges: number;
  readonly faces: number;
  /** Vertices that no face names. */
  readonly unused: number;
  /** Faces that name a vertex twice. */
  readonly degenerate: number;
  /** Edges of one face. */
  readonly boundaryEdges: number;
  /** Edges of three faces or more. */
  readonly nonManifoldEdges: number;
  /** Edges whose two faces go along it in the same direction. */
  readonly misorientedEdges: number;
  /** Components that have faces. */
  readonly components: number;
  /** V − E + F of the vertices that faces name: 2 for a sphere, 0 for a torus, 1 for a disk. */
  readonly eulerCharacteristic: number;
}

/**
 * Counts that say what a mesh is, and what is wrong with it. Any triangles are taken; faces that name a vertex twice are counted, and otherwise left out.
 *
 * @throws `data-length` or `index-out-of-range` for what are no triangles, naming the face
 * @example
 * console.log(inspect(triangles).eulerCharacteristic);
 */
export function inspect(triangles: Triangles, vertices?: number): Inspection {
  takesNoMore("inspect(triangles, vertices)", 2, arguments);
  const call = "inspect(triangles, vertices)", all = facesOf(call, triangles, vertices), count = vertexCount(all, vertices);
  const kept: number[] = [], used = new Uint8Array(count);
  for (let k = 0; k < all.length; k += 3) {
    const [a, b, c] = [all[k]!, all[k + 1]!, all[k + 2]!];
    if (a === b || b === c || c === a) continue;
    kept.push(a, b, c);
    used[a] = used[b] = used[c] = 1;
  }
  const faces = Uint32Array.from(kept), { edges, offsets, around } = halfEdgesOf(faces);
  let [boundaryEdges, nonManifoldEdges, misorientedEdges] = [0, 0, 0];
  for (let e = 0; e < edges.length / 2; e++) {
    const first = offsets[e]!, has = offsets[e + 1]! - first;
    if (has === 1) boundaryEdges++;
    else if (has > 2) nonManifoldEdges++;
    else if (faces[around[first]!] === faces[around[first + 1]!]) misorientedEdges++;
  }
  const named = used.reduce((sum, is) => sum + is, 0), unused = count - named;
  return {
    vertices: count, edges: edges.length / 2, faces: all.length / 3, unused, degenerate: (all.length - faces.length) / 3, boundaryEdges, nonManifoldEdges, misorientedEdges,
    components: components(faces, count).count - unused, eulerCharacteristic: named - edges.length / 2 + faces.length / 3,
  };
}
