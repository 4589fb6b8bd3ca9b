// Tensors that are kept as halves: rounding as NumPy's float16 rounds, two bytes an element, f32 to whatever reads them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { attention, concat, grad, map, where } from "leastwise";
import { layer, mlp, sequential } from "leastwise/nn";
import { ADDON, BACKENDS, open, refuses } from "./support.mjs";

const bits = new DataView(new ArrayBuffer(8));

/** The nearest half, of two the even one: the number over the step between halves of its size, rounded, times the step. */
function nearestHalf(x) {
  if (!Number.isFinite(x) || x === 0) return x;
  bits.setFloat64(0, Math.abs(x));
  const exponent = Math.max((bits.getUint16(0) >> 4) - 1023, -14), step = 2 ** (exponent - 10);
  const scaled = Math.abs(x) / step, below = Math.floor(scaled), rest = scaled - below;
  const rounded = (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below) * step;
  return Math.sign(x) * (rounded > 65504 ? Infinity : rounded);
}

/** What a half's bits stand for. */
const valueOf = (half) => {
  const exponent = (half >> 10) & 31, part = half & 1023, sign = half & 0x8000 ? -1 : 1;
  if (exponent === 31) return part ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + part) * 2 ** (exponent - 25) : part * 2 ** -24);
};

const ALL = Float32Array.from({ length: 65536 }, (_, half) => valueOf(half));
/** Numbers of all sizes, in the middle between halves, and next to that. */
const HARD = (() => {
  let state = 12345;
  const next = () => (state = (state * 16807) % 2147483647) / 2147483647;
  const found = [65519.99, 65520, 1e30, 1e-45, 2 ** -25, 2 ** -24 * 1.5, 1 + 2 ** -11, 1 + 3 * 2 ** -11, -0, NaN, Infinity];
  for (let k = 0; k < 5000; k++) {
    const half = valueOf(Math.floor(next() * 0x7bff)), step = Math.max(half * 2 ** -10, 2 ** -24);
    found.push(half + step / 2, -(half + step * next()), (next() - 0.5) * 2 ** (40 * next() - 26));
  }
  return Float32Array.from(found);
})();
const same = (found, right, what) => found.forEach((value, k) => assert.ok(Object.is(value, right(k)), `${what}, element ${k}: ${value}, not ${right(k)}`));
const near = (found, right, tolerance, what) => {
  assert.equal(found.length, right.length, what);
  right.forEach((value, k) => assert.ok(Math.abs(found[k] - value) <= tolerance, `${what}, element ${k}: ${found[k]}, not ${value}`));
};

