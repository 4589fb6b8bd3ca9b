//! How far the vector functions are from the truth: sin and cos from the library's (which is itself within 0.6 ulp on
//! glibc), all others from double-double arithmetic.

use super::build::Builder;
use super::double_double::Double;
use super::play::{Case, WHOLE, play};
use super::random::{Random, case};
use leastwise::device::Precision;
use leastwise::program::*;
use std::f64::consts::FRAC_PI_2;

/// One operation on a list of operands.
pub fn apply(instruction: impl Fn(Value, Value) -> Instruction, operands: &[[f64; 2]], precision: Precision) -> Vec<f64> {
    let mut b = Builder::new("function");
    let loads = [0, 1].map(|column| b.load(Load::Data(column)));
    let value = b.push(instruction(loads[0], loads[1]));
    b.store(Store::Column(0), value);
    let count = operands.len();
    let data = [0, 1].map(|side| operands.iter().map(|pair| pair[side]).collect::<Vec<_>>()).concat();
    let case = Case { data, ..case(&mut Random(0), b.program, count as u32) };
    play(&case, precision, WHOLE).vector[..count].to_vec()
}

/// A sample: numbers spread evenly, numbers whose logarithm is, and numbers near a place.
struct Sample {
    even: (f64, f64),
    magnitudes: (f64, f64),
    near: f64,
    allowed: fn(f64) -> bool,
}

impl Sample {
    fn numbers(&self, precision: Precision) -> Vec<f64> {
        let mut random = Random(31);
        let mut between = |low: f64, high: f64| low + (high - low) * random.unit();
        let mut numbers: Vec<f64> = (0..3000).map(|_| between(self.even.0, self.even.1)).collect();
        let logarithms = (self.magnitudes.0.ln(), self.magnitudes.1.ln());
        numbers.extend((0..3000).map(|k| between(logarithms.0, logarithms.1).exp() * if k % 2 == 0 { 1.0 } else { -1.0 }));
        numbers.extend((0..2000).map(|k| self.near + 10f64.powf(between(-16.0, 0.0)) * if k % 2 == 0 { 1.0 } else { -1.0 }));
        let rounded = |x: f64| if precision == Precision::F32 { f64::from(x as f32) } else { x };
        numbers.into_iter().map(rounded).filter(|x| x.is_finite() && (self.allowed)(*x)).collect()
    }
}

/// How many units in the last place of the exact value `got` is away from it.
fn error_in_ulp(got: f64, exact: Double, precision: Precision) -> f64 {
    let (digits, least) = match precision {
        Precision::F32x2 | Precision::F64 => (52, -1022),
        Precision::F32 => (23, -126),
    };
    let exponent = ((exact.high.to_bits() >> 52) as i32 & 0x7ff) - 1023;
    let ulp = f64::from(exponent.max(least) - digits).exp2();
    ((got - exact.high) - exact.low).abs() / ulp
}

/// The largest error over what can be judged: results well within the range of the precision.
fn largest_error(results: impl Iterator<Item = (f64, Double)>, precision: Precision, name: &str, bound: f64) {
    let (largest, smallest) = match precision {
        Precision::F32x2 | Precision::F64 => (1e300, 1e-280),
        Precision::F32 => (f64::from(f32::MAX), 0.0),
    };
    let (mut compared, mut worst) = (0, 0.0);
    for (got, exact) in results.filter(|(_, exact)| exact.high.abs() < largest && exact.high.abs() > smallest) {
        let error = error_in_ulp(got, exact, precision);
        assert!(error <= bound, "{name}, {precision:?}: {got:e} is {error:.2} ulp from {exact:?}");
        worst = f64::max(worst, error);
        compared += 1;
    }
    assert!(compared > 1500, "{name}: only {compared} results were compared");
    println!("{name:10} {precision:?} {worst:.3} ulp over {compared}");
}

type Exact = fn(Double) -> Double;

type ExactOfTwo = fn(Double, Double) -> Double;

