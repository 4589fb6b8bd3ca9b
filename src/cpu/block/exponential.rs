//! eᵃ and its relatives.
//!
//! a is brought to r = a − n·ln 2 with |r| ≤ ½ ln 2 (ln 2 in two parts, the rounding error of r kept), and
//! eʳ = 1 + r + r²q(r) with a polynomial q of degree 10, fitted by Remez' algorithm at 60 digits with the error of r²q
//! below 2⁻⁶¹. Each function adds up its large terms exactly (two-sums) and the small ones last, then scales by 2ⁿ in
//! two steps, so that subnormal results are rounded once. Errors, measured against double-double arithmetic:
//! exp and exp2 below 0.8 ulp, expm1 below 1, the logistic function below 2.5.

use super::numbers::{LN2, high, nearest, polynomial, power_of_two, scaled, select, sum_ordered};
use super::operations::{Function, functions};
use std::f64::consts::LOG2_E;

/// Coefficients of q.
pub const TAIL: [f64; 11] = [
    0.5,
    0.166_666_666_666_666_77,
    0.041_666_666_666_666_69,
    0.008_333_333_333_321_744,
    0.001_388_888_888_887_015_7,
    0.000_198_412_698_858_740_08,
    2.480_158_735_621_881_2e-5,
    2.755_724_444_136_132_5e-6,
    2.755_724_541_148_616e-7,
    2.510_896_163_236_985_8e-8,
    2.092_382_644_388_765e-9,
];

/// eʳ⁺ᶜ − 1 − r for |r| ≤ 0.3466 and a tiny c.
#[inline(always)]
pub fn tail(r: f64, c: f64) -> f64 {
    let q = polynomial(r, TAIL);
    r * r * q + (c + c * r)
}

/// a = n·ln 2 + r + c for |a| < 2000: n, r and c.
#[inline(always)]
fn reduced(a: f64) -> [f64; 3] {
    let n = nearest(a * LOG2_E);
    let first = a - n * LN2[0];
    let second = n * LN2[1];
    let r = first - second;
    [n, r, (first - r) - second]
}

/// eᵃ·2ᵏ for a whole k, |k| ≤ 900.
#[inline(always)]
pub fn exp_scaled(a: f64, k: f64) -> f64 {
    // Beyond, the result is ∞ or 0 whatever a is; NaN is left as it is.
    let a = select(a > 800.0, 800.0, select(a < -800.0, -800.0, a));
    let [n, r, c] = reduced(a);
    let [one, rest] = sum_ordered(1.0, r);
    scaled(one + (rest + tail(r, c)), n + k)
}

/// eᵃ in f64, the same bits on every platform.
#[inline(always)]
pub fn exp(a: f64) -> f64 {
    exp_scaled(a, 0.0)
}

/// Numbers of [`exp_single`].
pub struct Single {
    /// [`numbers::ROUND`](super::numbers::ROUND) in f32.
    pub round: f32,
    /// The largest and the least a; beyond, the result is ∞ or 0.
    pub range: [f32; 2],
    /// ln 2 in 9 bits, so that a multiple is exact, and what it is more than ln 2.
    pub ln_2: [f32; 2],
    /// Coefficients of q.
    pub tail: [f32; 5],
}

/// The numbers.
pub const SINGLE: Single = Single {
    round: 1.5 * (1u32 << 23) as f32,
    range: [100.0, -110.0],
    ln_2: [0.693_359_4, 2.121_944_4e-4],
    tail: [0.5, 0.166_665_42, 0.041_666_28, 0.008_366_644, 0.001_394_655_6],
};

/// eᵃ in f32 arithmetic, as `shaders/functions/exponential.wgsl` has it: twice as many lanes, and a shorter polynomial.
#[inline(always)]
pub fn exp_single(a: f32) -> f32 {
    let Single { round, range: [most, least], ln_2, tail } = SINGLE;
    let power_of_two = |n: f32| f32::from_bits((n + round).to_bits().wrapping_add(127) << 23);
    let a = if a > most { most } else { a };
    let a = if a < least { least } else { a };
    let n = (a * std::f32::consts::LOG2_E + round) - round;
    let r = (a - n * ln_2[0]) + n * ln_2[1];
    let q = tail[0] + r * (tail[1] + r * (tail[2] + r * (tail[3] + r * tail[4])));
    let half = (0.5 * n + round) - round;
    (1.0 + (r + r * r * q)) * power_of_two(half) * power_of_two(n - half)
}

/// ln 2 in 24 bits, and the rest.
const LN2_SHORT: [f64; 2] = [f64::from_bits(0x3fe6_2e43_0000_0000), f64::from_bits(0xbe20_5c61_0ca8_6c39)];

/// 2ᵃ⁺ᵇ for |a + b| ≤ 1100 and a tiny b.
#[inline(always)]
pub fn exp2_of_sum(a: f64, b: f64) -> f64 {
    let n = nearest(a);
    let a = a - n;
    let short = high(a);
    let product = short * LN2_SHORT[0];
    let rest = (a - short) * LN2_SHORT[0] + (a * LN2_SHORT[1] + b * std::f64::consts::LN_2);
    let [r, c] = sum_ordered(product, rest);
    let [one, rest] = sum_ordered(1.0, r);
    scaled(one + (rest + tail(r, c)), n)
}

#[inline(always)]
pub fn exp2(a: f64) -> f64 {
    exp2_of_sum(select(a > 1100.0, 1100.0, select(a < -1100.0, -1100.0, a)), 0.0)
}

/// (eᵃ − 1)·2⁻ⁿ in two parts, and n; for −40 ≤ a ≤ 800.
#[inline(always)]
fn expm1_parts(a: f64) -> [f64; 3] {
    let [n, r, c] = reduced(a);
    // Exact as far as it matters: beyond n = 53 the subtrahend is less than half an ulp.
    let shift = 1.0 - power_of_two(-select(n > 64.0, 64.0, n));
    let [large, rest] = sum_ordered(shift, r);
    [large, rest + tail(r, c), n]
}

#[inline(always)]
fn expm1_clamped(a: f64) -> f64 {
    select(a > 800.0, 800.0, select(a < -40.0, -40.0, a))
}

/// (eᵃ − 1)·2ᵏ for a whole k, |k| ≤ 800.
#[inline(always)]
pub fn expm1_scaled(a: f64, k: f64) -> f64 {
    let [large, small, n] = expm1_parts(expm1_clamped(a));
    scaled(large + small, n + k)
}

#[inline(always)]
pub fn expm1(a: f64) -> f64 {
    // The sign of a zero is kept.
    select(a == 0.0, a, expm1_scaled(a, 0.0))
}

/// 1/(1 + e⁻ᵃ)
#[inline(always)]
pub fn sigmoid(a: f64) -> f64 {
    let e = exp(-a.abs());
    select(a < 0.0, e, 1.0) / (1.0 + e)
}

functions! {
    Exp: exp,
    Exp2: exp2,
    Expm1: expm1,
    Sigmoid: sigmoid,
}
