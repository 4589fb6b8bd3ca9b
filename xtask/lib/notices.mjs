// Notices of other people's work in the package: crates that are compiled into the modules, and what is bundled into the command line.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { capture, root, StepError } from "./run.mjs";

const HEAD = `Third-party notices of Leastwise

The WebAssembly modules in dist/wasm contain the Rust crates listed here and Rust's standard library; dist/cli/progress.js contains the npm
packages listed here. Under each licence's text stands what it is of. Of licences that may be chosen, MIT is, wherever it is one of them.
The sources of all crates are on https://crates.io, those of npm packages on https://www.npmjs.com.
`;

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

const mitOf = (holder) => `Copyright (c) ${holder}\n\n${MIT}`;

/** Texts of the licences in a package's folder; of alternatives, MIT's alone. */
function textsIn(folder, { license, authors, name }) {
  const files = readdirSync(folder).filter((file) => /licen[cs]e|copying|notice/i.test(file) && !/\.(rs|js)$/.test(file)).sort();
  const mit = files.filter((file) => /mit/i.test(file)), chosen = !/\bAND\b/.test(license) && /\bMIT\b/.test(license) && mit.length > 0;
  const texts = (chosen ? mit : files).map((file) => readFileSync(join(folder, file), "utf8").trim());
  // Some say their licence in their manifest alone, and keep others' texts beside it.
  const own = files.some((file) => /licen[cs]e/i.test(file));
  if (own) return texts;
  if (!/\bMIT\b/.test(license)) throw new StepError(`${name} (${license}) has no text of its licence.`);
  return [mitOf(authors.length ? authors.join(", ") : `the authors of ${name}`), ...texts];
}

/** Crates that are compiled for wasm32: what `cargo tree` resolves features to, without tests, build scripts and macros. */
function crates() {
  const target = ["--offline", "--target", "wasm32-unknown-unknown"];
  const tree = capture("cargo", ["tree", ...target, "-e", "normal,no-proc-macro", "-p", "leastwise-js", "--prefix", "none", "--format", "{p}"], { cwd: root });
  const metadata = capture("cargo", ["metadata", "--offline", "--format-version", "1", "--filter-platform", "wasm32-unknown-unknown"], { cwd: root, maxBuffer: 1 << 28 });
  if (tree === undefined || metadata === undefined) throw new StepError("cargo can't say which crates are compiled into the module (cargo tree, cargo metadata).");
  const compiled = new Set(tree.split("\n").map((line) => line.split(" ", 2).join(" ")));
  return JSON.parse(metadata).packages
    .filter(({ name, version, source }) => source !== null && compiled.has(`${name} v${version}`))
    .map((crate) => ({ name: `${crate.name} ${crate.version}`, texts: textsIn(dirname(crate.manifest_path), crate) }));
}

/** cli-progress, and what it needs. */
function npmPackages() {
  const found = new Map();
  const visit = (name, from) => {
    let folder = from;
    while (!existsSync(join(folder, "node_modules", name, "package.json"))) {
      if (folder === dirname(folder)) throw new StepError(`${name} is not installed.`);
      folder = dirname(folder);
    }
    folder = join(folder, "node_modules", name);
    if (found.has(folder)) return;
    const { version, license, author, dependencies = {} } = createRequire(import.meta.url)(join(folder, "package.json"));
    found.set(folder, { name: `${name} ${version} (npm)`, texts: textsIn(folder, { name, license, authors: [author?.name ?? author].filter(Boolean) }) });
    for (const each of Object.keys(dependencies)) visit(each, folder);
  };
  visit("cli-progress", root);
  return [...found.values()];
}

/** The file THIRD-PARTY-NOTICES. Equal texts stand once, above all that they are of. */
export function thirdPartyNotices() {
  const std = { name: "The Rust standard library", texts: [mitOf("The Rust Project contributors")] };
  const byText = new Map();
  for (const { name, texts } of [std, ...crates(), ...npmPackages()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    for (const text of texts) {
      const key = text.replaceAll(/\s+/g, " ");
      const entry = byText.get(key) ?? { text, names: [] };
      entry.names.push(name);
      byText.set(key, entry);
    }
  }
  const rule = "-".repeat(100);
  return [HEAD, ...[...byText.values()].map(({ text, names }) => `${rule}\n\n${names.join(", ")}\n\n${text.replaceAll("\r\n", "\n")}\n`)].join("\n");
}
