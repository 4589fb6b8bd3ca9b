// Many small fits (`lw.fit`): against the general solver fit by fit, NIST's regressions from perturbed starts, the Cramér–Rao bound, fits that can't
// be made, layouts, progress, and what is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cauchy, exp, fitModels, huber, init, LeastwiseError, sin, sqrt } from "leastwise";
import { fitSet } from "leastwise/fits";
import { digits, fitOf, NIST, readNist } from "../problems/nist.mjs";
import { gaussians, spots } from "../problems/fits.mjs";
import { Random } from "../problems/random.mjs";
import { ADDON, BACKENDS, closeTo, engineOf, FULL, open, rejects } from "./support.mjs";

const SPOT = ["a", "x0", "y0", "s", "b"];

/** Names of adapters in software. */
const SOFTWARE = /swiftshader|llvmpipe|lavapipe/i;

/** More parameters than a fit has room for. */
const MANY = Array.from({ length: 33 }, (_, k) => `p${k}`);

/** a exp(−½ ‖(x, y) − (x₀, y₀)‖²/s²) + b */
const spot = ([a, x0, y0, s, b], { x, y }) => a.mul(exp(x.sub(x0).square().add(y.sub(y0).square()).div(s.square().mul(-2)))).add(b);
const line = { model: ([a, b], { x }) => a.add(b.mul(x)), parameters: ["a", "b"], variables: { x: [0, 1, 2, 3] }, points: 4, start: { a: 0, b: 0 } };

for (const backend of BACKENDS) {
  test(`fits agree with the general solver, fit by fit, on ${backend}`, { concurrency: 1 }, async (t) => {
    const count = 60, lw = await open(t, engineOf(backend)), general = await open(t, { backend: "cpu" });
    const { problem, tables: [p], start, data, x, y } = gaussians(general, 5, count);
    const report = await problem.solve({ costTolerance: 1e-14 });
    const right = await p.read(new Float64Array(5 * count));
    const covariance = await problem.marginals({ variance: 1 });
    const errors = await covariance.standardErrors(p);
    const fits = await lw.fit({ model: spot, parameters: SPOT, variables: { x, y }, points: 25, data, start: Object.fromEntries(SPOT.map((name, k) => [name, start[k]])), variance: 1 });
    assert.equal(fits.count, count);
    assert.deepEqual(fits.ended, { converged: count, "at-bound": 0, singular: 0, "non-finite": 0, "iteration-limit": 0 });
    const exact = lw.precision === "f64", room = exact ? 1e-5 : 0.01;
    for (let fit = 0; fit < count; fit++) for (const [k, name] of SPOT.entries()) {
      const error = errors[5 * fit + k];
      assert.ok(Math.abs(fits.values[name][fit] - right[5 * fit + k]) <= room * error, `${name} of fit ${fit} is ${fits.values[name][fit]}, not ${right[5 * fit + k]} ± ${error}`);
      closeTo(fits.standardErrors[name][fit], error, exact ? 1e-5 : 0.01, `error of ${name}`);
    }
    closeTo(fits.chiSquared.reduce((sum, each) => sum + each, 0), 2 * report.cost, exact ? 1e-9 : 1e-4, "χ²");
    assert.ok(fits.iterations.every((made) => made > 1 && made < 60) && fits.state(0) === "converged");
    // The same bits again.
    const again = await lw.fit({ model: spot, parameters: SPOT, variables: { x, y }, points: 25, data, start: Object.fromEntries(SPOT.map((name, k) => [name, start[k]])), variance: 1 });
    assert.deepEqual([again.values, again.standardErrors, again.chiSquared, again.iterations], [fits.values, fits.standardErrors, fits.chiSquared, fits.iterations]);
  });
}

/** Spectra of so many peaks, (height, center, width) each, on c + d x: names of their parameters, the model, and its values. */
function spectra(peaks) {
  const names = Array.from({ length: 3 * peaks + 2 }, (_, k) => (k < 3 * peaks ? `${"amw"[k % 3]}${Math.floor(k / 3)}` : "cd"[k - 3 * peaks]));
  const model = (p, { x }) => Array.from({ length: peaks }, (_, k) => p[3 * k].mul(exp(x.sub(p[3 * k + 1]).div(p[3 * k + 2]).square().mul(-0.5))))
    .reduce((sum, peak) => sum.add(peak), p[3 * peaks].add(p[3 * peaks + 1].mul(x)));
  const at = (p, x) => Array.from({ length: peaks }, (_, k) => p[3 * k] * Math.exp(-0.5 * ((x - p[3 * k + 1]) / p[3 * k + 2]) ** 2)).reduce((sum, peak) => sum + peak, p[3 * peaks] + p[3 * peaks + 1] * x);
  return { names, model, at };
}

