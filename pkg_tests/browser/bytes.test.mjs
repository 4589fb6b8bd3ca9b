// What pages download of the engine: which parts of the module three small programs fetch, and how many bytes that is when it is compressed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliCompressSync } from "node:zlib";
import { browse, openTab, ownPage, serve } from "./support.mjs";

/** Parts by program, and KB of them that are not to be passed. All of the module is about 1450. */
const PROGRAMS = { webgpu: [["core", "webgpu"], 444], webgpuInF32: [["core", "webgpu"], 444], cpu: [["core", "cpu"], 420], clusters: [["core", "cpu", "seldom", "single", "vectors"], 748] };

test("a page fetches the parts that it needs, each once, and nothing else of the engine", async (t) => {
  const address = await serve(t, ownPage("bytes"));
  const browser = await browse(t);
  const sizes = {};
  for (const [name, [parts, limit]] of Object.entries(PROGRAMS)) {
    await t.test(name, async (t) => {
      const fetched = [];
      const { tab, problems } = await openTab(browser, "about:blank");
      tab.on("response", (response) => { if (/\.wasm$/.test(response.url())) fetched.push(response.body().then((body) => [/leastwise_([a-z]+)/.exec(response.url())[1], body])); });
      await tab.goto(address);
      await tab.waitForFunction(() => window.programs);
      const result = await tab.evaluate((program) => window.programs[program](), name);
      if (name === "clusters") assert.equal(result.clusters, 5);
      else assert.deepEqual(result, { linear: "pcg", converged: true, moved: true });
      const files = await Promise.all(fetched);
      assert.deepEqual(files.map(([part]) => part).sort(), parts);
      const bytes = files.reduce((sum, [part, body]) => sum + (sizes[part] ??= brotliCompressSync(body).length), 0);
      t.diagnostic(`${name}: ${Math.round(bytes / 1024)} KB of ${parts.join(", ")}`);
      assert.ok(bytes < limit * 1024, `${bytes} bytes`);
      assert.deepEqual(problems, []);
      await tab.close();
    });
  }
});
