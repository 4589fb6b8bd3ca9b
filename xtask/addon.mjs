// `npm run addon`: the engine for CUDA → an addon of Node → the packed tarball of leastwise-cuda, with its static kernels compiled. On Linux
// on x64. A quick `npm test` packs one of the profile of the Rust tests, with which it shares all but the last crate, and without those
// kernels: the engine is not compiled once more.
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { nvrtcFolder } from "./lib/nvrtc.mjs";
import { capture, entry, root, run, seconds, StepError } from "./lib/run.mjs";
import { sysroot } from "./lib/rust.mjs";
import { hashOf, stage } from "./lib/stamps.mjs";
import { setup } from "./setup.mjs";

const source = join(root, "native_cuda/package");
const target = "x86_64-unknown-linux-gnu";
/** What is published, and what quick tests take. */
const PUBLISHED = { name: "addon", folder: "target/pack-cuda", built: `target/${target}/addon/libleastwise_addon.so`, compile: compilePublished, images: "target/cuda-kernels.bin" };
const OF_TESTS = { name: "addon of the tests' profile", folder: "target/pack-cuda-tests", built: "target/debug/libleastwise_addon.so", compile: compileWithTests };
const binary = "leastwise-cuda.linux-x64.node", kernels = "kernels.bin";

const megabytes = (path) => `${(statSync(path).size / 2 ** 20).toFixed(1)} MB`;
const published = () => JSON.parse(readFileSync(join(source, "package.json"), "utf8"));

/** Whether this machine builds it. */
export const canBuildAddon = () => process.platform === "linux" && process.arch === "x64";

const tarballIn = (folder) => join(folder, `leastwise-cuda-${published().version}.tgz`);

/** The newest version of glibc that a binary asks for. */
function glibcOf(path) {
  const minors = [...readFileSync(path).toString("latin1").matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
  return `2.${Math.max(...minors)}`;
}

/** Profile and features are those of `cargo test --workspace`, so that what was compiled for it is taken. */
async function compileWithTests() {
  await run("cargo build (addon of the tests' profile)", "cargo", ["build", "--workspace", "--features", "cuda", "--lib", "--tests"]);
  return `${megabytes(join(root, OF_TESTS.built))}, with symbols`;
}

async function compilePublished() {
  const cargoHome = process.env.CARGO_HOME ?? join(homedir(), ".cargo");
  // Panic messages carry file names: the builder's folders are nobody's business.
  const flags = [`--remap-path-prefix=${cargoHome}=cargo`, `--remap-path-prefix=${sysroot()}=rust`];
  await run("cargo build (addon)", "cargo",
    ["build", "--profile", "addon", "-p", "leastwise-addon", "--target", target, "--target-dir", join(root, "target")],
    { env: { CARGO_ENCODED_RUSTFLAGS: flags.join("\x1f") } });
  return `${megabytes(join(root, PUBLISHED.built))}, for glibc ${glibcOf(join(root, PUBLISHED.built))} or newer`;
}

/** Compiles the static kernels for each generation of GPUs. What a file has that is there is taken from it: only new texts take time. */
async function compileKernels(images) {
  const libraries = await nvrtcFolder();
  await run("cargo build (pack-kernels)", "cargo", ["build", "--workspace", "--features", "cuda", "--bin", "pack-kernels"]);
  const made = await run("pack-kernels", join(root, "target/debug/pack-kernels"), [join(root, images)],
    { env: { LD_LIBRARY_PATH: [libraries, process.env.LD_LIBRARY_PATH].filter(Boolean).join(":") } });
  return `${made.trim()}, ${megabytes(join(root, images))}`;
}

async function pack({ folder, built, images }) {
  const staged = join(root, folder, "package");
  rmSync(join(root, folder), { recursive: true, force: true });
  mkdirSync(join(root, folder), { recursive: true });
  cpSync(source, staged, { recursive: true });
  for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) copyFileSync(join(root, name), join(staged, name));
  copyFileSync(join(root, built), join(staged, binary));
  if (images) copyFileSync(join(root, images), join(staged, kernels));
  await run("strip", "strip", [join(staged, binary)]);
  // The package says what its binary needs, which depends on the system that it was built on.
  const entrance = join(staged, "index.js"), text = readFileSync(entrance, "utf8"), said = /needs glibc [\d.]+ or newer/;
  if (!said.test(text)) throw new StepError("native_cuda/package/index.js no longer says which glibc is needed.");
  writeFileSync(entrance, text.replace(said, `needs glibc ${glibcOf(join(staged, binary))} or newer`));
  await run("npm pack", "npm", ["pack", "--ignore-scripts", "--pack-destination", join(root, folder)], { cwd: staged });
  const tarball = join(root, tarballIn(folder));
  return `${tarball}, ${megabytes(tarball)}`;
}

/** Builds what is not up to date, and returns the path of the tarball. */
export async function buildAddon(variant = PUBLISHED) {
  if (!canBuildAddon()) throw new StepError(`The addon is built on Linux on x64; this is ${process.platform} on ${process.arch}.`);
  const started = performance.now();
  const { name, folder, built, compile, images } = variant;
  await stage(`${name}: binary`, {
    key: hashOf(["Cargo.toml", "Cargo.lock", "src", "shaders", "native_cuda/addon", "native_cuda/device", "native_cuda/writer/Cargo.toml", "native_cuda/writer/src", "xtask/addon.mjs"], capture("rustc", ["--version"])),
    outputs: [built],
  }, compile);
  // Texts of kernels come from the same sources as the binary.
  if (images) await stage(`${name}: kernels`, { key: hashOf([built, "xtask/lib/nvrtc.mjs"], process.env.LEASTWISE_NVRTC), outputs: [images] }, () => compileKernels(images));
  await stage(`${name}: package`, {
    key: hashOf([built, ...(images ? [images] : []), "native_cuda/package", "LICENSE-MIT", "LICENSE-APACHE", "xtask/addon.mjs"]),
    outputs: [tarballIn(folder)],
  }, () => pack(variant));
  console.log(`The addon was built in ${seconds(started)}.`);
  return join(root, tarballIn(folder));
}

/** The same of the profile of the Rust tests. */
export const buildAddonOfTests = () => buildAddon(OF_TESTS);

await entry(import.meta, async () => {
  await setup({ forTests: false });
  await buildAddon();
});
