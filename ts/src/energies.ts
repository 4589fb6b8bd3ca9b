/**
 * Energies of meshes, ready to add to a problem. Each is a few lines of traced code, `formulas`, with its paper; the functions here add the index tables, rest
 * shapes and weights, and give a term like any other.
 *
 * ```ts
 * const x = problem.variables("x", { shape: 3, values: mesh.positions });
 * arap(problem, mesh, { x });
 * ```
 * @packageDocumentation
 */
export { closePairs, inertia, planeContact, sphereContact, vertexContact } from "./energies/contact.js";
export { arap, edgeLengths, equalAreas, type Arap } from "./energies/deformation.js";
export { bimodalAlignment, bimodalVariance, developableCovariance, developablePartition, developableShare, hinge } from "./energies/developable.js";
export { biLaplacian, dirichlet, willmore } from "./energies/fairing.js";
/**
 * Formulas of all energies, of one face, edge or fan: to trace in terms of your own.
 *
 * @example
 * const { inverses, areas } = triangleFrames(mesh);
 * problem.energy("mips", { over: mesh.triangles, of: [uv, uv, uv], data: { inverse: column(inverses, 4) }, weight: areas }, formulas.mips);
 */
export * as formulas from "./energies/formulas.js";
export { bending, lscm, mips, neoHookean, shear, stretch, stVenantKirchhoff, symmetricDirichlet } from "./energies/membranes.js";
export { planarPolygons, regularPolygons, type Polygons } from "./energies/polygons.js";
export type { Energy, EnergyOptions } from "./energies/term.js";
