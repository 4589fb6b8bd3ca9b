// Diagnosis: its work as counts, what is kept, and what is said where constraints share equations or a solve did not end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sketch } from "leastwise/sketch";
import { open } from "./support.mjs";

async function fresh(t) {
  const s = sketch(await open(t, { backend: "cpu" }));
  t.after(() => s.dispose());
  return s;
}

/** A strip of triangles with one point fixed, every bar of the length that it is drawn with, and the last point held from one side only: 2n − 4 constraints. */
function strip(s, n) {
  const points = Array.from({ length: n }, (_, k) => s.point(Math.floor(k / 2) + 0.1 * Math.sin(k), (k % 2) + 0.1 * Math.cos(3 * k)));
  const bar = (a, b) => s.distance(points[a], points[b], Math.hypot(points[a].x - points[b].x, points[a].y - points[b].y));
  s.fix(points[0]);
  for (let k = 1; k < n; k++) {
    bar(k - 1, k);
    if (k > 1 && k < n - 1) bar(k - 2, k);
  }
  return { points, bar };
}

test("500 points and 1,000 constraints: work in proportion, and none while only places move", async (t) => {
  const s = await fresh(t), { points, bar } = strip(s, 500), tip = points.at(-1);
  let result = await s.solve();
  assert.deepEqual([result.solved, result.degreesOfFreedom], [true, 2]);
  const { builds, components, eliminated, operations } = result.counts;
  assert.deepEqual([builds, components, eliminated], [1, 1, 996]);
  assert.ok(operations < 20 * eliminated, `${operations} multiply–adds for ${eliminated} equations`);
  for (let k = 0; k < 5; k++) {
    s.drag(tip, tip.x + 0.03, tip.y + 0.05);
    const before = tip.y;
    result = await s.solve();
    assert.deepEqual([result.solved, result.degreesOfFreedom, result.counts.builds, result.counts.components, result.counts.operations], [true, 2, 0, 0, 0]);
    assert.ok(result.counts.steps <= 30, `${result.counts.steps} steps`);
    assert.ok(tip.y > before + 0.02, "the tip follows");
  }
  // Redundant bars across: two are exchanged for what makes them so, in the order of making.
  bar(100, 103);
  bar(300, 303);
  result = await s.solve();
  assert.deepEqual([result.solved, result.degreesOfFreedom, result.redundant.length, result.counts.eliminated], [true, 2, 2, 998]);
  assert.deepEqual(result.redundant.map(({ because }) => because.length), [5, 5], "four points and a bar across: six bars, of which five say all");
  assert.ok(result.counts.operations < 20 * 998);
});

test("work of a grid in any order grows in proportion", async (t) => {
  const work = [];
  for (const side of [8, 16]) {
    const s = await fresh(t), points = Array.from({ length: side }, (_, i) => Array.from({ length: side }, (_, j) => s.point(i + 0.1 * Math.sin(3 * i + j), j + 0.1 * Math.cos(i + 2 * j))));
    const bars = [];
    for (let i = 0; i < side; i++) for (let j = 0; j < side; j++) {
      if (i + 1 < side) bars.push([points[i][j], points[i + 1][j]]);
      if (j + 1 < side) bars.push([points[i][j], points[i][j + 1]]);
    }
    // A fixed order that has nothing to do with places.
    for (const [a, b] of bars.map((bar, k) => [(k * 7919) % 1009, bar]).sort(([x], [y]) => x - y).map(([, bar]) => bar)) s.distance(a, b, Math.hypot(a.x - b.x, a.y - b.y));
    const { solved, degreesOfFreedom, counts } = await s.solve();
    assert.deepEqual([solved, degreesOfFreedom, counts.eliminated], [true, 2 * side * side - bars.length, bars.length]);
    work.push(counts.operations);
  }
  // Four times as many equations; by dense elimination 64 times the work.
  assert.ok(work[1] < 20 * work[0], `${work}`);
});

test("components are diagnosed by themselves, and again only where something changed", async (t) => {
  const s = await fresh(t), lengths = Array.from({ length: 4 }, (_, k) => {
    const [a, b, c] = [[0, 0], [1, 0.1], [0.4, 1]].map(([x, y]) => s.point(3 * k + x, y));
    return [s.distance(a, b, 1), s.distance(b, c, 1), s.distance(c, a, 1)];
  });
  const counted = async (options) => { const { counts, degreesOfFreedom, conflicting } = await s.solve(options); return [counts.components, counts.eliminated, degreesOfFreedom, conflicting?.length]; };
  assert.deepEqual(await counted(), [4, 12, 12, 0]);
  assert.deepEqual(await counted(), [0, 0, 12, 0]);
  lengths[1][0].value = 1.5;
  assert.deepEqual(await counted(), [1, 3, 12, 0]);
  lengths[2][0].value = 5;
  assert.deepEqual((await counted()).slice(0, 2).concat((await counted()).slice(0, 2)), [1, 3, 0, 0], "a conflict is kept as well");
  const result = await s.solve({ diagnose: false });
  assert.deepEqual([result.solved, result.degreesOfFreedom, result.conflicting, result.counts.components], [false, undefined, undefined, 0]);
  lengths[2][0].value = 1;
  assert.deepEqual(await counted(), [1, 3, 12, 0]);
  assert.deepEqual(await counted({ tolerance: 1e-4 }), [4, 12, 12, 0], "another tolerance");
  // Geometry that nothing holds adds its own freedom.
  s.circle(s.point(20, 0), 1);
  assert.deepEqual((await counted({ tolerance: 1e-4 })).slice(2), [15, 0]);
  s.circle(s.point(30, 0), 1);
  assert.deepEqual((await counted({ tolerance: 1e-4 })).slice(2), [18, 0]);
});

