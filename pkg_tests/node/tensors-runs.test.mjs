// How tensors run: submissions, memory, scopes, what is read together, routes, and arrays that are written over.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { crossEntropy, map } from "leastwise";
import { adam, mlp, sgd, trainer } from "leastwise/nn";
import { ADDON, BACKENDS, FULL, ON_CUDA, open, refuses, rejects } from "./support.mjs";

const ROWS = 12;
const batch = () => ({ x: Float32Array.from({ length: ROWS * 6 }, (_, k) => Math.sin(k * k)), y: Uint32Array.from({ length: ROWS }, (_, k) => (k * 5) % 3) });

/** A small network and a trainer of it. */
function small(lw, optimizer = adam({ learningRate: 0.01 })) {
  const model = mlp(lw, [6, 10, 3], { seed: 1 });
  return { model, run: trainer(model, (model, { x, y }) => crossEntropy(model.forward(lw.tensor(x, [ROWS, 6])), y), optimizer) };
}

for (const backend of BACKENDS) {
  test(`${backend}: a step of training is one submission and one readback, planned once`, async (t) => {
    const lw = await open(t, { backend });
    const { run } = small(lw);
    const data = batch();
    // The first step has no moments, the second has.
    for (let k = 0; k < 2; k++) await run.step(data);
    const [before, plans] = [lw.counters(), lw.tensorStatistics()];
    const losses = [];
    for (let k = 0; k < 5; k++) losses.push(await run.step(data));
    const [after, later] = [lw.counters(), lw.tensorStatistics()];
    assert.equal(after.submissions - before.submissions, 5);
    assert.equal(after.readbacks - before.readbacks, 5);
    assert.equal(after.bytesReadBack - before.bytesReadBack, 5 * 4, "the loss, and nothing else");
    assert.equal(after.kernelsCreated, before.kernelsCreated);
    assert.equal(later.plansMade, plans.plansMade);
    assert.equal(later.plansReused - plans.plansReused, 5);
    assert.ok(later.fused > 0);
    assert.ok(losses.every((loss, k) => k === 0 || loss < losses[k - 1]), `${losses}`);
  });

  test(`${backend}: what is read in one turn of the event loop is read together`, async (t) => {
    const lw = await open(t, { backend });
    const a = lw.tensor([1, 2, 3]), b = a.square(), c = b.sum(), d = map((x) => x.mul(x).add(1), a);
    await lw.evaluate(a.add(1));
    const before = lw.counters();
    const [squares, sum, more] = await Promise.all([b.read(), c.item(), d.read(), lw.evaluate(a.mul(2))]);
    const after = lw.counters();
    assert.deepEqual([[...squares], sum, [...more]], [[1, 4, 9], 14, [2, 5, 10]]);
    assert.deepEqual([after.submissions - before.submissions, after.readbacks - before.readbacks], [1, 1]);
    // What was computed stays: reading it again computes nothing.
    const kernels = lw.counters().dispatches;
    assert.deepEqual([...await b.read()], [1, 4, 9]);
    assert.equal(lw.counters().dispatches, kernels);
    // Asked for while another runs: after it, and right.
    const first = c.mul(2).item(), second = first.then(() => 0), third = (async () => { await null; await null; return c.mul(3).item(); })();
    assert.deepEqual(await Promise.all([first, second, third]), [28, 0, 42]);
  });
}

/** Bytes of the WebAssembly module's memory, which holds graphs and plans; 0 where the addon runs. */
async function moduleBytes() {
  if (ADDON) return 0;
  const { default: exports } = await import(new URL("./wasm/leastwise.js", import.meta.resolve("leastwise")));
  // Loaded already: what it gives is the module's exports.
  return (await exports()).memory.buffer.byteLength;
}

const heapBytes = () => {
  // What one run finds to be finalized, the next one frees.
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
};

