// The two networks that learn digits, and how long and how fast each does.
import { crossEntropy, maxPool2d } from "leastwise";
import { conv, linear, mlp, sequential } from "leastwise/nn";
import { PIXELS, SIDE } from "./data.mjs";

/** @typedef {import("leastwise").Engine} Engine */
/** @typedef {import("leastwise/nn").Module} Module */

/**
 * `rate` is the learning rate of the first step; it falls to 0 over the `epochs`.
 * @typedef {{ make: (lw: Engine, seed: number) => Module, epochs: number, rate: number }} Network
 */

/** 784 pixels, 128 units, 10 digits: 101,770 parameters. @type {Network} */
export const perceptron = {
  make: (lw, seed) => mlp(lw, [PIXELS, 128, 10], { seed }),
  epochs: 6,
  rate: 3e-3,
};

/** 28 × 28, convolved and pooled to 8 channels of 7 × 7, convolved to 24, and 10 digits: 13,730 parameters. @type {Network} */
export const convolutional = {
  make: (lw, seed) => sequential(
    (x) => x.reshape(-1, 1, SIDE, SIDE), conv(lw, 1, 8, 5, { seed, step: 2, padding: 2 }), (x) => maxPool2d(x.relu(), { size: 2 }),
    conv(lw, 8, 24, 3, { seed: seed + 1, padding: 1 }), (x) => x.relu().reshape(-1, 24 * 49), linear(lw, 24 * 49, 10, { seed: seed + 2, start: "glorot" }),
  ),
  epochs: 3,
  rate: 6e-3,
};

/**
 * −mean log probability of what a batch shows.
 * @param {Engine} lw
 * @returns {(model: Module, batch: import("./data.mjs").Digits) => import("leastwise").Tensor}
 */
export const loss = (lw) => (model, { images, labels, count }) => crossEntropy(model.forward(lw.tensor(images, [count, PIXELS])), labels);
