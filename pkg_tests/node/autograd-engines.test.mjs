// leastwise/autograd on engines: every operation is the engine's own, sets solve there as here, and who solves is told with the reason.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CompiledFunctions, CompiledResiduals, lbfgsAsync, Matrix3x3, nonlinearLeastSquares, nonlinearLeastSquaresAsync, V } from "leastwise/autograd";
import { edges, icosphere } from "leastwise/mesh";
import { BACKENDS, engineOf, open } from "./support.mjs";
import { near, randoms } from "./random.mjs";

/** Every operation as a function of two values between 0.05 and 0.95. */
const OPERATIONS = {
  add: V.add, sub: V.sub, mul: V.mul, div: V.div, neg: (x) => V.neg(x), pow: (x) => V.pow(x, 1.5), fourth: (x, y) => V.pow(V.sub(x, y), 4), powValue: V.powValue, mod: (x, y) => V.mod(V.mul(V.sub(x, 0.5), 5), y), square: (x) => V.square(x), cube: (x) => V.cube(x),
  reciprocal: (x) => V.reciprocal(x), sqrt: (x) => V.sqrt(x), abs: (x, y) => V.abs(V.sub(x, y)), sign: (x, y) => V.mul(V.sign(V.sub(x, y)), x), floor: (x) => V.add(V.floor(V.mul(x, 9)), x), ceil: (x) => V.add(V.ceil(V.mul(x, 9)), x), round: (x) => V.add(V.round(V.mul(x, 9)), x),
  min: V.min, max: V.max, clamp: (x, y) => V.mul(V.clamp(x, 0.3, 0.6), y), crossed: (x, y) => V.mul(V.clamp(x, 0.6, 0.3), y), exp: (x) => V.exp(x), log: (x) => V.log(x), sin: (x) => V.sin(x), cos: (x) => V.cos(x), tan: (x) => V.tan(x), asin: (x) => V.asin(x), acos: (x) => V.acos(x), atan: (x) => V.atan(x),
  atan2: (y, x) => V.atan2(V.sub(y, 0.5), V.sub(x, 0.5)), sinh: (x) => V.sinh(x), cosh: (x) => V.cosh(x), tanh: (x) => V.tanh(x), sigmoid: (x) => V.sigmoid(x), relu: (x, y) => V.relu(V.sub(x, y)), softplus: (x) => V.softplus(x), sum: (x, y) => V.sum([x, y, 1, x]), mean: (x, y) => V.mean([x, y]),
  eq: (x, y) => V.add(V.eq(x, y), x), neq: (x, y) => V.add(V.neq(x, y), x), gt: (x, y) => V.add(V.gt(x, y), x), lt: (x, y) => V.add(V.lt(x, y), x), gte: (x, y) => V.add(V.gte(x, y), x), lte: (x, y) => V.add(V.lte(x, y), x), ifThenElse: (x, y) => V.ifThenElse(V.gt(x, y), V.sin(x), V.mul(x, y)), eigenvalue: (x, y) => Matrix3x3.smallestEigenvalue(V.add(x, 2), 0.1, y, V.add(y, 1), 0.2, 3),
};

/** Kinks and ties: what a table of operations is for. */
const EDGES = {
  abs: [(x) => V.abs(x), 0], sqrt: [(x) => V.sqrt(x), 0], relu: [(x) => V.relu(x), 0], asin: [(x) => V.asin(x), 1], acos: [(x) => V.acos(x), -1], low: [(x) => V.clamp(x, 0, 1), 0], high: [(x) => V.clamp(x, 0, 1), 1], above: [(x) => V.clamp(x, 0, 1), 2], crossed: [(x) => V.add(V.clamp(x, 5, 3), x), 4], max: [(x) => V.max(x, 1), 1],
  min: [(x) => V.min(x, 1), 1], atan2: [(x) => V.atan2(x, x), 0], half: [(x) => V.add(V.round(x), x), 2.5], negativeHalf: [(x) => V.add(V.round(x), x), -2.5], negative: [(x) => V.pow(x, 3), -2], zero: [(x) => V.pow(x, 1), 0], root: [(x) => V.pow(x, 0.5), 0],
};

