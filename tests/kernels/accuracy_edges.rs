//! Zeros, infinities, NaN, subnormals, ends of domains and overflow: the vector functions are those of the library.

use super::accuracy::{apply, ulps, ulps_f32};
use leastwise::device::Precision;
use leastwise::program::*;

/// Numbers at which something happens in one function or another.
fn edges() -> Vec<f64> {
    let positive = [
        0.0,
        f64::from_bits(1),
        1e-310,
        f64::MIN_POSITIVE,
        1e-300,
        1e-45,
        f64::from(f32::MIN_POSITIVE),
        1e-17,
        0.25,
        0.5f64.next_down(),
        0.5,
        1.0f64.next_down(),
        1.0,
        1.0f64.next_up(),
        1.5,
        2.0,
        2.5,
        3.0,
        4.0,
        6.0,
        22.0,
        88.7,
        89.0,
        104.0,
        127.0,
        128.0,
        149.0,
        150.0,
        709.7,
        710.0,
        710.4,
        711.0,
        745.0,
        746.0,
        1023.0,
        1023.5,
        1024.0,
        1074.0,
        1075.0,
        1076.0,
        1e6,
        4_503_599_627_370_495.5,
        9_007_199_254_740_993.0,
        1e18,
        1e30,
        1e300,
        f64::MAX,
        f64::INFINITY,
    ];
    positive.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]).collect()
}

fn near(got: f64, expected: f64, precision: Precision) -> bool {
    match precision {
        Precision::F32x2 | Precision::F64 => ulps(got, expected) <= 3 || got.is_nan() && expected.is_nan(),
        Precision::F32 => ulps_f32(got, expected) <= 1 || got.is_nan() && (expected as f32).is_nan(),
    }
}

fn check(instruction: impl Fn(Value, Value) -> Instruction, expected: impl Fn(f64, f64) -> f64, operands: &[[f64; 2]], name: &str) {
    for precision in [Precision::F64, Precision::F32] {
        let rounded = |x: f64| if precision == Precision::F32 { f64::from(x as f32) } else { x };
        let operands: Vec<[f64; 2]> = operands.iter().map(|pair| pair.map(rounded)).collect();
        let results = apply(&instruction, &operands, precision);
        for ([a, b], got) in operands.iter().zip(results) {
            let expected = rounded(expected(*a, *b));
            assert!(near(got, expected, precision), "{name}({a:e}, {b:e}) in {precision:?} is {got:e}, not {expected:e}");
            assert!(got != 0.0 || got.to_bits() == expected.to_bits(), "{name}({a:e}, {b:e}) in {precision:?}: the sign of {got}");
        }
    }
}

#[test]
fn unary_operations_agree_with_the_library_at_edges() {
    let operands: Vec<[f64; 2]> = edges().into_iter().map(|x| [x, 0.0]).collect();
    for operation in Unary::ALL {
        check(|a, _| Instruction::Unary(operation, a), |a, _| operation.apply(a), &operands, &format!("{operation:?}"));
    }
}

#[test]
fn binary_operations_agree_with_the_library_at_edges() {
    let edges = edges();
    let operands: Vec<[f64; 2]> = edges.iter().flat_map(|a| edges.iter().map(|b| [*a, *b])).collect();
    for operation in [Binary::Pow, Binary::Atan2] {
        check(|a, b| Instruction::Binary(operation, a, b), |a, b| operation.apply(a, b), &operands, &format!("{operation:?}"));
    }
}

#[test]
fn whole_numbers_stay_whole() {
    let operands: Vec<[f64; 2]> = (0..=20).flat_map(|a| (0..=7).map(move |b| [f64::from(a), f64::from(b)])).collect();
    for ([a, b], power) in operands.iter().zip(apply(|a, b| Instruction::Binary(Binary::Pow, a, b), &operands, Precision::F64)) {
        assert_eq!(power, a.powi(*b as i32), "{a} to the power of {b}");
    }
    for ([a, b], power) in operands.iter().zip(apply(|_, b| Instruction::Unary(Unary::Exp2, b), &operands, Precision::F64)) {
        assert_eq!(power, b.exp2(), "2 to the power of {b} beside {a}");
    }
}
