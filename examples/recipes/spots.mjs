// # Spots in a microscope image
//
// Single molecules are spots of a few pixels, each a Gaussian on a background, seen as counts of photons.
// Places come from a fit of each spot: to hundredths of a pixel, which is called localisation.
//
// - Candidates are the brightest pixels of their neighbourhoods; each gives a window of 9 × 9 pixels.
// - `fitModels.gaussian2d` brings the model with starting values; `likelihood: "poisson"` weighs counts as they vary.
// - Standard errors are those of the Cramér–Rao bound: the errors of places over them have a standard deviation of 1.
// - `states` tells spots that converged from those that did not, such as two that overlap.
import assert from "node:assert/strict";
import { fitModels, init } from "leastwise";

// The image: spots on a grid with random offsets, so that the truth is known, and Poisson's noise (Knuth's method).
let state = 71993;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const between = (low, high) => low + (high - low) * random();
const size = 160, apart = 16, width = 9, half = width >> 1, background = 8;
const truth = [];
for (let y = apart / 2; y < size; y += apart) for (let x = apart / 2; x < size; x += apart) {
  truth.push({ x: x + between(-2, 2), y: y + between(-2, 2), amplitude: between(60, 200), sigma: between(1.1, 1.5) });
}
const mean = new Float64Array(size * size).fill(background);
for (const spot of truth) for (let v = -8; v <= 8; v++) for (let u = -8; u <= 8; u++) {
  const [x, y] = [Math.round(spot.x) + u, Math.round(spot.y) + v];
  if (x < 0 || y < 0 || x >= size || y >= size) continue;
  mean[y * size + x] += spot.amplitude * Math.exp(-0.5 * ((x - spot.x) ** 2 + (y - spot.y) ** 2) / spot.sigma ** 2);
}
const image = mean.map((mean) => {
  let count = 0;
  for (let time = -Math.log(random()); time < mean; time -= Math.log(random())) count++;
  return count;
});

// Candidates: pixels above the background that no other pixel of their window exceeds.
const windows = [], corners = [];
for (let y = half; y < size - half; y++) for (let x = half; x < size - half; x++) {
  const here = image[y * size + x];
  if (here < background + 5 * Math.sqrt(background)) continue;
  const window = [];
  for (let v = -half; v <= half; v++) for (let u = -half; u <= half; u++) window.push(image[(y + v) * size + x + u]);
  if (window.some((count, k) => count > here || (count === here && k < window.length >> 1))) continue;
  windows.push(...window);
  corners.push({ x: x - half, y: y - half });
}

const lw = await init({ backend: "cpu" });
const fits = await lw.fit({
  ...fitModels.gaussian2d({ width, height: width, data: windows }), likelihood: "poisson",
  lower: { amplitude: 1, width: 0.5, offset: 0.1 }, upper: { width: 4 },
});
lw.dispose();

// Places in the image, each with its standard error.
const found = corners.map((corner, k) => ({
  x: corner.x + fits.values.x[k], y: corner.y + fits.values.y[k], error: fits.standardErrors.x[k], state: fits.state(k),
})).filter(({ state }) => state === "converged");

// Every spot is found, and errors are as large as they are said to be.
const scaled = truth.map((spot) => {
  const nearest = found.reduce((best, each) => (Math.hypot(each.x - spot.x, each.y - spot.y) < Math.hypot(best.x - spot.x, best.y - spot.y) ? each : best));
  assert.ok(Math.hypot(nearest.x - spot.x, nearest.y - spot.y) < 0.5, `a spot at ${spot.x}, ${spot.y} was not found`);
  return (nearest.x - spot.x) / nearest.error;
});
const spread = Math.sqrt(scaled.reduce((sum, each) => sum + each ** 2, 0) / scaled.length);
assert.ok(found.length === truth.length, `${found.length} spots instead of ${truth.length}`);
assert.ok(spread > 0.75 && spread < 1.25, `errors are ${spread} times what they are said to be`);

export { found, image, size, truth };
