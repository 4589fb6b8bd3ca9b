// Indices that are searched in their files: the hits of whole ones, what is read for them, files behind HTTP, and files that are not what they say.
import assert from "node:assert/strict";
import { mkdtemp, open as openFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openLazily, remoteFile } from "leastwise/vectors";
import { Random } from "../problems/random.mjs";
import { decaying } from "../problems/vectors.mjs";
import { BACKENDS, open, rejects } from "./support.mjs";

const DIM = 32, COUNT = 3000, K = 10;
const points = decaying(COUNT, DIM), queries = decaying(30, DIM, { seed: 2 }), one = queries.subarray(0, DIM);
const OPTIONS = { dim: DIM, bits: 6, clusters: 24 };

/** A file that notes what is read of it. */
function noting(bytes) {
  const seen = [];
  return { seen, size: bytes.length, read: async (offset, length) => { seen.push([offset, length]); return bytes.slice(offset, offset + length); } };
}

/** What of hits must be equal, whoever found them. What is read in parts is searched on the CPU, so whole indices are here as well (`searching`). */
const bare = ({ reason, ...hits }) => hits;

for (const backend of BACKENDS) {
  test(`${backend}: hits are those of the whole index, by every metric, with keys, filters and ranges`, async (t) => {
    const lw = await open(t, { backend });
    for (const metric of ["l2", "cosine", "dot"]) {
      const keys = metric === "l2" ? undefined : Array.from({ length: COUNT }, (_, k) => `v${k}`);
      const index = await lw.compress(points, { ...OPTIONS, metric, ...(keys && { keys }) });
      index.searching = "cpu";
      index.remove([3, 500, 501]);
      const saved = await index.save({ lazy: true }), lazy = await openLazily(lw, noting(saved));
      t.after(() => lazy.dispose());
      assert.deepEqual([lazy.dim, lazy.count, lazy.metric, lazy.bytes], [DIM, COUNT - 3, metric, saved.length]);
      const { memory, bytes, ...info } = lazy.info, { memory: _, bytes: __, sketchBytes: ___, about: ____, ...expected } = index.info;
      for (const name of Object.keys(expected)) assert.deepEqual(info[name], expected[name], name);
      assert.equal(bytes, saved.length);
      assert.equal(memory.codes, 0);
      assert.ok(memory.total < index.info.memory.total - COUNT * 10);
      for (const options of [{ k: K }, { k: 3, probes: 2 }, { k: 5, filter: (id) => id % 7 === 0 }, { k: 4, probes: 1, filter: { ids: [1, 2, 9, 77, 1000] } }]) {
        const hits = await lazy.search(queries, options);
        assert.deepEqual(bare(hits), bare(await index.search(queries, options)), JSON.stringify(options));
        if (backend === "webgpu") assert.match(hits.reason, /read in parts/);
      }
      const filters = Array.from({ length: 30 }, (_, k) => (k % 3 === 0 ? undefined : { ids: [k, k + 50] }));
      assert.deepEqual(bare(await lazy.search(queries, { k: 2, filters })), bare(await index.search(queries, { k: 2, filters })));
      const range = { maxDistance: (await index.search(one, { k: 40 })).distances[39] };
      assert.deepEqual(bare(await lazy.searchRange(queries, range)), bare(await index.searchRange(queries, range)));
      if (keys) assert.deepEqual([lazy.has("v7"), lazy.has("v3"), [...lazy.idsOf(["v9", "v8"])]], [true, false, [9, 8]]);
      else assert.throws(() => lazy.has("v7"), { code: "invalid-option" });
      await rejects(lazy.search(queries, { k: K, metric: metric === "l2" ? "dot" : "l2" }), "invalid-option", /was made for/);
      index.dispose();
    }
  });
}

