// Compiled, never run: meshes and energies.
import type { Engine, F64, Quat, Term, Variables, Vec2, Vec3, Vec4 } from "leastwise";
import { arap, bending, closePairs, developableShare, formulas, inertia, neoHookean, planarPolygons, planeContact, stretch, symmetricDirichlet, vertexContact, type Energy } from "leastwise/energies";
import { clean, components, cotangentWeights, cutAlong, decimate, fans, grid, hinges, icosphere, inspect, lscm, subdivide, triangleFrames, tutte, type Mesh, type MeshLike } from "leastwise/mesh";
import { formatOf, readMesh, type MeshFormat } from "leastwise/mesh/files";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function is<T extends true>(_proof?: T): void {}

export async function meshes(lw: Engine, file: ArrayBuffer, rows: { positions: number[][]; triangles: [number, number, number][] }): Promise<void> {
  const read: Mesh = await readMesh(file, { format: formatOf("a.obj") }), format: MeshFormat = "gltf";
  is<Same<typeof read.positions, F64>>(); is<Same<typeof read.triangles, Uint32Array>>();
  // @ts-expect-error the format has to be told
  await readMesh(file, {});
  // @ts-expect-error no such format
  await readMesh(file, { format: "fbx" });
  // What one function gives another takes, rows too.
  const small = decimate(cutAlong(clean(subdivide(rows, { scheme: "loop", times: 2 }), { tolerance: 1e-6 }), [[0, 1]]), { faces: 100 });
  const taken: MeshLike = small, to: Uint32Array = small.toDecimated;
  // @ts-expect-error a mesh is not its positions
  clean(rows.positions);
  // @ts-expect-error no such scheme
  subdivide(rows, { scheme: "catmull-clark" });
  // @ts-expect-error how many columns has to be told
  grid({ rows: 3 });
  const { edges, weights } = cotangentWeights(taken), { count } = components(rows.triangles, 4), { eulerCharacteristic } = inspect(small.triangles);
  const flat: F64 = await tutte(lw, taken, { weights: "cotangent" }), other: F64 = await lscm(lw, taken);
  const problem = lw.problem(), x = problem.variables("x", { shape: 3, values: small.positions });
  problem.residuals("edges", { over: edges, of: [x, x], weight: weights }, formulas.dirichlet);
  const { offsets, next, previous } = fans(small.triangles);
  problem.energy("E", { of: [x, x.rows({ offsets, indices: next }), x.rows({ offsets, indices: previous })] }, formulas.developableCovariance);
  problem.residuals("bend", { over: hinges(small.triangles), of: [x, x, x, x], data: { angle: 0 } }, formulas.bending);
  void [format, to, count, eulerCharacteristic, flat, other];
}

export function energies(lw: Engine, mesh: Mesh): Energy {
  const problem = lw.problem(), x = problem.variables("x", { shape: 3, values: mesh.positions }), uv = problem.variables("uv", { shape: 2, values: [0, 0] });
  const rigid = arap(problem, mesh, { x, weights: "uniform", weight: 2, name: "shape" });
  is<Same<typeof rigid.rotation, Variables<Quat>>>();
  rigid.weigh(3);
  arap(problem, mesh, { x, rotation: rigid.rotation });
  // @ts-expect-error places have three components
  arap(problem, mesh, { x: uv });
  symmetricDirichlet(problem, mesh, { x: uv });
  // @ts-expect-error a map to the plane has two
  symmetricDirichlet(problem, mesh, { x });
  // @ts-expect-error no such option
  bending(problem, mesh, { x, stiffness: 3 });
  const moving = inertia(problem, { x, predicted: mesh.positions, step: 1 / 60 });
  moving.set({ predicted: mesh.positions, weight: 3 });
  // @ts-expect-error no such column
  moving.set({ place: mesh.positions });
  const term: Term<{ lambda: number; mu: number }> = neoHookean(problem, mesh, { x, lambda: 3, mu: 2 });
  term.set({ lambda: 4 });
  stretch(problem, mesh, { x, stretch: [1, 0.9], material: [0, 0] }).weigh(2);
  planarPolygons(problem, [[0, 1, 2, 3]], { x });
  planarPolygons(problem, { offsets: [0, 4], indices: [0, 1, 2, 3] }, { x });
  planeContact(problem, { x, range: 0.1, which: [0, 1] }).set({ offset: 2 });
  // @ts-expect-error where the barrier begins has to be told
  planeContact(problem, { x });
  const { inverses } = triangleFrames(icosphere({ subdivisions: 1 })), share: number = developableShare(mesh);
  void [inverses, share];
  return vertexContact(problem, { x, pairs: closePairs(mesh.positions, 0.1), range: 0.1 });
}

// Formulas are functions of expressions, which other residuals may use.
export const half = (points: readonly [Vec2, Vec2, Vec2], inverse: Vec4) => formulas.mips(points, { inverse }).div(2);
export const gradient = (p: Vec3, q: Vec3, r: Vec3, inverse: Vec4): readonly [Vec3, Vec3] => formulas.gradient(p, q, r, inverse);
