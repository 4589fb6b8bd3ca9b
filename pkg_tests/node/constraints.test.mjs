// Constraints: equalities and inequalities by the augmented Lagrangian.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column, cos, sin, sum, sumOver } from "leastwise";
import { BACKENDS, closeTo, open, refuses, rejects } from "./support.mjs";

/** A chain that hangs between two points: links of one length, pulled down. */
function chain(lw, links) {
  const problem = lw.problem();
  const values = Array.from({ length: links + 1 }, (_, k) => [(0.8 * k) / links, -0.1 * Math.sin((Math.PI * k) / links)]).flat();
  const x = problem.variables("x", { shape: 2, values });
  x.fix([0, links]);
  const pairs = Array.from({ length: links }, (_, k) => [k, k + 1]).flat();
  // An energy, linear in x: without the links nothing would hold it.
  problem.energy("weight", { of: [x] }, ([p]) => p.y.mul(1 / links));
  const length = 1 / links;
  const link = problem.constrain("links", { over: pairs, of: [x.at(0), x.at(1)], to: "=0" }, ([a, b]) => b.sub(a).normSq().sub(length * length).mul(links));
  return { problem, x, link };
}

for (const backend of BACKENDS) {
  test(`a chain hangs as a catenary, on ${backend}`, async (t) => {
    const lw = await open(t, { backend });
    const single = backend === "webgpu";
    const { problem, x, link } = chain(lw, 10);
    const report = await problem.solve({ feasibilityTolerance: single ? 1e-4 : 1e-9, maxIterations: 500, costTolerance: single ? 1e-6 : 1e-12 });
    assert.ok(report.converged || report.termination === "precision", String(report));
    assert.ok(report.feasibility.violation <= (single ? 1e-4 : 1e-9), String(report));
    const values = await x.read();
    for (let k = 0; k < 10; k++) {
      const length = Math.hypot(values[2 * k + 2] - values[2 * k], values[2 * k + 3] - values[2 * k + 1]);
      closeTo(length, 0.1, single ? 1e-2 : 1e-6, `link ${k}`);
    }
    // It hangs symmetrically, its middle lowest, and every joint is in balance: horizontal forces λ·Δx are the same in all links.
    const multipliers = await link.multipliers();
    assert.equal(multipliers.length, 10);
    const forces = Array.from(multipliers, (multiplier, k) => multiplier * (values[2 * k + 2] - values[2 * k]));
    for (const force of forces) closeTo(force, forces[0], single ? 0.05 : 1e-3, "horizontal force");
    assert.ok(values[11] < values[9] && values[11] < values[13], "its middle is lowest");
    assert.match(String(report), /Constraints: .* left at most/);
    assert.deepEqual(Object.keys(report.costByTerm), ["weight"]);
  });
}

test("inequalities keep points out of a disc, and say which hold", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const count = 40;
  const target = Array.from({ length: count }, (_, k) => [1.5 * Math.cos(k), 1.5 * Math.sin(1.3 * k)]).flat();
  const p = problem.variables("p", { shape: 2, values: target.map((value, k) => value + 0.3 * Math.cos(k)) });
  const goal = problem.constants("goal", { shape: 2, values: target });
  problem.residuals("near", { of: [p, goal] }, ([a, b]) => a.sub(b));
  const outside = problem.constrain("outside", { of: [p], to: ">=0" }, ([a]) => a.normSq().sub(1));
  const report = await problem.solve();
  assert.ok(report.converged, String(report));
  const values = await p.read();
  const multipliers = await outside.multipliers();
  for (let k = 0; k < count; k++) {
    const wanted = Math.hypot(target[2 * k], target[2 * k + 1]);
    const scale = wanted < 1 ? 1 / wanted : 1;
    for (const c of [0, 1]) assert.ok(Math.abs(values[2 * k + c] - scale * target[2 * k + c]) < 1e-5, `point ${k}: ${values[2 * k + c]}`);
    assert.ok(wanted < 1 ? multipliers[k] > 0 : Math.abs(multipliers[k]) < 1e-7, `point ${k}: λ = ${multipliers[k]}`);
  }
});

