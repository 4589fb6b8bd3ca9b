// Tensors and problems: tensors as data, weights and values, and solutions as tensors with gradients.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cauchy, column, concat, grad, perEntry, quaternion, solveAsTensors } from "leastwise";
import { normalTable } from "leastwise/mesh";
import { BACKENDS, closeTo, ON_CUDA, open, refuses, rejects } from "./support.mjs";

/** Every precision of every backend, with the tensors' dtype. */
const ENGINES = BACKENDS.flatMap((backend) => (backend === "webgpu" ? [[{ backend, precision: "f32" }, "f32"]] : [[{ backend, precision: "f64" }, "f64"], [{ backend, precision: "f32" }, "f32"]]));

const COUNT = 400;
const numbers = (seed, count) => Float64Array.from({ length: count }, (_, k) => Math.fround(1 + 0.5 * Math.sin(seed + 1.7 * k)));
const arrayOf = (dtype, values) => (dtype === "f64" ? Float64Array : Float32Array).from(values);

/** Points with targets: Cauchy's loss of gain (|x|² x − target), and ½ ‖x − near‖². */
function scene(lw, { target, gain, weight, near, start }) {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: start });
  const to = problem.constants("near", { shape: 2, values: near });
  const term = problem.residuals("drawn", { of: [x], data: { target, gain }, weight, loss: cauchy(2) }, ([p], { target, gain }) => p.mul(p.dot(p)).sub(target).mul(gain));
  problem.residuals("near", { of: [x, to] }, ([p, q]) => p.sub(q));
  return { problem, x, to, term };
}

const given = () => ({ target: numbers(1, 2 * COUNT), weight: numbers(2, COUNT), near: numbers(3, 2 * COUNT), start: numbers(4, 2 * COUNT) });

