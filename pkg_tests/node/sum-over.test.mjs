// Sums over rows of any length, through the package: against rows that are traced, long rows, edits, and what is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { perEntry, sqrt, sum, sumOver } from "leastwise";
import { BACKENDS, closeTo, engineOf, open, refuses } from "./support.mjs";

/** Rows over points of which entry e of row i is point (7i + 3e) mod `points`. */
function rowsOf(lengths, points) {
  const offsets = [0];
  for (const length of lengths) offsets.push(offsets.at(-1) + length);
  const indices = lengths.flatMap((length, i) => Array.from({ length }, (_, e) => (7 * i + 3 * e) % points));
  return { offsets, indices };
}
const pointsOf = (count) => Float32Array.from({ length: 2 * count }, (_, k) => Math.sin(1.7 * k) + 0.01 * k);

for (const backend of BACKENDS) {
  test(`each() is rows() of any length on ${backend}`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const lengths = [3, 0, 5, 1, 3, 12], ring = rowsOf(lengths, 20);
    const weights = Float32Array.from(ring.indices, (_, e) => 0.5 + (e % 3) / 4);
    const make = () => {
      const problem = lw.problem();
      const x = problem.variables("x", { shape: 2, values: pointsOf(20) });
      const centre = problem.variables("centre", { shape: 2, values: pointsOf(lengths.length).map((v) => v / 2) });
      problem.residuals("hold", { of: [x], data: { goal: [0.2, -0.1] } }, ([p], { goal }) => p.sub(goal));
      // Held as well, so that something is left at the minimum: noughts cannot be compared relatively.
      problem.residuals("rest", { of: [centre], data: { goal: [-0.3, 0.4] } }, ([c], { goal }) => c.sub(goal));
      return { problem, x, centre };
    };
    const a = make(), b = make();
    const traced = a.problem.residuals("anchor", { of: [a.centre, a.x.rows(ring)], data: { w: perEntry(weights), strength: 0.5 } },
      ([c, around], { w, strength }) => (around.length ? sum(around.map((q, e) => q.sub(c).mul(w[e]))).mul(strength) : c.mul(0)));
    const summed = b.problem.residuals("anchor", { of: [b.centre, b.x.each(ring)], data: { w: perEntry(weights), strength: 0.5 } },
      ([c, around], { w, strength }) => sumOver(around, { w }, (q, { w }) => q.sub(c).mul(w)).mul(strength));
    assert.equal(summed.count, lengths.length);
    closeTo(await summed.cost(), await traced.cost(), 1e-5, "the cost at the start");
    const [first, second] = [await a.problem.solve(), await b.problem.solve()];
    assert.ok(second.converged, String(second));
    closeTo(second.cost, first.cost, 1e-4, "the cost at the end");
    const [found, expected] = [await b.x.read(), await a.x.read()];
    found.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) < 2e-3, `scalar ${k} is ${value}, not ${expected[k]}`));
    const check = await summed.checkGradients();
    assert.ok(check.error < 1e-4, JSON.stringify(check));
    const { rows, columns, jacobian } = await summed.evaluate();
    assert.deepEqual([rows, columns, jacobian.length], [2, 2, lengths.length * 4]);
    summed.set({ w: perEntry(weights.map((w) => 2 * w)), strength: 0.25 });
    closeTo(await summed.cost(), second.costByTerm.anchor, 1e-4, "twice the weights, half the strength");
  });

  test(`a row of 100 000 entries on ${backend}: two sums, and a nonlinear function of them`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const problem = lw.problem();
    const n = 100_000;
    const x = problem.variables("x", { shape: 1, values: Float32Array.from({ length: n }, (_, k) => 1 + (k % 5) / 10) });
    const rows = { offsets: [0, n, n], indices: Uint32Array.from({ length: n }, (_, k) => k) };
    // The mean is 3, the root of the mean square is 3.1; of the empty row there is nothing.
    const term = problem.residuals("moments", { of: [x.each(rows)], data: { share: 1 / n, mean: Float32Array.of(3, 0), root: Float32Array.of(3.1, 0) } },
      ([all], { share, mean, root }) => [sumOver(all, (q) => q.mul(share)).sub(mean), sqrt(sumOver(all, (q) => q.square().mul(share)).add(1e-12)).sub(root)]);
    const report = await problem.solve({ costTolerance: 1e-9 });
    assert.ok(report.cost < 1e-8, String(report));
    const values = await x.read();
    closeTo(values.reduce((s, v) => s + v, 0) / n, 3, 1e-3, "the mean");
    closeTo(Math.sqrt(values.reduce((s, v) => s + v * v, 0) / n), 3.1, 1e-3, "the root mean square");
    closeTo(await term.cost(), report.costByTerm.moments, 1e-3 + report.cost, "its cost");
  });
}

test("what sumOver() refuses", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: pointsOf(4) });
  const ring = { offsets: [0, 2, 3], indices: [0, 1, 2] };
  const term = (body, of = [x.each(ring)]) => () => problem.residuals("t", { of }, body);
  const where = { term: "t" };
  refuses(term(([all]) => sumOver(all, (p) => sumOver(all, (q) => q.sub(p)))), "invalid-option",
    'the residual "t": a sumOver() within the body of another: a sum over a row can\'t be part of an entry of it', where);
  refuses(term(([all]) => { const s = sumOver(all, (p) => p); return sumOver(all, (p) => p.sub(s)); }), "tape",
    'term "t": the body of a sumOver() uses what another one gives: a sum over a row can\'t be part of an entry of it', where);
  refuses(term(([all]) => { let kept; const s = sumOver(all, (p) => (kept = p)); return s.sub(kept); }), "tape", 'term "t": an entry of a row is used outside of sumOver()', where);
  refuses(term(([all, own]) => own, [x.each(ring), x.at([0, 1])]), "tape", 'term "t": slots of .each(…) are for sumOver(), which the residual does not call', where);
  refuses(term(([all, many]) => sumOver(all, (p) => p), [x.each(ring), x.rows(ring)]), "invalid-option",
    'term "t": some slots are of .rows(…) and others of .each(…): a residual takes the entries of its rows in one way', where);
  refuses(term(([all]) => sumOver(all, () => undefined)), "no-residual",
    'the residual "t": the body of sumOver() returned undefined: return a scalar, a vector or a matrix (is a `return` missing?)', where);
  refuses(term(([all]) => sumOver([all], (p) => p)), "shape", "sumOver() of an array: it takes the entries of a row, as a slot of x.each(…) or a column of perEntry(…) gives them");
  refuses(term(([all]) => [...all][0]), "untraceable", 'the residual "t" loops over the entries of .each(…), which are as many as a row has: use sumOver(entries, (entry) => …)', where);
  // What is too long to be traced says what else there is.
  const long = { offsets: [0, 65], indices: Array.from({ length: 65 }, (_, k) => k % 4) };
  refuses(term(([all]) => sum(all), [x.rows(long)]), "limits",
    'term "t": the row of instance 0 has 65 entries, but a residual is traced for at most 64: take its entries by .each(…) and sum over them with sumOver()');
});
