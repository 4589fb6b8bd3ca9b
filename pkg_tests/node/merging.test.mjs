// Indices that take in others, files of changes, and one-bit sketches without a graph.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exactSearch, mergeIndices, openWithChanges, trackChanges } from "leastwise/vectors";
import { reframed } from "../problems/framing.mjs";
import { Random } from "../problems/random.mjs";
import { decaying } from "../problems/vectors.mjs";
import { BACKENDS, FULL, open, rejects } from "./support.mjs";

const DIM = 32, COUNT = 3000, K = 10;
const points = decaying(COUNT, DIM), queries = decaying(20, DIM, { seed: 2 }), one = queries.subarray(0, DIM);
const OPTIONS = { dim: DIM, bits: 6, clusters: 24 };
const rows = (from, to) => points.subarray(from * DIM, to * DIM);
/** Bytes of a file without its envelope. */
async function engineBytes(index) {
  const file = await index.save(), isEnvelope = file[2] === 86;
  return file.length - (isEnvelope ? 64 + Math.ceil(new DataView(file.buffer, file.byteOffset).getUint32(12, true) / 64) * 64 : 0);
}

const names = (from, to) => Array.from({ length: to - from }, (_, k) => `v${from + k}`);

for (const backend of BACKENDS) {
  test(`${backend}: parts of one model are merged into the index of all, by every metric`, async (t) => {
    const lw = await open(t, { backend });
    // Searches are the CPU's on both.
    for (const metric of backend === "cpu" || FULL ? ["l2", "cosine", "dot"] : ["dot"]) {
      const maxNorm = metric === "dot" ? { maxNorm: 64 } : {};
      const empty = await (await lw.compress(points, { ...OPTIONS, metric, ...maxNorm, trainFor: COUNT })).save();
      const [whole, merged, first, second] = await Promise.all([0, 1, 2, 3].map(() => lw.openIndex(empty)));
      await whole.add(points);
      await first.add(rows(0, 1000));
      await second.add(rows(1000, COUNT));
      assert.deepEqual([...(await mergeIndices(merged, first))], Array.from({ length: 1000 }, (_, k) => k));
      // While others are added, in the order of the calls.
      const [ids] = await Promise.all([mergeIndices(merged, second), merged.add(rows(0, 5))]);
      assert.deepEqual([ids[0], ids.at(-1), merged.count, second.count], [1000, COUNT - 1, COUNT + 5, 2000]);
      merged.remove([0, 1, 2, 3, 4].map((k) => COUNT + k));
      merged.searching = whole.searching = "cpu";
      assert.deepEqual(await merged.search(queries, { k: K }), await whole.search(queries, { k: K }));
      assert.deepEqual(merged.reconstruct([5, 2999]), whole.reconstruct([5, 2999]));
    }
  });
}

test("two indices with keys that take in each other do not wait for each other", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const file = await (await lw.compress(rows(0, 400), { ...OPTIONS, keys: names(0, 400) })).save();
  const [a, b] = [await lw.openIndex(file), await lw.openIndex(file)];
  // Loads what merging needs, so that both take their turns at once.
  await mergeIndices(a, await lw.openIndex(file), { replace: true });
  const outcomes = await Promise.all([
    a.add(rows(400, 700), { keys: names(400, 700) }), b.add(rows(700, 1000), { keys: names(700, 1000) }),
    mergeIndices(a, b, { replace: true }), mergeIndices(b, a, { replace: true }),
  ]);
  assert.deepEqual([outcomes[2].length, a.count, b.count], [700, 1000, 1000]);
  assert.equal((await lw.openIndex(await a.save())).count, 1000);
});

test("keys come along, and equal ones are refused by name or replaced", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const file = await (await lw.compress(rows(0, 400), { ...OPTIONS, keys: names(0, 400) })).save();
  const [index, other] = [await lw.openIndex(file), await lw.openIndex(file)];
  other.remove({ keys: names(3, 400) });
  await other.upsert(rows(500, 503), { keys: ["v1", "new", 7] });
  const error = await mergeIndices(index, other).then(() => assert.fail(), (thrown) => thrown);
  assert.equal(error.code, "invalid-option");
  assert.match(error.message, /3 keys, such as "v0", "v2", "v1".*replace: true/);
  assert.equal(index.count, 400);
  const ids = await mergeIndices(index, other, { replace: true });
  assert.deepEqual([[...ids], index.count, index.idsOf(["v0", "v2", "v1", "new", 7]).join()], [[400, 401, 402, 403, 404], 402, "400,401,402,403,404"]);
  assert.deepEqual(index.reconstruct(index.idsOf(["v1", "new"])), other.reconstruct(other.idsOf(["v1", "new"])));
  assert.equal((await index.search(rows(500, 501), { k: 1 })).keys[0], "v1");
  const again = await lw.openIndex(await index.save());
  assert.deepEqual([...again.idsOf(["v1", "v399"])], [402, 399]);
});

