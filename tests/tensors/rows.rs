//! Rows that are folded and computed with in one kernel of a GPU, and columns that are folded by strips.

use super::support::{Random, fresh_seed as fresh};
use super::{Bench, benches};
use leastwise::device::Limits;
use leastwise::program::fused::{Fold, STRIP};
use leastwise::tensor::graph::{Data, Graph, Node};
use leastwise::tensor::plan::{Request, Target, plan};

/// Rows and their lengths: the longest ones are longer than what lanes hold. The first ones are a quick run's of an adapter.
const SHAPES: [(u32, u32); 14] = [
    (3, 1000),
    (37, 31),
    (3, 1025),
    (5, 1),
    (1, 5000),
    (1000, 2),
    (1, 1),
    (1, 1024),
    (1000, 31),
    (2, 1023),
    (80, 1000),
    (3, 5000),
    (129, 64),
    (17, 3),
];

/// Elements of the longest row that a kernel holds.
fn longest(bench: &Bench) -> u32 {
    16 * bench.device.limits().group_size
}

/// Leaves NaN where results will be.
fn poison(bench: &mut Bench, shape: &[u32]) {
    let size = shape.iter().product::<u32>();
    let nan = bench.tensor(&vec![f64::NAN; size as usize], shape);
    for _ in 0..3 {
        let made = bench.graph().made(|graph| (0..3).map(|k| graph.apply_number("add", nan, f64::from(k) + 3.5)).collect());
        let made = made.expect("a graph");
        assert!(bench.read(&made).iter().flatten().all(|value| value.is_nan()));
        made.into_iter().for_each(|node| bench.graph().release(node));
    }
    bench.graph().release(nan);
    bench.tensors.collect();
}

/// x/√(mean of x² + ε): RMS norm (Zhang & Sennrich 2019).
fn rms_norm(graph: &mut Graph, x: Node, scale: Node) -> Node {
    let squares = graph.apply("square", &[x]).unwrap();
    let mean = graph.mean(squares, &[-1.0], true).unwrap();
    let guarded = graph.apply_number("add", mean, 1e-3).unwrap();
    let scaling = graph.apply("rsqrt", &[guarded]).unwrap();
    let scaled = graph.apply("mul", &[x, scaling]).unwrap();
    graph.apply("mul", &[scaled, scale]).unwrap()
}

/// (x − min)/(max − min + 1): folds of two kinds.
fn between_extremes(graph: &mut Graph, x: Node) -> Node {
    let [largest, least] = [Fold::Max, Fold::Min].map(|fold| graph.reduce("extreme", fold, x, &[-1.0], true).unwrap());
    let range = graph.apply("sub", &[largest, least]).unwrap();
    let guarded = graph.apply_number("add", range, 1.0).unwrap();
    let above = graph.apply("sub", &[x, least]).unwrap();
    graph.apply("div", &[above, guarded]).unwrap()
}

/// Operations of rows: their names, and what they make of x, a scale and a shift.
const OPERATIONS: [&str; 5] = ["layer norm", "softmax", "log-softmax", "RMS norm", "between extremes"];

fn operation(graph: &mut Graph, name: &str, [x, scale, shift]: [Node; 3]) -> Node {
    match name {
        "softmax" => graph.softmax(x, -1.0).unwrap(),
        "log-softmax" => graph.log_softmax(x, -1.0).unwrap(),
        "layer norm" => graph.layer_norm(x, Some(scale), Some(shift), 1e-3).unwrap(),
        "RMS norm" => rms_norm(graph, x, scale),
        _ => between_extremes(graph, x),
    }
}

fn operands(bench: &mut Bench, random: &mut Random, rows: u32, length: u32) -> [Node; 3] {
    [&[rows, length][..], &[length], &[length]].map(|shape| bench.random(random, shape))
}

#[test]
fn rows_are_one_dispatch_and_agree_with_the_reference() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for &(rows, length) in bench.repeated(&SHAPES, 5) {
            for &name in bench.repeated(&OPERATIONS, if length == 1000 { 5 } else { 2 }) {
                let what = format!("seed {seed}, {name} of {rows} × {length}");
                poison(&mut bench, &[rows, length]);
                let given = operands(&mut bench, &mut random, rows, length);
                let made = operation(bench.graph(), name, given);
                let before = bench.device.counters();
                bench.check(&what, &[made], 40.0);
                let counted = (bench.tensors.statistics.kernels, bench.device.counters().since(&before).dispatches);
                if bench.device.is_queue() && (2..=longest(&bench)).contains(&length) {
                    assert_eq!(counted, (1, 1), "{what}: {:?}", bench.tensors.trace);
                }
            }
        }
    }
}