test("what can't be met is told, with where", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [0.2, 0.4] });
  problem.constrain("wave", { of: [x], to: "=0" }, ([a]) => sin(a).add(cos(a)).sub(3));
  const report = await problem.solve();
  assert.equal(report.termination, "infeasible");
  assert.equal(report.converged, false);
  assert.match(report.reason, /the constraints can't be met from here: .* at term "wave", instance/);
  assert.ok(report.feasibility.violation > 1.5);
});

test("slow is not impossible: far starts, small constraints, and solves that were stopped", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const method of ["lm", "newton", "lbfgs", "nonlinear-cg"]) {
    for (const start of [[3, 0.1], [10, 1]]) {
      const problem = lw.problem();
      const x = problem.variables("x", { shape: 2, values: start });
      problem.energy("downhill", { of: [x] }, ([a]) => a.x.add(a.y));
      problem.constrain("disc", { of: [x], to: "<=0" }, ([a]) => a.normSq().sub(2));
      const report = await problem.solve({ method, maxIterations: 500 });
      const values = await x.read();
      assert.ok(report.converged || report.termination === "precision", `${method} from ${start}: ${report.reason}`);
      for (const value of values) assert.ok(Math.abs(value + 1) < 1e-4, `${method} from ${start}: ${values}`);
    }
  }
  // Where a method does not get along, it says so, and not that there is no solution.
  const disc = lw.problem();
  const inside = disc.variables("x", { shape: 2, values: [3, 0.1] });
  disc.energy("downhill", { of: [inside] }, ([a]) => a.x.add(a.y));
  disc.constrain("disc", { of: [inside], to: "<=0" }, ([a]) => a.normSq().sub(2));
  assert.notEqual((await disc.solve({ method: "dogleg" })).termination, "infeasible");
  for (const factor of [1e-4, 1e-6]) {
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 1, values: [0] });
    problem.residuals("five", { of: [x] }, ([a]) => a.sub(5));
    problem.constrain("two", { of: [x], to: "=0" }, ([a]) => a.sub(2).mul(factor));
    const report = await problem.solve();
    assert.ok(report.converged, `${factor}: ${report.reason}`);
    closeTo((await x.read())[0], 2, 1e-2, `${factor}`);
  }
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [1000] });
  problem.residuals("zero", { of: [x] }, ([a]) => a);
  const four = problem.constrain("four", { of: [x], to: "=0" }, ([a]) => a.square().sub(4));
  for (let k = 0; k < 3; k++) await problem.solve({ timeLimitMs: 0 });
  assert.deepEqual([...await four.multipliers()], [0], "what made no step leaves no multiplier");
  const report = await problem.solve();
  assert.ok(report.converged, report.reason);
  closeTo(Math.abs((await x.read())[0]), 2, 1e-6, "after stops");
});

test("what could not be met does not haunt the next solve", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [0] });
  const above = problem.constrain("above", { of: [x], data: { b: 2 }, to: ">=0" }, ([a], { b }) => a.sub(b));
  problem.constrain("below", { of: [x], to: "<=0" }, ([a]) => a.sub(1));
  assert.equal((await problem.solve()).termination, "infeasible");
  above.set({ b: 0.5 });
  const report = await problem.solve();
  assert.ok(report.converged, report.reason);
});

