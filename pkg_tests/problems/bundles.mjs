// Bundles of any size, by seed: cameras on a ring, or along the streets of a city that are driven through twice in places. As in
// `bundle.mjs` a camera is nine numbers; views lie in the order of their points, as in BAL's files.
import * as plain from "./rotations.mjs";

/** Small and fast: Doty-Humphrey's sfc32, of 32 bits. */
class Fast {
  #state;
  constructor(seed) {
    this.#state = [0x9e3779b9, 0x243f6a88, seed >>> 0, 1];
    for (let k = 0; k < 12; k++) this.unit();
  }
  /** From 0 up to, not including, 1. */
  unit() {
    const state = this.#state;
    const sum = (state[0] + state[1] + state[3]) | 0;
    state[3] = (state[3] + 1) | 0;
    state[0] = state[1] ^ (state[1] >>> 9);
    state[1] = (state[2] + (state[2] << 3)) | 0;
    state[2] = ((state[2] << 21) | (state[2] >>> 11)) + sum | 0;
    return (sum >>> 0) / 2 ** 32;
  }
  between(low, high) { return low + (high - low) * this.unit(); }
  /** Nearly normal: a sum of uniform numbers, of variance 1. */
  normal() { return this.unit() + this.unit() + this.unit() + this.unit() + this.unit() + this.unit() + this.unit() + this.unit() + this.unit() + this.unit() + this.unit() + this.unit() - 6; }
}

/** A camera at `place`, upright, that looks along a horizontal direction. */
function camera(place, [fx, fz], random) {
  const turn = plain.multiply(plain.fromAngleAxis([0.03 * random.normal(), 0.03 * random.normal(), 0.03 * random.normal()]), plain.fromAngleAxis([0, Math.atan2(fx, -fz), 0]));
  const shift = plain.rotate(turn, place).map((value) => -value);
  return [...plain.toAngleAxis(turn), ...shift, random.between(450, 550), random.between(-0.02, 0.02), random.between(-0.001, 0.001)];
}

/** The projection of `bundle.mjs`, for many points. */
function lens(camera) {
  const [x, y, z] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((axis) => plain.rotate(plain.fromAngleAxis(camera.slice(0, 3)), axis));
  const [, , , tx, ty, tz, focal, k1, k2] = camera;
  return ([a, b, c]) => {
    const depth = -(a * x[2] + b * y[2] + c * z[2] + tz);
    const u = (a * x[0] + b * y[0] + c * z[0] + tx) / depth, v = (a * x[1] + b * y[1] + c * z[1] + ty) / depth, square = u * u + v * v;
    const scale = focal * (1 + square * (k1 + square * k2));
    return [scale * u, scale * v];
  };
}

/** Cameras on a ring around a cloud; a point is seen by neighbours. */
function ring(random, { cameras, points, views }) {
  const all = Array.from({ length: cameras }, (_, c) => {
    const angle = (2 * Math.PI * c) / cameras, [sin, cos] = [Math.sin(angle), Math.cos(angle)];
    return camera([10 * sin, random.between(-0.5, 0.5), 10 * cos], [-sin, -cos], random);
  });
  const places = Array.from({ length: points }, () => [random.between(-2, 2), random.between(-2, 2), random.between(-2, 2)]);
  const seenBy = () => {
    const first = Math.floor(random.unit() * cameras);
    return Array.from({ length: Math.min(views, cameras) }, (_, k) => (first + k) % cameras);
  };
  return { all, places, seenBy, centre: () => [0, 0, 0] };
}

/** Sides of a block of houses, and the distance from which it is seen. */
const WIDTH = 60, DEPTH = 40, AWAY = 10, NEXT = 100;

/** The place on the street around a block after so many units, and the direction to the houses. */
function street(block, along) {
  const [x, z] = [WIDTH / 2 + AWAY, DEPTH / 2 + AWAY];
  let rest = along % (2 * (WIDTH + DEPTH));
  for (const [length, from, to, face] of [
    [WIDTH, [-WIDTH / 2, z], [1, 0], [0, -1]], [DEPTH, [x, DEPTH / 2], [0, -1], [-1, 0]],
    [WIDTH, [WIDTH / 2, -z], [-1, 0], [0, 1]], [DEPTH, [-x, -DEPTH / 2], [0, 1], [1, 0]],
  ]) {
    if (rest < length) return { place: [NEXT * block + from[0] + rest * to[0], 0, from[1] + rest * to[1]], face, side: length - rest, rest };
    rest -= length;
  }
  throw new Error("the street around a block ends where it begins");
}

