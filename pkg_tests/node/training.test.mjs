// Training: optimizers against their formulas, and networks that learn digits.
import assert from "node:assert/strict";
import { test } from "node:test";
import { grad } from "leastwise";
import { adam, adamW, layer, linear, mlp, sequential, sgd, trainer } from "leastwise/nn";
import { digitsOf } from "../../examples/digits/data.mjs";
import { convolutional, perceptron } from "../../examples/digits/networks.mjs";
import { sheets } from "../../examples/digits/package.mjs";
import { named, share, train } from "../../examples/digits/training.mjs";
import { BACKENDS, closeTo, FULL, open, refuses, rejects } from "./support.mjs";

const { training, testing } = digitsOf(sheets());

/** Trains; gives the losses. */
async function curveOf(lw, model, options) {
  const curve = [];
  for await (const { loss } of train(lw, model, training, options)) curve.push(loss);
  return curve;
}

// In full as long as the example trains; a quick run trains the larger one for one of its epochs.
for (const [name, network, least] of [["a perceptron", perceptron, 0.95], ["a small convolutional network", FULL ? convolutional : { ...convolutional, epochs: 1 }, FULL ? 0.97 : 0.93]]) {
  test(`${name} learns digits: ${100 * least} % of those that it never saw`, async (t) => {
    const lw = await open(t, { backend: "cpu" });
    const model = network.make(lw, 1);
    const accuracy = async () => share(await named(lw, model, testing), testing);
    const before = await accuracy();
    assert.ok(before < 0.3, `before: ${before}`);
    const curve = await curveOf(lw, model, network);
    const mean = (list) => list.reduce((sum, each) => sum + each, 0) / list.length;
    assert.ok(mean(curve.slice(-50)) < 0.2 * mean(curve.slice(0, 10)), `loss from ${mean(curve.slice(0, 10))} to ${mean(curve.slice(-50))}`);
    const after = await accuracy();
    t.diagnostic(`${(100 * after).toFixed(1)} %, loss ${mean(curve.slice(-50)).toFixed(3)}`);
    assert.ok(after >= least, `after: ${after}`);
  });
}

for (const backend of BACKENDS) {
  test(`${backend}: the same seeds give the same losses, to the bit`, async (t) => {
    // Software adapters take 20 seconds to compile the kernels: both runs share them.
    const isSlow = backend === "webgpu";
    const [first, second] = isSlow ? Array(2).fill(await open(t, { backend })) : [await open(t, { backend }), await open(t, { backend })];
    const curves = [];
    for (const lw of [first, second]) {
      const model = convolutional.make(lw, 1);
      curves.push(await curveOf(lw, model, isSlow ? { steps: 4, size: 10, rate: 6e-3 } : { steps: 8, rate: 6e-3 }));
      model.dispose();
    }
    assert.deepEqual(curves[0], curves[1]);
    assert.equal(new Set(curves[0]).size, curves[0].length, "it moves");
  });
}

test("without a world, training over ranks is that of one engine, to the bit", async (t) => {
  const lw = await open(t, { backend: "cpu" }), x = Float32Array.from({ length: 12 }, (_, k) => Math.sin(k));
  const losses = [];
  for (const options of [undefined, { ranks: true }, { ranks: false }]) {
    const model = mlp(lw, [3, 4, 1], { seed: 2 }), run = trainer(model, (model, { x }) => model.forward(lw.tensor(x, [4, 3])).sub(1).square().mean(), adam(), options);
    losses.push([await run.step({ x }), await run.step({ x }), await run.step({ x })]);
    run.dispose();
    model.dispose();
  }
  assert.ok(losses[0][2] < losses[0][0]);
  for (const of of losses) assert.deepEqual(of, losses[0]);
  const given = lw.tensor([1, 2]), [sum] = await lw.sumOverRanks([given]), [mean] = await lw.meanOverRanks([given]);
  given.dispose();
  assert.deepEqual([[...await sum.read()], [...await mean.read()]], [[1, 2], [1, 2]]);
  for (const tensor of [sum, mean]) tensor.dispose();
  const model = mlp(lw, [1, 1], { seed: 1 }), loss = (model, x) => model.forward(x).mean();
  refuses(() => trainer(model, loss, adam(), { ranks: 2 }), "invalid-option", /ranks/);
  refuses(() => trainer(model, loss, adam(), { rank: true }), "invalid-option", /rank/);
  model.dispose();
});

// ── optimizers against their formulas, in f64 ──

/** Of f(x) = Σ c x⁴/4, whose gradient is c x³. */
const COEFFICIENTS = [1, 0.5, 2], START = [1, -2, 0.5];
const slope = (x) => x.map((value, k) => COEFFICIENTS[k] * value ** 3);

const formulas = {
  "sgd": [sgd({ learningRate: 0.1 }), () => (x, g) => x.map((value, k) => value - 0.1 * g[k])],
  "sgd with momentum": [sgd({ learningRate: 0.05, momentum: 0.9 }), () => {
    let v = [0, 0, 0];
    return (x, g) => {
      v = v.map((value, k) => 0.9 * value + g[k]);
      return x.map((value, k) => value - 0.05 * v[k]);
    };
  }],
  "adam": [adam({ learningRate: 0.1 }), () => adaptive(0.1, [0.9, 0.999], 1e-8, 0)],
  "adam with other numbers": [adam({ learningRate: (step) => 0.2 / step, decays: [0.5, 0.9], epsilon: 1e-3 }), () => adaptive((step) => 0.2 / step, [0.5, 0.9], 1e-3, 0)],
  "adamW": [adamW({ learningRate: 0.1, weightDecay: 0.2 }), () => adaptive(0.1, [0.9, 0.999], 1e-8, 0.2)],
};

