//! A scalar interpreter in f64 that carries, with every value, a bound on how far another evaluation may be from it
//! (running error analysis: Higham, *Accuracy and Stability of Numerical Algorithms*, 3.3).

use leastwise::program::*;

/// A value and its error bound. The bound is infinite where nothing can be said: a comparison or the edge of a domain
/// within the error, an overflow, a NaN.
#[derive(Clone, Copy, Debug)]
pub struct Bounded {
    pub value: f64,
    pub error: f64,
}

const UNKNOWN: Bounded = Bounded { value: f64::NAN, error: f64::INFINITY };

impl Bounded {
    pub fn known(self) -> bool {
        self.value.is_finite() && self.error.is_finite()
    }

    /// Whether this is certainly the flag of what is not defined.
    pub fn flagged(self) -> bool {
        self.value.is_nan() && self.error == 0.0
    }
}

/// How the other evaluation rounds.
#[derive(Clone, Copy, Debug)]
pub struct Arithmetic {
    /// Half the distance of 1 and the next number.
    pub unit: f64,
    /// What may be lost to underflow.
    pub tiny: f64,
    /// Beyond this, an overflow is near.
    pub huge: f64,
    /// Units in the last place that quotients and roots may be off, and functions.
    pub quotient: f64,
    pub function: f64,
}

impl Arithmetic {
    pub const F64: Self = Self { unit: f64::EPSILON / 2.0, tiny: 1e-300, huge: 1e300, quotient: 1.0, function: 4.0 };
    pub const F32: Self = Self { unit: f32::EPSILON as f64 / 2.0, tiny: 1e-45, huge: 1e37, quotient: 1.0, function: 4.0 };

    /// Both evaluations round so many times.
    fn rounded(&self, value: f64, propagated: f64, roundings: f64) -> Bounded {
        let error = propagated + 2.0 * roundings * self.unit * (value.abs() + propagated) + self.tiny;
        if value.abs() + error < self.huge { Bounded { value, error } } else { UNKNOWN }
    }

    /// A number as it is stored.
    fn stored(&self, value: f64) -> Bounded {
        let exact = value == 0.0 || value.abs() >= self.tiny && (self.unit < 1e-15 || f64::from(value as f32) == value);
        if exact { Bounded { value, error: 0.0 } } else { self.rounded(value, 0.0, 1.0) }
    }
}

/// Every stored value of one instance, in the order of the stores.
pub fn evaluate(program: &Program, arithmetic: Arithmetic, load: impl Fn(Load) -> f64) -> Vec<Bounded> {
    let mut values: Vec<Bounded> = Vec::new();
    for instruction in &program.instructions {
        let at = |value: Value| values[value as usize];
        let value = match *instruction {
            Instruction::Const(value) if value.is_nan() => Bounded { value, error: 0.0 },
            Instruction::Const(value) => arithmetic.stored(value),
            Instruction::Load(place) => arithmetic.stored(load(place)),
            Instruction::Unary(operation, a) => arithmetic.unary(operation, at(a)),
            Instruction::Binary(operation, a, b) => arithmetic.binary(operation, at(a), at(b)),
            Instruction::MulAdd(a, b, c) => {
                let product = arithmetic.binary(Binary::Mul, at(a), at(b));
                arithmetic.binary(Binary::Add, product, at(c))
            }
            Instruction::Select { condition, then, otherwise } => match truth(at(condition)) {
                Some(true) => at(then),
                Some(false) => at(otherwise),
                None => UNKNOWN,
            },
        };
        values.push(value);
    }
    program.stores.iter().map(|(_, value)| values[*value as usize]).collect()
}

fn truth(a: Bounded) -> Option<bool> {
    (a.known() && (a.error == 0.0 || a.value.abs() > a.error)).then_some(a.value != 0.0)
}

fn boolean(holds: Option<bool>) -> Bounded {
    holds.map_or(UNKNOWN, |holds| Bounded { value: f64::from(holds), error: 0.0 })
}

impl Arithmetic {
    /// A function that rises or falls throughout [a − error, a + error]: its ends bound it.
    fn monotone(&self, f: impl Fn(f64) -> f64, a: Bounded, ulps: f64) -> Bounded {
        let value = f(a.value);
        let [below, above] = [f(a.value - a.error), f(a.value + a.error)];
        let propagated = (below - value).abs().max((above - value).abs());
        if propagated.is_finite() { self.rounded(value, propagated, ulps) } else { UNKNOWN }
    }

