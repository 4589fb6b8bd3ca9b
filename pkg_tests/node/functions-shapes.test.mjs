// Vectors, matrices, quaternions and triangles: against plain JavaScript and three.js, and by their laws.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  angleBetween, closestRotation, cotangent, cross, dihedralAngle, distance, dot, eigenSymmetric, fromAngleAxis, fromMatrix, mat2, mat3, mean, mix, norm, normalize, quat, quatExp, rotateXYZ, select, sum, triangleArea,
  triangleNormal, vec, vector,
} from "leastwise";
import { Euler, Matrix4, Quaternion, Vector3 } from "three";
import { evaluate, PRECISIONS, testAll } from "./functions.mjs";
import { open } from "./support.mjs";

// ── plain JavaScript: vectors are arrays, matrices arrays of rows one after the other ──

const plainDot = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);
const minus = (a, b) => a.map((x, i) => x - b[i]);
const plainCross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => a.map((x) => x / Math.hypot(...a));
const size = (m) => Math.sqrt(m.length);
const rowsOf = (m) => Array.from({ length: size(m) }, (_, i) => m.slice(i * size(m), (i + 1) * size(m)));
const columnsOf = (m) => rowsOf(m).map((_, j) => rowsOf(m).map((row) => row[j]));
const times = (a, b) => rowsOf(a).flatMap((row) => columnsOf(b).map((column) => plainDot(row, column)));
const det2 = (m) => m[0] * m[3] - m[1] * m[2];
const det3 = (m) => plainDot(m.slice(0, 3), plainCross(m.slice(3, 6), m.slice(6)));
const plainAngle = (a, b) => Math.acos(plainDot(unit(a), unit(b)));
const three = { v: (a) => new Vector3(...a), q: (a) => new Quaternion(...a), m: (m) => new Matrix4(...m.slice(0, 3), 0, ...m.slice(3, 6), 0, ...m.slice(6), 0, 0, 0, 0, 1) };
const upper = ({ elements: e }) => [e[0], e[4], e[8], e[1], e[5], e[9], e[2], e[6], e[10]];

// ── from the flat variables of a test ──

const rows = (v, n) => Array.from({ length: n }, (_, i) => vector(Array.from({ length: n }, (_, j) => v.at(n * i + j))));
const asMat2 = (v) => mat2(...rows(v, 2));
const asMat3 = (v) => mat3(...rows(v, 3));
const symmetric = (v) => mat3(vec(v.at(0), v.at(3), v.at(4)), vec(v.at(3), v.at(1), v.at(5)), vec(v.at(4), v.at(5), v.at(2)));
const plainSymmetric = ([xx, yy, zz, xy, xz, yz]) => [xx, xy, xz, xy, yy, yz, xz, yz, zz];
const eye = () => mat3(vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1));
const unitQuat = (v) => quat(v.normalize());
const zeros = (count) => () => new Array(count).fill(0);

const [A, B, C, D] = [[0.5, -1, 2], [1.5, 0.25, -0.75], [-0.5, 2, 1], [0.25, 0.5, -1.5]];
const M = [1, 2, 0.5, -1, 3, 0.25, 0.75, -0.5, 2];
const N = [0.5, 1, -1, 2, 0.25, 0, 1, -2, 1.5];
const Q = [0.5, -0.25, 1, 0.75];
const P = [-1, 0.5, 0.25, -0.5];

