// The main job in a browser: a page built by Vite from the packed tarball solves what Node solves, with the same result.
import assert from "node:assert/strict";
import { test } from "node:test";
import bunny from "bunny";
import { arap, arapCost, arapMesh, BACKENDS, closeTo, FULL, icosphere, open } from "../node/support.mjs";
import { browse, openTab, ownPage, serve } from "./support.mjs";

// A software adapter takes a minute for the bunny, which a quick run has in Node (`npm run demo`) and on the live page.
test(`${FULL ? "the bunny" : "a sphere"}: Chromium's costs equal that of Node's CPU, re-evaluated in double precision`, async (t) => {
  const mesh = arapMesh(FULL ? bunny : icosphere(3));
  const plain = { rest: [...mesh.rest], triangles: [...mesh.triangles], handles: [...mesh.handles], targets: [...mesh.targets] };
  const address = await serve(t, ownPage("solve"));
  const { tab, problems } = await openTab(await browse(t), address);
  await tab.waitForFunction(() => window.solve);
  // Node's own WebGPU is held to its CPU by `npm run demo`.
  const lw = await open(t, { backend: "cpu" });
  const { problem, x, turn } = arap(lw, mesh);
  const report = await problem.solve({ linear: "pcg", costTolerance: 1e-7, maxIterations: 200 });
  assert.equal(report.converged, true, String(report));
  const here = arapCost(mesh, await x.read(new Float64Array(mesh.rest.length)), await turn.read(new Float64Array(mesh.rest.length)));
  for (const backend of BACKENDS) {
    await t.test(backend, async (t) => {
      const there = await tab.evaluate(([backend, mesh]) => window.solve(backend, mesh), [backend, plain]);
      assert.equal(there.backend, backend, there.reason);
      assert.equal(there.converged, true, there.report);
      const cost = arapCost(mesh, there.positions, there.angles);
      t.diagnostic(`cost in Chromium ${cost}, in Node ${here}`);
      closeTo(cost, here, 1e-5, "Chromium's cost, against Node's");
    });
  }
  assert.deepEqual(problems, []);
});
