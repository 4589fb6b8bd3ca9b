// Compiled, never run: what the types of expressions must accept, infer and refuse.
import {
  abs, acos, acosh, and, angleBetween, asin, asinh, atan, atan2, atanh, cbrt, ceil, clamp, closestRotation, cos, cosh, cotangent, cross, cube, dihedralAngle, distance, dot, eigenSymmetric, erf, exp, exp2, expm1, floor,
  fract, fromAngleAxis, fromMatrix, gelu, hypot, leakyRelu, log, log10, log1p, log2, logsumexp, mat2, mat3, max, mean, min, mix, mod, norm, normalize, not, or, pow, quat, quatExp, reciprocal, relu, rotateXYZ, round, rsqrt,
  select, sigmoid, sign, sin, sinh, smoothstep, softplus, sqrt, step, sum, tan, tanh, triangleArea, triangleNormal, vec, vector,
} from "leastwise";
import type { Bool, Eigen, Mat2, Mat3, Num, Problem, Quat, Residual, Scalar, Vec, Vec2, Vec3, Vec4, VecOf } from "leastwise";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function is<T extends true>(_proof?: T): void {}

declare const a: Scalar, b: Scalar, when: Bool, v2: Vec2, v3: Vec3, w3: Vec3, v4: Vec4, v7: Vec<7>, m2: Mat2, m3: Mat3, q: Quat, p: Quat, list: Num[], points: Vec3[], any: Vec<number>;

export function scalars() {
  const ofOne = [abs, acos, acosh, asin, asinh, atan, atanh, cbrt, ceil, cos, cosh, cube, erf, exp, exp2, expm1, floor, fract, gelu, leakyRelu, log, log10, log1p, log2, reciprocal, relu, round, rsqrt, sigmoid, sign, sin,
    sinh, softplus, sqrt, tan, tanh].map((f) => f(a).add(f(1)));
  const ofTwo = [pow, atan2, mod, step].map((f) => f(a, 2).add(f(2, a)));
  const more = [clamp(a, 0, b), smoothstep(0, 1, a), leakyRelu(a, 0.2), mix(a, 2, b), hypot(a, 2, b), min(a, 1), max(...list), logsumexp(list), sum(list), mean([a, 2]), sum([a, b]), a.square().neg().div(b)];
  is<Same<typeof ofOne, Scalar[]>>(); is<Same<typeof ofTwo, Scalar[]>>(); is<Same<typeof more, Scalar[]>>();
  const truths = [a.gt(1), a.lt(b), a.ge(1), a.le(b), a.eq(0), a.ne(b), when.and(when).or(when).not(), and(when, when, when), or(when), not(when)];
  is<Same<typeof truths, Bool[]>>();
  // @ts-expect-error vector + scalar
  v3.add(a);
  // @ts-expect-error scalar + vector
  a.add(v3);
  // @ts-expect-error functions of scalars take no vectors
  exp(v3);
  // @ts-expect-error nor conditions
  abs(when);
  // @ts-expect-error nor strings
  max(a, "1");
  // @ts-expect-error two numbers
  pow(a);
  // @ts-expect-error an array
  logsumexp(a, b);
  // @ts-expect-error a condition is no JavaScript boolean
  and(when, true);
  // @ts-expect-error a scalar is no condition
  or(a);
  // @ts-expect-error no such method
  a.pow(2);
}

