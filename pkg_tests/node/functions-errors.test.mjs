// Functions of expressions in callers without types: what does not go together is refused, by its name and its term's.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  abs, and, angleBetween, atan2, clamp, closestRotation, cotangent, cross, dihedralAngle, distance, dot, eigenSymmetric, exp, fromAngleAxis, fromMatrix, hypot, logsumexp, mat2, mat3, max, mean, min, mix, norm, normalize,
  not, or, pow, quat, quatExp, rotateXYZ, select, sum, triangleArea, triangleNormal, vec, vector,
} from "leastwise";
import { open, refuses } from "./support.mjs";

/** Refuses each of the uses with its message, in a residual "t" of s: Scalar, v2, v3, v4, their matrices and a quaternion. */
async function refusesAll(t, code, cases) {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const of = [1, 2, 3, 4].map((shape) => problem.variables(`x${shape}`, { shape, values: new Float32Array(shape) }));
  for (const [use, message] of cases) {
    refuses(() => problem.residuals("t", { of }, ([s, v2, v3, v4]) => use({ s, v2, v3, v4, m2: mat2(v2, v2), m3: mat3(v3, v3, v3), q: quat(v4) })), code, `the residual "t"${message}`, { term: "t" });
  }
}

test("functions of scalars", (t) => refusesAll(t, "shape", [
  [({ v3 }) => exp(v3), ": exp() of a Vec3: it takes numbers and scalars"],
  [() => abs("2"), ": abs() of a string: it takes numbers and scalars"],
  [() => exp(), ": exp() of undefined: it takes numbers and scalars"],
  [({ q }) => exp(q), ": exp() of a Quat: it takes numbers and scalars"],
  [({ s, v2 }) => atan2(s, v2), ": atan2() of a Scalar and a Vec2: it takes numbers and scalars"],
  [({ s }) => clamp(s, 0, null), ": clamp() of a Scalar, a number and null: it takes numbers and scalars"],
  [({ s, v3 }) => pow(v3, 2), ": pow() of a Vec3 and a number: it takes numbers and scalars"],
  [({ s }) => pow(s, "2"), ": pow() of a Scalar and a string: it takes numbers and scalars"],
  [({ s, m3 }) => s.mul(m3), ": mul() of a Scalar and a Mat3: it takes numbers and scalars"],
  [({ s, v2 }) => s.lt(v2), ": lt() of a Scalar and a Vec2: it takes numbers and scalars"],
  [({ s }) => s.eq(undefined), ": eq() of a Scalar and undefined: it takes numbers and scalars"],
]));

test("lists", (t) => refusesAll(t, "shape", [
  [() => min(), ": min() of nothing: it takes one or more numbers and scalars"],
  [({ s, v2 }) => max(1, s, v2), ": max() of a number and a Vec2: it takes one or more numbers and scalars"],
  [({ s }) => hypot([s, s]), ": hypot() of an array: it takes one or more numbers and scalars"],
  [({ s }) => logsumexp(s), ": logsumexp() of a Scalar: it takes an array of numbers and scalars"],
  [({ v2, v3 }) => sum([v3, v3, v2]), ": sum() of a Vec3 and a Vec2: it takes an array of one or more numbers and scalars, or of vectors or matrices of one size"],
  [({ s }) => mean(s), ": mean() of a Scalar: it takes an array of one or more numbers and scalars, or of vectors or matrices of one size"],
  [({ m2, m3 }) => mean([m2, m3]), ": mean() of a Mat2 and a Mat3: it takes an array of one or more numbers and scalars, or of vectors or matrices of one size"],
  [({ q }) => sum([q, q]), ": sum() of a Quat: it takes an array of one or more numbers and scalars, or of vectors or matrices of one size"],
  [({ s, v3 }) => vector([s, v3]), ": vector() of a Scalar and a Vec3: it takes one or more numbers and scalars"],
  [() => vector([]), ": vector() of nothing: it takes one or more numbers and scalars"],
  [({ s }) => vector(s), ": vector() of a Scalar: it takes an array of numbers and scalars"],
  [({ s }) => vec(s), ": vec() of a Scalar: it takes two, three or four numbers and scalars; vector([…]) takes any number of them"],
  [({ s, v2 }) => vec(v2, s), ": vec() of a Vec2: it takes one or more numbers and scalars"],
  [({ s }) => and(s.gt(0), true), ": and() of a Bool and a boolean: it takes conditions, such as a.lt(b)"],
  [() => or(), ": or() of nothing: it takes one or more conditions, such as a.lt(b)"],
  [({ s }) => not(s), ": not() of a Scalar: it takes conditions, such as a.lt(b)"],
  [({ s }) => s.gt(0).and(s), ": and() of a Bool and a Scalar: it takes conditions, such as a.lt(b)"],
]));

