// `LEASTWISE_DATA=… npm run bench -- ceres`: whole solves to a level of the cost, ours and Ceres', natively in f64 on two threads each,
// one after the other on the same machine. Ceres is Debian's (`libceres-dev`), by the fastest of the solvers that suit the problem.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { root, StepError } from "./lib/run.mjs";

const PROBLEMS = [
  { name: "arap", file: "meshes/armadillo.off.gz", level: 9.29e-3, ours: ["pcg", "sparse-cholesky", "auto"], target: 0.25 },
  { name: "bundle", file: "bal/problem-16-22106-pre.txt.gz", level: 1.8034e4, ours: ["schur", "auto"], target: 1 },
];

function lines(name, command, args, env = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, env: { ...process.env, ...env }, encoding: "utf8", maxBuffer: 1 << 26 });
  if (error || status !== 0) throw new StepError(`${name}: ${command} ${args.join(" ")} failed\n${error?.message ?? stderr}`);
  return stdout.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
}

function data(file) {
  const folder = process.env.LEASTWISE_DATA;
  const path = folder && join(folder, file);
  if (!path || !existsSync(path)) throw new StepError(`${path ?? file} is not there: LEASTWISE_DATA must name a folder that has ${file}.\n    LEASTWISE_DATA=/path/to/data npm run bench -- ceres`);
  return path;
}

/** Ceres' program for a problem, compiled for this machine. */
function compiled(name, folder) {
  if (!existsSync("/usr/include/ceres/ceres.h")) throw new StepError("Ceres is not installed.\n    apt-get install libceres-dev");
  const program = join(folder, name);
  const { status, stderr } = spawnSync("g++", ["-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-I/usr/include/eigen3", join(root, `benches/ceres/${name}.cpp`), "-o", program, "-lceres", "-lglog"], { encoding: "utf8" });
  if (status !== 0) throw new StepError(`benches/ceres/${name}.cpp does not compile\n${stderr}`);
  return program;
}

const row = ({ solver, reached, cost, seconds, cpuSeconds, steps, inner }) =>
  `  ${solver.padEnd(32)} ${reached ? "reached" : "MISSED "} ${cost.toExponential(6)} ${seconds.toFixed(2).padStart(8)} s ${cpuSeconds.toFixed(2).padStart(8)} s of threads ${String(steps).padStart(4)} steps ${String(inner).padStart(6)} inner`;

/** Every row; the best of either side, and whether the target was met. */
export function ceres(chosen) {
  const folder = join(root, "target/ceres");
  mkdirSync(folder, { recursive: true });
  const results = [];
  for (const { name, file, level, ours, target } of PROBLEMS.filter(({ name }) => !chosen.length || chosen.includes(name))) {
    const path = data(file), plain = join(folder, `${name}.txt`);
    writeFileSync(plain, gunzipSync(readFileSync(path)));
    console.log(`${name} (${file}) to a cost of ${level}: f64, two threads, natively`);
    const mine = ours.flatMap((linear) => lines(name, "cargo", ["bench", "-q", "--bench", "solves", "--", name, path, String(level), linear], { RAYON_NUM_THREADS: "2" }));
    const theirs = lines(name, compiled(name, folder), [plain, String(level)]).map((line) => ({ ...line, solver: `Ceres, ${line.solver}` }));
    for (const line of [...mine, ...theirs]) console.log(row(line));
    const best = (side) => Math.min(...side.filter(({ reached }) => reached).map(({ seconds }) => seconds));
    const ratio = best(mine) / best(theirs);
    console.log(`  ours / Ceres', the best of each: ${ratio.toFixed(3)} (target: at most ${target}) ${ratio <= target ? "met" : "MISSED"}\n`);
    results.push({ name, level, rows: [...mine, ...theirs], ratio, target });
  }
  const out = join(folder, "results.json");
  writeFileSync(out, `${JSON.stringify({ date: new Date().toISOString(), results }, null, 1)}\n`);
  console.log(`as JSON: ${out}`);
}
