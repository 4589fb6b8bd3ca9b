// NaN, infinities and the edges of domains: docs/TENSORS.md's tables, on every backend.
import assert from "node:assert/strict";
import test from "node:test";
import { grad, maxPool2d } from "leastwise";
import { BACKENDS, open } from "./support.mjs";

const DTYPES = [...BACKENDS.map((backend) => [backend, "f32"]), ...BACKENDS.filter((backend) => backend !== "webgpu").map((backend) => [backend, "f64"])];

function same(actual, expected, what) {
  assert.deepEqual([...actual].map((x) => x + 0), expected, what);
}

for (const [backend, dtype] of DTYPES) {
  test(`${backend}, ${dtype}: NaN is passed on in any order and place`, async (t) => {
    const lw = await open(t, { backend });
    const tensor = (values) => lw.tensor(values, [values.length], { dtype });
    const [a, b] = [tensor([NaN, 2, NaN, 1, -Infinity]), tensor([2, NaN, NaN, 3, NaN])];
    const two = await Promise.all([a.maximum(b), a.minimum(b), a.maximum(-1).minimum(1), a.sign(), a.isNaN(), a.equal(b)].map((x) => x.read()));
    same(two[0], [NaN, NaN, NaN, 3, NaN], "maximum");
    same(two[1], [NaN, NaN, NaN, 1, NaN], "minimum");
    same(two[2], [NaN, 1, NaN, 1, -1], "a clip");
    same(two[3], [NaN, 1, NaN, 1, -1], "sign");
    same(two[4], [1, 0, 1, 0, 0], "isNaN");
    same(two[5], [0, 0, 0, 0, 0], "equal");
    for (const place of [0, 1, 40, 80, 81]) {
      const values = Array.from({ length: 82 }, (_, k) => (k === place ? NaN : 1 + (k % 7)));
      const x = tensor(values);
      const many = await Promise.all([x.max(), x.min(), x.argmax(), x.argmin(), x.reshape([41, 2]).max(0)].map((y) => y.read()));
      same(many[0], [NaN], `max, NaN at ${place}`);
      same(many[1], [NaN], `min, NaN at ${place}`);
      same(many[2], [place], `argmax, NaN at ${place}`);
      same(many[3], [place], `argmin, NaN at ${place}`);
      same(many[4], place % 2 === 0 ? [NaN, 7] : [7, NaN], `max along columns, NaN at ${place}`);
    }
    const images = lw.tensor([NaN, -1, -Infinity, -Infinity], [1, 1, 2, 2], { dtype });
    same(await maxPool2d(images, { size: 2, step: 1, padding: 1 }).read(), [NaN, NaN, -1, NaN, NaN, -1, -Infinity, -Infinity, -Infinity], "maxPool2d");
  });

  test(`${backend}, ${dtype}: slopes at the edges of domains are those of the table`, async (t) => {
    const lw = await open(t, { backend });
    const tensor = (values) => lw.tensor(values, [values.length], { dtype });
    const cases = [
      ["sqrt", (x) => x.sqrt(), [0, -1, NaN], [0, 0, 0]],
      ["rsqrt", (x) => x.rsqrt(), [0, -1, NaN], [0, 0, 0]],
      ["cbrt", (x) => x.cbrt(), [0, NaN], [0, 0]],
      ["log", (x) => x.log(), [0, -1, NaN], [0, 0, 0]],
      ["log1p", (x) => x.log1p(), [-1, -2, NaN], [0, 0, 0]],
      ["pow(½)", (x) => x.pow(0.5), [0, -1], [0, NaN]],
      ["pow(2)", (x) => x.pow(2), [-2, -0.5, 0.5, 2], [-4, -1, 1, 4]],
      ["pow of a tensor", (x) => x.pow(tensor([2, 3, 2, 3])), [-2, -0.5, 0.5, 2], [-4, 0.75, 1, 12]],
      ["abs", (x) => x.abs(), [0], [0]],
      ["relu", (x) => x.relu(), [0], [0]],
      ["sign", (x) => x.sign().add(x), [0, NaN], [1, 1]],
      ["maximum", (x) => x.maximum(1), [1, NaN, 0], [1, 1, 0]],
      ["minimum", (x) => x.minimum(1), [1, NaN, 2], [1, 1, 0]],
      ["max", (x) => x.max(), [2, 2, 1], [0.5, 0.5, 0]],
      ["max of NaN", (x) => x.max(), [NaN, 2, NaN, 1], [0.5, 0, 0.5, 0]],
    ];
    for (const [name, of, values, slopes] of cases) {
      const x = tensor(values);
      const [slope] = grad(of(x).sum(), [x]);
      const found = [...await slope.read()];
      found.forEach((value, k) => assert.ok(Object.is(value + 0, slopes[k]) || Math.abs(value - slopes[k]) < 1e-5, `${name}: slope ${k} is ${value}, not ${slopes[k]}`));
    }
  });
}

const even = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));
const INSTRUCTIONS = { neg: (x) => -x, abs: Math.abs, floor: Math.floor, ceil: Math.ceil, round: even, sqrt: Math.sqrt };
const NUMBERS = [-0, 0, NaN, Infinity, -Infinity, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 8388607.5, -16777216, 1e30, 3.7, -3.7, 1e-40];

for (const dtype of ["f32", "f64"]) {
  test(`cpu, ${dtype}: instructions of one operand are IEEE's in every lane, at every length, stored and read on`, async (t) => {
    const lw = await open(t, { backend: "cpu" });
    const of = dtype === "f32" ? Math.fround : (x) => x;
    for (const length of [1, 2, 3, 4, 5, 8, 63, 64, 65, 1024, 1025, 4099]) {
      const values = Array.from({ length }, (_, k) => of(NUMBERS[k % NUMBERS.length]));
      const x = lw.tensor(values, [length], { dtype });
      for (const [name, value] of Object.entries(INSTRUCTIONS)) {
        // The first is a result that the second reads, in one kernel.
        const first = x[name](), second = first.neg().add(1);
        await lw.evaluate(first, second);
        const [found, next] = [await first.read(), await second.read()];
        values.forEach((given, k) => {
          const expected = of(value(given));
          assert.ok(Object.is(found[k], expected), `${name}(${Object.is(given, -0) ? "-0" : given}), ${k} of ${length}: ${found[k]}, not ${expected}`);
          assert.ok(Object.is(next[k], of(1 - expected)), `1 - ${name}(${given}), ${k} of ${length}: ${next[k]}`);
        });
        first.dispose();
        second.dispose();
      }
    }
  });
}
