// Vectors of bits: exact hits by Hamming distance, filters, keys, files, and mistakes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { indexBits, openBits } from "leastwise/vectors";
import { reframed } from "../problems/framing.mjs";
import { Random } from "../problems/random.mjs";
import { BACKENDS, open, rejects } from "./support.mjs";

const NONE = 2 ** 32 - 1;

/** Packed rows, of which bits behind the last component are zero. */
function packed(count, dim, seed) {
  const random = new Random(seed), bytes = Math.ceil(dim / 8), mask = (0xff << (8 * bytes - dim)) & 0xff;
  return Uint8Array.from({ length: count * bytes }, (_, at) => random.below(256) & random.below(256) & (at % bytes === bytes - 1 ? mask : 255));
}

/** By definition: the ids, nearest first, of equally near ones the lower. */
function truth(rows, query, bytes, may = () => true) {
  const ones = (byte) => byte.toString(2).replaceAll("0", "").length;
  return Array.from({ length: rows.length / bytes }, (_, id) => ({ id, distance: query.reduce((sum, byte, k) => sum + ones(byte ^ rows[id * bytes + k]), 0) })).filter(({ id }) => may(id))
    .sort((a, b) => a.distance - b.distance || a.id - b.id);
}

for (const backend of BACKENDS) {
  test(`${backend}: hits are exact, with filters, ranges, additions and removals`, async (t) => {
    const lw = await open(t, { backend });
    for (const dim of [1, 20, 64, 128, 384, 1000]) {
      const bytes = Math.ceil(dim / 8), rows = packed(900, dim, dim), queries = packed(6, dim, dim + 1);
      const index = await indexBits(lw, rows.subarray(0, 800 * bytes), { dim });
      assert.deepEqual([...index.add(rows.subarray(800 * bytes))].slice(0, 2), [800, 801]);
      assert.equal(index.remove([7, 8, 7, 5000]), 2);
      assert.deepEqual([index.dim, index.count, index.nextId, index.metric, index.keyed], [dim, 898, 900, "hamming", false]);
      const there = (id) => id !== 7 && id !== 8;
      const even = { filter: (id) => id % 2 === 0 }, filters = Array.from({ length: 6 }, (_, k) => (k % 2 === 0 ? undefined : { ids: [1, 2, 3] }));
      for (const [options, may] of [[{}, there], [even, (id) => there(id) && id % 2 === 0], [{ filters }, (id, query) => there(id) && (query % 2 === 0 || [1, 2, 3].includes(id))]]) {
        const hits = await index.search(queries, { k: 12, ...options });
        assert.deepEqual([hits.searchedBy, hits.reason === undefined], ["cpu", backend === "cpu"]);
        for (let query = 0; query < 6; query++) {
          const expected = truth(rows, queries.subarray(query * bytes, (query + 1) * bytes), bytes, (id) => may(id, query)).slice(0, 12), missing = Array(12 - expected.length).fill(NONE);
          assert.deepEqual([...hits.ids.subarray(query * 12, query * 12 + 12)], [...expected.map(({ id }) => id), ...missing], `${dim} bits, query ${query}`);
          assert.deepEqual([...hits.distances.subarray(query * 12, query * 12 + 12)], [...expected.map(({ distance }) => distance), ...missing]);
        }
      }
      const maxDistance = Math.floor(dim / 3), range = await index.searchRange(queries, { maxDistance });
      for (let query = 0; query < 6; query++) {
        const expected = truth(rows, queries.subarray(query * bytes, (query + 1) * bytes), bytes, there).filter(({ distance }) => distance <= maxDistance);
        assert.deepEqual([...range.ids.subarray(range.offsets[query], range.offsets[query + 1])], expected.map(({ id }) => id));
      }
      assert.deepEqual(await index.vectors([899, 0]), Uint8Array.of(...rows.subarray(899 * bytes), ...rows.subarray(0, bytes)));
      const file = await index.save(), again = await openBits(lw, file);
      assert.deepEqual(await again.search(queries, { k: 30 }), await index.search(queries, { k: 30 }));
      assert.deepEqual(await again.save(), file);
      assert.ok(file.length <= 898 * bytes + 512);
      index.dispose();
      await rejects(index.search(queries, { k: 1 }), "disposed", /disposed/);
    }
  });
}

