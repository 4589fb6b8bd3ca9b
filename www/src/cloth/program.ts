/** The page's cloth as a program of its own. */
import { importsFor, type Project } from "../shell/project.js";
import { DENSITY, FIRST, GRAVITY, H } from "./stepping.js";

export function projectOf(code: string, size: number, steps: number): Project {
  const main = `// A cloth that hangs by two corners: implicit Euler, every frame a minimisation.
${importsFor(`${code}\ninit grid vertexAreas`, ["edgeLengths"])}
import { edgeLengths } from "leastwise/mesh";

const size = ${size}, h = ${H};
const flat = grid({ columns: size });
const count = flat.positions.length / 3;
const material = Float64Array.from({ length: 2 * count }, (_, k) => flat.positions[3 * (k >> 1) + (k & 1)]);
const mesh = { positions: flat.positions.map((_, k) => [flat.positions[k], 1, flat.positions[k - 1]][k % 3]), triangles: flat.triangles };
const lw = await init();
const problem = lw.problem();
const x = problem.variables("x", { shape: 3, values: mesh.positions });
x.fix([size * (size + 1), size * (size + 1) + size]);
const edgeLengths0 = edgeLengths(mesh);
${code}
const last = problem.constants("last", { shape: 3, values: mesh.positions });
const ahead = problem.constants("ahead", { shape: 3, values: mesh.positions });
problem.residuals("inertia", { of: [x, ahead], data: { fall: [0, ${GRAVITY} * h * h, 0] }, weight: vertexAreas(mesh).map((area) => (${DENSITY} * area) / h ** 2) },
  ([p, ahead], { fall }) => p.sub(ahead).sub(fall));
const solver = problem.solver({ method: "newton", forcing: 1e-3 });
await solver.report();                       // on a GPU: kernels are compiled before the first frame
for (let frame = 0; frame < 120; frame++) {
  ahead.copyFrom([[2, x], [-1, last]]);      // 2xₙ − xₙ₋₁, on the device
  last.copyFrom(x);
  x.copyFrom(ahead);                         // where the steps start
  solver.advance({ iterations: ${steps || FIRST}, budgetMs: Infinity });
  if (frame % 20 === 19) console.log(frame + 1, (await x.read()).reduce((low, y, k) => (k % 3 === 1 ? Math.min(low, y) : low), Infinity));
}
lw.dispose();
`;
  return { name: "leastwise-cloth", files: { "main.ts": main } };
}
