// The module with threads where it is not: first garbage, then a file that does not exist, then the right one.
import assert from "node:assert/strict";
import { init } from "leastwise/threads";

const codes = [];
for (const threadedWasm of [new Uint8Array([0, 97, 115, 109, 9]), new URL("file:///nowhere/threaded_bg.wasm")]) {
  const lw = await init({ backend: "cpu", threads: 2, threadedWasm });
  assert.match(lw.threads.reason, /^the module with threads could not be loaded: ./);
  codes.push(lw.threads.code);
  lw.dispose();
}
const lw = await init({ backend: "cpu", threads: 2 });
console.log(JSON.stringify({ codes, then: lw.threads.code }));
lw.dispose();
