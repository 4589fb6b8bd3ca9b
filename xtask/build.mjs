// `npm run build`: Rust → wasm → glue → façade → the packed npm tarball.
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { capture, entry, root, run, seconds, StepError } from "./lib/run.mjs";
import { wasmBindgen, wasmEnvironment } from "./lib/rust.mjs";
import { hashOf, stage } from "./lib/stamps.mjs";
import { setup } from "./setup.mjs";

const glue = "target/wasm-bindgen";
const shipped = "ts/dist/wasm";
const shippedFiles = ["leastwise_bg.wasm", "leastwise.js", "leastwise.d.ts"];

// The features that rustc uses by default or on request; wasm-opt refuses what it was not told of. What is large and called from one place stays
// apart: rustc has inlined what is worth it, and in functions that are larger still engines run out of registers.
const wasmOpt = ["-O3", "--one-caller-inline-max-function-size=50", "--enable-bulk-memory", "--enable-nontrapping-float-to-int", "--enable-sign-ext", "--enable-reference-types",
  "--enable-mutable-globals", "--enable-multivalue", "--enable-simd", "--strip-debug", "--strip-producers", "--strip-target-features"];

const kilobytes = (bytes) => `${Math.round(bytes / 1024)} KB`;
const tsc = (...args) => [process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...args]];

async function buildWasm() {
  const cargoHome = process.env.CARGO_HOME ?? join(homedir(), ".cargo");
  // Panic messages carry file names: the builder's folders are nobody's business and would make builds differ.
  // Less is inlined than by default: what matters is marked, and the module crosses the network.
  // What the engine compiles while it runs gets places in its table of functions.
  const flags = ["-C", "target-feature=+simd128", "-C", "link-arg=--growable-table", "-C", "llvm-args=--inline-threshold=50", `--remap-path-prefix=${cargoHome}=cargo`, `--remap-path-prefix=${capture("rustc", ["--print", "sysroot"], { env: wasmEnvironment() })}=rust`, `--remap-path-prefix=${root}=leastwise`];
  await run("cargo build (wasm32)", "cargo",
    ["build", "--release", "--lib", "--target", "wasm32-unknown-unknown", "--target-dir", join(root, "target")],
    { env: { ...wasmEnvironment(), CARGO_ENCODED_RUSTFLAGS: flags.join("\x1f") } });

  const bindgen = wasmBindgen();
  if (!bindgen) throw new StepError("wasm-bindgen of the version in Cargo.lock is not installed.\n    npm run setup");
  rmSync(join(root, glue), { recursive: true, force: true });
  await run("wasm-bindgen", bindgen, ["--target", "web", "--out-dir", join(root, glue), "--out-name", "leastwise",
    join(root, "target/wasm32-unknown-unknown/release/leastwise.wasm")]);

  mkdirSync(join(root, shipped), { recursive: true });
  await run("wasm-opt", process.execPath, [join(root, "node_modules/binaryen/bin/wasm-opt"), ...wasmOpt,
    join(root, glue, "leastwise_bg.wasm"), "-o", join(root, shipped, "leastwise_bg.wasm")]);
  for (const name of ["leastwise.js", "leastwise.d.ts"]) copyFileSync(join(root, glue, name), join(root, shipped, name));
  const wasm = readFileSync(join(root, shipped, "leastwise_bg.wasm"));
  return `${kilobytes(wasm.length)}, ${kilobytes(brotliCompressSync(wasm).length)} compressed (brotli)`;
}

async function buildFacade() {
  // What an earlier source file left behind would otherwise be packed for ever.
  for (const name of readdirSync(join(root, "ts/dist"))) {
    if (name !== "wasm") rmSync(join(root, "ts/dist", name), { recursive: true });
  }
  await run("tsc", ...tsc("-p", join(root, "ts/tsconfig.json")));
  // Compiled against the package as it is published, which the line above made.
  await run("tsc (command line)", ...tsc("-p", join(root, "ts/cli/tsconfig.json")));
  return "ts/dist";
}

const published = () => JSON.parse(readFileSync(join(root, "ts/package.json"), "utf8"));

/** Where the tarball is, once `build` has run. */
export const tarball = () => join(root, `target/pack/leastwise-${published().version}.tgz`);

// Packed from a copy, so that the README and the licences, which live at the top, do not have to be in ts/ as well.
async function pack() {
  const folder = join(root, "target/pack");
  const staged = join(folder, "package");
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(root, "ts"), staged, { recursive: true, filter: (path) => basename(path) !== "node_modules" });
  for (const name of ["README.md", "LICENSE-MIT", "LICENSE-APACHE"]) {
    if (existsSync(join(root, name))) copyFileSync(join(root, name), join(staged, name));
  }
  await run("npm pack", "npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: staged });
  return `${tarball()}, ${kilobytes(statSync(tarball()).size)}`;
}

/** Builds what is not up to date, and returns the path of the tarball. */
export async function build() {
  const started = performance.now();
  const self = ["xtask/build.mjs", "package-lock.json"];
  await stage("build: wasm", {
    key: hashOf(["Cargo.toml", "Cargo.lock", "build.rs", "src", "shaders", ...self], capture("rustc", ["--version"], { env: wasmEnvironment() })),
    outputs: shippedFiles.map((name) => `${shipped}/${name}`),
  }, buildWasm);
  await stage("build: façade", {
    key: hashOf(["ts/src", "ts/cli", "ts/tsconfig.json", "ts/package.json", `${shipped}/leastwise.d.ts`, ...self]),
    outputs: ["ts/dist/index.js", "ts/dist/index.d.ts", "ts/dist/cli/main.js"],
  }, buildFacade);
  await stage("build: package", {
    key: hashOf(["ts", "README.md", "LICENSE-MIT", "LICENSE-APACHE", ...self]),
    outputs: [`target/pack/${basename(tarball())}`],
  }, pack);
  console.log(`Built in ${seconds(started)}.`);
  return tarball();
}

await entry(import.meta, async () => {
  await setup({ forTests: false });
  await build();
});
