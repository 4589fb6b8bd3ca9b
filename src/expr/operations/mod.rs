//! The operations: a file each, or a family a file, which declare what [`operation`](crate::operation) asks for.
//!
//! This list is generated from the files (`npm run generate`), and a test holds it to them.

mod arithmetic;
mod blending;
mod comparison;
mod error_function;
mod exponential;
mod extremes;
mod hyperbolic;
mod internal;
mod inverse_hyperbolic;
mod inverse_trigonometry;
mod logarithm;
mod logic;
mod logistic;
mod matrices;
mod power;
mod quaternions;
mod rectifier;
mod roots;
mod rounding;
mod size;
mod sums;
mod triangles;
mod trigonometry;
mod values;
mod vectors;

pub use arithmetic::*;
pub use blending::*;
pub use comparison::*;
pub use error_function::*;
pub use exponential::*;
pub use extremes::*;
pub use hyperbolic::*;
pub use internal::*;
pub use inverse_hyperbolic::*;
pub use inverse_trigonometry::*;
pub use logarithm::*;
pub use logic::*;
pub use logistic::*;
pub use matrices::*;
pub use power::*;
pub use quaternions::*;
pub use rectifier::*;
pub use roots::*;
pub use rounding::*;
pub use size::*;
pub use sums::*;
pub use triangles::*;
pub use trigonometry::*;
pub use values::*;
pub use vectors::*;

use crate::difference::Pair;
use crate::domain::{KnownSign, Operand};
use crate::operation::{Arity, BinaryOperation, Instruction, Numerics, Slope, Symmetry, UnaryOperation};
use crate::operation::{binary_operations, instructions, unary_operations};
use crate::rules::{Function, Rule};
use crate::{Expr, Graph, Symbol};

instructions! {
    /// low, high word of an f64 → a scalar
    Literal,
    /// source (slots first, then data columns) → its scalars
    Input,
    /// value, index → one scalar of it
    Component,
    /// values… → their scalars, one after the other
    Pack,
    /// a → −a, elementwise
    Neg,
    /// a, b → a + b, elementwise; a scalar goes with every element
    Add,
    /// a, b → a − b
    Sub,
    /// a, b → a · b
    Mul,
    /// a, b → a / b
    Div,
    /// a → a²
    Square,
    /// a → √a
    Sqrt,
    /// a → sin a
    Sin,
    /// a → cos a
    Cos,
    /// a, b → Σ aᵢbᵢ
    Dot,
    /// a, b → a × b; a scalar for two 2-vectors
    Cross,
    /// a → ‖a‖, with derivative 0 at 0
    Norm,
    /// a → ‖a‖²
    NormSq,
    /// a → a / ‖a‖, and 0 at 0
    Normalize,
    /// angles, v → Rz(angles.z) · Ry(angles.y) · Rx(angles.x) · v
    RotateXYZ,
    /// values… → their elementwise sum
    Sum,
    /// a, b → whether a < b
    Lt,
    /// a, b → whether a ≤ b
    Le,
    /// a, b → both
    And,
    /// a, b → one of them
    Or,
    /// a → not a
    Not,
    /// condition, then, otherwise → one of the two, elementwise
    Select,
    /// m (row by row), v → m · v
    MatVec,
    /// a → |a|
    Abs,
    /// a → −1, 0 or 1
    Sign,
    /// a → ⌊a⌋
    Floor,
    /// a → ⌈a⌉
    Ceil,
    /// a → the nearest integer, the even one of two
    Round,
    /// a → a − ⌊a⌋
    Fract,
    /// a, b → a − b⌊a/b⌋
    Mod,
    /// values… → the least, the first of equal ones
    Min,
    /// values… → the greatest, the first of equal ones
    Max,
    /// x, low, high → min(max(x, low), high)
    Clamp,
    /// a, b, t → a(1 − t) + bt
    Mix,
    /// edge, x → 1 where edge ≤ x, else 0
    Step,
    /// low, high, x → t²(3 − 2t), t = clamp((x − low)/(high − low), 0, 1)
    Smoothstep,
    /// a → 1/a
    Reciprocal,
    /// a → a³
    Cube,
    /// a → 1/√a
    Rsqrt,
    /// a → ∛a
    Cbrt,
    /// value, i32 exponent → aⁿ by multiplication
    PowInt,
    /// a, b → aᵇ for a ≥ 0, and below for whole b
    Pow,
    /// a → eᵃ
    Exp,
    /// a → 2ᵃ
    Exp2,
    /// a → eᵃ − 1
    Expm1,
    /// a → ln a
    Log,
    /// a → log₂ a
    Log2,
    /// a → log₁₀ a
    Log10,
    /// a → ln(1 + a)
    Log1p,
    /// a → tan a
    Tan,
    /// a → arcsin a
    Asin,
    /// a → arccos a
    Acos,
    /// a → arctan a
    Atan,
    /// y, x → the angle of (x, y)
    Atan2,
    /// a → sinh a
    Sinh,
    /// a → cosh a
    Cosh,
    /// a → tanh a
    Tanh,
    /// a → arsinh a
    Asinh,
    /// a → arcosh a
    Acosh,
    /// a → artanh a
    Atanh,
    /// a → the error function
    Erf,
    /// scalars… → √Σaᵢ², without overflow
    Hypot,
    /// a → 1/(1 + e⁻ᵃ)
    Sigmoid,
    /// a → a where a > 0, else 0
    Relu,
    /// a, slope → a where a > 0, else slope · a
    LeakyRelu,
    /// a → ln(1 + eᵃ)
    Softplus,
    /// a → a(1 + erf(a/√2))/2
    Gelu,
    /// scalars… → ln Σ eᵃ
    LogSumExp,
    /// values… → their elementwise mean
    Mean,
    /// a, b → whether a = b
    Eq,
    /// a, b → whether a ≠ b
    Ne,
    /// a, b → ‖a − b‖
    Distance,
    /// a, b → the angle between two 2- or 3-vectors, in [0, π]
    AngleBetween,
    /// a, b → a · b for two 2×2 or 3×3 matrices, row by row
    MatMul,
    /// m → mᵀ, 2×2 or 3×3
    Transpose,
    /// m → det m, 2×2 or 3×3
    Determinant,
    /// m → m⁻¹, 2×2 or 3×3
    Inverse,
    /// p, q → p · q (x, y, z, w)
    QuatMul,
    /// q → (−x, −y, −z, w)
    QuatConjugate,
    /// q → its conjugate / ‖q‖²
    QuatInverse,
    /// unit q, v → q v q⁻¹
    QuatRotate,
    /// rotation vector → unit quaternion
    QuatFromAngleAxis,
    /// unit quaternion → rotation vector of at most π
    QuatToAngleAxis,
    /// rotation matrix → unit quaternion
    QuatFromMatrix,
    /// unit quaternion → rotation matrix
    QuatToMatrix,
    /// v → (v sin‖v‖/‖v‖, cos‖v‖)
    QuatExp,
    /// unit quaternion → v with exp v = q
    QuatLog,
    /// a, b, c → ‖(b − a) × (c − a)‖/2 (2-D: signed)
    TriangleArea,
    /// a, b, c → the unit normal, 0 where the area is
    TriangleNormal,
    /// a, b, c, d → the signed angle at edge bc between triangles abc and dcb
    DihedralAngle,
    /// a, b, c → the cotangent of the angle at a
    Cotangent,
    /// symmetric 3×3 matrix → eigenvalues, ascending, then their unit vectors
    EigenSymmetric,
    /// 3×3 matrix → the rotation closest to it
    ClosestRotation,
    /// what one entry of a row gives → its sum over the row's entries
    SumOver,
}

