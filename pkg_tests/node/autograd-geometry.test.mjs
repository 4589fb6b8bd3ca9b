// Vectors, geometry, eigenvalues and losses of leastwise/autograd: closed forms, differences, and compiled as graph, where the original differed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CompiledFunctions, Geometry, Losses, Matrix3x3, V, Value, Vec2, Vec3, Vec4 } from "leastwise/autograd";
import { near, randoms } from "./random.mjs";

const vectors = (numbers) => Array.from({ length: numbers.length / 3 }, (_, k) => new Vec3(...numbers.slice(3 * k, 3 * k + 3)));

/** Compares a function's gradient with differences, and with its compiled form at another point. */
function agrees(name, of, count, low = -2, high = 2) {
  const random = randoms(name.length + count, low, high);
  for (let time = 0; time < 5; time++) {
    const at = Array.from({ length: count }, random), params = at.map((value) => V.W(value)), set = CompiledFunctions.compile(params, (p) => [of(p)]);
    params.forEach((param) => { param.data += 0.1; });
    const fresh = () => params.map(({ data }) => V.W(data)), leaves = fresh(), root = of(leaves);
    root.backward();
    const { value, gradient } = set.evaluateGradient(params);
    near(value, root.data, 1e-12, name);
    leaves.forEach((leaf, k) => {
      const shifted = (by) => { const all = fresh(); all[k] = V.W(all[k].data + by); return of(all).data; };
      near(leaf.grad, (shifted(1e-5) - shifted(-1e-5)) / 2e-5, 2e-7, `${name} by ${k}`);
      near(gradient[k], leaf.grad, 1e-11, `${name}, compiled, by ${k}`);
    });
  }
}

test("gradients of vectors and geometry are those of differences, compiled at other points, too", () => {
  const two = (numbers) => [new Vec2(...numbers.slice(0, 2)), new Vec2(...numbers.slice(2, 4)), new Vec2(...numbers.slice(4, 6))];
  const all = ({ x, y, z }) => V.sum([x, V.mul(y, 2), V.mul(z, 3)]);
  const of3 = {
    magnitude: ([a]) => a.magnitude, dot: ([a, b]) => Vec3.dot(a, b), cross: ([a, b]) => all(Vec3.cross(a, b)), normalized: ([a]) => all(a.normalized), custom: ([a]) => all(a.normalizedCustomGrad()), angle: ([a, b]) => Vec3.angleBetween(a, b),
    project: ([a, b]) => all(Vec3.project(a, b)), reject: ([a, b]) => all(Vec3.reject(a, b)), lerp: ([a, b]) => all(Vec3.lerp(a, b, 0.3)), min: ([a, b]) => all(Vec3.min(a, b)), max: ([a, b]) => all(Vec3.max(a, b)), distance: ([a, b]) => Vec3.distance(a, b), sqrDistance: ([a, b]) => Vec3.sqrDistance(a, b),
    triangleNormal: ([a, b, c]) => all(Geometry.triangleNormal(a, b, c)), triangleArea: ([a, b, c]) => Geometry.triangleArea(a, b, c), interiorAngle: ([a, b, c]) => Geometry.interiorAngle(a, b, c), angleDefect: ([a, ...rest]) => Geometry.angleDefect(a, rest),
    centroid: (points) => all(Geometry.centroid(points)), vertexNormal: ([a, b, c, d]) => all(Geometry.vertexNormal(a, [[a, b, c], [a, c, d]])), plane: ([a, b, c]) => all(Geometry.projectToPlane(a, b, c.normalized)), planeDistance: ([a, b, c]) => Geometry.distanceToPlane(a, b, c.normalized),
    dihedral: ([a, b]) => Geometry.dihedralAngle(a.normalized, b.normalized), coplanarity: (normals) => Geometry.normalCoplanarity(normals), boundingBox: (points) => { const { min, max } = Geometry.boundingBox(points); return V.add(all(min), V.square(all(max))); },
  };
  for (const [name, of] of Object.entries(of3)) agrees(name, (p) => of(vectors(p)), 12);
  const of2 = {
    magnitude: ([a]) => a.magnitude, cross: ([a, b]) => Vec2.cross(a, b), line: ([a, b, c]) => Vec2.distanceToLine(a, b, c), angle: ([a, b]) => Vec2.angleBetween(a, b), normalized: ([a]) => V.sub(a.normalized.x, a.perpendicular.x), arithmetic: ([a, b, c]) => a.add(b).sub(c).mul(3).div(7).sqrMagnitude,
  };
  for (const [name, of] of Object.entries(of2)) agrees(name, (p) => of(two(p)), 6);
  agrees("Vec4", (p) => Vec4.dot(new Vec4(...p).normalized.add(Vec4.identity()), new Vec4(...p).mul(2).sub(Vec4.C(1, 2, 3, 4)).div(3)), 4);
  agrees("eigenvalue", (p) => Matrix3x3.smallestEigenvalue(...p), 6);
});

