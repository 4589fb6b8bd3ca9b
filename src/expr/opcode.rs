//! The instructions of a tape, in one table: the reader, the façade's enumeration and the documentation follow it.

/// How many operands an instruction takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arity {
    /// So many values.
    Values(usize),
    /// One value or more.
    OneOrMore,
    /// Words that the instruction reads by itself.
    Words(usize),
}

impl Arity {
    pub fn fits(self, operands: usize) -> bool {
        match self {
            Self::Values(count) | Self::Words(count) => operands == count,
            Self::OneOrMore => operands > 0,
        }
    }

    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Values(1) | Self::Words(1) => "one",
            Self::Values(2) | Self::Words(2) => "two",
            Self::Values(3) | Self::Words(3) => "three",
            Self::Values(_) | Self::Words(_) => "four",
            Self::OneOrMore => "one or more",
        }
    }
}

macro_rules! opcodes {
    ($($name:ident = $code:literal, $arity:expr, $doc:literal;)*) => {
        /// What an instruction of a tape does.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Opcode { $(#[doc = $doc] $name = $code),* }

        impl Opcode {
            /// Every opcode with its name and meaning: the TypeScript enumeration is generated from this table.
            pub const TABLE: &[(Opcode, &str, &str)] = &[$((Self::$name, stringify!($name), $doc)),*];

            pub fn arity(self) -> Arity {
                use Arity::*;
                match self { $(Self::$name => $arity),* }
            }
        }
    };
}

