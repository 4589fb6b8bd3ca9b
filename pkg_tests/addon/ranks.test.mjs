// Engines as ranks: on the addon's CPU two engines of one process are ranks of one world, and where there are two GPUs and NCCL, two processes.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { huber, init } from "leastwise";
import { probe, world, worldId } from "leastwise-cuda";
import { bundle, randomBundle } from "../problems/bundle.mjs";
import { energyOf, inClusters, unitRows } from "../problems/vectors.mjs";
import { arap, asUsers, rejects } from "../node/support.mjs";
import { mesh, onCpu, PCG, ranks } from "./support.mjs";

const root = dirname(fileURLToPath(import.meta.resolve("leastwise-cuda")));
const { asked, plan, Refused, visible } = await import(pathToFileURL(join(root, "run.js")).href);
const iterationsOf = ({ iterations }) => iterations.map(({ ms, ...numbers }) => numbers);

for (const size of [1, 2, 3]) {
  test(`${size} ranks solve one problem, and have the same bits`, onCpu, async (t) => {
    const alone = await init({ backend: "cuda" });
    const one = arap(alone, mesh), expected = await one.problem.solve({ ...PCG, maxIterations: 8 });
    const engines = await ranks(t, size);
    const problems = engines.map((lw) => arap(lw, mesh));
    const reports = await Promise.all(problems.map(({ problem }) => problem.solve({ ...PCG, maxIterations: 8 })));
    for (const report of reports) {
      assert.deepEqual(iterationsOf(report), iterationsOf(reports[0]));
      assert.deepEqual(report.costByTerm, reports[0].costByTerm);
      assert.ok(Math.abs(report.cost - expected.cost) < 1e-6 * expected.cost, `${report.cost} and ${expected.cost}`);
    }
    // A read asks nobody: the first rank makes it alone.
    const values = await problems[0].x.read(new Float64Array(3 * problems[0].x.count));
    const before = await one.x.read(new Float64Array(values.length));
    assert.ok(values.every((value, k) => Math.abs(value - before[k]) < 1e-3));
    for (const { x } of problems.slice(1)) assert.deepEqual(await x.read(new Float64Array(values.length)), values);
    // Data, weights and values are edited as on one device, by all.
    const targets = mesh.targets.map((value) => 0.9 * value);
    for (const { x, handles } of [one, ...problems]) {
      handles.set({ target: targets, weight: 4 });
      x.write(mesh.rest.slice(0, 6), { at: Uint32Array.of(1, 0) });
    }
    const again = await Promise.all([one, ...problems].map(({ problem }) => problem.solve({ ...PCG, maxIterations: 20 })));
    for (const { cost } of again.slice(1)) {
      assert.equal(cost, again[1].cost);
      assert.ok(Math.abs(cost - again[0].cost) < 1e-4 * again[0].cost, `${cost} and ${again[0].cost}`);
    }
    alone.dispose();
  });
}

test("limits of variables and fixed components are those of one device, and change between solves", onCpu, async (t) => {
  const alone = await init({ backend: "cuda" });
  t.after(() => alone.dispose());
  const engines = await ranks(t, 2), count = mesh.rest.length / 3;
  const problems = [alone, ...engines].map((lw) => arap(lw, mesh));
  // A number that f32 has.
  const limit = Math.fround(Math.max(...mesh.rest.filter((_, k) => k % 3 === 0)) - 0.05);
  const solve = async () => {
    const reports = await Promise.all(problems.map(({ problem }) => problem.solve({ ...PCG, maxIterations: 30 })));
    const values = await Promise.all(problems.map(({ x }) => x.read(new Float64Array(3 * count))));
    assert.deepEqual(values[1], values[2]);
    for (const { cost, movedIntoBounds } of reports.slice(1)) {
      assert.ok(Math.abs(cost - reports[0].cost) < 1e-3 * reports[0].cost, `${cost} and ${reports[0].cost}`);
      assert.equal(movedIntoBounds, reports[0].movedIntoBounds);
    }
    return { cost: reports[1].cost, values: values[1], moved: reports[1].movedIntoBounds };
  };
  const middle = mesh.rest.findIndex((value, k) => k % 3 === 1 && value > 0.4 && value < 0.6), row = (middle - 1) / 3;
  problems.forEach(({ x }) => x.fix([row], [2]));
  problems.forEach(({ x }) => x.bound({ upper: [limit, Infinity, Infinity] }));
  const limited = await solve();
  assert.ok(limited.moved > 0);
  assert.ok(limited.values.every((value, k) => k % 3 || value <= limit));
  assert.ok(limited.values.some((value, k) => k % 3 === 0 && value === limit));
  assert.equal(Math.fround(limited.values[3 * row + 2]), Math.fround(mesh.rest[3 * row + 2]));
  problems.forEach(({ x }) => x.bound({ upper: Infinity }));
  assert.ok((await solve()).cost < limited.cost);
});

