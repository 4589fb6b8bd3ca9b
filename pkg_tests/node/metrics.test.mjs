// Metrics of indices and codebooks: cosine and dot product beside brute force in f64, lengths, files, ranges, and exact search.
import assert from "node:assert/strict";
import { test } from "node:test";
import { half } from "leastwise";
import { exactSearch, predict, toHalf } from "leastwise/vectors";
import { decaying, inClusters, nearest, nearestBy, recallOf, squaredDistance, unitRows } from "../problems/vectors.mjs";
import { Random } from "../problems/random.mjs";
import { BACKENDS, closeTo, open, refuses, rejects } from "./support.mjs";

const DIM = 24, COUNT = 1500, QUERIES = 40, K = 10, NONE = 0xffffffff;

/** Vectors of very different lengths. */
function ofLengths(count, { seed = 1, sigma = 0.5 } = {}) {
  const random = new Random(seed + 100), rows = decaying(count, DIM, { seed });
  for (let row = 0; row < count; row++) {
    const length = Math.exp(sigma * random.normal());
    for (let k = row * DIM; k < (row + 1) * DIM; k++) rows[k] *= length;
  }
  return rows;
}

const points = ofLengths(COUNT), queries = ofLengths(QUERIES, { seed: 2 });
const unit = unitRows(points, DIM), unitQueries = unitRows(queries, DIM);

/** Scores in f64: the greater the nearer. */
const product = (a, i, b, j) => { let sum = 0; for (let k = 0; k < DIM; k++) sum += a[i * DIM + k] * b[j * DIM + k]; return sum; };
const cosine = (a, i, b, j) => product(a, i, b, j) / Math.sqrt(product(a, i, a, i) * product(b, j, b, j));
const SCORES = { cosine, dot: product, l2: (a, i, b, j) => -squaredDistance(a, i, b, j, DIM) };
const truth = Object.fromEntries(Object.entries(SCORES).map(([metric, score]) => [metric, nearestBy((i, q) => score(points, i, queries, q), COUNT, QUERIES, K)]));

const CODES = [[{ code: "int8" }, 0.97], [{ bits: 6 }, 0.96], [{ ratio: 0.2 }, 0.88]];

for (const backend of BACKENDS) {
  test(`${backend}: the nearest by cosine are those of the vectors at unit length, and by dot product no fewer are found`, async (t) => {
    const lw = await open(t, { backend });
    for (const [code, least] of backend === "cpu" ? CODES : CODES.slice(0, 1)) {
      const what = JSON.stringify(code);
      const plain = await lw.compress(unit, { dim: DIM, ...code }), expected = recallOf(await plain.search(unitQueries, { k: K }), truth.cosine);
      assert.ok(expected >= least, `${what}: ${expected}`);
      for (const metric of ["cosine", "dot"]) {
        const index = await lw.compress(points, { dim: DIM, metric, ...code });
        assert.deepEqual([index.metric, index.dim, index.info.metric, index.info.dim, index.count], [metric, DIM, metric, DIM, COUNT]);
        for (const place of backend === "cpu" ? ["cpu"] : ["cpu", "device"]) {
          index.searching = place;
          const hits = await index.search(queries, { k: K }), recall = recallOf(hits, truth[metric]);
          assert.ok(recall >= expected - 0.01, `${what} by ${metric} on ${place}: ${recall} and ${expected}`);
          for (let at = 0; at < hits.ids.length; at++) {
            const query = Math.floor(at / K), score = hits.scores[at], distance = hits.distances[at];
            closeTo(distance, metric === "cosine" ? 1 - score : -score, 1e-3, "distance and score");
            if (at % K > 0) assert.ok(score <= hits.scores[at - 1] && distance >= hits.distances[at - 1], "the nearest first");
            // As far as the codes tell.
            const exact = SCORES[metric](points, hits.ids[at], queries, query), size = metric === "cosine" ? 1 : Math.sqrt(product(queries, query, queries, query)) * index.info.maxNorm;
            assert.ok(Math.abs(score - exact) < 0.06 * size, `${metric}: ${score} of ${exact}`);
          }
        }
        const evaluated = await index.evaluate(queries, { k: K });
        assert.ok(Math.abs(evaluated.recall - recallOf(await index.search(queries, { k: K }), truth[metric])) <= 0.01, `${metric}: ${evaluated.recall}`);
        const file = await index.save();
        assert.deepEqual([index.bytes, index.info.bytes, evaluated.bytes], [file.length, file.length, file.length]);
        assert.equal(index.ratio, file.length / (4 * DIM * COUNT));
        if (code.ratio) assert.ok(index.ratio <= code.ratio && index.ratio > 0.9 * code.ratio && index.info.about.ratio === code.ratio, `${index.ratio}`);
      }
    }
  });
}

