/** The energies of the mesh page: the very code that runs, which the editor shows. */

export interface EnergyCode { readonly name: string; readonly about: string; readonly code: string }

const header = "// In scope: problem, x (the vertices), mesh, and everything that the package exports.\n";

export const ENERGIES = {
  arap: {
    name: "As rigid as possible", about: "Edges turn with their vertices (Sorkine & Alexa 2007).",
    code: `const turn = problem.variables("turn", { shape: 3, values: new Float64Array(3 * x.count) });
const rest = problem.constants("rest", { shape: 3, values: mesh.positions });
problem.residuals("rigid",
  { over: edges(mesh.triangles, { directed: true }), of: [x, x, turn.at(0), rest.at(0), rest.at(1)] },
  ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))));`,
  },
  springs: {
    name: "Springs", about: "Every edge keeps its length; folds cost nothing.",
    code: `const over = edges(mesh.triangles);
problem.residuals("length", { over, of: [x, x], data: { length: edgeLengths0 } },
  ([a, b], { length }) => a.sub(b).norm().sub(length));
// A little smoothness, so that nothing folds.
problem.residuals("smooth", { of: [x, x.rows(stars(mesh.triangles, x.count))], weight: 0.02 },
  ([p, ring]) => mean(ring).sub(p));`,
  },
  shell: {
    name: "Thin shell", about: "Lengths and angles between faces (Grinspun et al. 2003).",
    code: `problem.residuals("stretch", { over: edges(mesh.triangles), of: [x, x], data: { length: edgeLengths0 }, weight: 4 },
  ([a, b], { length }) => a.sub(b).norm().sub(length));
problem.residuals("bending", { over: hinges(mesh.triangles), of: [x, x, x, x], data: { angle: hingeAngles0 }, weight: 2e-4 },
  ([a, b, c, d], { angle }) => dihedralAngle(a, b, c, d).sub(angle));`,
  },
  rubber: {
    name: "Rubber", about: "St. Venant–Kirchhoff membrane, with bending.",
    code: `stVenantKirchhoff(problem, mesh, { x, name: "membrane", lambda: 40, mu: 40 });
bending(problem, mesh, { x, weight: 2e-4 });`,
  },
  membrane: {
    name: "Soap film", about: "Dirichlet energy: shrinks to the least area between the pins (Pinkall & Polthier 1993).",
    code: `problem.residuals("area", { over: edges(mesh.triangles), of: [x, x], weight: 0.5 },
  ([a, b]) => a.sub(b));
// Holds a little of the shape, so that the film does not vanish.
const rest = problem.constants("rest", { shape: 3, values: mesh.positions });
problem.residuals("stay", { of: [x, rest], weight: 0.05 }, ([p, p0]) => p.sub(p0));`,
  },
  plate: {
    name: "Fairing", about: "Bi-Laplacian: as smooth as a thin plate (Botsch & Kobbelt 2004).",
    code: `problem.residuals("plate", { of: [x, x.rows(stars(mesh.triangles, x.count))] },
  ([p, ring]) => mean(ring).sub(p));
const rest = problem.constants("rest", { shape: 3, values: mesh.positions });
problem.residuals("stay", { of: [x, rest], weight: 0.002 }, ([p, p0]) => p.sub(p0));`,
  },
  details: {
    name: "Keep details", about: "Laplacian editing: every vertex keeps its place among its neighbours (Sorkine et al. 2004).",
    code: `const rest = problem.constants("rest", { shape: 3, values: mesh.positions });
const ring = stars(mesh.triangles, x.count);
problem.residuals("details", { of: [x, x.rows(ring), rest, rest.rows(ring)] },
  ([p, around, p0, around0]) => mean(around).sub(p).sub(mean(around0).sub(p0)));`,
  },
  willmore: {
    name: "Willmore", about: "∫ H² dA, least for a sphere (Willmore 1965).",
    code: `willmore(problem, mesh, { x, weight: 0.01 });
const rest = problem.constants("rest", { shape: 3, values: mesh.positions });
problem.residuals("stay", { of: [x, rest], weight: 0.02 }, ([p, p0]) => p.sub(p0));`,
  },
  equal: {
    name: "Equal edges", about: "All edges get the mean length; the shape pulls back.",
    code: `const wanted = edgeLengths0.reduce((sum, one) => sum + one, 0) / edgeLengths0.length;
problem.residuals("equal", { over: edges(mesh.triangles), of: [x, x], weight: 2 },
  ([a, b]) => a.sub(b).norm().sub(wanted));
const rest = problem.constants("rest", { shape: 3, values: mesh.positions });
problem.residuals("stay", { of: [x, rest], weight: 0.01 }, ([p, p0]) => p.sub(p0));`,
  },
} satisfies { readonly [id: string]: EnergyCode };

export type EnergyId = keyof typeof ENERGIES;
export const isEnergy = (id: string): id is EnergyId => Object.hasOwn(ENERGIES, id);
export const codeOf = (id: EnergyId): string => header + ENERGIES[id].code;
