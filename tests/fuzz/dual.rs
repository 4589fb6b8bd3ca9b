//! Numbers with derivatives, for an evaluator that shares nothing with the engine.
//!
//! Three things go along with a value: its slopes, whether it is defined, and (in the [`Machine`]) the trace of every
//! decision that was taken, so that two runs can be told to have gone the same way. How far rounding may carry a result
//! is found by discrete stochastic arithmetic (Vignes, "A stochastic arithmetic for reliable scientific computation",
//! 1993): the same run again with every *inexact* result disturbed. Exact results are not, so ties stay ties.

use crate::support::Random;

/// What is disturbed in a noisy run, relatively: 10⁵ units in the last place.
pub const NOISE: f64 = 2e-11;

/// Beyond this, products of a few factors leave f64's range.
const EXTREME: f64 = 1e60;

/// In ascending order: what is computed from several values is in the worst of their states.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    Defined,
    /// Nothing is promised: an overflow, a zero times what is not defined, equal eigenvalues.
    Doubtful,
    Undefined,
}

#[derive(Clone, Copy, Debug)]
pub struct Dual<const N: usize> {
    pub value: f64,
    pub slopes: [f64; N],
    pub state: State,
    /// The sizes of what was added up to the value and to its slopes: another order of the same sums may round that much,
    /// even where this one is exact.
    pub size: f64,
    pub slope_size: f64,
}

impl<const N: usize> Dual<N> {
    pub fn constant(value: f64) -> Self {
        Self { value, slopes: [0.0; N], state: State::Defined, size: value.abs(), slope_size: 0.0 }
    }

    pub fn input(value: f64, number: Option<usize>) -> Self {
        let mut input = Self::constant(value);
        if let Some(slope) = number.and_then(|number| input.slopes.get_mut(number)) {
            *slope = 1.0;
            input.slope_size = 1.0;
        }
        input
    }

    pub fn within(self, state: State) -> Self {
        Self { state: self.state.max(state), ..self }
    }

    /// Outside of a domain; of what was doubtful before, nothing is known.
    pub fn unless(self, outside: bool) -> Self {
        self.within(if outside && self.state == State::Defined { State::Undefined } else { State::Defined })
    }
}

/// Runs operations; see the module.
pub struct Machine {
    noise: Option<Random>,
    pub trace: u64,
}

impl Machine {
    pub fn new(noise: Option<Random>) -> Self {
        Self { noise, trace: 0xcbf2_9ce4_8422_2325 }
    }

