// `npm run bench -- elements`: value and gradient of springs, ARAP and the symmetric Dirichlet energy in WebAssembly on one thread: by the
// block interpreter, as modules that the engine writes, and by a C++ program of the same algorithm (elements/elements.cpp) on the same core,
// one after the other, several times. Both sides store a column for the value and one for every distinct entry of the gradient.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { column, rotateXYZ, vec } from "leastwise";
import { median, openEngine, timed } from "./lib/engine.mjs";
import { machine } from "./lib/machine.mjs";

const FLAGS = ["-std=c++17", "-O3", "-msse4.2", "-ffp-contract=off"];
const TARGET = 0.6, ROUNDS = 5, SECONDS = 0.4, SIDE = 161;

/** Numbers between −1 and 1 that look random (Weyl's sequence). */
const noise = (count) => Float64Array.from({ length: count }, (_, k) => 2 * (((k + 1) * 0.6180339887498949) % 1) - 1);

/** A torus of triangles: a grid joined at its ends, with six neighbours a vertex; its half-edges vertex by vertex. */
function torus() {
  const [width, height] = [SIDE, SIDE + 1];
  const vertex = (x, y) => (x % width) + (y % height) * width;
  const [triangles, ends] = [[], []];
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) {
    triangles.push(vertex(x, y), vertex(x + 1, y), vertex(x, y + 1), vertex(x + 1, y + 1), vertex(x, y + 1), vertex(x + 1, y));
    for (const [dx, dy] of [[1, 0], [0, 1], [width - 1, 1], [width - 1, 0], [0, height - 1], [1, height - 1]]) ends.push(vertex(x, y), vertex(x + dx, y + dy));
  }
  const plane = noise(2 * width * height).map((value, k) => 0.2 * value + (k % 2 ? Math.floor((k >> 1) / width) : (k >> 1) % width));
  return { vertices: width * height, triangles: Uint32Array.from(triangles), ends: Uint32Array.from(ends), plane };
}

/** What both sides get: indices, the vertices' numbers (tables of `shape` numbers a vertex), columns of data an element; and the term. */
function problems() {
  const { vertices, triangles, ends, plane } = torus();
  const edges = ends.length / 2, faces = triangles.length / 3;
  const turned = Float64Array.from({ length: 4 * faces }, (_, k) => (k % 4 === 0 || k % 4 === 3 ? (k >> 2) % 2 ? -1 : 1 : 0));
  const table = (k) => noise(9 * vertices).slice(3 * k * vertices, 3 * (k + 1) * vertices);
  return {
    springs: {
      vertices, indices: ends, corners: 2, shape: 3, tables: [table(0)], data: [new Float64Array(edges).fill(1)],
      term: (problem, [x], [rest]) => problem.energy("springs", { over: ends, of: [x, x], data: { rest: column(rest, 1) } }, ([a, b], { rest }) => a.sub(b).norm().sub(rest).square().mul(0.5)),
    },
    arap: {
      vertices, indices: ends, corners: 2, shape: 3, tables: [0, 1, 2].map(table), data: [], constants: 2,
      term: (problem, [x, turn, rest]) => problem.energy("arap", { over: ends, of: [x, x, turn.at(0), rest.at(0), rest.at(1)] }, ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))).normSq().mul(0.5)),
    },
    dirichlet: {
      vertices, indices: triangles, corners: 3, shape: 2, tables: [plane], data: [0, 1, 2, 3].map((k) => turned.filter((_, at) => at % 4 === k)).concat([new Float64Array(faces).fill(0.5)]),
      term: (problem, [x], columns) => problem.energy("dirichlet", { over: triangles, of: [x, x, x], data: Object.fromEntries(["p", "q", "r", "s", "area"].map((name, k) => [name, columns[k]])) }, ([a, b, c], { p, q, r, s, area }) => {
        const u = b.sub(a), v = c.sub(a);
        const j = [u.x.mul(p).add(v.x.mul(r)), u.x.mul(q).add(v.x.mul(s)), u.y.mul(p).add(v.y.mul(r)), u.y.mul(q).add(v.y.mul(s))];
        const sum = vec(...j).normSq(), squared = j[0].mul(j[3]).sub(j[1].mul(j[2])).square();
        return sum.add(sum.div(squared)).mul(area);
      }),
    },
  };
}

function file(folder, name, { vertices, indices, corners, shape, tables, data }) {
  const count = indices.length / corners;
  const columns = Uint32Array.from({ length: indices.length }, (_, k) => indices[(k % count) * corners + Math.floor(k / count)]);
  const sizes = Uint32Array.of(vertices, count, corners, shape * tables.length, data.length);
  const path = join(folder, `${name}.bin`);
  writeFileSync(path, Buffer.concat([sizes, columns, ...tables, ...data].map((array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength))));
  return { path, count };
}

