// What people draw: arcs, ellipses, splines, more dimensions, groups; and sketches as JSON and as path data of SVG.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sketch, sketchFromJSON } from "leastwise/sketch";
import { open, refuses } from "./support.mjs";

async function fresh(t) {
  const lw = await open(t, { backend: "cpu" }), s = sketch(lw);
  t.after(() => s.dispose());
  return { lw, s };
}

const near = (actual, expected, what, by = 1e-7) => assert.ok(Math.abs(actual - expected) < by, `${what}: ${actual} is not ${expected}`);
const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
const length = ({ from, to }) => apart(from, to);
const angle = (a, b) => { const turn = Math.atan2(b.to.y - b.from.y, b.to.x - b.from.x) - Math.atan2(a.to.y - a.from.y, a.to.x - a.from.x); return Math.atan2(Math.sin(turn), Math.cos(turn)); };

async function solved(s, freedom, what) {
  const result = await s.solve();
  assert.ok(result.solved, `${what}: ${result.worst} is left by ${result.residual}`);
  assert.equal(result.degreesOfFreedom, freedom, `${what}: degrees of freedom`);
  assert.deepEqual([result.redundant, result.partly, result.conflicting], [[], [], []], what);
  return result;
}

test("horizontal and vertical distances, ratios and equal angles", async (t) => {
  const { s } = await fresh(t);
  const [a, b, c, d] = [[0, 0], [1, 0.2], [2, 1], [2.5, 2.5]].map(([x, y]) => s.point(x, y)), lines = [s.line(a, b), s.line(b, c), s.line(c, d), s.line(d, a)];
  s.fix(a);
  const across = s.horizontalDistance(a, b, 2);
  s.verticalDistance(a, b, -0.5);
  await solved(s, 4, "dimensions along the axes");
  assert.deepEqual([b.x, b.y].map((x) => Math.round(x * 1e9) / 1e9), [2, -0.5]);
  across.value = -1;
  await solved(s, 4, "to the other side");
  near(b.x, -1, "x");
  s.ratio(lines[1], lines[0], 2);
  await solved(s, 3, "a ratio");
  near(length(lines[1]), 2 * length(lines[0]), "twice as long");
  s.equalAngle(lines[0], lines[1], lines[1], lines[2]);
  await solved(s, 2, "equal angles");
  near(angle(lines[0], lines[1]), angle(lines[1], lines[2]), "angle");
  refuses(() => s.ratio(lines[0], lines[1], -1), "invalid-option", '"ratio 5": a finite number that is not negative, not -1');
});

test("arcs hold their ends, and touch where they end", async (t) => {
  const { s } = await fresh(t);
  // Everybody's slot: two arcs, two lines, four tangencies.
  const [c, d] = [s.point(0, 0), s.point(4, 0.2)], [p, q, r, u] = [[0.1, 1.1], [0, -0.9], [4.1, -0.8], [3.9, 1]].map(([x, y]) => s.point(x, y));
  const left = s.arc(c, p, q), right = s.arc(d, r, u), bottom = s.line(q, r), top = s.line(u, p);
  await solved(s, 10, "two arcs and two lines");
  for (const [arc, line] of [[left, bottom], [left, top], [right, bottom], [right, top]]) s.tangent(arc, line);
  s.fix(c);
  s.horizontal(s.line(c, d, { construction: true }));
  s.radius(left, 1);
  s.equalRadius(left, right);
  s.horizontalDistance(c, d, 4);
  await solved(s, 0, "a slot");
  for (const [arc, x] of [[left, 0], [right, 4]]) for (const end of [arc.from, arc.to]) { near(end.x - c.x, x, "x"); near(Math.abs(end.y - c.y), 1, "y"); }
  near(right.radius, 1, "the other radius follows");

  // Arc to arc in an S, and an arc that a circle touches as any circle would.
  const { s: other } = await fresh(t), [m, n, begin, middle, end] = [[0, 0], [2.1, 0.1], [-1, 0.1], [1, 0.1], [3, 0]].map(([x, y]) => other.point(x, y));
  const first = other.arc(m, middle, begin), second = other.arc(n, middle, end);
  other.tangent(first, second);
  await solved(other, 7, "an S");
  near((m.x - middle.x) * (n.y - middle.y) - (m.y - middle.y) * (n.x - middle.x), 0, "centres and the shared end are on one line");
  other.tangent(first, other.circle(other.point(0, -2), 0.8));
  await solved(other, 9, "with a circle");

  // The end of a spline goes on in a line, at a right angle to a circle's radius.
  const { s: third } = await fresh(t), controls = [[0, 0], [1, 0.2], [2, 1], [3, 0], [4, 0.4]].map(([x, y]) => third.point(x, y)), curve = third.spline(controls);
  const tail = third.line(controls[4], third.point(5, 1)), wheel = third.circle(third.point(0, -1), 1);
  third.tangentAt(controls[4], curve, tail);
  third.tangentAt(controls[0], wheel, curve);
  await solved(third, 13, "a spline between a circle and a line");
  near(angle({ from: controls[3], to: controls[4] }, tail), 0, "direction");
  near(Math.cos(angle({ from: wheel.centre, to: controls[0] }, { from: controls[0], to: controls[1] })), 0, "right angle");
  refuses(() => third.tangentAt(controls[2], curve, tail), "invalid-option", "tangentAt(point, a, b): of a spline, the point is its first or its last control point");
  refuses(() => third.arc(controls[0], controls[0], controls[1]), "invalid-option", "arc(centre, from, to): three points, not one twice");
  refuses(() => third.spline(controls.slice(0, 3)), "invalid-option", "spline(points): at least 4 control points, not 3");
});

