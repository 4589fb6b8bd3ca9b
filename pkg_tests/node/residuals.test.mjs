// Other residuals than the main job's: springs, an edge Laplacian, and every operation against plain JavaScript.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column, cos, exp, mat3, perEntry, rotateXYZ, select, sin, sqrt, sum, sumOver, vec } from "leastwise";
import { edges } from "leastwise/mesh";
import { BACKENDS, closeTo, icosphere, open, refuses } from "./support.mjs";

const { positions, cells } = icosphere(2);
const rest = Float32Array.from(positions.flat());
const pairs = edges(cells.flat());
const count = rest.length / 3;
const at = (values, i) => [values[3 * i], values[3 * i + 1], values[3 * i + 2]];
const distance = (values, i, j) => Math.hypot(...at(values, i).map((c, k) => c - at(values, j)[k]));
const edgeList = Array.from({ length: pairs.length / 2 }, (_, e) => [pairs[2 * e], pairs[2 * e + 1]]);

for (const backend of BACKENDS) {
  test(`springs on ${backend}: a sphere that wants to be half as large again, one vertex held`, async (t) => {
    const lw = await open(t, { backend });
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 3, values: rest });
    const lengths = Float32Array.from(edgeList, ([i, j]) => 1.5 * distance(rest, i, j));
    problem.residuals("spring", { over: pairs, of: { a: x, b: x }, data: { length: lengths } },
      ({ a, b }, { length }) => a.sub(b).norm().sub(length));
    problem.residuals("held", { of: [x.at([0])], data: { here: at(rest, 0) }, weight: 10 }, ([p], { here }) => p.sub(here));
    const report = await problem.solve({ maxIterations: 60, costTolerance: 1e-5 });
    const found = await x.read();
    const cost = edgeList.reduce((sum, [i, j], e) => sum + (distance(found, i, j) - lengths[e]) ** 2 / 2, 0);
    assert.ok(cost < 1e-4 * report.initialCost, `the springs are still stretched: ${cost}\n${report}`);
    at(found, 0).forEach((c, k) => assert.ok(Math.abs(c - at(rest, 0)[k]) < 1e-2, `component ${k} of the held vertex is ${c}`));
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

// ── every operation: [traced, plain], on a = (a0, a1, a2), b likewise, and s ──

const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
const cross = (x, y) => [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]];
function turned([X, Y, Z], [x0, y0, z0]) {
  const [y1, z1] = [Math.cos(X) * y0 - Math.sin(X) * z0, Math.sin(X) * y0 + Math.cos(X) * z0];
  const [x2, z2] = [Math.cos(Y) * x0 + Math.sin(Y) * z1, -Math.sin(Y) * x0 + Math.cos(Y) * z1];
  return [Math.cos(Z) * x2 - Math.sin(Z) * y1, Math.sin(Z) * x2 + Math.cos(Z) * y1, z2];
}

