// Content security policies: one that allows WebAssembly to be compiled, and one that does not, under which the engine's own module comes from a
// worker and what the engine would write is interpreted. The same bits either way.
import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { test } from "node:test";
import { build } from "vite";
import { arap, arapMesh, icosphere, open } from "../node/support.mjs";
import { browse, openTab, ownPage, project } from "./support.mjs";

const outDir = join(project, "built/policy");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

/** Serves the page under a policy, and everything else, workers too, without one. */
async function serve(t, policy) {
  const server = createServer(async (request, response) => {
    const name = request.url === "/" ? "/index.html" : request.url;
    const type = TYPES[extname(name)];
    const body = await readFile(join(outDir, name)).catch(() => undefined);
    response.writeHead(body ? 200 : 404, { ...(type && { "content-type": type }), ...(type === "text/html" && { "content-security-policy": policy }) });
    response.end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}/`;
}

test("a policy that forbids compiling leaves programs to the interpreter, with the same bits", async (t) => {
  await build({ root: ownPage("policy"), base: "./", configFile: false, logLevel: "warn", worker: { format: "es" }, build: { outDir, emptyOutDir: true, target: "es2022", chunkSizeWarningLimit: 2500 } });
  const wasm = `/assets/${(await readdir(join(outDir, "assets"))).find((name) => name.endsWith(".wasm"))}`;
  const browser = await browse(t, { webgpu: false });
  const mesh = arapMesh(icosphere(2));
  const plain = { rest: [...mesh.rest], triangles: [...mesh.triangles], handles: [...mesh.handles], targets: [...mesh.targets] };
  const here = (await arap(await open(t, { backend: "cpu" }), mesh).problem.solve({ linear: "pcg", maxIterations: 5 })).iterations.map(({ cost }) => cost);

  await t.test("with 'wasm-unsafe-eval'", async (t) => {
    const { tab, problems } = await openTab(browser, await serve(t, "script-src 'self' 'wasm-unsafe-eval'"));
    await tab.waitForFunction(() => window.solve);
    const { costs, evaluators } = await tab.evaluate(([mesh]) => window.solve(undefined, mesh), [plain]);
    assert.deepEqual(costs, [here, here]);
    const large = evaluators.filter(({ instances }) => instances >= 256);
    assert.ok(large.length === 6 && large.every(({ evaluator }) => evaluator === "compiled"), JSON.stringify(evaluators));
    assert.deepEqual(problems, []);
    await tab.close();
  });

  await t.test("without", async (t) => {
    const { tab, problems } = await openTab(browser, await serve(t, "script-src 'self'"));
    await tab.waitForFunction(() => window.solve);
    await assert.rejects(tab.evaluate(([mesh]) => window.solve(undefined, mesh), [plain]), /LeastwiseError: the engine's WebAssembly module could not be loaded: the host forbids to compile it: .*What to do: add 'wasm-unsafe-eval'/s);
    await tab.reload();
    await tab.waitForFunction(() => window.solve);
    const { costs, evaluators } = await tab.evaluate(([address, mesh]) => window.solve(address, mesh), [wasm, plain]);
    assert.deepEqual(costs, [here, here]);
    const large = evaluators.filter(({ instances }) => instances >= 256);
    assert.equal(large.length, 6, JSON.stringify(evaluators));
    for (const { evaluator, reason } of large) {
      assert.equal(evaluator, "interpreted");
      assert.match(reason, /^it can't be compiled here: CompileError: .*(unsafe-eval|Content Security Policy)/s);
    }
    t.diagnostic(large[0].reason);
    // The browser notes what its policy forbids, and that is all.
    assert.deepEqual(problems.filter((problem) => !/Content Security Policy/.test(problem)), []);
    await tab.close();
  });
});
