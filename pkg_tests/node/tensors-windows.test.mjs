// Convolutions of groups, padded to a size and transposed, and attention with lengths, batches that broadcast and grouped heads: beside loops.
import assert from "node:assert/strict";
import { test } from "node:test";
import { attention, conv2d, convTranspose2d, grad } from "leastwise";
import { conv } from "leastwise/nn";
import { BACKENDS, open, refuses } from "./support.mjs";

const sizeOf = (shape) => shape.reduce((product, size) => product * size, 1);
const sample = (shape, seed) => { let state = seed * 7919 + 17; return { shape, values: Array.from({ length: sizeOf(shape) }, () => { state = (state * 16807) % 2147483647; return Math.fround((state / 2147483647) * 2 - 1); }) }; };
const make = (shape, of) => { const values = []; const visit = (at) => { if (at.length === shape.length) values.push(of(...at)); else for (let k = 0; k < shape[at.length]; k++) visit([...at, k]); }; visit([]); return { shape, values }; };
const at = ({ shape, values }, ...place) => values[place.reduce((sum, index, axis) => sum * shape[axis] + (shape[axis] === 1 ? 0 : index), 0)];
function near(actual, expected, tolerance, what) {
  assert.equal(actual.length, expected.length, what);
  expected.forEach((value, k) => assert.ok(Math.abs(actual[k] - value) <= tolerance * (1 + Math.abs(value)), `${what}: element ${k} is ${actual[k]}, not ${value}`));
}

/** conv2d by definition; `before` are the zeros before the first row and column, `size` the result's. */
function slowConvolution(x, f, { step = [1, 1], before = [0, 0], dilation = [1, 1], groups = 1, size }) {
  const [results, inner, high, wide] = f.shape;
  return make([x.shape[0], results, ...size], (b, o, y, z) => {
    let sum = 0;
    for (let c = 0; c < inner; c++) for (let i = 0; i < high; i++) for (let j = 0; j < wide; j++) {
      const row = y * step[0] + i * dilation[0] - before[0], column = z * step[1] + j * dilation[1] - before[1];
      if (row >= 0 && row < x.shape[2] && column >= 0 && column < x.shape[3]) sum += at(x, b, Math.floor(o / (results / groups)) * inner + c, row, column) * at(f, o, c, i, j);
    }
    return sum;
  });
}

/** Every element of the images comes to the places that a window around it has. */
function slowTranspose(x, f, { step = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1, size }) {
  const [channels, each, high, wide] = f.shape, out = make([x.shape[0], each * groups, ...size], () => 0);
  make(x.shape, (b, c, y, z) => {
    for (let o = 0; o < each; o++) for (let i = 0; i < high; i++) for (let j = 0; j < wide; j++) {
      const row = y * step[0] + i * dilation[0] - padding[0], column = z * step[1] + j * dilation[1] - padding[1], result = Math.floor(c / (channels / groups)) * each + o;
      if (row >= 0 && row < size[0] && column >= 0 && column < size[1]) out.values[((b * each * groups + result) * size[0] + row) * size[1] + column] += at(x, b, c, y, z) * at(f, c, o, i, j);
    }
    return 0;
  });
  return out;
}

/** Attention of one head by definition: rows of queries, keys and values, and what each query sees. */
function head(q, k, v, scale, sees) {
  return q.map((query, i) => {
    const scores = k.map((key, j) => (sees(i, j) ? Math.exp(scale * query.reduce((sum, each, c) => sum + each * key[c], 0)) : 0)), total = scores.reduce((a, b) => a + b, 0);
    return v[0].map((_, c) => (total ? scores.reduce((sum, score, j) => sum + score * v[j][c], 0) / total : v.reduce((sum, row) => sum + row[c], 0) / v.length));
  });
}
const rows = (tensor, ...place) => Array.from({ length: tensor.shape.at(-2) }, (_, i) => Array.from({ length: tensor.shape.at(-1) }, (_, c) => at(tensor, ...place, i, c)));
/** Attention of [batch, heads, …]; keys and values may have fewer of both. */
function slowAttention(q, k, v, { scale = 0.5, sees = () => true }) {
  const [batch, heads, n] = [Math.max(q.shape[0], k.shape[0]), Math.max(q.shape[1], k.shape[1]), q.shape[2]], of = (tensor, h) => Math.floor((h * tensor.shape[1]) / heads);
  return { shape: [batch, heads, n, v.shape[3]], values: make([batch, heads], (b, h) => head(rows(q, b, of(q, h)), rows(k, b, of(k, h)), rows(v, b, of(v, h)), scale, (i, j) => sees(b, h, i, j))).values.flat(2) };
}