test("ellipses: points on them and lines that touch them", async (t) => {
  const { s } = await fresh(t);
  const centre = s.point(0, 0), vertex = s.point(3, 1), ellipse = s.ellipse(centre, vertex, 1.2), p = s.point(1, 2), line = s.line(s.point(-3, -3), s.point(3, -1.4));
  s.pointOnEllipse(p, ellipse);
  s.tangent(ellipse, line);
  s.radius(ellipse, 1.5);
  await solved(s, 8, "an ellipse");
  near(ellipse.radius, 1.5, "semi-axis");
  const a = apart(centre, vertex), turn = Math.atan2(vertex.y - centre.y, vertex.x - centre.x);
  const inAxes = ({ x, y }) => [(x - centre.x) * Math.cos(turn) + (y - centre.y) * Math.sin(turn), (y - centre.y) * Math.cos(turn) - (x - centre.x) * Math.sin(turn)];
  const level = (point) => { const [u, v] = inAxes(point); return Math.hypot(u / a, v / 1.5); };
  near(level(p), 1, "on the ellipse");
  // The line's lowest level is 1: between samples of it, by Newton's method on a parabola.
  const at = (k) => level({ x: line.from.x + k * (line.to.x - line.from.x), y: line.from.y + k * (line.to.y - line.from.y) }) ** 2, [f0, f1, f2] = [at(0), at(0.5), at(1)];
  const second = 2 * (f0 - 2 * f1 + f2), slope = f2 - f0 - second;
  near(f0 - slope ** 2 / (4 * second), 1, "touches");
});

test("points on splines slide along them, from segment to segment", async (t) => {
  const { s } = await fresh(t);
  const controls = [[0, 0], [1, 2], [2, 2], [3, -1], [4, -1], [5, 1]].map(([x, y]) => s.point(x, y)), curve = s.spline(controls);
  for (const point of controls) s.fix(point);
  const p = s.point(0.6, 1);
  s.pointOnSpline(p, curve);
  await solved(s, 1, "a point on a spline");
  // The same curve by the recursion of Cox and de Boor.
  const knots = [0, 0, 0, 0, 1, 2, 3, 3, 3, 3];
  const basis = (i, k, u) => (k === 0 ? Number(u >= knots[i] && u < knots[i + 1]) : [[i, (u - knots[i]) / (knots[i + k] - knots[i] || 1)], [i + 1, (knots[i + k + 1] - u) / (knots[i + k + 1] - knots[i + 1] || 1)]].reduce((sum, [j, w]) => sum + w * basis(j, k - 1, u), 0));
  const on = (u) => controls.reduce(([x, y], c, i) => [x + basis(i, 3, u) * c.x, y + basis(i, 3, u) * c.y], [0, 0]);
  const offset = () => Math.min(...Array.from({ length: 3000 }, (_, k) => { const [x, y] = on(k / 1000); return Math.hypot(x - p.x, y - p.y); }));
  assert.ok(offset() < 1e-2, `${offset()} beside the curve`);
  for (let k = 0; k <= 12; k++) {
    const [x, y] = on(0.25 + 0.21 * k);
    s.drag(p, x, y);
    const { solved: is, degreesOfFreedom } = await s.solve();
    assert.deepEqual([is, degreesOfFreedom], [true, 1]);
    assert.ok(Math.hypot(p.x - x, p.y - y) < 2e-2, `step ${k}: ${JSON.stringify([p, x, y])}`);
  }
});