for (const [options, dtype] of ENGINES) {
  const name = `${options.backend} ${options.precision}`;
  test(`${name}: tensors as data, weights and values give what arrays give, and stay on the device`, async (t) => {
    const lw = await open(t, options);
    const { target, weight, near, start } = given();
    const arrays = scene(lw, { target: column(target, 2), gain: 1.5, weight, near, start });
    const makes = (values, shape) => lw.tensor(arrayOf(dtype, values), shape, { dtype });
    const zeros = new Float64Array(2 * COUNT);
    const tensors = { target: makes(target, [COUNT, 2]), gain: makes([1.5], []), weight: makes(weight, [COUNT]), near: makes(near, [2 * COUNT]), start: makes(start, [COUNT, 2]) };
    const lent = scene(lw, { target: column(tensors.target, 2), gain: tensors.gain, weight: tensors.weight, near: zeros, start: zeros });
    lent.to.write(tensors.near);
    lent.x.write(tensors.start);
    const found = [];
    for (const { problem, x } of [arrays, lent]) {
      await problem.solve({ maxIterations: 5 });
      found.push(await x.read());
    }
    assert.deepEqual(found[1], found[0]);
    // Set between solves: elements are copied where they are.
    const half = makes(numbers(5, 2 * COUNT).map((value) => value / 2), [COUNT, 2]), other = half.mul(2);
    await lw.evaluate(other);
    const before = lw.counters();
    lent.term.set({ target: other, weight: tensors.weight });
    lent.x.write(tensors.start);
    assert.equal(await lent.x.read().then((values) => values.length), 2 * COUNT);
    const { readbacks, bytesUploaded } = lw.counters();
    assert.equal(readbacks - before.readbacks, 1, "of x.read() alone");
    assert.ok(bytesUploaded - before.bytesUploaded < 1000, `${bytesUploaded - before.bytesUploaded} bytes were uploaded`);
    arrays.term.set({ target: numbers(5, 2 * COUNT) });
    arrays.x.write(start);
    for (const { problem } of [arrays, lent]) await problem.solve({ maxIterations: 5 });
    assert.deepEqual(await lent.x.read(), await arrays.x.read());
    // What is computed on the host reads the data once.
    const [byArrays, byTensors] = await Promise.all([arrays, lent].map(({ problem, x }) => problem.backward([[x, numbers(6, 2 * COUNT)]])));
    assert.deepEqual(byTensors.of(lent.term), byArrays.of(arrays.term));
    const check = await lent.term.checkGradients();
    assert.ok(check.error < (dtype === "f64" ? 1e-6 : 1e-3), JSON.stringify(check));
    // An array in place of a tensor that is still to come.
    const three = other.mul(3);
    lent.term.set({ target: three });
    lent.term.set({ target });
    arrays.term.set({ target });
    assert.equal(await lent.term.cost(), await arrays.term.cost());
    for (const { problem } of [arrays, lent]) problem.dispose();
    for (const tensor of [...Object.values(tensors), half, other, three]) tensor.dispose();
    assert.equal(lw.memory().tensors, 0);
  });

  test(`${name}: rows of different lengths`, async (t) => {
    const lw = await open(t, options);
    const ragged = { offsets: [0, 2, 3, 6], indices: [1, 2, 0, 3, 1, 0] };
    const make = (w, each, all) => {
      const problem = lw.problem();
      const x = problem.variables("x", { shape: 2, values: numbers(1, 8) });
      const term = problem.residuals("laplacian", { of: [x.at([0, 1, 2]), x.rows(ragged)], data: { w: perEntry(w), each: column(each, 2), all } },
        ([p, around], { w, each, all }) => around.reduce((sum, q, k) => sum.sub(q.mul(w[k])), p.mul(all)).sub(each));
      problem.residuals("near", { of: [x], data: { to: [1, 2] } }, ([p], { to }) => p.sub(to));
      return { problem, x, term };
    };
    const w = numbers(2, 6), each = numbers(3, 6);
    const arrays = make(w, each, 2);
    const lent = make(lw.tensor(arrayOf(dtype, w), [6], { dtype }), lw.tensor(arrayOf(dtype, each), [3, 2], { dtype }), lw.tensor(arrayOf(dtype, [2]), [], { dtype }));
    for (const { problem } of [arrays, lent]) await problem.solve({ maxIterations: 4 });
    assert.deepEqual(await lent.x.read(), await arrays.x.read());
  });

  test(`${name}: gradients through a solution`, async (t) => {
    const lw = await open(t, options);
    const tight = dtype === "f64" ? { costTolerance: 1e-15, gradientTolerance: 1e-13, maxIterations: 300 } : { costTolerance: 1e-7, maxIterations: 100 };
    const n = 12, start = numbers(4, 2 * n), near = numbers(3, 2 * n), raw = numbers(1, 2 * n), weights = numbers(2, n);
    const { problem, x, term } = scene(lw, { target: column(raw, 2), gain: 1.5, weight: weights, near, start });
    const tensor = (values, shape) => lw.tensor(arrayOf(dtype, values), shape, { dtype });
    // The data are computed, too: target = 2 sin u.
    const u = tensor(raw, [n, 2]), w = tensor(weights, [n]);
    const target = u.sin().mul(2);
    const { tensors: [solution], report } = await solveAsTensors(problem, { variables: [x], data: [[term, { target, weight: w }]], ...tight });
    assert.equal(report.termination === "max-iterations", false, report.reason);
    assert.deepEqual(solution.shape, [n, 2]);
    assert.equal(solution.dtype, dtype);
    const loss = solution.square().mul(solution.sum()).sum();
    const [byU, byW, byTarget] = grad(loss, [u, w, target]);
    const [du, dw, dt, values, read] = await Promise.all([byU.read(), byW.read(), byTarget.read(), solution.read(), x.read()]);
    assert.deepEqual(Float64Array.from(values), Float64Array.from(read));
    // By hand: L = S Σx², S = Σx.
    const total = values.reduce((sum, value) => sum + value, 0), squares = values.reduce((sum, value) => sum + value * value, 0);
    const gradients = await problem.backward([[x, Float64Array.from(values, (value) => 2 * value * total + squares)]]);
    const tolerance = dtype === "f64" ? 1e-12 : 2e-5;
    const near2 = (found, expected, part, what) => {
      const largest = Math.max(...expected.map(Math.abs));
      expected.forEach((value, k) => assert.ok(Math.abs(found[k] - value) <= part * largest, `${what} ${k}: ${found[k]}, not ${value}`));
    };
    near2(dt, gradients.of(term).target, tolerance, "dL/dtarget");
    near2(dw, gradients.of(term).weight, tolerance, "dL/dweight");
    near2(du, Array.from(gradients.of(term).target, (slope, k) => slope * 2 * Math.cos(raw[k])), tolerance, "dL/du");
    // By differences of whole solves in f64.
    const exact = options.precision === "f64" ? lw : await open(t, { backend: "cpu", precision: "f64" });
    const other = scene(exact, { target: column(raw, 2), gain: 1.5, weight: weights, near, start });
    const at = async (k, by) => {
      const moved = raw.slice();
      moved[k] += by;
      other.term.set({ target: moved.map((value) => 2 * Math.sin(value)) });
      other.x.write(start);
      await other.problem.solve({ costTolerance: 0, gradientTolerance: 1e-14, stepTolerance: 1e-15, maxIterations: 500 });
      const values = await other.x.read();
      const sum = values.reduce((sum, value) => sum + value, 0);
      return values.reduce((loss, value) => loss + value * value * sum, 0);
    };
    for (const k of [0, 5]) {
      const slope = (await at(k, 1e-4) - await at(k, -1e-4)) / 2e-4;
      closeTo(du[k], slope, dtype === "f64" ? 1e-5 : 2e-3, `dL/du ${k}`);
    }
  });

  test(`${name}: one solve after another`, async (t) => {
    const lw = await open(t, options);
    // x = (a + b) / 2, then y = (x² + 1) / 2.
    const mean = () => {
      const problem = lw.problem();
      const x = problem.variables("x", { shape: 1, values: [0, 0] });
      const term = problem.residuals("a", { of: [x], data: { a: new Float64Array(2) } }, ([x], { a }) => x.sub(a));
      const other = problem.residuals("b", { of: [x], data: { b: Float64Array.of(1, 1) } }, ([x], { b }) => x.sub(b));
      return { problem, x, term, other };
    };
    const [first, second] = [mean(), mean()];
    const a = lw.tensor(arrayOf(dtype, [3, 5]), [2], { dtype }), b = lw.tensor(arrayOf(dtype, [1, 2]), [2], { dtype });
    const { tensors: [x] } = await solveAsTensors(first.problem, { variables: [first.x], data: [[first.term, { a }], [first.other, { b }]] });
    const squared = x.reshape(-1).square();
    const { tensors: [y] } = await solveAsTensors(second.problem, { variables: [second.x], data: [[second.term, { a: squared }]] });
    const [da, db] = grad(y.sum(), [a, b]);
    const [dx] = grad(concat([y, x]).sum(), [x]);
    refuses(() => grad(grad(y.square().sum(), [a])[0].sum(), [a]), "shape", /no second derivatives through a solve/);
    const [atA, atB, atX, atY] = await Promise.all([da.read(), db.read(), dx.read(), y.read()]);
    // dy/da = x/2.
    [[atA, [1, 1.75]], [atB, [1, 1.75]], [atX, [3, 4.5]], [atY, [2.5, 6.625]]].forEach(([found, expected]) => found.forEach((value, k) => closeTo(value, expected[k], 1e-5, `${k}`)));
    // What comes too late is refused.
    const late = grad(y.square().sum(), [squared])[0];
    await second.problem.solve();
    await rejects(late.read(), "invalid-option", /edited or solved again/);
  });

  test(`${name}: two variables of one solve, read before their gradients`, async (t) => {
    const lw = await open(t, options);
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 1, values: [1, 1] }), y = problem.variables("y", { shape: 1, values: [1, 1] });
    const sum = problem.residuals("sum", { of: [x, y], data: { a: new Float64Array(2) } }, ([x, y], { a }) => x.add(y).sub(a));
    const difference = problem.residuals("difference", { of: [x, y], data: { b: new Float64Array(2) } }, ([x, y], { b }) => x.sub(y).sub(b));
    const a = lw.tensor(arrayOf(dtype, [3, 5]), [2], { dtype }), b = lw.tensor(arrayOf(dtype, [1, 2]), [2], { dtype });
    const { tensors: [u, v] } = await solveAsTensors(problem, { variables: [x, y], data: [[sum, { a }], [difference, { b }]] });
    // x = (a + b) / 2 and y = (a − b) / 2: xy = (a² − b²) / 4.
    [[await u.read(), [2, 3.5]], [await v.read(), [1, 1.5]]].forEach(([found, expected]) => found.forEach((value, k) => closeTo(value, expected[k], 1e-5, `${k}`)));
    const [da, db] = grad(u.mul(v).sum(), [a, b]);
    const [atA, atB] = await Promise.all([da.read(), db.read()]);
    [[atA, [1.5, 2.5]], [atB, [-0.5, -1]]].forEach(([found, expected]) => found.forEach((value, k) => closeTo(value, expected[k], 1e-5, `${k}`)));
    // What is known stays: another loss of the same solution.
    const [again] = grad(u.sum(), [a]);
    (await again.read()).forEach((value) => closeTo(value, 0.5, 1e-5, "dx/da"));
  });

  test(`${name}: what does not fit`, async (t) => {
    const lw = await open(t, options), foreign = await open(t, { backend: "cpu" }, { fresh: true });
    const { target, weight, near: places, start } = given();
    const { problem, x, term } = scene(lw, { target: column(target, 2), gain: 1.5, weight, near: places, start });
    const tensor = (shape) => lw.zeros(shape, { dtype });
    refuses(() => term.set({ target: tensor([3, 2]) }), "shape", /^"drawn": data column "target": the tensor is \[3, 2\], but \[400, 2\] is needed/);
    refuses(() => term.set({ weight: tensor([3]) }), "shape", /weight/);
    refuses(() => term.set({ gain: tensor([COUNT]) }), "shape", /shared by all instances/);
    refuses(() => x.write(tensor([COUNT])), "shape", /\[400, 2\] is needed/);
    refuses(() => x.write(tensor([COUNT, 2]), { at: [0] }), "invalid-option", /one argument|1 argument|takes/);
    refuses(() => term.set({ target: foreign.zeros([COUNT, 2]) }), "foreign-tensor", /one of its engine/);
    const gone = tensor([COUNT, 2]);
    gone.dispose();
    refuses(() => term.set({ target: gone }), "disposed", /was disposed/);
    if (dtype === "f32" && options.backend !== "webgpu") {
      refuses(() => term.set({ target: lw.zeros([COUNT, 2], { dtype: "f64" }) }), "dtype", /solves in f32/);
    }
    const q = problem.variables("q", { shape: quaternion, values: [1, 0, 0, 0] });
    refuses(() => q.write(tensor([1, 4])), "invalid-option", /manifold/);
    refuses(() => problem.residuals("wrong", { of: [x], data: { target: column(tensor([5, 2]), 2) } }, ([p], { target }) => p.sub(target)), "data-length", /has 10 values, but 800/, { term: "wrong" });
    // Of a name that was refused nothing is left.
    problem.residuals("wrong", { of: [x], data: { target: column(tensor([COUNT, 2]), 2) } }, ([p], { target }) => p.sub(target)).dispose();
    const constraint = problem.constrain("on", { of: [x], to: "<=0" }, ([p]) => p.x.sub(9));
    refuses(() => constraint.set({ weight: tensor([]) }), "invalid-option", /penalty/);
    constraint.dispose();
    await rejects(solveAsTensors(problem, { variables: [x], data: [] }), "invalid-option", /no tensor is given/);
    await rejects(solveAsTensors(problem, { variables: [], data: [[term, { target: tensor([COUNT, 2]) }]] }), "invalid-option", /variables is empty/);
    await rejects(solveAsTensors(problem, { variables: [x], data: [[term, { target: 3 }]] }), "invalid-option", /must be a tensor/, { term: "drawn" });
    // Not converged: there is no gradient, as `backward` says.
    const other = lw.problem(), y = other.variables("y", { shape: 1, values: [1] });
    const near = other.residuals("near", { of: [y], data: { to: new Float64Array(1) } }, ([y], { to }) => y.sub(to));
    const to = lw.full([1], 5, { dtype });
    const { tensors: [early] } = await solveAsTensors(other, { variables: [y], data: [[near, { to }]], maxIterations: 0 });
    await rejects(grad(early.sum(), [to])[0].read(), "invalid-option", /not stationary/);
  });
}

