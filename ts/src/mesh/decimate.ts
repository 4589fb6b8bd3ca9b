/** Decimation by quadric error metrics. */
import type { F64 } from "../arrays.js";
import { checked, measure, takesNoMore, whole } from "../options.js";
import { compacted } from "./clean.js";
import { halfEdgesOf } from "./half-edges.js";
import { Heap } from "./heap.js";
import { meshOf, mustHaveCorners, type Mesh, type MeshLike } from "./input.js";
import { boxOf, crossOf, lengthOf, norm3 } from "./measures.js";
import { addPlane, bestPoint, QUADRIC } from "./quadrics.js";

/**
 * A mesh of fewer faces.
 *
 * @example
 * const { triangles, error }: Decimated = decimate(mesh, { faces: 1000 });
 */
export interface Decimated extends Mesh {
  /** New vertex of every old one, through all that it was merged with; 0xffffffff for one that no face names. */
  readonly toDecimated: Uint32Array;
  /** Root of the greatest quadric error of a collapse: about the greatest distance from the planes of the old faces. */
  readonly error: number;
}

const DECIMATE = { faces: whole(0), maximumError: measure, boundaryWeight: measure } as const;

/** Share of an edge's squared length that is added to its error. */
const FLAT = 1e-10;

/** Least cosine between a face's normal before and after a collapse. */
const TURN = 0.2;

/**
 * Decimation by edge collapse with quadric error metrics (Garland & Heckbert 1997): the edge of the least error goes first, and its
 * two vertices become one at the place of the least error. Quadrics are weighted by area. A collapse is left out if it would turn a
 * face over, pinch the surface (the link condition: Dey, Edelsbrunner, Guha & Nekhayev 1999), or join two boundaries. Edges of three faces or more,
 * and the vertices on them, stay.
 *
 * - `faces`: number of faces to stop at. There may be more left, if no collapse is allowed any more.
 * - `maximumError`: distance to stop at. Default: none.
 * - `boundaryWeight`: weight of planes through boundary edges at right angles to their faces. Default 100; 0 lets boundaries shrink.
 *
 * @throws `data-length`, `index-out-of-range` or `non-finite` for what is no mesh, naming the vertex or the face; `shape` for a face that names a vertex twice
 * @example
 * const small = decimate(mesh, { faces: 10_000, maximumError: 0.01 });
 */
export function decimate(mesh: MeshLike, options: { faces: number; maximumError?: number; boundaryWeight?: number }): Decimated {
  const call = "decimate(mesh, options)";
  takesNoMore(call, 2, arguments);
  const { faces: target = 0, maximumError = Infinity, boundaryWeight = 100 } = checked(`${call}: options`, options, DECIMATE, { prefix: `${call}: ` });
  const { positions, faces: given, vertices } = meshOf(call, mesh);
  mustHaveCorners(call, given);
  return new Collapses(positions, given, vertices, boundaryWeight).run(target, maximumError);
}

class Collapses {
  private readonly x: F64;
  private readonly faces: Uint32Array;
  private readonly quadrics: F64;
  /** Area that a vertex' quadric stands for: its error is relative to it. */
  private readonly weights: F64;
  private readonly fans: number[][];
  private readonly alive: Uint8Array;
  /** 1 at a boundary, 2 at an edge of three faces or more. */
  private readonly kinds: Uint8Array;
  private readonly parents: Uint32Array;
  private readonly versions: Uint32Array;
  private readonly heap = new Heap();
  private readonly marks: Uint32Array;
  private mark = 0;
  private readonly scale: number;
  private readonly center: F64;

