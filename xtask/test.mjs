// `npm test`: sets the machine up, then runs every check, two stages at a time, but for what comes after one that failed. `npm run test:full` repeats what `npm test`
// has a share of: every size of every kernel, all random programs, all repetitions of the package's tests, and its whole suite on the addon.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildAddon, buildAddonOfTests, canBuildAddon } from "./addon.mjs";
import { build, wasmWarnings } from "./build.mjs";
import { demo, DEMOS } from "./demo.mjs";
import { docs, testSite } from "./docs.mjs";
import { consumerFiles, consumersFolder, installPackage } from "./lib/consumers.mjs";
import { checkDocuments } from "./lib/documents.mjs";
import { browserEnvironment, calmEnvironment, gpuEnvironment } from "./lib/gpu.mjs";
import { inLanes } from "./lib/lanes.mjs";
import { pagePackages } from "./lib/pages.mjs";
import { entry, passThrough, root, seconds, StepError } from "./lib/run.mjs";
import { hasClippyForWasm } from "./lib/rust.mjs";
import { scratchProject } from "./lib/scratch.mjs";
import { contractFiles, suiteFiles, suitePackages, suitePattern } from "./lib/suite.mjs";
import { timesOfCargo } from "./lib/times.mjs";
import { kitVerdict } from "./lib/verdict.mjs";
import { setup } from "./setup.mjs";

const full = process.argv.includes("--full");
const ofFull = full ? { LEASTWISE_FULL: "1" } : {};
const testEnvironment = () => ({ ...gpuEnvironment(), ...ofFull });
/** Of processes of Node. In full they wait for a device as a user's do. */
const nodeEnvironment = () => (full ? testEnvironment() : calmEnvironment());

/** Seconds by test file: ["package in Node: scenes.test.mjs", 12.3]. */
const times = [];

const cargo = (say, args, env) => passThrough(`cargo ${args[0]}`, "cargo", args, { env, say });

async function rustTests(say) {
  await cargo(say, ["test", "--workspace", "--features", "cuda", "--no-run"]);
  // They write it anew; what a former run left there is none of today's shaders.
  rmSync(join(root, "target/wgsl"), { recursive: true, force: true });
  times.push(...timesOfCargo(await cargo(say, ["test", "--workspace", "--features", "cuda", "--no-fail-fast"], testEnvironment())));
}

/** rustc's own warnings of the build where only Debian's compiler, which comes without clippy, knows the target. */
async function lintWasm(say) {
  if (hasClippyForWasm()) await cargo(say, ["clippy", "-p", "leastwise-js", "--target", "wasm32-unknown-unknown", "--lib", "--", "-D", "warnings"]);
  const warnings = wasmWarnings();
  if (warnings) throw new StepError(`The build for wasm32 has warnings:\n${warnings}`);
}

/** Every TypeScript project that the build itself does not compile. */
async function typeCheck(say) {
  for (const project of ["ts", "ts/cli", "www", "benches"].map((name) => join(root, name, "tsconfig.json")).filter(existsSync)) {
    await passThrough(`tsc -p ${project}`, process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "--strict", "-p", project], { say });
  }
}

/** node's test runner over one file; `only` is a pattern of the names of its tests. */
async function nodeTest(say, path, env, only) {
  const started = performance.now();
  await passThrough(`node --test ${path}`, process.execPath, ["--expose-gc", "--test", "--test-reporter=spec", ...(only ? [`--test-name-pattern=${only}`] : []), path],
    { cwd: dirname(dirname(dirname(path))), env, say });
  times.push([path.slice(join(root, "target/").length), (performance.now() - started) / 1000]);
}

/** A stage for each test file. No file is a failure, not a success. */
function nodeStages(prefix, folder, files, { after, alone = [], env, only }) {
  if (!files.length) throw new StepError(`No test files for ${prefix}: nothing would be tested.`);
  return files.map((name) => ({
    name: `${prefix}: ${name}`, after, alone: alone.includes(name), work: (say) => nodeTest(say, join(root, folder, name), env(), only),
  }));
}

const testsIn = (folder) => readdirSync(join(root, "pkg_tests", folder)).filter((name) => name.endsWith(".test.mjs")).sort();

// What looks at clocks, or needs all cores, runs alone.
const ALONE = ["evaluators.test.mjs", "live.test.mjs", "threads.test.mjs"];
// The slowest first, so that none of them is what the end waits for.
const FIRST = ["checkpoints.test.mjs", "doubles.test.mjs", "indices.test.mjs", "manifolds.test.mjs", "shaders.test.mjs", "tensors-routing.test.mjs", "training.test.mjs"];
const slowestFirst = (files) => [...files.filter((name) => FIRST.includes(name)), ...files.filter((name) => !FIRST.includes(name))];

