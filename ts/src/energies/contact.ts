/** Inertia, and contact by log barriers: what a time step has besides elasticity. */
import type { Floats, Indices, Rows } from "../arrays.js";
import { column, type Data } from "../data.js";
import { LeastwiseError } from "../errors.js";
import { pointsOf } from "../mesh/input.js";
import { pairsOf } from "../mesh/measures.js";
import { checked, given, real, takesNoMore } from "../options.js";
import type { Problem } from "../problem.js";
import type { Table, Variables } from "../table.js";
import type { Vec3 } from "../vector.js";
import { wantedOf } from "./deformation.js";
import * as formulas from "./formulas.js";
import { ENERGY, mustHave, scaled, variablesOf, weighted, type Energy, type EnergyOptions } from "./term.js";

const positive = real(0, Infinity, true);
const INERTIA = { ...ENERGY, mass: given(), step: positive, predicted: given<ArrayLike<number> | Rows>() } as const;

/**
 * Inertia of implicit Euler (Gast, Schroeder, Stomakhin, Jiang & Teran 2015): ½ Σ (m/h²) ‖x − y‖². The minimum of this and the energies of all forces is the next frame,
 * if y = 2xₙ − xₙ₋₁ + h² g for gravity and other accelerations g.
 *
 * - `predicted`: y, flat; set it every frame: `term.set({ predicted })`.
 * - `mass`: m, one for all or one a vertex. Default 1.
 * - `step`: h. Default 1/60.
 *
 * @throws `data-length` where `predicted` or `mass` does not fit `x`
 * @example
 * const moving = inertia(problem, { x, predicted: mesh.positions, mass: 0.01, step: 1 / 60 });
 * moving.set({ predicted: points });                       // every frame
 */
export function inertia(problem: Problem, options: EnergyOptions & { x: Variables<Vec3>; predicted: ArrayLike<number> | Rows; mass?: number | Floats | readonly number[]; step?: number }): Energy<{ predicted: Data<Vec3> }> {
  const call = "inertia(problem, options)";
  takesNoMore(call, 2, arguments);
  const { name = "inertia", weight = 1, step = 1 / 60, ...of } = checked(`${call}: options`, options, INERTIA, { prefix: `${call}: ` });
  const x = variablesOf<Vec3>(call, of.x), predicted = pointsOf(call, "predicted", of.predicted ?? []);
  if (predicted.length !== 3 * x.count) throw new LeastwiseError("data-length", `${call}: predicted has ${predicted.length} numbers, but ${3 * x.count} are needed (three for each of ${x.count} vertices)`);
  const masses = wantedOf(`${call}: mass`, of.mass, x.count, () => 1).map((mass) => mass / step ** 2);
  return weighted(problem.residuals(name, { of: [x], data: { predicted: column(predicted, 3) }, weight: scaled(masses, weight) }, formulas.inertia), masses);
}

const CONTACT = { ...ENERGY, range: positive, which: given<Indices>() } as const;
const PLANE = { ...CONTACT, normal: given(), offset: real(-Infinity) } as const;
const SPHERE = { ...CONTACT, center: given(), radius: positive } as const;
type Contact = EnergyOptions & {
  x: Variables<Vec3>;
  /** Distance d̂ at which the barrier begins. */
  range: number;
  /** Vertices. Default: all. */
  which?: Indices;
};

const bodies = (x: Variables<Vec3>, which: Indices | undefined): readonly [ReturnType<Variables<Vec3>["at"]>] => [which === undefined ? x as never : x.at(which)];

function three(call: string, what: string, given: unknown): readonly [number, number, number] {
  const point = pointsOf(call, what, given ?? []);
  if (point.length !== 3) throw new LeastwiseError("shape", `${call}: ${what} has ${point.length} numbers, but must be x, y, z`);
  return [point[0]!, point[1]!, point[2]!];
}

/** Refuses a missing option that has no default. */
function needed<T>(call: string, name: string, value: T | undefined): T {
  if (value === undefined) throw new LeastwiseError("invalid-option", `${call}: ${name} must be given`);
  return value;
}

/**
 * Contact with a plane: Σ b(n·x − o, d̂), with the log barrier b(d, d̂) = −(d − d̂)² ln(d/d̂) below the distance d̂ (Li, Ferguson, Schneider, Langlois, Zorin, Panozzo,
 * Jiang & Kaufman, *Incremental Potential Contact*, 2020). No step goes through the plane; at the start every vertex has to be above it. Only ends of steps are
 * looked at, which is all for a half-space.
 *
 * - `normal`: n, of any length but 0. Default: (0, 1, 0). `offset`: o, of the unit normal. Default 0.
 * - `range`: d̂. `which`: vertices; default all.
 *
 * @throws `invalid-option` without a range, or for a normal of 0
 * @example
 * planeContact(problem, { x, normal: [0, 1, 0], offset: -1, range: 0.01 });
 */
export function planeContact(problem: Problem, options: Contact & { normal?: readonly number[]; offset?: number }): Energy<{ normal: readonly [number, number, number]; offset: number; range: number }> {
  const call = "planeContact(problem, options)";
  takesNoMore(call, 2, arguments);
  const { name = "plane", weight = 1, offset = 0, ...of } = checked(`${call}: options`, options, PLANE, { prefix: `${call}: ` });
  const x = variablesOf<Vec3>(call, of.x), [nx, ny, nz] = three(call, "normal", of.normal ?? [0, 1, 0]), length = Math.hypot(nx, ny, nz), range = needed(call, "range", of.range);
  if (length === 0) throw new LeastwiseError("invalid-option", `${call}: normal is 0, which is no direction`);
  const normal = [nx / length, ny / length, nz / length] as const;
  return weighted(problem.energy(name, { of: bodies(x, of.which), data: { normal, offset, range }, weight }, formulas.planeContact), 1);
}

