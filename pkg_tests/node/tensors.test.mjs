// Tensors: values and gradients of every operation against plain JavaScript, on every backend, and errors for people.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { abs, attention, avgPool2d, batchNorm, concat, conv2d, crossEntropy, dropout, embedding, exp, grad, groupNorm, map, maxPool2d, oneHot, pow, select, sin, sqrt, stack, valueAndGrad, where } from "leastwise";
import { ADDON, BACKENDS, open, refuses, rejects } from "./support.mjs";

// ── a slow tensor: a shape, and elements row by row ──

const sizeOf = (shape) => shape.reduce((product, size) => product * size, 1);
const make = (shape, of) => {
  const values = [];
  const visit = (at) => { if (at.length === shape.length) values.push(of(at)); else for (let k = 0; k < shape[at.length]; k++) visit([...at, k]); };
  visit([]);
  return { shape, values };
};
const at = ({ shape, values }, place) => values[place.reduce((sum, index, axis) => sum * shape[axis] + index, 0)];
/** An element of what is broadcast. */
const broadcast = (tensor, place) => at(tensor, tensor.shape.map((size, axis) => (size === 1 ? 0 : place[place.length - tensor.shape.length + axis])));
const joint = (shapes) => {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, axis) => shapes.reduce((size, shape) => {
    const own = shape[axis - rank + shape.length] ?? 1;
    return size === 1 ? own : size;
  }, 1));
};
const each = (work, ...tensors) => make(joint(tensors.map(({ shape }) => shape)), (place) => work(...tensors.map((tensor) => broadcast(tensor, place))));
const reduce = (tensor, axes, keep, work) => {
  const kept = tensor.shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  const whole = make(kept, (place) => {
    const found = [];
    make(tensor.shape, (inner) => { if (inner.every((index, axis) => axes.includes(axis) || index === place[axis])) found.push(at(tensor, inner)); return 0; });
    return work(found);
  });
  return { shape: keep ? kept : tensor.shape.filter((_, axis) => !axes.includes(axis)), values: whole.values };
};
const total = (list) => list.reduce((sum, value) => sum + value, 0);
const spread = (list) => { const mean = total(list) / list.length; return total(list.map((value) => (value - mean) ** 2)) / list.length; };
const softmax = (tensor, axis) => {
  const powers = each(Math.exp, tensor), sums = reduce(powers, [axis], true, total);
  return each((p, s) => p / s, powers, sums);
};
const normalized = (x, axes, scale, shift) => {
  const mean = reduce(x, axes, true, (l) => total(l) / l.length), variance = reduce(x, axes, true, spread);
  return make(x.shape, (place) => (at(x, place) - broadcast(mean, place)) / Math.sqrt(broadcast(variance, place) + 0.1) * (scale?.values[place[1]] ?? 1) + (shift?.values[place[1]] ?? 0));
};
const maskedAttention = (q, k, v, seen, causal) => {
  const scores = matmul(q, transposed(k, [0, 2, 1]));
  return matmul(softmax(make(scores.shape, (place) => (broadcast(seen, place) === 0 || (causal && place[2] > place[1]) ? -Infinity : at(scores, place) / 2)), 2), v);
};
const SEEN = { shape: [5, 6], values: Array.from({ length: 30 }, (_, k) => (k % 6 === 2 || (k * 7) % 5 === 1 ? 0 : 1)) };
const matmul = (a, b) => {
  const [m, k, n] = [a.shape.at(-2), a.shape.at(-1), b.shape.at(-1)];
  const batch = joint([a.shape.slice(0, -2), b.shape.slice(0, -2)]);
  return make([...batch, m, n], (place) => {
    const [outer, row, column] = [place.slice(0, -2), place.at(-2), place.at(-1)];
    const element = (tensor, inner) => {
      const own = tensor.shape.slice(0, -2);
      return at(tensor, [...own.map((size, axis) => (size === 1 ? 0 : outer[outer.length - own.length + axis])), ...inner]);
    };
    return total(Array.from({ length: k }, (_, inner) => element(a, [row, inner]) * element(b, [inner, column])));
  });
};
const transposed = (tensor, order) => make(order.map((axis) => tensor.shape[axis]), (place) => at(tensor, order.map((_, axis) => place[order.indexOf(axis)])));
const erf = (x) => {
  // Its series, to the last digit: arguments here are small.
  let [sum, term] = [x, x];
  for (let k = 1; k < 80; k++) { term *= -x * x / k; sum += term / (2 * k + 1); }
  return (2 / Math.sqrt(Math.PI)) * sum;
};
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** Numbers between −1.4 and 1.4 that hit no kink, the same ones each time. */
function sample(shape, seed, move = 0) {
  let state = seed * 7919 + 17;
  return make(shape, () => {
    state = (state * 16807) % 2147483647;
    return Math.fround(move + (state / 2147483647) * 2.8 - 1.4);
  });
}

const positive = (shape, seed) => { const s = sample(shape, seed); return { shape, values: s.values.map((value) => Math.fround(Math.abs(value) + 0.3)) }; };

/** Numbers of both signs, between 0.3 and 1.7 away from 0. */
const signed = (shape, seed) => { const s = sample(shape, seed); return { shape, values: s.values.map((value) => Math.fround(value + 0.3 * Math.sign(value))) }; };
/** Angles in three half-turns, 0.17 away from where the tangent has none. */
const turned = (shape, seed) => { const s = sample(shape, seed); return { shape, values: s.values.map((value, k) => Math.fround(value + Math.PI * (k % 3 - 1))) }; };
/** Numbers between −reach and reach. */
const wide = (shape, seed, reach) => { const s = sample(shape, seed); return { shape, values: s.values.map((value) => Math.fround(value * (reach / 1.4))) }; };

// ── operations: operands, ours, the slow one, and by which operands it is differentiated ──

