// Examples of leastwise/autograd: energies of developable surfaces against known values, and every constraint of a sketch.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CompiledFunctions, lbfgs, V, Value } from "leastwise/autograd";
import { CONSTRAINTS, solveSketch } from "../../examples/autograd/sketch.mjs";
import { bimodalAlignment, bimodalVariance, energies, partition, planeAlignment, ridge, tangentCovariance } from "../../examples/autograd/developable.mjs";
import { edgesOf, icosphere, starsOf } from "../../examples/autograd/sphere.mjs";
import { near } from "./random.mjs";

/** Sums over the clean unit icosphere at levels 1 and 2. */
const KNOWN = { bimodalVariance: [4.614261238, 5.159563689], bimodalAlignment: [2.341062035, 2.590349665], partition: [13.38770559, 15.21166375], tangentCovariance: [12.798169, 14.398495], planeAlignment: [2.359046129, 2.720814645] };
const ENERGIES = { bimodalVariance, bimodalAlignment, partition, tangentCovariance, planeAlignment };

test("energies of the icosphere have their known values, as graphs and compiled", () => {
  for (const level of [1, 2]) {
    const mesh = icosphere(level), stars = starsOf(mesh);
    assert.equal(edgesOf(mesh.faces).length, 30 * 4 ** level);
    for (const [name, energy] of Object.entries(ENERGIES)) {
      const params = mesh.vertices.flat().map((value) => V.W(value)), set = CompiledFunctions.compile(params, (p) => energies(energy, mesh.faces, stars, p));
      const expected = KNOWN[name][level - 1], { value, gradient } = set.evaluateSumWithGradient(params);
      near(value, expected, 1e-6, `${name} at level ${level}`);
      const graph = V.sum(energies(energy, mesh.faces, stars, params));
      graph.backward();
      near(graph.data, value, 1e-12, name);
      params.forEach((param, k) => near(gradient[k], param.grad, 1e-9, `${name} by ${k}`));
      // Stars of five and of six faces, each around in one direction or in the other.
      assert.ok(set.kernelCount <= 4, `${name}: ${set.kernelCount} kernels of ${set.numFunctions}`);
    }
  }
});

test("gradients of energies away from the sphere are those of differences", () => {
  const mesh = icosphere(1), stars = starsOf(mesh), start = mesh.vertices.flat().map((value, k) => value + 0.03 * Math.sin(7 * k));
  for (const [name, energy] of Object.entries({ ...ENERGIES, ridge })) {
    const total = (numbers) => { const leaves = numbers.map((value) => V.W(value)); return [V.sum(energies(energy, mesh.faces, stars, leaves)), leaves]; };
    const [root, leaves] = total(start);
    root.backward();
    for (const k of [0, 17, 50, 100]) {
      const shifted = (by) => total(start.map((value, j) => (j === k ? value + by : value)))[0].data;
      near(leaves[k].grad, (shifted(1e-6) - shifted(-1e-6)) / 2e-6, 1e-5, `${name} by ${k}`);
    }
  }
});

test("minimising an energy lowers it and its gradient", () => {
  const mesh = icosphere(1), stars = starsOf(mesh), params = mesh.vertices.flat().map((value, k) => V.W(value + 0.01 * Math.sin(5 * k)));
  const set = CompiledFunctions.compile(params, (p) => energies(bimodalVariance, mesh.faces, stars, p)), before = set.evaluateSumWithGradient(params).value;
  const result = lbfgs(params, set, { maxIterations: 60 });
  assert.ok(result.finalCost < 0.5 * before, `${before} → ${result.finalCost}`);
  assert.equal(Value.no_grad_mode, false);
});

/** A sketch of two lines, two circles and six points, a little off everything. */
function project() {
  const points = [[0, 0], [4, 0.3], [1, 2], [5, 3.5], [2, 6], [6, 7]].map(([x, y], k) => ({ x, y, pinned: k === 0 }));
  const lines = [{ start: points[0], end: points[1] }, { start: points[2], end: points[3] }];
  const circles = [{ center: points[4], radius: 1, fixedRadius: false }, { center: points[5], radius: 2, fixedRadius: false }];
  return { points, lines, circles };
}

