// Where a plain solve goes wrong: most measurements are, or there are many minima.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column, cos, huber, quaternion, sqrt } from "leastwise";
import { BACKENDS, engineOf, open, rejects } from "./support.mjs";
import { motion } from "../problems/manifolds.mjs";
import * as plain from "../problems/rotations.mjs";
import { Random } from "../problems/random.mjs";

// ── registration ──

const NOISE = 0.01, THRESHOLD = 0.0403;

/** Points and where a motion takes them, but for the first `wrong` of them. */
function scan(seed, count, wrong) {
  const random = new Random(seed);
  const truth = motion.random(random, 1.5, 1);
  const from = Array.from({ length: count }, () => random.normals(3, 0.6));
  const to = from.map((p, k) => (k < wrong * count ? [0, 1, 2].map(() => random.between(-2, 4)) : plain.rotate(truth[0], p).map((value, j) => value + truth[1][j] + NOISE * random.between(-1, 1))));
  return { truth, from: Float64Array.from(from.flat()), to: Float64Array.from(to.flat()), count };
}

function registration(lw, { from, to }, options = {}) {
  const problem = lw.problem();
  const pose = problem.variables("pose", { shape: { q: quaternion, t: 3 }, values: [0, 0, 0, 1, 0, 0, 0] });
  const pairs = problem.residuals("pairs", { of: [pose], data: { from: column(from, 3), to: column(to, 3) }, ...options }, ([{ q, t }], { from, to }) => q.rotate(from).add(t).sub(to));
  return { problem, pose, pairs };
}

async function errorOf(pose, [turn, shift]) {
  const [x, y, z, w, ...t] = await pose.read(new Float64Array(7));
  const along = Math.abs(x * turn[0] + y * turn[1] + z * turn[2] + w * turn[3]);
  return Math.max(2 * Math.acos(Math.min(1, along)), Math.hypot(...t.map((value, k) => value - shift[k])));
}

for (const backend of BACKENDS) {
  test(`${backend}: a registration of which 80 % is wrong`, async (t) => {
    const lw = await open(t, engineOf(backend));
    for (const cost of ["tls", "gm"]) {
      const data = scan(3, 200, cost === "tls" ? 0.8 : 0.5);
      const robust = registration(lw, data, { loss: huber(THRESHOLD) });
      await robust.problem.solve();
      const { problem, pose, pairs } = registration(lw, data);
      const told = [];
      const found = await problem.solveGraduated({ suspects: [{ term: pairs, threshold: THRESHOLD }], cost, onIteration: (it) => { told.push(it); } });
      const error = await errorOf(pose, data.truth);
      t.diagnostic(`${cost}: Huber ${await errorOf(robust.pose, data.truth)}, graduated ${error}; ${found.ending} after ${found.rounds} rounds`);
      assert.ok(error < 0.01, `${cost}: ${error}`);
      assert.ok(cost === "gm" || await errorOf(robust.pose, data.truth) > 0.05, "Huber's loss is to fail");
      assert.equal(told.length, found.steps);
      const inliers = found.inliers(pairs), wrong = (cost === "tls" ? 0.8 : 0.5) * data.count;
      assert.deepEqual([...inliers], Array.from(inliers, (_, k) => Number(k >= wrong)));
      assert.ok(found.weights(pairs).every((weight) => weight >= 0 && weight <= 1));
      // The term weighs what it did.
      const fresh = registration(lw, data);
      fresh.pose.write(await pose.read(new Float64Array(7)));
      assert.ok(Math.abs(await pairs.cost() / await fresh.pairs.cost() - 1) < 1e-5);
    }
  });
}