  constructor(private readonly positions: F64, given: Uint32Array, vertices: number, boundaryWeight: number) {
    const { center, diagonal } = boxOf(positions);
    // Around the origin and of size 1, so that quadrics keep their digits.
    [this.scale, this.center] = [diagonal > 0 ? diagonal : 1, center];
    this.x = positions.map((value, k) => (value - center[k % 3]!) / this.scale);
    this.faces = given.slice();
    this.quadrics = new Float64Array(QUADRIC * vertices);
    this.weights = new Float64Array(vertices);
    this.alive = new Uint8Array(given.length / 3).fill(1);
    this.fans = Array.from({ length: vertices }, () => []);
    this.kinds = new Uint8Array(vertices);
    this.parents = Uint32Array.from({ length: vertices }, (_, v) => v);
    this.versions = new Uint32Array(vertices);
    this.marks = new Uint32Array(vertices);
    for (let h = 0; h < given.length; h++) this.fans[given[h]!]!.push(Math.floor(h / 3));
    const { edges, offsets, around } = halfEdgesOf(given);
    for (let f = 0; f < this.alive.length; f++) this.addFace(f);
    for (let e = 0; e < edges.length / 2; e++) {
      const [a, b] = [edges[2 * e]!, edges[2 * e + 1]!], count = offsets[e + 1]! - offsets[e]!;
      if (count === 1) this.addBoundary(a, b, Math.floor(around[offsets[e]!]! / 3), boundaryWeight);
      if (count !== 2) for (const v of [a, b]) this.kinds[v] = Math.max(this.kinds[v]!, count === 1 ? 1 : 2);
    }
    for (let e = 0; e < edges.length / 2; e++) this.propose(edges[2 * e]!, edges[2 * e + 1]!);
  }

  private addFace(f: number): void {
    const n = crossOf(this.x, this.faces, f), double = norm3(...n), v = 3 * this.faces[3 * f]!;
    if (double === 0) return;
    const [nx, ny, nz] = [n[0] / double, n[1] / double, n[2] / double], d = -(nx * this.x[v]! + ny * this.x[v + 1]! + nz * this.x[v + 2]!);
    for (let h = 3 * f; h < 3 * f + 3; h++) {
      addPlane(this.quadrics, this.faces[h]!, nx, ny, nz, d, double / 6);
      this.weights[this.faces[h]!]! += double / 6;
    }
  }

  /** A plane through a boundary edge, at right angles to its face. */
  private addBoundary(a: number, b: number, f: number, weight: number): void {
    const n = crossOf(this.x, this.faces, f), [p, q] = [3 * a, 3 * b], x = this.x;
    const [ex, ey, ez] = [x[q]! - x[p]!, x[q + 1]! - x[p + 1]!, x[q + 2]! - x[p + 2]!];
    const m = [ey * n[2] - ez * n[1], ez * n[0] - ex * n[2], ex * n[1] - ey * n[0]] as const, length = norm3(...m);
    if (length === 0) return;
    const [mx, my, mz] = [m[0] / length, m[1] / length, m[2] / length], d = -(mx * x[p]! + my * x[p + 1]! + mz * x[p + 2]!);
    for (const v of [a, b]) addPlane(this.quadrics, v, mx, my, mz, d, weight * (ex * ex + ey * ey + ez * ez));
  }

  private readonly point = new Float64Array(3);

  /** Error of the best place for a and b together, which it leaves in `point`. */
  private place(a: number, b: number): number {
    const area = this.weights[a]! + this.weights[b]!, error = bestPoint(this.quadrics, this.x, a, b, this.point);
    return area > 0 ? Math.max(0, error) / area : 0;
  }

  private propose(a: number, b: number): void {
    if (this.kinds[a] === 2 || this.kinds[b] === 2) return;
    const length = lengthOf(this.x, a, b);
    // Where a surface is flat all errors are 0 (or rounding): there short edges go first, so that triangles stay well shaped.
    this.heap.push(this.place(a, b) + FLAT * length * length, a, b, this.versions[a]! + this.versions[b]!);
  }

  run(target: number, maximumError: number): Decimated {
    const most = (maximumError / this.scale) ** 2;
    let left = this.alive.length, worst = 0;
    while (left > target && this.heap.pop()) {
      const { cost, a, b, version } = this.heap;
      if (cost > most) break;
      // Versions only grow, so that a sum is that of the same two.
      if (this.parents[a] !== a || this.parents[b] !== b || version !== this.versions[a]! + this.versions[b]!) continue;
      const error = this.place(a, b);
      if (!this.isAllowed(a, b)) continue;
      left -= this.collapse(a, b);
      worst = Math.max(worst, error);
    }
    return this.result(Math.sqrt(worst) * this.scale);
  }

  /** Marks the neighbours of v, and counts those that had the mark `seen`. */
  private neighbours(v: number, visit: (other: number) => void): void {
    for (const f of this.fans[v]!) {
      for (let h = 3 * f; h < 3 * f + 3; h++) if (this.faces[h] !== v) visit(this.faces[h]!);
    }
  }

