// Tensors of int32 and of booleans: exact on every backend, beside JavaScript's own int32 arithmetic; who counts of two kinds; what is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { concat, einsum, grad, oneHot, stack, where } from "leastwise";
import { BACKENDS, open, refuses } from "./support.mjs";

/** Ends, zero and its neighbours, where f32 leaves out whole numbers, and where products overflow. */
const EDGES = [0, 1, -1, 2, -3, 7, -7, 31, 32, 46340, 46341, -46341, 65536, 2 ** 24 - 1, 2 ** 24 + 1, -(2 ** 24) - 1, 0x55555555, 2 ** 31 - 1, -(2 ** 31), -(2 ** 31) + 1];
const floor = (a, b) => (b === 0 ? 0 : Math.floor(a / b)), power = (a, b) => (b < 0 ? (a === 1 ? 1 : a === -1 ? (b % 2 ? -1 : 1) : 0) : Number(BigInt.asIntN(32, wrapped(BigInt(a), b))));

/** aᵇ modulo 2³². */
function wrapped(a, b) {
  let result = 1n;
  for (let square = BigInt.asIntN(32, a); b > 0; b = Math.floor(b / 2), square = BigInt.asIntN(32, square * square)) if (b % 2) result = BigInt.asIntN(32, result * square);
  return result;
}

const OF_TWO = {
  add: (a, b) => (a + b) | 0, sub: (a, b) => (a - b) | 0, mul: Math.imul, floorDivide: (a, b) => floor(a, b) | 0, mod: (a, b) => (b === 0 ? 0 : Number(BigInt(a) - BigInt(b) * BigInt(floor(a, b)))), pow: power,
  minimum: Math.min, maximum: Math.max, bitwiseAnd: (a, b) => a & b, bitwiseOr: (a, b) => a | b, bitwiseXor: (a, b) => a ^ b,
  shiftLeft: (a, b) => (b >= 0 && b < 32 ? a << b : 0), shiftRight: (a, b) => (b >= 0 && b < 32 ? a >> b : a < 0 ? -1 : 0),
};
const COMPARED = { less: (a, b) => a < b, lessEqual: (a, b) => a <= b, greater: (a, b) => a > b, greaterEqual: (a, b) => a >= b, equal: (a, b) => a === b, notEqual: (a, b) => a !== b };
const pairs = (work) => EDGES.flatMap((a) => EDGES.map((b) => work(a, b)));

