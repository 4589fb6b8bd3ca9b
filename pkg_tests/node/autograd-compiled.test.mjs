// Compiled sets of leastwise/autograd: they equal the graphs they were made of, at every point, and group them by structure.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CompiledFunctions, CompiledResiduals, lbfgs, Matrix3x3, V, Value } from "leastwise/autograd";
import { near, randoms } from "./random.mjs";

/** Every operation, of three positive numbers below 1. */
const ALL = {
  add: (x, y) => V.add(x, y), sub: (x, y) => V.sub(x, y), mul: (x, y) => V.mul(x, y), div: (x, y) => V.div(x, y), neg: (x) => V.neg(x), pow: (x) => V.pow(x, 1.5), powValue: (x, y) => V.powValue(x, y), mod: (x, y) => V.mod(x, y),
  square: (x) => V.square(x), cube: (x) => V.cube(x), reciprocal: (x) => V.reciprocal(x), sqrt: (x) => V.sqrt(x), abs: (x, y) => V.abs(V.sub(x, y)), sign: (x, y) => V.mul(V.sign(V.sub(x, y)), x), floor: (x) => V.add(V.floor(V.mul(x, 9)), x),
  ceil: (x) => V.add(V.ceil(V.mul(x, 9)), x), round: (x) => V.add(V.round(V.mul(x, 9)), x), min: (x, y) => V.min(x, y), max: (x, y) => V.max(x, y), clamp: (x, y) => V.mul(V.clamp(x, 0.3, 0.6), y), crossed: (x, y) => V.mul(V.clamp(x, 0.6, 0.3), y), exp: (x) => V.exp(x), log: (x) => V.log(x),
  sin: (x) => V.sin(x), cos: (x) => V.cos(x), tan: (x) => V.tan(x), asin: (x) => V.asin(x), acos: (x) => V.acos(x), atan: (x) => V.atan(x), atan2: (x, y) => V.atan2(x, y), sinh: (x) => V.sinh(x), cosh: (x) => V.cosh(x), tanh: (x) => V.tanh(x),
  sigmoid: (x) => V.sigmoid(x), relu: (x, y) => V.relu(V.sub(x, y)), softplus: (x) => V.softplus(x), sum: (x, y, z) => V.sum([x, y, z, x]), mean: (x, y, z) => V.mean([x, y, z]), ifThenElse: (x, y, z) => V.ifThenElse(V.gt(x, y), V.mul(x, z), V.sin(y)),
  compared: (x, y, z) => V.sum([V.eq(x, y), V.neq(x, y), V.gt(x, z), V.lt(y, z), V.gte(x, z), V.lte(y, z), V.mul(x, V.lt(x, y))]), nothing: (x) => x, constant: () => V.C(3),
};

/** Value and gradient of a graph that is built anew. */
function graph(build, params) {
  const root = build(...params);
  Value.zeroGradAll(params);
  root.backward(true);
  const gradient = params.map((param) => param.grad);
  Value.zeroGradAll(params);
  return { value: root.data, gradient };
}

test("every operation, compiled, is the graph to the bit, away from where it was compiled, too", () => {
  for (const [name, build] of Object.entries(ALL)) {
    const random = randoms(name.length, 0.05, 0.95), params = [0.5, 0.5, 0.5].map((value) => V.W(value));
    // More than a block of instances, each with a constant of its own.
    const offsets = Array.from({ length: 300 }, random);
    const set = CompiledFunctions.compile(params, ([x, y, z]) => offsets.map((offset) => V.add(build(x, y, z), offset)));
    assert.equal(set.kernelCount, 1, name);
    for (let time = 0; time < 3; time++) {
      const { values, jacobian } = set.evaluateJacobian(params);
      const expected = graph(build, params);
      offsets.forEach((offset, k) => assert.equal(values[k], expected.value + offset, `${name} at ${params.map(({ data }) => data)}`));
      for (const row of [jacobian[0], jacobian[128], jacobian[299]]) assert.deepEqual(row.map((slope) => slope + 0), expected.gradient.map((slope) => slope + 0), `${name} at ${params.map(({ data }) => data)}`);
      const sum = set.evaluateSumWithGradient(params);
      assert.ok(Math.abs(sum.gradient[0] - 300 * expected.gradient[0]) <= 1e-10 * Math.abs(sum.gradient[0]), name);
      for (const param of params) param.data = random();
    }
  }
});

