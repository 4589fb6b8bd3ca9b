// Values of leastwise/autograd: every operation against differences, closed forms, kinks, and what throws.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Losses, V, Value } from "leastwise/autograd";
import { near, randoms } from "./random.mjs";

/** Operations by name: how many operands, and from where to where they are drawn. */
const SMOOTH = {
  add: [2, -3, 3], sub: [2, -3, 3], mul: [2, -3, 3], div: [2, 0.5, 3], neg: [1, -3, 3], square: [1, -3, 3], cube: [1, -3, 3], reciprocal: [1, 0.5, 3],
  powValue: [2, 0.5, 3], sqrt: [1, 0.1, 3], exp: [1, -3, 3], log: [1, 0.1, 3], sin: [1, -3, 3], cos: [1, -3, 3], tan: [1, -1, 1], asin: [1, -0.9, 0.9],
  acos: [1, -0.9, 0.9], atan: [1, -3, 3], atan2: [2, 0.1, 3], sinh: [1, -2, 2], cosh: [1, -2, 2], tanh: [1, -2, 2], sigmoid: [1, -5, 5], softplus: [1, -5, 5],
  relu: [1, 0.1, 3], abs: [1, -3, -0.1], min: [2, -3, 3], max: [2, -3, 3], mod: [2, 1.1, 3], sign: [1, 0.1, 3], floor: [1, 0.1, 0.9], ceil: [1, 0.1, 0.9], round: [1, 0.6, 1.4],
};
const COMPARISONS = { eq: (a, b) => a === b, neq: (a, b) => a !== b, gt: (a, b) => a > b, lt: (a, b) => a < b, gte: (a, b) => a >= b, lte: (a, b) => a <= b };

/** Compares the gradients of a function of leaves with central differences. */
function agrees(name, of, at) {
  const leaves = at.map((value) => V.W(value));
  of(...leaves).backward();
  at.forEach((value, k) => {
    const step = 1e-5, shifted = (by) => of(...at.map((other, j) => V.W(j === k ? value + by : other))).data;
    near(leaves[k].grad, (shifted(step) - shifted(-step)) / (2 * step), 1e-7, `${name}(${at}) by operand ${k}`);
  });
}

test("every operation has the slopes that differences have", () => {
  for (const [name, [arity, low, high]] of Object.entries(SMOOTH)) {
    const random = randoms(name.length, low, high);
    for (let time = 0; time < 20; time++) agrees(name, V[name], Array.from({ length: arity }, random));
  }
  const random = randoms(7, -3, 3);
  for (let time = 0; time < 20; time++) {
    const [a, b, c] = [random(), random(), random()];
    agrees("clamp", (x) => V.clamp(x, -1, 1), [a]);
    agrees("pow", (x) => V.pow(x, 4), [a]);
    agrees("pow", (x) => V.pow(V.add(V.square(x), 0.3), -1.5), [a]);
    agrees("sum", (...all) => V.sum(all), [a, b, c]);
    agrees("mean", (...all) => V.mean(all), [a, b, c]);
    agrees("ifThenElse", (x, y, z) => V.ifThenElse(V.gt(x, 0), V.sin(y), V.mul(z, y)), [a, b, c]);
    agrees("composed", (x, y, z) => V.div(V.mul(V.sin(x), y), V.add(V.square(z), V.exp(V.mul(x, 0.3)))), [a, b, c]);
  }
});

test("every method is the function of its name", () => {
  const names = Object.getOwnPropertyNames(Value.prototype).filter((name) => typeof V[name] === "function" && name !== "constructor");
  assert.ok(names.length >= 38, `${names.length} methods`);
  const given = (name) => (name === "clamp" ? [0.2, 0.4] : V[name].length > 1 || name === "div" ? [name === "pow" ? 1.7 : V.C(0.7)] : []);
  for (const name of names) assert.equal(V.W(0.6)[name](...given(name)).data, V[name](V.W(0.6), ...given(name)).data, name);
  const missing = [...Object.keys(SMOOTH), ...Object.keys(COMPARISONS), "clamp", "pow"].filter((name) => !names.includes(name));
  assert.deepEqual(missing, ["atan2", "sinh", "cosh"]);
});

test("comparisons give 1 or 0, and no gradient", () => {
  for (const [name, holds] of Object.entries(COMPARISONS)) {
    for (const [a, b] of [[1, 2], [2, 1], [2, 2]]) {
      const left = V.W(a), right = V.W(b), is = V[name](left, right);
      assert.equal(is.data, holds(a, b) ? 1 : 0, name);
      is.backward();
      assert.deepEqual([left.grad, right.grad], [0, 0], name);
    }
  }
});

/** The slope of an operation at a point. */
function slope(of, at) {
  const x = V.W(at);
  of(x).backward();
  return x.grad;
}

