// A worker that traps in the middle of its work: its module gets no table of functions, so that the first part it takes calls nothing.
// Prints what became of the solve, of the next call, and of the next engine.
import { createRequire, syncBuiltinESMExports } from "node:module";
import { readFileSync } from "node:fs";

/** The module without its element section: sections are a number, a length in seven bits a byte, and so many bytes. */
function withoutElements(bytes) {
  const kept = [bytes.subarray(0, 8)];
  for (let at = 8; at < bytes.length;) {
    const begin = at, id = bytes[at++];
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      length += (byte & 127) * 2 ** shift;
      if (byte < 128) break;
    }
    at += length;
    if (id !== 9) kept.push(bytes.subarray(begin, at));
  }
  return new WebAssembly.Module(Buffer.concat(kept));
}

const broken = withoutElements(readFileSync(new URL("wasm/threaded_bg.wasm", import.meta.resolve("leastwise"))));
const threads = createRequire(import.meta.url)("node:worker_threads");
threads.Worker = class extends threads.Worker {
  postMessage(message) { super.postMessage({ ...message, module: broken }); }
};
syncBuiltinESMExports();
const { init } = await import("leastwise/threads");
const { arap, arapMesh, icosphere } = await import("../support.mjs");
const what = (promise) => promise.then(() => "done", ({ code, message }) => ({ code, message }));
const lw = await init({ backend: "cpu", threads: 2 });
const { count } = lw.threads;
const { problem, x } = arap(lw, arapMesh(icosphere(5)));
const started = performance.now();
const solve = await what(problem.solve({ linear: "pcg", maxIterations: 50 }));
const seconds = (performance.now() - started) / 1000, then = (await what(x.read())).code, after = lw.threads;
lw.dispose();
const other = await init({ backend: "cpu", threads: 2 });
const next = { threads: other.threads, solve: await what(arap(other, arapMesh(icosphere(3))).problem.solve({ linear: "pcg", maxIterations: 3 })) };
other.dispose();
console.log(JSON.stringify({ count, solve, seconds, then, after, next }));
