// Clusters and indices in a browser: a page built by Vite from the packed tarball finds what Node's CPU finds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BACKENDS, closeTo, open } from "../node/support.mjs";
import { decaying, energyOf, inClusters, nearest, recallOf } from "../problems/vectors.mjs";
import { browse, openTab, ownPage, serve } from "./support.mjs";

test("Chromium clusters, compresses, searches, saves and opens", async (t) => {
  const address = await serve(t, ownPage("vectors"));
  const { tab, problems } = await openTab(await browse(t), address);
  await tab.waitForFunction(() => window.vectors);
  const { points, dim } = inClusters(240, 8, 3), k = 5;
  const queries = decaying(20, dim, { seed: 4 }).map((value, at) => value + points[at]);
  const exact = nearest(points, queries, dim, k);
  const lw = await open(t, { backend: "cpu" });
  const here = await lw.cluster(points, { dim, clusters: 3 });
  const code = { code: "bits", bits: 6, clusters: 4 };
  const index = await lw.compress(points, { dim, ...code });
  const hits = await index.search(queries, { k });
  for (const backend of BACKENDS) {
    await t.test(backend, async (t) => {
      const there = await tab.evaluate(([backend, given]) => window.vectors(backend, given), [backend, { points: [...points], queries: [...queries], dim, clusters: 3, k, code }]);
      assert.equal(there.backend, backend, there.reason);
      assert.equal(there.termination, "converged");
      assert.equal(new Set(there.labels).size, 3);
      closeTo(there.energy, energyOf(points, dim, here.centroids, here.labels), 1e-4, "Chromium's energy, against Node's");
      assert.equal(there.progress, 1);

      assert.equal(there.first.searchedBy, backend, there.first.reason);
      const recall = recallOf({ ids: Uint32Array.from(there.first.ids), k }, exact);
      t.diagnostic(`recall ${recall} in Chromium, ${recallOf(hits, exact)} in Node, by ${there.first.searchedBy}`);
      assert.ok(recall > 0.9, `recall ${recall}`);
      // The same module on a CPU does the same, to the bit.
      if (backend === "cpu") assert.deepEqual([there.first.ids, there.first.distances], [[...hits.ids], [...hits.distances]]);
      for (const again of there.again) assert.deepEqual(again, there.first);
      assert.equal(there.saved.length, there.bytes);
      assert.deepEqual(there.refused, { name: "LeastwiseError", code: "file-corrupt" });
      // A file of the page's own, searched where it lies.
      const { hits: lazyHits, reads } = there.lazily;
      assert.deepEqual([lazyHits.ids, lazyHits.distances], [there.probed.ids, there.probed.distances]);
      assert.ok(reads >= 3 && reads <= 10, `${reads} reads`);
      // What the page saved, Node opens.
      const opened = await lw.openIndex(Uint8Array.from(there.saved));
      const { ids } = await opened.search(queries, { k });
      assert.ok(recallOf({ ids, k }, exact) > 0.9);
    });
  }
  assert.deepEqual(problems, []);
});
