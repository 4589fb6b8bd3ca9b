/** Repairs: vertices merged and dropped, faces left out, surfaces cut. */
import type { F64, Rows } from "../arrays.js";
import { checked, measure, takesNoMore } from "../options.js";
import { halfEdgesOf, next } from "./half-edges.js";
import { meshOf, mustHaveCorners, type Mesh, type MeshLike } from "./input.js";
import { crossOf, norm3, pairsOf } from "./measures.js";
import { LeastwiseError } from "../errors.js";

/**
 * A mesh without its faults, and where its vertices came from.
 *
 * @example
 * const { positions, triangles, toCleaned }: Cleaned = clean(mesh);
 */
export interface Cleaned extends Mesh {
  /** New vertex of every old one; 0xffffffff for one that no face names. */
  readonly toCleaned: Uint32Array;
}

const CLEAN = { tolerance: measure } as const;
const NONE = 0xffffffff;

/**
 * Cleans a mesh, as files have them: merges vertices that are within `tolerance` of each other (each goes to the first vertex of
 * its kind), then leaves out faces that name a vertex twice or have no area, repeated faces, and vertices that no face names.
 *
 * `tolerance`: a distance; default 0, exactly the same place. Vertices are merged with the first within reach, so a chain of close
 * ones does not collapse.
 *
 * @throws `data-length`, `index-out-of-range` or `non-finite` for what is no mesh, naming the vertex or the face; `invalid-option` for a tolerance below 0
 * @example
 * const whole = clean(mesh, { tolerance: 1e-6 });
 */
export function clean(mesh: MeshLike, options: { tolerance?: number } = {}): Cleaned {
  const call = "clean(mesh, options)";
  takesNoMore(call, 2, arguments);
  const { tolerance = 0 } = checked(`${call}: options`, options, CLEAN, { prefix: `${call}: ` });
  if (!Number.isFinite(tolerance)) throw new LeastwiseError("invalid-option", `${call}: tolerance must be finite`);
  const { positions, faces, vertices } = meshOf(call, mesh), merged = mergedWithin(positions, tolerance), toCleaned = new Uint32Array(vertices).fill(NONE);
  const corner = new Uint32Array(3), kept: number[] = [], known = new Buckets(faces.length / 3);
  for (let k = 0; k < faces.length; k += 3) {
    const [a, b, c] = [merged[faces[k]!]!, merged[faces[k + 1]!]!, merged[faces[k + 2]!]!];
    corner.set([a, b, c]);
    if (a === b || b === c || c === a || crossOf(positions, corner, 0).every((value) => value === 0)) continue;
    const least = Math.min(a, b, c), most = Math.max(a, b, c), middle = a + b + c - least - most, bucket = known.bucket(least, middle, most);
    let other = known.first(bucket);
    while (other >= 0 && !isSame(kept, 3 * other, least, middle, most)) other = known.after(other);
    if (other >= 0) continue;
    known.add(bucket, kept.length / 3);
    kept.push(a, b, c);
  }
  const { positions: places, triangles, toNew } = compacted(positions, kept);
  for (let v = 0; v < vertices; v++) toCleaned[v] = toNew[merged[v]!]!;
  return { positions: places, triangles, toCleaned };
}

/** The vertices that faces name, in their old order. @internal */
export function compacted(positions: F64, faces: ArrayLike<number>): Mesh & { toNew: Uint32Array } {
  const toNew = new Uint32Array(positions.length / 3).fill(NONE);
  for (let k = 0; k < faces.length; k++) toNew[faces[k]!] = 0;
  let count = 0;
  const places = new Float64Array(positions.length);
  for (let v = 0; v < toNew.length; v++) {
    if (toNew[v] === NONE) continue;
    places.set(positions.subarray(3 * v, 3 * v + 3), 3 * count);
    toNew[v] = count++;
  }
  return { positions: places.slice(0, 3 * count), triangles: Uint32Array.from({ length: faces.length }, (_, k) => toNew[faces[k]!]!), toNew };
}

/** True for the face at `at` if these are its vertices in ascending order. */
function isSame(faces: readonly number[], at: number, least: number, middle: number, most: number): boolean {
  const [a, b, c] = [faces[at]!, faces[at + 1]!, faces[at + 2]!];
  return Math.min(a, b, c) === least && Math.max(a, b, c) === most && a + b + c - least - most === middle;
}

/** Numbers 0, 1, … in buckets by a hash of three integers. What shares a bucket need not be alike. */
class Buckets {
  private readonly heads: Int32Array;
  private readonly links: Int32Array;

  constructor(count: number) {
    this.heads = new Int32Array(2 ** Math.max(4, Math.ceil(Math.log2(count + 1)) + 1)).fill(-1);
    this.links = new Int32Array(count);
  }

  /** Numbers beyond 32 bits are taken by their low ones. */
  bucket(i: number, j: number, k: number): number {
    let hash = Math.imul(i | 0, 0x8da6b343) ^ Math.imul(j | 0, 0xd8163841) ^ Math.imul(k | 0, 0xcb1ab31f);
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
    return (hash ^ (hash >>> 13)) & (this.heads.length - 1);
  }

  add(bucket: number, item: number): void { [this.links[item], this.heads[bucket]] = [this.heads[bucket]!, item]; }
  first(bucket: number): number { return this.heads[bucket]!; }
  after(item: number): number { return this.links[item]!; }
}