const MASK = { shape: [4, 3, 5], values: make([4, 3, 5], (h, i, j) => Number((h + 2 * i + j) % 3 !== 0)).values };
const LENGTHS = [3, 5];
const CASES = [
  ["groups", [sample([2, 4, 5, 4], 1), sample([6, 2, 3, 2], 2)], (x, f) => conv2d(x, f, { groups: 2, step: [2, 1], padding: 1 }), (x, f) => slowConvolution(x, f, { groups: 2, step: [2, 1], before: [1, 1], size: [3, 5] })],
  ["a group a channel", [sample([2, 3, 5, 4], 3), sample([6, 1, 3, 2], 4)], (x, f) => conv2d(x, f, { groups: 3, dilation: [1, 2], padding: [1, 0] }), (x, f) => slowConvolution(x, f, { groups: 3, dilation: [1, 2], before: [1, 0], size: [5, 2] })],
  ["a group a channel, in steps", [sample([1, 2, 6, 5], 5), sample([2, 1, 2, 2], 6)], (x, f) => conv2d(x, f, { groups: 2, step: 2 }), (x, f) => slowConvolution(x, f, { groups: 2, step: [2, 2], size: [3, 2] })],
  ["same, odd", [sample([1, 2, 5, 4], 7), sample([3, 2, 3, 3], 8)], (x, f) => conv2d(x, f, { padding: "same" }), (x, f) => slowConvolution(x, f, { before: [1, 1], size: [5, 4] })],
  ["same, even, one more after", [sample([1, 2, 5, 4], 9), sample([3, 2, 4, 2], 10)], (x, f) => conv2d(x, f, { padding: "same" }), (x, f) => slowConvolution(x, f, { before: [1, 0], size: [5, 4] })],
  // XLA's SAME: of 6 in steps of 2 with windows of 3 one is lacking, which comes after; of 5 two are, one on each side.
  ["same, in steps", [sample([1, 2, 6, 5], 11), sample([2, 2, 3, 3], 12)], (x, f) => conv2d(x, f, { padding: "same", step: 2 }), (x, f) => slowConvolution(x, f, { step: [2, 2], before: [0, 1], size: [3, 3] })],
  ["same, dilated groups", [sample([1, 4, 6, 5], 13), sample([4, 2, 3, 2], 14)], (x, f) => conv2d(x, f, { padding: "same", dilation: 2, groups: 2 }), (x, f) => slowConvolution(x, f, { dilation: [2, 2], before: [2, 1], groups: 2, size: [6, 5] })],
  ["transposed", [sample([2, 3, 3, 4], 15), sample([3, 2, 3, 2], 16)], (x, f) => convTranspose2d(x, f), (x, f) => slowTranspose(x, f, { size: [5, 5] })],
  ["transposed in steps", [sample([2, 3, 3, 4], 17), sample([3, 2, 3, 2], 18)], (x, f) => convTranspose2d(x, f, { step: [2, 3], padding: [1, 0] }), (x, f) => slowTranspose(x, f, { step: [2, 3], padding: [1, 0], size: [5, 11] })],
  ["transposed, more after", [sample([1, 2, 3, 3], 19), sample([2, 2, 3, 3], 20)], (x, f) => convTranspose2d(x, f, { step: 2, padding: 1, outputPadding: 1 }), (x, f) => slowTranspose(x, f, { step: [2, 2], padding: [1, 1], size: [6, 6] })],
  ["transposed, dilated groups", [sample([1, 4, 3, 3], 21), sample([4, 2, 2, 3], 22)], (x, f) => convTranspose2d(x, f, { dilation: [2, 1], groups: 2, padding: [0, 1] }), (x, f) => slowTranspose(x, f, { dilation: [2, 1], groups: 2, padding: [0, 1], size: [5, 3] })],
  ["transposed, cut off", [sample([1, 1, 4, 4], 23), sample([1, 1, 1, 2], 24)], (x, f) => convTranspose2d(x, f, { padding: [1, 2], step: [1, 2], outputPadding: [0, 1] }), (x, f) => slowTranspose(x, f, { padding: [1, 2], step: [1, 2], size: [2, 5] })],
  ["batches that broadcast", [sample([2, 3, 3, 4], 25), sample([1, 3, 5, 4], 26), sample([2, 1, 5, 2], 27)], (q, k, v) => attention(q, k, v), (q, k, v) => slowAttention(q, k, v, {})],
  ["multi-query, causal", [sample([2, 4, 5, 4], 28), sample([2, 1, 5, 4], 29), sample([2, 1, 5, 2], 30)], (q, k, v) => attention(q, k, v, { causal: true }), (q, k, v) => slowAttention(q, k, v, { sees: (b, h, i, j) => j <= i })],
  ["grouped", [sample([2, 4, 3, 4], 31), sample([2, 2, 5, 4], 32), sample([2, 2, 5, 2], 33)], (q, k, v) => attention(q, k, v, { grouped: true }), (q, k, v) => slowAttention(q, k, v, {})],
  ["grouped and causal", [sample([2, 4, 5, 4], 34), sample([2, 2, 5, 4], 35), sample([2, 2, 5, 2], 36)], (q, k, v) => attention(q, k, v, { grouped: true, causal: true, scale: 0.8 }), (q, k, v) => slowAttention(q, k, v, { scale: 0.8, sees: (b, h, i, j) => j <= i })],
  ["grouped and masked", [sample([2, 4, 3, 4], 37), sample([2, 2, 5, 4], 38), sample([2, 2, 5, 2], 39), MASK], (q, k, v, mask) => attention(q, k, v, { grouped: true, mask }), (q, k, v, mask) => slowAttention(q, k, v, { sees: (b, h, i, j) => at(mask, h, i, j) }), [0, 1, 2]],
  ["lengths", [sample([2, 4, 3, 4], 40), sample([2, 4, 5, 4], 41), sample([2, 4, 5, 2], 42)], (q, k, v) => attention(q, k, v, { lengths: LENGTHS }), (q, k, v) => slowAttention(q, k, v, { sees: (b, h, i, j) => j < LENGTHS[b] })],
  ["lengths of grouped queries", [sample([2, 4, 3, 4], 43), sample([2, 2, 5, 4], 44), sample([2, 2, 5, 2], 45)], (q, k, v) => attention(q, k, v, { lengths: LENGTHS, grouped: true }), (q, k, v) => slowAttention(q, k, v, { sees: (b, h, i, j) => j < LENGTHS[b] })],
  ["lengths, mask and causal", [sample([2, 4, 3, 4], 46), sample([2, 4, 5, 4], 47), sample([2, 4, 5, 2], 48), MASK], (q, k, v, mask) => attention(q, k, v, { lengths: LENGTHS, mask, causal: true }), (q, k, v, mask) => slowAttention(q, k, v, { sees: (b, h, i, j) => j < LENGTHS[b] && j <= i && at(mask, h, i, j) }), [0, 1, 2]],
  ["long vectors", [sample([1, 1, 2, 300], 49), sample([1, 1, 3, 300], 50), sample([1, 1, 3, 2], 51)], (q, k, v) => attention(q, k, v, { scale: 0.1 }), (q, k, v) => slowAttention(q, k, v, { scale: 0.1 })],
];

