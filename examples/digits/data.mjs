// Handwritten digits as networks take them: 28 × 28 pixels from 0 to 1, some to train on and others for tests.

export const SIDE = 28;
export const PIXELS = SIDE * SIDE;

/**
 * Images one after the other, and what they show.
 * @typedef {{ images: Float32Array, labels: Uint32Array, count: number }} Digits
 */

/**
 * Numbers from 0 on, below 1, the same for the same seed.
 * @param {number} seed
 */
export function sequence(seed) {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

/**
 * @template T
 * @param {T[]} list
 * @param {() => number} random
 */
function shuffled(list, random) {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const [a, b] = [list[i], list[j]];
    list[i] = /** @type {T} */ (b);
    list[j] = /** @type {T} */ (a);
  }
  return list;
}

/**
 * All digits, in an order that is always the same; the last `tests` are for tests.
 * @param {readonly Uint8Array[]} sheets pixels of each label's images, one image after the other
 * @returns {{ training: Digits, testing: Digits }}
 */
export function digitsOf(sheets, { tests = 1500, seed = 12345 } = {}) {
  const all = sheets.flatMap((sheet, label) => Array.from({ length: sheet.length / PIXELS }, (_, k) => ({ label, pixels: sheet.subarray(k * PIXELS, (k + 1) * PIXELS) })));
  shuffled(all, sequence(seed));
  const images = new Float32Array(all.length * PIXELS);
  // Of a table: there are 8 million pixels, and a page waits for them.
  const shades = Float32Array.from({ length: 256 }, (_, pixel) => pixel / 255);
  all.forEach(({ pixels }, i) => { for (let k = 0, at = i * PIXELS; k < PIXELS; k++) images[at + k] = /** @type {number} */ (shades[/** @type {number} */ (pixels[k])]); });
  const labels = Uint32Array.from(all, ({ label }) => label);
  const cut = all.length - tests;
  return {
    training: { images: images.subarray(0, cut * PIXELS), labels: labels.subarray(0, cut), count: cut },
    testing: { images: images.subarray(cut * PIXELS), labels: labels.subarray(cut), count: tests },
  };
}

/**
 * Batches of an epoch: every digit once, in an order that `random` makes, each moved by a pixel or none either way.
 * @param {Digits} digits
 * @param {number} size
 * @param {() => number} random
 * @returns {Generator<Digits>}
 */
export function* batches({ images, labels, count }, size, random) {
  const order = shuffled(Array.from({ length: count }, (_, k) => k), random);
  for (let first = 0; first + size <= count; first += size) {
    const batch = { images: new Float32Array(size * PIXELS), labels: new Uint32Array(size), count: size };
    order.slice(first, first + size).forEach((digit, k) => {
      batch.labels[k] = labels[digit] ?? 0;
      const [right, down] = [Math.floor(random() * 3) - 1, Math.floor(random() * 3) - 1];
      for (let row = Math.max(0, down); row < SIDE + Math.min(0, down); row++) {
        const from = digit * PIXELS + (row - down) * SIDE + Math.max(0, -right);
        batch.images.set(images.subarray(from, from + SIDE - Math.abs(right)), k * PIXELS + row * SIDE + Math.max(0, right));
      }
    });
    yield batch;
  }
}
