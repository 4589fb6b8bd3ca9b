// Pose graphs: poses in space from measured motions between them. The residual of an edge is that of Ceres' example: the
// error of the translation in the first pose's frame and twice the vector part of the error's quaternion, both weighed by
// the square root of the information matrix.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { column, fromAngleAxis, quat, sum, vec, vector } from "leastwise";
import * as plain from "./rotations.mjs";
import { Random } from "./random.mjs";

const turnOf = (pose) => fromAngleAxis(vec(pose.at(0), pose.at(1), pose.at(2)));
const placeOf = (pose) => vec(pose.at(3), pose.at(4), pose.at(5));

/** `poses`: rows of a rotation vector and a place; `motions`: rows of x, y, z and a quaternion; `roots`: upper triangles R, RᵀR the information. */
export function poseGraph(lw, { poses, edges, motions, roots }, loss) {
  const problem = lw.problem();
  const pose = problem.variables("pose", { shape: 6, values: poses });
  const motion = problem.residuals("motion", { over: edges, of: [pose, pose], data: { measured: column(motions, 7), root: column(roots, 21) }, ...(loss && { loss }) },
    ([a, b], { measured, root }) => {
      const m = (k) => measured.at(k);
      const back = turnOf(a).conjugate();
      const place = back.rotate(placeOf(b).sub(placeOf(a))).sub(vec(m(0), m(1), m(2)));
      const turn = quat(m(3), m(4), m(5), m(6)).mul(back.mul(turnOf(b)).conjugate()).xyzw();
      const error = [place.x, place.y, place.z, turn.x.mul(2), turn.y.mul(2), turn.z.mul(2)];
      return vector(error.map((_, i) => sum(error.slice(i).map((e, j) => e.mul(root.at(packed(i, i + j)))))));
    });
  // The first pose is held: only differences are measured.
  problem.residuals("held", { of: [pose.at([0])], data: { at: Array.from(poses.slice(0, 6)) }, weight: 1e6 }, ([p], { at }) => p.sub(at));
  return { problem, pose, motion };
}

/** Where row i ≤ column j of an upper triangle of six is stored, row by row. */
const packed = (i, j) => 6 * i - (i * (i - 1)) / 2 + j - i;

/** R with RᵀR = A, of packed upper triangles (Cholesky). */
function root(a) {
  const r = new Array(21).fill(0);
  for (let i = 0; i < 6; i++) {
    for (let j = i; j < 6; j++) {
      let value = a[packed(i, j)];
      for (let k = 0; k < i; k++) value -= r[packed(k, i)] * r[packed(k, j)];
      r[packed(i, j)] = j === i ? Math.sqrt(value) : value / r[packed(i, i)];
    }
  }
  return r;
}

/** A gzipped g2o file of VERTEX_SE3:QUAT and EDGE_SE3:QUAT. */
export function readG2o(path) {
  const poses = [], edges = [], motions = [], roots = [];
  for (const line of gunzipSync(readFileSync(path)).toString("latin1").split("\n")) {
    const [kind, ...numbers] = line.trim().split(/\s+/);
    const values = numbers.map(Number);
    if (kind === "VERTEX_SE3:QUAT") poses.push(...plain.toAngleAxis(values.slice(4, 8)), ...values.slice(1, 4));
    else if (kind === "EDGE_SE3:QUAT") {
      edges.push(...values.slice(0, 2));
      motions.push(...values.slice(2, 9));
      roots.push(...root(values.slice(9, 30)));
    }
  }
  return { poses: Float64Array.from(poses), edges: Uint32Array.from(edges), motions: Float64Array.from(motions), roots: Float64Array.from(roots) };
}

/**
 * A robot on a sphere, the way of `sphere2500`: `laps` rounds of `steps` poses each, measured from pose to pose and from
 * each to the one above it; it starts where dead reckoning puts it.
 */
export function randomSphere(seed, { laps = 8, steps = 12, noise = { place: 0.05, turn: 0.02 } } = {}) {
  const random = new Random(seed);
  const radius = 5, count = laps * steps;
  const truth = Array.from({ length: count }, (_, k) => {
    const along = (2 * Math.PI * k) / steps, up = Math.PI * ((k + 0.5) / count - 0.5) * 0.9;
    const turn = plain.multiply(plain.fromAngleAxis([0, 0, along]), plain.fromAngleAxis([0, -up, 0]));
    return { turn, place: plain.rotate(turn, [radius, 0, 0]) };
  });
  const edges = [], motions = [], roots = [], poses = [];
  const information = Array.from({ length: 21 }, () => 0);
  for (let i = 0; i < 6; i++) information[packed(i, i)] = (i < 3 ? noise.place : 2 * noise.turn) ** -2;
  const measure = (a, b) => {
    const back = plain.conjugate(truth[a].turn);
    const place = plain.rotate(back, truth[b].place.map((value, k) => value - truth[a].place[k])).map((value) => value + noise.place * random.normal());
    const turn = plain.multiply(plain.multiply(back, truth[b].turn), plain.fromAngleAxis(random.normals(3, 2 * noise.turn)));
    edges.push(a, b);
    motions.push(...place, ...turn);
    roots.push(...root(information));
    return { place, turn };
  };
  let at = truth[0];
  poses.push(...plain.toAngleAxis(at.turn), ...at.place);
  for (let k = 1; k < count; k++) {
    const { place, turn } = measure(k - 1, k);
    at = { turn: plain.multiply(at.turn, turn), place: plain.rotate(at.turn, place).map((value, j) => value + at.place[j]) };
    poses.push(...plain.toAngleAxis(at.turn), ...at.place);
  }
  for (let k = steps; k < count; k++) measure(k - steps, k);
  return { poses: Float64Array.from(poses), edges: Uint32Array.from(edges), motions: Float64Array.from(motions), roots: Float64Array.from(roots) };
}