const A = sample([3, 1, 5], 1), B = sample([4, 5], 2), C = sample([3, 4, 5], 3), P = positive([3, 4, 5], 4), Q = positive([5], 5);
// Whole domains: R for what all reals have, E for what grows exponentially; N has both signs and not 0, W is whole.
const R = wide([3, 4, 5], 21, 6), E = wide([3, 4, 5], 22, 4), N = signed([3, 4, 5], 23), W = { shape: [5], values: [2, 3, -1, 0, 1] };
const unary = (name, slow, of = R) => [name, [of], (x) => x[name](), (x) => each(slow, x)];
const binary = (name, slow, [a, b] = [A, B]) => [name, [a, b], (x, y) => x[name](y), (x, y) => each(slow, x, y)];
const along = (name, axes, keep, slow, of = C) => [`${name} over ${axes}${keep ? ", kept" : ""}`, [of], (x) => x[name](axes, { keepDims: keep }), (x) => reduce(x, axes, keep, slow)];
const moved = (name, ours, slow, of = C) => [name, [of], ours, slow];

const OPERATIONS = [
  binary("add", (x, y) => x + y), binary("sub", (x, y) => x - y), binary("mul", (x, y) => x * y), binary("div", (x, y) => x / y, [A, N]), binary("pow", (x, y) => x ** y, [P, sample([5], 5)]),
  ["pow of whole numbers", [N], (x) => x.pow(2).add(x.pow(3)).sub(x.pow(-1)).mul(x.pow(0)), (x) => each((a) => a ** 2 + a ** 3 - 1 / a, x)],
  ["pow of whole elements", [N, W], (x, y) => x.pow(y), (x, y) => each((a, b) => a ** b, x, y), [0]],
  ["pow in map", [N, W], (x, y) => map((a, b) => pow(a, b).add(pow(a, 2)), x, y), (x, y) => each((a, b) => a ** b + a * a, x, y), [0]],
  binary("maximum", Math.max), binary("minimum", Math.min),
  unary("neg", (x) => -x), unary("abs", Math.abs), unary("square", (x) => x * x), unary("sqrt", Math.sqrt, P), unary("rsqrt", (x) => 1 / Math.sqrt(x), P), unary("cbrt", Math.cbrt, N), unary("exp", Math.exp, E), unary("exp2", (x) => 2 ** x, E),
  unary("expm1", Math.expm1, E), unary("log", Math.log, P), unary("log1p", Math.log1p, wide([3, 4, 5], 24, 0.9)), unary("sin", Math.sin), unary("cos", Math.cos), unary("tan", Math.tan, turned([3, 4], 6)), unary("tanh", Math.tanh), unary("erf", erf, wide([3, 4, 5], 25, 2.5)),
  unary("relu", (x) => Math.max(x, 0)), unary("sigmoid", sigmoid), unary("gelu", (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))), unary("silu", (x) => x * sigmoid(x)), unary("softplus", (x) => Math.log1p(Math.exp(x))),
  // Made of others. Bounds and halves of products are in the midst of the numbers; N has both signs.
  ["clip", [R, Q], (x, high) => x.clip(-1, high).add(x.clip(null, 0.5)).add(x.clip(-0.7)).add(x.clip()), (x, high) => each((a, b) => Math.min(Math.max(a, -1), b) + Math.min(a, 0.5) + Math.max(a, -0.7) + a, x, high)],
  ["notEqual, isNaN", [A], (x) => x.mul(x.notEqual(0).add(x.notEqual(x)).add(x.isNaN())), (x) => x],
  unary("log2", Math.log2, P), binary("atan2", Math.atan2, [A, N]), binary("mod", (x, y) => x - y * Math.floor(x / y), [wide([3, 4, 5], 25, 6), Q]), ["mod and atan2 of numbers", [N], (x) => x.mod(0.29).add(x.atan2(-0.4)), (x) => each((a) => a - 0.29 * Math.floor(a / 0.29) + Math.atan2(a, -0.4), x)],
  ["leakyRelu", [N], (x) => x.leakyRelu().add(x.leakyRelu(3)), (x) => each((a) => (a < 0 ? 3.01 * a : 2 * a), x)],
  along("prod", [1], false, (l) => l.reduce((p, a) => p * a, 1)), along("prod", [0, 2], true, (l) => l.reduce((p, a) => p * a, 1), signed([3, 2, 3], 26)), ["prod of all, with a 0", [{ shape: [2, 3], values: [1.5, -2, 0, 0.5, 3, -1] }], (x) => x.prod(), (x) => ({ shape: [], values: [x.values.reduce((p, a) => p * a, 1)] })],
  along("var", [0, 2], false, spread), along("std", [1], true, (l) => Math.sqrt(spread(l))), ["var, unbiased", [C], (x) => x.var(-1, { correction: 1 }), (x) => reduce(x, [2], false, (l) => (spread(l) * l.length) / (l.length - 1))],
  along("logsumexp", [1], false, (l) => Math.log(total(l.map(Math.exp)))), along("logsumexp", [0, 2], true, (l) => Math.log(total(l.map(Math.exp)))), ["logsumexp of large ones", [B], (x) => x.add(90).logsumexp(), (x) => ({ shape: [], values: [90 + Math.log(total(x.values.map(Math.exp)))] })],
  along("norm", [1], false, (l) => Math.hypot(...l)), ["norms of other orders", [N], (x) => x.norm(1, { order: 1 }).add(x.norm(1, { order: Infinity })), (x) => reduce(x, [1], false, (l) => total(l.map(Math.abs)) + Math.max(...l.map(Math.abs)))],
  ["split", [C], (x) => { const [a, b] = x.split(2, 1), [c, d, e] = x.split([1, 4], -1); return concat([a.mul(2), b, a], 1).sum(-1).add(concat([d, c, e.mul(3)], -1).sum([1, 2]).expandDims(1)); },
    (x) => make([3, 6], ([i, j]) => total([0, 1, 2, 3, 4].map((k) => (j < 2 ? 2 : 1) * at(x, [i, j < 4 ? j : j - 4, k]))) + total([0, 1, 2, 3].flatMap((j) => [0, 1, 2, 3, 4].map((k) => (k === 4 ? 3 : 1) * at(x, [i, j, k])))))],
  moved("tile", (x) => x.tile([2, 1, 3]), (x) => make([2, 4, 5 * 3], ([i, j, k]) => at(x, [0, j, k % 5])), { ...B, shape: [1, 4, 5] }), moved("tile of the last axis", (x) => x.tile(2), (x) => make([4, 10], ([i, j]) => at(x, [i, j % 5])), B), moved("tile in front", (x) => x.tile([3, 1, 1]), (x) => make([3, 4, 5], ([, i, j]) => at(x, [i, j])), B),
  moved("repeat", (x) => x.repeat(3, 1), (x) => make([4, 15], ([i, j]) => at(x, [i, Math.floor(j / 3)])), B), moved("repeat of all", (x) => x.repeat(2), (x) => make([40], ([i]) => x.values[i >> 1]), B),
  ["where", [A, B, C], (c, x, y) => where(c.greater(0), x, y), (c, x, y) => each((a, b, d) => (a > 0 ? b : d), c, x, y), [1, 2]],
  ["map", [A, B], (x, y) => map((a, b) => select(a.gt(b), sin(a).mul(b), sqrt(abs(a).add(exp(b)))), x, y), (x, y) => each((a, b) => (a > b ? Math.sin(a) * b : Math.sqrt(Math.abs(a) + Math.exp(b))), x, y)],
  ["numbers", [C], (x) => x.mul(2).add(1).div(4).sub(0.5), (x) => each((a) => (a * 2 + 1) / 4 - 0.5, x)],
  ["matmul", [C, sample([5, 2], 7)], (x, y) => x.matmul(y), matmul],
  ["matmul of batches", [sample([2, 1, 3, 4], 8), sample([5, 4, 2], 9)], (x, y) => x.matmul(y), matmul],
  ["matmul of vectors", [sample([7], 10), sample([7, 3], 11)], (x, y) => x.matmul(y), (x, y) => ({ shape: [3], values: matmul({ shape: [1, 7], values: x.values }, y).values })],
  moved("transpose", (x) => x.transpose(2, 0, 1), (x) => transposed(x, [2, 0, 1])), moved("T", (x) => x.T, (x) => transposed(x, [0, 2, 1])),
  moved("reshape", (x) => x.reshape(6, -1), (x) => ({ shape: [6, 10], values: x.values })), moved("broadcastTo", (x) => x.broadcastTo([2, 3, 4, 5]), (x) => make([2, 3, 4, 5], (p) => broadcast(x, p)), A),
  moved("slice", (x) => x.slice([0, -1], { step: -2 }, [1, null, 2]), (x) => make([2, 2, 2], ([i, j, k]) => at(x, [i, 3 - 2 * j, 1 + 2 * k]))), moved("slice at places", (x) => x.slice(-1, ":", 2), (x) => make([4], ([j]) => at(x, [2, j, 2]))),
  moved("flip", (x) => x.flip([0, 2]), (x) => make(x.shape, ([i, j, k]) => at(x, [2 - i, j, 4 - k]))), moved("pad", (x) => x.pad([[1, 0], [0, 0], [0, 2]], 7), (x) => make([4, 4, 7], ([i, j, k]) => (i < 1 || k > 4 ? 7 : at(x, [i - 1, j, k])))),
  moved("window", (x) => x.window(2, 2, { step: 2, dilation: 2 }), (x) => make([3, 4, 2, 2], ([i, j, w, k]) => at(x, [i, j, 2 * w + 2 * k]))),
  moved("expandDims, squeeze", (x) => x.expandDims(-1).squeeze(1).expandDims(1), (x) => ({ shape: [3, 1, 5, 1], values: x.values }), A),
  moved("gather", (x) => x.gather([2, 0, 2, 2]), (x) => make([4, 4, 5], ([i, j, k]) => at(x, [[2, 0, 2, 2][i], j, k]))),
  moved("embedding", (x) => embedding(x, [1, 1]), (x) => make([2, 5], ([i, k]) => at(x, [1, k])), B),
  ["concat", [C, sample([3, 2, 5], 12)], (x, y) => concat([x, y], 1), (x, y) => make([3, 6, 5], ([i, j, k]) => (j < 4 ? at(x, [i, j, k]) : at(y, [i, j - 4, k])))],
  ["stack", [B, sample([4, 5], 13)], (x, y) => stack([x, y], -1), (x, y) => make([4, 5, 2], ([i, j, k]) => at(k ? y : x, [i, j]))],
  along("sum", [0, 2], false, total), along("sum", [-2].map((axis) => axis + 3), true, total), along("mean", [1], false, (l) => total(l) / l.length), along("max", [2], true, (l) => Math.max(...l)), along("min", [0, 1], false, (l) => Math.min(...l)),
  moved("softmax", (x) => x.softmax(1), (x) => softmax(x, 1)), moved("logSoftmax", (x) => x.logSoftmax(), (x) => each(Math.log, softmax(x, 2))),
  ["layerNorm", [C, Q, sample([5], 14)], (x, scale, shift) => x.layerNorm({ scale, shift, epsilon: 0.1 }), (x, scale, shift) => {
    const mean = reduce(x, [2], true, (l) => total(l) / l.length), centred = each((a, m) => a - m, x, mean);
    const variance = reduce(each((a) => a * a, centred), [2], true, (l) => total(l) / l.length);
    return each((a, v, s, b) => a / Math.sqrt(v + 0.1) * s + b, centred, variance, scale, shift);
  }],
  ["crossEntropy", [B], (x) => crossEntropy(x, [3, 0, 4, 4]), (x) => ({ shape: [], values: [-total([3, 0, 4, 4].map((label, i) => Math.log(at(softmax(x, 1), [i, label])))) / 4] })],
  ["attention", [sample([2, 5, 4], 15), sample([2, 6, 4], 16), sample([2, 6, 3], 17)], (q, k, v) => attention(q, k, v), (q, k, v) => matmul(softmax(each((s) => s / 2, matmul(q, transposed(k, [0, 2, 1]))), 2), v)],
  ["attention, causal", [sample([5, 4], 15), sample([5, 4], 16), sample([5, 3], 17)], (q, k, v) => attention(q, k, v, { causal: true, scale: 0.3 }), (q, k, v) => {
    const scores = matmul(q, transposed(k, [1, 0]));
    return matmul(softmax(make([5, 5], ([i, j]) => (j > i ? -Infinity : 0.3 * at(scores, [i, j]))), 1), v);
  }],
  ["attention, masked", [sample([2, 5, 4], 15), sample([2, 6, 4], 16), sample([2, 6, 3], 17), SEEN], (q, k, v, seen) => attention(q, k, v, { mask: seen }), (q, k, v, seen) => maskedAttention(q, k, v, seen, false), [0, 1, 2]],
  ["attention, masked and causal", [sample([2, 6, 4], 15), sample([2, 6, 4], 16), sample([2, 6, 3], 17), { shape: [6], values: [1, 1, 0, 1, 0, 1] }], (q, k, v, seen) => attention(q, k, v, { mask: seen, causal: true }), (q, k, v, seen) => maskedAttention(q, k, v, seen, true), [0, 1, 2]],
  ["avgPool2d", [sample([2, 3, 5, 6], 27)], (x) => avgPool2d(x, { size: [2, 3], step: [1, 2], padding: [1, 0] }), (x) => make([2, 3, 6, 2], ([b, c, i, j]) => total([0, 1].flatMap((y) => [0, 1, 2].map((z) => (i + y < 1 || i + y > 5 ? 0 : at(x, [b, c, i + y - 1, 2 * j + z]))))) / 6)],
  ["batchNorm", [sample([3, 2, 4], 28), sample([2], 29), sample([2], 30)], (x, scale, shift) => batchNorm(x, { scale, shift, epsilon: 0.1 }), (x, scale, shift) => normalized(x, [0, 2], scale, shift)],
  ["batchNorm, afterwards", [sample([3, 2, 4], 28), sample([2], 29), positive([2], 30)], (x, mean, variance) => batchNorm(x, { mean, variance, epsilon: 0.1 }), (x, mean, variance) => make(x.shape, ([b, c, k]) => (at(x, [b, c, k]) - mean.values[c]) / Math.sqrt(variance.values[c] + 0.1))],
  ["groupNorm", [sample([2, 4, 3], 31), sample([4], 29), sample([4], 30)], (x, scale, shift) => groupNorm(x, 2, { scale, shift, epsilon: 0.1 }), (x, scale, shift) => {
    const parts = normalized({ shape: [2, 2, 6], values: x.values }, [2]);
    return make([2, 4, 3], ([b, c, k]) => parts.values[12 * b + 3 * c + k] * scale.values[c] + shift.values[c]);
  }],
  ["conv2d", [sample([2, 3, 6, 5], 18), sample([4, 3, 3, 2], 19)], (x, f) => conv2d(x, f, { step: [2, 1], padding: 1, dilation: [1, 2] }), (x, f) => make([2, 4, 3, 5], ([b, o, y, z]) => {
    let sum = 0;
    make([3, 3, 2], ([c, i, j]) => {
      const [row, column] = [2 * y + i - 1, z + 2 * j - 1];
      if (row >= 0 && row < 6 && column >= 0 && column < 5) sum += at(x, [b, c, row, column]) * at(f, [o, c, i, j]);
      return 0;
    });
    return sum;
  })],
  ["maxPool2d", [sample([2, 2, 5, 6], 20)], (x) => maxPool2d(x, { size: [3, 2], step: 2, padding: [1, 0] }), (x) => make([2, 2, 3, 3], ([b, c, y, z]) => {
    let largest = -Infinity;
    make([3, 2], ([i, j]) => { const row = 2 * y + i - 1; if (row >= 0 && row < 5) largest = Math.max(largest, at(x, [b, c, row, 2 * z + j])); return 0; });
    return largest;
  })],
];

