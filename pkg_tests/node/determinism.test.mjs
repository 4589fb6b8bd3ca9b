// The same machine and input give the same bits: in one process and in fresh ones.
import assert from "node:assert/strict";
import { test } from "node:test";
import { arap, arapMesh, BACKENDS, FULL, icosphere, inFreshProcess, open } from "./support.mjs";
import { SCENES } from "../problems/suite.mjs";

for (const backend of BACKENDS) {
  const processes = FULL ? 3 : 2;
  test(`${processes} fresh processes on ${backend} give the same bits`, async () => {
    const runs = [];
    for (let k = 0; k < processes; k++) runs.push(await inFreshProcess("fresh/solve.mjs", [backend]));
    assert.match(runs[0], /^[0-9a-f]{64} converged \d+$/);
    assert.deepEqual(runs, runs.map(() => runs[0]));
  });

  test(`three solves in one process on ${backend} give the same bits`, async (t) => {
    const lw = await open(t, { backend });
    const runs = [];
    for (let k = 0; k < 3; k++) {
      const { problem, x } = arap(lw, arapMesh(icosphere(2)));
      const report = await problem.solve({ maxIterations: 8 });
      runs.push({ values: await x.read(), iterations: report.iterations.map(({ ms, ...numbers }) => numbers) });
      if (k === 1) problem.dispose();                   // what lives beside a problem changes nothing either
    }
    assert.deepEqual(runs[1], runs[0]);
    assert.deepEqual(runs[2], runs[0]);
  });
}

for (const engine of [{ backend: "cpu" }, { backend: "cpu", precision: "f32" }, { backend: "webgpu" }]) {
  const isShort = engine.backend === "webgpu" && !FULL;
  test(`${isShort ? "some kinds" : "every kind"} of problem ${isShort ? "give" : "gives"} the same bits in two fresh processes on ${JSON.stringify(engine)}`, async () => {
    // A software adapter takes seconds for a step with eigenvalues, and to compile any.
    const without = SCENES.map(({ name }) => name).filter((name) => engine.backend === "webgpu" && (name === "developability" || (isShort && !["fairing", "many Gaussians", "bundle adjustment"].includes(name))));
    const run = () => inFreshProcess("fresh/suite.mjs", [JSON.stringify(engine), ...without]);
    const first = await run();
    assert.equal(first.split("\n").length, SCENES.length - without.length);
    assert.equal(await run(), first);
  });
}

test("the f32 CPU backend is a backend of its own precision", async (t) => {
  const costs = {};
  for (const precision of ["f32", "f64"]) {
    const lw = await open(t, { backend: "cpu", precision });
    assert.equal(lw.precision, precision);
    const { problem } = arap(lw, arapMesh(icosphere(1)));
    const report = await problem.solve({ costTolerance: 1e-7, maxIterations: 100 });
    assert.equal(report.precision, precision);
    costs[precision] = report.cost;
  }
  assert.notEqual(costs.f32, costs.f64);
  assert.ok(Math.abs(costs.f32 / costs.f64 - 1) < 1e-3, JSON.stringify(costs));
});
