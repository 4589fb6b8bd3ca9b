//! Strips of tensors on the CPU: what is read in place, sums in fixed trees, and exponentials.

use super::Bench;
use super::support::Random;
use crate::kernels::double_double::{Double, ONE};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::cpu::block::elements_read;
use leastwise::device::{Device, Precision};
use leastwise::problem::Reals;
use leastwise::program::fused::Fold;
use leastwise::session::{Progress, Session};
use leastwise::tensor::graph::Node;

fn cpus() -> impl Iterator<Item = Bench> {
    [Precision::F64, Precision::F32].into_iter().map(|precision| Bench::cpu(precision, CpuDevice::default_limits()))
}

/// Elements that were read in place and that were copied since the bench was made.
fn read(bench: &Bench) -> [u64; 2] {
    let Device::Cpu(device) = &*bench.device else { panic!("a CPU") };
    elements_read(device)
}

/// What `make` makes is computed; how many elements were read in place for it, and how many copied.
fn counted(bench: &mut Bench, make: impl FnOnce(&mut Bench) -> Node) -> [u64; 2] {
    let node = make(bench);
    let before = read(bench);
    bench.read(&[node]);
    let after = read(bench);
    [0, 1].map(|which| after[which] - before[which])
}

#[test]
fn whole_tensors_and_rows_are_read_in_place() {
    for mut bench in cpus() {
        let mut random = Random::new(11);
        let [x, y] = [0, 1].map(|_| bench.random(&mut random, &[300, 200]));
        let row = bench.random(&mut random, &[200]);
        let of_two = counted(&mut bench, |bench| bench.graph().apply("add", &[x, y]).unwrap());
        assert_eq!(of_two, [2 * 60_000, 0], "{}", bench.name);
        // A row is the same memory for every one of them; a column is one number a row.
        assert_eq!(counted(&mut bench, |bench| bench.graph().apply("mul", &[x, row]).unwrap()), [2 * 60_000, 0], "{}", bench.name);
        let rows = counted(&mut bench, |bench| bench.graph().reduce("max", Fold::Max, x, &[1.0], false).unwrap());
        assert_eq!(rows, [60_000, 0], "{}", bench.name);
        let columns = counted(&mut bench, |bench| bench.graph().reduce("sum", Fold::Sum, x, &[0.0], false).unwrap());
        assert_eq!(columns, [60_000, 0], "{}", bench.name);
        // A part of every row is a run for itself; every second element is none.
        let part = counted(&mut bench, |bench| {
            let part = bench.graph().slice(x, 1.0, 3.0, 103.0, 1.0).unwrap();
            bench.graph().apply("exp", &[part]).unwrap()
        });
        assert_eq!(part, [30_000, 0], "{}", bench.name);
        let apart = counted(&mut bench, |bench| {
            let part = bench.graph().slice(x, 1.0, f64::NAN, f64::NAN, -2.0).unwrap();
            bench.graph().apply("exp", &[part]).unwrap()
        });
        assert_eq!(apart, [0, 30_000], "{}", bench.name);
    }
}

/// Sizes around those of vectors, chunks and strips.
const RAGGED: [u32; 14] = [1, 2, 3, 5, 8, 63, 64, 65, 127, 129, 511, 513, 1025, 2047];

#[test]
fn ragged_sizes_broadcasts_and_steps_back_agree_with_the_reference() {
    for mut bench in cpus() {
        let mut random = Random::new(super::support::fresh_seed());
        for size in RAGGED {
            for rows in [1, 3, 17] {
                let [x, y] = [0, 1].map(|_| bench.random(&mut random, &[rows, size]));
                let (row, column) = (bench.random(&mut random, &[size]), bench.random(&mut random, &[rows, 1]));
                let graph = bench.graph();
                let sum = graph.apply("add", &[x, row]).unwrap();
                let product = graph.apply("mul", &[sum, column]).unwrap();
                let turned = graph.slice(y, 1.0, f64::NAN, f64::NAN, -1.0).unwrap();
                let all = graph.apply("maximum", &[product, turned]).unwrap();
                let bent = graph.apply("tanh", &[all]).unwrap();
                let mut nodes = vec![bent, graph.softmax(x, -1.0).unwrap(), graph.layer_norm(y, Some(row), None, 1e-3).unwrap()];
                // Long sums of numbers of both signs may cancel to less than their rounding.
                let sizes = [bent, y].map(|node| graph.apply("abs", &[node]).unwrap());
                for fold in [Fold::Sum, Fold::Max, Fold::Min] {
                    for axes in [&[0.0][..], &[1.0], &[]] {
                        let of = if matches!(fold, Fold::Sum) && axes != [0.0] { sizes } else { [bent, y] };
                        nodes.extend(of.map(|node| graph.reduce("reduce", fold, node, axes, false).unwrap()));
                    }
                }
                let padded = graph.pad(x, 1.0, 2.0, 1.0, 0.5).unwrap();
                nodes.push(graph.reduce("reduce", Fold::Sum, padded, &[0.0], false).unwrap());
                bench.check(&format!("{rows} × {size}"), &nodes, 20.0);
            }
        }
    }
}