test("vectors", (t) => refusesAll(t, "shape", [
  [({ v3, v4 }) => dot(v3, v4), ": dot() of a Vec3 and a Vec4: it takes two vectors of one size"],
  [({ v3, q }) => v3.add(q), ": add() of a Vec3 and a Quat: it takes two vectors of one size"],
  [({ s }) => vector([s, 1, 2, 3, 4]).add(vector([s, 1])), ": add() of a Vec<5> and a Vec2: it takes two vectors of one size"],
  [({ s }) => norm(s), ": norm() of a Scalar: it takes a vector"],
  [({ m3 }) => normalize(m3), ": normalize() of a Mat3: it takes a vector"],
  [({ v2, v3 }) => distance(v2, v3), ": distance() of a Vec2 and a Vec3: it takes two vectors of one size"],
  [({ v4 }) => cross(v4, v4), ": cross() of a Vec4 and a Vec4: it takes two Vec3, or two Vec2"],
  [({ v2, v3 }) => angleBetween(v2, v3), ": angleBetween() of a Vec2 and a Vec3: it takes two Vec3, or two Vec2"],
  [({ v2, v3 }) => v3.mul(v2), ": mul() of a Vec3 and a Vec2: it takes a vector, and a number, a scalar or a vector of that size"],
  [({ v3 }) => v3.at(3), " asks for element 3 of a vector of 3 (0 to 2)"],
  [({ s, v3, v2 }) => mix(v3, v3, v2), ": mix() of a Vec3, a Vec3 and a Vec2: it takes three numbers or scalars, or two vectors of one size and a scalar or a vector of that size"],
]));

test("matrices", (t) => refusesAll(t, "shape", [
  [({ m3, v2 }) => m3.mul(v2), ": mul() of a Mat3 and a Vec2: it takes a Mat3, and a number, a Scalar, a Vec3 or a Mat3"],
  [({ m2, m3 }) => m2.mul(m3), ": mul() of a Mat2 and a Mat3: it takes a Mat2, and a number, a Scalar, a Vec2 or a Mat2"],
  [({ m2, m3 }) => m2.add(m3), ": add() of a Mat2 and a Mat3: it takes two matrices of one size"],
  [({ m3, v3 }) => m3.sub(v3), ": sub() of a Mat3 and a Vec3: it takes two matrices of one size"],
  [({ m3, v3 }) => m3.div(v3), ": div() of a Mat3 and a Vec3: it takes a matrix, and a number or a scalar"],
  [({ v3 }) => mat3(v3, v3), ": mat3() of a Vec3, a Vec3 and undefined: it takes its 3 rows, each a Vec3"],
  [({ v3 }) => mat2(v3, v3), ": mat2() of a Vec3 and a Vec3: it takes its 2 rows, each a Vec2"],
  [({ m3 }) => m3.row(3), " asks for row 3 of a Mat3 (0 to 2)"],
  [({ m2 }) => m2.column(-1), " asks for column -1 of a Mat2 (0 to 1)"],
  [({ m2 }) => m2.at(0, 2), " asks for entry (0, 2) of a Mat2 (0 to 1)"],
  [({ m3 }) => m3.at(1), " asks for entry (1, undefined) of a Mat3 (0 to 2)"],
  [({ m2 }) => eigenSymmetric(m2), ": eigenSymmetric() of a Mat2: it takes a Mat3"],
  [({ v3 }) => closestRotation(v3), ": closestRotation() of a Vec3: it takes a Mat3"],
]));

test("quaternions", (t) => refusesAll(t, "shape", [
  [({ q, v4 }) => q.mul(v4), ": mul() of a Quat and a Vec4: it takes two quaternions"],
  [({ q, v3 }) => q.mul(v3), ": mul() of a Quat and a Vec3: it takes two quaternions"],
  [({ q, v4 }) => q.rotate(v4), ": rotate() of a Quat and a Vec4: it takes a quaternion and a Vec3"],
  [({ v3 }) => quat(v3), ": quat() of a Vec3: it takes x, y, z, w, or a Vec4"],
  [({ s }) => quat(s, 0, 0), ": quat() of a Scalar, a number and a number: it takes x, y, z, w, or a Vec4"],
  [({ q }) => quatExp(q), ": quatExp() of a Quat: it takes a Vec3"],
  [({ v4 }) => fromAngleAxis(v4), ": fromAngleAxis() of a Vec4: it takes a Vec3"],
  [({ m2 }) => fromMatrix(m2), ": fromMatrix() of a Mat2: it takes a Mat3"],
]));

test("triangles and choices", (t) => refusesAll(t, "shape", [
  [({ v2, v3 }) => triangleArea(v2, v2, v3), ": triangleArea() of a Vec2, a Vec2 and a Vec3: it takes 3 points, all Vec2 or all Vec3"],
  [({ v2 }) => triangleNormal(v2, v2, v2), ": triangleNormal() of a Vec2, a Vec2 and a Vec2: it takes three Vec3"],
  [({ v3 }) => dihedralAngle(v3, v3, v3), ": dihedralAngle() of a Vec3, a Vec3, a Vec3 and undefined: it takes 4 points, all Vec3"],
  [({ v4 }) => cotangent(v4, v4, v4), ": cotangent() of a Vec4, a Vec4 and a Vec4: it takes 3 points, all Vec2 or all Vec3"],
  [({ v2, v3 }) => rotateXYZ(v3, v2), ": rotateXYZ() of a Vec3 and a Vec2: it takes two Vec3, the angles first"],
  [({ s, q, v4 }) => select(s.gt(0), q, v4), ": select() of a Bool, a Quat and a Vec4: it takes a condition and two scalars, or two vectors, matrices or quaternions of one size"],
  [({ s }) => select(s.gt(0), s.gt(0), s.lt(0)), ": select() of a Bool, a Bool and a Bool: it takes a condition and two scalars, or two vectors, matrices or quaternions of one size"],
  [({ s, v3 }) => select(s, v3, v3), ": select() of a Scalar, a Vec3 and a Vec3: it takes a condition first, such as a.gt(b)"],
]));