test("recall by cosine equals that of the vectors at unit length, vector by vector", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const [code] of CODES.slice(0, 2)) {
    const [index, plain] = [await lw.compress(points, { dim: DIM, metric: "cosine", ...code }), await lw.compress(unit, { dim: DIM, ...code })];
    const [hits, expected] = [await index.search(queries, { k: K }), await plain.search(unitQueries, { k: K })];
    assert.deepEqual(hits.ids, expected.ids);
    expected.distances.forEach((squared, at) => closeTo(hits.distances[at], squared / 2, 1e-6, "half of the squared distance"));
    assert.deepEqual(expected.scores, expected.distances.map((distance) => -distance));
    assert.deepEqual(index.reconstruct([3, 5]), plain.reconstruct([3, 5]));
  }
});

test("dot products: vectors come back at their lengths, lengths have a limit, scales do not matter", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress(points, { dim: DIM, metric: "dot", bits: 8 });
  const lengths = Array.from({ length: COUNT }, (_, i) => Math.sqrt(product(points, i, points, i))), longest = Math.max(...lengths), { maxNorm } = index.info;
  assert.ok(maxNorm >= 2 * longest && maxNorm < 4 * longest && Number.isInteger(Math.log2(maxNorm)), `${maxNorm} of ${longest}`);
  const back = index.reconstruct([0, 7]);
  assert.ok(squaredDistance(back, 1, points, 7, DIM) < 1e-3 * maxNorm ** 2);
  assert.equal((await index.add(new Float32Array(DIM).fill(0.99 * maxNorm / Math.sqrt(DIM)))).length, 1);
  const long = points.slice(0, 3 * DIM);
  long[2 * DIM] = 2 * maxNorm;
  await rejects(index.add(long), "limits", /^add\(points\): vector 2 has length [\d.]+, but the index was made for lengths up to [\d.]+: make it anew with a larger maxNorm$/, { instance: 2 });
  assert.equal(index.count, COUNT + 1, "all are added, or none");
  await rejects(lw.compress(points, { dim: DIM, metric: "dot", maxNorm: longest / 2 }), "limits", /^compress\(points\): vector \d+ has length/, { instance: lengths.findIndex((length) => length > longest / 2) });
  assert.equal((await lw.compress(points, { dim: DIM, metric: "dot", maxNorm: longest * 1.001 })).info.maxNorm, longest * 1.001);
  // A power of two changes the codes of nothing, however large.
  const found = (await (await lw.compress(points, { dim: DIM, metric: "dot", bits: 6 })).search(queries, { k: K }));
  for (const scale of [2 ** 60, 2 ** -70]) {
    const scaled = await lw.compress(points.map((value) => value * scale), { dim: DIM, metric: "dot", bits: 6 });
    const hits = await scaled.search(queries.map((value) => value * 2 ** 40), { k: K });
    assert.deepEqual(hits.ids, found.ids);
    hits.scores.forEach((score, at) => closeTo(score, found.scores[at] * scale * 2 ** 40, 1e-6, `score at ${scale}`));
  }
});

test("vectors without direction, queries without length, and numbers that are none", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const withZero = points.slice(0, 50 * DIM).fill(0, 3 * DIM, 4 * DIM), withNaN = points.slice(0, 50 * DIM);
  withNaN[4 * DIM + 2] = NaN;
  const message = "vector 3 is zero, which has no direction: its cosine with another vector is undefined. Leave it out, or take another metric";
  await rejects(lw.compress(withZero, { dim: DIM, metric: "cosine" }), "invalid-option", `compress(points): ${message}`, { instance: 3 });
  await rejects(lw.cluster(withZero, { dim: DIM, clusters: 3, metric: "cosine" }), "invalid-option", `cluster(points): ${message}`, { instance: 3 });
  const index = await lw.compress(points, { dim: DIM, metric: "cosine", code: "int8" });
  await rejects(index.add(withZero), "invalid-option", `add(points): ${message}`, { instance: 3 });
  await rejects(index.search(withZero, { k: 1 }), "invalid-option", `search(queries): ${message}`, { instance: 3 });
  for (const metric of ["cosine", "dot"]) {
    await rejects(lw.compress(withNaN, { dim: DIM, metric }), "non-finite", /component 2 of row 4 is NaN/, { instance: 4 });
    await rejects((await lw.compress(points, { dim: DIM, metric })).search(withNaN, { k: 1 }), "non-finite", "queries: component 2 of row 4 is NaN, but all numbers must be finite", { instance: 4 });
  }
  const dot = await lw.compress(withZero, { dim: DIM, metric: "dot", code: "int8" });
  const hits = await dot.search(new Float32Array(DIM), { k: 60 });
  assert.deepEqual([...new Set(hits.scores)], [0, -Infinity], "as near to every vector");
  assert.equal(hits.ids.filter((id) => id !== NONE).length, 50);
  const none = await lw.compress(new Float32Array(4 * DIM), { dim: DIM, metric: "dot" });
  assert.equal(none.info.maxNorm, 1);
  // Squares that neither f32 nor f64 could hold.
  for (const scale of [1e200, 1e-200]) {
    const huge = await lw.compress(Float64Array.from(points, (value) => value * scale), { dim: DIM, metric: "cosine", code: "int8" });
    assert.deepEqual((await huge.search(queries, { k: K })).ids, (await index.search(queries, { k: K })).ids);
  }
});

