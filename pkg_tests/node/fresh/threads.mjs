// An engine of `leastwise/threads` on a host that lacks something; prints what it says of its threads, and whether it solves.
// Arguments: what is lacking, the options as JSON, and "hasty" where nobody is to wait 10 s for a worker that never answers.
import { createHash } from "node:crypto";

const [what, options, pace] = process.argv.slice(2);
const hide = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
/** A page's worker that fails in some way. */
const worker = (fail) => class {
  #heard = {};
  constructor() { fail(this); }
  addEventListener(type, heard) { this.#heard[type] = heard; }
  tell(type, event) { setTimeout(() => this.#heard[type]?.({ preventDefault() {}, ...event }), 1); }
  postMessage() { this.posted?.(); }
  terminate() { this.ended = true; }
};
const lacks = {
  nothing() {},
  isolation: () => hide("crossOriginIsolated", false),
  sharedMemory: () => hide("SharedArrayBuffer", undefined),
  cores: () => hide("navigator", { hardwareConcurrency: 1 }),
  permission: () => hide("Worker", worker(() => { throw new Error("refused by the content policy"); })),
  script: () => hide("Worker", worker((worker) => worker.tell("error", { message: "" }))),
  answer: () => hide("Worker", worker(() => {})),
  start: () => hide("Worker", worker((worker) => {
    worker.posted = () => worker.tell("message", { data: { failed: "RuntimeError: out of memory" } });
    worker.tell("message", { data: { loaded: true } });
  })),
};
lacks[what]();
if (what === "answer" && pace === "hasty") {
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (work, ms, ...rest) => setTimeout(work, ms === 10_000 ? 100 : ms, ...rest);
}
const { init } = await import("leastwise/threads");
const { arap, arapMesh, icosphere } = await import("../support.mjs");
const started = performance.now();
const lw = await init({ backend: "cpu", ...JSON.parse(options ?? "{}") });
const seconds = (performance.now() - started) / 1000;
const { problem, x } = arap(lw, arapMesh(icosphere(3)));
await problem.solve({ maxIterations: 3, linear: "pcg" });
const bits = createHash("sha256").update(await x.read(new Float64Array(3 * x.count))).digest("hex");
console.log(JSON.stringify({ threads: lw.threads, seconds, bits }));
if (what !== "nothing") lw.dispose();