unary_operations! {
    /// a → −a, elementwise
    Neg,
    /// a → |a|
    Abs,
    /// a → ⌊a⌋
    Floor,
    /// a → ⌈a⌉
    Ceil,
    /// a → the nearest integer, the even one of two
    Round,
    /// a → √a
    Sqrt,
    /// a → ∛a
    Cbrt,
    /// a → eᵃ
    Exp,
    /// a → 2ᵃ
    Exp2,
    /// a → eᵃ − 1
    Expm1,
    /// a → ln a
    Log,
    /// a → ln(1 + a)
    Log1p,
    /// a → sin a
    Sin,
    /// a → cos a
    Cos,
    /// a → tan a
    Tan,
    /// a → arcsin a
    Asin,
    /// a → arccos a
    Acos,
    /// a → arctan a
    Atan,
    /// a → sinh a
    Sinh,
    /// a → cosh a
    Cosh,
    /// a → tanh a
    Tanh,
    /// a → arsinh a
    Asinh,
    /// a → arcosh a
    Acosh,
    /// a → artanh a
    Atanh,
    /// a → the error function
    Erf,
    /// a → 1/(1 + e⁻ᵃ)
    Sigmoid,
    /// a → ln(1 + eᵃ)
    Softplus,
    /// a → not a
    Not,
    /// 1 where the operand is neither infinite nor NaN, by its bits; else 0.
    Finite,
    /// The operand, without a derivative. It exists only until a program is written.
    Detach,
}

binary_operations! {
    /// a, b → a + b, elementwise; a scalar goes with every element
    Add,
    /// a, b → a − b
    Sub,
    /// a, b → a · b
    Mul,
    /// a, b → a / b
    Div,
    /// a, b → aᵇ for a ≥ 0, and below for whole b
    Pow,
    /// y, x → the angle of (x, y)
    Atan2,
    /// a, b → whether a < b
    Lt,
    /// a, b → whether a ≤ b
    Le,
    /// a, b → both
    And,
    /// a, b → one of them
    Or,
}

/// Hands a macro the nodes of one operand that are functions of the devices' library.
#[macro_export]
macro_rules! functions_of_one {
    ($with:ident) => {
        $with! { Cbrt, Exp, Exp2, Expm1, Log, Log1p, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Erf, Sigmoid, Softplus }
    };
}

/// The same of two operands.
#[macro_export]
macro_rules! functions_of_two {
    ($with:ident) => {
        $with! { Pow, Atan2 }
    };
}
