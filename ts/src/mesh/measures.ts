/** Lengths, angles, areas, normals and curvatures of a triangle mesh in f64. Faces without area have normal, angles and cotangents 0. */
import type { F64 } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { checked, oneOf, takesNoMore } from "../options.js";
import { halfEdgesOf, next, previous, type HalfEdges } from "./half-edges.js";
import { meshOf, mustHaveCorners, pointsOf, type MeshLike } from "./input.js";

const { atan2, sqrt } = Math;

/** ‖(x, y, z)‖. `Math.hypot` takes ten times as long. @internal */
export const norm3 = (x: number, y: number, z: number): number => sqrt(x * x + y * y + z * z);
const normOf = ([x, y, z]: readonly [number, number, number]): number => norm3(x, y, z);

/** (q − p) × (r − p) of the corners p, q, r of face f: twice its area, along its normal. @internal */
export function crossOf(x: F64, faces: Uint32Array, f: number): readonly [number, number, number] {
  const [p, q, r] = [3 * faces[3 * f]!, 3 * faces[3 * f + 1]!, 3 * faces[3 * f + 2]!];
  const [ux, uy, uz] = [x[q]! - x[p]!, x[q + 1]! - x[p + 1]!, x[q + 2]! - x[p + 2]!];
  const [vx, vy, vz] = [x[r]! - x[p]!, x[r + 1]! - x[p + 1]!, x[r + 2]! - x[p + 2]!];
  return [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
}

/** (b − a)·(c − a) for vertices a, b, c. */
function dotAt(x: F64, a: number, b: number, c: number): number {
  [a, b, c] = [3 * a, 3 * b, 3 * c];
  return (x[b]! - x[a]!) * (x[c]! - x[a]!) + (x[b + 1]! - x[a + 1]!) * (x[c + 1]! - x[a + 1]!) + (x[b + 2]! - x[a + 2]!) * (x[c + 2]! - x[a + 2]!);
}

/** ‖q − p‖ of vertices p, q. @internal */
export const lengthOf = (x: F64, p: number, q: number): number => norm3(x[3 * q]! - x[3 * p]!, x[3 * q + 1]! - x[3 * p + 1]!, x[3 * q + 2]! - x[3 * p + 2]!);

/**
 * Area of every face: ‖(q − p) × (r − p)‖/2.
 *
 * @throws `shape`, `data-length`, `index-out-of-range` or `non-finite` for what is no mesh
 * @example
 * const area = faceAreas(mesh).reduce((sum, one) => sum + one, 0);
 */
export function faceAreas(mesh: MeshLike): F64 {
  takesNoMore("faceAreas(mesh)", 1, arguments);
  const { positions, faces } = meshOf("faceAreas(mesh)", mesh);
  return areasOf(positions, faces);
}

/** @internal */
export const areasOf = (positions: F64, faces: Uint32Array): F64 => Float64Array.from({ length: faces.length / 3 }, (_, f) => normOf(crossOf(positions, faces, f)) / 2);

/**
 * Unit normal of every face, flat: the direction of (q − p) × (r − p), outwards where faces are counter-clockwise seen from outside.
 *
 * @throws `shape`, `data-length`, `index-out-of-range` or `non-finite` for what is no mesh
 * @example
 * const normals = faceNormals(mesh);  // x y z of every face, of length 1
 */
export function faceNormals(mesh: MeshLike): F64 {
  takesNoMore("faceNormals(mesh)", 1, arguments);
  const { positions, faces } = meshOf("faceNormals(mesh)", mesh), normals = new Float64Array(faces.length);
  for (let f = 0; f < faces.length / 3; f++) normals.set(crossOf(positions, faces, f), 3 * f);
  return normalized(normals);
}

/** Rows of three numbers, divided by their lengths; those of length 0 stay. */
function normalized(rows: F64): F64 {
  for (let k = 0; k < rows.length; k += 3) {
    const length = norm3(rows[k]!, rows[k + 1]!, rows[k + 2]!);
    if (length > 0) for (let j = k; j < k + 3; j++) rows[j]! /= length;
  }
  return rows;
}

/**
 * Angle at every corner in radians, three for each face: atan2 of area and dot product, exact for slivers too.
 *
 * @throws `shape`, `data-length`, `index-out-of-range` or `non-finite` for what is no mesh
 * @example
 * const angles = cornerAngles(mesh);  // three a face
 */
export function cornerAngles(mesh: MeshLike): F64 {
  takesNoMore("cornerAngles(mesh)", 1, arguments);
  const { positions, faces } = meshOf("cornerAngles(mesh)", mesh);
  return anglesOf(positions, faces);
}

function anglesOf(positions: F64, faces: Uint32Array): F64 {
  const angles = new Float64Array(faces.length);
  for (let h = 0; h < faces.length; h++) {
    const double = normOf(crossOf(positions, faces, Math.floor(h / 3)));
    if (double > 0) angles[h] = atan2(double, dotAt(positions, faces[h]!, faces[next(h)]!, faces[previous(h)]!));
  }
  return angles;
}

const NORMALS = { weight: oneOf("angle", "area", "uniform") } as const;

/**
 * Unit normal of every vertex, flat: the mean of its faces' normals, weighted by the `"angle"` at the vertex (Thürmer & Wüthrich
 * 1998: independent of the triangulation), by `"area"`, or not at all. 0 for a vertex without faces.
 *
 * `weight`: default `"angle"`.
 *
 * @throws `shape`, `data-length`, `index-out-of-range` or `non-finite` for what is no mesh; `invalid-option` for other options
 * @example
 * const normals = vertexNormals(mesh, { weight: "area" });
 */
export function vertexNormals(mesh: MeshLike, options: { weight?: "angle" | "area" | "uniform" } = {}): F64 {
  const call = "vertexNormals(mesh, options)";
  takesNoMore(call, 2, arguments);
  const { weight = "angle" } = checked(`${call}: options`, options, NORMALS, { prefix: `${call}: ` });
  const { positions, faces } = meshOf(call, mesh), normals = new Float64Array(positions.length), angles = weight === "angle" ? anglesOf(positions, faces) : undefined;
  for (let f = 0; f < faces.length / 3; f++) {
    const n = crossOf(positions, faces, f), length = normOf(n);
    for (let h = 3 * f; length > 0 && h < 3 * f + 3; h++) {
      const factor = weight === "area" ? 1 : (angles ? angles[h]! : 1) / length, at = 3 * faces[h]!;
      for (let k = 0; k < 3; k++) normals[at + k]! += factor * n[k]!;
    }
  }
  return normalized(normals);
}

const AREAS = { kind: oneOf("barycentric", "mixed") } as const;

/**
 * Area of every vertex. `"barycentric"`: a third of its faces. `"mixed"`: the Voronoi region within each face, where that is
 * obtuse a half or a quarter of it (Meyer, Desbrun, Schröder & Barr 2003). Both sum up to the area of the mesh.
 *
 * `kind`: default `"barycentric"`.
 *
 * @throws `shape`, `data-length`, `index-out-of-range` or `non-finite` for what is no mesh; `invalid-option` for other options
 * @example
 * const masses = vertexAreas(mesh, { kind: "mixed" });
 */
export function vertexAreas(mesh: MeshLike, options: { kind?: "barycentric" | "mixed" } = {}): F64 {
  const call = "vertexAreas(mesh, options)";
  takesNoMore(call, 2, arguments);
  const { kind = "barycentric" } = checked(`${call}: options`, options, AREAS, { prefix: `${call}: ` });
  const { positions, faces, vertices } = meshOf(call, mesh);
  return kind === "mixed" ? mixedAreas(positions, faces, vertices) : barycentricAreas(positions, faces, vertices);
}

/** @internal */
export function barycentricAreas(positions: F64, faces: Uint32Array, vertices: number): F64 {
  const areas = new Float64Array(vertices), ofFaces = areasOf(positions, faces);
  for (let h = 0; h < faces.length; h++) areas[faces[h]!]! += ofFaces[Math.floor(h / 3)]! / 3;
  return areas;
}

function mixedAreas(positions: F64, faces: Uint32Array, vertices: number): F64 {
  const areas = new Float64Array(vertices), ofFaces = areasOf(positions, faces), cotangents = cornerCotangents(positions, faces);
  for (let h = 0; h < faces.length; h++) {
    const f = Math.floor(h / 3), [n, p] = [next(h), previous(h)], v = faces[h]!;
    if (cotangents[h]! < 0) areas[v]! += ofFaces[f]! / 2;
    else if (cotangents[n]! < 0 || cotangents[p]! < 0) areas[v]! += ofFaces[f]! / 4;
    else areas[v]! += (lengthOf(positions, v, faces[n]!) ** 2 * cotangents[p]! + lengthOf(positions, v, faces[p]!) ** 2 * cotangents[n]!) / 8;
  }
  return areas;
}

/** Cotangent of the angle at every corner; 0 in a face without area. */
function cornerCotangents(positions: F64, faces: Uint32Array): F64 {
  const cotangents = new Float64Array(faces.length);
  for (let f = 0; f < faces.length / 3; f++) {
    const double = normOf(crossOf(positions, faces, f));
    for (let h = 3 * f; double > 0 && h < 3 * f + 3; h++) cotangents[h] = dotAt(positions, faces[h]!, faces[next(h)]!, faces[previous(h)]!) / double;
  }
  return cotangents;
}

/**
 * Weights of edges: row e of the index table has `weights[e]`.
 *
 * @example
 * const { edges, weights }: EdgeWeights = cotangentWeights(mesh);
 */
export interface EdgeWeights {
  /** Two vertices of every edge, as `edges(triangles)` has them. */
  readonly edges: Uint32Array;
  readonly weights: F64;
}

/**
 * Cotangent weights (cot α + cot β)/2 of every edge, α and β being the angles that face it (Pinkall & Polthier 1993): one
 * angle at a boundary, and of an edge of more faces the sum over all of them. ½ Σ w ‖uᵢ − uⱼ‖² is the Dirichlet energy of u.
 * Negative where α + β > π.
 *
 * @throws `shape`, `data-length`, `index-out-of-range` or `non-finite` for what is no mesh
 * @example
 * const { edges, weights } = cotangentWeights(mesh);
 * problem.residuals("smooth", { over: edges, of: [x, x], weight: weights }, ([a, b]) => a.sub(b));
 */
export function cotangentWeights(mesh: MeshLike): EdgeWeights {
  takesNoMore("cotangentWeights(mesh)", 1, arguments);
  const { positions, faces } = meshOf("cotangentWeights(mesh)", mesh);
  mustHaveCorners("cotangentWeights(mesh)", faces);
  return cotangentsOf(positions, faces);
}

/** @internal */
export function cotangentsOf(positions: F64, faces: Uint32Array, { edges, edgeOf }: HalfEdges = halfEdgesOf(faces)): EdgeWeights {
  const weights = new Float64Array(edges.length / 2), cotangents = cornerCotangents(positions, faces);
  for (let h = 0; h < faces.length; h++) weights[edgeOf[h]!]! += cotangents[previous(h)]! / 2;
  return { edges, weights };
}

/**
 * Length of every edge of an index table of two columns, by default all edges of the mesh in the order of `edges(triangles)`. `edgeLengths` of
 * `leastwise/energies` adds springs to a problem instead.
 *
 * @throws `shape`, `data-length`, `index-out-of-range` or `non-finite` for what is no mesh; `data-length` or `index-out-of-range` for a table that has no pairs of its vertices
 * @example
 * const lengths = edgeLengths(mesh, edges(mesh.triangles));
 */
export function edgeLengths(mesh: MeshLike, table?: ArrayLike<number>): F64 {
  const call = "edgeLengths(mesh, table)";
  takesNoMore(call, 2, arguments);
  const { positions, faces, vertices } = meshOf(call, mesh), pairs = table === undefined ? halfEdgesOf(faces).edges : pairsOf(call, table, vertices);
  return Float64Array.from({ length: pairs.length / 2 }, (_, e) => lengthOf(positions, pairs[2 * e]!, pairs[2 * e + 1]!));
}

/** An index table of two columns below `vertices`. @internal */
export function pairsOf(call: string, table: unknown, vertices: number): F64 {
  const pairs = pointsOf(call, "table", table, 2), bad = pairs.findIndex((v) => !(Number.isInteger(v) && v >= 0 && v < vertices));
  if (bad >= 0) throw new LeastwiseError("index-out-of-range", `${call}: row ${bad >> 1} of the table has the vertex ${pairs[bad]}, but there are ${vertices} vertices (0 to ${vertices - 1})`);
  return pairs;
}

/**
 * Curvatures of vertices.
 *
 * @example
 * const { values, vectors }: MeanCurvature = meanCurvature(mesh);
 */
export interface MeanCurvature {
  /** H = (κ₁ + κ₂)/2 of every vertex in 1/length: 1/r on a sphere of radius r whose normals point outwards. */
  readonly values: F64;
  /** The vector 2Hn of every vertex, flat: Σ (cot α + cot β)(xᵢ − xⱼ)/(2A), which is minus the Laplacian of the positions. */
  readonly vectors: F64;
}

/**
 * Mean curvature by the cotangent Laplacian and mixed areas (Meyer, Desbrun, Schröder & Barr 2003). The sign of a vertex' value
 * is that of its vector along its normal. At a boundary, and where a vertex has no area, the value says nothing of the surface: 0.
 *
 * @throws `shape`, `data-length`, `index-out-of-range` or `non-finite` for what is no mesh
 * @example
 * const { values } = meanCurvature(mesh);  // 1/r on a sphere of radius r
 */
export function meanCurvature(mesh: MeshLike): MeanCurvature {
  const call = "meanCurvature(mesh)";
  takesNoMore(call, 1, arguments);
  const { positions, faces, vertices } = meshOf(call, mesh);
  mustHaveCorners(call, faces);
  const half = halfEdgesOf(faces), { edges, offsets } = half, { weights } = cotangentsOf(positions, faces, half), areas = mixedAreas(positions, faces, vertices);
  const vectors = new Float64Array(positions.length), values = new Float64Array(vertices), open = new Uint8Array(vertices), normals = vertexNormals({ positions, triangles: faces });
  for (let e = 0; e < weights.length; e++) {
    const [i, j] = [edges[2 * e]!, edges[2 * e + 1]!];
    if (offsets[e + 1]! - offsets[e]! === 1) open[i] = open[j] = 1;
    for (let k = 0; k < 3; k++) {
      const pull = weights[e]! * (positions[3 * i + k]! - positions[3 * j + k]!);
      vectors[3 * i + k]! += pull;
      vectors[3 * j + k]! -= pull;
    }
  }
  for (let v = 0; v < vertices; v++) {
    const area = open[v] ? 0 : areas[v]!;
    for (let k = 3 * v; k < 3 * v + 3; k++) vectors[k] = area > 0 ? vectors[k]! / area : 0;
    const [x, y, z] = [vectors[3 * v]!, vectors[3 * v + 1]!, vectors[3 * v + 2]!];
    values[v] = (Math.sign(x * normals[3 * v]! + y * normals[3 * v + 1]! + z * normals[3 * v + 2]!) * norm3(x, y, z)) / 2;
  }
  return { values, vectors };
}

/**
 * Angle defect of every vertex in radians: 2π − Σ θ inside, π − Σ θ at a boundary; divided by an area it is the Gaussian
 * curvature. The sum is 2πχ, χ being the Euler characteristic (Gauss–Bonnet). 0 for a vertex without faces.
 *
 * @throws `shape`, `data-length`, `index-out-of-range` or `non-finite` for what is no mesh
 * @example
 * const total = angleDefects(mesh).reduce((sum, defect) => sum + defect, 0);  // 2π times the Euler characteristic
 */
export function angleDefects(mesh: MeshLike): F64 {
  const call = "angleDefects(mesh)";
  takesNoMore(call, 1, arguments);
  const { positions, faces, vertices } = meshOf(call, mesh);
  mustHaveCorners(call, faces);
  const { edges, offsets } = halfEdgesOf(faces), angles = anglesOf(positions, faces), defects = new Float64Array(vertices);
  for (const v of faces) defects[v] = 2 * Math.PI;
  for (let e = 0; e < edges.length / 2; e++) {
    if (offsets[e + 1]! - offsets[e]! === 1) defects[edges[2 * e]!] = defects[edges[2 * e + 1]!] = Math.PI;
  }
  for (let h = 0; h < faces.length; h++) defects[faces[h]!]! -= angles[h]!;
  return defects;
}

/**
 * Volume that a closed mesh encloses: Σ p·(q × r)/6, positive where normals point outwards.
 *
 * @throws `shape`, `data-length`, `index-out-of-range` or `non-finite` for what is no mesh
 * @example
 * console.log(volume(icosphere({ subdivisions: 4 })));  // about 4π/3
 */
export function volume(mesh: MeshLike): number {
  takesNoMore("volume(mesh)", 1, arguments);
  const { positions: x, faces } = meshOf("volume(mesh)", mesh);
  let sum = 0;
  for (let f = 0; f < faces.length / 3; f++) {
    const p = 3 * faces[3 * f]!, n = crossOf(x, faces, f);
    sum += x[p]! * n[0] + x[p + 1]! * n[1] + x[p + 2]! * n[2];
  }
  return sum / 6;
}

/**
 * Rest shapes of faces, laid into the plane one by one.
 *
 * @example
 * const { inverses, areas }: TriangleFrames = triangleFrames(mesh);
 */
export interface TriangleFrames {
  /** (e f)⁻¹ of every face, row by row (4 numbers): e and f are its edges q − p and r − p in a plane in which e lies along the first axis. */
  readonly inverses: F64;
  readonly areas: F64;
}

/**
 * Frames: of every face the inverse of its edges in the plane, so that F = (q′ − p′, r′ − p′) · inverse is the gradient of a map
 * to p′, q′, r′. `material` gives two coordinates for every vertex (the pattern of a cloth) in place of the face's own plane.
 *
 * @throws `shape` for a face without area, or one whose material coordinates are turned over
 * @example
 * const { inverses, areas } = triangleFrames(mesh);
 * problem.energy("mips", { over: mesh.triangles, of: [uv, uv, uv], data: { inverse: column(inverses, 4) }, weight: areas }, formulas.mips);
 */
export function triangleFrames(mesh: MeshLike, material?: ArrayLike<number>): TriangleFrames {
  const call = "triangleFrames(mesh, material)";
  takesNoMore(call, 2, arguments);
  const { positions: x, faces, vertices } = meshOf(call, mesh), at = material === undefined ? undefined : pointsOf(call, "material", material, 2);
  if (at && at.length !== 2 * vertices) throw new LeastwiseError("data-length", `${call}: material has ${at.length} numbers, but ${2 * vertices} are needed (two for each of ${vertices} vertices)`);
  const count = faces.length / 3, inverses = new Float64Array(4 * count), areas = new Float64Array(count);
  for (let f = 0; f < count; f++) {
    const [p, q, r] = [faces[3 * f]!, faces[3 * f + 1]!, faces[3 * f + 2]!];
    let [ex, ey, fx, fy] = [0, 0, 0, 0];
    if (at) [ex, ey, fx, fy] = [at[2 * q]! - at[2 * p]!, at[2 * q + 1]! - at[2 * p + 1]!, at[2 * r]! - at[2 * p]!, at[2 * r + 1]! - at[2 * p + 1]!];
    else {
      ex = lengthOf(x, p, q);
      if (ex > 0) [fx, fy] = [dotAt(x, p, q, r) / ex, normOf(crossOf(x, faces, f)) / ex];
    }
    const det = ex * fy - ey * fx;
    // Rounding alone gives a face of three points on a line an area of this size.
    if (!(det > 1e-14 * (ex * ex + ey * ey + fx * fx + fy * fy))) throw new LeastwiseError("shape", `${call}: face ${f} (${p}, ${q}, ${r}) has ${det < 0 && at ? "material coordinates that are turned over" : "no area"}, so it has no rest shape: clean(mesh) leaves faces without area out`);
    inverses.set([fy / det, -fx / det, -ey / det, ex / det], 4 * f);
    areas[f] = det / 2;
  }
  return { inverses, areas };
}

/**
 * Least and greatest coordinates of all vertices; the centre of the box, and its diagonal. Zeros for no vertices.
 *
 * @throws `shape`, `data-length` or `non-finite` for what are no positions
 * @example
 * const { center, diagonal } = boundingBox(mesh);
 */
export function boundingBox(mesh: Pick<MeshLike, "positions">): { min: F64; max: F64; center: F64; diagonal: number } {
  takesNoMore("boundingBox(mesh)", 1, arguments);
  const { positions } = meshOf("boundingBox(mesh)", { positions: mesh?.positions, triangles: [] });
  return boxOf(positions);
}

/** @internal */
export function boxOf(positions: F64): { min: F64; max: F64; center: F64; diagonal: number } {
  const min = positions.slice(0, 3), max = positions.slice(0, 3);
  if (positions.length === 0) return { min: new Float64Array(3), max: new Float64Array(3), center: new Float64Array(3), diagonal: 0 };
  for (let k = 3; k < positions.length; k++) {
    min[k % 3] = Math.min(min[k % 3]!, positions[k]!);
    max[k % 3] = Math.max(max[k % 3]!, positions[k]!);
  }
  const size = max.map((value, k) => value - min[k]!);
  return { min, max, center: min.map((value, k) => value + size[k]! / 2), diagonal: sqrt(size.reduce((sum, value) => sum + value * value, 0)) };
}
