// Dawn's opinion of every shader, static and golden: naga, which the Rust tests ask, accepts what Tint refuses.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { FULL, open } from "./support.mjs";

const folder = process.env.LEASTWISE_WGSL;

// A software adapter compiles a pipeline to the machine's code for a tenth of a second: a quick run makes those of every fourth shader, others each time.
const EVERY = FULL ? 1 : 4, FIRST = Math.floor(Math.random() * EVERY);

test(`every shader is valid in Dawn, and ${EVERY === 1 ? "compiles" : `those from number ${FIRST} on, in steps of ${EVERY}, compile`} as a whole pipeline`, async (t) => {
  assert.ok(folder, "LEASTWISE_WGSL must name the folder that `cargo test` writes the modules to; `npm test` sets it");
  const names = readdirSync(folder).filter((name) => name.endsWith(".wgsl")).sort();
  assert.ok(names.length >= 17 + 12, `only ${names.length} modules in ${folder}`);
  const { device } = await open(t, { backend: "webgpu" });
  for (const [number, name] of names.entries()) {
    const module = device.createShaderModule({ code: readFileSync(join(folder, name), "utf8"), label: name });
    const { messages } = await module.getCompilationInfo();
    assert.deepEqual(messages.map(({ lineNum, message }) => `${name}:${lineNum} ${message}`), []);
    if (number % EVERY === FIRST) await device.createComputePipelineAsync({ label: name, layout: "auto", compute: { module, entryPoint: "main" } });
  }
});
