//! Hyperbolic functions and their inverses, from [`exponential`](super::exponential) and [`logarithm`](super::logarithm).
//!
//! Every one is written in terms of eᵃ − 1 or ln(1 + a) in such a way that nothing cancels, with one formula for all
//! arguments: with t = e^|a| − 1, sinh |a| = ½(t + t/(t + 1)) and tanh |a| = u/(u + 2) for u = e^(2|a|) − 1 (fdlibm's
//! formulas, `e_sinh.c`, `s_tanh.c`, `s_asinh.c`, `e_acosh.c`, `e_atanh.c`). Halves are taken in the exponent, so that
//! what does not overflow is not lost. Errors, measured against double-double arithmetic: below 2 ulp, of tanh 2.5.

use super::exponential::{exp_scaled, expm1_scaled};
use super::logarithm::{at_edges, log1p_of_sum, logarithm};
use super::numbers::{select, sum, sum_ordered};
use super::operations::{Function, functions};

/// Below it sinh, tanh, asinh and atanh of a are a: its square is less than half an ulp of 1.
const SMALL: f64 = 1.0 / (1u64 << 28) as f64;

/// An odd function from its value at |a|.
#[inline(always)]
fn odd(a: f64, value: f64) -> f64 {
    select(a.abs() < SMALL, a, value.copysign(a))
}

#[inline(always)]
pub fn sinh(a: f64) -> f64 {
    // Half of t, which overflows where sinh does.
    let half = expm1_scaled(a.abs(), -1.0);
    let bounded = select(half > 1e300, 1e300, half);
    odd(a, half + half / (2.0 * bounded + 1.0))
}

#[inline(always)]
pub fn cosh(a: f64) -> f64 {
    let half = exp_scaled(a.abs(), -1.0);
    half + 0.25 / half
}

#[inline(always)]
pub fn tanh(a: f64) -> f64 {
    // Beyond 22 it is 1.
    let bounded = select(a.abs() > 22.0, 22.0, a.abs());
    let u = expm1_scaled(2.0 * bounded, 0.0);
    odd(a, u / (u + 2.0))
}

/// From here on a² + 1 is a² to working precision, and ln(2a) all there is.
const LARGE: f64 = (1u64 << 28) as f64;

#[inline(always)]
pub fn asinh(a: f64) -> f64 {
    let x = a.abs();
    let large = x > LARGE;
    let square = x * x;
    // 1 + x + x²/(1 + √(x² + 1)), with what the sums lose.
    let [first, lost] = sum_ordered(x, square / (1.0 + (square + 1.0).sqrt()));
    let [second, also_lost] = sum(1.0, first);
    let u = select(large, x, second);
    let c = select(large, 0.0, (lost + also_lost) / second);
    odd(a, at_edges(u, logarithm(u, c, select(large, 1.0, 0.0))))
}

#[inline(always)]
pub fn acosh(a: f64) -> f64 {
    let large = a > LARGE;
    let above = a - 1.0;
    // 1 + (a − 1) + √((a − 1)(a + 1)), with what the sums lose.
    let [first, lost] = sum(above, (above * (above + 2.0)).sqrt());
    let [second, also_lost] = sum(1.0, first);
    let u = select(large, a, second);
    let c = select(large, 0.0, (lost + also_lost) / second);
    select(a >= 1.0, at_edges(u, logarithm(u, c, select(large, 1.0, 0.0))), f64::NAN)
}

/// ½ ln(1 + 2a/(1 − a))
#[inline(always)]
pub fn atanh(a: f64) -> f64 {
    let x = a.abs();
    odd(a, 0.5 * log1p_of_sum(2.0 * x / (1.0 - x), 0.0))
}

functions! {
    Sinh: sinh,
    Cosh: cosh,
    Tanh: tanh,
    Asinh: asinh,
    Acosh: acosh,
    Atanh: atanh,
}
