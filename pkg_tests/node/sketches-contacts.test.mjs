// Tangents at points that are on both curves: exact, with the degrees of freedom that there are, however the point is held there; and things given twice.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sketch, sketchFromJSON } from "leastwise/sketch";
import { Random } from "../problems/random.mjs";
import { open, refuses } from "./support.mjs";

async function fresh(t) {
  const lw = await open(t, { backend: "cpu" }), s = sketch(lw);
  t.after(() => s.dispose());
  return { lw, s };
}

const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
/** Distance of a point from a line. */
const off = (p, { from: a, to: b }) => Math.abs((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)) / apart(a, b);

/** Asserts that a line touches a circle at a point, and what is free, at two tolerances. */
async function touches(s, { circle, line, at, freedom }, what) {
  for (const tolerance of [1e-6, 1e-13]) {
    const result = await s.solve({ tolerance });
    assert.ok(result.solved, `${what}: ${result.worst} is left by ${result.residual}`);
    assert.deepEqual([result.degreesOfFreedom, result.redundant, result.partly, result.conflicting], [freedom, [], [], []], `${what}, ${tolerance}`);
    for (const error of [off(at, line), apart(at, circle.centre) - circle.radius, off(circle.centre, line) - circle.radius]) assert.ok(Math.abs(error) < 1e-11, `${what}: ${error}`);
  }
}

/** A circle of a fixed centre and radius, a fixed point outside, and a line from there to a point near the circle. */
function drawn(s) {
  const centre = s.point(0, 0), p = s.point(4, 0.5), q = s.point(0.6, 1.4), circle = s.circle(centre, 1.5), line = s.line(p, q);
  s.fix(centre);
  s.fix(p);
  s.radius(circle, 1.5);
  return { circle, line, p, q };
}

test("a line touches a circle where a point is on both, by any constraint, made before or after", async (t) => {
  /** The constraints that hold a point on both, the point, and what is free with the tangent. */
  const ties = {
    "an end on the circle": ({ s, circle, q }) => [[() => s.pointOnCircle(q, circle)], q, 0],
    "a point on both": ({ s, circle, line }, r = s.point(0.5, 1.3)) => [[() => s.pointOnCircle(r, circle), () => s.pointOnLine(r, line)], r, 1],
    "a point at no distance": ({ s, circle, line }, r = s.point(0.5, 1.3)) => [[() => s.distance(r, line, 0), () => s.pointOnCircle(r, circle)], r, 1],
    "its middle": ({ s, circle, line }, r = s.point(1.2, 1.3)) => [[() => s.pointOnCircle(r, circle), () => s.midpoint(r, line)], r, 0],
    "an end that coincides": ({ s, circle, q }, r = s.point(0.5, 1.3)) => [[() => s.coincident(r, q), () => s.pointOnCircle(r, circle)], r, 0],
    "points that coincide": ({ s, circle, line }, r = s.point(0.5, 1.3), u = s.point(0.7, 1.2)) => [[() => s.pointOnCircle(r, circle), () => s.pointOnLine(u, line), () => s.distance(u, r, 0)], r, 1],
    "an end of a line that is collinear": ({ s, circle, line }, r = s.point(0.5, 1.3), other = s.line(r, s.point(-2, 2.2))) => [[() => s.collinear(line, other), () => s.pointOnCircle(r, circle)], r, 2],
  };
  for (const [name, tie] of Object.entries(ties)) for (const order of ["before", "after", "between"]) {
    const { lw, s } = await fresh(t), { circle, line, q } = drawn(s), [hold, at, freedom] = tie({ s, circle, line, q });
    if (order === "before") for (const each of hold) each();
    s.tangent(circle, line, { name: "touch" });
    if (order === "between") await s.solve();
    if (order !== "before") for (const each of hold) each();
    await touches(s, { circle, line, at, freedom }, `${name}, ${order}`);
    // What is written is the tangent as it was made, and what is read holds as well.
    const json = JSON.parse(JSON.stringify(s)), { sketch: copy, points, shapes } = sketchFromJSON(lw, json);
    assert.deepEqual(json.constraints.find(({ name }) => name === "touch"), { type: "tangent", name: "touch", of: ["s0", "s1"], side: json.constraints.find(({ name }) => name === "touch").side });
    await touches(copy, { circle: shapes[0], line: shapes[1], at: points[s.toJSON().points.findIndex(([x, y]) => x === at.x && y === at.y)], freedom }, `${name}, read`);
    copy.dispose();
  }
});

