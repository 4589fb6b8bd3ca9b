// Files that the playground and the benchmark page load as they are: workers, the package, programs, TypeScript with declarations, other packages.
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { root } from "../lib/run.mjs";
import { firstPrograms } from "./pages.mjs";

/** Modules that the benchmark page compares with, by file of `bench/rivals`. */
const RIVALS = {
  "ml-levenberg-marquardt": `export { levenbergMarquardt } from "ml-levenberg-marquardt";`,
  "ml-kmeans": `export { kmeans } from "ml-kmeans";`,
  tfjs: `import "@tensorflow/tfjs-core/dist/register_all_gradients.js"; import "@tensorflow/tfjs-backend-cpu"; import "@tensorflow/tfjs-backend-webgpu"; export * from "@tensorflow/tfjs-core";`,
  jax: `export { defaultDevice, init, jit, numpy, valueAndGrad } from "@jax-js/jax";`,
};

const write = (path, text) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

/** Modules with bare imports of the package, as modules of the site: their imports become addresses. */
function withAddresses(text, depth) {
  return text.replace(/(\bfrom\s*)"leastwise(?:\/([\w/]+))?"/g, (_, from, entry) => `${from}"${"../".repeat(depth)}play/leastwise/${entry ?? "main"}.js"`);
}

/** One module of `text`, whose imports are found in `tools`, with nothing left to load. */
async function bundle(tools, text, outfile) {
  const { build } = await import(pathToFileURL(createRequire(join(tools, "package.json")).resolve("esbuild")));
  await build({
    stdin: { contents: text, resolveDir: tools }, outfile, bundle: true, minify: true, format: "esm", platform: "browser", target: "es2022", logLevel: "error", legalComments: "none",
    // Of Node, for which these packages look, and do without.
    external: ["fs", "path", "os", "crypto", "inspector", "perf_hooks", "node-fetch", "util", "worker_threads", "string_decoder"], define: { "process.env.NODE_ENV": "\"production\"" },
  });
}

const filesUnder = (folder) => readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));

/** Texts that the language service reads, by path: the language's libraries, the package, WebGPU, and the playground's own modules. */
export function declarations(tools, packageFolder) {
  const files = {}, libraries = join(tools, "node_modules/typescript/lib"), wanted = ["lib.es2022.d.ts", "lib.webworker.d.ts"];
  for (const name of wanted) {
    const text = readFileSync(join(libraries, name), "utf8");
    files[`/lib/${name}`] = text;
    for (const [, reference] of text.matchAll(/^\/\/\/ <reference lib="([\w.]+)" \/>/gm)) if (!wanted.includes(`lib.${reference}.d.ts`)) wanted.push(`lib.${reference}.d.ts`);
  }
  files["/node_modules/leastwise/package.json"] = readFileSync(join(packageFolder, "package.json"), "utf8");
  for (const path of filesUnder(join(packageFolder, "dist")).filter((path) => path.endsWith(".d.ts") && !path.includes("/cli/"))) files[`/node_modules/leastwise${path.slice(packageFolder.length)}`] = readFileSync(path, "utf8");
  files["/node_modules/@webgpu/types/dist/index.d.ts"] = readFileSync(join(tools, "node_modules/@webgpu/types/dist/index.d.ts"), "utf8");
  files["/ambient/playground.d.ts"] = readFileSync(join(root, "xtask/docs/play/ambient.d.ts"), "utf8");
  return files;
}

/** What `play/` has, in `shown`. `packageFolder` is the installed package. Returns how much the language service loads, compressed. */
export async function playground(shown, tools, packageFolder) {
  const play = join(shown, "play");
  cpSync(join(root, "xtask/docs/play"), play, { recursive: true, filter: (path) => !path.endsWith(".d.ts") });
  cpSync(join(packageFolder, "dist"), join(play, "leastwise"), { recursive: true, filter: (path) => !/\.(d\.ts|map)$|\/cli$|inline\.js$|threaded/.test(path) });
  for (const folder of ["recipes", "pictures"]) cpSync(join(root, "examples", folder), join(play, folder), { recursive: true });
  const { transpileModule } = createRequire(join(tools, "package.json"))("typescript");
  for (const [name, text] of firstPrograms()) write(join(play, "recipes", `${name}.mjs`), transpileModule(text, { compilerOptions: { target: "ES2022", module: "ESNext" } }).outputText);
  cpSync(join(root, "xtask/docs/play/drawing.mjs"), join(play, "recipes/drawing.mjs"));
  await bundle(tools, `import ts from "typescript"; export default ts;`, join(play, "typescript.mjs"));
  write(join(play, "declarations.json"), JSON.stringify(declarations(tools, packageFolder)));
  const bytes = ["typescript.mjs", "declarations.json"].reduce((sum, name) => sum + gzipSync(readFileSync(join(play, name))).length, 0);
  return `${(bytes / 2 ** 20).toFixed(1)} MB`;
}

/** What `bench/` has, in `shown`: problems, those parts of benches/lib that need no Node, and other packages. */
export async function benchmark(shown, tools) {
  const bench = join(shown, "bench");
  for (const name of ["problems.mjs", "worker.mjs"]) write(join(bench, name), withAddresses(readFileSync(join(root, "xtask/docs/bench", name), "utf8"), 1));
  for (const name of ["engine", "meshes", "mixture", "problems"]) write(join(bench, "lib", `${name}.mjs`), withAddresses(readFileSync(join(root, "benches/lib", `${name}.mjs`), "utf8"), 2));
  for (const [name, text] of Object.entries(RIVALS)) await bundle(tools, text, join(bench, "rivals", `${name}.mjs`));
}