for (const backend of BACKENDS) {
  test(`fits of many parameters agree with the general solver, fit by fit, on ${backend}`, { concurrency: 1 }, async (t) => {
    const lw = await open(t, engineOf(backend)), general = await open(t, { backend: "cpu" }), random = new Random(15);
    // The most parameters that there may be, but 14 on an adapter in software, which compiles the larger model for minutes.
    const peaks = backend === "webgpu" && SOFTWARE.test(lw.adapter) ? 4 : 10, { names, model, at } = spectra(peaks), count = 20, points = 30 * peaks, n = names.length;
    const x = Float32Array.from({ length: points }, (_, k) => k / 8), data = new Float32Array(count * points), start = [];
    for (let fit = 0; fit < count; fit++) {
      const truth = names.map((_, k) => (k >= 3 * peaks ? random.between(0, 0.3) : k % 3 === 0 ? random.between(5, 9) : k % 3 === 1 ? 3 * (k - 1) / 3 + random.between(1, 2) : random.between(0.3, 0.6)));
      start.push(truth.map((value, k) => (k % 3 === 1 && k < 3 * peaks ? value + random.between(-0.15, 0.15) : value * random.between(0.9, 1.1))));
      for (let k = 0; k < points; k++) data[fit * points + k] = at(truth, x[k]) + 0.1 * random.normal();
    }
    const problem = general.problem(), pairs = Array.from(data, (_, k) => Math.floor(k / points));
    const p = problem.variables("lines", { shape: n, values: start.flat() });
    problem.residuals("spectra", { of: [p.at(pairs)], data: { x: Float64Array.from(data, (_, k) => x[k % points]), y: Float64Array.from(data) } }, ([g], { x, y }) =>
      model(names.map((_, k) => g.at(k)), { x }).sub(y));
    const report = await problem.solve({ costTolerance: 1e-14 }), right = await p.read(new Float64Array(n * count));
    const errors = await (await problem.marginals({ variance: 1 })).standardErrors(p);
    const options = { model, parameters: names, variables: { x }, points, data, variance: 1, start: Object.fromEntries(names.map((name, k) => [name, start.map((row) => row[k])])) };
    const fits = await lw.fit(options), exact = lw.precision === "f64";
    assert.equal(fits.ended.converged, count, JSON.stringify(fits.ended));
    for (let fit = 0; fit < count; fit++) for (const [k, name] of names.entries()) {
      const error = errors[n * fit + k];
      assert.ok(Math.abs(fits.values[name][fit] - right[n * fit + k]) <= (exact ? 1e-5 : 0.02) * error, `${name} of fit ${fit} is ${fits.values[name][fit]}, not ${right[n * fit + k]} ± ${error}`);
      closeTo(fits.standardErrors[name][fit], error, exact ? 1e-5 : 0.02, `error of ${name}`);
    }
    closeTo(fits.chiSquared.reduce((sum, each) => sum + each, 0), 2 * report.cost, exact ? 1e-9 : 1e-4, "χ²");
    // On the device, from other data and back: the same bits.
    const set = await fitSet(lw, options), other = data.map((y) => y + 1);
    await set.run();
    assert.deepEqual((await set.read()).values, fits.values);
    await set.write(other);
    await set.run({ from: "values" });
    assert.ok((await set.values("c")).every((c, fit) => Math.abs(c - fits.values.c[fit] - 1) < 0.01), "one more everywhere is in the background");
    await set.write(data);
    await set.run();
    assert.deepEqual((await set.read()).standardErrors, fits.standardErrors);
    set.dispose();
    // Of one less, with bounds and one that is fixed.
    const bounded = await lw.fit({ ...options, fixed: ["d"], lower: { c: 0.1, w0: 0.2 }, upper: { c: 0.12 } });
    assert.ok(bounded.ended.converged + bounded.ended["at-bound"] === count && bounded.ended["at-bound"] > 0, JSON.stringify(bounded.ended));
    bounded.values.c.forEach((c, fit) => {
      assert.ok(c >= Math.fround(0.1) - 1e-7 && c <= Math.fround(0.12) + 1e-7, `c is ${c}`);
      if (bounded.state(fit) === "at-bound") assert.equal(bounded.standardErrors.c[fit], 0);
    });
  });
}

/** a exp(−k x) + b, where all fits have one k. */
const decay = ([a, k, b], { x }) => a.mul(exp(k.mul(x).neg())).add(b), DECAY = ["a", "k", "b"];
function decays(count, points, rate, noise, seed, floor = 0.5) {
  const random = new Random(seed), x = Float32Array.from({ length: points }, (_, j) => j / 8), data = new Float32Array(count * points), a = [];
  for (let fit = 0; fit < count; fit++) {
    const [height, background] = [random.between(4, 9), floor + random.between(0, 0.5)];
    a.push(height * random.between(0.9, 1.1));
    for (let j = 0; j < points; j++) data[fit * points + j] = noise(height * Math.exp(-rate * x[j]) + background, random);
  }
  return { data, options: { model: decay, parameters: DECAY, variables: { x }, points, data, start: { a, k: rate * 1.4, b: floor + 0.2 }, shared: ["k"] } };
}

for (const backend of BACKENDS) {
  test(`what all fits share is fitted with the others, as the general solver has it, on ${backend}`, { concurrency: 1 }, async (t) => {
    const count = 40, points = 48, lw = await open(t, engineOf(backend)), general = await open(t, { backend: "cpu" });
    const { data, options } = decays(count, points, 0.8, (y, random) => y + 0.1 * random.normal(), 19), x = options.variables.x;
    const problem = general.problem(), pairs = Array.from(data, (_, i) => Math.floor(i / points));
    const own = problem.variables("own", { shape: 2, values: options.start.a.flatMap((a) => [a, 0.7]) }), rate = problem.variables("rate", { shape: 1, values: [1.1] });
    problem.residuals("decays", { of: [own.at(pairs), rate], data: { x: Float64Array.from(data, (_, i) => x[i % points]), y: Float64Array.from(data) } }, ([p, k], { x, y }) => decay([p.x, k, p.y], { x }).sub(y));
    const report = await problem.solve({ costTolerance: 1e-14 }), marginals = await problem.marginals({ variance: 1 });
    const [right, [k]] = [await own.read(new Float64Array(2 * count)), await rate.read(new Float64Array(1))], [errors, [error]] = [await marginals.standardErrors(own), await marginals.standardErrors(rate)];
    const found = await lw.fit({ ...options, variance: 1 }), exact = lw.precision === "f64", room = exact ? 1e-4 : 0.02;
    assert.equal(found.ended.converged, count, JSON.stringify(found.ended));
    assert.ok(found.values.k.every((each) => each === found.values.k[0]) && found.standardErrors.k.every((each) => each === found.standardErrors.k[0]), "one for all");
    assert.ok(Math.abs(found.values.k[0] - k) < room * error, `k is ${found.values.k[0]}, not ${k} ± ${error}`);
    closeTo(found.standardErrors.k[0], error, exact ? 1e-4 : 0.02, "error of k");
    for (let fit = 0; fit < count; fit++) for (const [j, name] of ["a", "b"].entries()) {
      const error = errors[2 * fit + j];
      assert.ok(Math.abs(found.values[name][fit] - right[2 * fit + j]) < room * error, `${name} of fit ${fit} is ${found.values[name][fit]}, not ${right[2 * fit + j]} ± ${error}`);
      closeTo(found.standardErrors[name][fit], error, exact ? 1e-4 : 0.02, `error of ${name}`);
    }
    closeTo(found.chiSquared.reduce((sum, each) => sum + each, 0), 2 * report.cost, exact ? 1e-9 : 1e-4, "χ²");
    // σ² is estimated of all fits together.
    const estimated = await lw.fit(options), sigma = Math.sqrt((2 * report.cost) / (count * points - 2 * count - 1));
    closeTo(estimated.standardErrors.k[0], sigma * found.standardErrors.k[0], 1e-3, "error of k by an estimated variance");
    // On the device: the same bits from the start, the same values from these, and others from other data.
    const set = await fitSet(lw, { ...options, variance: 1 });
    await set.run();
    const once = await set.read();
    assert.deepEqual([once.values, once.standardErrors, once.chiSquared], [found.values, found.standardErrors, found.chiSquared]);
    await set.run({ from: "values" });
    assert.ok(Math.abs((await set.values("k"))[0] - k) < room * error);
    await set.write(data.map((y) => 2 * y));
    await set.run({ from: "values" });
    const twice = await set.read();
    assert.ok(Math.abs(twice.values.k[0] - k) < room * error, `the same rate, ${twice.values.k[0]}`);
    assert.ok(twice.values.a.every((a, fit) => Math.abs(a - 2 * found.values.a[fit]) < 0.05 * errors[2 * fit]), "twice as high");
    set.dispose();
  });
}

