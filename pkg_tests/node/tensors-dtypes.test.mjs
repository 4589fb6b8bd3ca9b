// Precision of tensors where none is said: the engine's, or that of the array; and negative axes and places, wherever NumPy has them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { attention, concat, crossEntropy, embedding, stack } from "leastwise";
import { conv, linear, loadTensors, mlp, saveTensors } from "leastwise/nn";
import { ADDON, open, refuses } from "./support.mjs";

const list = async (tensor) => [...await tensor.read()];

test("an engine that was asked for f64 makes tensors of f64, another of f32", async (t) => {
  for (const [options, dtype] of [[{ backend: "cpu", precision: "f64" }, "f64"], [{ backend: "cpu" }, "f32"], [{ backend: "cpu", precision: "f32" }, "f32"]]) {
    const lw = await open(t, options);
    assert.equal(lw.dtype, dtype);
    const made = [
      lw.tensor([0.1]), lw.tensor(0.1), lw.tensor(Float32Array.of(1)), lw.indices([1, 0]), lw.zeros([2]), lw.ones([2]), lw.full([2], 3), lw.eye(2), lw.arange(3), lw.arange(3, { start: 1 }), lw.random([2], { seed: 1 }),
      ...linear(lw, 2, 2, { seed: 1 }).parameters(), ...conv(lw, 1, 1, 1, { seed: 1 }).parameters(), ...mlp(lw, [2, 2], { seed: 1 }).parameters(), loadTensors(lw, await saveTensors({ x: lw.ones([2]) })).tensors.x,
    ];
    assert.deepEqual(made.map((tensor) => tensor.dtype), made.map(() => dtype));
    assert.equal((await lw.arrays.read(lw.arrays.allocate([1]))).constructor, dtype === "f64" ? Float64Array : Float32Array);
    // What is said counts.
    assert.deepEqual([lw.zeros([1], { dtype: "f32" }), lw.ones([1], { dtype: "f64" }), lw.tensor([1], [1], { dtype: "f16" }), linear(lw, 1, 1, { seed: 1, dtype: "f64", bias: false }).parameters()[0]].map((tensor) => tensor.dtype), ["f32", "f64", "f16", "f64"]);
  }
});

test("a Float64Array makes a tensor of f64, unless it is to be rounded", async (t) => {
  const lw = await open(t, { backend: "cpu" }), values = Float64Array.of(0.1, 1e300);
  assert.deepEqual(await list(lw.tensor(values)), [0.1, 1e300]);
  assert.deepEqual(lw.tensor(values, [2, 1]).dtype, "f64");
  assert.deepEqual(await list(lw.tensor(values, [2], { dtype: "f32" })), [Math.fround(0.1), Infinity]);
  assert.equal(lw.tensor(Float32Array.of(1)).dtype, "f32");
  const rows = lw.tensor([Float32Array.of(1, 2), [3, 4], Float64Array.of(5, 6)]);
  assert.deepEqual([rows.dtype, rows.shape, await list(rows)], ["f32", [3, 2], [1, 2, 3, 4, 5, 6]]);
  refuses(() => lw.tensor([Float32Array.of(1, 2), [3]]), "shape", /rows differ: along axis 1 the first has 2 elements, and another is of 1/);
  refuses(() => lw.tensor(values).add(lw.ones([2])), "dtype", /of f64 and of f32/);
});

test("on WebGPU a Float64Array is refused, unless it is to be rounded", { skip: ADDON }, async (t) => {
  const lw = await open(t, { backend: "webgpu" });
  assert.equal(lw.dtype, "f32");
  refuses(() => lw.tensor(Float64Array.of(0.1)), "dtype", 'lw.tensor(values, shape): values are a Float64Array, and WebGPU computes in f32: { dtype: "f32" } says that they are to be rounded');
  assert.deepEqual(await list(lw.tensor(Float64Array.of(0.1), [1], { dtype: "f32" })), [Math.fround(0.1)]);
});