#[test]
fn sums_of_nothing_are_zero_and_zeros_keep_their_sign() {
    for mut bench in cpus() {
        let empty = bench.tensor(&[], &[3, 0]);
        let zeros = bench.tensor(&[-0.0; 70], &[70]);
        let columns = bench.tensor(&[-0.0; 210], &[70, 3]);
        let graph = bench.graph();
        let down = graph.reduce("sum", Fold::Sum, columns, &[0.0], false).unwrap();
        let of_nothing = graph.reduce("sum", Fold::Sum, empty, &[1.0], false).unwrap();
        let of_zeros = graph.reduce("sum", Fold::Sum, zeros, &[], false).unwrap();
        let found = bench.read(&[of_nothing, of_zeros, down]);
        assert!(found[2].iter().all(|zero| *zero == 0.0 && zero.is_sign_negative()), "{}: {:?}", bench.name, found[2]);
        assert_eq!(found[0], [0.0; 3], "{}", bench.name);
        assert!(found[0].iter().all(|zero| zero.is_sign_positive()), "{}", bench.name);
        assert!(found[1][0] == 0.0 && found[1][0].is_sign_negative(), "{}: {:?}", bench.name, found[1]);
    }
}

#[test]
fn extremes_have_the_nan_wherever_it_stands() {
    for mut bench in cpus() {
        for place in [0, 1, 31, 63, 64, 65, 200, 639, 640, 700] {
            let values: Vec<f64> = (0..701).map(|i| if i == place { f64::NAN } else { f64::from(i % 13) }).collect();
            let x = bench.tensor(&values, &[701]);
            let column = bench.tensor(&values, &[701, 1]);
            let graph = bench.graph();
            let [most, least] = [Fold::Max, Fold::Min].map(|fold| graph.reduce("extreme", fold, x, &[], false).unwrap());
            let down = graph.reduce("extreme", Fold::Max, column, &[0.0], false).unwrap();
            let found = bench.read(&[most, least, down]);
            assert!(found.iter().all(|found| found[0].is_nan()), "{}, {place}: {found:?}", bench.name);
            // Beside others, where lanes are results.
            let beside: Vec<f64> = values.iter().flat_map(|&value| [1.0, value, -1.0]).collect();
            let beside = bench.tensor(&beside, &[701, 3]);
            let both = [Fold::Max, Fold::Min].map(|fold| bench.graph().reduce("extreme", fold, beside, &[0.0], false).unwrap());
            for found in bench.read(&both) {
                assert!(found[0] == 1.0 && found[1].is_nan() && found[2] == -1.0, "{}, {place}: {found:?}", bench.name);
            }
        }
    }
}