for (const backend of BACKENDS) {
  const isF32 = backend === "webgpu", placed = (lw) => ({ engine: lw, backend: backend === "cpu" ? "cpu" : "gpu" });

  test(`${backend}: every operation has the value and the slopes that the engine has`, async (t) => {
    const lw = await open(t, engineOf(backend)), random = randoms(3, 0.05, 0.95), points = Array.from({ length: 8 }, () => [random(), random()]);
    const params = points.flatMap((point) => point.map((value) => V.W(isF32 ? Math.fround(value) : value)));
    const names = Object.keys(OPERATIONS);
    const set = CompiledResiduals.compile(params, (p) => names.flatMap((name) => points.map((_, k) => OPERATIONS[name](p[2 * k], p[2 * k + 1]))), placed(lw));
    const here = set.evaluate(params), there = await set.evaluateAsync(params);
    here.residuals.forEach((value, row) => near(there.residuals[row], value, isF32 ? 1e-4 : 1e-12, `${names[Math.floor(row / 8)]} ${row % 8}`));
    here.J.forEach((slopes, row) => slopes.forEach((slope, k) => near(there.J[row][k], slope, isF32 ? 1e-3 : 1e-11, `${names[Math.floor(row / 8)]} ${row % 8} by ${k}`)));
    near(there.cost, here.cost, isF32 ? 1e-4 : 1e-12, "cost");
    const [sum, other] = [set.evaluateSumWithGradient(params), await set.evaluateSumWithGradientAsync(params)];
    near(other.value, sum.value, isF32 ? 1e-4 : 1e-12, "sum");
    sum.gradient.forEach((slope, k) => near(other.gradient[k], slope, isF32 ? 1e-3 : 1e-11, `gradient ${k}`));
    set.dispose();
  });

  test(`${backend}: kinks and ties are those of the engine, exactly`, async (t) => {
    const lw = await open(t, engineOf(backend)), names = Object.keys(EDGES), params = names.map((name) => V.W(EDGES[name][1]));
    const set = CompiledResiduals.compile(params, (p) => names.map((name, k) => EDGES[name][0](p[k])), placed(lw));
    const here = set.evaluate(params), there = await set.evaluateAsync(params);
    names.forEach((name, k) => {
      near(there.residuals[k], here.residuals[k], 1e-6, name);
      near(there.J[k][k], here.J[k][k], 1e-6, `slope of ${name}`);
    });
    set.dispose();
  });

  test(`${backend}: a set is solved there as here, and data of constants is read at the call`, async (t) => {
    const lw = await open(t, engineOf(backend)), { positions, triangles } = icosphere({ subdivisions: 1 }), pairs = edges(triangles), length = V.Param(0.5, "length");
    const params = Array.from(positions, (value) => V.W(value));
    const set = CompiledResiduals.compile(params, (p) => {
      const out = p.slice(0, 6).map((value, k) => V.sub(value, positions[k]));
      for (let k = 0; k < pairs.length; k += 2) out.push(V.sub(V.sqrt(V.sum([0, 1, 2].map((c) => V.square(V.sub(p[3 * pairs[k] + c], p[3 * pairs[k + 1] + c]))))), length));
      return out;
    }, { ...placed(lw), batchSize: 50 });
    const result = await nonlinearLeastSquaresAsync(params, set, { costTolerance: isF32 ? 1e-6 : 1e-10, paramTolerance: 1e-7 });
    assert.equal(result.success, true, result.convergenceReason);
    assert.equal(result.backend, lw.backend);
    assert.ok(result.reason.length > 10 && result.report.iterations.length === result.iterations);
    near(set.evaluate(params).cost, result.finalCost, 1e-3, "cost");
    // From the same start, by the solver of this entry.
    const there = params.map(({ data }) => data);
    params.forEach((param, k) => { param.data = positions[k]; });
    const here = nonlinearLeastSquares(params, set, { costTolerance: 1e-12, paramTolerance: 1e-9 });
    assert.equal(here.success, true, here.convergenceReason);
    near(result.finalCost, here.finalCost, isF32 ? 1e-4 : 1e-8, "cost of both");
    params.forEach((param, k) => near(there[k], param.data, isF32 ? 1e-2 : 1e-3, `parameter ${k}`));
    length.data = 0.4;
    const again = await nonlinearLeastSquaresAsync(params, set, { costTolerance: isF32 ? 1e-6 : 1e-10 });
    near(set.evaluate(params).cost, again.finalCost, 1e-3, "cost");
    assert.ok(Math.abs(again.finalCost - result.finalCost) > 1e-3);
    set.dispose();
  });

  test(`${backend}: L-BFGS minimises the sum there`, async (t) => {
    const lw = await open(t, engineOf(backend)), params = Array.from({ length: 10 }, () => V.W(0));
    const set = CompiledFunctions.compile(params, (p) => p.map((x, k) => V.sub(V.mul(0.5 + k / 10, V.square(V.sub(x, k / 10))), 1)), placed(lw));
    const result = await lbfgsAsync(params, set, { costTolerance: 0, gradientTolerance: isF32 ? 1e-4 : 1e-8 });
    assert.ok(result.success, result.convergenceReason);
    near(result.finalCost, -10, 1e-5, "cost");
    params.forEach((param, k) => near(param.data, k / 10, isF32 ? 1e-3 : 1e-6, `${k}`));
    set.dispose();
  });
}

