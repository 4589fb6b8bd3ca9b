// Ragged slots, batches and what is known of them: rows of many lengths, kernels shared, derivatives checked.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column, mean, perEntry, relu, sum, sumOver } from "leastwise";
import { edges, stars } from "leastwise/mesh";
import { BACKENDS, closeTo, icosphere, open, refuses } from "./support.mjs";

/** Rows of 1 to `longest` entries, at random over `count` instances. */
function rows(count, longest) {
  const offsets = [0], indices = [];
  for (let i = 0; i < count; i++) {
    for (let k = 0; k < 1 + (i * 7) % longest; k++) indices.push((i + 1 + 3 * k) % count);
    offsets.push(indices.length);
  }
  return { offsets, indices };
}

const points = (count) => Float32Array.from({ length: 3 * count }, (_, k) => Math.sin(1.7 * k));

for (const backend of BACKENDS) {
  const digits = backend === "cpu" ? 1e-12 : 2e-6;

  test(`a mesh's uniform Laplacian on ${backend}: one structure a valence`, async (t) => {
    const lw = await open(t, { backend });
    const { positions, cells } = icosphere(2);
    const values = Float32Array.from(positions.flat());
    const ring = stars(cells.flat(), positions.length);
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 3, values });
    const term = problem.residuals("smooth", { of: [x, x.rows(ring)] }, ([centre, around]) => mean(around).sub(centre));
    const valences = new Set(Array.from(positions, (_, i) => ring.offsets[i + 1] - ring.offsets[i]));
    const { residuals } = await term.evaluate();
    for (let i = 0; i < positions.length; i++) {
      for (let c = 0; c < 3; c++) {
        const row = ring.indices.slice(ring.offsets[i], ring.offsets[i + 1]);
        const expected = row.reduce((total, j) => total + values[3 * j + c], 0) / row.length - values[3 * i + c];
        assert.ok(Math.abs(residuals[3 * i + c] - expected) <= 4 * digits, `vertex ${i}: ${residuals[3 * i + c]}, not ${expected}`);
      }
    }
    assert.deepEqual({ ...lw.stats(), layouts: 0, kernels: 0, compileMs: 0 }, { terms: valences.size, hits: 0, structures: valences.size, layouts: 0, kernels: 0, compileMs: 0 });
    assert.ok((await term.checkGradients()).error < (backend === "cpu" ? 1e-9 : 1e-5));
  });

  test(`rows of more than 16 lengths on ${backend}: at most 16 structures, and the same as plain JavaScript`, async (t) => {
    const lw = await open(t, { backend });
    // Long rows take an adapter in software long to compile.
    const count = 150, longest = backend === "webgpu" ? 18 : 40;
    const ragged = rows(count, longest);
    const values = points(count);
    const weights = Float64Array.from(ragged.indices, (_, k) => 0.5 + (k % 8) / 8);
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 3, values });
    const expected = (scale) => Array.from({ length: 3 * count }, (_, k) => {
      const i = Math.floor(k / 3), from = ragged.offsets[i], to = ragged.offsets[i + 1];
      let total = 0;
      for (let e = from; e < to; e++) total += (values[3 * ragged.indices[e] + k % 3] - values[k]) * weights[e] * scale;
      return (total * 0.5) / (to - from);
    });
    const term = problem.residuals("laplacian", { of: { x, around: x.rows(ragged) }, data: { w: perEntry(weights), strength: 0.5 } },
      ({ x: centre, around }, { w, strength }) => sum(around.map((q, k) => q.sub(centre).mul(w[k]))).mul(strength).div(around.length));
    const check = async (scale) => {
      const { residuals, rows: each, columns } = await term.evaluate();
      assert.deepEqual([each, columns], [3, 3 + 3 * longest]);
      expected(scale).forEach((value, k) => assert.ok(Math.abs(residuals[k] - value) <= 20 * digits, `row ${k}: ${residuals[k]}, not ${value}`));
    };
    await check(1);
    const { structures, terms } = lw.stats();
    assert.ok(structures <= 16 && terms <= 16, `${structures} structures of ${terms} parts`);
    assert.ok((await term.checkGradients()).error < (backend === "cpu" ? 1e-9 : 1e-5));
    term.set({ w: perEntry(weights.map((weight) => 2 * weight)) });
    await check(2);
    const report = await problem.solve({ maxIterations: 40 });
    assert.ok(report.cost < 1e-3 * report.initialCost, String(report));
    closeTo(report.costByTerm.laplacian, report.cost, 1e-9, "the cost by term");
  });

  test(`a thousand terms of one edge each on ${backend} are one batch`, async (t) => {
    const lw = await open(t, { backend }, { fresh: true });
    const { positions, cells } = icosphere(2);
    const values = Float32Array.from(positions.flat());
    const table = edges(cells.flat());
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 3, values });
    for (let e = 0; e < table.length / 2; e++) {
      const [i, j] = e % 2 ? [table[2 * e], table[2 * e + 1]] : [table[2 * e + 1], table[2 * e]];
      problem.residuals(`edge ${e}`, { of: [x.at([i]), x.at([j])] }, ([a, b]) => (e % 3 ? a.sub(b) : b.sub(a)).norm().sub(0.2 + (e % 7) / 100));
    }
    const count = table.length / 2;
    const { structures, terms, hits } = lw.stats();
    assert.deepEqual({ structures, terms, hits }, { structures: 1, terms: count, hits: count - 1 });
    const report = await problem.solve({ linear: "pcg", maxIterations: 3 });
    const alone = await open(t, { backend });
    const small = alone.problem();
    const y = small.variables("x", { shape: 3, values });
    small.residuals("edge", { of: [y.at([table[0]]), y.at([table[1]])] }, ([a, b]) => a.sub(b).norm().sub(0.2));
    await small.solve({ linear: "pcg", maxIterations: 3 });
    // One more at most: the product may be in another schedule.
    const [made, ofOne] = [lw, alone].map((engine) => engine.counters().kernelsCreated);
    assert.ok(made <= ofOne + 1, `${made} kernels for all of them, ${ofOne} for one`);
    assert.equal(Object.keys(report.costByTerm).length, count);
    closeTo(Object.values(report.costByTerm).reduce((total, cost) => total + cost, 0), report.cost, 1e-5, "the costs by term");
  });
}

