//! Gradients against central differences of the other evaluator, and evaluated on every device.

use super::support::{Random, fresh_seed};
use super::{Bench, benches, compare, reference};
use leastwise::device::Precision;
use leastwise::program::fused::Fold;
use leastwise::tensor::graph::{Graph, Node};
use std::collections::HashMap;

/// Checks ∂loss/∂x of every element of every parameter against central differences, and the devices' gradients against the other
/// evaluator's. The differences are that evaluator's: on every device the same graph has the same ones, so once is enough.
pub fn check(bench: &mut Bench, what: &str, parameters: &[Node], loss: impl FnOnce(&mut Graph, &[Node]) -> Node) {
    let loss = loss(bench.graph(), parameters);
    // Weights, so that no sum of gradients hides anything.
    let weighted = {
        let graph = bench.graph();
        let size = graph.size(loss);
        let flat = graph.reshape(loss, &[f64::from(size)]).unwrap();
        let count = graph.count(&[size]).unwrap();
        let turned = graph.apply("cos", &[count]).unwrap();
        let product = graph.apply("mul", &[flat, turned]).unwrap();
        graph.reduce("sum", Fold::Sum, product, &[], false).unwrap()
    };
    let gradients = bench.graph().gradient(weighted, parameters).unwrap();
    for (number, (&parameter, &gradient)) in parameters.iter().zip(&gradients).enumerate() {
        let graph = &bench.tensors.graph;
        assert_eq!(graph.shape(parameter), graph.shape(gradient), "{what}");
        if bench.device.precision() != Precision::F64 {
            continue;
        }
        let own = reference::values(graph, &[parameter], &HashMap::new()).remove(0);
        let found = reference::values(graph, &[gradient], &HashMap::new()).remove(0);
        const STEP: f64 = 1e-5;
        let at = |k: usize, by: f64| {
            let mut moved = own.clone();
            moved[k] += by;
            reference::values(graph, &[weighted], &HashMap::from([(parameter, moved)]))[0][0]
        };
        let differences: Vec<f64> = (0..own.len()).map(|k| (at(k, STEP) - at(k, -STEP)) / (2.0 * STEP)).collect();
        compare(&format!("{what}, parameter {number}: differences"), &found, &differences, 1e-7);
    }
    bench.check(what, &gradients, 200.0);
}

#[test]
fn of_elementwise_operations() {
    let seed = fresh_seed();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for name in [
            "neg", "exp", "exp2", "expm1", "sin", "cos", "tan", "tanh", "erf", "sigmoid", "softplus", "relu", "gelu", "silu", "square",
            "abs",
        ] {
            let x = bench.random(&mut random, &[13]);
            check(&mut bench, &format!("seed {seed}, {name}"), &[x], |graph, x| graph.apply(name, &[x[0]]).unwrap());
        }
        for name in ["add", "sub", "mul", "div", "pow", "maximum", "minimum"] {
            let (x, y) = (bench.random(&mut random, &[3, 1, 5]), bench.random(&mut random, &[4, 5]));
            check(&mut bench, &format!("seed {seed}, {name}"), &[x, y], |graph, x| {
                let shifted = [x[0], x[1]].map(|node| graph.apply_number("add", node, 2.0).unwrap());
                graph.apply(name, &shifted).unwrap()
            });
        }
        for exponent in [2.0, 3.0, -2.0, 0.0] {
            let x = bench.random(&mut random, &[13]);
            check(&mut bench, &format!("seed {seed}, to the power {exponent}"), &[x], |graph, x| {
                // Bases of both signs, away from 0.
                let bases = [2.5, -2.5].map(|shift| graph.apply_number("add", x[0], shift).unwrap());
                let written = graph.operation("powInt", &[bases[1]], &[exponent]).unwrap();
                let computed = bases.map(|base| graph.apply_number("pow", base, exponent).unwrap());
                let both = graph.apply("add", &computed).unwrap();
                graph.apply("sub", &[both, written]).unwrap()
            });
        }
    }
}

#[test]
fn of_movements_and_reductions() {
    let seed = fresh_seed();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        let x = bench.random(&mut random, &[4, 6, 3]);
        check(&mut bench, &format!("seed {seed}, movements"), &[x], |graph, x| {
            let turned = graph.transpose(x[0], &[1.0, 2.0, 0.0]).unwrap();
            let back = graph.slice(turned, 0.0, f64::NAN, f64::NAN, -2.0).unwrap();
            let padded = graph.pad(back, 1.0, 1.0, 2.0, 0.25).unwrap();
            let squared = graph.apply("square", &[padded]).unwrap();
            let third = graph.slice(squared, 1.0, 1.0, f64::NAN, 3.0).unwrap();
            let joined = graph.concat(&[third, third], 0.0).unwrap();
            let windows = graph.window(joined, 0.0, 3.0, 2.0, 1.0).unwrap();
            graph.apply("mul", &[windows, windows]).unwrap()
        });
        for (name, step, size, dilation) in [("side by side", 2.0, 2.0, 1.0), ("over each other", 1.0, 3.0, 2.0)] {
            let x = bench.random(&mut random, &[2, 7, 3]);
            check(&mut bench, &format!("seed {seed}, windows {name}"), &[x], |graph, x| {
                let windows = graph.window(x[0], 1.0, size, step, dilation).unwrap();
                graph.apply("square", &[windows]).unwrap()
            });
        }
        for (name, axis) in [("softmax", 0.0), ("softmax", -1.0), ("log_softmax", 1.0)] {
            let x = bench.random(&mut random, &[3, 5]);
            check(&mut bench, &format!("seed {seed}, {name} {axis}"), &[x], |graph, x| match name {
                "softmax" => graph.softmax(x[0], axis).unwrap(),
                _ => graph.log_softmax(x[0], axis).unwrap(),
            });
        }
        let x = bench.random(&mut random, &[5, 9]);
        check(&mut bench, &format!("seed {seed}, extremes"), &[x], |graph, x| {
            let largest = graph.reduce("max", Fold::Max, x[0], &[0.0], true).unwrap();
            let least = graph.reduce("min", Fold::Min, x[0], &[1.0], true).unwrap();
            graph.apply("mul", &[largest, least]).unwrap()
        });
        let [x, scale, shift] = [&[4, 9][..], &[9], &[9]].map(|shape| bench.random(&mut random, shape));
        check(&mut bench, &format!("seed {seed}, layer norm"), &[x, scale, shift], |graph, x| {
            graph.layer_norm(x[0], Some(x[1]), Some(x[2]), 1e-3).unwrap()
        });
    }
}