test("rows are fixed and released after the first solve as on one device, by ranks and by several devices", onCpu, async (t) => {
  const alone = await init({ backend: "cuda" }), several = await init({ backend: "cuda", devices: [0, 1] });
  t.after(() => [alone, several].forEach((lw) => lw.dispose()));
  const problems = [alone, several, ...await ranks(t, 2)].map((lw) => arap(lw, mesh)), count = mesh.rest.length / 3;
  const solve = async () => {
    const reports = await Promise.all(problems.map(({ problem }) => problem.solve({ ...PCG, maxIterations: 30 })));
    const values = await Promise.all(problems.map(({ x }) => x.read(new Float64Array(3 * count))));
    for (const k of [2, 3]) assert.deepEqual([reports[k].cost, values[k]], [reports[1].cost, values[1]]);
    assert.ok(Math.abs(reports[1].cost - reports[0].cost) < 1e-3 * reports[0].cost, `${reports[1].cost} and ${reports[0].cost}`);
    return { cost: reports[1].cost, values: values[1] };
  };
  const middle = mesh.rest.findIndex((value, k) => k % 3 === 1 && value > 0.4 && value < 0.6), row = (middle - 1) / 3;
  const at = ({ values }) => [...values.subarray(3 * row, 3 * row + 3)];
  await solve();
  for (const { x } of problems) {
    x.write(Float64Array.of(0.25, 0.5, 1.5), { at: Uint32Array.of(row) });
    x.fix([row]);
  }
  const held = await solve();
  assert.deepEqual(at(held), [0.25, 0.5, 1.5]);
  problems.forEach(({ x }) => x.free([row]));
  const released = await solve();
  assert.ok(released.cost < held.cost, `${released.cost} and ${held.cost}`);
  assert.notDeepEqual(at(released), at(held));
});

test("one rank that stops stops all after the same iteration", onCpu, async (t) => {
  const engines = await ranks(t, 2);
  const problems = engines.map((lw) => arap(lw, mesh));
  const told = [];
  const reports = await Promise.all(problems.map(({ problem }, rank) => problem.solve({ ...PCG, maxIterations: 50, costTolerance: 0, ...(rank === 1 && { onIteration: ({ index }) => { told.push(index); return index < 2 ? undefined : "stop"; } }) })));
  assert.equal(reports[0].iterations.length, reports[1].iterations.length);
  assert.ok(reports[0].iterations.length < 10, `${reports[0].iterations.length} iterations after ${told.length}`);
  const ended = new AbortController();
  ended.abort();
  const aborted = await Promise.all(problems.map(({ problem }, rank) => problem.solve({ ...PCG, costTolerance: 0, ...(rank === 0 && { signal: ended.signal }) })));
  assert.deepEqual(aborted.map(({ iterations }) => iterations.length), [0, 0]);
  const [first, second] = await Promise.all(problems.map(({ x }) => x.read(new Float64Array(3 * x.count))));
  assert.deepEqual(first, second);
});

test("a time limit ends the solves of all ranks and devices with the report of one device", onCpu, async (t) => {
  const alone = await init({ backend: "cuda" }), several = await init({ backend: "cuda", devices: [0, 1] });
  t.after(() => [alone, several].forEach((lw) => lw.dispose()));
  const engines = await ranks(t, 2), endless = { ...PCG, maxIterations: 1e6, costTolerance: 0, stepTolerance: 0 };
  const reports = await Promise.all([alone, several, ...engines].map((lw) => arap(lw, mesh).problem.solve({ ...endless, timeLimitMs: 0 })));
  for (const { termination, reason, iterations } of reports) assert.deepEqual([termination, reason, iterations.length], ["time-limit", "timeLimitMs = 0 ms are over", 0]);
  // The clock of one rank is over first: its callback takes long.
  const slow = ({ index }) => { for (const until = performance.now() + 2100; index === 1 && performance.now() < until;); };
  const solves = engines.map((lw, rank) => arap(lw, mesh).problem.solve({ ...endless, timeLimitMs: 2000, ...(rank === 1 && { onIteration: slow }) }));
  const [first, second] = await Promise.all(solves);
  assert.deepEqual([first.termination, first.reason], ["time-limit", "timeLimitMs = 2000 ms are over"]);
  assert.deepEqual([second.termination, second.reason, iterationsOf(second)], [first.termination, first.reason, iterationsOf(first)]);
});

test("other data on one rank are told to all, and all can go on", onCpu, async (t) => {
  const engines = await ranks(t, 2);
  const problems = engines.map((lw) => arap(lw, mesh));
  const { targets } = mesh, others = targets.slice();
  others[0] += 1;
  problems.forEach(({ handles }, rank) => handles.set({ target: rank ? others : targets }));
  const failed = await Promise.allSettled(problems.map(({ problem }) => problem.solve(PCG)));
  for (const { reason } of failed) {
    assert.deepEqual([reason?.code, reason?.message], ["invalid-option", "rank 1 has other terms, data or options than rank 0: all ranks must declare the same"]);
  }
  const differs = await Promise.allSettled(problems.map(({ problem }, rank) => problem.solve({ ...PCG, maxIterations: 1 + rank })));
  assert.ok(differs.every(({ reason }) => reason?.code === "invalid-option"));
});

test("a rank that is disposed of ends the others' solves with device-lost, and they know their values", onCpu, async (t) => {
  const [first, second] = await ranks(t, 2);
  const problems = [first, second].map((lw) => arap(lw, mesh));
  await Promise.all(problems.map(({ problem }) => problem.solve({ ...PCG, maxIterations: 2 })));
  const before = await problems[0].x.read(new Float64Array(3 * problems[0].x.count));
  second.dispose();
  const began = performance.now();
  await rejects(problems[0].problem.solve(PCG), "device-lost", "rank 1 of 2 left: what only it had is lost; the others can go on alone");
  assert.ok(performance.now() - began < 20_000, "nobody waited for the deadline");
  assert.deepEqual(await problems[0].x.read(new Float64Array(before.length)), before);
});