test("a constrained solve goes on from a checkpoint in its midst", async (t) => {
  const make = async (onIteration) => {
    const lw = await open(t, { backend: "cpu" });
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 2, values: [3, 0.1] });
    problem.energy("downhill", { of: [x] }, ([a]) => a.x.add(a.y));
    const disc = problem.constrain("disc", { of: [x], to: "<=0" }, ([a]) => a.normSq().sub(2));
    return { x, disc, solver: problem.solver({ onIteration }) };
  };
  const saves = [];
  const whole = await make(() => { saves.push(whole.solver.save()); });
  const report = await whole.solver.solve();
  assert.ok(report.converged && report.feasibility.outerIterations > 2, report.reason);
  const files = await Promise.all(saves);
  for (const file of [files[1], files[files.length >> 1], files.at(-1)]) {
    const twin = await make();
    await twin.solver.restore(file);
    const { reason, cost, iterations } = await twin.solver.solve();
    assert.deepEqual([reason, cost, iterations.length], [report.reason, report.cost, report.iterations.length]);
    assert.deepEqual(await twin.x.read(), await whole.x.read());
    assert.deepEqual(await twin.disc.multipliers(), await whole.disc.multipliers());
  }
});

test("an energy that falls without end beside a constraint is told soon", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  // Methods whose steps along a slope grow without end, so that they see it without a constraint, too.
  for (const method of ["lm", "lbfgs"]) {
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 2, values: [0, 0] });
    problem.energy("down", { of: [x] }, ([v]) => v.x.neg());
    problem.constrain("y is 2", { of: [x], to: "=0" }, ([v]) => v.y.sub(2));
    const report = await problem.solve({ method });
    assert.equal(report.termination, "unbounded", `${method}: ${report.reason}`);
    assert.ok(report.iterations.length < 1000, `${method}: ${report.iterations.length} steps`);
    problem.dispose();
  }
});

test("steps of a constrained solve are counted by minimisation, and the reason says so", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: [-1.2, 1] });
  problem.residuals("valley", { of: [x] }, ([v]) => [v.y.sub(v.x.mul(v.x)).mul(10), v.x.sub(1)]);
  problem.constrain("disc", { of: [x], to: "<=0" }, ([v]) => v.normSq().sub(9));
  const report = await problem.solve({ maxIterations: 3 });
  assert.equal(report.termination, "max-iterations");
  assert.match(report.reason, /^maxIterations = 3 steps were tried in the last minimisation; constraints are met/);
});

test("a Lagrangian without a least value is told, and does not haunt the next solve either", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [1] });
  const down = problem.energy("down", { of: [x] }, ([a]) => a.mul(a).mul(a).neg());
  problem.residuals("one", { of: [x] }, ([a]) => a.sub(1));
  const ten = problem.constrain("minus ten", { of: [x], to: ">=0" }, ([a]) => a.add(10));
  const report = await problem.solve({ method: "lbfgs" });
  assert.equal(report.termination, "unbounded", report.reason);
  assert.match(report.reason, /falls without end.*; constraints are met/);
  assert.deepEqual([...await ten.multipliers()], [0]);
  down.enabled = false;
  x.write([3]);
  assert.ok((await problem.solve()).converged);
  closeTo((await x.read())[0], 1, 1e-6, "without the energy");
});

test("curvature may be that of constraints alone, and multipliers stay", async (t) => {
  for (const backend of BACKENDS) {
    const lw = await open(t, { backend });
    const single = backend === "webgpu";
    for (const method of ["lm", "newton"]) {
      // Problem 39 of Hock & Schittkowski: a linear cost.
      const problem = lw.problem();
      const x = problem.variables("x", { shape: 4, values: [2, 2, 2, 2] });
      problem.energy("left", { of: [x] }, ([v]) => v.at(0).neg());
      const both = problem.constrain("both", { of: [x], to: "=0" }, ([v]) => {
        const [a, b, c, d] = [0, 1, 2, 3].map((i) => v.at(i));
        return [b.sub(a.mul(a.square())).sub(c.square()), a.square().sub(b).sub(d.square())];
      });
      const report = await problem.solve({ method });
      assert.ok(report.converged || (single && report.termination === "precision"), `${backend}, ${method}: ${report.reason}`);
      const values = await x.read();
      for (const i of [0, 1]) closeTo(values[i], 1, single ? 1e-3 : 1e-7, `${backend}, ${method}: x${i}`);
      for (const multiplier of await both.multipliers()) closeTo(multiplier, -1, single ? 2e-2 : 1e-6, `${backend}, ${method}: λ`);
    }
  }
});