/** x − a − b for two x, whose data are zeros. */
function offsets(lw) {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [0, 0] });
  const term = problem.residuals("off", { of: [x], data: { a: new Float64Array(2), b: new Float64Array(2) } }, ([x], { a, b }) => x.sub(a).sub(b));
  return { problem, x, term };
}

for (const [options, dtype] of ENGINES) {
  const name = `${options.backend} ${options.precision}`;
  const alike = (found, expected, what) => {
    assert.equal(found.length, expected.length, what);
    expected.forEach((value, k) => closeTo(found[k], value, 1e-5, `${what} ${k}`));
  };
  /** A tensor whose evaluation fails: a gradient through a solve that is not stationary. */
  const failing = async (lw) => {
    const { problem, x, term } = offsets(lw), a = lw.full([2], 3, { dtype });
    const { tensors: [early] } = await solveAsTensors(problem, { variables: [x], data: [[term, { a }]], maxIterations: 0 });
    return grad(early.square().sum(), [a])[0];
  };

  test(`${name}: several gradients of one solve in one evaluation`, async (t) => {
    const lw = await open(t, options);
    const { problem, x, term } = offsets(lw);
    const a = lw.tensor(arrayOf(dtype, [3, 5]), [2], { dtype });
    const { tensors: [s] } = await solveAsTensors(problem, { variables: [x], data: [[term, { a }]] });
    const [one] = grad(s.sum(), [a]), [ten] = grad(s.mul(10).sum(), [a]);
    const [atOne, atTen] = await Promise.all([one.read(), ten.read()]);
    alike(atOne, [1, 1], "of s");
    alike(atTen, [10, 10], "of 10 s");
    const [first] = grad(s.square().sum(), [a]), [other] = grad(s.mul(7).sum(), [a]);
    alike(await first.add(other).read(), [13, 17], "their sum");
    // A loss that a gradient is part of.
    const [slope] = grad(s.square().sum(), [a]), [next] = grad(s.reshape(-1).mul(slope.detach()).sum(), [a]);
    alike(await next.read(), [6, 10], "with the first as a factor");
  });

  test(`${name}: what a tensor that failed was for stays refused until it is given something else`, async (t) => {
    const lw = await open(t, options);
    const { problem, x, term } = offsets(lw), bad = await failing(lw);
    term.set({ a: bad });
    for (let k = 0; k < 3; k++) await rejects(problem.solve(), "invalid-option", /not stationary/);
    await rejects(x.read(), "invalid-option", /not stationary/);
    term.set({ b: new Float64Array(2) });
    await rejects(problem.solve(), "invalid-option", /not stationary/);
    term.set({ a: Float64Array.of(1, 2) });
    await problem.solve();
    alike(await x.read(), [1, 2], "after an array");
    x.write(bad);
    await rejects(problem.solve(), "invalid-option", /not stationary/);
    refuses(() => x.write([1], { at: [0] }), "invalid-option", /read\(\) it first/);
    x.write(lw.tensor(arrayOf(dtype, [7, 8]), [2], { dtype }));
    alike(await x.read(), [7, 8], "after a tensor");
  });

  test(`${name}: what is refused leaves what was accepted before`, async (t) => {
    const lw = await open(t, options);
    const { problem, x, term } = offsets(lw);
    const tensor = (...values) => lw.tensor(arrayOf(dtype, values), [values.length], { dtype });
    term.set({ a: tensor(50, 60) });
    refuses(() => term.set({ a: tensor(1, 2), b: tensor(1, 2, 3) }), "shape", /\[2\] is needed/);
    const other = problem.residuals("other", { of: [x], data: { c: new Float64Array(2) }, weight: 0 }, ([x], { c }) => x.sub(c));
    await rejects(solveAsTensors(problem, { variables: [x], data: [[term, { a: tensor(1, 2) }], [other, { c: tensor(1, 2, 3) }]] }), "shape", /\[2\] is needed/);
    await problem.solve();
    alike(await x.read(), [50, 60], "x");
    x.write(tensor(7, 8));
    refuses(() => x.write([1, 2, 3]), "data-length", /3 values/);
    alike(await x.read(), [7, 8], "the tensor on its way");
  });

  test(`${name}: one column has one tensor, and tensors may go while a solve runs`, async (t) => {
    const lw = await open(t, options);
    const { problem, x, term } = offsets(lw);
    const tensor = (...values) => lw.tensor(arrayOf(dtype, values), [values.length], { dtype });
    await rejects(solveAsTensors(problem, { variables: [x], data: [[term, { a: tensor(1, 2) }], [term, { a: tensor(3, 4) }]] }), "invalid-option", /a column has one/, { term: "off" });
    // One tensor for two columns is fine.
    const both = tensor(3, 5);
    const { tensors: [s] } = await solveAsTensors(problem, { variables: [x], data: [[term, { a: both, b: both }]] });
    alike(await grad(s.sum(), [both])[0].read(), [2, 2], "of both");
    const a = tensor(3, 5), coming = solveAsTensors(problem, { variables: [x], data: [[term, { a }]] });
    a.dispose();
    const { tensors: [found] } = await coming;
    alike(await found.read(), [6, 10], "x");
    await rejects((async () => a.read())(), "disposed", /disposed/);
    const slope = grad(s.sum(), [both])[0];
    problem.dispose();
    await rejects(slope.read(), "invalid-option", /disposed/);
  });

  test(`${name}: elements that are not finite, and calls that can't wait`, async (t) => {
    const lw = await open(t, options);
    const { problem, x, term } = offsets(lw);
    x.write(lw.tensor(Float32Array.of(NaN, 1), [2], { dtype: dtype === "f64" && options.backend === "cuda" ? "f64" : "f32" }));
    assert.deepEqual(Array.from(await x.read()), [NaN, 1]);
    const mesh = lw.problem(), corners = mesh.variables("corners", { shape: 3, values: [0, 0, 0, 1, 0, 0, 0, 1, 0] });
    const normals = await normalTable(corners, [0, 1, 2]);
    corners.write(lw.tensor(arrayOf(dtype, [0, 0, 0, 0, 1, 0, 0, 0, 1]), [3, 3], { dtype }));
    refuses(() => normals.update(), "busy", /still being computed/);
    alike((await normals.read()).slice(0, 3), [1, 0, 0], "normal");
    corners.write(lw.tensor(arrayOf(dtype, [0, 0, 0, 0, 0, 1, 1, 0, 0]), [3, 3], { dtype }));
    await corners.read();
    normals.update();
    alike((await normals.read()).slice(0, 3), [0, 1, 0], "normal");
    // The host does not know the data, and a solve does not wait within a step.
    x.write([0, 0]);
    term.set({ a: lw.tensor(arrayOf(dtype, [1, 2]), [2], { dtype }) });
    await x.read();
    let saved;
    const solver = problem.solver({ onIteration: () => { saved ??= solver.save().then(() => "saved", (error) => `${error.code}: ${error.message}`); } });
    await solver.solve();
    assert.match(await saved, /^busy: this call waits for tensors/);
    assert.ok((await solver.save()).length > 0);
  });

  test(`${name}: a problem that was solved as tensors goes when it is disposed`, async (t) => {
    // Engines that tests share are held with their problems.
    const lw = await open(t, options, { fresh: true });
    let collected = 0;
    const registry = new FinalizationRegistry(() => { collected++; });
    await (async () => {
      const { problem, x, term } = offsets(lw), a = lw.full([2], 3, { dtype });
      registry.register(problem, 0);
      const { tensors: [s] } = await solveAsTensors(problem, { variables: [x], data: [[term, { a }]] });
      for (const each of [s, a, problem]) each.dispose();
    })();
    for (let k = 0; k < 50 && !collected; k++) {
      await new Promise((resolve) => { setTimeout(resolve, 10); });
      gc();
    }
    assert.equal(collected, 1, "a problem that was disposed after it was solved");
  });
}

