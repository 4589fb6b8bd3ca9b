// Constraints in covariances, gradients through a solve, and graduated solves: against answers in closed form.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column } from "leastwise";
import { BACKENDS, closeTo, open, rejects } from "./support.mjs";

/** The angles of a triangle, measured; their sum is known. */
function triangle(lw, measured = [1.1, 0.9, 1.2]) {
  const problem = lw.problem();
  const angle = problem.variables("angle", { shape: 1, values: [1, 1, 1] });
  const seen = problem.residuals("seen", { of: [angle], data: { m: column(measured, 1) } }, ([a], { m }) => a.sub(m));
  const sum = problem.constrain("sum", { over: [0, 1, 2], of: [angle.at(0), angle.at(1), angle.at(2)], data: { total: Math.PI }, to: "=0" }, ([a, b, c], { total }) => a.add(b).add(c).sub(total));
  return { problem, angle, seen, sum };
}

for (const backend of BACKENDS) {
  const single = backend === "webgpu";

  test(`a triangle's angles share what their sum tells, on ${backend}`, async (t) => {
    const lw = await open(t, { backend });
    const { problem, angle, sum } = triangle(lw);
    await problem.solve();
    const marginals = await problem.marginals({ variance: 1 });
    t.after(() => marginals.dispose());
    // I − eeᵀ/3: two degrees of freedom are left of three.
    const joint = await marginals.joint([angle]);
    joint.forEach((value, k) => closeTo(value, k % 4 === 0 ? 2 / 3 : -1 / 3, 1e-12, `entry ${k}`));
    assert.deepEqual([marginals.equalities, marginals.redundant, marginals.unknowns, marginals.residuals], [1, 0, 3, 3]);
    assert.ok(marginals.violation < 1e-5, `${marginals.violation}`);
    // 3 rows, 3 unknowns and an equality leave one degree of freedom, with which σ² is known.
    const found = await problem.marginals();
    // The solve ends by its tolerances.
    closeTo(found.variance, (Math.PI - 3.2) ** 2 / 3, single ? 1e-5 : 1e-7, "σ²");
    found.dispose();
    // The same once more tells nothing more.
    problem.constrain("half the sum", { over: [0, 1, 2], of: [angle.at(0), angle.at(1), angle.at(2)], to: "=0" }, ([a, b, c]) => a.add(b).add(c).mul(0.5).sub(Math.PI / 2));
    await problem.solve();
    const again = await problem.marginals({ variance: 1 });
    t.after(() => again.dispose());
    assert.deepEqual([again.equalities, again.redundant], [2, 1]);
    closeTo((await again.covariance(angle, [0]))[0], 2 / 3, 1e-12, "with what is redundant");
    // Half the sum tells as much as the sum.
    sum.enabled = false;
    const half = await problem.marginals({ variance: 1 });
    t.after(() => half.dispose());
    assert.deepEqual([half.equalities, half.redundant], [1, 0]);
    (await half.joint([angle])).forEach((value, k) => closeTo(value, k % 4 === 0 ? 2 / 3 : -1 / 3, 1e-12, `entry ${k} of half the sum`));
    // One that asks for another sum is not redundant: there is no solution.
    problem.constrain("another sum", { over: [0, 1, 2], of: [angle.at(0), angle.at(1), angle.at(2)], to: "=0" }, ([a, b, c]) => a.add(b).add(c).sub(4));
    const other = await problem.marginals({ variance: 1 });
    t.after(() => other.dispose());
    assert.deepEqual([other.equalities, other.redundant], [2, 0]);
    assert.ok(Math.abs(other.violation - (4 - Math.PI)) < 1e-4, `${other.violation}`);
    const gradients = await problem.backward([[angle, [1, 0, 0]]]);
    assert.deepEqual([gradients.equalities, gradients.redundant, gradients.stationary], [2, 0, false]);
  });

  test(`the nearest point of a circle moves with its radius, on ${backend}`, async (t) => {
    const lw = await open(t, { backend });
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 2, values: [1, 0.5] });
    const near = problem.residuals("near", { of: [x], data: { p: column([3, 4], 2) } }, ([v], { p }) => v.sub(p));
    const circle = problem.constrain("circle", { of: [x], data: { r: 2 }, to: "=0" }, ([v], { r }) => v.normSq().sub(r.square()));
    await problem.solve(single ? {} : { costTolerance: 1e-14, feasibilityTolerance: 1e-10 });
    // x* = r p/|p|, and L = a·x*.
    const a = [0.3, -1.1];
    const gradients = await problem.backward([[x, a]]);
    assert.ok(gradients.stationary && gradients.equalities === 1 && gradients.redundant === 0 && gradients.violation < 1e-10, `${gradients.distance}`);
    const exact = 1e-9;
    closeTo(gradients.of(circle).r[0], a[0] * 0.6 + a[1] * 0.8, exact, "dL/dr");
    // dx*/dp = r (I − uuᵀ)/|p|.
    const along = a[0] * 0.6 + a[1] * 0.8;
    [0.6, 0.8].forEach((u, k) => closeTo(gradients.of(near).p[k], (2 / 5) * (a[k] - u * along), exact, `dL/dp${k}`));
    assert.deepEqual([...gradients.of(circle).weight], [0]);
    assert.deepEqual(Object.keys(gradients.of(circle)), ["r", "weight"]);
    // A limit of the same kind: inside of it nothing depends on it.
    circle.enabled = false;
    const disc = problem.constrain("disc", { of: [x], data: { r: 6 }, to: "<=0" }, ([v], { r }) => v.norm().sub(r));
    await problem.solve();
    const inside = await problem.backward([[x, a]]);
    assert.deepEqual([inside.equalities, ...inside.of(disc).r], [0, 0]);
    disc.set({ r: 4 });
    await problem.solve(single ? {} : { costTolerance: 1e-14, feasibilityTolerance: 1e-10 });
    const outside = await problem.backward([[x, a]]);
    assert.equal(outside.equalities, 1);
    closeTo(outside.of(disc).r[0], along, exact, "dL/dr of the disc");
  });

  test(`a line through a known point is found among outliers, on ${backend}`, async (t) => {
    const lw = await open(t, { backend });
    const problem = lw.problem();
    const line = problem.variables("line", { shape: 2, values: [0, 0] });
    const count = 60;
    const isWrong = (k) => k % 5 < 2;
    const at = Array.from({ length: count }, (_, k) => -3 + (6 * k) / (count - 1));
    const seen = at.map((x, k) => (isWrong(k) ? 6 - x + 2 * Math.sin(7 * k) : 0.5 * x + 2 + 0.02 * Math.sin(3 * k)));
    const points = problem.residuals("points", { of: [line], data: { x: column(at, 1), y: column(seen, 1) } }, ([l], { x, y }) => l.x.mul(x).add(l.y).sub(y));
    const through = problem.constrain("through", { of: [line], data: { x: 2, y: 3 }, to: "=0" }, ([l], { x, y }) => l.x.mul(x).add(l.y).sub(y));
    const graduated = await problem.solveGraduated({ suspects: [{ term: points, threshold: 0.1 }] });
    const inliers = graduated.inliers(points);
    at.forEach((_, k) => assert.equal(inliers[k], isWrong(k) ? 0 : 1, `point ${k}`));
    const [slope, height] = await line.read();
    closeTo(slope, 0.5, 0.02, "slope");
    closeTo(2 * slope + height, 3, single ? 1e-5 : 1e-8, "the known point");
    assert.ok(graduated.report.feasibility.violation <= (single ? 1e-5 : 1e-8), String(graduated.report));
    assert.ok(["binary", "settled"].includes(graduated.ending), graduated.ending);
    // A constraint is no suspect, and one that can't be met ends it all.
    await rejects(problem.solveGraduated({ suspects: [{ term: through, threshold: 1 }] }), "invalid-option", /"through" is a constraint, which holds whatever the weights are/);
    problem.constrain("beside", { of: [line], to: "=0" }, ([l]) => l.x.mul(2).add(l.y).sub(4));
    const unmet = await problem.solveGraduated({ suspects: [{ term: points, threshold: 0.1 }] });
    assert.deepEqual([unmet.ending, unmet.report.termination], ["infeasible", "infeasible"]);
  });
}