/// Every function of one operand but sin and cos, with what it may be off by in f64 and where it is judged.
fn functions() -> Vec<(Unary, Exact, f64, Sample)> {
    use Unary::*;
    let sample = |even, magnitudes, near, allowed| Sample { even, magnitudes, near, allowed };
    let anywhere = |_: f64| true;
    let unit = |x: f64| x.abs() < 1.0;
    vec![
        (Cbrt, Double::cbrt, 0.7, sample((-9.0, 9.0), (1e-280, 1e280), 1.0, anywhere)),
        (Exp, Double::exp, 0.65, sample((-640.0, 690.0), (1e-20, 10.0), 0.0, anywhere)),
        (Exp2, |x| (x * Double::from(2.0).log()).exp(), 0.65, sample((-920.0, 990.0), (1e-20, 10.0), 0.0, anywhere)),
        (Expm1, Double::expm1, 1.0, sample((-45.0, 690.0), (1e-280, 3.0), 0.0, anywhere)),
        (Log, Double::log, 0.8, sample((0.4, 3.0), (1e-280, 1e300), 1.0, |x| x > 0.0)),
        (Log1p, Double::log1p, 0.8, sample((-0.999, 3.0), (1e-280, 1e300), -1.0, |x| x > -1.0)),
        (Tan, Double::tan, 1.5, sample((-10.0, 10.0), (1e-280, 1e6), FRAC_PI_2, |x| x.abs() < 1e6)),
        (Asin, Double::asin, 1.0, sample((-1.0, 1.0), (1e-280, 1.0), 1.0, unit)),
        (Acos, Double::acos, 1.0, sample((-1.0, 1.0), (1e-280, 1.0), -1.0, unit)),
        (Atan, |x| x.atan2(Double::from(1.0)), 0.8, sample((-3.0, 3.0), (1e-280, 1e30), 0.4375, anywhere)),
        (Sinh, Double::sinh, 1.9, sample((-690.0, 690.0), (1e-280, 20.0), 0.0, |x| x.abs() < 690.0)),
        (Cosh, Double::cosh, 1.2, sample((-690.0, 690.0), (1e-280, 20.0), 0.0, |x| x.abs() < 690.0)),
        (Tanh, Double::tanh, 2.0, sample((-30.0, 30.0), (1e-280, 1.0), 0.0, anywhere)),
        (Asinh, Double::asinh, 1.1, sample((-3.0, 3.0), (1e-280, 1e300), 0.0, anywhere)),
        (Acosh, Double::acosh, 1.7, sample((1.0, 3.0), (1.0, 1e300), 1.0, |x| x > 1.0)),
        (Atanh, Double::atanh, 1.6, sample((-1.0, 1.0), (1e-280, 1.0), 1.0, unit)),
        (Erf, Double::erf, 1.4, sample((-6.5, 6.5), (1e-280, 1.0), 1.0, anywhere)),
        (Sigmoid, Double::sigmoid, 2.0, sample((-600.0, 50.0), (1e-20, 20.0), 0.0, anywhere)),
        (Softplus, Double::softplus, 1.6, sample((-600.0, 50.0), (1e-20, 20.0), 0.0, anywhere)),
    ]
}

#[test]
fn functions_of_one_operand_are_accurate() {
    for (operation, exact, bound, sample) in functions() {
        for (precision, bound) in [(Precision::F64, bound), (Precision::F32, 0.501)] {
            let operands: Vec<[f64; 2]> = sample.numbers(precision).into_iter().map(|x| [x, 0.0]).collect();
            let got = apply(|a, _| Instruction::Unary(operation, a), &operands, precision);
            let results = got.into_iter().zip(&operands).map(|(got, [x, _])| (got, exact(Double::from(*x))));
            largest_error(results, precision, &format!("{operation:?}"), bound);
        }
    }
}

#[test]
fn functions_of_two_operands_are_accurate() {
    let mut random = Random(32);
    let mut between = |low: f64, high: f64| low + (high - low) * random.unit();
    let mut powers = Vec::new();
    let mut points = Vec::new();
    for _ in 0..3000 {
        powers.push([between(-7.0, 7.0).exp(), between(-80.0, 80.0)]);
        powers.push([1.0 + between(-30.0, -1.0).exp(), between(-18.0, 18.0).sinh()]);
        powers.push([between(-600.0, 600.0).exp(), between(-1.0, 1.0)]);
        powers.push([between(0.0, 20.0), between(-12.0, 12.0).round() / 2.0]);
        points.push([between(-2.0, 2.0), between(-2.0, 2.0)]);
        points.push([between(-300.0, 300.0).exp(), -between(-300.0, 300.0).exp()]);
        points.push([-between(-2.0, 2.0).exp(), 1.0]);
    }
    let exact: [(Binary, ExactOfTwo, f64, _); 2] = [(Binary::Pow, Double::pow, 0.7, powers), (Binary::Atan2, Double::atan2, 1.5, points)];
    for (operation, exact, bound, operands) in exact {
        for (precision, bound) in [(Precision::F64, bound), (Precision::F32, 0.501)] {
            let rounded = |x: f64| if precision == Precision::F32 { f64::from(x as f32) } else { x };
            let operands: Vec<[f64; 2]> = operands.iter().map(|pair| pair.map(rounded)).collect();
            let regular = |pair: &[f64; 2]| pair.iter().all(|x| x.is_finite() && *x != 0.0);
            let operands: Vec<[f64; 2]> = operands.into_iter().filter(regular).collect();
            let got = apply(|a, b| Instruction::Binary(operation, a, b), &operands, precision);
            let results = got.into_iter().zip(&operands).map(|(got, [a, b])| (got, exact(Double::from(*a), Double::from(*b))));
            largest_error(results, precision, &format!("{operation:?}"), bound);
        }
    }
}

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
pub fn ulps(a: f64, b: f64) -> u64 {
    if a == b { 0 } else { a.to_bits().abs_diff(b.to_bits()) }
}

pub fn ulps_f32(a: f64, b: f64) -> u32 {
    if a == b { 0 } else { (a as f32).to_bits().abs_diff((b as f32).to_bits()) }
}

#[test]
fn sines_in_f64_are_within_two_ulp() {
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
fn sines_in_f32_are_within_one_ulp() {
    let mut x = samples(1e5);
    x.extend((0..64_000).map(|n| f64::from(n) * FRAC_PI_2));
    x.extend(samples(1e9));
    let x = x.into_iter().map(|x| f64::from(x as f32)).collect();
    for [x, sin, cos] in sines(x, Precision::F32) {
        assert!(ulps_f32(sin, x.sin()) <= 1, "sin {x:e} is {sin:e}, not {:e}", x.sin());
        assert!(ulps_f32(cos, x.cos()) <= 1, "cos {x:e} is {cos:e}, not {:e}", x.cos());
    }
}
