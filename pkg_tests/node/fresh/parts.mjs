// Does one thing in a process of its own, and prints which parts of the module that read (and which while it waited), and what came of it.
// With the whole module it does many, and prints what came of each. Arguments: the backend, what to do ("pcg", or "pcg,dense" of the whole), and "whole".
import { createHash } from "node:crypto";
import files from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import { arap, arapMesh, icosphere } from "../support.mjs";

const read = new Set(), atOnce = new Set();
// Of parts alone: what the compiler of kernels or a driver reads is its own.
const note = (path, into) => /leastwise_\w+\.wasm$/.exec(String(path)) && into.add(basename(String(path), ".wasm").slice("leastwise_".length));
for (const [holder, name, into] of [[files.promises, "readFile", read], [files, "readFileSync", atOnce]]) {
  const plain = holder[name];
  holder[name] = (path, ...rest) => (note(path, into), plain.call(holder, path, ...rest));
}
syncBuiltinESMExports();
const { bundle, randomBundle } = await import("../../problems/bundle.mjs");
const { normalTable } = await import("leastwise/mesh");
const { indexBits, mergeIndices, openBits, openLazily, openWithChanges, trackChanges } = await import("leastwise/vectors");
const { init, cauchy, grad, log1p, loss, preload } = await import("leastwise");

const line = (lw, count = 40) => {
  const problem = lw.problem(), x = problem.variables("x", { shape: 1, values: Float64Array.from({ length: count }, (_, k) => Math.sin(k)) });
  const next = Uint32Array.from({ length: count - 1 }, (_, k) => k + 1), own = next.map((k) => k - 1);
  problem.residuals("steps", { of: [x.at(own), x.at(next)] }, ([a, b]) => a.sub(b));
  const data = problem.residuals("data", { of: [x], loss: cauchy(0.5) }, ([a]) => a.mul(a).sub(2));
  return { problem, x, data };
};
const solved = (options) => async (lw) => {
  const { problem, x } = line(lw);
  const report = await problem.solve({ maxIterations: 20, ...options });
  return [report.linear, report.cost, ...await x.read()];
};
const points = Float32Array.from({ length: 4 * 200 }, (_, k) => Math.sin(k * k));