test("groups and construction geometry", async (t) => {
  const { s } = await fresh(t);
  const line = s.line(s.point(0, 0), s.point(1, 0), { construction: true }), circle = s.circle(s.point(3, 3), 1);
  const part = s.group("part", [line, circle, line.to]);
  assert.deepEqual([part.name, part.points, line.construction, circle.construction], ["part", [line.from, line.to, circle.centre], true, false]);
  part.move(1, -2);
  assert.deepEqual([line.from.x, line.from.y, circle.centre.x, circle.centre.y], [1, -2, 4, 1]);
  part.fix();
  s.radius(circle, 2);
  await solved(s, 0, "fixed");
  part.free();
  await solved(s, 6, "free");
  assert.equal(s.toSVG(), "M6 -1 A2 2 0 1 0 2 -1 A2 2 0 1 0 6 -1 Z");
  refuses(() => s.group("part", []), "invalid-option", 'group("part", members): the sketch has a group of this name already');
  refuses(() => s.line(line.from, line.to, { construction: 1 }), "invalid-option", "line(…): construction must be true or false, not a number");
  refuses(() => { line.to.x = 7; }, "invalid-option", "point.x = 7: a point is moved by move(point, x, y) or drag(point, x, y)");
  refuses(() => { circle.radius = 7; }, "invalid-option", "circle.radius = 7: a radius is asked for by radius(circle, value)");
  assert.throws(() => { line.from = line.to; }, TypeError);
});

test("a sketch goes to JSON and back", async (t) => {
  const { lw, s } = await fresh(t);
  const [a, b, c, d, e, f] = [[0, 0], [2, 0.1], [2.1, 1], [0, 1.1], [1, 3], [-2, 2]].map(([x, y]) => s.point(x, y));
  s.fix(a);
  const lines = [s.line(a, b), s.line(c, d)], big = s.circle(e, 2), small = s.circle(s.point(1.3, 3.1), 0.5), arc = s.arc(f, b, d), ellipse = s.ellipse(d, f, 0.7), curve = s.spline([a, b, c, d], { construction: true });
  const free = s.point(1, 1);
  s.horizontal(lines[0], { name: "level" });
  const wide = s.distance(a, b, 2.5);
  s.distance(c, lines[0], 1.5);
  s.parallel(...lines);
  s.tangent(big, small, { name: "within" });
  s.tangent(big, lines[0]);
  s.pointOnSpline(free, curve);
  s.radius(arc, 3);
  s.horizontalDistance(d, c, -1);
  s.group("all", [a, b, curve]);
  const text = JSON.stringify(s), { sketch: copy, points, shapes, constraints, groups } = sketchFromJSON(lw, text);
  t.after(() => copy.dispose());
  assert.equal(JSON.stringify(copy), text, "nothing is lost");
  assert.deepEqual([points.length, shapes.length, constraints.length, groups[0].points.length], [8, 7, 9, 4]);
  const [one, two] = [await s.solve(), await copy.solve()];
  assert.deepEqual([two.solved, two.degreesOfFreedom, two.redundant], [one.solved, one.degreesOfFreedom, one.redundant]);
  assert.deepEqual(points.map(({ x, y }) => [x, y]), s.toJSON().points.map(([x, y]) => [x, y]), "the same solution, to the bit");
  assert.equal(constraints[1].value, wide.value);
  assert.equal(ellipse.radius, shapes[5].radius);

  const broken = (change) => { const json = JSON.parse(text); change(json); return () => sketchFromJSON(lw, json); };
  refuses(() => sketchFromJSON(lw, "{"), "invalid-option", /^sketchFromJSON: the text is not JSON: /);
  refuses(() => sketchFromJSON(lw, {}), "invalid-option", 'sketchFromJSON: the data must be of the format "leastwise-sketch", not an Object');
  refuses(broken((json) => { json.version = 2; }), "invalid-option", "sketchFromJSON: version 2 is not known: this release reads version 1");
  refuses(broken((json) => { json.points[1] = [1]; }), "invalid-option", "sketchFromJSON: points[1]: [x, y] or [x, y, true], of finite numbers");
  refuses(broken((json) => { json.shapes[0].points[1] = 99; }), "invalid-option", "sketchFromJSON: shapes[0]: there is no point 99");
  refuses(broken((json) => { json.shapes[2].type = "square"; }), "invalid-option", 'sketchFromJSON: shapes[2]: type "square" is not one of "line", "circle", "arc", "ellipse", "spline"');
  refuses(broken((json) => { json.constraints[0].type = "toString"; }), "invalid-option", 'sketchFromJSON: constraints[0]: type "toString" is not a constraint');
  refuses(broken((json) => { json.constraints[1].of = ["p0", "s9"]; }), "invalid-option", 'sketchFromJSON: constraints[1]: there is no "s9"');
  refuses(broken((json) => { json.constraints[1].value = -2; }), "invalid-option", /^sketchFromJSON: constraints\[1\]: .*not negative, not -2/);
});

