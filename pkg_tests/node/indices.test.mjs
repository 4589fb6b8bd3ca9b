// Indices of compressed vectors, on every backend: search, change, measure, save and open.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decaying, nearest, recallOf, squaredDistance } from "../problems/vectors.mjs";
import { ADDON, BACKENDS, FULL, ON_CUDA, open, rejects, refuses } from "./support.mjs";

const DIM = 24, COUNT = 1500, K = 10;
const points = decaying(COUNT, DIM), queries = decaying(40, DIM, { seed: 2 });
const exact = nearest(points, queries, DIM, K);
/** Codes, and the recall that they must have here. */
const CODES = [[{ code: "int8" }, 0.98], [{ code: "int4" }, 0.82], [{ code: "bits", bits: 6 }, 0.95], [{ ratio: 0.2 }, 0.85], [{ code: "f32" }, 1], [{ code: "f16" }, 0.995], [{ code: "none", clusters: 64 }, 0.1]];
/** A software adapter is slow to cluster, which all codes begin with: a quick run has some of them there. */
const codesOn = (backend, some) => (backend === "webgpu" && !FULL ? CODES.filter(([{ code }]) => some.includes(code)) : CODES);
const NONE = 0xffffffff;

/** What batches of queries are searched on. */
const searcherOf = (backend) => (backend === "webgpu" || ON_CUDA ? backend : "cpu");

/** The same distances within a part of them, and the same neighbours but for those that are as near. */
function near(hits, expected, part, what) {
  assert.equal(hits.ids.length, expected.ids.length);
  hits.distances.forEach((distance, at) => {
    const other = expected.distances[at];
    assert.ok(distance === other || Math.abs(distance - other) <= part * other, `${what}: ${distance} and ${other} at ${at}`);
    if (hits.ids[at] === expected.ids[at]) return;
    const alike = [at - 1, at + 1].some((next) => Math.abs(expected.distances[next] - other) <= 2 * part * other);
    // Of the last, who comes next is not known.
    assert.ok(part > 0 && (alike || (at + 1) % K === 0), `${what}: ${hits.ids[at]} and ${expected.ids[at]} at ${at}`);
  });
}

/** So many copies, one after the other; of one it is the array itself, which an index finds again while somebody holds it. */
const repeated = (values, times) => times === 1 ? values : Float32Array.from({ length: times * values.length }, (_, k) => values[k % values.length]);

/**
 * Asserts that something holds of so much work as takes this machine more than one time slice: of 1, 4, 16 or 64 times the vectors. What is
 * over at once tells of no progress in between, and can't be ended; on a thread of its own it may be over before it is told to end.
 */
async function atPace(what, holds) {
  for (let more = 1; more <= 64; more *= 4) if (await holds(more)) return;
  assert.fail(`${what}: not even of 64 times the vectors`);
}

const streamOf = (bytes, size) => new ReadableStream({
  start(controller) {
    for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
    controller.close();
  },
});