test("what own parameters make up for is not determined, on every backend", async (t) => {
  const points = 12, x = Float64Array.from({ length: points }, (_, k) => k / 4);
  for (const backend of BACKENDS) {
    const lw = await open(t, engineOf(backend)), random = new Random(41);
    for (const count of [1, 5, 40]) {
      const data = Float64Array.from({ length: count * points }, (_, i) => 2 * x[i % points] + 1 + 0.1 * random.normal());
      for (const model of [([a, k, b], { x }) => a.mul(k).mul(x).add(b), ([a, k, b], { x }) => a.mul(exp(k.sub(x))).add(b)]) {
        const found = await lw.fit({ model, parameters: DECAY, variables: { x }, points, data, weights: Float64Array.from(data, () => random.between(0.5, 2)), start: { a: 1.5, k: 1.1, b: 0.5 }, shared: ["k"] });
        assert.equal(found.ended.converged, 0, `${backend}, ${count} fits: ${JSON.stringify(found.ended)}`);
        assert.ok(found.standardErrors.k.every(Number.isNaN), `${backend}: ${found.standardErrors.k[0]}`);
      }
    }
  }
});

test("fits that can't be made, and those of few points, count for nothing in shared σ²", async (t) => {
  const lw = await open(t, { backend: "cpu" }), { data, options } = decays(20, 30, 1.3, (y, random) => y + 0.05 * random.normal(), 77);
  const half = { ...options, data: data.slice(0, 300), start: { ...options.start, a: options.start.a.slice(0, 10) } };
  const broken = data.slice();
  for (let fit = 10; fit < 20; fit++) broken[30 * fit + 3] = NaN;
  const [ten, twenty] = [await lw.fit(half), await lw.fit({ ...options, data: broken })];
  closeTo(twenty.values.k[0], ten.values.k[0], 1e-9, "k");
  closeTo(twenty.standardErrors.k[0], ten.standardErrors.k[0], 1e-7, "its error");
  assert.deepEqual([twenty.standardErrors.a[15], twenty.standardErrors.k[15], twenty.ended["non-finite"]], [NaN, twenty.standardErrors.k[0], 10]);
});

test("a set that shares is busy from the call on, and says when it is done", async (t) => {
  const lw = await open(t, { backend: "cpu" }), { data, options } = decays(20, 30, 1.3, (y, random) => y + 0.05 * random.normal(), 78), set = await fitSet(lw, options), seen = [];
  const run = set.run({ onProgress: (done, all) => seen.push([done, all]) });
  await rejects(set.write(data), "busy", /./);
  await rejects(set.read(), "busy", /./);
  await run;
  assert.deepEqual(seen.at(-1), [20, 20]);
  set.dispose();
});

test("what is shared is bounded, counted, weighed and robust as what is not", async (t) => {
  const lw = await open(t, { backend: "cpu" }), count = 30, points = 40;
  const poisson = (mean, random) => {
    let events = 0;
    for (let time = -Math.log(1 - random.between(0, 1)); time < mean; time -= Math.log(1 - random.between(0, 1))) events++;
    return events;
  };
  const { options } = decays(count, points, 0.6, poisson, 5, 3), sum = (numbers) => numbers.reduce((sum, each) => sum + each, 0);
  const weights = Float64Array.from({ length: points }, (_, k) => 1 + (k % 3)), lengths = Array.from({ length: count }, (_, fit) => points - (fit % 5));
  const ragged = Float64Array.from(lengths.flatMap((length, fit) => [...options.data.subarray(fit * points, fit * points + length)]));
  for (const [what, more] of Object.entries({
    counts: { likelihood: "poisson" }, huber: { loss: huber(1.5), variance: 1 }, weights: { weights, variance: 1 }, ragged: { points: lengths, data: ragged, variance: 1 },
    bounds: { lower: { b: 3.2, k: 0.1 }, upper: { k: 5 }, variance: 1 },
  })) {
    const found = await lw.fit({ ...options, ...more }), k = found.values.k[0], error = found.standardErrors.k[0];
    assert.equal(found.ended.converged + found.ended["at-bound"], count, `${what}: ${JSON.stringify(found.ended)}`);
    assert.ok(error > 0 && Math.abs(k - 0.6) < 6 * error, `${what}: k is ${k} ± ${error}`);
    // The profile: own parameters are fitted anew beside the minimum.
    const best = sum(found.chiSquared);
    for (const side of [-0.3, 0.3]) {
      const start = { a: found.values.a, k: k + side * error, b: found.values.b }, beside = await lw.fit({ ...options, ...more, shared: [], fixed: ["k"], start }), rise = sum(beside.chiSquared) - best;
      // Of counts the curvature is not quite that of steps; of a robust loss less than it, which outliers have none of.
      assert.ok(rise > 0.09 * (what === "huber" ? 0.3 : 0.6) && rise < 0.09 * 1.6, `${what}: χ² rises by ${rise} at ${side} standard errors, not by 0.09`);
    }
  }
  const held = await lw.fit({ ...options, upper: { k: 0.5 } });
  assert.deepEqual([held.values.k[0], held.standardErrors.k[0], held.ended["at-bound"]], [0.5, 0, count]);
  // Two that only count together are not determined.
  const both = await lw.fit({ ...options, model: ([a, k, b, l], { x }) => a.mul(exp(k.add(l).mul(x).neg())).add(b), parameters: [...DECAY, "l"], start: { ...options.start, l: 0 }, shared: ["k", "l"] });
  assert.deepEqual([both.ended.singular, both.standardErrors.k[0], both.standardErrors.a[0]], [count, NaN, NaN]);
  const controller = new AbortController(), why = new Error("enough");
  await assert.rejects(lw.fit({ ...options, signal: controller.signal, onProgress: () => controller.abort(why) }), (error) => error === why);
  for (const [options_, code, message] of [
    [{ ...options, shared: ["c"] }, "invalid-option", /shared: "c" is no parameter/],
    [{ ...options, fixed: ["k"] }, "invalid-option", /"k" is fixed as well/],
    [{ ...options, shared: DECAY, start: { a: 1, k: 1, b: 1 } }, "invalid-option", /give the data as one fit/],
    [{ ...options, start: { ...options.start, k: options.start.a } }, "invalid-option", /"k" is shared by all fits/],
    [{ ...options, lower: { k: options.start.a } }, "invalid-option", /"k" is shared by all fits/],
    [{ ...options, starts: { grid: { a: [1, 2] } } }, "invalid-option", /share parameters begin at/],
  ]) await rejects(lw.fit(options_), code, message);
  assert.equal(lw.memory().live, 0);
});

