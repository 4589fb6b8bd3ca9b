// What conjugate gradients are preconditioned by: the same solutions, in far fewer inner iterations, and the report says which and why.
import assert from "node:assert/strict";
import { test } from "node:test";
import { arap, arapMesh, BACKENDS, closeTo, engineOf, icosphere, open } from "./support.mjs";

const inner = (report) => report.iterations.reduce((sum, it) => sum + it.innerIterations, 0);

for (const backend of BACKENDS) {
  test(`${backend}: two levels take fewer inner iterations to the same cost`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const mesh = arapMesh(icosphere(3));
    const solved = {};
    for (const preconditioner of ["block-jacobi", "two-level"]) {
      const { problem } = arap(lw, mesh);
      const report = await problem.solve({ preconditioner, forcing: 1e-3, costTolerance: 1e-6, maxIterations: 200 });
      assert.equal(report.linear, "pcg");
      assert.equal(report.preconditioner, preconditioner);
      assert.equal(report.preconditionerReason, "it was asked for");
      assert.ok(String(report).includes(`\nPreconditioner: ${preconditioner} (it was asked for)\n`), String(report));
      solved[preconditioner] = report;
    }
    const { "block-jacobi": jacobi, "two-level": two } = solved;
    closeTo(two.cost, jacobi.cost, 1e-3, "the cost with two levels, against that with one");
    assert.ok(2 * inner(two) < inner(jacobi), `${inner(two)} inner iterations, against ${inner(jacobi)}`);
  });
}

test("live steps have two levels, too", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { problem } = arap(lw, arapMesh(icosphere(3)));
  const solver = problem.solver({ preconditioner: "two-level" });
  // Frames do nothing while kernels are being compiled; a step waits for them.
  await solver.step();
  for (let frame = 0; frame < 40; frame++) solver.advance({ iterations: 1, budgetMs: 1e4 });
  const live = await solver.report();
  const whole = await arap(lw, arapMesh(icosphere(3))).problem.solve({ linear: "sparse-cholesky", maxIterations: 100 });
  assert.equal(live.preconditioner, "two-level");
  closeTo(live.cost, whole.cost, 1e-2, "the cost after live steps");
});

test("a frozen factor stays from step to step", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { problem } = arap(lw, arapMesh(icosphere(2)));
  const report = await problem.solve({ preconditioner: "frozen-factor" });
  const factorised = await arap(lw, arapMesh(icosphere(2))).problem.solve({ linear: "sparse-cholesky" });
  assert.equal(report.linear, "assembled-pcg");
  assert.ok(report.factorizations >= 1 && report.factorizations < report.iterations.length, `${report.factorizations} factors in ${report.iterations.length} steps`);
  assert.match(String(report), /\nPreconditioner: frozen-factor \(it was asked for; \d+ factors were made\)\n/);
  closeTo(report.cost, factorised.cost, 1e-3, "the cost, against that with a factor a step");
  assert.equal(factorised.preconditioner, undefined);
});
