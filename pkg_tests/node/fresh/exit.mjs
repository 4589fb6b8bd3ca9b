// Solves, disposes or not, and must then end by itself. Arguments: the backend, and "dispose" or "leave".
import { init } from "leastwise";
import { arap, arapMesh, icosphere } from "../support.mjs";

const [backend, how] = process.argv.slice(2);
const lw = await init({ backend });
const { problem, x } = arap(lw, arapMesh(icosphere(1)));
await problem.solve({ maxIterations: 2 });
globalThis.gc?.();
await x.read();
if (how === "dispose") lw.dispose();
globalThis.gc?.();
console.log("done");
