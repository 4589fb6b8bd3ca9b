// The first engines of a process, two at the same time: Dawn must have one instance, or the process ends with SIGABRT.
import { init } from "leastwise";

const engines = await Promise.all([init({ backend: "webgpu" }), init({ backend: "webgpu" })]);
const solved = await Promise.all(engines.map(async (lw) => {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [1, 2] });
  problem.residuals("r", { of: [x] }, ([a]) => a.sub(3));
  globalThis.gc();
  await problem.solve({ linear: "dense", maxIterations: 3 });
  return [lw.backend, Math.round((await x.read())[0])];
}));
for (const lw of engines) lw.dispose();
globalThis.gc();
console.log(JSON.stringify(solved));
