// Clustering, on every backend: what it finds, and that it is what it says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { half } from "leastwise";
import { fromHalf, toHalf } from "leastwise/vectors";
import { energyOf, inClusters, publishedRows } from "../problems/vectors.mjs";
import { BACKENDS, closeTo, FULL, open, rejects } from "./support.mjs";

const METHODS = [{}, { method: "lloyd" }, { method: "lloyd", start: "farthest" }, { method: "lloyd", mean: { trim: undefined, huber: 50 } }];

/** What every clustering has to be, of whatever points. */
function consistent(found, points, dim) {
  const count = points.length / dim;
  assert.deepEqual([found.dim, found.labels.length, found.centroids.length, found.counts.length], [dim, count, found.clusters * dim, found.clusters]);
  const counts = new Uint32Array(found.clusters);
  for (const label of found.labels) counts[label]++;
  assert.deepEqual(found.counts, counts);
  assert.ok(found.centroids.every(Number.isFinite));
  const energy = energyOf(points, dim, found.centroids, found.labels), close = 1e-5 * energy + 1e-9;
  // An end before convergence may leave a step that no iteration has measured; it never makes anything worse.
  const isRight = found.termination === "converged" ? Math.abs(energy - found.energy) <= close : energy <= found.energy + close;
  assert.ok(isRight, `energy ${found.energy}, but the mean squared distance is ${energy}`);
  assert.ok(found.iterations.every((it) => it.energy >= 0 && it.clusters >= 1 && it.changed >= 0));
}

