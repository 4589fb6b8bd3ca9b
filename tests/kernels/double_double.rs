//! Elementary functions to some 30 digits, as the reference for those of 16: sums of two f64 (Dekker, "A floating-point
//! technique for extending the available precision", 1971), series, and one step of Newton from the f64 result.
//!
//! Nothing here shares a method with what it judges. Arguments and results must stay well within the range of f64: the
//! lower part must not underflow.

use std::f64::consts::{FRAC_PI_2, LN_2};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// high + low, |low| ≤ half an ulp of high.
#[derive(Clone, Copy, Debug)]
pub struct Double {
    pub high: f64,
    pub low: f64,
}

pub const ONE: Double = Double { high: 1.0, low: 0.0 };

fn sum(a: f64, b: f64) -> Double {
    let high = a + b;
    let part = high - a;
    Double { high, low: (a - (high - part)) + (b - part) }
}

fn product(a: f64, b: f64) -> Double {
    let high = a * b;
    Double { high, low: a.mul_add(b, -high) }
}

impl From<f64> for Double {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl Neg for Double {
    type Output = Self;
    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Add for Double {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (large, small) = (sum(self.high, other.high), sum(self.low, other.low));
        let first = sum(large.high, large.low + small.high);
        sum(first.high, first.low + small.low)
    }
}

impl Sub for Double {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Double {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let first = product(self.high, other.high);
        sum(first.high, first.low + (self.high * other.low + self.low * other.high))
    }
}

impl Div for Double {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let quotient = Self::from(self.high / other.high);
        let rest = self - quotient * other;
        let second = Self::from(rest.high / other.high);
        let rest = rest - second * other;
        quotient + second + Self::from(rest.high / other.high)
    }
}

/// A function in double-double arithmetic; f64 arguments are exact.
impl Double {
    fn scaled(self, factor: f64) -> Self {
        Self { high: self.high * factor, low: self.low * factor }
    }

    fn square(self) -> Self {
        self * self
    }

    fn sqrt(self) -> Self {
        if self.high == 0.0 {
            return self;
        }
        let root = Self::from(self.high.sqrt());
        root + (self - root.square()).scaled(0.5 / root.high)
    }

    pub fn cbrt(self) -> Self {
        let root = Self::from(self.high.cbrt());
        root + (self - root * root * root) / root.square().scaled(3.0)
    }

    /// eˣ − 1
    pub fn expm1(self) -> Self {
        if self.high.abs() > 0.5 {
            return self.exp() - ONE;
        }
        let x = self.scaled(1.0 / 16.0);
        let series = (2..18).rev().fold(ONE, |sum, k| ONE + x * sum / Self::from(f64::from(k)));
        (0..4).fold(x * series, |y, _| y.scaled(2.0) + y.square())
    }

    pub fn exp(self) -> Self {
        let n = (self.high / LN_2).round();
        let value = ONE + (self - LN2 * Self::from(n)).expm1();
        let half = (n / 2.0).trunc();
        value.scaled(half.exp2()).scaled((n - half).exp2())
    }

    /// ln(1 + x)
    pub fn log1p(self) -> Self {
        if self.high > 1.0 || self.high < -0.5 {
            return (ONE + self).log();
        }
        let near = Self::from(self.high.ln_1p());
        let e = near.expm1();
        near + (self - e) / (ONE + e)
    }

    pub fn log(self) -> Self {
        let n = self.high.log2().round();
        let half = (n / 2.0).trunc();
        let reduced = self.scaled((-half).exp2()).scaled((half - n).exp2());
        LN2 * Self::from(n) + (reduced - ONE).log1p()
    }

    /// sin and cos of a number of moderate size.
    fn sin_cos(self) -> [Self; 2] {
        let square = self.square();
        let series = |first: i32| {
            (0..22).rev().fold(ONE, |sum, k| {
                let k = f64::from(first + 2 * k);
                ONE - square * sum / Self::from((k + 1.0) * (k + 2.0))
            })
        };
        [self * series(1), series(0)]
    }

    pub fn tan(self) -> Self {
        let n = (self.high / FRAC_PI_2).round();
        let parts = [FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];
        let reduced = parts.into_iter().fold(self, |x, part| x - product(n, part));
        let [sin, cos] = reduced.sin_cos();
        if n.rem_euclid(2.0) == 0.0 { sin / cos } else { -(cos / sin) }
    }

    /// The angle of (`x`, `self`).
    pub fn atan2(self, x: Self) -> Self {
        let near = Self::from(self.high.atan2(x.high));
        let [sin, cos] = near.sin_cos();
        near + (self * cos - x * sin) / (x * cos + self * sin)
    }

    /// √(1 − x²)
    fn leg(self) -> Self {
        ((ONE - self) * (ONE + self)).sqrt()
    }

    pub fn asin(self) -> Self {
        self.atan2(self.leg())
    }

    pub fn acos(self) -> Self {
        self.leg().atan2(self)
    }

    pub fn sinh(self) -> Self {
        if self.high.abs() > 40.0 {
            return self.cosh().scaled(self.high.signum());
        }
        let e = self.expm1();
        (e + e / (ONE + e)).scaled(0.5)
    }

    pub fn cosh(self) -> Self {
        if self.high.abs() > 40.0 {
            let root = Self { high: self.high.abs(), low: 0.0 }.scaled(0.5).exp();
            return root * root.scaled(0.5);
        }
        let e = self.exp();
        (e + ONE / e).scaled(0.5)
    }

    pub fn tanh(self) -> Self {
        if self.high.abs() > 40.0 {
            return Self::from(self.high.signum());
        }
        let e = self.scaled(2.0).expm1();
        e / (e + ONE + ONE)
    }

    pub fn asinh(self) -> Self {
        let x = Self { high: self.high.abs(), low: self.low * self.high.signum() };
        let value = match x.high {
            0.0..1e100 => (x + x.square() / (ONE + (x.square() + ONE).sqrt())).log1p(),
            _ => x.log() + LN2,
        };
        value.scaled(self.high.signum())
    }

    pub fn acosh(self) -> Self {
        match self.high {
            0.0..1e100 => {
                let above = self - ONE;
                (above + (above * (self + ONE)).sqrt()).log1p()
            }
            _ => self.log() + LN2,
        }
    }

    pub fn atanh(self) -> Self {
        (self.scaled(2.0) / (ONE - self)).log1p().scaled(0.5)
    }

    /// 2/√π e^(−x²) Σ 2ⁿ x²ⁿ⁺¹/(2n + 1)!!: all terms have one sign.
    pub fn erf(self) -> Self {
        if self.high.abs() > 6.0 {
            return Self::from(self.high.signum());
        }
        let square = self.square();
        let series = (1..160).rev().fold(ONE, |sum, n| ONE + square.scaled(2.0) * sum / Self::from(f64::from(2 * n + 1)));
        self * series * (-square).exp() * TWO_OVER_ROOT_PI
    }

    pub fn sigmoid(self) -> Self {
        ONE / (ONE + (-self).exp())
    }

    pub fn softplus(self) -> Self {
        if self.high > 0.0 { self + (-self).exp().log1p() } else { self.exp().log1p() }
    }

    pub fn pow(self, exponent: Self) -> Self {
        (exponent * self.log()).exp()
    }
}

const LN2: Double = Double { high: LN_2, low: 2.319_046_813_846_299_6e-17 };
const TWO_OVER_ROOT_PI: Double = Double { high: std::f64::consts::FRAC_2_SQRT_PI, low: 1.533_545_961_316_588e-17 };
