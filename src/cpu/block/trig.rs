//! sin and cos of a block of lanes, both at once and without a branch a lane; and the tangent.
//!
//! x is brought to r = x − n·π/2 with |r| ≤ π/4 (Cody & Waite, *Software Manual for the Elementary Functions*, 1980:
//! π/2 in parts of so few bits that n times a part is exact), then sin r and cos r are polynomials, and the last two
//! bits of n say which of them is wanted with which sign. Parts and coefficients are fdlibm's (`e_rem_pio2.c`,
//! `k_sin.c`, `k_cos.c`) and, for f32, FreeBSD's, which computes in f64 throughout. The error stays
//! below 0.8 ulp in f64 (measured against 200-bit arithmetic for |x| up to 10⁶, next to multiples of π/2 too) and below
//! 1 ulp in f32. Nothing is fused, so that a native build and wasm give the same bits.
//!
//! A lane beyond the reach of this reduction, or not finite, takes the library's result: a lane's value never depends
//! on its neighbours.

use super::lanes::{FEWEST, few, few_mut};
use super::numbers::{ROUND, polynomial, select, sum_ordered};
use super::operations::{Function, library};
use crate::real::Real;
use leastwise_program::Unary;
use leastwise_program::operations::Tan;

#[inline(always)]
pub fn sin_cos<R: Real>(x: &[R], sin: &mut [R], cos: &mut [R]) {
    let limit = R::from_f64(if size_of::<R>() == size_of::<f64>() { double::LIMIT } else { single::LIMIT });
    // Each cast is to the type that it has already.
    if size_of::<R>() == size_of::<f64>() {
        double::sin_cos(bytemuck::cast_slice(x), bytemuck::cast_slice_mut(sin), bytemuck::cast_slice_mut(cos));
    } else {
        single::sin_cos(bytemuck::cast_slice(x), bytemuck::cast_slice_mut(sin), bytemuck::cast_slice_mut(cos));
    }
    let within = |x: &R| x.abs() <= limit;
    if x.iter().fold(true, |all, x| all & within(x)) {
        return;
    }
    for lane in (0..x.len()).filter(|lane| !within(&x[*lane])) {
        let x = x[lane].to_f64();
        (sin[lane], cos[lane]) = (R::from_f64(library(Unary::Sin, x)), R::from_f64(library(Unary::Cos, x)));
    }
}

const TWO_OVER_PI: f64 = std::f64::consts::FRAC_2_PI;

/// sin and cos of r + n·π/2 from those of r.
#[inline(always)]
fn turn(sin: f64, cos: f64, n: u64) -> (f64, f64) {
    let (sin, cos) = (sin.to_bits(), cos.to_bits());
    let swap = (sin ^ cos) & 0u64.wrapping_sub(n & 1);
    let sin_sign = (n & 2) << 62;
    let cos_sign = (n.wrapping_add(1) & 2) << 62;
    (f64::from_bits(sin ^ swap ^ sin_sign), f64::from_bits(cos ^ swap ^ cos_sign))
}

mod double {
    use super::*;

    /// n < 2²⁰, so that n times the first two parts is exact.
    pub const LIMIT: f64 = 1e6;

    /// π/2: 33 bits, 33 bits, the rest.
    const PARTS: [f64; 3] =
        [f64::from_bits(0x3ff9_21fb_5440_0000), f64::from_bits(0x3dd0_b461_1a60_0000), f64::from_bits(0x3ba3_198a_2e03_7073)];

    #[inline(always)]
    pub fn sin_cos(x: &[f64], sin: &mut [f64], cos: &mut [f64]) {
        for ((x, sin), cos) in few(x).iter().zip(few_mut(sin)).zip(few_mut(cos)) {
            for lane in 0..FEWEST {
                let [r, low, turns] = reduced(x[lane]);
                let ([s, s_small], [c, c_small]) = (sine(r, low), cosine(r, low));
                (sin[lane], cos[lane]) = turn(s + s_small, c + c_small, turns.to_bits());
            }
        }
    }

    /// x − n·π/2 in two parts, and a number whose lowest bits are those of n.
    #[inline(always)]
    fn reduced(x: f64) -> [f64; 3] {
        let turns = x * TWO_OVER_PI + ROUND;
        let n = turns - ROUND;
        let first = x - n * PARTS[0];
        let second = n * PARTS[1];
        let sum = first - second;
        let rest = n * PARTS[2] - ((first - sum) - second);
        let r = sum - rest;
        [r, (sum - r) - rest, turns]
    }

