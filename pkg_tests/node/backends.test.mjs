// Which backend runs and why, whose device it is, and what disposal frees.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { init, LeastwiseError } from "leastwise";
import { ADDON, arap, arapMesh, BACKENDS, icosphere, inFreshProcess, open, ownGpu, refuses, rejects } from "./support.mjs";

const mesh = arapMesh(icosphere(1));

/** Runs `work` where `navigator.gpu` is this. */
async function withGpu(gpu, work) {
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { configurable: true, writable: true, value: { gpu } });
  try {
    return await work();
  } finally {
    if (before) Object.defineProperty(globalThis, "navigator", before);
    else delete globalThis.navigator;
  }
}

const NO_ADAPTER = "WebGPU found no adapter (no GPU, a blocked driver, or no software fallback)";

test("no WebGPU adapter: \"auto\" takes the CPU and says why, \"webgpu\" is an error", async (t) => {
  await withGpu({ requestAdapter: async () => null }, async () => {
    const lw = await init();
    t.after(() => lw.dispose());
    assert.deepEqual([lw.backend, lw.reason, lw.precision, lw.device, lw.adapter], ["cpu", `WebGPU can't be had: ${NO_ADAPTER}`, "f64", undefined, "cpu"]);
    assert.equal((await arap(lw, mesh).problem.solve()).converged, true);
    await rejects(init({ backend: "webgpu" }), "no-adapter", `WebGPU was demanded but can't be had: ${NO_ADAPTER}`);
  });
});

test("CUDA without the package leastwise-cuda: the reason says how to get it, and \"auto\" says nothing of it", { skip: ADDON }, async () => {
  await rejects(init({ backend: "cuda" }), "no-adapter", "CUDA can't be used: it needs Node and the package leastwise-cuda (`npm install leastwise-cuda`)");
});

test("a WebGPU adapter that gives no device: the same, with its words", async (t) => {
  const adapter = { features: new Set(), limits: {}, requestDevice: async () => { throw new Error("the driver said no"); } };
  await withGpu({ requestAdapter: async () => adapter }, async () => {
    const lw = await init();
    t.after(() => lw.dispose());
    assert.deepEqual([lw.backend, lw.reason], ["cpu", "WebGPU can't be had: the driver said no"]);
    await rejects(init({ backend: "webgpu" }), "no-adapter", "WebGPU was demanded but can't be had: the driver said no");
  });
});

