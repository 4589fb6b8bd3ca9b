// Goes on from a checkpoint in a process of its own and prints the bits of where it ended. Arguments: the engine's options, the name of the scene, the solver's options, the file.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { init } from "leastwise";
import { SCENES } from "../../problems/suite.mjs";
import { wanted } from "../support.mjs";

const [engine, name, options, file] = process.argv.slice(2);
const lw = await init(wanted(JSON.parse(engine)));
const { problem, tables } = SCENES.find((scene) => scene.name === name).make(lw);
const solver = problem.solver(JSON.parse(options));
solver.restore(readFileSync(file));
const report = await solver.solve();
const hash = createHash("sha256");
for (const table of tables) hash.update(await table.read(new Float64Array(table.count * table.width)));
hash.update(JSON.stringify([report.termination, report.reason, report.cost, report.costByTerm, report.iterations.map(({ ms, ...numbers }) => numbers)]));
console.log(hash.digest("hex"));
lw.dispose();