/** What the interpreter finds, which sets of few instances use: residuals, gradient and rows. */
function interpreted(set) {
  const values = Float64Array.from(set.leaves, ({ data }) => data), residuals = new Float64Array(set.numResiduals), gradient = new Float64Array(set.params.length);
  const { starts, columns } = set.linearize().jacobian, rows = new Float64Array(columns.length);
  for (const kernel of set.kernels) kernel.run(values, residuals, { gradient });
  for (const kernel of set.kernels) kernel.run(values, residuals, { starts, values: rows });
  return { residuals, gradient, rows };
}

/** Equal numbers; 0 and −0 are. */
function same(actual, expected, what) {
  assert.equal(actual.length, expected.length, what);
  actual.forEach((value, k) => { if (value !== expected[k]) assert.fail(`${what}: entry ${k} is ${value}, not ${expected[k]}`); });
}

test("many instances have a module of their own, whose bits are those of the interpreter, sums of gradients too", () => {
  for (const [name, build] of Object.entries(ALL)) {
    const random = randoms(3 + name.length, 0.05, 0.95), params = Array.from({ length: 12 }, () => V.W(random())), offsets = Array.from({ length: 401 }, random);
    // Instances share parameters, so that the order of additions to a gradient shows; factors are one leaf, offsets are one each.
    const residual = (p, k) => V.add(V.mul(V.mul(build(p[k % 12], p[(5 * k + 1) % 12], p[(7 * k + 2) % 12]), offsets[k]), 0.7), p[(k + 3) % 12]);
    const set = CompiledFunctions.compile(params, ([...p]) => offsets.map((_, k) => residual(p, k)));
    const compare = (where) => {
      const { residuals, gradient, rows } = interpreted(set), { residuals: found, jacobian } = set.linearize();
      assert.ok(set.kernels.every((kernel) => set.isCompiled(kernel) === (kernel.count >= 16 && kernel.count * kernel.structure.size >= 2048)), name);
      same(found, residuals, `${name} ${where}`);
      same(set.residuals(), residuals, `${name} ${where}, alone`);
      same(jacobian.values, rows, `slopes of ${name} ${where}`);
      same(set.sumWithGradient().gradient, gradient, `gradient of ${name} ${where}`);
    };
    compare("drawn");
    params.forEach((param, k) => { param.data = [0.3, 0.6, 0.5][(k * k) % 3]; });
    compare("with ties and at bounds");
    // What is added moves everything in memory, and may have leaves of its own where there was one.
    set.add(([...p]) => [V.add(V.mul(V.mul(build(p[0], p[1], p[2]), 0.3), 0.4), p[3]), V.sin(p[4])]);
    compare("added to");
  }
});

test("eigenvalues of many instances are those of the graph", () => {
  const random = randoms(5, -1, 1), params = Array.from({ length: 306 }, () => V.W(random())), entries = (p, k) => Array.from({ length: 6 }, (_, j) => p[k + j]);
  const set = CompiledFunctions.compile(params, (p) => Array.from({ length: 300 }, (_, k) => Matrix3x3.smallestEigenvalue(...entries(p, k))));
  const { value, gradient } = set.evaluateSumWithGradient(params), expected = graph((...p) => V.sum(Array.from({ length: 300 }, (_, k) => Matrix3x3.smallestEigenvalue(...entries(p, k)))), params);
  near(value, expected.value, 1e-12);
  gradient.forEach((slope, k) => near(slope, expected.gradient[k], 1e-12));
});

