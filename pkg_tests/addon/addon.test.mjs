// The addon leastwise-cuda: loading it, what it says where there is no CUDA, and its thread. What it computes is tested by
// the tests of ../node on it; here `LEASTWISE_ADDON=cpu` has its engine on the CPU, unless a test is about finding CUDA.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { init } from "leastwise";
import { probe } from "leastwise-cuda";
import { arap, arapMesh, asUsers, deviceOfNothing, icosphere, inFreshProcess, open, refuses, rejects } from "../node/support.mjs";

const root = dirname(fileURLToPath(import.meta.resolve("leastwise-cuda")));
/** True if the addon is that of a quick run, of the Rust tests' profile and without compiled kernels: `npm run test:full` and the kit look at the one that is published. */
const ofTests = process.env.LEASTWISE_ADDON_PROFILE === "tests";
const mesh = arapMesh(icosphere(2));
const fresh = (name, args, options) => inFreshProcess(fileURLToPath(new URL(`fresh/${name}`, import.meta.url)), args, options);
/** Steps until it is stopped. */
const ENDLESS = { maxIterations: 1e6, costTolerance: 0, gradientTolerance: 0, stepTolerance: 0 };

test("the package: a binary without the builder's paths, its types, its licences", () => {
  const files = readdirSync(root).sort();
  const kernels = ofTests ? [] : ["kernels.bin"];
  assert.deepEqual(files, ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "doctor.js", "index.d.ts", "index.js", ...kernels, "leastwise-cuda.linux-x64.node", "package.json", "run.js"]);
  if (!ofTests) {
    const { size } = statSync(join(root, "kernels.bin"));
    assert.ok(size < 10 * 2 ** 20, `${size} bytes`);
    const binary = readFileSync(join(root, "leastwise-cuda.linux-x64.node"));
    assert.ok(binary.length < 40 * 2 ** 20, `${binary.length} bytes`);
    assert.doesNotMatch(binary.toString("latin1"), /\/home\/|\/root\/|\/Users\/|\.cargo\/registry/);
  }
  assert.deepEqual(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).dependencies ?? {}, {}, "it needs no other package than its peer");
});

test("probe() says what is there", () => {
  const found = probe();
  assert.deepEqual(Object.keys(found).sort(), ["cublas", "driver", "gpus", "images", "missing", "nccl", "nvrtc"]);
  assert.ok(found.missing === null ? found.driver && found.nvrtc && found.gpus.length : found.missing.length > 20, JSON.stringify(found));
  if (ofTests) assert.equal(found.images, null);
  else assert.equal(found.images, "compiled by NVRTC 12.9, for compute capability 7.5, 8.0, 9.0, 10.0, 12.0");
});

