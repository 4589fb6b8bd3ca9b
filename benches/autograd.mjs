// `npm run bench -- autograd [--backends=cpu,webgpu] [--levels=1,2,3,4,5] [--covariance=3,4,5] [--grids=]`: leastwise/autograd on icospheres and
// squares. Edges that ask for their length, one residual an edge: building and compiling, value and gradient, steps of Levenberg–Marquardt here and on engines. E^λ: the same
// with steps of L-BFGS. Medians of times in milliseconds, one thread. What is measured here is in f64 in JavaScript and its own WebAssembly.
import { CompiledFunctions, CompiledResiduals, lbfgs, lbfgsAsync, nonlinearLeastSquares, nonlinearLeastSquaresAsync, V, Vec3 } from "leastwise/autograd";
import { init } from "leastwise";
import { starOf, tangentCovariance } from "../examples/autograd/developable.mjs";
import { edgesOf, icosphere, starsOf } from "../examples/autograd/sphere.mjs";
import { machine } from "./lib/machine.mjs";

/** Steps of a solve: no tolerance ends it before. */
const STEPS = 10, LBFGS_STEPS = 30, ENDLESS = { maxIterations: STEPS, costTolerance: 0, gradientTolerance: 0, paramTolerance: 0 };

const shown = (ms) => (ms === undefined ? "–" : ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0)).padStart(9);

async function timed(work) {
  const began = performance.now(), result = await work();
  return [performance.now() - began, result];
}

/** The median of many, after some that are not counted. */
function median(work, count = 30, warm = 10) {
  for (let k = 0; k < warm; k++) work();
  const times = Array.from({ length: count }, () => { const began = performance.now(); work(); return performance.now() - began; }).sort((a, b) => a - b);
  return times[count >> 1];
}

/** |x_i − x_j| − l₀ of every edge, built one by one. */
function edgeResiduals(pairs, length) {
  return (p) => pairs.map(([i, j]) => {
    const [dx, dy, dz] = [0, 1, 2].map((k) => V.sub(p[3 * i + k], p[3 * j + k]));
    return V.sub(V.sqrt(V.add(V.add(V.square(dx), V.square(dy)), V.square(dz))), length);
  });
}

/** A square of n × n points in the plane, two triangles a cell. */
function grid(n) {
  const faces = [], at = (i, j) => i * n + j;
  for (let i = 0; i + 1 < n; i++) for (let j = 0; j + 1 < n; j++) faces.push([at(i, j), at(i + 1, j), at(i, j + 1)], [at(i + 1, j + 1), at(i, j + 1), at(i + 1, j)]);
  return { vertices: Array.from({ length: n * n }, (_, k) => [Math.floor(k / n) / n, (k % n) / n, 0]), faces };
}

/** Edges of a mesh whose edges are about as long as `length`. */
async function edges({ vertices, faces }, length, engines) {
  const pairs = edgesOf(faces), start = vertices.flat().map((value, k) => value + 0.01 * Math.sin(3 * k) * length);
  const params = start.map((value) => V.W(value)), build = edgeResiduals(pairs, 1.1 * length);
  const [compileMs, set] = await timed(() => CompiledResiduals.compile(params, build));
  const gradientMs = median(() => set.evaluateSumWithGradient(params));
  const back = () => params.forEach((param, k) => { param.data = start[k]; });
  // The first solve warms the code up, and has the symbolic analysis; one with few iterations tells a step from that.
  const solve = async (maxIterations) => {
    back();
    let steps = 0;
    const [ms, { linearSolver, termination }] = await timed(() => nonlinearLeastSquares(params, set, { ...ENDLESS, maxIterations, maxInnerIterations: 1, initialDamping: 1, onStepAccepted: () => { steps += 1; } }));
    return { ms, linearSolver, steps, trials: termination === "damping" ? steps + 1 : steps };
  };
  const first = await solve(STEPS), short = await solve(1), long = await solve(STEPS);
  const step = (long.ms - short.ms) / Math.max(1, long.trials - short.trials);
  console.log(`${String(vertices.length).padStart(8)} ${String(pairs.length).padStart(8)} ${shown(compileMs)} ${shown(gradientMs)}  here, ${first.linearSolver}: first ${shown(first.ms)}, again ${shown(long.ms)} of ${long.steps} steps, a step ${shown(step)}`);
  for (const lw of engines) {
    back();
    const there = CompiledResiduals.compile(params, build, { engine: lw, fallbackThreshold: 0 });
    const [firstMs] = await timed(() => nonlinearLeastSquaresAsync(params, there, ENDLESS));
    back();
    const [secondMs, result] = await timed(() => nonlinearLeastSquaresAsync(params, there, ENDLESS));
    await there.evaluateSumWithGradientAsync(params);
    const [evaluationMs] = await timed(() => there.evaluateSumWithGradientAsync(params));
    console.log(`${"".padStart(37)}  ${lw.backend} ${lw.precision}, ${result.report.linear}: first ${shown(firstMs)}, again ${shown(secondMs)}, a step ${shown(secondMs / Math.max(1, result.iterations))}; value and gradient ${shown(evaluationMs)}`);
    there.dispose();
  }
}

