// # Classifier: two spirals
//
// A small network tells two interleaved spirals apart.
//
// - `trainer` makes one submission a step: forward, backward, Adam. Parameters that are replaced are freed.
// - Tensors are lazy: `read()` computes. `lw.scope` frees what is made within it.
// - The same seeds give the same losses, to the bit.
import assert from "node:assert/strict";
import { crossEntropy, init } from "leastwise";
import { adam, mlp, trainer } from "leastwise/nn";

const each = 100;
const points = [], labels = [];
for (const label of [0, 1]) {
  for (let k = 0; k < each; k++) {
    const r = 0.1 + (0.9 * k) / each, angle = 4.5 * r + Math.PI * label;
    points.push([r * Math.cos(angle), r * Math.sin(angle)]);
    labels.push(label);
  }
}

const lw = await init({ backend: "cpu" });
const model = mlp(lw, [2, 24, 24, 2], { seed: 3 });
const batch = { points: Float32Array.from(points.flat()), labels: Uint32Array.from(labels) };
const run = trainer(model, (model, { points, labels }) => crossEntropy(model.forward(lw.tensor(points, [2 * each, 2])), labels), adam({ learningRate: 0.01 }));
const losses = [];
for (let k = 0; k < 250; k++) losses.push(await run.step(batch));

/** The share of class 1 at places, flat: x y of each. */
const ask = (places) => lw.scope(() => ({ shares: model.forward(lw.tensor(places, [places.length / 2, 2])).softmax(-1).slice(null, 1).read() })).shares;
const shares = await ask(batch.points);
const grid = Float32Array.from({ length: 2 * 60 * 60 }, (_, k) => ((k % 2 ? Math.floor(k / 120) : (k >> 1) % 60) / 59) * 2.4 - 1.2);
const map = await ask(grid);
lw.dispose();

const right = labels.filter((label, k) => (shares[k] > 0.5) === (label === 1)).length;
assert.ok(right / labels.length > 0.97, `${right} of ${labels.length}`);
assert.ok(losses.at(-1) < 0.1 * losses[0], `${losses[0]} to ${losses.at(-1)}`);

export { labels, losses, map, points };