const OPERATIONS = {
  "add, mul by a scalar, neg, div": [(a, b, s) => a.add(b).mul(s).sub(a.neg().div(2)), (a, b, s) => a.map((x, i) => (x + b[i]) * s + x / 2)],
  "mul and div of scalars and numbers": [(a, b, s) => a.x.mul(b.y).div(s).add(3).sub(a.z).mul(0.5), (a, b, s) => [((a[0] * b[1]) / s + 3 - a[2]) * 0.5]],
  "mul of vectors, normSq": [(a, b) => a.mul(b).normSq(), (a, b) => [a.reduce((sum, x, i) => sum + (x * b[i]) ** 2, 0)]],
  "dot": [(a, b) => a.dot(b), (a, b) => [dot(a, b)]],
  "cross": [(a, b) => a.cross(b), (a, b) => cross(a, b)],
  "cross of 2-vectors": [(a, b) => a.xy.cross(b.xy), (a, b) => [a[0] * b[1] - a[1] * b[0]]],
  "norm": [(a, b) => a.sub(b).norm().sub(1), (a, b) => [Math.hypot(...a.map((x, i) => x - b[i])) - 1]],
  "normalize": [(a) => a.normalize(), (a) => a.map((x) => x / Math.hypot(...a)), { gradient: 0 }],
  "normalize, at": [(a, b) => a.normalize().at(2).add(b.x), (a, b) => [a[2] / Math.hypot(...a) + b[0]]],
  "square, sqrt, neg": [(a, b, s) => sqrt(s.square().add(a.x.neg())), (a, b, s) => [Math.sqrt(s * s - a[0])]],
  "sin, cos": [(a, b, s) => sin(s).add(cos(a.x.mul(2))), (a, b, s) => [Math.sin(s) + Math.cos(2 * a[0])]],
  "rotateXYZ": [(a, b, s) => rotateXYZ(a, b).sub(vec(s, 2, 3)), (a, b, s) => turned(a, b).map((x, i) => x - [s, 2, 3][i])],
  "numbers alone": [(a) => [mat3(vec(1, 2, 3), vec(4, 5, 6), vec(7, 8, 9)).mul(a), a.x.mul(sin(1)), sqrt(2)], (a) => [dot([1, 2, 3], a), dot([4, 5, 6], a), dot([7, 8, 9], a), a[0] * Math.sin(1), Math.SQRT2]],
  "mat3": [(a, b, s) => mat3(a, b, vec(s, 1, 2)).mul(b), (a, b, s) => [a, b, [s, 1, 2]].map((row) => dot(row, b))],
  "sum of vectors": [(a, b, s) => sum([a, b, vec(s, s, 1)]), (a, b, s) => [a[0] + b[0] + s, a[1] + b[1] + s, a[2] + b[2] + 1]],
  "sum of scalars": [(a, b, s) => sum([a.x, b.x, s]), (a, b, s) => [a[0] + b[0] + s]],
  "vec of four, components": [(a, b, s) => vec(a.z, s, 2, b.y), (a, b, s) => [a[2], s, 2, b[1]]],
  "select by gt": [(a, b, s) => select(s.gt(a.x), s, a.y), (a, b, s) => [s]],
  "select by lt": [(a, b, s) => select(s.lt(a.x), s, a.y), (a, b) => [a[1]]],
  "select of vectors by and, not": [(a, b, s) => select(s.ge(0.9).and(a.x.le(0).not()), a, b), (a) => a],
  "select by or, of a number": [(a, b, s) => select(s.le(0.9).or(a.x.gt(5)), 7, b.z).add(a.x), (a) => [7 + a[0]]],
  "an array of scalars and vectors": [(a, b, s) => [a, s, b.x.mul(s)], (a, b, s) => [...a, s, b[0] * s]],
};

const POINT = [0.3, -0.4, 0.5, 1.1, 0.2, -0.7, 0.9];
const energyOf = (plain) => (p) => plain(p.slice(0, 3), p.slice(3, 6), p[6]).reduce((sum, r) => sum + r * r, 0) / 2;

function steepest(energy) {
  const h = 1e-5;
  return Math.max(...POINT.map((_, i) => {
    const moved = (d) => energy(POINT.map((value, k) => (k === i ? value + d : value)));
    return Math.abs((moved(h) - moved(-h)) / (2 * h));
  }));
}

/** The cost at the point, and the largest entry of the gradient there. */
async function evaluate(lw, traced) {
  const problem = lw.problem();
  const a = problem.variables("a", { shape: 3, values: POINT.slice(0, 3) });
  const b = problem.variables("b", { shape: 3, values: POINT.slice(3, 6) });
  const s = problem.variables("s", { shape: 1, values: POINT.slice(6) });
  problem.residuals("term", { of: [a, b, s] }, ([a, b, s]) => traced(a, b, s));
  const report = await problem.solve({ maxIterations: 1, gradientTolerance: 0 });
  problem.dispose();
  return { cost: report.initialCost, gradient: report.iterations[0]?.gradientNorm };
}

for (const [name, [traced, plain, known]] of Object.entries(OPERATIONS)) {
  test(`${name}: value and derivative are those of plain JavaScript`, async (t) => {
    const lw = await open(t, { backend: "cpu" });
    const { cost, gradient } = await evaluate(lw, traced);
    const energy = energyOf(plain);
    closeTo(cost, energy(POINT), 1e-13, "cost");
    // A unit vector's length cannot change: its gradient is 0 but for rounding.
    if (known) assert.ok((gradient ?? 0) <= 1e-14, `gradient ${gradient}`);
    else closeTo(gradient, steepest(energy), 1e-8, "largest entry of the gradient");
  });
}

