/**
 * Triangle meshes: index tables for residuals, measures, subdivision, repairs, decimation, and starts for parametrisation.
 *
 * A mesh is `{ positions, triangles }`, flat or in rows. All functions are deterministic, and none but {@link normalTable} keeps a structure of its own.
 * @packageDocumentation
 */
export { clean, cutAlong, type Cleaned, type Cut } from "./mesh/clean.js";
export { decimate, type Decimated } from "./mesh/decimate.js";
export { edges, stars } from "./mesh/edges.js";
export { lscm, tutte } from "./mesh/flatten.js";
export { disk, grid, icosphere } from "./mesh/generate.js";
export type { Mesh, MeshLike, RaggedTable } from "./mesh/input.js";
export {
  angleDefects, boundingBox, cornerAngles, cotangentWeights, edgeLengths, faceAreas, faceNormals, meanCurvature, triangleFrames, vertexAreas, vertexNormals, volume,
  type EdgeWeights, type MeanCurvature, type TriangleFrames,
} from "./mesh/measures.js";
export { normalTable, type NormalTable } from "./normals.js";
export { subdivide } from "./mesh/subdivide.js";
export {
  boundaryLoops, components, faceAdjacency, faceNeighbors, fans, hinges, inspect, orient, vertexFaces,
  type Components, type Fans, type Inspection,
} from "./mesh/topology.js";
export { weld } from "./mesh/weld.js";
