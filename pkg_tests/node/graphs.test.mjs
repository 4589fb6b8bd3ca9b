// Proximity graphs of indices: what walks find, when they are not used, and what becomes of a graph as vectors come and go.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decaying, nearest, recallOf } from "../problems/vectors.mjs";
import { BACKENDS, open, rejects } from "./support.mjs";

const SOFTWARE = /swiftshader|llvmpipe|lavapipe/i;
const DIM = 32, COUNT = 2000, K = 10;
const points = decaying(COUNT, DIM), queries = decaying(40, DIM, { seed: 2 });
const exact = nearest(points, queries, DIM, K), one = queries.subarray(0, DIM);
const OPTIONS = { dim: DIM, bits: 6, clusters: 16 };
/** Ids of hits, query by query. */
const found = ({ ids, k }) => Array.from({ length: ids.length / k }, (_, query) => [...ids.subarray(query * k, (query + 1) * k)]);
const row = (at) => points.subarray(at * DIM, (at + 1) * DIM);

/** Of the same ids the same distances. */
function sameDistances(hits, lists) {
  for (let query = 0; query < hits.ids.length; query += K) {
    const known = new Map(Array.from({ length: K }, (_, at) => [lists.ids[query + at], lists.distances[query + at]]));
    for (let at = query; at < query + K; at++) if (known.has(hits.ids[at])) assert.equal(hits.distances[at], known.get(hits.ids[at]));
  }
}

for (const backend of BACKENDS) {
  test(`${backend}: walks find what lists do, at the same distances, also from a file`, async (t) => {
    const lw = await open(t, { backend });
    const index = await lw.compress(points, OPTIONS), { bytes } = index;
    assert.equal(index.info.graph, undefined);
    assert.equal((await index.search(one, { k: K })).through, "lists");
    const seen = [];
    assert.equal(await index.buildGraph({ degree: 16, onProgress: (done, total) => seen.push(done / total) }), undefined);
    assert.ok(seen.every((share, at) => share <= 1 && (at === 0 || share >= seen[at - 1])), `${seen}`);
    const { graph } = index.info, few = backend === "cpu" ? {} : { reason: "fewer than 4096 vectors to insert" };
    assert.deepEqual({ ...graph, bytes: 0 }, { degree: 16, effort: 96, vectors: COUNT, removed: 0, bytes: 0, builtBy: "cpu", ...few });
    // 11 bits a neighbour, and the start of every list.
    assert.equal(graph.bytes, COUNT * 16 * 11 / 8 + 4 * 16);
    assert.ok(index.bytes > bytes + graph.bytes && index.bytes < bytes + graph.bytes + 256);

    index.searching = "cpu";
    const lists = await index.search(queries, { k: K, probes: 16 });
    assert.deepEqual([lists.through, lists.searchedBy], ["lists", "cpu"]);
    const hits = await index.search(queries, { k: K });
    assert.deepEqual([hits.through, hits.searchedBy, "reason" in hits], ["graph", "cpu", false]);
    sameDistances(hits, lists);
    assert.ok(recallOf(hits, exact) > recallOf(lists, exact) - 0.02, `${recallOf(hits, exact)} and ${recallOf(lists, exact)}`);
    const [narrow, wide] = [await index.search(queries, { k: K, effort: 10 }), await index.search(queries, { k: K, effort: 500 })];
    assert.ok(recallOf(wide, found(lists)) > 0.99 && recallOf(wide, found(lists)) > recallOf(narrow, found(lists)));
    // One by one the same.
    for (let at = 0; at < 4; at++) {
      const { ids, through } = await index.search(queries.subarray(at * DIM, (at + 1) * DIM), { k: K });
      assert.deepEqual([[...ids], through], [[...hits.ids.subarray(at * K, (at + 1) * K)], "graph"]);
    }

    const file = await index.save(), opened = await lw.openIndex(file);
    assert.equal(file.length, index.bytes);
    opened.searching = "cpu";
    assert.deepEqual(await opened.search(queries, { k: K }), hits);
    assert.deepEqual(await opened.save(), file);
    // An engine that has loaded nothing for graphs yet.
    const other = await (await open(t, { backend }, { fresh: true })).openIndex(file);
    other.searching = "cpu";
    const asked = queries.slice(), searching = other.search(asked, { k: K });
    asked.fill(0);
    assert.deepEqual(await searching, hits, "queries are those of the call");
    const measured = await opened.evaluate(queries, { k: K, points, effort: 100 });
    assert.deepEqual([measured.through, measured.searchedBy], ["graph", "cpu"]);
    assert.ok(Math.abs(measured.recall - recallOf(await opened.search(queries, { k: K, effort: 100 }), exact)) < 1e-9);
    assert.equal((await opened.evaluate(queries, { k: K, points, probes: 16 })).through, "lists");
  });
}

