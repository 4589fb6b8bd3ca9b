/** Energies that keep a shape: ARAP, lengths, areas. */
import { isArrayLike, numbersOf, type Floats } from "../arrays.js";
import { column, type Data } from "../data.js";
import { LeastwiseError } from "../errors.js";
import { quaternion } from "../manifolds.js";
import { halfEdgesOf } from "../mesh/half-edges.js";
import { mustHaveCorners, type MeshLike } from "../mesh/input.js";
import { areasOf, cotangentsOf, lengthOf } from "../mesh/measures.js";
import { checked, given, oneOf, takesNoMore } from "../options.js";
import type { Problem } from "../problem.js";
import type { Quat } from "../quaternion.js";
import type { Variables } from "../table.js";
import type { Vec3 } from "../vector.js";
import * as formulas from "./formulas.js";
import { ENERGY, mustHave, restOf, scaled, variablesOf, weighted, type Energy, type EnergyOptions } from "./term.js";

const ARAP = { ...ENERGY, rotation: given(), weights: oneOf("cotangent", "uniform") } as const;

/**
 * ARAP's term, with the rotations that it is of.
 *
 * @example
 * const deformation: Arap = arap(problem, mesh, { x });
 * deformation.weigh(0.5);
 */
export interface Arap extends Energy<{ rest: Data<Vec3> }> {
  /** A unit quaternion for every vertex. */
  readonly rotation: Variables<Quat>;
}

/**
 * As-rigid-as-possible deformation (Sorkine & Alexa, *As-Rigid-As-Possible Surface Modeling*, SGP 2007):
 *
 *     ½ Σᵢ Σⱼ wᵢⱼ ‖(xᵢ − xⱼ) − Rᵢ(pᵢ − pⱼ)‖²
 *
 * over all vertices i, their neighbours j and a rotation Rᵢ of every vertex; p are the mesh's positions, at rest.
 *
 * - `x`: variables of three components, a vertex each.
 * - `rotation`: variables of the shape `quaternion`, a vertex each. Default: new ones that begin at no rotation, named "rotation", or "NAME rotation" of a term that is given a name.
 * - `weights`: `"cotangent"` (cot α + cot β)/2, negative ones counting as 0, or `"uniform"` 1. Default `"cotangent"`.
 *
 * ```ts
 * const x = problem.variables("x", { shape: 3, values: mesh.positions });
 * arap(problem, mesh, { x });
 * ```
 *
 * @throws `foreign-variable` or `data-length` unless `x` are the variables of the vertices; `shape` unless they have three components; `invalid-option` for other options; errors of meshes as `inspect` has them
 * @example
 * const { rotation } = arap(problem, mesh, { x });
 * x.fix([0, 1, 2]);
 * await problem.solve();
 */
export function arap(problem: Problem, mesh: MeshLike, options: EnergyOptions & { x: Variables<Vec3>; rotation?: Variables<Quat>; weights?: "cotangent" | "uniform" }): Arap {
  const call = "arap(problem, mesh, options)";
  takesNoMore(call, 3, arguments);
  const { name, weight = 1, weights: kind = "cotangent", ...of } = checked(`${call}: options`, options, ARAP, { prefix: `${call}: ` });
  const { positions, faces, vertices, x } = restOf<Vec3>(call, mesh, of.x), { width } = x as unknown as { readonly width: number };
  if (width !== 3) throw new LeastwiseError("shape", `${call}: "${x.name}" has ${width} component${width === 1 ? "" : "s"}, but rotations are of space: x has three`);
  mustHaveCorners(call, faces);
  mustHave(call, faces.length, "faces");
  const { edges, weights } = cotangentsOf(positions, faces), count = weights.length;
  const over = new Uint32Array(4 * count), rest = new Float64Array(6 * count), each = new Float64Array(2 * count);
  for (let e = 0; e < count; e++) {
    const [i, j] = [edges[2 * e]!, edges[2 * e + 1]!];
    over.set([i, j, j, i], 4 * e);
    for (let k = 0; k < 3; k++) {
      rest[6 * e + k] = positions[3 * i + k]! - positions[3 * j + k]!;
      rest[6 * e + 3 + k] = -rest[6 * e + k]!;
    }
    each.fill(kind === "uniform" ? 1 : Math.max(weights[e]!, 0), 2 * e, 2 * e + 2);
  }
  const rotation = of.rotation === undefined
    ? problem.variables(name === undefined ? "rotation" : `${name} rotation`, { shape: quaternion, values: Float64Array.from({ length: 4 * vertices }, (_, k) => Number(k % 4 === 3)) })
    : variablesOf<Quat>(`${call}: rotation`, of.rotation, vertices);
  const term = problem.residuals(name ?? "arap", { over, of: [x, x, rotation.at(0)], data: { rest: column(rest, 3) }, weight: scaled(each, weight) }, formulas.arap);
  return Object.assign(weighted(term, each), { rotation });
}

