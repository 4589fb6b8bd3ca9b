// A worker that solves, and then solves without an end.
import { parentPort } from "node:worker_threads";
import { init } from "leastwise";
import { arap, arapMesh, icosphere } from "../../node/support.mjs";

const lw = await init({ backend: "cuda" });
await arap(lw, arapMesh(icosphere(2))).problem.solve({ maxIterations: 5 });
parentPort.postMessage("solved");
parentPort.once("message", () => {
  void arap(lw, arapMesh(icosphere(4))).problem.solve({ maxIterations: 1e6, costTolerance: 0, gradientTolerance: 0, stepTolerance: 0 });
  setTimeout(() => parentPort.postMessage("solving"), 50);
});