test("filters: through the graph where they are wide, through lists with a reason where they are narrow", async (t) => {
  const lw = await open(t, { backend: "cpu" }), index = await lw.compress(points, { ...OPTIONS, graph: { degree: 16 } });
  const even = await index.search(queries, { k: K, effort: 64, filter: (id) => id % 2 === 0 });
  assert.equal(even.through, "graph");
  assert.ok(even.ids.every((id) => id % 2 === 0));
  assert.ok(recallOf(even, found(await index.search(queries, { k: K, probes: 16, filter: (id) => id % 2 === 0 }))) > 0.96);
  const few = await index.search(one, { k: K, filter: (id) => id % 100 === 0 });
  assert.equal(few.through, "lists");
  assert.match(few.reason, /the graph was not used: the filter lets only 20 of 2000 vectors pass$/);
  assert.ok(few.ids.every((id) => id % 100 === 0));
  // As many as there are.
  const three = await index.search(one, { k: 5, filter: { ids: [3, 4, 5] } });
  assert.deepEqual([...three.ids].sort((a, b) => a - b), [3, 4, 5, 0xffffffff, 0xffffffff]);
  const each = await index.search(queries.subarray(0, 2 * DIM), { k: K, filters: [undefined, (id) => id >= 1000] });
  assert.ok(each.ids.subarray(K).every((id) => id >= 1000));
  const many = await index.search(one, { k: 600 });
  assert.equal(many.through, "lists");
  assert.match(many.reason, /^(fewer than 16 queries; )?the graph was not used: 600 neighbours of 2000 are too many$/);
  // Ranges are exhaustive.
  const { ids, distances } = await index.search(one, { k: K, probes: 16 }), limit = distances[K - 1];
  const range = await index.searchRange(one, { maxDistance: limit });
  assert.deepEqual([range.through, [...range.ids.subarray(0, K)]], ["lists", [...ids]]);
});

test("vectors that come, go and are exchanged, with keys and by cosine", async (t) => {
  const lw = await open(t, { backend: "cpu" }), keys = Array.from({ length: COUNT }, (_, k) => `v${k}`);
  const index = await lw.compress(points.subarray(0, 1800 * DIM), { ...OPTIONS, metric: "cosine", keys: keys.slice(0, 1800), graph: true });
  assert.deepEqual([index.info.graph.degree, index.info.graph.vectors], [32, 1800]);
  const find = async (at, options) => {
    const hits = await index.search(row(at), { k: 3, ...options });
    assert.equal(hits.through, "graph");
    return hits.keys[0];
  };
  assert.equal(await find(6), "v6");
  await index.add(points.subarray(1800 * DIM), { keys: keys.slice(1800) });
  for (const at of [1800, 1999]) assert.equal(await find(at), `v${at}`, "what came later is looked at beside the graph");
  await index.upsert(row(9), { keys: ["v7"] });
  const twice = await index.search(row(9), { k: 2 });
  assert.deepEqual([...twice.keys].sort(), ["v7", "v9"]);
  const gone = keys.filter((_, k) => k % 8 === 0);
  assert.equal(index.remove({ keys: gone }), gone.length);
  for (let at = 0; at < COUNT; at += 40) assert.notEqual(await find(at), `v${at}`);
  for (let at = 1; at < COUNT; at += 40) assert.equal(await find(at), `v${at}`);
  const before = index.info.graph;
  assert.deepEqual([before.vectors, before.removed], [1800 - 226, 226]);
  await index.buildGraph();
  assert.deepEqual([index.info.graph.vectors, index.info.graph.removed], [index.count, 226], "those that are missing are inserted");
  for (const at of [1801, 1999]) assert.equal(await find(at), `v${at}`);
  await index.buildGraph({ degree: 8 });
  assert.deepEqual([index.info.graph.degree, index.info.graph.removed], [8, 0], "another degree is another graph");
  assert.equal(await find(1801), "v1801");
});