test("path data of SVG goes in and out", async (t) => {
  const { lw, s } = await fresh(t);
  // A rounded rectangle: four lines, four arcs, eight corners, and the last line ends where the first one began.
  const drawn = s.addSVG("M1 0 H5 A1 1 0 0 1 6 1 v2 a1,1 0 0 1-1 1 L1 4 A1 1 0 0 1 0 3 V1 A1 1 0 0 1 1 0z");
  assert.deepEqual([drawn.points.length, drawn.lines.length, drawn.arcs.length, drawn.splines.length], [8, 4, 4, 0]);
  assert.deepEqual([drawn.lines[0].from.x, drawn.lines[0].from.y, drawn.lines[1].to.y, drawn.arcs[3].radius], [1, -0, -3, 1]);
  assert.equal(drawn.arcs[0].from, drawn.lines[1].from, "with y upwards it is counter-clockwise from the other end");
  for (const arc of drawn.arcs) { near(apart(arc.centre, arc.from), 1, "radius"); near(apart(arc.centre, arc.to), 1, "radius"); }
  for (const arc of drawn.arcs) for (const line of drawn.lines) if ([line.from, line.to].some((end) => end === arc.from || end === arc.to)) s.tangent(arc, line);
  const result = await s.solve();
  assert.ok(result.solved && result.residual < 1e-9);
  const path = s.toSVG(), again = sketch(lw);
  t.after(() => again.dispose());
  const twice = again.addSVG(path);
  assert.deepEqual([twice.points.length, twice.lines.length, twice.arcs.length], [8, 4, 4]);
  assert.equal(again.toSVG().split(" ").length, path.split(" ").length);

  // Curves of all kinds, and numbers as people and programs write them.
  const { s: curves } = await fresh(t);
  const all = curves.addSVG("m10-5c1 1,2 1 3 0s2-1 3 0q1.5.5 3e0 0t3 0M0,0a4 2 30 1 0 3 .5l1 1 1 0");
  assert.deepEqual([all.splines.length >= 6, all.lines.length, all.arcs.length], [true, 2, 0]);
  const [first, second, third, fourth] = all.splines;
  assert.deepEqual(first.points.map(({ x, y }) => [x, y]), [[10, 5], [11, 4], [12, 4], [13, 5]]);
  assert.deepEqual([second.points[0], second.points[1].x, second.points[1].y], [first.points[3], 14, 6], "mirrored");
  near(third.points[1].x, 17, "two thirds of the way"); near(third.points[1].y, 5 - 1 / 3, "two thirds of the way");
  near(fourth.points[1].y, 5 + 1 / 3, "mirrored");
  // The pieces of the elliptical arc end on its ellipse, and begin at 0, 0.
  const pieces = all.splines.slice(4), last = pieces.at(-1).points[3];
  assert.deepEqual([pieces[0].points[0].x, pieces[0].points[0].y, last.x, last.y], [0, -0, 3, -0.5]);
  const shapes = curves.toSVG();
  assert.equal((shapes.match(/C/g) ?? []).length, all.splines.length);

  const { s: ellipse } = await fresh(t);
  ellipse.ellipse(ellipse.point(1, 2), ellipse.point(4, 2), 1);
  ellipse.spline([[0, 0], [1, 1], [2, 0], [3, 1], [4, 0]].map(([x, y]) => ellipse.point(x, y)));
  assert.equal(ellipse.toSVG(), "M4 -2 A3 1 0 1 0 -2 -2 A3 1 0 1 0 4 -2 Z M0 0 C1 -1 1.5 -0.5 2 -0.5 C2.5 -0.5 3 -1 4 0");

  for (const [path, said] of [["L1 1", 'path data begins with "M", not "L"'], ["M1", 'at 2: "M" takes 2 numbers'], ["M0 0 X", 'at 5: "X" is no command of path data'], [7, "path data is a string, not 7"]]) {
    refuses(() => ellipse.addSVG(path), "invalid-option", `addSVG(path): ${said}`);
  }
});