    /// Takes down a decision (or a whole number that stands for one).
    pub fn note(&mut self, decision: i64) {
        self.trace = (self.trace ^ decision as u64).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17);
    }

    pub fn decide(&mut self, holds: bool) -> bool {
        self.note(i64::from(holds));
        holds
    }

    pub fn is_noisy(&self) -> bool {
        self.noise.is_some()
    }

    /// A result whose rounding error is not known to be 0.
    pub fn disturbed(&mut self, value: f64) -> f64 {
        match &mut self.noise {
            Some(random) if value != 0.0 => value * (1.0 + random.between(-NOISE, NOISE)),
            _ => value,
        }
    }

    fn sum(&mut self, a: f64, b: f64) -> f64 {
        let sum = a + b;
        if self.noise.is_none() || a == 0.0 || b == 0.0 {
            return sum;
        }
        let part = sum - a;
        let exact = (a - (sum - part)) + (b - part) == 0.0;
        if exact { sum } else { self.disturbed(sum) }
    }

    fn product(&mut self, a: f64, b: f64) -> f64 {
        let product = a * b;
        if self.noise.is_none() || a.abs() == 1.0 || b.abs() == 1.0 || a.mul_add(b, -product) == 0.0 {
            return product;
        }
        self.disturbed(product)
    }

    fn quotient(&mut self, a: f64, b: f64) -> f64 {
        let quotient = a / b;
        if self.noise.is_none() || quotient.mul_add(b, -a) == 0.0 {
            return quotient;
        }
        self.disturbed(quotient)
    }

    fn checked<const N: usize>(dual: Dual<N>) -> Dual<N> {
        let extreme = |x: &f64| !(x.abs() < EXTREME && (*x == 0.0 || x.abs() > 1.0 / EXTREME));
        let doubtful = extreme(&dual.value) || dual.slopes.iter().any(extreme);
        dual.within(if doubtful { State::Doubtful } else { State::Defined })
    }

    pub fn neg<const N: usize>(&mut self, a: Dual<N>) -> Dual<N> {
        Dual { value: -a.value, slopes: a.slopes.map(|slope| -slope), ..a }
    }

    pub fn add<const N: usize>(&mut self, a: Dual<N>, b: Dual<N>) -> Dual<N> {
        let slopes = std::array::from_fn(|k| self.sum(a.slopes[k], b.slopes[k]));
        let value = self.sum(a.value, b.value);
        Self::checked(Dual {
            value,
            slopes,
            state: a.state.max(b.state),
            size: a.size.max(b.size),
            slope_size: a.slope_size.max(b.slope_size),
        })
    }

    pub fn sub<const N: usize>(&mut self, a: Dual<N>, b: Dual<N>) -> Dual<N> {
        let negative = self.neg(b);
        let difference = self.add(a, negative);
        // x − x is 0 to the engine, whatever x is.
        let both = a.state == State::Undefined && b.state == State::Undefined;
        if both { Self::annulled() } else { difference }
    }

    /// What the engine may know to be 0, although an operand is not defined.
    fn annulled<const N: usize>() -> Dual<N> {
        Dual::constant(0.0).within(State::Doubtful)
    }

    pub fn mul<const N: usize>(&mut self, a: Dual<N>, b: Dual<N>) -> Dual<N> {
        let slopes = std::array::from_fn(|k| {
            let (left, right) = (self.scaled(a.slopes[k], b.value), self.scaled(b.slopes[k], a.value));
            self.sum(left, right)
        });
        let size = (a.size * b.value.abs()).max(a.value.abs() * b.size).max(f64::EPSILON * a.size * b.size);
        let slope_size = a.slope_size * b.value.abs() + a.value.abs() * b.slope_size;
        let product = Dual { value: self.product(a.value, b.value), slopes, state: a.state.max(b.state), size, slope_size };
        // 0 · x is 0 to the engine where it knows the 0.
        let may_be_0 = |x: Dual<N>| x.state == State::Doubtful || x.state == State::Defined && x.value == 0.0;
        if product.state == State::Undefined && (may_be_0(a) || may_be_0(b)) {
            return Self::annulled();
        }
        Self::checked(product)
    }

    pub fn div<const N: usize>(&mut self, a: Dual<N>, b: Dual<N>) -> Dual<N> {
        let quotient = self.quotient(a.value, b.value);
        let slopes = std::array::from_fn(|k| {
            let part = self.scaled(b.slopes[k], quotient);
            let rest = self.sum(a.slopes[k], -part);
            if rest == 0.0 { 0.0 } else { self.quotient(rest, b.value) }
        });
        let undefined = self.decide(b.value == 0.0);
        let size = (a.size + quotient.abs() * b.size) / b.value.abs();
        let slope_size = (a.slope_size + quotient.abs() * b.slope_size) / b.value.abs();
        let result = Dual { value: quotient, slopes, state: a.state.max(b.state), size, slope_size }.unless(undefined);
        if result.state == State::Undefined && (a.value == 0.0 && a.state == State::Defined || a.state == State::Doubtful) {
            return Self::annulled();
        }
        // A divisor that is all rounding error may be 0 to the engine.
        let cancelled = b.value.abs() < 1e-13 * b.size;
        Self::checked(result.within(if cancelled && b.value != 0.0 { State::Doubtful } else { State::Defined }))
    }

    /// A slope times a factor; what does not depend on an input stays so, however large the factor is.
    fn scaled(&mut self, slope: f64, factor: f64) -> f64 {
        if slope == 0.0 { 0.0 } else { self.product(slope, factor) }
    }

    /// f(a) from f's value and slope there, both rounded.
    pub fn chain<const N: usize>(&mut self, a: Dual<N>, value: f64, slope: f64) -> Dual<N> {
        let value = self.disturbed(value);
        let slope = self.disturbed(slope);
        let (size, slope_size) = (value.abs() + slope.abs() * a.size, slope.abs() * a.slope_size);
        Self::checked(Dual { value, slopes: a.slopes.map(|s| self.scaled(s, slope)), state: a.state, size, slope_size })
    }

    /// The same of two operands.
    pub fn chain2<const N: usize>(&mut self, [a, b]: [Dual<N>; 2], value: f64, slopes: [f64; 2]) -> Dual<N> {
        let of_a = self.chain(a, value, slopes[0]);
        let of_b = self.chain(b, value, slopes[1]);
        Dual { value: of_a.value, ..self.add(of_a, of_b) }
    }

    pub fn times<const N: usize>(&mut self, a: Dual<N>, factor: f64) -> Dual<N> {
        self.mul(a, Dual::constant(factor))
    }

    /// A value that does not move with the inputs.
    pub fn fixed<const N: usize>(&mut self, a: Dual<N>, value: f64) -> Dual<N> {
        Dual { state: a.state, ..Dual::constant(value) }
    }

    pub fn sqrt<const N: usize>(&mut self, a: Dual<N>) -> Dual<N> {
        let negative = self.decide(a.value < 0.0);
        if !self.decide(a.value > 0.0) {
            return self.fixed(a, 0.0).unless(negative || a.value.is_nan());
        }
        let root = a.value.sqrt();
        let exact = root.mul_add(root, -a.value) == 0.0;
        let chained = self.chain(a, root, 0.5 / root);
        if exact { Dual { value: root, ..chained } } else { chained }
    }

    pub fn atan2<const N: usize>(&mut self, y: Dual<N>, x: Dual<N>) -> Dual<N> {
        let squared = y.value * y.value + x.value * x.value;
        if self.decide(squared == 0.0) {
            let state = if y.value == 0.0 && x.value == 0.0 { x.state } else { State::Doubtful };
            return self.fixed(y, 0.0).within(state);
        }
        if self.decide(x.value < 0.0) {
            // The cut.
            self.decide(y.value < 0.0);
        }
        let angle = (y.value + 0.0).atan2(x.value);
        self.chain2([y, x], angle, [x.value / squared, -y.value / squared])
    }
}