test("a module finds what is not defined, and the error is the interpreter's", () => {
  const params = Array.from({ length: 1100 }, (_, k) => V.W(k + 1));
  // Also where a later operation hides what is not finite.
  const cases = [
    ["logarithm of -1", (x) => V.log(x), -1], ["division by 1e-13", (x) => V.div(1, x), 1e-13], ["reciprocal of 1e-13", (x) => V.reciprocal(x), 1e-13], ["exp of 800 is Infinity", (x) => V.exp(V.div(x, 1)), 800], ["square of 1e\\+200 is Infinity", (x) => V.square(x), 1e200], ["square root of -1", (x) => V.sqrt(x), -1],
    ["exp of 800 is Infinity", (x) => V.div(1, V.exp(x)), 800], ["square of 1e\\+200 is Infinity", (x) => V.min(V.square(x), 3), 1e200], ["exp of 800 is Infinity", (x) => V.atan(V.exp(x)), 800], ["exp of 900 is Infinity", (x) => V.tanh(V.mul(2, V.exp(x))), 900], ["square of 1e\\+200 is Infinity", (x) => V.clamp(V.square(x), 0, 1), 1e200],
    ["logarithm of -2", (x) => V.ifThenElse(V.gt(x, 0), V.log(x), 1), -2], ["square of 1e\\+200 is Infinity", (x) => V.lt(V.square(x), 5), 1e200], ["-2 to the power of 0.5", (x) => V.pow(x, 0.5), -2], ["arcsine of 1.5", (x) => V.max(V.asin(x), 0), 1.5], ["remainder of a division by 0", (x) => V.max(V.mod(3, x), 1), 0],
    ["-1 to the power of a trainable exponent", (x) => V.powValue(x, V.floor(V.add(x, 3))), -1], ["mul of 1e\\+200, 1e\\+200 is Infinity", (x) => V.exp(V.neg(V.mul(x, x))), 1e200],
  ];
  for (const [message, build, bad] of cases) {
    for (const param of params) param.data = 1;
    const set = CompiledResiduals.compile(params, (p) => p.map(build));
    set.evaluate(params);
    assert.ok(set.isCompiled(set.kernels[0]));
    params[217].data = bad;
    assert.throws(() => set.evaluateSumWithGradient(params), { code: "non-finite", instance: 217, message: new RegExp(`^residual 217: ${message}`) });
    params[217].data = 0.75;
    assert.equal(set.residuals()[217], build(V.C(0.75)).data);
  }
});

test("one kernel for each shape, whatever parameters and numbers it has", () => {
  const [x, y, z] = [1, 2, 3].map((value) => V.W(value)), kernels = (...values) => CompiledResiduals.compile([x, y, z], () => values).kernelCount;
  assert.equal(kernels(V.sub(x, y), V.sub(y, x), V.sub(z, y)), 1);
  assert.equal(kernels(V.add(V.mul(x, 2), 2), V.add(V.mul(y, 2), 3)), 1);
  assert.equal(kernels(V.add(V.mul(x, V.C(2)), V.C(2)), V.add(V.mul(y, V.C(2)), V.C(3))), 1);
  assert.equal(kernels(V.mul(x, y), V.mul(x, x)), 2);
  assert.equal(kernels(V.mul(x, y), V.mul(x, 2)), 2);
  assert.equal(kernels(V.clamp(x, 0, 1), V.clamp(y, -5, 5)), 1);
  const sums = CompiledResiduals.compile([x, y, z], () => [V.add(x, y), V.add(y, z), V.add(x, z), V.mul(x, y), V.mul(y, z)]);
  assert.deepEqual([sums.kernelCount, sums.numResiduals, sums.numFunctions, sums.kernelReuseFactor], [2, 5, 5, 2.5]);
  assert.equal(CompiledResiduals.compile([x], () => []).kernelReuseFactor, NaN);
});

