//! The interpreter's loops for strips of any length, and exponentials for lanes in f32.
//!
//! In f32 eᵃ, tanh and the logistic function are computed in f64, as every function is, but by a polynomial that is as long as f32
//! needs: eʳ = 1 + r + r²q(r) for |r| ≤ ½ ln 2, with q of degree 5 and a relative error of eʳ − 1 below 2⁻³¹. Errors are below 0.51 ulp.

use crate::block::lanes::{FEWEST, LANES};
use crate::block::numbers::ROUND;
use crate::block::operations::{binary, lanes, unary};
use crate::block::trig::sin_cos;
use crate::real::Real;
use leastwise_program::{Binary, Unary};
use std::f64::consts::{LN_2, LOG2_E};
use std::ops::{Add, Div, Mul, Sub};

/// Coefficients of q, a minimax fit of the relative error of eʳ − 1.
const TAIL: [f64; 6] = [
    0.500_000_004_652_791_7,
    0.166_666_668_174_545_1,
    0.041_666_354_152_113_28,
    8.333_272_950_012_233e-3,
    1.394_105_103_085_846e-3,
    1.991_423_021_390_232e-4,
];

/// A function of one operand over the lanes of a strip.
#[inline(always)]
pub fn streamed<R: Real>(operation: Unary, out: &mut [R], a: &[R]) {
    let is_single = size_of::<R>() == size_of::<f32>();
    match operation {
        Unary::Exp if is_single => in_single::<Exp>(bytemuck::cast_slice_mut(out), bytemuck::cast_slice(a)),
        Unary::Tanh if is_single => in_single::<Tanh>(bytemuck::cast_slice_mut(out), bytemuck::cast_slice(a)),
        Unary::Sigmoid if is_single => in_single::<Sigmoid>(bytemuck::cast_slice_mut(out), bytemuck::cast_slice(a)),
        // The others have room for a block.
        _ => out.chunks_mut(LANES).zip(a.chunks(LANES)).for_each(|(out, a)| unary(operation, out, a)),
    }
}

/// A function of two operands.
#[inline(always)]
pub fn streamed_of_two<R: Real>(operation: Binary, out: &mut [R], a: &[R], b: &[R]) {
    match operation {
        // A loop of their own: they are what most kernels are made of.
        Binary::Add => lanes!(out = |a, b| a + b),
        Binary::Sub => lanes!(out = |a, b| a - b),
        Binary::Mul => lanes!(out = |a, b| a * b),
        Binary::Div => lanes!(out = |a, b| a / b),
        _ => {
            let operands = a.chunks(LANES).zip(b.chunks(LANES));
            out.chunks_mut(LANES).zip(operands).for_each(|(out, (a, b))| binary(operation, out, a, b));
        }
    }
}

/// Sines and cosines.
#[inline(always)]
pub fn streamed_sin_cos<R: Real>(a: &[R], sin: &mut [R], cos: &mut [R]) {
    let outputs = sin.chunks_mut(LANES).zip(cos.chunks_mut(LANES));
    a.chunks(LANES).zip(outputs).for_each(|(a, (sin, cos))| sin_cos(a, sin, cos));
}

/// One number in f64, or a vector of them: the same operations.
trait Doubles: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    fn of(number: f64) -> Self;
    /// NaN is left as it is.
    fn at_most(self, most: f64) -> Self;
    fn at_least(self, least: f64) -> Self;
    fn magnitude(self) -> Self;
    fn with_sign_of(self, other: Self) -> Self;
    fn where_negative(self, then: Self, otherwise: Self) -> Self;
    /// 2ⁿ for the sum of n and [`ROUND`].
    fn power_of_two(self) -> Self;
}

impl Doubles for f64 {
    #[inline(always)]
    fn of(number: f64) -> Self {
        number
    }
    #[inline(always)]
    fn at_most(self, most: f64) -> Self {
        if most < self { most } else { self }
    }
    #[inline(always)]
    fn at_least(self, least: f64) -> Self {
        if self < least { least } else { self }
    }
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }
    #[inline(always)]
    fn with_sign_of(self, other: Self) -> Self {
        self.copysign(other)
    }
    #[inline(always)]
    fn where_negative(self, then: Self, otherwise: Self) -> Self {
        if self < 0.0 { then } else { otherwise }
    }
    #[inline(always)]
    fn power_of_two(self) -> Self {
        Self::from_bits(self.to_bits().wrapping_add(1023) << 52)
    }
}

/// eᵃ − 1 = 2ⁿ(1 + s) − 1: 2ⁿ and s.
#[inline(always)]
fn reduced<D: Doubles>(a: D) -> [D; 2] {
    let sum = a * D::of(LOG2_E) + D::of(ROUND);
    let r = a - (sum - D::of(ROUND)) * D::of(LN_2);
    let [c0, c1, c2, c3, c4, c5] = TAIL.map(D::of);
    let square = r * r;
    let q = (c0 + r * c1) + square * ((c2 + r * c3) + square * (c4 + r * c5));
    [sum.power_of_two(), r + square * q]
}

#[inline(always)]
fn exp<D: Doubles>(a: D) -> D {
    // Beyond, f32 has ∞ or 0.
    let [power, rest] = reduced(a.at_most(100.0).at_least(-110.0));
    power + power * rest
}

trait Short {
    fn value<D: Doubles>(a: D) -> D;
}

struct Exp;
struct Tanh;
struct Sigmoid;

impl Short for Exp {
    #[inline(always)]
    fn value<D: Doubles>(a: D) -> D {
        exp(a)
    }
}

impl Short for Tanh {
    #[inline(always)]
    fn value<D: Doubles>(a: D) -> D {
        // From 10 on it is 1 in f32. With u = e^(2|a|) − 1 nothing cancels: tanh |a| = u/(u + 2).
        let bounded = a.magnitude().at_most(10.0);
        let [power, rest] = reduced(bounded + bounded);
        let u = (power - D::of(1.0)) + power * rest;
        (u / (u + D::of(2.0))).with_sign_of(a)
    }
}

impl Short for Sigmoid {
    #[inline(always)]
    fn value<D: Doubles>(a: D) -> D {
        let e = exp(D::of(0.0) - a.magnitude());
        a.where_negative(e, D::of(1.0)) / (D::of(1.0) + e)
    }
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline(always)]
fn in_single<F: Short>(out: &mut [f32], a: &[f32]) {
    out.iter_mut().zip(a).for_each(|(out, a)| *out = F::value(f64::from(*a)) as f32);
}

/// Two vectors of f64 at a time. (A conversion to f32 is scalar code where the compiler is to find the vectors.)
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline(always)]
fn in_single<F: Short>(out: &mut [f32], a: &[f32]) {
    let halves = simd::halves();
    out.as_chunks_mut::<4>().0.iter_mut().zip(a.as_chunks::<4>().0).for_each(|(out, a)| *out = simd::four(*a, halves, F::value));
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd;
