//! What every operation means, in words and in numbers: the table that `docs/OPERATIONS.md` is generated from.
//!
//! The numbers are kinks, ties and edges of domains: operands, the value there and the slope with respect to each
//! operand. A test runs every line of them on every backend, so what the documentation says is what happens.

use super::Opcode;

/// What an operation gives at a point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Outcome {
    Value(f64),
    /// Of an operation that gives several.
    Values(&'static [f64]),
    /// Not defined: the residual is flagged as not finite.
    Undefined,
}

/// An operation at a kink, a tie or an edge.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The operands' scalars; of [`Opcode::PowInt`] the exponent besides.
    pub at: &'static [f64],
    pub value: Outcome,
    /// ∂/∂operand, one after the other, value by value; none where the value is not defined.
    pub slopes: &'static [f64],
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// As it is written in TypeScript.
    pub usage: &'static str,
    pub opcode: Opcode,
    /// Scalars of each operand.
    pub widths: &'static [u32],
    pub value: &'static str,
    pub derivative: &'static str,
    /// What happens at kinks, ties and edges.
    pub remark: &'static str,
    pub edges: &'static [Edge],
}

const fn at(at: &'static [f64], value: f64, slopes: &'static [f64]) -> Edge {
    Edge { at, value: Outcome::Value(value), slopes }
}

/// Several values, and the rows of their Jacobian.
const fn all(at: &'static [f64], values: &'static [f64], slopes: &'static [f64]) -> Edge {
    Edge { at, value: Outcome::Values(values), slopes }
}

const fn undefined(at: &'static [f64]) -> Edge {
    Edge { at, value: Outcome::Undefined, slopes: &[] }
}

macro_rules! rules {
    ($($usage:literal, $opcode:ident $widths:expr, $value:literal, $derivative:literal, $remark:literal, [$($edge:expr),* $(,)?];)*) => {
        pub const RULES: &[Rule] = &[$(Rule {
            usage: $usage, opcode: Opcode::$opcode, widths: &$widths, value: $value, derivative: $derivative, remark: $remark, edges: &[$($edge),*],
        }),*];
    };
}

const PI: f64 = std::f64::consts::PI;
const HALF_PI: f64 = std::f64::consts::FRAC_PI_2;
const LN_2: f64 = std::f64::consts::LN_2;
const TWO_OVER_ROOT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;