/** An engine with the problem, and how to time an evaluation by one of its evaluators. */
async function opened({ shape, tables, data, constants, term }, precision, count) {
  const { lw, native } = await openEngine({ backend: "cpu", precision });
  const problem = lw.problem();
  const given = tables.map((values, k) => (k === constants ? problem.constants(`t${k}`, { shape, values }) : problem.variables(`t${k}`, { shape, values })));
  term(problem, given, data);
  const evaluate = async (evaluator, seconds) => {
    lw.setTuning({ products: {}, evaluators: { "*": evaluator } });
    const solver = native.solver(problem.handle, { linear: "pcg" });
    const { leastMs } = await timed((repeats) => native.measure(solver, "evaluation", repeats), native, { sampleMs: 2, warmMs: 500 * seconds, budgetMs: 1000 * seconds });
    native.freeSolver(solver);
    return (leastMs * 1e6) / count;
  };
  return { lw, problem, evaluate };
}

/** On one core, where that can be had: this process starts itself again. */
function pinned() {
  if (process.env.LEASTWISE_PINNED) return true;
  const { status, error } = spawnSync("taskset", ["-c", "0", process.execPath, ...process.argv.slice(1)], { stdio: "inherit", env: { ...process.env, LEASTWISE_PINNED: "1" } });
  if (error) return false;
  process.exit(status ?? 1);
}

export async function elements() {
  const onOneCore = pinned();
  const folder = mkdtempSync(join(tmpdir(), "leastwise-elements-"));
  try {
    const program = join(folder, "elements");
    const { status, stderr, error } = spawnSync("g++", [...FLAGS, fileURLToPath(new URL("elements/elements.cpp", import.meta.url)), "-o", program], { encoding: "utf8" });
    if (status !== 0) throw new Error(`elements.cpp does not compile with g++: ${stderr ?? error?.message}`);
    const host = machine();
    console.log(`${host.cpu}, ${host.cores} cores${onOneCore ? ", pinned to one" : ""}, load ${host.loadAverage.toFixed(1)}; node ${host.node}; ${host.commit}; ${execFileSync("g++", ["--version"], { encoding: "utf8" }).split("\n")[0]} ${FLAGS.join(" ")}`);
    console.log("ns an element, value and gradient: the least (others only ever make it slower); ratios round by round, in turns, and their median\n");
    console.log("energy      elements  precision  interpreted  compiled     C++  C++ / compiled");
    const missed = [];
    for (const [name, problem] of Object.entries(problems())) for (const precision of ["f64", "f32"]) {
      const { path, count } = file(folder, name, problem);
      const ours = await opened(problem, precision, count);
      const rounds = [];
      for (let round = 0; round < ROUNDS; round++) {
        const cpp = JSON.parse(execFileSync(program, [name, precision, path, String(SECONDS)], { encoding: "utf8" }));
        rounds.push({ interpreted: await ours.evaluate("interpreted", SECONDS), compiled: await ours.evaluate("compiled", SECONDS), cpp: cpp.ns, sums: cpp });
      }
      const report = await ours.problem.solve({ linear: "pcg", maxIterations: 1 });
      const [{ sums }] = rounds, near = (a, b) => Math.abs(a - b) <= (precision === "f64" ? 1e-9 : 1e-3) * Math.abs(b);
      if (!near(report.initialCost, sums.value) || !near(report.iterations[0].gradientNorm, sums.gradient)) throw new Error(`${name} in ${precision} is another energy in C++: ${report.initialCost} and ${sums.value}, gradients ${report.iterations[0].gradientNorm} and ${sums.gradient}`);
      const best = (side) => Math.min(...rounds.map((round) => round[side]));
      const ratios = rounds.map((round) => round.cpp / round.compiled), ratio = median(ratios);
      if (ratio < TARGET) missed.push(`${name} ${precision}`);
      console.log(`${name.padEnd(10)} ${String(count).padStart(9)}  ${precision.padEnd(9)}  ${best("interpreted").toFixed(2).padStart(11)}  ${best("compiled").toFixed(2).padStart(8)}  ${best("cpp").toFixed(2).padStart(6)}  ${ratio.toFixed(2).padStart(8)} (${ratios.map((each) => each.toFixed(2)).join(", ")})`);
      ours.lw.dispose();
    }
    console.log(`\ntarget: ${TARGET} of the C++ program's speed: ${missed.length ? `MISSED by ${missed.join(", ")}` : "met by all"}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
