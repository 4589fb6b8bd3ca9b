// What of the build is no Rust: the façade over the compiled modules, and the packed tarball.
import { copyFileSync, cpSync, existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { thirdPartyNotices } from "./notices.mjs";
import { root, run, StepError } from "./run.mjs";

const dist = join(root, "ts/dist");
const tsc = (...args) => [process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...args]];

export const kilobytes = (bytes) => `${Math.round(bytes / 1024)} KB`;

/** Compiles the façade and the command line, and writes what the entries of the package need beside them. */
export async function buildFacade() {
  // What an earlier source file left behind would otherwise be packed for ever.
  for (const name of readdirSync(dist)) {
    if (name !== "wasm") rmSync(join(dist, name), { recursive: true });
  }
  writeInline();
  await run("tsc", ...tsc("-p", join(root, "ts/tsconfig.json")));
  // Compiled against the package as it is published, which the line above made.
  await run("tsc (command line)", ...tsc("-p", join(root, "ts/cli/tsconfig.json")));
  await bundleProgress();
  return "ts/dist";
}

// The address that the glue builds where no module is given, and what it gives to a module.
const ADDRESS = / {4}if \(module_or_path === undefined\) \{\n {8}module_or_path = new URL\('\w+\.wasm', import\.meta\.url\);\n {4}\}\n/;
const IMPORTS = /( +)("\.\/leastwise_bg\.js": import0,\n)/;

/**
 * Copies the glue, without the address: the façade always gives a module. Bundlers that see an address emit the file even for
 * `leastwise/inline`, and in CommonJS they warn of it. To the module that has parts it gives what the façade puts into `parts`, too.
 */
export function copyGlue(from, to) {
  const glue = readFileSync(from, "utf8").replace(ADDRESS, "").replace(IMPORTS, "$1$2$1parts,\n");
  if (glue.includes("import.meta")) throw new StepError(`${from} builds an address where none is expected: wasm-bindgen has changed.`);
  writeFileSync(to, /^ +parts,$/m.test(glue) ? `${glue}\nexport const parts = {};\n` : glue);
}

/** The module in JavaScript, for `leastwise/inline`. */
function writeInline() {
  const packed = gzipSync(readFileSync(join(dist, "wasm/leastwise_bg.wasm")), { level: 9 }).toString("base64");
  writeFileSync(join(dist, "wasm/inline.js"), `export const packed = "${packed}";\n`);
}

/** Puts cli-progress and what it needs into the one file that uses it, so that nobody installs six packages for a progress bar. */
async function bundleProgress() {
  // Set-up installs it, after this file is loaded.
  const { build } = await import("vite");
  const entry = join(dist, "cli/progress.js"), made = join(root, "target/progress");
  await build({
    root, configFile: false, logLevel: "warn", ssr: { noExternal: true },
    build: { ssr: entry, outDir: made, emptyOutDir: true, target: "node20", minify: false, rollupOptions: { output: { entryFileNames: "progress.js", format: "es" } } },
  });
  copyFileSync(join(made, "progress.js"), entry);
}

export const published = () => JSON.parse(readFileSync(join(root, "ts/package.json"), "utf8"));

/** Where the tarball is, once `pack` has run. */
export const tarball = () => join(root, `target/pack/leastwise-${published().version}.tgz`);

// Documents of the repository alone.
const forDevelopers = ["ARCHITECTURE.md", "internals"];

const documentsIn = (folder) => readdirSync(join(folder, "docs")).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`);

/** A document's text without links to files that the package does not have: of those only the words stay. */
export function linkedWithin(folder, name, text) {
  const isThere = (target) => /^(\w+:|#)/.test(target) || existsSync(join(folder, dirname(name), target.split("#")[0]));
  return text.replace(/!?\[([^\]]*)\]\(([^)\s]+)\)/g, (whole, words, target) => (isThere(target) ? whole : words));
}

/** Packs from a copy, so that the README and the licences, which live at the top, do not have to be in ts/ as well. */
export async function pack() {
  const folder = dirname(tarball());
  const staged = join(folder, "package");
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(root, "ts"), staged, { recursive: true, filter: (path) => basename(path) !== "node_modules" });
  for (const name of ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"]) copyFileSync(join(root, name), join(staged, name));
  cpSync(join(root, "docs"), join(staged, "docs"), { recursive: true, filter: (path) => !forDevelopers.includes(basename(path)) });
  cpSync(join(root, "examples/recipes"), join(staged, "examples/recipes"), { recursive: true });
  for (const name of ["README.md", "CHANGELOG.md", ...documentsIn(staged)]) {
    writeFileSync(join(staged, name), linkedWithin(staged, name, readFileSync(join(root, name), "utf8")));
  }
  writeFileSync(join(staged, "THIRD-PARTY-NOTICES"), thirdPartyNotices());
  await run("npm pack", "npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: staged });
  return `${tarball()}, ${kilobytes(statSync(tarball()).size)}`;
}
