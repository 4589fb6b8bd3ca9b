/** A bundle to reconstruct: a knot of points, seen by cameras on a ring. */
import type { Bundle } from "./worlds.js";
import { cross, dot, fromAngleAxis, minus, multiply, plus, random, rotate, scaled, toAngleAxis, unit, type Point, type Quaternion } from "./rotations.js";

const CAMERAS = 36, DISTANCE = 9, FOCAL = 500, NOISE = 0.5;
/** Views of a point: by the cameras that face it most. */
const VIEWS = 6;
/** Share of all views that are wrong where a visitor asks for as many wrong ones as he can. */
const MOST_WRONG = 0.1;
/** Errors of the start: of rotations, translations, focal lengths and points. */
const START = { turn: 0.02, place: 0.25, focal: 25, point: 0.35 };

/** The middle line of a trefoil knot. */
const knot = (t: number): Point => [Math.sin(t) + 2 * Math.sin(2 * t), Math.sin(3 * t), Math.cos(t) - 2 * Math.cos(2 * t)];

/** `count` points on the tube of a knot. The same every time. */
export function knotBundle(count: number, outliers: number): Bundle {
  const { uniform, normal, point: shaken } = random(424243), share = MOST_WRONG * outliers;
  const surface = Array.from({ length: count }, () => {
    const t = 2 * Math.PI * uniform(), angle = 2 * Math.PI * uniform(), middle = knot(t), along = unit(minus(knot(t + 1e-3), middle)), side = unit(cross(along, [0, 1, 0.3])), up = cross(side, along);
    const out = plus(scaled(side, Math.cos(angle)), scaled(up, Math.sin(angle)));
    return { place: plus(middle, scaled(out, 0.5)), out };
  });
  const turns: Quaternion[] = [], cameras: number[] = [], start: number[] = [], pairs: number[] = [], seen: number[] = [], wrong: number[] = [];
  for (let c = 0; c < CAMERAS; c++) {
    const around = fromAngleAxis([0, (-2 * Math.PI * c) / CAMERAS, 0]), q = multiply(fromAngleAxis([0.25 * Math.sin(3 * c), 0, 0]), around), distance = DISTANCE + 0.5 * Math.cos(5 * c);
    turns.push(q);
    cameras.push(...toAngleAxis(q), 0, 0, -distance, FOCAL, 0, 0);
    start.push(...plus(toAngleAxis(q), shaken(START.turn)), ...plus([0, 0, -distance], shaken(START.place)), FOCAL + START.focal * normal(), 0, 0);
  }
  surface.forEach(({ place, out }, p) => {
    // A camera's axis of view is −z in its own frame, so it sees what faces +z there.
    const facing = turns.map((q, c) => [c, dot(rotate(q, out), [0, 0, 1])] as const).sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, VIEWS);
    for (const [c] of facing) {
      const [x, y, z] = plus(rotate(turns[c]!, place), [0, 0, cameras[9 * c + 5]!]), isWrong = uniform() < share, off = isWrong ? 120 : 0;
      pairs.push(c, p);
      seen.push((-FOCAL * x) / z + NOISE * normal() + off * (uniform() - 0.5), (-FOCAL * y) / z + NOISE * normal() + off * (uniform() - 0.5));
      wrong.push(isWrong ? 1 : 0);
    }
  });
  const points = surface.flatMap(({ place }) => plus(place, shaken(START.point)));
  return { name: "knot", cameras: Float64Array.from(start), points: Float64Array.from(points), pairs: Uint32Array.from(pairs), seen: Float64Array.from(seen), wrong: Uint8Array.from(wrong) };
}
