// `npm run kit`: everything that the tests on CUDA need, built here and packed to be carried to a machine with an NVIDIA GPU, which needs
// neither Rust nor Node. There: `bash run.sh`, or `bash run.sh doctor device` for parts of it.
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { buildAddon } from "./addon.mjs";
import { build } from "./build.mjs";
import { suiteFiles, suitePackages, suitePattern } from "./lib/suite.mjs";
import { entry, root, run, step } from "./lib/run.mjs";
import { scratchProject } from "./lib/scratch.mjs";
import { setup } from "./setup.mjs";

const kit = join(root, "target/cuda-kit");

/** The tests of the CUDA device as a program, in the profile of all tests. */
async function testProgram(staged) {
  const built = await run("cargo test (the CUDA device)", "cargo", ["test", "--no-run", "--features", "cuda", "--test", "cuda", "--message-format", "json"]);
  const messages = built.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  const { executable } = messages.findLast(({ target, executable }) => executable && target.name === "cuda");
  copyFileSync(executable, join(staged, "cuda-tests"));
  return executable;
}

/** What runs there. Every part runs, whatever the others come to; the exit code is 0 when all passed. */
const script = (files) => `#!/usr/bin/env bash
# The tests on CUDA, on a machine with an NVIDIA GPU: all, or those parts that are named of doctor, device, addon, suite. Only where
# they are named: memcheck (every static kernel and some random programs under compute-sanitizer), large, armadillo, bundle (what
# \`npm run bench\` has, on CUDA and WebGPU, and the bundle on the CPU as well; the last two need LEASTWISE_DATA).
# Logs go to $OUT, or to ./logs.
set -uo pipefail
cd "$(dirname "\${BASH_SOURCE[0]}")"
logs="\${OUT:-$PWD/logs}"
mkdir -p "$logs"
if [ ! -d work ]; then mkdir work && tar -xJf kit.tar.xz -C work || exit 1; fi
cd work
failed=0
chosen=" \${*:-doctor device addon suite} "
part() {
  local name=$1; shift
  [[ $chosen == *" $name "* ]] || return
  local started=$SECONDS
  if timeout 570 "$@" > "$logs/$name.log" 2>&1; then verdict=passed; else verdict="FAILED ($?)"; failed=1; fi
  echo "━━ $name: $verdict [$((SECONDS - started)) s]"
  case $name in
    memcheck) tail -1 "$logs/$name.log" ;;
    large | armadillo | bundle) grep -v '^{' "$logs/$name.log" ;;
    doctor) cat "$logs/$name.log" ;;
    device) grep -E "^test |test result" "$logs/$name.log" ;;
    *) grep -E "^ℹ (tests|pass|fail|skipped) " "$logs/$name.log" | tr '\\n' ' '; echo; grep -E "✖" "$logs/$name.log" | sort -u | head -60 ;;
  esac
}
# What NVRTC compiles is kept from run to run.
export LEASTWISE_SUITE=cuda LEASTWISE_CACHE="$PWD/cache" RUST_BACKTRACE=1
node="$PWD/node --expose-gc --test --test-reporter=spec --test-concurrency=$(( $(nproc) > 7 ? 4 : 1 ))"
part doctor ./node node_modules/leastwise-cuda/doctor.js doctor
part device ./cuda-tests --test-threads=1 --nocapture
part addon $node pkg_tests/addon/addon.test.mjs
part suite $node ${JSON.stringify(`--test-name-pattern=${suitePattern}`)} ${files.map((name) => `pkg_tests/node/${name}`).join(" ")}
sanitizer="$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)"
LEASTWISE_FUZZ_PROGRAMS=64 part memcheck "$sanitizer" --tool memcheck --error-exitcode 9 ./cuda-tests --test-threads=1 static_kernels random_programs
part large ./node benches/run.mjs large cuda/f64 cuda/f32 webgpu/f32
part armadillo ./node benches/run.mjs armadillo cuda/f64 cuda/f32 webgpu/f32
part bundle ./node benches/run.mjs bundle cuda/f64 cuda/f32 webgpu/f32 cpu/f64
echo "verdict: $([ $failed = 0 ] && echo "all passed" || echo "FAILED"); logs in $logs"
exit $failed
`;

await entry(import.meta, async () => {
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
    for (const name of ["lib", ...readdirSync(join(root, "benches")).filter((name) => name.endsWith(".mjs"))]) {
      cpSync(join(root, "benches", name), join(staged, "benches", name), { recursive: true });
    }
    // Dawn of other systems is the largest part.
    const dawn = join(staged, "node_modules/webgpu/dist");
    if (existsSync(dawn)) for (const name of readdirSync(dawn)) if (/^(darwin|win32|linux-arm)/.test(name)) rmSync(join(dawn, name), { recursive: true });
    copyFileSync(process.execPath, join(staged, "node"));
    await run("strip", "strip", [join(staged, "node"), join(staged, "cuda-tests")]);
    await run("tar", "tar", ["-C", staged, "-cJf", join(kit, "kit.tar.xz"), "."], { env: { XZ_OPT: "-T0 -6" } });
    writeFileSync(join(kit, "run.sh"), script(suiteFiles(join(project, "pkg_tests"))));
    rmSync(staged, { recursive: true });
    return `${kit}, ${(statSync(join(kit, "kit.tar.xz")).size / 2 ** 20).toFixed(0)} MB; there: bash ${basename(kit)}/run.sh`;
  });
});