const FLAT = [
  unary("isNaN", (x) => Number(Number.isNaN(x))), unary("floor", Math.floor), unary("ceil", Math.ceil), unary("round", Math.round), unary("sign", Math.sign),
  binary("less", (x, y) => Number(x < y)), binary("lessEqual", (x, y) => Number(x <= y)), binary("greater", (x, y) => Number(x > y)), binary("greaterEqual", (x, y) => Number(x >= y)), binary("equal", (x, y) => Number(x === y), [B, B]),
  moved("argmax", (x) => x.argmax(1), (x) => reduce(x, [1], false, (l) => l.indexOf(Math.max(...l)))), moved("argmax of all", (x) => x.argmax(), (x) => ({ shape: [], values: [x.values.indexOf(Math.max(...x.values))] })),
  moved("argmin", (x) => x.argmin(1), (x) => reduce(x, [1], false, (l) => l.indexOf(Math.min(...l)))), moved("argmin of all, kept", (x) => x.argmin(undefined, { keepDims: true }), (x) => ({ shape: x.shape.map(() => 1), values: [x.values.indexOf(Math.min(...x.values))] })),
  moved("argmax, kept", (x) => x.argmax(-1, { keepDims: true }), (x) => reduce(x, [2], true, (l) => l.indexOf(Math.max(...l)))),
];