#[test]
fn of_products_and_convolutions() {
    let seed = fresh_seed();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        let shapes =
            [(&[2u32, 1, 3, 4][..], &[3u32, 4, 2][..]), (&[3, 4], &[4, 5]), (&[5, 3, 2], &[2, 4]), (&[4], &[4]), (&[2, 3, 4], &[1, 4, 2])];
        for &(left, right) in bench.repeated(&shapes, 2) {
            let (a, b) = (bench.random(&mut random, left), bench.random(&mut random, right));
            check(&mut bench, &format!("seed {seed}, {left:?} × {right:?}"), &[a, b], |graph, x| {
                let product = graph.matmul(x[0], x[1]).unwrap();
                graph.apply("tanh", &[product]).unwrap()
            });
        }
        let windows = [([2.0, 1.0], [1.0, 2.0], [1.0, 2.0]), ([1.0, 1.0], [0.0, 0.0], [1.0, 1.0])];
        for &(step, padding, dilation) in bench.repeated(&windows, 1) {
            let [x, w] = [[2, 3, 7, 6], [4, 3, 3, 2]].map(|shape| bench.random(&mut random, &shape));
            check(&mut bench, &format!("seed {seed}, convolution in steps of {step:?}"), &[x, w], |graph, x| {
                let convolved = graph.conv2d(x[0], x[1], step, padding, dilation).unwrap();
                graph.apply("tanh", &[convolved]).unwrap()
            });
        }
        let x = bench.random(&mut random, &[2, 2, 7, 6]);
        check(&mut bench, &format!("seed {seed}, pools"), &[x], |graph, x| {
            graph.max_pool2d(x[0], [3.0, 2.0], [2.0, 1.0], [1.0, 0.0]).unwrap()
        });
    }
}

#[test]
fn of_attention_embedding_and_cross_entropy() {
    let seed = fresh_seed();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for causal in [false, true] {
            let [q, k, v] = [[2, 5, 3], [2, 6, 3], [2, 6, 4]].map(|shape| bench.random(&mut random, &shape));
            check(&mut bench, &format!("seed {seed}, attention, causal {causal}"), &[q, k, v], |graph, x| {
                graph.attention(x[0], x[1], x[2], 0.7, causal).unwrap()
            });
        }
        let table = bench.random(&mut random, &[7, 3]);
        check(&mut bench, &format!("seed {seed}, embedding"), &[table], |graph, x| {
            let rows = graph.numbers(vec![6, 0, 6, 6, 2, 3], vec![3, 2]);
            let gathered = graph.gather(x[0], rows).unwrap();
            graph.apply("square", &[gathered]).unwrap()
        });
        let logits = bench.random(&mut random, &[4, 5]);
        check(&mut bench, &format!("seed {seed}, cross entropy"), &[logits], |graph, x| {
            let labels = graph.numbers(vec![4, 0, 0, 2], vec![4]);
            graph.cross_entropy(x[0], labels).unwrap()
        });
    }
}

#[test]
fn of_gradients() {
    let seed = fresh_seed();
    let mut bench = Bench::cpu(leastwise::device::Precision::F64, leastwise::device::cpu::CpuDevice::default_limits());
    let mut random = Random::new(seed);
    let (x, w) = (bench.random(&mut random, &[3, 4]), bench.random(&mut random, &[4, 2]));
    check(&mut bench, &format!("seed {seed}"), &[x, w], |graph, x| {
        let product = graph.matmul(x[0], x[1]).unwrap();
        let wave = graph.apply("sin", &[product]).unwrap();
        let sum = graph.reduce("sum", Fold::Sum, wave, &[], false).unwrap();
        graph.gradient(sum, &[x[1]]).unwrap()[0]
    });
}

#[test]
fn what_has_no_gradient_is_refused() {
    let mut bench = benches().remove(0);
    let (x, y) = (bench.tensor(&[1.0, 2.0], &[2]), bench.tensor(&[3.0, 4.0], &[2]));
    let graph = bench.graph();
    let product = graph.apply("mul", &[x, y]).unwrap();
    let held = graph.hold(product);
    let message = graph.gradient(product, &[x]).unwrap_err().to_string();
    assert_eq!(message, "\"grad\": the loss must be one number, not [2]: take its sum or its mean");
    let sum = graph.reduce("sum", Fold::Sum, product, &[], false).unwrap();
    graph.hold(sum);
    let detached = graph.detach(sum).unwrap();
    let message = graph.gradient(detached, &[x]).unwrap_err().to_string();
    assert!(message.contains("does not depend on tensor 0"), "{message}");
    // What was computed has no history.
    bench.compute(&[held], &[]);
    let message = bench.graph().gradient(sum, &[x]).unwrap_err().to_string();
    assert!(message.contains("was computed before"), "{message}");
    assert!(bench.graph().gradient(sum, &[held]).is_ok());
}
