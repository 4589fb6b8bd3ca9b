// Covariances on every backend: NIST's certified standard deviations, gauges of bundles and pose graphs, and what of them
// agrees with whole inverses. All of it is computed in f64, at values that a GPU has in f32.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cauchy, column, gemanMcClure, huber, quaternion, se3, sphere, sqrt } from "leastwise";
import { ADDON, BACKENDS, closeTo, open, rejects } from "./support.mjs";
import { bundle, randomBundle } from "../problems/bundle.mjs";
import { chainOfPoses, chainOn } from "../problems/manifolds.mjs";
import { NIST, nist, readNist } from "../problems/nist.mjs";
import { Random } from "../problems/random.mjs";

const diagonal = (block, n) => Array.from({ length: n }, (_, k) => block[k * (n + 1)]);

/** −log₁₀ of the largest relative difference. */
const digits = (found, expected) => Math.min(16, ...Array.from(expected, (value, k) => -Math.log10(Math.abs(found[k] / value - 1))));

/** Sum of products of a matrix of n columns with a vector. */
const times = (matrix, n, x) => Array.from({ length: matrix.length / n }, (_, r) => x.reduce((sum, value, c) => sum + matrix[r * n + c] * value, 0));

/** The inverse of a symmetric positive definite matrix, row by row (Gauss and Jordan, with pivoting). */
function inverse(matrix, n) {
  const work = Array.from({ length: n }, (_, r) => Float64Array.from({ length: 2 * n }, (_, c) => (c < n ? matrix[r * n + c] : Number(c - n === r))));
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let r = k; r < n; r++) if (Math.abs(work[r][k]) > Math.abs(work[pivot][k])) pivot = r;
    [work[k], work[pivot]] = [work[pivot], work[k]];
    const row = work[k], by = row[k];
    for (let c = 0; c < 2 * n; c++) row[c] /= by;
    for (let r = 0; r < n; r++) {
      const factor = work[r][k];
      if (r !== k && factor !== 0) for (let c = k; c < 2 * n; c++) work[r][c] -= factor * row[c];
    }
  }
  const whole = new Float64Array(n * n);
  work.forEach((row, r) => whole.set(row.subarray(n), r * n));
  return whole;
}

// Lanczos1 is data without noise: its residuals are 1e-13 of observations that f64 rounds to 2e-16, so that their sum of
// squares, and with it every standard deviation, is known to two digits or three.
const NOISELESS = new Map([["Lanczos1", 2]]);

test("NIST's certified standard deviations are found to six digits", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const missed = [];
  for (const name of NIST) {
    const file = readNist(name);
    const { problem, b } = nist(lw, name, file, 1);
    await problem.solve();
    const marginals = await problem.marginals();
    const right = digits(await marginals.standardErrors(b), file.deviations);
    t.diagnostic(`${name}: ${right.toFixed(1)} digits`);
    if (!(right >= (NOISELESS.get(name) ?? 6))) missed.push(`${name}: ${right}`);
    // σ̂ is certified, too.
    const freedom = file.y.length - file.certified.length;
    assert.deepEqual([marginals.residuals, marginals.unknowns, marginals.deficiency, marginals.method], [file.y.length, file.certified.length, 0, "dense"]);
    if (!NOISELESS.has(name)) closeTo(marginals.variance, file.residualSquares / freedom, 1e-9, name);
    const block = await problem.covariance(b);
    assert.deepEqual(Float64Array.from(diagonal(block, file.certified.length), Math.sqrt), await marginals.standardErrors(b));
    problem.dispose();
  }
  assert.deepEqual(missed, []);
});