/// Rows are folded eight at a time, and columns in blocks of up to 32: what is left over, and NaN and infinities of either sign.
#[test]
fn columns_fold_their_elements_in_order_whatever_their_number() {
    for mut bench in cpus() {
        let is_single = bench.name.contains("f32");
        let mut random = Random::new(23);
        for (rows, columns) in [(1, 100), (7, 65), (8, 31), (9, 1030), (17, 128), (40, 96)] {
            for special in [&[][..], &[f64::NAN], &[f64::INFINITY, f64::NEG_INFINITY], &[f64::INFINITY]] {
                let mut values: Vec<f64> = (0..rows * columns).map(|_| f64::from(random.between(-1.0, 1.0) as f32)).collect();
                special.iter().enumerate().for_each(|(k, &value)| values[(k * 5 % rows) * columns + columns / 2] = value);
                let x = bench.tensor(&values, &[rows as u32, columns as u32]);
                let nodes = [Fold::Sum, Fold::Max, Fold::Min].map(|fold| bench.graph().reduce("reduce", fold, x, &[0.0], false).unwrap());
                let found = bench.read(&nodes);
                let rules: [&dyn Fn(f64, f64) -> f64; 3] = [
                    &|a, b| if is_single { f64::from(a as f32 + b as f32) } else { a + b },
                    &|a, b| if b > a || b.is_nan() { b } else { a },
                    &|a, b| if b < a || b.is_nan() { b } else { a },
                ];
                for (found, rule) in found.iter().zip(rules) {
                    for (column, found) in found.iter().enumerate() {
                        let own = (0..rows).map(|row| values[row * columns + column]);
                        let right = own.reduce(rule).expect("at least one row");
                        let same = found.to_bits() == right.to_bits() || found.is_nan() && right.is_nan();
                        assert!(same, "{}, {rows} × {columns}, column {column}, {special:?}: {found} for {right}", bench.name);
                    }
                }
            }
        }
    }
}

/// Every so many numbers of f32, of both signs, with those beside ends of ranges.
fn singles() -> Vec<f64> {
    let every = (0..0x7f80_0000u32).step_by(3_001).map(f32::from_bits);
    let ends = [
        0.0f32,
        // The largest errors of eᵃ and tanh a, of all numbers.
        71.045_36,
        5.198_614,
        0.547_928_3,
        // Where tanh a changes its formula, stays, and becomes 1.
        0.7,
        0.699_999_9,
        8.66,
        8.660_001,
        9.01,
        9.010_001,
        9.010_913,
        88.722_84,
        88.722_85,
        -103.972_08,
        -87.33655,
        0.173_286,
        0.346_573_6,
        f32::INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE,
    ];
    every.chain(ends).flat_map(|x| [f64::from(x), -f64::from(x)]).collect()
}

/// Of all 2³² numbers the largest errors of eᵃ and tanh a are 0.992 and 0.867 ulp.
#[test]
fn exponentials_in_f32_are_within_an_ulp() {
    let values = singles();
    let mut bench = Bench::cpu(Precision::F32, CpuDevice::default_limits());
    let x = bench.tensor(&values, &[values.len() as u32]);
    let graph = bench.graph();
    let nodes = ["exp", "tanh", "sigmoid"].map(|name| graph.apply(name, &[x]).unwrap());
    let found = bench.read(&nodes);
    let right: [fn(f64) -> f64; 3] = [f64::exp, f64::tanh, |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }];
    for (which, ((found, right), bound)) in found.iter().zip(right).zip([0.992, 0.867, 0.51]).enumerate() {
        let mut worst = (0.0f64, 0.0);
        for (&x, &found) in values.iter().zip(found) {
            let right = right(x);
            if x.is_nan() {
                assert!(found.is_nan(), "function {which} of NaN: {found}");
                continue;
            }
            if right.abs() >= f64::from(f32::MAX) * (1.0 + 2f64.powi(-25)) {
                assert_eq!(found, right.signum() * f64::INFINITY, "function {which} of {x}");
                continue;
            }
            let exponent = right.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor() as i32;
            let error = (found - right).abs() / 2f64.powi(exponent - 23);
            if error > worst.0 {
                worst = (error, x);
            }
            assert_eq!(found.is_sign_negative(), right.is_sign_negative(), "function {which} of {x}");
        }
        assert!(worst.0 < bound, "function {which}: {} ulp at {}", worst.0, worst.1);
    }
}

