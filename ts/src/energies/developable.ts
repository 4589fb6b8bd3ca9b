/** Energies that make a surface piecewise developable: flat faces and bent strips, with seams between them. */
import type { MeshLike } from "../mesh/input.js";
import { angleDefects } from "../mesh/measures.js";
import { fans, type Fans } from "../mesh/topology.js";
import { checked, given, real, takesNoMore } from "../options.js";
import type { Problem } from "../problem.js";
import type { Scalar } from "../scalar.js";
import type { Variables } from "../table.js";
import type { Vec3 } from "../vector.js";
import * as formulas from "./formulas.js";
import { ENERGY, mustHave, pick, restOf, weighted, type Energy, type EnergyOptions } from "./term.js";

const DEVELOPABLE = { ...ENERGY, fans: given<Fans>() } as const;

type Options = EnergyOptions & {
  /** Variables of three components, a vertex each. */
  x: Variables<Vec3>;
  /** Order of every vertex' faces. Default: `fans(triangles)`. */
  fans?: Fans;
};

/** One energy for every vertex whose faces go all around, if they are more than three: three faces are developable only where they are flat. */
function ofFans(name: string, title: string, problem: Problem, mesh: MeshLike, options: Options, formula: (fan: readonly [Vec3, readonly Vec3[], readonly Vec3[]]) => Scalar): Energy {
  const call = `${name}(problem, mesh, options)`;
  const { name: given = title, weight = 1, ...of } = checked(`${call}: options`, options, DEVELOPABLE, { prefix: `${call}: ` });
  const { faces, vertices, x } = restOf<Vec3>(call, mesh, of.x), { offsets, next, previous, closed } = of.fans ?? fans(faces, vertices);
  const inside = [...closed.keys()].filter((v) => closed[v] && offsets[v + 1]! - offsets[v]! > 3);
  mustHave(call, inside.length, "vertices inside with four faces or more");
  const rows = [next, previous].map((indices) => x.rows(pick({ offsets, indices }, inside)));
  return weighted(problem.energy(given, { of: [x.at(inside), rows[0]!, rows[1]!], weight }, formula), 1);
}

/**
 * Covariance energy E^λ (Stein, Grinspun & Crane, *Developability of Triangle Meshes*, 2018): at every vertex inside the least spread of the faces' normals in a direction tangent to the
 * surface. 0 where all normals lie in a plane, as on a cylinder or a cone's side. Weighted by corner angles; without a unit.
 *
 * The tangent form: the pair along the vertex normal, whose eigenvalue is always 0, is left out. Not smooth at flat vertices: use a method of gradients, `method: "lbfgs"`.
 *
 * @throws `shape` for an edge of three faces or more; `empty-term` for a mesh without vertices inside; `data-length` or `foreign-variable` where `x` does not fit it
 * @example
 * developableCovariance(problem, mesh, { x });
 * await problem.solve({ method: "lbfgs" });
 */
export function developableCovariance(problem: Problem, mesh: MeshLike, options: Options): Energy {
  takesNoMore("developableCovariance(problem, mesh, options)", 3, arguments);
  return ofFans("developableCovariance", "developable (covariance)", problem, mesh, options, formulas.developableCovariance);
}

/**
 * Partition energy E^P (Stein, Grinspun & Crane 2018): at every vertex inside the least variance of normals over all ways to part its faces into two arcs. 0 for a *hinge*, two
 * flat parts: unlike {@link developableCovariance} it wants rulings along edges. Costs n(n − 1)/2 partitions of n faces. Use `method: "lbfgs"`.
 *
 * @throws `shape` for an edge of three faces or more; `empty-term` for a mesh without vertices inside; `data-length` or `foreign-variable` where `x` does not fit it
 * @example
 * developablePartition(problem, mesh, { x });
 * await problem.solve({ method: "lbfgs" });
 */
export function developablePartition(problem: Problem, mesh: MeshLike, options: Options): Energy {
  takesNoMore("developablePartition(problem, mesh, options)", 3, arguments);
  return ofFans("developablePartition", "developable (partition)", problem, mesh, options, formulas.developablePartition);
}

/**
 * Bimodal variance: the variance of normals in two fixed halves of every vertex' faces. Smooth and cheap; seams follow the order of the {@link Fans}.
 *
 * @throws `shape` for an edge of three faces or more; `empty-term` for a mesh without vertices inside; `data-length` or `foreign-variable` where `x` does not fit it
 * @example
 * bimodalVariance(problem, mesh, { x });
 */
export function bimodalVariance(problem: Problem, mesh: MeshLike, options: Options): Energy {
  takesNoMore("bimodalVariance(problem, mesh, options)", 3, arguments);
  return ofFans("bimodalVariance", "bimodal variance", problem, mesh, options, formulas.bimodalVariance);
}

/**
 * Bimodal alignment: the mean of 1 − cos of the angles between normals and their mean direction, in two fixed halves of every vertex' faces.
 *
 * @throws `shape` for an edge of three faces or more; `empty-term` for a mesh without vertices inside; `data-length` or `foreign-variable` where `x` does not fit it
 * @example
 * bimodalAlignment(problem, mesh, { x });
 */
export function bimodalAlignment(problem: Problem, mesh: MeshLike, options: Options): Energy {
  takesNoMore("bimodalAlignment(problem, mesh, options)", 3, arguments);
  return ofFans("bimodalAlignment", "bimodal alignment", problem, mesh, options, formulas.bimodalAlignment);
}

/**
 * Hinge energy: at every vertex inside, the least over all directions of a hinge through two normals of the greatest (u·Nₖ)². The maximum form of {@link developableCovariance}: one
 * normal out of the plane counts as much as many.
 *
 * @throws `shape` for an edge of three faces or more; `empty-term` for a mesh without vertices inside; `data-length` or `foreign-variable` where `x` does not fit it
 * @example
 * hinge(problem, mesh, { x, weight: 0.1 });
 */
export function hinge(problem: Problem, mesh: MeshLike, options: Options): Energy {
  takesNoMore("hinge(problem, mesh, options)", 3, arguments);
  return ofFans("hinge", "hinge", problem, mesh, options, formulas.hinge);
}

const SHARE = { tolerance: real(0) } as const;

/**
 * Share of developable vertices, from 0 to 1: those with an angle defect below `tolerance`, in radians, of all vertices. Default 0.1·4π/V, a tenth of what each has on a sphere of
 * V vertices.
 *
 * @throws `data-length`, `index-out-of-range` or `non-finite` for what is no mesh, naming the vertex or the face
 * @example
 * console.log(`${100 * developableShare(mesh)} % of the vertices`);
 */
export function developableShare(mesh: MeshLike, options: { tolerance?: number } = {}): number {
  const call = "developableShare(mesh, options)";
  takesNoMore(call, 2, arguments);
  const defects = angleDefects(mesh), { tolerance = (0.1 * 4 * Math.PI) / defects.length } = checked(`${call}: options`, options, SHARE, { prefix: `${call}: ` });
  return defects.length === 0 ? 1 : defects.reduce((count, defect) => count + Number(Math.abs(defect) < tolerance), 0) / defects.length;
}
