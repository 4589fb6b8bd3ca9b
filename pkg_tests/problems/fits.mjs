// Curves through random measurements: one curve through many points, and many small curves at once.
import { column, cos, exp } from "leastwise";
import { Random } from "./random.mjs";

/** a·exp(−b·x)·cos(c·x) + d through `points` noisy measurements; one variable that all residuals share. */
export function dampedWave(lw, seed, points = 200) {
  const random = new Random(seed);
  const truth = [random.between(1, 3), random.between(0.2, 0.6), random.between(2, 3), random.between(-1, 1)];
  const x = Float64Array.from({ length: points }, () => random.between(0, 6));
  const y = x.map((t) => truth[0] * Math.exp(-truth[1] * t) * Math.cos(truth[2] * t) + truth[3] + 0.05 * random.normal());
  const problem = lw.problem();
  const b = problem.variables("parameters", { shape: 4, values: truth.map((value) => value * random.between(0.8, 1.2)) });
  problem.residuals("wave", { of: [b], data: { x, y } }, ([p], data) =>
    p.x.mul(exp(p.y.mul(data.x).neg())).mul(cos(p.z.mul(data.x))).add(p.w).sub(data.y));
  return { problem, tables: [b], truth };
}

/** `fits` Gaussians on a plane, amplitude, centre, width and background each, from a patch of 5 × 5 pixels. */
export function gaussians(lw, seed, fits = 100) {
  const random = new Random(seed);
  const start = [], pairs = [], pixels = [], seen = [];
  for (let fit = 0; fit < fits; fit++) {
    const [a, x, y, s, b] = [random.between(50, 100), random.between(1.5, 2.5), random.between(1.5, 2.5), random.between(0.8, 1.5), random.between(5, 10)];
    for (let pixel = 0; pixel < 25; pixel++) {
      const [u, v] = [pixel % 5, Math.floor(pixel / 5)];
      pairs.push(fit);
      pixels.push(u, v);
      seen.push(a * Math.exp(-((u - x) ** 2 + (v - y) ** 2) / (2 * s * s)) + b + random.normal());
    }
    start.push(70, 2, 2, 1, 8);
  }
  const problem = lw.problem();
  const p = problem.variables("gaussian", { shape: 5, values: start });
  problem.residuals("pixels", { of: [p.at(pairs)], data: { at: column(pixels, 2), seen: Float64Array.from(seen) } }, ([g], { at, seen: value }) => {
    const square = at.x.sub(g.at(1)).square().add(at.y.sub(g.at(2)).square());
    return g.at(0).mul(exp(square.div(g.at(3).square().mul(-2)))).add(g.at(4)).sub(value);
  });
  const shared = Array.from({ length: 25 }, (_, k) => pixels.slice(2 * k, 2 * k + 2));
  return { problem, tables: [p], start: start.slice(0, 5), data: Float64Array.from(seen), x: Float64Array.from(shared, ([x]) => x), y: Float64Array.from(shared, ([, y]) => y) };
}

/** Counts of `fits` spots on 5 × 5 pixels, all of one truth (amplitude, centre, width, background), as Poisson's distribution draws them (Knuth). */
export function spots([a, x0, y0, s, b], fits, seed) {
  const random = new Random(seed), x = Float64Array.from({ length: 25 }, (_, k) => k % 5), y = Float64Array.from({ length: 25 }, (_, k) => Math.floor(k / 5));
  const means = Float64Array.from(x, (_, k) => a * Math.exp(-((x[k] - x0) ** 2 + (y[k] - y0) ** 2) / (2 * s * s)) + b);
  // By sums of exponential waiting times.
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  };
  state ^= random.below(2 ** 31);
  const data = new Float32Array(25 * fits);
  for (let k = 0; k < data.length; k++) {
    let count = 0;
    for (let time = -Math.log(1 - uniform()); time < means[k % 25]; time -= Math.log(1 - uniform())) count++;
    data[k] = count;
  }
  return { data, x, y };
}
