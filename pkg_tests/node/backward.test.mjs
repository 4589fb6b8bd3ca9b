// Differentiating through solves: against what is known in closed form, and against central differences of whole solves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cauchy, column, exp, perEntry, quaternion, softL1 } from "leastwise";
import { BACKENDS, closeTo, open, refuses, rejects } from "./support.mjs";

/** Within a part of the largest. */
function allClose(found, expected, tolerance, what) {
  const largest = Math.max(...expected.map(Math.abs));
  assert.equal(found.length, expected.length, what);
  expected.forEach((value, k) => assert.ok(Math.abs(found[k] - value) <= tolerance * largest, `${what}: value ${k} is ${found[k]}, not ${value}`));
}

const tight = { costTolerance: 0, gradientTolerance: 1e-14, stepTolerance: 1e-15, maxIterations: 2000 };

/** A slope at 0 by differences of two widths, extrapolated. */
async function slope(at, width = 2e-3) {
  const central = async (h) => (await at(h) - await at(-h)) / (2 * h);
  const [wide, narrow] = [await central(2 * width), await central(width)];
  return narrow + (narrow - wide) / 3;
}

for (const backend of BACKENDS) {
  test(`${backend}: a weighted mean`, async (t) => {
    const lw = await open(t, { backend });
    const y = Float64Array.of(1, 2, 4, 8), w = Float64Array.of(1, 3, 2, 0.5);
    const problem = lw.problem();
    const m = problem.variables("mean", { shape: 1, values: [0] });
    const c = problem.constants("shift", { shape: 1, values: [0.25] });
    const off = problem.residuals("unused", { of: [m], data: { y: 3 } }, ([m], { y }) => m.sub(y));
    off.enabled = false;
    const term = problem.residuals("mean", { of: [m, c], data: { y }, weight: w }, ([m, c], { y }) => m.sub(c).sub(y));
    await problem.solve(tight);
    const gradients = await problem.backward([[m, [2]]]);           // L = 2 m
    const total = w.reduce((sum, w) => sum + w), mean = y.reduce((sum, y, k) => sum + y * w[k], 0) / total;
    // m = c + Σ w y / Σ w
    allClose(gradients.of(term).y, Array.from(w, (w) => 2 * w / total), 1e-12, "dL/dy");
    allClose(gradients.of(term).weight, Array.from(y, (y) => 2 * (y - mean) / total), 1e-12, "dL/dw");
    allClose(gradients.of(c), [2], 1e-12, "dL/dc");
    assert.deepEqual([[...gradients.of(off).y], [...gradients.of(off).weight], [...gradients.of(m)]], [[0], [0], [0]]);
    assert.ok(gradients.stationary && gradients.deficiency === 0 && gradients.unknowns === 1 && gradients.method === "dense", JSON.stringify(gradients));
  });

  test(`${backend}: a robust fit, by differences of whole solves`, async (t) => {
    const lw = await open(t, { backend });
    const times = Float64Array.from({ length: 30 }, (_, k) => k / 6);
    const seen = times.map((t, k) => 2 * Math.exp(-t / 1.5) + 0.3 + 0.02 * Math.sin(7 * k) + (k % 9 === 4 ? 0.8 : 0));
    const make = (engine) => {
      const problem = engine.problem();
      const p = problem.variables("p", { shape: 3, values: [1.5, 0.8, 0] });
      const term = problem.residuals("decay", { of: [p], data: { t: times, y: seen, gain: 1 }, weight: new Float64Array(30).fill(1), loss: cauchy(0.1) },
        ([p], { t, y, gain }) => exp(t.mul(p.y).neg()).mul(p.x).mul(gain).add(p.z).sub(y));
      return { problem, p, term };
    };
    const v = [1, -0.5, 2];
    const { problem, p, term } = make(lw);
    await problem.solve({ ...tight, ...(lw.precision === "f32" && { costTolerance: 1e-7 }) });
    const gradients = await problem.backward([[p, v]]);
    assert.ok(gradients.distance < (lw.precision === "f32" ? 1e-2 : 1e-6), `${gradients.distance}`);
    // Differences are taken in f64.
    const exact = make(await open(t, { backend: "cpu", precision: "f64" }));
    const value = async () => { await exact.problem.solve(tight); return (await exact.p.read(new Float64Array(3))).reduce((sum, x, k) => sum + x * v[k], 0); };
    const by = async (name, values) => slope(async (h) => { exact.term.set({ [name]: values(h) }); return value(); });
    const moved = (array, k) => (h) => array.map((value, place) => (place === k ? value + h : value));
    for (const [name, array] of [["y", seen], ["t", times], ["weight", new Float64Array(30).fill(1)]]) {
      const expected = [];
      for (const k of [0, 4, 13, 29]) expected.push(await by(name, moved(array, k)));
      exact.term.set({ [name]: array });
      allClose([0, 4, 13, 29].map((k) => gradients.of(term)[name][k]), expected, 1e-3, name);
    }
    allClose(gradients.of(term).gain, [await by("gain", (h) => 1 + h)], 1e-3, "gain");
  });
}