test("what ranks do not have is refused, with the reason", onCpu, async (t) => {
  const [lw] = await ranks(t, 1);
  const { problem, x, handles } = arap(lw, mesh);
  const refused = /: not with several ranks, which have solve\(\), read\(\), write\(\) and term\.set\(\): make an engine without `world` or `devices` for it$/;
  assert.throws(() => { handles.enabled = false; }, ({ code, message }) => code === "invalid-option" && refused.test(message));
  await rejects(problem.solver(PCG).step(), "invalid-option", refused);
  await rejects(handles.evaluate(), "invalid-option", refused);
  await rejects(problem.covariance(x), "invalid-option", refused);
  await rejects(problem.solve({ linear: "sparse-cholesky" }), "invalid-option", 'linear: ranks have "pcg" and "schur-pcg" alone');
  const report = await problem.solve({ maxIterations: 3 });
  assert.deepEqual([report.linear, report.preconditioner], ["pcg", "block-jacobi"]);
  assert.throws(() => problem.variables("late", { shape: 1, values: [0] }), ({ code, message }) => code === "invalid-option" && /declared before the first solve/.test(message));
});

/** Vectors, and parts of them for two ranks. */
function parted() {
  const { points, dim } = inClusters(2001, 5, 8, { seed: 4 });
  return { points, dim, parts: [points.subarray(0, 700 * dim), points.subarray(700 * dim)] };
}

for (const precision of ["f64", "f32"]) {
  test(`${precision}: two ranks cluster their vectors together, and have the same bits`, onCpu, async (t) => {
    const alone = await init({ backend: "cuda", precision });
    t.after(() => alone.dispose());
    const engines = await ranks(t, 2, { precision }), { points, dim, parts } = parted();
    for (const options of [{}, { mean: { huber: 2 } }, { metric: "cosine" }, { start: "farthest", seed: 3 }]) {
      const asked = { dim, clusters: 8, method: "lloyd", ranks: true, ...options };
      // An engine that is no rank has its own vectors: here all.
      const expected = await alone.cluster(points, asked);
      const [first, second] = await Promise.all(engines.map((lw, rank) => lw.cluster(parts[rank], asked)));
      for (const name of ["centroids", "counts", "clusters", "energy", "iterations", "termination", "reason"]) assert.deepEqual(second[name], first[name], name);
      assert.deepEqual([first.labels.length, second.labels.length], [700, 1301]);
      assert.equal(first.counts.reduce((sum, count) => sum + count), 2001);
      assert.equal(first.termination, "converged");
      assert.ok(Math.abs(first.energy - expected.energy) < 1e-3 * expected.energy, `${first.energy} and ${expected.energy}`);
      if (options.mean) continue;
      const rows = options.metric ? unitRows(points, dim) : points, energy = energyOf(rows, dim, first.centroids, [...first.labels, ...second.labels]);
      assert.ok(Math.abs(energy - first.energy) < 1e-4 * energy, `${energy} and ${first.energy}`);
    }
    // Without the option each is by itself: the second one asks nobody.
    const own = await engines[1].cluster(parts[1], { dim, clusters: 8, method: "lloyd" });
    assert.deepEqual(own.centroids, (await alone.cluster(parts[1], { dim, clusters: 8, method: "lloyd" })).centroids);
  });
}

test("one rank whose signal is aborted ends the clustering of all after the same iteration", onCpu, async (t) => {
  const engines = await ranks(t, 2), { dim, parts } = parted();
  const endless = { dim, clusters: 8, method: "lloyd", ranks: true, tolerance: 0, minChanges: 0, maxIterations: 2000 };
  const controller = new AbortController(), onProgress = () => controller.abort(new Error("enough"));
  const [first, second] = await Promise.all(engines.map((lw, rank) => lw.cluster(parts[rank], { ...endless, ...(rank === 1 && { signal: controller.signal, onProgress }) })));
  assert.deepEqual([first.termination, second.termination], ["stopped", "stopped"]);
  assert.deepEqual([first.iterations, first.centroids], [second.iterations, second.centroids]);
  assert.ok(first.iterations.length < 500, `${first.iterations.length} iterations`);
  assert.equal(first.reason, "another rank was told to stop");
  assert.match(second.reason, /^aborted: .*enough/);
  // Before there is a codebook there is nothing to give.
  const never = await Promise.allSettled(engines.map((lw, rank) => lw.cluster(parts[rank], { ...endless, ...(rank === 0 && { signal: AbortSignal.abort(new Error("never")) }) })));
  assert.deepEqual(never.map(({ reason }) => [reason?.code, reason?.message]), [[undefined, "never"], ["stopped", "stopped before there was a codebook: another rank was told to stop"]]);
  const again = await Promise.all(engines.map((lw, rank) => lw.cluster(parts[rank], { ...endless, maxIterations: 5 })));
  assert.deepEqual(again.map(({ termination, iterations }) => [termination, iterations.length]), Array(2).fill(["max-iterations", 5]));
});