const MANY = FULL ? 12_000 : 3000;
for (const [backend, steps] of ADDON ? [["cuda", MANY]] : [["cpu", MANY], ["webgpu", 300]]) {
  test(`${backend}: memory stays as it is over ${steps} steps, and dispose() gives all of it back`, async (t) => {
    const lw = await open(t, { backend });
    const idle = lw.memory();
    const { model, run } = small(lw, sgd({ learningRate: 0.05, momentum: 0.9 }));
    const data = batch();
    for (let k = 0; k < 100; k++) await run.step(data);
    const early = lw.memory(), nodes = lw.tensorStatistics().nodes, module = await moduleBytes();
    // What JavaScript's own compiler keeps of this code comes at moments of its own choosing: what a step
    // leaves behind is in every one of these windows, so the least of them shows it.
    const windows = 6, width = steps / (2 * windows), grown = [];
    for (let k = 0; k < steps / 2; k++) await run.step(data);
    for (let window = 0, heap = heapBytes(); window < windows; window++) {
      for (let k = 0; k < width; k++) await run.step(data);
      const now = heapBytes();
      grown.push(now - heap);
      heap = now;
    }
    const late = lw.memory();
    assert.deepEqual({ ...late, hits: 0 }, { ...early, hits: 0 });
    assert.ok(late.hits - early.hits >= steps, "buffers are used again");
    assert.equal(late.tensors - idle.tensors, model.parameters().length * 2, "parameters and moments");
    assert.deepEqual([lw.tensorStatistics().nodes, await moduleBytes()], [nodes, module]);
    const told = `JavaScript's heap has grown by ${grown.join(", ")} bytes in windows of ${width} steps`;
    t.diagnostic(told);
    // A small object a step would be more.
    assert.ok(Math.min(...grown) < 40 * width + 5_000, told);
    run.dispose();
    model.dispose();
    assert.equal(lw.memory().tensors, idle.tensors);
    lw.trim();
    const trimmed = lw.memory();
    assert.deepEqual([trimmed.live, trimmed.objects, trimmed.pooled], [idle.live, idle.objects, 0]);
  });
}

test("a scope frees what was made in it and not returned", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const outside = lw.tensor([1, 2]), before = lw.memory().tensors;
  let lost;
  const one = lw.scope(() => { lost = outside.add(1); return lost.mul(2); });
  assert.equal(lw.memory().tensors, before + 1);
  refuses(() => lost.add(1), "disposed", /at the end of lw\.scope: return what is to stay/);
  assert.deepEqual([...await one.read()], [4, 6], "what it was made of is still known");
  const many = lw.scope(() => {
    const { kept } = lw.scope(() => ({ kept: outside.add(10), gone: [outside.add(20)].length }));
    const dropped = lw.scope(() => outside.add(30));
    return { kept, list: [outside.sub(1), { deep: dropped.sub(1) }], map: new Map([["a", outside.mul(3)]]) };
  });
  assert.equal(lw.memory().tensors, before + 1 + 4);
  assert.deepEqual([...await many.kept.read(), ...await many.list[1].deep.read()], [11, 12, 30, 31]);
  const module = lw.scope(() => mlp(lw, [2, 3, 1], { seed: 1 }));
  assert.deepEqual((await module.forward(outside).read()).length, 1, "a module keeps its parameters");
  const now = lw.memory().tensors;
  assert.throws(() => lw.scope(() => { outside.add(1); throw new RangeError("mine"); }), RangeError);
  refuses(() => lw.scope(async () => outside.add(1)), "invalid-option", /work must be synchronous, because what it made is freed when it returns; it returned a promise/);
  refuses(() => lw.scope(() => ({ then() {} })), "invalid-option", /it returned a promise/);
  assert.equal(lw.memory().tensors, now, "freed also where it failed");
  // Values that were asked for come, although the tensor is gone.
  let read;
  lw.scope(() => { read = outside.mul(7).read(); });
  assert.deepEqual([...await read], [7, 14]);
  const soon = outside.mul(5), values = soon.read();
  soon.dispose();
  assert.deepEqual([...await values], [5, 10]);
  assert.equal(lw.memory().tensors, now);
});