test("the same bits on every run", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const solve = async () => {
    const params = [V.W(-1.2), V.W(1)], set = CompiledResiduals.compile(params, ([x, y]) => [V.sub(1, x), V.mul(10, V.sub(y, V.square(x)))], { engine: lw, backend: "cpu" });
    const { iterations, finalCost } = await nonlinearLeastSquaresAsync(params, set);
    set.dispose();
    return [iterations, finalCost, ...params.map(({ data }) => data)];
  };
  assert.deepEqual(await solve(), await solve());
});

test("who solves is decided by what was given, and told", async (t) => {
  const lw = await open(t, { backend: "cpu" }), [x, y] = [V.W(1), V.W(2)], compile = (options) => CompiledResiduals.compile([x, y], () => [V.sub(x, 3), V.sub(y, 4)], options);
  assert.equal(compile().reason, "no engine was given");
  assert.equal(compile({ backend: "cpu" }).reason, "the CPU was asked for");
  assert.equal(compile({ engine: lw }).reason, "2 parameters are fewer than 20000");
  assert.equal(compile({ engine: lw, fallbackThreshold: 3 }).reason, "2 residuals are fewer than 3");
  assert.match(compile({ engine: lw, fallbackThreshold: 2 }).reason, /^2 residuals are at least 2: /);
  const here = await nonlinearLeastSquaresAsync([x, y], compile({ engine: lw }));
  assert.deepEqual([here.success, here.backend, here.report], [true, "cpu", undefined]);
  assert.throws(() => compile({ backend: "gpu" }), { code: "invalid-option", message: /needs an engine: give \{ engine: await init\(\) \}/ });
  assert.throws(() => compile({ engine: {} }), { code: "invalid-option", message: /engine must be an engine, as init\(\) makes one/ });
  assert.throws(() => compile({ batchsize: 3 }), { code: "invalid-option", message: /batchSize/ });
  if (lw.backend === "cpu") assert.throws(() => compile({ backend: "gpu", engine: lw }), { code: "no-adapter" });
  await assert.rejects(nonlinearLeastSquaresAsync([y, x], compile()), { code: "foreign-variable" });
  await assert.rejects(nonlinearLeastSquaresAsync([x, y], () => [x]), { code: "no-residual" });
});

test("by default sizes decide that were measured, for each kind of solve, and evaluations stay here", async (t) => {
  const lw = await open(t, { backend: "cpu" }), gpu = { backend: "webgpu", reason: "a GPU", problem() {}, dispose() {} };
  const params = Array.from({ length: 20_000 }, () => V.W(0)), wide = CompiledResiduals.compile(params, (p) => [V.sub(p[0], 1)], { engine: lw });
  assert.match(wide.reason, /^20000 parameters are at least 20000: /);
  // 701 functions of a thousand operations.
  const long = (engine) => CompiledFunctions.compile([params[0]], ([x]) => Array.from({ length: 701 }, (_, k) => { let y = V.mul(x, k); for (let j = 1; j < 1000; j++) y = V.add(y, x); return V.square(y); }), { engine });
  const [there, here] = [long(gpu), long(lw)];
  assert.deepEqual([there.backend, there.reason], ["webgpu", "701701 operations are at least 700000: a GPU"]);
  if (lw.backend === "cpu") assert.deepEqual([here.backend, here.reason], ["cpu", "L-BFGS is as fast here as on an engine of the CPU"]);
  else assert.deepEqual([here.backend, here.reason.split(":")[0]], [lw.backend, "701701 operations are at least 700000"]);
  const { value } = await wide.evaluateSumWithGradientAsync(params);
  assert.equal(value, -1);
  assert.equal(wide.place("evaluation").reason, "one evaluation is faster here than the way to the engine and back");
  const less = CompiledFunctions.compile([params[0]], ([x]) => [V.square(x)], { engine: gpu });
  assert.deepEqual([less.backend, less.reason], ["cpu", "1 operations are fewer than 700000"]);
});

test("what is added later, and residuals without parameters, take part; a start that is not defined is refused", async (t) => {
  const lw = await open(t, { backend: "cpu" }), [x, y] = [V.W(1), V.W(2)], set = CompiledResiduals.compile([x, y], () => [V.sub(x, 3), V.mul(V.C(2), 1)], { engine: lw, backend: "cpu" });
  const first = await nonlinearLeastSquaresAsync([x, y], set);
  near(first.finalCost, 4, 1e-9, "cost");
  set.add(() => [V.sub(y, 5)]);
  assert.equal((await nonlinearLeastSquaresAsync([x, y], set)).success, true);
  near(y.data, 5, 1e-4, "y");
  assert.equal(set.kernelCount, 2);
  const log = CompiledResiduals.compile([x], () => [V.log(x)], { engine: lw, backend: "cpu" });
  x.data = -1;
  await assert.rejects(nonlinearLeastSquaresAsync([x], log), { code: "non-finite" });
  await assert.rejects(log.evaluateAsync([x]), { code: "non-finite", instance: 0 });
  set.dispose();
  log.dispose();
});