for (const backend of BACKENDS) {
  test(`${backend}: numbers are rounded to the nearest half, on the device and by the host`, async (t) => {
    const lw = await open(t, { backend });
    const all = lw.tensor(ALL, undefined, { dtype: "f16" }), hard = lw.tensor(HARD), given = lw.tensor(HARD, undefined, { dtype: "f16" });
    const cast = hard.cast("f16"), back = all.cast("f32").cast("f16"), wide = all.cast("f32");
    assert.deepEqual([all.dtype, cast.dtype, wide.dtype, back.dtype], ["f16", "f16", "f32", "f16"]);
    // A kernel has them first, so that what is read comes from the device.
    await lw.evaluate(all, given, cast, back, wide);
    const [a, b, c, d, e] = await Promise.all([all, given, cast, back, wide].map((tensor) => tensor.read()));
    assert.ok(a instanceof Float32Array);
    same(a, (k) => ALL[k], "halves as they are");
    same(d, (k) => ALL[k], "halves there and back");
    same(e, (k) => ALL[k], "halves as f32");
    same(b, (k) => nearestHalf(HARD[k]), "by the host");
    same(c, (k) => nearestHalf(HARD[k]), "on the device");
  });

  test(`${backend}: a tensor of f16 is half as large, and so is what a kernel moves`, async (t) => {
    const lw = await open(t, { backend });
    const x = lw.random([512, 512], { seed: 1 });
    const kept = x.cast("f16");
    await lw.evaluate(kept);
    const [step] = lw.tensorTrace();
    assert.deepEqual([step.what, step.bytes, step.elements], ["f16", (4 + 2) * 512 * 512, 2 * 512 * 512]);
    const free = (tensor) => {
      const { live } = lw.tensorStatistics();
      tensor.dispose();
      return live - lw.tensorStatistics().live;
    };
    assert.equal(free(x), 4 * 512 * 512);
    assert.ok(Math.abs(await kept.sum().item() - 512 * 512 / 2) < 500);
    assert.ok(lw.tensorTrace()[0].bytes < 2 * 512 * 512 + 10000);
    // Reading brings words, making uploads them.
    const read = lw.counters().bytesReadBack;
    await kept.read();
    assert.equal(lw.counters().bytesReadBack - read, 2 * 512 * 512);
    assert.equal(free(kept), 2 * 512 * 512);
    const { bytesUploaded } = lw.counters();
    const given = lw.tensor(new Float32Array(10001), undefined, { dtype: "f16" });
    await lw.evaluate(given.mul(2));
    assert.ok(lw.counters().bytesUploaded - bytesUploaded < 2 * 10001 + 2000);
  });

  test(`${backend}: halves go wherever f32 goes, and what is computed of them is f32`, async (t) => {
    const lw = await open(t, { backend });
    const values = (count, seed) => Float32Array.from({ length: count }, (_, k) => nearestHalf(Math.sin(seed + k * k)));
    const [p, q, r] = [values(35, 1), values(21, 2), values(7, 3)];
    const tensors = (dtype) => [lw.tensor(p, [5, 7], { dtype }), lw.tensor(q, [7, 3], { dtype }), lw.tensor(r, [7], { dtype })];
    const work = ([a, b, c]) => [
      a.add(c), c.sub(a), a.mul(2).sin(), a.matmul(b), b.T.matmul(a.T), a.matmul(c), a.T, a.slice([1, 4], [null, null, -2]), a.gather([4, 0, 4]), concat([a, a], 1), a.reshape(7, 5), a.pad([[1, 0], [0, 2]]),
      c.broadcastTo(3, 7), a.sum(0), a.max(1), a.argmax(1), a.softmax(), a.layerNorm({ scale: c }), where(a.less(0), c, a), map((x, y) => x.mul(y).add(1), a, c), attention(a, a, a), a.detach(), a.square().mean(),
    ];
    const PLACES = 15, mixed = tensors("f16").map((half, k) => (k === 1 ? tensors("f32")[1] : half));
    const [halves, singles, both] = [tensors("f16"), tensors("f32"), mixed].map(work);
    // Places are whole numbers, whatever they are places in.
    for (const made of [halves, both]) made.forEach(({ dtype }, k) => assert.equal(dtype, k === PLACES ? "int32" : "f32"));
    const [x, y, z] = await Promise.all([halves, singles, both].map((list) => Promise.all(list.map((tensor) => tensor.read()))));
    y.forEach((right, k) => {
      near(x[k], right, 2e-6, `operation ${k} of halves`);
      near(z[k], right, 2e-6, `operation ${k} of halves and numbers`);
    });
    // Halves and numbers that are read in one turn come together.
    const [half, single, exact] = [lw.tensor([0.1], [1], { dtype: "f16" }).cast("f16"), lw.tensor([0.1]).add(0), lw.tensor([0.1]).cast("f16")];
    assert.deepEqual((await Promise.all([half.read(), single.read(), exact.read()])).map(([value]) => value), [nearestHalf(0.1), Math.fround(0.1), nearestHalf(0.1)]);
  });

  test(`${backend}: gradients go through a cast as if it were not there`, async (t) => {
    const lw = await open(t, { backend });
    const x = lw.random([6, 5], { seed: 1 }), w = lw.random([5, 4], { seed: 2 }), kept = w.cast("f16");
    const [ofW, ofKept, ofX] = grad(x.matmul(kept).tanh().square().sum(), [w, kept, x]);
    // The same numbers as a tensor of their own.
    const plain = lw.tensor(Float32Array.from(await w.read(), nearestHalf), [5, 4]);
    const [right, rightX] = grad(x.matmul(plain).tanh().square().sum(), [plain, x]);
    assert.deepEqual([ofW.dtype, ofKept.dtype], ["f32", "f32"]);
    const [a, b, c, d, e] = await Promise.all([ofW, ofKept, right, ofX, rightX].map((tensor) => tensor.read()));
    near(a, c, 1e-5, "by what was cast");
    near(b, c, 1e-5, "by the halves");
    near(d, e, 1e-5, "by the other factor");
  });

  test(`${backend}: a perceptron with its weights in f16 says what the one in f32 says, nearly`, async (t) => {
    const lw = await open(t, { backend });
    const model = mlp(lw, [64, 48, 10], { seed: 3 }), x = lw.random([33, 64], { seed: 4 });
    const [w, b, v, c] = model.parameters();
    const small = [w, v].map((weights) => weights.cast("f16"));
    await lw.evaluate(...small);
    const half = sequential((x) => x.matmul(small[0]).add(b).relu(), (x) => x.matmul(small[1]).add(c));
    const [full, rounded] = await Promise.all([model.forward(x).read(), half.forward(x).read()]);
    const most = Math.max(...full.map(Math.abs)), apart = Math.max(...full.map((value, k) => Math.abs(value - rounded[k])));
    assert.ok(apart > 0 && apart < 2e-3 * most, `${apart} of ${most}`);
  });

  test(`${backend}: zeros, ones, full, arange, random and arrays of f16`, async (t) => {
    const lw = await open(t, { backend });
    const options = { dtype: "f16" };
    const made = [lw.zeros([3], options), lw.ones([3], options), lw.full([3], 1 + 2 ** -11 + 2 ** -40, options), lw.arange(3, { ...options, start: 0.1, step: 0.1 }), lw.tensor([], [0], options), lw.tensor([1 + 2 ** -11 + 2 ** -40], [1], options), lw.tensor(0.1, [], options)];
    for (const tensor of made) assert.equal(tensor.dtype, "f16");
    const found = await Promise.all(made.map((tensor) => tensor.read()));
    assert.deepEqual(found.map((values) => [...values]), [[0, 0, 0], [1, 1, 1], Array(3).fill(1 + 2 ** -10), [0.1, 0.2, 0.3].map((value) => nearestHalf(Math.fround(value))), [], [1 + 2 ** -10], [nearestHalf(0.1)]]);
    const random = await lw.random([5000], { ...options, seed: 5 }).read(), normal = await lw.random([5000], { ...options, seed: 5, distribution: "normal" }).read();
    assert.ok(random.every((value) => value >= 0 && value < 1 && value === nearestHalf(value)), "below 1, rounded or not");
    assert.ok(Math.abs(random.reduce((sum, value) => sum + value, 0) / 5000 - 0.5) < 0.02);
    const single = await lw.random([5000], { seed: 5, distribution: "normal" }).read();
    same(normal, (k) => nearestHalf(single[k]), "normal ones are those of f32, rounded");
    // Arrays that are written over: what is computed is rounded as it is written.
    const { arrays } = lw;
    const [a, b, out] = [arrays.allocate([3], options), arrays.allocate([3]), arrays.allocate([3], options)];
    arrays.write(a, [0.1, 0.2, 0.3]);
    arrays.write(b, [1, 2, 3]);
    arrays.mul(a, b, out);
    arrays.add(out, out, b);
    const [product, sum] = [await arrays.read(out), await arrays.read(b)];
    same(product, (k) => nearestHalf(nearestHalf([0.1, 0.2, 0.3][k]) * [1, 2, 3][k]), "a product");
    same(sum, (k) => 2 * product[k], "a sum");
    await arrays.synchronize();
  });
}

