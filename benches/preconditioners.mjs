// `npm run bench -- preconditioners [cuda/f64 webgpu/f32 cpu/f64]`: whole solves of as-rigid-as-possible deformation with block Jacobi and
// with two levels, on icospheres from 2,562 to 163,842 vertices on both sides of the thresholds of `"auto"`, and on what
// LEASTWISE_DATA has of meshes/{homer,armadillo}.off.gz. The second solve of a process is the one that is timed: kernels are there.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { init } from "leastwise";
import { readOff } from "./lib/files.mjs";
import { icosphere } from "./lib/meshes.mjs";
import { arap } from "./lib/problems.mjs";

const LEVELS = [4, 5, 6, 7];
const FILES = ["homer", "armadillo"];

function meshes() {
  const spheres = LEVELS.map((level) => [`sphere ${10 * 4 ** level + 2}`, () => icosphere(level)]);
  const paths = FILES.map((name) => [name, join(process.env.LEASTWISE_DATA ?? "", `meshes/${name}.off.gz`)]);
  return [...spheres, ...paths.filter(([, path]) => existsSync(path)).map(([name, path]) => [name, () => readOff(path)])];
}

async function solved(lw, mesh, preconditioner) {
  const { problem } = arap(lw, mesh);
  const started = performance.now();
  const report = await problem.solve({ linear: "pcg", ...(preconditioner && { preconditioner }) });
  const ms = performance.now() - started;
  problem.dispose();
  return { report, ms };
}

export async function preconditioners(chosen) {
  for (const backend of chosen.length ? chosen : ["cpu/f64", "webgpu/f32"]) {
    const [name, precision] = backend.split("/");
    const lw = await init({ backend: name, precision });
    console.log(`\n── ${name} ${precision}, ${lw.adapter}`);
    console.log("mesh             unknowns  preconditioner   steps  inner         ms  ms a step           cost");
    for (const [label, make] of meshes()) {
      const mesh = make();
      for (const preconditioner of ["block-jacobi", "two-level"]) {
        await solved(lw, mesh, preconditioner);
        const { report, ms } = await solved(lw, mesh, preconditioner);
        const steps = report.iterations.length, inner = report.iterations.reduce((sum, { innerIterations }) => sum + innerIterations, 0);
        console.log(`${label.padEnd(16)} ${String(2 * mesh.positions.length).padStart(8)}  ${preconditioner.padEnd(14)} ${String(steps).padStart(7)} ${String(inner).padStart(6)} ${ms.toFixed(0).padStart(10)} ${(ms / steps).toFixed(2).padStart(10)} ${report.cost.toExponential(6).padStart(14)}`);
      }
      const { report } = await solved(lw, mesh);
      console.log(`${"".padEnd(26)} auto: ${report.preconditioner} (${report.preconditionerReason})`);
    }
    lw.dispose();
  }
}