function near(actual, expected, tolerance, what) {
  assert.equal(actual.length, expected.length, what);
  expected.forEach((value, k) => assert.ok(Math.abs(actual[k] - value) <= tolerance * (1 + Math.abs(value)), `${what}: element ${k} is ${actual[k]}, not ${value}`));
}

for (const [backend, dtype, tolerance] of [...BACKENDS.map((backend) => [backend, "f32", 2e-5]), ...BACKENDS.filter((backend) => backend !== "webgpu").map((backend) => [backend, "f64", 1e-12])]) {
  test(`${backend}, ${dtype}: every operation is what it is in plain JavaScript`, async (t) => {
    const lw = await open(t, { backend });
    for (const [name, operands, ours, slow] of [...OPERATIONS, ...FLAT]) {
      const result = lw.scope(() => ours(...operands.map(({ shape, values }) => lw.tensor(values, shape, { dtype }))));
      const expected = slow(...operands);
      assert.deepEqual(result.shape, expected.shape, `${name}: shape`);
      assert.equal(result.size, sizeOf(expected.shape));
      const values = await result.read();
      assert.ok([dtype, "bool", "int32"].includes(result.dtype), name);
      assert.equal(result.dtype === "int32", /^arg/.test(name), name);
      const kinds = { bool: Uint8Array, int32: Int32Array, f64: Float64Array, f32: Float32Array };
      assert.ok(values instanceof kinds[result.dtype], name);
      near(values, expected.values, tolerance, name);
      result.dispose();
    }
  });
}