test("every operation in one residual on webgpu: value and derivative are those of plain JavaScript", async (t) => {
  const lw = await open(t, { backend: "webgpu" });
  const all = Object.values(OPERATIONS);
  const { cost, gradient } = await evaluate(lw, (a, b, s) => all.flatMap(([traced]) => traced(a, b, s)));
  const energy = energyOf((a, b, s) => all.flatMap(([, plain]) => plain(a, b, s)));
  closeTo(cost, energy(POINT), 1e-5, "cost");
  closeTo(gradient, steepest(energy), 1e-5, "largest entry of the gradient");
});

test("data: one scalar an instance, shared numbers and vectors, columns of f32 and f64", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const u = problem.variables("u", { shape: 1, values: [1, 2] });
  const term = problem.residuals("data", {
    of: { u },
    data: { each: Float32Array.of(0.5, 1.5), two: 2, up: [1, 2, 3], pair: column(Float64Array.of(1, 2, 3, 4), 2), list: column([10, 20], 1) },
  }, ({ u }, { each, two, up, pair, list }) => [u.mul(each).add(two), up, pair, list]);
  const rows = (i) => [[1 * 0.5 + 2, 2 * 1.5 + 2][i], 1, 2, 3, ...[[1, 2], [3, 4]][i], [10, 20][i]];
  const costs = [0, 1].map((i) => rows(i).reduce((sum, r) => sum + (r * r) / 2, 0));
  assert.deepEqual(await term.worst(2), [{ instance: 1, cost: costs[1] }, { instance: 0, cost: costs[0] }]);
});

test("slots: columns of an index table, own index columns, instance counts, three's 16-bit indices", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const u = problem.variables("u", { shape: 1, values: [1, 10, 100, 1000] });
  const k = problem.constants("k", { shape: 1, values: [1, 2, 3, 4] });
  const cost = async (options, residual) => {
    const term = problem.residuals("t", options, residual);
    const value = Math.sqrt(2 * (await term.cost()));
    term.dispose();
    return value;
  };
  const table = Uint16Array.of(0, 3);
  assert.equal(await cost({ over: table, of: [u, u] }, ([a, b]) => a.add(b)), 1001, "column k for slot k");
  assert.equal(await cost({ over: table, of: [u.at(1), u.at(1)] }, ([a, b]) => a.add(b)), 2000, "another column");
  assert.equal(await cost({ over: [2, 1], of: { b: u, a: u } }, ({ a, b }) => a.sub(b)), 90, "named slots, in the order of their names' appearance");
  assert.equal(await cost({ over: table, of: [u, u, k.at(1)] }, ([a, b, c]) => a.add(b).mul(c)), 4004, "a constant");
  assert.equal(await cost({ over: 1, of: [u] }, ([a]) => a), 1, "a number of instances");
  assert.equal(await cost({ of: [u.at([2]), k.at(Int32Array.of(3))] }, ([a, b]) => a.add(b)), 104, "own index columns");
  assert.equal(await cost({ of: [u, k] }, ([a, b]) => a.mul(b)), Math.hypot(1, 20, 300, 4000), "instance i itself");
  assert.equal(await cost({ of: [u, u.at([0, 0, 0, 0])] }, ([a, b]) => a.sub(b)), Math.hypot(0, 9, 99, 999), "both");
});

for (const backend of BACKENDS) {
  test(`shared parameters on ${backend}: the first fit that everybody writes`, async (t) => {
    const lw = await open(t, { backend });
    const problem = lw.problem();
    const a = problem.variables("a", { shape: 1, values: [1] }), tau = problem.variables("tau", { shape: 1, values: [1] });
    const time = Float64Array.from({ length: 50 }, (_, k) => k / 10), seen = time.map((t) => 3 * Math.exp(-t / 1.7));
    const term = problem.residuals("decay", { of: [a, tau], data: { t: time, seen } }, ([a, tau], { t, seen }) => a.mul(exp(t.neg().div(tau))).sub(seen));
    assert.equal(term.count, 50);
    const report = await problem.solve({ costTolerance: 1e-10 });
    assert.ok(report.cost < 1e-8, String(report));
    closeTo((await a.read())[0], 3, 1e-4, "a");
    closeTo((await tau.read())[0], 1.7, 1e-4, "tau");
    problem.dispose();
  });
}

