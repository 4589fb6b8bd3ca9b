// Training a network on digits, and asking it about some.
import { adamW, trainer } from "leastwise/nn";
import { batches, PIXELS, sequence } from "./data.mjs";
import { loss } from "./networks.mjs";

/** @typedef {import("./networks.mjs").Engine} Engine */
/** @typedef {import("./networks.mjs").Module} Module */
/** @typedef {import("./data.mjs").Digits} Digits */

/** How many are asked about at once. */
const ASKED = 500;

/**
 * Trains, and tells of every step: the loss before it, and after the last one of an epoch which epoch that was, from 1 on.
 * @param {Engine} lw
 * @param {Module} model
 * @param {Digits} training
 * @param {{ epochs?: number, size?: number, steps?: number, rate: number, seed?: number }} options batches of `size`; for so many `steps`, or `epochs`
 * @returns {AsyncGenerator<{ step: number, steps: number, loss: number, epoch: number | undefined }, void>}
 */
export async function* train(lw, model, training, { epochs = 1, size = 50, steps = Math.floor(training.count / size) * epochs, rate, seed = 1 }) {
  const random = sequence(seed + 6), perEpoch = Math.floor(training.count / size);
  const run = trainer(model, loss(lw), adamW({ learningRate: (step) => rate * (1 - (step - 1) / steps), weightDecay: 0.05 }));
  try {
    for (let step = 0; step < steps;) {
      for (const batch of batches(training, size, random)) {
        if (step === steps) return;
        const value = await run.step(batch);
        step++;
        yield { step, steps, loss: value, epoch: step % perEpoch === 0 ? step / perEpoch : undefined };
      }
    }
  } finally {
    run.dispose();
  }
}

/**
 * Which digits a model takes images for.
 * @param {Engine} lw
 * @param {Module} model
 * @param {Digits} digits
 */
export async function named(lw, model, { images, count }) {
  const names = new Uint8Array(count);
  for (let first = 0; first < count; first += ASKED) {
    const end = Math.min(first + ASKED, count);
    const largest = lw.scope(() => model.forward(lw.tensor(images.subarray(first * PIXELS, end * PIXELS), [end - first, PIXELS])).argmax(1));
    try {
      names.set(await largest.read(), first);
    } finally {
      largest.dispose();
    }
  }
  return names;
}

/**
 * The share of digits that are named right.
 * @param {Uint8Array} names
 * @param {Digits} digits
 */
export const share = (names, { labels, count }) => names.reduce((right, name, k) => right + Number(name === labels[k]), 0) / count;
