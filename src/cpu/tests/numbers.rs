//! Exponentials in f32, halves, and sums of products in their order.

use leastwise_cpu::block::{exp, exp_single};
use leastwise_cpu::real::Real;
use leastwise_cpu::twins::clustering::multiply::{Panels, Sum};
use leastwise_cpu::twins::clustering::nearest_half;

/// Comparison with what f64 has, in units of the last place; beyond the range of f32, and of no number.
#[test]
fn exponentials_in_f32_are_within_an_ulp() {
    let mut worst = 0.0f64;
    for i in 0..2_000_001 {
        let a = -104.5 + i as f32 * (193.2 / 2e6);
        let (found, expected) = (f64::from(exp_single(a)), exp(f64::from(a)));
        let unit = f64::from(f32::from_bits(1)).max(f64::from_bits(expected.to_bits() >> 52 << 52) * f64::from(f32::EPSILON));
        worst = worst.max((found - expected).abs() / unit);
    }
    assert!(worst < 1.0, "{worst} ulp");
    assert_eq!([exp_single(0.0), exp_single(-1e38), exp_single(f32::NEG_INFINITY), exp_single(200.0)], [1.0, 0.0, 0.0, f32::INFINITY]);
    assert!(exp_single(f32::NAN).is_nan());
}

/// Numbers nearest to a half and the next, and to their middle, in the precision that is asked.
#[test]
fn halves_are_the_nearest_to_the_bit() {
    let half = |bits: u32| match bits / 1024 {
        0 => f64::from(bits) * 2f64.powi(-24),
        exponent => f64::from(1024 + bits % 1024) * 2f64.powi(exponent as i32 - 25),
    };
    let single = |x: f64| f64::from(nearest_half(x as f32));
    for bits in 0..0x7c00u32 {
        // Behind the largest is what would be the next.
        let (low, high) = (half(bits), if bits == 0x7bff { 65_504.0 } else { half(bits + 1) });
        let middle = (low + half(bits + 1)) / 2.0;
        let even = if bits.is_multiple_of(2) { low } else { high };
        let near = middle as f32;
        for (x, expected) in [
            (low, low),
            (middle.next_down(), low),
            (f64::from(near.next_down()), low),
            (middle, even),
            (f64::from(near.next_up()), high),
            (middle.next_up(), high),
        ] {
            for sign in [1.0, -1.0] {
                assert_eq!(nearest_half(sign * x).to_bits(), (sign * expected).to_bits(), "{:e}", sign * x);
                if f64::from(x as f32) == x {
                    assert_eq!(single(sign * x).to_bits(), (sign * expected).to_bits(), "{:e} in f32", sign * x);
                }
            }
        }
    }
    for beyond in [65_536.0, 1e9, 3e38, 1e300, f64::INFINITY] {
        assert_eq!((nearest_half(beyond), nearest_half(-beyond)), (65_504.0, -65_504.0));
    }
    assert!(nearest_half(f64::NAN).is_nan() && nearest_half(f32::NAN).is_nan());
}

/// Sum of one entry after the other, and by fours where fours are asked.
fn in_order<R: Real>(sum: Sum, row: &[R], column: &[R]) -> R {
    let square = |k: usize| (row[k] - column[k]) * (row[k] - column[k]);
    let quarters = if sum == Sum::DifferencesByFours { row.len() / 4 } else { 0 };
    let mut total = R::ZERO;
    for k in (0..4 * quarters).step_by(4) {
        total += square(k) + square(k + 1) + square(k + 2) + square(k + 3);
    }
    for k in 4 * quarters..row.len() {
        total += if sum == Sum::Products { row[k] * column[k] } else { square(k) };
    }
    total
}

/// Numbers of all sizes, so that every other order of additions would show.
fn numbers<R: Real>(len: usize, seed: u64) -> Vec<R> {
    let mut word = seed;
    let number = |_| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        R::from_f64(((word >> 33) as f64 / f64::from(1u32 << 30) - 1.0) * f64::powi(2.0, (word >> 28 & 7) as i32))
    };
    (0..len).map(number).collect()
}

fn sums_are_those_in_order<R: Real>() {
    for (number, (rows, columns, entries)) in
        [(1, 1, 1), (4, 16, 4), (3, 17, 7), (5, 33, 37), (9, 5, 64), (13, 70, 130), (2, 3, 0)].into_iter().enumerate()
    {
        let (left, right) = (numbers::<R>(rows * entries, number as u64), numbers::<R>(columns * entries, 99 + number as u64));
        let panels = Panels::new(columns, entries, |column, k| right[column * entries + k]);
        for sum in [Sum::Products, Sum::Differences, Sum::DifferencesByFours] {
            let mut found = vec![R::from_f64(-1.0); rows * columns];
            let row = |i: usize| &left[i * entries..(i + 1) * entries];
            panels.multiply(sum, rows, row, |first, column, sums| {
                for (i, sums) in (first..rows).zip(sums) {
                    (column..columns).zip(sums).for_each(|(column, sum)| found[i * columns + column] = *sum);
                }
            });
            for (place, found) in found.into_iter().enumerate().filter(|_| entries > 0) {
                let (i, column) = (place / columns, place % columns);
                let expected = in_order(sum, row(i), &right[column * entries..(column + 1) * entries]);
                let [found, expected] = [found, expected].map(|value| value.to_f64().to_bits());
                assert_eq!(found, expected, "{sum:?} of row {i} and column {column}, {entries} entries");
            }
        }
    }
}

#[test]
fn sums_run_over_the_entries_in_order_to_the_bit() {
    sums_are_those_in_order::<f32>();
    sums_are_those_in_order::<f64>();
}
