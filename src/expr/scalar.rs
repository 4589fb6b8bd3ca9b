//! Functions of scalars that are written in terms of the operations of a graph.

use super::{Binary, Expr, Graph};

impl Graph {
    /// −1, 0 or 1.
    pub fn sign(&mut self, a: Expr) -> Expr {
        let (zero, one, minus_one) = (self.constant(0.0), self.constant(1.0), self.constant(-1.0));
        let (negative, positive) = (self.less(a, zero), self.less(zero, a));
        let rest = self.select(negative, minus_one, zero);
        self.select(positive, one, rest)
    }

    /// 1 if a = b, else 0.
    pub fn equal(&mut self, a: Expr, b: Expr) -> Expr {
        let (not_above, not_below) = (self.less_equal(a, b), self.less_equal(b, a));
        self.and(not_above, not_below)
    }

    /// The lesser; the left one of equal ones.
    pub fn min(&mut self, a: Expr, b: Expr) -> Expr {
        let left = self.less_equal(a, b);
        self.select(left, a, b)
    }

    /// The greater; the left one of equal ones.
    pub fn max(&mut self, a: Expr, b: Expr) -> Expr {
        let left = self.less_equal(b, a);
        self.select(left, a, b)
    }

    /// min(max(x, low), high): x itself at both bounds.
    pub fn clamp(&mut self, x: Expr, low: Expr, high: Expr) -> Expr {
        let raised = self.max(x, low);
        self.min(raised, high)
    }

    /// aⁿ by repeated squaring (Knuth, *The Art of Computer Programming* 2, section 4.6.3).
    pub fn power(&mut self, a: Expr, exponent: i32) -> Expr {
        let one = self.constant(1.0);
        let (mut result, mut square, mut rest) = (one, a, exponent.unsigned_abs());
        while rest > 0 {
            if rest & 1 == 1 {
                result = self.mul(result, square);
            }
            rest >>= 1;
            if rest > 0 {
                square = self.mul(square, square);
            }
        }
        if exponent < 0 { self.div(one, result) } else { result }
    }

    /// 1/a.
    pub fn reciprocal(&mut self, a: Expr) -> Expr {
        let one = self.constant(1.0);
        self.div(one, a)
    }

    /// `a · factor`, `factor` a number.
    pub fn times(&mut self, a: Expr, factor: f64) -> Expr {
        let factor = self.constant(factor);
        self.mul(a, factor)
    }

    /// `if a < b then x else y`.
    pub fn if_less(&mut self, a: Expr, b: Expr, x: Expr, y: Expr) -> Expr {
        let condition = self.less(a, b);
        self.select(condition, x, y)
    }

    /// The angle of the point (x, y).
    pub fn atan2(&mut self, y: Expr, x: Expr) -> Expr {
        self.binary(Binary::Atan2, y, x)
    }
}