const LENGTHS = { ...ENERGY, length: given() } as const;

/**
 * Lengths of edges: ½ Σ (‖xᵢ − xⱼ‖ − ℓᵢⱼ)², springs of stiffness `weight`. `edgeLengths` of `leastwise/mesh` measures lengths instead.
 *
 * - `x`: variables of two or three components.
 * - `length`: ℓ, one for all, or one for each row of `edges(triangles)`. Default: the lengths of the mesh.
 *
 * @throws `foreign-variable` or `data-length` unless `x` are the variables of the vertices; `invalid-option` for other options; errors of meshes as `inspect` has them
 * @example
 * edgeLengths(problem, mesh, { x, length: 1 });
 */
export function edgeLengths(problem: Problem, mesh: MeshLike, options: EnergyOptions & { x: Variables<Vec3>; length?: number | Floats | readonly number[] }): Energy<{ length: Floats }> {
  const call = "edgeLengths(problem, mesh, options)";
  takesNoMore(call, 3, arguments);
  const { name = "edge lengths", weight = 1, ...of } = checked(`${call}: options`, options, LENGTHS, { prefix: `${call}: ` });
  const { positions, faces, x } = restOf<Vec3>(call, mesh, of.x), { edges } = edgesOf(call, faces);
  const length = wantedOf(`${call}: length`, of.length, edges.length / 2, (e) => lengthOf(positions, edges[2 * e]!, edges[2 * e + 1]!));
  return weighted(problem.residuals(name, { over: edges, of: [x, x], data: { length }, weight }, formulas.edgeLength), 1);
}

const EQUAL = { ...ENERGY, area: given() } as const;

/**
 * Equal areas: ½ Σ (A_f − A)² over all faces, in the fourth power of a length.
 *
 * `area`: A, one for all, or one for each face. Default: the mean area of the mesh's faces.
 *
 * @throws `foreign-variable` or `data-length` unless `x` are the variables of the vertices; `invalid-option` for other options; errors of meshes as `inspect` has them
 * @example
 * equalAreas(problem, mesh, { x });
 */
export function equalAreas(problem: Problem, mesh: MeshLike, options: EnergyOptions & { x: Variables<Vec3>; area?: number | Floats | readonly number[] }): Energy<{ area: Floats }> {
  const call = "equalAreas(problem, mesh, options)";
  takesNoMore(call, 3, arguments);
  const { name = "equal areas", weight = 1, ...of } = checked(`${call}: options`, options, EQUAL, { prefix: `${call}: ` });
  const { positions, faces, x } = restOf<Vec3>(call, mesh, of.x), areas = areasOf(positions, faces), mean = areas.reduce((sum, area) => sum + area, 0) / areas.length;
  mustHave(call, faces.length, "faces");
  const area = wantedOf(`${call}: area`, of.area, areas.length, () => mean);
  return weighted(problem.residuals(name, { over: faces, of: [x, x, x], data: { area }, weight }, formulas.area), 1);
}

/** @internal */
export function edgesOf(call: string, faces: Uint32Array): ReturnType<typeof halfEdgesOf> {
  mustHaveCorners(call, faces);
  mustHave(call, faces.length, "faces");
  return halfEdgesOf(faces);
}

/** One number for each of `count`: as given, or one for all, or computed. @internal */
export function wantedOf(what: string, wanted: unknown, count: number, otherwise: (k: number) => number): Float64Array {
  if (wanted === undefined) return Float64Array.from({ length: count }, (_, k) => otherwise(k));
  if (!isArrayLike(wanted)) {
    if (typeof wanted !== "number" || !Number.isFinite(wanted)) throw new LeastwiseError("invalid-option", `${what} must be a finite number or an array of ${count} numbers`);
    return new Float64Array(count).fill(wanted);
  }
  const values = numbersOf(what, wanted);
  if (values.length !== count) throw new LeastwiseError("data-length", `${what} has ${values.length} numbers, but ${count} are needed`);
  return Float64Array.from(values);
}
