// Keys, filters and the envelope of index files.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exactSearch } from "leastwise/vectors";
import { decaying, nearest, unitRows } from "../problems/vectors.mjs";
import { Random } from "../problems/random.mjs";
import { FULL, open, refuses, rejects } from "./support.mjs";

const DIM = 24, COUNT = 900, QUERIES = 20, K = 10, NONE = 0xffffffff;
const points = decaying(COUNT, DIM), queries = decaying(QUERIES, DIM, { seed: 2 });
const rows = (first, count) => points.subarray(first * DIM, (first + count) * DIM);
const named = (first, count) => Array.from({ length: count }, (_, k) => `v${first + k}`);

const streamOf = (bytes, size) => new ReadableStream({
  start(controller) {
    for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
    controller.close();
  },
});

test("hits have keys; upsert, remove and has go by them", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress(rows(0, 600), { dim: DIM, code: "int8", keys: named(0, 600) });
  assert.deepEqual([index.info.keyed, index.has("v7"), index.has("v600"), [...index.idsOf(["v7", "v0"])]], [true, true, false, [7, 0]]);
  const hits = await index.search(queries, { k: K });
  assert.deepEqual(hits.keys, [...hits.ids].map((id) => `v${id}`));
  assert.deepEqual([...await index.add(rows(600, 2), { keys: ["new", 17] })], [600, 601]);
  assert.deepEqual((await index.search(rows(601, 1), { k: 1 })).keys, [17], "an integer stays one");
  // v3 gets the vector that v650 would have.
  assert.deepEqual([...await index.upsert(rows(650, 2), { keys: ["v3", "w"] })], [602, 603]);
  assert.deepEqual([index.count, index.info.nextId, [...index.idsOf(["v3"])]], [603, 604, [602]]);
  assert.deepEqual((await index.search(rows(650, 1), { k: 1 })).keys, ["v3"]);
  assert.ok(!(await index.search(rows(3, 1), { k: COUNT })).ids.includes(3), "the vector before is gone");
  assert.deepEqual([index.remove({ keys: ["w", "nobody", "v0"] }), index.count, index.has("w")], [2, 601, false]);
  assert.deepEqual([index.remove([1, 1, 602]), index.has("v1"), index.has("v3"), index.count], [2, false, false, 599]);
  const few = await index.search(rows(0, 1), { k: 605 });
  assert.deepEqual([few.keys.filter((key) => key === undefined).length, few.keys.at(-1), few.ids.at(-1)], [6, undefined, NONE]);
  const range = await index.searchRange(queries, { maxDistance: 0.5 });
  assert.deepEqual(range.keys, [...range.ids].map((id) => (id < 600 ? `v${id}` : id === 600 ? "new" : 17)));
  // Keys from arrays of integers.
  const counted = await lw.compress(rows(0, 5), { dim: DIM, keys: Uint32Array.of(9, 8, 7, 6, 5) });
  assert.deepEqual((await counted.search(rows(2, 1), { k: 1 })).keys, [7]);
  assert.deepEqual([counted.has(7), counted.has("7"), counted.has(-0)], [true, false, false]);
});

