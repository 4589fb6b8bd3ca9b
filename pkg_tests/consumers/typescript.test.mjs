// TypeScript: every way to resolve packages, with the types of a browser, of Node, of both and of neither; what is compiled is run.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { full, node, project, solves, tool } from "./support.mjs";

const compilers = { "TypeScript 7": "typescript", ...(full && { "TypeScript 5.9": "typescript-5.9" }) };
const modules = {
  bundler: { module: "ESNext", moduleResolution: "Bundler" },
  node16: { module: "Node16", moduleResolution: "Node16" },
  nodenext: { module: "NodeNext", moduleResolution: "NodeNext" },
};
const hosts = {
  "a browser": { lib: ["ES2022", "DOM"], types: [] },
  "a worker": { lib: ["ES2022", "WebWorker"], types: [] },
  "Node": { lib: ["ES2022"], types: ["node"] },
  "a browser and Node": { lib: ["ES2022", "DOM"], types: ["node"] },
  "neither": { lib: ["ES2022"], types: [] },
};
const common = { target: "ES2022", strict: true, skipLibCheck: false, exactOptionalPropertyTypes: true, outDir: "out", rootDir: "." };

for (const [compiler, name] of Object.entries(compilers)) {
  for (const [index, [resolution, settings]] of Object.entries(modules).entries()) {
    test(`${compiler}, ${resolution}`, async (t) => {
      const folder = project("typescript", `${name}-${resolution}`);
      writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
      // A quick run has every host and every resolution, and not all pairs of them.
      const some = Object.entries(hosts).filter((_, k) => full || k % Object.keys(modules).length === index);
      for (const [host, { lib, types }] of some) {
        await t.test(host, async () => {
          writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: { ...common, ...settings, lib, types }, files: ["main.ts"] }));
          await node([tool(name, "bin/tsc"), "-p", "."], { cwd: folder });
        });
      }
      await solves(process.execPath, ["run.mjs"], { cwd: folder });
    });
  }

  test(`${compiler}, a CommonJS file`, async () => {
    const folder = project("typescript", `${name}-commonjs`);
    const compile = (module, expected) => {
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: { ...common, module, moduleResolution: module, lib: ["ES2022", "DOM"], types: [] }, files: ["required.cts"] }));
      return node([tool(name, "bin/tsc"), "-p", ".", "--pretty", "false"], { cwd: folder, expected });
    };
    await compile("NodeNext", 0);
    const required = "const { engine } = require('./out/required.cjs'); engine.then(({ backend }) => console.log(backend))";
    assert.equal(await node(["-e", required], { cwd: folder }), "cpu\n");
    // Node 16 had no require() of modules, and TypeScript says so.
    assert.match(await compile("Node16", 2), /^required\.cts\(1,\d+\): error TS1471: Module 'leastwise' cannot be imported using this construct/);
  });
}
