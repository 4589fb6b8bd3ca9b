//! The scalar operations that everything else is made of.

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unary {
    Neg,
    Sqrt,
    Sin,
    Cos,
    /// 1 where the operand is 0, else 0.
    Not,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
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
    pub fn apply(self, a: f64) -> f64 {
        match self {
            Self::Neg => -a,
            Self::Sqrt => a.sqrt(),
            Self::Sin => a.sin(),
            Self::Cos => a.cos(),
            Self::Not => f64::from(a == 0.0),
        }
    }
}

impl Binary {
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
            Self::Lt => f64::from(a < b),
            Self::Le => f64::from(a <= b),
            Self::And => f64::from(a != 0.0 && b != 0.0),
            Self::Or => f64::from(a != 0.0 || b != 0.0),
        }
    }
}