test("rotations, rows, energies and what is held, by differences of whole solves", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const q = problem.variables("turn", { shape: quaternion, values: [0.1, -0.2, 0.3, 0.9273618495495704, 0, 0, 0, 1] });
  const x = problem.variables("x", { shape: 1, values: [0.5, 1, 1.5, 2, 2.5] });
  x.fix([4]);
  x.bound({ lower: -10, upper: [10, 10, 1.25, 10, 10] });
  const from = Float64Array.from({ length: 12 }, (_, k) => Math.sin(2 * k + 1)), to = Float64Array.from({ length: 12 }, (_, k) => Math.cos(3 * k));
  const turned = problem.residuals("turned", { of: [q.at([0, 0, 1, 1])], data: { from: column(from, 3), to: column(to, 3) }, loss: softL1(0.5) }, ([q], { from, to }) => q.rotate(from).sub(to));
  const both = problem.residuals("both", { of: [q.at([0]), q.at([1])], weight: 0.3 }, ([a, b]) => a.conjugate().mul(b).toAngleAxis());
  const weights = Float64Array.of(0.5, 0.7, 0.3, 0.9, 0.4, 0.6);
  const rows = problem.residuals("rows", { of: [x.at([0, 1, 2]), x.rows({ offsets: [0, 2, 3, 6], indices: [1, 2, 3, 0, 3, 4] })], data: { w: perEntry(weights), pull: 0.2 } },
    ([c, around], { w, pull }) => around.map((q, k) => q.sub(c).mul(w[k])).reduce((a, b) => a.add(b)).sub(pull));
  const well = problem.energy("well", { of: [x], data: { at: Float64Array.of(1, -1, 2, 0.5, 1) }, weight: 0.2 }, ([x], { at }) => x.sub(at).square().square().add(x.sub(at).square()));
  const [v, u] = [Float64Array.from({ length: 8 }, (_, k) => Math.cos(k)), Float64Array.from({ length: 5 }, (_, k) => 1 - 0.3 * k)];
  const value = async () => {
    await problem.solve(tight);
    const [a, b] = [await q.read(new Float64Array(8)), await x.read(new Float64Array(5))];
    return a.reduce((sum, a, k) => sum + a * v[k], 0) + b.reduce((sum, b, k) => sum + b * u[k], 0);
  };
  await value();
  const gradients = await problem.backward([[q, v], [x, u]]);
  assert.deepEqual([gradients.deficiency, gradients.unknowns, gradients.stationary], [0, 6 + 3, true]);
  const check = async (term, name, array, places) => {
    const expected = [];
    for (const k of places) expected.push(await slope(async (h) => { term.set({ [name]: typeof array === "number" ? array + h : array.map((value, place) => (place === k ? value + h : value)) }); return value(); }));
    term.set({ [name]: array });
    await value();
    const found = gradients.of(term)[name];
    allClose(places.map((k) => found[k]), expected, 1e-3, `${term.name}.${name}`);
  };
  await check(turned, "from", from, [0, 5, 7, 11]);
  await check(turned, "to", to, [1, 4, 9]);
  await check(both, "weight", 0.3, [0]);
  await check(rows, "w", weights, [0, 2, 3, 5]);
  await check(rows, "pull", 0.2, [0]);
  await check(well, "at", Float64Array.of(1, -1, 2, 0.5, 1), [0, 1, 2, 3]);
  // What is fixed, and what the box holds, moves the rest.
  const held = gradients.of(x);
  const fixed = await slope(async (h) => { x.write([2.5 + h], { at: [4] }); return value(); });
  x.write([2.5], { at: [4] });
  const limit = await slope(async (h) => { x.bound({ upper: [10, 10, 1.25 + h, 10, 10] }); return value(); });
  allClose([held[4], held[2]], [fixed, limit], 1e-3, "what is held");
  assert.deepEqual([held[0], held[1], held[3]], [0, 0, 0]);
});

