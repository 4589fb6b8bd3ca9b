// Bundles that are made by seed, on a ring and in a city, with outliers and a loss: every linear solver comes to the same cost, and
// conjugate gradients on the Schur complement take fewer iterations than those on the whole matrix.
import assert from "node:assert/strict";
import { test } from "node:test";
import { huber } from "leastwise";
import { bundle } from "../problems/bundle.mjs";
import { generatedBundle } from "../problems/bundles.mjs";
import { BACKENDS, closeTo, engineOf, ON_CUDA, open } from "./support.mjs";

const inner = (report) => report.iterations.reduce((sum, it) => sum + it.innerIterations, 0);
const SCENES = [["ring", { cameras: 10, points: 150 }], ["city", { cameras: 48, points: 400 }]];

for (const backend of BACKENDS) {
  test(`${backend}: generated bundles come to the same cost with every linear solver`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const isExact = backend !== "webgpu";
    for (const [kind, sizes] of SCENES) {
      const data = generatedBundle(7, { kind, ...sizes, outliers: 0.03 });
      const solved = async (options) => {
        const { problem, point } = bundle(lw, data, huber(2));
        const report = await problem.solve({ forcing: 1e-3, costTolerance: 1e-7, maxIterations: 60, maxInnerIterations: 2000, ...options, ...(options.linear.startsWith("schur") && { eliminate: [point] }) });
        problem.dispose();
        return report;
      };
      const complement = await solved({ linear: "schur-pcg" });
      assert.deepEqual([complement.linear, complement.preconditioner], ["schur-pcg", "schur-jacobi"]);
      assert.ok(complement.cost < 0.8 * complement.initialCost, `${kind}: ${complement}`);
      const direct = await solved({ linear: "schur", forcing: undefined });
      // Where a GPU is, what is left is formed there, and its factor alone is the host's.
      assert.equal(direct.linearReason, `it was asked for${backend === "webgpu" || ON_CUDA ? ", S is formed on the device" : ""}`);
      closeTo(complement.cost, direct.cost, isExact ? 1e-3 : 1e-2, `${kind}: the cost, against that with a factor`);
      // Of the first steps, which are nearly the same ones.
      const [whole, reduced] = [await solved({ linear: "pcg", maxIterations: 4 }), await solved({ linear: "schur-pcg", maxIterations: 4 })];
      assert.ok(inner(reduced) < inner(whole), `${kind}: ${inner(reduced)} inner iterations, against ${inner(whole)}`);
    }
  });
}

test("live steps are made on the Schur complement, too", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { problem } = bundle(lw, generatedBundle(3, { cameras: 8, points: 100 }));
  const solver = problem.solver({ linear: "schur-pcg" });
  const first = await solver.step();
  for (let frame = 0; frame < 10; frame++) solver.advance({ iterations: 1, budgetMs: 1e4 });
  const live = await solver.report();
  assert.equal(live.linear, "schur-pcg");
  assert.ok(live.cost <= first.cost);
});

test("the same bundle is made of the same seed", () => {
  const [one, two, other] = [5, 5, 6].map((seed) => generatedBundle(seed, { kind: "city", cameras: 40, points: 100 }));
  assert.deepEqual(one, two);
  assert.notDeepEqual(one.points, other.points);
  // Views in the order of their points, each of two at least.
  const points = Array.from({ length: one.pairs.length / 2 }, (_, k) => one.pairs[2 * k + 1]);
  assert.deepEqual(points, [...points].sort((a, b) => a - b));
  assert.ok(points.every((point, k) => point === points[k - 1] || point === points[k + 1]));
});