test("evaluate() and checkGradients() tell a wrong derivative's place from a right one's", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [1, 2, 0, 4] });
  const smooth = problem.residuals("smooth", { of: [x] }, ([a]) => a.mul(a).mul(a));
  assert.ok((await smooth.checkGradients()).error < 1e-9);
  // At a kink the derivative is defined as one thing, and differences say another: instance 2 is at relu's.
  const kinked = problem.residuals("kinked", { of: [x], data: { s: column([1, 1, 2, 1], 1) } }, ([a], { s }) => relu(a).mul(s));
  const { error, instance, row, slot, component, derivative, difference } = await kinked.checkGradients();
  assert.deepEqual([instance, row, slot, component, derivative], [2, 0, 0, 0, 0]);
  closeTo(difference, 1, 1e-9, "half of the slope of 2 beyond the kink");
  closeTo(error, 1, 1e-9, "the error");
  const { residuals, jacobian, rows, columns } = await smooth.evaluate();
  assert.deepEqual([rows, columns, ...residuals, ...jacobian], [1, 1, 1, 8, 0, 64, 3, 12, 0, 48]);
});

test("rows that are none are refused in words", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [1, 2, 3] });
  const refuse = (ragged, message) => refuses(() => x.rows(ragged), "shape", `"x".rows(…): ${message}`);
  refuse({ offsets: [0, 2, 1], indices: [0] }, "offsets must not fall, but offsets[2] is 1 after 2");
  refuse({ offsets: [0, 2], indices: [0] }, "there are 1 indices, but the last offset is 2: they must be the same");
  refuse({ offsets: [1, 2], indices: [0, 1] }, "offsets must begin with 0 and have one more element than there are rows, but begin with 1");
  refuse({ offsets: [0, 1], indices: [0.5] }, "indices[0] is 0.5, which is no index (0, 1, 2, …)");
  refuse({ offsets: [0, 1] }, "give { offsets, indices }: where each row begins (and, last, where the final one ends), and all rows one after the other");
  refuse([1, 2], "row 0 is a number, but must be an array of indices");
  refuse([[1], [0, -1]], "indices[2] is -1, which is no index (0, 1, 2, …)");
  refuse([], "the list has no rows: each of the term's instances has one, which may be empty, as in [[1, 2], []]");
  const ring = { offsets: [0, 2, 3, 3], indices: [1, 2, 9] };
  refuses(() => problem.residuals("far", { of: [x, x.rows(ring)] }, ([a, r]) => sum([a, ...r])), "index-out-of-range",
    'term "far": slot 1 of instance 1 has index 9, but "x" has 3 instances (0 to 2)', { term: "far", slot: 1, instance: 1 });
  const long = { offsets: [0, 65, 65, 65], indices: Array(65).fill(1) };
  assert.throws(() => problem.residuals("long", { of: [x, x.rows(long)] }, ([a, r]) => sum([a, ...r])), { code: "limits", message: /row of instance 0 has 65 entries.*at most 64.*sumOver/ });
  refuses(() => problem.residuals("no rows", { of: [x], data: { w: perEntry(Float32Array.of(1)) } }, ([a]) => a), "invalid-option",
    'term "no rows": data column "w" has a value an entry, but no slot has rows of entries: use .rows(…) or .each(…)', { term: "no rows" });
});