test("clusterings that ranks can't make are refused by all, and all can go on", onCpu, async (t) => {
  const engines = await ranks(t, 2), { dim, parts } = parted();
  const fine = { dim, clusters: 8, method: "lloyd", ranks: true };
  const differs = "rank 1 has other options than rank 0: all ranks must declare the same", none = "cluster(): rank 1 has no points that can be clustered";
  const zero = parts[1].slice(), wild = parts[1].slice();
  zero.fill(0, 2 * dim, 3 * dim);
  wild[4] = NaN;
  const cases = [
    [{}, { seed: 1 }, parts[1], differs], [{}, { metric: "cosine" }, parts[1], differs], [{}, {}, [], none],
    [{ method: "anneal" }, {}, parts[1], 'cluster(): ranks have method "lloyd" alone'], [{ method: "vlc" }, {}, parts[1], 'cluster(): ranks have method "lloyd" alone'],
    [{ mean: { trim: 0.1 } }, {}, parts[1], "cluster(): ranks have no mean: { trim }, which sorts the points of all: use { huber }"],
    [{ start: parts[0].slice(0, 8 * dim) }, {}, parts[1], "cluster(): ranks find a start of their own: leave out the centroids of `start`"],
    [{ metric: "cosine" }, {}, zero, none, "invalid-option", /vector 2 is zero/], [{}, {}, wild, "points of another rank are not finite: it has the row", "non-finite", /component 4 of row 0/],
    [{}, {}, parts[1].subarray(1), none, "data-length", /no whole number of vectors/],
  ];
  for (const [options, others, points, message, code = "invalid-option", own = message] of cases) {
    const both = [{ ...fine, ...options }, { ...fine, ...options, ...others }];
    const [first, second] = await Promise.allSettled(engines.map((lw, rank) => lw.cluster(rank ? points : parts[0], both[rank])));
    assert.deepEqual([first.reason?.code, first.reason?.message], ["invalid-option", message]);
    assert.equal(second.reason?.code, code);
    if (typeof own === "string") assert.equal(second.reason.message, own);
    else assert.match(second.reason.message, own);
  }
  const [first, second] = await Promise.all(engines.map((lw, rank) => lw.cluster(parts[rank], fine)));
  assert.deepEqual(first.centroids, second.centroids);
  // One that is gone.
  engines[1].dispose();
  await rejects(engines[0].cluster(parts[0], fine), "device-lost", "rank 1 of 2 left: what only it had is lost; the others can go on alone");
});

test("a world that is none is refused", async () => {
  const id = new Uint8Array(128), needs = "world needs a size, a rank below it, and an id: the 128 bytes of worldId()";
  for (const world of [{}, { rank: 0, size: 1 }, { rank: 1, size: 1, id }, { rank: 0, size: 1, id: new Uint8Array(127) }, { rank: 0, size: 1, id: "id" }]) {
    await rejects(init({ backend: "cuda", world }), "invalid-option", needs);
  }
  await rejects(init({ backend: "cuda", world: 3 }), "invalid-option", /^init\(options\): world must be an object/);
  for (const backend of ["auto", "cpu", "webgpu"]) await rejects(init({ backend, world: { rank: 0, size: 1, id } }), "invalid-option", `world: ranks are on backend "cuda", not on "${backend}"`);
});

test("one engine of several devices has the bits of as many ranks, edits included", onCpu, async (t) => {
  for (const count of [2, 3]) {
    const engines = await ranks(t, count), lw = await init({ backend: "cuda", devices: Array.from({ length: count }, (_, k) => k) });
    t.after(() => lw.dispose());
    const problems = [lw, ...engines].map((engine) => arap(engine, mesh));
    const solve = async (options) => {
      const reports = await Promise.all(problems.map(({ problem }) => problem.solve({ ...PCG, ...options })));
      const values = await Promise.all(problems.map(({ x }) => x.read(new Float64Array(3 * x.count))));
      assert.deepEqual([iterationsOf(reports[0]), reports[0].costByTerm, values[0]], [iterationsOf(reports[1]), reports[1].costByTerm, values[1]]);
      return reports[0].cost;
    };
    const costs = [await solve({ maxIterations: 8 })];
    const targets = mesh.targets.map((value) => 0.9 * value);
    for (const { x, handles } of problems) {
      handles.set({ target: targets, weight: 4 });
      x.write(mesh.rest.slice(0, 6), { at: Uint32Array.of(1, 0) });
    }
    costs.push(await solve({ maxIterations: 20 }));
    assert.notEqual(costs[0], costs[1]);
    const limit = Math.fround(Math.max(...mesh.rest.filter((_, k) => k % 3 === 0)) - 0.05);
    problems.forEach(({ x }) => x.bound({ upper: [limit, Infinity, Infinity] }));
    costs.push(await solve({ maxIterations: 10 }));
    assert.notEqual(costs[1], costs[2]);
  }
});

