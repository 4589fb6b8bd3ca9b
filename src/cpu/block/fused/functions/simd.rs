//! Two numbers in f64, as a vector of simd128.

use super::Doubles;
use std::arch::wasm32::*;
use std::ops::{Add, Div, Mul, Sub};

#[derive(Clone, Copy)]
pub struct Pair(pub v128);

macro_rules! operations {
    ($($name:ident, $method:ident, $instruction:ident;)*) => {$(
        impl $name for Pair {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self($instruction(self.0, other.0))
            }
        }
    )*};
}

operations! {
    Add, add, f64x2_add;
    Sub, sub, f64x2_sub;
    Mul, mul, f64x2_mul;
    Div, div, f64x2_div;
}

impl Doubles for Pair {
    #[inline(always)]
    fn of(number: f64) -> Self {
        Self(f64x2_splat(number))
    }
    #[inline(always)]
    fn at_most(self, most: f64) -> Self {
        Self(f64x2_pmin(self.0, f64x2_splat(most)))
    }
    #[inline(always)]
    fn at_least(self, least: f64) -> Self {
        Self(f64x2_pmax(self.0, f64x2_splat(least)))
    }
    #[inline(always)]
    fn magnitude(self) -> Self {
        Self(f64x2_abs(self.0))
    }
    #[inline(always)]
    fn with_sign_of(self, other: Self) -> Self {
        Self(v128_or(f64x2_abs(self.0), v128_and(other.0, f64x2_splat(-0.0))))
    }
    #[inline(always)]
    fn where_negative(self, then: Self, otherwise: Self) -> Self {
        Self(v128_bitselect(then.0, otherwise.0, f64x2_lt(self.0, f64x2_splat(0.0))))
    }
    #[inline(always)]
    fn power_of_two(self) -> Self {
        Self(i64x2_shl(i64x2_add(self.0, i64x2_splat(1023)), 52))
    }
}

/// Lanes of two halves, in their places: numbers that the compiler does not know. Else it makes one conversion of four numbers of two
/// conversions and a shuffle, and of that scalar code.
#[inline(always)]
pub fn halves() -> [v128; 2] {
    std::hint::black_box([
        u8x16(0, 1, 2, 3, 4, 5, 6, 7, 16, 16, 16, 16, 16, 16, 16, 16),
        u8x16(16, 16, 16, 16, 16, 16, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7),
    ])
}

/// Four numbers in f32 through a function of two in f64.
#[inline(always)]
pub fn four(a: [f32; 4], halves: [v128; 2], value: impl Fn(Pair) -> Pair) -> [f32; 4] {
    let a = f32x4(a[0], a[1], a[2], a[3]);
    let low = value(Pair(f64x2_promote_low_f32x4(a)));
    let high = value(Pair(f64x2_promote_low_f32x4(i32x4_shuffle::<2, 3, 2, 3>(a, a))));
    let low = u8x16_swizzle(f32x4_demote_f64x2_zero(low.0), halves[0]);
    let out = v128_or(low, u8x16_swizzle(f32x4_demote_f64x2_zero(high.0), halves[1]));
    [f32x4_extract_lane::<0>(out), f32x4_extract_lane::<1>(out), f32x4_extract_lane::<2>(out), f32x4_extract_lane::<3>(out)]
}