function stages() {
  let tarball, project, addon;
  const packages = ["@types/node", "@types/three", "@webgpu/types", "h5wasm", "playwright-core", "typescript", "typescript-5.9", "webgpu", ...pagePackages];
  const ofAddon = full ? suiteFiles(join(root, "pkg_tests")) : contractFiles;
  return [
    { name: "build", work: async () => { tarball = await build(); } },
    { name: "rustfmt", work: (say) => cargo(say, ["fmt", "--all", "--check"]) },
    { name: "xtask's own tests", work: (say) => passThrough("node --test xtask/lib", process.execPath, ["--test", ...readdirSync(join(root, "xtask/lib")).filter((name) => name.endsWith(".test.mjs")).map((name) => join(root, "xtask/lib", name))], { say }) },
    { name: "documents", work: async (say) => say(checkDocuments()) },
    { name: "clippy", work: async (say) => {
      await cargo(say, ["clippy", "--workspace", "--all-targets", "--features", "cuda", "--", "-D", "warnings"]);
      // No target of a plain `cargo test`, since it needs a GPU.
      await cargo(say, ["clippy", "--workspace", "--features", "cuda", "--test", "cuda", "--", "-D", "warnings"]);
    } },
    { name: "Rust tests", behind: ["clippy"], work: rustTests },
    { name: "lints of the build for wasm32", after: ["build"], behind: ["clippy"], work: lintWasm },
    { name: "TypeScript, strict", after: ["build"], work: typeCheck },
    { name: "install the tarball", after: ["build"], work: async () => { project = await scratchProject("pkg_tests", { tarball, packages, sources: "pkg_tests" }); } },
    { name: "type tests", after: ["install the tarball"], work: (say) => passThrough("type tests", process.execPath, [join(project, "types/run.mjs")], { cwd: dirname(project), env: ofFull, say }) },
    ...nodeStages("package in the browser", "target/pkg_tests/pkg_tests/browser", testsIn("browser"), { after: ["install the tarball"], env: () => ({ ...nodeEnvironment(), ...browserEnvironment() }) }),
    // Its shaders are those that the Rust tests write down.
    ...nodeStages("package in Node", "target/pkg_tests/pkg_tests/node", slowestFirst(testsIn("node")),
      { after: ["install the tarball"], alone: ALONE, env: () => ({ ...nodeEnvironment(), LEASTWISE_WGSL: join(root, "target/wgsl") }) })
      .map((stage) => (stage.name.endsWith("shaders.test.mjs") ? { ...stage, after: [...stage.after, "Rust tests"] } : stage)),
    { name: "install the tarball for consumers", after: ["build"], work: async () => { await installPackage(tarball); } },
    ...nodeStages("consumer", `${consumersFolder}/consumers`, consumerFiles(full),
      { after: ["install the tarball for consumers"], env: () => ({ ...browserEnvironment(), ...ofFull, LEASTWISE_TARBALL: tarball }) }),
    // One after the other: they share a project.
    ...DEMOS.map((name, k) => ({ name: `demo ${name}`, after: ["install the tarball"], behind: DEMOS.slice(0, k).map((before) => `demo ${before}`), work: (say) => demo(tarball, name, [], { say, env: nodeEnvironment() }) })),
    // Its tools come from the registry. Dead links end the build.
    ...(full ? [{ name: "documentation site", after: ["build"], work: () => docs() },
      { name: "documentation site in the browser", after: ["documentation site"], work: testSite },
      { name: "benchmarks", after: ["build"], work: (say) => passThrough("npm run bench", process.execPath, [join(root, "xtask/bench.mjs"), "--quick", "--filter=/642/"], { say }) }] : []),
    ...(canBuildAddon() ? [
      { name: "build the addon", after: ["build"], behind: ["Rust tests"], work: async () => {
        addon = await (full ? buildAddon() : buildAddonOfTests());
        await scratchProject("pkg_tests_addon", { tarball, addon, packages: suitePackages, sources: "pkg_tests" });
      } },
      // On machines without a GPU its engine is the one on the CPU. What is about WebGPU, the browser's module or the package is not repeated.
      ...[["addon", testsIn("addon")], ["node", ofAddon]].flatMap(([folder, files]) => nodeStages("addon", `target/pkg_tests_addon/pkg_tests/${folder}`, files,
        { after: ["build the addon"], alone: ALONE, env: () => ({ ...nodeEnvironment(), LEASTWISE_SUITE: "cuda", LEASTWISE_ADDON: "cpu", ...(!full && { LEASTWISE_ADDON_PROFILE: "tests" }) }), only: folder === "node" ? suitePattern : undefined })),
    ] : []),
  ];
}

await entry(import.meta, async () => {
  const started = performance.now();
  await setup({ full });
  const all = stages();
  const taken = await inLanes(all);
  const list = (title, rows, count) => {
    console.log(`\n${title}`);
    for (const [name, time] of rows.sort(([, a], [, b]) => b - a).slice(0, count)) console.log(`${time.toFixed(1).padStart(7)} s  ${name}`);
  };
  list("The slowest stages:", taken, 12);
  list("The slowest test files and programs:", times, 20);
  if (!canBuildAddon()) console.log("\nThe addon was not tested: it is for Linux on x64.");
  console.log(`\n${kitVerdict().lines.join("\n")}`);
  console.log(`\nAll ${all.length} stages${full ? ", in full," : ""} passed in ${seconds(started)}.`);
});