test("unknowns of a table have sizes of their own", async (t) => {
  for (const backend of BACKENDS) {
    const lw = await open(t, { backend });
    // A focal length in pixels beside a distortion, which a constraint holds.
    const problem = lw.problem(), camera = problem.variables("camera", { shape: 2, values: [1500, 0.01] });
    const prior = problem.residuals("prior", { of: [camera], data: { p: column([1500, 0.011], 2) } }, ([c], { p }) => c.sub(p));
    problem.constrain("distortion", { of: [camera], to: "<=0" }, ([c]) => c.at(1).sub(0.01));
    await problem.solve();
    const marginals = await problem.marginals({ variance: 1 });
    t.after(() => marginals.dispose());
    assert.equal(marginals.equalities, 1, backend);
    closeTo((await marginals.covariance(camera, [0]))[3], 0, 1e-9, `variance on ${backend}`);
    const gradients = await problem.backward([[camera, [0, 1]]]);
    assert.deepEqual([gradients.equalities, gradients.stationary], [1, true], backend);
    closeTo(gradients.of(prior).p[1], 0, 1e-9, `dL/dp on ${backend}`);
  }
});

test("solutions at the origin are stationary, and rows that agree there are redundant", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem(), x = problem.variables("x", { shape: 1, values: [1, 2] });
  problem.residuals("small", { of: [x] }, ([x]) => x);
  problem.constrain("sum", { over: [0, 1], of: [x.at(0), x.at(1)], to: "=0" }, ([a, b]) => a.add(b));
  await problem.solve();
  const gradients = await problem.backward([[x, [1, 0]]]);
  assert.deepEqual([gradients.equalities, gradients.redundant, gradients.stationary], [1, 0, true]);
  problem.constrain("twice the sum", { over: [0, 1], of: [x.at(0), x.at(1)], to: "=0" }, ([a, b]) => a.add(b).mul(2).add(0.1).add(0.2).sub(0.3));
  await problem.solve();
  const again = await problem.backward([[x, [1, 0]]]);
  assert.deepEqual([again.equalities, again.redundant, again.stationary], [2, 1, true]);
});

test("what constraints alone are is no covariance", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { problem, seen } = triangle(lw);
  seen.enabled = false;
  await rejects(problem.marginals(), "empty-term", /enabled residual terms/);
});