for (const backend of BACKENDS.filter((backend) => backend !== "cpu")) {
  test(`${backend}: the device builds the graph of the CPU, and says so`, async (t) => {
    const lw = await open(t, { backend }), some = points.subarray(0, 500 * DIM), later = points.subarray(500 * DIM, 620 * DIM);
    const make = async (searching) => {
      const index = await lw.compress(some, OPTIONS), built = [];
      index.searching = searching;
      for (const added of [[], later]) {
        await index.add(added);
        await index.buildGraph({ degree: 8, effort: 24 });
        const { builtBy, reason } = index.info.graph;
        built.push(builtBy, reason);
      }
      return { index, built };
    };
    const [host, device, auto] = [await make("cpu"), await make("device"), await make("auto")];
    assert.deepEqual(host.built, ["cpu", undefined, "cpu", undefined]);
    assert.deepEqual(device.built, [backend, undefined, backend, undefined]);
    const few = "fewer than 4096 vectors to insert";
    assert.deepEqual(auto.built, ["cpu", few, "cpu", few]);
    const file = await host.index.save();
    for (const { index } of [device, auto]) assert.deepEqual(await index.save(), file, "the same graph, edge by edge");
    const { index } = device;
    await index.buildGraph({ degree: 8, effort: 24 });
    assert.deepEqual([index.info.graph.builtBy, index.info.graph.reason], ["cpu", "no vectors to insert"]);
    await index.buildGraph({ degree: 8, effort: 300 });
    assert.deepEqual([index.info.graph.builtBy, index.info.graph.effort], ["cpu", 300]);
    assert.match(index.info.graph.reason, /the graph's beam is 300 vectors, and kernels have room for 256/);
    const ending = new AbortController();
    await assert.rejects(index.buildGraph({ degree: 6, effort: 24, signal: ending.signal, onProgress: () => ending.abort(new Error("enough")) }), /enough/);
    await index.buildGraph({ degree: 6, effort: 24 });
    assert.deepEqual([index.info.graph.builtBy, index.info.graph.degree], [backend, 6]);
    assert.equal((await lw.openIndex(await index.save())).info.graph.builtBy, undefined, "no file says it");
  });
}

for (const backend of BACKENDS.filter((backend) => backend !== "cpu")) {
  test(`${backend}: thousands of vectors are a GPU's, unless it is software; nothing of a build stays on it`, async (t) => {
    const lw = await open(t, { backend }, { fresh: true }), count = 5000, dim = 20, many = decaying(count, dim, { seed: 5 });
    const file = await (await lw.compress(many, { dim, code: "int8", clusters: 16 })).save();
    const live = () => lw.counters().bytesLive, before = live(), files = [];
    for (const searching of ["cpu", "auto"]) {
      const index = await lw.openIndex(file);
      index.searching = searching;
      await index.buildGraph({ degree: 12, effort: 32 });
      const { builtBy, reason } = index.info.graph;
      const is = searching === "cpu" ? ["cpu", undefined] : SOFTWARE.test(lw.adapter) ? ["cpu", "the adapter is software, which takes longer"] : [backend, undefined];
      assert.deepEqual([builtBy, reason], is);
      assert.equal(live(), before);
      files.push(await index.save());
      index.dispose();
    }
    assert.deepEqual(files[1], files[0], "the same graph, edge by edge");
    // An index that goes while the device builds takes the build with it.
    const index = await lw.openIndex(file);
    index.searching = "device";
    const building = index.buildGraph({ degree: 12, effort: 32, onProgress: () => index.dispose() });
    await rejects(building, "disposed", /disposed/);
    assert.equal(live(), before);
  });
}

test("one cluster, few vectors, and none that are left", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const count of [1, 2, 3, 50]) {
    const index = await lw.compress(points.subarray(0, count * DIM), { dim: DIM, code: "int8", clusters: 1, graph: { degree: 4 } });
    assert.equal(index.info.graph.vectors, count);
    const hits = await index.search(points.subarray(0, count * DIM), { k: 1, effort: 16 });
    assert.deepEqual([[...hits.ids], hits.through], [Array.from({ length: count }, (_, id) => id), count >= 4 ? "graph" : "lists"]);
    index.remove(Uint32Array.from({ length: count }, (_, id) => id));
    assert.deepEqual([index.count, index.info.graph.vectors], [0, 0]);
    assert.deepEqual([...(await index.search(one, { k: 2 })).ids], [0xffffffff, 0xffffffff]);
    await index.add(points.subarray(0, count * DIM));
    assert.equal((await index.search(row(0), { k: 1 })).ids[0], count);
    await (await lw.openIndex(await index.save())).search(one, { k: 1 });
  }
});

