// Sketches stay near where they were: movements beside the least possible ones, which are computed here, and drags by a recorded cursor.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sketch } from "leastwise/sketch";
import { ADDON, open, refuses } from "./support.mjs";

const far = ([x, y], [z, w]) => Math.hypot(x - z, y - w);
const plus = ([x, y], [z, w], factor = 1) => [x + factor * z, y + factor * w];
const scaled = ([x, y], length) => { const own = Math.hypot(x, y); return [(x * length) / own, (y * length) / own]; };
const placesOf = (points) => points.map(({ x, y }) => [x, y]);
const crossOf = ([x, y], [z, w]) => x * w - y * z;

/** Uniform numbers from 0 to 1 (mulberry32). */
function uniform(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) >>> 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * Places of two lines' ends that are perpendicular and have moved least in the sum of squares: with s and t the sum and difference
 * of the lines' vectors, these are perpendicular where |s| = |t|, so both get the mean of their lengths.
 */
function leastPerpendicular([a, b, c, d]) {
  const [u, v] = [plus(b, a, -1), plus(d, c, -1)], [s, t] = [plus(u, v), plus(u, v, -1)];
  const mean = (Math.hypot(...s) + Math.hypot(...t)) / 2, [sum, difference] = [scaled(s, mean), scaled(t, mean)];
  const turned = [plus(sum, difference).map((x) => x / 2), plus(sum, difference, -1).map((x) => x / 2)];
  return [[a, b, turned[0]], [c, d, turned[1]]].flatMap(([p, q, line]) => { const middle = plus(p, q).map((x) => x / 2); return [plus(middle, line, -0.5), plus(middle, line, 0.5)]; });
}

/** The rectangle nearest to four corners in the sum of squares: the nearest parallelogram, with diagonals of their mean length. */
function leastRectangle([a, b, c, d]) {
  const off = [0, 1].map((k) => (a[k] - b[k] + c[k] - d[k]) / 4), corners = [plus(a, off, -1), plus(b, off), plus(c, off, -1), plus(d, off)];
  const [p, q] = [plus(corners[2], corners[0], -1), plus(corners[3], corners[1], -1)], centre = plus(corners[0], p, 0.5), mean = (Math.hypot(...p) + Math.hypot(...q)) / 2;
  return [plus(centre, scaled(p, mean), -0.5), plus(centre, scaled(q, mean), -0.5), plus(centre, scaled(p, mean), 0.5), plus(centre, scaled(q, mean), 0.5)];
}

const mostOf = (from, to) => Math.max(...from.map((place, k) => far(place, to[k])));

/** Solves three right angles of a quadrilateral: how far a corner has moved, beside the farthest one of the nearest rectangle. */
async function squared(lw, corners) {
  const s = sketch(lw), points = corners.map(([x, y]) => s.point(x, y)), lines = points.map((point, k) => s.line(point, points[(k + 1) % 4]));
  for (let k = 0; k < 3; k++) s.perpendicular(lines[k], lines[k + 1]);
  const result = await s.solve();
  s.dispose();
  return { result, moved: mostOf(corners, placesOf(points)), least: mostOf(corners, leastRectangle(corners)) };
}

test("two lines turn by no more than twice the least movement, and keep their lengths", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const degrees of [0.001, 1, 5, 30, 60, 85, 89]) {
    const angle = (degrees * Math.PI) / 180, drawn = [[0, 0], [1, 0], [0, 1], [Math.cos(angle), 1 + Math.sin(angle)]];
    // Parallel is perpendicular of a line turned by a right angle.
    const across = [...drawn.slice(0, 3), plus(drawn[2], [-Math.sin(angle), Math.cos(angle)])];
    for (const [kind, least] of [["perpendicular", leastPerpendicular(drawn)], ["parallel", leastPerpendicular(across)]]) {
      const s = sketch(lw), points = drawn.map(([x, y]) => s.point(x, y));
      s[kind](s.line(points[0], points[1]), s.line(points[2], points[3]));
      const { solved, degreesOfFreedom } = await s.solve(), places = placesOf(points);
      assert.deepEqual([solved, degreesOfFreedom], [true, 7], `${kind} from ${degrees}°`);
      const bound = kind === "perpendicular" ? mostOf(drawn, least) : mostOf(across, least);
      assert.ok(mostOf(drawn, places) <= 2 * bound + 1e-9, `${kind} from ${degrees}°: moved by ${mostOf(drawn, places)}, and ${bound} would do`);
      for (const [p, q] of [[0, 1], [2, 3]]) assert.ok(far(places[p], places[q]) > 0.9, `${kind} from ${degrees}°: a line shrank to ${far(places[p], places[q])}`);
    }
  }
});

