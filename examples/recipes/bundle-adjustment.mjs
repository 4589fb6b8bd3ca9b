// # Bundle adjustment with wrong matches
//
// Twelve cameras on an arc see 150 points; every fortieth match is wrong. Unknown are all poses, one focal length and all points.
//
// - `linear: "auto"` chooses `"schur"`: points touch no other points, so each is eliminated as a block of three.
// - The gauge is held by fixing the first pose and one coordinate of the second. Without that the solve works, too, but a
//   covariance is the error `rank-deficient`.
// - The focal length is a table of one instance, shared by all cameras.
import assert from "node:assert/strict";
import { cauchy, column, init, quaternion } from "leastwise";

let state = 424242;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

const cameras = 12, focal = 500, noise = 0.4;
const points = Array.from({ length: 150 }, () => [3 * random() - 1.5, 2 * random() - 1, 3 * random() - 1.5]);
const angles = Array.from({ length: cameras }, (_, k) => 0.12 * (k - 5.5));
const over = [], pixels = [], wrong = [];
for (const [k, angle] of angles.entries()) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  for (const [i, [px, py, pz]] of points.entries()) {
    const z = cos * pz - sin * px + 6, isWrong = (7 * k + i) % 40 === 0;
    over.push([k, i]);
    wrong.push(isWrong);
    pixels.push((focal * (cos * px + sin * pz)) / z + noise * normal() + (isWrong ? 60 : 0), (focal * py) / z + noise * normal());
  }
}

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const start = angles.flatMap((angle, k) => [0, Math.sin(angle / 2), 0, Math.cos(angle / 2), k ? 0.1 * normal() : 0, k > 1 ? 0.1 * normal() : 0, 6]);
const camera = problem.variables("camera", { shape: { q: quaternion, t: 3 }, values: start });
const point = problem.variables("point", { shape: 3, values: points.flatMap((p) => p.map((v) => v + 0.1 * normal())) });
const f = problem.variables("focal length", { shape: 1, values: [450] });
const term = problem.residuals("reprojection", { over, of: [camera, point, f], data: { seen: column(pixels, 2) }, loss: cauchy(3 * noise) },
  ([{ q, t }, point, f], { seen }) => {
    const p = q.rotate(point).add(t);
    return p.xy.div(p.z).mul(f).sub(seen);
  });
camera.fix([0]);
camera.fix([1], [4]);                                       // the distance between two cameras: the scale
const started = await point.read(), first = await term.evaluate();
const report = await problem.solve({ maxIterations: 100 });
const [found] = await f.read();
const placed = await point.read();
const { residuals } = await term.evaluate();
lw.dispose();

// Root mean square of the right matches, in pixels, of an evaluation.
const rms = (r) => Math.sqrt(wrong.reduce((sum, is, k) => sum + (is ? 0 : r[2 * k] ** 2 + r[2 * k + 1] ** 2), 0) / (2 * wrong.filter((is) => !is).length));
assert.equal(report.linear, "schur");
assert.ok(report.converged, report.reason);
assert.ok(rms(first.residuals) > 10 && rms(residuals) < 1.05 * noise, `${rms(first.residuals)} and ${rms(residuals)} pixels`);
assert.ok(Math.abs(found - focal) < 10, `the focal length is ${found}`);

export { placed, points, started };
