// Problems whose variables lie on manifolds, and what their solutions are by other means.
import { column, quaternion, se3, sphere } from "leastwise";
import { Random } from "./random.mjs";
import * as plain from "./rotations.mjs";

/**
 * A mesh of genus 0 spread over the unit sphere so that Σ ‖xᵢ − xⱼ‖² over its edges is least, with some vertices held:
 * every other one then lies in the direction of the sum of its neighbours.
 */
export function sphericalMap(lw, { edges, start, held }) {
  const problem = lw.problem();
  const x = problem.variables("direction", { shape: sphere(3), values: start });
  x.fix(held);
  problem.residuals("edges", { over: edges, of: [x, x] }, ([a, b]) => a.sub(b));
  return { problem, x };
}

/** An icosphere whose vertices, but for the first twelve, are shaken by up to `by` and put back onto the sphere. */
export function shakenSphere({ positions, cells }, seed, by) {
  const random = new Random(seed);
  const edges = [...new Set(cells.flatMap(([a, b, c]) => [[a, b], [b, c], [c, a]].map((pair) => pair.sort((p, q) => p - q).join())))].flatMap((pair) => pair.split(",").map(Number));
  const start = positions.flatMap((v, i) => {
    const moved = i < 12 ? v : v.map((value) => value + random.between(-by, by));
    return moved.map((value) => value / Math.hypot(...moved));
  });
  return { edges: Uint32Array.from(edges), start: Float64Array.from(start), held: Array.from({ length: 12 }, (_, i) => i) };
}

/** Rotations from measured ones between them, on a ring with chords; the first is held. */
export function rotationAveraging(lw, { pairs, measured, start }) {
  const problem = lw.problem();
  const q = problem.variables("rotation", { shape: quaternion, values: start });
  q.fix([0]);
  problem.residuals("relative", { over: pairs, of: [q, q], data: { m: column(measured, quaternion) } },
    ([a, b], { m }) => m.conjugate().mul(a.conjugate().mul(b)).toAngleAxis());
  return { problem, q };
}

/** Motions of a quaternion and a translation, as products of such. */
export const motion = {
  times: ([q, t], [r, s]) => [plain.multiply(q, r), plain.rotate(q, s).map((value, k) => value + t[k])],
  inverse: ([q, t]) => [plain.conjugate(q), plain.rotate(plain.conjugate(q), t).map((value) => -value)],
  random: (random, turn, way) => [plain.fromAngleAxis(random.normals(3, turn)), random.normals(3, way)],
};

/** Poses along a curve, exactly measured from each to the next and to the next but one, and a start that is off. */
export function chainOfPoses(seed, count) {
  const random = new Random(seed);
  const truth = [motion.random(random, 1, 1)];
  for (let k = 1; k < count; k++) truth.push(motion.times(truth[k - 1], [plain.fromAngleAxis([0.1, 0.2, 0.15]), [1, 0.1, 0]]));
  const pairs = [1, 2].flatMap((by) => truth.slice(by).map((_, k) => [k, k + by]));
  const measured = pairs.map(([a, b]) => motion.times(motion.inverse(truth[a]), truth[b]));
  const start = truth.map((pose, k) => (k === 0 ? pose : motion.times(pose, motion.random(random, 0.15, 0.2))));
  return { truth, pairs: Uint32Array.from(pairs.flat()), measured: Float64Array.from(measured.flat(2)), start: Float64Array.from(start.flat(2)) };
}

/** Poses on SE(3): the residual is the error of the motion between two, as rotation vector and translation; the first is held. */
export function chainOn(lw, shape, { pairs, measured, start }) {
  const problem = lw.problem();
  const pose = problem.variables("pose", { shape, values: start });
  pose.fix([0]);
  const motions = problem.residuals("motion", { over: pairs, of: [pose, pose], data: { m: column(measured, se3) } }, ([a, b], { m }) => {
    const back = a.q.conjugate();
    const turn = m.q.conjugate().mul(back.mul(b.q));
    return [turn.toAngleAxis(), back.rotate(b.t.sub(a.t)).sub(m.t)];
  });
  return { problem, pose, motions };
}

/** Cameras of `bundle.mjs` with quaternions for rotation vectors: ten numbers for nine. */
export function withQuaternions(cameras) {
  return Float64Array.from(Array.from({ length: cameras.length / 9 }, (_, c) => cameras.slice(9 * c, 9 * c + 9)).flatMap((camera) => [...plain.fromAngleAxis(camera.slice(0, 3)), ...camera.slice(3)]));
}

/** Bundle adjustment over structured cameras. */
export function adjustBundle(lw, { cameras, points, pairs, seen }, loss) {
  const problem = lw.problem();
  const camera = problem.variables("camera", { shape: { q: quaternion, t: 3, f: 1, k: 2 }, values: withQuaternions(cameras) });
  const point = problem.variables("point", { shape: 3, values: points });
  const [cameraOf, pointOf] = [0, 1].map((side) => pairs.filter((_, k) => k % 2 === side));
  const views = problem.residuals("reprojection", { of: { cam: camera.at(cameraOf), X: point.at(pointOf) }, data: { seen: column(seen, 2) }, loss },
    ({ cam, X }, { seen }) => {
      const p = cam.q.rotate(X).add(cam.t);
      const u = p.xy.div(p.z.neg()), r2 = u.normSq();
      const bend = r2.mul(r2.mul(cam.k.y).add(cam.k.x)).add(1);
      return u.mul(cam.f.mul(bend)).sub(seen);
    });
  return { problem, camera, point, views };
}