test("what has no gradient is refused, and what is not stationary is told", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: [0, 0, 1.2, 0, 0.5, 1] });
  const c = problem.constants("c", { shape: 1, values: [1] });
  const springs = problem.residuals("springs", { of: [x.at([0, 1, 2]), x.at([1, 2, 0])], data: { rest: Float64Array.of(1, 1, 1) } }, ([a, b], { rest }) => a.sub(b).norm().sub(rest));
  const away = await problem.backward([[x, [0, 0, 0, 0, 0, 0]]]);
  assert.equal(away.stationary, false);
  await problem.solve(tight);
  await rejects(problem.backward([[x, [1, 0, 0, 0, 0, 0]]]), "rank-deficient", /3 directions leave the cost as it is.*"x" \(3 instances: 0, 1, 2; 2 translations, 1 rotation\)|3 directions leave the cost as it is/);
  const least = await problem.backward([[x, [1, 0, 0, 0, 0, 0]]], { deficient: "least-norm" });
  assert.equal(least.deficiency, 3);
  // The perimeter is the same wherever the triangle lies: it is 3 when rest lengths are 1, each of which it grows with.
  const [ax, ay, bx, by, dx, dy] = await x.read(new Float64Array(6));
  const unit = (px, py, qx, qy) => [(px - qx) / Math.hypot(px - qx, py - qy), (py - qy) / Math.hypot(px - qx, py - qy)];
  const [ab, bd, da] = [unit(ax, ay, bx, by), unit(bx, by, dx, dy), unit(dx, dy, ax, ay)];
  const perimeter = [ab[0] - da[0], ab[1] - da[1], bd[0] - ab[0], bd[1] - ab[1], da[0] - bd[0], da[1] - bd[1]];
  const gradients = await problem.backward([[x, perimeter]]);
  assert.equal(gradients.deficiency, 3);
  gradients.of(springs).rest.forEach((value) => closeTo(value, 1, 1e-9, "dL/drest"));

  await rejects(problem.backward([[c, [1]]]), "shape", /a constant is no part of the solution/);
  await rejects(problem.backward([[x, [1]]]), "data-length", /the cotangent of "x" has 1 values, but 6 are needed/);
  await rejects(problem.backward([[x, [NaN, 0, 0, 0, 0, 0]]]), "non-finite", /the cotangent of "x"/);
  await rejects(problem.backward(x), "invalid-option", /a list of \[variables, cotangent\]/);
  await rejects(problem.backward([[x, perimeter]], { space: "tangents" }), "invalid-option", 'space: "tangents" is not one of "values", "tangent"');
  await rejects(problem.backward([[x, perimeter]], { tolerance: 1 }), "invalid-option", /options have no "tolerance"/);
  const other = lw.problem();
  const y = other.variables("y", { shape: 1, values: [1] });
  const foreign = other.residuals("t", { of: [y] }, ([y]) => y);
  await rejects(problem.backward([[y, [1]]]), "foreign-variable", /"y" of another problem/);
  refuses(() => gradients.of(foreign), "foreign-variable", /"t" is no term of this problem/, { term: "t" });
  refuses(() => gradients.of(y), "foreign-variable", /"y" of another problem/);
});
