/** Energies that smooth a surface. */
import type { F64 } from "../arrays.js";
import { perEntry, type PerEntry } from "../data.js";
import { offsetsOf, type MeshLike } from "../mesh/input.js";
import { barycentricAreas, cotangentsOf, type EdgeWeights } from "../mesh/measures.js";
import { fans } from "../mesh/topology.js";
import { checked, oneOf, takesNoMore } from "../options.js";
import type { Problem } from "../problem.js";
import type { Variables } from "../table.js";
import type { Vec3 } from "../vector.js";
import { edgesOf } from "./deformation.js";
import * as formulas from "./formulas.js";
import { ENERGY, mustHave, pick, restOf, scaled, weighted, type Energy, type EnergyOptions } from "./term.js";

const FAIRING = { ...ENERGY, weights: oneOf("cotangent", "uniform") } as const;
type Fairing = EnergyOptions & { x: Variables<Vec3>; weights?: "cotangent" | "uniform" };

/** Edges and their weights, none of them negative: a residual's weight can't be. */
function weightsOf(call: string, positions: F64, faces: Uint32Array, kind: "cotangent" | "uniform"): EdgeWeights {
  const { edges, weights } = cotangentsOf(positions, faces, edgesOf(call, faces));
  return { edges, weights: weights.map((weight) => (kind === "uniform" ? 1 : Math.max(weight, 0))) };
}

/**
 * Dirichlet energy (Pinkall & Polthier, *Computing Discrete Minimal Surfaces and Their Conjugates*, 1993): ½ Σ wᵢⱼ ‖xᵢ − xⱼ‖² over all edges, with the weights of the
 * mesh at rest. Of the mesh itself it is its area. A membrane between what is held.
 *
 * `weights`: `"cotangent"` (cot α + cot β)/2, negative ones counting as 0, or `"uniform"` 1. Default `"cotangent"`.
 *
 * @throws `data-length` or `foreign-variable` where `x` does not fit the mesh; `empty-term` for a mesh without faces; what is no mesh, by its vertex or face
 * @example
 * dirichlet(problem, mesh, { x, weights: "uniform" });
 */
export function dirichlet(problem: Problem, mesh: MeshLike, options: Fairing): Energy {
  const call = "dirichlet(problem, mesh, options)";
  takesNoMore(call, 3, arguments);
  const { name = "Dirichlet", weight = 1, weights: kind = "cotangent", ...of } = checked(`${call}: options`, options, FAIRING, { prefix: `${call}: ` });
  const { positions, faces, x } = restOf<Vec3>(call, mesh, of.x), { edges, weights } = weightsOf(call, positions, faces, kind);
  return weighted(problem.residuals(name, { over: edges, of: [x, x], weight: scaled(weights, weight) }, formulas.dirichlet), weights);
}

/**
 * Bi-Laplacian fairing (Botsch & Kobbelt, *An Intuitive Framework for Real-Time Freeform Modeling*, 2004): ½ Σ ‖Σⱼ wᵢⱼ (xⱼ − xᵢ)‖²/Aᵢ over all vertices, with
 * weights and areas (a third of the faces) of the mesh at rest. A thin plate between what is held. `weights`: as for {@link dirichlet}; `"uniform"` has A = 1.
 *
 * @throws `data-length` or `foreign-variable` where `x` does not fit the mesh; `empty-term` for a mesh without faces; what is no mesh, by its vertex or face
 * @example
 * biLaplacian(problem, mesh, { x });
 * x.fix([0, 1, 2]);
 */
export function biLaplacian(problem: Problem, mesh: MeshLike, options: Fairing): Energy<{ weights: PerEntry }> {
  const call = "biLaplacian(problem, mesh, options)";
  takesNoMore(call, 3, arguments);
  const { name = "bi-Laplacian", weight = 1, weights: kind = "cotangent", ...of } = checked(`${call}: options`, options, FAIRING, { prefix: `${call}: ` });
  const { positions, faces, vertices, x } = restOf<Vec3>(call, mesh, of.x), { edges, weights } = weightsOf(call, positions, faces, kind);
  const counts = new Uint32Array(vertices), areas = barycentricAreas(positions, faces, vertices);
  for (const v of edges) counts[v]!++;
  const offsets = offsetsOf(counts), filled = offsets.slice(), indices = new Uint32Array(edges.length), entries = new Float64Array(edges.length);
  for (let k = 0; k < edges.length; k++) {
    const at = filled[edges[k]!]!++;
    indices[at] = edges[k ^ 1]!;
    entries[at] = weights[k >> 1]!;
  }
  const used = [...counts.keys()].filter((v) => counts[v]! > 0 && areas[v]! > 0), rows = pick({ offsets, indices }, used);
  mustHave(call, used.length, "vertices with an area");
  const values = Float64Array.from(used.flatMap((v) => [...entries.subarray(offsets[v], offsets[v + 1])]));
  const masses = Float64Array.from(used, (v) => (kind === "uniform" ? 1 : 1 / areas[v]!));
  const term = problem.residuals(name, { of: [x.at(used), x.rows(rows)], data: { weights: perEntry(values) }, weight: scaled(masses, weight) }, formulas.laplacian);
  return weighted(term, masses);
}

/**
 * Willmore energy ∫ H² dA over all vertices inside (Willmore 1965; discretised as by Meyer, Desbrun, Schröder & Barr 2003): Σ ‖Sᵢ‖²/(16Aᵢ), Sᵢ = Σ (cot α + cot β)(xᵢ − xⱼ) of the surface
 * as it is now. Without a unit: about 4π for a sphere of any size. The triangles' faces alone matter of the mesh, not its positions.
 *
 * @throws `shape` for an edge of three faces or more; `empty-term` for a mesh without vertices inside; `data-length` or `foreign-variable` where `x` does not fit it
 * @example
 * willmore(problem, mesh, { x });
 */
export function willmore(problem: Problem, mesh: MeshLike, options: EnergyOptions & { x: Variables<Vec3> }): Energy {
  const call = "willmore(problem, mesh, options)";
  takesNoMore(call, 3, arguments);
  const { name = "Willmore", weight = 1, ...of } = checked(`${call}: options`, options, ENERGY, { prefix: `${call}: ` });
  const { faces, vertices, x } = restOf<Vec3>(call, mesh, of.x), { offsets, next, previous, closed } = fans(faces, vertices);
  const inside = [...closed.keys()].filter((v) => closed[v]);
  mustHave(call, inside.length, "vertices inside");
  const rows = [next, previous].map((indices) => x.rows(pick({ offsets, indices }, inside)));
  return weighted(problem.residuals(name, { of: [x.at(inside), rows[0]!, rows[1]!], weight }, formulas.willmore), 1);
}
