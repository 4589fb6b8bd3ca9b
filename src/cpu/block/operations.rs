//! One loop over the lanes of a block for every operation.
//!
//! The functions of `exponential`, `logarithm` and their neighbours work on one f64 and have no branches, so that a loop
//! around one of them is vector code. f32 lanes are computed in f64, and so are right to half an ulp but for a few bits.

use super::lanes::{FEWEST, LANES, Lanes};
use crate::real::Real;
use leastwise_program::{Binary, Unary, functions_of_one, functions_of_two, operations};

/// A function of one operand, on f64: beside its numerics, for the operation that it computes.
pub trait Function {
    /// True if [`value`](Self::value) is right everywhere.
    const IS_WHOLE: bool = true;

    fn value(a: f64) -> f64;

    /// True if the value is right here; elsewhere the library is asked.
    fn is_within(_: f64) -> bool {
        true
    }
}

/// A function of two operands.
pub trait FunctionOfTwo {
    const IS_WHOLE: bool = true;

    fn value(a: f64, b: f64) -> f64;

    fn is_within(_: f64, _: f64) -> bool {
        true
    }
}

/// Says of what operations functions are the values.
macro_rules! functions {
    ($($operation:ident: $function:ident,)*) => {$(
        impl Function for leastwise_program::operations::$operation {
            #[inline(always)]
            fn value(a: f64) -> f64 {
                $function(a)
            }
        }
    )*};
}

pub(super) use functions;

/// A loop over lanes. (Not a function of a closure: that would be inlined, and so become vector code, or not, as the
/// compiler likes.)
macro_rules! lanes {
    ($out:ident = |$($operand:ident),+| $value:expr) => {
        lanes!(FEWEST: $out = |$($operand),+| $value)
    };
    ($together:ident: $out:ident = |$($operand:ident),+| $value:expr) => {{
        let $out = $out.as_chunks_mut::<$together>().0;
        $(let $operand = &$operand.as_chunks::<$together>().0[..$out.len()];)+
        for part in 0..$out.len() {
            let $out = &mut $out[part];
            $(let $operand = &$operand[part];)+
            for lane in 0..$together {
                $(let $operand = $operand[lane];)+
                $out[lane] = $value;
            }
        }
    }};
}

pub(super) use lanes;

/// Lanes that the loop of a function takes at a time: those of one vector in WebAssembly, whose code crosses the network.
const TOGETHER: usize = if cfg!(target_arch = "wasm32") { 2 } else { FEWEST };