test("kinks, ties and edges have the slopes of the table of operations", () => {
  const cases = [
    [V.abs, 0, 0], [V.relu, 0, 0], [V.sign, 0, 0], [V.sqrt, 0, 0], [V.asin, 1, 0], [V.asin, -1, 0], [V.acos, 1, 0], [V.acos, -1, 0],
    [(x) => V.clamp(x, 0, 1), 0, 1], [(x) => V.clamp(x, 0, 1), 1, 1], [(x) => V.clamp(x, 0, 1), 1.1, 0], [(x) => V.clamp(x, 0, 1), -0.1, 0],
    [(x) => V.max(x, x), 2, 1], [(x) => V.min(x, 2), 2, 1], [(x) => V.min(2, x), 2, 0], [(x) => V.max(x, 2), 2, 1], [(x) => V.max(2, x), 2, 0],
    [(x) => V.powValue(0, x), 2, 0], [(x) => V.pow(x, 1), 0, 1], [(x) => V.pow(x, 0.5), 0, 0], [(x) => V.pow(x, 0), 0, 0], [(x) => V.atan2(x, x), 0, 0], [V.softplus, 1000, 1], [V.softplus, -1000, 0],
  ];
  for (const [of, at, expected] of cases) assert.equal(slope(of, at), expected, `${of} at ${at}`);
  // max(min, min(a, max)): of bounds in the wrong order the lower one holds.
  for (const at of [1, 4, 6]) assert.deepEqual([V.clamp(at, 5, 3).data, slope((x) => V.clamp(x, 5, 3), at)], [5, 0]);
  assert.equal(V.round(2.5).data, 3);
  assert.equal(V.round(-2.5).data, -2);
  assert.equal(V.mod(-5, 3).data, -2);
  assert.equal(V.powValue(0, 0).data, 1);
  assert.equal(V.softplus(1000).data, 1000);
  assert.equal(V.pow(V.C(-2), 3).data, -8);
  assert.equal(V.powValue(-2, -2).data, 0.25);
});

test("what is not a finite number throws at the call", () => {
  const cases = {
    "Invalid number passed to Value: NaN": () => new Value(NaN), "Invalid number passed to Value: Infinity \\(exp\\)": () => V.exp(1000), "Invalid number passed to Value: Infinity \\(square\\)": () => V.square(1e200),
    "division by 0": () => V.div(1, 0), "division by 1e-13": () => V.W(1).div(1e-13), "division by 0.05": () => V.div(1, 0.05, 0.1), "division by 0.01": () => V.reciprocal(0.01, 0.1), "reciprocal of 0": () => V.W(0).reciprocal(),
    "logarithm of 0": () => V.log(0), "logarithm of -1": () => V.log(-1), "square root of -1": () => V.sqrt(-1), "arcsine of 1.1": () => V.asin(1.1), "arccosine of -2": () => V.acos(-2),
    "-2 to the power of 0.5": () => V.pow(-2, 0.5), "0 to the power of -1": () => V.pow(0, -1), "trainable exponent": () => V.powValue(-2, V.W(2)), "the exponent is NaN": () => V.pow(2, NaN), "remainder of a division by 0": () => V.mod(1, 0),
  };
  for (const [message, call] of Object.entries(cases)) {
    assert.throws(call, (error) => error.name === "LeastwiseError" && error.code === "non-finite" && new RegExp(message).test(error.message), message);
  }
  assert.throws(() => V.add(1, "2"), { code: "shape", message: /an operand is a string/ });
});

test("backward adds up in leaves, and clears what is between", () => {
  const x = V.W(2), y = x.mul(3), z = y.mul(1);
  z.backward();
  z.backward();
  assert.equal(x.grad, 6);
  z.backward(true);
  assert.equal(x.grad, 3);
  assert.equal(z.grad, 1);
  Value.zeroGradTree(z);
  assert.deepEqual([x.grad, y.grad, z.grad], [0, 0, 0]);
  const shared = x.mul(x);
  shared.add(shared).backward();
  assert.equal(x.grad, 8);
  Value.zeroGradAll([shared, y]);
  assert.equal(x.grad, 0);
});

test("constants keep gradient 0, those that are shared too", () => {
  const x = V.W(2), c = V.C(5), p = V.Param(3, "p");
  V.add(V.mul(x, c), V.mod(V.powValue(x, p), c)).backward();
  assert.deepEqual([c.grad, p.grad, V.C(5).grad], [0, 0, 0]);
  assert.equal(V.C(5), c);
  // Whoever asks for −0 first has 0, and leaves it to all others.
  assert.ok(Object.is(V.C(-0).data, 0) && V.C(0) === V.C(-0));
  assert.notEqual(V.Param(5, "a"), V.Param(5, "a"));
  assert.equal(p.paramName, "p");
});