export function vectors() {
  const three = [v3.add(w3), v3.sub(w3), v3.mul(2), v3.mul(a), v3.mul(w3), v3.div(2), v3.div(w3), v3.neg(), v3.normalize(), normalize(v3), v3.cross(w3), cross(v3, w3), v4.xyz, mix(v3, w3, a), mix(v3, w3, w3), sum(points), mean([v3, w3]), select(when, v3, w3)];
  is<Same<typeof three, Vec3[]>>();
  const scalar = [v3.dot(w3), dot(v7, v7), norm(v7), v3.normSq(), distance(v2, v2), angleBetween(v3, w3), angleBetween(v2, v2), cross(v2, v2), v4.w, v7.at(6)];
  is<Same<typeof scalar, Scalar[]>>();
  const two = [v3.xy, v3.xz, v3.yz, v4.xy, v4.zw, vector([a, 1])];
  is<Same<typeof two, Vec2[]>>();
  const five = vector([a, b, 1, 2, 3]), open = vector(list), seven = sum([v7, v7.neg()]), same = any.sub(open).norm();
  is<Same<typeof five, Vec<5>>>(); is<Same<typeof open, Vec<number>>>(); is<Same<typeof seven, Vec<7>>>(); is<Same<typeof same, Scalar>>();
  const general = <N extends number>(x: Vec<N>, y: Vec<N>): VecOf<N> => x.sub(y);
  is<Same<ReturnType<typeof general<3>>, Vec3>>();
  // @ts-expect-error sizes mixed
  dot(v3, v2);
  // @ts-expect-error sizes mixed
  distance(v3, v4);
  // @ts-expect-error sizes mixed
  v7.add(v3);
  // @ts-expect-error sizes mixed
  cross(v3, v2);
  // @ts-expect-error sizes mixed
  mix(v3, v2, a);
  // @ts-expect-error one t, or one for each element
  mix(v3, w3, v2);
  // @ts-expect-error sizes mixed
  sum([v3, v2]);
  // @ts-expect-error a vector and a scalar
  mean([v3, a]);
  // @ts-expect-error a cross product is of 2- or 3-vectors
  cross(v4, v4);
  // @ts-expect-error nor is there an angle between others
  angleBetween(v4, v4);
  // @ts-expect-error no z on a 2-vector
  v2.z;
  // @ts-expect-error no five components
  vec(a, a, a, a, a);
  // @ts-expect-error a vector's components are scalars
  vec(v2, a);
  // @ts-expect-error and immutable
  v3.x = a;
}

export function matrices() {
  const three = [mat3(v3, v3, v3), m3.mul(m3), m3.mul(2), m3.mul(a), m3.div(a), m3.add(m3), m3.sub(m3), m3.neg(), m3.transpose(), m3.inverse(), closestRotation(m3), q.toMatrix(), sum([m3, m3]), select(when, m3, m3)];
  is<Same<typeof three, Mat3[]>>();
  const two = [mat2(v2, v2), m2.mul(m2), m2.mul(2), m2.transpose(), m2.inverse(), mean([m2])];
  is<Same<typeof two, Mat2[]>>();
  const vectors = [m3.mul(v3), m3.row(0), m3.column(2)], pairs = [m2.mul(v2), m2.row(0), m2.column(1)], scalars = [m3.determinant(), m2.trace(), m3.at(0, 2)];
  is<Same<typeof vectors, Vec3[]>>(); is<Same<typeof pairs, Vec2[]>>(); is<Same<typeof scalars, Scalar[]>>();
  const eigen = eigenSymmetric(m3), { values, vectors: [first] } = eigen;
  is<Same<typeof eigen, Eigen>>(); is<Same<typeof values, Vec3>>(); is<Same<typeof first, Vec3>>();
  // @ts-expect-error sizes mixed
  m3.mul(m2);
  // @ts-expect-error sizes mixed
  m3.mul(v2);
  // @ts-expect-error sizes mixed
  m3.add(m2);
  // @ts-expect-error a matrix plus a number
  m3.add(1);
  // @ts-expect-error rows of two
  mat2(v3, v3);
  // @ts-expect-error three rows
  mat3(v3, v3);
  // @ts-expect-error rows, not numbers
  mat2(1, 2, 3, 4);
  // @ts-expect-error of 3×3 matrices only
  eigenSymmetric(m2);
  // @ts-expect-error a matrix is no vector
  m3.norm();
  // @ts-expect-error nor a vector a matrix
  m3.sub(v3);
  // @ts-expect-error sizes mixed
  select(when, m2, m3);
}

export function quaternions() {
  const all = [quat(0, 0, 0, 1), quat(a, 0, b, 1), quat(v4), quat(v4.normalize()), q.mul(p), q.conjugate(), q.inverse(), fromAngleAxis(v3), quatExp(v3), fromMatrix(m3), select(when, p, q)];
  is<Same<typeof all, Quat[]>>();
  const threes = [q.rotate(v3), q.log(), q.toAngleAxis()], four = q.xyzw(), x = [q.x, q.y, q.z, q.w];
  is<Same<typeof threes, Vec3[]>>(); is<Same<typeof four, Vec4>>(); is<Same<typeof x, Scalar[]>>();
  // @ts-expect-error a quaternion is no 4-vector
  q.add(p);
  // @ts-expect-error a quaternion is no 4-vector
  norm(q);
  // @ts-expect-error a quaternion is no 4-vector
  v4.sub(q);
  // @ts-expect-error nor a 4-vector a quaternion
  q.mul(v4);
  // @ts-expect-error q.rotate(v), not q · v
  q.mul(v3);
  // @ts-expect-error 3-vectors rotate
  q.rotate(v4);
  // @ts-expect-error a quaternion is no rotation vector
  fromAngleAxis(q);
  // @ts-expect-error of 3×3 matrices only
  fromMatrix(m2);
  // @ts-expect-error four numbers
  quat(a, a, a);
  // @ts-expect-error quaternions have no sum
  sum([q, p]);
  // @ts-expect-error a quaternion and a vector
  select(when, q, v4);
}

