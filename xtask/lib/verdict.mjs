// The kit's verdict: the script that writes it on a machine with a GPU, and how `npm test` tells which code it was of.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { capture, root } from "./run.mjs";

/** Verdicts, one a line, the newest last. */
const VERDICTS = "benches/results/kit.txt";

/** The code that runs on a GPU. */
const ENGINE = ["src", "shaders", "native_cuda"];

/** The commit of a working tree, and "dirty" where tracked or new files differ from it. */
export function packedFrom(folder) {
  const commit = capture("git", ["rev-parse", "HEAD"], { cwd: folder });
  if (!commit) return "unknown commit";
  return capture("git", ["status", "--porcelain"], { cwd: folder }) === "" ? commit : `${commit} dirty`;
}

/**
 * The kit's `run.sh`. Every part runs, whatever the others come to; the exit code is 0 when all passed. Parts may be run one by one: the
 * verdict is of all that this kit has run, of each part the last time.
 */
export const runScript = ({ files, pattern, packed }) => `#!/usr/bin/env bash
# The tests on CUDA, on a machine with an NVIDIA GPU: all, or those parts that are named of doctor, device, images (static kernels as the
# package has them compiled), addon, suite. Only where
# they are named: memcheck (every static kernel and some random programs under compute-sanitizer), large, fits, preconditioners, armadillo,
# bundle (what \`npm run bench\` has, on CUDA and WebGPU, and the bundle on the CPU as well; the last two need LEASTWISE_DATA), soak
# (soak-cuda, then soak-webgpu: random sessions for LEASTWISE_SOAK_MINUTES each, default 10, from LEASTWISE_SOAK_SEED on, in
# LEASTWISE_SOAK_PROCESSES processes beside each other).
# Logs go to $OUT, or to ./logs, with kit.txt, the verdict in one line: append it to ${VERDICTS}.
set -uo pipefail
cd "$(dirname "\${BASH_SOURCE[0]}")"
logs="\${OUT:-$PWD/logs}"
mkdir -p "$logs"
if [ ! -d work ]; then mkdir work && tar -xJf kit.tar.xz -C work || exit 1; fi
cd work
failed=0
chosen=" \${*:-doctor device images addon suite} "
mkdir -p verdicts
# A part's counts, from its log: "19 passed", "2 failed".
counts() {
  case $1 in
    device | images) sed -nE 's/^test result: [^0-9]*([0-9]+) passed; ([0-9]+) failed.*/\\1 \\2/p' "$logs/$1.log" | tail -1 ;;
    *) sed -nE 's/^ℹ (pass|fail) ([0-9]+)$/\\2/p' "$logs/$1.log" | tail -2 | tr '\\n' ' ' ;;
  esac
}
part() {
  local name=$1; shift
  [[ $chosen == *" $name "* || ($name == soak-* && $chosen == *" soak "*) ]] || return
  local started=$SECONDS
  if timeout "\${limit:-570}" "$@" > "$logs/$name.log" 2>&1; then verdict=passed; else verdict="FAILED ($?)"; failed=1; fi
  echo "━━ $name: $verdict [$((SECONDS - started)) s]"
  case $name in
    memcheck) tail -1 "$logs/$name.log" ;;
    large | fits | preconditioners | armadillo | bundle) grep -v '^{' "$logs/$name.log" ;;
    doctor | soak-*) cat "$logs/$name.log" ;;
    device | images) grep -E "^test |test result" "$logs/$name.log" ;;
    *) grep -E "^ℹ (tests|pass|fail|skipped) " "$logs/$name.log" | tr '\\n' ' '; echo; grep -E "✖" "$logs/$name.log" | sort -u | head -60 ;;
  esac
  case $name in
    device | images | addon | suite)
      read -r passes fails <<< "$(counts "$name")"
      # No tests, no pass.
      if [ "$verdict" = passed ] && [ "\${passes:-0}" -gt 0 ] && [ "\${fails:-1}" = 0 ]; then verdict=passed; else verdict=FAILED; failed=1; fi
      echo "$verdict $name \${passes:-0} passed \${fails:-?} failed" > "verdicts/$name" ;;
  esac
}
# What NVRTC compiles is kept from run to run.
export LEASTWISE_SUITE=cuda LEASTWISE_CACHE="$PWD/cache" RUST_BACKTRACE=1
node="$PWD/node --expose-gc --test --test-reporter=spec --test-concurrency=$(( $(nproc) > 7 ? 4 : 1 ))"
part doctor ./node node_modules/leastwise-cuda/doctor.js doctor
# On many cores beside the others, since they all wait for the compiler of kernels more than for the GPU.
(part device ./cuda-tests --test-threads=1 --nocapture
rm -rf cache-images
part images env LEASTWISE_CACHE="$PWD/cache-images" LEASTWISE_IMAGES="$PWD/node_modules/leastwise-cuda/kernels.bin" ./cuda-tests --test-threads=1 --nocapture --include-ignored static_kernels
exit $failed) & device=$!
[ "$(nproc)" -gt 7 ] || wait $device || failed=1
part addon $node pkg_tests/addon/addon.test.mjs
part suite $node ${JSON.stringify(`--test-name-pattern=${pattern}`)} ${files.map((name) => `pkg_tests/node/${name}`).join(" ")}
wait $device || failed=1
sanitizer="$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)"
LEASTWISE_FUZZ_PROGRAMS=64 part memcheck "$sanitizer" --tool memcheck --error-exitcode 9 ./cuda-tests --test-threads=1 static_kernels random_programs
part large ./node benches/run.mjs large cuda/f64 cuda/f32 webgpu/f32
part fits ./node benches/run.mjs fits --backends=cuda,webgpu --resident=1000000,10000000,100000000
part preconditioners ./node benches/run.mjs preconditioners cuda/f64 cuda/f32 webgpu/f32
part armadillo ./node benches/run.mjs armadillo cuda/f64 cuda/f32 webgpu/f32
part bundle ./node benches/run.mjs bundle cuda/f64 cuda/f32 webgpu/f32 cpu/f64
minutes="\${LEASTWISE_SOAK_MINUTES:-10}"
# Failures are made smaller after that.
limit=$(( minutes * 60 + 900 ))
soaks='for k in $(seq 0 $(( $1 - 1 ))); do ./node pkg_tests/soak/driver.mjs --backend $2 --minutes $3 --seed $(( $4 + 1000000 * k )) --out "$5" & pids+=($!); done
  for pid in \${pids[@]}; do wait $pid || failed=1; done; exit $failed'
for backend in cuda webgpu; do
  part soak-$backend env failed=0 bash -c "$soaks" soak "\${LEASTWISE_SOAK_PROCESSES:-1}" $backend "$minutes" "\${LEASTWISE_SOAK_SEED:-1}" "$logs"
done
gpu="$(nvidia-smi --query-gpu=name --format=csv,noheader 2> /dev/null | head -1)"
parts=""
kit=passed
for name in device images addon suite; do
  if [ ! -f "verdicts/$name" ]; then parts+=", $name not run"; [ $kit = passed ] && kit=incomplete; continue; fi
  read -r verdict what < "verdicts/$name"
  parts+=", $what"
  [ "$verdict" = passed ] || kit=FAILED
done
echo "$(date -u +%Y-%m-%dT%H:%MZ) | ${packed} | \${gpu:-unknown GPU} | \${parts#, } | $kit" | tee "$logs/kit.txt"
echo "verdict: $([ $failed = 0 ] && echo "all passed" || echo "FAILED"); logs in $logs"
exit $failed
`;

