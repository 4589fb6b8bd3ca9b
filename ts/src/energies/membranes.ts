/** Energies of the deformation gradient of every face, and bending. Weights are areas at rest. */
import { column, type Data } from "../data.js";
import { LeastwiseError } from "../errors.js";
import { shownValue } from "../instruction.js";
import { facesOf, pointsOf, type MeshLike } from "../mesh/input.js";
import { areasOf, lengthOf, triangleFrames } from "../mesh/measures.js";
import { hinges } from "../mesh/topology.js";
import { checked, given, real, takesNoMore, type Kind } from "../options.js";
import type { Problem } from "../problem.js";
import type { Variables } from "../table.js";
import type { Vec2, Vec3, Vec4 } from "../vector.js";
import * as formulas from "./formulas.js";
import { ENERGY, mustHave, restOf, scaled, weighted, type Energy, type EnergyOptions } from "./term.js";

type Inverse = { inverse: Data<Vec4> };
type InPlane = EnergyOptions & { x: Variables<Vec2> };
type InSpace = EnergyOptions & { x: Variables<Vec3>; material?: ArrayLike<number> };

const SPACE = { ...ENERGY, material: given<ArrayLike<number>>() } as const;

/** Faces with their frames, and the variables of their corners. */
function framed<V>(call: string, mesh: MeshLike, x: unknown, material?: ArrayLike<number>): { faces: Uint32Array; of: [Variables<V>, Variables<V>, Variables<V>]; inverse: Data<Vec4>; areas: Float64Array } {
  const { positions, faces, x: places } = restOf<V>(call, mesh, x);
  mustHave(call, faces.length, "faces");
  const { inverses, areas } = triangleFrames({ positions, triangles: faces }, material);
  return { faces, of: [places, places, places], inverse: column(inverses, 4), areas };
}

/**
 * Symmetric Dirichlet energy of a map to the plane (Smith & Schaefer, *Bijective Parameterization with Free Boundaries*, 2015):
 *
 *     Σ A (‖F‖² + ‖F⁻¹‖²)
 *
 * F being the gradient of the map on a face of area A at rest. 4 ΣA for an isometry, the least. No step turns a face over; at
 * the start every face has to be the right way up, as {@link tutte} makes them. `x`: variables of two components, a vertex each. Use `method: "newton"`.
 *
 * @throws `shape` for a face without area; `non-finite`, when solved, for a face that is turned over at the start
 * @example
 * symmetricDirichlet(problem, mesh, { x: uv });
 */
export function symmetricDirichlet(problem: Problem, mesh: MeshLike, options: InPlane): Energy<Inverse> {
  takesNoMore("symmetricDirichlet(problem, mesh, options)", 3, arguments);
  return inPlane("symmetricDirichlet", "symmetric Dirichlet", problem, mesh, options, formulas.symmetricDirichlet);
}

/**
 * MIPS, most isometric parametrisation (Hormann & Greiner 2000): Σ A (σ₁/σ₂ + σ₂/σ₁) = Σ A ‖F‖²/det F. 2 ΣA for a conformal map, the
 * least; the scale of the map is free. Otherwise as {@link symmetricDirichlet}.
 *
 * @throws `foreign-variable` or `data-length` unless `x` are the variables of the vertices; `invalid-option` for other options; errors of meshes as `inspect` has them
 * @example
 * mips(problem, mesh, { x: uv });
 */
export function mips(problem: Problem, mesh: MeshLike, options: InPlane): Energy<Inverse> {
  takesNoMore("mips(problem, mesh, options)", 3, arguments);
  return inPlane("mips", "MIPS", problem, mesh, options, formulas.mips);
}

function inPlane(name: string, title: string, problem: Problem, mesh: MeshLike, options: InPlane, formula: typeof formulas.mips): Energy<Inverse> {
  const call = `${name}(problem, mesh, options)`;
  const { name: given = title, weight = 1, ...rest } = checked(`${call}: options`, options, ENERGY, { prefix: `${call}: ` });
  const { faces, of, inverse, areas } = framed<Vec2>(call, mesh, rest.x);
  return weighted(problem.energy(given, { over: faces, of, data: { inverse }, weight: scaled(areas, weight) }, formula), areas);
}

/**
 * LSCM, least squares conformal maps (Lévy, Petitjean, Ray & Maillot 2002): ½ Σ A ((u_x − v_y)² + (u_y + v_x)²). A sum of squares of linear
 * residuals, 0 for a similarity; hold two vertices, or everything shrinks to a point. `x`: variables of two components. `lscm` of `leastwise/mesh` computes such a map instead.
 *
 * @throws `foreign-variable` or `data-length` unless `x` are the variables of the vertices; `invalid-option` for other options; errors of meshes as `inspect` has them
 * @example
 * lscm(problem, mesh, { x: uv });
 */
