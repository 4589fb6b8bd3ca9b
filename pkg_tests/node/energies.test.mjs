// Energies: scalars that are minimised as they are, beside residuals, on every backend.
import assert from "node:assert/strict";
import { test } from "node:test";
import { angleBetween, column, eigenSymmetric, exp, log, mat3, reciprocal, select, sum } from "leastwise";
import { BACKENDS, closeTo, engineOf, icosphere, open, refuses, rejects } from "./support.mjs";

const SIDE = 15;

/** A hilly patch: points, triangles, and every triangle laid flat, as [F⁻¹ of its edges] and area. */
function patch() {
  const points = Array.from({ length: SIDE * SIDE }, (_, i) => {
    const [u, v] = [(i % SIDE) / (SIDE - 1), Math.floor(i / SIDE) / (SIDE - 1)];
    return [u, v, 0.25 * Math.sin(3 * u) * Math.cos(4 * v)];
  });
  const triangles = [], inverses = [], areas = [];
  for (let i = 0; i < SIDE * (SIDE - 1); i++) {
    if (i % SIDE === SIDE - 1) continue;
    for (const triangle of [[i, i + 1, i + SIDE + 1], [i, i + SIDE + 1, i + SIDE]]) {
      const [a, b, c] = triangle.map((k) => points[k]);
      const [ab, ac] = [b, c].map((p) => p.map((x, k) => x - a[k]));
      const dot = (p, q) => p.reduce((sum, x, k) => sum + x * q[k], 0);
      const along = Math.sqrt(dot(ab, ab)), x = dot(ab, ac) / along, y = Math.sqrt(dot(ac, ac) - x * x);
      triangles.push(...triangle);
      inverses.push(1 / along, -x / (along * y), 0, 1 / y);
      areas.push((along * y) / 2);
    }
  }
  return { points, triangles: Uint32Array.from(triangles), inverses: Float64Array.from(inverses), areas: Float64Array.from(areas) };
}

/** A(‖F‖² + ‖F⁻¹‖²), undefined where a triangle is turned over. */
const symmetricDirichlet = ([a, b, c], { inverse }) => {
  const [p, q] = [b.sub(a), c.sub(a)];
  const [f, g] = [p.mul(inverse.x), p.mul(inverse.y).add(q.mul(inverse.w))];
  const squared = f.normSq().add(g.normSq());
  return squared.mul(exp(log(f.cross(g)).mul(-2)).add(1));
};

for (const backend of BACKENDS) {
  test(`${backend}: a patch is laid flat without turning a triangle over`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const { points, triangles, inverses, areas } = patch();
    const problem = lw.problem();
    const uv = problem.variables("uv", { shape: 2, values: points.flatMap(([u, v]) => [0.5 * u, 0.5 * v]) });
    const term = problem.energy("symmetric Dirichlet", { over: triangles, of: [uv, uv, uv], data: { inverse: column(inverses, 4) }, weight: areas }, symmetricDirichlet);
    // One corner stays: a residual beside the energy.
    problem.residuals("corner", { of: [uv.at([0])] }, ([p]) => p);
    const least = 4 * areas.reduce((sum, area) => sum + area, 0);
    const report = await problem.solve({ linear: "pcg", maxIterations: 100, costTolerance: 1e-6 });
    assert.ok(report.converged, report.reason);
    assert.ok(report.initialCost > 1.5 * least, `${report.initialCost} and ${least}`);
    assert.ok(report.cost > least && report.cost < 1.03 * least, `${report.cost} is far from ${least}`);
    closeTo(report.costByTerm["symmetric Dirichlet"], report.cost, 1e-3, "the energy's part");
    closeTo(await term.cost(), report.costByTerm["symmetric Dirichlet"], 1e-6, "its cost");
    const flat = await uv.read(new Float64Array(2 * points.length));
    for (let k = 0; k < triangles.length; k += 3) {
      const [a, b, c] = [0, 1, 2].map((i) => flat.subarray(2 * triangles[k + i]));
      assert.ok((b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0]), `triangle ${k / 3} is turned over`);
    }
    // At a minimum the gradients of all triangles cancel.
    const { rows, columns, residuals, jacobian } = await term.evaluate();
    assert.deepEqual([rows, columns, residuals.length], [1, 6, areas.length]);
    const gradient = new Float64Array(flat.length);
    jacobian.forEach((slope, at) => {
      const [instance, input] = [Math.floor(at / 6), at % 6];
      gradient[2 * triangles[3 * instance + (input >> 1)] + (input & 1)] += areas[instance] * slope;
    });
    assert.ok(gradient.every((slope) => Math.abs(slope) < 1e-2), `a slope of ${Math.max(...gradient.map(Math.abs))}`);
    const { error } = await term.checkGradients();
    assert.ok(error < 1e-3, `derivatives are wrong by ${error}`);
  });

  test(`${backend}: Rosenbrock's valley as an energy, live and by steps`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 2, values: [-1.2, 1] });
    problem.energy("valley", { of: { x } }, ({ x }) => x.y.sub(x.x.mul(x.x)).square().mul(100).add(x.x.sub(1).square()));
    const report = await problem.solve({ maxIterations: 200 });
    assert.ok(report.cost < 1e-5, `${report.cost}: ${report.reason}`);
    assert.equal(report.method, "lm");
    x.write([-1.2, 1]);
    const solver = problem.solver({ linear: "pcg" });
    t.after(() => solver.dispose());
    await solver.report();                                            // waits for what live steps need
    for (let frame = 0; frame < 100; frame++) solver.advance({ iterations: 1 });
    const live = await solver.report();
    assert.ok(live.cost < 1e-2, `${live.cost}`);
  });
}