test("gradients of every operation are central differences, in f64", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const [name, operands, ours, slow, by = operands.map((_, k) => k)] of OPERATIONS) {
    // A sum with weights, so that every element counts differently.
    const weights = sample(slow(...operands).shape, 99);
    const { slopes } = lw.scope(() => {
      const tensors = operands.map(({ shape, values }) => lw.tensor(values, shape, { dtype: "f64" }));
      const loss = ours(...tensors).mul(lw.tensor(weights.values, weights.shape, { dtype: "f64" })).sum();
      return { slopes: grad(loss, by.map((k) => tensors[k])).map((g) => g.read()) };
    });
    const found = await Promise.all(slopes);
    const value = (changed) => total(slow(...changed).values.map((each, k) => each * weights.values[k]));
    found.forEach((values, which) => {
      const h = 1e-5, operand = operands[by[which]];
      const expected = operand.values.map((_, k) => {
        const side = (sign) => value(operands.map((each) => (each === operand ? { shape: each.shape, values: each.values.map((v, i) => (i === k ? v + sign * h : v)) } : each)));
        return (side(1) - side(-1)) / (2 * h);
      });
      near(values, expected, 3e-8, `${name}, by operand ${by[which]}`);
    });
  }
});

test("gradients go through gradients, and stop at what is detached", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const x = lw.tensor([1, 2, 3], undefined, { dtype: "f64" });
  const [first] = grad(x.square().square().sum(), [x]);
  const [second] = grad(first.sum(), [x]);
  assert.deepEqual([...await second.read()], [12, 48, 108]);
  const [part] = grad(x.mul(x.detach()).sum(), [x]);
  assert.deepEqual([...await part.read()], [1, 2, 3]);
});

test("what is documented of kinks and ties", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const by = async (of, values) => { const x = lw.tensor(values); return [...await grad(of(x).sum(), [x])[0].read()]; };
  assert.deepEqual(await by((x) => x.max(), [3, 1, 3]), [0.5, 0, 0.5], "equal extremes share");
  assert.deepEqual(await by((x) => x.sqrt(), [0, 4]), [0, 0.25]);
  assert.deepEqual(await by((x) => x.abs(), [0, -2]), [0, -1]);
  assert.deepEqual(await by((x) => x.relu(), [0, 2, -2]), [0, 1, 0]);
  assert.deepEqual(await by((x) => x.maximum(0), [0, 2, -2]), [1, 1, 0], "of equal ones the left one");
  assert.deepEqual(await by((x) => x.pow(2), [-2, 0, 3]), [-4, 0, 6]);
  assert.deepEqual(await by((x) => x.pow(lw.tensor([2, 3, 0.5, 0.5])), [-2, -2, -2, 0]), [-4, 12, NaN, 0], "below 0 whole exponents have slopes, at 0 no slope is infinite");
  const exponent = lw.tensor([2, 2]);
  assert.deepEqual([...await grad(lw.tensor([1, -2]).pow(exponent).sum(), [exponent])[0].read()], [0, NaN], "by an exponent there is none below 0");
  assert.deepEqual([...await lw.tensor([-2, -2, -2]).pow(lw.tensor([2, 3, 0.5])).read()], [4, -8, NaN]);
  assert.deepEqual([...await lw.tensor([10, 20, 30]).gather(lw.tensor([-3, 1, 9])).read()], [10, 20, 30], "computed rows are taken to the nearest");
});

test("making tensors: nested arrays, numbers, typed arrays, counts and fills", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const nested = lw.tensor([[[1], [2]], [[3], [4]], [[5], [6]]]);
  assert.deepEqual([nested.shape, [...await nested.read()]], [[3, 2, 1], [1, 2, 3, 4, 5, 6]]);
  const one = lw.tensor(2.5);
  assert.deepEqual([one.shape, one.rank, one.size, await one.item()], [[], 0, 1, 2.5]);
  const values = Float32Array.of(1, 2, 3, 4), typed = lw.tensor(values, [2, 2]);
  values[0] = 9;
  assert.deepEqual([...await typed.read()], [1, 2, 3, 4], "values were copied");
  assert.deepEqual([...await lw.tensor([0.1]).read()], [Math.fround(0.1)], "f32 by default");
  assert.deepEqual([...await lw.tensor([0.1], [1], { dtype: "f64" }).read()], [0.1]);
  assert.deepEqual([...await lw.arange(4).read()], [0, 1, 2, 3]);
  assert.deepEqual([...await lw.arange(3, { start: 1, step: -0.5 }).read()], [1, 0.5, 0]);
  assert.deepEqual([...await lw.full([2], 7).read(), ...await lw.ones([1]).read(), ...await lw.zeros([1, 1]).read()], [7, 7, 1, 0]);
  assert.deepEqual([...await lw.indices([3, 0, 1]).read()], [3, 0, 1]);
  const empty = lw.zeros([0, 3]);
  assert.deepEqual([(await empty.read()).length, await empty.sum().item(), empty.sum(0).shape], [0, 0, [3]]);
  assert.equal(String(typed), "Tensor [2, 2] f32");
});