for (const backend of BACKENDS) {
  test(`${backend}: standard deviations at values in f32`, async (t) => {
    const lw = await open(t, { backend, precision: "f32" });
    for (const name of ["Misra1a", "DanWood", "Gauss1", "ENSO", "Thurber"]) {
      const file = readNist(name);
      const { problem, b } = nist(lw, name, { ...file, starts: [file.certified] }, 0);
      // At the certified values, rounded: J and r are those in f64 of these.
      const right = digits(await (await problem.marginals()).standardErrors(b), file.deviations);
      t.diagnostic(`${name}: ${right.toFixed(1)} digits`);
      assert.ok(right >= 3, `${name}: ${right} digits`);
      problem.dispose();
    }
  });

  test(`${backend}: a bundle that nothing holds has seven directions that no view sees`, async (t) => {
    const lw = await open(t, { backend });
    const { problem, camera, point } = bundle(lw, randomBundle(17, { cameras: 5, points: 40, views: 4 }));
    await rejects(problem.marginals(), "rank-deficient", /7 directions move nothing that a residual sees.*"camera" \(5 instances: 0, 1, 2, 3, 4\); "point" \(40 instances: 0, 1, 2, 3, 4, 5, 6, 7, …; as a whole: 3 translations, 3 rotations, 1 scaling\)/);
    const free = await problem.marginals({ deficient: "pseudo-inverse", variance: 1 });
    assert.equal(free.deficiency, 7);
    assert.deepEqual(free.unseen.find(({ variable }) => variable === "point"), { variable: "point", instances: 40, listed: [0, 1, 2, 3, 4, 5, 6, 7], untouched: 0, translations: 3, rotations: 3, scalings: 1 });
    // The first camera and one coordinate of the second hold it.
    camera.fix([0], [0, 1, 2, 3, 4, 5]);
    camera.fix([1], [3]);
    const held = await problem.marginals({ variance: 1 });
    assert.deepEqual([held.deficiency, held.fixed, held.method], [0, 7, "dense"]);
    const first = await held.covariance(camera, [0]);
    for (let k = 0; k < 6; k++) assert.equal(first[10 * k], 0);
    assert.ok((await held.standardErrors(point)).every((error) => error > 0 && Number.isFinite(error)));
    problem.dispose();
  });

  test(`${backend}: a pose graph that nothing holds has six free directions; where a pose is fixed, it has the inverse of JᵀWJ`, async (t) => {
    const lw = await open(t, { backend });
    const graph = chainOfPoses(5, 40);
    for (const shape of [se3, { q: quaternion, t: 3 }]) {
      const { problem, pose, motions } = chainOn(lw, shape, graph);
      pose.free();
      await rejects(problem.covariance(pose), "rank-deficient", /6 directions move nothing that a residual sees.*"pose" \(40 instances: 0, 1, 2, 3, 4, 5, 6, 7, …; as a whole: 3 translations, 3 rotations\)/);
      pose.fix([0]);
      const marginals = await problem.marginals({ variance: 1 });
      assert.deepEqual([marginals.method, marginals.deficiency, marginals.unknowns, marginals.fixed], ["sparse", 0, 39 * 6, 6]);
      // JᵀJ of what the term says itself, without the first pose.
      const { jacobian, rows, columns } = await motions.evaluate();
      const kept = 39 * 6, matrix = new Float64Array(kept * kept);
      for (let k = 0; k < graph.pairs.length / 2; k++) {
        const place = (c) => 6 * (graph.pairs[2 * k + (c < 6 ? 0 : 1)] - 1) + (c % 6);
        for (let r = 0; r < rows; r++) {
          const row = jacobian.subarray((k * rows + r) * columns, (k * rows + r + 1) * columns);
          for (let a = 0; a < 12; a++) for (let b = 0; b < 12; b++) if (place(a) >= 0 && place(b) >= 0) matrix[place(a) * kept + place(b)] += row[a] * row[b];
        }
      }
      const expected = inverse(matrix, kept);
      const tolerance = backend === "webgpu" ? 2e-3 : 1e-8;
      const blocks = await marginals.covariance(pose);
      const errors = await marginals.standardErrors(pose, [7]);
      for (const i of [1, 7, 39]) {
        const block = blocks.subarray(36 * i, 36 * (i + 1)), largest = Math.max(...block.map(Math.abs));
        block.forEach((value, at) => {
          const place = (6 * (i - 1) + Math.floor(at / 6)) * kept + 6 * (i - 1) + (at % 6);
          assert.ok(Math.abs(value - expected[place]) <= tolerance * largest, `pose ${i}: ${value}, not ${expected[place]}`);
        });
        if (i === 7) errors.forEach((error, k) => closeTo(error, Math.sqrt(block[7 * k]), 1e-12, "standard error"));
      }
      const cross = await marginals.crossCovariance(pose, [7, 0], pose, [20, 20]);
      const largest = Math.max(...cross.map(Math.abs));
      for (let at = 0; at < 36; at++) {
        const value = expected[(36 + Math.floor(at / 6)) * kept + 6 * 19 + (at % 6)];
        assert.ok(Math.abs(cross[at] - value) <= tolerance * largest, `between two poses: ${cross[at]}, not ${value}`);
      }
      assert.ok(cross.subarray(36).every((value) => value === 0), "what is fixed goes along with nothing");
      problem.dispose();
    }
  });

  test(`${backend}: what lies on a manifold varies across it`, async (t) => {
    const lw = await open(t, { backend });
    const problem = lw.problem();
    const random = new Random(3);
    const way = random.normals(3), size = Math.hypot(...way);
    const n = problem.variables("normal", { shape: sphere(3), values: Float32Array.from(way, (x) => x / size) });
    const plain = problem.variables("plain", { shape: 2, values: [1, 2] });
    // The mean of ten directions, each with a variance of 1 in every component: 1/10 in every direction across.
    problem.residuals("seen", { of: [n], data: { m: column(random.normals(30), 3) } }, ([x], { m }) => x.sub(m));
    problem.residuals("known", { of: [plain], weight: 4 }, ([x]) => x);
    const marginals = await problem.marginals({ variance: 1 });
    const tangent = await marginals.covariance(n);
    assert.deepEqual([tangent.length, [...tangent].map((value) => Number(value.toFixed(6)))], [4, [0.1, 0, 0, 0.1]]);
    const lifted = await marginals.covariance(n, [0], { space: "values" });
    const x = Array.from(await n.read(), Number);
    lifted.forEach((value, at) => assert.ok(Math.abs(value - 0.1 * (Number(at % 4 === 0) - x[Math.floor(at / 3)] * x[at % 3])) < 1e-7, `${at}: ${value}`));
    assert.ok(Math.hypot(...times(lifted, 3, x)) < 1e-7, "nothing varies along the normal");
    assert.deepEqual([...await marginals.covariance(plain)], [0.25, 0, 0, 0.25]);
    assert.deepEqual([...await marginals.joint([n, [plain, [0]]], { correlation: true })].map((value) => Math.round(1e6 * value) / 1e6 + 0), [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
    assert.equal((await marginals.joint([[plain, [0]], n], { space: "values" })).length, 25);
    assert.deepEqual([...await problem.covariance(n, [0], { variance: 1, space: "values" })], [...lifted]);
  });

  test(`${backend}: with a loss, outliers weigh what the loss makes of them`, async (t) => {
    const lw = await open(t, { backend });
    const y = [1, 1.1, 0.9, 1.05, 0.95, 9];
    const variance = async (options) => {
      const problem = lw.problem();
      const x = problem.variables("x", { shape: 1, values: [1] });
      const term = problem.residuals("seen", { of: [x], data: { y: Float64Array.from(y) }, ...options }, ([x], { y }) => x.sub(y));
      const [value] = await problem.covariance(x, undefined, { variance: 1 });
      term.dispose();
      problem.dispose();
      return value;
    };
    closeTo(await variance({}), 1 / 6, 1e-6, "squares");
    // Huber's ρ′ is δ/‖r‖ beyond δ, and 2ρ″s = −ρ′ there, of which a tenth is kept: W = 0.9 ρ′.
    closeTo(await variance({ loss: huber(0.5) }), 1 / (5 + (0.9 * 0.5) / 8), 1e-6, "Huber");
    closeTo(await variance({ loss: huber(0.5), weight: 2 }), 1 / (2 * (5 + (0.9 * 0.5) / 8)), 1e-6, "Huber, weighed");
  });

  test(`${backend}: what is asked for wrongly is refused`, async (t) => {
    const lw = await open(t, { backend });
    const problem = lw.problem();
    await rejects(problem.marginals(), "empty-term", "the problem has no variables: add some before solving");
    const x = problem.variables("x", { shape: 2, values: [1, 2, 3, 4] });
    await rejects(problem.covariance(x), "empty-term", "the problem has no enabled residual terms: add some before solving");
    const data = Float64Array.of(1, 2);
    problem.residuals("held", { of: [x], data: { y: data } }, ([p], { y }) => [p.x.sub(y), sqrt(p.y)]);
    const still = problem.constants("still", { shape: 1, values: [1] });
    const other = lw.problem().variables("other", { shape: 1, values: [1] });
    await rejects(problem.covariance(other), "foreign-variable", 'covariance(of): of is "other" of another problem');
    await rejects(problem.covariance({}), "invalid-option", /must be variables of this problem/);
    await rejects(problem.covariance(still, undefined, { variance: 1 }), "invalid-option", /only variables have one/);
    await rejects(problem.covariance(x, [2], { variance: 1 }), "index-out-of-range", '"x": index 2 is out of range: it has 2 instances (0 to 1)');
    await rejects(problem.covariance(x, [0.5]), "index-out-of-range", /which\[0\] is 0.5/);
    await rejects(problem.covariance(x, undefined, { scaled: true }), "invalid-option", 'covariance options have no "scaled" (they have: variance, deficient, rankTolerance, signal, onProgress, space)');
    await rejects(problem.covariance(x, undefined, { space: "world" }), "invalid-option", 'space: "world" is not one of "tangent", "values"');
    await rejects(problem.marginals({ variance: -1 }), "invalid-option", 'variance must be a positive number or "estimated", not -1');
    await rejects(problem.marginals({ variance: "known" }), "invalid-option", /variance must be a positive number or "estimated"/);
    await rejects(problem.marginals({ deficient: "ignore" }), "invalid-option", 'deficient: "ignore" is not one of "error", "pseudo-inverse"');
    await rejects(problem.covariance(x), "invalid-option", /4 rows of residuals leave nothing over for 4 unknowns/);
    assert.deepEqual([...await problem.covariance(x, new Uint8Array([0, 1]), { variance: 1 })].map((value) => Number(value.toFixed(9))), [1, 0, 0, 16]);
    const marginals = await problem.marginals({ variance: 1 });
    await rejects(marginals.covariance(x, [0], { pair: 1 }), "invalid-option", /options have no "pair"/);
    await rejects(marginals.crossCovariance(x, [0, 1], x, [0]), "invalid-option", /as many of the one as of the other, not 2 and 1/);
    await rejects(marginals.joint(x), "invalid-option", /a list of variables/);
    marginals.dispose();
    marginals.dispose();
    await rejects(marginals.covariance(x), "disposed", "this covariance was disposed: it can't be used any more");
    x.write([1, -1, 3, 4]);
    await rejects(problem.covariance(x), "non-finite", /not finite/, { term: "held", instance: 0 });
    x.write([3, 4, 5, 6]);
    // Between two iterations a solve is under way on every engine, however fast.
    const refused = [];
    await problem.solve({ onIteration: () => { refused.push(rejects(problem.covariance(x, undefined, { variance: 1 }), "busy", /already being solved or read/)); } });
    assert.ok(refused.length > 0);
    await Promise.all(refused);
    problem.dispose();
    await rejects(problem.marginals(), "disposed", /this problem was disposed/);
  });
}

test("beside Ceres, which has W = w ρ′ I, variances with a loss are 0 to 11.1 % larger", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const random = new Random(11);
  const time = Float64Array.from({ length: 60 }, (_, k) => k / 20), seen = time.map((t, k) => 1 + 2 * t + 0.1 * random.normal() + (k % 3 ? 0 : random.between(-3, 3)));
  const losses = { huber: [huber(0.15), (s) => (s <= 0.15 ** 2 ? 1 : 0.15 / Math.sqrt(s))], cauchy: [cauchy(0.2), (s) => 1 / (1 + s / 0.04)], gemanMcClure: [gemanMcClure(0.4), (s) => (1 + s / 0.16) ** -2] };
  for (const [name, [loss, slope]] of Object.entries(losses)) {
    const problem = lw.problem();
    const a = problem.variables("line", { shape: 2, values: [1, 2] });
    problem.residuals("seen", { of: [a], data: { t: time, seen }, loss }, ([a], { t, seen }) => a.x.add(a.y.mul(t)).sub(seen));
    await problem.solve();
    const [p, q] = await a.read(), normal = new Float64Array(4);
    time.forEach((t, k) => { const weight = slope((p + q * t - seen[k]) ** 2); [1, t, t, t * t].forEach((value, at) => { normal[at] += weight * value; }); });
    const ours = diagonal(await problem.covariance(a, undefined, { variance: 1 }), 2), ceres = diagonal(inverse(normal, 2), 2);
    ours.forEach((variance, k) => {
      const more = variance / ceres[k] - 1;
      t.diagnostic(`${name}: ${(100 * more).toFixed(2)} %`);
      assert.ok(more > 0.01 && more < 1 / 0.9 - 1 + 1e-9, `${name}, variance ${k}: ${variance} against ${ceres[k]}`);
    });
    problem.dispose();
  }
});

/** Springs of a square grid of points, held by targets. */
function grid(lw, n) {
  const over = [];
  for (let k = 0; k < n * n; k++) {
    if (k % n + 1 < n) over.push(k, k + 1);
    if (k + n < n * n) over.push(k, k + n);
  }
  const problem = lw.problem(), values = Float64Array.from({ length: 3 * n * n }, (_, k) => Math.sin(k));
  const x = problem.variables("x", { shape: 3, values });
  problem.residuals("springs", { over: Uint32Array.from(over), of: [x, x] }, ([a, b]) => a.sub(b));
  problem.residuals("targets", { of: [x], weight: 0.1, data: { t: column(values, 3) } }, ([a], { t }) => a.sub(t));
  return { problem, x };
}

test("covariances and gradients tell how much is done, and end where they are asked to", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { problem, x } = grid(lw, 30);
  await problem.solve({ maxIterations: 30 });
  const works = {
    covariance: (more) => problem.covariance(x, undefined, { variance: 1, ...more }),
    marginals: async (more) => { (await problem.marginals({ variance: 1, ...more })).dispose(); },
    backward: (more) => problem.backward([[x, new Float64Array(3 * 30 * 30).fill(1)]], more),
  };
  for (const [name, work] of Object.entries(works)) {
    const shares = [];
    await work({ onProgress: (done, total) => shares.push(done / total) });
    assert.ok(shares.at(-1) === 1 && shares.every((share, k) => share >= (shares[k - 1] ?? 0) && share <= 1), `${name}: ${shares}`);
    // Told once, and then no more; the addon may have been faster than its first word of progress, which then is that of the end.
    const controller = new AbortController(), reason = new Error("enough"), told = [];
    const ended = await work({ signal: controller.signal, onProgress: (done, total) => { told.push(done / total); controller.abort(reason); } }).then(() => "done", (error) => error);
    assert.deepEqual([told.length, ended], [1, ADDON && told[0] === 1 ? "done" : reason], name);
    await assert.rejects(work({ signal: AbortSignal.abort(reason) }), (error) => error === reason, name);
    await rejects(work({ signal: 1 }), "invalid-option", "signal must be an AbortSignal, not a number");
    await work();
  }
});

