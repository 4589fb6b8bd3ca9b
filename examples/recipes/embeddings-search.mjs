// # Search in compressed embeddings
//
// 4,000 vectors of 64 components, a quarter of their size in f32, and the ten nearest of each query.
//
// - `compress` clusters the vectors and codes what is left; `ratio` is what the file may have of the vectors' size.
// - `index.evaluate` measures recall against exact search among the originals. Here it is counted again by hand.
// - For cosine similarity, divide vectors by their norms before: then squared distances order as cosines do.
import assert from "node:assert/strict";
import { init } from "leastwise";

let state = 60221;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

// Topics, and texts around them.
const dim = 64, count = 4000, k = 10;
const topics = Array.from({ length: 40 }, () => Float32Array.from({ length: dim }, normal));
const points = new Float32Array(dim * count), queries = new Float32Array(dim * 20);
for (const list of [points, queries]) list.forEach((_, i) => { list[i] = topics[Math.floor(i / dim) % 40][i % dim] + 0.6 * normal(); });

const lw = await init({ backend: "cpu" });
const index = await lw.compress(points, { dim, ratio: 0.25 });
const { ids } = await index.search(queries, { k });
const file = await index.save();
const { recall } = await index.evaluate(queries, { k });
const opened = lw.openIndex(file);
const again = await (await opened).search(queries, { k });
lw.dispose();

// Exact search, by plain arithmetic.
const exact = Array.from({ length: 20 }, (_, q) => {
  const distance = (p) => queries.subarray(q * dim, (q + 1) * dim).reduce((sum, v, i) => sum + (v - points[p * dim + i]) ** 2, 0);
  return Array.from({ length: count }, (_, p) => [distance(p), p]).sort((a, b) => a[0] - b[0]).slice(0, k).map(([, p]) => p);
});
const found = exact.map((truth, q) => truth.filter((p) => ids.subarray(q * k, (q + 1) * k).includes(p)).length);
const counted = found.reduce((sum, n) => sum + n, 0) / (20 * k);
assert.ok(file.length <= 0.25 * points.byteLength, `${file.length} bytes`);
assert.ok(counted > 0.9, `recall ${counted}`);
assert.ok(Math.abs(counted - recall) < 0.05, `${counted} counted, ${recall} measured`);
assert.deepEqual(again.ids, ids);

export { file, found, points };
