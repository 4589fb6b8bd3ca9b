//! How graphs run: kernels, submissions, plans, memory, devices.

use super::bench::DIVIDED;
use super::support::Random;
use super::{Bench, benches, beside_the_cpu, compare};
use leastwise::program::fused::Fold;
use leastwise::tensor::graph::{Data, Node};
use leastwise::tensor::routing::{Mode, Place};

/// A layer's result and its gradients, as one step of training has them; the numbers come from the last step.
fn train(bench: &mut Bench, weights: [Node; 2], images: Node, rate: f64) -> ([Node; 2], f64) {
    let made = bench.graph().made(|graph| {
        let product = graph.matmul(images, weights[0])?;
        let sum = graph.apply("add", &[product, weights[1]])?;
        let active = graph.apply("gelu", &[sum])?;
        let squares = graph.apply("square", &[active])?;
        let loss = graph.mean(squares, &[], false)?;
        let mut made = vec![loss];
        for (weight, gradient) in weights.into_iter().zip(graph.gradient(loss, &weights)?) {
            let step = graph.apply_number("mul", gradient, rate)?;
            made.push(graph.apply("sub", &[weight, step])?);
        }
        Ok::<_, leastwise::Error>(made)
    });
    let [loss, next @ ..] = &made.unwrap()[..] else { panic!("a loss") };
    let loss = *loss;
    let value = bench.compute(next, &[loss])[0][0];
    for old in weights.into_iter().chain([loss]) {
        bench.graph().release(old);
    }
    ([next[0], next[1]], value)
}

#[test]
fn a_step_is_one_submission_and_a_plan_is_made_once() {
    for mut bench in
        [Bench::cpu(leastwise::device::Precision::F32, leastwise::device::Limits::WEBGPU), Bench::gpu(leastwise::device::Limits::WEBGPU)]
    {
        let mut random = Random::new(7);
        let images = bench.random(&mut random, &[65, 33]);
        let mut weights = [bench.random(&mut random, &[33, 17]), bench.random(&mut random, &[17])];
        let mut losses = Vec::new();
        let mut live = Vec::new();
        for step in 0..30 {
            let before = bench.device.counters();
            // A rate of its own in every step: numbers are not part of kernels, but for some such as a half.
            let (next, loss) = train(&mut bench, weights, images, 0.6 / f64::from(1 + step));
            weights = next;
            losses.push(loss);
            let after = bench.device.counters().since(&before);
            assert_eq!((after.submissions, after.readbacks), (1, 1), "{}, step {step}", bench.name);
            live.push((bench.tensors.graph.len(), bench.tensors.pool(Place::Device).live));
            if step > 1 {
                assert_eq!((after.kernels_created, after.buffers_created), (0, 0), "{}, step {step}", bench.name);
                assert_eq!(live[step as usize], live[1], "{}: what is left grows", bench.name);
            }
        }
        assert_eq!((bench.tensors.statistics.plans_made, bench.tensors.statistics.plans_reused), (1, 29), "{}", bench.name);
        assert!(losses[29] < 0.8 * losses[0], "{losses:?}");
        // The product with its bias and what follows, the loss in one or two, and the way back.
        assert!(bench.tensors.statistics.kernels <= 8, "{:?}", bench.tensors.trace);
        let all: Vec<Node> = weights.into_iter().chain([images]).collect();
        all.into_iter().for_each(|node| bench.graph().release(node));
        bench.compute(&[], &[]);
        assert_eq!(bench.tensors.graph.len(), 0, "{}", bench.name);
    }
}

#[test]
fn linear_layers_are_one_kernel_and_keep_what_is_asked_for() {
    for mut bench in benches() {
        let mut random = Random::new(3);
        let [x, w, bias] = [&[37, 19][..], &[19, 23], &[23]].map(|shape| bench.random(&mut random, shape));
        let graph = bench.graph();
        let product = graph.matmul(x, w).unwrap();
        let sum = graph.apply("add", &[product, bias]).unwrap();
        let active = graph.apply("gelu", &[sum]).unwrap();
        // Everything is asked for, so everything is kept: the product, the sum and what follows.
        bench.check("a layer", &[product, sum, active], 20.0);
        assert_eq!((bench.tensors.statistics.kernels, bench.tensors.trace.len()), (1, 1), "{}: {:?}", bench.name, bench.tensors.trace);
    }
}

