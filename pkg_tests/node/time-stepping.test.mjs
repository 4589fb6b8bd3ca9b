// Time stepping: values that are handed on from frame to frame on the device, full curvature, resets.
import assert from "node:assert/strict";
import { test } from "node:test";
import { quaternion, sumOver } from "leastwise";
import { BACKENDS, closeTo, open, refuses } from "./support.mjs";

/** A chain of points that hangs by its first one, stretched; `frame()` makes two steps of implicit Euler. */
function chain(lw, curvature) {
  const problem = lw.problem(), start = Float64Array.from({ length: 24 }, (_, k) => (k % 2 ? 0 : k / 2)), h = 1 / 30;
  const x = problem.variables("x", { shape: 2, values: start });
  const last = problem.constants("last", { shape: 2, values: start }), ahead = problem.constants("ahead", { shape: 2, values: start });
  problem.residuals("springs", { over: Array.from({ length: 11 }, (_, k) => [k, k + 1]), of: [x, x], weight: 40, curvature }, ([a, b]) => a.sub(b).norm().sub(1));
  problem.residuals("inertia", { of: [x, ahead], data: { fall: [0, -9.81 * h * h] }, weight: 0.1 / h ** 2 }, ([p, ahead], { fall }) => p.sub(ahead).sub(fall));
  x.fix([0]);
  const solver = problem.solver({ method: "newton", forcing: 1e-6 });
  let made = 0;
  // While kernels compile or two calls are under way no step is begun; the next frame of a page comes later.
  const advance = async () => {
    for (let k = 0; k < 2000; k++) {
      const steps = solver.advance({ iterations: 2, budgetMs: Infinity }), all = steps ? steps.accepted + steps.rejected + steps.unfinished : 0;
      if (all > made) { made = all; return; }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    assert.fail("no live step is made");
  };
  const frame = () => {
    ahead.copyFrom([[2, x], [-1, last]]);
    last.copyFrom(x);
    x.copyFrom(ahead);
    return advance();
  };
  return { problem, x, last, ahead, solver, frame, start };
}

for (const backend of BACKENDS) {
  test(`${backend}: frames hand on their values without a readback`, async (t) => {
    const lw = await open(t, { backend });
    const { x, last, ahead, solver, frame } = chain(lw, "full");
    await solver.report();
    const before = lw.counters().readbacks;
    for (let k = 0; k < 10; k++) await frame();
    assert.equal(lw.counters().readbacks, before);
    const [now, then] = [await x.read({ as: "f64" }), await last.read({ as: "f64" })];
    ahead.copyFrom([[2, x], [-1, last]]);
    (await ahead.read({ as: "f64" })).forEach((value, k) => closeTo(value + 10, 2 * now[k] - then[k] + 10, 1e-6, `component ${k}`));
    assert.ok(now[23] < -0.3 && then[23] > now[23], `the end falls: ${now[23]}, ${then[23]}`);
  });

  test(`${backend}: a solver that was reset begins as a new one`, async (t) => {
    const lw = await open(t, { backend });
    const { x, solver, start } = chain(lw, "full");
    const moved = start.map((value, k) => value + (k > 1 ? 0.4 * Math.sin(5 * k) : 0));
    const steps = async () => {
      x.write(moved);
      const numbers = [];
      for (let k = 0; k < 2; k++) numbers.push((({ cost, damping }) => ({ cost, damping }))(await solver.step()));
      return numbers;
    };
    const first = await steps();
    solver.reset();
    assert.deepEqual(await steps(), first);
  });
}

for (const backend of BACKENDS) {
  test(`${backend}: constraints that come between a solve and a reset hold`, async (t) => {
    const lw = await open(t, { backend });
    const { problem, x, solver } = chain(lw, "full");
    const lowest = async () => Math.min(...(await x.read({ as: "f64" })).filter((_, k) => k % 2));
    await solver.solve();
    const free = await lowest();
    assert.ok(free < -0.005, `without a floor it falls to ${free}`);
    problem.constrain("floor", { of: [x], to: ">=0" }, ([p]) => p.y.add(0.004));
    solver.reset();
    const report = await solver.solve();
    assert.equal(report.termination, "converged", report.reason);
    assert.ok(Math.abs(await lowest() + 0.004) < 1e-4, `it lies on the floor: ${await lowest()}`);
  });

  test(`${backend}: a renderer that asks for the buffer before the kernel of copies is compiled loses nothing`, async (t) => {
    const lw = await open(t, { backend }, { fresh: true });
    const { x, last, solver, start } = chain(lw, "full");
    x.write(start.map((value) => value + 1));
    last.copyFrom(x);
    assert.equal(x.buffer === undefined, backend !== "webgpu");
    assert.ok(Number.isFinite((await solver.report()).cost));
    assert.deepEqual([...await last.read({ as: "f64" })], [...start].map((value) => value + 1));
  });
}

test("what can't be copied, and what has no choice of curvature, is refused", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { problem, x, last } = chain(lw);
  const other = lw.problem().constants("other", { shape: 2, values: [0, 0] }), few = problem.constants("few", { shape: 2, values: [0, 0] });
  const turns = ["p", "q"].map((name) => problem.variables(name, { shape: quaternion, values: [0, 0, 0, 1] }));
  refuses(() => x.copyFrom(few), "shape", /12 instances of 2 can't be made of "few"/);
  refuses(() => x.copyFrom([[1, other]]), "foreign-variable", /"other" of another problem/);
  refuses(() => x.copyFrom([[1, x], [last, 1]]), "shape", /from\[1\] must be a number and a table/);
  refuses(() => x.copyFrom([]), "shape", /1 to 16 tables/);
  refuses(() => x.copyFrom(3), "invalid-option", /must be a table, or a list/);
  refuses(() => turns[0].copyFrom([[0.5, turns[1]], [0.5, turns[0]]]), "shape", /a manifold/);
  turns[0].copyFrom(turns[1]);
  refuses(() => problem.energy("e", { of: [x], curvature: "full" }, ([p]) => p.normSq()), "invalid-option", /exact Hessian always/, { term: "e" });
  refuses(() => problem.constrain("c", { of: [x], to: ">=0", curvature: "full" }, ([p]) => p.y), "invalid-option", /a constraint's steps take its exact Hessian always/, { term: "c" });
  refuses(() => problem.residuals("r", { of: [x], curvature: "half" }, ([p]) => p), "invalid-option", /curvature/, { term: "r" });
  refuses(() => problem.residuals("s", { of: [x.each({ offsets: [0, 2], indices: [0, 1] })], curvature: "full" }, ([rows]) => sumOver(rows, (p) => p)), "shape", /curvature "full"/);
});
