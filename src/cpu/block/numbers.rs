//! Pieces of f64 numbers, without a branch: what the functions over lanes are put together from.
//!
//! None of these uses an instruction that SSE2 or simd128 lacks (a conversion from a float to a 64-bit integer, say),
//! so that a loop over lanes stays vector code on every target.

/// Added to a small number, it leaves the nearest integer in the lowest bits of the sum.
pub const ROUND: f64 = 1.5 * (1u64 << 52) as f64;

/// ln 2 in 33 bits, so that a whole number below 2²⁰ times it is exact, and the rest.
pub const LN2: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fee0_0000), f64::from_bits(0x3dea_39ef_3579_3c76)];

/// Both values are computed: a choice without a branch.
#[inline(always)]
pub fn select(condition: bool, then: f64, otherwise: f64) -> f64 {
    if condition { then } else { otherwise }
}

/// The nearest integer, of two the even one, for |x| < 2⁵¹.
#[inline(always)]
pub fn nearest(x: f64) -> f64 {
    (x + ROUND) - ROUND
}

/// 2ⁿ for a whole n from −1022 to 1023.
#[inline(always)]
pub fn power_of_two(n: f64) -> f64 {
    f64::from_bits((n + ROUND).to_bits().wrapping_add(1023) << 52)
}

/// x·2ⁿ for a whole n, |n| ≤ 2044; rounded once, where it is subnormal.
#[inline(always)]
pub fn scaled(x: f64, n: f64) -> f64 {
    let half = nearest(0.5 * n);
    x * power_of_two(half) * power_of_two(n - half)
}

/// The number with the low 32 bits cleared: 21 bits, so that the product of two such parts is exact.
#[inline(always)]
pub fn high(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !0xffff_ffff)
}

/// a + b and its rounding error, for |a| ≥ |b| or a = 0 (Dekker's fast two-sum).
#[inline(always)]
pub fn sum_ordered(a: f64, b: f64) -> [f64; 2] {
    let sum = a + b;
    [sum, (a - sum) + b]
}

/// a + b and its rounding error (Knuth's two-sum).
#[inline(always)]
pub fn sum(a: f64, b: f64) -> [f64; 2] {
    let sum = a + b;
    let b_part = sum - a;
    [sum, (a - (sum - b_part)) + (b - b_part)]
}

/// c₀ + c₁z + c₂z² + …: four chains of Horner's rule in z⁴, put together last. One chain would be right as well, but the
/// processor would wait for each of its steps (Estrin's idea, 1960).
#[inline(always)]
pub fn polynomial<const N: usize>(z: f64, coefficients: [f64; N]) -> f64 {
    let square = z * z;
    let fourth = square * square;
    let mut chains = [0.0; 4];
    for k in (0..N).rev() {
        chains[k % 4] = if k + 4 < N { coefficients[k] + fourth * chains[k % 4] } else { coefficients[k] };
    }
    let low = if N > 1 { chains[0] + z * chains[1] } else { chains[0] };
    match N {
        0..=2 => low,
        3 => low + square * chains[2],
        _ => low + square * (chains[2] + z * chains[3]),
    }
}
