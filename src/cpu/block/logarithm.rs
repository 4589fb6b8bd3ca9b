//! ln a and its relatives.
//!
//! u = 2ᵏ(1 + f) with √½ ≤ 1 + f < √2, and ln(1 + f) = 2 artanh s = f − f²/2 + s(f²/2 + R(s²)) with s = f/(2 + f): the
//! method and the coefficients of fdlibm (`e_log.c`, `s_log1p.c`), its branches for small f left out. What 1 + a loses
//! to rounding comes back as a first-order term. Errors, measured against double-double arithmetic: below 0.8 ulp,
//! ln(1 + eᵃ) below 1.6.

use super::exponential::exp;
use super::numbers::{LN2, polynomial, select, sum};
use super::operations::{Function, functions};

/// ln(u(1 + c)) + k ln 2 for a normal u > 0, a tiny c and a whole k.
#[inline(always)]
pub fn logarithm(u: f64, c: f64, k: f64) -> f64 {
    const ONE: u64 = 1.0f64.to_bits();
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const MANTISSA: u64 = (1 << 52) - 1;
    let shifted = u.to_bits().wrapping_add(ONE - ROOT_HALF);
    let exponent = f64::from_bits((shifted >> 52) | ((1u64 << 52) as f64).to_bits()) - ((1u64 << 52) as f64 + 1023.0);
    let f = f64::from_bits((shifted & MANTISSA) + ROOT_HALF) - 1.0;
    let k = exponent + k;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let odd = z * polynomial(w, [0.666_666_666_666_673_5, 0.285_714_287_436_623_9, 0.181_835_721_616_180_5, 0.147_981_986_051_165_86]);
    let even = w * polynomial(w, [0.399_999_999_994_094_2, 0.222_221_984_321_497_84, 0.153_138_376_992_093_73]);
    let half = 0.5 * f * f;
    k * LN2[0] - ((half - (s * (half + (odd + even)) + (k * LN2[1] + c))) - f)
}

/// `value` for 0 < u < ∞, and what a logarithm of u is elsewhere.
#[inline(always)]
pub fn at_edges(u: f64, value: f64) -> f64 {
    let edge = select(u == 0.0, f64::NEG_INFINITY, select(u == f64::INFINITY, u, f64::NAN));
    select((u > 0.0) & (u < f64::INFINITY), value, edge)
}

#[inline(always)]
pub fn log(a: f64) -> f64 {
    let subnormal = a < f64::MIN_POSITIVE;
    let u = select(subnormal, a * (1u64 << 54) as f64, a);
    at_edges(a, logarithm(u, 0.0, select(subnormal, -54.0, 0.0)))
}

/// ln(1 + a + b) for b within a rounding error of a.
#[inline(always)]
pub fn log1p_of_sum(a: f64, b: f64) -> f64 {
    let [u, c] = sum(1.0, a);
    at_edges(u, logarithm(u, (c + b) / u, 0.0))
}

#[inline(always)]
pub fn log1p(a: f64) -> f64 {
    // The sign of a zero is kept.
    select(a == 0.0, a, log1p_of_sum(a, 0.0))
}

/// ln(1 + eᵃ)
#[inline(always)]
pub fn softplus(a: f64) -> f64 {
    select(a > 0.0, a, 0.0) + log1p(exp(-a.abs()))
}

functions! {
    Log: log,
    Log1p: log1p,
    Softplus: softplus,
}
