// Every operation and gradient of the tensor layer against values that PyTorch made (`pkg_tests/reference/tensors.py`).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { attention, conv2d, crossEntropy, embedding, grad, maxPool2d } from "leastwise";
import { adam, adamW, sgd } from "leastwise/nn";
import { BACKENDS, open } from "./support.mjs";

const { cases, start, gradients, optimizers, torch } = JSON.parse(readFileSync(new URL("../reference/tensors.json", import.meta.url), "utf8"));

const compute = (name, [a, b, c], options) => {
  switch (name) {
    case "softmax": case "logSoftmax": return a[name](options.axis);
    case "sum": case "mean": case "max": case "min": return a[name](options.axis);
    case "layerNorm": return a.layerNorm({ scale: b, shift: c, epsilon: options.epsilon });
    case "crossEntropy": return crossEntropy(a, b);
    case "embedding": return embedding(a, b);
    case "attention": return attention(a, b, c, options);
    case "conv2d": return conv2d(a, b, { step: options.stride, padding: options.padding, dilation: options.dilation });
    case "maxPool2d": return maxPool2d(a, { size: options.size, step: options.stride, padding: options.padding });
    default: return b ? a[name](b) : a[name]();
  }
};

const near = (found, { values, shape }, tolerance, what) => {
  const scale = Math.max(1e-9, ...values.map(Math.abs));
  assert.equal(found.length, values.length, `${what}: shape ${shape}`);
  found.forEach((value, k) => assert.ok(Math.abs(value - values[k]) <= tolerance * scale, `${what}, element ${k}: ${value} instead of ${values[k]}`));
};

for (const backend of BACKENDS) for (const dtype of backend === "webgpu" ? ["f32"] : ["f64", "f32"]) {
  const tolerance = dtype === "f64" ? 1e-10 : 2e-5;

  test(`${backend}, ${dtype}: values and gradients are PyTorch's`, async (t) => {
    assert.ok(cases.length >= 58, `${cases.length} cases of PyTorch ${torch}`);
    const lw = await open(t, { backend });
    for (const { name, arguments: options, whole, operands, result, gradients: right } of cases) {
      const tensors = operands.map(({ values, shape }, k) => (whole.includes(k) ? lw.indices(values, shape, { dtype }) : lw.tensor(values, shape, { dtype })));
      const found = compute(name, tensors, options);
      assert.deepEqual([...found.shape], result.shape, name);
      const weights = lw.tensor(result.values.map((_, k) => Math.cos(k)), result.shape, { dtype });
      const by = tensors.filter((_, k) => !whole.includes(k));
      const slopes = grad(found.mul(weights).sum(), by);
      const what = `${name} ${JSON.stringify(options)} of ${operands.map(({ shape }) => `[${shape}]`)}`;
      const values = await Promise.all([found.read(), ...slopes.map((slope) => slope.read())]);
      near(values[0], result, tolerance, what);
      right.filter(Boolean).forEach((gradient, k) => near(values[k + 1], gradient, tolerance, `${what}, gradient ${k}`));
    }
  });

  test(`${backend}, ${dtype}: optimizers step as PyTorch's`, async (t) => {
    const lw = await open(t, { backend });
    for (const { name, options, steps } of optimizers) {
      const optimizer = { sgd, adam, adamW }[name](options);
      let [parameters, state] = [[lw.tensor(start.values, start.shape, { dtype })], undefined];
      for (const [k, gradient] of gradients.entries()) {
        ({ parameters, state } = optimizer.step(parameters, [lw.tensor(gradient.values, gradient.shape, { dtype })], state));
        near(await parameters[0].read(), steps[k], tolerance, `${name} ${JSON.stringify(options)}, step ${k + 1}`);
      }
    }
  });
}