test("NIST's regressions are found from perturbed starts", async (t) => {
  const lw = await open(t, { backend: "cpu" }), missed = [];
  for (const name of NIST) {
    const file = readNist(name), fits = FULL ? 200 : 40, random = new Random(name.length);
    const { options, names } = fitOf(name, file, fits, (k) => file.starts[1][k] * (1 + 0.02 * random.between(-1, 1)));
    const found = await lw.fit({ ...options, maxIterations: 1000 });
    let good = 0, worst = Infinity;
    for (let fit = 0; fit < fits; fit++) {
      const right = digits(names.map((each) => found.values[each][fit]), file.certified);
      if (right >= 5) good++;
      worst = Math.min(worst, right);
    }
    t.diagnostic(`${name}: ${good} of ${fits}, the worst to ${worst.toFixed(1)} digits, ${Math.max(...found.iterations)} iterations at most, ${JSON.stringify(found.ended)}`);
    if (good < fits) missed.push(name);
    // Standard deviations are certified, too; those of exact data are rounding errors.
    if (name !== "Lanczos1") names.forEach((each, k) => closeTo(found.standardErrors[each][0], file.deviations[k], 1e-3, `${name}: ${each}`));
  }
  assert.deepEqual(missed, []);
});

test("counts of simulated spots reach the Cramér–Rao bound", async (t) => {
  const fits = FULL ? 40_000 : 8000, lw = await open(t, { backend: "cpu" });
  const truth = [400, 2.1, 1.9, 1, 12], { data, x, y } = spots(truth, fits, 11);
  const found = await lw.fit({
    model: spot, parameters: SPOT, variables: { x, y }, points: 25, data, likelihood: "poisson",
    start: { a: 350, x0: 2, y0: 2, s: 1.2, b: 10 }, lower: { a: 1, s: 0.3, b: 0.01 }, upper: { s: 4 },
  });
  assert.ok(found.ended.converged > 0.98 * fits, JSON.stringify(found.ended));
  // The bound: F⁻¹ at the truth, with F = Σ ∇f ∇fᵀ / f; that is what standard errors are of data without noise.
  const exact = Float64Array.from(x, (_, k) => truth[0] * Math.exp(-((x[k] - truth[1]) ** 2 + (y[k] - truth[2]) ** 2) / (2 * truth[3] ** 2)) + truth[4]);
  const bound = await lw.fit({ model: spot, parameters: SPOT, variables: { x, y }, points: 25, data: exact, likelihood: "poisson", start: Object.fromEntries(SPOT.map((name, k) => [name, truth[k]])) });
  for (const [k, name] of SPOT.entries()) {
    const good = found.values[name].filter((_, fit) => found.state(fit) === "converged");
    const mean = good.reduce((sum, value) => sum + value, 0) / good.length, deviation = Math.sqrt(good.reduce((sum, value) => sum + (value - mean) ** 2, 0) / good.length);
    t.diagnostic(`${name}: ${mean.toFixed(4)} ± ${deviation.toFixed(4)}, bound ${bound.standardErrors[name][0].toFixed(4)}`);
    closeTo(deviation, bound.standardErrors[name][0], 0.1, name);
    assert.ok(Math.abs(mean - truth[k]) < 0.2 * deviation, `${name} is biased: ${mean}`);
  }
});

