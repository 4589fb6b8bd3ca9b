//! Four numbers in f32 and two in f64, as vectors of simd128.

use super::exponentials::Vector;
use leastwise_program::Unary;
use std::arch::wasm32::*;
use std::ops::{Add, Div, Mul, Sub};

#[derive(Clone, Copy)]
pub struct Four(pub v128);

#[derive(Clone, Copy)]
pub struct Two(pub v128);

macro_rules! operation {
    ($vector:ident, $name:ident, $method:ident, $instruction:ident) => {
        impl $name for $vector {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self($instruction(self.0, other.0))
            }
        }
    };
}

macro_rules! vector {
    ($vector:ident of $number:ident, $bits:expr, $splat:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $pmin:ident, $pmax:ident,
     $abs:ident, $lt:ident, $gt:ident, $whole_sub:ident, $shl:ident, $shr:ident) => {
        operation!($vector, Add, add, $add);
        operation!($vector, Sub, sub, $sub);
        operation!($vector, Mul, mul, $mul);
        operation!($vector, Div, div, $div);

        impl Vector for $vector {
            const ROUND: f64 = <$number as Vector>::ROUND;
            const BIAS: f64 = <$number as Vector>::BIAS;
            const LN_2: [f64; 2] = <$number as Vector>::LN_2;
            const RANGE: [f64; 2] = <$number as Vector>::RANGE;

            #[inline(always)]
            fn of(number: f64) -> Self {
                Self($splat(number as $number))
            }
            #[inline(always)]
            fn at_most(self, most: f64) -> Self {
                Self($pmin(self.0, Self::of(most).0))
            }
            #[inline(always)]
            fn at_least(self, least: f64) -> Self {
                Self($pmax(self.0, Self::of(least).0))
            }
            #[inline(always)]
            fn magnitude(self) -> Self {
                Self($abs(self.0))
            }
            #[inline(always)]
            fn with_sign_of(self, other: Self) -> Self {
                Self(v128_or(self.0, v128_and(other.0, Self::of(-0.0).0)))
            }
            #[inline(always)]
            fn where_less(self, than: f64, then: Self, otherwise: Self) -> Self {
                Self(v128_bitselect(then.0, otherwise.0, $lt(self.0, Self::of(than).0)))
            }
            #[inline(always)]
            fn next_where_greater(self, other: Self, than: f64) -> Self {
                Self($whole_sub(self.0, $gt(other.0, Self::of(than).0)))
            }
            #[inline(always)]
            fn power(self) -> Self {
                Self($shl(self.0, $bits))
            }
            #[inline(always)]
            fn powers(self) -> [Self; 2] {
                let half = $shl($shr(self.0, 1), $bits);
                [Self(half), Self($whole_sub($shl(self.0, $bits), half))]
            }
        }
    };
}

vector!(Four of f32, 23, f32x4_splat, f32x4_add, f32x4_sub, f32x4_mul, f32x4_div, f32x4_pmin, f32x4_pmax,
    f32x4_abs, f32x4_lt, f32x4_gt, i32x4_sub, i32x4_shl, u32x4_shr);
vector!(Two of f64, 52, f64x2_splat, f64x2_add, f64x2_sub, f64x2_mul, f64x2_div, f64x2_pmin, f64x2_pmax,
    f64x2_abs, f64x2_lt, f64x2_gt, i64x2_sub, i64x2_shl, u64x2_shr);

impl From<[f32; 4]> for Four {
    #[inline(always)]
    fn from([a, b, c, d]: [f32; 4]) -> Self {
        Self(f32x4(a, b, c, d))
    }
}

impl From<Four> for [f32; 4] {
    #[inline(always)]
    fn from(Four(v): Four) -> Self {
        [f32x4_extract_lane::<0>(v), f32x4_extract_lane::<1>(v), f32x4_extract_lane::<2>(v), f32x4_extract_lane::<3>(v)]
    }
}

impl From<[f64; 2]> for Two {
    #[inline(always)]
    fn from([a, b]: [f64; 2]) -> Self {
        Self(f64x2(a, b))
    }
}

impl From<Two> for [f64; 2] {
    #[inline(always)]
    fn from(Two(v): Two) -> Self {
        [f64x2_extract_lane::<0>(v), f64x2_extract_lane::<1>(v)]
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

impl Four {
    #[inline(always)]
    pub fn widened(self) -> [Two; 2] {
        [self.0, i32x4_shuffle::<2, 3, 2, 3>(self.0, self.0)].map(|half| Two(f64x2_promote_low_f32x4(half)))
    }

    #[inline(always)]
    pub fn narrowed([low, high]: [Two; 2], halves: [v128; 2]) -> Self {
        let low = u8x16_swizzle(f32x4_demote_f64x2_zero(low.0), halves[0]);
        Self(v128_or(low, u8x16_swizzle(f32x4_demote_f64x2_zero(high.0), halves[1])))
    }
}

macro_rules! instructions {
    ($name:ident, $vector:ident of $lanes:literal $number:ident, $($operation:ident: $instruction:ident),*) => {
        /// Loop of one instruction over vectors.
        #[inline(never)]
        pub fn $name(operation: Unary, out: &mut [$number], a: &[$number]) {
            let vectors = out.as_chunks_mut::<$lanes>().0.iter_mut().zip(a.as_chunks::<$lanes>().0);
            match operation {
                $(Unary::$operation => vectors.for_each(|(out, a)| *out = $vector($instruction($vector::from(*a).0)).into()),)*
                other => unreachable!("{other:?} is no instruction"),
            }
        }
    };
}

instructions!(four, Four of 4 f32, Neg: f32x4_neg, Abs: f32x4_abs, Floor: f32x4_floor, Ceil: f32x4_ceil, Round: f32x4_nearest, Sqrt: f32x4_sqrt);
instructions!(two, Two of 2 f64, Neg: f64x2_neg, Abs: f64x2_abs, Floor: f64x2_floor, Ceil: f64x2_ceil, Round: f64x2_nearest, Sqrt: f64x2_sqrt);
