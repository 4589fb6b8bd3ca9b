//! The angles of a tangent, a sine, a cosine and a point.
//!
//! **Arctangent**: arctan x = arctan c + arctan t with t = (x − c)/(1 + cx), the centre c being 0, ½, 1, 1½ or ∞ so that
//! |t| ≤ 7/16; then a polynomial. **Arcsine**: x + xR(x²) with a rational R up to ½; beyond, by
//! arcsin x = π/2 − 2 arcsin √((1 − x)/2), where what the root loses to rounding is computed too; the arccosine from the
//! same parts. Methods and coefficients are fdlibm's (`s_atan.c`, `e_asin.c`, `e_acos.c`, `e_atan2.c`), its branches
//! as choices. Errors, measured against double-double arithmetic: below 1 ulp, that of a point below 1.5 ulp.

use super::numbers::{high, polynomial, select};
use super::operations::{Function, FunctionOfTwo, functions};
use leastwise_program::operations::Atan2;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// π/2 − its f64 value
const HALF_PI_LOW: f64 = 6.123_233_995_736_766e-17;

/// arctan x for x ≥ 0
#[inline(always)]
fn atan_positive(x: f64) -> f64 {
    let [half, one, three_halves, infinity] = [x >= 0.4375, x >= 0.6875, x >= 1.1875, x >= 2.4375];
    let choose = |values: [f64; 5]| {
        let middle = select(one, values[2], select(half, values[1], values[0]));
        select(infinity, values[4], select(three_halves, values[3], middle))
    };
    let centre = choose([0.0, 0.5, 1.0, 1.5, 0.0]);
    let angle = choose([0.0, 0.463_647_609_000_806_1, FRAC_PI_4, 0.982_793_723_247_329, FRAC_PI_2]);
    let rest = choose([0.0, 2.269_877_745_296_168_7e-17, 0.5 * HALF_PI_LOW, 1.390_331_103_123_099_8e-17, HALF_PI_LOW]);
    let t = select(infinity, -1.0, x - centre) / select(infinity, x, 1.0 + centre * x);
    let z = t * t;
    let w = z * z;
    let odd = z * polynomial(
        w,
        [
            0.333_333_333_333_329_3,
            0.142_857_142_725_034_66,
            0.090_908_871_334_365_07,
            0.066_610_731_373_875_31,
            0.049_768_779_946_159_324,
            0.016_285_820_115_365_782,
        ],
    );
    let even = w * polynomial(
        w,
        [
            -0.199_999_999_998_764_83,
            -0.111_111_104_054_623_56,
            -0.076_918_762_050_448_3,
            -0.058_335_701_337_905_735,
            -0.036_531_572_744_216_916,
        ],
    );
    angle - ((t * (odd + even) - rest) - t)
}

#[inline(always)]
pub fn atan(a: f64) -> f64 {
    atan_positive(a.abs()).copysign(a)
}

/// The angle of (x, y); 0 at the origin. The sign of a zero does not matter.
#[inline(always)]
pub fn atan2(y: f64, x: f64) -> f64 {
    let (across, along) = (y.abs(), x.abs());
    let quotient = select((across == f64::INFINITY) & (along == f64::INFINITY), 1.0, across / along);
    let angle = atan_positive(select((y == 0.0) & !x.is_nan(), 0.0, quotient));
    let turned = PI - (angle - 2.0 * HALF_PI_LOW);
    let angle = select(x < 0.0, turned, angle);
    select(y < 0.0, -angle, angle)
}

/// (arcsin x − x)/x for z = x² ≤ ¼
#[inline(always)]
fn arc(z: f64) -> f64 {
    let p = z * polynomial(
        z,
        [
            0.166_666_666_666_666_66,
            -0.325_565_818_622_400_9,
            0.201_212_532_134_862_93,
            -0.040_055_534_500_679_41,
            0.000_791_534_994_289_814_5,
            3.479_331_075_960_212e-5,
        ],
    );
    let q = polynomial(z, [1.0, -2.403_394_911_734_414, 2.020_945_760_233_505_7, -0.688_283_971_605_453_3, 0.077_038_150_555_901_94]);
    p / q
}

/// √z for z ≥ 0 in two parts, the first of them short; and their sum.
#[inline(always)]
fn root_parts(z: f64) -> [f64; 3] {
    let root = z.sqrt();
    let short = high(root);
    // At 0 the quotient is 0, not 0/0.
    [short, (z - short * short) / (root + short + f64::MIN_POSITIVE), root]
}

#[inline(always)]
pub fn asin(a: f64) -> f64 {
    let x = a.abs();
    let large = x >= 0.5;
    let half = 0.5 * (1.0 - x);
    let r = arc(select(large, half, x * x));
    let [short, rest, root] = root_parts(half);
    let near_one = FRAC_PI_4 - ((2.0 * root * r - (HALF_PI_LOW - 2.0 * rest)) - (FRAC_PI_4 - 2.0 * short));
    select(large, near_one, x + x * r).copysign(a)
}

#[inline(always)]
pub fn acos(a: f64) -> f64 {
    let x = a.abs();
    let large = x >= 0.5;
    let half = 0.5 * (1.0 - x);
    let r = arc(select(large, half, x * x));
    let [short, rest, root] = root_parts(half);
    let middle = FRAC_PI_2 - (a - (HALF_PI_LOW - a * r));
    let near_one = 2.0 * (short + (r * root + rest));
    let near_minus_one = 2.0 * (FRAC_PI_2 - (root + (r * root - HALF_PI_LOW)));
    select(large, select(a < 0.0, near_minus_one, near_one), middle)
}

functions! {
    Asin: asin,
    Acos: acos,
    Atan: atan,
}

impl FunctionOfTwo for Atan2 {
    #[inline(always)]
    fn value(y: f64, x: f64) -> f64 {
        atan2(y, x)
    }
}