/** The symmetric Dirichlet energy as in docs/SOLVERS.md: with the domain of ln det, or as it stands in papers. */
const dirichlet = (held) => ([p, q, r], { inverse }) => {
  const [e, f] = [q.sub(p), r.sub(p)];
  const [u, v] = [e.mul(inverse.x).add(f.mul(inverse.z)), e.mul(inverse.y).add(f.mul(inverse.w))];
  const det = u.cross(v), squared = u.normSq().add(v.normSq());
  const value = squared.mul(reciprocal(det.square()).add(1));
  return held ? select(det.gt(0), value, log(det)) : value;
};

for (const backend of BACKENDS) {
  test(`${backend}: 1/det² turns triangles over, select(det > 0, …, log(det)) turns none`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const { points, triangles, inverses, areas } = patch();
    const flipped = async (held, method) => {
      const problem = lw.problem();
      const uv = problem.variables("uv", { shape: 2, values: points.flatMap(([u, v]) => [u, v]) });
      problem.energy("Dirichlet", { over: triangles, of: [uv, uv, uv], data: { inverse: column(inverses, 4) }, weight: areas }, dirichlet(held));
      // The far corner is wanted on the other side of the near one.
      problem.residuals("pulled", { of: [uv.at([0, SIDE * SIDE - 1])], data: { to: column([0, 0, -1.5, -1.5], 2) }, weight: 300 }, ([p], { to }) => p.sub(to));
      await problem.solve({ method, maxIterations: 40 });
      const flat = await uv.read();
      problem.dispose();
      let count = 0;
      for (let k = 0; k < triangles.length; k += 3) {
        const [a, b, c] = [0, 1, 2].map((i) => flat.subarray(2 * triangles[k + i]));
        if (!((b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0]))) count++;
      }
      return count;
    };
    for (const method of ["newton", "lm"]) {
      assert.equal(await flipped(true, method), 0, method);
      assert.notEqual(await flipped(false, method), 0, `${method}: this problem is none that tells the two apart`);
    }
  });
}

test("an energy says nothing of covariances", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: [1, 2] });
  problem.residuals("seen", { of: [x] }, ([p]) => p);
  const term = problem.energy("valley", { of: [x] }, ([p]) => p.normSq());
  await rejects(problem.covariance(x), "invalid-option", /"valley" is an energy/);
  term.enabled = false;
  assert.equal((await problem.covariance(x, undefined, { variance: 1 })).length, 4);
});

test("what is no energy is refused", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: [1, 2] });
  refuses(() => problem.energy("pair", { of: [x] }, ([p]) => p), "shape", /an energy is one scalar, not 2/);
  refuses(() => problem.energy("lossy", { of: [x], loss: {} }, ([p]) => p.x), "invalid-option", 'term "lossy": an energy has no loss, which is a function of ‖r‖²: make it a part of the energy', { term: "lossy" });
  refuses(() => problem.energy("none", { of: [x] }, 3), "no-residual", 'term "none": the energy must be a function, not a number', { term: "none" });
  refuses(() => problem.energy("plain", { of: [x] }, () => 0), "no-residual", /plain/, { term: "plain" });
});

/** The ring of every vertex of a closed mesh, in order: neighbour k + 1 follows k counter-clockwise. */
function rings(triangles, vertices) {
  const next = Array.from({ length: vertices }, () => new Map());
  for (let k = 0; k < triangles.length; k += 3) {
    for (const turn of [0, 1, 2]) next[triangles[k + turn]].set(triangles[k + (turn + 1) % 3], triangles[k + (turn + 2) % 3]);
  }
  const offsets = [0], indices = [];
  for (const ring of next) {
    let at = ring.keys().next().value;
    for (let k = 0; k < ring.size; k++) { indices.push(at); at = ring.get(at); }
    offsets.push(indices.length);
  }
  return { offsets, indices };
}

// Stein, Grinspun & Crane, "Developability of Triangle Meshes", ACM Trans. Graph. 37 (2018), section 4.1: the smallest eigenvalue of
// Σ θ n nᵀ over the triangles at a vertex is 0 where its normals lie in a plane.
test("a sphere becomes developable in pieces", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { positions, cells } = icosphere(2);
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 3, values: positions.flat().map((value, k) => value + 0.08 * Math.sin(12.9898 * k * k)) });   // where two eigenvalues are equal there is no gradient
  const ring = rings(cells.flat(), positions.length);
  const term = problem.energy("developability", { of: [x, x.rows(ring)] }, ([centre, around]) => {
    const spokes = around.map((p) => p.sub(centre));
    const columns = spokes.map((a, k) => {
      const b = spokes[(k + 1) % spokes.length];
      const n = a.cross(b).normalize();
      return { n, weighted: n.mul(angleBetween(a, b)) };
    });
    const column = (c) => sum(columns.map(({ n, weighted }) => weighted.mul(n.at(c))));
    return eigenSymmetric(mat3(column(0), column(1), column(2))).values.x;
  });
  // A tetrahedron's worth of points stays, or the whole would shrink to nothing for want of anything else.
  x.fix([0, 1, 2, 3]);
  const { error } = await term.checkGradients();
  assert.ok(error < 1e-3, `gradients differ from differences by ${error}`);
  const { cost: before } = await problem.solve({ method: "lbfgs", maxIterations: 0 });
  const report = await problem.solve({ method: "lbfgs", maxIterations: 300 });
  assert.ok(report.cost < 0.1 * before, `${before} became ${report.cost}: ${report.reason}`);
  assert.ok(report.cost >= 0, `${report.cost}: the matrices are semidefinite`);
});