test("an engine in f64 on the CPU takes tensors of f32, which are exact there", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { target, weight, near, start } = given();
  const arrays = scene(lw, { target: column(target, 2), gain: 1.5, weight, near, start });
  const lent = scene(lw, { target: column(target, 2), gain: 1.5, weight, near, start });
  const tensor = lw.tensor(Float32Array.from(target), [COUNT, 2]);
  // On a GPU they are on another device.
  if (ON_CUDA) return refuses(() => lent.term.set({ target: tensor }), "dtype", /the tensor is of f32, and this engine solves in f64/);
  const { tensors: [x] } = await solveAsTensors(lent.problem, { variables: [lent.x], data: [[lent.term, { target: tensor }]], costTolerance: 1e-14 });
  await arrays.problem.solve({ costTolerance: 1e-14 });
  const values = await arrays.x.read();
  assert.equal(x.dtype, "f32");
  assert.deepEqual(await x.read(), Float32Array.from(values));
  assert.deepEqual(await lent.x.read(), values);
  const [slope] = grad(x.sum(), [tensor]);
  const gradients = await arrays.problem.backward([[arrays.x, new Float64Array(2 * COUNT).fill(1)]]);
  assert.deepEqual(await slope.read(), Float32Array.from(gradients.of(arrays.term).target));
});
