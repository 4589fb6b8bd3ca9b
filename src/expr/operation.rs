//! The scalar operations that everything else is made of.
//!
//! What a tape can say (`opcode`) is written in terms of these. Each has a value, a slope (`derivative`), a
//! domain (`domain`), a loop over lanes (`cpu::block`) and a WGSL function (`kernel::wgsl`).

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Unary {
    Neg,
    Abs,
    Floor,
    Ceil,
    /// To the nearest integer, the even one of two.
    Round,
    Sqrt,
    Cbrt,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    /// 1/(1 + e⁻ᵃ)
    Sigmoid,
    /// ln(1 + eᵃ)
    Softplus,
    /// 1 where the operand is 0, else 0.
    Not,
    /// 1 where the operand is neither infinite nor NaN, by its bits; else 0.
    Finite,
    /// The operand, without a derivative. It exists only until a program is written.
    Detach,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    /// aᵇ for a > 0, and for a < 0 where b is whole; 0ᵇ is 0 for b > 0 and 1 for b = 0.
    Pow,
    /// The angle of (x, y) = (right, left), in [−π, π]; 0 at the origin. The sign of a zero does not matter.
    Atan2,
    /// 1 where left < right, else 0.
    Lt,
    /// 1 where left ≤ right, else 0.
    Le,
    /// 1 where both are not 0.
    And,
    /// 1 where one is not 0.
    Or,
}

impl Unary {
    pub const ALL: [Self; 30] = {
        use Unary::*;
        [
            Neg, Abs, Floor, Ceil, Round, Sqrt, Cbrt, Exp, Exp2, Expm1, Log, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh,
            Asinh, Acosh, Atanh, Erf, Sigmoid, Softplus, Not, Finite, Detach,
        ]
    };

    /// The value in f64, by a library that gives the same bits on every platform.
    pub fn apply(self, a: f64) -> f64 {
        match self {
            Self::Neg => -a,
            Self::Abs => a.abs(),
            Self::Floor => libm::floor(a),
            Self::Ceil => libm::ceil(a),
            Self::Round => libm::rint(a),
            Self::Sqrt => libm::sqrt(a),
            Self::Cbrt => libm::cbrt(a),
            Self::Exp => libm::exp(a),
            Self::Exp2 => libm::exp2(a),
            Self::Expm1 => libm::expm1(a),
            Self::Log => libm::log(a),
            Self::Log1p => libm::log1p(a),
            Self::Sin => libm::sin(a),
            Self::Cos => libm::cos(a),
            Self::Tan => libm::tan(a),
            Self::Asin => libm::asin(a),
            Self::Acos => libm::acos(a),
            Self::Atan => libm::atan(a),
            Self::Sinh => libm::sinh(a),
            Self::Cosh => libm::cosh(a),
            Self::Tanh => libm::tanh(a),
            Self::Asinh => libm::asinh(a),
            Self::Acosh => libm::acosh(a),
            Self::Atanh => libm::atanh(a),
            Self::Erf => libm::erf(a),
            Self::Sigmoid => {
                let e = libm::exp(-a.abs());
                if a < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
            }
            Self::Softplus => a.max(0.0) + libm::log1p(libm::exp(-a.abs())),
            Self::Not => f64::from(a == 0.0),
            Self::Finite => f64::from(a.is_finite()),
            Self::Detach => a,
        }
    }
}

impl Binary {
    pub const ALL: [Self; 10] = {
        use Binary::*;
        [Add, Sub, Mul, Div, Pow, Atan2, Lt, Le, And, Or]
    };

    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
            // Adding 0 drops the sign of a zero.
            Self::Pow => libm::pow(if a == 0.0 { 0.0 } else { a }, b),
            Self::Atan2 if a == 0.0 && b == 0.0 => 0.0,
            Self::Atan2 => libm::atan2(a + 0.0, b),
            Self::Lt => f64::from(a < b),
            Self::Le => f64::from(a <= b),
            Self::And => f64::from(a != 0.0 && b != 0.0),
            Self::Or => f64::from(a != 0.0 || b != 0.0),
        }
    }

    /// Whether the operands can change places.
    pub fn commutes(self) -> bool {
        matches!(self, Self::Add | Self::Mul | Self::And | Self::Or)
    }
}
