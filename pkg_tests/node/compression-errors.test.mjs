// What callers of `cluster`, `compress` and `openIndex` get wrong, without TypeScript to tell them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { half } from "leastwise";
import { open, rejects } from "./support.mjs";

const points = Float32Array.from({ length: 12 }, (_, k) => k);

test("clustering", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const good = { dim: 2, clusters: 2 };
  const refused = [
    [points, undefined, "invalid-option", "cluster(points, options): options must be an object, not undefined"],
    [points, { clusters: 2 }, "invalid-option", "dim: undefined is not a positive integer: it is the number of components of one vector"],
    [points, { ...good, dim: 2.5 }, "invalid-option", "dim: 2.5 is not a positive integer: it is the number of components of one vector"],
    [points, { ...good, dim: 5 }, "data-length", "cluster(points): points has 12 numbers, which are no whole number of vectors of 5 components"],
    [half(new Uint16Array(3)), good, "data-length", "cluster(points): points has 3 numbers, which are no whole number of vectors of 2 components"],
    [new Uint16Array(4), good, "invalid-option", "cluster(points): points must be a Float32Array, a Float64Array, a Float16Array, an Int8Array, a Uint8Array or half(bits) with one vector after the other, not a Uint16Array"],
    [[1, 2], good, "invalid-option", /^cluster\(points\): points must be .* not an array$/],
    [points, { dim: 2 }, "invalid-option", "clusters: say how many centroids are wanted"],
    [points, { ...good, clusters: 0 }, "invalid-option", "clusters: 0 is not an integer from 1 to 4294967295"],
    [points, { ...good, clusters: "2" }, "invalid-option", "clusters: \"2\" is not an integer from 1 to 4294967295"],
    [points, { ...good, method: "kmeans" }, "invalid-option", "method: \"kmeans\" is not one of \"anneal\", \"lloyd\", \"vlc\""],
    [points, { ...good, method: "toString" }, "invalid-option", "method: \"toString\" is not one of \"anneal\", \"lloyd\", \"vlc\""],
    [points, { ...good, start: "farthest" }, "invalid-option", /^cluster\(\{ method: "anneal" \}\): options have no "start" \(they have: dim, clusters, method, /],
    [points, { ...good, method: "lloyd", temperature: 1 }, "invalid-option", /^cluster\(\{ method: "lloyd" \}\): options have no "temperature"/],
    [points, { ...good, method: "lloyd", start: "random" }, "invalid-option", "start: \"random\" is not one of \"k-means++\", \"farthest\""],
    [points, { ...good, method: "lloyd", mean: "median" }, "invalid-option", "mean: \"median\" is not one of \"plain\", { trim: share }, { huber: distance }"],
    [points, { ...good, method: "lloyd", mean: { trim: 0.6 } }, "invalid-option", "mean.trim: 0.6 is not a number from 0 to 0.49"],
    [points, { ...good, method: "lloyd", mean: { huber: 0 } }, "invalid-option", "mean.huber: 0 is not a number above 0"],
    [points, { ...good, method: "lloyd", mean: { trim: 0.1, huber: 1 } }, "invalid-option", /^mean: .* is not one of "plain", \{ trim: share \}, \{ huber: distance \}$/],
    [points, { ...good, method: "vlc", cooling: 1 }, "invalid-option", "cooling: 1 is not a number from 0 to 0.999"],
    [points, { ...good, maxIterations: 0 }, "invalid-option", "maxIterations: 0 is not an integer from 1 to 4294967295"],
    [points, { ...good, tolerance: NaN }, "invalid-option", "tolerance: NaN is not a number of 0 or more"],
    [points, { ...good, signal: 3 }, "invalid-option", "signal must be an AbortSignal, not a number"],
    [points, { ...good, onProgress: 3 }, "invalid-option", "onProgress must be a function, not a number"],
  ];
  for (const [values, options, code, message] of refused) await rejects(lw.cluster(values, options), code, message);
});

test("compression", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const refused = [
    [{ dim: 5 }, "data-length", "compress(points): points has 12 numbers, which are no whole number of vectors of 5 components"],
    [{ dim: 2, code: "int2" }, "invalid-option", "code: \"int2\" is not one of \"none\", \"int8\", \"int4\", \"bits\", \"f32\", \"f16\""],
    [{ dim: 2, code: "int8", bits: 4 }, "invalid-option", "bits: only the code \"bits\" has them, not \"int8\""],
    [{ dim: 2, code: "int4", ratio: 0.1 }, "invalid-option", "ratio: only the code \"bits\" can be made for one, not \"int4\""],
    [{ dim: 2, bits: 4, ratio: 0.1 }, "invalid-option", "bits and ratio: each follows from the other, so give one of them"],
    [{ dim: 2, ratio: 1.5 }, "invalid-option", "ratio: 1.5 is not a number from 0 to 1"],
    [{ dim: 2, bits: 13 }, "invalid-option", "bits: 13 is not a number from 0 to 12"],
    [{ dim: 2, clusters: -3 }, "invalid-option", "clusters: -3 is not an integer from 1 to 4294967295"],
    [{ dim: 2, sample: 0 }, "invalid-option", "sample: 0 is not an integer from 1 to 4294967295"],
    [{ dim: 2, trainFor: 0.5 }, "invalid-option", "trainFor: 0.5 is not an integer from 1 to 4294967294"],
    [{ dim: 2, cooling: 0.5 }, "invalid-option", /^compress\(points, options\): options have no "cooling"/],
  ];
  for (const [options, code, message] of refused) await rejects(lw.compress(points, options), code, message);
  await rejects(lw.openIndex("index.lwi"), "invalid-option", "openIndex(file): it takes the bytes of a file, a stream of them, or the published format's { idx, anchors, assign }, not a string");
  await rejects(lw.openIndex({ idx: new Uint8Array(), anchors: new Uint8Array() }), "invalid-option", "openIndex({ assign }): assign must be the bytes of the file, a Uint8Array, not undefined");
  await rejects(lw.openIndex({ idx: new Uint8Array(), anchors: 3, assign: new Uint8Array() }), "invalid-option", "openIndex({ anchors }): anchors must be the bytes of the file, a Uint8Array, not a number");
});

test("after the engine is disposed", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  lw.dispose();
  const message = "this engine was disposed: call init() for a new one";
  await rejects(lw.cluster(points, { dim: 2, clusters: 2 }), "disposed", message);
  await rejects(lw.compress(points, { dim: 2 }), "disposed", message);
  await rejects(lw.openIndex(new Uint8Array()), "disposed", message);
});

test("an empty array literal is no vectors", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const index = await lw.compress([], { dim: 3 });
  assert.equal(index.count, 0);
  assert.deepEqual([...await index.add([])], []);
  assert.deepEqual([...await index.add(points)], [0, 1, 2, 3]);
  assert.deepEqual([...(await index.search([], { k: 1 })).ids], []);
  assert.equal((await index.evaluate(points, { k: 1 })).recall, 1);
  await rejects(lw.compress([1, 2, 3], { dim: 3 }), "invalid-option", /^compress\(points\): points must be a Float32Array, .* not an array$/);
});