test("shared tables: residuals, derivatives and gradients are those of an index array of zeros, to the bit", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: [1, 2, 3, 4, 5, 6] });
  const s = problem.variables("s", { shape: 1, values: [0.5] }), k = problem.constants("k", { shape: 2, values: [7, 8] });
  const zeros = (count) => Array(count).fill(0);
  const weight = Float64Array.of(1, 2, 3), y = Float64Array.of(4, 5, 6);
  const scaled = ([p, s, k]) => p.mul(s).sub(k);
  const data = ([s], { y }) => s.mul(s).sub(y);
  const pairs = Uint32Array.of(0, 1, 1, 2, 0, 2, 2, 1), difference = ([p, q, s]) => p.sub(q).mul(s);
  const ring = { offsets: [0, 2, 3, 3], indices: [1, 2, 0] }, entries = perEntry(Float64Array.of(1, 2, 3));
  const rows = ([s, around]) => sum([s, ...around.map((q) => q.x.mul(s))]), each = ([s, around], { w }) => sumOver(around, { w }, (q, { w }) => q.y.mul(s).mul(w)).add(s);
  const forms = {
    "the count is that of the other slots": [{ of: [x, s, k] }, { of: [x, s.at(zeros(3)), k.at(zeros(3))] }, scaled],
    "of a slot's own column": [{ of: [x.at([2, 0]), s, k] }, { of: [x.at([2, 0]), s.at(zeros(2)), k.at(zeros(2))] }, scaled],
    "of data": [{ of: [s], data: { y } }, { of: [s.at(zeros(3))], data: { y } }, data],
    "of a weight": [{ of: [s], data: { y: 2 }, weight }, { of: [s.at(zeros(3))], data: { y: 2 }, weight }, data],
    "of `over`, a number": [{ over: 2, of: [x, s, k] }, { over: 2, of: [x, s.at(zeros(2)), k.at(zeros(2))] }, scaled],
    "of `over`, a table": [{ over: pairs, of: [x, x, s] }, { over: pairs, of: [x, x, s.at(zeros(4))] }, difference],
    "of named slots": [{ over: pairs, of: { p: x, q: x, s } }, { over: pairs, of: { p: x, q: x, s: s.at(zeros(4)) } }, ({ p, q, s }) => difference([p, q, s])],
    "of rows": [{ of: [s, x.rows(ring)] }, { of: [s.at(zeros(3)), x.rows(ring)] }, rows],
    "of rows that are summed over": [{ of: [s, x.each(ring)], data: { w: entries } }, { of: [s.at(zeros(3)), x.each(ring)], data: { w: entries } }, each],
    "of nothing else: 1": [{ of: [s, k] }, { of: [s.at([0]), k.at([0])] }, ([s, k]) => k.mul(s)],
    "1 in data of one value": [{ of: [s], data: { y: Float64Array.of(3) } }, { of: [s.at([0])], data: { y: Float64Array.of(3) } }, data],
  };
  for (const [name, [shared, given, residual]] of Object.entries(forms)) {
    for (const kind of ["residuals", "energy", "constrain"]) {
      if (kind !== "residuals" && /rows/.test(name)) continue;
      const one = (...args) => (kind === "residuals" ? residual(...args) : [residual(...args)].map((r) => (r.x ?? r).square())[0]);
      const [a, b] = [shared, given].map((options, j) => problem[kind](`t${j}`, { ...options, ...(kind === "constrain" && { to: "=0" }) }, one));
      assert.equal(a.count, b.count, `${name}, ${kind}`);
      assert.deepEqual(await a.evaluate(), await b.evaluate(), `${name}, ${kind}`);
      a.dispose();
      b.dispose();
    }
  }
});

