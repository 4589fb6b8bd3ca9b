// `npm run bench -- expressions`: expressions in WebAssembly on one thread. The symmetric Dirichlet energy's value and gradient a
// triangle (TinyAD, native, one core, f64: 319 ns), and a hundred thousand residuals built one by one that differ in numbers
// alone. `cargo bench --bench native` has the native figures.
import { performance } from "node:perf_hooks";
import { mean } from "leastwise";
import { stars } from "leastwise/mesh";
import { openEngine, timed } from "./lib/engine.mjs";
import { icosphere } from "./lib/meshes.mjs";
import { dirichlet } from "./lib/problems.mjs";

const TINYAD_NS = 319;
const COMPILE_MS = 1000;

async function measureDirichlet(precision) {
  const { lw, native } = await openEngine({ backend: "cpu", precision });
  const { problem, instances: [count] } = dirichlet(lw, 161);
  const solver = native.solver(problem.handle, {});
  const { ms, leastMs } = await timed((repeats) => native.measure(solver, "evaluation", repeats), native, { sampleMs: 200, warmMs: 2500, budgetMs: 4000 });
  const described = native.describeTerm(problem.handle, 0);
  lw.dispose();
  return { precision, ns: (ms * 1e6) / count, leastNs: (leastMs * 1e6) / count, count, columns: described.jacobianColumns };
}

/** Residuals of one instance each, traced one by one; none shares a number with another. */
async function manySmall(count) {
  const { lw, native } = await openEngine({ backend: "cpu", precision: "f64" });
  const rounds = [];
  for (let round = 0; round < 3; round++) {
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 1, values: Float64Array.from({ length: count + 1 }, (_, i) => 0.9 * i) });
    const started = performance.now();
    for (let i = 0; i < count; i++) problem.residuals(`s${i}`, { of: [x.at([i]), x.at([i + 1])] }, ([a, b]) => b.sub(a).square().sub(1 + 1e-6 * i));
    const traced = performance.now();
    native.solver(problem.handle, {});
    rounds.push({ traceMs: traced - started, layoutMs: performance.now() - traced });
    problem.dispose();
  }
  const stats = lw.stats();
  lw.dispose();
  return { rounds, stats };
}

/** The uniform Laplacian of a sphere: one structure a valence. */
async function laplacian() {
  const { lw } = await openEngine({ backend: "cpu", precision: "f64" });
  const { positions, triangles } = icosphere(5);
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 3, values: positions });
  const started = performance.now();
  problem.residuals("smooth", { of: [x, x.rows(stars(triangles, positions.length / 3))] }, ([centre, around]) => mean(around).sub(centre));
  const ms = performance.now() - started;
  const stats = lw.stats();
  lw.dispose();
  return { ms, vertices: positions.length / 3, structures: stats.structures };
}

export async function expressions() {
  for (const precision of ["f32", "f64"]) {
    const { ns, leastNs, count, columns } = await measureDirichlet(precision);
    console.log(`symmetric Dirichlet, value and gradient (${columns} entries), ${count} triangles, wasm ${precision}, one thread: ${ns.toFixed(1)} ns a triangle (least ${leastNs.toFixed(1)}), ${(TINYAD_NS / ns).toFixed(1)} times as fast as TinyAD's ${TINYAD_NS} ns native`);
  }
  const { rounds, stats } = await manySmall(100_000);
  for (const { traceMs, layoutMs } of rounds) console.log(`100,000 residuals built one by one: ${traceMs.toFixed(0)} ms to trace and read, ${layoutMs.toFixed(0)} ms to lay out (limit ${COMPILE_MS} ms)`);
  console.log(`  ${stats.structures} structure, ${stats.kernels} kernels, ${stats.hits} of ${stats.terms} known; ${stats.compileMs.toFixed(1)} ms differentiating`);
  const sphere = await laplacian();
  console.log(`uniform Laplacian of ${sphere.vertices} vertices: ${sphere.ms.toFixed(1)} ms, ${sphere.structures} structures (valences)`);
}