opcodes! {
    Literal = 0, Words(2), "low, high word of an f64 → a scalar";
    Input = 1, Words(1), "source (slots first, then data columns) → its scalars";
    Component = 2, Words(2), "value, index → one scalar of it";
    Pack = 3, OneOrMore, "values… → their scalars, one after the other";
    Neg = 4, Values(1), "a → −a, elementwise";
    Add = 5, Values(2), "a, b → a + b, elementwise; a scalar goes with every element";
    Sub = 6, Values(2), "a, b → a − b";
    Mul = 7, Values(2), "a, b → a · b";
    Div = 8, Values(2), "a, b → a / b";
    Square = 9, Values(1), "a → a²";
    Sqrt = 10, Values(1), "a → √a";
    Sin = 11, Values(1), "a → sin a";
    Cos = 12, Values(1), "a → cos a";
    Dot = 13, Values(2), "a, b → Σ aᵢbᵢ";
    Cross = 14, Values(2), "a, b → a × b; a scalar for two 2-vectors";
    Norm = 15, Values(1), "a → ‖a‖, with derivative 0 at 0";
    NormSq = 16, Values(1), "a → ‖a‖²";
    Normalize = 17, Values(1), "a → a / ‖a‖, and 0 at 0";
    RotateXYZ = 18, Values(2), "angles, v → Rz(angles.z) · Ry(angles.y) · Rx(angles.x) · v";
    Sum = 19, OneOrMore, "values… → their elementwise sum";
    Lt = 20, Values(2), "a, b → whether a < b";
    Le = 21, Values(2), "a, b → whether a ≤ b";
    And = 22, Values(2), "a, b → both";
    Or = 23, Values(2), "a, b → one of them";
    Not = 24, Values(1), "a → not a";
    Select = 25, Values(3), "condition, then, otherwise → one of the two, elementwise";
    MatVec = 26, Values(2), "m (row by row), v → m · v";
    Abs = 27, Values(1), "a → |a|";
    Sign = 28, Values(1), "a → −1, 0 or 1";
    Floor = 29, Values(1), "a → ⌊a⌋";
    Ceil = 30, Values(1), "a → ⌈a⌉";
    Round = 31, Values(1), "a → the nearest integer, the even one of two";
    Fract = 32, Values(1), "a → a − ⌊a⌋";
    Mod = 33, Values(2), "a, b → a − b⌊a/b⌋";
    Min = 34, OneOrMore, "values… → the least, the first of equal ones";
    Max = 35, OneOrMore, "values… → the greatest, the first of equal ones";
    Clamp = 36, Values(3), "x, low, high → min(max(x, low), high)";
    Mix = 37, Values(3), "a, b, t → a(1 − t) + bt";
    Step = 38, Values(2), "edge, x → 1 where edge ≤ x, else 0";
    Smoothstep = 39, Values(3), "low, high, x → t²(3 − 2t), t = clamp((x − low)/(high − low), 0, 1)";
    Reciprocal = 40, Values(1), "a → 1/a";
    Cube = 41, Values(1), "a → a³";
    Rsqrt = 42, Values(1), "a → 1/√a";
    Cbrt = 43, Values(1), "a → ∛a";
    PowInt = 44, Words(2), "value, i32 exponent → aⁿ by multiplication";
    Pow = 45, Values(2), "a, b → aᵇ for a ≥ 0, and below for whole b";
    Exp = 46, Values(1), "a → eᵃ";
    Exp2 = 47, Values(1), "a → 2ᵃ";
    Expm1 = 48, Values(1), "a → eᵃ − 1";
    Log = 49, Values(1), "a → ln a";
    Log2 = 50, Values(1), "a → log₂ a";
    Log10 = 51, Values(1), "a → log₁₀ a";
    Log1p = 52, Values(1), "a → ln(1 + a)";
    Tan = 53, Values(1), "a → tan a";
    Asin = 54, Values(1), "a → arcsin a";
    Acos = 55, Values(1), "a → arccos a";
    Atan = 56, Values(1), "a → arctan a";
    Atan2 = 57, Values(2), "y, x → the angle of (x, y)";
    Sinh = 58, Values(1), "a → sinh a";
    Cosh = 59, Values(1), "a → cosh a";
    Tanh = 60, Values(1), "a → tanh a";
    Asinh = 61, Values(1), "a → arsinh a";
    Acosh = 62, Values(1), "a → arcosh a";
    Atanh = 63, Values(1), "a → artanh a";
    Erf = 64, Values(1), "a → the error function";
    Hypot = 65, OneOrMore, "scalars… → √Σaᵢ², without overflow";
    Sigmoid = 66, Values(1), "a → 1/(1 + e⁻ᵃ)";
    Relu = 67, Values(1), "a → a where a > 0, else 0";
    LeakyRelu = 68, Values(2), "a, slope → a where a > 0, else slope · a";
    Softplus = 69, Values(1), "a → ln(1 + eᵃ)";
    Gelu = 70, Values(1), "a → a(1 + erf(a/√2))/2";
    LogSumExp = 71, OneOrMore, "scalars… → ln Σ eᵃ";
    Mean = 72, OneOrMore, "values… → their elementwise mean";
    Eq = 73, Values(2), "a, b → whether a = b";
    Ne = 74, Values(2), "a, b → whether a ≠ b";
    Distance = 75, Values(2), "a, b → ‖a − b‖";
    AngleBetween = 76, Values(2), "a, b → the angle between two 2- or 3-vectors, in [0, π]";
    MatMul = 77, Values(2), "a, b → a · b for two 2×2 or 3×3 matrices, row by row";
    Transpose = 78, Values(1), "m → mᵀ, 2×2 or 3×3";
    Determinant = 79, Values(1), "m → det m, 2×2 or 3×3";
    Inverse = 80, Values(1), "m → m⁻¹, 2×2 or 3×3";
    QuatMul = 81, Values(2), "p, q → p · q (x, y, z, w)";
    QuatConjugate = 82, Values(1), "q → (−x, −y, −z, w)";
    QuatInverse = 83, Values(1), "q → its conjugate / ‖q‖²";
    QuatRotate = 84, Values(2), "unit q, v → q v q⁻¹";
    QuatFromAngleAxis = 85, Values(1), "rotation vector → unit quaternion";
    QuatToAngleAxis = 86, Values(1), "unit quaternion → rotation vector of at most π";
    QuatFromMatrix = 87, Values(1), "rotation matrix → unit quaternion";
    QuatToMatrix = 88, Values(1), "unit quaternion → rotation matrix";
    QuatExp = 89, Values(1), "v → (v sin‖v‖/‖v‖, cos‖v‖)";
    QuatLog = 90, Values(1), "unit quaternion → v with exp v = q";
    TriangleArea = 91, Values(3), "a, b, c → ‖(b − a) × (c − a)‖/2 (2-D: signed)";
    TriangleNormal = 92, Values(3), "a, b, c → the unit normal, 0 where the area is";
    DihedralAngle = 93, Values(4), "a, b, c, d → the signed angle at edge bc between triangles abc and dcb";
    Cotangent = 94, Values(3), "a, b, c → the cotangent of the angle at a";
    EigenSymmetric = 95, Values(1), "symmetric 3×3 matrix → eigenvalues, ascending, then their unit vectors";
    ClosestRotation = 96, Values(1), "3×3 matrix → the rotation closest to it";
    SumOver = 97, Values(1), "what one entry of a row gives → its sum over the row's entries";
}

impl Opcode {
    pub fn from_word(word: u32) -> Option<Self> {
        Self::TABLE.get(word as usize).map(|entry| entry.0)
    }

    pub fn name(self) -> &'static str {
        Self::TABLE[self as usize].1
    }
}