/** For every vertex the first one within the tolerance that was not merged itself. */
function mergedWithin(positions: F64, tolerance: number): Uint32Array {
  const merged = new Uint32Array(positions.length / 3), buckets = new Buckets(merged.length), bits = new Float64Array(3), words = new Int32Array(bits.buffer);
  const exact = tolerance === 0, reach = exact ? 0 : 1, cell = new Float64Array(3);
  for (let v = 0; v < merged.length; v++) {
    const [x, y, z] = [positions[3 * v]!, positions[3 * v + 1]!, positions[3 * v + 2]!];
    if (exact) {
      // + 0 makes −0 and 0 one place.
      bits.set([x + 0, y + 0, z + 0]);
      for (let k = 0; k < 3; k++) cell[k] = words[2 * k]! ^ Math.imul(words[2 * k + 1]!, 0x9e3779b1);
    } else cell.set([Math.floor(x / tolerance), Math.floor(y / tolerance), Math.floor(z / tolerance)]);
    let found = v;
    for (let di = -reach; di <= reach; di++) for (let dj = -reach; dj <= reach; dj++) for (let dk = -reach; dk <= reach; dk++) {
      for (let other = buckets.first(buckets.bucket(cell[0]! + di, cell[1]! + dj, cell[2]! + dk)); other >= 0; other = buckets.after(other)) {
        if (other < found && norm3(positions[3 * other]! - x, positions[3 * other + 1]! - y, positions[3 * other + 2]! - z) <= tolerance) found = other;
      }
    }
    merged[v] = found;
    if (found === v) buckets.add(buckets.bucket(cell[0]!, cell[1]!, cell[2]!), v);
  }
  return merged;
}

/**
 * A mesh that was cut.
 *
 * @example
 * const { positions, toOriginal }: Cut = cutAlong(mesh, [0, 1]);
 * console.log(toOriginal[positions.length / 3 - 1]);       // the vertex that the last copy is of
 */
export interface Cut extends Mesh {
  /** Old vertex of every new one. The first vertices are the old ones. */
  readonly toOriginal: Uint32Array;
}

/**
 * Cuts a mesh along edges (a table of two columns): faces on both sides of a cut get vertices of their own. The ends of a cut
 * that lie inside of the surface stay one vertex. Parts that meet in a vertex alone, and edges of three faces or more, are
 * separated too; so `cutAlong(mesh, [])` makes a surface of whatever is one but for those.
 *
 * @throws `shape` for a row that is no edge of the mesh
 * @example
 * const open = cutAlong(mesh, [[0, 1], [1, 2]]);           // two edges
 */
export function cutAlong(mesh: MeshLike, seams: ArrayLike<number> | Rows): Cut {
  const call = "cutAlong(mesh, seams)";
  takesNoMore(call, 2, arguments);
  const { positions, faces, vertices } = meshOf(call, mesh);
  mustHaveCorners(call, faces);
  const { edges, offsets, around } = halfEdgesOf(faces), pairs = pairsOf(call, seams, vertices), isCut = new Uint8Array(edges.length / 2);
  // Seams are few: their rows have names.
  const rows = new Map(Array.from({ length: pairs.length / 2 }, (_, k) => [`${Math.min(pairs[2 * k]!, pairs[2 * k + 1]!)},${Math.max(pairs[2 * k]!, pairs[2 * k + 1]!)}`, k]));
  for (let e = 0; e < isCut.length && rows.size > 0; e++) isCut[e] = Number(rows.delete(`${edges[2 * e]},${edges[2 * e + 1]}`));
  for (const row of rows.values()) throw new LeastwiseError("shape", `${call}: row ${row} of the seams is ${pairs[2 * row]}, ${pairs[2 * row + 1]}, which is no edge of the mesh`);
  // Corners at a vertex are one, wherever an edge that is not cut has their two faces.
  const parents = Uint32Array.from({ length: faces.length }, (_, h) => h);
  const root = (h: number): number => {
    while (parents[h] !== h) h = parents[h] = parents[parents[h]!]!;
    return h;
  };
  const join = (g: number, h: number): void => { [g, h] = [root(g), root(h)]; parents[Math.max(g, h)] = Math.min(g, h); };
  for (let e = 0; e < isCut.length; e++) {
    if (isCut[e] || offsets[e + 1]! - offsets[e]! !== 2) continue;
    const [g, h] = [around[offsets[e]!]!, around[offsets[e]! + 1]!], alike = faces[g] === faces[h];
    join(g, alike ? h : next(h));
    join(next(g), alike ? next(h) : h);
  }
  const triangles = new Uint32Array(faces.length), toOriginal = Array.from({ length: vertices }, (_, v) => v), taken = new Uint8Array(vertices);
  for (let h = 0; h < faces.length; h++) {
    const v = faces[h]!;
    if (root(h) !== h) triangles[h] = triangles[root(h)]!;
    else if (taken[v]) triangles[h] = toOriginal.push(v) - 1;
    else [triangles[h], taken[v]] = [v, 1];
  }
  const places = new Float64Array(3 * toOriginal.length);
  toOriginal.forEach((v, k) => places.set(positions.subarray(3 * v, 3 * v + 3), 3 * k));
  return { positions: places, triangles, toOriginal: Uint32Array.from(toOriginal) };
}
