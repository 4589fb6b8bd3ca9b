// A process of sessions: takes a job as JSON, runs plans one after the other, says on standard output what it is at, and ends by itself.
// What it can't tell because it stands still or is gone, the driver tells (driver.mjs).
import { readFileSync } from "node:fs";
import { planOf } from "./plan.mjs";
import { Session } from "./session.mjs";

const { backend, seed = 1, sessions = Infinity, until = Infinity, size, only, plans } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const lib = await import(backend === "threads" ? "leastwise/threads" : "leastwise");

/** Bytes of the module's memory; 0 where the engine is not WebAssembly. */
async function moduleBytes() {
  if (backend === "cuda") return 0;
  const glue = await import(new URL(backend === "threads" ? "wasm/threaded.js" : "wasm/leastwise.js", import.meta.resolve("leastwise")));
  return loaded ? (await glue.default()).memory.buffer.byteLength : 0;
}

/** Finalizers run in a later turn than the collection that finds them something to do. */
async function collected() {
  for (let k = 0; k < 2; k++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

let plan, loaded = false;
for (const event of ["unhandledRejection", "uncaughtException"]) {
  process.on(event, (thrown) => say({ failure: { seed: plan?.seed, kind: event, label: "the process", detail: String(thrown?.stack ?? thrown).slice(0, 1200) } }));
}

const totals = {};
for (let k = 0; k < (plans?.length ?? sessions) && Date.now() < until; k++) {
  plan = plans?.[k] ?? planOf(seed + k, { backend, size, only });
  say({ session: plan.seed });
  const session = new Session(plan, { lib, tell: say, totals });
  await session.run();
  loaded ||= session.engines.length > 0;
  // What nobody holds is gone before it is measured.
  const isMeasured = k % 20 === 19;
  if (isMeasured) await collected();
  const { rss, heapUsed } = process.memoryUsage();
  say({ done: plan.seed, isMeasured, totals: { ...totals }, bytes: { module: await moduleBytes(), heap: heapUsed, rss } });
}
say({ end: true });
