// # Geometric constraints: a sketch
//
// A plate with a rounded slot, drawn roughly: two arcs, two lines that touch them, dimensions.
// The solver moves points until all constraints hold, counts what is still free, and names what contradicts.
//
// - A line touches an arc where it ends: its end is on the circle, and the radius there is perpendicular to it. (`tangent`
//   says the same of a point that is on both.)
// - `degreesOfFreedom` counts free directions at the solution: 0 means fully constrained.
// - A dimension is changed by its `value`. Solving again starts from where the points are.
// - A constraint that repeats others is *redundant*, one that contradicts them is *conflicting*; `because` names them.
import assert from "node:assert/strict";
import { init } from "leastwise";
import { sketch } from "leastwise/sketch";

const lw = await init({ backend: "cpu" });
const s = sketch(lw);
const [left, right] = [s.circle(s.point(0, 0), 0.8), s.circle(s.point(3.8, 0.3), 1.1)];
const [top, bottom] = [s.line(s.point(0.1, 0.9), s.point(3.7, 1.2)), s.line(s.point(0, -0.7), s.point(3.9, -0.9))];
s.fix(left.centre);
s.horizontal(s.line(left.centre, right.centre), { name: "axis" });
const length = s.distance(left.centre, right.centre, 4, { name: "length" });
s.radius(left, 1, { name: "radius" });
s.equalRadius(left, right, { name: "equal" });
for (const { line, side } of [{ line: top, side: "top" }, { line: bottom, side: "bottom" }]) {
  for (const { circle, end, which } of [{ circle: left, end: line.from, which: "left" }, { circle: right, end: line.to, which: "right" }]) {
    s.pointOnCircle(end, circle, { name: `${side} ${which} end` });
    s.perpendicular(s.line(circle.centre, end), line, { name: `${side} ${which} touches` });
  }
}
const shapeOf = () => ({ circles: [left, right].map(({ centre, radius }) => ({ x: centre.x, y: centre.y, radius })), lines: [top, bottom].map(({ from, to }) => [from.x, from.y, to.x, to.y]) });
const drawn = shapeOf();
const first = await s.solve();
const solved = shapeOf();

length.value = 5;                                          // a dimension is edited
await s.solve();
const longer = shapeOf();

s.distance(top.from, bottom.from, 3, { name: "height" });  // and a contradiction is added
const last = await s.solve();
s.dispose();
lw.dispose();

assert.ok(first.solved);
assert.equal(first.degreesOfFreedom, 0);
const close = (a, b) => Math.abs(a - b) < 1e-6;
assert.ok(close(solved.circles[1].x, 4) && close(solved.circles[1].y, 0) && close(solved.circles[1].radius, 1));
assert.ok(solved.lines.every(([, from, , to]) => close(Math.abs(from), 1) && close(Math.abs(to), 1)), "the lines touch both arcs");
assert.ok(close(longer.circles[1].x, 5));
assert.ok(!last.solved && last.conflicting.some(({ constraint }) => constraint === "height"), JSON.stringify(last.conflicting));

export { drawn, longer, solved };
