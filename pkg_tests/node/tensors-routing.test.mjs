// Which device runs what: what is said, what is measured and how often, and what is kept from run to run.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ADDON, inFreshProcess, ON_CUDA, open, refuses, rejects } from "./support.mjs";
import { countMeasurements, routed } from "./support-routing.mjs";

const backend = ADDON ? "cuda" : "webgpu";
/** Whether the CPU stands beside the engine's device, and so there is something to choose. */
const HAS_BOTH = !ADDON || ON_CUDA;

// The models of these tests are nobody else's.
const folder = mkdtempSync(join(tmpdir(), "leastwise-"));
process.env.LEASTWISE_CACHE = folder;
after(() => rmSync(folder, { recursive: true, force: true }));

const kept = () => readdirSync(folder).filter((name) => name.startsWith("tensors-"));
const fresh = async (options, env) => JSON.parse(await inFreshProcess("fresh/routing.mjs", [JSON.stringify(options)], { env }));

const RATES = { launchUs: 1, gigabytes: 10, gigaops: 10, productGigaops: 10 };
/** In which the device takes for ever to launch anything. */
const SLOW_DEVICE = { device: { ...RATES, launchUs: 1e6 }, cpu: RATES, readbackUs: 100, transferGigabytes: 10 };

test("nothing said: all on the engine's device, and nothing is measured", async (t) => {
  const lw = await open(t, { backend });
  const count = countMeasurements(lw);
  assert.deepEqual(lw.tensorRouting(), { routing: "device", advantage: 1, model: undefined, source: "none", reason: "no model was given, and nothing measured" });
  const { trace } = await routed(lw);
  if (HAS_BOTH) assert.ok(trace.length > 0 && trace.every(({ place, reason }) => place === backend && reason === "no model of the machine was given or measured"), JSON.stringify(trace));
  assert.equal(count(), 0);
  assert.deepEqual(kept(), []);
});

test("auto measures once, before the next evaluation; other engines and later runs have the same model, routes and bits", async (t) => {
  const [first, second] = [await open(t, { backend }), await open(t, { backend })];
  const counts = [first, second].map(countMeasurements);
  first.tensors({ routing: "auto" });
  second.tensors({ routing: "auto" });
  assert.deepEqual(counts.map((count) => count()), [0, 0], "nothing is measured before it is needed");
  const runs = await Promise.all([routed(first), routed(second)]);
  assert.equal(counts[0]() + counts[1](), 1);
  assert.deepEqual(runs[0], runs[1]);
  if (HAS_BOTH) for (const { reason } of runs[0].trace) assert.match(reason, /^device [\d.]+ \+ [\d.]+ µs, cpu [\d.]+ \+ [\d.]+ µs$/);
  const routing = first.tensorRouting();
  t.diagnostic(`${routing.reason}; ${JSON.stringify(routing.model)}`);
  assert.deepEqual(second.tensorRouting(), routing);
  assert.deepEqual([routing.routing, routing.source], ["auto", "measured"]);
  assert.match(routing.reason, /^measured in \d+ ms, kept in .+\.json$/);
  for (const rate of [...Object.values(routing.model.device), ...Object.values(routing.model.cpu), routing.model.readbackUs, routing.model.transferGigabytes]) assert.ok(Number.isFinite(rate) && rate >= 0);
  first.tensors({ routing: "auto" });
  await routed(first);
  assert.equal(counts[0]() + counts[1](), 1, "said again, it is known");

  assert.equal(kept().length, 1);
  const later = await fresh({ backend });
  assert.equal(later.measured, 0);
  assert.equal(later.routing.source, "kept");
  assert.match(later.routing.reason, /^measured in an earlier run, and kept in .+\.json$/);
  assert.deepEqual(later.routing.model, routing.model);
  assert.deepEqual({ values: later.values, trace: later.trace }, runs[0], "the same routes, and the same bits");

  // Measured anew, it is another for those who come after.
  const model = await second.measureTensors();
  assert.equal(counts[0]() + counts[1](), 2);
  assert.notDeepEqual(model, routing.model);
  assert.deepEqual(JSON.parse(readFileSync(join(folder, kept()[0]), "utf8")).model, model);
  assert.deepEqual(first.tensorRouting().model, routing.model, "the other engine keeps its own");
  const third = await open(t, { backend });
  third.tensors({ routing: "auto" });
  await routed(third);
  assert.deepEqual(third.tensorRouting().model, model);
});

test("what is kept and is no model is measured anew, and replaced", async () => {
  const [name] = kept(), path = join(folder, name), text = readFileSync(path, "utf8"), { of, model } = JSON.parse(text);
  // The package's own modules, since in one process what is known is not read again.
  const { recallModel } = await import(new URL("./tensor/model.js", import.meta.resolve("leastwise")));
  assert.deepEqual((await recallModel(of)).model, model);
  const broken = [
    "", "{", "null", "[]", "7", JSON.stringify({ of }), JSON.stringify({ of: "another machine", model }), JSON.stringify({ of, model: null }), JSON.stringify({ of, model: [] }),
    JSON.stringify({ of, model: { ...model, cpu: undefined } }), JSON.stringify({ of, model: { ...model, readbackUs: "1" } }), JSON.stringify({ of, model: { ...model, transferGigabytes: 0 } }),
    JSON.stringify({ of, model: { ...model, cpu: { ...model.cpu, gigaops: -1 } } }), JSON.stringify({ of, model: { ...model, device: { ...model.device, gigabytes: null } } }),
    text.replace(/"launchUs":[^,]+/, '"launchUs":1e999'), text.replace('"model":{', '"model":{"more":1,'), text.slice(0, -1),
  ];
  for (const each of broken) {
    writeFileSync(path, each);
    assert.equal(await recallModel(of), undefined, each);
  }
  const found = await fresh({ backend });
  assert.deepEqual([found.measured, found.routing.source], [1, "measured"]);
  assert.deepEqual((await recallModel(of)).model, found.routing.model);
});

