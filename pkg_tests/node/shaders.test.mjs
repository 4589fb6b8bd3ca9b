// Dawn's opinion of every shader, static and golden: naga, which the Rust tests ask, accepts what Tint refuses.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { open } from "./support.mjs";

const folder = process.env.LEASTWISE_WGSL;

test("every shader compiles in Dawn, as a whole pipeline", async (t) => {
  assert.ok(folder, "LEASTWISE_WGSL must name the folder that `cargo test` writes the modules to; `npm test` sets it");
  const names = readdirSync(folder).filter((name) => name.endsWith(".wgsl")).sort();
  assert.ok(names.length >= 17 + 12, `only ${names.length} modules in ${folder}`);
  const { device } = await open(t, { backend: "webgpu" });
  for (const name of names) {
    const module = device.createShaderModule({ code: readFileSync(join(folder, name), "utf8"), label: name });
    const { messages } = await module.getCompilationInfo();
    assert.deepEqual(messages.map(({ lineNum, message }) => `${name}:${lineNum} ${message}`), []);
    await device.createComputePipelineAsync({ label: name, layout: "auto", compute: { module, entryPoint: "main" } });
  }
});