test("the same calls make the same graph; one that is ended leaves none", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const make = async () => (await lw.compress(points, { ...OPTIONS, graph: { degree: 12, effort: 40 } })).save();
  assert.deepEqual(await make(), await make());
  const index = await lw.compress(points, OPTIONS), ending = new AbortController();
  await assert.rejects(index.buildGraph({ effort: 2000, signal: ending.signal, onProgress: () => ending.abort(new Error("enough")) }), /enough/);
  assert.equal(index.info.graph, undefined);
  assert.equal((await index.search(one, { k: 3 })).through, "lists");
});

test("what is wrong is said", async (t) => {
  const lw = await open(t, { backend: "cpu" }), index = await lw.compress(points, OPTIONS);
  await rejects(index.search(one, { k: 3, effort: 50 }), "invalid-option", /^effort: the index has no graph; index\.buildGraph\(\) makes one$/);
  await rejects(index.buildGraph({ degree: 3 }), "invalid-option", /degree must be from 4 to 128, not 3/);
  await rejects(index.buildGraph({ effort: 9000 }), "invalid-option", /effort must be from 1 to 8192, not 9000/);
  await rejects(index.buildGraph({ edges: 3 }), "invalid-option", /edges/);
  await index.buildGraph({ degree: 8, effort: 30 });
  await rejects(index.search(one, { k: 3, effort: 50, probes: 2 }), "invalid-option", /^effort and probes: a search goes through the graph or through lists/);
  await rejects(index.search(one, { k: 3, effort: 8193 }), "invalid-option", /effort must be from 1 to 8192, not 8193/);
  for (const graph of [1, "yes", null]) await rejects(lw.compress(points, { ...OPTIONS, graph }), "invalid-option", /^graph: it must be true, false or \{ degree, effort \}/);
  await rejects(lw.compress(points, { ...OPTIONS, graph: { degree: 500 } }), "invalid-option", /degree: 500 is not an integer from 4 to 128/);
  await rejects(lw.compress(points, { dim: DIM, code: "none", graph: true }), "invalid-option", /^graph: the code "none" can't have one/);
  await rejects(lw.compress([], { dim: DIM, graph: true }), "invalid-option", /a graph is made of vectors, but the index has none yet/);
  const file = await index.save();
  index.dispose();
  await rejects(index.buildGraph(), "disposed", /this index was disposed/);
  // A neighbour that is not there, with checksums as they were: the file is not what it was.
  file[file.length - 200] ^= 0xff;
  await rejects(lw.openIndex(file), "file-corrupt", /./);
});
