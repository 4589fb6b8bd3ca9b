// Installing the tarball as the package managers do, into empty projects, and running what was installed: npm beside a three.js that is older than
// those that the package knows; in full, pnpm and both of yarn's ways.
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { execute, full, node, project, solves, tarball, tool } from "./support.mjs";

/** A project with these files besides, and a folder for what the package manager keeps. */
async function fresh(t, name, files = {}) {
  const folder = project("node", `install-${name}`, { installed: false });
  const store = await mkdtemp(join(tmpdir(), "leastwise-store-"));
  t.after(() => rm(store, { recursive: true, force: true }));
  for (const [path, text] of Object.entries({ "package.json": JSON.stringify({ name: "fresh", private: true, type: "module" }), ...files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return { folder, store };
}

/** The installed program and the installed command line. */
async function works(folder, command, args) {
  await solves(command, [...args, "main.mjs"], { cwd: folder });
}

test("npm, beside an old three.js", async (t) => {
  const { folder } = await fresh(t, "npm", { "three/package.json": JSON.stringify({ name: "three", version: "0.100.0" }) });
  await execute("npm", ["install", "--offline", "--no-audit", "--no-fund", "./three", tarball], { cwd: folder });
  await works(folder, process.execPath, []);
  await execute(process.execPath, ["node_modules/.bin/leastwise", "--help"], { cwd: folder });
});

if (full) {
  test("pnpm", async (t) => {
    const { folder, store } = await fresh(t, "pnpm", { "pnpm-workspace.yaml": "packages: []\n" });
    const pnpm = tool("pnpm", "bin/pnpm.cjs");
    await node([pnpm, "add", "--store-dir", store, tarball], { cwd: folder });
    await works(folder, process.execPath, []);
    await node([pnpm, "exec", "leastwise", "--help"], { cwd: folder });
  });

  for (const linker of ["node-modules", "pnp"]) {
    test(`yarn, nodeLinker: ${linker}`, async (t) => {
      const yarn = tool("yarn", "bin/yarn.js");
      const { folder, store } = await fresh(t, `yarn-${linker}`, { ".yarnrc.yml": `nodeLinker: ${linker}\nenableTelemetry: false\nenableGlobalCache: false\n`, "yarn.lock": "" });
      const env = { YARN_GLOBAL_FOLDER: store };
      await node([yarn, "add", `leastwise@file:${tarball}`], { cwd: folder, env });
      await works(folder, process.execPath, [yarn, "node"]);
      await node([yarn, "run", "leastwise", "--help"], { cwd: folder, env });
    });
  }
}