test("a tangent is one of distances again where its point is let go", async (t) => {
  const { s } = await fresh(t), { circle, line, q } = drawn(s), held = s.pointOnCircle(q, circle);
  s.tangent(circle, line);
  await touches(s, { circle, line, at: q, freedom: 0 }, "held");
  held.remove();
  s.move(q, -1, 2);
  const { solved, degreesOfFreedom } = await s.solve();
  assert.deepEqual([solved, degreesOfFreedom], [true, 1]);
  assert.ok(Math.abs(off(circle.centre, line) - 1.5) < 1e-9 && apart(q, circle.centre) > 1.6, "it touches elsewhere");
  const near = s.point(0.4, 1.4), at = s.distance(near, line, 0.3);
  s.pointOnCircle(near, circle);
  assert.equal((await s.solve()).degreesOfFreedom, 1);
  at.value = 0;
  await touches(s, { circle, line, at: near, freedom: 1 }, "a distance that became 0");
});

test("a fillet whose ends are on its lines, and circles that touch at a point", async (t) => {
  const { s } = await fresh(t), [o, a, b] = [[0, 0], [5, 0], [0, 4]].map(([x, y]) => s.point(x, y)), across = s.line(o, a), up = s.line(o, b);
  for (const point of [o, a, b]) s.fix(point);
  const centre = s.point(1.1, 0.9), from = s.point(0.1, 1), to = s.point(1, 0.1), fillet = s.arc(centre, from, to);
  s.pointOnLine(from, up);
  s.tangent(fillet, up);
  s.tangent(fillet, across);
  s.pointOnLine(to, across);
  s.radius(fillet, 1);
  await touches(s, { circle: fillet, line: up, at: from, freedom: 0 }, "fillet");
  await touches(s, { circle: fillet, line: across, at: to, freedom: 0 }, "fillet");
  assert.ok(apart(from, { x: 0, y: 1 }) + apart(to, { x: 1, y: 0 }) + apart(centre, { x: 1, y: 1 }) < 1e-11);

  const { s: other } = await fresh(t), first = other.circle(other.point(0, 0), 1), second = other.circle(other.point(2.8, 0.3), 1.6), at = other.point(1, 0.2);
  other.tangent(first, second);
  other.pointOnCircle(at, first);
  other.pointOnCircle(at, second);
  for (const tolerance of [1e-6, 1e-13]) assert.deepEqual((({ solved, degreesOfFreedom }) => [solved, degreesOfFreedom])(await other.solve({ tolerance })), [true, 5]);
  assert.ok(Math.abs(apart(first.centre, second.centre) - first.radius - second.radius) < 1e-11);
});

/** Distance of a point on the left of a line. */
const left = (p, { from: a, to: b }) => ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)) / apart(a, b);

test("circles that touch at a point stay outside or within, wherever the point is drawn", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  // Centres' distance as drawn and as it must be.
  for (const [x, radii, distance] of [[3, [1, 1.2], 2.2], [0.3, [2, 1.2], 0.8], [0.3, [1.2, 2], 0.8]]) for (const [px, py] of [[1, 0.3], [-1, 0.2], [3.9, 0.1], [1.5, 3], [-9, -4]]) {
    const s = sketch(lw), a = s.point(0, 0), b = s.point(x, 0), p = s.point(px, py), circles = [a, b].map((centre, k) => s.circle(centre, radii[k]));
    s.fix(a);
    circles.forEach((circle, k) => s.radius(circle, radii[k]));
    s.tangent(...circles, { name: "touch" });
    const written = JSON.parse(JSON.stringify(s)).constraints.at(-1), ties = circles.map((circle) => s.pointOnCircle(p, circle)), what = `${distance} from (${px}, ${py})`;
    const drawn = JSON.stringify(s), touches = async (s, [a, b, p], freedom) => {
      const result = await s.solve({ tolerance: 1e-13 });
      assert.deepEqual([result.solved, result.degreesOfFreedom, result.redundant, result.conflicting], [true, freedom, [], []], what);
      for (const error of [apart(a, b) - distance, apart(p, a) - radii[0], ...(freedom === 1 ? [apart(p, b) - radii[1]] : [])]) assert.ok(Math.abs(error) < 1e-11, `${what}: ${error}`);
    };
    await touches(s, [a, b, p], 1);
    assert.deepEqual(JSON.parse(JSON.stringify(s)).constraints.find(({ name }) => name === "touch"), written);
    const read = sketchFromJSON(lw, JSON.parse(drawn));
    await touches(read.sketch, read.points, 1);
    read.sketch.dispose();
    ties[1].remove();
    await touches(s, [a, b, p], 2);
    s.dispose();
  }
});

