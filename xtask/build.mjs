// `npm run build`: Rust → wasm and glue by wasm-pack (one module, and one with threads) → parts → façade → the packed npm tarball.
// `-- --without-threads` leaves the module with threads out, which takes as long again and only `leastwise/threads` loads.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { buildFacade, copyGlue, kilobytes, pack, tarball } from "./lib/facade.mjs";
import { capture, entry, root, run, seconds } from "./lib/run.mjs";
import { libraryEnvironment, sysroot, wasmEnvironment } from "./lib/rust.mjs";
import { hashOf, stage, upToDate } from "./lib/stamps.mjs";
import { warningsIn } from "./lib/warnings.mjs";
import { wasmTools } from "./lib/wasm-tools.mjs";
import { setup } from "./setup.mjs";
import { claim, home, PARTS } from "./split/parts.mjs";
import { plain, split } from "./split/split.mjs";

const made = "target/wasm-pack";
const shipped = "ts/dist/wasm";
const partFiles = ["core", ...PARTS].map((part) => `${shipped}/leastwise_${part}.wasm`);
const shippedFiles = (name) => [`${name}_bg.wasm`, `${name}.js`, `${name}.d.ts`].map((file) => `${shipped}/${file}`).concat(name === "leastwise" ? partFiles : []);

const warningsOf = (name) => join(root, `target/wasm-warnings/${name}.txt`);

// cargo says them only when it compiles.
function keepWarnings(name, said) {
  mkdirSync(dirname(warningsOf(name)), { recursive: true });
  const warnings = warningsIn(said);
  if (warnings) writeFileSync(warningsOf(name), warnings);
  else if (said.includes("Compiling leastwise-js ")) rmSync(warningsOf(name), { force: true });
}

/** What the compiler had against the modules that are built. */
export const wasmWarnings = () => ["leastwise", "threaded"].map(warningsOf).filter((path) => existsSync(path)).map((path) => readFileSync(path, "utf8")).join("\n");

/** Flags besides those of .cargo/config.toml. */
function rustFlags(env, threads) {
  const cargoHome = process.env.CARGO_HOME ?? join(homedir(), ".cargo");
  return [
    // Panics name their file and no line, which is 17 KB of the module when it is compressed. The older names of functions have the modules of
    // methods, by which parts are told.
    "-Zlocation-detail=file", "-Zunstable-options", "-Csymbol-mangling-version=legacy",
    // Panic messages carry file names: the builder's folders are nobody's business and would make builds differ. Our own sources are named
    // relative to the workspace by cargo.
    `--remap-path-prefix=${cargoHome}=cargo`, `--remap-path-prefix=${sysroot(env)}=rust`,
    ...(threads ? ["-Ctarget-feature=+atomics,+bulk-memory,+mutable-globals"] : []),
  ];
}

/** Builds the module that is shipped under this name; with `threads`, the standard library as well. */
async function buildWasm(name, { threads = false } = {}) {
  const env = threads ? libraryEnvironment() : wasmEnvironment();
  const tools = wasmTools();
  const folder = join(root, made, name), target = join(root, threads ? "target/threads" : "target");
  rmSync(folder, { recursive: true, force: true });
  const said = await run("wasm-pack", tools.wasmPack,
    ["build", "--target", "web", ...(threads ? ["--profile", "threaded"] : ["--release"]), "--mode", "no-install", "--no-pack", "--no-gitignore", "--out-dir", folder, "--out-name", name, join(root, "src/js"), "--",
      ...(threads ? ["-Zbuild-std=std,panic_abort"] : []), "--target-dir", target,
      "--config", `target.wasm32-unknown-unknown.rustflags=${JSON.stringify(rustFlags(env, threads))}`],
    // Flags of the environment would replace all of them.
    { env: { ...env, RUSTFLAGS: undefined, CARGO_ENCODED_RUSTFLAGS: undefined, RUSTC_BOOTSTRAP: "1", PATH: [join(root, "node_modules/.bin"), ...tools.folders, process.env.PATH].join(delimiter) } });
  keepWarnings(name, said);

  mkdirSync(join(root, shipped), { recursive: true });
  const optimised = readFileSync(join(folder, `${name}_bg.wasm`));
  copyGlue(join(folder, `${name}.js`), join(root, shipped, `${name}.js`));
  copyFileSync(join(folder, `${name}.d.ts`), join(root, shipped, `${name}.d.ts`));
  const sizes = [];
  const keep = (part, wasm) => {
    writeFileSync(join(root, shipped, `${name}_${part}.wasm`), wasm);
    sizes.push(`${part === "bg" ? kilobytes(wasm.length) : part}, ${kilobytes(brotliCompressSync(wasm).length)}`);
  };
  if (threads) keep("bg", optimised);
  else {
    // Parts are ours: wasm-pack makes one module. The linker's is for the splitter; nothing after it keeps relocations right.
    const linked = readFileSync(join(target, "wasm32-unknown-unknown/release/leastwise_js.wasm"));
    const { whole, core, parts } = split(plain(optimised), PARTS, claim, linked, home);
    for (const [part, wasm] of Object.entries({ bg: whole, core, ...parts })) keep(part, wasm);
  }
  return `${sizes.join("; ")} compressed (brotli)`;
}

/** Builds what is not up to date, and returns the path of the tarball. Without `threads` the package lacks what `leastwise/threads` loads. */
export async function build({ threads = true } = {}) {
  const started = performance.now();
  const self = ["xtask/build.mjs", "xtask/split", "package-lock.json"], ofPackage = ["xtask/lib/facade.mjs", "xtask/lib/notices.mjs"];
  const sources = ["Cargo.toml", "Cargo.lock", ".cargo", "src", "shaders", ...self];
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
