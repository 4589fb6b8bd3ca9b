// Vectors to cluster, made of a seed, and how well they are.

/** Normal clusters of different sizes and widths, in random places. */
export function mixture(count, dim, components, seed = 1) {
  let state = seed >>> 0;
  const uniform = () => {                                                 // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const centres = Array.from({ length: components }, () => ({ at: Array.from({ length: dim }, () => 2 * normal()), width: 0.3 + uniform(), share: 0.2 + uniform() }));
  const all = centres.reduce((sum, { share }) => sum + share, 0);
  const pick = () => {
    let left = uniform() * all;
    return centres.find(({ share }) => (left -= share) < 0) ?? centres[0];
  };
  const points = new Float32Array(count * dim);
  for (let i = 0; i < count; i++) {
    const { at, width } = pick();
    for (let j = 0; j < dim; j++) points[i * dim + j] = at[j] + width * normal();
  }
  return { dim, points };
}

/** Mean squared distance of a point to the nearest of these centroids, in double precision, whoever found them. */
export function energyOf(points, dim, centroids) {
  let sum = 0;
  for (let i = 0; i < points.length; i += dim) {
    let least = Infinity;
    for (let c = 0; c < centroids.length; c += dim) {
      let distance = 0;
      for (let j = 0; j < dim && distance < least; j++) distance += (points[i + j] - centroids[c + j]) ** 2;
      least = Math.min(least, distance);
    }
    sum += least;
  }
  return sum / (points.length / dim);
}