test("shared tables and index tables: a column for a table of one instance, or none", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [1, 10, 100] }), s = problem.variables("s", { shape: 1, values: [2] }), f = problem.variables("f", { shape: 1, values: [3] });
  const found = async (options, residual = ([p, s]) => p.mul(s)) => {
    const term = problem.residuals("t", options, residual);
    const { residuals } = await term.evaluate();
    term.dispose();
    return [...residuals];
  };
  // A program for many cameras that happens to have one keeps its meaning: the data say how many rows the table has.
  const table = [1, 0, 2, 0], y = Float64Array.of(0, 0);
  assert.deepEqual(await found({ over: table, of: [x, s], data: { y } }), [20, 200], "column 1 is that of s");
  assert.deepEqual(await found({ over: table, of: [x, s], data: { y: new Float64Array(4) } }), [20, 2, 200, 2], "s has no column");
  assert.deepEqual(await found({ over: table, of: [x, s.at(1)] }), [20, 200], "said so");
  assert.deepEqual(await found({ over: [[1, 0], [2, 0]], of: [x, s] }), [20, 200], "two columns a row");
  assert.deepEqual(await found({ over: [[1], [0], [2], [0]], of: [x, s] }), [20, 2, 200, 2], "one column a row");
  assert.deepEqual(await found({ over: [1, 2, 2], of: [x, s] }), [20, 200, 200], "no multiple of 2");
  assert.deepEqual(await found({ over: [1, 2, 2, 1], of: [x, s] }), [20, 200, 200, 20], "no zeros for it");
  assert.deepEqual(await found({ over: [0, 1, 0, 2], of: [s, x] }), [20, 200], "in front of others, it has a column");
  assert.deepEqual(await found({ over: [1, 0, 2, 0], of: [x, s, f], data: { y } }, ([p, s, f]) => p.mul(s).add(f)), [23, 203], "one with a column, one without");
  assert.deepEqual(await found({ over: [1, 0, 2, 0], of: [x, f, s.at(1)] }, ([p, f, s]) => p.mul(s).add(f)), [23, 203], "in front of a column that was named");
});

test("an index table is the same as numbers, as rows, as a Uint32Array and as a column of each slot", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const sphere = icosphere(4), table = Uint32Array.from(edges(sphere.cells.flat()));
  const solved = async (over, slots) => {
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 3, values: sphere.positions.flat() });
    problem.residuals("spring", { ...(over && { over }), of: slots(x) }, ([a, b]) => a.sub(b).norm().sub(0.1));
    const { cost } = await problem.solve({ maxIterations: 3, linear: "pcg" });
    const values = await x.read(new Float64Array(3 * sphere.positions.length));
    problem.dispose();
    return [cost, ...values];
  };
  // More than the 4,096 words that a list of them begins with.
  assert.ok(table.length > 15_000);
  const columns = [0, 1].map((k) => table.filter((_, at) => at % 2 === k));
  const expected = await solved([...table], (x) => [x, x]);
  assert.ok(expected[0] > 0 && expected.every(Number.isFinite));
  assert.deepEqual(await solved(table, (x) => [x, x]), expected, "a Uint32Array");
  assert.deepEqual(await solved(Array.from(columns[0], (i, e) => [i, columns[1][e]]), (x) => [x, x]), expected, "rows");
  assert.deepEqual(await solved(undefined, (x) => [x.at(columns[0]), x.at(columns[1])]), expected, "a column of each slot");
});

