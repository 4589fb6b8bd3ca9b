// # Colour palette of an image
//
// The eight colours that stand for an image best: its pixels are clustered in Oklab, where equal distances look equally
// different (Ottosson 2020).
//
// - Deterministic annealing finds better minima than k-means, and the same seed gives the same bits.
// - `labels` says for every pixel which colour it has; `energy` is the mean squared distance.
// - A sample of some thousand pixels is enough for a large image.
import assert from "node:assert/strict";
import { init } from "leastwise";

// An image of 60 × 40 pixels: a sunset over water.
const width = 60, height = 40;
const mix = (a, b, t) => a.map((v, k) => v * (1 - t) + b[k] * t);
const image = Array.from({ length: width * height }, (_, k) => {
  const [x, y] = [(k % width) / width, Math.floor(k / width) / height];
  const sky = mix([32, 48, 110], [250, 160, 90], Math.min(1, y / 0.6) ** 1.5);
  if (Math.hypot(x - 0.6, (y - 0.42) * 0.7) < 0.07) return [255, 236, 170];
  if (y < 0.6) return sky;
  return mix([24, 40, 70], [240, 150, 100], Math.max(0, 0.7 - 4 * Math.abs(x - 0.6)) * (0.6 + 0.4 * Math.sin(120 * y)));
});

/** Oklab of a colour in sRGB, and back. */
const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const gamma = (v) => (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055);
const times = (m, v) => m.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);
const toCones = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]];
const toLab = [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]];
const fromLab = [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.291485548]];
const fromCones = [[4.0767416621, -3.3077115913, 0.2309699292], [-1.2684380046, 2.6097574011, -0.3413193965], [-0.0041960863, -0.7034186147, 1.707614701]];
const oklab = (rgb) => times(toLab, times(toCones, rgb.map((v) => linear(v / 255))).map(Math.cbrt));
const rgb = (lab) => times(fromCones, times(fromLab, lab).map((v) => v ** 3)).map((v) => Math.round(255 * Math.min(1, Math.max(0, gamma(v)))));

const pixels = Float32Array.from(image.flatMap(oklab));
const lw = await init({ backend: "cpu" });
const { centroids, labels, energy } = await lw.cluster(pixels, { dim: 3, clusters: 8, seed: 1 });
lw.dispose();
const palette = Array.from({ length: 8 }, (_, k) => rgb([...centroids.subarray(3 * k, 3 * k + 3)]));

const squared = (pixel, k) => [0, 1, 2].reduce((sum, axis) => sum + (pixels[3 * pixel + axis] - centroids[3 * k + axis]) ** 2, 0);
const mean = image.reduce((sum, _, pixel) => sum + squared(pixel, labels[pixel]), 0) / image.length;
assert.ok(Math.abs(mean - energy) < 1e-4 * energy, "the energy is what it is said to be");
for (const [pixel, label] of labels.entries()) {
  assert.ok(palette.every((_, k) => squared(pixel, k) > 0.9999 * squared(pixel, label) - 1e-9), `pixel ${pixel} has the nearest colour`);
}
assert.ok(energy < 0.002, `${energy}`);

export { height, image, labels, palette, width };
