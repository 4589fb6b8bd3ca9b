//! The tables of docs/PRECISION.md, of whatever adapter there is.

use super::bounds::{BINARY, UNARY, measure_binary, measure_unary};
use super::harness::{Worst, adapter, built_in, play, worst};
use super::samples::{self, Random};
use leastwise::device::Device;
use leastwise::program::Unary;
use std::f64::consts::PI;

type Exact = fn(&[f64]) -> f64;

/// A built-in, the operands for which WGSL says something of it, and its value.
struct BuiltIn {
    expression: &'static str,
    samples: fn() -> Vec<Vec<f64>>,
    exact: Exact,
}

fn within(low: f64, high: f64) -> Vec<Vec<f64>> {
    vec![samples::one().into_iter().filter(|x| (low..=high).contains(x)).collect()]
}

fn anywhere() -> Vec<Vec<f64>> {
    vec![samples::one()]
}

fn positive() -> Vec<Vec<f64>> {
    within(f64::MIN_POSITIVE, f64::INFINITY)
}

fn turn() -> Vec<Vec<f64>> {
    within(-PI, PI)
}

fn unit() -> Vec<Vec<f64>> {
    within(-1.0, 1.0)
}

/// Products that c nearly cancels: what is left tells a fused operation from a rounded product.
fn cancelling() -> Vec<Vec<f64>> {
    let mut random = Random::new(4);
    let triples = (0..20_000).map(|_| {
        let [a, b] = [(); 2].map(|()| f64::from(random.between(1.0, 2.0) as f32));
        [a, b, f64::from(-(a * b) as f32)]
    });
    let triples: Vec<_> = triples.collect();
    (0..3).map(|k| triples.iter().map(|triple| triple[k]).collect()).collect()
}

const BUILT_INS: [BuiltIn; 20] = [
    BuiltIn { expression: "sin(a)", samples: turn, exact: |x| x[0].sin() },
    BuiltIn { expression: "cos(a)", samples: turn, exact: |x| x[0].cos() },
    BuiltIn { expression: "tan(a)", samples: turn, exact: |x| x[0].tan() },
    BuiltIn { expression: "exp(a)", samples: anywhere, exact: |x| x[0].exp() },
    BuiltIn { expression: "exp2(a)", samples: anywhere, exact: |x| x[0].exp2() },
    BuiltIn { expression: "log(a)", samples: positive, exact: |x| x[0].ln() },
    BuiltIn { expression: "log2(a)", samples: positive, exact: |x| x[0].log2() },
    BuiltIn { expression: "pow(a, b)", samples: || samples::powers().to_vec(), exact: |x| x[0].powf(x[1]) },
    BuiltIn { expression: "asin(a)", samples: unit, exact: |x| x[0].asin() },
    BuiltIn { expression: "acos(a)", samples: unit, exact: |x| x[0].acos() },
    BuiltIn { expression: "atan(a)", samples: anywhere, exact: |x| x[0].atan() },
    BuiltIn { expression: "atan2(a, b)", samples: || samples::points().to_vec(), exact: |x| x[0].atan2(x[1]) },
    BuiltIn { expression: "sinh(a)", samples: anywhere, exact: |x| x[0].sinh() },
    BuiltIn { expression: "cosh(a)", samples: anywhere, exact: |x| x[0].cosh() },
    BuiltIn { expression: "tanh(a)", samples: anywhere, exact: |x| x[0].tanh() },
    BuiltIn { expression: "sqrt(a)", samples: positive, exact: |x| x[0].sqrt() },
    BuiltIn { expression: "inverseSqrt(a)", samples: positive, exact: |x| 1.0 / x[0].sqrt() },
    BuiltIn { expression: "a / b", samples: || samples::points().to_vec(), exact: |x| x[0] / x[1] },
    BuiltIn { expression: "fma(a, b, c)", samples: cancelling, exact: |x| x[0] * x[1] + x[2] },
    BuiltIn { expression: "a * b + c", samples: cancelling, exact: |x| x[0] * x[1] + x[2] },
];

fn measure_built_in(device: &mut Device, case: &BuiltIn) -> Worst {
    let mut columns = (case.samples)();
    let used = columns.len();
    columns.resize(3, vec![0.0; columns[0].len()]);
    let results = play(device, built_in(case.expression), &columns);
    worst(&results, &columns[..used], case.exact)
}

fn row(name: &str, column: &str, measured: &Worst) {
    let at = measured.at.iter().map(|x| format!("{x:e}")).collect::<Vec<_>>().join(", ");
    println!("| {name} | {column} | {:.2} | {at} |", measured.error);
}

#[test]
#[ignore = "a measurement, whose result is the text that it prints"]
fn table() {
    let mut device = adapter();
    let Device::Wgpu(gpu) = &device else { unreachable!("opened as one") };
    println!("\n{}\n\n| operation | bound | worst error (ulp) | at |\n|---|---|---|---|", gpu.adapter());
    for (operation, bound) in UNARY.into_iter().filter(|(operation, _)| *operation != Unary::Abs) {
        row(&format!("{operation:?}"), &bound.to_string(), &measure_unary(&mut device, operation));
    }
    for (operation, bound) in BINARY {
        row(&format!("{operation:?}"), &bound.to_string(), &measure_binary(&mut device, operation));
    }
    println!("\n| built-in | worst error, of the value or of 1 | worst error (ulp) | at |\n|---|---|---|---|");
    for built_in in &BUILT_INS {
        let measured = measure_built_in(&mut device, built_in);
        row(&format!("`{}`", built_in.expression), &format!("2^{:.1}", measured.mixed.log2()), &measured);
    }
}