/** Vertices whose graphs are there at a time. */
const CHUNK = 512;

async function covariance(level, engines) {
  const mesh = icosphere(level), stars = starsOf(mesh), start = mesh.vertices.flat().map((value, k) => value + 0.02 * Math.sin(3 * k) / 2 ** level), params = start.map((value) => V.W(value));
  const build = (first) => (p) => {
    const points = Array.from({ length: p.length / 3 }, (_, k) => new Vec3(p[3 * k], p[3 * k + 1], p[3 * k + 2]));
    return stars.slice(first, first + CHUNK).map((star, k) => tangentCovariance(starOf(points, mesh.faces, star, first + k)));
  };
  const compiled = (options) => {
    const set = CompiledFunctions.compile(params, () => [], options);
    for (let first = 0; first < stars.length; first += CHUNK) set.add(build(first));
    return set;
  };
  const back = () => params.forEach((param, k) => { param.data = start[k]; });
  const [compileMs, set] = await timed(() => compiled());
  const gradientMs = median(() => set.evaluateSumWithGradient(params)), options = { ...ENDLESS, maxIterations: LBFGS_STEPS };
  delete options.paramTolerance;
  const [hereMs, here] = await timed(() => lbfgs(params, set, options));
  console.log(`${String(stars.length).padStart(8)} ${String(set.numFunctions).padStart(8)} ${shown(compileMs)} ${shown(gradientMs)}  here: ${shown(hereMs)} of ${here.iterations} steps, ${here.functionEvaluations} evaluations`);
  for (const lw of engines) {
    back();
    const there = compiled({ engine: lw, fallbackThreshold: 0 }), run = () => timed(() => lbfgsAsync(params, there, options));
    const [firstMs] = await run();
    back();
    const [secondMs, { iterations }] = await run();
    console.log(`${"".padStart(37)}  ${lw.backend} ${lw.precision}: first ${shown(firstMs)}, again ${shown(secondMs)} of ${iterations} steps`);
    there.dispose();
  }
}

const given = (name, otherwise) => (process.argv.find((arg) => arg.startsWith(`--${name}=`))?.split("=")[1] ?? otherwise).split(",").filter(Boolean);
const host = machine();
console.log(`${host.cpu}, ${host.cores} cores; node ${host.node}; ${host.commit}; load average ${host.loadAverage.toFixed(1)} when it began`);
const engines = await Promise.all(given("backends", "cpu").map((backend) => init({ backend })));
for (const lw of engines) console.log(`engine: ${lw.backend} ${lw.precision} ${lw.adapter}`);
console.log(`vertices    edges  compile  value+gradient  ${STEPS} steps of least squares`);
for (const level of given("levels", "1,2,3,4,5")) await edges(icosphere(Number(level)), 1 / 2 ** Number(level), engines);
for (const n of given("grids", "")) await edges(grid(Number(n)), 1 / Number(n), engines);
console.log(`E^λ\nvertices functions compile  value+gradient  ${LBFGS_STEPS} steps of L-BFGS`);
for (const level of given("covariance", "3,4,5")) await covariance(Number(level), engines);
for (const lw of engines) lw.dispose();
