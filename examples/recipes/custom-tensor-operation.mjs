// # A tensor operation of your own: an activation
//
// `map` makes an elementwise operation of any formula: here the activation x + sin²(ax)/a, whose frequency a is learned
// (Ziyin, Hartwig & Ueda 2020). Six units of it learn a wave on a slope.
//
// - The formula is traced once, differentiated symbolically, and fused with what stands around it into one kernel.
// - Operands broadcast: activations of shape [n, 6] and frequencies of shape [6].
// - `grad` gives tensors of the same graph. A gradient is checked by central differences.
import assert from "node:assert/strict";
import { grad, init, map, sin } from "leastwise";
import { adam, layer, trainer } from "leastwise/nn";

const lw = await init({ backend: "cpu" });
/** x + sin²(ax)/a, of one element of each operand. */
const snake = (x, a) => x.add(sin(x.mul(a)).square().div(a));

// Its derivative with respect to a, by `grad` and by differences, in f64.
const at = lw.tensor([0.3, -1.2, 2], [3], { dtype: "f64" }), a = lw.tensor([1.5], [1], { dtype: "f64" });
const [slope] = grad(map(snake, at, a).sum(), [a]);
const value = (a) => map(snake, at, lw.tensor([a], [1], { dtype: "f64" })).sum().item();
const [exact, above, below] = await Promise.all([slope.item(), value(1.5 + 1e-5), value(1.5 - 1e-5)]);

// A wave on a slope, seen from −3 to 3.
const wave = (x) => 0.3 * x + Math.sin(2.5 * x);
const x = Float32Array.from({ length: 48 }, (_, k) => (k / 47) * 6 - 3), y = x.map(wave);
const model = layer(
  [lw.tensor([[1, -1, 0.8, -0.6, 0.5, 1.2]]), lw.tensor([0.5, -0.5, 1, 0, -1, 0.3]), lw.full([6], 1), lw.full([6, 1], 0.1), lw.full([1], 0)],
  ([w, b, a, v, c], x) => map(snake, x.matmul(w).add(b), a).matmul(v).add(c),
);
const batch = { x, y };
const run = trainer(model, (model, { x, y }) => model.forward(lw.tensor(x, [48, 1])).sub(lw.tensor(y, [48, 1])).square().mean(), adam({ learningRate: 0.05 }));
const losses = [];
for (let k = 0; k < 100; k++) losses.push(await run.step(batch));
const wide = Float32Array.from({ length: 121 }, (_, k) => k / 20 - 3);
const predicted = await lw.scope(() => ({ values: model.forward(lw.tensor(wide, [121, 1])).read() })).values;
lw.dispose();

assert.ok(Math.abs(exact - (above - below) / 2e-5) < 1e-8, `${exact} and ${(above - below) / 2e-5}`);
assert.ok(losses.at(-1) < 1e-3 * losses[0], `${losses[0]} to ${losses.at(-1)}`);
assert.ok(wide.every((x, k) => Math.abs(predicted[k] - wave(x)) < 0.1), "the wave");

export { predicted, wave, wide, x, y };