test("keys, as indices by other metrics have them", async (t) => {
  const lw = await open(t, { backend: "cpu" }), rows = packed(50, 40, 3);
  const index = await indexBits(lw, rows, { dim: 40, keys: Array.from({ length: 50 }, (_, k) => `v${k}`) });
  assert.throws(() => index.add(rows.subarray(0, 5)), { code: "invalid-option" });
  assert.throws(() => index.add(rows.subarray(0, 5), { keys: ["v3"] }), { code: "invalid-option", message: /upsert/ });
  assert.deepEqual([...index.upsert(rows.subarray(0, 10), { keys: ["v3", "new"] })], [50, 51]);
  assert.deepEqual([index.count, index.has("v3"), ...index.idsOf(["v3", "v4"])], [51, true, 50, 4]);
  assert.equal(index.remove({ keys: ["v4", "nobody"] }), 1);
  const hits = await index.search(rows.subarray(0, 5), { k: 3, filter: { keys: ["v3", "v0", "v9"] } });
  assert.deepEqual([...hits.keys], ["v0", "v3", "v9"]);
  const again = await openBits(lw, await index.save());
  assert.deepEqual(await again.search(rows.subarray(5, 10), { k: 4 }), await index.search(rows.subarray(5, 10), { k: 4 }));
  assert.throws(() => again.idsOf(["v4"]), { code: "index-out-of-range" });
  const range = await again.searchRange(rows.subarray(0, 5), { maxDistance: 0 });
  assert.deepEqual([range.keys[0], range.distances[0]], ["v0", 0]);
});

test("an engine counts indices of bits, and frees them with their owner", async (t) => {
  const lw = await open(t, { backend: "cpu" }), before = lw.memory().indices, index = await indexBits(lw, packed(10, 12, 1), { dim: 12 });
  assert.equal(lw.memory().indices, before + 1);
  index.dispose();
  index.dispose();
  assert.equal(lw.memory().indices, before);
});

test("keys in a file must be of its vectors", async (t) => {
  const lw = await open(t, { backend: "cpu" }), rows = packed(4, 32, 2), index = await indexBits(lw, rows, { dim: 32, keys: ["a", "b", "c", "d"] });
  index.remove([1]);
  const file = await index.save(), length = new DataView(file.buffer).getUint32(12, true), start = 64 + Math.ceil(length / 64) * 64;
  const said = JSON.parse(new TextDecoder().decode(file.subarray(64, 64 + length)));
  assert.deepEqual(said.ids, [[0, 1], [2, 2]]);
  assert.equal((await openBits(lw, reframed(file, said, start))).count, 3);
  for (const ids of [[[0, 2], [3, 1]], [[0, 3]], [[1, 3]], [[0, 1], [2, 1], [4, 1]]]) await rejects(openBits(lw, reframed(file, { ...said, ids }, start)), "file-format", /keys/);
});

test("mistakes are named, and files that are none refused", async (t) => {
  const lw = await open(t, { backend: "cpu" }), rows = packed(10, 12, 1), index = await indexBits(lw, rows, { dim: 12 });
  await rejects(indexBits(lw, new Float32Array(4), { dim: 32 }), "invalid-option", /Uint8Array/);
  await rejects(indexBits(lw, rows, { dim: 0 }), "invalid-option", /dim/);
  await rejects(indexBits({}, rows, { dim: 12 }), "invalid-option", /engine/);
  await rejects(indexBits(lw, Uint8Array.of(1, 1), { dim: 12 }), "invalid-option", /packbits/);
  await rejects(index.search(Uint8Array.of(1), { k: 1 }), "data-length", /12 bits/);
  await rejects(index.search(Uint8Array.of(1, 16), {}), "invalid-option", /k/);
  await rejects(index.search(Uint8Array.of(1, 16), { k: 1, probes: 3 }), "invalid-option", /probes/);
  await rejects(index.searchRange(Uint8Array.of(1, 16), {}), "invalid-option", /maxDistance/);
  await assert.rejects(index.search(Uint8Array.of(1, 16), { k: 1, signal: AbortSignal.abort(new Error("no more")) }), /no more/);
  const file = await index.save(), random = new Random(3);
  for (const length of [0, 7, 63, 64, file.length - 1]) await assert.rejects(openBits(lw, file.subarray(0, length)), ({ code }) => /file-(truncated|format)/.test(code));
  await rejects(openBits(lw, await (await lw.compress(new Float32Array(80).map(() => random.normal()), { dim: 4 })).save()), "file-format", /./);
  await rejects(lw.openIndex(file), "file-format", /./);
  const keyed = await (await indexBits(lw, rows, { dim: 12, keys: Array.from({ length: rows.length / 2 }, (_, k) => k) })).save();
  for (const of of [file, keyed]) {
    for (let round = 0; round < 60; round++) {
      const damaged = of.slice();
      damaged[random.below(of.length)] ^= 1 << random.below(8);
      await assert.rejects(openBits(lw, damaged), ({ code }) => /file-(truncated|format|corrupt|version)/.test(code));
    }
  }
});