for (const backend of BACKENDS) {
  test(`${backend}: every code finds what it should, and takes what it says`, async (t) => {
    const lw = await open(t, { backend });
    for (const [code, least] of codesOn(backend, ["int8", "bits", "none", "f32"])) {
      const index = await lw.compress(points, { dim: DIM, ...code });
      const what = JSON.stringify(code);
      const hits = await index.search(queries, { k: K });
      assert.deepEqual([hits.ids.length, hits.distances.length, hits.k], [40 * K, 40 * K, K]);
      const recall = recallOf(hits, exact);
      assert.ok(recall >= least, `${what}: recall ${recall}`);
      for (let at = 1; at < hits.distances.length; at++) assert.ok(at % K === 0 || hits.distances[at] >= hits.distances[at - 1], `${what}: the nearest first`);
      const file = await index.save();
      assert.deepEqual([index.bytes, index.count, index.dim, index.info.code], [file.length, COUNT, DIM, code.code ?? "bits"]);
      assert.equal(index.ratio, file.length / (4 * DIM * COUNT));
      if (code.ratio) assert.ok(index.ratio <= code.ratio, `${index.ratio}`);
      const found = await index.evaluate(queries, { k: K });
      assert.ok(Math.abs(found.recall - recall) <= 0.01, `${what}: ${found.recall} and ${recall}`);
      assert.deepEqual([found.bytes, found.ratio], [file.length, index.ratio]);
      // One query at a time finds the same.
      const alone = await index.search(queries.subarray(7 * DIM, 8 * DIM), { k: K });
      near(alone, { ids: hits.ids.slice(7 * K, 8 * K), distances: hits.distances.slice(7 * K, 8 * K) }, searcherOf(backend) === "cpu" ? 0 : 1e-4, what);
    }
  });

  test(`${backend}: batches are searched on the device, and hits say what searched`, async (t) => {
    const [lw, cpu] = [await open(t, { backend }), await open(t, { backend: "cpu" })];
    const searcher = searcherOf(backend);
    const filter = Uint8Array.from({ length: COUNT }, (_, id) => (id % 5 === 2 ? 0 : 1));
    let index;
    for (const code of [{ code: "int4" }, { code: "bits", bits: 6 }]) {
      const same = await cpu.compress(points, { dim: DIM, clusters: 12, ...code });
      index = await lw.openIndex(await same.save());
      for (const options of [{ k: K }, { k: K, probes: 3, filter }]) {
        const what = JSON.stringify({ ...code, ...options, filter: undefined });
        index.searching = "device";
        const hits = await index.search(queries, options);
        index.searching = "auto";
        assert.deepEqual([hits.searchedBy, "reason" in hits], [searcher, false], what);
        near(hits, await same.search(queries, options), 1e-4, what);
        const one = queries.subarray(0, DIM), [alone, expected] = [await index.search(one, options), await same.search(one, options)];
        assert.deepEqual([alone.searchedBy, alone.reason], ["cpu", searcher === "cpu" ? undefined : "fewer than 16 queries"], what);
        assert.deepEqual([alone.ids, alone.distances], [expected.ids, expected.distances], what);
      }
    }
    const chosen = await index.search(queries, { k: K }), isSoftware = backend === "webgpu" && searcher === "webgpu" && chosen.searchedBy === "cpu";
    assert.deepEqual([chosen.searchedBy, chosen.reason], isSoftware ? ["cpu", "the adapter is software, which takes longer"] : [searcher, undefined]);
    index.searching = "cpu";
    assert.equal((await index.search(queries, { k: K })).searchedBy, "cpu");
    refuses(() => { index.searching = "gpu"; }, "invalid-option", 'searching: "gpu" is not one of "auto", "cpu", "device"');
    index.searching = "device";
    const many = await index.search(queries, { k: 513 });
    assert.deepEqual([many.searchedBy, many.reason], ["cpu", searcher === "cpu" ? undefined : "more than 512 neighbours"]);
    const found = await index.evaluate(queries, { k: K, points });
    assert.deepEqual([found.searchedBy, "reason" in found], [searcher, false]);
    // Several at once, and one that is given up.
    const all = await Promise.all([1, 2, 3].map((k) => index.search(queries, { k })));
    all.forEach((hits, at) => assert.deepEqual([hits.k, hits.searchedBy], [at + 1, searcher]));
    if (searcher !== "cpu") {
      const end = new AbortController();
      const given = index.search(queries, { k: 4, signal: end.signal });
      end.abort(new Error("enough"));
      // The addon may have found them before it hears of it.
      const [ended] = await Promise.allSettled([given]);
      if (ADDON && ended.status === "fulfilled") assert.deepEqual(ended.value.ids, (await index.search(queries, { k: 4 })).ids);
      else assert.match(ended.reason.message, /enough/);
    }
    const [before, after] = [all[2], await index.search(queries, { k: 3 })];
    assert.deepEqual([after.ids, after.distances], [before.ids, before.distances]);
  });

  test(`${backend}: a saved index is the same index, from bytes and from streams, and its file has the same bits every time`, async (t) => {
    const lw = await open(t, { backend });
    for (const [code] of codesOn(backend, ["int4", "int8"])) {
      const index = await lw.compress(points, { dim: DIM, seed: 3, ...code });
      const again = await lw.compress(points, { dim: DIM, seed: 3, ...code });
      const file = await index.save(), hits = await index.search(queries, { k: 5 });
      assert.deepEqual(Buffer.compare(file, await again.save()), 0);
      for (const source of [file, file.buffer.slice(file.byteOffset, file.byteOffset + file.length), streamOf(file, 1000), streamOf(file, 1 << 20)]) {
        const opened = await lw.openIndex(source);
        assert.deepEqual(await opened.search(queries, { k: 5 }), hits);
        // What memory has in reserve is another thing.
        assert.deepEqual({ ...opened.info, memory: 0 }, { ...index.info, memory: 0 });
        assert.equal(Buffer.compare(await opened.save(), file), 0);
      }
    }
  });

  test(`${backend}: vectors are added, removed, filtered and reconstructed`, async (t) => {
    const lw = await open(t, { backend });
    const more = decaying(300, DIM, { seed: 4 });
    const index = await lw.compress(points, { dim: DIM, code: "int8" });
    assert.deepEqual(await index.add(more), Uint32Array.from({ length: 300 }, (_, i) => COUNT + i));
    const all = Float32Array.from([...points, ...more]);
    const isFound = (hits, allowed, least) => {
      const recall = recallOf(hits, nearest(all, queries, DIM, hits.k, allowed));
      assert.ok(recall >= least, `recall ${recall}`);
      assert.ok(hits.ids.every((id) => id === NONE || allowed(id)));
    };
    isFound(await index.search(queries, { k: K }), () => true, 0.97);

    const removed = [...new Set([...await index.search(queries, { k: 3 }).then(({ ids }) => ids)])].slice(0, 60);
    assert.equal(index.remove([...removed, removed[0]]), removed.length);
    assert.equal(index.remove(Uint32Array.from(removed)), 0);
    assert.deepEqual([index.count, index.info.nextId], [COUNT + 300 - removed.length, COUNT + 300]);
    const stays = (id) => !removed.includes(id);
    isFound(await index.search(queries, { k: K }), stays, 0.97);
    const filter = Uint8Array.from({ length: COUNT + 300 }, (_, id) => (id % 3 === 1 ? 255 : 0));
    isFound(await index.search(queries, { k: K, filter }), (id) => stays(id) && id % 3 === 1, 0.97);
    const { recall } = await index.evaluate(queries, { k: K });
    assert.ok(recall >= 0.97, `recall ${recall} of what is left`);
    assert.deepEqual(await index.add(more.subarray(0, DIM)), Uint32Array.of(COUNT + 300), "ids are not used again");

    const ids = [5, 1400, 1600].filter(stays), vectors = index.reconstruct(ids);
    ids.forEach((id, k) => assert.ok(squaredDistance(vectors, k, all, id, DIM) < 1e-3, `vector ${id}`));
    refuses(() => index.reconstruct([removed[0]]), "invalid-option", `the index has no vector with the id ${removed[0]}`);

    const nobody = await index.search(queries, { k: 2, filter: new Uint8Array(COUNT + 301) });
    assert.ok(nobody.ids.every((id) => id === NONE) && nobody.distances.every((distance) => distance === Infinity));
  });

  test(`${backend}: vectors that are added at once come in the order of the calls, whole or not at all`, async (t) => {
    const lw = await open(t, { backend });
    const dim = 64, first = decaying(300, dim, { seed: 11 }), asked = decaying(30, dim, { seed: 12 });
    const parts = [4000, 500, 2000].map((count, k) => decaying(count, dim, { seed: 13 + k }));
    const make = () => lw.compress(first, { dim, bits: 6, clusters: 4 });
    const [index, other] = [await make(), await make()];
    const search = index.search(first, { k: 3, filter: new Uint8Array(300).fill(1) });
    const file = index.save();
    const ids = await Promise.all(parts.map((part) => index.add(part)));
    let next = 300;
    for (const some of ids) for (const id of some) assert.equal(id, next++);
    for (const part of parts) await other.add(part);
    assert.equal(Buffer.compare(await index.save(), await other.save()), 0);
    assert.deepEqual((await index.evaluate(asked, { k: K })).recall, (await other.evaluate(asked, { k: K })).recall);
    assert.ok((await search).ids.every((id) => id < 300), "what came after a filter isn't meant by it");
    assert.equal((await lw.openIndex(await file)).count, 300);

    // While vectors are on their way nothing of them is seen, and of those that are given up nothing stays.
    await atPace("an add that is ended before its end", async (more) => {
      const end = new AbortController(), large = decaying(4000 * more, dim, { seed: 20 + more });
      const seen = [], look = (done, total) => done < total && seen.push(index.count);
      const given = [index.add(large, { signal: end.signal, onProgress: (done, total) => { if (look(done, total)) end.abort(new Error("enough")); } }), index.add(parts[1], { onProgress: look })];
      const [gone, stays] = await Promise.allSettled(given);
      if (gone.status === "rejected") assert.match(String(gone.reason), /enough/);
      const before = next;
      next += gone.value?.length ?? 0;
      assert.ok(seen.every((count) => count === before || count === next), `${seen}, not ${before} or ${next}`);
      assert.deepEqual([stays.value[0], stays.value.at(-1)], [next, next + 499]);
      next += 500;
      assert.deepEqual([index.count, index.info.nextId], [next, next]);
      return gone.status === "rejected";
    });
    assert.ok((await index.evaluate(asked, { k: K })).recall > 0.9);
  });

  test(`${backend}: fewer probes find less, and never more than all`, async (t) => {
    const lw = await open(t, { backend });
    const index = await lw.compress(points, { dim: DIM, code: "int8", clusters: 32 });
    const recalls = [];
    for (const probes of [1, 4, 32, 1000]) recalls.push(recallOf(await index.search(queries, { k: K, probes }), exact));
    assert.ok(recalls[0] < recalls[1] && recalls[1] < recalls[2] && recalls[2] === recalls[3] && recalls[2] > 0.97, recalls.join());
  });

  test(`${backend}: sketches change no hit, and can be done without`, async (t) => {
    const lw = await open(t, { backend });
    const dim = 48, index = await lw.compress(decaying(COUNT, dim, { seed: 6 }), { dim, bits: 4 }), asked = decaying(50, dim, { seed: 7 });
    assert.deepEqual([index.sketches, index.info.sketchBytes], [true, 0]);
    index.searching = "cpu";
    const bytes = index.bytes, hits = await index.search(asked, { k: K });
    assert.ok(index.info.sketchBytes >= COUNT * dim && index.info.sketchBytes <= COUNT * (dim + 16), `${index.info.sketchBytes} bytes`);
    assert.equal(index.bytes, bytes);
    index.sketches = false;
    assert.deepEqual([index.sketches, index.info.sketchBytes], [false, 0]);
    assert.deepEqual(await index.search(asked, { k: K }), hits);
    assert.equal(index.info.sketchBytes, 0);
    refuses(() => { index.sketches = 1; }, "invalid-option", "sketches must be true or false, not a number");
  });

  test(`${backend}: building and measuring leave time for others, tell their progress, and can be ended`, async (t) => {
    const lw = await open(t, { backend });
    // A software adapter is slow: fewer there.
    const dim = 64, count = backend === "webgpu" ? 2503 : 4000, many = decaying(count, dim, { seed: 5 });
    const watched = async (work) => {
      const seen = [];
      let fired = 0, ended = false;
      const timer = setInterval(() => { fired += Number(!ended); }, 1);
      const result = await work((done, total) => seen.push([done, total]));
      ended = true;
      clearInterval(timer);
      assert.ok(seen.length > 0 && seen.every(([done], k) => done >= (seen[k - 1]?.[0] ?? 0)), JSON.stringify(seen));
      assert.equal(seen.at(-1)[0], seen.at(-1)[1], "all of it");
      // Progress is told between time slices.
      return { result, steps: seen.length, leavesTime: seen.length >= 3 && fired > 0, hasMiddle: seen.some(([done, total]) => done > 0.3 * total && done < 0.9 * total) };
    };
    const reason = new DOMException("enough", "AbortError");
    const thrownBy = (work) => work.then(() => undefined, (error) => error);
    for (const code of [{ bits: 3 }, { code: "int8" }].slice(0, FULL ? 2 : 1)) {
      const build = (more, others) => lw.compress(repeated(many, more), { dim, ...code, ...others });
      await atPace("building tells of its middle, and leaves time", async (more) => {
        const { result, leavesTime, hasMiddle } = await watched((onProgress) => build(more, { onProgress }));
        result.dispose();
        return leavesTime && hasMiddle;
      });
      // Whatever the stage, building ends with the signal's reason.
      for (const share of FULL ? [0, 0.3, 0.6, 0.8] : [0, 0.6]) {
        await atPace(`building is ended at ${share}`, async (more) => {
          const controller = new AbortController();
          const thrown = await thrownBy(build(more, { signal: controller.signal, onProgress: (done, total) => { if (done >= share * total && done < total) controller.abort(reason); } }));
          assert.ok(thrown === undefined || thrown === reason, `at ${share}: ${thrown}`);
          return thrown === reason;
        });
      }
      const index = await build(1, {});
      await atPace("measuring leaves time", async (more) => (await watched((onProgress) => index.evaluate(repeated(many, more), { k: K, onProgress }))).leavesTime);
      await atPace("measuring is ended", async (more) => {
        const controller = new AbortController();
        const thrown = await thrownBy(index.evaluate(repeated(many, more), { k: K, signal: controller.signal, onProgress: (done, total) => { if (done < total) controller.abort(reason); } }));
        assert.ok(thrown === undefined || thrown === reason, String(thrown));
        return thrown === reason;
      });
      let copies = 1;
      await atPace("adding tells of its progress", async (more) => {
        copies += more;
        return (await watched((onProgress) => index.add(repeated(many, more), { onProgress }))).steps >= 3;
      });
      assert.equal(index.count, copies * count);
      await atPace("what changes while it is measured is told", async (more) => {
        let removed = 0;
        const onProgress = (done, total) => { if (done < total && removed === 0) removed = index.remove([index.count - 1]); };
        const error = await thrownBy(index.evaluate(repeated(many, more), { k: K, points: repeated(many, copies), onProgress }));
        assert.ok(error === undefined || (removed === 1 && error.code === "invalid-option" && /was changed while/.test(error.message)), String(error));
        return error !== undefined;
      });
    }
  });

  test(`${backend}: an aborted add adds all or nothing, whenever the signal comes`, async (t) => {
    const lw = await open(t, { backend });
    const dim = 16, batch = decaying(300, dim, { seed: 8 }), index = await lw.compress(decaying(500, dim, { seed: 9 }), { dim, bits: 4 });
    // Where tasks have a thread of their own, the work is over after a while, whatever this thread does.
    const busy = (ms) => { for (const end = performance.now() + ms; performance.now() < end;); };
    const turns = (count) => count === 0 ? undefined : new Promise((resolve) => setImmediate(resolve)).then(() => turns(count - 1));
    for (const moment of [() => {}, () => busy(1), () => busy(100), () => turns(1), () => turns(3), () => turns(1).then(() => busy(100))]) {
      const before = index.count, controller = new AbortController(), reason = new Error("enough");
      const adding = index.add(batch, { signal: controller.signal }).then((ids) => ids.length, (error) => error);
      await moment();
      controller.abort(reason);
      const outcome = await adding;
      assert.ok(outcome === reason || outcome === 300, `${outcome}`);
      assert.equal(index.count, before + (outcome === reason ? 0 : 300), "what is rejected was not added, and what was added is told");
    }
    const aborted = AbortSignal.abort(new Error("before it began")), before = index.count;
    await assert.rejects(index.add(batch, { signal: aborted }), (error) => error === aborted.reason);
    assert.equal(index.count, before);
    assert.deepEqual([...await index.add(batch)], Array.from({ length: 300 }, (_, k) => before + k), "and goes on");
  });

  test(`${backend}: few, equal and no vectors`, async (t) => {
    const lw = await open(t, { backend });
    for (const [code] of CODES) {
      // As many clusters as there can be are chosen where none are asked for.
      const { ratio: _, clusters: __, ...fitting } = code;
      const equal = await lw.compress(new Float32Array(8 * 50).fill(0.25), { dim: 8, ...fitting });
      const hits = await equal.search(new Float32Array(8), { k: 3 });
      assert.deepEqual([...hits.ids], [0, 1, 2], "of equally near ones the first");
      const one = await lw.compress(Float32Array.of(1, 2, 3), { dim: 3, ...fitting });
      const { ids, distances } = await one.search(Float32Array.of(1, 2, 3), { k: 2 });
      assert.deepEqual([...ids, distances[1]], [0, NONE, Infinity]);
      assert.ok(distances[0] < 1e-2);
    }
  });

  test(`${backend}: what callers get wrong`, async (t) => {
    const lw = await open(t, { backend });
    const index = await lw.compress(points, { dim: DIM, code: "int4" });
    const refused = [
      [[queries, undefined], "invalid-option", "search(queries, options): options must be an object, not undefined"],
      [[queries, {}], "invalid-option", "k: say how many neighbours are wanted"],
      [[queries, { k: 0 }], "invalid-option", "k: 0 is not an integer from 1 to 4294967295"],
      [[queries, { k: 1, probes: 0 }], "invalid-option", "probes: 0 is not an integer from 1 to 4294967295"],
      [[queries, { k: 1, n: 2 }], "invalid-option", "search(queries, options): options have no \"n\" (they have: k, probes, effort, filter, filters, metric, signal)"],
      [[queries.subarray(1), { k: 1 }], "data-length", `search(queries): queries has ${40 * DIM - 1} numbers, which are no whole number of vectors of ${DIM} components`],
      [[queries, { k: 1, filter: new Uint8Array(3) }], "data-length", `filter has 3 bytes, but ${COUNT} are needed: one for each id, those of removed vectors among them`],
      [[queries, { k: 1, filter: [1] }], "invalid-option", "filter must be a Uint8Array with a byte for each id, { ids }, { keys }, { bits } or a function, not an array"],
    ];
    for (const [call, code, message] of refused) await rejects(index.search(...call), code, message);
    const broken = queries.slice();
    broken[3 * DIM + 1] = NaN;
    await rejects(index.search(broken, { k: 1 }), "non-finite", "queries: component 1 of row 3 is NaN, but all numbers must be finite", { instance: 3 });
    await rejects(index.add(broken), "non-finite", "the vectors to add: component 1 of row 3 is NaN, but all numbers must be finite", { instance: 3 });
    for (const dim of [4e9, 2 ** 32 + 1, 2 ** 20 + 1]) {
      const message = `dim: ${dim} is more than 1048576, the most components that a vector may have`;
      await rejects(lw.compress(new Float32Array(0), { dim }), "invalid-option", message);
      await rejects(lw.cluster(new Float32Array(0), { dim, clusters: 1 }), "invalid-option", message);
    }
    await rejects(index.add(queries.map((value) => 50 * value)), "limits", /^vector \d+ lies too far outside the values that the index was built for/);
    assert.equal(index.count, COUNT, "all are added, or none");
    await rejects(lw.compress(broken, { dim: DIM }), "non-finite", /3/, { instance: 3 });
    refuses(() => index.remove([1, -1]), "invalid-option", "remove(ids): ids must be an array of non-negative integers; ids[1] is -1");
    await rejects(index.evaluate(queries, { k: 1, points: queries }), "data-length", `evaluate(queries, { points }): points has 40 vectors, but the index has given ${COUNT} ids; row i must be the vector of id i`);
    const opened = await lw.openIndex(await index.save());
    await rejects(opened.evaluate(queries, { k: 1 }), "invalid-option", "evaluate(queries): an index from a file does not have the original vectors; give them as points");
    assert.ok((await opened.evaluate(queries, { k: K, points })).recall > 0.8);
    opened.dispose();
    await rejects(opened.search(queries, { k: 1 }), "disposed", "this index was disposed: it can't be used any more");
    refuses(() => opened.info, "disposed", "this index was disposed: it can't be used any more");
    const reason = new Error("not now");
    await assert.rejects(lw.compress(points, { dim: DIM, signal: AbortSignal.abort(reason) }), (thrown) => thrown === reason);
    await assert.rejects(index.search(queries, { k: 1, signal: AbortSignal.abort(reason) }), (thrown) => thrown === reason);
  });

  test(`${backend}: an index of nothing is made of the first vectors, and one for others takes these`, async (t) => {
    const lw = await open(t, { backend });
    for (const code of [{ code: "int8" }, ...(backend === "cpu" ? [{ ratio: 0.25 }, { code: "int4" }] : [])]) {
      const blank = await lw.compress(new Float32Array(0), { dim: DIM, ...code });
      const [made, reopened] = [await lw.compress(points, { dim: DIM, ...code }), await lw.openIndex(await blank.save())];
      for (const index of [blank, reopened]) {
        assert.deepEqual([index.count, index.ratio], [0, Infinity]);
        const aborting = new AbortController();
        const cut = index.add(points, { signal: aborting.signal });
        aborting.abort(new Error("no"));
        await assert.rejects(cut, /^Error: no$/);
        const [first, none, later] = await Promise.all([index.add(points), index.add(new Float32Array(0)), index.add(queries)]);
        assert.deepEqual([first.length, first[COUNT - 1], none.length, later[0], index.count], [COUNT, COUNT - 1, 0, COUNT, COUNT + 40]);
        if (code.ratio) assert.ok(index.ratio <= 1.02 * code.ratio, `${index.ratio}`);
      }
      await made.add(queries);
      assert.deepEqual(await blank.save(), await made.save());
      assert.ok((await blank.evaluate(queries, { k: 1 })).recall > 0.2, "its originals are known");
    }
    const model = await lw.compress(points.subarray(0, 500 * DIM), { dim: DIM, ratio: 0.25, trainFor: COUNT });
    assert.deepEqual([model.count, (await model.add(points)).length], [0, COUNT]);
    assert.ok(model.ratio <= 0.25 && model.ratio > 0.2, `${model.ratio}`);
    assert.ok((await model.evaluate(queries, { k: K })).recall > 0.85);
    const some = () => lw.compress(points, { dim: DIM, code: "int8", sample: 300, seed: 4 });
    const [one, other] = [await some(), await some()];
    assert.deepEqual(await one.save(), await other.save());
    assert.equal(one.info.about.trainedOn, 300);
    await rejects(lw.compress(points, { dim: DIM, clusters: COUNT + 1 }), "invalid-option", `clusters: there can't be ${COUNT + 1} clusters of ${COUNT} vectors`);
    await rejects(lw.compress(points, { dim: DIM, ratio: 1e-3 }), "invalid-option", /don't fit into a ratio of 0.001: ask for 0\.\d+ or more/);
    await rejects(lw.compress(new Float32Array(0), { dim: DIM, trainFor: 9 }), "invalid-option", /^trainFor: there are no vectors/);
  });

  test(`${backend}: originals are not kept, and evaluating says when they are gone`, async (t) => {
    const lw = await open(t, { backend });
    const index = await lw.compress(decaying(200, DIM, { seed: 8 }), { dim: DIM, code: "int8" });
    await new Promise((resolve) => setTimeout(resolve));
    globalThis.gc();
    await rejects(index.evaluate(queries, { k: 1 }), "invalid-option", "evaluate(queries): the vectors that the index was made of are not in memory any more; give them as points");
    assert.ok((await index.evaluate(queries, { k: 1, points: decaying(200, DIM, { seed: 8 }) })).recall > 0.9);
  });

  test(`${backend}: files that are cut, changed or something else`, async (t) => {
    const lw = await open(t, { backend });
    const index = await lw.compress(points.subarray(0, 40 * DIM), { dim: DIM, bits: 2, clusters: 2 });
    const file = await index.save();
    for (let at = 0; at < file.length; at += 7) {
      const flipped = file.slice();
      flipped[at] ^= 1 << (at % 8);
      await assert.rejects(lw.openIndex(flipped), (error) => /^file-(format|corrupt|truncated|version)$/.test(error.code), `byte ${at}`);
      const cut = file.subarray(0, at);
      for (const source of [cut, streamOf(cut, 100)]) await assert.rejects(lw.openIndex(source), (error) => error.code === "file-truncated", `${at} bytes`);
    }
    await rejects(lw.openIndex(new TextEncoder().encode("a".repeat(500))), "file-format", /^this isn't an index/);
    await rejects(lw.openIndex(streamOf(new TextEncoder().encode("a".repeat(500)), 90)), "file-format", /^this isn't an index/);
    assert.deepEqual(await index.search(queries, { k: 1 }), await (await lw.openIndex(file)).search(queries, { k: 1 }));
  });

  test(`${backend}: the published compressor's files`, async (t) => {
    const lw = await open(t, { backend });
    const idx = new DataView(new ArrayBuffer(19));
    idx.setUint32(0, 0x564c4341, true);
    idx.setUint16(4, 1, true);
    [2, 3, 4].forEach((value, k) => idx.setUint32(6 + 4 * k, value, true));
    const anchors = new Uint8Array(Uint16Array.of(0x3c00, 0, 0, 0xc000, 0, 0).buffer);              // (1, 0, 0) and (−2, 0, 0)
    const assign = new Uint8Array(Uint32Array.of(0, 1, 1, 0).buffer);
    const files = { idx: new Uint8Array(idx.buffer), anchors, assign };
    const index = await lw.openIndex(files);
    assert.deepEqual([index.count, index.dim, index.info.code, index.info.clusters], [4, 3, "none", 2]);
    assert.deepEqual(index.reconstruct([0, 1]), Float32Array.of(1, 0, 0, -2, 0, 0));
    const { ids, distances } = await index.search(Float32Array.of(1.5, 0, 0), { k: 3 });
    assert.deepEqual([[...ids], [...distances]], [[0, 3, 1], [0.25, 0.25, 12.25]]);
    await rejects(lw.openIndex({ ...files, anchors: anchors.subarray(1) }), "file-truncated", /anchors/);
    await rejects(lw.openIndex({ ...files, assign: new Uint8Array(Uint32Array.of(0, 1, 2, 0).buffer) }), "file-format", /./);
  });
}
