// Variables on manifolds: whole solves against what is known of their solutions, in every precision there is.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column, cos, exp, huber, manifold, quaternion, se2, se3, sim3, sin, so2, so3, sphere, subset, sumOver, vec } from "leastwise";
import { bundle, randomBundle } from "../problems/bundle.mjs";
import { adjustBundle, chainOfPoses, chainOn, motion, rotationAveraging, shakenSphere, sphericalMap } from "../problems/manifolds.mjs";
import { Random } from "../problems/random.mjs";
import * as plain from "../problems/rotations.mjs";
import { closeTo, engineOf, icosphere, open } from "./support.mjs";

/** What there is to run on, and what is left of a value of 1. */
const ENGINES = [
  ["cpu f64", { backend: "cpu", precision: "f64" }, 1e-12],
  ["cpu f32", { backend: "cpu", precision: "f32" }, 3e-6],
  ["webgpu", engineOf("webgpu"), 3e-6],
];

const TIGHT = { costTolerance: 1e-14, gradientTolerance: 1e-14, stepTolerance: 1e-14, maxIterations: 60 };

function everywhere(name, work) {
  for (const [engine, options, resolved] of ENGINES) test(`${name}, ${engine}`, async (t) => work(await open(t, options), resolved));
}

const near = (found, expected, bound, what) => {
  assert.equal(found.length, expected.length, what);
  expected.forEach((value, k) => assert.ok(Math.abs(found[k] - value) <= bound, `${what}: number ${k} is ${found[k]}, not ${value}`));
};
const rows = (values, width) => Array.from({ length: values.length / width }, (_, i) => Array.from(values.slice(width * i, width * (i + 1))));
const unit = (v) => v.map((value) => value / Math.hypot(...v));
/** Of q and −q the one on the side of p. */
const sided = (q, p) => (q.reduce((sum, value, k) => sum + value * p[k], 0) < 0 ? q.map((value) => -value) : q);

everywhere("a spherical map: every vertex in the direction of its neighbours' sum", async (lw, resolved) => {
  const mesh = shakenSphere(icosphere(2), 3, 0.25);
  const { problem, x } = sphericalMap(lw, mesh);
  const start = await x.read(new Float64Array(mesh.start.length));
  const report = await problem.solve(TIGHT);
  assert.ok(report.cost < 0.9 * report.initialCost, String(report));
  const found = await x.read(new Float64Array(mesh.start.length));
  assert.deepEqual(found.slice(0, 36), start.slice(0, 36), "what is held keeps its bits");
  const at = rows(found, 3);
  const sums = at.map(() => [0, 0, 0]);
  for (const [a, b] of rows(mesh.edges, 2)) {
    sums[a] = sums[a].map((value, k) => value + at[b][k]);
    sums[b] = sums[b].map((value, k) => value + at[a][k]);
  }
  at.forEach((v, i) => closeTo(Math.hypot(...v), 1, 4 * resolved, `length of ${i}`));
  // The cost that stays hides errors below the root of what is resolved of it.
  at.slice(12).forEach((v, i) => near(v, unit(sums[i + 12]), 4 * Math.sqrt(resolved), `vertex ${i + 12}`));
});

everywhere("rotations are averaged", async (lw, resolved) => {
  const random = new Random(4);
  const truth = Array.from({ length: 30 }, () => unit(random.normals(4)));
  const pairs = [1, 7].flatMap((by) => truth.map((_, k) => [k, (k + by) % 30]));
  const measured = pairs.map(([a, b]) => plain.multiply(plain.conjugate(truth[a]), truth[b]));
  const start = truth.map((q, k) => (k === 0 ? q : plain.multiply(q, plain.fromAngleAxis(random.normals(3, 0.25)))));
  const { problem, q } = rotationAveraging(lw, { pairs: Uint32Array.from(pairs.flat()), measured: measured.flat(), start: start.flat() });
  const report = await problem.solve(TIGHT);
  assert.ok(report.cost < 1e3 * resolved ** 2, String(report));
  rows(await q.read(new Float64Array(120)), 4).forEach((found, k) => near(sided(found, truth[k]), truth[k], 100 * resolved, `rotation ${k}`));
});

