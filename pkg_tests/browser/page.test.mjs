// What a page sees besides the result: Vite's build and its development server, answering while the CPU works, whose
// device it is, and what is left behind.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { init } from "leastwise";
import { build, createLogger, createServer, preview } from "vite";
import { arap, arapCost, arapMesh, icosphere } from "../problems.mjs";
import { browse, openTab, ownPage, project } from "./support.mjs";

const root = ownPage("page");
const outDir = join(project, "built/page");
const warnings = [];
const endings = [];
const suite = { after: (work) => endings.unshift(work) };
let browser, address;

before(async () => {
  const customLogger = createLogger("warn");
  customLogger.warn = customLogger.warnOnce = (message) => { warnings.push(message); };
  await build({ root, base: "./", configFile: false, customLogger, build: { outDir, emptyOutDir: true, chunkSizeWarningLimit: 2000 } });
  const server = await preview({ root, configFile: false, logLevel: "warn", build: { outDir }, preview: { host: "127.0.0.1", port: 0 } });
  suite.after(() => server.close());
  address = server.resolvedUrls.local[0];
  browser = await browse(suite);
});

after(async () => { for (const end of endings) await end(); });

/** A tab on which nothing may go wrong unnoticed. */
async function open(t, url = address) {
  const { tab, problems } = await openTab(browser, url);
  t.after(async () => {
    await tab.close();
    assert.deepEqual(problems, []);
  });
  await tab.waitForFunction(() => window.ready).catch((error) => { throw new Error(`the page did not start: ${problems.join("\n")}`, { cause: error }); });
  return tab;
}

const options = { linear: "pcg", costTolerance: 1e-6, maxIterations: 100 };
const mesh = arapMesh(icosphere(2));

async function inNode(backend) {
  const lw = await init({ backend });
  const { problem, x, turn } = arap(lw, mesh);
  await problem.solve(options);
  const result = { positions: await x.read(), angles: await turn.read() };
  lw.dispose();
  return result;
}

test("Vite builds the page without a warning, and takes every part of the module along once", () => {
  assert.deepEqual(warnings, []);
  const parts = readdirSync(join(outDir, "assets")).filter((name) => name.endsWith(".wasm")).map((name) => /^leastwise_([a-z]+)-/.exec(name)?.[1]);
  // The whole one is there for `init({ wasm })`.
  assert.deepEqual(parts.sort(), ["bg", "core", "cpu", "descent", "direct", "doubles", "fits", "graph", "levels", "normals", "rare", "reduced", "seldom", "single", "tensors", "vectors", "webgpu"]);
});

for (const backend of ["webgpu", "cpu"]) {
  test(`${backend}: Chromium finds the places that Node finds, and leaves nothing behind`, async (t) => {
    const tab = await open(t);
    const here = await inNode(backend);
    const there = await tab.evaluate(([backend, options]) => window.solve(backend, 2, options), [backend, options]);
    assert.deepEqual([there.backend, there.shared, there.device], [backend, backend === "webgpu", backend === "webgpu" ? "destroyed" : "none"], there.reason);
    assert.equal(there.report.termination, "converged", there.table);
    const costs = [here, there].map(({ positions, angles }) => arapCost(mesh, positions, angles));
    assert.ok(Math.abs(costs[1] / costs[0] - 1) <= 1e-4, `cost ${costs[1]} in Chromium, ${costs[0]} in Node\n${there.table}`);
    assert.ok(Math.abs(there.report.cost / costs[1] - 1) <= 1e-4, `the report says ${there.report.cost}, f64 says ${costs[1]}`);
    const apart = Math.max(...there.positions.map((value, k) => Math.abs(value - here.positions[k])));
    assert.ok(apart < 1e-2, `vertices are up to ${apart} apart, on a mesh of height 1`);
  });
}

test("the page answers while the CPU works", async (t) => {
  const tab = await open(t);
  // Long on any machine: thousands of products. A factorisation would be done in one piece.
  const options = { maxIterations: 5, linear: "pcg", forcing: 1e-12, maxInnerIterations: 2000 };
  const { busy, turns, report } = await tab.evaluate((options) => window.solve("cpu", 4, options), options);
  const { iterations, time: { solveMs } } = report, products = iterations.reduce((sum, it) => sum + it.innerIterations, 0);
  t.diagnostic(`${products} products, ${turns} turns, the longest ${busy.toFixed(0)} of ${solveMs.toFixed(0)} ms`);
  assert.ok(turns > 2 * iterations.length, `the page could answer ${turns} times in ${iterations.length} iterations`);
  assert.ok(busy < solveMs / 4, `the page stood still for ${busy} of ${solveMs} ms`);
});

test("a page without an adapter gets the CPU and the reason", async (t) => {
  const tab = await open(t);
  const why = "WebGPU found no adapter (no GPU, a blocked driver, or no software fallback)";
  assert.deepEqual(await tab.evaluate(() => window.withoutAdapter()), {
    backend: "cpu", reason: `WebGPU can't be had: ${why}`,
    refused: { name: "LeastwiseError", code: "no-adapter", message: `WebGPU was demanded but can't be had: ${why}` },
  });
});

test("opening an engine leaves navigator.gpu and the globals as they were", async (t) => {
  const tab = await open(t);
  assert.equal(await tab.evaluate(() => window.untouched()), true);
});

test("Vite's development server serves it as it is", async (t) => {
  const server = await createServer({ root, configFile: false, cacheDir: join(project, "built/cache"), logLevel: "error", server: { host: "127.0.0.1", port: 5199 } });
  t.after(() => server.close());
  await server.listen();
  const tab = await open(t, server.resolvedUrls.local[0]);
  const { backend, report } = await tab.evaluate(() => window.solve("cpu", 1, { maxIterations: 2 }));
  assert.deepEqual([backend, report.iterations.length], ["cpu", 2]);
});
