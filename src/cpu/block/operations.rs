//! One loop over the lanes of a block for every operation.
//!
//! The functions of `exponential`, `logarithm` and their neighbours work on one f64 and have no branches, so that a loop
//! around one of them is vector code. f32 lanes are computed in f64, and so are right to half an ulp but for a few bits.

use super::lanes::{FEWEST, few, few_mut};
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
    ($out:ident = |$($operand:ident),+| $value:expr) => {{
        let $out = few_mut($out);
        $(let $operand = &few($operand)[..$out.len()];)+
        for part in 0..$out.len() {
            let $out = &mut $out[part];
            $(let $operand = &$operand[part];)+
            for lane in 0..FEWEST {
                $(let $operand = $operand[lane];)+
                $out[lane] = $value;
            }
        }
    }};
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
        Unary::Detach => out.copy_from_slice(a),
        Unary::Sin | Unary::Cos => unreachable!("a step of their own"),
        _ => in_f64(out, [a], |out, [a]| function(operation, out, a)),
    }
}

/// Calls a function of a few lanes in f64, which is there once for both precisions and for any number of lanes: the module crosses
/// the network.
#[inline(always)]
fn in_f64<R: Real, const N: usize>(out: &mut [R], operands: [&[R]; N], run: impl Fn(&mut Few, [&Few; N])) {
    let out = few_mut(out);
    let operands = operands.map(|operand| &few(operand)[..out.len()]);
    for (part, out) in out.iter_mut().enumerate() {
        let operands = operands.map(|operand| &operand[part]);
        if size_of::<R>() == size_of::<f64>() {
            // Each cast is to the type that it has already.
            run(bytemuck::cast_mut(out), operands.map(bytemuck::cast_ref));
            continue;
        }
        let wide = operands.map(|operand| operand.map(R::to_f64));
        let mut result = [0.0; FEWEST];
        run(&mut result, wide.each_ref());
        *out = result.map(R::from_f64);
    }
}

/// A few lanes of a function.
type Few = [f64; FEWEST];

/// The loop of a function. The library is asked for the lanes whose operands are not within its reach: a lane's value never depends on
/// its neighbours.
#[inline(always)]
fn run<F: Function>(operation: Unary, out: &mut Few, a: &Few) {
    for lane in 0..FEWEST {
        out[lane] = F::value(a[lane]);
    }
    if F::IS_WHOLE || a.iter().fold(true, |all, &a| all & F::is_within(a)) {
        return;
    }
    for lane in (0..FEWEST).filter(|lane| !F::is_within(a[*lane])) {
        out[lane] = library(operation, a[lane]);
    }
}

#[inline(always)]
fn run_of_two<F: FunctionOfTwo>(operation: Binary, out: &mut Few, a: &Few, b: &Few) {
    for lane in 0..FEWEST {
        out[lane] = F::value(a[lane], b[lane]);
    }
    if F::IS_WHOLE || (0..FEWEST).fold(true, |all, lane| all & F::is_within(a[lane], b[lane])) {
        return;
    }
    for lane in (0..FEWEST).filter(|lane| !F::is_within(a[*lane], b[*lane])) {
        out[lane] = library_of_two(operation, a[lane], b[lane]);
    }
}

macro_rules! of_one {
    ($($name:ident),*) => {
        /// The functions that are not one instruction.
        #[cfg_attr(target_arch = "wasm32", inline(never))]
        #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
        fn function(operation: Unary, out: &mut Few, a: &Few) {
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
        fn function_of_two(operation: Binary, out: &mut Few, a: &Few, b: &Few) {
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

#[inline(always)]
pub fn select<R: Real>(out: &mut [R], condition: &[R], then: &[R], otherwise: &[R]) {
    lanes!(out = |condition, then, otherwise| if condition != R::ZERO { then } else { otherwise });
}

#[inline(always)]
fn truth<R: Real>(holds: bool) -> R {
    if holds { R::ONE } else { R::ZERO }
}