for (const backend of BACKENDS) {
  test(`fits that can't be made end in a state, on ${backend}`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const bell = ([a, m, s], { x }) => a.mul(exp(x.sub(m).div(s).square().mul(-0.5)));
    const grid = Float64Array.from({ length: 16 }, (_, k) => k / 2), exact = grid.map((x) => 50 * Math.exp(-0.5 * ((x - 4) / 1.2) ** 2));
    const rows = [exact.map(() => 0), exact.map((y, k) => (k === 3 ? NaN : y)), exact.map((y, k) => (k === 3 ? Infinity : y)), exact.map((y) => Math.min(y, 20)), exact, exact.slice(0, 1), exact.slice(0, 0), exact];
    const found = await lw.fit({
      model: bell, parameters: ["a", "m", "s"], variables: { x: grid }, points: rows.map(({ length }) => length), data: rows.flatMap((row) => [...row]),
      start: { a: 40, m: 4.4, s: [1, 1, 1, 1, 1, 1, 1, 0] },
    });
    const states = rows.map((_, fit) => found.state(fit));
    assert.ok(["singular", "converged", "iteration-limit"].includes(states[0]), states[0]);
    assert.ok(["converged", "iteration-limit"].includes(states[3]), states[3]);
    assert.deepEqual([...states.slice(1, 3), ...states.slice(4)], ["non-finite", "non-finite", "converged", "singular", "singular", "non-finite"]);
    for (const fit of [1, 2, 7]) assert.deepEqual([found.values.a[fit], found.standardErrors.a[fit], found.chiSquared[fit]], [40, NaN, NaN]);
    closeTo(found.values.s[4], 1.2, 1e-4, "width");
    const { ended } = found;
    assert.equal(Object.values(ended).reduce((sum, each) => sum + each, 0), rows.length);
  });

  test(`layouts: fits in chunks, points of any number, weights, bounds, fixed parameters, on ${backend}`, async (t) => {
    const lw = await open(t, { ...engineOf(backend), limits: { bindingBytes: 1 << 16, groupSize: 64 } });
    const random = new Random(2), fits = 3000, points = Uint32Array.from({ length: fits }, () => 3 + random.below(6));
    const total = points.reduce((sum, each) => sum + each, 0), x = new Float32Array(total), data = new Float32Array(total), weights = new Float32Array(total);
    const slopes = Float32Array.from({ length: fits }, () => random.between(-1, 1));
    for (let fit = 0, k = 0; fit < fits; fit++) for (let point = 0; point < points[fit]; point++, k++) {
      x[k] = point + random.between(0, 0.5);
      weights[k] = random.between(0.5, 2);
      data[k] = 1 + slopes[fit] * x[k] + 0.1 * random.normal();
    }
    const told = [];
    const found = await lw.fit({
      model: line.model, parameters: ["a", "b"], variables: { x }, points, data, weights, start: { a: 1, b: slopes }, fixed: ["a"], lower: { b: -0.5 }, upper: { b: slopes.map((slope) => slope + 10) },
      onProgress: (done, of) => told.push([done, of]),
    });
    let bounded = 0;
    for (let fit = 0, k = 0; fit < fits; fit++) {
      let [top, bottom, chi] = [0, 0, 0];
      const first = k;
      for (let point = 0; point < points[fit]; point++, k++) {
        top += weights[k] * x[k] * (data[k] - 1);
        bottom += weights[k] * x[k] ** 2;
      }
      const b = Math.max(top / bottom, -0.5);
      if (b === -0.5) bounded++;
      for (let j = first; j < k; j++) chi += weights[j] * (1 + b * x[j] - data[j]) ** 2;
      assert.ok(Math.abs(found.values.b[fit] - b) < 1e-5, `fit ${fit}: ${found.values.b[fit]}, not ${b}`);
      assert.equal(found.state(fit), b === -0.5 ? "at-bound" : "converged");
      closeTo(found.chiSquared[fit], chi, 1e-3, "χ²");
      if (b > -0.5) closeTo(found.standardErrors.b[fit], Math.sqrt(chi / (points[fit] - 1) / bottom), 1e-3, "error");
      else assert.equal(found.standardErrors.b[fit], 0);
      assert.deepEqual([found.values.a[fit], found.standardErrors.a[fit]], [1, 0]);
    }
    assert.ok(bounded > 300 && bounded === found.ended["at-bound"]);
    assert.ok(told.length > 3 && told.every(([done, of], k) => of === fits && (k === 0 || done >= told[k - 1][0])), JSON.stringify(told.slice(0, 9)));
    assert.deepEqual(told.at(-1), [fits, fits]);
    assert.equal(lw.memory().live, 0);
  });
}