/** A folder where `leastwise` is installed and `webgpu` is not, with a copy of a program. */
function alone(t, program) {
  const folder = mkdtempSync(join(tmpdir(), "leastwise-alone-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(dirname(dirname(fileURLToPath(import.meta.resolve("leastwise")))), join(folder, "node_modules/leastwise"), { recursive: true });
  cpSync(fileURLToPath(new URL(`fresh/${program}`, import.meta.url)), join(folder, program));
  return folder;
}

test("Node without the package webgpu: the reason says how to get it", async (t) => {
  const folder = alone(t, "no-webgpu.mjs");
  const why = "Node has no WebGPU of its own; `npm install webgpu` brings it";
  assert.deepEqual(JSON.parse(await inFreshProcess(join(folder, "no-webgpu.mjs"), [], { cwd: folder })), {
    backend: "cpu", reason: `WebGPU can't be had: ${why}`, device: true, converged: true,
    refused: { code: "no-adapter", message: `WebGPU was demanded but can't be had: ${why}` },
  });
});

test("a package webgpu that fails says why, makes one instance for calls at the same time, and is tried again", async (t) => {
  const folder = alone(t, "failing-webgpu.mjs");
  mkdirSync(join(folder, "node_modules/webgpu"));
  writeFileSync(join(folder, "node_modules/webgpu/package.json"), JSON.stringify({ name: "webgpu", type: "module", exports: "./index.js" }));
  // The first instance can't be made; the next ones have no adapter.
  writeFileSync(join(folder, "node_modules/webgpu/index.js"), `
    let tries = 0;
    export const globals = {};
    export const create = () => {
      if (++tries === 1) throw new Error("there is no Vulkan loader");
      return { requestAdapter: async () => null };
    };
    globalThis.triesOfWebGpu = () => tries;
  `);
  const demanded = "WebGPU was demanded but can't be had: ";
  assert.deepEqual(JSON.parse(await inFreshProcess(join(folder, "failing-webgpu.mjs"), [], { cwd: folder })), {
    first: [`${demanded}there is no Vulkan loader`, `${demanded}there is no Vulkan loader`],
    second: [`${demanded}${NO_ADAPTER}`, `${demanded}${NO_ADAPTER}`],
    tries: 2,
  });
});

test("the first two engines on WebGPU may be made at the same time", { skip: ADDON }, async () => {
  assert.deepEqual(JSON.parse(await inFreshProcess("fresh/two-at-once.mjs", [], { flags: ["--expose-gc"] })), [["webgpu", 3], ["webgpu", 3]]);
});

// Of Chromium, Dawn in Node, wgpu and WebGPU's specification, now and before.
const SOFTWARE = [
  [{ info: { vendor: "google", architecture: "swiftshader", device: "0xc0de", description: "" } }, "swiftshader"],
  [{ info: { vendor: "mesa", description: "llvmpipe (LLVM 19.1.7, 256 bits)" } }, "llvmpipe (LLVM 19.1.7, 256 bits)"],
  [{ info: { vendor: "microsoft", description: "Microsoft Basic Render Driver" } }, "Microsoft Basic Render Driver"],
  [{ info: { vendor: "someone", description: "an emulator", type: "CPU" } }, "an emulator"],
  [{ info: { vendor: "someone", isFallbackAdapter: true } }, "someone"],
  [{ info: {}, isFallbackAdapter: true }, "a fallback adapter"],
];

test("a software adapter of WebGPU: \"auto\" goes to the CPU and says why, for anything else it will do", async (t) => {
  for (const [adapter, name] of SOFTWARE) {
    const asked = { features: new Set(), limits: {}, ...adapter, requestDevice: async () => { throw new Error("it was asked for a device"); } };
    await withGpu({ requestAdapter: async () => asked }, async () => {
      const lw = await init();
      t.after(() => lw.dispose());
      assert.deepEqual([lw.backend, lw.reason], ["cpu", `WebGPU's adapter is software (${name}), which is slower than the CPU backend; backend "webgpu" takes it all the same`]);
      for (const options of [{ backend: "webgpu" }, { precision: "f32x2" }]) await rejects(init(options), "no-adapter", "WebGPU was demanded but can't be had: it was asked for a device");
    });
  }
  const gpu = { features: new Set(), limits: {}, info: { vendor: "nvidia", architecture: "hopper", isFallbackAdapter: false }, isFallbackAdapter: false, requestDevice: async () => { throw new Error("it was asked for a device"); } };
  await withGpu({ requestAdapter: async () => gpu }, async () => {
    const lw = await init();
    t.after(() => lw.dispose());
    assert.deepEqual([lw.backend, lw.reason], ["cpu", "WebGPU can't be had: it was asked for a device"]);
  });
});

test("the reasons of choices that work, WebGPU's among them", async (t) => {
  const software = /^(.+); its adapter is software \(.+\), which is slower than the CPU backend$/;
  const webgpu = await open(t, { backend: "webgpu" });
  const isSoftware = software.test(webgpu.reason);
  assert.equal(isSoftware, /swiftshader|llvmpipe/i.test(webgpu.adapter), `${webgpu.adapter}: ${webgpu.reason}`);
  const reasons = [
    [{ backend: "cpu" }, "cpu", "the CPU was asked for"],
    [{ precision: "f64" }, "cpu", "f64 was asked for, which WebGPU does not have"],
    [{ backend: "webgpu" }, "webgpu", "WebGPU was asked for"],
    isSoftware ? [{}, "cpu", /^WebGPU's adapter is software \(.+\)/] : [{}, "webgpu", "WebGPU is there"],
  ];
  for (const [options, backend, reason] of reasons) {
    const lw = await init(options);
    t.after(() => lw.dispose());
    const said = backend === "webgpu" && isSoftware ? lw.reason.match(software)[1] : lw.reason;
    assert.equal(lw.backend, backend);
    if (reason instanceof RegExp) assert.match(said, reason);
    else assert.equal(said, reason);
    assert.equal(lw.precision, backend === "cpu" ? "f64" : "f32");
    assert.equal(lw.device !== undefined, backend === "webgpu");
  }
});

test("the globals that opening WebGPU needs are gone afterwards", async (t) => {
  const names = ["navigator", "Window", "WorkerGlobalScope"];
  const before = names.map((name) => Object.getOwnPropertyDescriptor(globalThis, name));
  await Promise.all([open(t, { backend: "webgpu" }), open(t, { backend: "webgpu" })]);
  assert.deepEqual(names.map((name) => Object.getOwnPropertyDescriptor(globalThis, name)), before);
});

test("x.buffer: on WebGPU it holds the accepted values, packed and in one place; on the CPU there is none", async (t) => {
  const cpu = await open(t, { backend: "cpu" });
  assert.equal(arap(cpu, mesh).x.buffer, undefined);
  const lw = await open(t, { backend: "webgpu" });
  const { problem, x, turn } = arap(lw, mesh);
  const view = x.buffer;
  assert.equal(view.stride, 12);
  await problem.solve({ maxIterations: 3 });
  for (const table of [x, turn]) {
    const { buffer, offset } = table.buffer;
    assert.equal(offset % 256, 0);
    const bytes = 12 * table.count;
    const staging = lw.device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
    const encoder = lw.device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, offset, staging, 0, bytes);
    lw.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    assert.deepEqual(new Float32Array(staging.getMappedRange().slice(0)), await table.read());
    staging.destroy();
  }
  assert.equal(x.buffer.buffer, view.buffer);
  assert.equal(x.buffer.offset, view.offset);
  assert.ok(view.buffer.usage & GPUBufferUsage.VERTEX, "a renderer can draw from it");
  refuses(() => problem.variables("late", { shape: 1, values: [1] }), "shape",
    '"late": x.buffer of this problem is in use, so its layout can\'t change: make every variable and constant before asking for a buffer');
});

for (const backend of BACKENDS) {
  test(`memory on ${backend}: what is disposed is destroyed, one buffer at a time`, async (t) => {
    const lw = await open(t, { backend });
    const idle = lw.memory();
    const { problem, handles } = arap(lw, mesh);
    const solver = problem.solver();
    await solver.step();
    const all = lw.memory();
    assert.ok(all.objects > idle.objects + 10 && all.live > idle.live && all.peak >= all.live, JSON.stringify(all));
    const destroyed = () => lw.counters().buffersDestroyed;
    const change = (work) => { const before = destroyed(); work(); return destroyed() - before; };
    assert.ok(change(() => solver.dispose()) > 0, "a solver's buffers");
    assert.ok(change(() => handles.dispose()) > 0, "a term's buffers");
    assert.ok(change(() => problem.dispose()) > 0, "a problem's buffers");
    const after = lw.memory();
    assert.deepEqual([after.objects, after.live], [idle.objects, idle.live], "nothing is left");
    assert.equal(after.peak, lw.memory().peak);
    for (let k = 0; k < 3; k++) {
      const again = arap(lw, mesh);
      await again.problem.solve({ maxIterations: 1 });
      await again.handles.cost();
      again.problem.dispose();
    }
    assert.deepEqual([lw.memory().objects, lw.memory().live], [idle.objects, idle.live], "nor after three more");
  });
}

test("scope(): frees what was made inside and not returned", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  let lost;
  const kept = lw.scope(() => {
    lost = lw.problem();
    return lw.problem();
  });
  refuses(() => lost.variables("x", { shape: 1, values: [1] }), "disposed", "this problem was disposed: it can't be used any more");
  kept.variables("x", { shape: 1, values: [1] });
  assert.throws(() => lw.scope(() => { lost = lw.problem(); throw new RangeError("mine"); }), new RangeError("mine"));
  refuses(() => lost.solver(), "disposed", "this problem was disposed: it can't be used any more");
  await rejects(lw.scope(() => kept.variables("u", { shape: 1, values: [2] })).read(new Float32Array(2)), "data-length",
    '"u".read(out): out has 2 values, but 1 are needed (1 instances of 1)');
  refuses(() => lw.scope(async () => { lost = lw.problem(); }), "invalid-option",
    "scope(work): work must be synchronous, because what it made is freed when it returns; it returned a promise");
  refuses(() => lost.solver(), "disposed", "this problem was disposed: it can't be used any more");
  kept.dispose();
});

test("a WebGPU device of one's own: it is used, every buffer on it is destroyed, and it lives on", async () => {
  const device = await (await (await ownGpu()).requestAdapter()).requestDevice();
  const live = new Set();
  let made = 0, destroyed = 0;
  const createBuffer = device.createBuffer.bind(device);
  device.createBuffer = (descriptor) => {
    const buffer = createBuffer(descriptor);
    const destroy = buffer.destroy.bind(buffer);
    buffer.destroy = () => { if (live.delete(buffer)) destroyed++; destroy(); };
    live.add(buffer);
    made++;
    return buffer;
  };
  const lw = await init({ device });
  assert.deepEqual([lw.backend, lw.reason.split(";")[0], lw.device === device], ["webgpu", "a device was given", true]);
  const { problem, x } = arap(lw, mesh);
  await problem.solve({ maxIterations: 2 });
  const { buffer } = x.buffer;
  assert.ok(made > 10 && live.has(buffer));
  problem.dispose();
  assert.ok(!live.has(buffer), "a problem's variables are destroyed with it");
  const second = arap(lw, mesh);
  await second.problem.solve({ maxIterations: 1 });
  lw.dispose();
  assert.deepEqual([...live].map(({ label, size }) => `${label} (${size} bytes)`), [], "every buffer was destroyed");
  assert.equal(destroyed, made);
  const still = device.createBuffer({ size: 16, usage: GPUBufferUsage.COPY_DST });
  await device.queue.onSubmittedWorkDone();
  still.destroy();
  device.destroy();
});

test("a lost WebGPU device: lw.lost tells, and every call that needs it says so", async () => {
  const device = await (await (await ownGpu()).requestAdapter()).requestDevice();
  const lw = await init({ device });
  const { problem, x } = arap(lw, mesh);
  await problem.solve({ maxIterations: 1 });
  device.destroy();
  const error = await lw.lost;
  assert.ok(error instanceof LeastwiseError);
  assert.deepEqual([error.code, error.message], ["device-lost", "the GPU device was lost (destroyed): device was destroyed"]);
  assert.ok(x.stale && (await x.read()).length === x.count * 3, "the values that the host knows are left");
  await rejects(problem.solve(), "device-lost", error.message);
  refuses(() => lw.problem(), "device-lost", error.message);
  problem.dispose();                                    // what is lost anyway can be let go of
  lw.dispose();
});

test("engines share one module and nothing else, WebGPU's and the CPU's", async (t) => {
  const engines = await Promise.all([open(t, { backend: "cpu" }), open(t, { backend: "webgpu" }), open(t, { backend: "cpu", precision: "f32" })]);
  const reports = await Promise.all(engines.map((lw) => arap(lw, mesh).problem.solve({ maxIterations: 5 })));
  for (const report of reports) assert.ok(Math.abs(report.cost / reports[0].cost - 1) < 1e-3, reports.map(({ cost }) => cost).join());
  engines[0].dispose();
  assert.equal((await arap(engines[2], mesh).problem.solve({ maxIterations: 1 })).iterations.length, 1);
});

for (const backend of BACKENDS) {
  for (const how of ["dispose", "leave"]) {
    test(`a process that used ${backend} ends by itself (${how})`, async () => {
      assert.equal(await inFreshProcess("fresh/exit.mjs", [backend, how], { seconds: 60, flags: ["--expose-gc"] }), "done");
    });
  }
}

test("engines on WebGPU that nobody holds are collected without harm", async () => {
  assert.equal(await inFreshProcess("fresh/collected.mjs", [], { flags: ["--expose-gc"] }), "2");
});