everywhere("a pose graph, as se3 and as a record", async (lw, resolved) => {
  const scene = chainOfPoses(5, 20);
  for (const [name, shape] of [["se3", se3], ["a record", { q: quaternion, t: 3 }]]) {
    const { problem, pose, motions } = chainOn(lw, shape, scene);
    const { error } = await motions.checkGradients();
    assert.ok(error < 1e-4, `${name}: a derivative is off by ${error}`);
    const report = await problem.solve(TIGHT);
    assert.ok(report.cost < 1e4 * resolved ** 2, `${name}: ${report}`);
    const found = await pose.read(new Float64Array(140));
    rows(found, 7).forEach((row, k) => {
      const [q, t] = scene.truth[k];
      near(sided(row.slice(0, 4), q), q, 300 * resolved, `${name}: rotation ${k}`);
      near(row.slice(4), t, 3000 * resolved, `${name}: place ${k}`);
    });
  }
});

everywhere("bundle adjustment over structured cameras comes to the cost of that over nine numbers", async (lw, resolved) => {
  const scene = randomBundle(6, { cameras: 5, points: 60, views: 3 });
  const structured = adjustBundle(lw, scene, huber(1)), flat = bundle(lw, scene, huber(1));
  const { error } = await structured.views.checkGradients();
  assert.ok(error < 1e-3, `a derivative is off by ${error}`);
  const [first, second] = [await structured.problem.solve({ maxIterations: 100 }), await flat.problem.solve({ maxIterations: 100 })];
  closeTo(first.initialCost, second.initialCost, 100 * resolved, "the cost at the start");
  closeTo(first.cost, second.cost, 1e-2, "the cost at the end");
  assert.ok(first.cost < 0.05 * first.initialCost, String(first));
  for (const camera of rows(await structured.camera.read(new Float64Array(50)), 10)) closeTo(Math.hypot(...camera.slice(0, 4)), 1, 4 * resolved, "length of a quaternion");
});

everywhere("groups do what their elements do", async (lw, resolved) => {
  const random = new Random(7);
  const angle = random.between(-3, 3), other = random.between(-3, 3), p = random.normals(2), v = random.normals(3);
  const [m, n] = [motion.random(random, 1, 1), motion.random(random, 1, 1)];
  const circle = (a) => [Math.cos(a), Math.sin(a)];
  const turned = (a, [x, y]) => [x * Math.cos(a) - y * Math.sin(a), x * Math.sin(a) + y * Math.cos(a)];
  const problem = lw.problem();
  const pair = (name, shape, values) => problem.constants(name, { shape: { a: shape, b: shape }, values });
  const turn = pair("turn", so2, [...circle(angle), ...circle(other)]);
  const flat = pair("flat", se2, [...circle(angle), 1, 2, ...circle(other), 3, -1]);
  const rigid = pair("rigid", se3, [...m.flat(), ...n.flat()]);
  const alike = pair("alike", sim3, [...m.flat(), 2, ...n.flat(), 0.25]);
  const still = problem.variables("still", { shape: 1, values: [0] });
  // A term has a variable, whatever it looks at.
  const value = async (name, of, expected, write) => {
    const term = problem.residuals(name, { of: [still, of], data: { p, v } }, ([zero, { a, b }], data) => [write(a, b, data), zero]);
    near((await term.evaluate()).residuals.slice(0, -1), expected, 20 * resolved * Math.max(1, ...expected.map(Math.abs)), name);
  };
  await value("so2: angle", turn, [angle], (a) => a.angle());
  await value("so2: rotate", turn, turned(angle, p), (a, _, { p }) => a.rotate(p));
  await value("so2: mul", turn, circle(angle + other), (a, b) => a.mul(b).cs);
  await value("so2: inverse", turn, circle(-angle), (a) => a.inverse().cs);
  const second = turned(other, p).map((value, k) => value + [3, -1][k]);
  await value("se2: mul", flat, turned(angle, second).map((value, k) => value + [1, 2][k]), (a, b, { p }) => a.mul(b).transform(p));
  await value("se2: inverse", flat, p, (a, _, { p }) => a.inverse().transform(a.transform(p)));
  await value("se3: mul", rigid, motion.times(motion.times(m, n), [[0, 0, 0, 1], v])[1], (a, b, { v }) => a.mul(b).transform(v));
  await value("se3: inverse", rigid, motion.times(motion.inverse(m), [[0, 0, 0, 1], v])[1], (a, _, { v }) => a.inverse().transform(v));
  const scaled = plain.rotate(n[0], v).map((value, k) => 0.25 * value + n[1][k]);
  await value("sim3: mul", alike, plain.rotate(m[0], scaled).map((value, k) => 2 * value + m[1][k]), (a, b, { v }) => a.mul(b).transform(v));
  await value("sim3: inverse", alike, v, (a, _, { v }) => a.inverse().transform(a.transform(v)));
});

