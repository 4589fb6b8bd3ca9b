//! How far the vector sine and cosine are from the library's (which is itself within 0.6 ulp on glibc).

use super::build::Builder;
use super::play::{Case, WHOLE, play};
use super::random::{Random, case};
use leastwise::device::Precision;
use leastwise::kernel::*;
use std::f64::consts::FRAC_PI_2;

/// sin and cos of every x in turn.
fn sines(x: Vec<f64>, precision: Precision) -> Vec<[f64; 3]> {
    let mut b = Builder::new("sines");
    let operand = b.load(Load::Data(0));
    let values = [Unary::Sin, Unary::Cos].map(|operation| b.unary(operation, operand));
    for (column, value) in values.into_iter().enumerate() {
        b.store(Store::Column(column as u32), value);
    }
    let count = x.len();
    let case = Case { data: x, ..case(&mut Random(0), b.program, count as u32) };
    let result = play(&case, precision, WHOLE).vector;
    (0..count).map(|k| [case.data[k], result[k], result[count + k]]).collect()
}

fn samples(largest: f64) -> Vec<f64> {
    let mut random = Random(20);
    let mut x: Vec<f64> = (0..40_000).map(|_| (2.0 * random.unit() - 1.0) * largest).collect();
    x.extend((0..20_000).map(|_| (2.0 * random.unit() - 1.0) * 7.0));
    x.extend((0..2_000).map(|k| 10f64.powi(-(k % 320)) * random.unit()));
    x
}

/// Numbers of the type between two values of one sign.
fn ulps(a: f64, b: f64) -> u64 {
    if a == b { 0 } else { a.to_bits().abs_diff(b.to_bits()) }
}

fn ulps_f32(a: f64, b: f64) -> u32 {
    if a == b { 0 } else { (a as f32).to_bits().abs_diff((b as f32).to_bits()) }
}

#[test]
fn f64_is_within_two_ulp() {
    let mut x = samples(1e5);
    // Next to every multiple of π/2 up to 10⁵ nearly all digits cancel.
    for n in 0..64_000 {
        let near = f64::from(n) * FRAC_PI_2;
        x.extend([near, near.next_up(), -near.next_down()]);
    }
    x.extend(samples(1e9));
    for [x, sin, cos] in sines(x, Precision::F64) {
        assert!(ulps(sin, x.sin()) <= 2, "sin {x:e} is {sin:e}, not {:e}", x.sin());
        assert!(ulps(cos, x.cos()) <= 2, "cos {x:e} is {cos:e}, not {:e}", x.cos());
    }
}

#[test]
fn f32_is_within_one_ulp() {
    let mut x = samples(1e5);
    x.extend((0..64_000).map(|n| f64::from(n) * FRAC_PI_2));
    x.extend(samples(1e9));
    let x = x.into_iter().map(|x| f64::from(x as f32)).collect();
    for [x, sin, cos] in sines(x, Precision::F32) {
        assert!(ulps_f32(sin, x.sin()) <= 1, "sin {x:e} is {sin:e}, not {:e}", x.sin());
        assert!(ulps_f32(cos, x.cos()) <= 1, "cos {x:e} is {cos:e}, not {:e}", x.cos());
    }
}

#[test]
fn what_is_not_finite_has_no_sine() {
    for precision in [Precision::F64, Precision::F32] {
        for [x, sin, cos] in sines(vec![f64::INFINITY, 0.5, f64::NEG_INFINITY, f64::NAN, 0.0, -0.0], precision) {
            assert_eq!(sin.is_nan() && cos.is_nan(), !x.is_finite(), "{x}: {sin}, {cos}");
            assert!(x != 0.0 || (sin.to_bits() == x.to_bits() && cos == 1.0), "{x}: {sin}, {cos}");
        }
    }
}