testAll(test, {
  "dot, norm, normSq, distance": {
    of: [3, 3], traced: (a, b) => [dot(a, b), a.dot(b), norm(a), a.norm(), a.normSq(), distance(a, b)], points: [[...A, ...B], [...C, ...D]],
    plain: (a, b) => [plainDot(a, b), plainDot(a, b), Math.hypot(...a), Math.hypot(...a), plainDot(a, a), Math.hypot(...minus(a, b))],
  },
  "vectors of seven": {
    of: [7, 7], points: [[1, -2, 0.5, 3, -1, 2, 0.25, 0.5, 1, 2, -0.5, 1, 1.5, -3]],
    traced: (a, b) => [a.add(b).sub(b.neg()).mul(2), a.mul(b), a.div(4), b.div(a), dot(a, b), norm(a), normalize(a), distance(a, b), mean([a, b, a]), mix(a, b, 0.25), a.at(6)],
    plain: (a, b) => [a.map((x, i) => 2 * (x + 2 * b[i])), a.map((x, i) => x * b[i]), a.map((x) => x / 4), b.map((x, i) => x / a[i]), plainDot(a, b), Math.hypot(...a), unit(a), Math.hypot(...minus(a, b)),
      a.map((x, i) => (2 * x + b[i]) / 3), a.map((x, i) => 0.75 * x + 0.25 * b[i]), a[6]],
  },
  "cross of 3-vectors": { of: [3, 3], traced: (a, b) => [cross(a, b), a.cross(b)], plain: (a, b) => [plainCross(a, b), plainCross(a, b)], points: [[...A, ...B]] },
  "cross of 2-vectors": { of: [2, 2], traced: (a, b) => [cross(a, b), a.cross(b)], plain: (a, b) => [det2([...a, ...b]), det2([...a, ...b])], points: [[1, 2, -0.5, 3]] },
  "angleBetween of 3-vectors": { of: [3, 3], traced: angleBetween, plain: plainAngle, points: [[...A, ...B], [...C, ...D], [1, 0, 0, 0, 2, 0]] },
  "angleBetween of 2-vectors": { of: [2, 2], traced: angleBetween, plain: plainAngle, points: [[1, 2, -0.5, 3], [1, 0, -1, 0.25]] },
  "angleBetween of parallel vectors": { of: [3, 3], traced: angleBetween, plain: (a, b) => (plainDot(a, b) > 0 ? 0 : Math.PI), points: [[1, 2, 3, 2, 4, 6], [1, 2, 3, -1, -2, -3]], kinks: [[1, 2, 3, 2, 4, 6], [1, 2, 3, -1, -2, -3]] },
  "swizzles": {
    of: [3, 4], traced: (a, b) => [a.xy, a.xz, a.yz, b.xyz, b.xy, b.zw, vec(b.w, a.z, 1, b.x), vector([a.x, 2, b.y, b.w, a.z])], points: [[...A, ...Q]],
    plain: (a, b) => [a[0], a[1], a[0], a[2], a[1], a[2], b.slice(0, 3), b[0], b[1], b[2], b[3], b[3], a[2], 1, b[0], a[0], 2, b[1], b[3], a[2]],
  },
  "mix of vectors": { of: [3, 3, 1, 3], traced: (a, b, s, t) => [mix(a, b, s), mix(a, b, t)], plain: (a, b, s, t) => [a.map((x, i) => x * (1 - s) + b[i] * s), a.map((x, i) => x * (1 - t[i]) + b[i] * t[i])], points: [[...A, ...B, 0.25, 0, 1, 1.5]] },

  "2×2 matrices": {
    of: [4, 4, 2, 1], points: [[1, 2, -0.5, 3, 0.5, -1, 2, 0.25, 1.5, -2, 0.75]],
    traced: (a, b, v, s) => {
      const [m, n] = [asMat2(a), asMat2(b)];
      return [m.mul(v), m.mul(n), m.mul(s), m.div(s), m.add(n), m.sub(n), m.neg(), m.transpose(), m.determinant(), m.inverse(), m.row(1), m.column(0), m.at(1, 0), m.trace(), sum([m, n]), mean([m, n])];
    },
    plain: (m, n, v, s) => [rowsOf(m).map((row) => plainDot(row, v)), times(m, n), m.map((x) => x * s), m.map((x) => x / s), m.map((x, i) => x + n[i]), minus(m, n), m.map((x) => -x), columnsOf(m).flat(), det2(m),
      [m[3], -m[1], -m[2], m[0]].map((x) => x / det2(m)), m.slice(2), m[0], m[2], m[2], m[0] + m[3], m.map((x, i) => x + n[i]), m.map((x, i) => (x + n[i]) / 2)],
  },
  "3×3 matrices": {
    of: [9, 9, 3, 1], points: [[...M, ...N, ...A, 0.75]],
    traced: (a, b, v, s) => {
      const [m, n] = [asMat3(a), asMat3(b)];
      return [m.mul(v), m.mul(n), m.mul(s), m.mul(2), m.div(s), m.add(n), m.sub(n), m.neg(), m.transpose(), m.determinant(), m.row(2), m.column(1), m.at(1, 2), m.trace(), select(s.gt(0), m, n)];
    },
    plain: (m, n, v, s) => [rowsOf(m).map((row) => plainDot(row, v)), times(m, n), m.map((x) => x * s), m.map((x) => x * 2), m.map((x) => x / s), m.map((x, i) => x + n[i]), minus(m, n), m.map((x) => -x),
      columnsOf(m).flat(), det3(m), m.slice(6), [m[1], m[4], m[7]], m[5], m[0] + m[4] + m[8], m],
  },
  "a 3×3 matrix times its inverse": { of: [9], traced: (a) => [asMat3(a).inverse().mul(asMat3(a)).sub(eye()), asMat3(a).mul(asMat3(a).inverse()).sub(eye())], plain: zeros(18), points: [M, N] },
  "determinant of the inverse": { of: [9], traced: (a) => asMat3(a).inverse().determinant(), plain: (m) => 1 / det3(m), points: [M, N] },

  "quaternions, by three.js": {
    of: [4, 4, 3], points: [[...Q, ...P, ...A], [...P, ...Q, ...B]],
    traced: (p, q, v) => [quat(p).mul(quat(q)), quat(p).conjugate(), unitQuat(p).rotate(v), unitQuat(p).toMatrix(), quat(p).x, quat(p).y, quat(p).z, quat(p).w],
    plain: (p, q, v) => [three.q(p).multiply(three.q(q)).toArray(), three.q(p).conjugate().toArray(), three.v(v).applyQuaternion(three.q(p).normalize()).toArray(),
      upper(new Matrix4().makeRotationFromQuaternion(three.q(p).normalize())), p],
  },
  "rotation vectors, by three.js": {
    of: [3], points: [A, B, [0.125, 0, 0], [2 ** -12, 2 ** -13, 0], [0, 3, 0]], traced: (v) => [fromAngleAxis(v), quatExp(v.mul(0.5)), fromAngleAxis(v).toMatrix()],
    plain: (v) => {
      const q = new Quaternion().setFromAxisAngle(three.v(v).normalize(), Math.hypot(...v));
      return [q.toArray(), q.toArray(), upper(new Matrix4().makeRotationFromQuaternion(q))];
    },
  },
  "a quaternion times its inverse": { of: [4], traced: (q) => [quat(q).mul(quat(q).inverse()), quat(q).inverse().mul(quat(q))], plain: () => [0, 0, 0, 1, 0, 0, 0, 1], points: [Q, P, [0, 0, 0, 2]] },
  "there and back: rotation vectors": { of: [3], traced: (v) => [fromAngleAxis(v).toAngleAxis(), quatExp(v).log()], plain: (v) => [v, v], points: [A, B, [0, 0, 0], [2 ** -12, 0, 2 ** -11], [0.5, 0.5, 0.5], [3, 0, 0]] },
  "there and back: both signs are one rotation": { of: [3], traced: (v) => quat(fromAngleAxis(v).xyzw().neg()).toAngleAxis(), plain: (v) => v, points: [A, B, [2 ** -12, 0, 2 ** -11]] },
  "there and back: matrices": {
    // Each has another largest component. The sign is that of the largest.
    of: [4], points: [Q, P, [2, 0.5, 0.25, -0.5], [0.25, 2, -0.5, 0.5], [0.5, -0.25, 2, 0.25], [0.25, 0.5, -0.25, 2], [0, 0, 0, 1]],
    traced: (q) => fromMatrix(unitQuat(q).toMatrix()), plain: (q) => { const [x, y, z, w] = unit(q); const s = Math.sign([x, y, z, w].reduce((most, c) => (Math.abs(c) > Math.abs(most) ? c : most))); return [s * x, s * y, s * z, s * w]; },
  },
  "a rotation keeps lengths, and is its matrix": { of: [4, 3], traced: (q, v) => [unitQuat(q).rotate(v).norm().sub(v.norm()), unitQuat(q).toMatrix().mul(v).sub(unitQuat(q).rotate(v))], plain: zeros(4), points: [[...Q, ...A], [...P, ...B]] },
  "R Rᵀ = 1, det R = 1": { of: [4], traced: (q) => { const r = unitQuat(q).toMatrix(); return [r.mul(r.transpose()).sub(eye()), r.determinant().sub(1)]; }, plain: zeros(10), points: [Q, P] },
  "select of quaternions": { of: [4, 4], traced: (p, q) => select(p.x.gt(0), quat(p), quat(q)), plain: (p, q) => (p[0] > 0 ? p : q), points: [[...Q, ...P], [...P, ...Q]] },
  "rotateXYZ is three.js's Euler order ZYX": { of: [3, 3], traced: rotateXYZ, plain: (angles, v) => three.v(v).applyEuler(new Euler(...angles, "ZYX")).toArray(), points: [[...A, ...B], [...C, ...D]] },

  "triangleArea, triangleNormal, cotangent": {
    of: [3, 3, 3], points: [[...A, ...B, ...C], [...B, ...C, ...D]], traced: (a, b, c) => [triangleArea(a, b, c), triangleNormal(a, b, c), cotangent(a, b, c)],
    plain: (a, b, c) => {
      const normal = plainCross(minus(b, a), minus(c, a));
      return [Math.hypot(...normal) / 2, unit(normal), 1 / Math.tan(plainAngle(minus(b, a), minus(c, a)))];
    },
  },
  "triangles in 2-D": {
    of: [2, 2, 2], points: [[0, 0, 2, 0, 0.5, 1], [0, 0, 0.5, 1, 2, 0]], traced: (a, b, c) => [triangleArea(a, b, c), cotangent(a, b, c)],
    plain: (a, b, c) => [det2([...minus(b, a), ...minus(c, a)]) / 2, 1 / Math.tan(plainAngle(minus(b, a), minus(c, a)))],
  },
  "the three cotangents of a triangle": {
    of: [3, 3, 3], points: [[...A, ...B, ...C], [...B, ...C, ...D]], plain: () => [1],
    traced: (a, b, c) => { const [x, y, z] = [cotangent(a, b, c), cotangent(b, c, a), cotangent(c, a, b)]; return sum([x.mul(y), y.mul(z), z.mul(x)]); },
  },
  "dihedralAngle of a hinge along x": {
    // abc lies in the plane z = 0, its normal is z; dcb is turned out of it by the angle, backwards for positive ones.
    of: [1], traced: (t) => dihedralAngle(vec(0.5, 1, 0), vec(0, 0, 0), vec(2, 0, 0), rotateXYZ(vec(t, 0, 0), vec(1, -1.5, 0))), plain: (t) => t, points: [[0], [0.5], [-0.5], [1.5], [3], [-3]],
  },
  "dihedralAngle turns with the triangles, and changes its sign with their order": {
    of: [3, 3, 3, 3], traced: (a, b, c, d) => {
      const angle = dihedralAngle(a, b, c, d);
      const turned = dihedralAngle(...[a, b, c, d].map((p) => rotateXYZ(vec(0.5, -1, 2), p)));
      return [angle.sub(turned), angle.sub(dihedralAngle(d, c, b, a)), angle.add(dihedralAngle(a.mul(vec(1, 1, -1)), b.mul(vec(1, 1, -1)), c.mul(vec(1, 1, -1)), d.mul(vec(1, 1, -1))))];
    }, plain: zeros(3), points: [[...A, ...B, ...C, ...D], [...B, ...A, ...D, ...C]],
  },

  "eigenvalues": {
    large: "cpu",
    of: [6], traced: (s) => eigenSymmetric(symmetric(s)).values, points: [[2, -1, 0.5, 1, 0.25, -0.5], [1, 2, 4, 0.5, -1, 2], [3, 3, 3, 0, 0.5, 0]],
    plain: (s) => {
      const m = plainSymmetric(s);
      const q = (m[0] + m[4] + m[8]) / 3;
      const shifted = m.map((x, k) => (k % 4 === 0 ? x - q : x));
      const p = Math.sqrt(plainDot(shifted, shifted) / 6);
      const angle = Math.acos(det3(shifted.map((x) => x / p)) / 2) / 3;
      const [most, least] = [q + 2 * p * Math.cos(angle), q + 2 * p * Math.cos(angle + (2 * Math.PI) / 3)];
      return [least, 3 * q - most - least, most];
    },
  },
  "eigenvectors: M v = λ v, and a rotation or reflection": {
    large: true,
   
    // Where eigenvalues are equal, vectors have no derivative.
    kinks: [[1, 1, 1, 0, 0, 0], [2, 2, 5, 0, 0, 0], [0, 0, 0, 0, 0, 0]],
    of: [6], plain: zeros(18), points: [[2, -1, 0.5, 1, 0.25, -0.5], [1, 2, 4, 0.5, -1, 2], [3, 1, 2, 0, 0, 0], [1, 1, 1, 0, 0, 0], [2, 2, 5, 0, 0, 0], [0, 0, 0, 0, 0, 0]],
    traced: (s) => {
      const { values, vectors } = eigenSymmetric(symmetric(s));
      const v = mat3(...vectors);
      return [...vectors.map((vector, k) => symmetric(s).mul(vector).sub(vector.mul(values.at(k)))), v.mul(v.transpose()).sub(eye())];
    },
  },
  "closestRotation: R Rᵀ = 1, det R = 1, Rᵀ M symmetric": {
    large: true,
    of: [9], plain: zeros(13), points: [M, N, [1, 0, 0, 0, 1, 0, 0, 0, 1], [2, 0, 0, 0, 1, 0, 0, 0, -0.5], N.map((x) => -x)],
    traced: (a) => {
      const r = closestRotation(asMat3(a));
      const stretch = r.transpose().mul(asMat3(a));
      return [r.mul(r.transpose()).sub(eye()), r.determinant().sub(1), stretch.at(0, 1).sub(stretch.at(1, 0)), stretch.at(0, 2).sub(stretch.at(2, 0)), stretch.at(1, 2).sub(stretch.at(2, 1))];
    },
  },
  "closestRotation of a stretched rotation is that rotation": {
    large: "cpu",
    of: [3, 6], points: [[...A, 2, 1, 3, 0.5, -0.25, 0.5], [0, 0, 3, 1, 1, 1, 0, 0, 0]], traced: (v, s) => { const r = fromAngleAxis(v).toMatrix(); return closestRotation(r.mul(symmetric(s))).sub(r); }, plain: zeros(9),
  },
});

