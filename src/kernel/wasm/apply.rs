//! The functions that modules call: the block interpreter's loops, by number.

use super::phases::{SIN_COS, binary_function, unary_function};
use crate::kernel::block::{Lanes, binary, sin_cos, unary};
use crate::kernel::{Binary, Unary};
use crate::real::Real;

/// A function by its number; of the two outputs most have one, of the two operands many.
pub type Function<R> = extern "C" fn(u32, *mut Lanes<R>, *mut Lanes<R>, *const Lanes<R>, *const Lanes<R>);

/// Computes a strip of lanes. The second output is written by sines alone, which are the first.
///
/// # Panics
/// When no function has the number.
pub fn apply<R: Real>(function: u32, outputs: [&mut Lanes<R>; 2], operands: [&Lanes<R>; 2]) {
    let ([out, second], [a, b]) = (outputs, operands);
    if function == SIN_COS {
        return sin_cos(a, out, second);
    }
    let of_one = Unary::ALL.into_iter().find(|operation| unary_function(*operation) == Some(function));
    match of_one {
        Some(operation) => unary(operation, out, a),
        None => {
            let of_two = Binary::ALL.into_iter().find(|operation| binary_function(*operation) == Some(function));
            binary(of_two.expect("a function that a module was written to call"), out, a, b);
        }
    }
}