test("compiled kernels: another file of them, none, and one that can't be read", async () => {
  const images = async (path) => JSON.parse(await fresh("images.mjs", [], { env: { LEASTWISE_IMAGES: path } }));
  assert.equal(await images(""), null);
  assert.match(await images("/nowhere/kernels.bin"), /^can't be read: \/nowhere\/kernels\.bin: No such file/);
  assert.match(await images(join(root, "package.json")), /^can't be read: .*package\.json: no file of images, or one of another version/);
});

test("NVRTC compiles those kernels alone that are made of a problem: static ones come compiled", { skip: Boolean(probe().missing) || ofTests }, async (t) => {
  /** Names of the kernels that NVRTC has compiled for a solve. */
  const compiled = async (env) => {
    const cache = mkdtempSync(join(tmpdir(), "leastwise-images-"));
    t.after(() => rmSync(cache, { recursive: true, force: true }));
    await fresh("bits.mjs", [], { env: { ...env, LEASTWISE_CACHE: cache } });
    const texts = readdirSync(cache).filter((name) => name.endsWith(".cu")).map((name) => readFileSync(join(cache, name), "utf8"));
    return new Set(texts.map((text) => /leastwise_\w+/.exec(text)[0]));
  };
  const [all, made] = [await compiled({ LEASTWISE_IMAGES: "" }), await compiled({})];
  const spared = [...all].filter((name) => !made.has(name));
  t.diagnostic(`NVRTC compiles ${made.size} kernels instead of ${all.size}: ${[...made].join(", ")}`);
  assert.ok(spared.includes("leastwise_merged_update") && spared.includes("leastwise_step_sum"), spared.join(", "));
  assert.ok(made.size > 0 && [...made].every((name) => all.has(name)), [...made].join(", "));
  assert.equal([...made].filter((name) => /^leastwise_(merged_(?!products)|pcg_|step_|system_|trust_region_|two_level_)/.test(name)).length, 0, [...made].join(", "));
});

test("where CUDA can't be used: \"cuda\" is an error that says why, \"auto\" goes on with the reason", { skip: !probe().missing }, () => asUsers(async () => {
  const why = `CUDA can't be used: ${probe().missing}`;
  assert.match(why, /NVIDIA driver|NVRTC/);
  await rejects(init({ backend: "cuda" }), "no-adapter", why);
  await rejects(init({ backend: "cuda", precision: "f32", cudaDevice: 3 }), "no-adapter", why);
  const auto = await init();
  assert.ok(auto.reason.startsWith(`${why}; `), auto.reason);
  assert.match(auto.reason, auto.backend === "webgpu" ? /; WebGPU is there$/ : /; WebGPU's adapter is software \(.+\)/);
  auto.dispose();
  const f64 = await init({ precision: "f64" });
  assert.deepEqual([f64.backend, f64.reason], ["cpu", `${why}; f64 was asked for, which WebGPU does not have`]);
  f64.dispose();
}));

test("where CUDA can be used: a GPU that is not there is an error that counts those that are", { skip: Boolean(probe().missing) }, () => asUsers(async () => {
  const { gpus } = probe();
  await rejects(init({ backend: "cuda", cudaDevice: 99 }), "no-adapter", `CUDA can't be used: there is no GPU 99: the driver finds ${gpus.length} (0 to ${gpus.length - 1})`);
  const auto = await init();
  assert.deepEqual([auto.backend, auto.reason, auto.precision, auto.adapter, auto.device], ["cuda", "CUDA is there", "f64", gpus[0].name, undefined]);
  auto.dispose();
}));

test("options that CUDA has or has not", async (t) => {
  await rejects(init({ backend: "cuda", device: deviceOfNothing() }), "invalid-option", 'a device was given, but backend "cuda" uses none');
  for (const cudaDevice of [-1, 0.5, "0"]) await rejects(init({ backend: "cuda", cudaDevice }), "invalid-option", `cudaDevice: ${JSON.stringify(cudaDevice)} is not an integer from 0 to 4294967295`);
  const lw = await open(t, { backend: "cuda" });
  assert.deepEqual([lw.precision, lw.device, arap(lw, mesh).x.buffer], ["f64", undefined, undefined]);
  assert.equal((await open(t, { backend: "cuda", precision: "f32" })).precision, "f32");
});

test("two engines at once: each has the bits that it has alone", async (t) => {
  const solve = async (lw) => {
    const { problem, x } = arap(lw, mesh);
    await problem.solve({ maxIterations: 8 });
    return x.read(new Float64Array(3 * x.count));
  };
  const alone = await solve(await open(t, { backend: "cuda" }));
  const engines = await Promise.all([1, 2, 3].map(() => open(t, { backend: "cuda" })));
  const together = await Promise.all(engines.map(solve));
  for (const values of together) assert.deepEqual(values, alone);
  engines[0].dispose();
  assert.deepEqual(await solve(engines[1]), alone, "another engine's end changes nothing");
});

test("natively the CPU gives WebAssembly's bits, on one thread and on many", { skip: process.env.LEASTWISE_ADDON !== "cpu" }, async (t) => {
  const engines = [await open(t, { backend: "cuda" }), await init({ backend: "cpu" })];
  const found = await Promise.all(engines.map(async (lw) => {
    const { problem, x } = arap(lw, mesh);
    const { iterations } = await problem.solve({ linear: "pcg", maxIterations: 8 });
    return { values: await x.read(new Float64Array(3 * x.count)), iterations: iterations.map(({ ms, ...numbers }) => numbers) };
  }));
  engines[1].dispose();
  assert.deepEqual(found[0], found[1]);
});

test("the number of threads changes no bit", async () => {
  const hash = (threads) => fresh("bits.mjs", [], { env: { RAYON_NUM_THREADS: threads } });
  assert.equal(await hash("1"), await hash("3"));
});

test("the event loop is free while a large system is factored", async (t) => {
  const lw = await open(t, { backend: "cuda" });
  const { problem } = arap(lw, arapMesh(icosphere(5)));
  let longest = 0, turns = 0, last = performance.now(), running = true;
  const beat = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    turns++;
    if (running) setImmediate(beat);
  };
  setImmediate(beat);
  t.after(() => { running = false; });
  const { iterations, time: { solveMs } } = await problem.solve({ ...ENDLESS, linear: "sparse-cholesky", maxIterations: 3 });
  running = false;
  t.diagnostic(`a solve of ${solveMs.toFixed(0)} ms, ${turns} turns of the event loop, the longest ${longest.toFixed(1)} ms`);
  assert.ok(longest < solveMs / 4, `the event loop stood still for ${longest} of ${solveMs} ms`);
  assert.ok(turns > 100 * iterations.length, `only ${turns} turns of the event loop in ${iterations.length} iterations of ${solveMs} ms`);
});

test("an abort in the midst of an iteration ends the solve after it", async (t) => {
  const lw = await open(t, { backend: "cuda" });
  const { problem, x } = arap(lw, arapMesh(icosphere(4)));
  const control = new AbortController();
  // From a timer, while the next iteration is being worked on.
  const onIteration = ({ accepted }) => { if (accepted) setTimeout(() => control.abort(), 1); };
  const report = await problem.solve({ ...ENDLESS, signal: control.signal, onIteration });
  assert.equal(report.termination, "stopped", String(report));
  assert.ok(report.cost < report.initialCost, String(report));
  assert.ok((await x.read()).every(Number.isFinite));
  // And a call in the midst of one is refused at once, or answered; never in between.
  const solving = problem.solve({ ...ENDLESS, maxIterations: 2 });
  refuses(() => problem.variables("late", { shape: 1, values: [1] }), "busy", "this problem is already being solved or read: wait for the running call, or stop it with its signal");
  assert.ok(lw.memory().live > 0);
  await solving;
});

test("what is disposed in the midst of a solve rejects it", async (t) => {
  const lw = await open(t, { backend: "cuda" });
  const large = arapMesh(icosphere(4));
  for (const soon of [(work) => work(), (work) => setTimeout(work, 1)]) {
    const { problem } = arap(lw, large);
    let first = true;
    // Between two slices, and while one is running.
    const onIteration = () => { if (first) soon(() => problem.dispose()); first = false; };
    await assert.rejects(problem.solve({ ...ENDLESS, onIteration }), { code: "disposed" });
  }
  const other = await init({ backend: "cuda" });
  const going = arap(other, large).problem.solve({ ...ENDLESS, onIteration: ({ index }) => { if (index === 0) setTimeout(() => other.dispose(), 1); } });
  await assert.rejects(going, { code: "disposed", message: "this engine was disposed: call init() for a new one" });
});

test("arrays are read when they are given: views, shared memory, and what happens to them later", async (t) => {
  const lw = await open(t, { backend: "cuda" });
  const problem = lw.problem();
  const shared = new Float64Array(new SharedArrayBuffer(32)).fill(7);
  const given = Float32Array.of(9, 1, 2, 3, 9).subarray(1, 4);
  const x = problem.variables("x", { shape: 1, values: given });
  const y = problem.variables("y", { shape: 1, values: shared });
  given.fill(0);
  shared.fill(0);
  structuredClone(given.buffer, { transfer: [given.buffer] });
  assert.deepEqual([...await x.read()], [1, 2, 3]);
  assert.deepEqual([...await y.read()], [7, 7, 7, 7]);
  const read = await x.read(new Float64Array(3));
  read.fill(5);
  assert.deepEqual([...await x.read()], [1, 2, 3], "what was read is the reader's");
});

test("reads at once take turns, each with the values of its time", async (t) => {
  const lw = await open(t, { backend: "cuda" });
  const { problem, x } = arap(lw, arapMesh(icosphere(4)));
  await problem.solve({ maxIterations: 2 });
  const solved = Array.from(await x.read());
  const reads = [x.read(), x.read(new Float64Array(3 * x.count))];
  x.write(new Float64Array(3 * x.count).fill(5));
  reads.push(x.read(), x.read());
  const [first, second, third, fourth] = await Promise.all(reads);
  assert.deepEqual(Array.from(first), solved);
  assert.deepEqual(second, first);
  for (const values of [third, fourth]) assert.ok(values.every((value) => value === 5));
  assert.equal((await problem.solve({ maxIterations: 1 })).iterations.length, 1);
});

test("it works in two workers at once, and when they are ended in the midst of a solve", async () => {
  const workers = [1, 2].map(() => new Worker(new URL("fresh/worker.mjs", import.meta.url)));
  const said = (what) => Promise.all(workers.map((worker) => new Promise((resolve, reject) => {
    worker.on("message", (message) => { if (message === what) resolve(message); }).once("error", reject);
  })));
  await said("solved");
  workers.forEach((worker) => worker.postMessage("go on without an end"));
  await said("solving");
  assert.deepEqual(await Promise.all(workers.map((worker) => worker.terminate())), [1, 1]);
});

for (const how of ["leave", "leave-solving", "exit-solving", "dispose-solving"]) {
  test(`a process ends by itself: ${how}`, async () => {
    assert.equal(await fresh("end.mjs", [how], { seconds: 60, flags: ["--expose-gc"] }), "done");
  });
}

test("doctor: what was found, and a self-test that passes", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "doctor.js"), "doctor"], { encoding: "utf8", env: { ...process.env, LEASTWISE_ADDON: "" } });
  assert.match(stdout, /^self-test: +of .* passed/m, stdout + stderr);
  assert.match(stdout, probe().missing ? /^CUDA: +can't be used: /m : /^GPU 0: /m);
  assert.equal(status, probe().missing ? 1 : 0);
  assert.equal(spawnSync(process.execPath, [join(root, "doctor.js")], { encoding: "utf8" }).status, 2);
  assert.ok(statSync(join(root, "doctor.js")).mode & 0o100, "it can be run");
});
