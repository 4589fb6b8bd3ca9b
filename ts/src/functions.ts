/**
 * Functions of scalars. Outside of the domain that is given, a residual is flagged as not finite: an error at the start (it names term
 * and instance), a step that is refused later. Where no kink is mentioned there is none.
 *
 * Generated from `src/expr/operations/` (`npm run generate`), and held to it by a test.
 */
import { Opcode } from "./opcodes.js";
import { scalar, type Num, type Scalar } from "./scalar.js";

/**
 * a³
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * cube(s)
 */
export function cube(a: Num): Scalar { return scalar("cube", Opcode.Cube, [a]); }

/**
 * 1/a, a ≠ 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * reciprocal(s)
 */
export function reciprocal(a: Num): Scalar { return scalar("reciprocal", Opcode.Reciprocal, [a]); }

/**
 * √a, a ≥ 0; its derivative at 0 is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * sqrt(s)
 */
export function sqrt(a: Num): Scalar { return scalar("sqrt", Opcode.Sqrt, [a]); }

/**
 * 1/√a, a > 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * rsqrt(s)
 */
export function rsqrt(a: Num): Scalar { return scalar("rsqrt", Opcode.Rsqrt, [a]); }

/**
 * ∛a, negative for negative a; its derivative at 0 is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * cbrt(s)
 */
export function cbrt(a: Num): Scalar { return scalar("cbrt", Opcode.Cbrt, [a]); }

/**
 * eᵃ. Not finite where it overflows: above 709 in f64, 88 in f32.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * exp(s)
 */
export function exp(a: Num): Scalar { return scalar("exp", Opcode.Exp, [a]); }

/**
 * 2ᵃ. Not finite where it overflows: from 1024 on in f64, 128 in f32.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * exp2(s)
 */
export function exp2(a: Num): Scalar { return scalar("exp2", Opcode.Exp2, [a]); }

/**
 * eᵃ − 1, exact for small a.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * expm1(s)
 */
export function expm1(a: Num): Scalar { return scalar("expm1", Opcode.Expm1, [a]); }

/**
 * ln a, a > 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * log(s)
 */
export function log(a: Num): Scalar { return scalar("log", Opcode.Log, [a]); }

/**
 * log₂ a, a > 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * log2(s)
 */
export function log2(a: Num): Scalar { return scalar("log2", Opcode.Log2, [a]); }

/**
 * log₁₀ a, a > 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * log10(s)
 */
export function log10(a: Num): Scalar { return scalar("log10", Opcode.Log10, [a]); }

/**
 * ln(1 + a), exact for small a; a > −1.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * log1p(s)
 */
export function log1p(a: Num): Scalar { return scalar("log1p", Opcode.Log1p, [a]); }

/**
 * sin a (radians).
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * sin(s)
 */
export function sin(a: Num): Scalar { return scalar("sin", Opcode.Sin, [a]); }

/**
 * cos a (radians).
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * cos(s)
 */
export function cos(a: Num): Scalar { return scalar("cos", Opcode.Cos, [a]); }

/**
 * tan a (radians).
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * tan(s)
 */
export function tan(a: Num): Scalar { return scalar("tan", Opcode.Tan, [a]); }

/**
 * arcsin a, in [−π/2, π/2], for |a| ≤ 1; its derivative at ±1 is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * asin(s)
 */
export function asin(a: Num): Scalar { return scalar("asin", Opcode.Asin, [a]); }

/**
 * arccos a, in [0, π], for |a| ≤ 1; its derivative at ±1 is 0. For angles between vectors see {@link angleBetween}.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * acos(s)
 */
export function acos(a: Num): Scalar { return scalar("acos", Opcode.Acos, [a]); }

/**
 * arctan a, in (−π/2, π/2).
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * atan(s)
 */
export function atan(a: Num): Scalar { return scalar("atan", Opcode.Atan, [a]); }

/**
 * The angle of the point (x, y), in [−π, π]; 0, with derivative 0, at the origin. It jumps across the negative x axis.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * atan2(s, u)
 */
