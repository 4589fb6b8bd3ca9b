// `npm test`: sets the machine up, then runs every check, stopping at the first that fails.
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { buildAddon, canBuildAddon } from "./addon.mjs";
import { build } from "./build.mjs";
import { demo, DEMOS } from "./demo.mjs";
import { checkDocuments } from "./lib/documents.mjs";
import { browserEnvironment, gpuEnvironment } from "./lib/gpu.mjs";
import { entry, passThrough, root, seconds, StepError } from "./lib/run.mjs";
import { hasClippyForWasm, wasmEnvironment } from "./lib/rust.mjs";
import { scratchProject } from "./lib/scratch.mjs";
import { timesFile, timesOf, timesOfCargo } from "./lib/times.mjs";
import { suiteFiles, suitePackages, suitePattern } from "./lib/suite.mjs";
import { setup } from "./setup.mjs";

const wasm = ["--target", "wasm32-unknown-unknown", "--lib"];
const cargo = (name, args, env) => passThrough(name, "cargo", args, { env });

// rustc's own warnings where only Debian's compiler, which comes without clippy, knows the target.
const lintWasm = () => (hasClippyForWasm()
  ? cargo("clippy (wasm32)", ["clippy", ...wasm, "--", "-D", "warnings"])
  : cargo("check (wasm32)", ["check", ...wasm, "--target-dir", "target/check"], { ...wasmEnvironment(), RUSTFLAGS: "-D warnings" }));

/** Seconds by test file: ["package in Node: node/scenes.test.mjs", 12.3]. */
const times = [];

const testsIn = (path) => (existsSync(path) ? readdirSync(path).filter((name) => name.endsWith(".test.mjs")).sort() : []);

/** node's test runner over the files of one folder, or those given, and of their tests those whose names match; no file is a failure, not a success. */
async function nodeTests(project, folder, env, { files = testsIn(join(project, folder)), only } = {}) {
  const path = join(project, folder);
  if (!files.length) throw new StepError(`No *.test.mjs in pkg_tests/${folder}: nothing would be tested.`);
  // One file at a time: two solves at once would only take each other's cores, and time limits would mean nothing.
  const kept = timesFile(basename(dirname(project)) + folder);
  await passThrough(`node --test pkg_tests/${folder}`, process.execPath,
    ["--expose-gc", "--test", "--test-reporter=spec", "--test-reporter-destination=stdout", `--test-reporter=${join(root, "xtask/lib/times.mjs")}`, "--test-reporter-destination=stderr",
      "--test-concurrency=1", ...(only ? [`--test-name-pattern=${only}`] : []), ...files.map((name) => join(path, name))], { cwd: dirname(project), env: { ...env, LEASTWISE_TIMES: kept } });
  times.push(...timesOf(kept).map(([name, taken]) => [`${basename(dirname(project))}: ${name}`, taken]));
}

/** Every TypeScript project that the build itself does not compile. */
async function typeCheck() {
  const projects = ["ts", "ts/cli", "www", "benches"].map((name) => join(root, name, "tsconfig.json")).filter(existsSync);
  for (const project of projects) {
    await passThrough(`tsc -p ${project}`, process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "--strict", "-p", project]);
  }
}

/**
 * The addon in a project of its own, beside the same tarball: its own tests, and the package's on its engine. On machines without a
 * GPU that is the one on the CPU. What is about WebGPU, the browser's module or the package is not repeated.
 */
async function addonTests() {
  if (!canBuildAddon()) return console.log("not on this system: the addon is for Linux on x64");
  const addon = await buildAddon();
  const project = await scratchProject("pkg_tests_addon", { tarball, addon, packages: suitePackages, sources: "pkg_tests" });
  const env = { ...gpuEnvironment(), LEASTWISE_SUITE: "cuda", LEASTWISE_ADDON: "cpu" };
  await nodeTests(project, "addon", env);
  await nodeTests(project, "node", env, { files: suiteFiles(project), only: suitePattern });
}

let tarball;
let project;
const stages = [
  ["set-up", () => setup()],
  ["rustfmt", () => cargo("rustfmt", ["fmt", "--all", "--check"])],
  ["clippy", async () => {
    await cargo("clippy", ["clippy", "--workspace", "--all-targets", "--features", "cuda", "--", "-D", "warnings"]);
    // No target of a plain `cargo test`, since it needs a GPU.
    await cargo("clippy (tests on CUDA)", ["clippy", "--features", "cuda", "--test", "cuda", "--", "-D", "warnings"]);
  }],
  ["clippy for wasm32", lintWasm],
  ["Rust tests", async () => {
    await cargo("cargo test", ["test", "--workspace", "--features", "cuda", "--no-run"]);
    times.push(...timesOfCargo(await cargo("cargo test", ["test", "--workspace", "--features", "cuda"], gpuEnvironment())));
  }],
  ["build", async () => { tarball = await build(); }],
  ["TypeScript, strict", typeCheck],
  ["documents", checkDocuments],
  ["install the tarball", async () => {
    const packages = ["@types/node", "@types/three", "@webgpu/types", "bunny", "mnist", "playwright-core", "three", "typescript", "typescript-5.9", "vite", "webgpu"];
    project = await scratchProject("pkg_tests", { tarball, packages, sources: "pkg_tests" });
  }],
  ["type tests", () => passThrough("type tests", process.execPath, [join(project, "types/run.mjs")], { cwd: dirname(project) })],
  ["package in Node", () => nodeTests(project, "node", { ...gpuEnvironment(), LEASTWISE_WGSL: join(root, "target/wgsl") })],
  ["addon for CUDA in Node", addonTests],
  ["package in the browser", () => nodeTests(project, "browser", browserEnvironment())],
  ["demos", async () => { for (const name of DEMOS) await demo(tarball, name); }],
];

await entry(import.meta, async () => {
  const started = performance.now();
  for (const [index, [name, work]] of stages.entries()) {
    console.log(`\n━━ ${index + 1}/${stages.length} ${name}`);
    const stageStarted = performance.now();
    try {
      await work();
    } catch (error) {
      console.error(`\n✗ ${name} failed [${seconds(stageStarted)}]`);
      throw error;
    }
    console.log(`━━ ${name}: passed [${seconds(stageStarted)}]`);
  }
  console.log("\nThe slowest test files:");
  for (const [name, taken] of times.sort(([, a], [, b]) => b - a).slice(0, 20)) console.log(`${taken.toFixed(1).padStart(7)} s  ${name}`);
  console.log(`\nAll ${stages.length} stages passed in ${seconds(started)}.`);
});