test("what is added later shares the kernels", () => {
  const params = Array.from({ length: 20 }, (_, k) => V.W(k)), set = CompiledResiduals.compile(params, (p) => [V.sub(V.sin(p[0]), p[1])]);
  assert.equal(set.add((p) => p.slice(2).map((value, k) => V.sub(V.sin(value), p[k]))), 1);
  assert.deepEqual([set.kernelCount, set.numResiduals], [1, 19]);
  assert.equal(set.evaluate(params).residuals[18], Math.sin(19) - 17);
  assert.deepEqual(set.evaluate(params).J[18].flatMap((slope, k) => (slope ? [[k, slope]] : [])), [[17, -1], [19, Math.cos(19)]]);
});

test("structures are compared, not hashed: what the original merged", () => {
  const x = V.W(2), y = V.W(3);
  const both = CompiledFunctions.compile([x], () => [V.add(x, V.add(V.sin(x), x)), V.max(x, V.max(V.sin(x), x))]);
  assert.equal(both.kernelCount, 2);
  assert.deepEqual(both.evaluateJacobian([x]).values, [2 + (Math.sin(2) + 2), 2]);
  x.data = y.data = 3;
  assert.deepEqual(CompiledFunctions.compile([x, y], () => [V.clamp(x, 0, 1), V.clamp(y, -5, 5)]).evaluateJacobian([x, y]).values, [1, 3]);
});

test("leaves are told apart by what they are, not by name or number", () => {
  const [a, b, c] = [1, 2, 3].map((value) => V.W(value));
  CompiledResiduals.compile([a, b], () => [V.add(a, b)]);
  const set = CompiledFunctions.compile([b, c], () => [V.sub(b, V.mul(c, 2))]);
  assert.deepEqual(set.evaluateGradient([b, c]), { value: -4, gradient: [1, -2] });
  assert.deepEqual([a, b, c].map(({ paramName }) => paramName), ["p0", "p1", "p1"]);
  const u = V.Param(5, "u"), v = V.Param(5, "v"), sum = CompiledFunctions.compile([a], () => [V.add(V.mul(a, u), v)]);
  v.data = 7;
  assert.deepEqual(sum.evaluateGradient([a]), { value: 12, gradient: [5] });
  const outside = V.W(4), some = CompiledFunctions.compile([a], () => [V.mul(a, outside)]);
  outside.data = 6;
  assert.deepEqual(some.evaluateSumWithGradient([a]), { value: 6, gradient: [6] });
  assert.throws(() => CompiledResiduals.compile([a, a], () => [a]), { code: "invalid-option", message: /params\[1\] and params\[0\] are the same Value/ });
  assert.throws(() => set.evaluateJacobian([a, c]), { code: "foreign-variable", message: /^Value not registered: .*params\[0\] is none of these/ });
  assert.throws(() => CompiledResiduals.compile([V.add(a, b)], () => [a]), { code: "invalid-option", message: /result of an operation/ });
  assert.throws(() => CompiledFunctions.compile([a], () => []).evaluateGradient([a]), { message: /^No functions compiled/ });
  assert.throws(() => CompiledFunctions.compile([a], () => a), { message: /what the function returned must be an array of Values, not a Value/ });
});