test("one that fails does not fail those that are evaluated with it", async (t) => {
  const lw = await open(t, { backend: "cpu", limits: { bindingBytes: 1 << 16 } });
  const [large, small] = await Promise.allSettled([lw.ones([1 << 18]).add(1).read(), lw.ones([2]).read()]);
  assert.equal(small.status, "fulfilled");
  assert.deepEqual([...small.value], [1, 1]);
  assert.equal(large.status, "rejected");
  assert.equal(large.reason.code, "limits");
  // Of arrays, whose operations give no promise, synchronize() tells.
  const [from, to] = [lw.arrays.allocate([1 << 18]), lw.arrays.allocate([1 << 18])];
  await lw.arrays.synchronize();
  lw.arrays.sigmoid(from, to);
  await rejects(lw.arrays.synchronize(), "limits", /a tensor of 262144 elements takes 1048576 bytes, but this device binds 65536 at once/);
  await lw.arrays.synchronize();
});

test("the garbage collector is a safety net, and counts what it caught", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const before = lw.memory();
  (() => { for (let k = 0; k < 50; k++) lw.tensor([k]); })();
  assert.equal(lw.memory().tensors, before.tensors + 50);
  for (let k = 0; k < 20 && lw.memory().finalized < 50; k++) {
    globalThis.gc();
    await sleep(10);
  }
  assert.ok(lw.memory().finalized >= 45, `${lw.memory().finalized} of 50`);
  assert.equal(lw.memory().tensors + lw.memory().finalized, before.tensors + 50);
});

test("a disposed engine: its tensors say so, and disposing them is no error", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const tensor = lw.tensor([1]);
  lw.dispose();
  refuses(() => tensor.add(1), "disposed", /this engine was disposed/);
  await rejects(tensor.read(), "disposed", /this engine was disposed/);
  tensor.dispose();
});

test("settings: unfused is the same, the trace says what ran, and routes can be forced", async (t) => {
  const lw = await open(t, { backend: ADDON ? "cuda" : "webgpu" });
  const values = Float32Array.from({ length: 300 }, (_, k) => Math.cos(k));
  const result = async () => lw.scope(() => { const x = lw.tensor(values, [20, 15]); return { sum: x.mul(2).sin().add(x).softmax().matmul(x.T).sum(1).read() }; }).sum;
  const fused = await result(), kernels = lw.tensorStatistics().kernels;
  lw.tensors({ fused: false });
  const unfused = await result();
  assert.ok(lw.tensorStatistics().kernels > kernels, `${lw.tensorStatistics().kernels} kernels unfused, ${kernels} fused`);
  fused.forEach((value, k) => assert.ok(Math.abs(value - unfused[k]) < 1e-4));
  lw.tensors({ fused: true, routing: "device" });
  assert.deepEqual(await result(), fused);
  assert.ok(lw.tensorTrace().length > 0 && lw.tensorTrace().every(({ place, what }) => place === (ADDON && !ON_CUDA ? "cpu" : lw.backend) && what.length > 0));
  if (!lw.device) return;
  lw.tensors({ routing: "cpu" });
  const cpu = await result();
  assert.ok(lw.tensorTrace().every(({ place, reason }) => place === "cpu" && reason === "asked for"), JSON.stringify(lw.tensorTrace()));
  cpu.forEach((value, k) => assert.ok(Math.abs(value - fused[k]) < 1e-4));
  // A model in which the device takes for ever.
  const rates = { launchUs: 1, gigabytes: 10, gigaops: 10, productGigaops: 10 };
  lw.tensors({ routing: "auto", model: { device: { ...rates, launchUs: 1e6 }, cpu: rates, readbackUs: 100, transferGigabytes: 10 } });
  assert.deepEqual(await result(), cpu);
  assert.match(lw.tensorTrace()[0].reason, /^device 1000\d{3}\.\d \+ .* µs, cpu .* µs$/);
});