/** What is known of the engine on a GPU: lines to print, and whether its code is what the kit last passed on. */
export function kitVerdict(folder = root) {
  const file = join(folder, VERDICTS);
  const last = existsSync(file) ? readFileSync(file, "utf8").split("\n").findLast((line) => line.trim() && !line.startsWith("#")) : undefined;
  const advice = `run \`npm run kit\` on a GPU before an issue that touches ${ENGINE.join("/, ")}/ is resolved (HACKING.md)`;
  if (!last) return { passed: false, lines: [`kit on CUDA: no verdict in ${VERDICTS}; ${advice}`] };
  const [, packed = "", , , verdict] = last.split(" | ");
  const [commit, dirty] = packed.split(" ");
  const lines = [`kit on CUDA: ${last}`];
  // Committed or not.
  const tracked = capture("git", ["diff", "--name-only", commit, "--", ...ENGINE], { cwd: folder });
  const added = capture("git", ["ls-files", "--others", "--exclude-standard", "--", ...ENGINE], { cwd: folder });
  if (tracked === undefined || added === undefined) {
    lines.push(`  of a commit that is not in this repository; ${advice}`);
    return { passed: false, lines };
  }
  const changed = [...tracked.split("\n"), ...added.split("\n")].filter(Boolean);
  const shown = changed.slice(0, 5).join(", ") + (changed.length > 5 ? ", …" : "");
  if (changed.length) lines.push(`  ${changed.length} files of ${ENGINE.join("/, ")}/ changed since: ${shown}; ${advice}`);
  if (dirty) lines.push("  it was packed from a tree that differed from that commit");
  if (!changed.length && !dirty && verdict === "passed") lines.push("  no file of the engine changed since");
  return { passed: verdict === "passed" && !dirty && !changed.length, lines };
}