test("a chain of poses whose loops are mostly wrong", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const random = new Random(11), count = 40;
  // Poses in the plane on a circle, by odometry that drifts; loops close it, three of four wrongly.
  const truth = Array.from({ length: count }, (_, k) => [10 * Math.cos(k * 0.157), 10 * Math.sin(k * 0.157), k * 0.157 + Math.PI / 2]);
  const between = ([x, y, a], [u, v, b]) => [Math.cos(a) * (u - x) + Math.sin(a) * (v - y), -Math.sin(a) * (u - x) + Math.cos(a) * (v - y), b - a];
  const steps = truth.slice(1).map((pose, k) => between(truth[k], pose).map((value, j) => value + [0.05, 0.05, 0.01][j] * random.between(-1, 1)));
  const start = [truth[0]];
  for (const [x, y, a] of steps) { const [u, v, b] = start.at(-1); start.push([u + Math.cos(b) * x - Math.sin(b) * y, v + Math.sin(b) * x + Math.cos(b) * y, b + a]); }
  const loops = Array.from({ length: 24 }, (_, k) => [k % 12, 39 - (k % 11)]);
  const closed = loops.map(([a, b], k) => (k % 4 === 0 ? between(truth[a], truth[b]).map((value) => value + 0.01 * random.between(-1, 1)) : [random.between(-8, 8), random.between(-8, 8), random.between(-3, 3)]));
  const make = () => {
    const problem = lw.problem();
    const pose = problem.variables("pose", { shape: 3, values: start.flat() });
    pose.fix([0]);
    // The angle's error as the sine and 1 − cosine of it, which have no jump.
    const error = ([a, b], { m }) => {
      const [dx, dy, turn] = [b.x.sub(a.x), b.y.sub(a.y), b.z.sub(a.z).sub(m.z)], [c, s] = [cos(a.z), cos(a.z.sub(Math.PI / 2))];
      return [c.mul(dx).add(s.mul(dy)).sub(m.x), c.mul(dy).sub(s.mul(dx)).sub(m.y), cos(turn.sub(Math.PI / 2)), cos(turn).neg().add(1)];
    };
    problem.residuals("odometry", { over: Uint32Array.from(steps.flatMap((_, k) => [k, k + 1])), of: [pose, pose], data: { m: column(steps.flat(), 3) }, weight: 400 }, error);
    const term = problem.residuals("loops", { over: Uint32Array.from(loops.flat()), of: [pose, pose], data: { m: column(closed.flat(), 3) }, weight: 400 }, error);
    return { problem, pose, term };
  };
  const worst = async ({ pose }) => { const x = await pose.read(new Float64Array(3 * count)); return Math.max(...truth.map(([u, v], k) => Math.hypot(x[3 * k] - u, x[3 * k + 1] - v))); };
  const plainly = make(), graduated = make();
  await plainly.problem.solve({ maxIterations: 200 });
  const found = await graduated.problem.solveGraduated({ suspects: [{ term: graduated.term, threshold: 4.5 }], maxIterations: 200 });
  const errors = [await worst(plainly), await worst(graduated)];
  t.diagnostic(`plain ${errors[0]}, graduated ${errors[1]}; ${found.ending} after ${found.rounds} rounds`);
  assert.ok(errors[0] > 1 && errors[1] < 0.5, errors.join(" and "));
  assert.deepEqual([...found.inliers(graduated.term)], loops.map((_, k) => Number(k % 4 === 0)));
});

test("a graduated solve refuses what it can't weigh", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const data = scan(1, 10, 0);
  const { problem, pairs } = registration(lw, data), other = registration(lw, data, { loss: huber(1) });
  await rejects(problem.solveGraduated({ suspects: [] }), "invalid-option", /name at least one term/);
  await rejects(problem.solveGraduated({}), "invalid-option", /suspects must be a list/);
  await rejects(problem.solveGraduated({ suspects: [{ term: pairs, threshold: -1 }] }), "invalid-option", "suspects[0].threshold: -1 is not a number above 0");
  await rejects(problem.solveGraduated({ suspects: [{ term: pairs, threshold: 1, inliers: [] }] }), "invalid-option", /^suspects\[0\]: options have no "inliers"/);
  await rejects(problem.solveGraduated({ suspects: [{ term: pairs, threshold: 1 }], cost: "l1" }), "invalid-option", 'cost: "l1" is not one of "tls", "gm"');
  await rejects(problem.solveGraduated({ suspects: [{ term: pairs, threshold: 1 }], mu: 2 }), "invalid-option", /options have no "mu"/);
  await rejects(problem.solveGraduated({ suspects: [{ term: other.pairs, threshold: 1 }] }), "foreign-variable", /of another problem/, { term: "pairs" });
  await rejects(other.problem.solveGraduated({ suspects: [{ term: other.pairs, threshold: 1 }] }), "invalid-option", /has a robust loss/);
  const stopped = await problem.solveGraduated({ suspects: [{ term: pairs, threshold: THRESHOLD, knownInliers: [0] }], onIteration: () => "stop" });
  assert.equal(stopped.ending, "stopped");
});

// ── several starts ──

