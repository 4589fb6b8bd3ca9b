// Solvers of leastwise/autograd: their interface's reasons and counts, classic problems, and what happens where things go wrong.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Adam, AdamW, CompiledFunctions, CompiledResiduals, lbfgs, nonlinearLeastSquares, nonlinearLeastSquaresAsync, Optimizer, SGD, V, Value, Vec3 } from "leastwise/autograd";
import { edges, icosphere } from "leastwise/mesh";
import { randoms } from "./random.mjs";

const leaves = (...values) => values.map((value) => V.W(value));
const near = (actual, expected, tolerance, what = "") => assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, not ${expected}`);
const data = (params) => params.map((param) => param.data);

/** Rosenbrock's function as two residuals. */
const rosenbrock = ([x, y]) => [V.sub(1, x), V.mul(10, V.sub(y, V.square(x)))];
/** y = a e^(bt), at six points. */
const TIMES = [0, 0.5, 1, 1.5, 2, 2.5];
const decay = ([a, b]) => TIMES.map((t) => V.sub(V.mul(a, V.exp(V.mul(b, t))), 3 * Math.exp(-0.7 * t)));

test("least squares solves classic problems, as a function and compiled, with the same steps", () => {
  const problems = { rosenbrock: [rosenbrock, [-1.2, 1], [1, 1]], decay: [decay, [1, 0], [3, -0.7]] };
  for (const [name, [build, start, solution]] of Object.entries(problems)) {
    for (const extra of [{}, { useQR: true }, { trustRegionRadius: 0.5 }]) {
      const options = { costTolerance: 1e-20, gradientTolerance: 1e-12, paramTolerance: 1e-14, ...extra };
      const plain = leaves(...start), compiled = leaves(...start);
      const first = nonlinearLeastSquares(plain, build, options), second = nonlinearLeastSquares(compiled, CompiledResiduals.compile(compiled, build), options);
      assert.equal(first.success, true, `${name}: ${first.convergenceReason}`);
      plain.forEach((param, k) => near(param.data, solution[k], 1e-8, name));
      assert.deepEqual(data(plain), data(compiled));
      assert.deepEqual([first.iterations, first.finalCost, first.convergenceReason], [second.iterations, second.finalCost, second.convergenceReason]);
      assert.equal(first.linearSolver, extra.useQR ? "qr" : "cholesky");
    }
  }
});

test("QR and Cholesky find the same, of rows that are three and more", () => {
  const rows = [[1, 2], [3, -1], [0.5, 4], [2, 2]];
  const fit = (useQR) => {
    const params = leaves(0, 0);
    nonlinearLeastSquares(params, ([x, y]) => rows.map(([a, b], k) => V.sub(V.add(V.mul(a, x), V.mul(b, y)), k)), { useQR, adaptiveDamping: false, gradientTolerance: 1e-10, costTolerance: 0 });
    return data(params);
  };
  fit(true).forEach((value, k) => near(value, fit(false)[k], 1e-12));
});

test("Gauss–Newton halves its steps, and says what failed", () => {
  const params = leaves(3);
  const result = nonlinearLeastSquares(params, ([x]) => [V.atan(x)], { adaptiveDamping: false });
  assert.ok(result.success && Math.abs(params[0].data) < 1e-3, result.convergenceReason);
  const [x, y] = leaves(1, 1);
  const singular = nonlinearLeastSquares([x, y], ([a, b]) => [V.sub(V.add(a, b), 5)], { adaptiveDamping: false });
  assert.deepEqual([singular.success, singular.termination], [false, "linear-solver"]);
  assert.match(singular.convergenceReason, /^Linear solver failed: /);
  assert.deepEqual(data([x, y]), [1, 1]);
});

test("every reason of least squares", () => {
  const reason = (build, start, options) => {
    const { convergenceReason, termination, success, iterations } = nonlinearLeastSquares(leaves(...start), build, options);
    return [convergenceReason, termination, success, iterations];
  };
  const tiny = { gradientTolerance: 0, costTolerance: 0, paramTolerance: 0 };
  assert.deepEqual(reason(([x]) => [V.sub(x, 3)], [3], {}), ["Gradient tolerance reached", "gradient", true, 0]);
  assert.deepEqual(reason(([x]) => [V.mul(x, 100)], [5e-6], {}).slice(0, 3), ["Cost below threshold", "cost", true]);
  assert.deepEqual(reason(([x]) => [V.add(V.square(x), 1)], [1], { ...tiny, costTolerance: 1e-3 }).slice(0, 3), ["Cost tolerance reached", "cost-change", true]);
  assert.deepEqual(reason(([x]) => [V.sub(x, 3)], [0], { ...tiny, paramTolerance: 10 }), ["Parameter tolerance reached", "parameters", true, 1]);
  assert.deepEqual(reason(rosenbrock, [-1.2, 1], { ...tiny, maxIterations: 3 }), ["Max iterations reached", "max-iterations", false, 3]);
  assert.deepEqual(reason(([x]) => [V.add(V.abs(x), 1)], [0.1], { ...tiny, maxInnerIterations: 1, initialDamping: 0 }).slice(1, 3), ["damping", false]);
  assert.deepEqual(reason(() => [], [1], {}), ["Gradient tolerance reached", "gradient", true, 0]);
});

test("a trial where a residual is not defined is rejected, and the best point stays", () => {
  const params = leaves(10);
  const result = nonlinearLeastSquares(params, ([x]) => [V.log(x)], { costTolerance: 1e-20, gradientTolerance: 1e-10 });
  assert.ok(result.success);
  near(params[0].data, 1, 1e-8);
  const other = leaves(10), minimum = lbfgs(other, ([x]) => V.square(V.log(x)), { costTolerance: 0, gradientTolerance: 1e-8 });
  assert.ok(minimum.success, minimum.convergenceReason);
  near(other[0].data, 1, 1e-6);
  assert.throws(() => nonlinearLeastSquares(leaves(-1), ([x]) => [V.log(x)]), { code: "non-finite" });
  const mine = leaves(2);
  let calls = 0;
  assert.throws(() => nonlinearLeastSquares(mine, ([x]) => { if (calls++ > 0) throw new TypeError("mine"); return [x]; }), TypeError);
  assert.equal(mine[0].data, 2);
});

test("many unknowns have a sparse factor, and the dense one's solution", () => {
  const { positions, triangles } = icosphere({ subdivisions: 2 }), pairs = edges(triangles);
  const build = (p) => {
    const out = [];
    for (let k = 0; k < pairs.length; k += 2) {
      const [i, j] = [3 * pairs[k], 3 * pairs[k + 1]];
      out.push(V.sub(V.sqrt(V.add(V.add(V.square(V.sub(p[i], p[j])), V.square(V.sub(p[i + 1], p[j + 1]))), V.square(V.sub(p[i + 2], p[j + 2])))), 0.3));
    }
    return [...out, ...p.slice(0, 6).map((value, k) => V.sub(value, positions[k]))];
  };
  const params = leaves(...positions), set = CompiledResiduals.compile(params, build);
  assert.equal(set.kernelCount, 2);
  const result = nonlinearLeastSquares(params, set, { costTolerance: 1e-14, gradientTolerance: 1e-7, paramTolerance: 1e-12 });
  assert.deepEqual([result.linearSolver, result.success], ["sparse-cholesky", true]);
  const { residuals, J } = set.evaluate(params), gradient = params.map((_, k) => residuals.reduce((sum, r, row) => sum + r * J[row][k], 0));
  assert.ok(Math.hypot(...gradient) < 1e-6, `${Math.hypot(...gradient)}`);
});

test("a linear problem is solved in one sparse step: in several components, with a dense part, and singular ones are refused", () => {
  let state = 1;
  const random = () => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return state / 2 ** 32 - 0.5; };
  const solution = Array.from({ length: 320 }, random), params = solution.map(() => V.W(0));
  // Chains in two components, and a clique of 90 unknowns, wider than a panel.
  const rows = [];
  for (let k = 1; k < 320; k++) if (k !== 150) rows.push([k - 1, k]);
  for (let k = 0; k < 320; k += 2) rows.push([k, (k * 7) % (k < 150 ? 150 : 320)]);
  for (let i = 0; i < 100; i++) rows.push(Array.from({ length: 90 }, (_, k) => 200 + k));
  const coefficients = rows.map((row) => row.map(random));
  const build = (p) => rows.map((row, r) => V.sub(V.sum(row.map((k, j) => V.mul(coefficients[r][j], p[k]))), row.reduce((sum, k, j) => sum + coefficients[r][j] * solution[k], 0)));
  const options = { adaptiveDamping: false, costTolerance: 1e-22, gradientTolerance: 0, paramTolerance: 0 };
  const result = nonlinearLeastSquares(params, CompiledResiduals.compile(params, (p) => [...build(p), ...p.map((x, k) => V.mul(0.1, V.sub(x, solution[k])))]), options);
  assert.equal(result.linearSolver, "sparse-cholesky");
  assert.ok(result.iterations <= 2, result.convergenceReason);
  params.forEach((param, k) => near(param.data, solution[k], 1e-11, `unknown ${k}`));
  const free = solution.map(() => V.W(0)), singular = nonlinearLeastSquares(free, ([first]) => [V.sub(first, 1)], options);
  assert.deepEqual([singular.termination, free[0].data], ["linear-solver", 0]);
});

test("an icosphere of 10,242 vertices has sparse steps", () => {
  const { positions, triangles } = icosphere({ subdivisions: 5 }), pairs = edges(triangles), params = leaves(...positions);
  const set = CompiledResiduals.compile(params, (p) => Array.from({ length: pairs.length / 2 }, (_, e) => {
    const [dx, dy, dz] = [0, 1, 2].map((k) => V.sub(p[3 * pairs[2 * e] + k], p[3 * pairs[2 * e + 1] + k]));
    return V.sub(V.sqrt(V.sum([V.square(dx), V.square(dy), V.square(dz)])), 0.034);
  }));
  assert.deepEqual([set.numResiduals, set.kernelCount], [30_720, 1]);
  const before = set.residuals().reduce((sum, r) => sum + r * r, 0), { linearSolver, iterations, finalCost } = nonlinearLeastSquares(params, set, { maxIterations: 2, initialDamping: 1, costTolerance: 0, paramTolerance: 0 });
  assert.deepEqual([linearSolver, iterations], ["sparse-cholesky", 2]);
  assert.ok(finalCost < 0.8 * before, `${before} → ${finalCost}`);
  // A step solves the damped normal equations.
  const { residuals, jacobian: { starts, columns, values } } = set.linearize(), gradient = new Float64Array(params.length), { normal } = set;
  residuals.forEach((r, row) => { for (let k = starts[row]; k < starts[row + 1]; k++) gradient[columns[k]] += values[k] * r; });
  normal.assemble({ starts, columns, values });
  assert.ok(normal.factorize(0.01));
  const step = normal.solve(gradient), rest = Float64Array.from(gradient, (g, k) => g - 0.01 * step[k]);
  residuals.forEach((_, row) => {
    let along = 0;
    for (let k = starts[row]; k < starts[row + 1]; k++) along += values[k] * step[columns[k]];
    for (let k = starts[row]; k < starts[row + 1]; k++) rest[columns[k]] -= values[k] * along;
  });
  const norm = (of) => Math.sqrt(of.reduce((sum, value) => sum + value * value, 0));
  assert.ok(norm(rest) <= 1e-11 * norm(gradient), `${norm(rest)} of ${norm(gradient)}`);
});

test("without WebAssembly evaluation and factorization have the same bits", () => {
  const { positions, triangles } = icosphere({ subdivisions: 3 }), pairs = edges(triangles), random = randoms(4, -0.02, 0.02), start = Array.from(positions, (value) => value + random());
  const solve = () => {
    const params = leaves(...start), set = CompiledResiduals.compile(params, (p) => {
      const at = (i) => new Vec3(p[3 * i], p[3 * i + 1], p[3 * i + 2]);
      return [...Array.from({ length: pairs.length / 2 }, (_, e) => V.sub(Vec3.distance(at(pairs[2 * e]), at(pairs[2 * e + 1])), 0.15)), ...p.map((value, k) => V.mul(0.01, V.sub(value, positions[k])))];
    });
    const { linearSolver } = nonlinearLeastSquares(params, set, { maxIterations: 5, costTolerance: 0, gradientTolerance: 0, paramTolerance: 0 });
    assert.equal(linearSolver, "sparse-cholesky");
    return [data(params), set.normal.compiled !== undefined, set.isCompiled(set.kernels[0])];
  };
  const { WebAssembly } = globalThis;
  let without;
  try {
    globalThis.WebAssembly = undefined;
    without = solve();
  } finally {
    globalThis.WebAssembly = WebAssembly;
  }
  const [values, ...compiled] = solve();
  assert.deepEqual([...compiled, ...without.slice(1)], [true, true, false, false]);
  assert.deepEqual(values, without[0]);
  assert.ok(values.some((value, k) => Math.abs(value - start[k]) > 1e-3));
});

test("a second solve of a set uses the first one's symbolic analysis, until something is added", () => {
  const params = leaves(...Array.from({ length: 300 }, (_, k) => k)), set = CompiledResiduals.compile(params, (p) => p.slice(1).map((x, k) => V.sub(V.sub(x, p[k]), 2)));
  set.add((p) => [p[0]]);
  assert.ok(nonlinearLeastSquares(params, set).success);
  const { normal } = set;
  params.forEach((param) => { param.data = 0; });
  assert.ok(nonlinearLeastSquares(params, set, { costTolerance: 1e-14 }).success);
  assert.equal(set.normal, normal);
  params.forEach((param, k) => near(param.data, 2 * k, 1e-3));
  set.add((p) => [V.sub(p[299], p[0]), V.sub(p[100], p[7])]);
  assert.ok(nonlinearLeastSquares(params, set, { costTolerance: 1e-12 }).success);
  assert.notEqual(set.normal, normal);
  const { residuals, J } = set.evaluate(params);
  params.forEach((_, k) => near(residuals.reduce((sum, r, row) => sum + r * J[row][k], 0), 0, 1e-3));
  set.dispose();
  assert.equal(set.normal, undefined);
});

test("L-BFGS solves what only shrinking steps did not", () => {
  const params = leaves(-1.2, 1), tight = { costTolerance: 0, gradientTolerance: 1e-8 };
  const result = lbfgs(params, (all) => V.sum(rosenbrock(all).map((r) => V.square(r))), tight);
  assert.deepEqual([result.success, result.termination], [true, "gradient"]);
  data(params).forEach((value) => near(value, 1, 1e-6));
  assert.ok(result.iterations < 60 && result.functionEvaluations >= result.iterations, `${result.iterations}, ${result.functionEvaluations}`);
  const flat = leaves(0);
  assert.ok(lbfgs(flat, ([x]) => V.mul(0.01, V.square(V.sub(x, 3))), tight).success);
  near(flat[0].data, 3, 1e-5);
  const negative = leaves(0);
  lbfgs(negative, ([x]) => V.sub(V.mul(0.2, V.square(V.sub(x, 3))), 100));
  near(negative[0].data, 3, 1e-4);
});

test("L-BFGS minimises the sum of a compiled set, as of the function", () => {
  const quartic = (all) => all.map((x, k) => V.add(V.square(V.sub(x, k)), V.pow(V.sub(x, k), 4)));
  const plain = leaves(5, 5, 5), compiled = leaves(5, 5, 5), single = leaves(5, 5, 5), options = { costTolerance: 0, gradientTolerance: 1e-10 };
  const first = lbfgs(plain, (all) => V.sum(quartic(all)), options), second = lbfgs(compiled, CompiledFunctions.compile(compiled, quartic), options);
  const third = lbfgs(single, V.compileObjective(single, (all) => V.sum(quartic(all))), options);
  for (const result of [first, second, third]) assert.ok(result.success, result.convergenceReason);
  for (const params of [plain, compiled, single]) data(params).forEach((value, k) => near(value, k, 1e-8));
});

test("every reason of L-BFGS, and its options", () => {
  const reason = (build, start, options) => {
    const { convergenceReason, termination, success, iterations } = lbfgs(leaves(...start), build, options);
    return [convergenceReason, termination, success, iterations];
  };
  const square = ([x]) => V.square(V.sub(x, 3));
  assert.deepEqual(reason(square, [3], {}), ["Initial gradient below tolerance", "gradient", true, 0]);
  assert.deepEqual(reason(square, [0], { gradientTolerance: 1e-9 }).slice(0, 3), ["Gradient tolerance reached", "gradient", true]);
  assert.deepEqual(reason(square, [0], { costTolerance: 100, gradientTolerance: 0 }).slice(0, 3), ["Cost tolerance reached", "cost-change", true]);
  assert.deepEqual(reason(([x]) => V.square(V.square(x)), [1], { costTolerance: 1e-1, gradientTolerance: 0 }).slice(1, 3)[1], true);
  assert.deepEqual(reason((all) => V.sum(rosenbrock(all).map((r) => V.square(r))), [-1.2, 1], { maxIterations: 2 }), ["Maximum iterations reached", "max-iterations", false, 2]);
  assert.deepEqual(reason(([x]) => V.abs(x), [1e-9], { maxLineSearchSteps: 1, gradientTolerance: 0 }).slice(0, 3), ["Line search failed to find acceptable step", "line-search", false]);
  for (const wrong of [{ c1: 0 }, { c1: 0.95 }, { c2: 1 }]) assert.throws(() => lbfgs(leaves(1), square, wrong), { code: "invalid-option", message: /0 < c1 < c2 < 1/ });
  assert.throws(() => lbfgs(leaves(1), square, { maxIteration: 3 }), { code: "invalid-option", message: /maxIterations/ });
  assert.throws(() => nonlinearLeastSquares(leaves(1), square, {}), { message: /what the residual function returned must be an array of Values/ });
  assert.throws(() => lbfgs(leaves(1), rosenbrock, {}), { code: "shape" });
  assert.throws(() => lbfgs(leaves(1, 1), rosenbrock, {}), { code: "no-residual" });
  let steps = 0;
  const { iterations } = lbfgs(leaves(0), square, { memorySize: 3, onStepAccepted: () => { steps += 1; } });
  assert.equal(steps, iterations);
});

test("solvers take the set's own parameters alone, and each once", () => {
  const [x, y] = leaves(1, 2), set = CompiledResiduals.compile([x, y], () => [V.sub(x, y)]);
  for (const params of [[y, x], [x], [x, V.W(2)]]) {
    assert.throws(() => nonlinearLeastSquares(params, set), { code: "foreign-variable", message: /^Value not registered/ });
    assert.throws(() => lbfgs(params, set), { code: "foreign-variable" });
  }
  assert.throws(() => nonlinearLeastSquares([x, x], ([a]) => [a]), { code: "invalid-option" });
  assert.ok(V.nonlinearLeastSquares([x, y], set).success);
});

test("constants are no parameters of a solve", async () => {
  for (const constant of [V.C(2), V.Param(2, "held"), new Value(2)]) {
    const x = V.W(1), build = (all) => all.map((of) => V.sub(of, 7)), set = CompiledResiduals.compile([x, constant], build);
    const refused = { name: "LeastwiseError", code: "invalid-option", message: /^params\[1\] is a constant( \(held\))?, which no step changes: make parameters with V\.W\(2\)$/ };
    for (const solve of [() => nonlinearLeastSquares([x, constant], build), () => nonlinearLeastSquares([x, constant], set), () => lbfgs([x, constant], ([a]) => V.square(a)), () => lbfgs([x, constant], CompiledFunctions.compile([x, constant], build))]) {
      assert.throws(solve, refused);
    }
    await assert.rejects(nonlinearLeastSquaresAsync([x, constant], set), refused);
    // An evaluation may have them, with a slope of 0.
    assert.deepEqual(set.evaluate([x, constant]).J, [[1, 0], [0, 0]]);
    assert.deepEqual([x.data, constant.data], [1, 2]);
  }
});

test("solving leaves the gradients of leaves alone", () => {
  const x = V.W(5);
  x.grad = 7;
  nonlinearLeastSquares([x], ([a]) => [V.sub(a, 3)]);
  lbfgs([x], ([a]) => V.square(a));
  assert.equal(x.grad, 7);
});

test("optimizers take the documented steps", () => {
  const step = (make, gradients, start = 1) => {
    const x = V.W(start), optimizer = make([x, V.C(4)]);
    for (const gradient of gradients) { x.grad = gradient; optimizer.step(); }
    return x.data;
  };
  near(step((all) => new SGD(all), [2]), 1 - 0.02, 1e-15);
  near(step((all) => new SGD(all, { learningRate: 0.1, weightDecay: 0.5 }), [2]), 1 - 0.1 * 2.5, 1e-15);
  near(step((all) => new SGD(all, { learningRate: 0.1, gradientClip: 1 }), [2]), 0.9, 1e-15);
  near(step((all) => new SGD(all, { learningRate: 0.1, momentum: 0.5 }), [1, 1]), 1 - 0.1 - 0.15, 1e-15);
  near(step((all) => new Adam(all), [2]), 1 - 1e-3, 1e-8);
  near(step((all) => new Adam(all, { learningRate: 0.1, gradientClip: 0.5 }), [2]), 0.95, 1e-8);
  near(step((all) => new Adam(all, { learningRate: 0.1, weightDecay: 1 }), [-1]), 1, 1e-8);
  near(step((all) => new AdamW(all, { learningRate: 0.1 }), [2]), 1 - 0.1 * 0.01 - 0.1, 1e-8);
  near(step((all) => new AdamW(all, { learningRate: 0.1, weightDecay: 0 }), [2]), 0.9, 1e-8);
  const x = V.W(1), adam = new Adam([x], { learningRate: 0.1 });
  x.grad = 3;
  adam.step();
  adam.resetStateFor(x);
  const before = x.data;
  adam.step();
  near(before - x.data, 0.1 * (0.1 * 3 / (1 - 0.81)) / Math.sqrt((0.001 * 9) / (1 - 0.999 ** 2)), 1e-8);
});

test("optimizers clear, clip, and train", () => {
  const [a, b] = leaves(3, 4), sgd = new SGD([a, b]);
  assert.ok(sgd instanceof Optimizer);
  [a.grad, b.grad] = [3, 4];
  sgd.clipGradients(1);
  near(Math.hypot(a.grad, b.grad), 1, 1e-6);
  sgd.zeroGrad();
  assert.deepEqual([a.grad, b.grad], [0, 0]);
  for (const make of [(all) => new SGD(all, { learningRate: 0.1 }), (all) => new Adam(all, { learningRate: 0.1 }), (all) => new AdamW(all, { learningRate: 0.1, weightDecay: 0 })]) {
    const params = leaves(5, -5), optimizer = make(params);
    for (let k = 0; k < 400; k++) {
      optimizer.zeroGrad();
      V.sum([V.square(V.sub(params[0], 1)), V.square(V.add(params[1], 2))]).backward();
      optimizer.step();
    }
    near(params[0].data, 1, 1e-2);
    near(params[1].data, -2, 1e-2);
  }
  assert.throws(() => new SGD([a], { learningrate: 1 }), { code: "invalid-option", message: /learningRate/ });
  assert.throws(() => new Adam([a], { beta1: 2 }), { code: "invalid-option" });
  assert.equal(Value.no_grad_mode, false);
});
