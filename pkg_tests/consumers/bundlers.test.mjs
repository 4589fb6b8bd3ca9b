// esbuild, Rollup and webpack: pages that are opened, and programs for Node that are run, without a setting that docs/LOADING.md does not name.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as esbuild from "esbuild";
import { browse, node, opened, project, serve, solves, solvesIn, tool } from "./support.mjs";

/** Where the documentation has them copied: beside the bundle, in a folder `wasm`. */
function copyFiles(folder) {
  mkdirSync(join(folder, "out/wasm"), { recursive: true });
  for (const name of readdirSync(join(folder, "node_modules/leastwise/dist/wasm"))) {
    if (name.endsWith(".wasm")) cpSync(join(folder, "node_modules/leastwise/dist/wasm", name), join(folder, "out/wasm", name));
  }
}

test("pages", async (t) => {
  const browser = await browse(t);

  await t.test("esbuild", async (t) => {
    const folder = project("esbuild");
    const { warnings } = await esbuild.build({ absWorkingDir: folder, entryPoints: ["main.js", "inline.js"], bundle: true, splitting: true, format: "esm", outdir: "out", logLevel: "silent" });
    assert.deepEqual(warnings, []);
    const url = await serve(t, folder);
    await solvesIn(browser, `${url}inline.html`);
    const { error } = await opened(browser, url);
    assert.deepEqual([error.name, error.code], ["LeastwiseError", "load"]);
    assert.match(error.message, /\/out\/wasm\/leastwise_\w+\.wasm answered 404.* What to do: a bundler may have left the file behind/s);
    copyFiles(folder);
    await solvesIn(browser, url);
  });

  await t.test("Rollup", async (t) => {
    const folder = project("rollup");
    await node([tool("rollup", "dist/bin/rollup"), "-c"], { cwd: folder });
    const url = await serve(t, folder);
    await solvesIn(browser, `${url}inline.html`);
    copyFiles(folder);
    await solvesIn(browser, url);
  });

  await t.test("webpack 5", async (t) => {
    const folder = project("webpack");
    const { default: webpack } = await import("webpack");
    const { default: configuration } = await import(join(folder, "webpack.config.mjs"));
    const stats = await new Promise((resolve, reject) => webpack({ ...configuration, context: folder }, (error, stats) => (error ? reject(error) : resolve(stats))));
    assert.deepEqual([stats.compilation.errors, stats.compilation.warnings].map((list) => list.map(String)), [[], []]);
    await solvesIn(browser, await serve(t, folder));
  });
});

for (const format of ["esm", "cjs"]) {
  test(`esbuild for Node, ${format}`, async (t) => {
    const folder = project("esbuild", `esbuild-node-${format}`);
    const extension = format === "esm" ? ".mjs" : ".cjs";
    const build = (name, outdir) => esbuild.build({ absWorkingDir: folder, entryPoints: [name], bundle: true, platform: "node", format, outdir, outExtension: { ".js": extension }, logLevel: "silent", logOverride: { "empty-import-meta": "silent" } });
    // Where the package is installed, its files are found.
    await build("node.js", "out");
    await solves(process.execPath, [join(folder, `out/node${extension}`)], { cwd: folder });
    // Where it isn't, everything is in the bundle.
    const far = await mkdtemp(join(tmpdir(), "leastwise-consumer-"));
    t.after(() => rm(far, { recursive: true, force: true }));
    await build("node-inline.js", "far");
    await rename(join(folder, `far/node-inline${extension}`), join(far, `program${extension}`));
    await solves(process.execPath, [join(far, `program${extension}`)], { cwd: far });
    assert.deepEqual(readdirSync(far), [`program${extension}`]);
  });
}