test("what callers get wrong with keys, which leaves all as it was", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress(rows(0, 50), { dim: DIM, code: "int8", keys: named(0, 50) }), plain = await lw.compress(rows(0, 50), { dim: DIM, code: "int8" });
  const without = "this index was made without keys, and knows its vectors by their ids; make it with compress(points, { keys }), or indexBits(lw, vectors, { dim, keys })";
  await rejects(index.add(rows(50, 1)), "invalid-option", "add(points, { keys }): this index has keys, so that vectors need them");
  await rejects(index.add(rows(50, 2), { keys: ["a"] }), "data-length", "keys has 1 keys, but there are 2 vectors");
  await rejects(index.add(rows(50, 2), { keys: ["a", "a"] }), "invalid-option", "keys: \"a\" is there twice, at 0 and at 1");
  await rejects(index.add(rows(50, 2), { keys: ["a", "v4"] }), "invalid-option", "keys: \"v4\" is in the index already; upsert(points, { keys }) replaces its vector");
  await rejects(index.add(rows(50, 1), { keys: [0.5] }), "invalid-option", "keys[0] is 0.5, which is neither a string nor a safe integer (give larger numbers as strings)");
  await rejects(index.add(rows(50, 1), { keys: [2 ** 53] }), "invalid-option", /^keys\[0\] is 9007199254740992, which is neither/);
  await rejects(index.add(rows(50, 1), { keys: [null] }), "invalid-option", /^keys\[0\] is null, which is neither/);
  await rejects(index.upsert(rows(50, 1), {}), "invalid-option", "keys must be an array of strings or integers, not undefined");
  await rejects(lw.compress(rows(0, 2), { dim: DIM, keys: "ab" }), "invalid-option", "keys must be an array of strings or integers, not a string");
  await rejects(lw.compress(rows(0, 2), { dim: DIM, keys: ["a"] }), "data-length", "keys has 1 keys, but there are 2 vectors");
  await rejects(plain.add(rows(50, 1), { keys: ["a"] }), "invalid-option", `keys: ${without}`);
  await rejects(plain.upsert(rows(50, 1), { keys: ["a"] }), "invalid-option", `upsert(points, { keys }): ${without}`);
  await rejects(plain.search(queries, { k: 1, filter: { keys: ["a"] } }), "invalid-option", `filter.keys: ${without}`);
  refuses(() => plain.remove({ keys: ["a"] }), "invalid-option", `remove({ keys }): ${without}`);
  refuses(() => plain.has("a"), "invalid-option", `has(key): ${without}`);
  refuses(() => plain.idsOf(["a"]), "invalid-option", `idsOf(keys): ${without}`);
  refuses(() => index.idsOf(["v1", "nobody"]), "index-out-of-range", "idsOf(keys): no vector has the key \"nobody\"");
  refuses(() => index.remove({ ids: [1] }), "invalid-option", /^remove\(\{ keys \}\): vectors have no "ids"/);
  refuses(() => index.remove({}), "invalid-option", "keys must be an array of strings or integers, not undefined");
  // What ends early exchanges nothing.
  const reason = new Error("enough");
  await assert.rejects(index.upsert(rows(50, 2), { keys: ["v1", "a"], signal: AbortSignal.abort(reason) }), (thrown) => thrown === reason);
  const broken = rows(50, 2).slice();
  broken[0] = NaN;
  await rejects(index.upsert(broken, { keys: ["v1", "a"] }), "non-finite", /component 0 of row 0 is NaN/, { instance: 0 });
  assert.deepEqual([index.count, index.has("a"), [...index.idsOf(["v1"])], (await index.search(rows(1, 1), { k: 1 })).keys], [50, false, [1], ["v1"]]);
});

test("changes that run at once take their turns", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress([], { dim: DIM, code: "int8", keys: [] });
  const moving = rows(0, 300).slice();
  const first = index.add(moving, { keys: named(0, 300) }), second = index.upsert(rows(300, 300), { keys: named(200, 300) });
  const third = index.add(rows(600, 1), { keys: ["v10"] }), file = index.save(), fourth = index.upsert(moving, { keys: named(1000, 300) });
  // All of them were given what they need.
  moving.fill(0);
  const settled = await Promise.allSettled([first, second, third, fourth]);
  assert.deepEqual(settled.map(({ status, reason }) => reason?.code ?? status), ["fulfilled", "fulfilled", "invalid-option", "fulfilled"]);
  assert.deepEqual([index.count, [...index.idsOf(["v199", "v200", "v299", "v499", "v1000"])]], [800, [199, 300, 399, 599, 600]]);
  const opened = await lw.openIndex(await file);
  assert.deepEqual([opened.count, opened.has("v499"), opened.has("v1000")], [500, true, false], "as it was in its turn");
  // Searches while vectors are exchanged never see one without its key.
  const searches = [];
  const exchanging = index.upsert(rows(0, 300), { keys: named(0, 300) }).then(() => searches.push("done"));
  for (let turn = 0; turn < 200 && !searches.includes("done"); turn++) {
    searches.push(index.search(queries, { k: 50 }));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await exchanging;
  for (const hits of await Promise.all(searches)) if (hits !== "done") assert.ok(hits.keys.every((key) => typeof key === "string"));
});

