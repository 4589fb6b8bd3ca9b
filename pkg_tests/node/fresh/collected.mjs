// Engines that nobody holds are collected while others work: nothing must be pulled from under those.
import { init } from "leastwise";
import { arap, arapMesh, icosphere } from "../support.mjs";

const turn = () => new Promise((resolve) => setTimeout(resolve, 10));
const kept = await init({ backend: "webgpu" });
for (let k = 0; k < 3; k++) {
  const { problem } = arap(await init({ backend: "webgpu" }), arapMesh(icosphere(1)));
  await problem.solve({ maxIterations: 1 });
  for (let n = 0; n < 3; n++) { globalThis.gc(); await turn(); }
}
const { problem } = arap(kept, arapMesh(icosphere(1)));
console.log((await problem.solve({ maxIterations: 2 })).iterations.length);
kept.dispose();