export function triangles() {
  const scalars = [triangleArea(v3, v3, w3), triangleArea(v2, v2, v2), cotangent(v3, v3, w3), cotangent(v2, v2, v2), dihedralAngle(v3, v3, v3, w3)], threes = [triangleNormal(v3, v3, w3), rotateXYZ(v3, w3)];
  is<Same<typeof scalars, Scalar[]>>(); is<Same<typeof threes, Vec3[]>>();
  // @ts-expect-error points in one plane, or all in space
  triangleArea(v3, v3, v2);
  // @ts-expect-error points in space
  triangleNormal(v2, v2, v2);
  // @ts-expect-error four points
  dihedralAngle(v3, v3, v3);
  // @ts-expect-error points in space
  dihedralAngle(v2, v2, v2, v2);
  // @ts-expect-error no triangles in four dimensions
  cotangent(v4, v4, v4);
}

export function choices() {
  const numbers = [select(when, a, 0), select(when, 0, a), select(when, 1, -1), select(when, a, b)];
  is<Same<typeof numbers, Scalar[]>>();
  // @ts-expect-error a vector or a scalar
  select(when, v3, a);
  // @ts-expect-error sizes mixed
  select(when, v3, v2);
  // @ts-expect-error sizes mixed, the smaller one first
  select(when, v2, v3);
  // @ts-expect-error a condition is an expression
  select(true, a, b);
  // @ts-expect-error a scalar is no condition
  select(a, v3, v3);
  // @ts-expect-error conditions are combined with and, or
  select(when, when, when);
}

export function javaScript() {
  // @ts-expect-error operators do not trace
  a + 1;
  // @ts-expect-error operators do not trace
  a + b;
  // @ts-expect-error operators do not trace
  a * b;
  // @ts-expect-error operators do not trace
  v3 - w3;
  // @ts-expect-error nor do comparisons with numbers
  a < 1;
  // @ts-expect-error which never are the same
  a === 1;
  // @ts-expect-error nor does Math
  Math.max(a, b);
  // @ts-expect-error a condition always holds for JavaScript
  if (a.gt(b)) return;
  // @ts-expect-error and here: select(a.gt(b), a, b)
  a.gt(b) ? a : b;
  // @ts-expect-error and here: and(a.gt(b), a.lt(1))
  a.gt(b) && a.lt(1);
  // @ts-expect-error as does a scalar
  a ? 1 : 2;
  // One that may not be there is JavaScript's business.
  const maybe = list.length > 1 ? v3 : undefined;
  return maybe ? maybe.norm() : a;
}

export function residuals(problem: Problem, values: Float32Array) {
  const x = problem.variables("x", { shape: 3, values }), y = problem.variables("y", { shape: 4, values });
  const returned: Residual[] = [a, v2, v3, v4, v7, m2, m3, q, [a, v3], [m3, q, v7], [q.log()]];
  problem.residuals("matrix", { of: [x, y] }, ([v, r]) => quat(r).toMatrix().mul(mat3(v, v, v)));
  problem.residuals("quaternion", { of: [x, y] }, ([v, r]) => [quat(r).mul(fromAngleAxis(v)), v.norm()]);
  // @ts-expect-error only two slots
  problem.residuals("slots", { of: [x, y] }, ([v, r, more]) => v);
  // @ts-expect-error a misspelt column
  problem.residuals("column", { of: [x], data: { weigth: 1 } }, ([v], { weight }) => v.mul(weight));
  // @ts-expect-error the eigenvalues and the vectors are two things
  problem.residuals("eigen", { of: [x] }, ([v]) => eigenSymmetric(mat3(v, v, v)));
  // @ts-expect-error a condition is no residual
  problem.residuals("bool", { of: [x] }, ([v]) => [v, v.x.gt(0)]);
  return returned;
}