test("opening reads all but the codes, and a search the lists that it probes, once", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress(points, OPTIONS), { rowBytes } = index.info, codes = COUNT * rowBytes;
  index.searching = "cpu";
  const saved = await index.save({ lazy: true }), file = noting(saved), lazy = await openLazily(lw, file);
  // A checksum a cluster more than the file that is read whole, and what pads it.
  assert.ok(saved.length <= index.bytes + 4 * 24 + 192);
  const opened = lazy.reads;
  assert.deepEqual([opened.reads, opened.cached], [3, 0]);
  assert.ok(opened.bytes <= saved.length - codes + 4096, `${opened.bytes} of ${saved.length} bytes`);
  assert.equal(opened.bytes, file.seen.reduce((sum, [, length]) => sum + length, 0));

  await lazy.search(one, { k: K, probes: 2 });
  const first = lazy.reads;
  assert.ok(first.reads - opened.reads >= 1 && first.reads - opened.reads <= 2);
  assert.ok(first.cached > 0 && first.cached <= first.bytes - opened.bytes && first.bytes - opened.bytes < codes / 4, `${first.cached} of ${codes} bytes`);
  // What is kept is not read again.
  await lazy.search(one, { k: K, probes: 2 });
  assert.deepEqual(lazy.reads, first);
  // Neighbouring lists come together: all of them at once.
  const all = await openLazily(lw, noting(saved));
  await all.search(queries, { k: K });
  assert.deepEqual(all.reads, { reads: 4, bytes: opened.bytes + codes, cached: codes });

  // A cache that holds a few lists, or none, changes no hit.
  const expected = bare(await index.search(queries, { k: K }));
  for (const cacheBytes of [0, Math.ceil(codes / 5)]) {
    const small = await openLazily(lw, noting(saved), { cacheBytes });
    for (let again = 0; again < 2; again++) {
      assert.deepEqual(bare(await small.search(queries, { k: K })), expected);
      assert.ok(small.reads.cached <= cacheBytes, `${small.reads.cached} of ${cacheBytes} bytes are kept`);
    }
    assert.ok(small.reads.bytes > opened.bytes + 1.5 * codes);
  }
  // Searches that run at once.
  const many = await Promise.all(Array.from({ length: 6 }, (_, at) => lazy.search(queries.subarray(at * DIM, (at + 1) * DIM), { k: K })));
  many.forEach(({ ids }, at) => assert.deepEqual([...ids], [...expected.ids.subarray(at * K, (at + 1) * K)]));

  const aborted = new AbortController();
  aborted.abort(new Error("no more"));
  const fresh = await openLazily(lw, noting(saved));
  await assert.rejects(fresh.search(one, { k: K, signal: aborted.signal }), /no more/);
  fresh.dispose();
  await rejects(fresh.search(one, { k: K }), "disposed", /disposed/);
});

test("walks in a graph are those of the whole index, and read the clusters that they end in", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress(points, { ...OPTIONS, graph: { degree: 16 } });
  index.searching = "cpu";
  const saved = await index.save({ lazy: true }), lazy = await openLazily(lw, noting(saved)), opened = lazy.reads;
  // Sketches of a bit a component, of which there are 64 at least, and 4 bytes.
  assert.ok(saved.length >= index.bytes + COUNT * 12 && saved.length <= index.bytes + COUNT * 12 + 4 * 24 + 256);
  for (const options of [{ k: K }, { k: K, effort: 20 }, { k: 5, filter: (id) => id % 3 === 0 }]) {
    const hits = await lazy.search(queries, options);
    assert.equal(hits.through, "graph");
    assert.deepEqual(bare(hits), bare(await index.search(queries, options)));
  }
  const again = await openLazily(lw, noting(saved));
  await again.search(one, { k: K, effort: 12 });
  assert.ok(again.reads.bytes - opened.bytes < COUNT * index.info.rowBytes / 2, `${again.reads.bytes - opened.bytes} bytes for a query`);
  const narrow = await lazy.search(one, { k: K, filter: { ids: [5, 6] } });
  assert.deepEqual([narrow.through, [...narrow.ids].filter((id) => id < COUNT).sort()], ["lists", [5, 6]]);
  // The same file opens whole, and changes then.
  const whole = await lw.openIndex(saved);
  assert.deepEqual(await whole.save(), await index.save());
  await whole.add(points.subarray(0, DIM));
  assert.equal(whole.count, COUNT + 1);
});

test("files by FileHandle and by Blob", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress(points, { ...OPTIONS, metric: "cosine" }), saved = await index.save({ lazy: true });
  index.searching = "cpu";
  const folder = await mkdtemp(join(tmpdir(), "lazy-"));
  t.after(() => rm(folder, { recursive: true }));
  const name = join(folder, "index.lwi");
  await writeFile(name, saved);
  const handle = await openFile(name);
  t.after(() => handle.close());
  const expected = bare(await index.search(queries, { k: K, probes: 3 }));
  for (const source of [handle, new Blob([saved]), saved, saved.buffer]) {
    const lazy = await openLazily(lw, source);
    assert.deepEqual(bare(await lazy.search(queries, { k: K, probes: 3 })), expected);
    lazy.dispose();
  }
});