for (const [backend, dtype, tolerance] of [...BACKENDS.map((backend) => [backend, "f32", 1e-5]), ...BACKENDS.filter((backend) => backend !== "webgpu").map((backend) => [backend, "f64", 1e-12])]) {
  test(`${backend}, ${dtype}: convolutions and attention are what loops give`, async (t) => {
    const lw = await open(t, { backend });
    for (const [name, operands, ours, slow] of CASES) {
      const result = lw.scope(() => ours(...operands.map(({ shape, values }) => lw.tensor(values, shape, { dtype })))), expected = slow(...operands);
      assert.deepEqual(result.shape, expected.shape, name);
      near(await result.read(), expected.values, tolerance, name);
      result.dispose();
    }
  });
}

test("their gradients are central differences, in f64", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const [name, operands, ours, slow, by = operands.map((_, k) => k)] of CASES) {
    const weights = sample(slow(...operands).shape, 99), value = (changed) => slow(...changed).values.reduce((sum, each, k) => sum + each * weights.values[k], 0);
    const { slopes } = lw.scope(() => {
      const tensors = operands.map(({ shape, values }) => lw.tensor(values, shape, { dtype: "f64" }));
      return { slopes: grad(ours(...tensors).mul(lw.tensor(weights.values, weights.shape, { dtype: "f64" })).sum(), by.map((k) => tensors[k])).map((slope) => slope.read()) };
    });
    for (const [which, found] of (await Promise.all(slopes)).entries()) {
      const expected = operands[by[which]].values.map((_, place) => {
        const moved = (h) => value(operands.map((each, k) => (k === by[which] ? { shape: each.shape, values: each.values.map((v, i) => v + (i === place ? h : 0)) } : each)));
        return (moved(1e-5) - moved(-1e-5)) / 2e-5;
      });
      near(found, expected, 1e-8, `${name}, by operand ${by[which]}`);
    }
  }
});