test("a graph goes on with what is merged", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const file = await (await lw.compress(rows(0, 2000), { ...OPTIONS, graph: { degree: 16 } })).save();
  const [index, other] = [await lw.openIndex(file), await lw.openIndex(file)];
  other.remove(Uint32Array.from({ length: 1900 }, (_, k) => k));
  await other.add(rows(2000, 3000));
  await mergeIndices(index, other);
  assert.deepEqual([index.info.graph.vectors, index.info.graph.degree, index.count], [3100, 16, 3100]);
  const hits = await index.search(rows(2500, 2501), { k: 2 });
  assert.deepEqual([hits.through, hits.ids[0]], ["graph", 2000 + 100 + 500]);
});

test("indices that can't be merged are refused with the reason", async (t) => {
  const lw = await open(t, { backend: "cpu" }), elsewhere = await open(t, { backend: "cpu" });
  const some = rows(0, 600), index = await lw.compress(some, OPTIONS);
  const refusals = [
    [index, /the same/],
    [await elsewhere.openIndex(await index.save()), /two engines/],
    [await lw.compress(some, { ...OPTIONS, metric: "cosine" }), /"l2", the other by "cosine"/],
    [await lw.compress(some, { ...OPTIONS, keys: names(0, 600) }), /only one of them has keys/],
    [await lw.compress(some, { ...OPTIONS, dim: 16 }), /16 components/],
    [await lw.compress(some, { dim: DIM, clusters: 24, code: "int8" }), /code is "int8"/],
    [await lw.compress(some, { ...OPTIONS, clusters: 8 }), /8 clusters/],
    [await lw.compress(rows(600, 1200), OPTIONS), /trained on other vectors.*trainFor/s],
    [await lw.compress([], OPTIONS), /of no vectors/],
  ];
  for (const [other, words] of refusals) await rejects(mergeIndices(index, other), "invalid-option", words);
  const dots = await Promise.all([32, 64].map((maxNorm) => lw.compress(some, { ...OPTIONS, metric: "dot", maxNorm })));
  await rejects(mergeIndices(...dots), "invalid-option", /32 and 64/);
  await rejects(mergeIndices(index, await lw.openIndex(await index.save()), { replace: true }), "invalid-option", /keys/);
  await rejects(mergeIndices(index, {}), "invalid-option", /openIndex/);
  await rejects(mergeIndices(7, index), "invalid-option", /number/);
  await rejects(mergeIndices(index, await lw.openIndex(await index.save()), { replaces: true }), "invalid-option", /replaces/);
  const gone = await lw.openIndex(await index.save());
  gone.dispose();
  await rejects(mergeIndices(index, gone), "disposed", /./);
  assert.equal(index.count, 600);
});