/** Rastrigin's function of n scalars (1974), which has a minimum near every whole number: Σ x² + 10(1 − cos 2πx), 0 at 0. */
function rastrigin(lw, start) {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: start });
  problem.residuals("bowl", { of: [x] }, ([x]) => x.mul(Math.SQRT2));
  problem.energy("ripples", { of: [x] }, ([x]) => cos(x.mul(2 * Math.PI)).neg().add(1).mul(10));
  return { problem, x };
}

for (const backend of BACKENDS) {
  test(`${backend}: the best of many minima`, async (t) => {
    const lw = await open(t, engineOf(backend));
    const single = rastrigin(lw, [3.3, -2.2]);
    const one = await single.problem.solve();
    assert.ok(one.cost > 1, `${one.cost}`);
    const sample = (x) => (random) => [[x, [8 * random() - 4, 8 * random() - 4]]];
    const run = async (seed, count) => {
      const { problem, x } = rastrigin(lw, [3.3, -2.2]);
      const seen = [];
      const found = await problem.multiStart({ starts: { count, sample: sample(x), seed }, onStart: ({ index, best }) => { seen.push([index, best]); } });
      assert.deepEqual(seen.map(([index]) => index), [...found.costs.keys()]);
      const values = await x.read(new Float64Array(2));
      problem.dispose();
      return { ...found, values };
    };
    const many = backend === "webgpu" ? 12 : 40;
    const found = await run(7, many);
    assert.equal(found.costs.length, many);
    assert.equal(found.costs[found.best], Math.min(...found.costs));
    assert.equal(found.report.cost, found.costs[found.best]);
    assert.ok(new Set(Array.from(found.costs, (cost) => cost.toFixed(2))).size > 5, "there are many minima");
    // Where it is left has the lowest cost, to the bit: a solve from there stays.
    const cost = found.values.reduce((sum, x) => sum + x * x + 10 * (1 - Math.cos(2 * Math.PI * x)), 0);
    assert.ok(Math.abs(cost - found.report.cost) <= 1e-4, `${cost} and ${found.report.cost}`);
    const again = await run(7, many), fewer = await run(7, 5);
    assert.deepEqual([again.costs, again.values, again.best], [found.costs, found.values, found.best]);
    assert.deepEqual(fewer.costs, found.costs.slice(0, 5));
    assert.notDeepEqual((await run(8, 5)).costs, fewer.costs);
  });
}

test("starts that are given, and those that can't begin", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { problem, x } = rastrigin(lw, [1.1, 0.1]);
  problem.residuals("positive", { of: [x], weight: 1e-12 }, ([x]) => sqrt(x.add(5)));
  const found = await problem.multiStart({ starts: [[], [[x, [-9, 0]]], [[x, [0.1, -0.1]]], [[x, [0.1, -0.1]]]], maxIterations: 100 });
  assert.equal(found.best, 2, "the first of equals");
  assert.equal(found.costs[1], Infinity);
  assert.equal(found.reports[1], undefined);
  assert.equal(found.costs[2], found.costs[3], "no start feels another");
  // As if each were the only one.
  const alone = rastrigin(lw, [0.1, -0.1]);
  alone.problem.residuals("positive", { of: [alone.x], weight: 1e-12 }, ([x]) => sqrt(x.add(5)));
  const report = await alone.problem.solve({ maxIterations: 100 });
  const numbers = ({ iterations }) => iterations.map(({ ms, ...rest }) => rest);
  assert.deepEqual(numbers(found.report), numbers(report));
  assert.deepEqual(await x.read(new Float64Array(2)), await alone.x.read(new Float64Array(2)));

  await rejects(problem.multiStart({ starts: [] }), "invalid-option", /at least one/);
  await rejects(problem.multiStart({ starts: [[[x, [-9, 0]]]] }), "non-finite", /positive/, { term: "positive", instance: 0 });
  await rejects(problem.multiStart({ starts: [[x, [1, 2]]] }), "invalid-option", /a list of \[variables, values\]/);
  await rejects(problem.multiStart({ starts: { count: 0, sample: () => [] } }), "invalid-option", /starts.count/);
  await rejects(problem.multiStart({ starts: [[[x, [1, 2, 3]]]] }), "data-length", /"x"/);
  const stopped = await problem.multiStart({ starts: [[], [], []], onStart: () => "stop" });
  assert.equal(stopped.costs.length, 1);
});
