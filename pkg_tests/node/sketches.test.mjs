// Sketches held by constraints: every kind, degrees of freedom, and what is said twice or against each other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sketch } from "leastwise/sketch";
import { open, refuses } from "./support.mjs";

async function fresh(t) {
  const lw = await open(t, { backend: "cpu" });
  const s = sketch(lw);
  t.after(() => s.dispose());
  return s;
}

const near = (actual, expected, what) => assert.ok(Math.abs(actual - expected) < 1e-7, `${what}: ${actual} is not ${expected}`);
const length = ({ from, to }) => Math.hypot(to.x - from.x, to.y - from.y);
const direction = ({ from, to }) => Math.atan2(to.y - from.y, to.x - from.x);
const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
const left = (p, { from, to }) => ((to.x - from.x) * (p.y - from.y) - (to.y - from.y) * (p.x - from.x)) / length({ from, to });
const names = (list) => list.map(({ constraint }) => constraint);

async function solved(s, freedom, what) {
  const result = await s.solve();
  assert.ok(result.solved, `${what}: ${result.worst} is left by ${result.residual}`);
  assert.equal(result.degreesOfFreedom, freedom, `${what}: degrees of freedom`);
  assert.deepEqual([result.redundant, result.conflicting], [[], []], what);
  return result;
}

test("every kind of constraint holds what it says, and takes its degrees of freedom", async (t) => {
  // Two lines, a point, two circles: 4 + 4 + 2 + 3 + 3 unknowns.
  const shape = async () => {
    const s = await fresh(t);
    const p = s.point(0.3, 1.7);
    const a = s.line(s.point(0, 0.1), s.point(3, 0.4)), b = s.line(s.point(0.4, 2), s.point(2.5, 3.1));
    const c = s.circle(s.point(5, 1), 1.2), d = s.circle(s.point(8.5, 1.5), 0.7);
    return { s, p, a, b, c, d };
  };
  const kinds = [
    ["coincident", 2, ({ s, p, a }) => s.coincident(p, a.to), ({ p, a }) => near(apart(p, a.to), 0, "apart")],
    ["midpoint", 2, ({ s, p, a }) => s.midpoint(p, a), ({ p, a }) => { near(p.x, (a.from.x + a.to.x) / 2, "x"); near(p.y, (a.from.y + a.to.y) / 2, "y"); }],
    ["collinear", 2, ({ s, a, b }) => s.collinear(a, b), ({ a, b }) => { near(left(b.from, a), 0, "from"); near(left(b.to, a), 0, "to"); }],
    ["parallel", 1, ({ s, a, b }) => s.parallel(a, b), ({ a, b }) => near(Math.sin(direction(a) - direction(b)), 0, "sine")],
    ["perpendicular", 1, ({ s, a, b }) => s.perpendicular(a, b), ({ a, b }) => near(Math.cos(direction(a) - direction(b)), 0, "cosine")],
    ["angle", 1, ({ s, a, b }) => s.angle(a, b, 1.1), ({ a, b }) => near(direction(b) - direction(a), 1.1, "angle")],
    ["distance", 1, ({ s, p, a }) => s.distance(p, a.to, 2.5), ({ p, a }) => near(apart(p, a.to), 2.5, "distance")],
    ["distance from a line", 1, ({ s, p, a }) => s.distance(p, a, 0.8), ({ p, a }) => near(left(p, a), 0.8, "on its side")],
    ["equal length", 1, ({ s, a, b }) => s.equalLength(a, b), ({ a, b }) => near(length(a), length(b), "length")],
    ["equal radius", 1, ({ s, c, d }) => s.equalRadius(c, d), ({ c, d }) => near(c.radius, d.radius, "radius")],
    ["radius", 1, ({ s, c }) => s.radius(c, 2), ({ c }) => near(c.radius, 2, "radius")],
    ["point on line", 1, ({ s, p, a }) => s.pointOnLine(p, a), ({ p, a }) => near(left(p, a), 0, "beside")],
    ["point on circle", 1, ({ s, p, c }) => s.pointOnCircle(p, c), ({ p, c }) => near(apart(p, c.centre), c.radius, "radius")],
    ["tangent line", 1, ({ s, c, b }) => s.tangent(c, b), ({ c, b }) => near(Math.abs(left(c.centre, b)), c.radius, "radius")],
    ["tangent circles", 1, ({ s, c, d }) => s.tangent(c, d), ({ c, d }) => near(apart(c.centre, d.centre), c.radius + d.radius, "both radii")],
    ["concentric", 2, ({ s, c, d }) => s.concentric(c, d), ({ c, d }) => near(apart(c.centre, d.centre), 0, "centres")],
    ["symmetric", 2, ({ s, p, a, b }) => s.symmetric(p, a.to, b), ({ p, a, b }) => { near(left(p, b), -left(a.to, b), "distances"); near(apart(p, b.from), apart(a.to, b.from), "from an end"); }],
    ["horizontal", 1, ({ s, a }) => s.horizontal(a), ({ a }) => near(a.from.y, a.to.y, "y")],
    ["vertical", 1, ({ s, b }) => s.vertical(b), ({ b }) => near(b.from.x, b.to.x, "x")],
  ];
  for (const [name, taken, constrain, holds] of kinds) {
    const made = await shape();
    constrain(made);
    await solved(made.s, 16 - taken, name);
    holds(made);
  }
  const s = await fresh(t);
  const within = [s.circle(s.point(0, 0), 3), s.circle(s.point(1, 0.2), 1)];
  s.tangent(within[0], within[1]);
  await solved(s, 5, "tangent from within");
  near(apart(within[0].centre, within[1].centre), within[0].radius - within[1].radius, "difference of radii");
});