test("random numbers: seeded, uniform or normal", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const [a, again, other, wide, normal, double] = await Promise.all([
    lw.random([100, 100], { seed: 1 }), lw.random([100, 100], { seed: 1 }), lw.random([100, 100], { seed: 2 }), lw.random([1000], { seed: 1, low: -2, high: 5 }),
    lw.random([10000], { seed: 1, distribution: "normal", mean: 3, deviation: 2 }), lw.random([3], { seed: 1, dtype: "f64" }),
  ].map((each) => each.read()));
  assert.deepEqual(a, again);
  const moments = (list) => { const mean = total([...list]) / list.length; return [mean, total([...list].map((value) => (value - mean) ** 2)) / list.length]; };
  const correlation = total([...a].map((value, k) => (value - 0.5) * (other[k] - 0.5))) / a.length * 12;
  assert.ok(Math.abs(correlation) < 0.04, `seeds next to each other correlate: ${correlation}`);
  assert.ok(a.every((value) => value >= 0 && value < 1) && wide.every((value) => value >= -2 && value < 5));
  near(moments(a), [0.5, 1 / 12], 0.01, "uniform");
  near(moments(normal), [3, 4], 0.03, "normal");
  assert.notEqual(double[0], Math.fround(double[0]), "f64 has more bits");
});

test("what is made of others, at its edges", async (t) => {
  const lw = await open(t, { backend: "cpu" }), list = async (tensor) => [...await tensor.read()];
  const x = lw.tensor([[3, NaN, -1], [2, 2, 5]]);
  assert.deepEqual(await list(x.isNaN()), [0, 1, 0, 0, 0, 0]);
  assert.deepEqual(await list(x.notEqual(2)), [1, 1, 1, 0, 0, 1]);
  const y = lw.tensor([[3, 0, -1], [2, 2, 5]]);
  assert.deepEqual([await list(y.argmin(1)), await list(y.argmin(0, { keepDims: true })), await y.argmin().item()], [[2, 0], [1, 0, 0], 2]);
  const none = lw.zeros([0, 2]);
  assert.deepEqual([await none.prod().item(), await list(none.prod(0)), none.prod(1).shape, none.tile(2).shape], [1, [1, 1], [0], [0, 4]]);
  const ends = lw.tensor([[-3e38, -3e38], [1000, 999]]).logsumexp(1);
  near(await ends.read(), [-3e38, 1000 + Math.log1p(Math.exp(-1))], 1e-6, "logsumexp");
  // The exponential of the logarithm of 0 is that of −∞.
  const nothing = lw.tensor([0, 0]).log().neg().neg().exp();
  assert.deepEqual(await list(nothing), [0, 0]);
  near([await lw.tensor([1, 2]).log().sub(lw.tensor([0, 0]).log().exp()).clip(null, null).sum().item()], [Math.log(2)], 1e-6, "no bounds");
  assert.deepEqual([await list(lw.eye(2, 3)), await list(lw.eye(2, undefined, { dtype: "f64" }))], [[1, 0, 0, 0, 1, 0], [1, 0, 0, 1]]);
  const hot = oneHot(lw.indices([2, 0, 1, 1], [2, 2]), 3);
  assert.deepEqual([hot.shape, await list(hot)], [[2, 2, 3], [0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0]]);
  const w = lw.tensor([1, -2]), { value, gradients: [slope] } = valueAndGrad((w) => w.square().sum(), [w]);
  const [loss, slopes] = await Promise.all([value.item(), slope.read()]);
  assert.deepEqual([loss, ...slopes], [5, 2, -4]);
  // Dropout: the same elements by the same seed, on average as much as before, and gradients through what stays.
  const ones = lw.ones([4000]), thinned = dropout(ones, { rate: 0.25, seed: 3 }), [through] = grad(thinned.sum(), [ones]), [once, again, other, passed] = await Promise.all([thinned, dropout(ones, { rate: 0.25, seed: 3 }), dropout(ones, { rate: 0.25, seed: 4 }), through].map(list));
  assert.deepEqual(once, again);
  assert.notDeepEqual(once, other);
  assert.deepEqual(passed, once);
  assert.deepEqual([...new Set(once)].sort(), [0, Math.fround(4 / 3)]);
  near([total(once) / 4000], [1], 0.04, "the mean");
  // What is made on the way is freed; a clip without bounds is a tensor of its own.
  const fresh = await open(t, { backend: "cpu" }), z = fresh.tensor([[3, 0, -1], [2, 2, 5]]), keys = fresh.tensor([1, 0]), same = [z.reshape(2, 3), z.reshape([2, 3])];
  const results = [z.clip(), z.clip(0, z), z.std(1), z.prod(), ...z.split(3, 1), z.repeat(2), z.logsumexp(), z.norm(1), z.isNaN(), attention(z, z, z, { mask: keys }), groupNorm(z, 3), ...same];
  // What changes nothing is one tensor for the engine, with an owner more.
  assert.equal(fresh.memory().tensors, 2 + results.length);
  for (const made of results) made.dispose();
  assert.equal(fresh.memory().tensors, 2);
  assert.deepEqual(await list(z), [3, 0, -1, 2, 2, 5]);
  // A query that sees no key.
  const [q, v] = [lw.ones([1, 2]), lw.tensor([[1, 2], [3, 4]])];
  near(await list(attention(q, v, v, { mask: lw.zeros([2]) })), [2, 3], 1e-6, "no key");
});

