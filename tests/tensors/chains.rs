//! Long chains: planning is linear in them.

use super::Bench;
use leastwise::base::task::UNIT;
use leastwise::device::{Limits, Precision};
use leastwise::tensor::graph::Node;
use leastwise::tensor::plan::{Request, Target, plan, planning};
use std::sync::Arc;

fn chain(bench: &mut Bench, links: usize) -> Vec<Node> {
    let x = bench.tensor(&[0.1, 0.2, 0.3], &[3]);
    let made = bench.graph().made(|graph| {
        let mut y = x;
        for _ in 0..links {
            let sin = graph.apply("sin", &[y])?;
            y = graph.apply_number("add", sin, 0.5)?;
        }
        let loss = graph.mean(y, &[], false)?;
        let mut made = vec![loss];
        made.extend(graph.gradient(loss, &[x])?);
        Ok::<_, leastwise::Error>(made)
    });
    made.unwrap()
}

fn rnn(bench: &mut Bench, steps: usize) -> Vec<Node> {
    let mut random = super::support::Random::new(5);
    let [w, u, b] = [&[4, 8][..], &[8, 8], &[8]].map(|shape| bench.random(&mut random, shape));
    let inputs = bench.random(&mut random, &[steps as u32, 2, 4]);
    let made = bench.graph().made(|graph| {
        let mut h = graph.constant(0.0, &[2, 8]);
        for t in 0..steps {
            let x = graph.slice(inputs, 0.0, t as f64, t as f64 + 1.0, 1.0)?;
            let x = graph.reshape(x, &[2.0, 4.0])?;
            let (a, c) = (graph.matmul(x, w)?, graph.matmul(h, u)?);
            let sum = graph.apply("add", &[a, c])?;
            let sum = graph.apply("add", &[sum, b])?;
            h = graph.apply("tanh", &[sum])?;
        }
        let squares = graph.apply("square", &[h])?;
        let loss = graph.mean(squares, &[], false)?;
        let mut made = vec![loss];
        made.extend(graph.gradient(loss, &[w, u, b])?);
        Ok::<_, leastwise::Error>(made)
    });
    made.unwrap()
}

fn joined(bench: &mut Bench, count: usize) -> Vec<Node> {
    let all: Vec<Node> = (0..count).map(|k| bench.tensor(&[k as f64], &[1])).collect();
    bench.graph().made(|graph| graph.concat(&all, 0.0).map(|node| vec![node])).unwrap()
}

fn folded(bench: &mut Bench, count: usize) -> Vec<Node> {
    let all: Vec<Node> = (0..count).map(|k| bench.tensor(&[k as f64, 1.0, 2.0], &[3])).collect();
    let made = bench.graph().made(|graph| {
        let mut sum = all[0];
        for &next in &all[1..] {
            sum = graph.apply("add", &[sum, next])?;
        }
        Ok::<_, leastwise::Error>(vec![sum])
    });
    made.unwrap()
}

/// A graph of so many links.
type Make = fn(&mut Bench, usize) -> Vec<Node>;

const CASES: [(&str, Make, usize); 4] =
    [("a chain", chain, 200), ("a recurrent network", rnn, 256), ("concat", joined, 200), ("a sum", folded, 400)];

fn bench() -> Bench {
    Bench::cpu(Precision::F64, Limits::WEBGPU)
}

/// The request of some nodes, sorted, and the targets of a bench's device.
fn asked(bench: &Bench, made: &[Node]) -> (Request, Vec<Node>, Vec<Target>) {
    let mut outputs = made.to_vec();
    outputs.sort_unstable();
    let targets = vec![Target { cpu: true, limits: bench.device.limits(), library: None, rows: false }];
    (Request::new(&bench.tensors.graph, &outputs), outputs, targets)
}

#[test]
fn plans_are_made_in_linear_time() {
    for (name, make, links) in CASES {
        let mut work = Vec::new();
        for factor in [1, 2, 4] {
            let mut bench = bench();
            let made = make(&mut bench, factor * links);
            let (request, outputs, targets) = asked(&bench, &made);
            let plan = plan(&bench.tensors.graph, &request, &outputs, &targets, false).expect("a plan");
            work.push((plan.visited as f64, plan.steps.len()));
        }
        for pair in work.windows(2) {
            let [(before, few), (after, many)] = [pair[0], pair[1]];
            assert!(after > 1.5 * before && after <= 2.2 * before, "{name}: {work:?}");
            assert!(many <= 2 * few + 16, "{name}: {work:?}");
        }
    }
}

#[test]
fn chains_have_the_same_bits_fused_and_not() {
    for (name, make, links) in CASES {
        let [fused, unfused] = [false, true].map(|unfused| {
            let mut bench = bench();
            bench.tensors.unfused = unfused;
            let made = make(&mut bench, links / 4);
            let values: Vec<Vec<u64>> =
                bench.read(&made).into_iter().map(|values| values.into_iter().map(f64::to_bits).collect()).collect();
            (values, bench.tensors.statistics.kernels)
        });
        assert_eq!(fused.0, unfused.0, "{name}");
        assert!(fused.1 < unfused.1, "{name}: {} and {} kernels", fused.1, unfused.1);
    }
}

#[test]
fn long_plans_give_way() {
    let mut bench = bench();
    let made = chain(&mut bench, 300);
    let (request, outputs, targets) = asked(&bench, &made);
    let whole = plan(&bench.tensors.graph, &request, &outputs, &targets, false).expect("a plan");
    let mut task = planning(&bench.tensors.graph, Arc::new(request), outputs, targets, false);
    // What the graph is meanwhile is nothing to the plan.
    bench.graph().gradient(made[0], &[made[0]]).expect("one");
    let mut slices = 0;
    let sliced = loop {
        // A deadline that is over: every look at the clock ends a slice.
        match task.resume(0.0) {
            Some(plan) => break plan.expect("a plan"),
            None => slices += 1,
        }
    };
    assert!(slices > 20 && task.largest_unit() < 4 * UNIT, "{slices} slices, {} operations between looks", task.largest_unit());
    assert_eq!((sliced.steps.len(), &sliced.tables, sliced.visited), (whole.steps.len(), &whole.tables, whole.visited));
}

#[test]
fn joins_of_many_go_over_what_they_join() {
    // Every tensor is moved a few times, not once for every other one.
    for count in [5, 64, 1000] {
        let mut bench = bench();
        let made = joined(&mut bench, count);
        let values = bench.read(&made);
        assert_eq!(values[0], (0..count).map(|k| k as f64).collect::<Vec<_>>());
        let elements: f64 = bench.tensors.trace.iter().map(|step| step.elements).sum();
        assert!(elements <= 10.0 * (count as f64) * (count as f64).log2(), "{count}: {elements} elements");
    }
}
