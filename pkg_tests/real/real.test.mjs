// Real problems, whose data the project does not carry: `LEASTWISE_DATA=… npm run test:data` names the folder that has
// `bal/problem-16-22106-pre.txt.gz` (Bundle Adjustment in the Large) and `posegraph/sphere2500.g2o.gz`.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { cauchy } from "leastwise";
import { closeTo, open } from "../node/support.mjs";
import { bundle, readBal } from "../problems/bundle.mjs";
import { poseGraph, readG2o } from "../problems/pose-graph.mjs";
import { Random } from "../problems/random.mjs";

const folder = process.env.LEASTWISE_DATA;
assert.ok(folder, "LEASTWISE_DATA is not set: it must name a folder that has bal/problem-16-22106-pre.txt.gz and posegraph/sphere2500.g2o.gz");
const bal = readBal(join(folder, "bal/problem-16-22106-pre.txt.gz"));
const sphere = readG2o(join(folder, "posegraph/sphere2500.g2o.gz"));
const TIGHT = { costTolerance: 1e-9, maxIterations: 100 };
// What Ceres 2.1 finds from the same start with the same residual (SPARSE_NORMAL_CHOLESKY, 18 steps).
const SPHERE = 677.0084944;
const told = (t, report, started) => t.diagnostic(`${report.cost.toPrecision(10)} after ${report.iterations.length} steps and ${((performance.now() - started) / 1000).toFixed(1)} s: ${report.reason}`);

for (const [backend, linear, tolerance] of [["cpu", "auto", 1e-6], ["cpu", "assembled-pcg", 1e-5], ["webgpu", "schur", 1e-4]]) {
  test(`problem-16-22106 on ${backend} with ${linear}: the minimum that Ceres finds, 18033.90`, async (t) => {
    const lw = await open(t, { backend });
    const { problem } = bundle(lw, bal), started = performance.now();
    const report = await problem.solve({ ...TIGHT, linear });
    told(t, report, started);
    assert.ok(report.converged || report.termination === "precision", report.reason);
    closeTo(report.cost, 1.80339e4, tolerance, "cost");
  });
}

test("problem-16-22106 with planted outliers: Cauchy's loss finds what there was without them", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const random = new Random(11);
  const planted = new Uint8Array(bal.pairs.length / 2), seen = bal.seen.slice();
  for (let k = 0; k < planted.length; k++) {
    if (random.between(0, 1) >= 0.05) continue;
    planted[k] = 1;
    for (const c of [0, 1]) seen[2 * k + c] += random.between(50, 300) * (random.between(0, 1) < 0.5 ? -1 : 1);
  }
  /** The median error, in pixels, of the views that were left as they were. */
  const medianError = async ({ views }) => {
    const { residuals } = await views.evaluate();
    const errors = Array.from(planted, (is, k) => (is ? -1 : Math.hypot(residuals[2 * k], residuals[2 * k + 1]))).filter((error) => error >= 0).sort((a, b) => a - b);
    return errors[errors.length >> 1];
  };
  const medians = {};
  for (const [name, views, loss] of [["clean", bal.seen], ["squares", seen], ["Cauchy", seen, cauchy(1)]]) {
    const scene = bundle(lw, { ...bal, seen: views }, loss), started = performance.now();
    told(t, await scene.problem.solve(TIGHT), started);
    medians[name] = await medianError(scene);
    scene.problem.dispose();
  }
  t.diagnostic(`median errors of the views without outliers: ${JSON.stringify(medians)}`);
  assert.ok(medians.Cauchy < 1.1 * medians.clean, "as good as without outliers");
  assert.ok(medians.squares > 2 * medians.clean, "which squares are not");
});

for (const [backend, linear, tolerance] of [["cpu", "auto", 1e-6], ["webgpu", "auto", 1e-3]]) {
  test(`sphere2500 on ${backend}: 2500 poses, 4949 motions`, async (t) => {
    const lw = await open(t, { backend });
    const { problem } = poseGraph(lw, sphere), started = performance.now();
    const report = await problem.solve({ ...TIGHT, linear });
    told(t, report, started);
    closeTo(report.cost, SPHERE, tolerance, "cost");
  });
}