test("an evaluation takes the set's own parameters, in their order", async () => {
  const [x, y] = [V.W(1), V.W(2)], set = CompiledFunctions.compile([x, y], () => [V.mul(x, 3)]), all = CompiledResiduals.compile([x, y], () => [V.mul(x, 3)]);
  const calls = [(of) => set.evaluateGradient(of), (of) => set.evaluateJacobian(of), (of) => set.evaluateSumWithGradient(of), (of) => all.evaluate(of)];
  for (const [params, code, message] of [
    [[y, x], "foreign-variable", /compiled with 2 parameters, and an evaluation must have the same, in the same order, but params\[0\] is number 1 of these$/],
    [[x], "foreign-variable", /but there are 1 params$/], [[x, y, x], "foreign-variable", /but params\[2\] is number 0 of these$/], [[x, V.W(2)], "foreign-variable", /but params\[1\] is none of these$/],
    [undefined, "invalid-option", /^params must be the array of Values that this set was compiled with, not undefined$/],
  ]) {
    for (const call of calls) assert.throws(() => call(params), { name: "LeastwiseError", code, message });
    await assert.rejects(all.evaluateAsync(params), { code, message });
    await assert.rejects(set.evaluateSumWithGradientAsync(params), { code, message });
  }
  assert.deepEqual(set.evaluateGradient([x, y]), { value: 3, gradient: [3, 0] });
});

test("where a graph would throw, an evaluation throws, and names the residual", () => {
  const x = V.W(1), set = CompiledResiduals.compile([x], () => [V.square(x), V.log(x), V.div(1, x), V.exp(V.mul(x, 1000).div(1000))]);
  x.data = -1;
  assert.throws(() => set.evaluate([x]), { code: "non-finite", instance: 1, message: "residual 1: logarithm of -1: it is defined above 0" });
  x.data = 1e-13;
  assert.throws(() => set.evaluate([x]), { code: "non-finite", instance: 2, message: /^residual 2: division by 1e-13/ });
  x.data = 800;
  assert.throws(() => set.evaluate([x]), { code: "non-finite", instance: 3, message: "residual 3: exp of 800 is Infinity" });
  x.data = 1;
  const power = CompiledFunctions.compile([x], () => [V.powValue(x, V.W(2))]);
  x.data = -1;
  assert.equal(power.evaluateGradient([x]).value, 1);
  x.data = NaN;
  assert.throws(() => set.evaluate([x]), { code: "non-finite", message: /^Invalid number passed to Value: NaN/ });
});

test("a residual of a hundred thousand operations compiles", () => {
  const x = V.W(1), y = V.W(2);
  let chain = x;
  for (let k = 0; k < 100_000; k++) chain = k % 2 ? chain.add(y) : chain.mul(0.5);
  const { value, gradient } = CompiledFunctions.compile([x, y], () => [chain]).evaluateGradient([x, y]);
  assert.equal(value, chain.data);
  chain.backward();
  assert.deepEqual(gradient, [x.grad, y.grad]);
});

test("a sum of three hundred thousand squares compiles, and counts as one", () => {
  const x = V.W(2), total = V.sum(Array.from({ length: 300_000 }, () => V.square(x))), set = CompiledFunctions.compile([x], () => [total]);
  assert.deepEqual(set.evaluateGradient([x]), { value: 1_200_000, gradient: [1_200_000] });
  assert.equal(lbfgs([x], () => V.sum(Array.from({ length: 300_000 }, () => V.square(x)))).success, true);
});

test("custom operations are refused", () => {
  const x = V.W(1);
  assert.throws(() => CompiledResiduals.compile([x], () => [Value.make(1, x, null, () => () => {}, "mine")]), { code: "tape", message: /the custom operation "mine" can't be compiled/ });
});

test("in chunks it is the same, and progress is told before each", async () => {
  const params = Array.from({ length: 7 }, (_, k) => V.W(k)), told = [];
  const set = await CompiledResiduals.compileAsync(params, (p) => p.map((value) => V.square(value)), 3, (...progress) => told.push(progress));
  assert.deepEqual(told, [[3, 7, 42], [6, 7, 85], [7, 7, 100]]);
  assert.equal(set.evaluate(params).cost, params.reduce((sum, { data }) => sum + data ** 4, 0));
  await assert.rejects(CompiledFunctions.compileAsync(params, (p) => p, 0), { message: /chunkSize must be a whole number from 1 on/ });
});
