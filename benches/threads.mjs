// `npm run bench -- threads [--threads=2] [--rounds=7] [--only=arap/10242/f64]`: one thread of `leastwise` against several of `leastwise/threads`, in one process and
// taking turns, so that what else the machine does meets both. Of every time the least counts.
import { performance } from "node:perf_hooks";
import { init } from "leastwise/threads";
import { step, timed } from "./lib/engine.mjs";
import { machine } from "./lib/machine.mjs";
import { icosphere } from "./lib/meshes.mjs";
import { arap, dirichlet, springs } from "./lib/problems.mjs";

/** Short samples, of which the least counts: on a machine that others use, some fall where they rest. */
const EFFORT = { sampleMs: 3, warmMs: 400, budgetMs: 150 };
/** Problems by what they are made on: spheres by their subdivisions, grids by their sides. */
const PROBLEMS = {
  springs: (lw, level) => springs(lw, icosphere(level)),
  arap: (lw, level) => arap(lw, icosphere(level)),
  dirichlet,
};
const vertices = { springs: (level) => 10 * 4 ** level + 2, arap: (level) => 10 * 4 ** level + 2, dirichlet: (side) => (side + 1) ** 2 };
const ROWS = [["arap", 2], ["arap", 3], ["arap", 4], ["arap", 5], ["arap", 6], ["springs", 4], ["springs", 6], ["dirichlet", 40], ["dirichlet", 300]];

function given(args) {
  const chosen = { threads: 2, rounds: 7, only: /./ };
  for (const arg of args) {
    const [, name, value] = arg.match(/^--(threads|rounds)=(\d+)$/) ?? arg.match(/^--(only)=(.+)$/) ?? [];
    if (!name) throw new Error(`bench -- threads has no "${arg}": it has --threads=COUNT, --rounds=COUNT and --only=REGEX (of problem/vertices/precision)`);
    chosen[name] = name === "only" ? new RegExp(value) : Number(value);
  }
  return chosen;
}

/** A problem on an engine, and the least times so far. */
async function side(threads, precision, what, level) {
  const lw = await init({ backend: "cpu", precision, threads });
  if (lw.threads.count !== threads) throw new Error(`${threads} threads were asked for: ${lw.threads.reason}`);
  const { problem } = PROBLEMS[what](lw, level);
  const { native } = lw, solver = native.solver(problem.handle, { linear: "pcg", forcing: 1e-3 });
  await step(native, solver);
  // The problem is known as long as its solver: what is forgotten is freed.
  return { lw, native, problem, solver, least: {} };
}

const keep = (least, name, ms) => { least[name] = Math.min(least[name] ?? Infinity, ms); };

async function measureOnce({ native, solver, least }, first) {
  const effort = first ? EFFORT : { ...EFFORT, warmMs: 0 };
  for (const operation of ["evaluation", "product"]) keep(least, operation, (await timed((repeats) => native.measure(solver, operation, repeats), native, effort)).leastMs);
  const { wallMs, innerIterations } = await step(native, solver);
  if (innerIterations > 0) keep(least, "inner", wallMs / innerIterations);
}

/** The first solve of a fresh problem, as a page would run it: in slices of 8 ms. */
async function solveOnce({ lw, least }, what, level) {
  const { problem } = PROBLEMS[what](lw, level);
  const started = performance.now();
  await problem.solve({ linear: "pcg", maxIterations: 6, costTolerance: 0, gradientTolerance: 0, stepTolerance: 0 });
  keep(least, "solve", performance.now() - started);
  problem.dispose();
}

export async function threads(args) {
  const { threads: count, rounds, only } = given(args);
  const host = machine();
  console.log(`${host.cpu}, ${host.cores} cores, load average ${host.loadAverage.toFixed(2)}; node ${host.node}; ${host.commit}; ${host.date}`);
  console.log(`Least of ${rounds} rounds, in ms: on one thread → on ${count}, and how many times faster.\n`);
  for (const precision of ["f64", "f32"]) {
    for (const [what, level] of ROWS) {
      if (!only.test(`${what}/${vertices[what](level)}/${precision}`)) continue;
      const sides = [await side(1, precision, what, level), await side(count, precision, what, level)];
      for (let round = 0; round < rounds; round++) {
        for (const each of sides) await measureOnce(each, round === 0);
        for (const each of sides) await solveOnce(each, what, level);
      }
      const [one, many] = sides.map(({ least }) => least);
      const ratio = (name) => (one[name] === undefined || many[name] === undefined ? "–" : `${one[name].toFixed(3)} → ${many[name].toFixed(3)}, ${(one[name] / many[name]).toFixed(2)}×`);
      console.log(`${what}, ${vertices[what](level)} vertices, ${precision}: evaluation ${ratio("evaluation")}; product ${ratio("product")}; inner iteration ${ratio("inner")}; 6 steps ${ratio("solve")}`);
      for (const { lw } of sides) lw.dispose();
    }
  }
}