test("any sequence of changes leaves what a table would", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const metric of ["l2", "cosine", "dot"]) {
    const random = new Random(metric.length), table = new Map();
    let index = await lw.compress(rows(0, 300), { dim: DIM, metric, bits: 8, keys: named(0, 300), ...(metric === "dot" && { maxNorm: 20 }) });
    named(0, 300).forEach((key, row) => table.set(key, row));
    for (let step = 0; step < (FULL ? 60 : 25); step++) {
      const keys = [...new Set(Array.from({ length: 1 + random.below(40) }, () => `v${random.below(500)}`))], first = random.below(COUNT - 40);
      const kind = random.below(4);
      if (kind === 0) {
        assert.equal(index.remove({ keys }), keys.filter((key) => table.delete(key)).length);
      } else if (kind === 1) {
        index = await lw.openIndex(step % 2 ? await index.save() : streamOf(await index.save(), 1 + random.below(5000)));
      } else {
        await index.upsert(rows(first, keys.length), { keys });
        keys.forEach((key, k) => table.set(key, first + k));
      }
      assert.equal(index.count, table.size);
      assert.ok(keys.every((key) => index.has(key) === table.has(key)));
    }
    const held = [...table], all = Float32Array.from(held.flatMap(([, row]) => [...rows(row, 1)]));
    const hits = await index.search(queries, { k: table.size });
    for (let query = 0; query < QUERIES; query++) assert.deepEqual(hits.keys.slice(query * table.size, (query + 1) * table.size).sort(), held.map(([key]) => key).sort());
    // The nearest among the originals; several keys may have the same vector.
    const truth = await exactSearch(all, queries, { dim: DIM, metric, k: 1 }), found = await index.search(queries, { k: 1 });
    assert.ok([...truth.ids].filter((place, query) => held[place][1] === table.get(found.keys[query])).length >= QUERIES - 2, metric);
    const back = index.reconstruct(index.idsOf(held.map(([key]) => key))), again = metric === "cosine" ? unitRows(all, DIM) : all;
    assert.ok(back.every((value, at) => Math.abs(value - again[at]) < 0.05), metric);
  }
});

