// Arrays and shapes that actions name by seed and form: an action means the same numbers, whatever was removed around it.
import { quaternion, se2, se3, sim3, so2, sphere, subset } from "leastwise";
import { Random } from "../problems/random.mjs";

const unit = (values) => {
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
};
const planar = (random) => {
  const angle = random.between(-3, 3);
  return [Math.cos(angle), Math.sin(angle)];
};

/** Forms of an instance by name: its shape, its scalars, those of them that may be fixed one by one, and one at random. */
const FORMS = {
  1: { shape: 1, width: 1 },
  2: { shape: 2, width: 2 },
  3: { shape: 3, width: 3 },
  5: { shape: 5, width: 5 },
  quaternion: { shape: quaternion, width: 4, sample: (random) => unit(random.normals(4)) },
  direction: { shape: sphere(3), width: 3, sample: (random) => unit(random.normals(3)) },
  so2: { shape: so2, width: 2, sample: planar },
  se2: { shape: se2, width: 4, sample: (random) => [...planar(random), ...random.normals(2)] },
  se3: { shape: se3, width: 7, sample: (random) => [...unit(random.normals(4)), ...random.normals(3)] },
  sim3: { shape: sim3, width: 8, sample: (random) => [...unit(random.normals(4)), ...random.normals(3), random.between(0.5, 2)] },
  pose: { shape: { q: quaternion, t: 3 }, width: 7, sample: (random) => [...unit(random.normals(4)), ...random.normals(3)] },
  subset: { shape: subset(3, [1]), width: 3, isHeld: true },
};

/** A form: `isPlain` where every scalar may be moved, fixed and bounded by itself. */
export function formOf(name) {
  const form = FORMS[name];
  return { name, isPlain: !form.sample && !form.isHeld, ...form };
}

/** Instances of a form, flat; numbers that f32 has, so that engines of either precision get the same ones. */
export function instances(seed, form, count, scale = 1) {
  const random = new Random(seed);
  const { width, sample } = formOf(form);
  if (!sample) return Float64Array.from(random.normals(count * width, scale), Math.fround);
  return Float64Array.from(Array.from({ length: count }, () => sample(random)).flat(), Math.fround);
}

/** Weights: numbers that are not negative, some of them 0. */
export function weights(seed, count) {
  const random = new Random(seed);
  return Float64Array.from({ length: count }, () => (random.below(12) === 0 ? 0 : Math.fround(random.between(0.1, 2))));
}

/** Vectors for clusters and indices: around some centres, flat. */
export function vectors(seed, count, dim, centres = 5) {
  const random = new Random(seed);
  const around = random.normals(centres * dim, 2);
  return Float32Array.from({ length: count * dim }, (_, k) => around[(Math.floor(k / dim) % centres) * dim + (k % dim)] + 0.5 * random.normal());
}

/** Whole numbers below `end`, each once. */
export function someOf(seed, end, count) {
  const random = new Random(seed);
  return [...new Set(Array.from({ length: count }, () => random.below(end)))].sort((a, b) => a - b);
}