test("a constant that all share is not written to, and one of its own is", () => {
  const target = V.C(1);
  assert.throws(() => { target.data = 9; }, { name: "LeastwiseError", code: "invalid-option", message: /^V\.C\(1\) is one constant for all who ask for 1: V\.Param\(1, name\) makes one/ });
  assert.deepEqual([target.data, V.C(1).data, V.mul(V.W(2), V.C(1)).data, Losses.mse([V.C(1)], [target]).data], [1, 1, 2, 0]);
  const own = V.Param(1, "own"), of = V.mul(V.W(2), own);
  own.data = 9;
  assert.deepEqual([own.data, of.data, V.C(1).data, V.C(0).data], [9, 2, 1, 0]);
});

test("operators of JavaScript, which would compare texts, are refused", () => {
  const [a, b] = [V.W(10), V.W(9)], sum = a.add(b);
  for (const operate of [() => a < b, () => a > 9, () => a - b, () => 2 * sum, () => -a, () => a + b, () => `${a + ""}`, () => Math.max(a, b), () => Number(V.C(3))]) {
    assert.throws(operate, { name: "LeastwiseError", code: "untraceable", message: /^a Value was used as a JavaScript number .* a\.sub\(b\) and a\.lt\(b\), or `data`/ });
  }
  assert.deepEqual([`${a}`, String(V.C(2)), [a].join()], ["Value(data=10.0000, grad=0.0000, label=)", "Value(data=2.0000, grad=0.0000, label=)", String(a)]);
});

test("a chain of a million operations has a value, a gradient and a label", () => {
  const x = V.W(1, "x");
  let y = x;
  for (let k = 0; k < 1_000_000; k++) y = k % 2 ? y.add(1) : y.mul(1);
  y.backward();
  assert.equal(x.grad, 1);
  assert.equal(y.data, 500_001);
  assert.ok(y.label.length <= 1001);
});

test("labels are the expression, cut where it would grow without end", () => {
  const a = V.W(2, "a"), b = V.W(3, "b");
  assert.equal(a.mul(b).label, "(a*b)");
  assert.equal(a.add(1).label, "(a+)");
  assert.equal(a.mul(b).tanh().label, "tanh((a*b))");
  assert.equal(V.sum([a, b, a]).label, "sum(3)");
  assert.equal(a.mul(b).toString(), "Value(data=6.0000, grad=0.0000, label=(a*b))");
  let y = a;
  for (let k = 0; k < 40; k++) y = y.mul(y).pow(0.5);
  assert.match(y.label, /…$/);
  a.label = "c";
  assert.equal(a.neg().label, "neg(c)");
});

test("without gradients results are leaves, also after a throw", () => {
  const x = V.W(2);
  const y = Value.withNoGrad(() => x.mul(3));
  assert.deepEqual([y.data, y.requiresGrad, y.prev.length], [6, false, 0]);
  assert.throws(() => Value.withNoGrad(() => { throw new Error("no"); }), /no/);
  assert.equal(Value.no_grad_mode, false);
  assert.equal(x.mul(3).requiresGrad, true);
  assert.equal(x.mul(3).prev.length, 2);
});

test("operations of one's own take part in the sweep", () => {
  const x = V.W(3), c = V.C(4);
  const twice = (a) => Value.make(a.data * 2, a, null, (out) => () => { a.grad += 2 * out.grad; }, "twice");
  twice(twice(x)).backward();
  assert.equal(x.grad, 4);
  const all = Value.makeNary(x.data * c.data, [x, c], (out) => () => { x.grad += c.data * out.grad; c.grad += x.data * out.grad; }, "product");
  all.backward(true);
  assert.deepEqual([x.grad, c.grad, all.label], [4, 0, "product"]);
});

test("sums of none are 0, of one the value itself", () => {
  const x = V.W(2);
  assert.equal(V.sum([]).data, 0);
  assert.equal(V.mean([]).data, 0);
  assert.equal(V.sum([x]), x);
  assert.equal(Value.mean([x, 4]).data, 3);
});

test("a constant is written as other values are", () => {
  const [constant, leaf] = [V.C(7), V.W(7)].map((value) => JSON.parse(JSON.stringify(value)));
  assert.deepEqual(constant, { ...leaf, requiresGrad: false });
  assert.equal(constant.data, 7);
});

// The last one: what it asks for is all that is shared.
test("constants of more numbers than are shared are objects of their own", () => {
  const shared = V.C(3);
  for (let k = 0; k < 10_001; k++) V.C(k + 0.25);
  const own = V.C(0.125);
  assert.notEqual(V.C(0.125), own);
  own.data = 2;
  assert.deepEqual([own.data, V.C(0.125).data, V.mul(own, 3).data], [2, 0.125, 6]);
  assert.equal(V.C(3), shared);
  assert.throws(() => { shared.data = 9; }, { code: "invalid-option" });
});