    fn unary(&self, operation: Unary, a: Bounded) -> Bounded {
        use Unary::*;
        if operation == Finite && (a.known() || a.flagged()) {
            return boolean(Some(a.known()));
        }
        if operation == IsNan && (a.known() || a.flagged()) {
            return boolean(Some(a.flagged()));
        }
        if !a.known() {
            return UNKNOWN;
        }
        let f = |x: f64| operation.apply(x);
        match operation {
            Neg | Abs | Detach => Bounded { value: f(a.value), error: a.error },
            Not => boolean(truth(a).map(|a| !a)),
            Floor | Ceil | Round => {
                let same = f(a.value - a.error) == f(a.value + a.error);
                if same { Bounded { value: f(a.value), error: 0.0 } } else { UNKNOWN }
            }
            Sqrt if a.value == 0.0 && a.error == 0.0 => Bounded { value: 0.0, error: 0.0 },
            Sqrt => self.monotone(f, a, self.quotient),
            // Their slope is at most 1.
            Sin | Cos => self.rounded(f(a.value), a.error, self.function),
            Tan => {
                use std::f64::consts::{FRAC_PI_2, PI};
                let from_centre = a.value - (a.value / PI).round() * PI;
                if from_centre.abs() + a.error < FRAC_PI_2 { self.monotone(f, a, self.function) } else { UNKNOWN }
            }
            Cosh => {
                let size = a.value.abs();
                let least = f((size - a.error).max(0.0));
                let value = f(size);
                let propagated = (f(size + a.error) - value).max(value - least);
                if propagated.is_finite() { self.rounded(value, propagated, self.function) } else { UNKNOWN }
            }
            Cbrt | Exp | Exp2 | Expm1 | Log | Log1p | Asin | Acos | Atan | Sinh | Tanh | Asinh | Acosh | Atanh | Erf | Sigmoid
            | Softplus => self.monotone(f, a, self.function),
            Finite | IsNan => UNKNOWN,
        }
    }

    fn binary(&self, operation: Binary, a: Bounded, b: Bounded) -> Bounded {
        // One truth may decide, whatever the other is.
        match (operation, truth(a), truth(b)) {
            (Binary::And, Some(false), _) | (Binary::And, _, Some(false)) => return boolean(Some(false)),
            (Binary::Or, Some(true), _) | (Binary::Or, _, Some(true)) => return boolean(Some(true)),
            _ => {}
        }
        if !a.known() || !b.known() {
            return UNKNOWN;
        }
        let apart = (a.value - b.value).abs() > a.error + b.error || a.error + b.error == 0.0;
        match operation {
            Binary::Add => self.rounded(a.value + b.value, a.error + b.error, 1.0),
            Binary::Sub => self.rounded(a.value - b.value, a.error + b.error, 1.0),
            Binary::Mul => {
                let propagated = a.value.abs() * b.error + b.value.abs() * a.error + a.error * b.error;
                self.rounded(a.value * b.value, propagated, 1.0)
            }
            Binary::Div if b.value.abs() <= 2.0 * b.error || b.value == 0.0 => UNKNOWN,
            Binary::Div => {
                let quotient = a.value / b.value;
                self.rounded(quotient, (a.error + quotient.abs() * b.error) / (b.value.abs() - b.error), self.quotient)
            }
            Binary::Pow => self.power(a, b),
            Binary::Atan2 => self.angle(a, b),
            Binary::Lt => boolean(apart.then_some(a.value < b.value)),
            Binary::Le => boolean(apart.then_some(a.value <= b.value)),
            Binary::And => boolean(truth(a).zip(truth(b)).map(|(a, b)| a && b)),
            Binary::Or => boolean(truth(a).zip(truth(b)).map(|(a, b)| a || b)),
        }
    }

    /// Monotone in the base and in the exponent: the corners bound it.
    fn power(&self, a: Bounded, b: Bounded) -> Bounded {
        let f = |a: f64, b: f64| Binary::Pow.apply(a, b);
        let exact_zero = a.value == 0.0 && a.error == 0.0 && b.value.abs() > b.error;
        if a.value <= a.error && !exact_zero {
            return UNKNOWN;
        }
        let value = f(a.value, b.value);
        let corners = [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)].map(|(s, t)| f(a.value + s * a.error, b.value + t * b.error));
        let propagated = corners.iter().map(|corner| (corner - value).abs()).fold(0.0, f64::max);
        if propagated.is_finite() && value.is_finite() { self.rounded(value, propagated, self.function) } else { UNKNOWN }
    }

    /// The angle of a point that is within a circle.
    fn angle(&self, y: Bounded, x: Bounded) -> Bounded {
        let (distance, radius) = (x.value.hypot(y.value), x.error.hypot(y.error));
        if distance == 0.0 && radius == 0.0 {
            return Bounded { value: 0.0, error: 0.0 };
        }
        let across_the_cut = y.error > 0.0 && y.value.abs() <= y.error && x.value - x.error <= 0.0;
        if radius >= distance || across_the_cut {
            return UNKNOWN;
        }
        self.rounded(Binary::Atan2.apply(y.value, x.value), (radius / distance).asin(), self.function)
    }
}