test("indices that are filled later take metric and length from the first vectors", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const metric of ["cosine", "dot"]) {
    const whole = await lw.compress(points, { dim: DIM, metric, bits: 6 }), blank = await lw.compress([], { dim: DIM, metric, bits: 6 });
    assert.deepEqual([(await blank.search(queries, { k: 1 })).ids[0], "maxNorm" in blank.info], [NONE, false]);
    const reopened = await lw.openIndex(await blank.save());
    for (const index of [blank, reopened]) {
      await index.add(points);
      assert.deepEqual((await index.search(queries, { k: K })).ids, (await whole.search(queries, { k: K })).ids);
    }
    const model = await lw.compress(points.subarray(0, 500 * DIM), { dim: DIM, metric, ratio: 0.25, trainFor: COUNT, ...(metric === "dot" && { maxNorm: 100 }) });
    await model.add(points);
    assert.ok(model.ratio <= 0.25 && model.ratio > 0.2, `${model.ratio}`);
    assert.ok((await model.evaluate(queries, { k: K })).recall > 0.85);
  }
});

test("a ratio that is too small is told in the terms of what was given, and what is told fits", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const metric of ["cosine", "dot"]) {
    const few = points.subarray(0, 400 * DIM), thrown = await lw.compress(few, { dim: DIM, metric, ratio: 1e-3, clusters: 4 }).catch((error) => error);
    assert.match(thrown.message, /^400 vectors of 24 dimensions with 4 clusters don't fit into a ratio of 0\.001: ask for 0\.\d+ or more/);
    const ratio = Number(/ask for ([\d.]+)/.exec(thrown.message)[1]), index = await lw.compress(few, { dim: DIM, metric, ratio, clusters: 4 });
    assert.ok(index.ratio <= ratio, `${index.ratio} of ${ratio}`);
  }
});

test("files have the metric, searches can insist on it, and old ones are by l2", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const plain = await lw.compress(points, { dim: DIM, code: "int8" }), bytes = await plain.save();
  assert.equal(String.fromCharCode(...bytes.subarray(0, 8)), "LWINDEX\n");
  const old = await lw.openIndex(bytes);
  assert.deepEqual([old.metric, old.info.metric, old.info.keyed], ["l2", "l2", false]);
  for (const metric of ["cosine", "dot"]) {
    const index = await lw.compress(points, { dim: DIM, metric, code: "int8" }), file = await index.save(), opened = await lw.openIndex(file);
    assert.deepEqual([opened.metric, opened.info.maxNorm, opened.bytes], [metric, index.info.maxNorm, file.length]);
    assert.deepEqual(await opened.search(queries, { k: K, metric }), await index.search(queries, { k: K }));
    assert.deepEqual(await opened.save(), file);
    assert.ok((await opened.evaluate(queries, { k: K, points })).recall > 0.95);
    for (const searching of [opened.search(queries, { k: 1, metric: "l2" }), opened.searchRange(queries, { maxDistance: 1, metric: "l2" })]) {
      await rejects(searching, "invalid-option", `metric: "l2" was asked for, but the index was made for "${metric}"`);
    }
  }
  await rejects(lw.compress(points, { dim: DIM, metric: "euclid" }), "invalid-option", "metric: \"euclid\" is not one of \"l2\", \"cosine\", \"dot\"");
  await rejects(lw.compress(points, { dim: DIM, maxNorm: 3 }), "invalid-option", "maxNorm: only the metric \"dot\" has it, not \"l2\"");
  await rejects(lw.compress(points, { dim: DIM, metric: "dot", maxNorm: 0 }), "invalid-option", "maxNorm: 0 is not a number above 0");
});