#[test]
fn rows_of_more_axes_broadcasts_and_results_of_every_kind_agree_with_the_reference() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        let [x, heads, column] = [&[4, 3, 70][..], &[3, 1, 70], &[4, 3, 1]].map(|shape| bench.random(&mut random, shape));
        let graph = bench.graph();
        // An operand with axes before that are repeated, one a row, and elements in reverse order.
        let turned = graph.transpose(heads, &[1.0, 0.0, 2.0]).unwrap();
        let sum = graph.apply("add", &[x, turned]).unwrap();
        let scaled = graph.apply("mul", &[sum, column]).unwrap();
        let soft = graph.softmax(scaled, -1.0).unwrap();
        let backwards = graph.flip(x, 2.0).unwrap();
        let weighted = graph.apply("mul", &[soft, backwards]).unwrap();
        // Both the row's values and the elements are asked for.
        let mean = graph.reduce("sum", Fold::Sum, weighted, &[2.0], false).unwrap();
        let root = graph.apply("square", &[mean]).unwrap();
        bench.check(&format!("seed {seed}"), &[weighted, mean, root], 40.0);
        if bench.device.is_queue() {
            assert_eq!(bench.tensors.statistics.kernels, 1, "{:?}", bench.tensors.trace);
        }
        // Two axes that are folded together, and axes that are not the last.
        let x = bench.random(&mut random, &[4, 3, 70]);
        let graph = bench.graph();
        let mean = graph.mean(x, &[1.0, 2.0], true).unwrap();
        let centred = graph.apply("sub", &[x, mean]).unwrap();
        let squares = graph.apply("square", &[centred]).unwrap();
        let variance = graph.mean(squares, &[1.0, 2.0], true).unwrap();
        let scaled = graph.apply("div", &[centred, variance]).unwrap();
        let other = graph.softmax(x, 1.0).unwrap();
        // A row of another row's results, elsewhere than they are kept.
        let soft = graph.softmax(scaled, -1.0).unwrap();
        let flipped = graph.flip(soft, 0.0).unwrap();
        let difference = graph.apply("sub", &[soft, flipped]).unwrap();
        bench.check(&format!("seed {seed}, elsewhere"), &[scaled, other, difference], 60.0);
    }
}

#[test]
fn rows_without_numbers_are_nan_and_others_are_not() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for mut bench in benches() {
        for length in [5, 300] {
            let row = |first: [f64; 2]| (0..length).map(move |k| if k < 2 { first[k] } else { 0.5 });
            let lowest = std::iter::repeat_n(-inf, length);
            let values: Vec<f64> =
                lowest.chain(row([nan, 1.0])).chain(row([-inf, 0.5])).chain(row([inf, 1.0])).chain(row([0.5; 2])).collect();
            let x = bench.tensor(&values, &[5, length as u32]);
            let made = bench.graph().made(|graph| Ok::<_, leastwise::Error>(vec![graph.softmax(x, -1.0)?, graph.log_softmax(x, -1.0)?]));
            let found = bench.read(&made.unwrap());
            for (soft, is_logarithm) in found.iter().zip([false, true]) {
                let rows: Vec<&[f64]> = soft.chunks(length).collect();
                let what = format!("{}, {length}: {:?}", bench.name, &soft[..length.min(8)]);
                assert!(rows[0].iter().chain(rows[1]).all(|value| value.is_nan()), "{what}");
                assert!(rows[3][0].is_nan(), "{what}");
                let of = |share: f64| if is_logarithm { share.ln() } else { share };
                let near = |value: f64, share: f64| (value - of(share)).abs() < 1e-5;
                assert_eq!(rows[2][0], of(0.0), "{what}");
                assert!(rows[2][1..].iter().all(|&value| near(value, 1.0 / (length - 1) as f64)), "{what}");
                assert!(rows[4].iter().all(|&value| near(value, 1.0 / length as f64)), "{what}");
            }
        }
    }
}

#[test]
fn gradients_through_rows_agree_with_the_reference() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for &(rows, length) in bench.repeated(&[(5u32, 70u32), (3, 1025), (33, 2), (1, 31)], 1) {
            for &name in bench.repeated(&OPERATIONS[..4], 2) {
                let [x, scale, shift] = operands(&mut bench, &mut random, rows, length);
                let weights = bench.random(&mut random, &[rows, length]);
                let graph = bench.graph();
                let made = operation(graph, name, [x, scale, shift]);
                let weighted = graph.apply("mul", &[made, weights]).unwrap();
                let loss = graph.reduce("sum", Fold::Sum, weighted, &[], false).unwrap();
                let of = match name {
                    "layer norm" => vec![x, scale, shift],
                    "RMS norm" => vec![x, scale],
                    _ => vec![x],
                };
                let gradients = graph.gradient(loss, &of).unwrap();
                bench.check(&format!("seed {seed}, gradient of {name} of {rows} × {length}"), &gradients, 100.0);
                let kernels = bench.tensors.statistics.kernels;
                if bench.device.is_queue() && length <= longest(&bench) {
                    // Those of what repeats over rows are sums of columns.
                    assert!(kernels as usize <= 2 * of.len() + 1, "{name}: {:?}", bench.tensors.trace);
                }
            }
        }
    }
}