export function atan2(y: Num, x: Num): Scalar { return scalar("atan2", Opcode.Atan2, [y, x]); }

/**
 * (eᵃ − e⁻ᵃ)/2. Not finite where it overflows.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * sinh(s)
 */
export function sinh(a: Num): Scalar { return scalar("sinh", Opcode.Sinh, [a]); }

/**
 * (eᵃ + e⁻ᵃ)/2. Not finite where it overflows.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * cosh(s)
 */
export function cosh(a: Num): Scalar { return scalar("cosh", Opcode.Cosh, [a]); }

/**
 * sinh a / cosh a
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * tanh(s)
 */
export function tanh(a: Num): Scalar { return scalar("tanh", Opcode.Tanh, [a]); }

/**
 * ln(a + √(a² + 1))
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * asinh(s)
 */
export function asinh(a: Num): Scalar { return scalar("asinh", Opcode.Asinh, [a]); }

/**
 * ln(a + √(a² − 1)), a ≥ 1; its derivative at 1 is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * acosh(s)
 */
export function acosh(a: Num): Scalar { return scalar("acosh", Opcode.Acosh, [a]); }

/**
 * ln((1 + a)/(1 − a))/2, |a| < 1.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * atanh(s)
 */
export function atanh(a: Num): Scalar { return scalar("atanh", Opcode.Atanh, [a]); }

/**
 * The error function 2/√π ∫₀ᵃ exp(−t²) dt.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * erf(s)
 */
export function erf(a: Num): Scalar { return scalar("erf", Opcode.Erf, [a]); }

/**
 * |a|; its derivative at 0 is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * abs(s)
 */
export function abs(a: Num): Scalar { return scalar("abs", Opcode.Abs, [a]); }

/**
 * −1, 0 or 1; its derivative is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * sign(s)
 */
export function sign(a: Num): Scalar { return scalar("sign", Opcode.Sign, [a]); }

/**
 * ⌊a⌋; its derivative is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * floor(s)
 */
export function floor(a: Num): Scalar { return scalar("floor", Opcode.Floor, [a]); }

/**
 * ⌈a⌉; its derivative is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * ceil(s)
 */
export function ceil(a: Num): Scalar { return scalar("ceil", Opcode.Ceil, [a]); }

/**
 * The nearest whole number, of two the even one (Math.round takes the greater); its derivative is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * round(s)
 */
export function round(a: Num): Scalar { return scalar("round", Opcode.Round, [a]); }

/**
 * a − ⌊a⌋, in [0, 1); its derivative is 1.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * fract(s)
 */
export function fract(a: Num): Scalar { return scalar("fract", Opcode.Fract, [a]); }

/**
 * a − b⌊a/b⌋, b ≠ 0: of b's sign (JavaScript's a % b is of a's). Its derivative is 1 in a and −⌊a/b⌋ in b.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * mod(s, u)
 */
export function mod(a: Num, b: Num): Scalar { return scalar("mod", Opcode.Mod, [a, b]); }

/**
 * 1/(1 + e⁻ᵃ), without overflow.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * sigmoid(s)
 */
export function sigmoid(a: Num): Scalar { return scalar("sigmoid", Opcode.Sigmoid, [a]); }

/**
 * a where a > 0, else 0; its derivative at 0 is 0.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * relu(s)
 */
export function relu(a: Num): Scalar { return scalar("relu", Opcode.Relu, [a]); }

/**
 * a where a > 0, else slope · a; its derivative at 0 is the slope.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * leakyRelu(s)
 */
export function leakyRelu(a: Num, slope: Num = 0.01): Scalar { return scalar("leakyRelu", Opcode.LeakyRelu, [a, slope]); }

/**
 * ln(1 + eᵃ), without overflow.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * softplus(s)
 */
export function softplus(a: Num): Scalar { return scalar("softplus", Opcode.Softplus, [a]); }

/**
 * a(1 + erf(a/√2))/2, the exact form.
 *
 * @throws `shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are
 * @example
 * gelu(s)
 */
export function gelu(a: Num): Scalar { return scalar("gelu", Opcode.Gelu, [a]); }