test("JavaScript's branches and operators: all kinds of expressions throw", (t) => {
  const message = ' used an expression as a JavaScript number or string (an operator such as + or <, Math.*, a template string, sorting): it has no value while it is traced. '
    + "Use methods and functions instead: a.add(b) for a + b, sin(a) for Math.sin(a), select(a.lt(b), x, y) for a < b ? x : y";
  const uses = [
    ({ s }) => { if (s > 1) return s; return s.neg(); },
    ({ s }) => { while (s < 1) return s; return s.neg(); },
    ({ s, v2 }) => (v2.x >= v2.y ? s : v2.x),
    ({ s }) => -s, ({ s }) => s ** 2, ({ s }) => s % 2, ({ s }) => s == 1, ({ v3 }) => v3 + v3, ({ m3 }) => m3 * 2, ({ q }) => q * q, ({ q }) => `${q}`, ({ m2 }) => String(m2), ({ s }) => [s, s.neg()].sort(),
    ({ s }) => Math.min(s, 1), ({ s }) => parseFloat(s), ({ s }) => s.gt(0) + 0, ({ s }) => JSON.stringify({ s }), ({ s }) => ({ [s]: 1 }), ({ s }) => new Float32Array([s]), ({ s }) => s++, ({ s }) => (s += 1),
  ];
  return refusesAll(t, "untraceable", uses.map((use) => [use, message]));
});

test("expressions of another function, in every kind of operation", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 3, values: [1, 2, 3] });
  let kept;
  problem.residuals("keeps", { of: [x] }, ([v]) => { kept = v; return v; });
  const uses = [(v) => dot(v, kept), (v) => v.x.lt(exp(1)) && mix(v, kept, 0.5), (v) => mat3(v, v, kept), (v) => sum([v, kept]), (v) => select(v.x.gt(0), v, kept), (v) => rotateXYZ(v, v).sub(kept), (v) => fromAngleAxis(v).rotate(kept)];
  for (const use of uses) {
    refuses(() => problem.residuals("t", { of: [x] }, ([v]) => use(v)), "foreign-expression", 'the residual "t" uses an expression of the residual "keeps": every residual only knows the arguments of its own function', { term: "t" });
  }
});

test("numbers alone need a function that is traced", async (t) => {
  const rest = "outside of a residual function: expressions exist only while one is traced; with numbers alone use Math";
  for (const [name, use] of Object.entries({ exp: () => exp(1), pow: () => pow(2, 2), sum: () => sum([1, 2]), quat: () => quat(0, 0, 0, 1), vector: () => vector([1, 2]), max: () => max(1, 2), mix: () => mix(0, 1, 0.5) })) {
    refuses(use, "foreign-expression", `${name}() ${rest}`);
  }
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 3, values: [1, 2, 3] });
  const term = problem.residuals("t", { of: [x] }, ([v]) => [quat(0, 0, 0, 1).rotate(v), vector([1, 2, 3]).sub(v), exp(0), sum([1, 2])]);
  assert.equal(await term.cost(), (14 + 0 + 1 + 9) / 2);
});

test("elements whose size is known at run time only may have one scalar", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const shape of [1, 2, 5]) {
    const problem = lw.problem();
    const [a, b] = [3, 5].map((value) => problem.variables(`x${value}`, { shape, values: new Array(shape).fill(value) }));
    const term = problem.residuals("t", { of: [a, b] }, ([a, b]) => [a.sub(b).norm(), a.dot(b), a.normSq(), b.neg().normalize().at(0), a.add(b).mul(2).div(4).at(a.length - 1)]);
    const { residuals } = await term.evaluate();
    [2 * Math.sqrt(shape), 15 * shape, 9 * shape, -1 / Math.sqrt(shape), 4].forEach((expected, k) => assert.ok(Math.abs(residuals[k] - expected) < 1e-12, `${shape}, ${k}: ${residuals[k]}`));
  }
});

test("a residual may return matrices and quaternions", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 3, values: [1, 2, 3] });
  const matrix = problem.residuals("matrix", { of: [x] }, ([v]) => mat3(v, v.neg(), v));
  const all = problem.residuals("all", { of: [x] }, ([v]) => [quat(v.x, v.y, v.z, 1), mat2(v.xy, v.yz), v.x, v]);
  assert.equal(await matrix.cost(), (3 * 14) / 2);
  assert.equal(await all.cost(), (15 + 5 + 13 + 1 + 14) / 2);
});