#[test]
fn two_runs_have_the_same_bits() {
    for mut bench in benches() {
        let mut values = Vec::new();
        for _ in 0..2 {
            let mut random = Random::new(11);
            let [x, w] = [&[127, 65][..], &[65, 64]].map(|shape| bench.random(&mut random, shape));
            let graph = bench.graph();
            let product = graph.matmul(x, w).unwrap();
            let soft = graph.softmax(product, 0.0).unwrap();
            let sum = graph.reduce("sum", Fold::Sum, soft, &[1.0], false).unwrap();
            let spread = graph.apply("square", &[product]).unwrap();
            let total = graph.reduce("sum", Fold::Sum, spread, &[], false).unwrap();
            graph.hold(sum);
            graph.hold(total);
            values.push(bench.read(&[sum, total]));
        }
        assert_eq!(values[0], values[1], "{}", bench.name);
    }
}

#[test]
fn routes_change_places_and_no_values() {
    for (mode, model, advantage, places) in [
        (Mode::Device, None, 1.0, vec!["webgpu"]),
        (Mode::Cpu, None, 1.0, vec!["cpu"]),
        (Mode::Auto, None, 1.0, vec!["webgpu"]),
        (Mode::Auto, Some(DIVIDED), 1.0, vec!["cpu", "webgpu"]),
        (Mode::Auto, Some(DIVIDED), 1e12, vec!["webgpu"]),
        (Mode::Auto, Some(DIVIDED), 1e-12, vec!["cpu"]),
    ] {
        let mut bench = Bench::gpu(leastwise::device::Limits::WEBGPU);
        bench.tensors.router.set(mode, model);
        bench.tensors.router.set_advantage(advantage);
        let mut random = Random::new(5);
        let [x, w, v] = [&[40, 30][..], &[30, 20], &[20, 10]].map(|shape| bench.random(&mut random, shape));
        let graph = bench.graph();
        let waves = graph.apply("sin", &[x]).unwrap();
        let first = graph.matmul(waves, w).unwrap();
        let soft = graph.softmax(first, 1.0).unwrap();
        let second = graph.matmul(soft, v).unwrap();
        let sum = graph.reduce("sum", Fold::Sum, second, &[0.0], false).unwrap();
        bench.check("a graph on two devices", &[waves, soft, sum, first], 50.0);
        let mut found: Vec<&str> = bench.tensors.trace.iter().map(|step| step.place).collect();
        assert!(bench.tensors.trace.iter().all(|step| !step.reason.is_empty()));
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, places, "{mode:?}: {:?}", bench.tensors.trace);
        assert_eq!(bench.tensors.statistics.transfers > 0, places.len() > 1);
        // And again, where things are now.
        let doubled = bench.graph().apply_number("mul", soft, 2.0).unwrap();
        let doubled = bench.graph().hold(doubled);
        let values = bench.read(&[doubled, soft]);
        assert!(values[0].iter().zip(&values[1]).all(|(a, b)| *a == 2.0 * b));
    }
}

