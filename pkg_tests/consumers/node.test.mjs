// Node: modules and CommonJS, in the version at hand; in full, in the oldest that the package names and the newest that there is.
import { test } from "node:test";
import { execute, full, node, project, solves, tool } from "./support.mjs";

const versions = { "the Node at hand": process.execPath, ...(full && { "Node 20.19": tool("node-20.19", "bin/node"), "the newest Node": tool("node-newest", "bin/node") }) };
const folder = project("node");

for (const [version, program] of Object.entries(versions)) {
  for (const file of ["main.mjs", "main.cjs", "threads.mjs"]) {
    test(`${version}: ${file}`, async (t) => {
      t.diagnostic((await execute(program, ["--version"])).trim());
      await solves(program, [file], { cwd: folder });
    });
  }
}
