// `npm run build`: Rust → wasm (one module, and one with threads) → glue → façade → the packed npm tarball.
// `-- --without-threads` leaves the module with threads out, which takes as long again and only `leastwise/threads` loads.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { buildFacade, copyGlue, kilobytes, pack, tarball } from "./lib/facade.mjs";
import { capture, entry, root, run, seconds, StepError } from "./lib/run.mjs";
import { libraryEnvironment, sysroot, wasmBindgen, wasmEnvironment } from "./lib/rust.mjs";
import { hashOf, stage, upToDate } from "./lib/stamps.mjs";
import { warningsIn } from "./lib/warnings.mjs";
import { setup } from "./setup.mjs";
import { claim, home, PARTS } from "./split/parts.mjs";
import { plain, split } from "./split/split.mjs";

const glue = "target/wasm-bindgen";
const shipped = "ts/dist/wasm";
const partFiles = ["core", ...PARTS].map((part) => `${shipped}/leastwise_${part}.wasm`);
const shippedFiles = (name) => [`${name}_bg.wasm`, `${name}.js`, `${name}.d.ts`].map((file) => `${shipped}/${file}`).concat(name === "leastwise" ? partFiles : []);

// The features that rustc uses by default or on request; wasm-opt refuses what it was not told of. What is large and called from one place stays
// apart: rustc has inlined what is worth it, and in functions that are larger still engines run out of registers.
const wasmOpt = ["-O3", "--one-caller-inline-max-function-size=50", "--enable-bulk-memory", "--enable-nontrapping-float-to-int", "--enable-sign-ext", "--enable-reference-types",
  "--enable-mutable-globals", "--enable-multivalue", "--enable-simd", "--strip-producers", "--strip-target-features"];
// What is split keeps its names until then, and of functions that are equal all, so that each has the name of its own.
const wasmOptOf = { leastwise: ["-g", "--skip-pass=duplicate-function-elimination"], threaded: ["--strip-debug", "--enable-threads"] };

// Of the module with threads: memory that workers share comes from outside, at most all that 32 bits address. What is exported
// tells wasm-bindgen where a thread's own data lies, of which it makes the start of a thread.
const shared = ["--shared-memory", "--import-memory", "--max-memory=4294967296",
  ...["__wasm_init_tls", "__tls_size", "__tls_align", "__tls_base", "__heap_base"].map((name) => `--export=${name}`)];

const warningsOf = (name) => join(root, `target/wasm-warnings/${name}.txt`);

// cargo says them only when it compiles.
function keepWarnings(name, said) {
  mkdirSync(dirname(warningsOf(name)), { recursive: true });
  const warnings = warningsIn(said);
  if (warnings) writeFileSync(warningsOf(name), warnings);
  else if (said.includes("Compiling leastwise ")) rmSync(warningsOf(name), { force: true });
}

/** What the compiler had against the modules that are built. */
export const wasmWarnings = () => ["leastwise", "threaded"].map(warningsOf).filter((path) => existsSync(path)).map((path) => readFileSync(path, "utf8")).join("\n");

