// Small devices: 1 MiB a binding, 64 invocations a workgroup, 256 workgroups a dimension.
import assert from "node:assert/strict";
import { test } from "node:test";
import { arap, arapCost, arapMesh, BACKENDS, closeTo, icosphere, open, refuses, rejects } from "./support.mjs";

const SMALL = { bindingBytes: 1 << 20, groupSize: 64, groupsPerDimension: 256 };

for (const backend of BACKENDS) {
  test(`${backend} with small limits: a term in several chunks, the same answer`, async (t) => {
    const mesh = arapMesh(icosphere(5));                // 61,440 directed edges of 12 stored numbers: beyond one binding
    const costs = [];
    for (const limits of [undefined, SMALL]) {
      const lw = await open(t, { backend, ...(limits && { limits }) });
      const it = arap(lw, mesh);
      const { chunks } = lw.native.describeTerm(it.problem.handle, it.rigid.handle);
      assert.equal(chunks > 1, limits === SMALL, `${chunks} chunks`);
      const report = await it.problem.solve({ preconditioner: "block-jacobi", maxIterations: 2 });
      assert.equal(report.iterations.length, 2);
      const cost = arapCost(mesh, await it.x.read(), await it.turn.read());
      assert.ok(cost < 0.5 * report.initialCost, String(report));
      closeTo(report.cost, cost, 1e-4, "the report's cost, against f64");
      costs.push(cost);
      assert.equal((await it.rigid.worst(1e6)).length, it.rigid.count, "every instance of every chunk is found");
      lw.dispose();
    }
    // Of so many unknowns the motions of patches are more than a binding holds: "auto" does without, and says why.
    const lw = await open(t, { backend, limits: SMALL });
    const { problem } = arap(lw, mesh);
    await rejects(problem.solve({ preconditioner: "two-level" }), "limits", /^preconditioner "two-level": motions of patches need \d+ bytes/);
    const report = await problem.solve({ linear: "pcg", maxIterations: 1 });
    assert.equal(report.preconditioner, "block-jacobi");
    assert.match(report.preconditionerReason, /motions of patches need/);
    closeTo(costs[1], costs[0], 1e-3, "small limits, against the device's own");
  });

  test(`${backend} with small limits: what does not fit says so`, async (t) => {
    const lw = await open(t, { backend, limits: SMALL });
    const problem = lw.problem();
    refuses(() => problem.variables("x", { shape: 3, values: new Float32Array(3 << 20) }), "limits",
      '"x": all variables and constants together exceed one buffer binding (1048576 bytes)');
    const x = problem.variables("x", { shape: 1, values: [1] });
    problem.residuals("t", { of: [x] }, ([a]) => a);
    assert.equal((await problem.solve()).converged, true);
  });
}