test("a transpose is one: ⟨conv(x), y⟩ = ⟨x, convT(y)⟩ for the same filters and options", async (t) => {
  const lw = await open(t, { backend: "cpu" }), put = (shape, seed) => lw.tensor(sample(shape, seed).values, shape, { dtype: "f64" });
  for (const options of [{ step: 2, padding: 1, groups: 2 }, { step: [3, 1], dilation: [1, 2] }, {}]) {
    const x = put([2, 4, 7, 7], 1), f = put([6, 4 / (options.groups ?? 1), 3, 3], 2), forward = conv2d(x, f, options), y = put(forward.shape, 3);
    const smallest = convTranspose2d(y, f, options), outputPadding = [7 - smallest.shape[2], 7 - smallest.shape[3]], back = convTranspose2d(y, f, { ...options, outputPadding });
    assert.deepEqual(back.shape, x.shape);
    const [left, right] = await Promise.all([forward.mul(y).sum().item(), back.mul(x).sum().item()]);
    near([left], [right], 1e-13, JSON.stringify(options));
  }
});

test("modules of groups, and edges", async (t) => {
  const lw = await open(t, { backend: "cpu" }), images = lw.ones([1, 4, 5, 5]);
  const module = conv(lw, 4, 8, 3, { seed: 1, groups: 4, padding: "same", step: 2 });
  assert.deepEqual([module.parameters()[0].shape, module.forward(images).shape], [[8, 1, 3, 3], [1, 8, 3, 3]]);
  refuses(() => conv(lw, 4, 6, 3, { seed: 1, groups: 4 }), "invalid-option", /4 inputs and 6 outputs are no 4 equal groups/);
  refuses(() => conv2d(images, lw.ones([4, 2, 3, 3]), { groups: 4 }), "shape", /are no 4 equal groups: filters are \[results, channels \/ groups, height, width\]/);
  refuses(() => conv2d(images, lw.ones([4, 1, 6, 3]), { groups: 4 }), "shape", /do not fit into images \[1, 4, 5, 5\]/);
  refuses(() => conv2d(images, lw.ones([4, 4, 3, 3]), { groups: 0 }), "invalid-option", /groups: 0 is not an integer from 1/);
  refuses(() => conv2d(images, lw.ones([4, 4, 3, 3]), { padding: "valid" }), "invalid-option", /padding is a whole number, or one along height and one along width, or "same", not "valid"/);
  refuses(() => conv2d(images, lw.ones([4, 4, 3, 3]), { step: 0 }), "invalid-option", /step must be 1 or more/);
  refuses(() => convTranspose2d(images, lw.ones([3, 4, 3, 3])), "shape", /must have as many channels/);
  refuses(() => convTranspose2d(images, lw.ones([4, 1, 1, 1]), { padding: 3 }), "shape", /padding \[3, 3\] cuts off all of the result/);
  refuses(() => convTranspose2d(images, lw.ones([4, 1, 1, 1]), { outputPadding: 1 }), "invalid-option", /outputPadding must be below the step or the dilation/);
  refuses(() => convTranspose2d(images, lw.ones([4, 1, 1, 1]), { stride: 2 }), "invalid-option", /did you mean "step"/);
  const [q, k] = [lw.ones([2, 4, 3, 2]), lw.ones([2, 3, 5, 2])];
  refuses(() => attention(q, k, k), "shape", /do not broadcast/);
  refuses(() => attention(q, k, k, { grouped: true }), "shape", /with heads a multiple of groups/);
  refuses(() => attention(q, q, q, { lengths: [1, 4] }), "index-out-of-range", /there is a 4 among the lengths, but there are 3 keys/);
  refuses(() => attention(q, q, q, { lengths: [1, 2, 3] }), "shape", /lengths are \[3\], but must be of the first of the axes \[2, 4\]/);
  refuses(() => attention(q, q, q, { lengths: [1, 0.5] }), "index-out-of-range", /number 1 is 0.5/, { instance: 1 });
  refuses(() => attention(q, lw.ones([2, 2, 3, 2]), lw.ones([2, 2, 3, 2]), { grouped: true, mask: lw.ones([3, 3, 3]) }), "shape", /the mask is \[3, 3, 3\], but there are 4 heads/);
  refuses(() => attention(q, q, q, { enable_gqa: true }), "invalid-option", /did you mean "grouped"/);
  // A batch without keys has the mean of all values; what is made on the way is freed.
  const fresh = await open(t, { backend: "cpu" }, { fresh: true }), one = fresh.ones([2, 1, 1]), v = fresh.tensor([[1], [3]]), none = attention(one, v, v, { lengths: [0, 2] });
  assert.equal(fresh.memory().tensors, 3);
  near([...await none.read()], [2, (Math.exp(1) + 3 * Math.exp(3)) / (Math.exp(1) + Math.exp(3))], 1e-6, "no keys");
});
