// Solves every kind of problem for some steps and prints the bits of what it found, one line each. Arguments: the engine's options, names to leave out.
import { createHash } from "node:crypto";
import { init } from "leastwise";
import { SCENES } from "../../problems/suite.mjs";
import { wanted } from "../support.mjs";

const [options, ...without] = process.argv.slice(2);
const lw = await init(wanted(JSON.parse(options)));
for (const { name, make } of SCENES.filter((scene) => !without.includes(scene.name))) {
  const { problem, tables } = make(lw);
  const report = await problem.solve({ maxIterations: 5 });
  const hash = createHash("sha256");
  for (const table of tables) hash.update(await table.read());
  hash.update(JSON.stringify([report.costByTerm, report.iterations.map(({ ms, ...numbers }) => numbers)]));
  console.log(name, hash.digest("hex"));
  problem.dispose();
}
lw.dispose();
