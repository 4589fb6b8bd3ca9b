// Bends the Stanford bunny: pins its base, moves its ears, and lets everything between stay as rigid as possible.
// Runs in a project that has the packed `leastwise` installed; solves on WebGPU and on the CPU and compares.
import { performance } from "node:perf_hooks";
import bunny from "bunny";
import { column, init, rotateXYZ } from "leastwise";
import { edges } from "leastwise/mesh";
import { arapCost, arapProblem } from "./arap.mjs";
import { drawBeforeAndAfter } from "./picture.mjs";

const mesh = arapProblem(bunny);

async function solveOn(backend) {
  const lw = await init({ backend });
  const problem = lw.problem();
  const x = problem.variables("position", { shape: 3, values: mesh.rest });
  const turn = problem.variables("rotation", { shape: 3, values: new Float32Array(mesh.rest.length) });
  const rest = problem.constants("rest", { shape: 3, values: mesh.rest });
  problem.residuals("arap", { over: edges(mesh.triangles, { directed: true }), of: [x, x, turn.at(0), rest.at(0), rest.at(1)] },
    ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))));
  problem.residuals("handles", { of: [x.at(mesh.handles)], data: { target: column(mesh.targets, 3) }, weight: 5 },
    ([p], { target }) => p.sub(target));

  const started = performance.now();
  const report = await problem.solve({ linear: "pcg", costTolerance: 1e-7, maxIterations: 200 });
  const wall = performance.now() - started;
  const [positions, angles] = [await x.read(), await turn.read()];
  const { traceMs, compileMs, solveMs } = report.time;
  console.log(`\n── ${lw.backend}: ${lw.reason}\n${report.toString()}`);
  console.log(`time: trace ${traceMs.toFixed(1)} ms, compile ${compileMs.toFixed(1)} ms, solve ${solveMs.toFixed(1)} ms (${wall.toFixed(0)} ms from call to report)`);
  lw[Symbol.dispose]?.();
  return { backend: lw.backend, report, positions, cost: arapCost(mesh, positions, angles) };
}

console.log(`bunny: ${mesh.rest.length / 3} vertices, ${mesh.triangles.length / 3} triangles, ${mesh.handles.length} handles`);
const results = [];
for (const backend of ["webgpu", "cpu"]) results.push(await solveOn(backend));

console.log("\nboth results, re-evaluated in double precision by plain JavaScript:");
for (const { backend, cost, report } of results) console.log(`  ${backend.padEnd(8)} ${cost.toExponential(7)}  (its report says ${report.cost.toExponential(7)}, ${report.termination})`);
const [a, b] = results.map(({ cost }) => cost);
const difference = Math.abs(a - b) / Math.min(a, b);
console.log(`  relative difference ${difference.toExponential(1)}`);

const picture = process.argv[2] ?? "bunny.png";
drawBeforeAndAfter(picture, mesh, results[0].positions);
console.log(`\npicture: ${picture}`);

const unfinished = results.filter(({ report }) => !report.converged);
for (const { backend, report } of unfinished) console.error(`The solve on ${backend} did not converge: ${report.reason}`);
// Written so that a NaN fails, too.
if (!(difference <= 1e-3)) console.error(`The two backends disagree: costs ${a} and ${b} differ by more than 1e-3 of the smaller.`);
process.exit(difference <= 1e-3 && unfinished.length === 0 ? 0 : 1);