for (const backend of BACKENDS) {
  test(`${backend}: operations on all pairs of edges are JavaScript's int32 arithmetic`, async (t) => {
    const lw = await open(t, { backend }), edges = lw.tensor(Int32Array.from(EDGES)), rows = edges.expandDims(1), columns = edges.expandDims(0);
    await Promise.all(Object.entries({ ...OF_TWO, ...COMPARED }).map(async ([name, right]) => {
      const made = rows[name](columns), values = await made.read();
      assert.equal(made.dtype, name in COMPARED ? "bool" : "int32", name);
      assert.ok(name in COMPARED ? values instanceof Uint8Array : values instanceof Int32Array, name);
      assert.deepEqual([...values], pairs(right).map((value) => Number(value) + 0), name);
    }));
    const ones = { neg: (a) => -a | 0, abs: (a) => Math.abs(a) | 0, sign: Math.sign, bitwiseNot: (a) => ~a, square: (a) => Math.imul(a, a), floor: (a) => a };
    await Promise.all(Object.entries(ones).map(async ([name, right]) => assert.deepEqual([...await edges[name]().read()], EDGES.map((a) => right(a) + 0), name)));
  });

  test(`${backend}: made, moved, reduced and read`, async (t) => {
    const lw = await open(t, { backend }), large = Int32Array.from({ length: 24 }, (_, k) => 2 ** 24 + 1 + 1_000_003 * k), x = lw.tensor(large, [2, 3, 4]);
    const read = async (tensor) => [tensor.dtype, [...await tensor.read()]];
    assert.deepEqual(await read(x.transpose(2, 0, 1).slice([1, 4, 2]).reshape(-1)), ["int32", [1, 3].flatMap((k) => [0, 1].flatMap((i) => [0, 1, 2].map((j) => large[12 * i + 4 * j + k])))]);
    assert.deepEqual(await read(concat([x, x], 0).slice(1, 2, [1, 3])), ["int32", [large[21], large[22]]]);
    assert.deepEqual(await read(stack([x.slice(0, 0), x.slice(1, 0)]).max(0)), ["int32", [...large.slice(12, 16)]]);
    assert.deepEqual(await read(x.pad([[0, 0], [0, 0], [1, 0]], 2 ** 24 + 3).slice(0, 0)), ["int32", [2 ** 24 + 3, ...large.slice(0, 4)]]);
    assert.deepEqual(await read(x.gather(lw.tensor([1, -1, -2], [3], { dtype: "int32" })).slice(":", 0, 0)), ["int32", [large[12], large[12], large[0]]]);
    assert.deepEqual(await read(x.sum()), ["int32", [large.reduce((a, b) => (a + b) | 0)]]);
    assert.deepEqual(await read(x.prod(-1).slice(0)), ["int32", [0, 1, 2].map((j) => large.slice(4 * j, 4 * j + 4).reduce(Math.imul))]);
    assert.deepEqual(await read(x.min([0, 2])), ["int32", [large[0], large[4], large[8]]]);
    assert.deepEqual(await read(x.clip(large[2], large[4]).slice(0, ":", 0)), ["int32", [large[2], large[4], large[4]]]);
    assert.deepEqual(await read(x.argmax(-1).slice(0)), ["int32", [3, 3, 3]]);
    assert.deepEqual(await read(lw.arange(3, { dtype: "int32", start: 2 ** 30, step: 2 ** 30 })), ["int32", [2 ** 30, -(2 ** 31), -(2 ** 30)]]);
    assert.deepEqual(await read(lw.full([2], -(2 ** 31), { dtype: "int32" })), ["int32", [-(2 ** 31), -(2 ** 31)]]);
    assert.deepEqual(await read(lw.eye(2, 2, { dtype: "int32" })), ["int32", [1, 0, 0, 1]]);
    assert.deepEqual(await read(lw.zeros([2], { dtype: "bool" }).logicalNot()), ["bool", [1, 1]]);
    assert.deepEqual(await read(lw.tensor([[true, false], [false, true]])), ["bool", [1, 0, 0, 1]]);
    assert.deepEqual(await read(lw.full([1], true, { dtype: "bool" })), ["bool", [1]]);
    assert.deepEqual(await read(oneHot(lw.tensor(new Int32Array([1, 0])), 2)), ["f32", [0, 1, 1, 0]]);
    assert.equal(await lw.tensor(-7, [], { dtype: "int32" }).item(), -7);
  });

  test(`${backend}: casts, and who counts of two kinds`, async (t) => {
    const lw = await open(t, { backend }), given = [0.5, -1.9, 3e9, -3e9, NaN, 2 ** 24, -0], x = lw.tensor(given);
    const read = async (tensor) => [tensor.dtype, [...await tensor.read()]];
    assert.deepEqual(await read(x.cast("int32")), ["int32", [0, -1, 2 ** 31 - 1, -(2 ** 31), 0, 2 ** 24, 0]]);
    assert.deepEqual(await read(x.cast("bool")), ["bool", [1, 1, 1, 1, 1, 1, 0]]);
    const whole = lw.tensor(new Int32Array([2 ** 24 + 1, -5, 0]));
    assert.deepEqual(await read(whole.cast("f32")), ["f32", [2 ** 24, -5, 0]]);
    assert.deepEqual(await read(whole.cast("bool").cast("int32")), ["int32", [1, 1, 0]]);
    assert.deepEqual(await read(whole.cast("f16")), ["f16", [Infinity, -5, 0]]);
    assert.deepEqual(await read(whole.add(lw.tensor([0.5, 0.5, 0.5]))), ["f32", [2 ** 24, -4.5, 0.5]]);
    assert.deepEqual(await read(whole.div(2)), ["f32", [2 ** 23, -2.5, 0]]);
    assert.deepEqual(await read(whole.add(whole.equal(0))), ["int32", [2 ** 24 + 1, -5, 1]]);
    assert.deepEqual(await read(where(whole.less(0), whole, 7)), ["int32", [7, -5, 7]]);
    assert.deepEqual(await read(where(lw.tensor([0.3, 0, 1]), whole, 7)), ["int32", [2 ** 24 + 1, 7, 0]]);
    assert.deepEqual(await read(where(whole.less(0), whole.equal(-5), 0)), ["bool", [0, 1, 0]]);
    assert.deepEqual(await read(whole.mean([])), ["f32", [2 ** 24, -5, 0]]);
    assert.deepEqual(await read(x.isNaN().sum()), ["int32", [1]]);
    assert.deepEqual(await read(x.less(0).mean()), ["f32", [Math.fround(2 / 7)]]);
    assert.deepEqual(await read(x.greater(0).any()), ["bool", [1]]);
    assert.deepEqual(await read(x.greater(0).all()), ["bool", [0]]);
    assert.deepEqual(await read(whole.exp().slice([2, 3])), ["f32", [1]]);
    // A mask and what it is multiplied by are one kernel.
    await x.greater(0).mul(x).read();
    assert.equal(lw.tensorStatistics().kernels, 1);
    const [slope] = grad(x.mul(x.greater(0)).mul(lw.full([7], 3, { dtype: "int32" })).sum(), [x]);
    assert.deepEqual([...await slope.read()], [3, 0, 3, 0, 0, 3, 0]);
  });
}

