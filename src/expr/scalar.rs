//! Functions of scalars that are written in terms of the operations of a graph.

use super::{Binary, Expr, Graph, Unary};

impl Graph {
    /// −1, 0 or 1.
    pub fn sign(&mut self, a: Expr) -> Expr {
        let (zero, one, minus_one) = (self.constant(0.0), self.constant(1.0), self.constant(-1.0));
        let (negative, positive) = (self.less(a, zero), self.less(zero, a));
        let rest = self.select(negative, minus_one, zero);
        self.select(positive, one, rest)
    }

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

    pub fn fract(&mut self, a: Expr) -> Expr {
        let floor = self.unary(Unary::Floor, a);
        self.sub(a, floor)
    }

    /// a − b⌊a/b⌋, brought back into [0, b) (or (b, 0]) where the quotient was rounded across a whole number.
    pub fn modulo(&mut self, a: Expr, b: Expr) -> Expr {
        let zero = self.constant(0.0);
        let quotient = self.div(a, b);
        if b == zero {
            return quotient;
        }
        let floor = self.unary(Unary::Floor, quotient);
        let whole = self.mul(b, floor);
        let rest = self.sub(a, whole);
        // In units of b: below 0, or not below 1.
        let positive = self.less(zero, b);
        let under = {
            let (below, above) = (self.less(rest, zero), self.less(zero, rest));
            self.select(positive, below, above)
        };
        let over = {
            let (above, below) = (self.less_equal(b, rest), self.less_equal(rest, b));
            self.select(positive, above, below)
        };
        let (raised, lowered) = (self.add(rest, b), self.sub(rest, b));
        let rest = self.select(over, lowered, rest);
        self.select(under, raised, rest)
    }

    pub fn mix(&mut self, a: Expr, b: Expr, t: Expr) -> Expr {
        let one = self.constant(1.0);
        let rest = self.sub(one, t);
        let (left, right) = (self.mul(a, rest), self.mul(b, t));
        self.add(left, right)
    }

    pub fn smoothstep(&mut self, low: Expr, high: Expr, x: Expr) -> Expr {
        let (zero, one, two, three) = (self.constant(0.0), self.constant(1.0), self.constant(2.0), self.constant(3.0));
        let (above, range) = (self.sub(x, low), self.sub(high, low));
        let t = self.div(above, range);
        let t = self.clamp(t, zero, one);
        let doubled = self.mul(two, t);
        let factor = self.sub(three, doubled);
        let squared = self.square(t);
        self.mul(squared, factor)
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

    /// √Σaᵢ², scaled by the largest, so that no square overflows or vanishes.
    pub fn hypot(&mut self, items: &[Expr]) -> Expr {
        let zero = self.constant(0.0);
        let largest = items.iter().fold(zero, |largest, &item| {
            let size = self.unary(Unary::Abs, item);
            self.max(largest, size)
        });
        let scale = self.unary(Unary::Detach, largest);
        let scaled: Vec<Expr> = items.iter().map(|&item| self.div_safe(item, scale)).collect();
        let squared = self.dot(&scaled, &scaled);
        let root = self.unary(Unary::Sqrt, squared);
        self.mul(scale, root)
    }

    /// ln Σ eᵃ, shifted by the largest, which has no say in the derivative.
    pub fn log_sum_exp(&mut self, items: &[Expr]) -> Expr {
        let largest = items[1..].iter().fold(items[0], |largest, &item| self.max(largest, item));
        let shift = self.unary(Unary::Detach, largest);
        let mut sum = self.constant(0.0);
        for &item in items {
            let below = self.sub(item, shift);
            let power = self.unary(Unary::Exp, below);
            sum = self.add(sum, power);
        }
        let logarithm = self.unary(Unary::Log, sum);
        self.add(shift, logarithm)
    }

    /// a(1 + erf(a/√2))/2
    pub fn gelu(&mut self, a: Expr) -> Expr {
        let (half, scale, one) = (self.constant(0.5), self.constant(std::f64::consts::FRAC_1_SQRT_2), self.constant(1.0));
        let scaled = self.mul(a, scale);
        let error = self.unary(Unary::Erf, scaled);
        let sum = self.add(one, error);
        let halved = self.mul(half, a);
        self.mul(halved, sum)
    }

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