#[test]
fn exponentials_in_f64_agree_with_30_digits() {
    let mut random = Random::new(17);
    let mut values = vec![1e-17, 1e-8, 0.346_573, 0.346_574, 0.5, 21.9, 22.1, 700.0];
    for reach in [0.01, 0.3, 1.0, 3.0, 20.0, 640.0] {
        values.extend((0..20_000).map(|_| random.between(0.0, reach)));
    }
    let values: Vec<f64> = values.iter().flat_map(|&x| [x, -x]).collect();
    let mut bench = Bench::cpu(Precision::F64, CpuDevice::default_limits());
    let x = bench.tensor(&values, &[values.len() as u32]);
    let graph = bench.graph();
    let nodes = ["exp", "tanh", "sigmoid"].map(|name| graph.apply(name, &[x]).unwrap());
    let found = bench.read(&nodes);
    let tanh = |x: f64| {
        let u = Double::from(2.0 * x.abs().min(30.0)).expm1();
        let value = u / (u + ONE + ONE);
        if x < 0.0 { -value } else { value }
    };
    let right: [&dyn Fn(f64) -> Double; 3] = [&|x| Double::from(x).exp(), &tanh, &|x| ONE / (ONE + Double::from(-x).exp())];
    for (which, ((found, right), bound)) in found.iter().zip(right).zip([0.95, 2.5, 2.5]).enumerate() {
        let error = |(&x, &found): (&f64, &f64)| {
            let right = right(x);
            // In two steps: units of the least numbers are no quotients of 1 here.
            let exponent = right.high.abs().log2().floor() as i32;
            (((found - right.high) - right.low).abs() / 2f64.powi(exponent) * 2f64.powi(52), x)
        };
        let worst = values.iter().zip(found).map(error).fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
        assert!(worst.0 < bound, "function {which}: {} ulp at {}", worst.0, worst.1);
    }
    let ends = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 709.782_712_893_384, 709.782_712_893_385, -745.2, -1e300, -744.0];
    let x = bench.tensor(&ends, &[ends.len() as u32]);
    let nodes = ["exp", "tanh", "sigmoid"].map(|name| bench.graph().apply(name, &[x]).unwrap());
    let found = bench.read(&nodes);
    let bits = |values: &[f64]| values.iter().map(|value| if value.is_nan() { u64::MAX } else { value.to_bits() }).collect::<Vec<_>>();
    assert_eq!(
        bits(&found[0]),
        bits(&[1.0, 1.0, f64::INFINITY, 0.0, f64::NAN, 709.782_712_893_384f64.exp(), f64::INFINITY, 0.0, 0.0, 1e-323])
    );
    assert_eq!(bits(&found[1]), bits(&[0.0, -0.0, 1.0, -1.0, f64::NAN, 1.0, 1.0, -1.0, -1.0, -1.0]));
    assert_eq!(bits(&found[2]), bits(&[0.5, 0.5, 1.0, 0.0, f64::NAN, 1.0, 1.0, 0.0, 0.0, 1e-323]));
}

/// Tensors of a session on the CPU, by a pool of so many threads, in slices that end at every look at the clock or in one.
fn evaluated(precision: Precision, threads: usize, deadline_ms: f64, values: &[f64], shape: [u32; 2]) -> (Vec<f64>, usize) {
    let run = || {
        let mut session = Session::new(Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits())));
        let is_double = precision == Precision::F64;
        let x = session.tensor(Reals::F64(values), &shape, is_double).unwrap()[0];
        let mut apply = |name: &str, inputs: &[u32], words: &[f64]| session.tensor_operation(name, inputs, words, is_double).unwrap()[0];
        let doubled = apply("add", &[x, x], &[]);
        let bent = apply("tanh", &[doubled], &[]);
        let columns = apply("sum", &[bent], &[0.0, 0.0]);
        let made = [bent, apply("softmax", &[x], &[-1.0]), columns, apply("sum", &[x], &[0.0]), apply("max", &[x], &[0.0])];
        let task = session.evaluate_tensors(&[], &made).unwrap();
        let mut slices = 0;
        loop {
            slices += 1;
            match session.resume(task, deadline_ms).expect("a task that goes on") {
                Progress::Values(values) => return (values, slices),
                Progress::Yielded => {}
                _ => panic!("a task of tensors on the CPU"),
            }
        }
    };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(run)
}

#[test]
fn strips_have_the_same_bits_on_any_number_of_threads_and_in_any_slices() {
    for precision in [Precision::F64, Precision::F32] {
        let mut random = Random::new(5);
        let shape = [400, 1031];
        let values: Vec<f64> = (0..400 * 1031).map(|_| random.between(-1.0, 1.0)).collect();
        let (whole, _) = evaluated(precision, 1, f64::INFINITY, &values, shape);
        for (threads, deadline_ms) in [(1, 0.0), (3, f64::INFINITY), (3, 0.0)] {
            let (found, slices) = evaluated(precision, threads, deadline_ms, &values, shape);
            assert!(deadline_ms > 0.0 || slices > 4, "{slices} slices");
            let same = whole.iter().zip(&found).filter(|(a, b)| a.to_bits() == b.to_bits()).count();
            assert_eq!((same, found.len()), (whole.len(), whole.len()), "{threads} threads, {slices} slices");
        }
    }
}
