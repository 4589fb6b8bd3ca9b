// `npm run bench -- bundle [cuda/f64 cuda/f32 webgpu/f32 cpu/f64] [--scene=ring,city,FILE] [--linear=auto,schur,pcg,schur-pcg,schur-pcg/block-jacobi] [--cameras=200]
// [--points=50000] [--views=5] [--outliers=0.02] [--seed=1] [--loss=WIDTH] [--steps=50]`: whole solves of bundles, cost against time.
//
// Scenes are made by seed (`problems/bundles.mjs`), or read from gzipped files of BAL. Times are from the call that makes the problem to
// when the cost is within a part of the lowest that any of the solves of its scene came to: structure and layout included, of the second of two
// solves, whose kernels the process has; "declare" and "first" are those until the problem is declared and until its first step is done. With LEASTWISE_DATA and without a scene it is BAL's problem-16-22106, until 1.8034e4, too.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { huber, init } from "leastwise";
import { bundle as built, readBal } from "../problems/bundle.mjs";
import { generatedBundle } from "../problems/bundles.mjs";

const LEVEL = 1.8034e4, FILE = "bal/problem-16-22106-pre.txt.gz";
/** Parts of the lowest cost. */
const WITHIN = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6];
const USUAL = { scene: "", linear: "auto,schur,pcg,schur-pcg,schur-pcg/block-jacobi", cameras: 200, points: 50_000, views: 5, outliers: 0, seed: 1, loss: 0, steps: 50 };

function options(args) {
  const given = { ...USUAL, backends: [] };
  for (const arg of args) {
    const [, name, value] = /^--(\w+)=(.*)$/.exec(arg) ?? [];
    if (name === undefined) given.backends.push(arg);
    else if (!(name in USUAL)) throw new Error(`bench bundle has no "--${name}": it has ${Object.keys(USUAL).map((option) => `--${option}`).join(", ")}`);
    else given[name] = typeof USUAL[name] === "number" ? Number(value) : value;
  }
  const file = process.env.LEASTWISE_DATA && join(process.env.LEASTWISE_DATA, FILE);
  given.scene ||= file && existsSync(file) ? file : "ring,city";
  return given;
}

function sceneOf(name, given) {
  if (name === "ring" || name === "city") return generatedBundle(given.seed, { kind: name, cameras: given.cameras, points: given.points, views: given.views, outliers: given.outliers });
  if (!existsSync(name)) throw new Error(`--scene: "${name}" is neither "ring" nor "city" nor a file of BAL`);
  return readBal(name);
}

/** One solve: times and costs of its steps. */
async function solved(lw, data, which, { loss, steps }) {
  const [linear, preconditioner] = which.split("/"), started = performance.now(), course = [];
  const { problem } = built(lw, data, loss > 0 ? huber(loss) : undefined), declared = performance.now() - started;
  const report = await problem.solve({ linear, ...(preconditioner && { preconditioner }), maxIterations: steps, onIteration: ({ cost }) => { course.push([performance.now() - started, cost]); } });
  const ms = performance.now() - started;
  const inner = report.iterations.reduce((sum, { innerIterations }) => sum + innerIterations, 0);
  problem.dispose();
  return { linear: which, got: report.linear, reason: report.linearReason, declared, preconditioner: report.preconditioner, steps: report.iterations.length, inner, ms, cost: report.cost, first: report.initialCost, course, termination: report.termination };
}

const short = (ms) => (ms === undefined ? "-" : ms < 100 ? ms.toFixed(1) : ms.toFixed(0));

export async function bundle(args) {
  const given = options(args), rows = [];
  for (const name of given.scene.split(",")) {
    const data = sceneOf(name, given), of = [];
    console.log(`\n── ${name}: ${data.cameras.length / 9} cameras, ${data.points.length / 3} points, ${data.seen.length / 2} views`);
    for (const backend of given.backends.length ? given.backends : ["cpu/f64"]) {
      const [kind, precision] = backend.split("/");
      for (const linear of given.linear.split(",")) {
        const lw = await init({ backend: kind, ...(kind !== "webgpu" || precision !== "f32" ? { precision } : {}) });
        try {
          await solved(lw, data, linear, { ...given, steps: 2 });
          of.push({ scene: name, backend, ...await solved(lw, data, linear, given) });
        } catch (error) {
          console.log(`${backend}, ${linear}: ${error.message}`);
        }
        lw.dispose();
      }
    }
    const least = Math.min(...of.map(({ cost }) => cost));
    console.log(`lowest cost ${least}; ms until it is within`);
    console.log(`backend      linear                 got                       declare   first  steps  inner  ms/inner ${WITHIN.map((part) => part.toExponential(0).padStart(8))}     all  cost`.replaceAll(",", ""));
    for (const row of of) {
      const { backend, linear, got, preconditioner, steps, inner, ms, cost, course } = row;
      const reached = WITHIN.map((part) => course.find(([, cost]) => cost <= least * (1 + part))?.[0]);
      row.reached = reached;
      console.log(`${backend.padEnd(12)} ${linear.padEnd(22)} ${`${got}${preconditioner ? ` ${preconditioner}` : ""}`.padEnd(24)} ${short(row.declared).padStart(7)} ${short(course[0]?.[0]).padStart(7)} ${String(steps).padStart(6)} ${String(inner).padStart(6)} ${(inner ? ms / inner : 0).toFixed(3).padStart(9)} ${reached.map((ms) => short(ms).padStart(8)).join("")} ${short(ms).padStart(7)}  ${cost}`);
      if (linear === "auto" || row.reason.includes(", S is")) console.log(`  ${row.reason}`);
      if (name.endsWith(FILE)) console.log(`  to ${LEVEL}: ${short(course.find(([, cost]) => cost <= LEVEL)?.[0])} ms`);
    }
    rows.push(...of);
  }
  console.log(`\n${JSON.stringify(rows.map(({ course, ...row }) => ({ ...row, course: course.map(([ms, cost]) => [Number(ms.toFixed(1)), cost]) })))}`);
}