// Where directions and angles are not defined they are 0, and so are their derivatives.
const NOWHERE = {
  "normalize of 0": [[3], normalize, [0, 0, 0]],
  "angleBetween with 0": [[3, 3], angleBetween, [0, 0, 0, ...A]],
  "triangleNormal of a line": [[3, 3, 3], triangleNormal, [0, 0, 0, 1, 0, 0, 2, 0, 0]],
  "triangleArea of a line": [[3, 3, 3], triangleArea, [0, 0, 0, 1, 0, 0, 2, 0, 0]],
  "cotangent of a line": [[3, 3, 3], cotangent, [0, 0, 0, 1, 0, 0, 2, 0, 0]],
  "dihedralAngle of a line": [[3, 3, 3, 3], dihedralAngle, [0, 0, 0, 1, 0, 0, 2, 0, 0, ...A]],
  "distance of a point from itself": [[3], (a) => distance(a, a.mul(2)), [0, 0, 0]],
  "log of (0, 0, 0, −1)": [[4], (q) => quat(q).log(), [0, 0, 0, -1]],
};

test("where directions and angles are not defined, values and derivatives are 0", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const [name, [of, traced, point]] of Object.entries(NOWHERE)) {
    const [{ values, derivatives }] = await evaluate(lw, { of, traced }, [point]);
    assert.ok(values.every((value) => value === 0), `${name}: ${values}`);
    assert.ok(derivatives.every((value) => value === 0), `${name}: its derivatives are ${derivatives}`);
  }
});