    /// sin(r + low) in two parts.
    #[inline(always)]
    fn sine(r: f64, low: f64) -> [f64; 2] {
        let z = r * r;
        let tail = polynomial(
            z,
            [
                8.333_333_333_322_49e-3,
                -1.984_126_982_985_795e-4,
                2.755_731_370_707_006_8e-6,
                -2.505_076_025_340_686_3e-8,
                1.589_690_995_211_55e-10,
            ],
        );
        let cube = z * r;
        [r, -((z * (0.5 * low - cube * tail) - low) - cube * -1.666_666_666_666_663_2e-1)]
    }

    /// cos(r + low) in two parts.
    #[inline(always)]
    fn cosine(r: f64, low: f64) -> [f64; 2] {
        let z = r * r;
        let tail = z * polynomial(
            z,
            [
                4.166_666_666_666_66e-2,
                -1.388_888_888_887_411e-3,
                2.480_158_728_947_673e-5,
                -2.755_731_435_139_066_3e-7,
                2.087_572_321_298_175e-9,
                -1.135_964_755_778_819_5e-11,
            ],
        );
        let half = 0.5 * z;
        let high = 1.0 - half;
        [high, ((1.0 - high) - half) + (z * tail - r * low)]
    }

    /// Whether [`tan`] is right; elsewhere the library is asked.
    #[inline(always)]
    pub fn within_tan(x: f64) -> bool {
        x.abs() <= LIMIT
    }

    /// The quotient of the sine and the cosine, each of which keeps what its last sum loses: below 1.5 ulp.
    #[inline(always)]
    pub fn tan(x: f64) -> f64 {
        let [r, low, turns] = reduced(x);
        let ([s, s_small], [c, c_small]) = (sine(r, low), cosine(r, low));
        let ([s, s_low], [c, c_low]) = (sum_ordered(s, s_small), sum_ordered(c, c_small));
        // A quarter turn on, it is −cos/sin.
        let odd = turns.to_bits() & 1 != 0;
        let (above, above_low) = (select(odd, -c, s), select(odd, -c_low, s_low));
        let (below, below_low) = (select(odd, s, c), select(odd, s_low, c_low));
        let quotient = above / below;
        let tangent = quotient + (above_low - quotient * below_low) / below;
        // The sign of a zero is kept.
        select(x == 0.0, x, tangent)
    }
}

mod single {
    use super::*;

    /// n < 2²⁸, so that n times the first part is exact in f64.
    pub const LIMIT: f64 = 1e8;

    /// π/2: 25 bits, the rest.
    const PARTS: [f64; 2] = [1.570_796_310_901_641_8, 1.589_325_477_352_819_7e-8];

    #[inline(always)]
    pub fn sin_cos(x: &[f32], sin: &mut [f32], cos: &mut [f32]) {
        for ((x, sin), cos) in few(x).iter().zip(few_mut(sin)).zip(few_mut(cos)) {
            for lane in 0..FEWEST {
                let x = f64::from(x[lane]);
                let turns = x * TWO_OVER_PI + ROUND;
                let n = turns - ROUND;
                let r = x - n * PARTS[0] - n * PARTS[1];
                let (s, c) = turn(sine(r), cosine(r), turns.to_bits());
                (sin[lane], cos[lane]) = (s as f32, c as f32);
            }
        }
    }

    #[inline(always)]
    fn sine(r: f64) -> f64 {
        let z = r * r;
        let tail =
            -1.666_666_664_162_652_4e-1 + z * (8.333_329_385_889_463e-3 + z * (-1.983_933_483_609_663_2e-4 + z * 2.718_311_493_989_822e-6));
        r * (1.0 + z * tail)
    }

    #[inline(always)]
    fn cosine(r: f64) -> f64 {
        let z = r * r;
        1.0 + z
            * (-4.999_999_972_510_31e-1 + z * (4.166_662_332_373_906e-2 + z * (-1.388_676_377_460_993e-3 + z * 2.439_044_879_627_741e-5)))
    }
}

impl Function for Tan {
    const IS_WHOLE: bool = false;

    #[inline(always)]
    fn value(a: f64) -> f64 {
        double::tan(a)
    }

    #[inline(always)]
    fn is_within(a: f64) -> bool {
        double::within_tan(a)
    }
}