test("files behind HTTP: ranges, and servers that give none, or other bytes", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress(points, OPTIONS), saved = await index.save({ lazy: true });
  index.searching = "cpu";
  const asked = [];
  let behaviour = "ranges", etag = '"1"';
  const server = createServer((request, response) => {
    asked.push(request.headers.range);
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range) ?? [];
    const first = Number(from), last = Math.min(Number(to), saved.length - 1);
    if (behaviour === "none") return void response.writeHead(200).end(saved);
    if (behaviour === "gone") return void response.writeHead(404).end();
    const shift = behaviour === "shifted" && first > 0 ? 1 : 0, more = behaviour === "more" && first > 0 ? 10 : 0, fewer = behaviour === "fewer" && first > 0 ? 1 : 0;
    response.writeHead(206, { "content-range": `bytes ${first + shift}-${last + shift}/${behaviour === "sizeless" ? "*" : saved.length}`, etag });
    response.end(saved.subarray(first, last + 1 + more - fewer));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => { server.close(); server.closeAllConnections(); });
  const url = new URL(`http://127.0.0.1:${server.address().port}/index.lwi`);

  const remote = await remoteFile(url);
  assert.deepEqual([remote.size, remote.isWhole, asked], [saved.length, false, ["bytes=0-0"]]);
  const lazy = await openLazily(lw, remote), expected = bare(await index.search(queries, { k: K, probes: 2 }));
  assert.deepEqual(bare(await lazy.search(queries, { k: K, probes: 2 })), expected);
  assert.equal(asked.length, 1 + lazy.reads.reads);

  for (const wrong of ["shifted", "more", "fewer"]) {
    behaviour = wrong;
    const remote = await remoteFile(String(url));
    await rejects(remote.read(100, 50), "load", /can't be read by ranges/);
  }
  behaviour = "sizeless";
  await rejects(remoteFile(url), "load", /how large/);
  behaviour = "gone";
  await rejects(remoteFile(url), "load", /404/);
  behaviour = "none";
  await rejects(remoteFile(url), "load", /ignores the header Range/);
  const whole = await remoteFile(url, { orWhole: true });
  assert.deepEqual([whole.size, whole.isWhole], [saved.length, true]);
  assert.deepEqual(bare(await (await openLazily(lw, whole)).search(queries, { k: K, probes: 2 })), expected);
  // Another file than the one that was opened.
  behaviour = "ranges";
  const exchanged = await openLazily(lw, await remoteFile(url));
  etag = '"2"';
  await rejects(exchanged.search(one, { k: K }), "load", /another file/);
  await rejects(remoteFile("http://127.0.0.1:1/"), "load", /could not be fetched/);
  await rejects(remoteFile(7), "invalid-option", /string or a URL/);
});

test("files that are cut, damaged, exchanged or of another kind are refused", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress(points, OPTIONS), saved = await index.save({ lazy: true });
  index.searching = "cpu";
  await rejects(openLazily(lw, await index.save()), "file-format", /lazy/);
  await rejects(openLazily(lw, new Uint8Array(0)), "file-truncated", /./);
  await rejects(openLazily(lw, new TextEncoder().encode("no index at all".repeat(10))), "file-format", /./);
  await rejects(openLazily({}, saved), "invalid-option", /engine/);
  await rejects(openLazily(lw, 7), "invalid-option", /./);
  await rejects(openLazily(lw, saved, { cacheBytes: -1 }), "invalid-option", /cacheBytes/);
  const none = await lw.compress(points, { dim: DIM, code: "none", clusters: 8 });
  await rejects(none.save({ lazy: true }), "invalid-option", /no codes/);
  for (const length of [10, 63, 64, 500, 3000, saved.length - 64, saved.length - 1]) await rejects(openLazily(lw, saved.subarray(0, length)), "file-truncated", /./);
  await rejects(openLazily(lw, Buffer.concat([saved, Buffer.alloc(64)])), "file-format", /64 bytes follow/);

  // A byte anywhere: while opening, or as soon as its list is read; and nothing of it is kept.
  const random = new Random(5);
  let whileOpening = 0, whileSearching = 0;
  for (let round = 0; round < 60; round++) {
    const damaged = saved.slice(), at = random.below(round % 3 === 0 ? 1024 : saved.length);
    damaged[at] ^= 1 << random.below(8);
    let lazy;
    try {
      lazy = await openLazily(lw, damaged);
    } catch ({ code }) {
      assert.ok(["file-corrupt", "file-format", "file-version", "file-truncated"].includes(code), code);
      whileOpening++;
      continue;
    }
    const refused = await lazy.search(one, { k: K }).then(() => undefined, ({ code }) => code);
    // What pads the codes belongs to no list.
    assert.ok(refused === "file-corrupt" || refused === undefined, refused);
    if (refused) {
      whileSearching++;
      assert.equal(await lazy.search(one, { k: K }).then(() => undefined, ({ code }) => code), "file-corrupt");
    } else assert.deepEqual(bare(await lazy.search(one, { k: K })), bare(await index.search(one, { k: K })));
    lazy.dispose();
  }
  assert.ok(whileOpening > 5 && whileSearching > 5, `${whileOpening} and ${whileSearching}`);

  // A file that gives fewer bytes than it says it has.
  const short = { size: saved.length, read: async (offset, length) => saved.slice(offset, offset + Math.min(length, 2000)) };
  await rejects(openLazily(lw, short), "file-truncated", /./);
  const failing = { size: saved.length, read: async () => { throw new Error("no disk"); } };
  await assert.rejects(openLazily(lw, failing), /no disk/);
});