for (const precision of ["f64", "f32"]) {
  test(`${precision}: an engine of several devices clusters as as many ranks do that are given parts, and goes on after a stop`, onCpu, async (t) => {
    const engines = await ranks(t, 2, { precision }), lw = await init({ backend: "cuda", precision, devices: [0, 1] });
    t.after(() => lw.dispose());
    const { points, dim } = inClusters(2001, 5, 8, { seed: 4 }), parts = [points.subarray(0, 1000 * dim), points.subarray(1000 * dim)];
    const endless = { dim, clusters: 8, method: "lloyd", ranks: true, tolerance: 0, minChanges: 0, maxIterations: 2000 };
    const controller = new AbortController(), onProgress = () => controller.abort(new Error("enough"));
    const stopped = await lw.cluster(points, { ...endless, signal: controller.signal, onProgress });
    assert.deepEqual([stopped.termination, stopped.labels.length, stopped.iterations.length < 500], ["stopped", 2001, true]);
    assert.match(stopped.reason, /^aborted: .*enough/);
    await rejects(lw.cluster(points, { dim, clusters: 8, method: "vlc", ranks: true }), "invalid-option", 'cluster(): ranks have method "lloyd" alone');
    for (const options of [{}, { mean: { huber: 2 } }, { metric: "cosine" }]) {
      const asked = { dim, clusters: 8, method: "lloyd", ranks: true, ...options };
      const [found, first, second] = await Promise.all([lw.cluster(points, asked), ...engines.map((engine, rank) => engine.cluster(parts[rank], asked))]);
      for (const name of ["centroids", "counts", "clusters", "energy", "iterations", "termination", "reason"]) assert.deepEqual(found[name], first[name], name);
      assert.deepEqual([...found.labels], [...first.labels, ...second.labels]);
    }
    // In its midst the engine is not waited for.
    const last = lw.cluster(points, { ...endless, onProgress: () => queueMicrotask(() => lw.dispose()) });
    await rejects(last, "disposed", /disposed/);
  });
}

test("ranks and devices eliminate the points of a bundle, as one device does", onCpu, async (t) => {
  const engines = await ranks(t, 2), several = await init({ backend: "cuda", devices: [0, 1] }), one = await init({ backend: "cuda" });
  t.after(() => [several, one].forEach((lw) => lw.dispose()));
  const data = randomBundle(3, { cameras: 6, points: 80, outliers: 0.02 });
  const options = { forcing: 1e-3, maxIterations: 40, costTolerance: 1e-8 };
  for (const asked of [{ linear: "schur-pcg" }, { linear: "schur-pcg", preconditioner: "block-jacobi" }, { eliminate: true }]) {
    const reports = await Promise.all([one, several, ...engines].map(async (lw) => {
      const { problem, point } = bundle(lw, data, huber(2));
      const report = await problem.solve({ ...options, ...asked, ...(asked.eliminate && { eliminate: [point] }), ...(lw === one && { linear: "schur-pcg" }) });
      problem.dispose();
      return report;
    }));
    const [expected, ...found] = reports;
    for (const { linear, cost, iterations } of found) {
      assert.deepEqual([linear, cost, iterationsOf({ iterations })], ["schur-pcg", found[0].cost, iterationsOf(found[0])]);
      assert.ok(Math.abs(cost - expected.cost) < 1e-4 * expected.cost, `${cost} and ${expected.cost}`);
    }
  }
});

test("a checkpoint of two ranks goes on by them, by several devices and by one", onCpu, async (t) => {
  const engines = await ranks(t, 2), others = [await ranks(t, 3), [await init({ backend: "cuda", devices: [0, 1] })], [await init({ backend: "cuda" })]];
  t.after(() => others.flat().forEach((lw) => lw.dispose()));
  const steps = { ...PCG, maxIterations: 8, costTolerance: 0 };
  const saves = [], problems = engines.map((lw) => arap(lw, mesh));
  const reports = await Promise.all(problems.map(({ problem }) => {
    const solver = problem.solver({ ...steps, onIteration: ({ index }) => { if (index === 3) saves.push(solver.save()); } });
    return solver.solve();
  }));
  const [file, same] = await Promise.all(saves);
  assert.deepEqual(file, same);
  for (const ranksOf of [engines, ...others]) {
    const ended = await Promise.all(ranksOf.map(async (lw) => {
      const { problem, x } = arap(lw, mesh), solver = problem.solver(steps);
      solver.restore(file);
      const before = await x.read(new Float64Array(3 * x.count)), report = await solver.solve();
      return { before, report };
    }));
    for (const { before, report } of ended) {
      assert.deepEqual(before, ended[0].before);
      assert.equal(report.iterations.length, reports[0].iterations.length);
      assert.deepEqual(iterationsOf(report).slice(0, 4), iterationsOf(reports[0]).slice(0, 4));
      if (ranksOf === engines) assert.deepEqual(iterationsOf(report), iterationsOf(reports[0]));
      assert.ok(Math.abs(report.cost - reports[0].cost) < 1e-6 * report.cost, `${report.cost} and ${reports[0].cost}`);
    }
  }
  // Other files on one rank are told to all; what is edited is not taken from a file.
  const solvers = problems.map(({ problem }) => problem.solver({ ...steps, maxIterations: 2 }));
  await rejects(solvers[0].save(), "invalid-option", /^save\(\): several ranks keep the problem's last solve alone, which was not this solver's: solve with it before/);
  await Promise.all(solvers.map((solver) => solver.solve()));
  const [later] = await Promise.all(solvers.map((solver) => solver.save()));
  solvers.forEach((solver, rank) => solver.restore(rank ? file : later));
  for (const { reason } of await Promise.allSettled(solvers.map((solver) => solver.solve()))) {
    assert.deepEqual([reason?.code, reason?.message], ["invalid-option", "rank 1 has other terms, data or options than rank 0: all ranks must declare the same"]);
  }
  problems[0].handles.set({ weight: 4 });
  assert.throws(() => solvers[0].restore(later), ({ code, message }) => code === "checkpoint-mismatch" && message.includes("before restore()"));
});

