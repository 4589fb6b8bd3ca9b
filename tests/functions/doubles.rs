//! The same operations where reals are double-floats, of operands that are double-floats.
//!
//! `cargo test --test functions doubles -- --nocapture` prints how far off each is.

use super::harness::{adapter_of_doubles, binary, kernel_of, play_in, unary};
use super::samples::{self, Random};
use leastwise::device::{Device, KernelSource, Kind};
use leastwise::program::{Binary, Instruction, Load, Unary};

/// What errors are measured in: the rounding of a double-float.
const UNIT: f64 = 1.0 / (1u64 << 48) as f64;

/// In these, at most so many: a hundredth of what `precision: "f32x2"` promises, 10⁻¹⁰.
const MOST: f64 = 1e-12 / UNIT;

const OPERANDS: std::ops::Range<f64> = 1e-25..1e30;

/// A number of 48 bits near one of 24.
fn widened(value: f64, random: &mut Random) -> f64 {
    let high = value as f32;
    let low = value * random.between(-0.5, 0.5) * f64::from(f32::EPSILON) / 2.0;
    f64::from(high) + f64::from(low as f32)
}

fn is_in_range(value: f64) -> bool {
    value == 0.0 || OPERANDS.contains(&value.abs())
}

/// The worst error in units of the result and of what a rounding of the operands makes of it, and how many were compared.
fn worst(results: &[f64], columns: &[Vec<f64>], exact: impl Fn(&[f64]) -> f64) -> (f64, Vec<f64>, usize) {
    let (mut worst, mut at, mut compared) = (0.0, Vec::new(), 0);
    for (sample, result) in results.iter().enumerate() {
        let operands: Vec<f64> = columns.iter().map(|column| column[sample]).collect();
        let right = exact(&operands);
        if !right.is_finite() || !is_in_range(right) {
            continue;
        }
        let moved = |k: usize, by: f64| {
            let mut moved = operands.clone();
            moved[k] *= 1.0 + by;
            (exact(&moved) - right).abs() / by.abs() * UNIT
        };
        let step = f64::from(f32::EPSILON);
        let magnified: f64 = (0..operands.len()).map(|k| moved(k, step).min(moved(k, -step))).filter(|size| size.is_finite()).sum();
        let error = (result - right).abs() / (right.abs() * UNIT + magnified + 1e-38);
        compared += 1;
        if error > worst || error.is_nan() {
            (worst, at) = (if error.is_nan() { f64::INFINITY } else { error }, operands);
        }
    }
    (worst, at, compared)
}

fn check(device: &mut Device, name: &str, source: KernelSource, columns: &[Vec<f64>], exact: impl Fn(&[f64]) -> f64) {
    let results = play_in(device, Kind::Double, source, columns);
    let (error, at, compared) = worst(&results, columns, exact);
    println!("{name}: {error:.1} units of 2⁻⁴⁸ at {at:?}, of {compared}");
    assert!(compared > columns[0].len() / 8, "{name}: too little was compared: {compared}");
    assert!(error <= MOST, "{name} of {at:?} is off by {error} units");
}

#[test]
fn functions_of_one_are_right_to_a_hundredth_of_the_promise() {
    let mut device = adapter_of_doubles();
    let mut random = Random::new(9);
    // Of so many operands as a software adapter manages.
    let values: Vec<f64> = samples::one().into_iter().step_by(7).map(|value| widened(value, &mut random)).collect();
    let values: Vec<f64> = values.into_iter().filter(|value| is_in_range(*value)).collect();
    let functions = Unary::ALL.into_iter().filter(|operation| !matches!(operation, Unary::Detach | Unary::Finite | Unary::IsNan));
    for operation in functions {
        let fits = |value: f64| match operation {
            // Between values that 1 divides, a rounding decides.
            Unary::Floor | Unary::Ceil | Unary::Round => (2.0 * value - (2.0 * value).round()).abs() > 1e-9 * value.abs(),
            // Angles that are known to less than they are compared by.
            Unary::Sin | Unary::Cos | Unary::Tan => value.abs() < 1e6,
            Unary::Asin | Unary::Acos | Unary::Atanh => value.abs() <= 1.0,
            Unary::Acosh => value >= 1.0,
            Unary::Log1p => value > -1.0,
            Unary::Log | Unary::Sqrt => value > 0.0,
            _ => true,
        };
        let column: Vec<f64> = values.iter().copied().filter(|value| fits(*value)).collect();
        check(&mut device, &format!("{operation:?}"), unary(operation), &[column], |a| operation.apply(a[0]));
    }
}