test("rows may be empty, and the residual may have as many rows as its entries", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [1, 2, 4] });
  const centre = problem.constants("centre", { shape: 1, values: [5, 6, 7] });
  const ring = { offsets: [0, 0, 1, 3], indices: [0, 1, 2] };
  // Row 0 reaches no variable at all.
  const padded = problem.residuals("padded", { of: [centre, x.rows(ring)] }, ([c, r]) => (r.length ? [...r.map((q) => q.sub(c))] : c));
  const { rows, columns, residuals, jacobian } = await padded.evaluate();
  assert.deepEqual([rows, columns, ...residuals], [2, 2, 5, 0, -5, 0, -5, -3]);
  assert.deepEqual([...jacobian], [0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1]);
  assert.equal(await padded.cost(), (25 + 25 + 25 + 9) / 2);
  refuses(() => column([1], 4096), "shape", "column(values, shape): an instance has 1 to 1024 scalars, not 4096");
  refuses(() => problem.residuals("text", { of: [x], data: "abc" }, ([a]) => a), "invalid-option", 'term "text": data must be an object, not a string', { term: "text" });
});

test("terms that are off share a batch, too", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: Float64Array.from({ length: 200 }, (_, k) => k) });
  const terms = Array.from({ length: 200 }, (_, k) => problem.residuals(`t${k}`, { of: [x.at([k])] }, ([a]) => a.sub(2 * k + 7)));
  for (const term of terms.slice(1)) term.enabled = false;
  assert.equal(await terms[7].cost(), ((7 - 21) ** 2) / 2);
  assert.ok(lw.memory().objects < 20, `${lw.memory().objects} buffers`);
  const report = await problem.solve();
  assert.deepEqual(Object.keys(report.costByTerm), ["t0"]);
});

test("a list of rows is the table of its offsets and indices", async (t) => {
  const lw = await open(t, { backend: "cpu" }), problem = lw.problem(), x = problem.variables("x", { shape: 1, values: [0, 5, 1, 7] });
  const lists = [[1], [0, 2, 3], new Uint32Array(0), Int32Array.of(2, 0)], table = { offsets: [0, 1, 4, 4, 6], indices: [1, 0, 2, 3, 2, 0] };
  const residuals = async (name, rows) => (await problem.residuals(name, { of: [x, x.rows(rows)] }, ([own, around]) => (around.length ? mean(around).sub(own) : own)).evaluate()).residuals;
  const sums = async (name, rows) => (await problem.residuals(name, { of: [x, x.each(rows)] }, ([own, around]) => sumOver(around, (each) => each).sub(own)).evaluate()).residuals;
  assert.deepEqual(await residuals("lists", lists), await residuals("table", table));
  assert.deepEqual([...await residuals("again", lists)], [5, 8 / 3 - 5, 1, -6.5]);
  assert.deepEqual(await sums("sums of lists", lists), await sums("sums", table));
});