test("consoles and JSON", async (t) => {
  const lw = await open(t, { backend: "cpu" }), given = lw.tensor([[1, 2.5], [0.1, -3]]), sum = given.add(1), many = lw.arange(100);
  assert.equal(inspect(given), "Tensor [2, 2] f32 [[1, 2.5], [0.1, -3]]");
  assert.equal(inspect({ sum }), "{ sum: Tensor [2, 2] f32, values on the device: await read() }");
  assert.deepEqual([...await sum.read()], [2, 3.5, 1.100000023841858, -2]);
  assert.equal(inspect(sum), "Tensor [2, 2] f32 [[2, 3.5], [1.1, -2]]");
  await many.read();
  assert.match(inspect(many), /^Tensor \[100\] f32 \[0, 1, 2, .*, 63, …\], row by row$/);
  assert.equal(inspect(lw.tensor(2)), "Tensor [] f32 2");
  assert.deepEqual(JSON.parse(JSON.stringify({ given })), { given: { type: "Tensor", shape: [2, 2], dtype: "f32" } });
  given.dispose();
  assert.equal(inspect(given), "Tensor [2, 2] f32, disposed");
});

test("names from elsewhere are refused with ours", async (t) => {
  const lw = await open(t, { backend: "cpu" }), x = lw.ones([1, 1, 4, 4]);
  for (const [work, meant] of [
    [() => conv2d(x, x, { stride: 2 }), "step"], [() => maxPool2d(x, { size: 2, strides: 2 }), "step"], [() => avgPool2d(x, { kernel_size: 2 }), "size"], [() => x.sum(0, { keepdims: true }), "keepDims"], [() => x.var(0, { ddof: 1 }), "correction"], [() => x.norm(0, { ord: 1 }), "order"],
    [() => x.layerNorm({ eps: 1 }), "epsilon"], [() => x.layerNorm({ bias: x }), "shift"], [() => groupNorm(x, 1, { gamma: x }), "scale"], [() => attention(x, x, x, { is_causal: true }), "causal"], [() => dropout(x, { p: 0.5, seed: 1 }), "rate"], [() => lw.random([2], { seed: 1, std: 2 }), "deviation"],
  ]) refuses(work, "invalid-option", new RegExp(`did you mean "${meant}"\\?`));
  refuses(() => x.sum(0, { constructor: 1 }), "invalid-option", /have no "constructor" \(they have: keepDims\)/);
  refuses(() => x.norm(0, { order: 3 }), "invalid-option", /order must be 1, 2 or Infinity/);
  refuses(() => x.split(3, 2), "shape", /axis 2 has 4 elements, which are no 3 equal parts/);
  refuses(() => x.split([3, 2], 2), "shape", /place 1 is 2, but places are whole numbers that grow, from 0 to 4/);
  refuses(() => lw.ones([1]).var(0, { correction: 1 }), "shape", /there is no variance/);
  refuses(() => groupNorm(lw.ones([1, 3, 2]), 2), "shape", /3 channels are no 2 equal groups/);
  refuses(() => batchNorm(lw.ones([1, 3, 2]), { scale: lw.ones([2]) }), "shape", /scale is \[2\], but there are 3 channels/);
  refuses(() => dropout(x, { rate: 1, seed: 1 }), "invalid-option", /a rate is needed, from 0 to below 1/);
  refuses(() => oneHot([1, 2], 3), "invalid-option", /labels must be a tensor, as lw.indices\(labels\) makes one/);
  refuses(() => oneHot(lw.indices([3]), 3), "index-out-of-range", /there is a 3 among the numbers, but there are 3 classes/);
});