rules! {
    "a.add(b)", Add [1, 1], "a + b", "1, 1", "", [];
    "a.sub(b)", Sub [1, 1], "a − b", "1, −1", "", [];
    "a.mul(b)", Mul [1, 1], "a · b", "b, a", "", [at(&[0.0, 3.0], 0.0, &[3.0, 0.0])];
    "a.div(b)", Div [1, 1], "a / b", "1/b, −a/b²", "undefined at b = 0", [undefined(&[1.0, 0.0]), undefined(&[0.0, 0.0]), at(&[0.0, 2.0], 0.0, &[0.5, 0.0])];
    "a.neg()", Neg [1], "−a", "−1", "", [];
    "a.square()", Square [1], "a²", "2a", "", [at(&[0.0], 0.0, &[0.0])];
    "cube(a)", Cube [1], "a³", "3a²", "", [at(&[-2.0], -8.0, &[12.0])];
    "reciprocal(a)", Reciprocal [1], "1/a", "−1/a²", "undefined at 0", [undefined(&[0.0])];
    "sqrt(a)", Sqrt [1], "√a", "1/(2√a)", "slope 0 at 0; undefined below", [at(&[0.0], 0.0, &[0.0]), undefined(&[-1.0])];
    "rsqrt(a)", Rsqrt [1], "1/√a", "−1/(2a√a)", "undefined at 0 and below", [undefined(&[0.0]), undefined(&[-1.0])];
    "cbrt(a)", Cbrt [1], "∛a", "1/(3∛a²)", "slope 0 at 0", [at(&[0.0], 0.0, &[0.0]), at(&[-8.0], -2.0, &[1.0 / 12.0])];
    "pow(a, b)", Pow [1, 1], "aᵇ", "b·aᵇ⁻¹, aᵇ ln a", "a = 0: 0 for b > 0, 1 for b = 0, undefined for b < 0; there ∂a is 1 for b = 1 and else 0, ∂b is 0. a < 0: as for every a where b is whole and does not move (a number, data, `detach`, a rounded value), else undefined",
        [at(&[0.0, 0.0], 1.0, &[0.0, 0.0]), at(&[0.0, 1.0], 0.0, &[1.0, 0.0]), at(&[0.0, 2.0], 0.0, &[0.0, 0.0]), at(&[0.0, 0.5], 0.0, &[0.0, 0.0]), undefined(&[0.0, -1.0]), undefined(&[-2.0, 2.0]), at(&[4.0, 0.5], 2.0, &[0.25, 4.0 * LN_2])];
    "pow(a, n)", PowInt [1], "aⁿ, n a whole number from −1024 to 1024 written as a number", "n·aⁿ⁻¹", "by multiplication, for every a; 0⁰ = 1; undefined at a = 0 for n < 0",
        [at(&[0.0, 0.0], 1.0, &[0.0]), at(&[0.0, 1.0], 0.0, &[1.0]), at(&[-2.0, 2.0], 4.0, &[-4.0]), at(&[-2.0, 3.0], -8.0, &[12.0]), at(&[2.0, -2.0], 0.25, &[-0.25]), undefined(&[0.0, -1.0])];
    "exp(a)", Exp [1], "eᵃ", "eᵃ", "not finite where it overflows", [at(&[0.0], 1.0, &[1.0]), at(&[-200.0], 0.0, &[0.0])];
    "exp2(a)", Exp2 [1], "2ᵃ", "2ᵃ ln 2", "not finite where it overflows", [at(&[10.0], 1024.0, &[1024.0 * LN_2])];
    "expm1(a)", Expm1 [1], "eᵃ − 1", "eᵃ", "exact to rounding near 0", [at(&[0.0], 0.0, &[1.0])];
    "log(a)", Log [1], "ln a", "1/a", "undefined at 0 and below", [undefined(&[0.0]), undefined(&[-1.0]), at(&[1.0], 0.0, &[1.0])];
    "log2(a)", Log2 [1], "log₂ a", "1/(a ln 2)", "undefined at 0 and below", [undefined(&[0.0]), at(&[8.0], 3.0, &[0.125 / LN_2])];
    "log10(a)", Log10 [1], "log₁₀ a", "1/(a ln 10)", "undefined at 0 and below", [undefined(&[0.0]), at(&[1.0], 0.0, &[std::f64::consts::LOG10_E])];
    "log1p(a)", Log1p [1], "ln(1 + a)", "1/(1 + a)", "undefined at −1 and below", [undefined(&[-1.0]), undefined(&[-2.0]), at(&[0.0], 0.0, &[1.0])];
    "sin(a)", Sin [1], "sin a", "cos a", "", [at(&[0.0], 0.0, &[1.0])];
    "cos(a)", Cos [1], "cos a", "−sin a", "", [at(&[0.0], 1.0, &[0.0])];
    "tan(a)", Tan [1], "tan a", "1 + tan² a", "", [at(&[0.0], 0.0, &[1.0])];
    "asin(a)", Asin [1], "arcsin a", "1/√(1 − a²)", "slope 0 at ±1; undefined beyond", [at(&[1.0], HALF_PI, &[0.0]), at(&[-1.0], -HALF_PI, &[0.0]), undefined(&[1.5]), undefined(&[-1.5])];
    "acos(a)", Acos [1], "arccos a", "−1/√(1 − a²)", "slope 0 at ±1; undefined beyond", [at(&[1.0], 0.0, &[0.0]), at(&[-1.0], PI, &[0.0]), undefined(&[1.5]), undefined(&[-1.5])];
    "atan(a)", Atan [1], "arctan a", "1/(1 + a²)", "", [at(&[0.0], 0.0, &[1.0])];
    "atan2(y, x)", Atan2 [1, 1], "the angle of (x, y), in [−π, π]", "x/(x² + y²), −y/(x² + y²)", "0 with slopes 0 at the origin; π on the negative x axis, whatever the sign of a zero",
        [at(&[0.0, 0.0], 0.0, &[0.0, 0.0]), at(&[0.0, -2.0], PI, &[-0.5, 0.0]), at(&[-0.0, -2.0], PI, &[-0.5, 0.0]), at(&[3.0, 0.0], HALF_PI, &[0.0, -1.0 / 3.0]), at(&[0.0, 2.0], 0.0, &[0.5, 0.0])];
    "sinh(a)", Sinh [1], "sinh a", "cosh a", "", [at(&[0.0], 0.0, &[1.0])];
    "cosh(a)", Cosh [1], "cosh a", "sinh a", "", [at(&[0.0], 1.0, &[0.0])];
    "tanh(a)", Tanh [1], "tanh a", "1 − tanh² a", "", [at(&[0.0], 0.0, &[1.0]), at(&[100.0], 1.0, &[0.0])];
    "asinh(a)", Asinh [1], "arsinh a", "1/√(1 + a²)", "", [at(&[0.0], 0.0, &[1.0])];
    "acosh(a)", Acosh [1], "arcosh a", "1/√(a² − 1)", "slope 0 at 1; undefined below", [at(&[1.0], 0.0, &[0.0]), undefined(&[0.5])];
    "atanh(a)", Atanh [1], "artanh a", "1/(1 − a²)", "undefined at ±1 and beyond", [at(&[0.0], 0.0, &[1.0]), undefined(&[1.0]), undefined(&[-1.0]), undefined(&[2.0])];
    "erf(a)", Erf [1], "2/√π ∫₀ᵃ e^(−t²) dt", "2/√π e^(−a²)", "", [at(&[0.0], 0.0, &[TWO_OVER_ROOT_PI]), at(&[10.0], 1.0, &[0.0])];
    "hypot(a, b, …)", Hypot [1, 1], "√(a² + b² + …), without overflow", "a/hypot, b/hypot, …", "slopes 0 at 0", [at(&[0.0, 0.0], 0.0, &[0.0, 0.0]), at(&[3e20, 4e20], 5e20, &[0.6, 0.8])];
    "abs(a)", Abs [1], "|a|", "sign a", "slope 0 at 0", [at(&[0.0], 0.0, &[0.0]), at(&[-2.0], 2.0, &[-1.0])];
    "sign(a)", Sign [1], "−1, 0 or 1", "0", "0 at 0", [at(&[0.0], 0.0, &[0.0]), at(&[-3.0], -1.0, &[0.0])];
    "floor(a)", Floor [1], "⌊a⌋", "0", "slope 0 at the jumps too", [at(&[2.0], 2.0, &[0.0]), at(&[-0.5], -1.0, &[0.0])];
    "ceil(a)", Ceil [1], "⌈a⌉", "0", "slope 0 at the jumps too", [at(&[2.0], 2.0, &[0.0]), at(&[0.5], 1.0, &[0.0])];
    "round(a)", Round [1], "the nearest whole number", "0", "of two as near the even one", [at(&[0.5], 0.0, &[0.0]), at(&[1.5], 2.0, &[0.0]), at(&[-2.5], -2.0, &[0.0])];
    "fract(a)", Fract [1], "a − ⌊a⌋", "1", "0 at whole numbers", [at(&[3.0], 0.0, &[1.0]), at(&[-0.25], 0.75, &[1.0])];
    "mod(a, b)", Mod [1, 1], "a − b⌊a/b⌋, of the sign of b", "1, −⌊a/b⌋", "0 at multiples of b; undefined at b = 0", [at(&[6.0, 3.0], 0.0, &[1.0, -2.0]), at(&[-1.0, 3.0], 2.0, &[1.0, 1.0]), at(&[1.0, -3.0], -2.0, &[1.0, 1.0]), undefined(&[1.0, 0.0])];
    "min(a, b, …)", Min [1, 1], "the least", "1 for it, 0 for the others", "of equal ones the first", [at(&[2.0, 2.0], 2.0, &[1.0, 0.0]), at(&[3.0, 2.0], 2.0, &[0.0, 1.0])];
    "max(a, b, …)", Max [1, 1], "the greatest", "1 for it, 0 for the others", "of equal ones the first", [at(&[2.0, 2.0], 2.0, &[1.0, 0.0]), at(&[3.0, 4.0], 4.0, &[0.0, 1.0])];
    "clamp(x, low, high)", Clamp [1, 1, 1], "min(max(x, low), high)", "1 for the one taken", "x itself at both bounds", [at(&[1.0, 1.0, 2.0], 1.0, &[1.0, 0.0, 0.0]), at(&[2.0, 1.0, 2.0], 2.0, &[1.0, 0.0, 0.0]), at(&[0.0, 1.0, 2.0], 1.0, &[0.0, 1.0, 0.0]), at(&[9.0, 1.0, 2.0], 2.0, &[0.0, 0.0, 1.0])];
    "mix(a, b, t)", Mix [1, 1, 1], "a(1 − t) + bt", "1 − t, t, b − a", "", [at(&[2.0, 6.0, 1.0], 6.0, &[0.0, 1.0, 4.0])];
    "step(edge, x)", Step [1, 1], "1 where edge ≤ x, else 0", "0, 0", "1 at the edge", [at(&[2.0, 2.0], 1.0, &[0.0, 0.0]), at(&[2.0, 1.0], 0.0, &[0.0, 0.0])];
    "smoothstep(low, high, x)", Smoothstep [1, 1, 1], "t²(3 − 2t), t = clamp((x − low)/(high − low), 0, 1)", "by the chain rule", "0 and 1 with slope 0 at the bounds and beyond; undefined where low = high", [at(&[0.0, 1.0, 0.0], 0.0, &[0.0, 0.0, 0.0]), at(&[0.0, 1.0, 1.0], 1.0, &[0.0, 0.0, 0.0]), at(&[0.0, 2.0, 1.0], 0.5, &[-0.375, -0.375, 0.75]), undefined(&[1.0, 1.0, 0.5])];
    "sigmoid(a)", Sigmoid [1], "1/(1 + e⁻ᵃ)", "σ(a)σ(−a)", "no overflow", [at(&[0.0], 0.5, &[0.25]), at(&[-1000.0], 0.0, &[0.0]), at(&[1000.0], 1.0, &[0.0])];
    "relu(a)", Relu [1], "a where a > 0, else 0", "1 where a > 0, else 0", "slope 0 at 0", [at(&[0.0], 0.0, &[0.0])];
    "leakyRelu(a, slope)", LeakyRelu [1, 1], "a where a > 0, else slope · a", "1 or slope, 0 or a", "at 0 as below it", [at(&[0.0, 0.1], 0.0, &[0.1, 0.0]), at(&[-2.0, 0.1], -0.2, &[0.1, -2.0])];
    "softplus(a)", Softplus [1], "ln(1 + eᵃ)", "σ(a)", "no overflow", [at(&[0.0], LN_2, &[0.5]), at(&[1000.0], 1000.0, &[1.0])];
    "gelu(a)", Gelu [1], "a(1 + erf(a/√2))/2", "by the chain rule", "", [at(&[0.0], 0.0, &[0.5])];
    "logsumexp([a, b, …])", LogSumExp [1, 1], "ln(eᵃ + eᵇ + …)", "the softmax", "no overflow", [at(&[1000.0, 1000.0], 1000.0 + LN_2, &[0.5, 0.5])];
    "sum([a, b, …])", Sum [1, 1], "a + b + …", "1", "of scalars or vectors, at least one", [];
    "mean([a, b, …])", Mean [1, 1], "(a + b + …)/n", "1/n", "of scalars or vectors, at least one", [at(&[1.0, 2.0], 1.5, &[0.5, 0.5])];
    "sumOver(entries, body)", SumOver [1], "Σ body(entry) over a row of any length", "∂body/∂entry for every entry", "an empty row sums to 0", [];
    "a.lt(b), a.gt(b)", Lt [1, 1], "whether a < b, a > b", "0", "", [at(&[2.0, 2.0], 0.0, &[0.0, 0.0])];
    "a.le(b), a.ge(b)", Le [1, 1], "whether a ≤ b, a ≥ b", "0", "", [at(&[2.0, 2.0], 1.0, &[0.0, 0.0])];
    "a.eq(b)", Eq [1, 1], "whether a = b", "0", "", [at(&[2.0, 2.0], 1.0, &[0.0, 0.0]), at(&[2.0, 3.0], 0.0, &[0.0, 0.0])];
    "a.ne(b)", Ne [1, 1], "whether a ≠ b", "0", "", [at(&[2.0, 2.0], 0.0, &[0.0, 0.0])];
    "p.and(q)", And [1, 1], "both", "0", "", [at(&[1.0, 0.0], 0.0, &[0.0, 0.0])];
    "p.or(q)", Or [1, 1], "one or both", "0", "", [at(&[1.0, 0.0], 1.0, &[0.0, 0.0])];
    "p.not()", Not [1], "the opposite", "0", "", [at(&[1.0], 0.0, &[0.0])];
    "select(p, a, b)", Select [1, 1, 1], "a where p, else b", "of the branch taken", "the other branch leaves no trace, even where it is undefined", [at(&[1.0, 5.0, 6.0], 5.0, &[0.0, 1.0, 0.0]), at(&[0.0, 5.0, 6.0], 6.0, &[0.0, 0.0, 1.0])];
    "vec(a, b, …)", Pack [1, 1], "(a, b, …)", "the unit vectors", "of scalars, one after the other", [all(&[3.0, 4.0], &[3.0, 4.0], &[1.0, 0.0, 0.0, 1.0])];
    "dot(a, b)", Dot [2, 2], "Σ aᵢbᵢ", "b, a", "", [at(&[1.0, 2.0, 3.0, 4.0], 11.0, &[3.0, 4.0, 1.0, 2.0])];
    "cross(a, b)", Cross [2, 2], "a × b (a scalar in 2-D)", "by the product rule", "", [at(&[1.0, 0.0, 0.0, 1.0], 1.0, &[1.0, 0.0, 0.0, 1.0])];
    "norm(a)", Norm [2], "‖a‖", "a/‖a‖", "slopes 0 at 0", [at(&[0.0, 0.0], 0.0, &[0.0, 0.0]), at(&[3.0, 4.0], 5.0, &[0.6, 0.8])];
    "a.normSq()", NormSq [2], "‖a‖²", "2a", "", [at(&[0.0, 0.0], 0.0, &[0.0, 0.0])];
    "normalize(a)", Normalize [1], "a/‖a‖", "(I − ââᵀ)/‖a‖", "0 with slopes 0 at 0", [at(&[0.0], 0.0, &[0.0]), at(&[-2.0], -1.0, &[0.0])];
    "distance(a, b)", Distance [2, 2], "‖a − b‖", "±(a − b)/‖a − b‖", "slopes 0 where a = b", [at(&[1.0, 2.0, 1.0, 2.0], 0.0, &[0.0, 0.0, 0.0, 0.0])];
    "angleBetween(a, b)", AngleBetween [2, 2], "atan2(‖a × b‖, a · b), in [0, π]", "by the chain rule", "slopes 0 where they are parallel or opposite (a kink); 0 if one is 0", [at(&[1.0, 0.0, 2.0, 0.0], 0.0, &[0.0, 0.0, 0.0, 0.0]), at(&[1.0, 0.0, -1.0, 0.0], PI, &[0.0, 0.0, 0.0, 0.0]), at(&[0.0, 0.0, 1.0, 0.0], 0.0, &[0.0, 0.0, 0.0, 0.0])];
    "rotateXYZ(angles, v)", RotateXYZ [3, 3], "Rz Ry Rx v, angles in radians", "by the product rule", "", [all(&[0.0, 0.0, HALF_PI, 1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[]),
        all(&[0.0, 0.0, 0.0, 1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], &[0.0, 3.0, -2.0, 1.0, 0.0, 0.0, -3.0, 0.0, 1.0, 0.0, 1.0, 0.0, 2.0, -1.0, 0.0, 0.0, 0.0, 1.0])];
    "m.mul(v)", MatVec [4, 2], "m v", "by the product rule", "", [all(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[17.0, 39.0], &[5.0, 6.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 5.0, 6.0, 3.0, 4.0])];
    "m.mul(n)", MatMul [4, 4], "m n", "by the product rule", "", [all(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &[19.0, 22.0, 43.0, 50.0],
        &[5.0, 7.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 6.0, 8.0, 0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 5.0, 7.0, 3.0, 0.0, 4.0, 0.0, 0.0, 0.0, 6.0, 8.0, 0.0, 3.0, 0.0, 4.0])];
    "m.transpose()", Transpose [4], "mᵀ", "1 for the same entry", "", [all(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0], &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])];
    "m.determinant()", Determinant [4], "det m, 2×2 or 3×3", "the cofactors", "", [at(&[1.0, 2.0, 3.0, 4.0], -2.0, &[4.0, -3.0, -2.0, 1.0])];
    "m.inverse()", Inverse [4], "adj(m)/det m", "−m⁻¹ dm m⁻¹", "undefined where det m = 0", [];
    "p.mul(q)", QuatMul [4, 4], "the quaternion product p q", "by the product rule", "", [all(&[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0], &[0.0, 0.0, 1.0, 0.0], &[]),
        all(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &[24.0, 48.0, 48.0, -6.0], &[8.0, 7.0, -6.0, 5.0, 4.0, -3.0, 2.0, 1.0, -7.0, 8.0, 5.0, 6.0, 3.0, 4.0, -1.0, 2.0, 6.0, -5.0, 8.0, 7.0, -2.0, 1.0, 4.0, 3.0, -5.0, -6.0, -7.0, 8.0, -1.0, -2.0, -3.0, 4.0])];
    "q.conjugate()", QuatConjugate [4], "(−x, −y, −z, w)", "−1, −1, −1, 1", "", [all(&[1.0, 2.0, 3.0, 4.0], &[-1.0, -2.0, -3.0, 4.0], &[-1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0])];
    "q.inverse()", QuatInverse [4], "q̄/‖q‖²", "by the quotient rule", "undefined at 0", [];
    "q.rotate(v)", QuatRotate [4, 3], "q v q⁻¹ for ‖q‖ = 1", "by the product rule", "of other lengths of q it is that polynomial: v + 2w(u × v) + 2u × (u × v)", [];
    "fromAngleAxis(v)", QuatFromAngleAxis [3], "(v sin(‖v‖/2)/‖v‖, cos(‖v‖/2))", "by the chain rule", "a series near 0: smooth there", [];
    "quatExp(v)", QuatExp [3], "(v sin‖v‖/‖v‖, cos‖v‖)", "by the chain rule", "a series near 0: smooth there", [];
    "q.log()", QuatLog [4], "the v with exp v = q, ‖v‖ ≤ π", "by the chain rule", "a series near 1; 0 with slopes 0 at −1, where any axis fits", [];
    "q.toAngleAxis()", QuatToAngleAxis [4], "the rotation vector, ‖v‖ ≤ π", "by the chain rule", "q and −q give the same", [];
    "q.toMatrix()", QuatToMatrix [4], "the rotation matrix, for ‖q‖ = 1", "by the product rule", "of other lengths of q it is that polynomial: 1 − 2(y² + z²), 2(xy − zw), …", [all(&[0.0, 0.0, std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::FRAC_1_SQRT_2], &[0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0], &[]),
        all(&[0.0, 0.0, 0.0, 1.0], &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0, -2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])];
    "fromMatrix(m)", QuatFromMatrix [9], "the unit quaternion of a rotation", "by the chain rule", "by its largest component (Shepperd)", [];
    "triangleArea(a, b, c)", TriangleArea [2, 2, 2], "‖(b − a) × (c − a)‖/2; signed in 2-D", "by the chain rule", "in 3-D slopes 0 where it is 0", [at(&[0.0, 0.0, 1.0, 0.0, 0.0, 1.0], 0.5, &[-0.5, -0.5, 0.5, 0.0, 0.0, 0.5])];
    "triangleNormal(a, b, c)", TriangleNormal [3, 3, 3], "the unit normal", "by the chain rule", "0 with slopes 0 where the area is 0", [];
    "dihedralAngle(a, b, c, d)", DihedralAngle [3, 3, 3, 3], "the fold of abc and dcb at bc, in [−π, π]", "by the chain rule", "0 when flat; 0 with slopes 0 where a triangle has no area", [at(&[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0], 0.0, &[])];
    "cotangent(a, b, c)", Cotangent [2, 2, 2], "the cotangent of the angle at a", "by the chain rule", "0 with slopes 0 where the area is 0", [at(&[0.0, 0.0, 1.0, 0.0, 2.0, 0.0], 0.0, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), at(&[0.0, 0.0, 1.0, 0.0, 0.0, 1.0], 0.0, &[-1.0, -1.0, 0.0, 1.0, 1.0, 0.0])];
    "eigenSymmetric(m)", EigenSymmetric [9], "eigenvalues, ascending, and unit eigenvectors of a symmetric 3×3 matrix", "vᵢ ⊗ vᵢ; Σⱼ vⱼ (vⱼᵀ dm vᵢ)/(λᵢ − λⱼ)", "between equal eigenvalues the vectors are held (slope 0)", [];
    "closestRotation(m)", ClosestRotation [9], "the rotation R that maximises tr(RᵀM)", "by the implicit function theorem", "det R = 1 always; where it is not unique one is taken and held", [];
}

/// The table as Markdown.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Operations\n\nGenerated from `src/expr/rules.rs`, whose numbers a test runs on every backend (`LEASTWISE_BLESS=1 cargo test --test rules` writes this page anew). \
         Derivatives are with respect to each operand in turn. *Undefined* means that the residual is flagged as not finite: at the start values an error names term and instance, and a step that leads there is rejected. \
         What is 0 whatever its operands are is simplified to 0, even where they are undefined: 0 · a, a − a, 0/a. \
         How exact the functions are: [PRECISION.md](PRECISION.md). How expressions are written: [EXPRESSIONS.md](EXPRESSIONS.md).\n\n\
         | operation | value | derivative | at kinks, ties and edges |\n|---|---|---|---|\n",
    );
    for rule in RULES {
        let cell = |text: &str| text.replace('|', "\\|");
        text.push_str(&format!("| `{}` | {} | {} | {} |\n", cell(rule.usage), cell(rule.value), cell(rule.derivative), cell(rule.remark)));
    }
    text
}
