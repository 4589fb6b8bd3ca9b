// Pages without a bundler, by an import map, and pages under a content security policy.
import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as esbuild from "esbuild";
import { browse, opened, project, serve, solvesIn } from "./support.mjs";

test("pages as they stand", async (t) => {
  const browser = await browse(t);

  await t.test("an import map", async (t) => {
    await solvesIn(browser, await serve(t, project("importmap")));
  });

  const folder = project("esbuild", "policies");
  await esbuild.build({ absWorkingDir: folder, entryPoints: ["main.js", "inline.js"], bundle: true, format: "esm", outdir: "out", logLevel: "silent" });
  cpSync(join(folder, "node_modules/leastwise/dist/wasm"), join(folder, "out/wasm"), { recursive: true });
  const under = (t, policy) => serve(t, folder, () => ({ "content-security-policy": policy }));

  await t.test("a policy that allows what the package needs, and no more", async (t) => {
    await solvesIn(browser, await under(t, "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"));
    // Nothing is fetched.
    await solvesIn(browser, `${await under(t, "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'")}inline.html`);
  });

  for (const [what, policy, remedy] of [
    ["compile", "default-src 'none'; script-src 'self'; connect-src 'self'", /What to do: add 'wasm-unsafe-eval' to the page's content security policy/],
    ["fetch", "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'", /What to do: .*content security policy allows it \(connect-src\)/],
  ]) {
    await t.test(`a policy that forbids to ${what}: the error says what to add`, async (t) => {
      const { error } = await opened(browser, await under(t, policy));
      assert.deepEqual([error?.name, error?.code], ["LeastwiseError", "load"], JSON.stringify(error));
      assert.match(error.message, remedy);
    });
  }
});
