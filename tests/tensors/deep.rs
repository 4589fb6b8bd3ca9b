//! Products of few tiles and great depth, which are cut into parts.

use super::benches;
use super::support::{Random, fresh_seed as fresh};
use leastwise::program::fused::Fold;

#[test]
fn deep_products_are_sums_of_products_of_parts() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        // Batches stay whole, and so does the last one: its depth is a prime.
        let shapes: [([&[u32]; 2], u32); 5] = [
            ([&[3, 6000], &[6000, 5]], 2),
            ([&[2, 20, 4096], &[4096, 9]], 2),
            ([&[2, 3, 4100], &[2, 4100, 2]], 1),
            ([&[20, 4098], &[4098, 60]], 2),
            ([&[3, 5003], &[5003, 2]], 1),
        ];
        for &([left, right], kernels) in bench.repeated(&shapes, 3) {
            let [a, b] = [left, right].map(|shape| bench.random(&mut random, shape));
            let product = bench.graph().matmul(a, b).unwrap();
            let doubled = bench.graph().apply_number("mul", product, 2.0).unwrap();
            bench.check(&format!("seed {seed}, {left:?} × {right:?}"), &[doubled], 400.0);
            if bench.device.is_queue() {
                assert_eq!(bench.tensors.statistics.kernels, kernels, "{left:?} × {right:?}: {:?}", bench.tensors.trace);
            }
        }
    }
}

#[test]
fn gradients_of_filters_and_weights_over_many_examples_agree_with_the_reference() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        let [images, filters] = [&[48, 2, 11, 10][..], &[5, 2, 3, 3]].map(|shape| bench.random(&mut random, shape));
        let made = bench.graph().conv2d(images, filters, [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]).unwrap();
        let shape = bench.graph().shape(made).to_vec();
        let weights = bench.random(&mut random, &shape);
        let graph = bench.graph();
        let weighted = graph.apply("mul", &[made, weights]).unwrap();
        let loss = graph.reduce("sum", Fold::Sum, weighted, &[], false).unwrap();
        let gradients = graph.gradient(loss, &[filters, images]).unwrap();
        bench.check(&format!("seed {seed}, filters"), &gradients, 400.0);
        let [examples, layer] = [&[4200, 12][..], &[12, 7]].map(|shape| bench.random(&mut random, shape));
        let graph = bench.graph();
        let product = graph.matmul(examples, layer).unwrap();
        let bent = graph.apply("tanh", &[product]).unwrap();
        let loss = graph.reduce("sum", Fold::Sum, bent, &[], false).unwrap();
        let gradients = graph.gradient(loss, &[layer]).unwrap();
        bench.check(&format!("seed {seed}, weights"), &gradients, 400.0);
    }
}
