//! Every operation stays within its bound, and what is not defined or overflows is not finite.

use super::harness::{Worst, adapter, binary, has_no_value, play, unary, worst};
use super::samples;
use leastwise::device::Device;
use leastwise::program::{Binary, Unary};

/// Units in the last place.
pub const UNARY: [(Unary, f64); 26] = [
    (Unary::Abs, 0.0),
    (Unary::Floor, 0.0),
    (Unary::Ceil, 0.0),
    (Unary::Round, 0.0),
    (Unary::Sqrt, 1.0),
    (Unary::Cbrt, 2.0),
    (Unary::Exp, 2.0),
    (Unary::Exp2, 2.0),
    (Unary::Expm1, 2.0),
    (Unary::Log, 2.0),
    (Unary::Log1p, 3.0),
    (Unary::Sin, 2.0),
    (Unary::Cos, 2.0),
    (Unary::Tan, 4.0),
    (Unary::Asin, 3.0),
    (Unary::Acos, 2.0),
    (Unary::Atan, 2.0),
    (Unary::Sinh, 2.0),
    (Unary::Cosh, 2.0),
    (Unary::Tanh, 2.0),
    (Unary::Asinh, 3.0),
    (Unary::Acosh, 3.0),
    (Unary::Atanh, 3.0),
    (Unary::Erf, 3.0),
    (Unary::Sigmoid, 3.0),
    (Unary::Softplus, 4.0),
];

pub const BINARY: [(Binary, f64); 3] = [(Binary::Div, 2.5), (Binary::Pow, 6.0), (Binary::Atan2, 2.0)];

pub fn measure_unary(device: &mut Device, operation: Unary) -> Worst {
    let columns = [samples::one()];
    let results = play(device, unary(operation), &columns);
    // Below −1 the library's arcosh has values, which are not.
    let exact = |x: &[f64]| if operation == Unary::Acosh && x[0] < 1.0 { f64::NAN } else { operation.apply(x[0]) };
    if operation != Unary::Sqrt {
        refused(operation, &results, &columns, exact);
    }
    worst(&results, &columns, exact)
}

pub fn measure_binary(device: &mut Device, operation: Binary) -> Worst {
    let columns = if operation == Binary::Pow { samples::powers() } else { samples::points() };
    let results = play(device, binary(operation), &columns);
    if operation == Binary::Pow {
        refused(operation, &results, &columns, |x| operation.apply(x[0], x[1]));
    }
    // The specification says nothing of quotients by less than 2⁻¹²⁶ or more than 2¹²⁶.
    let covered = |divisor: f64| (-126..126).contains(&libm::ilogb(divisor));
    worst(&results, &columns, |x| if operation == Binary::Div && !covered(x[1]) { f64::NAN } else { operation.apply(x[0], x[1]) })
}

/// What has no value in f32 must not look as if it had one.
fn refused(operation: impl std::fmt::Debug, results: &[f64], columns: &[Vec<f64>], exact: impl Fn(&[f64]) -> f64) {
    for (sample, result) in results.iter().enumerate() {
        let operands: Vec<f64> = columns.iter().map(|column| column[sample]).collect();
        let exact = exact(&operands);
        assert!(!has_no_value(exact) || !result.is_finite(), "{operation:?} of {operands:?} is {result:e}, and should be {exact:e}");
    }
}

fn within(operation: impl std::fmt::Debug, measured: Worst, bound: f64) {
    let Worst { error, at, compared, .. } = measured;
    assert!(compared > 10_000, "{operation:?}: {compared} samples");
    assert!(error <= bound, "{operation:?} of {at:?} is {error:.3} units off, and {bound} are allowed");
}

#[test]
fn functions_of_one_are_within_their_bounds() {
    let mut device = adapter();
    for (operation, bound) in UNARY {
        within(operation, measure_unary(&mut device, operation), bound);
    }
}

#[test]
fn functions_of_two_are_within_their_bounds() {
    let mut device = adapter();
    for (operation, bound) in BINARY {
        within(operation, measure_binary(&mut device, operation), bound);
    }
}
