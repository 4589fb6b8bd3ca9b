// The packed package in headless Chromium: on a page that Vite built, and on one that Vite's development server serves.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import bunny from "bunny";
import { init } from "leastwise";
import { chromium } from "playwright-core";
import { build, createLogger, createServer, preview } from "vite";
import { arap, arapCost, arapMesh } from "../problems.mjs";

const root = fileURLToPath(new URL("page", import.meta.url));
const outDir = mkdtempSync(join(tmpdir(), "leastwise-page-"));
const flags = ["--no-sandbox", "--enable-unsafe-webgpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ...(process.env.LEASTWISE_GPU === "hardware" ? ["--enable-features=Vulkan"] : ["--use-webgpu-adapter=swiftshader"])];

const closing = [];
let browser, built;
const warnings = [];

before(async () => {
  const customLogger = createLogger("warn");
  customLogger.warn = customLogger.warnOnce = (message) => { warnings.push(message); };
  await build({ root, base: "./", configFile: false, customLogger, build: { outDir, emptyOutDir: true, chunkSizeWarningLimit: 2000 } });
  const server = await preview({ root, configFile: false, build: { outDir }, preview: { host: "127.0.0.1", port: 0 } });
  closing.push(() => server.close());
  built = server.resolvedUrls.local[0];
  browser = await chromium.launch({ executablePath: process.env.LEASTWISE_CHROMIUM || "/usr/bin/chromium", args: flags });
  closing.push(() => browser.close());
});

after(async () => {
  for (const close of closing.reverse()) await close();
  rmSync(outDir, { recursive: true, force: true });
});

/** A page on which nothing may go wrong unnoticed. */
async function open(t, url) {
  const page = await browser.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
  t.after(async () => {
    await page.close();
    assert.deepEqual(problems, []);
  });
  await page.goto(url);
  await page.waitForFunction(() => window.ready, undefined, { timeout: 60_000 }).catch((error) => { throw new Error(`the page did not start: ${problems.join("\n")}`, { cause: error }); });
  return page;
}

const options = { linear: "pcg", costTolerance: 1e-5, maxIterations: 200 };
const mesh = arapMesh(bunny);

async function inNode(backend) {
  const lw = await init({ backend });
  const { problem, x, turn } = arap(lw, mesh);
  const report = await problem.solve(options);
  const result = { report, positions: await x.read(), angles: await turn.read() };
  lw.dispose();
  return result;
}

test("Vite builds the page without a warning, and takes the module along", () => {
  assert.deepEqual(warnings, []);
  assert.equal(readdirSync(join(outDir, "assets")).filter((name) => name.endsWith(".wasm")).length, 1, readdirSync(join(outDir, "assets")).join());
});

for (const backend of ["webgpu", "cpu"]) {
  test(`the bunny on ${backend}, in Chromium as in Node`, async (t) => {
    const page = await open(t, built);
    const here = await inNode(backend);
    const there = await page.evaluate(([backend, options]) => window.solve(backend, "bunny", options), [backend, options]);
    assert.deepEqual([there.backend, there.shared, there.objects], [backend, backend === "webgpu", backend === "webgpu" ? "destroyed" : "none"]);
    for (const { report } of [here, there]) assert.equal(report.termination, "converged", there.table);
    const costs = [here, there].map(({ positions, angles }) => arapCost(mesh, positions, angles));
    assert.ok(Math.abs(costs[1] / costs[0] - 1) <= 1e-3, `cost ${costs[1]} in Chromium, ${costs[0]} in Node\n${there.table}`);
    assert.ok(Math.abs(there.report.cost / costs[1] - 1) <= 1e-4, `the report says ${there.report.cost}, f64 says ${costs[1]}`);
    const apart = Math.max(...there.positions.map((value, k) => Math.abs(value - here.positions[k])));
    assert.ok(apart < 0.01, `vertices are up to ${apart} apart, on a bunny of height 1`);
    if (backend === "cpu") assert.ok(there.busy < 200, `the page stood still for ${there.busy} ms`);
  });
}

test("a page without an adapter gets the CPU and the reason", async (t) => {
  const page = await open(t, built);
  const why = "WebGPU found no adapter (no GPU, a blocked driver, or no software fallback)";
  assert.deepEqual(await page.evaluate(() => window.withoutAdapter()), {
    backend: "cpu", reason: `WebGPU can't be had: ${why}`,
    refused: { name: "LeastwiseError", code: "no-adapter", message: `WebGPU was demanded but can't be had: ${why}` },
  });
});

test("opening an engine leaves navigator.gpu as it was", async (t) => {
  const page = await open(t, built);
  assert.equal(await page.evaluate(() => window.untouched()), true);
});

test("Vite's development server serves it as it is", async (t) => {
  const server = await createServer({ root, configFile: false, cacheDir: join(outDir, "cache"), logLevel: "error", server: { host: "127.0.0.1", port: 5199 } });
  t.after(() => server.close());
  await server.listen();
  const page = await open(t, server.resolvedUrls.local[0]);
  const { backend, report } = await page.evaluate(() => window.solve("cpu", "icosphere", { maxIterations: 5 }));
  assert.deepEqual([backend, report.iterations.length], ["cpu", 5]);
});