function adaptive(learningRate, [first, second], epsilon, decay) {
  let m = [0, 0, 0], v = [0, 0, 0], t = 0;
  return (x, g) => {
    t++;
    const rate = typeof learningRate === "function" ? learningRate(t) : learningRate;
    m = m.map((value, k) => first * value + (1 - first) * g[k]);
    v = v.map((value, k) => second * value + (1 - second) * g[k] ** 2);
    return x.map((value, k) => value * (1 - rate * decay) - rate * (m[k] / (1 - first ** t)) / (Math.sqrt(v[k] / (1 - second ** t)) + epsilon));
  };
}

for (const [name, [optimizer, formula]] of Object.entries(formulas)) {
  test(`${name}: ten steps as its formula makes them`, async (t) => {
    const lw = await open(t, { backend: "cpu" });
    const dtype = { dtype: "f64" };
    const c = lw.tensor(COEFFICIENTS, [3], dtype);
    const model = layer([lw.tensor(START, [3], dtype)], ([x], c) => x.square().square().mul(c).sum().mul(0.25));
    const run = trainer(model, (model) => model.forward(c), optimizer);
    const step = formula();
    let x = START;
    for (let k = 0; k < 10; k++) {
      const expected = x.reduce((sum, value, i) => sum + COEFFICIENTS[i] * value ** 4 / 4, 0);
      closeTo(await run.step(), expected, 1e-13, `loss of step ${k}`);
      x = step(x, slope(x));
      (await model.parameters()[0].read()).forEach((value, i) => closeTo(value, x[i], 1e-12, `parameter ${i} after step ${k}`));
    }
    assert.equal(run.steps, 10);
  });
}

test("an optimizer without a trainer: pure, and nothing is computed before it is asked for", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const x = lw.tensor([1, 2]), [g] = grad(x.square().sum(), [x]);
  const before = lw.counters().submissions;
  const { parameters, state } = sgd({ learningRate: 0.5, momentum: 0.9 }).step([x], [g]);
  assert.equal(lw.counters().submissions, before);
  assert.deepEqual([...await parameters[0].read()], [0, 0]);
  assert.deepEqual([...await state.moments[0][0].read()], [2, 4]);
  assert.deepEqual([...await x.read()], [1, 2], "the old ones are the caller's");
  assert.equal(state.steps, 1);
});

test("a layer starts as its seed says, with the spread that He and Glorot give", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const [weight, bias] = await Promise.all(linear(lw, 200, 100, { seed: 3 }).parameters().map((each) => each.read()));
  const [again] = await Promise.all(linear(lw, 200, 100, { seed: 3 }).parameters().map((each) => each.read()));
  assert.deepEqual(weight, again);
  const deviation = Math.sqrt(weight.reduce((sum, value) => sum + value * value, 0) / weight.length);
  closeTo(deviation, Math.sqrt(2 / 200), 0.02, "He");
  assert.ok(bias.every((value) => value === 0));
  const uniform = await linear(lw, 200, 100, { seed: 3, start: "glorot", bias: false }).parameters()[0].read();
  const limit = Math.sqrt(6 / 300);
  assert.ok(uniform.every((value) => Math.abs(value) <= limit) && uniform.some((value) => Math.abs(value) > 0.99 * limit));
});

test("errors for people", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const model = linear(lw, 2, 1, { seed: 1 });
  refuses(() => sgd({}), "invalid-option", "sgd(options): learningRate is needed");
  refuses(() => sgd({ learningRate: 0.1, momentun: 1 }), "invalid-option", 'sgd(options): options have no "momentun": did you mean "momentum"? (they have: learningRate, momentum)');
  refuses(() => adam({ decays: [0.9, 1] }), "invalid-option", "adam(options): decays are numbers from 0 on, below 1, not 1");
  refuses(() => mlp(lw, [3], { seed: 1 }), "invalid-option", /^mlp\(lw, sizes, \{ seed \}\): .* two at least$/);
  refuses(() => mlp(lw, [3, 1]), "invalid-option", "mlp(lw, sizes, { seed }): a seed is needed, a whole number by which weights are drawn");
  refuses(() => sequential(model, 3), "invalid-option", "sequential(…parts): part 1 must be a module or a function of a tensor, not a number");
  refuses(() => model.update([lw.ones([2, 1])]), "shape", "update(parameters): the module has 2 parameters of shapes [2, 1], [1], not [2, 1]");
  const x = lw.tensor([1, 2], [1, 2]);
  const kept = await model.parameters()[0].read();
  const run = trainer(model, (model, factor) => model.forward(x).square().sum().mul(factor), sgd({ learningRate: 0.1 }));
  const first = run.step(1);
  await rejects(run.step(1), "busy", /last step is not done/);
  await first;
  const moved = await model.parameters()[0].read();
  assert.notDeepEqual(moved, kept);
  const exploding = trainer(model, (model) => model.forward(x).square().add(100).exp().sum(), sgd({ learningRate: 0.1 }));
  await rejects(exploding.step(), "non-finite", /the loss of step 1 is Infinity; the model stays as it was/);
  assert.deepEqual(await model.parameters()[0].read(), moved, "nothing was stepped");
  await rejects(trainer(model, (model) => model.forward(x), sgd({ learningRate: 1 })).step().then(() => trainer(model, () => lw.ones([2]), sgd({ learningRate: 1 })).step()), "shape", /the loss must be one number/);
});
