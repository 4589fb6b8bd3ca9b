/** Energies of polygons of any number of corners. */
import { listOf, taken } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { checked, takesNoMore } from "../options.js";
import type { Problem } from "../problem.js";
import type { Ragged } from "../slots.js";
import type { Variables } from "../table.js";
import type { Vec3 } from "../vector.js";
import * as formulas from "./formulas.js";
import { ENERGY, mustHave, variablesOf, weighted, type Energy, type EnergyOptions } from "./term.js";

/**
 * Polygons: a list of corners each (`[[0, 1, 2, 3], …]`), or rows `{ offsets, indices }`.
 *
 * @example
 * const quads: Polygons = [[0, 1, 5, 4], [1, 2, 6, 5]];
 */
export type Polygons = readonly ArrayLike<number>[] | Ragged;

type Options = EnergyOptions & { x: Variables<Vec3> };

/** Rows of at least `least` corners. */
function rowsOf(call: string, polygons: unknown, vertices: number, least: number): { offsets: Uint32Array; indices: Uint32Array } {
  const lists = Array.isArray(polygons) ? listOf(`${call}: polygons`, polygons, "must be a list").map((list, f) => Float64Array.from(taken(`${call}: polygons[${f}]`, list).values)) : cut(call, polygons);
  const indices = lists.flatMap((list) => [...list]), offsets = new Uint32Array(lists.length + 1);
  lists.forEach((list, f) => {
    offsets[f + 1] = offsets[f]! + list.length;
    if (list.length < least) throw new LeastwiseError("shape", `${call}: polygon ${f} has ${list.length} corners, but ${least} or more are needed`);
    const bad = list.find((v) => !(Number.isInteger(v) && v >= 0 && v < vertices));
    if (bad !== undefined) throw new LeastwiseError("index-out-of-range", `${call}: polygon ${f} has the vertex ${bad}, but there are ${vertices} (0 to ${vertices - 1})`);
  });
  mustHave(call, lists.length, "polygons");
  return { offsets, indices: Uint32Array.from(indices) };
}

function cut(call: string, polygons: unknown): Float64Array[] {
  const { offsets, indices } = (polygons ?? {}) as Partial<Ragged>;
  if (offsets === undefined || indices === undefined) throw new LeastwiseError("invalid-option", `${call}: polygons must be a list of lists of corners, or { offsets, indices }`);
  const ends = taken(`${call}: offsets`, offsets).values, all = Float64Array.from(taken(`${call}: indices`, indices).values);
  return Array.from({ length: Math.max(0, ends.length - 1) }, (_, f) => all.slice(ends[f], ends[f + 1]));
}

/**
 * Planar polygons: Σ over all polygons of the squared distances of their corners from their best plane, which is the least eigenvalue of
 * Σ (xₖ − x̄)(xₖ − x̄)ᵀ. For quad meshes and architectural facets (Liu, Pottmann, Wallner, Yang & Wang 2006). Polygons have 4 corners or more; triangles are planar.
 *
 * @throws `shape` for a polygon of too few corners; `index-out-of-range` for a corner that is not there; `empty-term` for none
 * @example
 * planarPolygons(problem, [[0, 1, 5, 4], [1, 2, 6, 5]], { x });
 */
export function planarPolygons(problem: Problem, polygons: Polygons, options: Options): Energy {
  const call = "planarPolygons(problem, polygons, options)";
  takesNoMore(call, 3, arguments);
  const { name = "planar polygons", weight = 1, ...of } = checked(`${call}: options`, options, ENERGY, { prefix: `${call}: ` });
  const x = variablesOf<Vec3>(call, of.x);
  return weighted(problem.energy(name, { of: [x.rows(rowsOf(call, polygons, x.count, 4))], weight }, formulas.planarPolygon), 1);
}

/**
 * Regular polygons: ½ Σ of squares that vanish if a polygon is planar and regular, of any size and place. Polygons have 3 corners or more. Every row is a length:
 * xₖ₋₁ + xₖ₊₁ − 2x̄ − 2 cos(2π/n)(xₖ − x̄), which vanishes for affine images of the regular polygon (Berlekamp, Gilbert & Sinden 1965), and what edges and radii differ
 * from their means. Hold some vertices, or keep the size: a point is regular, too.
 *
 * @throws `shape` for a polygon of too few corners; `index-out-of-range` for a corner that is not there; `empty-term` for none
 * @example
 * regularPolygons(problem, [[0, 1, 2, 3, 4, 5]], { x });
 */
export function regularPolygons(problem: Problem, polygons: Polygons, options: Options): Energy {
  const call = "regularPolygons(problem, polygons, options)";
  takesNoMore(call, 3, arguments);
  const { name = "regular polygons", weight = 1, ...of } = checked(`${call}: options`, options, ENERGY, { prefix: `${call}: ` });
  const x = variablesOf<Vec3>(call, of.x);
  return weighted(problem.residuals(name, { of: [x.rows(rowsOf(call, polygons, x.count, 3))], weight }, formulas.regularPolygon), 1);
}
