/** Starts for parametrisation: maps of a surface to the plane that one linear solve finds. */
import type { F64 } from "../arrays.js";
import { column } from "../data.js";
import type { Engine } from "../engine.js";
import { LeastwiseError } from "../errors.js";
import { checked, oneOf, takesNoMore } from "../options.js";
import type { Problem } from "../problem.js";
import type { Variables } from "../table.js";
import { vec, type Vec2 } from "../vector.js";
import { meshOf, type MeshLike } from "./input.js";
import { areasOf, cotangentsOf, lengthOf, triangleFrames } from "./measures.js";
import { boundaryLoops, components, surfaceOf } from "./topology.js";

const TUTTE = { weights: oneOf("uniform", "cotangent") } as const;

/**
 * Tutte's embedding: the longest boundary loop goes to the circle of the mesh' area around the origin, by its lengths, and every
 * other vertex to the weighted mean of its neighbours. With `"uniform"` weights no triangle of a disk turns over (Tutte 1963, Floater
 * 1997); so with `"cotangent"` ones that are not negative, of which negative ones count as next to 0. Gives u v of every vertex, flat.
 *
 * `weights`: default `"uniform"`. Solved by the engine, to its precision.
 *
 * @throws `shape` for a mesh without a boundary (cut it: {@link cutAlong}), of several components, or that is no surface
 * @example
 * const flat = await tutte(lw, mesh, { weights: "uniform" });  // no triangle is turned over
 */
export async function tutte(lw: Engine, mesh: MeshLike, options: { weights?: "uniform" | "cotangent" } = {}): Promise<F64> {
  const call = "tutte(lw, mesh, options)";
  takesNoMore(call, 3, arguments);
  const { weights: kind = "uniform" } = checked(`${call}: options`, options, TUTTE, { prefix: `${call}: ` });
  const { positions, faces, vertices } = meshOf(call, mesh), { ring, lengths } = outerLoop(call, positions, faces, vertices);
  const { edges, weights } = cotangentsOf(positions, faces), total = lengths.reduce((sum, length) => sum + length, 0);
  const radius = Math.sqrt(areasOf(positions, faces).reduce((sum, area) => sum + area, 0) / Math.PI), start = new Float64Array(2 * vertices);
  let gone = 0;
  ring.forEach((v, k) => {
    start.set([radius * Math.cos((2 * Math.PI * gone) / total), radius * Math.sin((2 * Math.PI * gone) / total)], 2 * v);
    gone += lengths[k]!;
  });
  return linearly(call, lw, start, (problem, uv) => {
    // Not 0: a vertex between obtuse angles alone would be held by nothing.
    const least = 1e-6 * (weights.reduce((sum, each) => sum + Math.abs(each), 0) / weights.length);
    const weight = kind === "uniform" ? 1 : weights.map((each) => Math.max(each, least));
    problem.residuals("neighbours", { over: edges, of: [uv, uv], weight }, ([a, b]) => a.sub(b));
    uv.fix(ring);
  });
}

/**
 * Least squares conformal map (Lévy, Petitjean, Ray & Maillot 2002): of every face, weighted by its area, the rows u_x − v_y and
 * u_y + v_x, which vanish where angles stay. Two vertices of the longest boundary loop, about opposite each other, are held
 * at their distance. Triangles may turn over. Gives u v of every vertex, flat.
 * `lscm` of `leastwise/energies` adds this energy to a problem instead.
 *
 * @throws `shape` as {@link tutte} does, and for a face without area
 * @example
 * const flat = await lscm(lw, mesh);  // u v of every vertex
 * const uv = problem.variables("uv", { shape: 2, values: flat });
 */
export async function lscm(lw: Engine, mesh: MeshLike): Promise<F64> {
  const call = "lscm(lw, mesh)";
  takesNoMore(call, 2, arguments);
  const { positions, faces, vertices } = meshOf(call, mesh), { ring } = outerLoop(call, positions, faces, vertices);
  const { inverses, areas } = triangleFrames({ positions, triangles: faces });
  const [first, second] = farApart(positions, ring), start = new Float64Array(2 * vertices);
  start[2 * second] = lengthOf(positions, first, second);
  return linearly(call, lw, start, (problem, uv) => {
    problem.residuals("conformal", { over: faces, of: [uv, uv, uv], data: { inverse: column(inverses, 4) }, weight: areas }, ([p, q, r], { inverse: m }) => {
      const [e, f] = [q.sub(p), r.sub(p)], [x, y] = [e.mul(m.x).add(f.mul(m.z)), e.mul(m.y).add(f.mul(m.w))];
      return vec(x.x.sub(y.y), y.x.add(x.y));
    });
    uv.fix([first, second]);
  });
}

/** The boundary loop of the greatest length, and the lengths of its edges. */
function outerLoop(call: string, positions: F64, faces: Uint32Array, vertices: number): { ring: Uint32Array; lengths: F64 } {
  surfaceOf(call, faces);
  if (faces.length === 0) throw new LeastwiseError("shape", `${call}: the mesh has no faces`);
  const { count } = components(faces, vertices);
  if (count > 1) throw new LeastwiseError("shape", `${call}: the mesh has ${count} components (vertices without faces among them): flatten each by itself`);
  const rings = boundaryLoops(faces).map((ring) => ({ ring, lengths: Float64Array.from(ring, (v, k) => lengthOf(positions, v, ring[(k + 1) % ring.length]!)) }));
  const total = ({ lengths }: { lengths: F64 }): number => lengths.reduce((sum, length) => sum + length, 0);
  const best = rings.reduce<{ ring: Uint32Array; lengths: F64 } | undefined>((longest, each) => (longest && total(longest) >= total(each) ? longest : each), undefined);
  if (!best) throw new LeastwiseError("shape", `${call}: the mesh has no boundary, so it can't be laid into the plane: cut it with cutAlong(mesh, seams)`);
  return best;
}

/** Two vertices of a ring, about as far from each other as any: the second is the furthest from the first, the first from where the ring begins. */
function farApart(positions: F64, ring: Uint32Array): [number, number] {
  const furthest = (from: number): number => ring.reduce((best, v) => (lengthOf(positions, from, v) > lengthOf(positions, from, best) ? v : best), ring[0]!);
  const first = furthest(ring[0]!), second = furthest(first);
  return [first, second];
}

/** Solves a problem whose residuals are linear, from a start that also has what is held. */
async function linearly(call: string, lw: Engine, start: F64, add: (problem: Problem, uv: Variables<Vec2>) => void): Promise<F64> {
  const problem = lw.problem();
  try {
    const uv = problem.variables("uv", { shape: 2, values: start });
    add(problem, uv);
    const report = await problem.solve({ method: "gauss-newton", linear: "sparse-cholesky", costTolerance: 1e-14, gradientTolerance: 1e-14, maxIterations: 20 });
    // One step is the whole way; what follows is rounding.
    if (!report.converged && !["precision", "no-progress"].includes(report.termination)) throw new LeastwiseError("no-step", `${call}: the linear solve ended as "${report.termination}": ${report.reason}`);
    return await uv.read({ as: "f64" });
  } finally {
    problem.dispose();
  }
}