test("a problem without a cost ends converged, and a flat violation is hinted at", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: [2, 0.3] });
  const circle = problem.constrain("circle", { of: [x], to: "=0" }, ([v]) => v.normSq().sub(1));
  problem.constrain("diagonal", { of: [x], to: "=0" }, ([v]) => v.x.sub(v.y));
  const report = await problem.solve();
  assert.equal(report.termination, "converged", report.reason);
  assert.deepEqual([...(await circle.multipliers())].map((value) => Math.abs(value) < 1e-6), [true]);
  const flat = lw.problem();
  const y = flat.variables("y", { shape: 2, values: [0, 0] });
  flat.residuals("small", { of: [y] }, ([v]) => v);
  flat.constrain("outside", { of: [y], to: ">=0" }, ([v]) => v.normSq().sub(1));
  const stuck = await flat.solve();
  assert.equal(stuck.termination, "infeasible");
  assert.match(stuck.reason, /the constraint's gradient is 0 here, so no direction is known that leads to it: begin elsewhere$/);
});

test("rows of entries are constrained", async (t) => {
  for (const backend of BACKENDS) {
    const lw = await open(t, { backend });
    const exactness = backend === "webgpu" ? 2e-3 : 1e-6;
    const problem = lw.problem();
    // Three groups of one, two and three numbers, whose sums of squares are given.
    const x = problem.variables("x", { shape: 1, values: [1, 2, 3, 1, 1, 2] });
    problem.residuals("small", { of: [x] }, ([a]) => a);
    const groups = { offsets: [0, 1, 3, 6], indices: [0, 1, 2, 3, 4, 5] };
    const norms = problem.constrain("norms", { of: [x.rows(groups)], data: { r: column([1, 2, 3], 1) }, to: "=0" }, ([row], { r }) => sum(row.map((a) => a.square())).sub(r.square()));
    for (const radii of [[1, 2, 3], [2, 1, 0.5]]) {
      norms.set({ r: new Float64Array(radii) });
      const report = await problem.solve();
      assert.ok(report.converged || report.termination === "precision", `${backend}: ${report.reason}`);
      const values = await x.read();
      radii.forEach((radius, k) => closeTo(Math.hypot(...values.slice(groups.offsets[k], groups.offsets[k + 1])), radius, exactness, `${backend}, group ${k}`));
      // x + 2λx = 0.
      for (const multiplier of await norms.multipliers()) closeTo(multiplier, -0.5, 10 * exactness, `${backend}: λ`);
    }
  }
});

test("the best of several starts meets its constraints", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [0] });
  problem.residuals("small", { of: [x] }, ([a]) => a);
  problem.constrain("three", { of: [x], to: "=0" }, ([a]) => a.mul(a).mul(a).sub(a.mul(3)).sub(18));
  const { best, report } = await problem.multiStart({ starts: [[[x, [-1.2]]], [[x, [4]]]] });
  assert.ok(report.converged, report.reason);
  closeTo((await x.read())[0], 3, 1e-6, `start ${best}`);
});

test("wrong constraints are refused", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [1] });
  const place = { term: "c" };
  refuses(() => problem.constrain("c", { of: [x] }, ([a]) => a), "invalid-option", 'term "c": `to` says what a constraint is compared with: "=0", "<=0" or ">=0", not undefined', place);
  refuses(() => problem.constrain("c", { of: [x.each({ offsets: [0, 1], indices: [0] })], to: "=0" }, ([a]) => sumOver(a, (entry) => entry)), "invalid-option", /a constraint can't sum over rows of any length: take their entries by \.rows/, place);
  const c = problem.constrain("c", { of: [x], to: "<=0" }, ([a]) => a);
  c.dispose();
  await rejects(c.multipliers(), "disposed", /term "c" was disposed/, place);
});