for (const backend of BACKENDS) {
  test(`sets stay on the device: counts, other data, and the same bits as at once, on ${backend}`, async (t) => {
    const lw = await open(t, engineOf(backend), { fresh: true }), fits = 3000, room = { ...engineOf(backend), limits: { bindingBytes: 1 << 17, groupSize: 64 } };
    const [one, other] = [5, 6].map((seed) => spots([120, 2.1, 1.9, 1.1, 4], fits, seed)), { x, y } = one;
    const options = { model: spot, parameters: SPOT, variables: { x, y }, points: 25, start: { a: 100, x0: 2, y0: 2, s: 1, b: 5 } };
    const right = await lw.fit({ ...options, data: one.data }), next = await lw.fit({ ...options, data: other.data });
    const same = (a, b) => assert.deepEqual([a.values, a.standardErrors, a.chiSquared, a.iterations, a.states], [b.values, b.standardErrors, b.chiSquared, b.iterations, b.states]);
    const before = lw.counters(), set = await fitSet(lw, { ...options, data: one.data }), uploaded = lw.counters(), size = lw.precision === "f64" && lw.backend !== "webgpu" ? 8 : 4;
    assert.deepEqual([uploaded.bytesUploaded - before.bytesUploaded, uploaded.readbacks - before.readbacks, uploaded.dispatches - before.dispatches], [size * (25 * fits + 50 + 5), 0, 0]);
    await rejects(fitSet({}, options), "invalid-option", /must be an engine/);
    await rejects(set.read(), "invalid-option", /nothing was fitted/);
    await rejects(set.run({ from: "values" }), "invalid-option", /nothing was fitted/);
    await set.run();
    const ran = lw.counters(), launches = ran.readbacks - uploaded.readbacks;
    assert.deepEqual([ran.bytesUploaded - uploaded.bytesUploaded, ran.bytesReadBack - uploaded.bytesReadBack, ran.dispatches - uploaded.dispatches], [4 * size, launches * size, 1 + 4 * launches]);
    assert.ok(launches <= 7, `${launches} launches`);
    same(await set.read(), right);
    assert.deepEqual(await set.values("x0"), right.values.x0);
    await set.run();
    same(await set.read(), right);
    await set.run({ from: "values" });
    const again = await set.read(), sum = ({ iterations }) => iterations.reduce((total, each) => total + each, 0);
    assert.ok(sum(again) < 0.6 * sum(right), `${sum(again)} iterations after ${sum(right)}`);
    await set.write(other.data);
    const told = [];
    await set.run({ onProgress: (done, of) => told.push([done, of]) });
    same(await set.read(), next);
    assert.ok(told.every(([done, of], k) => of === fits && (k === 0 || done >= told[k - 1][0])) && told.at(-1)[0] === fits, JSON.stringify(told));
    await rejects(set.write([1, 2]), "data-length", /2 values/);
    await rejects(set.values("c"), "invalid-option", /no parameter/);
    const running = set.run();
    await rejects(set.read(), "busy", /at work/);
    await running;
    const controller = new AbortController(), why = new Error("enough");
    controller.abort(why);
    await assert.rejects(set.run({ signal: controller.signal }), (error) => error === why);
    await rejects(set.read(), "invalid-option", /nothing was fitted to its end/);
    await set.run();
    same(await set.read(), next);
    set.dispose();
    set.dispose();
    await rejects(set.run(), "disposed", /disposed/);
    assert.equal(lw.memory().live, 0);
    // In several sets.
    const small = await open(t, room), cut = await fitSet(small, { ...options, data: one.data });
    await cut.run();
    same(await cut.read(), right);
    await cut.write(other.data);
    await cut.run();
    same(await cut.read(), next);
    cut.dispose();
    assert.equal(small.memory().live, 0);
  });

  test(`several starts: the lowest objective is kept, on ${backend}`, async (t) => {
    const lw = await open(t, engineOf(backend)), x = Float64Array.from({ length: 40 }, (_, k) => k / 4), fits = 40, random = new Random(3);
    // A wave has a minimum near each multiple of its frequency.
    const wave = ([a, w, p], { x }) => a.mul(sin(w.mul(x).add(p))), truth = Array.from({ length: fits }, () => [random.between(1, 2), random.between(1, 5), random.between(-1, 1)]);
    const data = Float64Array.from({ length: 40 * fits }, (_, i) => { const [a, w, p] = truth[Math.floor(i / 40)]; return a * Math.sin(w * x[i % 40] + p) + 0.05 * random.normal(); });
    const options = { model: wave, parameters: ["a", "w", "p"], variables: { x }, points: 40, data, start: { a: 1.5, w: 3, p: 0 } };
    const alone = await lw.fit(options), found = (fits) => truth.filter(([, w], fit) => Math.abs(Math.abs(fits.values.w[fit]) - w) < 0.05).length;
    assert.ok(found(alone) < 0.7 * fits, `${found(alone)} of ${fits} from one start`);
    const grid = { w: Float32Array.from({ length: 21 }, (_, k) => 1 + k / 5), p: [-0.7, 0, 0.7] };
    const best = await lw.fit({ ...options, starts: { grid } });
    assert.equal(found(best), fits);
    // A grid of one point is a start.
    const one = await lw.fit({ ...options, starts: { grid: { w: [2], p: [0.5] } } }), given = await lw.fit({ ...options, start: { a: 1.5, w: 2, p: 0.5 } });
    assert.deepEqual([one.values, one.iterations, one.states], [given.values, given.iterations, given.states]);
    const bounds = { lower: { w: 0.5, p: -1.5 }, upper: { w: 5.5, p: 1.5 } };
    const many = await lw.fit({ ...options, ...bounds, starts: { random: 24, seed: 5 } });
    assert.ok(found(many) >= 0.9 * fits, `${found(many)} of ${fits} from random starts`);
    const again = await lw.fit({ ...options, ...bounds, starts: { random: 24, seed: 5 } }), others = await lw.fit({ ...options, ...bounds, starts: { random: 2, seed: 6 } });
    assert.deepEqual([again.values, again.chiSquared], [many.values, many.chiSquared]);
    assert.ok(many.chiSquared.every((chi, fit) => chi <= others.chiSquared[fit] * (1 + 1e-3)));
    assert.equal(lw.memory().live, 0);
    for (const [starts, message] of [
      [3, /must be \{ grid \}/], [{}, /must be/], [{ grid: {} }, /combinations/], [{ grid: { c: [1] } }, /no parameter/], [{ grid: { w: [] } }, /finite/], [{ grid: { w: [NaN] } }, /finite/],
      [{ grid: { w: new Float32Array(300), p: new Float32Array(300) } }, /combinations/], [{ random: 0 }, /random/], [{ random: 3 }, /bound/], [{ random: 3, seed: -1 }, /seed/],
    ]) await rejects(lw.fit({ ...options, starts }), "invalid-option", message);
  });
}

test("losses hold against outliers, as the general solver's do", async (t) => {
  const lw = await open(t, { backend: "cpu" }), random = new Random(9), x = Float64Array.from({ length: 30 }, (_, k) => k / 10);
  const data = Float64Array.from({ length: 90 }, (_, k) => 1 + 2 * x[k % 30] + 0.1 * random.normal() + (k % 7 === 0 ? 5 : 0));
  for (const loss of [huber(0.3), cauchy(0.3), undefined]) {
    const found = await lw.fit({ ...line, variables: { x }, points: 30, data, ...(loss && { loss }) });
    for (let fit = 0; fit < 3; fit++) {
      const problem = lw.problem(), p = problem.variables("p", { shape: 2, values: [0, 0] });
      problem.residuals("line", { of: [p.at(new Uint32Array(30))], data: { x, y: data.slice(30 * fit, 30 * fit + 30) }, ...(loss && { loss }) }, ([q], { x, y }) => q.x.add(q.y.mul(x)).sub(y));
      const { cost } = await problem.solve({ costTolerance: 1e-15, maxIterations: 500 });
      const [a, b] = await p.read();
      closeTo(found.values.a[fit], a, 1e-5, `${loss}: a`);
      closeTo(found.values.b[fit], b, 1e-5, `${loss}: b`);
      closeTo(found.chiSquared[fit], 2 * cost, 1e-9, `${loss}: χ²`);
      problem.dispose();
    }
  }
});

/** Voigt's profile: a Gaussian's convolution with a Lorentzian, by a sum over the Gaussian whose error is below 10⁻¹² for such widths. */
function profile(x, sigma, gamma) {
  let sum = 0;
  const step = Math.min(sigma, gamma) / 8, reach = Math.ceil((9 * sigma) / step);
  for (let k = -reach; k <= reach; k++) sum += (Math.exp(-0.5 * ((k * step) / sigma) ** 2) * gamma) / ((x - k * step) ** 2 + gamma ** 2);
  return (sum * step) / (sigma * Math.sqrt(2 * Math.PI) * Math.PI);
}

