// Bundle adjustment as in "Bundle Adjustment in the Large" (Agarwal, Snavely, Seitz & Szeliski, ECCV 2010): a camera is a rotation
// vector, a translation, a focal length and two coefficients of distortion; it looks along −z.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { column, fromAngleAxis, vec } from "leastwise";
import * as plain from "./rotations.mjs";
import { Random } from "./random.mjs";

/** Where a camera sees a point: the residual is this, less where it was seen. */
function projected(camera, point) {
  const part = (first) => vec(camera.at(first), camera.at(first + 1), camera.at(first + 2));
  const p = fromAngleAxis(part(0)).rotate(point).add(part(3));
  const image = p.xy.div(p.z.neg());
  const square = image.normSq();
  const [focal, k1, k2] = [6, 7, 8].map((k) => camera.at(k));
  return image.mul(k2.mul(square).add(k1).mul(square).add(1).mul(focal));
}

/** `cameras` are rows of nine numbers, `points` of three; `pairs` rows of camera and point, `seen` of two numbers. */
export function bundle(lw, { cameras, points, pairs, seen }, loss) {
  const problem = lw.problem();
  const camera = problem.variables("camera", { shape: 9, values: cameras });
  const point = problem.variables("point", { shape: 3, values: points });
  const views = problem.residuals("views", { over: pairs, of: [camera, point], data: { seen: column(seen, 2) }, ...(loss && { loss }) },
    ([c, x], data) => projected(c, x).sub(data.seen));
  return { problem, camera, point, views };
}

/** A gzipped file of the BAL collection. */
export function readBal(path) {
  const words = gunzipSync(readFileSync(path)).toString("latin1").split(/\s+/);
  const [cameras, points, views] = words.slice(0, 3).map(Number);
  const pairs = new Uint32Array(2 * views), seen = new Float64Array(2 * views);
  for (let k = 0; k < views; k++) {
    pairs.set([Number(words[3 + 4 * k]), Number(words[4 + 4 * k])], 2 * k);
    seen.set([Number(words[5 + 4 * k]), Number(words[6 + 4 * k])], 2 * k);
  }
  const values = Float64Array.from(words.slice(3 + 4 * views, 3 + 4 * views + 9 * cameras + 3 * points), Number);
  return { cameras: values.slice(0, 9 * cameras), points: values.slice(9 * cameras), pairs, seen };
}

/** The same projection in plain numbers. */
export function project(camera, point) {
  const turned = plain.rotate(plain.fromAngleAxis(camera.slice(0, 3)), point);
  const [x, y, z] = turned.map((value, k) => value + camera[3 + k]);
  const [u, v] = [-x / z, -y / z], square = u * u + v * v;
  const scale = camera[6] * (1 + square * (camera[7] + square * camera[8]));
  return [scale * u, scale * v];
}

/**
 * Cameras on a ring around a cloud of points, each point seen by `views` of them with `noise` pixels of error; a share
 * `outliers` of the views is off by up to 300 pixels. Gives the true scene, too; the start is that with errors.
 */
export function randomBundle(seed, { cameras = 8, points = 150, views = 4, noise = 0.5, outliers = 0 } = {}) {
  const random = new Random(seed);
  const truth = { cameras: [], points: [] };
  for (let c = 0; c < cameras; c++) {
    // Turned about y so that −z points from 10 units away at the origin, and shaken a little.
    const angle = (2 * Math.PI * c) / cameras;
    const turn = plain.multiply(plain.fromAngleAxis(random.normals(3, 0.05)), plain.fromAngleAxis([0, -angle, 0]));
    truth.cameras.push([...plain.toAngleAxis(turn), ...random.normals(2, 0.1), -10 + random.between(-0.5, 0.5), random.between(450, 550), random.between(-0.02, 0.02), random.between(-0.001, 0.001)]);
  }
  for (let p = 0; p < points; p++) truth.points.push([0, 1, 2].map(() => random.between(-2, 2)));
  const pairs = [], seen = [];
  truth.points.forEach((point, p) => {
    const first = random.below(cameras);
    for (let k = 0; k < views; k++) {
      const c = (first + k) % cameras;
      const off = random.between(0, 1) < outliers ? 300 : 0;
      pairs.push(c, p);
      seen.push(...project(truth.cameras[c], point).map((value) => value + noise * random.normal() + random.between(-off, off)));
    }
  });
  const scales = [...new Array(3).fill(0.01), ...new Array(3).fill(0.1), 10, 0.002, 0.0002];
  return {
    cameras: Float64Array.from(truth.cameras.flatMap((camera) => camera.map((value, k) => value + scales[k] * random.normal()))),
    points: Float64Array.from(truth.points.flatMap((point) => point.map((value) => value + 0.05 * random.normal()))),
    pairs: Uint32Array.from(pairs), seen: Float64Array.from(seen), truth,
  };
}