export function lscm(problem: Problem, mesh: MeshLike, options: InPlane): Energy<Inverse> {
  const call = "lscm(problem, mesh, options)";
  takesNoMore(call, 3, arguments);
  const { name = "LSCM", weight = 1, ...rest } = checked(`${call}: options`, options, ENERGY, { prefix: `${call}: ` });
  const { faces, of, inverse, areas } = framed<Vec2>(call, mesh, rest.x);
  return weighted(problem.residuals(name, { over: faces, of, data: { inverse }, weight: scaled(areas, weight) }, formulas.lscm), areas);
}

const pair: Kind<readonly [number, number]> = (name, value, place) => {
  const [u, v] = pointsOf(name, "the pair", typeof value === "number" ? [value, value] : value, 2);
  if (u === undefined || v === undefined) throw new LeastwiseError("invalid-option", `${name}: ${shownValue(value)} is not a number or two of them`, place);
  return [u, v];
};

/**
 * Stretch of cloth (Baraff & Witkin, *Large Steps in Cloth Simulation*, 1998): ½ Σ A ((‖w_u‖ − b_u)² + (‖w_v‖ − b_v)²), w_u and w_v being the images of
 * the material's two directions. (The paper has A² for A, so that its stiffness depends on the mesh.)
 *
 * - `material`: two coordinates of every vertex, the pattern of the cloth. Default: every face's own plane, whose first direction is its first edge.
 * - `stretch`: b, one for both directions or one each. Default 1.
 *
 * @throws `foreign-variable` or `data-length` unless `x` are the variables of the vertices; `invalid-option` for other options; errors of meshes as `inspect` has them
 * @example
 * stretch(problem, mesh, { x, stretch: 1 });
 */
export function stretch(problem: Problem, mesh: MeshLike, options: InSpace & { stretch?: number | readonly [number, number] }): Energy<Inverse & { wanted: readonly [number, number] }> {
  const call = "stretch(problem, mesh, options)";
  takesNoMore(call, 3, arguments);
  const { name = "stretch", weight = 1, stretch: wanted = [1, 1], ...rest } = checked(`${call}: options`, options, { ...SPACE, stretch: pair }, { prefix: `${call}: ` });
  const { faces, of, inverse, areas } = framed<Vec3>(call, mesh, rest.x, rest.material);
  return weighted(problem.residuals(name, { over: faces, of, data: { inverse, wanted }, weight: scaled(areas, weight) }, formulas.stretch), areas);
}

/**
 * Shear of cloth (Baraff & Witkin 1998): ½ Σ A (w_u · w_v)². `material`: as for {@link stretch}.
 *
 * @throws `foreign-variable` or `data-length` unless `x` are the variables of the vertices; `invalid-option` for other options; errors of meshes as `inspect` has them
 * @example
 * shear(problem, mesh, { x });
 */
export function shear(problem: Problem, mesh: MeshLike, options: InSpace): Energy<Inverse> {
  const call = "shear(problem, mesh, options)";
  takesNoMore(call, 3, arguments);
  const { name = "shear", weight = 1, ...rest } = checked(`${call}: options`, options, SPACE, { prefix: `${call}: ` });
  const { faces, of, inverse, areas } = framed<Vec3>(call, mesh, rest.x, rest.material);
  return weighted(problem.residuals(name, { over: faces, of, data: { inverse }, weight: scaled(areas, weight) }, formulas.shear), areas);
}

type Elastic = InSpace & { lambda?: number; mu?: number };
const ELASTIC = { ...SPACE, lambda: real(0), mu: real(0) } as const;

/**
 * St. Venant–Kirchhoff membrane: Σ A (½λ(tr G)² + μ tr(G²)), G = ½(FᵀF − I) being Green's strain (Bonet & Wood 2008, chapter 6). Isotropic, so that the
 * plane of a face does not matter. It resists stretching more and more, but hardly a face that is nearly crushed: for those take {@link neoHookean}.
 *
 * `lambda`, `mu`: Lamé parameters, energy over area. Default 1 and 1.
 *
 * @throws `foreign-variable` or `data-length` unless `x` are the variables of the vertices; `invalid-option` for other options; errors of meshes as `inspect` has them
 * @example
 * stVenantKirchhoff(problem, mesh, { x, lambda: 5, mu: 5 });
 */
export function stVenantKirchhoff(problem: Problem, mesh: MeshLike, options: Elastic): Energy<Inverse & { lambda: number; mu: number }> {
  takesNoMore("stVenantKirchhoff(problem, mesh, options)", 3, arguments);
  return elastic("stVenantKirchhoff", "St. Venant-Kirchhoff", problem, mesh, options, formulas.stVenantKirchhoff);
}

/**
 * Neo-Hookean membrane (Bonet & Wood 2008, chapter 6): Σ A (½μ(‖F‖² − 2 − 2 ln J) + ½λ(ln J)²), J being the area over that at rest. Infinite for a
 * face without area, so that none is crushed. `lambda`, `mu`: Lamé parameters, energy over area. Default 1 and 1.
 *
 * @throws `foreign-variable` or `data-length` unless `x` are the variables of the vertices; `invalid-option` for other options; errors of meshes as `inspect` has them
 * @example
 * neoHookean(problem, mesh, { x, lambda: 5, mu: 5 });
 */
