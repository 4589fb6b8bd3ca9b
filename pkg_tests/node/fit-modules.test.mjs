// Sums of fits by WebAssembly modules that the engine writes, beside the interpreter's.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exp, huber } from "leastwise";
import { Random } from "../problems/random.mjs";
import { open } from "./support.mjs";

// Of the first call's beginning there is no module yet; later ones run by it.
for (const precision of ["f32", "f64"]) {
  test(`on the CPU in ${precision}, modules find what the interpreter finds, to the bit`, async (t) => {
    const count = 300, random = new Random(41), names = ["a", "m", "s", "b"];
    const model = ([a, m, s, b], { x }) => a.mul(exp(x.sub(m).div(s).square().mul(-0.5))).add(b);
    const layouts = { plain: {}, ragged: {}, weights: {}, robust: { loss: huber(0.3) }, bounds: { lower: { a: 25, s: 1.1 }, upper: { b: 5 } }, long: {}, own: {}, shared: { shared: ["s"] } };
    for (const [layout, given] of Object.entries(layouts)) {
      const lw = await open(t, { backend: "cpu", precision }), n = layout === "long" ? 150 : 30;
      const lengths = Array.from({ length: count }, () => (layout === "ragged" ? n - Math.floor(random.between(0, 9)) : n)), total = lengths.reduce((sum, length) => sum + length, 0);
      const x = new Float64Array(layout === "own" ? total : n).map((_, k) => ((k % n) / n) * 12), data = [];
      for (const length of lengths) {
        const [a, m, s, b] = [random.between(20, 60), random.between(4, 8), random.between(1, 2), random.between(2, 6)];
        for (let k = 0; k < length; k++) data.push(a * Math.exp(-0.5 * ((x[k] - m) / s) ** 2) + b + random.between(-0.5, 0.5));
      }
      if (layout === "plain") data[5 * n + 3] = NaN;
      const weights = layout === "weights" ? { weights: Float64Array.from(data, () => random.between(0.5, 1.5)) } : {};
      const options = { model, parameters: names, variables: { x }, points: layout === "ragged" ? lengths : n, data: Float64Array.from(data), start: { a: 40, m: 6, s: 1.5, b: 4 }, ...weights, ...given };
      const numbers = ({ values, standardErrors, chiSquared, iterations, states }) => [values, standardErrors, chiSquared, iterations, states];
      const first = await lw.fit(options);
      assert.equal(first.ended["non-finite"], layout === "plain" ? 1 : 0, layout);
      for (let k = 0; k < 3; k++) {
        await new Promise((resolve) => setTimeout(resolve, 30));
        assert.deepEqual(numbers(await lw.fit(options)), numbers(first), layout);
      }
    }
  });
}
