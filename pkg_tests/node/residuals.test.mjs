// Other residuals than the main job's: springs, an edge Laplacian, and one that uses every operation.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column, cos, mat3, rotateXYZ, select, sin, sqrt, sum, vec } from "leastwise";
import { edges } from "leastwise/mesh";
import { BACKENDS, closeTo, icosphere, open } from "./support.mjs";

const { positions, cells } = icosphere(2);
const rest = Float32Array.from(positions.flat());
const pairs = edges(cells.flat());
const count = rest.length / 3;
const at = (values, i) => [values[3 * i], values[3 * i + 1], values[3 * i + 2]];
const distance = (values, i, j) => Math.hypot(...at(values, i).map((c, k) => c - at(values, j)[k]));
const edgeList = Array.from({ length: pairs.length / 2 }, (_, e) => [pairs[2 * e], pairs[2 * e + 1]]);

for (const backend of BACKENDS) {
  test(`springs on ${backend}: a sphere that wants to be twice as large, one vertex held`, async (t) => {
    const lw = await open(t, { backend });
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 3, values: rest });
    const lengths = Float32Array.from(edgeList, ([i, j]) => 2 * distance(rest, i, j));
    problem.residuals("spring", { over: pairs, of: { a: x, b: x }, data: { length: lengths } },
      ({ a, b }, { length }) => a.sub(b).norm().sub(length));
    problem.residuals("held", { of: [x.at([0])], data: { here: [1, 2, 3] }, weight: 10 }, ([p], { here }) => p.sub(here));
    const report = await problem.solve({ maxIterations: 100 });
    assert.equal(report.termination, "converged", String(report));
    const found = await x.read();
    const cost = edgeList.reduce((sum, [i, j], e) => sum + (distance(found, i, j) - lengths[e]) ** 2 / 2, 0);
    assert.ok(cost < 1e-6, `the springs are still stretched: ${cost}`);
    at(found, 0).forEach((c, k) => closeTo(c, k + 1, 1e-3, `component ${k} of the held vertex`));
  });

  test(`edge Laplacian on ${backend}: a linear problem, held at its poles, solved to its normal equations`, async (t) => {
    const lw = await open(t, { backend });
    const problem = lw.problem();
    const u = problem.variables("u", { shape: 1, values: new Float32Array(count) });
    problem.residuals("smooth", { over: pairs, of: [u, u] }, ([a, b]) => a.sub(b));
    const poles = [0, 3];
    problem.residuals("poles", { of: [u.at(poles)], data: { value: Float32Array.of(-1, 1) }, weight: 100 }, ([a], { value }) => a.sub(value));
    const report = await problem.solve({ costTolerance: 1e-10, gradientTolerance: 1e-5, maxIterations: 100 });
    assert.ok(["converged", "precision"].includes(report.termination), String(report));
    const found = await u.read(new Float64Array(count));
    // In the minimum, every other vertex is the mean of its neighbours.
    const gradient = new Float64Array(count);
    for (const [i, j] of edgeList) { gradient[i] += found[i] - found[j]; gradient[j] += found[j] - found[i]; }
    gradient.forEach((g, i) => { if (!poles.includes(i)) assert.ok(Math.abs(g) < 2e-4, `vertex ${i} is off its neighbours' mean by ${g}`); });
  });

  test(`every operation on ${backend}: the cost is that of plain JavaScript`, async (t) => {
    const lw = await open(t, { backend });
    const problem = lw.problem();
    const p = problem.variables("p", { shape: 3, values: [0.3, -0.4, 0.5, 1.1, 0.2, -0.7] });
    const s = problem.variables("s", { shape: 1, values: [0.9] });
    const q = problem.variables("q", { shape: 4, values: [0.1, 0.2, 0.3, 0.4] });
    const many = problem.variables("many", { shape: 6, values: [1, 2, 3, 4, 5, 6] });
    const k = problem.constants("k", { shape: 2, values: [0.25, -2] });
    const term = problem.residuals("all", { over: 1, of: { a: p.at([0]), b: p.at([1]), s, q, many, k }, data: { c: Float64Array.of(0.75), v: column([1, 2], 2) } },
      ({ a, b, s, q, many, k }, { c, v }) => [
        a.add(b).mul(c).sub(a.neg().div(2)),
        a.cross(b).dot(vec(1, s, 2)),
        a.xy.cross(k).square(),
        a.mul(b).normSq().sub(q.w),
        q.normalize().at(2),
        sin(s).add(cos(a.x)).mul(sqrt(b.x)),
        rotateXYZ(a, b),
        mat3(a, b, vec(s, 1, 2)).mul(a),
        sum([k, v, vec(s, c)]),
        many.at(5).mul(many.norm()),
        select(a.x.lt(b.x).and(a.y.gt(3).not()), a.z, b.z),
        select(a.x.ge(1).or(s.le(0)), 7, s),
      ]);
    const [a, b, S, c, K, V] = [[0.3, -0.4, 0.5], [1.1, 0.2, -0.7], 0.9, 0.75, [0.25, -2], [1, 2]];
    const cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
    const turn = ([X, Y, Z], [x0, y0, z0]) => {
      const [y1, z1] = [Math.cos(X) * y0 - Math.sin(X) * z0, Math.sin(X) * y0 + Math.cos(X) * z0];
      const [x2, z2] = [Math.cos(Y) * x0 + Math.sin(Y) * z1, -Math.sin(Y) * x0 + Math.cos(Y) * z1];
      return [Math.cos(Z) * x2 - Math.sin(Z) * y1, Math.sin(Z) * x2 + Math.cos(Z) * y1, z2];
    };
    const rows = [
      ...a.map((x, i) => (x + b[i]) * c + x / 2),
      dot(cross, [1, S, 2]),
      (a[0] * K[1] - a[1] * K[0]) ** 2,
      a.reduce((sum, x, i) => sum + (x * b[i]) ** 2, 0) - 0.4,
      0.3 / Math.hypot(0.1, 0.2, 0.3, 0.4),
      (Math.sin(S) + Math.cos(a[0])) * Math.sqrt(b[0]),
      ...turn(a, b),
      dot(a, a), dot(b, a), dot([S, 1, 2], a),
      K[0] + V[0] + S, K[1] + V[1] + c,
      6 * Math.hypot(1, 2, 3, 4, 5, 6),
      a[2],
      S,
    ];
    const expected = rows.reduce((sum, r) => sum + r * r, 0) / 2;
    closeTo(await term.cost(), expected, backend === "cpu" ? 1e-13 : 1e-5, "cost");
    // Its derivative is right if small steps go downhill as predicted.
    const report = await problem.solve({ maxIterations: 30 });
    assert.ok(report.cost < 1e-2 * expected, String(report));
    const small = report.iterations.filter((it) => it.accepted && it.stepNorm < 1e-2 && Math.abs(it.costChange) > 1e-4 * it.cost);
    for (const it of small) closeTo(it.gainRatio, 1, 0.1, `gain ratio of iteration ${it.index}`);
  });

  test(`weights, the worst instances and the cost by term on ${backend}`, async (t) => {
    const lw = await open(t, { backend });
    const problem = lw.problem();
    const u = problem.variables("u", { shape: 1, values: [1, 2, 3, 4] });
    const each = problem.residuals("each", { of: [u], weight: Float32Array.of(1, 0, 10, 0.5) }, ([a]) => a);
    const one = problem.residuals("one", { of: [u.at([3, 3])], weight: 2 }, ([a]) => vec(a, 0));
    closeTo(await each.cost(), (1 + 0 + 90 + 8) / 2, 1e-6, "each");
    closeTo(await one.cost(), 32, 1e-6, "one");
    assert.deepEqual(await each.worst(2), [{ instance: 2, cost: 45 }, { instance: 3, cost: 4 }]);
    assert.equal(each.count, 4);
    assert.equal(one.count, 2);
    assert.deepEqual((await each.worst(9)).map(({ instance }) => instance), [2, 3, 0, 1]);
  });
}