test("a stop is heard within a factorisation", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  // Large enough that no machine factors it within a slice of time.
  const count = 2000, problem = lw.problem(), values = Float64Array.from({ length: count }, (_, k) => Math.sin(k));
  const x = problem.variables("x", { shape: 1, values });
  const over = Uint32Array.from({ length: 6 * count }, (_, k) => (k * k * 7 + 13 * k) % count);
  problem.residuals("links", { over, of: [x, x] }, ([a, b]) => a.sub(b).add(a.mul(b)));
  problem.residuals("pulls", { of: [x] }, ([a]) => a.sub(1));
  // Laying out is one dispatch, evaluating the residuals several; the matrix is factored in the turns after them.
  const controller = new AbortController(), turn = () => { if (lw.counters().dispatches <= 1) setImmediate(turn); else controller.abort(); };
  setImmediate(turn);
  const report = await problem.solve({ linear: "dense", signal: controller.signal });
  assert.equal(report.termination, "stopped");
  assert.deepEqual([report.iterations.length, [...await x.read()]], [0, [...values]]);
  const whole = await problem.solve({ linear: "dense", maxIterations: 1 });
  assert.ok(whole.iterations.length === 1 && whole.cost < report.cost);
});

test("a stop is heard while a problem is laid out, which goes on with the next solve", { skip: ADDON && "the addon lays out on a thread of its own" }, async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const count = 40_000, problem = lw.problem(), x = problem.variables("x", { shape: 1, values: new Float64Array(count) });
  for (const [k, name] of ["one", "two", "three"].entries()) problem.residuals(name, { of: [x] }, ([a]) => a.sub(k));
  const controller = new AbortController(), reason = new Error("enough");
  // Laying it out begins with a turn of the event loop.
  setImmediate(() => controller.abort(reason));
  await assert.rejects(problem.solve({ signal: controller.signal }), (error) => error === reason);
  assert.deepEqual([lw.counters().dispatches, lw.memory().solvers], [0, 0]);
  const report = await problem.solve();
  assert.ok(report.converged, report.reason);
  assert.ok((await x.read()).every((value) => Math.abs(value - 1) < 1e-3));
});

test("options in the place of instances are told to come third", async (t) => {
  const lw = await open(t, { backend: "cpu" }), problem = lw.problem(), x = problem.variables("x", { shape: 1, values: [1, 2] });
  problem.residuals("r", { of: [x] }, ([x]) => x.mul(2));
  await rejects(problem.covariance(x, { variance: 1 }), "shape", "problem.covariance(of, which, options): which is an array of instances or a mask, not an Object: options are third");
  assert.deepEqual([...await problem.covariance(x, undefined, { variance: 1 })], [0.25, 0.25]);
});