test("quadrilaterals become rectangles near by", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const thin = await squared(lw, [[0, 0], [4, 0], [4.2, 0.01], [0, 0.02]]);
  assert.ok(thin.result.solved && thin.moved <= 2 * thin.least, `the thin one moved by ${thin.moved}, and ${thin.least} would do`);
  const draw = uniform(28), count = ADDON ? 100 : 1000;
  let steps = 0;
  for (let k = 0; k < count; k++) {
    const corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(([x, y]) => [x + draw() - 0.5, y + draw() - 0.5]), { result, moved, least } = await squared(lw, corners);
    assert.ok(result.solved, `square ${k}: ${result.residual}`);
    assert.ok(moved <= 2 * least, `square ${k}, ${JSON.stringify(corners)}: moved by ${moved}, and ${least} would do`);
    steps += result.counts.steps;
  }
  assert.ok(steps < 40 * count, `${steps / count} steps a square`);
});

test("lengths are those of now, and tolerances relative to the sketch", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const size of [1e-6, 1, 1e6]) {
    // The second line begins without a length to speak of.
    const s = sketch(lw), [a, b, c, d] = [[0, 0], [1, 0], [0.3, 0.2], [0.3 + 1e-8, 0.2 + 1e-9]].map(([x, y]) => s.point(size * x, size * y));
    s.fix(a);
    s.fix(b);
    s.perpendicular(s.line(a, b), s.line(c, d));
    s.distance(c, d, 3 * size);
    const { solved } = await s.solve();
    assert.ok(solved, `at ${size}`);
    assert.ok(Math.abs(d.x - c.x) < 1e-6 * size && Math.abs(Math.abs(d.y - c.y) - 3 * size) < 1e-6 * size, `at ${size}: ${JSON.stringify([c, d])}`);
    // What is wide of the mark for its size is not solved.
    const off = sketch(lw), [p, q] = [off.point(0, 0), off.point(0.5 * size, 0)];
    off.fix(p);
    off.fix(q);
    off.distance(p, q, 0.501 * size);
    const result = await off.solve();
    assert.equal(result.solved, false, `at ${size}`);
    assert.ok(Math.abs(result.residual - 0.001 * size) < 1e-9 * size);
    assert.ok((await off.solve({ tolerance: 0.01 })).solved);
  }
});

test("points in one place", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const order of [0, 1]) {
    // A line without length, which a distance pulls apart.
    const s = sketch(lw), [a, b, c, d] = [[1, 1], [1, 1], [0, 0], [2, 0]].map(([x, y]) => s.point(x, y)), lines = [s.line(a, b), s.line(c, d)];
    s.parallel(lines[order], lines[1 - order]);
    s.distance(a, b, 3);
    const { solved, degreesOfFreedom } = await s.solve();
    assert.deepEqual([solved, degreesOfFreedom], [true, 6]);
  }
  const s = sketch(lw), [a, b] = [s.point(0, 0), s.point(5, 1)], none = s.distance(a, b, 0);
  assert.equal((await s.solve()).degreesOfFreedom, 2);
  assert.ok(far([a.x, a.y], [b.x, b.y]) < 1e-9);
  none.value = 2;
  const { solved, degreesOfFreedom, counts } = await s.solve();
  assert.deepEqual([solved, degreesOfFreedom, counts.builds], [true, 3, 1]);
  refuses(() => s.distance(a, a, 1), "invalid-option", "distance(a, b, …): two points, not one twice");

  // What holds a line's ends together contradicts what needs its direction.
  const held = sketch(lw), [p, q, r] = [held.point(0, 0), held.point(1, 1), held.point(3, 0)];
  held.coincident(p, q, { name: "one place" });
  held.pointOnLine(r, held.line(p, q), { name: "on it" });
  const result = await held.solve();
  assert.deepEqual([result.solved, result.worst, result.conflicting], [false, "on it", [{ constraint: "on it", because: ["one place"] }]]);
});