/** Whole numbers over all words, both ends and equal ones among them. */
const many = (count) => Int32Array.from({ length: count }, (_, k) => (k % 7 === 0 ? -(2 ** 31) : k % 11 === 0 ? 2 ** 31 - 1 : k % 5 === 0 ? (k % 3) - 1 : Math.imul(k + 1, 0x9e3779b9)));

for (const backend of BACKENDS) {
  test(`${backend}: along an axis, in order and in products, as JavaScript has them`, async (t) => {
    const lw = await open(t, { backend }), read = async (tensor) => [tensor.dtype, [...await tensor.read()]], [rows, n] = [3, 130], values = many(rows * n), x = lw.tensor(values, [rows, n]);
    const lines = Array.from({ length: rows }, (_, i) => [...values.subarray(i * n, (i + 1) * n)]), each = (work) => ["int32", lines.flatMap(work)];
    const places = (line, sign) => line.map((_, k) => k).sort((a, b) => sign * (line[a] - line[b]) || a - b), by = (line, order) => order.map((k) => line[k]);
    for (const [sign, options] of [[1, {}], [-1, { descending: true }]]) {
      assert.deepEqual(await read(x.sort(-1, options)), each((line) => by(line, places(line, sign))));
      assert.deepEqual(await read(x.argsort(-1, options)), each((line) => places(line, sign)));
      assert.deepEqual(await read(x.T.sort(0, options).T), each((line) => by(line, places(line, sign))));
    }
    const { values: largest, indices } = x.topk(4);
    assert.deepEqual([await read(largest), await read(indices)], [each((line) => by(line, places(line, -1).slice(0, 4))), each((line) => places(line, -1).slice(0, 4))]);
    const running = (next) => (line) => line.reduce((all, value) => [...all, all.length ? next(all.at(-1), value) : value], []);
    assert.deepEqual(await read(x.cumsum(1)), each(running((a, b) => (a + b) | 0)));
    assert.deepEqual(await read(x.bitwiseOr(1).cumprod(1)), each((line) => running(Math.imul)(line.map((value) => value | 1))));
    assert.deepEqual(await read(x.cumsum().slice([-1, null])), ["int32", [values.reduce((a, b) => (a + b) | 0)]]);
    const numbers = [0, -1, 5, 0, 64, 5], given = Int32Array.from(numbers, (_, k) => 2 ** 31 - 1 - k), at = (k) => (k < 0 ? k + n : k), index = lw.tensor(Int32Array.from(numbers), [1, 6]), y = lw.tensor(given, [1, 6]);
    assert.deepEqual(await read(x.takeAlongAxis(index, 1)), each((line) => numbers.map((k) => line[at(k)])));
    const written = (work) => each((line) => numbers.reduce((all, k, t) => all.with(at(k), work(all[at(k)], given[t])), line));
    assert.deepEqual(await read(x.putAlongAxis(index, y, 1)), written((_, b) => b));
    assert.deepEqual(await read(x.scatterAdd(index, y, 1)), written((a, b) => (a + b) | 0));
    assert.deepEqual((await read(x.scatterAdd(index, 1, 1)))[1].slice(0, 2), [(values[0] + 2) | 0, values[1]]);
    const dot = (a, b) => a.reduce((sum, value, k) => (sum + Math.imul(value, b[k])) | 0, 0), gram = lines.flatMap((a) => lines.map((b) => dot(a, b)));
    assert.deepEqual(await read(x.matmul(x.T)), ["int32", gram]);
    assert.deepEqual(await read(einsum("ik,jk->ij", x, x)), ["int32", gram]);
    assert.deepEqual(await read(x.slice(0).matmul(x.slice(1))), ["int32", [dot(lines[0], lines[1])]]);
    assert.deepEqual(await read(einsum("i,j->ij", y.reshape(6), y.reshape(6)).slice(1)), ["int32", [...given].map((value) => Math.imul(value, given[1]))]);
    assert.deepEqual(await read(lw.tensor(Int32Array.of(3, 4), [1, 2]).matmul(lw.tensor([0.5, 0.25], [2, 1]))), ["f32", [2.5]]);
    // Truths stay such where they are moved, and are counted.
    const mask = x.slice(0, [0, 8]).less(0), flags = lines[0].slice(0, 8).map((value) => Number(value < 0));
    assert.deepEqual(await read(mask.sort()), ["bool", flags.toSorted()]);
    // Without a real all of einsum is in int32s: masks that are multiplied first would round what comes after.
    const edges = lw.tensor(Int32Array.of(2 ** 24 + 1, 2 ** 31 - 1)), ones = lw.full([2, 100], 1).cast("bool");
    assert.deepEqual(await read(einsum("i,ik,ik->i", edges, ones, ones)), ["int32", [((2 ** 24 + 1) * 100) | 0, Math.imul(2 ** 31 - 1, 100)]]);
    const count = flags.reduce((sum, flag) => sum + flag, 0);
    assert.deepEqual([await read(einsum("i,i->", mask, mask)), await read(einsum("i,j->", mask, mask)), await read(einsum("i->i", mask))], [["int32", [count]], ["int32", [count * count]], ["int32", flags]]);
    assert.deepEqual(await read(einsum("i,i->", mask, lw.full([8], 0.5))), ["f32", [count / 2]]);
    assert.deepEqual(await read(mask.takeAlongAxis([7, 0], 0)), ["bool", [flags[7], flags[0]]]);
    assert.deepEqual(await read(mask.cumsum()), ["int32", running((a, b) => a + b)(flags)]);
  });
}