test("large arrays of a term: the same as small ones, whatever they are made of, and read within the call", async (t) => {
  const lw = await open(t, { backend: "cpu", precision: "f64" });
  const problem = lw.problem(), count = 5000, every = (length, value) => Float64Array.from({ length }, (_, k) => value(k));
  const x = problem.variables("x", { shape: 1, values: every(100, (i) => i) }), s = problem.variables("s", { shape: 1, values: [3] });
  const [first, second] = [(i) => (7 * i) % 100, (i) => (3 * i + 1) % 100];
  const table = every(2 * count, (k) => (k % 2 ? second : first)(k >> 1)), d = every(2 * count, (k) => k % 17), e = every(count, (i) => i % 11), w = every(count, (i) => i % 5);
  const shared = (array) => { const made = new array.constructor(new SharedArrayBuffer(array.byteLength)); made.set(array); return made; };
  // Arrays are written to, and transferred where they can be, as soon as the call has returned.
  const spoil = (array) => {
    if (!ArrayBuffer.isView(array)) return;
    array.fill(99);
    if (array.buffer instanceof ArrayBuffer) structuredClone(array.buffer, { transfer: [array.buffer] });
  };
  const found = async ({ over, of = [x, x], weight, data, residual }) => {
    const term = problem.residuals("t", { over, of, data: { ...data, ...(data.d && { d: column(data.d, 2) }) }, ...(weight !== undefined && { weight }) }, residual);
    [over, weight, ...Object.values(data), ...of.map((slot) => slot.column)].forEach(spoil);
    const [{ residuals }, cost] = [await term.evaluate(), await term.cost()];
    assert.equal(term.count, count);
    term.dispose();
    return { residuals: [...residuals], cost };
  };
  const residuals = [...e].flatMap((e, i) => [first(i) - second(i) + d[2 * i], second(i) * d[2 * i + 1] + e]);
  const cost = (weight) => residuals.reduce((sum, r, k) => sum + (weight(k >> 1) * r * r) / 2, 0);
  const residual = ([a, b], { d, e }) => vec(a.sub(b).add(d.x), b.mul(d.y).add(e));
  const columns = [0, 1].map((k) => Uint32Array.from({ length: count }, (_, i) => table[2 * i + k]));
  const tables = {
    "a Uint32Array": () => Uint32Array.from(table), "an Int32Array": () => Int32Array.from(table), "a Float64Array": () => table.slice(), "a Uint16Array": () => Uint16Array.from(table),
    "numbers": () => [...table], "rows": () => Array.from(columns[0], (i, k) => [i, columns[1][k]]),
    "shared memory": () => shared(Uint32Array.from(table)), "a part of an array": () => Uint32Array.of(7, ...table, 7, 7).subarray(1, -2),
  };
  for (const [name, over] of Object.entries(tables)) {
    const all = await found({ over: over(), data: { d: d.slice(), e: e.slice() }, residual });
    assert.deepEqual(all.residuals, residuals, name);
    closeTo(all.cost, cost(() => 1), 1e-12, name);
  }
  const kinds = { "doubles": (array) => array.slice(), "shared memory": shared, "singles": (array) => Float32Array.from(array), "numbers": (array) => [...array] };
  for (const [kind, make] of Object.entries(kinds)) {
    // Numbers in a list are one vector that all instances share, unless they are a column.
    const data = () => ({ d: make(d), e: kind === "numbers" ? e.slice() : make(e) });
    for (const [weights, weight, of] of [["one weight", () => 2, () => 2], ...Object.entries(kinds).map(([name, make]) => [name, () => make(w), (i) => w[i]])]) {
      const all = await found({ over: Uint32Array.from(table), weight: weight(), data: data(), residual }), name = `data: ${kind}, weight: ${weights}`;
      assert.deepEqual(all.residuals, residuals, name);
      closeTo(all.cost, cost(of), 1e-12, name);
    }
  }
  // Of lists of one length each has its own values, and a slot takes any column.
  const plain = ([a, b], { e, f }) => vec(a.sub(b).add(f), b.mul(e)), other = every(count, (i) => i % 3);
  const expected = [...e].flatMap((e, i) => [first(i) - second(i) + other[i], second(i) * e]);
  const own = (k) => x.at(columns[k].slice()), wide = (width) => Uint32Array.from({ length: width * count }, (_, k) => [first, second][width - 1 - (k % width)]?.(Math.floor(k / width)) ?? 1e9);
  for (const options of [
    { over: Uint32Array.from(table), of: [x.at(0), x.at(1)] }, { over: wide(3), of: [x.at(2), x.at(1)] }, { over: wide(5), of: [x.at(4), own(1)] }, { over: columns[0].slice(), of: [x, own(1)] }, { of: [own(0), own(1)] },
  ]) {
    assert.deepEqual((await found({ ...options, weight: w.slice(), data: { e: e.slice(), f: other.slice() }, residual: plain })).residuals, expected);
  }
  const scaled = await found({ over: columns[0].slice(), of: [x, s], data: { e: e.slice() }, residual: ([a, s], { e }) => a.mul(s).sub(e) });
  assert.deepEqual(scaled.residuals, Array.from(e, (e, i) => 3 * first(i) - e), "a table of one instance that has no column");
});