  private isAllowed(a: number, b: number): boolean {
    const shared = this.fans[a]!.filter((f) => this.has(f, b)).length;
    if (shared === 0 || shared > 2) return false;
    // An inner edge between two boundary vertices would join their boundaries.
    if (shared === 2 && this.kinds[a] === 1 && this.kinds[b] === 1) return false;
    const [ofA, both] = [++this.mark, ++this.mark];
    let common = 0;
    this.neighbours(a, (v) => { this.marks[v] = ofA; });
    this.neighbours(b, (v) => {
      if (this.marks[v] === ofA) [common, this.marks[v]] = [common + 1, both];
    });
    if (common !== shared) return false;
    // Two triangles on one another, or none: a tetrahedron or a single face.
    if (this.fans[a]!.length + this.fans[b]!.length - 2 * shared < (this.kinds[a] === 1 || this.kinds[b] === 1 ? 1 : 3)) return false;
    return this.keepsSides(a, b) && this.keepsSides(b, a);
  }

  private has(f: number, v: number): boolean {
    return this.faces[3 * f] === v || this.faces[3 * f + 1] === v || this.faces[3 * f + 2] === v;
  }

  /** True if no face of v, but those that vanish, turns over when v moves to `point`. */
  private keepsSides(v: number, other: number): boolean {
    const { x, point } = this, old = [x[3 * v]!, x[3 * v + 1]!, x[3 * v + 2]!];
    for (const f of this.fans[v]!) {
      if (this.has(f, other)) continue;
      const before = crossOf(x, this.faces, f);
      x.set(point, 3 * v);
      const after = crossOf(x, this.faces, f);
      x.set(old, 3 * v);
      const dot = before[0] * after[0] + before[1] * after[1] + before[2] * after[2], [l, m] = [norm3(...before), norm3(...after)];
      if (l > 0 && !(dot > TURN * l * m)) return false;
    }
    return true;
  }

  /** b becomes a; how many faces vanish. */
  private collapse(a: number, b: number): number {
    this.x.set(this.point, 3 * a);
    this.parents[b] = a;
    this.kinds[a] = Math.max(this.kinds[a]!, this.kinds[b]!);
    this.weights[a]! += this.weights[b]!;
    for (let k = 0; k < QUADRIC; k++) this.quadrics[QUADRIC * a + k]! += this.quadrics[QUADRIC * b + k]!;
    let gone = 0;
    const touched = new Set<number>();
    for (const f of this.fans[b]!) {
      if (this.has(f, a)) {
        this.alive[f] = 0;
        gone++;
        for (let h = 3 * f; h < 3 * f + 3; h++) if (this.faces[h] !== b) touched.add(this.faces[h]!);
      } else {
        for (let h = 3 * f; h < 3 * f + 3; h++) if (this.faces[h] === b) this.faces[h] = a;
        this.fans[a]!.push(f);
      }
    }
    this.fans[b] = [];
    for (const v of touched) this.fans[v] = this.fans[v]!.filter((f) => this.alive[f]);
    this.versions[a]! = this.versions[a]! + this.versions[b]! + 1;
    const done = new Set<number>();
    this.neighbours(a, (v) => { done.add(v); });
    for (const v of done) this.propose(Math.min(a, v), Math.max(a, v));
    return gone;
  }

  private result(error: number): Decimated {
    const { scale, center, parents, positions } = this;
    const kept: number[] = [];
    for (let f = 0; f < this.alive.length; f++) if (this.alive[f]) kept.push(this.faces[3 * f]!, this.faces[3 * f + 1]!, this.faces[3 * f + 2]!);
    // Vertices that nothing moved keep their places to the bit.
    const places = this.x.map((value, k) => (this.versions[Math.floor(k / 3)] === 0 ? positions[k]! : value * scale + center[k % 3]!));
    const { positions: made, triangles, toNew } = compacted(places, kept), toDecimated = new Uint32Array(parents.length);
    for (let v = 0; v < parents.length; v++) {
      let root = v;
      while (parents[root] !== root) root = parents[root]!;
      toDecimated[v] = toNew[root]!;
    }
    return { positions: made, triangles, toDecimated, error };
  }
}