test("closed forms of geometry", () => {
  const [a, b, c] = [Vec3.C(0, 0, 0), Vec3.C(1, 0, 0), Vec3.C(0, 1, 0)];
  assert.deepEqual(Geometry.triangleNormal(a, b, c).toArray(), [0, 0, 1]);
  assert.equal(Geometry.triangleArea(a, b, c).data, 0.5);
  near(Geometry.interiorAngle(b, a, c).data, Math.PI / 2, 1e-15);
  const ring = Array.from({ length: 6 }, (_, k) => Vec3.C(Math.cos((k * Math.PI) / 3), Math.sin((k * Math.PI) / 3), 0));
  near(Geometry.angleDefect(a, ring).data, 0, 1e-14);
  assert.deepEqual([Geometry.centroid([]).toArray(), Geometry.boundingBox([]).max.toArray()], [[0, 0, 0], [0, 0, 0]]);
  near(Geometry.normalCoplanarity([Vec3.C(1, 0, 0), Vec3.C(0, 1, 0), Vec3.C(Math.SQRT1_2, Math.SQRT1_2, 0)]).data, 0, 1e-15);
  near(Geometry.normalCoplanarity([b, c, Vec3.C(0, 0, 1)]).data, 1, 1e-15);
  assert.equal(String(Vec2.C(1, 2)), "Vec2(1, 2)");
  assert.equal(String(Vec3.one()), "Vec3(1, 1, 1)");
  assert.equal(String(Vec4.zero()), "Vec4(0, 0, 0, 0)");
  assert.deepEqual(Vec3.W(1, 2, 3).clone().trainables.map(({ requiresGrad }) => requiresGrad), [false, false, false]);
  assert.throws(() => Vec3.zero().normalized, { code: "non-finite" });
});

test("what was not finite is 0: lengths at 0, angles of parallel vectors", () => {
  const slopes = (of, at) => { const p = at.map((value) => V.W(value)); of(vectors(p)).backward(); return p.map(({ grad }) => grad); };
  const zeros = [0, 0, 0, 0, 0, 0];
  assert.deepEqual(slopes(([a]) => a.magnitude, [0, 0, 0]), [0, 0, 0]);
  assert.deepEqual(slopes(([a, b]) => Vec3.distance(a, b), [1, 2, 3, 1, 2, 3]), zeros);
  for (const factor of [2, -2]) assert.deepEqual(slopes(([a, b]) => Vec3.angleBetween(a, b), [1, 0, 0, factor, 0, 0]).map((slope) => slope + 0), zeros);
  const p = [V.W(1), V.W(1), V.W(2), V.W(2)];
  Vec2.angleBetween(new Vec2(p[0], p[1]), new Vec2(p[2], p[3])).backward();
  assert.deepEqual(p.map(({ grad }) => grad + 0), [0, 0, 0, 0]);
});

test("the smallest eigenvalue is the smallest, and right for singular matrices", () => {
  const value = (...entries) => Matrix3x3.smallestEigenvalue(...entries.map((entry) => V.C(entry))).data;
  assert.equal(value(1, 0, 0, 2, 0, 3), 1);
  assert.equal(value(3, 0, 0, 2, 0, 1), 1);
  assert.equal(value(0, 0, 0, 0, 0, 1), 0);
  near(value(2, -1, 0, 2, -1, 2), 2 - Math.SQRT2, 1e-15);
  near(value(1, 1, 1, 1, 1, 1), 0, 1e-15);
  const c = [1, 0, 0, 2, 0, 3].map((entry) => V.W(entry)), set = CompiledFunctions.compile(c, (p) => [Matrix3x3.smallestEigenvalueCustomGrad(...p)]);
  assert.deepEqual(set.evaluateGradient(c), { value: 1, gradient: [1, 0, 0, 0, 0, 0] });
});

test("losses are the formulas, keep their gradients compiled, and refuse lengths that differ", () => {
  const of = (...numbers) => numbers.map((number) => V.C(number)), r = [0.5, -3, 6];
  near(Losses.mse(of(1, 2), of(1, 4)).data, 2, 0);
  near(Losses.mae(of(1, 2), of(1, 4)).data, 1, 0);
  near(Losses.binaryCrossEntropy(of(0.8, 0.3), [1, 0]).data, -(Math.log(0.8) + Math.log(0.7)) / 2, 1e-14);
  near(Losses.huber(of(...r), of(0, 0, 0)).data, (0.125 + 2.5 + 5.5) / 3, 1e-14);
  const c = 4.685, tukey = (x) => (Math.abs(x) <= c ? (c * c / 6) * (1 - (1 - (x / c) ** 2) ** 3) : c * c / 6);
  near(Losses.tukey(of(...r), of(0, 0, 0)).data, r.reduce((sum, x) => sum + tukey(x), 0) / 3, 1e-14);
  const logits = [1, 2, 3], total = logits.reduce((sum, x) => sum + Math.exp(x), 0);
  near(Losses.categoricalCrossEntropy(of(...logits), [2, 0]).data, -(Math.log(Math.exp(3) / total) + Math.log(Math.exp(1) / total)) / 2, 1e-11);
  assert.ok(Number.isFinite(Losses.categoricalCrossEntropy(of(1000, -1000), [1]).data));
  for (const name of ["mse", "mae", "huber", "tukey"]) agrees(name, (p) => Losses[name](p.slice(0, 3), p.slice(3)), 6, -4, 4);
  agrees("binaryCrossEntropy", (p) => Losses.binaryCrossEntropy(p, [1, 0, 1]), 3, 0.1, 0.8);
  agrees("categoricalCrossEntropy", (p) => Losses.categoricalCrossEntropy(p, [1, 0, 1]), 3);
  for (const name of ["mse", "mae", "huber", "tukey", "binaryCrossEntropy"]) {
    assert.equal(Losses[name]([], []).data, 0);
    assert.throws(() => Losses[name](of(1), []), { code: "data-length", message: /^Outputs and targets must have the same length/ });
  }
  assert.throws(() => Losses.categoricalCrossEntropy(of(1, 2), [2]), { code: "index-out-of-range" });
  assert.ok(Losses.mse([V.W(1)], [2]) instanceof Value);
});