test("a file and its changes are the index that changed; each file has what is new alone", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const metric of ["l2", "cosine", "dot"]) {
    const keyed = metric !== "l2", keys = (from, to) => (keyed ? { keys: names(from, to) } : {});
    const index = await lw.compress(rows(0, 2000), { ...OPTIONS, metric, ...keys(0, 2000) });
    index.searching = "cpu";
    const files = [await index.save()], log = await trackChanges(index, files[0]);
    await index.add(rows(2000, 2100), keys(2000, 2100));
    index.remove([5, 6, 2050]);
    files.push(await log.save());
    if (keyed) await index.upsert(rows(2200, 2202), { keys: ["v7", "other"] });
    index.remove([6, 2001, 9999]);
    files.push(await log.save());
    files.push(await log.save());
    // Codes of a hundred vectors, and what says which they are.
    const { rowBytes } = index.info;
    assert.ok(files[1].length < 100 * rowBytes + (keyed ? 2600 : 700), `${files[1].length} bytes`);
    assert.ok(files[3].length < 800, `${files[3].length} bytes without changes`);
    const again = await openWithChanges(lw, files);
    again.searching = "cpu";
    assert.deepEqual([again.count, again.metric, again.info.nextId], [index.count, metric, index.info.nextId]);
    assert.deepEqual(await again.search(queries, { k: K }), await index.search(queries, { k: K }));
    assert.deepEqual(await again.save(), await index.save());
    // The opened one goes on with the last file.
    const on = await trackChanges(again, files[3]);
    await again.add(rows(2300, 2301), keys(2300, 2301));
    files.push(await on.save());
    assert.equal((await openWithChanges(lw, files)).count, index.count + 1);
    log.dispose();
    await rejects(log.save(), "disposed", /log/);

    await rejects(openWithChanges(lw, [files[0], files[2]]), "file-format", /order/);
    await rejects(openWithChanges(lw, [files[0], files[1], files[1]]), "file-format", /order/);
    await rejects(openWithChanges(lw, [files[1]]), "file-format", /comes first/);
    await rejects(openWithChanges(lw, [files[0], files[0]]), "file-format", /no file of changes/);
    await rejects(openWithChanges(lw, []), "invalid-option", /array/);
    await rejects(openWithChanges(lw, [files[0], 7]), "invalid-option", /files\[1\]/);
    const stranger = await lw.compress(rows(0, 2000), { ...OPTIONS, metric, ...keys(0, 2000), seed: 5 });
    await rejects(openWithChanges(lw, [await stranger.save(), files[1]]), "file-format", /./);
    await rejects(trackChanges(stranger, files[3]), "invalid-option", /as it is now/);
    // As many vectors and ids, and another index.
    await rejects(trackChanges(stranger, files[0]), "invalid-option", /another index/);
    const damaged = files[0].slice();
    damaged[damaged.length - await engineBytes(stranger) + 70] ^= 1;
    await rejects(trackChanges(await lw.openIndex(files[0]), damaged), "invalid-option", /another index/);
    const opened = await lw.openIndex(files[0]), ofOpened = await trackChanges(opened, files[0]);
    await opened.add(rows(2400, 2401), keys(2400, 2401));
    assert.equal((await openWithChanges(lw, [files[0], await ofOpened.save()])).count, 2001);
    await rejects(trackChanges(index, files[0].subarray(0, 50)), "file-truncated", /./);
    if (keyed) {
      // The same vectors under other names.
      const named = await lw.compress(rows(0, 2000), { ...OPTIONS, metric, keys: names(1, 2001) });
      await rejects(openWithChanges(lw, [await named.save(), files[1]]), "file-format", /follow/);
    }
  }
});

test("changes of an index that makes its model anew are refused", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress([], { dim: DIM, bits: 6 });
  await index.add(rows(0, 20));
  const log = await trackChanges(index, await index.save());
  await index.add(rows(20, 400));
  await rejects(log.save(), "invalid-option", /save it whole/);
});

test("files of changes that are cut or damaged are refused", async (t) => {
  const lw = await open(t, { backend: "cpu" }), random = new Random(7);
  const index = await lw.compress(rows(0, 1000), { ...OPTIONS, keys: names(0, 1000) });
  const file = await index.save(), log = await trackChanges(index, file);
  await index.add(rows(1000, 1050), { keys: names(1000, 1050) });
  index.remove([3]);
  const changes = await log.save(), codes = new Set(), words = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const start = 64 + Math.ceil(words(changes).getUint32(12, true) / 64) * 64, said = JSON.parse(new TextDecoder().decode(changes.subarray(64, 64 + words(changes).getUint32(12, true))));
  assert.deepEqual([said.gone, said.ids], [[[3, 1]], [[1000, 50]]]);
  // Descriptions that say something else, with checksums that hold.
  const others = [
    { gone: [[0, 4294967294]] }, { gone: [[4, 1]] }, { gone: [] }, { gone: [[3, 2]] }, { gone: [[3, 1], [5, 1]] }, { gone: 7 },
    { ids: [[1001, 50]] }, { ids: [[999, 50]] }, { ids: [[0, 50]] }, { ids: [[1000, 49]] }, { ids: [[1000, 49]], keys: said.keys.slice(1) }, { keys: said.keys.slice(1) },
    { gone: [[3, 1]], ids: [[3, 1], [1001, 49]] },
  ];
  for (const other of others) await rejects(openWithChanges(lw, [file, reframed(changes, { ...said, ...other }, start)]), "file-format", /./);
  assert.equal((await openWithChanges(lw, [file, reframed(changes, said, start)])).count, 1049);
  for (const length of [0, 5, 8, 63, 64, 200, changes.length - 64, changes.length - 1]) await assert.rejects(openWithChanges(lw, [file, changes.subarray(0, length)]), ({ code }) => /file-(truncated|format)/.test(code));
  for (let round = 0; round < 80; round++) {
    const damaged = changes.slice();
    damaged[random.below(changes.length)] ^= 1 << random.below(8);
    codes.add(await openWithChanges(lw, [file, damaged]).then(() => "opened", ({ code }) => code));
  }
  assert.ok(!codes.has("opened") && [...codes].every((code) => /^file-/.test(code)), [...codes].join());
});