everywhere("registration: sim3 finds how one cloud of points lies in another", async (lw, resolved) => {
  const random = new Random(8);
  const [q, t] = motion.random(random, 0.8, 2), s = 1.7;
  const from = Array.from({ length: 40 }, () => random.normals(3));
  const to = from.map((p) => plain.rotate(q, p).map((value, k) => s * value + t[k]));
  const problem = lw.problem();
  const map = problem.variables("map", { shape: sim3, values: [0, 0, 0, 1, 0, 0, 0, 1] });
  problem.residuals("pairs", { of: [map], data: { a: column(from.flat(), 3), b: column(to.flat(), 3) } }, ([x], { a, b }) => x.transform(a).sub(b));
  await problem.solve(TIGHT);
  const found = Array.from(await map.read(new Float64Array(8)));
  near(sided(found.slice(0, 4), q), q, 30 * resolved, "rotation");
  near(found.slice(4), [...t, s], 100 * resolved, "translation and scale");
});

everywhere("a retraction of one's own", async (lw, resolved) => {
  // Factors stay positive, however far a step goes.
  const positive = manifold({ ambient: 1, tangent: 1, retract: (x, d) => x.mul(exp(d)) });
  // And circles as they are brought along, written out.
  const circle = manifold({ ambient: 2, tangent: 1, retract: (x, d) => [x.x.mul(cos(d)).sub(x.y.mul(sin(d))), x.x.mul(sin(d)).add(x.y.mul(cos(d)))] });
  assert.deepEqual([positive.ambient, positive.tangent, String(circle)], [1, 1, "manifold(2, 1)"]);
  const random = new Random(9);
  const targets = Array.from({ length: 25 }, () => Math.exp(random.between(-6, 6)));
  const problem = lw.problem();
  const x = problem.variables("x", { shape: positive, values: new Float64Array(25).fill(1) });
  problem.residuals("x", { of: [x], data: { target: Float64Array.from(targets) } }, ([x], { target }) => x.div(target).sub(1));
  const angles = Array.from({ length: 25 }, () => random.between(-3, 3));
  const own = problem.variables("own", { shape: { c: circle }, values: angles.flatMap(() => unit([1, 0.2])) });
  const ours = problem.variables("ours", { shape: { c: so2 }, values: angles.flatMap(() => unit([1, 0.2])) });
  const goals = { goal: column(angles.flatMap((a) => [Math.cos(a), Math.sin(a)]), 2) };
  problem.residuals("own", { of: [own], data: goals }, ([{ c }], { goal }) => c.sub(goal));
  problem.residuals("ours", { of: [ours], data: goals }, ([{ c }], { goal }) => c.cs.sub(goal));
  await problem.solve(TIGHT);
  const found = await x.read(new Float64Array(25));
  targets.forEach((target, k) => closeTo(found[k], target, 1e3 * resolved, `number ${k}`));
  const [a, b] = [await own.read(new Float64Array(50)), await ours.read(new Float64Array(50))];
  near(a, Array.from(b), 300 * resolved, "circles");
  near(b, goals.goal.values, 300 * resolved, "circles at their goals");
});