#[test]
fn a_variance_is_that_of_centred_values() {
    for mut bench in benches() {
        // Squares of 4096 hide a variance of 1/4 from f32.
        let length = 512;
        let values: Vec<f64> = (0..3 * length).map(|k| 4096.0 + f64::from(k % 2)).collect();
        let x = bench.tensor(&values, &[3, length]);
        let made = bench.graph().made(|graph| Ok::<_, leastwise::Error>(vec![graph.layer_norm(x, None, None, 1e-9)?]));
        let found = bench.read(&made.unwrap());
        assert!(found[0].iter().zip(&values).all(|(found, x)| (found - 2.0 * (x - 4096.5)).abs() < 1e-5), "{}", bench.name);
    }
}

#[test]
fn columns_are_folded_by_strips() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        let shapes: [(&[u32], f64); 8] = [
            (&[100, 31], 0.0),
            (&[3, 50, 33], 1.0),
            (&[33, 1000], 0.0),
            (&[1000, 64], 0.0),
            (&[40, 16], 0.0),
            (&[2048, 40], 0.0),
            (&[512, 1], 0.0),
            (&[16, 5000], 0.0),
        ];
        for &(shape, axis) in bench.repeated(&shapes, 4) {
            poison(&mut bench, shape);
            let x = bench.random(&mut random, shape);
            let graph = bench.graph();
            let mut made = Vec::new();
            for fold in [Fold::Sum, Fold::Max, Fold::Min] {
                let folded = graph.reduce("reduce", fold, x, &[axis], false).unwrap();
                made.push(graph.apply_number("mul", folded, 3.0).unwrap());
            }
            bench.check(&format!("seed {seed}, {shape:?}"), &made, 20.0);
            let [first, repeated] = [0, 1].map(|_| bench.read(&made));
            assert_eq!(first, repeated, "{}, {shape:?}", bench.name);
        }
    }
}

#[test]
fn strips_are_workgroups() {
    let mut bench = Bench::cpu(leastwise::device::Precision::F32, Limits::WEBGPU);
    let limits = Limits::WEBGPU;
    for (rows, columns, count) in
        [(100u32, 33u32, 2 * limits.group_size), (64, 1 << 16, (1 << 16) / STRIP * limits.group_size), (100, 3, 0)]
    {
        let x = bench.random(&mut Random::new(1), &[rows, columns]);
        let sum = bench.graph().reduce("sum", Fold::Sum, x, &[0.0], false).unwrap();
        // Of few columns, a workgroup folds one.
        let right = if count > 0 { count } else { columns * limits.group_size };
        assert_eq!(lanes_of(&bench, sum, limits), [right], "{rows} × {columns}");
    }
}

/// Lanes of the kernels that make a node.
fn lanes_of(bench: &Bench, node: Node, limits: Limits) -> Vec<u32> {
    let graph = &bench.tensors.graph;
    let targets = [Target { cpu: false, limits, library: None, rows: true }];
    let plan = plan(graph, &Request::new(graph, &[node]), &[node], &targets, false).expect("a plan");
    plan.steps.iter().filter_map(|step| Some(step.launches[0].kernel.as_ref()?.count)).collect()
}

#[test]
fn long_columns_are_cut_once_and_those_without_divisors_have_a_workgroup_each() {
    let (mut bench, limits) = (Bench::cpu(leastwise::device::Precision::F32, Limits::WEBGPU), Limits::WEBGPU);
    let mut of = |rows: u32, columns: u32| {
        let x = bench.graph().stored(Data::Doubles(Vec::new()), vec![rows, columns]);
        let sum = bench.graph().reduce("sum", Fold::Sum, x, &[0.0], false).unwrap();
        lanes_of(&bench, sum, limits)
    };
    let group = limits.group_size;
    // 256 parts of 4,096 elements: 512 strips of all parts' columns, and 2 of what they come to.
    assert_eq!(of(1 << 20, 64), [512 * group, 2 * group]);
    assert_eq!(of(1 << 15, 1 << 10), [1024 * group, 32 * group]);
    assert_eq!(of(1_000_003, 32), [32 * group]);
}

#[test]
fn rows_whose_elements_lie_apart_are_not_one_kernel() {
    let (mut bench, limits) = (Bench::cpu(leastwise::device::Precision::F32, Limits::WEBGPU), Limits::WEBGPU);
    let x = bench.random(&mut Random::new(1), &[500, 300]);
    let kernels = [false, true].map(|is_turned| {
        let graph = bench.graph();
        let x = if is_turned { graph.transpose(x, &[1.0, 0.0]).unwrap() } else { x };
        let soft = graph.softmax(x, -1.0).unwrap();
        lanes_of(&bench, soft, limits).len()
    });
    assert!(kernels[0] == 1 && kernels[1] > 1, "{kernels:?}");
}
