// `npm run bench -- slices [--only=REGEX]`: the longest time that work on the CPU keeps the event loop, how soon it answers an abort, and how long after
// `timeLimitMs: 300` a solve is back. Every work runs in a process of its own; what builds its arrays is not measured. Targets: 50 ms and 100 ms.
import { execFileSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { column, conv2d, init, sin } from "leastwise";
import { machine } from "./lib/machine.mjs";

/** Nothing ends by itself while the loop is watched. */
const ENDLESS = { costTolerance: 0, gradientTolerance: 0, stepTolerance: 0, maxIterations: 1000 };
/** Milliseconds until a running work is aborted, and until one that answers no signal counts as stuck. */
const ABORT_MS = 2500, STUCK_MS = 60000;

let state = 12345;
const random = () => ((state = (state * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff) * 2 - 1;
const randoms = (length) => Float64Array.from({ length }, random);

/** Springs of a square grid of points, and targets. */
function grid(lw, n) {
  const count = n * n, over = new Uint32Array(4 * n * (n - 1));
  let at = 0;
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) {
    if (i + 1 < n) { over[at++] = i * n + j; over[at++] = (i + 1) * n + j; }
    if (j + 1 < n) { over[at++] = i * n + j; over[at++] = i * n + j + 1; }
  }
  const values = randoms(3 * count), t = column(randoms(3 * count), 3);
  return () => {
    const problem = lw.problem(), x = problem.variables("x", { shape: 3, values });
    problem.residuals("springs", { over, of: [x, x] }, ([a, b]) => { const e = a.sub(b); return e.mul(e.dot(e).add(1)); });
    problem.residuals("targets", { of: [x], weight: 0.01, data: { t } }, ([a], { t }) => a.sub(t));
    return { problem, x };
  };
}

/** Scalars that are linked at random, three times each. */
function tangle(lw, n) {
  const over = Uint32Array.from({ length: 6 * n }, () => Math.floor(Math.abs(random()) * n) % n), values = randoms(n);
  return () => {
    const problem = lw.problem(), x = problem.variables("x", { shape: 1, values });
    problem.residuals("links", { over, of: [x, x] }, ([a, b]) => a.sub(b).add(sin(a.mul(b))));
    problem.residuals("pulls", { of: [x], weight: 0.1 }, ([a]) => a.sub(1));
    return { problem, x };
  };
}

/** A solve of a problem that is made before it is watched, or while. */
const solve = (make, options) => (lw) => {
  const made = make(lw), { problem } = made();
  return (more) => problem.solve({ ...ENDLESS, ...options, ...more });
};

const points = (count, dim) => Float32Array.from({ length: count * dim }, random);

/** Work by name: gives what is watched. Those with a limit are asked for it as well. */
const WORKS = {
  // Calls that are over when they return: a million indices and 1.5 million values are checked and copied.
  "definition of 500 × 500 × 3": (lw) => { const make = grid(lw, 500); return async () => { make(); }; },
  "layout of 500 × 500 × 3": (lw) => { const { problem } = grid(lw, 500)(); return () => problem.solve({ maxIterations: 1 }); },
  "pcg, 120,000 unknowns": solve((lw) => grid(lw, 200), { linear: "pcg" }),
  "pcg, two levels": solve((lw) => grid(lw, 200), { linear: "pcg", preconditioner: "two-level" }),
  "lbfgs, 120,000": solve((lw) => grid(lw, 200), { method: "lbfgs" }),
  "sparse Cholesky, 67,500": solve((lw) => grid(lw, 150), { linear: "sparse-cholesky" }),
  "assembled pcg, 67,500": solve((lw) => grid(lw, 150), { linear: "assembled-pcg" }),
  "frozen factor, 67,500": solve((lw) => grid(lw, 150), { linear: "assembled-pcg", preconditioner: "frozen-factor" }),
  "dense, 1,500": solve((lw) => tangle(lw, 1500), { linear: "dense" }),
  "dense, 4,000": solve((lw) => tangle(lw, 4000), { linear: "dense" }),
  "covariance, 10,800": (lw) => { const { problem, x } = grid(lw, 60)(); return (more) => problem.covariance(x, undefined, { variance: 1, ...more }); },
  "covariance, 30,000": (lw) => { const { problem, x } = grid(lw, 100)(); return (more) => problem.covariance(x, [0], { variance: 1, ...more }); },
  "marginals, 10,800": (lw) => {
    const { problem, x } = grid(lw, 60)();
    return async (more) => (await problem.marginals({ variance: 1, ...more })).standardErrors(x);
  },
  "backward, 10,800": async (lw) => {
    const { problem, x } = grid(lw, 60)();
    await problem.solve({ maxIterations: 100 });
    const cotangent = new Float64Array(3 * 60 * 60).fill(1);
    return (more) => problem.backward([[x, cotangent]], more);
  },
  "cluster": (lw) => { const of = points(40000, 16); return (more) => lw.cluster(of, { dim: 16, clusters: 200, ...more }); },
  "cluster, lloyd": (lw) => { const of = points(40000, 16); return (more) => lw.cluster(of, { dim: 16, clusters: 200, method: "lloyd", ...more }); },
  "compress": (lw) => { const of = points(40000, 32); return (more) => lw.compress(of, { dim: 32, ...more }); },
  "search of 2,000": async (lw) => {
    const index = await lw.compress(points(40000, 32), { dim: 32 }), queries = points(2000, 32);
    return () => index.search(queries, { k: 10 });
  },
  "product of 1500²": (lw) => { const a = lw.random([1500, 1500], { seed: 1 }); return () => a.matmul(a).sum().item(); },
  "convolution": (lw) => {
    const a = lw.random([16, 8, 64, 64], { seed: 1 }), k = lw.random([16, 8, 3, 3], { seed: 2 });
    return () => conv2d(a, k).sum().item();
  },
};
const LIMITED = /pcg|lbfgs|Cholesky|frozen|dense/;

/** The longest gap between turns of the event loop while something runs, and what it came to. */
async function watch(work) {
  let last = performance.now(), longest = 0, timer;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    timer = setImmediate(look);
  };
  await new Promise((resolve) => setTimeout(resolve, 50));
  look();
  longest = 0;
  const said = await work().then((done) => done?.termination ?? "done", (error) => error?.code ?? error?.name ?? String(error));
  longest = Math.max(longest, performance.now() - last);
  clearImmediate(timer);
  return { said, longest };
}

async function one(name) {
  const lw = await init({ backend: "cpu" });
  const run = await WORKS[name](lw);
  const stuck = setTimeout(() => { console.log(JSON.stringify({ said: `not back after ${STUCK_MS / 1000} s` })); process.exit(); }, STUCK_MS);
  const controller = new AbortController();
  let aborted;
  const abort = setTimeout(() => { aborted = performance.now(); controller.abort(); }, ABORT_MS);
  const started = performance.now();
  const found = await watch(() => run({ signal: controller.signal }));
  const ended = performance.now();
  clearTimeout(abort);
  Object.assign(found, { ms: ended - started, abortMs: aborted && ended - aborted });
  if (LIMITED.test(name)) {
    const begun = performance.now();
    await run({ timeLimitMs: 300 });
    found.limitMs = performance.now() - begun - 300;
  }
  clearTimeout(stuck);
  console.log(JSON.stringify(found));
  lw.dispose();
}

export async function slices(args) {
  const only = args[0]?.match(/^--only=(.+)$/)?.[1];
  if (args.length > (only === undefined ? 0 : 1)) throw new Error(`bench -- slices has no "${args.join(" ")}": it has --only=REGEX (of the work's name)`);
  const host = machine(), ms = (value) => (value === undefined || value === null ? "–" : value.toFixed(0)).padStart(8);
  console.log(`${host.cpu}, node ${host.node}; ${host.commit}; load average ${host.loadAverage.toFixed(1)}; milliseconds`);
  console.log(`\n${"work".padEnd(28)}${["longest", "abort", "limit", "in all"].map((head) => head.padStart(8)).join("")}  came to`);
  for (const name of Object.keys(WORKS).filter((name) => new RegExp(only ?? "").test(name))) {
    const found = JSON.parse(execFileSync(process.execPath, [fileURLToPath(import.meta.url), name], { encoding: "utf8" }).trim().split("\n").at(-1));
    console.log(`${name.padEnd(28)}${ms(found.longest)}${ms(found.abortMs)}${ms(found.limitMs)}${ms(found.ms)}  ${found.said}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] in WORKS) await one(process.argv[2]);
