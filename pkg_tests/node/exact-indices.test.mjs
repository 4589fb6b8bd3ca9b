// Indices that keep vectors as they are, on every backend: hits and distances beside exact search in f64.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exactSearch, openLazily, toHalf } from "leastwise/vectors";
import { decaying } from "../problems/vectors.mjs";
import { BACKENDS, ON_CUDA, open } from "./support.mjs";

const DIM = 37, COUNT = 900, K = 10;
/** Vectors far from the origin and near each other, which distances from products could hardly tell apart. */
const away = (count, seed) => decaying(count, DIM, { seed }).map((value) => 300 + value / 8);
const points = away(COUNT, 1), queries = away(40, 2);
const searcherOf = (backend) => (backend === "webgpu" || ON_CUDA ? backend : "cpu");

/** The same hits but for those that are equally far within rounding, and the same distances within a part of them. */
function same(hits, truth, part, what) {
  truth.distances.forEach((distance, at) => {
    const size = Math.max(Math.abs(distance), 1e-6);
    assert.ok(Math.abs(hits.distances[at] - distance) <= part * size, `${what}: ${hits.distances[at]} and ${distance} at ${at}`);
    const alike = [at - 1, at + 1].some((next) => Math.abs(truth.distances[next] - distance) <= 2 * part * size) || (at + 1) % K === 0;
    assert.ok(hits.ids[at] === truth.ids[at] || alike, `${what}: ${hits.ids[at]} and ${truth.ids[at]} at ${at}`);
  });
}

for (const backend of BACKENDS) {
  test(`${backend}: single precision finds what exact search finds, on whatever it searches`, async (t) => {
    const lw = await open(t, { backend }), cpu = await open(t, { backend: "cpu" });
    for (const metric of ["l2", "cosine", "dot"]) {
      const index = await lw.compress(points, { dim: DIM, code: "f32", metric });
      assert.deepEqual([index.info.code, index.info.clusters, index.info.rowBytes], ["f32", 1, 4 * (metric === "dot" ? DIM + 1 : DIM)]);
      index.searching = "device";
      const hits = await index.search(queries, { k: K });
      assert.equal(hits.searchedBy, searcherOf(backend));
      if (metric === "l2") same(hits, await exactSearch(points, queries, { dim: DIM, k: K }), 1e-5, metric);
      // Of directions and products of vectors so much alike f32 knows next to nothing: others are compared with the truth.
      const centred = decaying(COUNT, DIM), asked = decaying(40, DIM, { seed: 2 }), other = await lw.compress(centred, { dim: DIM, code: "f32", metric });
      same(await other.search(asked, { k: K }), await exactSearch(centred, asked, { dim: DIM, k: K, metric }), 2e-5, `${metric}, centred`);
      // Whatever searched, the distances of hits are the CPU's.
      const there = await cpu.openIndex(await index.save()), again = await there.search(queries, { k: K });
      assert.deepEqual(hits.ids, again.ids, metric);
      assert.deepEqual(hits.distances, again.distances, metric);
    }
  });

  test(`${backend}: vectors come back as they were, are changed, filtered and saved`, async (t) => {
    const lw = await open(t, { backend });
    const index = await lw.compress(points, { dim: DIM, code: "f32", keys: Array.from({ length: COUNT }, (_, id) => `v${id}`) });
    assert.deepEqual(index.reconstruct(Uint32Array.from({ length: COUNT }, (_, id) => id)), points);
    const more = away(5, 3);
    await index.upsert(more, { keys: ["v3", "a", "b", "c", "d"] });
    index.remove({ keys: ["v4"] });
    assert.equal(index.count, COUNT + 3);
    const { keys, distances } = await index.search(more, { k: 1 });
    assert.deepEqual([keys, [...distances]], [["v3", "a", "b", "c", "d"], [0, 0, 0, 0, 0]]);
    const file = await index.save();
    assert.equal(file.length, index.bytes);
    const back = await lw.openIndex(file);
    const few = { filter: { keys: ["v7", "b", "v100"] }, k: 3 };
    assert.deepEqual((await back.search(queries, few)).keys, (await index.search(queries, few)).keys);
    const lazy = await openLazily(lw, new Blob([await index.save({ lazy: true })]));
    assert.deepEqual((await lazy.search(queries, { k: K })).ids, (await index.search(queries, { k: K })).ids);
    const { offsets, ids } = await index.searchRange(more, { maxDistance: 0 });
    assert.deepEqual([offsets.length, ids.length], [6, 5]);
  });

  test(`${backend}: half precision keeps halves, and takes half the bytes`, async (t) => {
    const lw = await open(t, { backend });
    const values = toHalf(decaying(COUNT, DIM));
    const index = await lw.compress(values, { dim: DIM, code: "f16" });
    assert.ok(index.ratio > 0.5 && index.ratio < 0.52, `${index.ratio}`);
    assert.deepEqual(toHalf(index.reconstruct(Uint32Array.from({ length: COUNT }, (_, id) => id))), values);
    const single = await lw.compress(values, { dim: DIM, code: "f32" }), asked = decaying(30, DIM, { seed: 5 });
    const [a, b] = [await index.search(asked, { k: K }), await single.search(asked, { k: K })];
    assert.deepEqual([a.ids, a.distances], [b.ids, b.distances]);
  });

  test(`${backend}: clusters and graphs over vectors as they are`, async (t) => {
    const lw = await open(t, { backend });
    const points = decaying(COUNT, DIM), queries = decaying(40, DIM, { seed: 2 });
    const listed = await lw.compress(points, { dim: DIM, code: "f32", clusters: 16 }), truth = await exactSearch(points, queries, { dim: DIM, k: K });
    same(await listed.search(queries, { k: K }), truth, 1e-4, "clusters");
    const few = await listed.search(queries, { k: K, probes: 2 });
    assert.ok(few.distances.every((distance, at) => distance >= truth.distances[at] * (1 - 1e-4)));
    await listed.buildGraph({ degree: 16 });
    listed.searching = "cpu";
    const walked = await listed.search(queries, { k: K });
    assert.equal(walked.through, "graph");
    const met = walked.ids.filter((id, at) => truth.ids.subarray(at - (at % K), at - (at % K) + K).includes(id)).length;
    assert.ok(met >= 0.95 * walked.ids.length, `${met} of ${walked.ids.length}`);
  });
}

test("what callers get wrong", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  await assert.rejects(lw.compress(points, { dim: DIM, code: "f32", bits: 4 }), (error) => error.code === "invalid-option" && /only the code "bits"/.test(error.message));
  await assert.rejects(lw.compress(points, { dim: DIM, code: "f64" }), (error) => error.code === "invalid-option" && /"f32", "f16"/.test(error.message));
  const index = await lw.compress(points, { dim: DIM, code: "f16" });
  await assert.rejects(index.add(points.map((value) => value * 1000)), (error) => error.code === "limits");
});
