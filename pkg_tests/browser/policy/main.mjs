// The engine's module comes compiled from a worker, or from where the engine looks for it itself.
import { init } from "leastwise";
import { arap } from "../../problems.mjs";

function compiled(address) {
  const worker = new Worker(new URL("./compiler.mjs", import.meta.url), { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => { resolve(data); worker.terminate(); };
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage(address);
  });
}

window.solve = async (address, mesh) => {
  const lw = await init({ backend: "cpu", ...(address && { wasm: await compiled(address) }) });
  const costs = [];
  let evaluators;
  // In the second one it is known what can be compiled.
  for (let round = 0; round < 2; round++) {
    const { problem } = arap(lw, mesh);
    const report = await problem.solve({ linear: "pcg", maxIterations: 5 });
    costs.push(report.iterations.map(({ cost }) => cost));
    evaluators = report.evaluators;
    problem.dispose();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  lw.dispose();
  return { costs, evaluators };
};