#[test]
fn plans_depend_on_places_where_a_model_decides() {
    for (mode, model, plans) in [
        (Mode::Device, None, 1),
        (Mode::Cpu, None, 1),
        (Mode::Auto, None, 1),
        (Mode::Device, Some(DIVIDED), 1),
        // The host has the operand first, and a device afterwards.
        (Mode::Auto, Some(DIVIDED), 2),
    ] {
        let mut bench = beside_the_cpu();
        bench.tensors.router.set(mode, model);
        let x = bench.random(&mut Random::new(9), &[40, 30]);
        let run = |bench: &mut Bench| {
            let waves = bench.graph().apply("sin", &[x]).unwrap();
            bench.graph().hold(waves);
            let values = bench.read(&[waves]).remove(0);
            bench.graph().release(waves);
            values
        };
        let first = run(&mut bench);
        (1..4).for_each(|_| assert_eq!(run(&mut bench), first));
        let found = bench.tensors.statistics;
        assert_eq!((found.plans_made, found.plans_reused), (plans, 4 - plans), "{mode:?}");
        // A plan of one rule is not another's.
        let others = if mode == Mode::Cpu { [Mode::Device, Mode::Cpu] } else { [Mode::Cpu, Mode::Device] };
        for (made, other) in (plans + 1..).zip(others) {
            bench.tensors.router.set(other, model);
            compare("waves", &run(&mut bench), &first, 1e-5);
            assert_eq!(bench.tensors.statistics.plans_made, made, "{mode:?}, then {other:?}");
            let place = if other == Mode::Cpu { "cpu" } else { bench.device.backend() };
            assert!(bench.tensors.trace.iter().all(|step| step.place == place), "{other:?}: {:?}", bench.tensors.trace);
        }
    }
}

#[test]
fn what_the_host_still_has_needs_no_device() {
    let mut bench = benches().remove(1);
    let node = bench.graph().stored(Data::Doubles(vec![1.0, 2.0]), vec![2]);
    bench.graph().hold(node);
    assert_eq!(bench.read(&[node, node]), [[1.0, 2.0], [1.0, 2.0]]);
    assert_eq!(bench.device.counters().submissions, 0);
}

#[test]
fn memory_is_pooled_and_trimmed() {
    let mut bench = benches().remove(1);
    let x = bench.random(&mut Random::new(1), &[1000]);
    let mut last = x;
    for _ in 0..50 {
        let next = bench.graph().apply("sin", &[last]).unwrap();
        let next = bench.graph().hold(next);
        bench.compute(&[next], &[]);
        bench.graph().release(last);
        last = next;
    }
    let pool = bench.tensors.pool(Place::Device);
    // Two at a time, one layout table a plan.
    assert!(pool.misses <= 6 && pool.hits >= 40, "{pool:?}");
    bench.graph().release(last);
    let mut devices = leastwise::tensor::runtime::Devices { main: &mut bench.device, cpu: None };
    bench.tensors.collect();
    bench.tensors.trim(&mut devices);
    let pool = bench.tensors.pool(Place::Device);
    assert_eq!((pool.live, pool.pooled, bench.device.counters().bytes_live), (0, 0, 0));
}

#[test]
fn long_chains_are_cut_evenly() {
    for mut bench in benches().into_iter().take(2) {
        let x = bench.tensor(&[0.25, -0.5, 1.0], &[3]);
        for stored in [true, false] {
            let steps = 500;
            let made = bench.graph().made(|graph| {
                let mut y = if stored { x } else { graph.count(&[3])? };
                for _ in 0..steps {
                    y = graph.apply_number("mul", y, 0.99)?;
                    y = graph.apply_number("add", y, 0.001)?;
                }
                Ok::<_, leastwise::Error>(vec![y])
            });
            let found = bench.read(&made.expect("a graph")).remove(0);
            let begin = if stored { [0.25, -0.5, 1.0] } else { [0.0, 1.0, 2.0] };
            let right: Vec<f64> = begin.iter().map(|&x| (0..steps).fold(x, |y, _| y * 0.99 + 0.001)).collect();
            compare(&format!("{}: {steps} steps", bench.name), &found, &right, 1e-5);
            assert!((3..=20).contains(&bench.tensors.statistics.kernels), "{} kernels", bench.tensors.statistics.kernels);
        }
    }
}

#[test]
fn what_is_not_a_number_stays_so() {
    for mut bench in benches() {
        let x = bench.tensor(&[f64::NAN, -1.0, 0.0, 2.0], &[4]);
        let relu = bench.graph().apply("relu", &[x]).expect("a tensor");
        let found = bench.read(&[relu]).remove(0);
        assert!(found[0].is_nan() && found[1..] == [0.0, 0.0, 2.0], "{}: {found:?}", bench.name);
    }
}