test("large arrays of a term: what is refused", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem(), count = 5000;
  const x = problem.variables("x", { shape: 1, values: [1, 2, 3] }), s = problem.variables("s", { shape: 1, values: [3] });
  const refused = (options, code, message, place, residual = ([a, b]) => a.sub(b)) => refuses(() => problem.residuals("t", { of: [x, x], ...options }, residual), code, message, { term: "t", ...place });
  const table = (Kind, at, index) => { const made = new Kind(2 * count); made[at] = index; return made; };
  for (const Kind of [Uint32Array, Int32Array, Float64Array]) {
    refused({ over: table(Kind, 9001, 3) }, "index-out-of-range", 'term "t": slot 1 of instance 4500 has index 3, but "x" has 3 instances (0 to 2)', { slot: 1, instance: 4500 });
    refused({ over: table(Kind, 9000, 1), of: [s, x] }, "index-out-of-range",
      'term "t": slot 0 of instance 4500 has index 1, but "s" has one instance. It is shared if `over` has no column for it: put it behind the slots that have one', { slot: 0, instance: 4500 });
  }
  for (const [Kind, index] of [[Int32Array, -1], [Float64Array, -1], [Float64Array, 0.5], [Float64Array, NaN], [Float64Array, 2 ** 32]]) {
    refused({ over: table(Kind, 9001, index) }, "index-out-of-range", `term "t": slot 1 of instance 4500 has index ${index}, which is no index (0, 1, 2, …)`, { slot: 1, instance: 4500 });
  }
  const over = () => new Uint32Array(2 * count), given = (at, value) => new Float64Array(count).fill(value, at, at + 1);
  const shifted = ([a, b], { d }) => a.sub(b).sub(d);
  refused({ over: over(), data: { d: given(4321, NaN) } }, "non-finite", /term "t": data column "d"/, { instance: 4321 }, shifted);
  refused({ over: over(), weight: given(4321, Infinity), data: { d: given(0, 0) } }, "non-finite", /term "t": weight/, { instance: 4321 }, shifted);
  refuses(() => problem.residuals("t", { over: over(), of: [x, x], weight: given(4321, -1) }, ([a, b]) => a.sub(b)), "invalid-option", 'term "t": weight must not be negative, but value 4321 is');
  refused({ over: over(), data: { d: new Float64Array(count + 1) } }, "data-length", /term "t": data column "d"/, {}, shifted);
  // The function runs before the arrays cross.
  const gone = /its buffer was transferred/, transferring = (array, of) => (...args) => { structuredClone(array.buffer, { transfer: [array.buffer] }); return of(...args); };
  const [lost, values, weights] = [over(), given(0, 1), given(0, 1)];
  refused({ over: lost }, "data-length", gone, {}, transferring(lost, ([a, b]) => a.sub(b)));
  for (const [array, options] of [[values, { data: { d: values } }], [weights, { weight: weights, data: { d: given(0, 1) } }]]) {
    refuses(() => problem.residuals("t", { over: over(), of: [x, x], ...options }, transferring(array, shifted)), "data-length", gone);
  }
  assert.equal(problem.residuals("t", { over: over(), of: [x, x] }, ([a, b]) => a.sub(b)).count, count);
});

test("indices in memory that other threads may write to are taken before the function runs, whatever it says that it is", async (t) => {
  const lw = await open(t, { backend: "cpu", precision: "f64" });
  const problem = lw.problem(), x = problem.variables("x", { shape: 1, values: [1, 2, 4] }), length = 10_000;
  const shared = (Kind) => new Kind(new SharedArrayBuffer(length * Kind.BYTES_PER_ELEMENT)).fill(1).fill(2, 0, 1);
  const disguised = (Kind) => { const array = shared(Kind); Object.setPrototypeOf(array.buffer, ArrayBuffer.prototype); return array; };
  for (const make of [shared, disguised]) {
    for (const Kind of [Uint32Array, Int32Array, Float64Array]) {
      const over = make(Kind);
      const term = problem.residuals("t", { over, of: [x, x] }, ([a, b]) => { over.fill(99); return a.sub(b); });
      const { residuals } = await term.evaluate();
      assert.deepEqual([term.count, ...residuals], [length / 2, 2, ...new Array(length / 2 - 1).fill(0)], `${make.name} ${Kind.name}`);
      term.dispose();
    }
  }
  const own = new Uint32Array(length);
  refuses(() => problem.residuals("t", { over: own, of: [x, x] }, ([a, b]) => { own.fill(99); return a.sub(b); }), "index-out-of-range", /has index 99, but "x" has 3 instances/, { term: "t", slot: 0, instance: 0 });
});