#[test]
fn functions_of_two_are_right_to_a_hundredth_of_the_promise() {
    let mut device = adapter_of_doubles();
    let mut random = Random::new(10);
    for (operation, pairs) in [
        (Binary::Pow, samples::powers()),
        (Binary::Atan2, samples::points()),
        (Binary::Div, samples::points()),
        (Binary::Mul, samples::points()),
        (Binary::Add, samples::points()),
    ] {
        let pairs: Vec<(f64, f64)> = pairs[0].iter().copied().zip(pairs[1].iter().copied()).step_by(5).collect();
        let pairs: Vec<(f64, f64)> = pairs.into_iter().filter(|(a, b)| is_in_range(*a) && is_in_range(*b)).collect();
        // A whole exponent stays one: next to it, a negative base has no power.
        let stays = |a: f64, b: f64| operation == Binary::Pow && a < 0.0 && b.fract() == 0.0;
        let (left, right): (Vec<f64>, Vec<f64>) =
            pairs.into_iter().map(|(a, b)| (widened(a, &mut random), if stays(a, b) { b } else { widened(b, &mut random) })).unzip();
        check(&mut device, &format!("{operation:?}"), binary(operation), &[left, right], |a| operation.apply(a[0], a[1]));
    }
}

/// What compilers know at compile time they may compute as they like, as long as it is right.
#[test]
fn literals_are_as_good_as_operands() {
    let mut device = adapter_of_doubles();
    let mut random = Random::new(11);
    let columns: [Vec<f64>; 2] = std::array::from_fn(|_| (0..1000).map(|_| widened(random.between(0.5, 2.0), &mut random)).collect());
    type Exact = fn(f64, f64) -> f64;
    // Values 0 and 1 are a and b; the constants come next.
    let divide = |a, b| Instruction::Binary(Binary::Div, a, b);
    let multiply = |a, b| Instruction::Binary(Binary::Mul, a, b);
    let choose = |less, greater| {
        [
            divide(3, 4),
            Instruction::Binary(Binary::Lt, less, greater),
            Instruction::Select { condition: 7, then: 6, otherwise: 5 },
            divide(8, 1),
        ]
    };
    let chosen = [0.0, 4.0, 3.0, 1.6];
    let expressions: [(&str, &[f64], Vec<Instruction>, Exact); 8] = [
        ("4 / 3", &[4.0, 3.0], vec![divide(2, 3)], |_, _| 4.0 / 3.0),
        ("a (4 / 3)", &[4.0, 3.0], vec![divide(2, 3), multiply(0, 4)], |a, _| a * 4.0 / 3.0),
        ("(0 < a ? 4 / 3 : 1.6) / b", &chosen, choose(2, 0).to_vec(), |_, b| 4.0 / 3.0 / b),
        ("(a < 0 ? 4 / 3 : 1.6) / b", &chosen, choose(0, 2).to_vec(), |_, b| 1.6 / b),
        ("a / 3", &[3.0], vec![divide(0, 2)], |a, _| a / 3.0),
        ("2 / b", &[2.0], vec![divide(2, 1)], |_, b| 2.0 / b),
        ("a + 1 / 3", &[1.0, 3.0], vec![divide(2, 3), Instruction::Binary(Binary::Add, 0, 4)], |a, _| a + 1.0 / 3.0),
        ("√2 b", &[2.0], vec![Instruction::Unary(Unary::Sqrt, 2), multiply(3, 1)], |_, b| 2f64.sqrt() * b),
    ];
    for (text, constants, operations, exact) in expressions {
        let operands = [0, 1].map(|column| Instruction::Load(Load::Data(column)));
        let constants = constants.iter().map(|value| Instruction::Const(*value));
        let source = kernel_of(operands.into_iter().chain(constants).chain(operations).collect());
        let results = play_in(&mut device, Kind::Double, source, &columns);
        let (error, at, compared) = worst(&results, &columns, |a| exact(a[0], a[1]));
        println!("{text}: {error:.1} units of 2⁻⁴⁸ at {at:?}");
        assert_eq!(compared, 1000);
        assert!(error <= MOST, "{text} of {at:?} is off by {error} units");
    }
}