/// Asks the library, for the lanes whose operands are not within the reach of the loop before. A lane's value never
/// depends on its neighbours.
macro_rules! patch {
    ($out:ident = |$($operand:ident),+| $value:expr, unless $within:expr) => {
        let mut all = true;
        for part in 0..$out.len() / TOGETHER {
            $(let $operand = &$operand.as_chunks::<TOGETHER>().0[part];)+
            for lane in 0..TOGETHER {
                $(let $operand = $operand[lane];)+
                all &= $within;
            }
        }
        if !all {
            for lane in 0..$out.len() {
                $(let $operand = $operand[lane];)+
                if !$within {
                    $out[lane] = $value;
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
pub fn unary<R: Real>(operation: Unary, out: &mut [R], a: &[R]) {
    match operation {
        Unary::Neg => lanes!(out = |a| -a),
        Unary::Abs => lanes!(out = |a| a.abs()),
        Unary::Floor => lanes!(out = |a| a.floor()),
        Unary::Ceil => lanes!(out = |a| a.ceil()),
        Unary::Round => lanes!(out = |a| a.round_ties_even()),
        Unary::Sqrt => lanes!(out = |a| a.sqrt()),
        Unary::Not => lanes!(out = |a| truth(a == R::ZERO)),
        Unary::Finite => lanes!(out = |a| truth(a.is_finite())),
        Unary::IsNan => lanes!(out = |a| truth(a.is_nan())),
        Unary::Detach => out.copy_from_slice(a),
        Unary::Sin | Unary::Cos => unreachable!("a step of their own"),
        _ => in_f64(out, [a], |out, [a]| function(operation, out, a)),
    }
}

/// Calls a loop over lanes in f64, which is there once for both precisions: the module crosses the network.
#[inline(always)]
fn in_f64<R: Real, const N: usize>(out: &mut [R], operands: [&[R]; N], run: impl FnOnce(&mut [f64], [&[f64]; N])) {
    if size_of::<R>() == size_of::<f64>() {
        // Each cast is to the type that it has already.
        return run(bytemuck::cast_slice_mut(out), operands.map(bytemuck::cast_slice));
    }
    let lanes = out.len();
    let wide: [Lanes<f64>; N] = operands.map(|operand| {
        let mut wide = [0.0; LANES];
        let to = &mut wide[..lanes];
        lanes!(to = |operand| operand.to_f64());
        wide
    });
    let mut result = [0.0; LANES];
    run(&mut result[..lanes], wide.each_ref().map(|wide| &wide[..lanes]));
    let result = &result[..lanes];
    lanes!(out = |result| R::from_f64(result));
}

/// The loop of a function.
#[inline(always)]
fn run<F: Function>(operation: Unary, out: &mut [f64], a: &[f64]) {
    lanes!(TOGETHER: out = |a| F::value(a));
    if !F::IS_WHOLE {
        patch!(out = |a| library(operation, a), unless F::is_within(a));
    }
}

#[inline(always)]
fn run_of_two<F: FunctionOfTwo>(operation: Binary, out: &mut [f64], a: &[f64], b: &[f64]) {
    lanes!(TOGETHER: out = |a, b| F::value(a, b));
    if !F::IS_WHOLE {
        patch!(out = |a, b| library_of_two(operation, a, b), unless F::is_within(a, b));
    }
}

macro_rules! of_one {
    ($($name:ident),*) => {
        /// The functions that are not one instruction.
        #[cfg_attr(target_arch = "wasm32", inline(never))]
        #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
        fn function(operation: Unary, out: &mut [f64], a: &[f64]) {
            match operation {
                $(Unary::$name => run::<operations::$name>(operation, out, a),)*
                other => unreachable!("{other:?} has a loop of its own"),
            }
        }
    };
}

functions_of_one!(of_one);

macro_rules! of_two {
    ($($name:ident),*) => {
        #[cfg_attr(target_arch = "wasm32", inline(never))]
        #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
        fn function_of_two(operation: Binary, out: &mut [f64], a: &[f64], b: &[f64]) {
            match operation {
                $(Binary::$name => run_of_two::<operations::$name>(operation, out, a, b),)*
                other => unreachable!("{other:?} has a loop of its own"),
            }
        }
    };
}

functions_of_two!(of_two);

#[inline(always)]
pub fn binary<R: Real>(operation: Binary, out: &mut [R], a: &[R], b: &[R]) {
    match operation {
        Binary::Add => lanes!(out = |a, b| a + b),
        Binary::Sub => lanes!(out = |a, b| a - b),
        Binary::Mul => lanes!(out = |a, b| a * b),
        Binary::Div => lanes!(out = |a, b| a / b),
        Binary::Lt => lanes!(out = |a, b| truth(a < b)),
        Binary::Le => lanes!(out = |a, b| truth(a <= b)),
        Binary::And => lanes!(out = |a, b| truth((a != R::ZERO) & (b != R::ZERO))),
        Binary::Or => lanes!(out = |a, b| truth((a != R::ZERO) | (b != R::ZERO))),
        _ => in_f64(out, [a, b], |out, [a, b]| function_of_two(operation, out, a, b)),
    }
}

#[inline(always)]
pub fn multiply_add<R: Real>(out: &mut [R], a: &[R], b: &[R], c: &[R]) {
    lanes!(out = |a, b, c| a * b + c);
}

/// eᵃ in the arithmetic of the reals.
#[inline(always)]
pub fn own_exp<R: Real>(out: &mut [R], a: &[R]) {
    lanes!(out = |a| a.exp());
}

#[inline(always)]
pub fn select<R: Real>(out: &mut [R], condition: &[R], then: &[R], otherwise: &[R]) {
    lanes!(out = |condition, then, otherwise| if condition != R::ZERO { then } else { otherwise });
}

#[inline(always)]
fn truth<R: Real>(holds: bool) -> R {
    if holds { R::ONE } else { R::ZERO }
}