test("what cannot be is refused, and consoles show what there is", async (t) => {
  const lw = await open(t, { backend: "cpu" }), whole = lw.tensor(new Int32Array([1, 2])), x = lw.tensor([1, 2]);
  refuses(() => whole.add(0.5), "shape", /not whole: cast\("f32"\) first/);
  refuses(() => whole.add(3e9), "shape", /no int32/);
  refuses(() => whole.pad([[1, 1]], 0.5), "shape", /0\.5 is no int32/);
  refuses(() => where(x.less(2), whole, 0.5), "shape", /0\.5 is no int32/);
  refuses(() => whole.softmax(0), "shape", /cast\("f32"\) first/);
  refuses(() => whole.scatterAdd([0, 1], 0.5, 0), "shape", /0\.5 is no int32/);
  refuses(() => whole.putAlongAxis([0, 1], 2 ** 31, 0), "shape", /2147483648 is no int32/);
  refuses(() => whole.matmul(lw.tensor(new Int32Array(3))), "shape", /matmul/);
  refuses(() => x.bitwiseAnd(1), "shape", /cast\("int32"\) first/);
  refuses(() => grad(x.sum(), [whole]), "shape", /int32 are constants/);
  refuses(() => lw.tensor([1.5], [1], { dtype: "int32" }), "invalid-option", /value 0 is 1\.5, no int32/);
  refuses(() => lw.arange(2, { dtype: "bool" }), "dtype", /not of bool/);
  refuses(() => lw.random([2], { seed: 1, dtype: "int32" }), "dtype", /not of int32/);
  assert.equal(inspect(lw.tensor([[true, false]])), "Tensor [1, 2] bool, values on the device: await read()");
  assert.equal(inspect(whole), "Tensor [2] int32 [1, 2]");
  const mask = x.less(2);
  await mask.read();
  assert.equal(inspect(mask), "Tensor [2] bool [true, false]");
});

test("integers: what is refused leaves no tensor behind, and logsumexp is that of reals", async (t) => {
  const lw = await open(t, { backend: "cpu" }), before = lw.memory().tensors;
  refuses(() => lw.arange(3, { dtype: "int32", step: 0.5 }), "shape", /not whole/);
  refuses(() => lw.arange(3, { dtype: "int32", start: 0.5 }), "shape", /not whole/);
  assert.equal(lw.memory().tensors, before);
  const whole = lw.tensor(new Int32Array([1, 2, 3])), right = await lw.tensor([1, 2, 3]).logsumexp().read();
  assert.deepEqual(await whole.logsumexp().read(), right);
  assert.deepEqual(await lw.tensor([true, false]).logsumexp(0).read(), await lw.tensor([1, 0]).logsumexp(0).read());
});

test("an engine of f64 has exact integers, too", async (t) => {
  const lw = await open(t, { backend: "cpu", precision: "f64" }), whole = lw.tensor(new Int32Array([2 ** 31 - 1, -(2 ** 31)]));
  assert.deepEqual([...await whole.mul(3).read()], [Math.imul(2 ** 31 - 1, 3), Math.imul(-(2 ** 31), 3)]);
  assert.deepEqual([...await whole.cast("f64").add(0.5).read()], [2 ** 31 - 0.5, -(2 ** 31) + 0.5]);
  assert.deepEqual([...await whole.less(0).mul(lw.tensor([0.1, 0.2])).read()], [0, 0.2]);
});
