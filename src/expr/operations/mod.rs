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
    /// A number.
    Literal,
    /// An input of the traced function.
    Input,
    /// A component of a vector.
    Component,
    /// A vector of scalars.
    Pack,
    /// −x.
    Neg,
    /// Sum of two.
    Add,
    /// Difference of two.
    Sub,
    /// Product of two.
    Mul,
    /// Quotient of two.
    Div,
    /// x².
    Square,
    /// Square root.
    Sqrt,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Scalar product.
    Dot,
    /// Vector product.
    Cross,
    /// Euclidean norm.
    Norm,
    /// Squared norm.
    NormSq,
    /// Vector of unit length.
    Normalize,
    /// A vector, rotated by Euler angles about x, then y, then z.
    RotateXYZ,
    /// Sum of a vector's components.
    Sum,
    /// a < b.
    Lt,
    /// a ≤ b.
    Le,
    /// 1 if neither is 0, else 0.
    And,
    /// 1 if one of them is not 0, else 0.
    Or,
    /// 1 if x = 0, else 0.
    Not,
    /// One of two, by a condition.
    Select,
    /// Product of a matrix and a vector.
    MatVec,
    /// Absolute value.
    Abs,
    /// Sign: −1, 0 or 1.
    Sign,
    /// Largest integer that is not above x.
    Floor,
    /// Smallest integer that is not below x.
    Ceil,
    /// Nearest integer.
    Round,
    /// x − floor x.
    Fract,
    /// Remainder of a division, with the divisor's sign.
    Mod,
    /// The smaller of two.
    Min,
    /// The larger of two.
    Max,
    /// x, held between two bounds.
    Clamp,
    /// Linear interpolation between two.
    Mix,
    /// 0 below an edge, else 1.
    Step,
    /// Cubic step between two edges.
    Smoothstep,
    /// 1/x.
    Reciprocal,
    /// x³.
    Cube,
    /// 1/√x.
    Rsqrt,
    /// Cube root.
    Cbrt,
    /// Power with an integer exponent.
    PowInt,
    /// Power.
    Pow,
    /// eˣ.
    Exp,
    /// 2ˣ.
    Exp2,
    /// eˣ − 1.
    Expm1,
    /// Natural logarithm.
    Log,
    /// Logarithm to base 2.
    Log2,
    /// Logarithm to base 10.
    Log10,
    /// log(1 + x).
    Log1p,
    /// Tangent.
    Tan,
    /// Arcsine.
    Asin,
    /// Arccosine.
    Acos,
    /// Arctangent.
    Atan,
    /// Angle of the point (x, y).
    Atan2,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// Error function.
    Erf,
    /// √(a² + b²).
    Hypot,
    /// 1/(1 + e⁻ˣ).
    Sigmoid,
    /// max(x, 0).
    Relu,
    /// x above 0, a part of x below.
    LeakyRelu,
    /// log(1 + eˣ).
    Softplus,
    /// Gaussian error linear unit: x·Φ(x).
    Gelu,
    /// log Σ exp xᵢ.
    LogSumExp,
    /// Mean of a vector's components.
    Mean,
    /// a = b.
    Eq,
    /// a ≠ b.
    Ne,
    /// Distance of two points.
    Distance,
    /// Angle between two vectors.
    AngleBetween,
    /// Product of two matrices.
    MatMul,
    /// Transpose of a matrix.
    Transpose,
    /// Determinant of a matrix.
    Determinant,
    /// Inverse of a matrix.
    Inverse,
    /// Product of two quaternions.
    QuatMul,
    /// Conjugate of a quaternion.
    QuatConjugate,
    /// Inverse of a quaternion.
    QuatInverse,
    /// A vector, rotated by a quaternion.
    QuatRotate,
    /// Quaternion of a rotation vector.
    QuatFromAngleAxis,
    /// Rotation vector of a quaternion.
    QuatToAngleAxis,
    /// Quaternion of a rotation matrix.
    QuatFromMatrix,
    /// Rotation matrix of a quaternion.
    QuatToMatrix,
    /// Exponential of a quaternion.
    QuatExp,
    /// Logarithm of a quaternion.
    QuatLog,
    /// Area of a triangle.
    TriangleArea,
    /// Unit normal of a triangle.
    TriangleNormal,
    /// Angle between two triangles with a common edge.
    DihedralAngle,
    /// Cotangent of a triangle's angle.
    Cotangent,
    /// Eigenvalues of a symmetric matrix.
    EigenSymmetric,
    /// Rotation closest to a matrix.
    ClosestRotation,
    /// Sum over the entries of a row.
    SumOver,
}

unary_operations! {
    /// −x.
    Neg,
    /// Absolute value.
    Abs,
    /// Largest integer that is not above x.
    Floor,
    /// Smallest integer that is not below x.
    Ceil,
    /// Nearest integer.
    Round,
    /// Square root.
    Sqrt,
    /// Cube root.
    Cbrt,
    /// eˣ.
    Exp,
    /// 2ˣ.
    Exp2,
    /// eˣ − 1.
    Expm1,
    /// Natural logarithm.
    Log,
    /// log(1 + x).
    Log1p,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Arcsine.
    Asin,
    /// Arccosine.
    Acos,
    /// Arctangent.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// Error function.
    Erf,
    /// 1/(1 + e⁻ˣ).
    Sigmoid,
    /// log(1 + eˣ).
    Softplus,
    /// 1 if x = 0, else 0.
    Not,
    /// 1 where the operand is neither infinite nor NaN, by its bits; else 0.
    Finite,
    /// The operand, without a derivative. It exists only until a program is written.
    Detach,
    /// 1 where the operand is NaN, by its bits; else 0.
    IsNan,
}

binary_operations! {
    /// Sum of two.
    Add,
    /// Difference of two.
    Sub,
    /// Product of two.
    Mul,
    /// Quotient of two.
    Div,
    /// Power.
    Pow,
    /// Angle of the point (x, y).
    Atan2,
    /// a < b.
    Lt,
    /// a ≤ b.
    Le,
    /// 1 if neither is 0, else 0.
    And,
    /// 1 if one of them is not 0, else 0.
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
