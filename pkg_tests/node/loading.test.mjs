// Loading of the engine's module: in Node, in bundles, on hosts without files, and ahead of time.
import assert from "node:assert/strict";
import { mkdtemp, rm, readFile, readdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { inFreshProcess } from "./support.mjs";

const dist = dirname(fileURLToPath(import.meta.resolve("leastwise")));
const project = dirname(dirname(dirname(dist)));
const { remedy } = await import(join(dist, "load-errors.js"));

/** A program of these lines in a process of its own; what it printed. */
async function program(t, lines, { extension = "mjs", folder = project } = {}) {
  const path = await mkdtemp(join(folder, "loading-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  const file = join(path, `program.${extension}`);
  await writeFile(file, lines.join("\n"));
  return inFreshProcess(file, [], { cwd: path });
}

const SOLVE = [
  "async function solved(lw) {",
  "  const problem = lw.problem(), x = problem.variables('x', { shape: 1, values: [1] });",
  "  problem.residuals('r', { of: [x] }, ([a]) => a.mul(a).sub(2));",
  "  await problem.solve();",
  "  return (await x.read())[0].toFixed(6);",
  "}",
];
const REFUSED = "globalThis.fetch = () => { throw new Error('nothing is to be fetched'); };";

test("the files are exported by name", async () => {
  for (const [name, file] of [["leastwise.wasm", "leastwise_bg.wasm"], ["threaded.wasm", "threaded_bg.wasm"]]) {
    assert.equal(fileURLToPath(import.meta.resolve(`leastwise/${name}`)), join(dist, "wasm", file));
    assert.equal(createRequire(import.meta.url).resolve(`leastwise/${name}`), join(dist, "wasm", file));
    assert.ok(await WebAssembly.compile(await readFile(join(dist, "wasm", file))));
  }
});

test("Node reads the file, from import, require and leastwise/threads", async (t) => {
  const solve = (from) => [...SOLVE, REFUSED, `${from}.then(({ init }) => init({ backend: "cpu" })).then(solved).then(console.log);`];
  const said = await Promise.all([
    program(t, solve("import('leastwise')")),
    program(t, solve("Promise.resolve(require('leastwise'))"), { extension: "cjs" }),
    program(t, [...SOLVE, REFUSED, "import { init } from 'leastwise/threads';", "const lw = await init({ backend: 'cpu', threads: 2 });", "console.log(lw.threads.code, await solved(lw));", "lw.dispose();"]),
  ]);
  assert.deepEqual(said, ["1.414214", "1.414214", "on 1.414214"]);
});

test("leastwise/inline needs neither files nor a network", async (t) => {
  // The browser's conditions would find no `node` either.
  const forbidden = "import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; const none = async () => { throw new Error('nothing is to be read'); };";
  const said = await program(t, [forbidden, "const { init, preload } = await import('leastwise/inline');", "fs.promises.readFile = none; syncBuiltinESMExports();", REFUSED, ...SOLVE,
    "await preload();", "const lw = await init({ backend: 'cpu' });", "console.log(await solved(lw));"]);
  assert.equal(said, "1.414214");
  const without = await program(t, ["delete globalThis.DecompressionStream;", "const { init } = await import('leastwise/inline');", "await init({ backend: 'cpu' }).catch(({ code, message }) => console.log(code, message));"]);
  assert.match(without, /^load .*this host has no DecompressionStream.* What to do: import \{ init \} from "leastwise", and give init\(\{ wasm \}\)/);
});

test("every source loads: a Request, a Response, promises, bytes, modules", { concurrency: 3 }, async (t) => {
  const head = [...SOLVE, "import { readFileSync } from 'node:fs';", "import { init, preload } from 'leastwise';", "const bytes = readFileSync(new URL(import.meta.resolve('leastwise/leastwise.wasm')));",
    "const address = `data:application/wasm;base64,${bytes.toString('base64')}`;", "const response = () => new Response(bytes, { headers: { 'content-type': 'application/wasm' } });"];
  const sources = {
    "a string": "address", "a URL": "new URL(address)", "a file's URL": "new URL(import.meta.resolve('leastwise/leastwise.wasm'))", "a Request": "new Request(address)", "a Response": "response()",
    "a promise of a Response": "fetch(address)", "bytes": "bytes", "a buffer": "new Uint8Array(bytes).buffer", "a promise of bytes": "Promise.resolve(bytes)",
    "a module": "new WebAssembly.Module(bytes)", "a promise of a module": "WebAssembly.compileStreaming(response())",
  };
  await Promise.all(Object.entries(sources).map(([name, source]) => t.test(name, async (t) => {
    assert.equal(await program(t, [...head, `const lw = await init({ backend: "cpu", wasm: ${source} });`, "console.log(await solved(lw));"]), "1.414214");
  })));
});

test("preload loads the module once, so that init needs no more of the disk; what failed may be tried again", async (t) => {
  const said = await program(t, [...SOLVE, "import { preload, init } from 'leastwise';", "import fs from 'node:fs/promises'; import { syncBuiltinESMExports } from 'node:module';",
    "const failed = await preload({ wasm: new Uint8Array(8) }).catch(({ code }) => code);", "const odd = await preload({ backend: 'cpu' }).catch(({ code }) => code);",
    "await preload({ everything: true });", "fs.readFile = async () => { throw new Error('nothing is to be read'); }; syncBuiltinESMExports();",
    "const lw = await init({ backend: 'cpu' });", "console.log(failed, odd, await solved(lw));"]);
  assert.equal(said, "load invalid-option 1.414214");
  const threads = await program(t, ["import { preload, init } from 'leastwise/threads';", "import fs from 'node:fs/promises'; import { syncBuiltinESMExports } from 'node:module';",
    "await preload();", "fs.readFile = async () => { throw new Error('nothing is to be read'); }; syncBuiltinESMExports();",
    "const lw = await init({ backend: 'cpu', threads: 2 });", "console.log(lw.threads.code);", "lw.dispose();"]);
  assert.equal(threads, "on");
});

/** Bundles a program for Node into one file far from all packages. Gives the folder. */
async function bundled(t, entry, format) {
  const folder = await mkdtemp(join(project, "bundle-")), far = await mkdtemp(join(tmpdir(), "leastwise-bundle-"));
  t.after(() => Promise.all([folder, far].map((path) => rm(path, { recursive: true, force: true }))));
  await writeFile(join(folder, "entry.mjs"), [`import { init } from "${entry}";`, ...SOLVE, "init({ backend: 'cpu' }).then(solved).then(console.log, ({ code, message }) => console.log(code, message));"].join("\n"));
  await build({ root: folder, configFile: false, logLevel: "error", ssr: { noExternal: true },
    build: { ssr: join(folder, "entry.mjs"), outDir: far, minify: false, rollupOptions: { output: { format, entryFileNames: `program.${format === "cjs" ? "cjs" : "mjs"}` } } } });
  return { folder, far, name: `program.${format === "cjs" ? "cjs" : "mjs"}` };
}

for (const format of ["es", "cjs"]) {
  test(`a bundle for Node (${format})`, async (t) => {
    const run = (folder, name) => inFreshProcess(join(folder, name), [], { cwd: folder });
    const { folder, far, name } = await bundled(t, "leastwise", format);
    assert.match(await run(far, name), /^load .*leastwise_bg\.wasm could not be read: ENOENT.* What to do: a bundler left the file behind: import \{ init \} from "leastwise\/inline"/);
    // Where the package is installed, it is found.
    await writeFile(join(folder, name), await readFile(join(far, name)));
    assert.equal(await run(folder, name), "1.414214");
    const inline = await bundled(t, "leastwise/inline", format);
    assert.deepEqual(await readdir(inline.far), [inline.name]);
    assert.equal(await run(inline.far, inline.name), "1.414214");
  });
}

test("a bundle for pages has the file beside it, and one of leastwise/inline has none", async (t) => {
  const wasmOf = async (entry) => {
    const folder = await mkdtemp(join(project, "page-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, "entry.mjs"), `import { init } from "${entry}"; init();`);
    await build({ root: folder, configFile: false, logLevel: "error", build: { outDir: "out", minify: false, modulePreload: false, chunkSizeWarningLimit: 9000, rollupOptions: { input: join(folder, "entry.mjs") } } });
    const files = (await readdir(join(folder, "out"), { recursive: true })).map(String);
    assert.ok(files.some((name) => name.endsWith(".js")));
    return files.filter((name) => name.endsWith(".wasm")).map((name) => /leastwise_[a-z]+/.exec(name)[0]);
  };
  const { PARTS } = await import(join(dist, "parts.js"));
  assert.deepEqual((await wasmOf("leastwise")).sort(), ["bg", "core", ...PARTS].map((part) => `leastwise_${part}`).sort());
  assert.deepEqual(await wasmOf("leastwise/inline"), []);
});

test("what mends a failed load, by host", () => {
  const page = { navigator: { userAgent: "Mozilla/5.0" } }, workerd = { navigator: { userAgent: "Cloudflare-Workers" }, process: { versions: { node: "22.0.0" } } }, node = { process: { versions: { node: "22.0.0" } } };
  const file = "https://example.org/assets/leastwise_bg.wasm";
  assert.match(remedy("absent", file, page), /^a bundler may have left the file behind \(esbuild and Rollup do\): copy node_modules\S+ there, or give init\(\{ wasm \}\) .*leastwise\/inline/);
  assert.match(remedy("absent", "http://localhost:5173/node_modules/.vite/deps/wasm/leastwise_bg.wasm", page), /^with Vite before version 8 set optimizeDeps: \{ exclude: \["leastwise"\] \}/);
  assert.match(remedy("policy", file, page), /^add 'wasm-unsafe-eval'/);
  for (const trouble of ["policy", "unlocated", "address", "absent"]) assert.equal(remedy(trouble, file, workerd), "import wasm from \"leastwise/leastwise.wasm\" and give it: init({ wasm })");
  assert.match(remedy("address", "/_next/static/media/leastwise_bg.wasm", node), /serverExternalPackages: \["leastwise"\]/);
  assert.match(remedy("address", "assets/leastwise_bg.wasm", node), /new URL\(path, import\.meta\.url\)/);
  assert.match(remedy("unlocated", undefined, page), /leastwise\/inline/);
});