test("what exceeds the memory of one device is solved by two", onCpu, async (t) => {
  const solve = async (devices, memoryBytes) => {
    const lw = await init({ backend: "cuda", devices, ...(memoryBytes && { limits: { memoryBytes } }) });
    t.after(() => lw.dispose());
    const { cost } = await arap(lw, mesh).problem.solve({ ...PCG, maxIterations: 8 });
    return { cost, peak: lw.counters().bytesPeak };
  };
  const alone = await solve([0]), memoryBytes = Math.floor(0.75 * alone.peak);
  await rejects(solve([0], memoryBytes), "out-of-memory", /bytes.* can be had$/);
  const { cost } = await solve([0, 1], memoryBytes);
  assert.ok(Math.abs(cost - alone.cost) < 1e-6 * cost, `${cost} and ${alone.cost}`);
});

test("an engine of several devices stops, refuses and is freed as one of a device", onCpu, async () => {
  const lw = await init({ backend: "cuda", devices: [0, 1] });
  assert.equal(lw.adapter, "cpu, cpu");
  const { problem, handles } = arap(lw, mesh);
  const told = [], stopped = await problem.solve({ ...PCG, maxIterations: 50, costTolerance: 0, onIteration: ({ index }) => { told.push(index); return index < 2 ? undefined : "stop"; } });
  assert.ok(stopped.iterations.length < 10, `${stopped.iterations.length} iterations after ${told.length}`);
  await rejects(problem.solve({ linear: "sparse-cholesky" }), "invalid-option", 'linear: ranks have "pcg" and "schur-pcg" alone');
  assert.throws(() => { handles.enabled = false; }, ({ code, message }) => code === "invalid-option" && /engine without `world` or `devices` for it$/.test(message));
  // What is no solve works on the first device.
  const sum = lw.tensor([1, 2, 3]).sum();
  assert.equal(Number(await sum.read()), 6);
  sum.dispose();
  assert.ok((await problem.solve({ ...PCG, maxIterations: 20 })).cost <= stopped.cost);
  // In the midst of a solve, which the engine does not wait for.
  const solving = problem.solve({ ...PCG, maxIterations: 1000, costTolerance: 0, onIteration: ({ index }) => { if (index === 1) queueMicrotask(() => lw.dispose()); } });
  await rejects(solving, "disposed", /disposed/);
});

test("an engine of one device in a list is that device by itself", onCpu, async (t) => {
  const [lw, alone] = await Promise.all([init({ backend: "cuda", devices: [0] }), init({ backend: "cuda" })]);
  t.after(() => [lw, alone].forEach((engine) => engine.dispose()));
  const [of, expected] = await Promise.all([lw, alone].map((engine) => arap(engine, mesh).problem.solve({ linear: "sparse-cholesky", maxIterations: 4 })));
  assert.equal(of.cost, expected.cost);
});

test("devices that are none are refused", async () => {
  const list = /^devices must be a list of GPUs, by the driver's indices, such as \[0, 1\], not /;
  for (const devices of [[], 2, "0, 1", null, {}, new Set([0, 1])]) await rejects(init({ backend: "cuda", devices }), "invalid-option", list);
  for (const devices of [[-1], [0, 1.5], [0, "1"], [0, undefined]]) await rejects(init({ backend: "cuda", devices }), "invalid-option", /^devices\[[01]\]: .* is not an integer from 0 to /);
  await rejects(init({ backend: "cuda", devices: [0, 1, 0] }), "invalid-option", "devices has GPU 0 twice: each GPU is one rank, so name it once");
  await rejects(init({ backend: "cuda", devices: [0, 1], world: { rank: 0, size: 1, id: new Uint8Array(128) } }), "invalid-option", /^devices and world: /);
  await rejects(init({ backend: "cuda", devices: [0, 1], cudaDevice: 0 }), "invalid-option", /^devices and cudaDevice: /);
  for (const backend of ["auto", "cpu", "webgpu"]) await rejects(init({ backend, devices: [0, 1] }), "invalid-option", `devices: several GPUs are on backend "cuda", not on "${backend}"`);
});

