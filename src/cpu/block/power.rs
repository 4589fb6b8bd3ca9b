//! Powers and cube roots.
//!
//! **aᵇ** = 2^(b log₂ a), where log₂ a is needed to 65 bits: it is computed in two parts, with products of parts that
//! are so short that they are exact. Method and coefficients are fdlibm's (`e_pow.c`), with its table of two intervals
//! as a choice without a branch; 2ᶻ is that of `exponential`. Error, measured against double-double arithmetic: below
//! 0.7 ulp. Lanes whose base is not positive and normal, or whose exponent is huge, take the library's result.
//!
//! **∛a** starts from a third of the exponent (Kahan), improved by a polynomial to 23 bits and by one step of Newton
//! to 53: FreeBSD's `s_cbrt.c`, within 0.67 ulp.

use super::exponential::exp2_of_sum;
use super::numbers::{high, polynomial, select};
use super::operations::{Function, FunctionOfTwo, functions};
use leastwise_program::operations::Pow;

/// Whether [`pow`] is right; elsewhere the library is asked.
#[inline(always)]
pub fn within_pow(a: f64, b: f64) -> bool {
    (a >= f64::MIN_POSITIVE) & a.is_finite() & (b.abs() < 1e18)
}

/// log₂ a in two parts, of which the first is short; for a normal a > 0.
#[inline(always)]
fn log2_parts(a: f64) -> [f64; 2] {
    const ROOT_THREE_HALVES: f64 = 1.224_744_871_391_589;
    const ROOT_THREE: f64 = 1.732_050_807_568_877_2;
    /// log₂ 1.5
    const BASE: [f64; 2] = [0.584_962_487_220_764_2, 1.350_039_202_129_749e-8];
    /// 2/(3 ln 2): the whole, and in two parts.
    const SCALE: f64 = 0.961_796_693_925_975_6;
    const SCALE_PARTS: [f64; 2] = [0.961_796_700_954_437_3, -7.028_461_650_952_758e-9];
    let bits = a.to_bits();
    let exponent = f64::from_bits((bits >> 52) | ((1u64 << 52) as f64).to_bits()) - ((1u64 << 52) as f64 + 1023.0);
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | 1.0f64.to_bits());
    let upper = mantissa >= ROOT_THREE;
    let middle = (mantissa >= ROOT_THREE_HALVES) & !upper;
    let x = select(upper, 0.5 * mantissa, mantissa);
    let n = select(upper, exponent + 1.0, exponent);
    let centre = select(middle, 1.5, 1.0);
    // s = (x − centre)/(x + centre), to twice the digits.
    let u = x - centre;
    let v = 1.0 / (x + centre);
    let s = u * v;
    let s_high = high(s);
    let t_high = high(x + centre);
    let t_low = x - (t_high - centre);
    let s_low = v * ((u - s_high * t_high) - s_high * t_low);
    // ln x − ln centre = 2s + ⅔s³ + …
    let s2 = s * s;
    let series = polynomial(
        s2,
        [
            0.599_999_999_999_994_6,
            0.428_571_428_578_550_2,
            0.333_333_329_818_377_43,
            0.272_728_123_808_534,
            0.230_660_745_775_561_75,
            0.206_975_017_800_338_42,
        ],
    );
    let r = s2 * s2 * series + s_low * (s_high + s);
    let s2 = s_high * s_high;
    let t_high = high(3.0 + s2 + r);
    let t_low = r - ((t_high - 3.0) - s2);
    let u = s_high * t_high;
    let v = s_low * t_high + t_low * s;
    let p_high = high(u + v);
    let p_low = v - (p_high - u);
    let z_high = SCALE_PARTS[0] * p_high;
    let z_low = SCALE_PARTS[1] * p_high + p_low * SCALE + select(middle, BASE[1], 0.0);
    let base = select(middle, BASE[0], 0.0);
    let first = high(((z_high + z_low) + base) + n);
    [first, z_low - (((first - n) - base) - z_high)]
}

/// aᵇ where [`within_pow`] holds.
#[inline(always)]
pub fn pow(a: f64, b: f64) -> f64 {
    let [first, second] = log2_parts(a);
    let b_high = high(b);
    let low = (b - b_high) * first + b * second;
    let product = b_high * first;
    let z = product + low;
    let rest = (product - z) + low;
    // Beyond, the result is ∞ or 0 whatever z is.
    let within = z.abs() <= 1100.0;
    exp2_of_sum(select(within, z, select(z > 0.0, 1100.0, -1100.0)), select(within, rest, 0.0))
}

#[inline(always)]
pub fn cbrt(a: f64) -> f64 {
    let magnitude = a.abs();
    let subnormal = magnitude < f64::MIN_POSITIVE;
    let x = select(subnormal, magnitude * (1u64 << 54) as f64, magnitude);
    // A third of the upper word; both factors have at most 32 bits.
    let third = ((x.to_bits() >> 32) * 0x5555_5556) >> 32;
    let t = f64::from_bits((third + 715_094_163) << 32);
    let r = t * t * (t / x);
    let low = polynomial(r, [1.875_951_824_271_77, -1.884_979_795_433_771_7, 1.621_429_720_105_354_5]);
    let t = t * (low + r * r * r * (-0.758_397_934_778_766 + r * 0.145_996_192_886_612_45));
    // 23 bits, rounded up: its square and cube lose little.
    let t = f64::from_bits(t.to_bits().wrapping_add(0x8000_0000) & 0xffff_ffff_c000_0000);
    let r = x / (t * t);
    let root = t + t * ((r - t) / (t + t + r));
    let root = select(subnormal, root * (1.0 / (1u64 << 18) as f64), root);
    select((magnitude > 0.0) & (magnitude < f64::INFINITY), root.copysign(a), a)
}

functions! {
    Cbrt: cbrt,
}

impl FunctionOfTwo for Pow {
    const IS_WHOLE: bool = false;

    #[inline(always)]
    fn value(a: f64, b: f64) -> f64 {
        pow(a, b)
    }

    #[inline(always)]
    fn is_within(a: f64, b: f64) -> bool {
        within_pow(a, b)
    }
}
