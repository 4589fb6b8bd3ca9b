// Second derivatives of a term's instances, exact and made positive semidefinite.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BACKENDS, closeTo, open, rejects } from "./support.mjs";

/** ∇²(½ w (‖a − b‖ − l)²) for a − b = e: ±w(uuᵀ + (1 − l/‖e‖)(I − uuᵀ)) with u = e/‖e‖; its eigenvalues are 2w and 2w(1 − l/‖e‖). */
function spring(e, length, weight, semidefinite) {
  const size = Math.hypot(...e);
  const across = semidefinite ? Math.max(0, 1 - length / size) : 1 - length / size;
  return Array.from({ length: 36 }, (_, k) => {
    const [r, c] = [Math.floor(k / 6), k % 6];
    const along = (e[r % 3] * e[c % 3]) / size ** 2;
    const block = weight * (along + across * ((r % 3 === c % 3 ? 1 : 0) - along));
    return (r < 3) === (c < 3) ? block : -block;
  });
}

for (const backend of BACKENDS) {
  test(`Hessians of springs, one compressed and one stretched, on ${backend}`, async (t) => {
    const lw = await open(t, { backend });
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 3, values: [0, 0, 0, 1, 0.5, -0.25, 3, 1, 2] });
    const lengths = [2, 1.5];
    const term = problem.residuals("spring", { over: [0, 1, 1, 2], of: [x, x], data: { length: Float32Array.from(lengths) }, weight: 2 },
      ([a, b], { length }) => a.sub(b).norm().sub(length));
    const edges = [[-1, -0.5, 0.25], [-2, -0.5, -2.25]];
    for (const hessian of ["exact", "psd"]) {
      const found = await term.evaluate({ hessian });
      assert.equal(found.columns, 6);
      assert.equal(found.hessian.length, 2 * 36);
      const expected = edges.flatMap((e, k) => spring(e, lengths[k], 2, hessian === "psd"));
      expected.forEach((value, k) => assert.ok(Math.abs(found.hessian[k] - value) < 1e-5, `${hessian}: entry ${k} is ${found.hessian[k]} instead of ${value}`));
      const plain = await term.evaluate();
      assert.deepEqual(plain.jacobian, found.jacobian);
      assert.deepEqual(plain.residuals, found.residuals);
      assert.ok(!("hessian" in plain));
    }
  });
}

test("Hessians of a curve in f64: the second derivative of ½ (x² − 3)²", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [0.5, 2] });
  const term = problem.residuals("curve", { of: [x] }, ([a]) => a.square().sub(3));
  const { hessian } = await term.evaluate({ hessian: "exact" });
  closeTo(hessian[0], 6 * 0.25 - 6, 1e-14, "at 0.5");
  closeTo(hessian[1], 6 * 4 - 6, 1e-14, "at 2");
  assert.deepEqual(Array.from((await term.evaluate({ hessian: "psd" })).hessian), [0, hessian[1]]);
  await rejects(term.evaluate({ hessian: "gauss" }), "invalid-option", 'hessian: "gauss" is not one of "exact", "psd"', { term: "curve" });
  await rejects(term.evaluate(null), "invalid-option", "term \"curve\": evaluate(options): options must be an object, not null", { term: "curve" });
});