test("a drag takes a point to the cursor, keeps degrees of freedom, and builds nothing", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  // A four-bar linkage: its crank goes round, by a cursor that was recorded beside the circle.
  const s = sketch(lw), [a, b, c, d] = [[0, 0], [1, 0.1], [3.4, 2.1], [4, 0]].map(([x, y]) => s.point(x, y));
  s.fix(a);
  s.fix(d);
  s.distance(a, b, 1);
  s.distance(b, c, 3);
  s.distance(c, d, 2.5);
  assert.equal((await s.solve()).counts.builds, 1);
  const turns = 120, cursor = Array.from({ length: turns + 1 }, (_, k) => [(1 + 0.2 * Math.sin(7 * k)) * Math.cos((2 * Math.PI * k) / turns), (1 + 0.2 * Math.sin(7 * k)) * Math.sin((2 * Math.PI * k) / turns)]);
  const orientation = () => Math.sign(crossOf([c.x - b.x, c.y - b.y], [d.x - b.x, d.y - b.y])), first = orientation();
  for (const [x, y] of cursor) {
    const before = placesOf([b, c]);
    s.drag(b, x, y);
    const { solved, degreesOfFreedom, counts } = await s.solve();
    assert.deepEqual([solved, degreesOfFreedom, counts.builds, counts.components], [true, 1, 0, 0]);
    const nearest = scaled([x, y], 1);
    assert.ok(far([b.x, b.y], nearest) < 1e-3, `the crank is ${far([b.x, b.y], nearest)} from the nearest place to the cursor`);
    assert.equal(orientation(), first, "the linkage does not flip");
    assert.ok(mostOf(before, placesOf([b, c])) < 0.25, "no jump");
  }
  // An arm of ten links, beyond its reach and back.
  const arm = sketch(lw), joints = Array.from({ length: 11 }, (_, k) => arm.point(k, 0.1 * (k % 2)));
  arm.fix(joints[0]);
  for (let k = 0; k < 10; k++) arm.distance(joints[k], joints[k + 1], 1);
  await arm.solve();
  const tip = joints[10];
  for (let k = 0; k <= 60; k++) {
    const at = [9.5 + 4 * Math.sin(k / 10), 3 * Math.sin(k / 7)], reach = Math.hypot(...at), nearest = reach > 10 ? scaled(at, 10) : at, before = placesOf(joints);
    arm.drag(tip, ...at);
    const { solved, degreesOfFreedom } = await arm.solve();
    assert.deepEqual([solved, degreesOfFreedom], [true, 10]);
    assert.ok(far([tip.x, tip.y], nearest) < 0.02, `step ${k}: the tip is ${far([tip.x, tip.y], nearest)} from where it can be`);
    assert.ok(mostOf(before, placesOf(joints)) < 1.5, `step ${k}: a joint jumped by ${mostOf(before, placesOf(joints))}`);
  }
  // What is fixed stays, and what nothing holds goes all the way.
  const loose = sketch(lw), [p, q] = [loose.point(0, 0), loose.point(1, 0)];
  loose.fix(p);
  loose.drag(p, 5, 5);
  loose.drag(q, 7, 8);
  await loose.solve();
  assert.deepEqual(placesOf([p, q]), [[0, 0], [7, 8]]);
  await loose.solve();
  assert.deepEqual(placesOf([p, q]), [[0, 0], [7, 8]], "a drag is for one solve");
  refuses(() => loose.drag(q, NaN, 0), "invalid-option", "drag(point, NaN, 0): two finite numbers");
});