/** Builds the module that is shipped under this name; with `threads`, the standard library as well. */
async function buildWasm(name, { threads = false } = {}) {
  const cargoHome = process.env.CARGO_HOME ?? join(homedir(), ".cargo");
  const env = threads ? libraryEnvironment() : wasmEnvironment();
  const features = ["+simd128", ...(threads ? ["+atomics", "+bulk-memory", "+mutable-globals"] : [])];
  // Panic messages carry file names: the builder's folders are nobody's business and would make builds differ. Our own sources are named
  // relative to the workspace by cargo.
  // Less is inlined than by default: what matters is marked, and the module crosses the network.
  // What the engine compiles while it runs gets places in its table of functions.
  // Panics name their file and no line, which is 17 KB of the module when it is compressed. Both this and the older names of functions, which have the
  // modules of methods that parts go by, are flags that a compiler takes with RUSTC_BOOTSTRAP alone.
  const flags = ["-Zlocation-detail=file", "-Zunstable-options", "-Csymbol-mangling-version=legacy", "-C", `target-feature=${features.join()}`, "-C", "link-arg=--growable-table", "-C", "llvm-args=--inline-threshold=50", `--remap-path-prefix=${cargoHome}=cargo`,
    `--remap-path-prefix=${sysroot(env)}=rust`, ...(threads ? shared.flatMap((arg) => ["-C", `link-arg=${arg}`]) : [])];
  const target = join(root, threads ? "target/threads" : "target");
  const said = await run("cargo build (wasm32)", "cargo",
    // Not the crate's rlib as well, which nothing here links.
    ["rustc", "--release", "--lib", "--crate-type", "cdylib", ...(threads ? ["-Zbuild-std=std,panic_abort"] : []), "--target", "wasm32-unknown-unknown", "--target-dir", target, ...(threads ? [] : ["--", "-C", "link-arg=--emit-relocs"])],
    { env: { ...env, RUSTC_BOOTSTRAP: "1", CARGO_ENCODED_RUSTFLAGS: flags.join("\x1f") } });

  keepWarnings(name, said);
  const bindgen = wasmBindgen();
  if (!bindgen) throw new StepError("wasm-bindgen of the version in Cargo.lock is not installed.\n    npm run setup");
  const folder = join(root, glue, name);
  rmSync(folder, { recursive: true, force: true });
  // What the linker knew is for the splitter; what comes between would not keep it right.
  const linked = readFileSync(join(target, "wasm32-unknown-unknown/release/leastwise.wasm")), input = join(root, glue, `${name}.wasm`);
  mkdirSync(dirname(input), { recursive: true });
  writeFileSync(input, threads ? linked : plain(linked));
  await run("wasm-bindgen", bindgen, ["--target", "web", "--out-dir", folder, "--out-name", name, input]);

  mkdirSync(join(root, shipped), { recursive: true });
  const [made, optimised] = [join(folder, `${name}_bg.wasm`), join(folder, "optimised.wasm")];
  await run("wasm-opt", process.execPath, [join(root, "node_modules/binaryen/bin/wasm-opt"), ...wasmOpt, ...wasmOptOf[name], made, "-o", optimised]);
  copyGlue(join(folder, `${name}.js`), join(root, shipped, `${name}.js`));
  copyFileSync(join(folder, `${name}.d.ts`), join(root, shipped, `${name}.d.ts`));
  const sizes = [];
  const keep = (part, wasm) => {
    writeFileSync(join(root, shipped, `${name}_${part}.wasm`), wasm);
    sizes.push(`${part === "bg" ? kilobytes(wasm.length) : part}, ${kilobytes(brotliCompressSync(wasm).length)}`);
  };
  if (threads) keep("bg", readFileSync(optimised));
  else {
    const { whole, core, parts } = split(readFileSync(optimised), PARTS, claim, linked, home);
    for (const [part, wasm] of Object.entries({ bg: whole, core, ...parts })) keep(part, wasm);
  }
  return `${sizes.join("; ")} compressed (brotli)`;
}

/** Builds what is not up to date, and returns the path of the tarball. Without `threads` the package lacks what `leastwise/threads` loads. */
export async function build({ threads = true } = {}) {
  const started = performance.now();
  const self = ["xtask/build.mjs", "xtask/split", "package-lock.json"], ofPackage = ["xtask/lib/facade.mjs", "xtask/lib/notices.mjs"];
  const sources = ["Cargo.toml", "Cargo.lock", "build.rs", "src", "shaders", ...self];
  const compiler = (env) => hashOf(sources, capture("rustc", ["--version"], { env }));
  const threaded = ["build: wasm with threads", { key: compiler(libraryEnvironment()), outputs: shippedFiles("threaded") }];
  // A module of older sources beside a newer one would be worse than none.
  if (!threads && !upToDate(...threaded)) for (const path of shippedFiles("threaded")) rmSync(join(root, path), { force: true });
  // At once: each is one piece for the compiler, which one core works on.
  const modules = await Promise.allSettled([
    stage("build: wasm", { key: compiler(wasmEnvironment()), outputs: shippedFiles("leastwise") }, () => buildWasm("leastwise")),
    threads && stage(...threaded, () => buildWasm("threaded", { threads: true })),
  ]);
  for (const { reason } of modules) if (reason) throw reason;
  await stage("build: façade", {
    key: hashOf(["ts/src", "ts/cli", "ts/tsconfig.json", "ts/package.json", ...shippedFiles("leastwise"), ...shippedFiles("threaded"), ...ofPackage, ...self]),
    outputs: ["ts/dist/main.js", "ts/dist/main.d.ts", "ts/dist/cli/main.js", `${shipped}/inline.js`],
  }, buildFacade);
  await stage("build: package", {
    key: hashOf(["ts", "README.md", "CHANGELOG.md", "docs", "examples/recipes", "LICENSE-MIT", "LICENSE-APACHE", "Cargo.lock", ...ofPackage, ...self]),
    outputs: [`target/pack/${basename(tarball())}`],
  }, pack);
  console.log(`Built in ${seconds(started)}.`);
  return tarball();
}

await entry(import.meta, async () => {
  await setup({ forTests: false });
  await build({ threads: !process.argv.includes("--without-threads") });
});