test("where nothing can be kept or measured, it runs all the same, and says so", async () => {
  const file = join(folder, "a-file");
  writeFileSync(file, "");
  const { measured, routing } = await fresh({ backend }, { LEASTWISE_CACHE: join(file, "in-it") });
  assert.deepEqual([measured, routing.source], [1, "measured"]);
  assert.match(routing.reason, /^measured in \d+ ms, not kept: .*ENOTDIR/);
  // Too small for what is measured.
  const small = await fresh({ backend, limits: { bindingBytes: 1 << 16 } }, { LEASTWISE_CACHE: join(folder, "empty") });
  assert.equal(small.measured, 1);
  assert.deepEqual([small.routing.routing, small.routing.model, small.routing.source], ["auto", undefined, "none"]);
  assert.match(small.routing.reason, /^measuring failed: .*bytes/);
  assert.ok(small.values.every((value) => value > 0) && small.trace.length > 0);
});

test("a model that is given is not measured, decides, and waits for what is being measured", async (t) => {
  const lw = await open(t, { backend });
  const count = countMeasurements(lw);
  lw.tensors({ routing: "auto", model: SLOW_DEVICE });
  const cpu = await routed(lw);
  assert.equal(count(), 0);
  assert.deepEqual(lw.tensorRouting(), { routing: "auto", advantage: 1, model: SLOW_DEVICE, source: "given", reason: "given to lw.tensors({ model })" });
  if (HAS_BOTH) assert.ok(cpu.trace.every(({ place, reason }) => place === "cpu" && reason.startsWith("device 1000")), JSON.stringify(cpu.trace));

  // How many times sooner the CPU has to be.
  lw.tensors({ advantage: 1e9 });
  const device = await routed(lw);
  if (HAS_BOTH) assert.ok(device.trace.every(({ place, reason }) => place === backend && reason.endsWith(", 1000000000 times sooner is asked for")), JSON.stringify(device.trace));
  device.values.forEach((value, k) => assert.ok(Math.abs(value - cpu.values[k]) < 1e-4));
  assert.equal(lw.tensorRouting().advantage, 1e9);

  // Said while something is measured: holds afterwards.
  const measuring = lw.measureTensors(), evaluated = routed(lw);
  await sleep(5);
  lw.tensors({ routing: "cpu", advantage: 1 });
  await Promise.all([measuring, evaluated]);
  assert.deepEqual([count(), lw.tensorRouting().routing, lw.tensorRouting().source], [1, "cpu", "measured"]);
  const asked = await routed(lw);
  if (HAS_BOTH) assert.ok(asked.trace.every(({ place, reason }) => place === "cpu" && reason === "asked for"), JSON.stringify(asked.trace));
  assert.deepEqual(asked.values, cpu.values);
});

test("on the CPU there is nothing to measure", { skip: ADDON }, async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const count = countMeasurements(lw);
  lw.tensors({ routing: "auto" });
  await routed(lw);
  assert.equal(count(), 0);
  assert.deepEqual(lw.tensorRouting(), { routing: "auto", advantage: 1, model: undefined, source: "none", reason: "the CPU is the only device" });
});

test("what is no setting is refused", async (t) => {
  const lw = await open(t, { backend: "cpu" }), before = lw.tensorRouting();
  const what = "lw.tensors(settings)";
  refuses(() => lw.tensors({ advantage: 0 }), "invalid-option", `${what}: advantage: 0 is not a number above 0`);
  refuses(() => lw.tensors({ model: 3 }), "invalid-option", `${what}: model must be an object, not a number`);
  refuses(() => lw.tensors({ model: { ...SLOW_DEVICE, cpu: undefined } }), "invalid-option", `${what}: model.cpu must be an object, not undefined`);
  refuses(() => lw.tensors({ model: { ...SLOW_DEVICE, cpu: { ...RATES, gigaops: 0 } } }), "invalid-option", `${what}: model.cpu.gigaops must be a positive number, not 0`);
  refuses(() => lw.tensors({ model: { ...SLOW_DEVICE, readbackUs: -1 } }), "invalid-option", `${what}: model.readbackUs must be a number that is not negative, not -1`);
  refuses(() => lw.tensors({ model: { ...SLOW_DEVICE, gpu: RATES } }), "invalid-option", `${what}: model has no "gpu": did you mean "cpu"? (it has: device, cpu, readbackUs, transferGigabytes)`);
  assert.deepEqual(lw.tensorRouting(), before);
  lw.dispose();
  refuses(() => lw.tensors({ routing: "cpu" }), "disposed", /this engine was disposed/);
  await rejects(lw.measureTensors(), "disposed", /this engine was disposed/);
});