const WORK = {
  pcg: solved({ linear: "pcg" }),
  blocks: solved({ preconditioner: "block-jacobi" }),
  auto: solved({}),
  dense: solved({ linear: "dense" }),
  cholesky: solved({ linear: "sparse-cholesky" }),
  assembled: solved({ linear: "assembled-pcg" }),
  frozen: solved({ preconditioner: "frozen-factor" }),
  dogleg: solved({ method: "dogleg", linear: "pcg" }),
  newton: solved({ method: "newton", linear: "pcg" }),
  lbfgs: solved({ method: "lbfgs" }),
  adam: solved({ method: "adam" }),
  async levels(lw) {
    const { problem, x } = arap(lw, arapMesh(icosphere(3)));
    const report = await problem.solve({ preconditioner: "two-level", maxIterations: 4 });
    return [report.preconditioner, report.cost, ...await x.read()];
  },
  async complement(lw) {
    const { problem, point } = bundle(lw, randomBundle(1, { cameras: 4, points: 30 }));
    const report = await problem.solve({ linear: "schur-pcg", maxIterations: 4 });
    return [report.preconditioner, report.cost, ...await point.read()];
  },
  async eliminated(lw) {
    const { problem, point } = bundle(lw, randomBundle(1, { cameras: 4, points: 60 }));
    const report = await problem.solve({ linear: "schur", maxIterations: 4 });
    return [report.linear, report.linearReason, report.cost, ...await point.read()];
  },
  async bundle(lw) {
    const { problem, point } = bundle(lw, randomBundle(1, { cameras: 4, points: 80 }));
    const report = await problem.solve({ maxIterations: 4 });
    return [report.linear, report.linearReason, report.cost, ...await point.read()];
  },
  async step(lw) {
    const { problem, x } = line(lw), solver = problem.solver({ linear: "sparse-cholesky" });
    const { cost } = await solver.step();
    return [cost, (await solver.report()).cost, ...await x.read()];
  },
  async advance(lw) {
    const { problem, x } = line(lw), solver = problem.solver({ method: "gradient-descent" });
    let steps, waited = 0;
    while (!(steps = solver.advance({ iterations: 3, budgetMs: 1000 }))?.accepted && waited++ < 1000) await new Promise((resolve) => setTimeout(resolve, 2));
    return [steps.accepted > 0, (await x.read()).length];
  },
  async twice(lw) {
    const { problem, x } = line(lw), solver = problem.solver({ linear: "dense", maxIterations: 3 });
    const second = line(lw).problem.solve({ method: "lbfgs", maxIterations: 3 });
    return [(await solver.solve()).cost, (await second).cost, ...await x.read()];
  },
  async constrained(lw) {
    const { problem, x } = line(lw, 4);
    const first = problem.constrain("first", { of: [x.at([0])], to: "=0" }, ([a]) => a.sub(1));
    const { cost } = await problem.solve({ linear: "pcg", maxIterations: 20 });
    return [cost, ...await first.multipliers(), ...await x.read()];
  },
  async ragged(lw) {
    const problem = lw.problem(), x = problem.variables("x", { shape: 1, values: [1, 2, 3, 4] });
    problem.residuals("sums", { of: [x.rows({ offsets: [0, 2, 4], indices: [0, 1, 2, 3] })] }, ([all]) => all.reduce((sum, each) => sum.add(each)).sub(3));
    problem.residuals("stay", { of: [x] }, ([a]) => a.sub(1));
    const { cost } = await problem.solve({ linear: "pcg" });
    return [cost, ...await x.read()];
  },
  async fits(lw) {
    const { values } = await lw.fit({ model: ([a, b], { x }) => a.add(b.mul(x)), parameters: ["a", "b"], variables: { x: [0, 1, 2] }, points: 3, data: points.subarray(0, 300), start: { a: 0, b: 0 } });
    return [...values.a, ...values.b];
  },
  async normals(lw) {
    const { positions, cells } = icosphere(1), x = lw.problem().variables("x", { shape: 3, values: positions.flat(Infinity) });
    const normals = await normalTable(x, cells);
    normals.update();
    return [...await normals.read()];
  },
  async energies(lw) {
    const { problem, x } = line(lw);
    problem.energy("wells", { of: [x] }, ([a]) => a.mul(a).sub(1).square().mul(0.1));
    const { cost } = await problem.solve({ linear: "pcg", maxIterations: 20 });
    return [cost, ...await x.read()];
  },
  async curved(lw) {
    const problem = lw.problem(), x = problem.variables("x", { shape: 1, values: [3, 4, 5] });
    problem.residuals("squares", { of: [x], curvature: "full" }, ([a]) => a.mul(a).sub(2));
    const { cost } = await problem.solve({ linear: "pcg", maxIterations: 20 });
    return [cost, ...await x.read()];
  },
  async traced(lw) {
    const problem = lw.problem(), x = problem.variables("x", { shape: 1, values: [3, 4, 5] });
    problem.residuals("own", { of: [x], loss: loss((s, { c }) => log1p(s.div(c)).mul(c), { c: 2 }) }, ([a]) => a.mul(a).sub(2));
    const { cost } = await problem.solve({ linear: "pcg", maxIterations: 20 });
    return [cost, ...await x.read()];
  },
  async tuned(lw) {
    lw.setTuning({ products: { "*": "recompute" } });
    return [JSON.stringify(lw.tuning), ...await WORK.pcg(lw)];
  },
  // Engines of their own.
  async single() {
    const own = await init({ backend: "cpu", precision: "f32", ...(wasm && { wasm }) });
    const found = await WORK.pcg(own);
    own.dispose();
    return found;
  },
  async doubles() {
    const own = await init({ backend: "webgpu", precision: "f32x2", ...(wasm && { wasm }) });
    const found = await WORK.pcg(own);
    own.dispose();
    return found;
  },
  async cost(lw) {
    const { data } = line(lw);
    return [await data.cost(), ...(await data.worst(3)).map(({ instance }) => instance)];
  },
  async evaluate(lw) {
    const { data } = line(lw);
    const { residuals, jacobian, hessian } = await data.evaluate({ hessian: "exact" });
    return [...residuals, ...jacobian, ...hessian];
  },
  async check(lw) { return [(await line(lw).data.checkGradients()).error]; },
  async covariance(lw) {
    const { problem, x } = line(lw, 5);
    await problem.solve({ linear: "pcg" });
    return [...await problem.covariance(x)];
  },
  async backward(lw) {
    const problem = lw.problem(), x = problem.variables("x", { shape: 1, values: new Float64Array(5) }), target = problem.constants("target", { shape: 1, values: [1] });
    problem.residuals("pull", { of: [x, target.at(new Uint32Array(5))] }, ([a, b]) => a.mul(2).sub(b));
    await problem.solve({ linear: "pcg", maxIterations: 60 });
    return [...(await problem.backward([[x, new Float64Array(5).fill(1)]])).of(target)];
  },
  async graduated(lw) {
    const { problem, x } = line(lw, 6);
    const suspect = problem.residuals("suspect", { of: [x] }, ([a]) => a.sub(3));
    const { report } = await problem.solveGraduated({ suspects: [{ term: suspect, threshold: 1 }], linear: "pcg" });
    return [report.cost, ...await x.read()];
  },
  async save(lw) {
    const { problem, x } = line(lw), solver = problem.solver({ linear: "pcg", maxIterations: 2 });
    await solver.solve();
    const bytes = await solver.save();
    return [createHash("sha256").update(bytes).digest("hex").length, ...await x.read()];
  },
  async tune(lw) {
    const { problem } = line(lw);
    return [Object.keys((await lw.tune(problem)).choices ?? {}).length >= 0];
  },
  async tensors(lw) {
    const a = lw.random([20, 30], { seed: 1 }), b = lw.random([30, 20], { seed: 2 });
    return [...await a.matmul(b).relu().sum(0).read()];
  },
  async gradients(lw) {
    const a = lw.random([5, 5], { seed: 1 }), b = lw.tensor([1, 2, 3, 4, 5]);
    const [of] = grad(a.mul(b).sum(), [a]);
    return [lw.tensorStatistics().kernels, ...await of.read()];
  },
  async cluster(lw) {
    const mine = points.slice();
    const clustering = lw.cluster(mine, { dim: 4, clusters: 5 });
    // It has taken them.
    mine.fill(0);
    const { centroids, labels } = await clustering;
    return [...centroids, ...labels];
  },
  async index(lw) {
    const index = await lw.compress(points, { dim: 4, clusters: 5 });
    const { ids } = await index.search(points.subarray(0, 12), { k: 3 });
    const again = await lw.openIndex(await index.save());
    return [...ids, ...(await again.search(points.subarray(0, 12), { k: 3 })).ids];
  },
  async graph(lw) {
    const index = await lw.compress(points, { dim: 4, clusters: 5, code: "int8", graph: { degree: 6 } });
    const { ids, through } = await index.search(points.subarray(0, 12), { k: 3, effort: 9 });
    return [...ids, through];
  },
  async lazy(lw) {
    const index = await lw.compress(points, { dim: 4, clusters: 5, code: "int8", graph: { degree: 6 } });
    const lazy = await openLazily(lw, await index.save({ lazy: true }));
    return [...(await lazy.search(points.subarray(0, 12), { k: 3, effort: 9 })).ids, ...(await lazy.search(points.subarray(0, 4), { k: 3, probes: 2 })).ids];
  },
  async merged(lw) {
    const file = await (await lw.compress(points, { dim: 4, clusters: 5, code: "int8" })).save();
    const [index, other] = [await lw.openIndex(file), await lw.openIndex(file)], log = await trackChanges(index, file);
    await mergeIndices(index, other);
    const again = await openWithChanges(lw, [file, await log.save()]);
    return [...(await again.search(points.subarray(0, 12), { k: 3 })).ids];
  },
  async bits(lw) {
    const index = await indexBits(lw, Uint8Array.from({ length: 64 }, (_, k) => 37 * k), { dim: 32 }), again = await openBits(lw, await index.save());
    return [...(await again.search(Uint8Array.of(1, 2, 3, 4), { k: 5 })).distances, ...(await again.vectors([3]))];
  },
  async sketches(lw) {
    const wide = Float32Array.from({ length: 200 * 32 }, (_, k) => Math.sin(k * k)), index = await lw.compress(wide, { dim: 32, clusters: 5, code: "int8" });
    index.sketches = "bits";
    return [...(await index.search(wide.subarray(0, 64), { k: 3 })).ids];
  },
  // What an engine with no graph needs to save and to open whole.
  async saved(lw) {
    const index = await lw.compress(points, { dim: 4, clusters: 5, code: "int8" });
    const file = await index.save({ lazy: true }), whole = await lw.openIndex(file);
    return [file.length, ...(await whole.search(points.subarray(0, 4), { k: 3 })).ids];
  },
  async open(lw) {
    return [await lw.openIndex(new Uint8Array(100)).catch(({ code }) => code)];
  },
  async everything(lw) {
    await preload({ everything: true });
    const before = read.size;
    await WORK.cholesky(lw);
    await WORK.tensors(lw);
    await WORK.cluster(lw);
    return [read.size - before];
  },
};

const [backend, names, whole] = process.argv.slice(2);
const wasm = whole && files.readFileSync(new URL(import.meta.resolve("leastwise/leastwise.wasm")));
const results = {};
for (const name of names.split(",")) {
  const lw = await init({ backend, ...(backend === "webgpu" && { precision: "f32" }), ...(wasm && { wasm }) });
  results[name] = await WORK[name](lw);
  lw.dispose();
}
console.log(JSON.stringify(whole ? results : { parts: [...read].sort(), atOnce: [...atOnce].filter((part) => part !== "bg"), result: results[names] }));