test("settings hold for tensors of f64, too, although none was made before", async (t) => {
  const steps = async (settings) => {
    const lw = await open(t, { backend: "cpu" });
    lw.tensors(settings);
    await lw.tensor([1, 2], [2], { dtype: "f64" }).mul(2).sin().exp().read();
    return lw.tensorTrace().length;
  };
  assert.deepEqual([await steps({}), await steps({ fused: false })], [1, 3]);
});

test("measuring gives a model that can be given back", async (t) => {
  const lw = await open(t, { backend: ADDON ? "cuda" : "webgpu" });
  const before = lw.memory().tensors;
  const model = await lw.measureTensors();
  for (const rates of [model.device, model.cpu]) for (const rate of Object.values(rates)) assert.ok(rate >= 0 && Number.isFinite(rate), JSON.stringify(model));
  assert.ok(model.readbackUs >= 0 && model.transferGigabytes > 0);
  assert.equal(lw.memory().tensors, before);
  const run = async () => {
    const values = await lw.scope(() => ({ read: lw.arange(1000).mul(0.01).sin().sum().read() })).read;
    return [values, lw.tensorTrace()];
  };
  const routed = await run();
  if (lw.device) assert.match(routed[1][0].reason, /^device .* µs, cpu .* µs$/);
  lw.tensors({ routing: "device" });
  await run();
  lw.tensors({ routing: "auto", model: JSON.parse(JSON.stringify(model)) });
  assert.deepEqual(await run(), routed, "the same routes, and the same bits");
});

test("a tensor's buffer on WebGPU, once it is evaluated", { skip: ADDON }, async (t) => {
  const lw = await open(t, { backend: "webgpu" });
  const tensor = lw.tensor([1, 2, 3]).mul(2);
  assert.equal(tensor.buffer, undefined);
  await lw.evaluate(tensor);
  const { buffer, offset, stride } = tensor.buffer;
  assert.deepEqual([offset % 4, stride], [0, 4]);
  const staging = lw.device.createBuffer({ size: 12, usage: 9 });
  const encoder = lw.device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, offset, staging, 0, 12);
  lw.device.queue.submit([encoder.finish()]);
  await staging.mapAsync(1);
  assert.deepEqual([...new Float32Array(staging.getMappedRange())], [2, 4, 6]);
});

// ── the level below ──