test("all within a distance, or of a score, and nothing else", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const metric of ["l2", "cosine", "dot"]) {
    const index = await lw.compress(points, { dim: DIM, metric, code: "int8" }), all = await index.search(queries, { k: COUNT });
    // From none to all of them; the 65th is beyond the first search.
    for (const rank of [0, 5, 64, 300, COUNT - 1]) {
      // Between two distances: those of another search differ by rounding on a GPU.
      const [last, next] = [all.distances[2 * COUNT + rank], rank + 1 < COUNT ? all.distances[2 * COUNT + rank + 1] : Infinity];
      const maxDistance = next === Infinity ? last + 0.01 * Math.abs(last) + 1e-6 : (last + next) / 2;
      const { offsets, ids, distances, scores } = await index.searchRange(queries, { maxDistance });
      assert.deepEqual([offsets.length, offsets[0], offsets[QUERIES], distances.length, scores.length], [QUERIES + 1, 0, ids.length, ids.length, ids.length]);
      for (let query = 0; query < QUERIES; query++) {
        const expected = Array.from({ length: COUNT }, (_, at) => query * COUNT + at).filter((at) => all.distances[at] <= maxDistance);
        const found = [...ids.subarray(offsets[query], offsets[query + 1])], ends = (list) => [...list].sort((a, b) => a - b);
        // Of other queries a distance may be as near to the limit as rounding is.
        if (query !== 2 && expected.length !== found.length) { assert.ok(Math.abs(expected.length - found.length) <= 1, `${metric}, ${rank}, ${query}`); continue; }
        assert.deepEqual(ends(found), ends(expected.map((at) => all.ids[at])), `${metric}, ${rank}, ${query}`);
        expected.forEach((at, place) => closeTo(distances[offsets[query] + place], all.distances[at], 1e-4, `distance ${place}`));
      }
      assert.ok(offsets[3] - offsets[2] > rank);
    }
    const minScore = (all.scores[7 * COUNT + 20] + all.scores[7 * COUNT + 21]) / 2, { ids, offsets, scores } = await index.searchRange(queries, { minScore, filter: (id) => id % 2 === 0 });
    assert.ok(scores.every((score) => score >= minScore - 1e-6 * Math.abs(minScore)) && ids.every((id) => id % 2 === 0));
    assert.deepEqual([...ids.subarray(offsets[7], offsets[8])].sort(), [...all.ids.subarray(7 * COUNT, 7 * COUNT + 21)].filter((id) => id % 2 === 0).sort());
    assert.equal((await index.searchRange([], { maxDistance: 1 })).offsets.length, 1);
    for (const options of [{}, { maxDistance: 1, minScore: 1 }]) await rejects(index.searchRange(queries, options), "invalid-option", "searchRange(queries, options): give one of maxDistance and minScore");
    await rejects(index.searchRange(queries, { maxDistance: NaN }), "invalid-option", "maxDistance: NaN is not a number of -Infinity or more");
  }
});

test("codebooks of directions", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { points: rows, origin } = inClusters(400, DIM, 5, { distance: 8 });
  const random = new Random(3);
  const stretched = rows.map((value) => value);
  for (let row = 0; row < 400; row++) {
    const length = Math.exp(2 * random.normal());
    for (let k = row * DIM; k < (row + 1) * DIM; k++) stretched[k] *= length;
  }
  for (const method of ["anneal", "lloyd"]) {
    const found = await lw.cluster(stretched, { dim: DIM, clusters: 5, method, metric: "cosine" });
    const same = await lw.cluster(unitRows(stretched, DIM), { dim: DIM, clusters: 5, method });
    assert.deepEqual([found.labels, found.centroids, found.energy], [same.labels, same.centroids, same.energy]);
    const names = new Set(found.labels.map((label, row) => label * 5 + origin[row]));
    assert.equal(names.size, 5, "as they were drawn, whatever their lengths");
    const { labels, energy } = await predict(stretched, found.centroids, { dim: DIM, metric: "cosine" });
    assert.deepEqual(labels, found.labels);
    closeTo(energy, found.energy, 1e-4, "energy");
  }
  await rejects(lw.cluster(stretched, { dim: DIM, clusters: 5, metric: "dot" }), "invalid-option", "metric: \"dot\" has no centroids, as no mean is nearest by dot product: take \"cosine\" or \"l2\"");
});

