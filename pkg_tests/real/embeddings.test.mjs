// Real embeddings, which the project does not carry: `LEASTWISE_DATA=… npm run test:data` names the folder that has `embeddings/`, 20,000
// vectors of 384 components (all-MiniLM-L6-v2) and 500 queries that are not among them, in half precision, and the queries' nearest neighbours.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openVectors } from "leastwise/vectors";
import { open } from "../node/support.mjs";

const folder = process.env.LEASTWISE_DATA;
assert.ok(folder, "LEASTWISE_DATA is not set: it must name a folder that has embeddings/");
const file = async (name) => openVectors(new Uint8Array(await readFile(join(folder, "embeddings", name))));
const base = await file("minilm-20k-base.f16.npy"), dim = base.dim, points = await base.rows();
const queries = await (await file("minilm-queries.f16.npy")).rows();
const nearest = new Uint32Array(await (await readFile(join(folder, "embeddings/minilm-queries.top100.u32.npy"))).buffer.slice(-500 * 100 * 4));
const bytesOfAll = 4 * dim * base.count;

/** The part of the ten nearest, as they are known, that hits have. */
function recallOf({ ids, k }) {
  let found = 0;
  for (let query = 0; query < ids.length / k; query++) {
    const known = new Set(nearest.subarray(100 * query, 100 * query + 10));
    for (const id of ids.subarray(k * query, k * query + 10)) found += known.has(id) ? 1 : 0;
  }
  return found / (10 * (ids.length / k));
}

// Targets of ours, above FAISS' product quantisers of as many bytes (benches/compression.mjs has those).
for (const [ratio, least] of [[0.125, 0.96], [0.066, 0.88], [0.252, 0.995]]) {
  test(`an index of ${(100 * ratio).toFixed(1)} % of the vectors' bytes finds ${least} of the ten nearest`, async (t) => {
    const lw = await open(t, { backend: "cpu" });
    const started = performance.now();
    const index = await lw.compress(points, { dim, ratio });
    t.diagnostic(`built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
    const stored = (await index.save()).length;
    assert.equal(stored, index.bytes);
    assert.ok(stored <= ratio * bytesOfAll, `${stored} bytes of ${bytesOfAll}`);
    const recall = recallOf(await index.search(queries, { k: 10 }));
    t.diagnostic(`recall ${recall}, ${((100 * stored) / bytesOfAll).toFixed(2)} %`);
    assert.ok(recall >= least, `${recall}`);
    assert.ok(Math.abs((await index.evaluate(queries, { k: 10 })).recall - recall) < 0.005, "what it says of itself");
  });
}

// The best of ten runs of scikit-learn's k-means++ and Lloyd's iterations.
for (const [clusters, best] of [[64, 0.68623], [256, 0.60166]]) {
  test(`annealing with ${clusters} centroids ends below the best of ten restarts, ${best}`, async (t) => {
    const lw = await open(t, { backend: "cpu" });
    const started = performance.now();
    const { energy } = await lw.cluster(points, { dim, clusters });
    t.diagnostic(`${energy} in ${((performance.now() - started) / 1000).toFixed(1)} s`);
    assert.ok(energy <= best, `${energy}`);
  });
}