test("negative axes and places count from the end", async (t) => {
  const lw = await open(t, { backend: "cpu" }), x = lw.arange(24).reshape(2, 3, 4);
  const same = async (a, b) => { assert.deepEqual(a.shape, b.shape); assert.deepEqual(await list(a), await list(b)); };
  for (const name of ["sum", "mean", "max", "min", "prod", "var", "std", "logsumexp", "norm", "argmax", "argmin", "softmax", "logSoftmax", "flip"]) await same(x[name](-2), x[name](1));
  await same(x.transpose(-1, 0, -2), x.transpose(2, 0, 1));
  await same(x.transpose([-1, 0, -2]), x.transpose(2, 0, 1));
  await same(x.transpose([]), x.T);
  await same(x.expandDims(-2), x.reshape(2, 3, 1, 4));
  await same(x.slice(-1, [-2, null], { start: -3, stop: -1 }), x.slice(1, [1, 3], [1, 3]));
  await same(x.window(-1, 2), x.window(2, 2));
  await same(x.repeat(2, -2), x.repeat(2, 1));
  await same(concat([x, x], -3), concat([x, x], 0));
  await same(stack([x, x], -2), stack([x, x], 2));
  await same(x.gather([-1, 0, -2]), x.gather([1, 0, 0]));
  await same(embedding(x, Int32Array.of(-2)), x.gather([0]));
  const [parts, plain] = [x.split([-3, -1], -1), x.split([1, 3], 2)];
  for (const k of [0, 1, 2]) await same(parts[k], plain[k]);
  refuses(() => x.gather([1, -3]), "index-out-of-range", "gather(rows): number 1 is -3, but labels and indices are whole numbers from −2 to 16777216", { instance: 1 });
  refuses(() => x.split([-5], -1), "shape", /place 0 is -1/);
  refuses(() => x.transpose([0, 0, 1]), "shape", /an axis is named twice/);
  refuses(() => x.transpose([0, 1, 3]), "shape", /there is no axis 3/);
  // Labels have no end to count from.
  refuses(() => crossEntropy(x, [-1, 0]), "index-out-of-range", /number 0 is -1, but labels and indices are whole numbers from 0/, { instance: 0 });
});

test("labels of more axes, row by row in an array", async (t) => {
  const lw = await open(t, { backend: "cpu" }, { fresh: true }), logits = lw.random([2, 3, 4], { seed: 1 }), labels = [3, 0, 1, 2, 2, 0], before = lw.memory().tensors;
  const flat = crossEntropy(logits, labels), shaped = crossEntropy(logits, lw.indices(labels, [2, 3])), one = crossEntropy(logits.reshape(6, 4), labels);
  assert.equal(lw.memory().tensors, before + 5, "no more than was asked for");
  const [a, b, c] = await Promise.all([flat, shaped, one].map((loss) => loss.item()));
  assert.deepEqual([a, b], [b, c]);
  refuses(() => crossEntropy(logits, [1, 2]), "shape", /\[2\] has 2 elements, \[2, 3\] has not/);
  refuses(() => crossEntropy(logits, [1, 2, 3, 4, 0, 0]), "index-out-of-range", /there is a 4 among the numbers, but there are 4 classes/);
});

test("every option has a name", async (t) => {
  const lw = await open(t, { backend: "cpu" }), x = lw.ones([2, 2]);
  for (const [work, message] of [
    [() => x.sum(0, { keepdims: true }), /did you mean "keepDims"/], [() => x.argmax(0, { keepdims: true }), /did you mean "keepDims"/], [() => x.var(0, { ddof: 1 }), /did you mean "correction"/], [() => x.norm(0, { ord: 1 }), /did you mean "order"/],
    [() => x.layerNorm({ eps: 1 }), /did you mean "epsilon"/], [() => x.layerNorm({ bias: x }), /did you mean "shift"/], [() => x.window(0, 1, { stride: 1 }), /did you mean "step"/], [() => attention(x, x, x, { is_causal: true }), /did you mean "causal"/],
    [() => lw.tensor([1], [1], { type: "f64" }), /did you mean "dtype"/], [() => lw.tensor([1], [1], "f64"), /options must be an object, not a string/], [() => lw.arange(1, 5), /options must be an object, not a number/], [() => lw.zeros([1], { Dtype: "f32" }), /did you mean "dtype"/],
    [() => lw.random([1], { seed: 1, std: 2 }), /did you mean "deviation"/], [() => linear(lw, 1, 1, { seed: 1, biases: true }), /did you mean "bias"/], [() => conv(lw, 1, 1, 1, { seed: 1, stride: 2 }), /did you mean "step"/], [() => mlp(lw, [1, 1], { seed: 1, activations: "relu" }), /did you mean "activation"/],
    [() => x.sum(0, true), /options must be an object, not a boolean/], [() => x.slice({ begin: 1 }), /have no "begin"/],
  ]) assert.throws(work, message);
});