test("devices that are not there, and several without NCCL, are errors that say so", () => asUsers(async () => {
  const { gpus, missing, nccl } = probe();
  if (missing) return rejects(init({ backend: "cuda", devices: [0, 1] }), "no-adapter", /^CUDA can't be used: /);
  await rejects(init({ backend: "cuda", devices: [0, gpus.length] }), "invalid-option", new RegExp(`^devices: there is no GPU ${gpus.length}: name some of those that the driver finds \\(0`));
  if (nccl === null && gpus.length > 1) await rejects(init({ backend: "cuda", devices: [0, 1] }), "invalid-option", /libnccl\.so\.2|2\.18 or newer/);
}));

test("a time limit of ranks that is none is refused", async () => {
  for (const timeoutMs of [0, -1, 0.5, NaN, Infinity, 86_400_001, "30", null]) {
    for (const of of [{ devices: [0, 1] }, { world: { rank: 0, size: 1, id: new Uint8Array(128) } }]) {
      await rejects(init({ backend: "cuda", ...of, timeoutMs }), "invalid-option", /^timeoutMs: .+ is not a number from 1 to 86400000$/);
    }
  }
  for (const backend of ["auto", "cpu", "webgpu"]) await rejects(init({ backend, timeoutMs: 1000 }), "invalid-option", `timeoutMs: ranks, which wait for each other, are on backend "cuda", not on "${backend}"`);
});

test("a rank that does not come is device-lost after the time limit, which all ranks of a world have", onCpu, async (t) => {
  const engines = await ranks(t, 2, { timeoutMs: 250 }), [first, second] = engines.map((lw) => arap(lw, mesh));
  const began = performance.now();
  await rejects(first.problem.solve(PCG), "device-lost", /: rank 1 did not come within 0\.25 s: /);
  assert.ok(performance.now() - began < 20_000, "it waited for the limit that there is by default");
  await rejects(second.problem.solve(PCG), "device-lost", /: rank 1 did not come within 0\.25 s: /);
  const id = crypto.getRandomValues(new Uint8Array(128)), rank = (number, options) => init({ backend: "cuda", ...options, world: { rank: number, size: 2, id } });
  const patient = await rank(0, { timeoutMs: 60_000 });
  t.after(() => patient.dispose());
  await rejects(rank(1), "invalid-option", "rank 1 waits 30 s for other ranks, and another 60 s: all need the same time limit");
  // Devices of one engine have it, too; an engine that is no rank waits for none.
  const [several, alone] = await Promise.all([{ devices: [0, 1] }, {}].map((of) => init({ backend: "cuda", ...of, timeoutMs: 60_000 })));
  t.after(() => [several, alone].forEach((lw) => lw.dispose()));
  const [found, expected] = await Promise.all([several, alone].map((lw) => arap(lw, mesh).problem.solve({ ...PCG, maxIterations: 4 })));
  assert.ok(Math.abs(found.cost - expected.cost) < 1e-6 * expected.cost, `${found.cost} and ${expected.cost}`);
});

test("two engines that are the same rank are refused", onCpu, async (t) => {
  const id = crypto.getRandomValues(new Uint8Array(128));
  const lw = await init({ backend: "cuda", world: { rank: 0, size: 2, id } });
  t.after(() => lw.dispose());
  await rejects(init({ backend: "cuda", world: { rank: 0, size: 2, id } }), "invalid-option", "there are two ranks 0");
});

test("without NCCL the id of a world is an error that says what is missing", { skip: probe().nccl !== null }, () => {
  assert.throws(worldId, ({ message }) => /libnccl\.so\.2|2\.18 or newer/.test(message));
});

test("a process that was not started by `run` has no world; one that was has it", () => {
  assert.equal(world(), undefined);
  const script = `import { world } from ${JSON.stringify(import.meta.resolve("leastwise-cuda"))}; const { rank, size, id } = world(); console.log(rank, size, id.length, id[1]);`;
  const env = { ...process.env, LEASTWISE_RANK: "1", LEASTWISE_RANKS: "3", LEASTWISE_WORLD: "0a0b".padEnd(256, "0") };
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8", env });
  assert.equal(stdout, "1 3 128 11\n", stderr);
});

test("run: processes and GPUs of this host, commands for others", () => {
  const of = (...words) => plan(asked(words), "ab", ["0", "1", "2", "3"]);
  const { started, elsewhere } = of("--ranks", "3", "a.mjs", "--ranks", "9");
  assert.deepEqual(started.map(({ rank, env }) => [rank, env.CUDA_VISIBLE_DEVICES, env.LEASTWISE_RANK, env.LEASTWISE_RANKS, env.LEASTWISE_WORLD]), [[0, "0", "0", "3", "ab"], [1, "1", "1", "3", "ab"], [2, "2", "2", "3", "ab"]]);
  assert.deepEqual(elsewhere, []);
  assert.deepEqual(asked(["--ranks", "3", "a.mjs", "--ranks", "9"]).rest, ["--ranks", "9"]);
  const far = of("--ranks", "6", "--host", "b:3", "--host", "c", "a b.mjs", "it's");
  assert.deepEqual(far.started.map(({ rank }) => rank), [0, 1]);
  const end = "--world ab 'a b.mjs' 'it'\\''s'";
  assert.deepEqual(far.elsewhere, [
    { host: "b", command: `npx leastwise-cuda run --ranks 6 --first 2 --here 3 ${end}` },
    { host: "c", command: `npx leastwise-cuda run --ranks 6 --first 5 --here 1 ${end}` },
  ]);
  const world = "0f".repeat(128), joins = asked(["--ranks", "6", "--first", "2", "--here", "3", "--world", world, "a.mjs"]);
  assert.deepEqual(plan(joins, joins.world, ["5", "6", "7"]).started.map(({ rank, env }) => [rank, env.CUDA_VISIBLE_DEVICES]), [[2, "5"], [3, "6"], [4, "7"]]);
  assert.deepEqual([visible(3), visible(2, "4, 6"), visible(1, "GPU-7,GPU-8"), visible(2, "")], [["0", "1", "2"], ["4", "6"], ["GPU-7"], ["0", "1"]]);
  for (const [words, message] of [
    [["a.mjs"], "--ranks is missing"], [["--ranks", "2"], "the script is missing"], [["--ranks", "two", "a.mjs"], '--ranks needs a whole number from 1, not "two"'],
    [["--rank", "2", "a.mjs"], "there is no option --rank"], [["--ranks", "2", "--host", "b:2", "a.mjs"], /^0 of 2 ranks are left for this host/],
    [["--ranks", "2", "--first", "1", "a.mjs"], /go together/], [["--ranks", "9", "a.mjs"], "9 ranks need as many GPUs, and this host has 4: NCCL has a GPU for each rank"],
    [["--ranks", "2", "--here", "1", "--first", "1", "--world", "1", "a.mjs"], /256 digits/],
  ]) assert.throws(() => of(...words), (error) => error instanceof Refused && (message instanceof RegExp ? message.test(error.message) : error.message === message), words.join(" "));
});

test("run: says why it starts nothing", () => {
  const run = (...words) => spawnSync(process.execPath, [join(root, "doctor.js"), "run", ...words], { encoding: "utf8" });
  const misused = run("--ranks", "0", "a.mjs");
  assert.equal(misused.status, 2);
  assert.match(misused.stderr, /^leastwise-cuda run: --ranks needs a whole number from 1, not "0"\n\nleastwise-cuda run --ranks N/);
  if (probe().missing) assert.match(run("--ranks", "1", "a.mjs").stderr, /^leastwise-cuda run: CUDA can't be used: /);
});

const few = probe().gpus.length < 2 || probe().nccl === null || process.env.LEASTWISE_ADDON === "cpu";
test("two GPUs: solves over NCCL, other data on a rank, a rank that dies", { skip: few && "needs two GPUs and NCCL" }, () => {
  const script = fileURLToPath(new URL("fresh/ranks.mjs", import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "doctor.js"), "run", "--ranks", "2", script], { encoding: "utf8", timeout: 240_000 });
  assert.equal(status, 3, stdout + stderr);
  const found = stdout.trim().split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line)).sort((a, b) => a.rank - b.rank);
  assert.deepEqual(found.map(({ rank }) => rank), [0, 1], stdout + stderr);
  const [first, second] = found;
  assert.deepEqual([first.hash, first.cost, first.again], [second.hash, second.cost, second.again]);
  assert.deepEqual([first.differs, second.differs], ["invalid-option", "invalid-option"]);
  assert.equal(first.clusters, second.clusters, "one codebook, of engines in f64");
  assert.ok(first.clusters.split(" ").length === 6 && first.clusters.split(" ").every((value) => Number.isFinite(Number(value))), first.clusters);
  assert.ok(Math.abs(first.cost - first.alone) < 1e-6 * first.alone, `${first.cost} and ${first.alone}`);
  assert.equal(first.lost, "device-lost");
  assert.ok(first.lostMs < 45_000, `${first.lostMs} ms`);
  assert.ok(first.finite && first.goesOn);
});