// ── eigenvalues next to each other ──

/** Q diag(1, 1 + gap, 3) Qᵀ for a Q of two turns, row by row; the third column of Q is the vector of 3. */
function nearlyDouble(gap, first, second) {
  const [c, s, d, e] = [Math.cos(first), Math.sin(first), Math.cos(second), Math.sin(second)];
  const q = [[c, -s * d, s * e], [s, c * d, -c * e], [0, e, d]], values = [1, 1 + gap, 3];
  return { m: q.flatMap((a) => q.map((b) => values.reduce((sum, value, k) => sum + a[k] * value * b[k], 0))), q, values };
}

const GAPS = [1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-15, 0];
const spectra = GAPS.flatMap((gap) => [[0.4, 1.1], [2, -0.7], [0, 0]].map(([a, b]) => ({ gap, ...nearlyDouble(gap, a, b) })));
const outer = (a, b) => a.flatMap((x) => b.map((y) => x * y));
const columnOf = ({ q }, k) => q.map((row) => row[k]);

for (const { backend, precision } of PRECISIONS) {
  test(`derivatives of eigenvalues are v vᵀ at every gap, on ${backend} in ${precision}`, async (t) => {
    const lw = await open(t, { backend, precision });
    const bound = precision === "f64" ? 1e-13 : 2e-5;
    const problem = lw.problem();
    const x = problem.variables("m", { shape: 9, values: Float64Array.from(spectra.flatMap(({ m }) => m)) });
    const term = problem.residuals("eigenvalues", { of: [x] }, ([m]) => {
      const { x: low, y: middle, z: high } = eigenSymmetric(mat3(...[0, 1, 2].map((row) => vec(m.at(3 * row), m.at(3 * row + 1), m.at(3 * row + 2))))).values;
      return [low.add(middle).add(high), low.add(middle), low, middle, high];
    });
    const { jacobian, residuals } = await term.evaluate();
    spectra.forEach((spectrum, instance) => {
      const row = (k) => [...jacobian.subarray((5 * instance + k) * 9, (5 * instance + k + 1) * 9)];
      const high = outer(columnOf(spectrum, 2), columnOf(spectrum, 2)), identity = [1, 0, 0, 0, 1, 0, 0, 0, 1];
      const close = (found, expected, what) => found.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) <= bound, `${what} at gap ${spectrum.gap}: entry ${k} is ${value}, not ${expected[k]}`));
      close(row(0), identity, "the trace");
      close(row(1), identity.map((value, k) => value - high[k]), "λ₀ + λ₁");
      close(row(4), high, "λ₂");
      // Of each a projection onto one direction, whichever it is within a plane.
      for (const k of [2, 3]) close(outer([0, 1, 2], [0, 1, 2]).map((_, at) => [0, 1, 2].reduce((sum, i) => sum + row(k)[3 * Math.floor(at / 3) + i] * row(k)[3 * i + (at % 3)], 0)), row(k), `λ${k - 2}, squared`);
      close(spectrum.values.map((_, k) => residuals[5 * instance + 2 + k]), spectrum.values, "the values");
    });
  });
}

