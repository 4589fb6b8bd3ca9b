// `npm run kit`: everything that the tests on CUDA need, built here and packed to be carried to a machine with an NVIDIA GPU, which
// needs neither Rust nor Node. There: `bash run.sh`, or `bash run.sh doctor device` for parts of it. HACKING.md says where its verdict goes.
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { buildAddon } from "./addon.mjs";
import { build } from "./build.mjs";
import { entry, root, run, step } from "./lib/run.mjs";
import { scratchProject } from "./lib/scratch.mjs";
import { suiteFiles, suitePackages, suitePattern } from "./lib/suite.mjs";
import { packedFrom, runScript } from "./lib/verdict.mjs";
import { setup } from "./setup.mjs";

const kit = join(root, "target/cuda-kit");

/** The tests of the CUDA device as a program, in the profile of all tests. */
async function testProgram(staged) {
  const built = await run("cargo test (the CUDA device)", "cargo", ["test", "--no-run", "--workspace", "--features", "cuda", "--test", "cuda", "--message-format", "json"]);
  const messages = built.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  const { executable } = messages.findLast(({ target, executable }) => executable && target.name === "cuda");
  copyFileSync(executable, join(staged, "cuda-tests"));
  return executable;
}

await entry(import.meta, async () => {
  // Before anything is built: what is edited meanwhile is not what the kit was made of.
  const packed = packedFrom(root);
  await setup({ forTests: false });
  const addon = await buildAddon();
  const project = dirname(await scratchProject("pkg_tests_addon", { tarball: await build(), addon, packages: suitePackages, sources: "pkg_tests" }));
  const staged = join(kit, "staged");
  rmSync(kit, { recursive: true, force: true });
  mkdirSync(staged, { recursive: true });
  await step("kit: the CUDA device's tests", () => testProgram(staged));
  await step("kit: packed", async () => {
    for (const name of ["package.json", "pkg_tests", "examples", "node_modules"]) cpSync(join(project, name), join(staged, name), { recursive: true });
    cpSync(join(root, "pkg_tests/problems"), join(staged, "problems"), { recursive: true });
    mkdirSync(join(staged, "benches"));
    for (const name of ["lib", ...readdirSync(join(root, "benches")).filter((name) => /\.(mjs|py)$/.test(name))]) {
      cpSync(join(root, "benches", name), join(staged, "benches", name), { recursive: true });
    }
    // Dawn of other systems is the largest part.
    const dawn = join(staged, "node_modules/webgpu/dist"), systems = existsSync(dawn) ? readdirSync(dawn) : [];
    for (const name of systems) if (/^(darwin|win32|linux-arm)/.test(name)) rmSync(join(dawn, name), { recursive: true });
    copyFileSync(process.execPath, join(staged, "node"));
    const programs = ["node", "cuda-tests", "node_modules/webgpu/dist/linux-x64/dawn.node"].map((name) => join(staged, name));
    await run("strip", "strip", programs.filter((path) => existsSync(path)));
    await run("tar", "tar", ["-C", staged, "-cJf", join(kit, "kit.tar.xz"), "."], { env: { XZ_OPT: "-T0 -8" } });
    writeFileSync(join(kit, "run.sh"), runScript({ files: suiteFiles(join(project, "pkg_tests")), pattern: suitePattern, packed }));
    rmSync(staged, { recursive: true });
    return `${kit}, ${(statSync(join(kit, "kit.tar.xz")).size / 2 ** 20).toFixed(0)} MB, of ${packed}; there: bash ${basename(kit)}/run.sh`;
  });
});
