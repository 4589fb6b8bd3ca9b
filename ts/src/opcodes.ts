/**
 * What an instruction of a tape does. Generated from `src/expr/operations/` (`npm run generate`), and held to it by a test.
 */
export const Opcode = {
  /** low, high word of an f64 → a scalar */
  Literal: 0,
  /** source (slots first, then data columns) → its scalars */
  Input: 1,
  /** value, index → one scalar of it */
  Component: 2,
  /** values… → their scalars, one after the other */
  Pack: 3,
  /** a → −a, elementwise */
  Neg: 4,
  /** a, b → a + b, elementwise; a scalar goes with every element */
  Add: 5,
  /** a, b → a − b */
  Sub: 6,
  /** a, b → a · b */
  Mul: 7,
  /** a, b → a / b */
  Div: 8,
  /** a → a² */
  Square: 9,
  /** a → √a */
  Sqrt: 10,
  /** a → sin a */
  Sin: 11,
  /** a → cos a */
  Cos: 12,
  /** a, b → Σ aᵢbᵢ */
  Dot: 13,
  /** a, b → a × b; a scalar for two 2-vectors */
  Cross: 14,
  /** a → ‖a‖, with derivative 0 at 0 */
  Norm: 15,
  /** a → ‖a‖² */
  NormSq: 16,
  /** a → a / ‖a‖, and 0 at 0 */
  Normalize: 17,
  /** angles, v → Rz(angles.z) · Ry(angles.y) · Rx(angles.x) · v */
  RotateXYZ: 18,
  /** values… → their elementwise sum */
  Sum: 19,
  /** a, b → whether a < b */
  Lt: 20,
  /** a, b → whether a ≤ b */
  Le: 21,
  /** a, b → both */
  And: 22,
  /** a, b → one of them */
  Or: 23,
  /** a → not a */
  Not: 24,
  /** condition, then, otherwise → one of the two, elementwise */
  Select: 25,
  /** m (row by row), v → m · v */
  MatVec: 26,
  /** a → |a| */
  Abs: 27,
  /** a → −1, 0 or 1 */
  Sign: 28,
  /** a → ⌊a⌋ */
  Floor: 29,
  /** a → ⌈a⌉ */
  Ceil: 30,
  /** a → the nearest integer, the even one of two */
  Round: 31,
  /** a → a − ⌊a⌋ */
  Fract: 32,
  /** a, b → a − b⌊a/b⌋ */
  Mod: 33,
  /** values… → the least, the first of equal ones */
  Min: 34,
  /** values… → the greatest, the first of equal ones */
  Max: 35,
  /** x, low, high → min(max(x, low), high) */
  Clamp: 36,
  /** a, b, t → a(1 − t) + bt */
  Mix: 37,
  /** edge, x → 1 where edge ≤ x, else 0 */
  Step: 38,
  /** low, high, x → t²(3 − 2t), t = clamp((x − low)/(high − low), 0, 1) */
  Smoothstep: 39,
  /** a → 1/a */
  Reciprocal: 40,
  /** a → a³ */
  Cube: 41,
  /** a → 1/√a */
  Rsqrt: 42,
  /** a → ∛a */
  Cbrt: 43,
  /** value, i32 exponent → aⁿ by multiplication */
  PowInt: 44,
  /** a, b → aᵇ for a ≥ 0, and below for whole b */
  Pow: 45,
  /** a → eᵃ */
  Exp: 46,
  /** a → 2ᵃ */
  Exp2: 47,
  /** a → eᵃ − 1 */
  Expm1: 48,
  /** a → ln a */
  Log: 49,
  /** a → log₂ a */
  Log2: 50,
  /** a → log₁₀ a */
  Log10: 51,
  /** a → ln(1 + a) */
  Log1p: 52,
  /** a → tan a */
  Tan: 53,
  /** a → arcsin a */
  Asin: 54,
  /** a → arccos a */
  Acos: 55,
  /** a → arctan a */
  Atan: 56,
  /** y, x → the angle of (x, y) */
  Atan2: 57,
  /** a → sinh a */
  Sinh: 58,
  /** a → cosh a */
  Cosh: 59,
  /** a → tanh a */
  Tanh: 60,
  /** a → arsinh a */
  Asinh: 61,
  /** a → arcosh a */
  Acosh: 62,
  /** a → artanh a */
  Atanh: 63,
  /** a → the error function */
  Erf: 64,
  /** scalars… → √Σaᵢ², without overflow */
  Hypot: 65,
  /** a → 1/(1 + e⁻ᵃ) */
  Sigmoid: 66,
  /** a → a where a > 0, else 0 */
  Relu: 67,
  /** a, slope → a where a > 0, else slope · a */
  LeakyRelu: 68,
  /** a → ln(1 + eᵃ) */
  Softplus: 69,
  /** a → a(1 + erf(a/√2))/2 */
  Gelu: 70,
  /** scalars… → ln Σ eᵃ */
  LogSumExp: 71,
  /** values… → their elementwise mean */
  Mean: 72,
  /** a, b → whether a = b */
  Eq: 73,
  /** a, b → whether a ≠ b */
  Ne: 74,
  /** a, b → ‖a − b‖ */
  Distance: 75,
  /** a, b → the angle between two 2- or 3-vectors, in [0, π] */
  AngleBetween: 76,
  /** a, b → a · b for two 2×2 or 3×3 matrices, row by row */
  MatMul: 77,
  /** m → mᵀ, 2×2 or 3×3 */
  Transpose: 78,
  /** m → det m, 2×2 or 3×3 */
  Determinant: 79,
  /** m → m⁻¹, 2×2 or 3×3 */
  Inverse: 80,
  /** p, q → p · q (x, y, z, w) */
  QuatMul: 81,
  /** q → (−x, −y, −z, w) */
  QuatConjugate: 82,
  /** q → its conjugate / ‖q‖² */
  QuatInverse: 83,
  /** unit q, v → q v q⁻¹ */
  QuatRotate: 84,
  /** rotation vector → unit quaternion */
  QuatFromAngleAxis: 85,
  /** unit quaternion → rotation vector of at most π */
  QuatToAngleAxis: 86,
  /** rotation matrix → unit quaternion */
  QuatFromMatrix: 87,
  /** unit quaternion → rotation matrix */
  QuatToMatrix: 88,
  /** v → (v sin‖v‖/‖v‖, cos‖v‖) */
  QuatExp: 89,
  /** unit quaternion → v with exp v = q */
  QuatLog: 90,
  /** a, b, c → ‖(b − a) × (c − a)‖/2 (2-D: signed) */
  TriangleArea: 91,
  /** a, b, c → the unit normal, 0 where the area is */
  TriangleNormal: 92,
  /** a, b, c, d → the signed angle at edge bc between triangles abc and dcb */
  DihedralAngle: 93,
  /** a, b, c → the cotangent of the angle at a */
  Cotangent: 94,
  /** symmetric 3×3 matrix → eigenvalues, ascending, then their unit vectors */
  EigenSymmetric: 95,
  /** 3×3 matrix → the rotation closest to it */
  ClosestRotation: 96,
  /** what one entry of a row gives → its sum over the row's entries */
  SumOver: 97,
} as const;
export type Opcode = (typeof Opcode)[keyof typeof Opcode];
