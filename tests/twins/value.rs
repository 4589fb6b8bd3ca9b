//! Random input, and numbers that know how large the terms were that made them.

use std::iter::Sum;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// SplitMix64 (Steele, Lea & Flood 2014): small, and good enough for test data.
pub struct Random(u64);

impl Random {
    /// The stream of one test case: the same for the same seed and case.
    pub fn new(seed: u64, case: &str) -> Self {
        Self(case.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ a >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ b >> 31
    }

    pub fn below(&mut self, n: u32) -> u32 {
        (self.next() % u64::from(n)) as u32
    }

    /// A number that f32 has exactly, so that f32 and f64 devices get the same input.
    pub fn within(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        f64::from((low + (high - low) * unit) as f32)
    }

    /// Of either sign, and never 0.
    pub fn signed(&mut self) -> f64 {
        let size = self.within(1e-3, 1.0);
        if self.below(2) == 0 { size } else { -size }
    }

    pub fn vector(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| self.signed()).collect()
    }

    pub fn positive(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| self.within(0.1, 1.0)).collect()
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}

/// What is expected of an element. `size` is what the value would be if nothing had cancelled: rounding errors are
/// relative to it, not to the value.
#[derive(Clone, Copy, Default, Debug)]
pub struct Value {
    pub value: f64,
    pub size: f64,
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self { value, size: value.abs() }
    }
}

impl Value {
    pub fn sqrt(self) -> Self {
        Self { value: self.value.sqrt(), size: self.size.sqrt() }
    }
}

impl Add for Value {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, size: self.size + other.size }
    }
}

impl Neg for Value {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, size: self.size }
    }
}

impl Sub for Value {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Value {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self { value: self.value * other.value, size: self.size * other.size }
    }
}

impl Div for Value {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        Self { value: self.value / other.value, size: self.size * other.size / (other.value * other.value) }
    }
}

impl Sum for Value {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::default(), |sum, term| sum + term)
    }
}
