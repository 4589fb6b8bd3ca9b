//! The two real types that kernels compute in on the CPU.

use crate::Storage;
use crate::block;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// `f32` or `f64`.
pub trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + std::fmt::Debug
    + bytemuck::Pod
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// The same number in f64; exact.
    fn to_f64(self) -> f64;
    /// √x, correctly rounded.
    fn sqrt(self) -> Self;
    /// |x|
    fn abs(self) -> Self;
    /// ⌊x⌋
    fn floor(self) -> Self;
    /// ⌈x⌉
    fn ceil(self) -> Self;
    /// The nearest integer; of two the even one.
    fn round_ties_even(self) -> Self;
    /// True unless the number is infinite or NaN.
    fn is_finite(self) -> bool;
    /// True if the number is NaN.
    fn is_nan(self) -> bool;
    /// eˣ, the same bits everywhere and without a branch, so that a loop over lanes is vector code: in f32 within 1 ulp, in f64
    /// as in the block interpreter.
    fn exp(self) -> Self;
    /// Elements of a buffer of this type; none of another.
    fn of(storage: &Storage) -> Option<&[Self]>;
    /// Elements of a buffer of this type, to be written; none of another.
    fn of_mut(storage: &mut Storage) -> Option<&mut [Self]>;
}

macro_rules! real {
    ($type:ident, $variant:ident, $exp:path) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $type::sqrt(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $type::abs(self)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $type::floor(self)
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                $type::ceil(self)
            }
            #[inline(always)]
            fn round_ties_even(self) -> Self {
                $type::round_ties_even(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $type::is_finite(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $type::is_nan(self)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                $exp(self)
            }
            fn of(storage: &Storage) -> Option<&[Self]> {
                match storage {
                    Storage::$variant(values) => Some(values),
                    _ => None,
                }
            }
            fn of_mut(storage: &mut Storage) -> Option<&mut [Self]> {
                match storage {
                    Storage::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    };
}

real!(f32, F32, block::exp_single);
real!(f64, F64, block::exp);
