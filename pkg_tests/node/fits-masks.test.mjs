// Standard errors of fits with points of weight 0, and of shared parameters beside fits that can't be made.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exp } from "leastwise";
import { fitSet } from "leastwise/fits";
import { Random } from "../problems/random.mjs";
import { BACKENDS, closeTo, engineOf, open } from "./support.mjs";

const POINTS = 10, LINE = { model: ([a, b], { x }) => a.add(b.mul(x)), parameters: ["a", "b"], start: { a: 0, b: 0 } };
const DECAY = { model: ([a, k, b], { x }) => a.mul(exp(k.mul(x).neg())).add(b), parameters: ["a", "k", "b"], shared: ["k"] };

/** Rows of a straight line with noise, and of decays of one rate. */
function rows(count, points, value, seed) {
  const random = new Random(seed), x = Float64Array.from({ length: points }, (_, k) => k / 4);
  return { x, rows: Array.from({ length: count }, (_, fit) => Float64Array.from(x, (x) => value(x, fit) + 0.1 * random.normal())) };
}

/** One list of what some lists have. */
const joined = (lists) => Float64Array.from(lists.flatMap((list) => [...list]));

for (const backend of BACKENDS) {
  test(`points of weight 0 are as points that are left out, on ${backend}`, async (t) => {
    const lw = await open(t, engineOf(backend)), { x, rows: data } = rows(4, POINTS, (x, fit) => fit + 2 * x, 7), room = lw.precision === "f64" && backend !== "webgpu" ? 1e-9 : 1e-3;
    const isKept = (fit, k) => k % 4 !== fit % 4, weights = joined(data.map((row, fit) => row.map((_, k) => Number(isKept(fit, k)))));
    const masked = { ...LINE, variables: { x }, points: POINTS, data: joined(data), weights }, of = await lw.fit(masked);
    const kept = data.map((row, fit) => row.filter((_, k) => isKept(fit, k))), without = await lw.fit({ ...LINE, variables: { x: joined(data.map((_, fit) => x.filter((_, k) => isKept(fit, k)))) }, points: kept.map(({ length }) => length), data: joined(kept) });
    // The same of points that all fits share weights of, in a set that stays on the device, and of fits of other lengths.
    const set = await fitSet(lw, masked);
    await set.run();
    const resident = await set.read();
    set.dispose();
    for (let fit = 0; fit < 4; fit++) for (const name of LINE.parameters) {
      closeTo(of.standardErrors[name][fit], without.standardErrors[name][fit], room, `${name} of fit ${fit}`);
      assert.equal(resident.standardErrors[name][fit], of.standardErrors[name][fit]);
    }
    const half = x.map((_, k) => Number(k < 5)), lengths = [10, 6, 10, 7];
    const common = await lw.fit({ ...LINE, variables: { x }, points: POINTS, data: joined(data), weights: half }), first = await lw.fit({ ...LINE, variables: { x: x.slice(0, 5) }, points: 5, data: joined(data.map((row) => row.slice(0, 5))) });
    const ragged = await lw.fit({ ...LINE, variables: { x }, points: lengths, data: joined(data.map((row, fit) => row.slice(0, lengths[fit]))), weights: half });
    for (let fit = 0; fit < 4; fit++) for (const found of [common, ragged]) closeTo(found.standardErrors.b[fit], first.standardErrors.b[fit], room, `b of fit ${fit}`);
    // Two points tell two parameters, and no variance.
    const two = await lw.fit({ ...LINE, variables: { x }, points: POINTS, data: data[0], weights: x.map((_, k) => Number(k < 2)) });
    assert.deepEqual([two.standardErrors.a[0], two.standardErrors.b[0]], [NaN, NaN]);
  });

  test(`points of weight 0 count for nothing in a σ² of all fits, on ${backend}`, async (t) => {
    const lw = await open(t, engineOf(backend)), points = 30, { x, rows: data } = rows(8, points, (x, fit) => (fit + 3) * Math.exp(-0.7 * x) + 1, 11), room = lw.precision === "f64" && backend !== "webgpu" ? 1e-6 : 0.01;
    const options = { ...DECAY, variables: { x }, points, start: { a: 4, k: 1, b: 1 } }, part = x.map((_, k) => Number(k % 3 !== 1)), kept = (row) => row.filter((_, k) => part[k] === 1);
    const masked = await lw.fit({ ...options, data: joined(data), weights: part }), left = await lw.fit({ ...options, variables: { x: kept(x) }, points: kept(x).length, data: joined(data.map(kept)) });
    for (const name of DECAY.parameters) for (let fit = 0; fit < 8; fit++) closeTo(masked.standardErrors[name][fit], left.standardErrors[name][fit], room, `${name} of fit ${fit}`);
    // Fits of weight 0 alone, and one that is not finite: the others' σ² and θ are as without them.
    const others = await lw.fit({ ...options, data: joined(data.slice(0, 6)) }), weights = joined(data.map((row, fit) => row.map(() => Number(fit < 6))));
    for (const all of [data, data.map((row, fit) => (fit === 7 ? row.map((y, k) => (k === 2 ? NaN : y)) : row))]) {
      const some = await lw.fit({ ...options, data: joined(all), weights }), set = await fitSet(lw, { ...options, data: joined(all), weights });
      closeTo(some.values.k[0], others.values.k[0], room, "k");
      closeTo(some.standardErrors.k[0], others.standardErrors.k[0], room, "error of k");
      closeTo(some.standardErrors.a[3], others.standardErrors.a[3], room, "error of an own one");
      await set.run();
      assert.deepEqual((await set.read()).standardErrors, some.standardErrors);
      set.dispose();
    }
  });

  test(`a shared parameter has its error in fits that can't be made, too, on ${backend}`, async (t) => {
    const lw = await open(t, engineOf(backend)), points = 30, { x, rows: data } = rows(8, points, (x, fit) => (fit + 3) * Math.exp(-0.7 * x) + 1, 12), room = lw.precision === "f64" && backend !== "webgpu" ? 1e-6 : 0.01;
    const options = { ...DECAY, variables: { x }, start: { a: 4, k: 1, b: 1 } }, others = await lw.fit({ ...options, points, data: joined(data.slice(1)) });
    for (const [what, row, weight, state] of [["NaN", data[0].map((y, k) => (k === 4 ? NaN : y)), 1, "non-finite"], ["weight 0", data[0], 0, "singular"], ["one point", data[0].slice(0, 1), 1, "singular"]]) {
      const all = [row, ...data.slice(1)], found = await lw.fit({ ...options, variables: { x }, points: all.map(({ length }) => length), data: joined(all), weights: joined(all.map((row, fit) => row.map(() => (fit ? 1 : weight)))) });
      assert.equal(found.state(0), state, what);
      assert.deepEqual([found.standardErrors.a[0], found.standardErrors.b[0]], [NaN, NaN], what);
      closeTo(found.values.k[0], others.values.k[0], room, `${what}: k`);
      closeTo(found.standardErrors.k[0], others.standardErrors.k[0], room, `${what}: its error`);
      assert.ok(found.standardErrors.k.every((error) => error === found.standardErrors.k[1]), what);
    }
  });
}

for (const options of [...BACKENDS.map(engineOf), { backend: BACKENDS[0], precision: "f32" }]) {
  test(`weights that the engine's numbers round to 0 are 0: ${JSON.stringify(options)}`, async (t) => {
    const lw = await open(t, options), isSingle = options.backend === "webgpu" || lw.precision === "f32", data = [1, 2, 4, 5, 3, 9, 8, 7, 9, 6];
    const fit = async (points, weights) => (await lw.fit({ model: ([mean]) => mean, parameters: ["mean"], start: { mean: 0 }, points, data: data.slice(0, points), ...(weights && { weights }) })).standardErrors.mean[0];
    const five = await fit(5), tiny = await fit(10, [1, 1, 1, 1, 1, ...new Array(5).fill(1e-60)]);
    closeTo(five, Math.sqrt(10 / 4 / 5), 1e-5, "of five points");
    // In f64 all of them are points of σ².
    closeTo(tiny, isSingle ? five : Math.sqrt(10 / 9 / 5), 1e-5, "of five points and five next to nothing");
  });
}
