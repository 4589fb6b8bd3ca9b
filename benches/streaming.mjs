// `npm run bench -- streaming [--numpy=python3] [--size=1000] [--repeats=25] [--threads=2] [--clock=cpu]`: elementwise operations, reductions and what is made of them on the CPU in wasm,
// on one thread, beside NumPy on one thread: `--numpy`, or LEASTWISE_NUMPY, names a Python that has it. The two take turns; of every time the least counts. Below each
// row is the floor: what its bytes take at the rate of a copy of as many, or its multiplications at simd128's peak. With `--threads` `leastwise/threads` runs the rows again, and as many threads copy. `--clock=cpu` is for busy machines: processor time of both instead of the clock.
import { execFileSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { init } from "leastwise";
import { machine } from "./lib/machine.mjs";
import { copyRate } from "./lib/memory.mjs";
import { simd128Peak } from "./lib/peak.mjs";

const ROUNDS = 3;

/** What each row does, how many arrays it moves, and the largest ratio that issue 29 asks for. */
const ROWS = {
  add: [(x, y) => x.add(y), 3, 2],
  sum: [(x) => x.sum(), 1, 2],
  "sum, columns": [(x) => x.sum(0), 1, 2],
  "sum, rows": [(x) => x.sum(1), 1, 2],
  max: [(x) => x.max(), 1, 3],
  "max, columns": [(x) => x.max(0), 1, 3],
  "max, rows": [(x) => x.max(1), 1, 3],
  exp: [(x) => x.exp(), 2, 4],
  tanh: [(x) => x.tanh(), 2, 4],
  "tanh(2x + 1)": [(x) => x.mul(2).add(1).tanh(), 2, 4],
  softmax: [(x) => x.softmax(), 2, 3],
  "layer norm": [(x) => x.layerNorm(), 2, 3],
};

function given(args) {
  const chosen = { numpy: process.env.LEASTWISE_NUMPY, size: 1000, repeats: 25, threads: 1, clock: "wall" };
  for (const arg of args) {
    const [, name, value] = arg.match(/^--(size|repeats|threads)=(\d+)$/) ?? arg.match(/^--(numpy)=(.+)$/) ?? arg.match(/^--(clock)=(wall|cpu)$/) ?? [];
    if (!name) throw new Error(`bench -- streaming has no "${arg}": it has --numpy=PYTHON, --size=SIDE, --repeats=COUNT, --threads=COUNT and --clock=wall or cpu`);
    chosen[name] = name === "numpy" || name === "clock" ? value : Number(value);
  }
  return chosen;
}

/** What NumPy takes; a sentence where there is none. */
function numpy({ numpy: python, size, repeats, clock }) {
  if (!python) return "NumPy is not beside it: --numpy=PYTHON or LEASTWISE_NUMPY names a Python that has NumPy, for instance of a virtual environment.";
  try {
    return JSON.parse(execFileSync(python, [fileURLToPath(new URL("streaming.py", import.meta.url)), String(size), String(repeats), clock],
      { encoding: "utf8", env: { ...process.env, OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1", MKL_NUM_THREADS: "1" }, stdio: ["ignore", "pipe", "pipe"] }));
  } catch (error) {
    return `NumPy is not beside it: ${python} did not run benches/streaming.py (${`${error.stderr ?? error.message}`.trim().split("\n").at(-1)}).`;
  }
}

/** Milliseconds, of which differences are taken. */
function now(clock) {
  if (clock === "wall") return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
}

async function least(lw, { repeats, clock }, make) {
  let best = Infinity;
  for (let i = 0; i < repeats; i++) {
    const made = make();
    const started = now(clock);
    await lw.evaluate(made);
    best = Math.min(best, now(clock) - started);
    made.dispose();
  }
  return best;
}

async function leastwise(lw, { size, repeats, clock }) {
  const found = {};
  for (const dtype of ["f32", "f64"]) {
    const random = (sides, seed) => lw.random([sides, sides], { seed, low: -1, high: 1, dtype });
    const [x, y, a, b] = [random(size, 1), random(size, 2), random(512, 3), random(512, 4)];
    await lw.evaluate(x, y, a, b);
    found[dtype] = {};
    for (const [name, [make]] of Object.entries(ROWS)) found[dtype][name] = await least(lw, { repeats, clock }, () => make(x, y));
    found[dtype]["512³"] = await least(lw, { repeats: Math.min(repeats, 10), clock }, () => a.matmul(b));
    [x, y, a, b].forEach((tensor) => tensor.dispose());
  }
  return found;
}

/** The least of both, row by row. */
function lesser(before, now) {
  if (!before) return now;
  return Object.fromEntries(Object.entries(now).map(([dtype, rows]) => [dtype, Object.fromEntries(Object.entries(rows).map(([name, ms]) => [name, Math.min(ms, before[dtype][name])]))]));
}

export async function streaming(args) {
  const chosen = given(args);
  const host = machine(), peak = await simd128Peak();
  console.log(`${host.cpu}, ${host.cores} cores; node ${host.node}; ${host.commit}; ${host.date}`);
  if (host.loadAverage > 0.5) console.log(`NOTE: other programs keep this machine busy (load average ${host.loadAverage.toFixed(1)}).`);
  const engines = [await init({ backend: "cpu" })];
  if (chosen.threads > 1) {
    const lw = await (await import("leastwise/threads")).init({ backend: "cpu", threads: chosen.threads });
    if (lw.threads.count !== chosen.threads) throw new Error(`${chosen.threads} threads were asked for: ${lw.threads.reason}`);
    engines.push(lw);
  }
  const ours = [];
  let beside, theirs;
  for (let round = 0; round < ROUNDS; round++) {
    for (const [which, lw] of engines.entries()) ours[which] = lesser(ours[which], await leastwise(lw, chosen));
    beside = numpy(chosen);
    if (typeof beside !== "string") theirs = lesser(theirs, beside.rows);
  }
  console.log(theirs ? `NumPy ${beside.version}, one thread; least ${chosen.clock === "cpu" ? "processor" : "wall"} time of ${ROUNDS} × ${chosen.repeats}` : beside);
  const [one, several] = ours;
  for (const dtype of ["f32", "f64"]) {
    const bytes = chosen.size ** 2 * (dtype === "f32" ? 4 : 8), rate = await copyRate(bytes), together = several && await copyRate(bytes, chosen.threads);
    const byAll = together ? `, by ${chosen.threads} threads ${(together / 1e6).toFixed(1)} (${(together / rate).toFixed(2)} ×)` : "";
    console.log(`\n${dtype}, ${chosen.size} × ${chosen.size}; a copy of as many bytes: ${(rate / 1e6).toFixed(1)} GB/s${byAll}; simd128 of one core: ${(dtype === "f32" ? peak : peak / 2).toFixed(1)} GFLOP/s`);
    console.log(`${"".padEnd(14)}${"ms".padStart(9)}${"NumPy".padStart(9)}${"ratio".padStart(8)}${"target".padStart(8)}${"floor".padStart(9)}${several ? `${chosen.threads} threads`.padStart(12) : ""}`);
    for (const [name, ms] of Object.entries(one[dtype])) {
      const numpyMs = theirs?.[dtype][name], [, arrays, target] = ROWS[name] ?? [];
      const floor = arrays ? arrays * bytes / rate : 2 * 512 ** 3 / (dtype === "f32" ? peak : peak / 2) / 1e6;
      const ratio = numpyMs === undefined ? "" : (ms / numpyMs).toFixed(1);
      const more = several ? `${(ms / several[dtype][name]).toFixed(2)} ×`.padStart(12) : "";
      const note = arrays ? "" : `   ${(2 * 512 ** 3 / ms / 1e6).toFixed(1)} GFLOP/s, ${(floor / ms).toFixed(2)} of the peak`;
      console.log(`${name.padEnd(14)}${ms.toFixed(3).padStart(9)}${(numpyMs?.toFixed(3) ?? "").padStart(9)}${ratio.padStart(8)}${(target ? `≤ ${target}` : "").padStart(8)}${floor.toFixed(3).padStart(9)}${more}${note}`);
    }
  }
  const { inPlace, copied } = engines[0].tensorStatistics();
  console.log(`\nElements read in place: ${inPlace}; copied first: ${copied}.`);
  engines.forEach((lw) => lw.dispose());
}
