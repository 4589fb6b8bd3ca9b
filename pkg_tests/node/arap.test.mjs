// The main job: as-rigid-as-possible deformation of real and generated meshes, on every backend, judged in f64.
import assert from "node:assert/strict";
import { test } from "node:test";
import bunny from "bunny";
import { arap, arapCost, arapMesh, BACKENDS, closeTo, icosphere, open } from "./support.mjs";

// The bunny on WebGPU, whose adapter may be in software, is what `npm run demo` solves and holds to the CPU.
const meshes = [["bunny", bunny, BACKENDS.filter((backend) => backend !== "webgpu")], ["icosphere of 642 vertices", icosphere(3), BACKENDS]];

for (const [name, raw, backends] of meshes) {
  test(`${name}: all backends reach the same cost`, async (t) => {
    const mesh = arapMesh(raw);
    const costs = {};
    for (const backend of backends) {
      await t.test(backend, async (t) => {
        const lw = await open(t, { backend });
        const { problem, x, turn } = arap(lw, mesh);
        const report = await problem.solve({ linear: "pcg", costTolerance: 1e-7, maxIterations: 200 });
        assert.equal(report.termination, "converged", String(report));
        assert.equal(report.converged, true);
        const start = arapCost(mesh, mesh.rest, new Float32Array(mesh.rest.length));
        const cost = arapCost(mesh, await x.read(new Float64Array(mesh.rest.length)), await turn.read());
        closeTo(report.initialCost, start, 1e-5, "initial cost");
        closeTo(report.cost, cost, 1e-4, "the report's cost, against f64");
        closeTo(report.costByTerm.arap + report.costByTerm.handles, report.cost, 1e-5, "the sum of the terms' costs");
        assert.ok(cost < 0.05 * start, `${cost} is no solution: it started at ${start}`);
        costs[backend] = cost;
      });
    }
    for (const backend of backends) closeTo(costs[backend], costs[backends[0]], 1e-3, `the cost on ${backend}, against that on ${backends[0]}`);
  });
}

test("the report's iterations are the solve's story", async (t) => {
  const mesh = arapMesh(icosphere(2));
  const lw = await open(t, { backend: "cpu" });
  const seen = [];
  const { problem } = arap(lw, mesh);
  const report = await problem.solve({ onIteration: (it) => { seen.push(it); } });
  assert.deepEqual(report.iterations, seen);
  let cost = report.initialCost;
  for (const [k, it] of seen.entries()) {
    assert.equal(it.index, k);
    if (it.accepted) {
      closeTo(it.cost - cost, it.costChange, 1e-6, `cost change of iteration ${k}`);
      assert.ok(it.cost < cost);
    } else {
      assert.equal(it.cost, cost);
    }
    assert.ok(it.innerIterations > 0 && it.damping > 0 && it.stepNorm > 0 && it.gradientNorm > 0);
    cost = it.cost;
  }
  // Iterations add up what each step changed; the report's cost is a sum over the terms at the end.
  closeTo(report.cost, cost, 1e-14, "cost at the end");
  const lines = String(report).split("\n");
  assert.match(lines[0], /^Leastwise: lm \+ sparse-cholesky \(about .* entries in the factor\) on (cpu|cuda), f64$/);
  assert.match(lines[1], /^ *iter +cost +cost change +\|gradient\| +\|step\| +damping +gain +inner +ms$/);
  assert.match(lines.at(-1), /^Termination: converged \(.+\)$/);
  for (const key of ["traceMs", "compileMs", "solveMs"]) assert.ok(report.time[key] >= 0, key);
  assert.ok(report.time.traceMs > 0 && report.time.solveMs > 0);
  assert.deepEqual(JSON.parse(JSON.stringify(report)).iterations, JSON.parse(JSON.stringify(seen)));
});
