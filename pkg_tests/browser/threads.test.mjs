// `leastwise/threads` in a browser: on a page that is cross-origin isolated, on one that is not, and under a policy that forbids workers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { arap, arapMesh, icosphere, open } from "../node/support.mjs";
import { browse, openTab, ownPage, serve, serveBuilt } from "./support.mjs";

const ISOLATED = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
const PAGES = [
  { name: "a page that is cross-origin isolated", headers: ISOLATED, isolated: true, count: 2, code: "on", reason: /^2 threads were asked for$/ },
  { name: "a page that is not", headers: {}, isolated: false, count: 1, code: "not-isolated", reason: /Cross-Origin-Opener-Policy: same-origin/ },
  { name: "a policy that forbids workers", headers: { ...ISOLATED, "Content-Security-Policy": "worker-src 'none'" }, isolated: true, count: 1, code: "no-worker", reason: /^no worker could be started: / },
];

test("Chromium on threads finds Node's bits on one, and says why it has none", async (t) => {
  const mesh = arapMesh(icosphere(4));
  const lw = await open(t, { backend: "cpu" });
  const { problem, x, turn } = arap(lw, mesh);
  const { cost } = await problem.solve({ linear: "pcg", maxIterations: 4 });
  const here = { cost, positions: [...await x.read(new Float64Array(3 * x.count))], angles: [...await turn.read(new Float64Array(3 * turn.count))] };
  const plainMesh = Object.fromEntries(Object.entries(mesh).map(([name, values]) => [name, [...values]]));

  const root = ownPage("threads");
  await serve(t, root);
  const browser = await browse(t);
  for (const { name, headers, isolated, count, code, reason } of PAGES) {
    await t.test(name, async (t) => {
      const { tab, problems } = await openTab(browser, await serveBuilt(t, root, headers));
      t.after(() => tab.close());
      await tab.waitForFunction(() => window.solve);
      for (let round = 0; round < 2; round++) {
        const there = await tab.evaluate(([options, mesh]) => window.solve(options, mesh), [{ backend: "cpu", threads: 2 }, plainMesh]);
        t.diagnostic(there.threads.reason);
        assert.deepEqual([there.backend, there.isolated, there.threads.count, there.threads.code], ["cpu", isolated, count, code], there.threads.reason);
        assert.match(there.threads.reason, reason);
        assert.deepEqual({ cost: there.cost, positions: there.positions, angles: there.angles }, here);
        assert.deepEqual(there.doubled, [2, 4, 6]);
        assert.ok(there.saved.length > 100);
      }
      if (code === "on") {
        const gpu = await tab.evaluate(([options, mesh]) => window.solve(options, mesh), [{ backend: "webgpu" }, plainMesh]);
        assert.deepEqual([gpu.backend, gpu.threads.code], ["webgpu", "not-cpu"]);
      }
      // The policy itself is reported on the console.
      assert.deepEqual(problems.filter((problem) => !/Content Security Policy/i.test(problem)), []);
    });
  }
});
