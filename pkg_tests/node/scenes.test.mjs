// Meshes, cameras, pose graphs and curves, made at random: solved to what is known of the answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BACKENDS, closeTo, open } from "./support.mjs";
import { bundle, project, randomBundle } from "../problems/bundle.mjs";
import { dampedWave } from "../problems/fits.mjs";
import { poseGraph, randomSphere } from "../problems/pose-graph.mjs";
import { SCENES } from "../problems/suite.mjs";

const SEEDS = [11, 12, 13, 14, 15];
const OPTIONS = { maxIterations: 500, costTolerance: 1e-12 };

/** ½χ² of `degrees` of freedom is ½degrees, give or take √(degrees/2); within five times that. */
function isHalfChiSquare(cost, degrees, what) {
  assert.ok(Math.abs(cost - degrees / 2) < 5 * Math.sqrt(degrees / 2), `${what}: ${cost} is not about ${degrees / 2}`);
}

/** One after the other: a problem does one thing at a time. */
async function readAll(tables) {
  const values = [];
  for (const table of tables) values.push(await table.read());
  return values;
}

for (const { name, make } of SCENES) {
  test(`${name}: a minimum, from which nothing moves`, async (t) => {
    const lw = await open(t, { backend: "cpu" });
    const { problem, tables } = make(lw);
    const report = await problem.solve(OPTIONS);
    assert.equal(report.termination, "converged", String(report));
    assert.ok(report.cost < report.initialCost);
    const before = await readAll(tables);
    const again = await problem.solve({ ...OPTIONS, costTolerance: 1e-9 });
    closeTo(again.cost, report.cost, 1e-8, "the cost of a second solve");
    const after = await readAll(tables);
    before.forEach((values, k) => values.forEach((value, i) => assert.ok(Math.abs(after[k][i] - value) < 1e-3 * Math.max(1, Math.abs(value)))));
  });
}

test("bundle adjustment: noise of half a pixel is what is left", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const seed of SEEDS) {
    const scene = randomBundle(seed);
    const { problem, camera, point } = bundle(lw, scene);
    const report = await problem.solve(OPTIONS);
    // Seven degrees of freedom of the whole (place, rotation, scale) change nothing.
    const degrees = scene.seen.length - scene.cameras.length - scene.points.length + 7;
    isHalfChiSquare(report.cost / 0.25, degrees, `seed ${seed}`);
    const cameras = [...await camera.read(new Float64Array(scene.cameras.length))], points = [...await point.read(new Float64Array(scene.points.length))];
    let sum = 0;
    for (let view = 0; view < scene.pairs.length; view += 2) {
      const [c, p] = [scene.pairs[view], scene.pairs[view + 1]];
      project(cameras.slice(9 * c, 9 * c + 9), points.slice(3 * p, 3 * p + 3)).forEach((value, k) => { sum += (value - scene.seen[view + k]) ** 2; });
    }
    closeTo(sum / 2, report.cost, 1e-9, `seed ${seed}: the cost in plain numbers`);
    problem.dispose();
  }
});

test("pose graphs: the noise of the measurements is what is left", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const seed of SEEDS) {
    const graph = randomSphere(seed);
    const { problem } = poseGraph(lw, graph);
    const report = await problem.solve(OPTIONS);
    isHalfChiSquare(report.cost, 6 * graph.edges.length / 2 - graph.poses.length + 6, `seed ${seed}`);
    problem.dispose();
  }
});

test("curves: the parameters that made them, on every backend", async (t) => {
  for (const backend of BACKENDS) {
    const lw = await open(t, { backend });
    for (const seed of SEEDS) {
      const { problem, tables: [b], truth } = dampedWave(lw, seed);
      const report = await problem.solve({ maxIterations: 100 });
      isHalfChiSquare(report.cost / 0.05 ** 2, 196, `${backend}, seed ${seed}`);
      (await b.read()).forEach((value, k) => assert.ok(Math.abs(value - truth[k]) < 0.15, `${backend}, seed ${seed}: ${value} is not ${truth[k]}`));
      problem.dispose();
    }
  }
});