/** A rectangle by its corners, with a hole in its middle that touches nothing. */
function plate(s) {
  const [a, b, c, d] = [[0, 0], [3.8, 0.2], [4.1, 2.2], [-0.2, 1.9]].map(([x, y]) => s.point(x, y));
  const [bottom, right, top, side] = [[a, b], [b, c], [c, d], [d, a]].map(([from, to]) => s.line(from, to));
  s.fix(a);
  s.horizontal(bottom, { name: "bottom level" });
  s.vertical(right, { name: "right upright" });
  s.horizontal(top, { name: "top level" });
  s.vertical(side, { name: "side upright" });
  const width = s.distance(a, b, 4, { name: "width" });
  s.distance(b, c, 2, { name: "height" });
  const hole = s.circle(s.point(2.2, 1.1), 0.4);
  const diagonal = s.line(a, c);
  s.midpoint(hole.centre, diagonal, { name: "hole in the middle" });
  s.radius(hole, 0.5, { name: "hole" });
  return { a, b, c, d, bottom, right, top, side, hole, diagonal, width };
}

test("a plate is fully determined, follows its dimensions, and says what is left out or said twice", async (t) => {
  const s = await fresh(t);
  const { a, b, c, d, top, bottom, hole, diagonal, width } = plate(s);
  await solved(s, 0, "the plate");
  for (const [point, x, y] of [[a, 0, 0], [b, 4, 0], [c, 4, 2], [d, 0, 2], [hole.centre, 2, 1]]) { near(point.x, x, "x"); near(point.y, y, "y"); }
  width.value = 6;
  await solved(s, 0, "a wider one");
  near(hole.centre.x, 3, "the hole goes along");

  const twice = s.equalLength(top, bottom, { name: "opposite sides" });
  let result = await s.solve();
  assert.ok(result.solved);
  assert.equal(result.degreesOfFreedom, 0);
  assert.deepEqual(names(result.redundant), ["opposite sides"]);
  // It follows from what is level and upright.
  assert.ok(result.redundant[0].because.every((name) => /level|upright/.test(name)) && result.redundant[0].because.length > 0, String(result.redundant[0].because));
  assert.deepEqual(result.conflicting, []);
  twice.remove();

  const wrong = s.distance(a, c, 9, { name: "diagonal" });
  result = await s.solve();
  assert.equal(result.solved, false);
  assert.deepEqual(names(result.conflicting), ["diagonal"]);
  for (const name of ["width", "height"]) assert.ok(result.conflicting[0].because.includes(name), String(result.conflicting[0].because));
  assert.ok(!result.conflicting[0].because.includes("hole"));
  assert.deepEqual(result.redundant, []);
  wrong.remove();
  width.remove();
  await solved(s, 1, "without its width");
  assert.ok(length(diagonal) > 0);
});

test("three sides that make no triangle conflict", async (t) => {
  const s = await fresh(t);
  const [a, b, c] = [s.point(0, 0), s.point(1, 0), s.point(0.4, 0.6)];
  s.distance(a, b, 1, { name: "short" });
  s.distance(b, c, 1, { name: "as short" });
  s.distance(c, a, 3, { name: "too long" });
  const result = await s.solve();
  assert.equal(result.solved, false);
  assert.equal(result.conflicting.length, 1);
  assert.deepEqual([result.conflicting[0].constraint, ...result.conflicting[0].because].sort(), ["as short", "short", "too long"]);
});

