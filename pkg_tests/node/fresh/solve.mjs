// Solves once in a process of its own and prints the bits of what it found. Arguments: the backend, and the limits as JSON.
import { createHash } from "node:crypto";
import { init } from "leastwise";
import { arap, arapMesh, icosphere } from "../support.mjs";

const [backend, limits] = process.argv.slice(2);
const lw = await init({ backend, ...(limits && { limits: JSON.parse(limits) }) });
const { problem, x, turn, handles } = arap(lw, arapMesh(icosphere(2)));
const report = await problem.solve({ costTolerance: 1e-6, maxIterations: 40 });
const hash = createHash("sha256");
for (const values of [await x.read(new Float64Array(3 * x.count)), await turn.read(new Float64Array(3 * turn.count))]) hash.update(values);
hash.update(JSON.stringify(report.iterations.map(({ ms, ...numbers }) => numbers)));
hash.update(JSON.stringify(await handles.worst(5)));
console.log(hash.digest("hex"), report.termination, report.iterations.length);
lw.dispose();