test("predict assigns other vectors, too", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { centroids, labels, energy } = await lw.cluster(points, { dim: DIM, clusters: 12 });
  const found = await predict(points, centroids, { dim: DIM });
  assert.deepEqual(found.labels, labels);
  closeTo(found.energy, energy, 1e-5, "energy");
  const others = await predict(queries, centroids, { dim: DIM }), expected = nearest(centroids, queries, DIM, 1).flat();
  assert.deepEqual([...others.labels], expected);
  others.distances.forEach((distance, q) => closeTo(distance, squaredDistance(centroids, expected[q], queries, q, DIM), 1e-12, "distance"));
  const nothing = await predict([], centroids, { dim: DIM });
  assert.deepEqual([nothing.labels.length, nothing.energy], [0, NaN]);
  await rejects(predict(points, [], { dim: DIM }), "data-length", "predict(centroids): there are no centroids");
  await rejects(predict(points, centroids, { dim: DIM, metric: "dot" }), "invalid-option", /^metric: "dot" has no centroids/);
  await rejects(predict(points, centroids.map(() => NaN), { dim: DIM }), "non-finite", "predict(centroids): centroids: component 0 of row 0 is NaN, but all numbers must be finite", { instance: 0 });
  await assert.rejects(predict(points, centroids, { dim: DIM, signal: AbortSignal.abort(new Error("no")) }), /^Error: no$/);
});

test("exact search is brute force, of equal ones the first", async () => {
  for (const metric of ["l2", "cosine", "dot"]) {
    const { ids, distances, k } = await exactSearch(points, queries, { dim: DIM, k: K, metric });
    assert.deepEqual([[...ids], k], [truth[metric].flat(), K]);
    ids.forEach((id, at) => {
      const score = SCORES[metric](points, id, queries, Math.floor(at / K));
      assert.ok(Math.abs(distances[at] - (metric === "cosine" ? 1 - score : -score)) < 1e-12 * Math.max(1, Math.abs(score)));
    });
    const few = await exactSearch(points, queries.subarray(0, DIM), { dim: DIM, k: 5, metric, filter: { ids: [9, 4, 7] } });
    assert.deepEqual([[...few.ids.subarray(0, 3)].sort(), ...few.ids.subarray(3), ...few.distances.subarray(3)], [[4, 7, 9], NONE, NONE, Infinity, Infinity]);
  }
  const equal = await exactSearch(new Float32Array(20).fill(1), new Float32Array(2), { dim: 2, k: 4 });
  assert.deepEqual([...equal.ids], [0, 1, 2, 3]);
  assert.equal((await exactSearch([], queries, { dim: DIM, k: 1 })).ids[0], NONE);
  await rejects(exactSearch(points, new Float32Array(DIM), { dim: DIM, k: 1, metric: "cosine" }), "invalid-option", /^exactSearch\(queries\): vector 0 is zero/, { instance: 0 });
  await rejects(exactSearch(points, queries, { dim: DIM }), "invalid-option", "k: say how many neighbours are wanted");
  await assert.rejects(exactSearch(points, queries, { dim: DIM, k: 1, signal: AbortSignal.abort(new Error("no")) }), /^Error: no$/);
});

test("vectors of bytes and halves are those of their numbers", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const bytes = Uint8Array.from({ length: 300 * DIM }, (_, k) => (k * 7919) % 251), signed = Int8Array.from(bytes, (value) => value - 125), halves = toHalf(decaying(300, DIM));
  const floats = (list) => Float32Array.from(list);
  for (const [rows, same] of [[bytes, floats(bytes)], [signed, floats(signed)], [half(halves.bits), undefined], [Float64Array.from(signed), floats(signed)]]) {
    const index = await lw.compress(rows, { dim: DIM, code: "int8" });
    if (same) assert.deepEqual(await index.save(), await (await lw.compress(same, { dim: DIM, code: "int8" })).save());
    assert.ok((await index.evaluate(rows, { k: 1 })).recall > 0.9);
    if (same) assert.deepEqual((await index.search(rows, { k: 3 })).ids, (await index.search(same, { k: 3 })).ids);
  }
  assert.deepEqual((await lw.cluster(signed, { dim: DIM, clusters: 4 })).labels, (await lw.cluster(floats(signed), { dim: DIM, clusters: 4 })).labels);
  const Float16 = class Float16Array extends Uint16Array {};
  await rejects(lw.compress(new Float16(DIM), { dim: DIM }), "invalid-option", /not /);
  refuses(() => half(bytes), "invalid-option", "half(bits): bits must be a Uint16Array, a word for each number");
});