test("dragging keeps what holds", async (t) => {
  const s = await fresh(t);
  const pivot = s.point(0, 0), elbow = s.point(1, 0.2), hand = s.point(1.9, 0.1);
  s.fix(pivot);
  s.distance(pivot, elbow, 1);
  s.distance(elbow, hand, 1);
  await solved(s, 2, "an arm");
  s.move(hand, 1.2, 0.9);
  await solved(s, 2, "after dragging");
  near(apart(pivot, elbow), 1, "upper arm");
  near(apart(elbow, hand), 1, "forearm");
  assert.ok(apart(hand, { x: 1.2, y: 0.9 }) < 0.5, "the hand is near where it was dragged");
});

test("points in one place or on one line, fixed ones, and radii", async (t) => {
  let s = await fresh(t);
  let [a, b, c] = [s.point(0, 0), s.point(0, 0), s.point(0, 0)];
  s.fix(a);
  s.distance(a, b, 3); s.distance(b, c, 4); s.distance(a, c, 5);
  await solved(s, 1, "a triangle out of one place");
  s = await fresh(t);
  [a, b, c] = [s.point(0, 0), s.point(1, 0), s.point(2, 0)];
  s.distance(a, b, 3); s.distance(b, c, 4); s.distance(a, c, 5);
  await solved(s, 3, "a triangle out of a line");

  s = await fresh(t);
  [a, b] = [s.point(0, 0), s.point(1, 0)];
  s.fix(a); s.fix(b);
  s.distance(a, b, 5, { name: "five" });
  const result = await s.solve();
  assert.deepEqual([result.solved, result.residual, result.worst, names(result.conflicting)], [false, 4, "five", ["five"]]);

  s = await fresh(t);
  const [p, q] = [s.point(0, 0), s.point(10, 0)];
  s.fix(p); s.fix(q);
  const [large, small] = [s.circle(p, 1), s.circle(q, 1)];
  s.radius(large, 12, { name: "large" });
  s.tangent(large, small, { name: "touching" });
  assert.equal((await s.solve()).solved, false, "no circle has a negative radius");
  assert.ok(small.radius >= 0);

  s = await fresh(t);
  const [base, turned] = [s.line(s.point(0, 0), s.point(1, 0)), s.line(s.point(0, 1), s.point(0, 2))];
  s.fix(base.from); s.fix(base.to);
  s.parallel(base, turned);
  await s.solve();
  assert.ok(length(turned) > 0.5, "lines turn, and do not shrink");
});

test("a sketch that is being solved is busy", async (t) => {
  const s = await fresh(t);
  const [a, b] = [s.point(0, 0), s.point(1, 1)];
  s.fix(a);
  const distance = s.distance(a, b, 5);
  const solving = s.solve();
  refuses(() => s.point(3, 3), "busy", "this sketch is being solved: change it when that has ended");
  refuses(() => { distance.value = 3; }, "busy", "this sketch is being solved: change it when that has ended");
  assert.ok((await solving).solved);
});

test("wrong sketches are refused", async (t) => {
  const s = await fresh(t), other = await fresh(t);
  const [a, b] = [s.point(0, 0), s.point(1, 0)];
  refuses(() => s.point(NaN, 0), "invalid-option", "point(NaN, 0): two finite numbers");
  refuses(() => s.line(a, a), "invalid-option", "line(from, to): two points, not one");
  refuses(() => s.circle(a, 0), "invalid-option", "circle(centre, 0): the radius must be a positive number");
  refuses(() => s.coincident(a, other.point(0, 0)), "invalid-option", /^coincident: a point of this sketch, not /);
  refuses(() => s.parallel(a, b), "invalid-option", /^parallel: a line of this sketch, not /);
  s.distance(a, b, 1, { name: "d" });
  refuses(() => s.distance(a, b, 2, { name: "d" }), "invalid-option", 'distance: the sketch has a constraint "d" already, and diagnoses tell them apart by it');
  refuses(() => s.distance(a, b, -1), "invalid-option", /a finite number that is not negative, not -1/);
  refuses(() => s.distance(a, b, undefined), "invalid-option", /a finite number that is not negative, not undefined/);
  refuses(() => s.coincident(a, b, { nam: "x" }), "invalid-option", /^coincident\(…\): options have no "nam": did you mean "name"\?/);
  await assert.rejects(s.solve({ tolerence: 1 }), { code: "invalid-option" });
  s.dispose();
  await assert.rejects(s.solve(), { code: "disposed" });
});