test("filters in every form, one for all queries or one for each", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress(points, { dim: DIM, code: "int8", clusters: 16, keys: named(0, COUNT) });
  const may = (id) => id % 7 === 3 && id > 100, allowed = Array.from({ length: COUNT }, (_, id) => id).filter(may);
  const bits = new Uint8Array(Math.ceil(COUNT / 8));
  for (const id of allowed) bits[id >> 3] |= 1 << (id & 7);
  const mask = Uint8Array.from({ length: COUNT }, (_, id) => (may(id) ? 5 : 0));
  const expected = await index.search(queries, { k: K, filter: mask });
  assert.ok(expected.ids.every(may));
  const near = nearest(points, queries, DIM, K, may);
  assert.ok(near.flat().filter((id, at) => expected.ids.subarray(Math.floor(at / K) * K, Math.floor(at / K) * K + K).includes(id)).length > 0.97 * QUERIES * K);
  const keys = allowed.map((id) => `v${id}`), calls = [];
  for (const filter of [{ bits }, { ids: allowed }, { ids: Uint32Array.from(allowed) }, { keys }, { keys: [...keys, "nobody", keys[0]] }, may, (id, key) => { calls.push(id); return keys.includes(key); }]) {
    assert.deepEqual(await index.search(queries, { k: K, filter }), expected);
  }
  assert.deepEqual(calls, Array.from({ length: COUNT }, (_, id) => id), "once for each vector");
  const even = { ids: allowed.filter((id) => id % 2 === 0) };
  const filters = Array.from({ length: QUERIES }, (_, query) => [undefined, mask, even, (id) => id === 500 + query][query % 4]);
  const mixed = await index.search(queries, { k: K, filters });
  for (let query = 0; query < QUERIES; query++) {
    const [filter] = [filters[query]], one = await index.search(queries.subarray(query * DIM, (query + 1) * DIM), { k: K, ...(filter && { filter }) });
    assert.deepEqual(mixed.ids.slice(query * K, (query + 1) * K), one.ids);
    assert.deepEqual(mixed.distances.slice(query * K, (query + 1) * K), one.distances);
    if (query % 4 === 3) assert.deepEqual([...one.ids], [500 + query, ...Array(K - 1).fill(NONE)]);
  }
  // Whatever clusters are searched first, there are k hits, or as many as there can be.
  for (const [filter, wanted] of [[mask, K], [{ ids: [4, 80, 700] }, 3], [{ ids: [] }, 0]]) {
    const { ids } = await index.search(queries, { k: K, filter, probes: 1 });
    for (let query = 0; query < QUERIES; query++) {
      const found = [...ids.subarray(query * K, (query + 1) * K)].filter((id) => id !== NONE);
      assert.equal(found.length, wanted);
      assert.equal(new Set(found).size, wanted);
    }
  }
  // Of more than 256 clusters not all are searched by default.
  const many = await lw.compress(points, { dim: DIM, code: "int8", clusters: 500 });
  const lone = await many.search(queries, { k: 2, filters: Array.from({ length: QUERIES }, (_, query) => ({ ids: [40 * query] })) });
  assert.deepEqual([...lone.ids], Array.from({ length: QUERIES }, (_, query) => [40 * query, NONE]).flat());
  // Neither what their owner writes to meanwhile nor vectors that come meanwhile change what is found.
  const written = mask.slice(), asked = queries.slice(), searching = index.search(asked, { k: K, filter: written, probes: 1 });
  const during = many.search(queries, { k: K, filters: Array.from({ length: QUERIES }, (_, query) => (query % 2 ? mask : undefined)) }), adding = many.add(rows(0, 5));
  written.fill(0);
  asked.fill(0);
  assert.deepEqual((await searching).ids, (await index.search(queries, { k: K, filter: mask, probes: 1 })).ids);
  await adding;
  assert.ok([...(await during).ids].every((id, at) => Math.floor(at / K) % 2 === 0 || may(id)));
  await rejects(many.search(queries, { k: 2 ** 25, filters: Array(QUERIES).fill(undefined) }), "limits", /^20 queries × k = 33554432 are too many hits for one call: 268435456 are the most$/);
  index.remove([4, 80]);
  assert.deepEqual([...(await index.search(queries.subarray(0, DIM), { k: 3, filter: { ids: [4, 80, 700] }, probes: 1 })).ids], [700, NONE, NONE]);
  await index.add(rows(0, 1), { keys: ["late"] });
  const wrong = [
    [{ filter: mask }, "data-length", `filter has ${COUNT} bytes, but ${COUNT + 1} are needed: one for each id, those of removed vectors among them`],
    [{ filter: { bits: bits.subarray(1) } }, "data-length", `filter.bits has 112 bytes, but 113 are needed: a bit for each of ${COUNT + 1} ids, those of removed vectors among them`],
    [{ filter: { bits: [1] } }, "invalid-option", "filter.bits must be a Uint8Array with a bit for each id, not an array"],
    [{ filter: { ids: [COUNT + 1] } }, "index-out-of-range", `filter.ids[0] is ${COUNT + 1}, but the index has given ${COUNT + 1} ids`],
    [{ filter: { ids: [-1] } }, "invalid-option", "filter.ids must be an array of non-negative integers; ids[0] is -1"],
    [{ filter: { ids: [1], keys: ["a"] } }, "invalid-option", "filter must have one of ids, keys and bits"],
    [{ filter: {} }, "invalid-option", "filter must have one of ids, keys and bits"],
    [{ filter: { key: ["a"] } }, "invalid-option", /^filter: properties have no "key": did you mean "keys"\?/],
    [{ filter: "a" }, "invalid-option", "filter must be a Uint8Array with a byte for each id, { ids }, { keys }, { bits } or a function, not a string"],
    [{ filters: [mask] }, "data-length", `filters has 1 entries, but there are ${QUERIES} queries`],
    [{ filters: mask }, "invalid-option", "filters must be an array with a filter for each query, not a Uint8Array"],
    [{ filters, filter: mask }, "invalid-option", "filter and filters: give one filter for all queries, or one for each"],
  ];
  for (const [options, code, message] of wrong) await rejects(index.search(queries, { k: K, ...options }), code, message);
  await assert.rejects(index.search(queries, { k: 1, filter: () => { throw new RangeError("mine"); } }), RangeError);
});

test("files keep keys, whatever characters they have, and runs of ids", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const odd = ["", " ", "\n", "\"", "\\", "ü", "𝄞", "\ud800", "\0", "a".repeat(5000), "__proto__", 0, -1, 2 ** 53 - 1, "0"];
  const index = await lw.compress(rows(0, odd.length), { dim: DIM, code: "int8", keys: odd });
  index.remove([3, 4, 9]);
  const file = await index.save(), left = odd.filter((_, id) => ![3, 4, 9].includes(id));
  assert.equal(file.length, index.bytes);
  for (const source of [file, file.buffer, streamOf(file, 1), streamOf(file, 61), streamOf(file, 1 << 20)]) {
    const opened = await lw.openIndex(source);
    assert.deepEqual([...opened.idsOf(left)], [...index.idsOf(left)]);
    assert.deepEqual(await opened.search(queries, { k: 20 }), await index.search(queries, { k: 20 }));
    assert.deepEqual(await opened.save(), file);
  }
  const described = JSON.parse(new TextDecoder().decode(file.subarray(64, 64 + new DataView(file.buffer).getUint32(12, true))));
  assert.deepEqual([described.metric, described.ids, described.keys], ["l2", [[0, 3], [5, 4], [10, 5]], left]);
});