test("steps and their gradients with halves leave no memory behind", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  let x = lw.random([32, 31], { seed: 1 });
  let live;
  for (let step = 0; step < 20; step++) {
    const next = lw.scope(() => {
      const kept = x.cast("f16"), [slope] = grad(kept.matmul(kept.T).square().sum(), [x]);
      return x.sub(slope.mul(1e-6)).detach();
    });
    await lw.evaluate(next);
    x.dispose();
    x = next;
    const { live: now } = lw.memory();
    if (step > 1) assert.equal(now, live, `step ${step}`);
    live = now;
  }
});

test("what halves are refused", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const half = lw.ones([2], { dtype: "f16" }), double = lw.ones([2], { dtype: "f64" }), single = lw.ones([2]);
  refuses(() => half.add(double), "dtype", "add(): tensors are of f16 and of f64, and nothing is converted in silence: make both with the same dtype");
  refuses(() => double.mul(half), "dtype", /of f64 and of f16/);
  refuses(() => concat([half, double]), "dtype", /of f16 and of f64/);
  refuses(() => double.cast("f16"), "dtype", /cast\(to\): the tensor is of f64; f64 and f16 are computed in apart/);
  refuses(() => half.cast("f64"), "dtype", /cast\(to\): the tensor is of f16; f64 and f16 are computed in apart/);
  refuses(() => single.cast("f64"), "dtype", /read\(\) it and make another/);
  for (const wrong of ["half", "float16", "F16", 16, undefined, null, {}]) refuses(() => single.cast(wrong), "invalid-option", /^cast\(to\): dtype is "f16", "f32", "f64", "int32" or "bool", not /);
  refuses(() => lw.zeros([1], { dtype: "bf16" }), "invalid-option", 'lw.zeros(shape): dtype is "f16", "f32", "f64", "int32" or "bool", not "bf16"');
  refuses(() => lw.full([1], 65505, { dtype: "f16" }), "non-finite", "lw.full(shape, value): the value is 65505: numbers must be finite, and at most 65504");
  refuses(() => lw.indices([1], [1], { dtype: "f16" }), "dtype", /halves have all up to 2048 only/);
  const gone = single.cast("f16");
  gone.dispose();
  refuses(() => gone.cast("f32"), "disposed", /was disposed/);
  // What goes: the same kind again, and numbers that a half has no room for, in a tensor's values.
  assert.deepEqual([...await half.cast("f16").cast("f32").cast("f32").read()], [1, 1]);
  assert.deepEqual([...await double.cast("f64").read()], [1, 1]);
  assert.deepEqual([...await half.add(70000).read()], [70001, 70001]);
  assert.deepEqual([...await lw.tensor([70000, -65519], [2], { dtype: "f16" }).read()], [Infinity, -65504]);
  assert.equal(String(half), "Tensor [2] f16");
  // Layers own f32, which they are trained in.
  const own = layer([single], ([w], x) => x.mul(w));
  assert.deepEqual([...await own.forward(half).read()], [1, 1]);
});

test("a GPU's view of halves has two bytes an element", { skip: ADDON }, async (t) => {
  const lw = await open(t, { backend: "webgpu" });
  const kept = lw.random([9], { seed: 1 }).cast("f16");
  assert.equal(kept.buffer, undefined);
  await lw.evaluate(kept);
  assert.deepEqual([kept.buffer.stride, kept.buffer.offset], [2, 0]);
});