export function neoHookean(problem: Problem, mesh: MeshLike, options: Elastic): Energy<Inverse & { lambda: number; mu: number }> {
  takesNoMore("neoHookean(problem, mesh, options)", 3, arguments);
  return elastic("neoHookean", "neo-Hookean", problem, mesh, options, formulas.neoHookean);
}

function elastic(name: string, title: string, problem: Problem, mesh: MeshLike, options: Elastic, formula: typeof formulas.neoHookean): Energy<Inverse & { lambda: number; mu: number }> {
  const call = `${name}(problem, mesh, options)`;
  const { name: given = title, weight = 1, lambda = 1, mu = 1, ...rest } = checked(`${call}: options`, options, ELASTIC, { prefix: `${call}: ` });
  const { faces, of, inverse, areas } = framed<Vec3>(call, mesh, rest.x, rest.material);
  return weighted(problem.energy(given, { over: faces, of, data: { inverse, lambda, mu }, weight: scaled(areas, weight) }, formula), areas);
}

const BENDING = { ...ENERGY, angle: given() } as const;

/**
 * Bending of discrete shells (Grinspun, Hirani, Desbrun & Schröder, *Discrete Shells*, 2003):
 *
 *     Σ (θ − θ₀)² 3ℓ²/(A₁ + A₂)
 *
 * over all hinges, ℓ being the length of the edge and A₁, A₂ the areas of its faces at rest (the paper's ‖ē‖/h̄, a third of the mean height). A sum of
 * squares; 0 at rest and after rigid motions.
 *
 * `angle`: θ₀ in radians, one for all hinges, such as 0 for a plate. Default: the angles of the mesh.
 *
 * @throws `foreign-variable` or `data-length` unless `x` are the variables of the vertices; `invalid-option` for other options; errors of meshes as `inspect` has them
 * @example
 * bending(problem, mesh, { x, weight: 1e-4 });
 */
export function bending(problem: Problem, mesh: MeshLike, options: EnergyOptions & { x: Variables<Vec3>; angle?: number }): Energy<{ angle: Float64Array }> {
  const call = "bending(problem, mesh, options)";
  takesNoMore(call, 3, arguments);
  const { name = "bending", weight = 1, ...rest } = checked(`${call}: options`, options, { ...BENDING, angle: real(-Infinity) }, { prefix: `${call}: ` });
  const { positions, faces, x } = restOf<Vec3>(call, mesh, rest.x), over = hinges(facesOf(call, faces)), count = over.length / 4;
  mustHave(call, count, "inner edges");
  const areas = areasOf(positions, facesAt(over)), angle = new Float64Array(count), weights = new Float64Array(count);
  for (let h = 0; h < count; h++) {
    const area = areas[2 * h]! + areas[2 * h + 1]!;
    if (!(area > 0)) throw new LeastwiseError("shape", `${call}: the faces at the edge ${over[4 * h + 1]}–${over[4 * h + 2]} have no area`);
    weights[h] = (6 * lengthOf(positions, over[4 * h + 1]!, over[4 * h + 2]!) ** 2) / area;
    angle[h] = rest.angle ?? foldOf(positions, over.subarray(4 * h, 4 * h + 4));
  }
  return weighted(problem.residuals(name, { over, of: [x, x, x, x], data: { angle }, weight: scaled(weights, weight) }, formulas.bending), weights);
}

/** Both faces of every hinge. */
function facesAt(over: Uint32Array): Uint32Array {
  const faces = new Uint32Array(1.5 * over.length);
  for (let h = 0; h < over.length / 4; h++) {
    const [a, b, c, d] = [over[4 * h]!, over[4 * h + 1]!, over[4 * h + 2]!, over[4 * h + 3]!];
    faces.set([a, b, c, d, c, b], 6 * h);
  }
  return faces;
}

/** `dihedralAngle` of a hinge, in f64: positive where d lies behind abc. */
function foldOf(x: Float64Array, [a, b, c, d]: ArrayLike<number> & Iterable<number>): number {
  const from = (p: number, q: number): number[] => [0, 1, 2].map((k) => x[3 * q + k]! - x[3 * p + k]!);
  const cross = (u: number[], v: number[]): number[] => [u[1]! * v[2]! - u[2]! * v[1]!, u[2]! * v[0]! - u[0]! * v[2]!, u[0]! * v[1]! - u[1]! * v[0]!];
  const dot = (u: number[], v: number[]): number => u[0]! * v[0]! + u[1]! * v[1]! + u[2]! * v[2]!;
  const edge = from(b!, c!), [m, n] = [cross(from(a!, b!), from(a!, c!)), cross(from(d!, c!), from(d!, b!))];
  return Math.atan2(dot(cross(m, n), edge) / Math.sqrt(dot(edge, edge)), dot(m, n));
}
