// Cloudflare's runtime (workerd, through miniflare): modules are compiled when a worker is uploaded, so the program imports the package's.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as esbuild from "esbuild";
import { found, project, tool } from "./support.mjs";

test("workerd", async (t) => {
  tool("miniflare", "package.json");
  const { Miniflare } = await import("miniflare");
  const folder = project("workerd");
  // As Cloudflare's own wrangler bundles: JavaScript in one file, modules of WebAssembly beside it.
  await esbuild.build({ absWorkingDir: folder, entryPoints: ["worker.mjs"], bundle: true, format: "esm", outdir: "out", outExtension: { ".js": ".mjs" }, conditions: ["workerd", "worker", "browser"], loader: { ".wasm": "copy" }, logLevel: "silent" });
  const modules = readdirSync(join(folder, "out")).sort((name) => (name === "worker.mjs" ? -1 : 1))
    .map((name) => ({ type: name.endsWith(".wasm") ? "CompiledWasm" : "ESModule", path: join(folder, "out", name) }));
  const server = new Miniflare({ modulesRoot: join(folder, "out"), modules, compatibilityDate: "2025-05-05" });
  t.after(() => server.dispose());
  const response = await server.dispatchFetch("http://localhost/");
  const body = await response.text();
  assert.equal(response.status, 200, body);
  found(JSON.parse(body));
});