test("two GPUs of one engine solve over NCCL as one GPU does, and are left in order", { skip: few && "needs two GPUs and NCCL" }, async () => {
  const alone = await init({ backend: "cuda" }), expected = await arap(alone, mesh).problem.solve(PCG);
  alone.dispose();
  for (let time = 0; time < 2; time++) {
    const lw = await init({ backend: "cuda", devices: [0, 1] });
    const { problem, x } = arap(lw, mesh), { cost } = await problem.solve(PCG);
    assert.ok(Math.abs(cost - expected.cost) < 1e-6 * expected.cost, `${cost} and ${expected.cost}`);
    assert.ok((await x.read(new Float64Array(3 * x.count))).every(Number.isFinite));
    lw.dispose();
  }
});

test("two GPUs of one engine cluster over NCCL, in f64 as in f32", { skip: few && "needs two GPUs and NCCL" }, async () => {
  const { points, dim } = inClusters(2001, 5, 8, { seed: 4 }), asked = { dim, clusters: 8, method: "lloyd", ranks: true };
  const double = await init({ backend: "cuda", devices: [0, 1] });
  const ofDouble = await double.cluster(points, asked);
  const { cost } = await arap(double, mesh).problem.solve(PCG);
  assert.ok(Number.isFinite(cost));
  double.dispose();
  const alone = await init({ backend: "cuda", precision: "f32" }), expected = await alone.cluster(points, asked);
  alone.dispose();
  const lw = await init({ backend: "cuda", precision: "f32", devices: [0, 1] });
  const [first, second] = [await lw.cluster(points, asked), await lw.cluster(points, asked)];
  for (const other of [second, ofDouble]) assert.deepEqual([other.centroids, other.labels, other.iterations], [first.centroids, first.labels, first.iterations]);
  assert.ok(Math.abs(first.energy - expected.energy) < 1e-3 * expected.energy, `${first.energy} and ${expected.energy}`);
  const energy = energyOf(points, dim, first.centroids, first.labels);
  assert.ok(Math.abs(energy - first.energy) < 1e-3 * energy, `${energy} and ${first.energy}`);
  lw.dispose();
});
