//! The functions that modules call: the block interpreter's loops, by number.

use super::phases::{SIN_COS, binary_function, unary_function};
use crate::block::{Lanes, binary, sin_cos, unary};
use crate::real::Real;
use leastwise_program::{Binary, Unary};

/// Computes a strip of lanes. Sines have their cosines as a second output.
///
/// # Panics
/// When no function has the number, or the second output is missing.
pub fn apply<R: Real>(function: u32, out: &mut Lanes<R>, second: Option<&mut Lanes<R>>, [a, b]: [&Lanes<R>; 2]) {
    if function == SIN_COS {
        return sin_cos(a, out, second.expect("a place for the cosines"));
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