test("files that are cut, changed, spliced or something else", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress(rows(0, 40), { dim: DIM, bits: 2, clusters: 2, metric: "dot", keys: named(0, 40) });
  const file = await index.save(), isOurs = (error) => /^file-(format|corrupt|truncated|version)$/.test(error.code);
  for (let at = 0; at < file.length; at += at < 700 ? 1 : 13) {
    const flipped = file.slice();
    flipped[at] ^= 1 << (at % 8);
    for (const source of [flipped, streamOf(flipped, 97)]) await assert.rejects(lw.openIndex(source), isOurs, `byte ${at}`);
    const cut = file.subarray(0, at);
    for (const source of [cut, streamOf(cut, 97)]) await assert.rejects(lw.openIndex(source), (error) => error.code === "file-truncated", `${at} bytes`);
  }
  for (const more of [Uint8Array.of(0), file]) await assert.rejects(lw.openIndex(Uint8Array.of(...file, ...more)), isOurs);
  const newer = file.slice();
  newer[8] = 2;
  await rejects(lw.openIndex(newer), "file-version", "the file is of version 2 of indices with a metric or keys; version 1 can be read");
  // Descriptions whose checksum is right.
  const start = 64 + Math.ceil(new DataView(file.buffer).getUint32(12, true) / 64) * 64, engine = file.subarray(start);
  const said = JSON.parse(new TextDecoder().decode(file.subarray(64, 64 + new DataView(file.buffer).getUint32(12, true))));
  const made = (description) => {
    const text = new TextEncoder().encode(typeof description === "string" ? description : JSON.stringify(description)), head = new Uint8Array(64 + Math.ceil(text.length / 64) * 64), view = new DataView(head.buffer);
    head.set(file.subarray(0, 12));
    view.setUint32(12, text.length, true);
    head.set(text, 64);
    view.setUint32(16, crc32c([...head.subarray(0, 16), ...head.subarray(64)]), true);
    return Uint8Array.of(...head, ...engine);
  };
  assert.deepEqual(made(said), file, "as it is written");
  const bad = [
    "{", "[]", "3", "\"\ud800\"", { ...said, metric: "l1" }, { ...said, metric: undefined }, { ...said, maxNorm: 0 }, { ...said, maxNorm: "1" }, { ...said, metric: "l2" }, { ...said, more: 1 }, { ...said, ratio: -1 },
    { ...said, ids: undefined }, { ...said, keys: undefined }, { ...said, keys: 3 }, { ...said, ids: [[0, 39]] }, { ...said, ids: [[0, 41]] }, { ...said, ids: [[0, 20], [19, 20]] }, { ...said, ids: [[0, 2 ** 32]] },
    { ...said, ids: [[0, 20], [21, 20]] }, { ...said, ids: [[0.5, 40]] }, { ...said, ids: [[0, 40], [40, 0]] }, { ...said, ids: [3] }, { ...said, keys: said.keys.map(() => "a") }, { ...said, keys: said.keys.map((_, k) => k + 0.5) },
    { ...said, keys: said.keys.map((_, k) => [k]) }, { ...said, ids: [[0, 39]], keys: said.keys.slice(1) }, { ...said, ids: [], keys: [] },
  ];
  for (const description of bad) {
    for (const source of [made(description), streamOf(made(description), 50)]) await assert.rejects(lw.openIndex(source), isOurs, JSON.stringify(description).slice(0, 200));
  }
  // An index without maxNorm is one that never had vectors.
  const unsized = await lw.openIndex(made({ metric: "dot" }));
  assert.ok((await unsized.search(queries, { k: 3 })).scores.every(Number.isFinite));
  assert.equal((await unsized.add(rows(0, 2))).length, 2);
  // Keys of other ids than the file's vectors have are told as soon as such a vector is found.
  const gone = await lw.openIndex(file);
  gone.remove([3]);
  const with39 = await gone.save(), inner = with39.subarray(64 + Math.ceil(new DataView(with39.buffer).getUint32(12, true) / 64) * 64);
  const spliced = Uint8Array.of(...made({ ...said, ids: [[0, 39]], keys: said.keys.slice(1) }).subarray(0, start), ...inner);
  const opened = await lw.openIndex(spliced);
  await rejects(opened.search(queries, { k: 39 }), "file-corrupt", "the vector of id 39 has no key: the file's keys are not those of its vectors");
});

/** CRC-32C bit by bit. */
function crc32c(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  }
  return ~value >>> 0;
}

test("the checksum is that of RFC 3720", () => assert.equal(crc32c(new TextEncoder().encode("123456789")), 0xe3069283));