/**
 * Contact with the outside of a sphere: Σ b(‖x − c‖ − r, d̂), b being the barrier of {@link planeContact}. A step longer than the sphere is thick may end behind
 * it: limit steps by short frames.
 *
 * `center`: c. Default the origin. `radius`: r. `range`: d̂. `which`: vertices; default all. Live: `term.set({ center, radius })`.
 *
 * @throws `invalid-option` without a radius or a range
 * @example
 * sphereContact(problem, { x, center: [0, 1, 0], radius: 0.5, range: 0.01 });
 */
export function sphereContact(problem: Problem, options: Contact & { center?: readonly number[]; radius: number }): Energy<{ center: readonly [number, number, number]; radius: number; range: number }> {
  const call = "sphereContact(problem, options)";
  takesNoMore(call, 2, arguments);
  const { name = "sphere", weight = 1, ...of } = checked(`${call}: options`, options, SPHERE, { prefix: `${call}: ` });
  const x = variablesOf<Vec3>(call, of.x), center = three(call, "center", of.center ?? [0, 0, 0]), [radius, range] = [needed(call, "radius", of.radius), needed(call, "range", of.range)];
  return weighted(problem.energy(name, { of: bodies(x, of.which), data: { center, radius, range }, weight }, formulas.sphereContact), 1);
}

const VERTICES = { ...ENERGY, range: positive, thickness: real(0), pairs: given(), with: given() } as const;

/**
 * Contact of vertices with each other, or with those of another mesh: Σ b(‖a − b‖ − t, d̂) over pairs, b being the barrier of {@link planeContact}. Vertices alone are
 * kept apart, so t should be above the length of an edge. Pairs are those that may come close before the next search: see {@link closePairs}.
 *
 * - `pairs`: an index table of two columns. `with`: variables or constants of the second column. Default `x`.
 * - `thickness`: t. Default 0. `range`: d̂.
 *
 * @throws `index-out-of-range` for a pair of a vertex that is not there; `empty-term` without pairs
 * @example
 * vertexContact(problem, { x, pairs: closePairs(mesh.positions, 0.1), thickness: 0.02, range: 0.05 });
 */
export function vertexContact(problem: Problem, options: EnergyOptions & { x: Variables<Vec3>; with?: Table<Vec3>; pairs: ArrayLike<number> | Rows; thickness?: number; range: number }): Energy<{ thickness: number; range: number }> {
  const call = "vertexContact(problem, options)";
  takesNoMore(call, 2, arguments);
  const { name = "vertices", weight = 1, thickness = 0, ...of } = checked(`${call}: options`, options, VERTICES, { prefix: `${call}: ` });
  const x = variablesOf<Vec3>(call, of.x), other = of.with === undefined ? x : variablesOf<Vec3>(`${call}: with`, of.with), range = needed(call, "range", of.range);
  const over = Uint32Array.from(pairsOf(call, needed(call, "pairs", of.pairs), Math.max(x.count, other.count)));
  mustHave(call, over.length, "pairs");
  return weighted(problem.energy(name, { over, of: [x, other], data: { thickness, range }, weight }, formulas.vertexContact), 1);
}

/**
 * Pairs of points within a distance of each other: (i, j) with i < j of one list, or (i of the first, j of the second) of two; an index table of two columns, sorted. By
 * a grid of cells of that size: near-linear where points are spread.
 *
 * @throws `invalid-option` for a distance that is not above 0; `data-length` or `non-finite` for what are no points
 * @example
 * const pairs = closePairs(mesh.positions, 0.1);
 */
export function closePairs(points: ArrayLike<number> | Rows, distance: number, others?: ArrayLike<number> | Rows): Uint32Array {
  const call = "closePairs(points, distance, others)";
  takesNoMore(call, 3, arguments);
  const reach = positive(`${call}: distance`, distance, {}), first = pointsOf(call, "points", points), second = others === undefined ? first : pointsOf(call, "others", others);
  const cells = new Map<string, number[]>(), cellOf = (list: Float64Array, v: number): number[] => [0, 1, 2].map((k) => Math.floor(list[3 * v + k]! / reach));
  for (let v = 0; v < second.length / 3; v++) {
    const key = cellOf(second, v).join(), cell = cells.get(key);
    if (cell) cell.push(v);
    else cells.set(key, [v]);
  }
  const pairs: number[] = [];
  for (let v = 0; v < first.length / 3; v++) {
    const [i, j, k] = cellOf(first, v) as [number, number, number], found: number[] = [];
    for (let n = 0; n < 27; n++) {
      for (const other of cells.get(`${i + (n % 3) - 1},${j + (Math.floor(n / 3) % 3) - 1},${k + Math.floor(n / 9) - 1}`) ?? []) {
        if (others === undefined && other <= v) continue;
        if ((first[3 * v]! - second[3 * other]!) ** 2 + (first[3 * v + 1]! - second[3 * other + 1]!) ** 2 + (first[3 * v + 2]! - second[3 * other + 2]!) ** 2 <= reach ** 2) found.push(other);
      }
    }
    for (const other of found.sort((a, b) => a - b)) pairs.push(v, other);
  }
  return Uint32Array.from(pairs);
}