test("values are flat and ambient, near the manifold, and brought onto it", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const pose = problem.variables("pose", { shape: { q: quaternion, part: { n: sphere(2), s: 1 } }, values: [0, 0, 0, 1.0005, 0.6, 0.8, 7, 1, 0, 0, 0, 1, 0, 8], count: 2 });
  assert.deepEqual(Array.from(await pose.read(new Float64Array(14))), [0, 0, 0, 1, 0.6, 0.8, 7, 1, 0, 0, 0, 1, 0, 8]);
  pose.write([0, 0.9995, 0, 0, 0, 1, 9], { at: [1] });
  assert.deepEqual(Array.from(await pose.read(new Float64Array(14))).slice(7), [0, 1, 0, 0, 0, 1, 9]);
  const seen = [];
  problem.residuals("t", { of: { pose, all: pose.rows({ offsets: [0, 2, 3], indices: [0, 1, 1] }) } }, ({ pose, all }) => {
    seen.push([Object.keys(pose).join(), Object.keys(pose.part).join(), all.length, Object.isFrozen(pose)]);
    return all[0].part.n.sub(pose.part.n).add(vec(1, 1).mul(pose.part.s));
  });
  assert.deepEqual(seen, [["q,part", "n,s", 1, true], ["q,part", "n,s", 2, true]]);
  const sums = problem.residuals("sums", { of: { pose, all: pose.each({ offsets: [0, 2, 3], indices: [0, 1, 1] }) } },
    ({ pose, all }) => sumOver(all, ({ q, part }) => vec(q.y, part.n.y).mul(part.s)).add(pose.part.n));
  const { residuals, columns } = await sums.evaluate();
  near(Array.from(residuals), [9 + 0.6, 0.8 * 7 + 9 + 0.8, 9 + 0, 9 + 1], 1e-12, "sums over records");
  assert.equal(columns, 3 + 1 + 1);
  assert.deepEqual([so3 === quaternion, quaternion.ambient, quaternion.tangent, se2.tangent, sim3.ambient, String(subset(5, [4, 0, 4])), subset(5, [4, 0, 4]).tangent], [true, 4, 3, 3, 8, "subset(5, [0, 4])", 3]);
});

test("parts of an instance are held", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const values = [0, 0, 0, 1, 0, 0, 0, 5, 6];
  const x = problem.variables("x", { shape: { pose: se3, k: subset(2, [1]) }, values });
  const goal = [...unit([1, 2, 3, 4]), 1, 2, 3, 7, 8];
  const term = problem.residuals("goal", { of: [x], data: { goal } }, ([{ pose, k }], { goal }) => [pose.q.xyzw().sub(vec(goal.at(0), goal.at(1), goal.at(2), goal.at(3))), pose.t.sub(vec(goal.at(4), goal.at(5), goal.at(6))), k.sub(vec(goal.at(7), goal.at(8)))]);
  x.fix(undefined, [0, 1, 2, 3]);
  await problem.solve(TIGHT);
  const first = Array.from(await x.read(new Float64Array(9)));
  assert.deepEqual([...first.slice(0, 4), first[8]], [0, 0, 0, 1, 6]);
  near(first.slice(4, 8), [1, 2, 3, 7], 1e-6, "what is free");
  x.free();
  x.fix([0], [4, 5, 6]);
  await problem.solve(TIGHT);
  const second = Array.from(await x.read(new Float64Array(9)));
  near(second.slice(0, 4), goal.slice(0, 4), 1e-6, "the rotation");
  assert.deepEqual(second.slice(4, 7), first.slice(4, 7));
  assert.equal(term.count, 1);
});