test("redundant is what can be left out whole; partly what can't", async (t) => {
  const cases = [
    ["midpoint", ["on it"], (s) => { const c = s.point(0.4, 0.3), line = s.line(s.point(0, 0), s.point(1, 0.2)); s.pointOnLine(c, line, { name: "on it" }); return s.midpoint(c, line, { name: "last" }); }],
    ["coincident", ["level"], (s) => { const a = s.point(0, 0), b = s.point(1, 0.2); s.horizontal(s.line(a, b), { name: "level" }); return s.coincident(a, b, { name: "last" }); }],
    ["symmetric", ["across"], (s) => { const a = s.point(-1, 0.1), b = s.point(1, 0.2), axis = s.line(s.point(0, -1), s.point(0.1, 1)); s.perpendicular(s.line(a, b), axis, { name: "across" }); return s.symmetric(a, b, axis, { name: "last" }); }],
    ["collinear", ["on it"], (s) => { const a = s.line(s.point(0, 0), s.point(1, 0)), b = s.line(s.point(2, 0.1), s.point(3, 0.2)); s.pointOnLine(b.from, a, { name: "on it" }); return s.collinear(a, b, { name: "last" }); }],
  ];
  for (const [kind, because, make] of cases) {
    const s = await fresh(t), last = make(s), { solved, degreesOfFreedom, redundant, partly, conflicting } = await s.solve();
    assert.deepEqual([solved, redundant, partly, conflicting], [true, [], [{ constraint: "last", because }], []], kind);
    last.remove();
    assert.equal((await s.solve()).degreesOfFreedom, degreesOfFreedom + 1, `${kind}: it was needed`);
  }
  // In the other order the smaller one says nothing.
  const s = await fresh(t), c = s.point(0.4, 0.3), line = s.line(s.point(0, 0), s.point(1, 0.2));
  s.midpoint(c, line, { name: "middle" });
  const on = s.pointOnLine(c, line, { name: "on it" }), { degreesOfFreedom, redundant, partly } = await s.solve();
  assert.deepEqual([redundant, partly], [[{ constraint: "on it", because: ["middle"] }], []]);
  on.remove();
  assert.equal((await s.solve()).degreesOfFreedom, degreesOfFreedom, "it was not");
});

test("conflicts are named where a solve ended, at crossed radii too", async (t) => {
  const s = await fresh(t), [a, b, c] = [[0, 0], [1, 0.2], [0.3, 1.5]].map(([x, y]) => s.point(x, y)), lines = [s.line(a, b), s.line(a, c)];
  s.distance(a, b, 2);
  s.distance(b, c, 2);
  s.distance(c, a, 2);
  s.angle(...lines, Math.PI / 3, { name: "angle" });
  const stopped = await s.solve({ maxIterations: 0 });
  assert.deepEqual([stopped.solved, stopped.redundant, stopped.conflicting], [false, [], []], "nothing is said of a place that nobody asked for");
  const full = await s.solve();
  assert.deepEqual([full.solved, full.redundant.map(({ constraint }) => constraint), full.conflicting], [true, ["angle"], []]);

  // Circles that touch from within, drawn with the other one larger.
  const circles = await fresh(t), [large, small] = [circles.circle(circles.point(0, 0), 5), circles.circle(circles.point(2.9, 0.1), 2)];
  circles.tangent(large, small);
  circles.radius(large, 2);
  circles.radius(small, 5);
  const crossed = await circles.solve(), distance = () => Math.hypot(large.centre.x - small.centre.x, large.centre.y - small.centre.y);
  assert.deepEqual([crossed.solved, crossed.degreesOfFreedom], [true, 3]);
  assert.ok(Math.abs(distance() - 3) < 1e-7, `${distance()} apart`);
  circles.distance(large.centre, small.centre, 1, { name: "too near" });
  const { solved, conflicting } = await circles.solve();
  assert.equal(solved, false);
  assert.deepEqual([conflicting.length, conflicting[0].constraint, conflicting[0].because.length], [1, "too near", 3]);
});
