// The linters of packages: what is exported is there, and typed as it is.
import assert from "node:assert/strict";
import { test } from "node:test";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { json, node, packed, tarball, tool } from "./support.mjs";

const manifest = json(`${packed}/package.json`);

test("publint", async () => {
  const { messages } = await publint({ pkgDir: packed, strict: true });
  assert.deepEqual(messages.map((message) => formatMessage(message, manifest)), []);
});

// The profile of packages that are modules alone: Node's require() takes them, of which TypeScript's `node16` knows nothing, as `node10` knows no
// exports. Files of WebAssembly are left out: what importing one gives is the bundler's to declare.
test("are the types wrong", async () => {
  const files = Object.keys(manifest.exports).filter((name) => name.endsWith(".wasm"));
  assert.match(await node([tool("@arethetypeswrong/cli", "dist/index.js"), tarball, "--profile", "esm-only", "--format", "ascii", "--exclude-entrypoints", ...files]), /bundler: 🟢/);
});
