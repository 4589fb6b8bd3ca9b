//! The interpreter's loops for strips of any length. Exponentials are computed in the arithmetic of the reals, vector by vector.

mod exponentials;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd;

use crate::block::lanes::{FEWEST, LANES};
use crate::block::operations::{binary, lanes, unary};
use crate::block::trig::sin_cos;
use crate::real::Real;
use exponentials::{DOUBLE, SINGLE, Vector, exp, sigmoid, sigmoid_for_single, tanh, tanh_in_single};
use leastwise_program::{Binary, Unary};

/// A function of one operand over the lanes of a strip.
#[inline(always)]
pub fn streamed<R: Real>(operation: Unary, out: &mut [R], a: &[R]) {
    let is_single = size_of::<R>() == size_of::<f32>();
    match operation {
        Unary::Exp if is_single => singles::<ExpSingle>(bytemuck::cast_slice_mut(out), bytemuck::cast_slice(a)),
        Unary::Tanh if is_single => singles::<TanhSingle>(bytemuck::cast_slice_mut(out), bytemuck::cast_slice(a)),
        Unary::Sigmoid if is_single => widened::<SigmoidShort>(bytemuck::cast_slice_mut(out), bytemuck::cast_slice(a)),
        Unary::Exp => doubles::<ExpDouble>(bytemuck::cast_slice_mut(out), bytemuck::cast_slice(a)),
        Unary::Tanh => doubles::<TanhDouble>(bytemuck::cast_slice_mut(out), bytemuck::cast_slice(a)),
        Unary::Sigmoid => doubles::<SigmoidDouble>(bytemuck::cast_slice_mut(out), bytemuck::cast_slice(a)),
        Unary::Neg | Unary::Abs | Unary::Floor | Unary::Ceil | Unary::Round | Unary::Sqrt => instruction(operation, out, a),
        // The others have room for a block.
        _ => out.chunks_mut(LANES).zip(a.chunks(LANES)).for_each(|(out, a)| unary(operation, out, a)),
    }
}

/// A function of two operands.
#[inline(always)]
pub fn streamed_of_two<R: Real>(operation: Binary, out: &mut [R], a: &[R], b: &[R]) {
    match operation {
        // A loop of their own: they are what most kernels are made of.
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Div => arithmetic(operation, out, a, b),
        _ => {
            let operands = a.chunks(LANES).zip(b.chunks(LANES));
            out.chunks_mut(LANES).zip(operands).for_each(|(out, (a, b))| binary(operation, out, a, b));
        }
    }
}

#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn arithmetic<R: Real>(operation: Binary, out: &mut [R], a: &[R], b: &[R]) {
    match operation {
        Binary::Add => lanes!(out = |a, b| a + b),
        Binary::Sub => lanes!(out = |a, b| a - b),
        Binary::Mul => lanes!(out = |a, b| a * b),
        _ => lanes!(out = |a, b| a / b),
    }
}

/// Sines and cosines.
#[inline(always)]
pub fn streamed_sin_cos<R: Real>(a: &[R], sin: &mut [R], cos: &mut [R]) {
    let outputs = sin.chunks_mut(LANES).zip(cos.chunks_mut(LANES));
    a.chunks(LANES).zip(outputs).for_each(|(a, (sin, cos))| sin_cos(a, sin, cos));
}

/// A function of numbers and of vectors of them: the same operations.
trait Function {
    fn value<V: Vector>(a: V) -> V;
}

macro_rules! functions {
    ($($name:ident: |$a:ident| $value:expr;)*) => {$(
        struct $name;

        impl Function for $name {
            #[inline(always)]
            fn value<V: Vector>($a: V) -> V {
                $value
            }
        }
    )*};
}

functions! {
    ExpSingle: |a| exp(a, SINGLE);
    ExpDouble: |a| exp(a, DOUBLE);
    TanhSingle: |a| tanh_in_single(a);
    TanhDouble: |a| tanh(a, DOUBLE);
    SigmoidShort: |a| sigmoid_for_single(a);
    SigmoidDouble: |a| sigmoid(a, DOUBLE);
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod loops {
    use super::{Function, Real, Unary, unary};

    /// Loop of an instruction.
    #[inline(always)]
    pub fn instruction<R: Real>(operation: Unary, out: &mut [R], a: &[R]) {
        unary(operation, out, a);
    }

    #[inline(always)]
    pub fn singles<F: Function>(out: &mut [f32], a: &[f32]) {
        out.iter_mut().zip(a).for_each(|(out, a)| *out = F::value(*a));
    }

    #[inline(always)]
    pub fn doubles<F: Function>(out: &mut [f64], a: &[f64]) {
        out.iter_mut().zip(a).for_each(|(out, a)| *out = F::value(*a));
    }

    /// In f64, rounded to f32 in the end.
    #[inline(always)]
    pub fn widened<F: Function>(out: &mut [f32], a: &[f32]) {
        out.iter_mut().zip(a).for_each(|(out, a)| *out = F::value(f64::from(*a)) as f32);
    }
}

/// Vector by vector, as compilers do not make all of these. Each is a function of its own, as folds are.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod loops {
    use super::simd::{Four, Two, four, halves, two};
    use super::{Function, Real, Unary};

    /// Loop of an instruction.
    #[inline(always)]
    pub fn instruction<R: Real>(operation: Unary, out: &mut [R], a: &[R]) {
        if size_of::<R>() == size_of::<f32>() {
            four(operation, bytemuck::cast_slice_mut(out), bytemuck::cast_slice(a));
        } else {
            two(operation, bytemuck::cast_slice_mut(out), bytemuck::cast_slice(a));
        }
    }

    #[inline(never)]
    pub fn singles<F: Function>(out: &mut [f32], a: &[f32]) {
        out.as_chunks_mut::<4>().0.iter_mut().zip(a.as_chunks::<4>().0).for_each(|(out, a)| *out = F::value(Four::from(*a)).into());
    }

    #[inline(never)]
    pub fn doubles<F: Function>(out: &mut [f64], a: &[f64]) {
        out.as_chunks_mut::<2>().0.iter_mut().zip(a.as_chunks::<2>().0).for_each(|(out, a)| *out = F::value(Two::from(*a)).into());
    }

    /// In f64, rounded to f32 in the end.
    #[inline(never)]
    pub fn widened<F: Function>(out: &mut [f32], a: &[f32]) {
        let halves = halves();
        out.as_chunks_mut::<4>().0.iter_mut().zip(a.as_chunks::<4>().0).for_each(|(out, a)| {
            let values = Four::from(*a).widened().map(F::value);
            *out = Four::narrowed(values, halves).into();
        });
    }
}

use loops::{doubles, instruction, singles, widened};