test("errors for people", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const a = lw.tensor([[1, 2, 3], [4, 5, 6]]), b = lw.tensor([1, 2], [2], { dtype: "f64" });
  refuses(() => a.add(lw.ones([4])), "shape", '"add": shapes [2, 3] and [4] do not broadcast: axes from the last on must be equal, or 1');
  refuses(() => a.matmul(a), "shape", /\[2, 3\] times \[2, 3\]: the left one's last axis must be as long as the right one's last but one/);
  refuses(() => a.matmul(2), "invalid-option", "matmul(o): o must be a tensor, not a number");
  refuses(() => a.add([1, 2, 3]), "invalid-option", "add(): an operand must be a tensor or a number, not an array");
  refuses(() => a.mul(NaN), "non-finite", "mul(): an operand is NaN: numbers must be finite, and at most 3.4e38");
  refuses(() => a.add(b), "dtype", /tensors are of f32 and of f64, and nothing is converted in silence/);
  refuses(() => concat([a, b]), "dtype", /of f32 and of f64/);
  refuses(() => concat([]), "invalid-option", /one at least, not an empty one/);
  refuses(() => stack([a, lw.ones([3])]), "shape", "stack(tensors): [2, 3] and [3] are no equal shapes");
  refuses(() => a.sum(2), "shape", "sum(axis): there is no axis 2: the axes are 0 to 1, or −2 to −1 from the last");
  refuses(() => a.sum({ keepDims: true }), "shape", "sum(axis): axes are a number or an array, not an Object: options come after them");
  refuses(() => a.norm({ order: 1 }), "shape", "norm(axis): axes are a number or an array, not an Object: options come after them");
  refuses(() => a.norm(2), "shape", "norm(axis): there is no axis 2: the axes are 0 to 1, or −2 to −1 from the last");
  refuses(() => a.logsumexp({ keepDims: true }), "shape", "logsumexp(axis): axes are a number or an array, not an Object: options come after them");
  refuses(() => a.sum(null), "shape", "sum(axis): axes are a number or an array, not null");
  refuses(() => a.sum(new Map()), "shape", "sum(axis): axes are a number or an array, not a Map");
  refuses(() => lw.tensor([1], null), "shape", "lw.tensor(values, shape): a shape is an array of sizes, such as [2, 3], not null");
  refuses(() => lw.tensor([1], { dtype: "f64" }), "shape", "lw.tensor(values, shape): a shape is an array of sizes, such as [2, 3], not an Object: options come after it");
  refuses(() => a.max([0, -2]), "shape", "max(axis): an axis is named twice in [0, -2]");
  refuses(() => a.slice(2), "index-out-of-range", "slice(…): there is no place 2 along axis 0, which has 2 elements");
  refuses(() => a.slice(":", ":", ":"), "shape", "slice(…): 3 ranges, but the tensor [2, 3] has 2 axes");
  refuses(() => a.slice([0, 1.5]), "shape", "slice(…): the stop along axis 0 is 1.5, but must be a whole number");
  refuses(() => a.reshape(4, -1), "shape", /\[2, 3\] has 6 elements, \[4, -1\] has not$/);
  refuses(() => a.squeeze(0), "shape", "squeeze(axis): axis 0 of [2, 3] has 2 elements, not 1");
  refuses(() => a.pad([[1, 1]]), "shape", "pad(widths): widths must have a pair [before, after] for each of the 2 axes");
  refuses(() => a.gather([0, 2]), "index-out-of-range", "gather(rows): there is a 2 among the numbers, but there are 2 rows (0 to 1)");
  refuses(() => a.gather([0.5]), "index-out-of-range", /number 0 is 0.5, but labels and indices are whole numbers/, { instance: 0 });
  refuses(() => crossEntropy(a, [0, 3]), "index-out-of-range", "crossEntropy(logits, labels): there is a 3 among the numbers, but there are 3 classes (0 to 2)");
  refuses(() => crossEntropy(a, [0]), "shape", /labels are \[1\], but logits of \[2, 3\] need \[2\]/);
  refuses(() => conv2d(a, a), "shape", /images are \[batch, channels, height, width\]/);
  refuses(() => maxPool2d(lw.ones([1, 1, 4, 4]), {}), "invalid-option", "maxPool2d(images): size is a whole number, or one along height and one along width, not undefined");
  refuses(() => map((x) => x + 1, a), "untraceable", /^the function of map\(\) used an expression as a JavaScript number/);
  refuses(() => map(() => 1, a), "no-residual", "map(work, …tensors): work must return one scalar, not a number");
  let kept;
  map((x) => (kept = x), a);
  refuses(() => map((x) => x.add(kept), a), "foreign-expression", /the function of map\(\) uses an expression of the function of map\(\)/);
  refuses(() => a + 1, "untraceable", /a tensor was used as a JavaScript number/);
  refuses(() => grad(a, [a]), "shape", /the loss must be one number, not \[2, 3\]: take its sum or its mean/);
  refuses(() => grad(a.sum(), [lw.ones([1])]), "shape", /the loss does not depend on tensor 0/);
  await rejects(a.item(), "shape", "item(): the tensor has 6 elements [2, 3], not one: use read()");
  refuses(() => lw.tensor([[1], [2, 3]]), "shape", "lw.tensor(values, shape): rows differ: along axis 1 the first has 1 elements, and another is of 2");
  refuses(() => lw.tensor([1, 2, 3], [2, 2]), "data-length", "lw.tensor(values, shape): there are 3 values, but the shape [2, 2] has 4 elements");
  refuses(() => lw.tensor("1"), "invalid-option", /values must be a number, a typed array, or arrays of numbers, not a string/);
  refuses(() => lw.tensor([1], [1], { dtype: "i32" }), "invalid-option", 'lw.tensor(values, shape): dtype is "f16", "f32", "f64", "int32" or "bool", not "i32"');
  refuses(() => lw.zeros([-1]), "shape", "lw.zeros(shape): size 0 is -1, but sizes are whole numbers");
  refuses(() => lw.zeros([1 << 16, 1 << 16]), "shape", /are more elements than 2³² − 1/);
  refuses(() => lw.random([2]), "invalid-option", /options must be an object, not undefined/);
  refuses(() => lw.random([2], {}), "invalid-option", /a seed is needed/);
  refuses(() => lw.random([2], { seed: 1, deviation: 2 }), "invalid-option", /"deviation" means nothing for the distribution "uniform"/);
  refuses(() => lw.tensors({ routing: "gpu" }), "invalid-option", 'lw.tensors(settings): routing: "gpu" is not one of "auto", "device", "cpu"');
  a.dispose();
  a.dispose();
  refuses(() => a.add(1), "disposed", /^add\(\): the tensor \[2, 3\] was disposed/);
  await rejects(a.read(), "disposed", /^read\(\): the tensor \[2, 3\] was disposed/);
  const other = await open(t, { backend: "cpu" });
  refuses(() => lw.ones([1]).add(other.ones([1])), "foreign-tensor", /belong to two engines/);
  await rejects(lw.evaluate(other.ones([1])), "foreign-tensor", /tensor 0 belongs to another engine/);
});

test("what was computed has no history, and says so", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const x = lw.tensor([1, 2]), square = x.square();
  await square.read();
  refuses(() => grad(square.sum(), [x]), "shape", /was computed before, and how is forgotten: call grad before reading or evaluating it/);
  assert.deepEqual([...await grad(square.sum().mul(3), [square])[0].read()], [3, 3]);
});

test("WebGPU has no f64, and says what has", { skip: ADDON }, async (t) => {
  const lw = await open(t, { backend: "webgpu" });
  refuses(() => lw.tensor([1], [1], { dtype: "f64" }), "dtype", 'lw.tensor(values, shape): WebGPU computes in f32; f64 is for init({ backend: "cpu" }) and init({ backend: "cuda" })');
});