for (const backend of BACKENDS) {
  test(`${backend}: arrays that are written over`, async (t) => {
    const lw = await open(t, { backend }), { arrays } = lw;
    assert.equal(arrays.device.type, lw.backend);
    assert.ok(arrays.device.name.length > 0 && arrays.device.memory >= 0);
    const [a, b, c] = [arrays.allocate([2, 3]), arrays.allocate([3]), arrays.allocate([2, 3])];
    const [square, row, turned, one] = [arrays.allocate([2, 2]), arrays.allocate([3]), arrays.allocate([3, 2]), arrays.allocate([])];
    assert.deepEqual([...await arrays.read(a)], [0, 0, 0, 0, 0, 0]);
    arrays.write(a, [1, 2, 3, 4, 5, 6]);
    arrays.write(b, Float64Array.of(1, 0.5, -1));
    arrays.add(a, b, c);
    arrays.mul(c, c, c);
    arrays.sub(c, a, c);
    arrays.div(c, a, c);
    arrays.transpose(a, turned);
    arrays.matmul(a, turned, square);
    arrays.sum(a, row, { axis: 0 });
    arrays.max(a, one);
    await arrays.synchronize();
    const first = [1, 2, 3, 4, 5, 6].map((value, k) => ((value + [1, 0.5, -1][k % 3]) ** 2 - value) / value);
    (await arrays.read(c)).forEach((value, k) => assert.ok(Math.abs(value - first[k]) < 1e-5, `${value} is not ${first[k]}`));
    assert.deepEqual([[...await arrays.read(square)], [...await arrays.read(row)], [...await arrays.read(one)], [...await arrays.read(turned)]], [[14, 32, 32, 77], [5, 7, 9], [6], [1, 4, 2, 5, 3, 6]]);
    arrays.write(b, [-1, 0, 2]);
    arrays.mean(b, one);
    arrays.softmax(b, row);
    const powers = [-1, 0, 2].map(Math.exp), sum = powers.reduce((x, y) => x + y);
    (await arrays.read(row)).forEach((value, k) => assert.ok(Math.abs(value - powers[k] / sum) < 1e-6));
    assert.ok(Math.abs((await arrays.read(one))[0] - 1 / 3) < 1e-6);
    for (const [name, of] of [["relu", (x) => Math.max(x, 0)], ["sigmoid", (x) => 1 / (1 + Math.exp(-x))], ["tanh", Math.tanh], ["gelu", (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))]]) {
      arrays.write(b, [-1, 0, 2]);
      arrays[name](b, b);
      (await arrays.read(b)).forEach((value, k) => assert.ok(Math.abs(value - of([-1, 0, 2][k])) < 1e-6, name));
    }
    // Written over a thousand times, without anything more being held.
    await arrays.synchronize();
    const held = lw.memory().tensors;
    for (let k = 0; k < 1000; k++) {
      arrays.tanh(c, c);
      if (k % 100 === 0) await arrays.synchronize();
    }
    await arrays.synchronize();
    assert.equal(lw.memory().tensors, held);
  });
}

test("arrays: shapes, aliases and what was deallocated are refused", async (t) => {
  const lw = await open(t, { backend: "cpu" }), { arrays } = lw;
  const [a, b, row] = [arrays.allocate([2, 2]), arrays.allocate([2, 2]), arrays.allocate([2])];
  refuses(() => arrays.matmul(a, b, a), "aliased", "matmul(…, out): out is also the operand a, of which every element of the result needs several; give it an array of its own (elementwise operations may write over an operand)");
  refuses(() => arrays.matmul(a, b, b), "aliased", /out is also the operand b/);
  for (const name of ["transpose", "softmax", "sum", "mean", "max"]) refuses(() => arrays[name](a, a), "aliased", new RegExp(`^${name}\\(…, out\\): out is also the operand a`));
  refuses(() => arrays.add(a, b, row), "shape", "add(a, b, out): the result is [2, 2], but out is [2]");
  refuses(() => arrays.add(row, a, row), "shape", "add(a, b, out): the result is [2, 2], but out is [2]");
  refuses(() => arrays.matmul(a, row, b), "shape", /the result is \[2\], but out is \[2, 2\]/);
  refuses(() => arrays.add(a, lw.ones([2, 2]), b), "invalid-option", "add(a, b, out): b must be an array of lw.arrays.allocate(shape), not a Tensor");
  refuses(() => arrays.write(a, [1, 2]), "data-length", "write(array, values): there are 2 values, but the array [2, 2] has 4 elements");
  refuses(() => arrays.relu(a, arrays.allocate([2, 2], { dtype: "f64" })), "dtype", /of f64 and of f32/);
  arrays.deallocate(b);
  refuses(() => arrays.relu(a, b), "disposed", "relu(a, out): the array [2, 2] was deallocated");
  await rejects(arrays.read(b), "disposed", "read(array): the array [2, 2] was deallocated");
  // A scope is about tensors: arrays have their own end.
  const kept = lw.scope(() => { arrays.write(a, [1, 2, 3, 4]); arrays.relu(a, a); });
  assert.equal(kept, undefined);
  assert.deepEqual([...await arrays.read(a)], [1, 2, 3, 4]);
});