/** Curves of each built-in model: values at x, and how parameters are drawn. */
const CURVES = {
  gaussian: [([a, m, s, b], x) => a * Math.exp(-0.5 * ((x - m) / s) ** 2) + b, (r) => [r.between(20, 60), r.between(3, 7), r.between(0.5, 1.5), r.between(-5, 5)]],
  lorentzian: [([a, m, g, b], x) => a / (1 + ((x - m) / g) ** 2) + b, (r) => [r.between(20, 60), r.between(3, 7), r.between(0.5, 1.5), r.between(-5, 5)]],
  pseudoVoigt: [([a, m, w, eta, b], x) => { const q = 4 * ((x - m) / w) ** 2; return a * (eta / (1 + q) + (1 - eta) * Math.exp(-Math.LN2 * q)) + b; }, (r) => [r.between(20, 60), r.between(3, 7), r.between(1, 3), r.between(0.2, 0.8), r.between(-5, 5)]],
  voigt: [([a, m, s, g, b], x) => a * profile(x - m, s, g) + b, (r) => [r.between(60, 90), r.between(4, 6), r.between(0.4, 0.8), r.between(0.3, 0.6), r.between(-5, 5)]],
  exponential: [([a, k, b], x) => a * Math.exp(-k * x) + b, (r) => [r.between(20, 60), r.between(0.2, 2), r.between(-5, 5)]],
  logistic: [([a, m, k, b], x) => a / (1 + Math.exp(-k * (x - m))) + b, (r) => [r.between(20, 60), r.between(3, 7), r.between(1, 4), r.between(-5, 5)]],
  polynomial: [(c, x) => c.reduceRight((sum, each) => sum * x + each, 0), (r) => [r.between(-9, 9), r.between(-3, 3), r.between(-1, 1), r.between(-0.1, 0.1)], { degree: 3 }],
};

test("built-in models find what made the data, from starting values of their own", async (t) => {
  const lw = await open(t, { backend: "cpu" }), x = Float64Array.from({ length: 60 }, (_, k) => k / 6), fits = 300;
  for (const [name, [at, draw, more]] of Object.entries(CURVES)) {
    const random = new Random(4), truth = Array.from({ length: fits }, () => draw(random)), noise = 0.05;
    const data = Float64Array.from({ length: fits * x.length }, (_, k) => at(truth[Math.floor(k / x.length)], x[k % x.length]) + noise * random.normal());
    const found = await lw.fit({ ...fitModels[name]({ x, data, ...more }), variance: noise ** 2 });
    assert.equal(found.ended.converged, fits, `${name}: ${JSON.stringify(found.ended)}`);
    const names = Object.keys(found.values);
    for (let fit = 0; fit < fits; fit++) for (const [k, each] of names.entries()) {
      const error = Math.abs(found.values[each][fit] - truth[fit][k]) / found.standardErrors[each][fit];
      assert.ok(error < 5, `${name}: ${each} of fit ${fit} is ${found.values[each][fit]}, not ${truth[fit][k]}, ${error} standard errors off`);
    }
  }
});

test("Voigt's profile is right to rounding errors, from narrow to wide", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  // Values of scipy.special.voigt_profile are sums as well; those of the centre are erfcx, known in closed form: γ = σ√2 gives e·erfc(1).
  for (const [sigma, gamma] of [[1, 0.5], [0.5, 2], [1, Math.SQRT2], [2, 0.3]]) {
    const x = Float64Array.from({ length: 41 }, (_, k) => (k - 20) / 2), data = x.map((x) => 3 * profile(x - 0.25, sigma, gamma) + 1);
    const { model, parameters } = fitModels.voigt({ x, data });
    const { chiSquared } = await lw.fit({ model, parameters, variables: { x }, points: x.length, data, start: { area: 3, center: 0.25, sigma, gamma, offset: 1 }, fixed: ["center", "sigma", "gamma", "offset"] });
    assert.ok(chiSquared[0] < 1e-22, `σ = ${sigma}, γ = ${gamma}: χ² is ${chiSquared[0]}`);
  }
  closeTo(profile(0, 1, Math.SQRT2), 0.427583576155807 / Math.sqrt(2 * Math.PI), 1e-12, "the reference");
});

test("splines are those of least squares, on knots", async (t) => {
  const lw = await open(t, { backend: "cpu" }), x = Float64Array.from({ length: 50 }, (_, k) => k / 49), random = new Random(12);
  const cubic = Float64Array.from({ length: 100 }, (_, i) => { const u = x[i % 50]; return i < 50 ? 1 - u + 2 * u ** 2 - u ** 3 : Math.max(u - 0.4, 0) ** 3 + u; });
  const options = fitModels.spline({ x, data: cubic, knots: [0.2, 0.4, 0.7] }), found = await lw.fit(options);
  assert.deepEqual([options.parameters.length, found.ended.converged], [7, 2]);
  // Both are splines on these knots, and the basis adds up to 1 everywhere.
  assert.ok(found.chiSquared.every((chi) => chi < 1e-20), `${found.chiSquared}`);
  for (let k = 0; k < 50; k++) closeTo(options.parameters.reduce((sum, _, j) => sum + options.variables[`b${j}`][k], 0), 1, 1e-14, "the basis' sum");
  // Ends are the first and the last coefficient.
  closeTo(found.values.c0[0], 1, 1e-9, "c0");
  closeTo(found.values.c6[0], 1, 1e-9, "c6");
  const noisy = cubic.map((y) => y + 0.1 * random.normal()), { chiSquared } = await lw.fit(fitModels.spline({ x, data: noisy, knots: [0.3, 0.6], degree: 2 }));
  const coarse = await lw.fit(fitModels.spline({ x, data: noisy, knots: [], degree: 2 })), polynomial = await lw.fit(fitModels.polynomial({ x, data: noisy, degree: 2 }));
  coarse.chiSquared.forEach((chi, fit) => { closeTo(chi, polynomial.chiSquared[fit], 1e-9, "a polynomial"); assert.ok(chiSquared[fit] < chi); });
  for (const knots of [[0.5, 0.4], [0], [1.5], [NaN]]) assert.throws(() => fitModels.spline({ x, data: cubic, knots }), { code: "invalid-option" });
});