const FIELDS = {
  coincident: ({ points }) => ({ point1: points[2], point2: points[3] }), midpoint: ({ points, lines }) => ({ point: points[4], line: lines[0] }), collinear: ({ lines }) => ({ line1: lines[0], line2: lines[1] }), parallel: ({ lines }) => ({ line1: lines[0], line2: lines[1] }),
  perpendicular: ({ lines }) => ({ line1: lines[0], line2: lines[1] }), angle: ({ lines }) => ({ line1: lines[0], line2: lines[1], angleDegrees: 30 }), "point-on-line": ({ points, lines }) => ({ point: points[4], line: lines[0] }), "point-on-circle": ({ points, circles }) => ({ point: points[2], circle: circles[1] }),
  tangent: ({ lines, circles }) => ({ line: lines[0], circle: circles[0] }), "radial-alignment": ({ points, circles }) => ({ point1: points[0], circle: circles[0], point2: points[3] }), "equal-length": ({ lines }) => ({ lines }), "equal-radius": ({ circles }) => ({ circles }),
  "circles-tangent": ({ circles }) => ({ circle1: circles[0], circle2: circles[1] }), concentric: ({ circles }) => ({ circle1: circles[0], circle2: circles[1] }), symmetry: ({ points, lines }) => ({ point1: points[2], point2: points[4], symmetryLine: lines[0] }),
};
const cross = (a, b) => a[0] * b[1] - a[1] * b[0], dot = (a, b) => a[0] * b[0] + a[1] * b[1];
const d = ({ start, end }) => [end.x - start.x, end.y - start.y], from = (p, q) => [q.x - p.x, q.y - p.y], size = (v) => Math.hypot(...v);
const distance = (point, line) => Math.abs(cross(d(line), from(line.start, point))) / size(d(line));

/** What must be 0 where a constraint holds, in numbers alone. */
const HOLDS = {
  coincident: ({ point1, point2 }) => size(from(point1, point2)), midpoint: ({ point, line: { start, end } }) => Math.hypot(point.x - (start.x + end.x) / 2, point.y - (start.y + end.y) / 2), collinear: ({ line1, line2 }) => distance(line2.start, line1) + distance(line2.end, line1),
  parallel: ({ line1, line2 }) => cross(d(line1), d(line2)), perpendicular: ({ line1, line2 }) => dot(d(line1), d(line2)), angle: ({ line1, line2 }) => Math.acos(dot(d(line1), d(line2)) / size(d(line1)) / size(d(line2))) - Math.PI / 6,
  "point-on-line": ({ point, line }) => distance(point, line), "point-on-circle": ({ point, circle }) => size(from(circle.center, point)) - circle.radius, tangent: ({ line, circle }) => distance(circle.center, line) - circle.radius,
  "radial-alignment": ({ point1, circle, point2 }) => cross(from(point1, circle.center), from(point1, point2)), "equal-length": ({ lines: [a, b] }) => size(d(a)) - size(d(b)), "equal-radius": ({ circles: [a, b] }) => a.radius - b.radius,
  "circles-tangent": ({ circle1, circle2 }) => size(from(circle1.center, circle2.center)) - circle1.radius - circle2.radius, concentric: ({ circle1, circle2 }) => size(from(circle1.center, circle2.center)),
  symmetry: ({ point1, point2, symmetryLine }) => distance({ x: (point1.x + point2.x) / 2, y: (point1.y + point2.y) / 2 }, symmetryLine) + Math.abs(dot(from(point1, point2), d(symmetryLine))),
};

test("every constraint of a sketch is met, and pinned points stay", () => {
  assert.equal(Object.keys(CONSTRAINTS).length, 15);
  for (const type of Object.keys(CONSTRAINTS)) {
    const sketch = project(), constraint = { type, ...FIELDS[type](sketch) };
    assert.ok(Math.abs(HOLDS[type](constraint)) > 0.1, `${type} does not hold at the start`);
    const { success, residual, convergenceReason } = solveSketch({ ...sketch, constraints: [constraint] });
    assert.ok(success && residual < 1e-8, `${type}: ${residual}, ${convergenceReason}`);
    near(HOLDS[type](constraint), 0, 1e-6, type);
    assert.deepEqual([sketch.points[0].x, sketch.points[0].y], [0, 0]);
  }
});

test("a rectangle of fixed sides, and a circle that touches two of them", () => {
  const points = [[0, 0], [3.7, 0.4], [4.2, 2.9], [-0.3, 3.1], [1, 1.2]].map(([x, y], k) => ({ x, y, pinned: k === 0 }));
  const [a, b, c, e, center] = points, line = (start, end, more) => ({ start, end, ...more });
  const lines = [line(a, b, { constraintType: "horizontal", fixedLength: 4 }), line(b, c, { constraintType: "vertical", fixedLength: 3 }), line(c, e), line(e, a)], circle = { center, radius: 1, fixedRadius: true };
  const constraints = [{ type: "parallel", line1: lines[0], line2: lines[2] }, { type: "perpendicular", line1: lines[0], line2: lines[3] }, { type: "tangent", line: lines[0], circle }, { type: "tangent", line: lines[3], circle }];
  const { success, residual } = solveSketch({ points, lines, circles: [circle], constraints });
  assert.ok(success && residual < 1e-8, `${residual}`);
  [[0, 0], [4, 0], [4, 3], [0, 3], [1, 1]].forEach(([x, y], k) => { near(points[k].x, x, 1e-6); near(points[k].y, y, 1e-6); });
});

test("constraints that contradict each other end with what is left", () => {
  const sketch = project();
  const { residual } = solveSketch({ ...sketch, lines: [{ ...sketch.lines[0], fixedLength: 4 }, { ...sketch.lines[0], fixedLength: 6 }] });
  near(residual, Math.SQRT2, 1e-6);
});