/** Streets around blocks in a row, each driven along once and every third twice: points there are seen on both ways. */
function city(random, { cameras, points, views }) {
  const round = 2 * (WIDTH + DEPTH), blocks = Math.max(1, Math.round(cameras / 160));
  const rounds = Array.from({ length: blocks }, (_, block) => block).flatMap((block) => (block % 3 === 0 ? [block, block] : [block]));
  const each = Math.max(8, Math.floor(cameras / rounds.length)), step = round / each;
  const all = rounds.flatMap((block, number) => Array.from({ length: each }, (_, k) => {
    const { place, face } = street(block, (k + (number % 2) / 2) * step);
    return camera(place.map((value) => value + 0.2 * random.normal()), face, random);
  }));
  const places = [], near = [];
  for (let p = 0; p < points; p++) {
    const block = Math.floor(random.unit() * blocks), along = random.unit() * round, { place, face } = street(block, along);
    const away = AWAY + random.between(-1, 1);
    places.push([place[0] + away * face[0], random.between(-3, 3), place[2] + away * face[1]]);
    near.push([block, along]);
  }
  const seenBy = (p) => {
    const [block, along] = near[p], own = rounds.flatMap((of, number) => (of === block ? [number] : []));
    // Half of the points of a street that is driven along twice are seen on both ways.
    const of = own.length === 1 ? own : p % 2 ? own : [own[p % 4 === 0 ? 0 : 1]];
    const few = Math.max(2, Math.round(views / of.length)), { face } = street(block, along);
    return of.flatMap((number) => {
      const first = Math.round(along / step - (number % 2) / 2 - (few - 1) / 2);
      const cameras = Array.from({ length: few }, (_, k) => (first + k + 2 * each) % each);
      return cameras.filter((k) => String(street(block, (k + (number % 2) / 2) * step).face) === String(face)).map((k) => number * each + k);
    });
  };
  return { all, places, seenBy, centre: (c) => [NEXT * rounds[Math.floor(c / each)], 0, 0] };
}

/** A camera with errors: turned about a centre nearby, which keeps what it sees before it however far away the origin is. */
function mistaken(values, centre, random) {
  const off = values.map((value, k) => value + SCALES[k] * random.normal());
  const [here, there] = [values, off].map((camera) => plain.rotate(plain.fromAngleAxis(camera.slice(0, 3)), centre));
  return off.map((value, k) => (k >= 3 && k < 6 ? value + here[k - 3] - there[k - 3] : value));
}

/** Errors of a camera's numbers at the start. */
const SCALES = [0.005, 0.005, 0.005, 0.05, 0.05, 0.05, 5, 0.002, 0.0002];

/**
 * A bundle of `kind` "ring" or "city": about so many cameras, and points that are each seen by about `views` of them with `noise` pixels
 * of error; a share `outliers` of the views is off by up to 300 pixels. The start is the true scene with errors.
 */
export function generatedBundle(seed, { kind = "ring", cameras = 12, points = 300, views = 5, noise = 0.5, outliers = 0 } = {}) {
  const random = new Fast(seed);
  const { all, places, seenBy, centre } = (kind === "city" ? city : ring)(random, { cameras, points, views });
  const pairs = [], seen = [], lenses = all.map(lens);
  let kept = 0;
  const start = [];
  places.forEach((place, p) => {
    const by = seenBy(p);
    if (by.length < 2) return;
    for (const c of by) {
      const off = random.unit() < outliers ? 300 : 0;
      const [u, v] = lenses[c](place);
      pairs.push(c, kept);
      seen.push(u + noise * random.normal() + random.between(-off, off), v + noise * random.normal() + random.between(-off, off));
    }
    start.push(...place.map((value) => value + 0.05 * random.normal()));
    kept++;
  });
  return {
    cameras: Float64Array.from(all.flatMap((values, c) => mistaken(values, centre(c), random))),
    points: Float64Array.from(start), pairs: Uint32Array.from(pairs), seen: Float64Array.from(seen),
  };
}