for (const { backend, precision } of PRECISIONS.filter(({ backend }) => backend !== "webgpu")) {
  test(`second derivatives of sums of eigenvalues are smooth at every gap, on ${backend} in ${precision}`, async (t) => {
    const lw = await open(t, { backend, precision });
    const problem = lw.problem();
    const x = problem.variables("m", { shape: 9, values: Float64Array.from(spectra.flatMap(({ m }) => m)) });
    const energy = (name, of) => problem.energy(name, { of: [x] }, ([m]) => of(eigenSymmetric(mat3(...[0, 1, 2].map((row) => vec(m.at(3 * row), m.at(3 * row + 1), m.at(3 * row + 2))))).values));
    const trace = await energy("trace", ({ x, y, z }) => x.add(y).add(z)).evaluate({ hessian: "exact" });
    assert.ok(trace.hessian.every((value) => value === 0), "a linear function");
    const { hessian } = await energy("two", ({ x, y }) => x.add(y)).evaluate({ hessian: "exact" });
    const bound = precision === "f64" ? 1e-12 : 2e-5;
    spectra.forEach((spectrum, instance) => {
      // −∂²λ₂ = −2 Σⱼ (uᵀ S vⱼ)(uᵀ T vⱼ)/(λ₂ − λⱼ), S and T symmetric.
      const high = columnOf(spectrum, 2);
      const along = [0, 1].map((j) => { const v = columnOf(spectrum, j); return outer(high, v).map((value, k) => (value + v[Math.floor(k / 3)] * high[k % 3]) / 2); });
      for (let k = 0; k < 81; k++) {
        const expected = -2 * along.reduce((sum, a, j) => sum + a[Math.floor(k / 9)] * a[k % 9] / (3 - spectrum.values[j]), 0);
        const found = hessian[81 * instance + k];
        assert.ok(Math.abs(found - expected) <= bound, `gap ${spectrum.gap}: entry ${k} is ${found}, not ${expected}`);
      }
    });
    // One of two that are apart has the other in its second derivative; of two that are one, neither has.
    const lowest = await energy("lowest", ({ x }) => x).evaluate({ hessian: "exact" });
    const largest = (gap) => Math.max(...spectra.flatMap((spectrum, k) => (spectrum.gap === gap ? [...lowest.hessian.subarray(81 * k, 81 * k + 81)].map(Math.abs) : [])));
    assert.ok(largest(1e-2) > 10 && largest(1e-2) < 200 && largest(0) < 2, `${largest(1e-2)}, ${largest(0)}`);
  });
}

test("a linear function of eigenvalues is minimised from where two are equal", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("m", { shape: 9, values: Float64Array.from(nearlyDouble(0, 0.4, 1.1).m) });
  problem.residuals("trace", { of: [x] }, ([m]) => { const { x, y, z } = eigenSymmetric(mat3(vec(m.at(0), m.at(1), m.at(2)), vec(m.at(3), m.at(4), m.at(5)), vec(m.at(6), m.at(7), m.at(8)))).values; return x.add(y).add(z).sub(4); });
  const report = await problem.solve();
  assert.ok(report.converged && report.cost < 1e-25, String(report));
});
