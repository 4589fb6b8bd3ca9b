//! One loop over the lanes of a block for every operation.
//!
//! The functions of `exponential`, `logarithm` and their neighbours work on one f64 and have no branches, so that a loop
//! around one of them is vector code. f32 lanes are computed in f64, and so are right to half an ulp but for a few bits.

use super::lanes::{LANES, Lanes};
use super::{error_function::*, exponential::*, hyperbolic::*, inverse_trig::*, logarithm::*, power::*, trig::*};
use crate::kernel::{Binary, Unary};
use crate::real::Real;

/// A loop over lanes. (Not a function of a closure: that would be inlined, and so become vector code, or not, as the
/// compiler likes.)
macro_rules! lanes {
    ($out:ident = |$($operand:ident),+| $value:expr) => {
        for lane in 0..LANES {
            $(let $operand = $operand[lane];)+
            $out[lane] = $value;
        }
    };
}

/// A loop over lanes in f64.
macro_rules! lanes_f64 {
    ($out:ident = |$($operand:ident),+| $value:expr) => {
        for lane in 0..LANES {
            $(let $operand = $operand[lane].to_f64();)+
            $out[lane] = R::from_f64($value);
        }
    };
}

/// Asks the library, for the lanes whose operands are not within the reach of the loop before. A lane's value never
/// depends on its neighbours.
macro_rules! patch {
    ($out:ident = |$($operand:ident),+| $value:expr, unless $within:expr) => {
        let mut all = true;
        for lane in 0..LANES {
            $(let $operand = $operand[lane].to_f64();)+
            all &= $within;
        }
        if !all {
            for lane in 0..LANES {
                $(let $operand = $operand[lane].to_f64();)+
                if !$within {
                    $out[lane] = R::from_f64($value);
                }
            }
        }
    };
}

/// What few lanes need is kept out of the loops.
#[cold]
#[inline(never)]
pub fn library(operation: Unary, a: f64) -> f64 {
    operation.apply(a)
}

#[cold]
#[inline(never)]
fn library_of_two(operation: Binary, a: f64, b: f64) -> f64 {
    operation.apply(a, b)
}

#[inline(always)]
pub fn unary<R: Real>(operation: Unary, out: &mut Lanes<R>, a: &Lanes<R>) {
    match operation {
        Unary::Neg => lanes!(out = |a| -a),
        Unary::Abs => lanes!(out = |a| a.abs()),
        Unary::Floor => lanes!(out = |a| a.floor()),
        Unary::Ceil => lanes!(out = |a| a.ceil()),
        Unary::Round => lanes!(out = |a| a.round_ties_even()),
        Unary::Sqrt => lanes!(out = |a| a.sqrt()),
        Unary::Cbrt => lanes_f64!(out = |a| cbrt(a)),
        Unary::Exp => lanes_f64!(out = |a| exp(a)),
        Unary::Exp2 => lanes_f64!(out = |a| exp2(a)),
        Unary::Expm1 => lanes_f64!(out = |a| expm1(a)),
        Unary::Log => lanes_f64!(out = |a| log(a)),
        Unary::Log1p => lanes_f64!(out = |a| log1p(a)),
        Unary::Sin | Unary::Cos => unreachable!("a step of their own"),
        Unary::Tan => {
            lanes_f64!(out = |a| tan(a));
            patch!(out = |a| library(operation, a), unless within_tan(a));
        }
        Unary::Asin => lanes_f64!(out = |a| asin(a)),
        Unary::Acos => lanes_f64!(out = |a| acos(a)),
        Unary::Atan => lanes_f64!(out = |a| atan(a)),
        Unary::Sinh => lanes_f64!(out = |a| sinh(a)),
        Unary::Cosh => lanes_f64!(out = |a| cosh(a)),
        Unary::Tanh => lanes_f64!(out = |a| tanh(a)),
        Unary::Asinh => lanes_f64!(out = |a| asinh(a)),
        Unary::Acosh => lanes_f64!(out = |a| acosh(a)),
        Unary::Atanh => lanes_f64!(out = |a| atanh(a)),
        Unary::Erf => lanes_f64!(out = |a| erf(a)),
        Unary::Sigmoid => lanes_f64!(out = |a| sigmoid(a)),
        Unary::Softplus => lanes_f64!(out = |a| softplus(a)),
        Unary::Not => lanes!(out = |a| truth(a == R::ZERO)),
        Unary::Finite => lanes!(out = |a| truth(a.is_finite())),
        Unary::Detach => *out = *a,
    }
}

#[inline(always)]
pub fn binary<R: Real>(operation: Binary, out: &mut Lanes<R>, a: &Lanes<R>, b: &Lanes<R>) {
    match operation {
        Binary::Add => lanes!(out = |a, b| a + b),
        Binary::Sub => lanes!(out = |a, b| a - b),
        Binary::Mul => lanes!(out = |a, b| a * b),
        Binary::Div => lanes!(out = |a, b| a / b),
        Binary::Lt => lanes!(out = |a, b| truth(a < b)),
        Binary::Le => lanes!(out = |a, b| truth(a <= b)),
        Binary::And => lanes!(out = |a, b| truth((a != R::ZERO) & (b != R::ZERO))),
        Binary::Or => lanes!(out = |a, b| truth((a != R::ZERO) | (b != R::ZERO))),
        Binary::Pow => {
            lanes_f64!(out = |a, b| pow(a, b));
            patch!(out = |a, b| library_of_two(operation, a, b), unless within_pow(a, b));
        }
        Binary::Atan2 => lanes_f64!(out = |a, b| atan2(a, b)),
    }
}

#[inline(always)]
pub fn multiply_add<R: Real>(out: &mut Lanes<R>, a: &Lanes<R>, b: &Lanes<R>, c: &Lanes<R>) {
    lanes!(out = |a, b, c| a * b + c);
}

#[inline(always)]
pub fn select<R: Real>(out: &mut Lanes<R>, condition: &Lanes<R>, then: &Lanes<R>, otherwise: &Lanes<R>) {
    lanes!(out = |condition, then, otherwise| if condition != R::ZERO { then } else { otherwise });
}

#[inline(always)]
fn truth<R: Real>(holds: bool) -> R {
    if holds { R::ONE } else { R::ZERO }
}