test("one-bit sketches without a graph: nearly the hits of all codes, in an eighth of the memory", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress(points, OPTIONS);
  // Its own engine is on a device where the suite is of one.
  index.searching = "cpu";
  const exact = await index.search(queries, { k: K });
  const ofBytes = index.info.memory;
  index.sketches = "bits";
  const hits = await index.search(queries, { k: K });
  const { memory, sketchBytes } = index.info;
  // 32 components are 64 bits, and four bytes; no lists of vectors.
  assert.deepEqual([index.sketches, sketchBytes, memory.lists], ["bits", COUNT * 12, 0]);
  assert.ok(memory.total < ofBytes.total - COUNT * 30);
  const equal = hits.ids.filter((id, at) => exact.ids.subarray(Math.floor(at / K) * K, (Math.floor(at / K) + 1) * K).includes(id)).length;
  assert.ok(equal >= 194, `${equal} of 200`);
  assert.equal(hits.through, "lists");
  // With all vectors in the beam, and in the probed clusters, nothing is left out.
  assert.deepEqual((await index.search(queries, { k: K, effort: COUNT })).ids, exact.ids);
  const probed = await index.search(queries, { k: K, probes: 3, effort: COUNT });
  const evaluation = await index.evaluate(queries, { k: K });
  assert.ok(evaluation.recall > 0.9);
  index.sketches = false;
  assert.equal(index.info.sketchBytes, 0);
  assert.deepEqual(probed.ids, (await index.search(queries, { k: K, probes: 3 })).ids);
  assert.throws(() => { index.sketches = "byte"; }, { code: "invalid-option" });
  await rejects(index.search(one, { k: K, effort: 100 }), "invalid-option", /no graph/);
  const truth = await exactSearch(points, queries, { dim: DIM, k: K });
  assert.equal(truth.ids.length, hits.ids.length);
});

test("an effort is refused where one-bit sketches are not used", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const [index, k] of [[await lw.compress(points, { dim: 16, bits: 6, clusters: 8 }), 3], [await lw.compress(rows(0, 100), { ...OPTIONS, clusters: 8 }), 30]]) {
    index.sketches = "bits";
    const asked = queries.subarray(0, index.dim);
    await rejects(index.search(asked, { k, effort: 50 }), "invalid-option", /don't pay/);
    await rejects(index.evaluate(asked, { k, effort: 50 }), "invalid-option", /don't pay/);
    assert.equal((await index.search(asked, { k })).ids.length, k);
  }
});

test("ranges have all vectors, whatever sketches there are", async (t) => {
  const lw = await open(t, { backend: "cpu" }), random = new Random(11), dim = 64, count = 12000;
  const many = Float32Array.from({ length: count * dim }, () => random.normal()), asked = Float32Array.from({ length: 8 * dim }, () => random.normal());
  const index = await lw.compress(many, { dim, bits: 3, clusters: 8 });
  index.searching = "cpu";
  index.sketches = false;
  const { distances } = await index.search(asked, { k: 60 }), maxDistance = distances[59], even = { maxDistance, filter: (id) => id % 2 === 0 };
  const [all, some] = [await index.searchRange(asked, { maxDistance }), await index.searchRange(asked, even)];
  index.sketches = "bits";
  const before = await index.search(asked, { k: K });
  assert.deepEqual(await index.searchRange(asked, { maxDistance }), all);
  assert.deepEqual(await index.searchRange(asked, even), some);
  // Beside searches that go by sketches.
  const [beside, range] = await Promise.all([index.search(asked, { k: K }), index.searchRange(asked, { maxDistance })]);
  assert.deepEqual([beside, range, index.sketches], [before, all, "bits"]);
});

for (const backend of BACKENDS.filter((backend) => backend !== "cpu")) {
  test(`${backend}: a batch on the device goes by codes, not by one-bit sketches`, async (t) => {
    const lw = await open(t, { backend }), index = await lw.compress(points, OPTIONS);
    index.searching = "device";
    const hits = await index.search(queries, { k: K });
    index.sketches = "bits";
    assert.equal(hits.searchedBy, backend);
    assert.deepEqual(await index.search(queries, { k: K }), hits);
  });
}