for (const backend of BACKENDS) {
  // A software adapter is slow: fewer there.
  const isShort = backend === "webgpu" && !FULL;
  const [few, methods] = backend === "webgpu" ? [isShort ? 4 : 2, METHODS.slice(0, 2)] : [1, METHODS];

  test(`${backend}: clusters that are far apart are found, by every method`, async (t) => {
    const lw = await open(t, { backend });
    const { points, dim, origin } = inClusters(Math.ceil(1501 / few), 7, 9);
    for (const options of methods) {
      const found = await lw.cluster(points, { dim, clusters: 9, ...options });
      consistent(found, points, dim);
      assert.equal(found.termination, "converged", found.reason);
      const name = new Map();
      found.labels.forEach((label, i) => name.set(origin[i], (name.get(origin[i]) ?? new Set()).add(label)));
      // Lloyd's iteration may end in a worse minimum, but not annealing.
      if (options.method === undefined) assert.ok([...name.values()].every((labels) => labels.size === 1) && found.clusters === 9, JSON.stringify(options));
      if (options.method === undefined) assert.ok(found.energy < 7.2, `energy ${found.energy}`);
    }
  });

  test(`${backend}: the same bits again, whatever the points are stored as`, async (t) => {
    const lw = await open(t, { backend });
    const { points: exact, dim } = inClusters(700 / few, 5, 6, { seed: 3 });
    const halves = toHalf(exact), points = fromHalf(halves);
    for (const options of methods) {
      const [first, ...others] = await Promise.all([points, half(halves.bits), Float64Array.from(points), points].slice(0, Math.max(2, 4 / few)).map((each) => lw.cluster(each, { dim, clusters: 6, seed: 5, ...options })));
      for (const other of others) assert.deepEqual([other.centroids, other.labels, other.energy], [first.centroids, first.labels, first.energy]);
    }
  });

  test(`${backend}: an engine that is no rank clusters its own vectors`, async (t) => {
    const lw = await open(t, { backend });
    const { points, dim } = inClusters(200, 3, 4, { seed: 8 }), options = { dim, clusters: 4, method: "lloyd" };
    const [plain, ranked] = [await lw.cluster(points, options), await lw.cluster(points, { ...options, ranks: true })];
    assert.deepEqual([ranked.centroids, ranked.labels], [plain.centroids, plain.labels]);
    await rejects(lw.cluster(points, { ...options, ranks: 2 }), "invalid-option", /^ranks must be true or false/);
  });

  test(`${backend}: centroids of one's own are where it begins`, async (t) => {
    const lw = await open(t, { backend });
    const { points, dim } = inClusters(600, 3, 4, { seed: 8 });
    const first = await lw.cluster(points, { dim, clusters: 4, method: "lloyd", maxIterations: 3 });
    const [again, doubles] = await Promise.all([first.centroids, Float64Array.from(first.centroids)].map((start) => lw.cluster(points, { dim, clusters: 4, method: "lloyd", start })));
    consistent(again, points, dim);
    assert.deepEqual([again.centroids, again.labels], [doubles.centroids, doubles.labels]);
    assert.ok(again.iterations[0].energy <= first.energy * (1 + 1e-6) && again.energy <= first.energy * (1 + 1e-6), `${again.energy} after ${first.energy}`);
    const directions = await lw.cluster(points, { dim, clusters: 4, method: "lloyd", metric: "cosine", start: first.centroids });
    const lengths = Float64Array.from({ length: 600 }, (_, i) => Math.hypot(...points.subarray(i * dim, (i + 1) * dim)));
    consistent(directions, points.map((value, k) => value / lengths[Math.floor(k / dim)]), dim);
    await assert.rejects(lw.cluster(points, { dim, clusters: 4, method: "lloyd", start: first.centroids, signal: AbortSignal.abort() }), { name: "AbortError" });
    await assert.rejects(lw.cluster(points, { dim, clusters: 5, method: "lloyd", start: first.centroids }), (error) => error.code === "data-length" && /4 centroids, but clusters asks for 5/.test(error.message));
    await assert.rejects(lw.cluster(points, { dim, clusters: 4, method: "lloyd", start: "nowhere" }), (error) => error.code === "invalid-option");
    await assert.rejects(lw.cluster(points, { dim, clusters: 4, start: first.centroids }), (error) => error.code === "invalid-option");
    await assert.rejects(lw.cluster(points, { dim, clusters: 4, method: "vlc", start: first.centroids }), (error) => error.code === "invalid-option");
  });

  test(`${backend}: fewer vectors than clusters, equal vectors, one vector, none`, async (t) => {
    const lw = await open(t, { backend });
    for (const options of METHODS) {
      const different = Float32Array.of(0, 0, 5, 5, 9, 1);
      const three = await lw.cluster(different, { dim: 2, clusters: 8, ...options });
      consistent(three, different, 2);
      assert.ok(three.energy < 1e-9 && three.clusters <= 8, `${three.energy}`);
      const equal = new Float32Array(300).fill(2.5);
      const same = await lw.cluster(equal, { dim: 3, clusters: 4, ...options });
      consistent(same, equal, 3);
      assert.ok(same.energy < 1e-9);
      const one = await lw.cluster(Float32Array.of(1, 2, 3), { dim: 3, clusters: 1, ...options });
      assert.deepEqual([one.labels, one.centroids], [Uint32Array.of(0), Float32Array.of(1, 2, 3)]);
    }
    await rejects(lw.cluster(new Float32Array(), { dim: 3, clusters: 2 }), "data-length", /points/);
  });

  test(`${backend}: a vector with a NaN or an infinity is named`, async (t) => {
    const lw = await open(t, { backend });
    for (const value of [NaN, Infinity, -Infinity]) {
      const points = new Float32Array(600);
      points[3 * 123 + 2] = value;
      points[3 * 140] = NaN;
      await rejects(lw.cluster(points, { dim: 3, clusters: 2 }), "non-finite", /123/, { instance: 123 });
    }
    await rejects(lw.cluster(Float64Array.of(1, 2, 1e300, 4), { dim: 2, clusters: 1 }), "non-finite", /1/, { instance: 1 });
  });

  test(`${backend}: the published algorithm has the published energies`, async (t) => {
    const lw = await open(t, { backend });
    const points = publishedRows(1000, 64, fromHalf, toHalf);
    const found = await lw.cluster(points, { dim: 64, clusters: 32, method: "vlc", start: "farthest", temperature: 1, cooling: 0.05, learningRate: 0.2, mean: { trim: 0.1 }, maxIterations: 50, tolerance: 1e-3, minChanges: 1, maintenanceInterval: 20 });
    assert.equal(found.iterations.length, 8);
    [0.29634, 0.293516].forEach((energy, k) => closeTo(found.iterations[k].energy, energy, 1e-5, `iteration ${k}`));
    closeTo(found.iterations.at(-1).energy, 0.287837, 1e-5, "the last iteration");
    assert.ok(found.centroids.every((value) => fromHalf(toHalf([value]))[0] === value), "centroids in half precision");
    if (isShort) return;
    const lloyd = await lw.cluster(points, { dim: 64, clusters: 32, method: "lloyd", start: "farthest" });
    const annealed = await lw.cluster(points, { dim: 64, clusters: 32 });
    assert.ok(annealed.energy <= lloyd.energy && lloyd.energy < found.energy, `${annealed.energy}, ${lloyd.energy}, ${found.energy}`);
  });

  test(`${backend}: progress, its end, and an end before it`, async (t) => {
    const lw = await open(t, { backend });
    const { points, dim } = inClusters(600, 4, 12, { distance: 2, seed: 9 });
    const endless = { dim, clusters: 12, method: "lloyd", tolerance: 0, minChanges: 0 };
    const seen = [];
    const whole = await lw.cluster(points, { ...endless, maxIterations: 12, onProgress: (done, total) => seen.push([done, total]) });
    assert.ok(seen.length > 0 && seen.every(([done, total], k) => done >= (seen[k - 1]?.[0] ?? 0) && done <= total), JSON.stringify(seen));
    consistent(whole, points, dim);
    const short = await lw.cluster(points, { ...endless, maxIterations: 2 });
    assert.deepEqual([short.termination, short.iterations.length], ["max-iterations", 2]);
    const controller = new AbortController();
    const stopped = await lw.cluster(points, { ...endless, maxIterations: 500, signal: controller.signal, onProgress: () => controller.abort(new Error("enough")) });
    assert.equal(stopped.termination, "stopped");
    assert.match(stopped.reason, /enough/);
    consistent(stopped, points, dim);
    // Before there is a codebook there is nothing to give; afterwards every method gives its best.
    for (const method of ["anneal", "lloyd", "vlc"]) {
      await assert.rejects(lw.cluster(points, { dim, clusters: 12, method, signal: AbortSignal.abort(new Error("never")) }), /^Error: never$/);
      const aborting = new AbortController();
      const cut = await lw.cluster(points, { dim, clusters: 12, method, tolerance: 0, maxIterations: 400, signal: aborting.signal, onProgress: () => aborting.abort(new Error("enough")) });
      assert.equal(cut.termination, "stopped", method);
      if (method !== "vlc") consistent(cut, points, dim);
    }
    // What a callback throws ends the clustering, and is thrown on.
    await assert.rejects(lw.cluster(points, { ...endless, onProgress: () => { throw new Error("mine"); } }), /^Error: mine$/);
    assert.equal((await lw.cluster(points, { dim, clusters: 2 })).clusters, 2);
  });
}
