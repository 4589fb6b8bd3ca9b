//! Values that must be exact.

use super::harness::{adapter, binary, play, unary};
use leastwise::program::{Binary, Unary};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

fn rounded(value: f64) -> f64 {
    f64::from(value as f32)
}

#[test]
fn functions_of_one_are_exact_where_they_should_be() {
    let cases: &[(Unary, &[[f64; 2]])] = &[
        (Unary::Neg, &[[0.0, 0.0], [1.5, -1.5]]),
        (Unary::Abs, &[[0.0, 0.0], [-1.5, 1.5]]),
        (Unary::Floor, &[[-0.5, -1.0], [0.5, 0.0], [3.0, 3.0], [-1e10, rounded(-1e10)]]),
        (Unary::Ceil, &[[-0.5, 0.0], [0.5, 1.0], [-3.0, -3.0]]),
        (
            Unary::Round,
            &[[0.5, 0.0], [1.5, 2.0], [2.5, 2.0], [-0.5, 0.0], [-1.5, -2.0], [-2.5, -2.0], [0.75, 1.0], [8_388_607.5, 8_388_608.0]],
        ),
        (Unary::Sqrt, &[[0.0, 0.0], [1.0, 1.0], [9.0, 3.0]]),
        (Unary::Cbrt, &[[0.0, 0.0], [1.0, 1.0], [-1.0, -1.0], [8.0, 2.0], [-27.0, -3.0]]),
        (Unary::Exp, &[[0.0, 1.0], [-200.0, 0.0], [-1e30, 0.0]]),
        (Unary::Expm1, &[[0.0, 0.0], [-30.0, -1.0], [-1e30, -1.0]]),
        (Unary::Log, &[[1.0, 0.0]]),
        (Unary::Log1p, &[[0.0, 0.0]]),
        (Unary::Sin, &[[0.0, 0.0]]),
        (Unary::Cos, &[[0.0, 1.0]]),
        (Unary::Tan, &[[0.0, 0.0]]),
        (Unary::Asin, &[[0.0, 0.0], [1.0, rounded(FRAC_PI_2)], [-1.0, -rounded(FRAC_PI_2)]]),
        (Unary::Acos, &[[1.0, 0.0], [0.0, rounded(FRAC_PI_2)], [-1.0, rounded(PI)]]),
        (Unary::Atan, &[[0.0, 0.0], [1e30, rounded(FRAC_PI_2)], [-1e38, -rounded(FRAC_PI_2)]]),
        (Unary::Sinh, &[[0.0, 0.0]]),
        (Unary::Cosh, &[[0.0, 1.0]]),
        (Unary::Tanh, &[[0.0, 0.0], [20.0, 1.0], [-1e30, -1.0]]),
        (Unary::Asinh, &[[0.0, 0.0]]),
        (Unary::Acosh, &[[1.0, 0.0]]),
        (Unary::Atanh, &[[0.0, 0.0]]),
        (Unary::Erf, &[[0.0, 0.0], [5.0, 1.0], [-1e30, -1.0]]),
        (Unary::Sigmoid, &[[0.0, 0.5], [200.0, 1.0], [-200.0, 0.0]]),
        (Unary::Softplus, &[[200.0, 200.0], [-200.0, 0.0]]),
        (Unary::Not, &[[0.0, 1.0], [2.0, 0.0]]),
        (Unary::Finite, &[[1e38, 1.0], [f64::INFINITY, 0.0], [f64::NAN, 0.0]]),
        (Unary::IsNan, &[[1e38, 0.0], [f64::INFINITY, 0.0], [f64::NEG_INFINITY, 0.0], [f64::NAN, 1.0]]),
    ];
    let mut device = adapter();
    for (operation, values) in cases {
        let operands = values.iter().map(|[x, _]| *x).collect();
        let expected: Vec<f64> = values.iter().map(|[_, y]| *y).collect();
        assert_eq!(play(&mut device, unary(*operation), &[operands]), expected, "{operation:?}");
    }
    let exponents: Vec<f64> = (-126..128).map(f64::from).collect();
    let powers: Vec<f64> = exponents.iter().map(|k| k.exp2()).collect();
    assert_eq!(play(&mut device, unary(Unary::Exp2), &[exponents]), powers);
}

#[test]
fn functions_of_two_are_exact_where_they_should_be() {
    let quarter = rounded(FRAC_PI_4);
    let cases: &[(Binary, &[[f64; 3]])] = &[
        (
            Binary::Pow,
            &[[0.0, 0.0, 1.0], [0.0, 2.0, 0.0], [-0.0, 0.5, 0.0], [7.0, 0.0, 1.0], [1.0, 1e30, 1.0], [1.0, -3.5, 1.0], [7.0, 1.0, 7.0]],
        ),
        (Binary::Pow, &[[2.0, 10.0, 1024.0], [2.0, -126.0, 2f64.powi(-126)], [0.5, 1e30, 0.0], [2.0, -1e30, 0.0], [4.0, 0.5, 2.0]]),
        (
            Binary::Pow,
            &[[-2.0, 2.0, 4.0], [-2.0, 3.0, -8.0], [-0.5, -1.0, -2.0], [-7.0, 0.0, 1.0], [-1.0, 1e30, 1.0], [-1.0, 8_388_609.0, -1.0]],
        ),
        (Binary::Atan2, &[[0.0, 0.0, 0.0], [-0.0, -0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 2.0 * quarter], [-1.0, 0.0, -2.0 * quarter]]),
        (Binary::Atan2, &[[0.0, -1.0, 4.0 * quarter], [-0.0, -1.0, 4.0 * quarter], [1.0, 1.0, quarter], [-1.0, 1.0, -quarter]]),
        (Binary::Lt, &[[1.0, 2.0, 1.0], [2.0, 2.0, 0.0]]),
        (Binary::Le, &[[2.0, 2.0, 1.0], [3.0, 2.0, 0.0]]),
        (Binary::And, &[[2.0, -1.0, 1.0], [2.0, 0.0, 0.0]]),
        (Binary::Or, &[[0.0, -1.0, 1.0], [0.0, 0.0, 0.0]]),
    ];
    let mut device = adapter();
    for (operation, values) in cases {
        let columns = [0, 1].map(|k| values.iter().map(|value| value[k]).collect());
        let expected: Vec<f64> = values.iter().map(|value| value[2]).collect();
        assert_eq!(play(&mut device, binary(*operation), &columns), expected, "{operation:?} of {values:?}");
    }
}

/// No arithmetic on them is relied upon, yet where an adapter has NaN and infinity they are not made to look like numbers,
/// unless the limit is one.
#[test]
fn what_is_not_finite_stays_so() {
    let mut device = adapter();
    let limits = [
        Unary::Not,
        Unary::Finite,
        Unary::IsNan,
        Unary::Atan,
        Unary::Tanh,
        Unary::Erf,
        Unary::Sigmoid,
        Unary::Exp,
        Unary::Exp2,
        Unary::Expm1,
    ];
    for operation in Unary::ALL.into_iter().filter(|operation| !limits.contains(operation) && *operation != Unary::Detach) {
        let operands = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let results = play(&mut device, unary(operation), &[operands.to_vec()]);
        for (x, result) in operands.into_iter().zip(results) {
            assert!(!result.is_finite() || operation.apply(x).is_finite(), "{operation:?} of {x} is {result}");
        }
    }
}