test("a circle stays on its side of a line that it touches at a point, wherever that is drawn, and while it is dragged", async (t) => {
  const lw = await open(t, { backend: "cpu" }), random = new Random(5);
  const starts = [[0.577, 1.095, 0.905, 2.8], ...Array.from({ length: 30 }, () => [[-0.3, 0.7], [0.1, 1.1], [-4, 4], [-6, 6]].map(([low, high]) => random.between(low, high)))];
  for (const [x, y, px, py] of starts) for (const side of [1, -1]) {
    const s = sketch(lw), line = s.line(s.point(-5, 0), s.point(5, 0)), centre = s.point(x, side * y), circle = s.circle(centre, 1), p = s.point(px, side * py), what = `${side}: (${x}, ${y}), (${px}, ${py})`;
    for (const end of [line.from, line.to]) s.fix(end);
    s.radius(circle, 1);
    s.tangent(circle, line);
    const ties = [s.pointOnCircle(p, circle), s.pointOnLine(p, line)];
    const stays = async (freedom) => {
      const { solved, degreesOfFreedom } = await s.solve();
      assert.deepEqual([solved, degreesOfFreedom], [true, freedom], what);
      assert.ok(Math.abs(left(centre, line) - side) < 1e-9, `${what}: ${left(centre, line)}`);
    };
    await stays(1);
    s.drag(centre, 1, -3 * side);
    await stays(1);
    ties[0].remove();
    await stays(2);
    s.dispose();
  }
});

test("one thing given twice is refused", async (t) => {
  const { s } = await fresh(t), [p, q, r] = [[0, 0], [2, 0.3], [1, 2]].map(([x, y]) => s.point(x, y)), a = s.line(p, q), b = s.line(q, r), circle = s.circle(r, 1);
  const twice = (what) => `${what}, not one twice`;
  for (const method of ["parallel", "perpendicular", "collinear", "equalLength"]) refuses(() => s[method](a, a), "invalid-option", twice(`${method}(…): two lines`));
  refuses(() => s.angle(a, a, 1), "invalid-option", twice("angle(…): two lines"));
  refuses(() => s.ratio(b, b, 1), "invalid-option", twice("ratio(…): two lines"));
  refuses(() => s.equalAngle(a, a, a, b), "invalid-option", twice("equalAngle(…): two lines"));
  refuses(() => s.equalAngle(a, b, a, b), "invalid-option", "equalAngle(a, b, c, d): two angles, not one twice");
  refuses(() => s.coincident(p, p), "invalid-option", twice("coincident(…): two points"));
  refuses(() => s.symmetric(p, p, b), "invalid-option", twice("symmetric(…): two points"));
  refuses(() => s.equalRadius(circle, circle), "invalid-option", twice("equalRadius(…): two circles"));
  refuses(() => s.concentric(circle, circle), "invalid-option", twice("concentric(…): two circles"));
  refuses(() => s.tangent(circle, circle), "invalid-option", twice("tangent(…): two curves"));
  refuses(() => s.tangentAt(q, a, a), "invalid-option", twice("tangentAt(…): two curves"));
  assert.equal(JSON.parse(JSON.stringify(s)).constraints.length, 0);
});