test("spots of every shape are found, wherever they are turned", async (t) => {
  const lw = await open(t, { backend: "cpu" }), [width, height, fits] = [15, 13, 200], random = new Random(6);
  for (const shape of ["round", "elliptic", "rotated"]) {
    const truth = Array.from({ length: fits }, () => ({ amplitude: random.between(50, 100), x: random.between(6, 8), y: random.between(5, 7), widthX: random.between(2.2, 3), widthY: shape === "round" ? 0 : random.between(1.2, 1.8), angle: shape === "rotated" ? random.between(-1.5, 1.5) : 0, offset: 5 }));
    const data = new Float32Array(fits * width * height);
    for (const [fit, { amplitude, x, y, widthX, widthY, angle, offset }] of truth.entries()) for (let k = 0; k < width * height; k++) {
      const [u, v, c, s] = [(k % width) - x, Math.floor(k / width) - y, Math.cos(angle), Math.sin(angle)];
      data[fit * width * height + k] = amplitude * Math.exp(-0.5 * (((c * u + s * v) / widthX) ** 2 + ((c * v - s * u) / (widthY || widthX)) ** 2)) + offset + 0.5 * random.normal();
    }
    const found = await lw.fit(fitModels.gaussian2d({ width, height, data, shape }));
    assert.equal(found.ended.converged, fits, `${shape}: ${JSON.stringify(found.ended)}`);
    for (const [fit, right] of truth.entries()) {
      for (const name of ["amplitude", "x", "y", "offset"]) assert.ok(Math.abs(found.values[name][fit] - right[name]) < 6 * found.standardErrors[name][fit], `${shape}: ${name} of fit ${fit} is ${found.values[name][fit]}, not ${right[name]}`);
      if (shape === "rotated") assert.ok(Math.abs(Math.sin(found.values.angle[fit] - right.angle)) < 0.1, `angle ${found.values.angle[fit]}, not ${right.angle}`);
    }
  }
  assert.throws(() => fitModels.gaussian2d({ width: 5, height: 5, data: [1, 2, 3] }), { code: "data-length" });
  assert.throws(() => fitModels.gaussian({ x: [1, 2, 3], data: [1, 2, 3], points: 3 }), { code: "invalid-option" });
  assert.throws(() => fitModels.polynomial({ x: [1, 2, 3], data: [1, 2, 3] }), { code: "invalid-option" });
});

test("an abort rejects with the signal's reason, and leaves nothing behind", async (t) => {
  const lw = await open(t, { backend: "cpu" }, { fresh: true }), fits = 140_000;
  // Several sets, since one tells of its progress when a launch is over.
  const { data: some, x, y } = spots([120, 2.1, 1.9, 1.1, 4], fits / 20, 3), data = new Float32Array(25 * fits), controller = new AbortController(), why = new Error("enough");
  for (let k = 0; k < 20; k++) data.set(some, k * some.length);
  const call = lw.fit({
    model: spot, parameters: SPOT, variables: { x, y }, points: 25, data, start: { a: 100, x0: 2, y0: 2, s: 1, b: 5 }, signal: controller.signal,
    onProgress: () => controller.abort(why),
  });
  // A GPU can be done before it tells of anything.
  if (ADDON) controller.abort(why);
  await assert.rejects(call, (error) => error === why);
  assert.equal(lw.memory().live, 0);
  await assert.rejects(lw.fit({ ...line, data: [1, 2, 3, 4], signal: AbortSignal.abort(why) }), (error) => error === why);
});

test("wrong options are refused", async (t) => {
  const lw = await open(t, { backend: "cpu" }), good = { ...line, data: [1, 3, 5, 7] };
  const { values } = await lw.fit(good);
  closeTo(values.b[0], 2, 1e-6, "slope");
  const cases = [
    [{ ...good, iterations: 3 }, "invalid-option", /have no "iterations"/],
    [{ ...good, model: undefined }, "invalid-option", /model/],
    [{ ...good, model: () => 3 }, "invalid-option", /must return a Scalar/],
    [{ ...good, parameters: ["a", "a"] }, "invalid-option", /twice/],
    [{ ...good, parameters: [] }, "invalid-option", /no names/],
    [{ ...good, start: { a: 1 } }, "invalid-option", /"b" has no starting value/],
    [{ ...good, start: { a: 1, b: 1, c: 1 } }, "invalid-option", /"c" is no parameter/],
    [{ ...good, start: { a: NaN, b: 1 } }, "non-finite", /"a" is NaN/],
    [{ ...good, start: { a: [1, 2], b: 1 } }, "data-length", /there are 1 fits/],
    [{ ...good, points: 3 }, "data-length", /no multiple/],
    [{ ...good, points: [3, 2] }, "data-length", /add up to 5/],
    [{ ...good, points: 0 }, "invalid-option", /points/],
    [{ ...good, variables: { x: [1, 2] } }, "data-length", /variable "x" has 2 values/],
    [{ ...good, weights: [1, 1, -1, 1] }, "invalid-option", /not negative/],
    [{ ...good, lower: { b: 3 }, upper: { b: 2 } }, "bounds", /"b".*lower bound 3/],
    [{ ...good, fixed: ["a", "b"] }, "invalid-option", /all parameters are fixed/],
    [{ ...good, fixed: ["c"] }, "invalid-option", /no parameter/],
    [{ ...good, maxIterations: 0 }, "invalid-option", /maxIterations/],
    [{ ...good, costTolerance: -1 }, "invalid-option", /costTolerance/],
    [{ ...good, likelihood: "poisson", loss: huber(1) }, "invalid-option", /loss/],
    [{ ...good, likelihood: "poisson", variance: 1 }, "invalid-option", /variance/],
    [{ ...good, likelihood: "normal" }, "invalid-option", /likelihood/],
    [{ ...good, variance: 0 }, "invalid-option", /variance/],
    [{ ...good, loss: 3 }, "invalid-option", /loss/],
    [{ ...good, model: (p, { x }) => p.reduce((sum, each) => sum.add(each), x), parameters: MANY, start: Object.fromEntries(MANY.map((name) => [name, 0])) }, "limits", /33 parameters are fitted/],
  ];
  for (const [options, code, message] of cases) await rejects(lw.fit(options), code, message);
  await assert.rejects(lw.fit(good, 3), LeastwiseError);
  let kept;
  await lw.fit({ ...good, model: (p, { x }) => (kept = p[0]).add(p[1].mul(x)) });
  await rejects(lw.fit({ ...good, model: () => sqrt(kept) }), "foreign-expression", /after its function had returned/);
  const { states, standardErrors } = await lw.fit({ ...good, points: 2, variables: { x: [0, 1] } });
  assert.deepEqual([[...states], [...standardErrors.a]], [[0, 0], [NaN, NaN]], "two points leave nothing to estimate the variance of");
  if (!ADDON) {
    const other = await init({ backend: "cpu", precision: "f32" });
    assert.ok((await other.fit(good)).values.a instanceof Float32Array);
    other.dispose();
  }
});
