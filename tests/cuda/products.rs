//! Products by cuBLASLt, held to products that are added up in f64.

use super::bench::{Bench, compare};
use super::support::Random;
use leastwise::device::cuda::CudaDevice;
use leastwise::device::{Device, Precision};
use leastwise::tensor::graph::{Graph, Node};
use leastwise::tensor::runtime::Products;

fn bench(precision: Precision) -> Bench {
    let device = CudaDevice::open(0, precision).unwrap_or_else(|error| panic!("{error}"));
    assert!(device.multiplies(), "these tests need cuBLASLt: put its folder into LD_LIBRARY_PATH");
    Bench::on("cuda", Device::Cuda(Box::new(device)))
}

/// Whether the last evaluation's products were all the library's.
fn by_library(bench: &Bench) -> bool {
    let products = bench.tensors.trace.iter().filter(|step| step.what.starts_with("matmul"));
    products.clone().count() > 0 && products.clone().all(|step| step.what.contains("(library"))
}

fn values(random: &mut Random, count: u32) -> Vec<f64> {
    (0..count).map(|_| f64::from(random.between(-1.0, 1.0) as f32)).collect()
}

/// Row by row, `[batch, m, k]` times `[batch, k, n]`.
fn product(a: &[f64], b: &[f64], [batch, m, k, n]: [usize; 4]) -> Vec<f64> {
    let entry = |i: usize| {
        let (b_, row, column) = (i / (m * n), i / n % m, i % n);
        (0..k).map(|l| a[(b_ * m + row) * k + l] * b[(b_ * k + l) * n + column]).sum()
    };
    (0..batch * m * n).map(entry).collect()
}

fn transposed(values: &[f64], [batch, m, n]: [usize; 3]) -> Vec<f64> {
    (0..batch * m * n).map(|i| values[(i / (m * n)) * m * n + i % m * n + i / m % n]).collect()
}

/// A factor as it is, and as the transpose of one that is stored the other way.
fn ways(bench: &mut Bench, values: &[f64], shape: [u32; 3]) -> Vec<Node> {
    let [batch, m, n] = shape;
    let plain = bench.tensor(values, &[batch, m, n]);
    let turned = bench.tensor(&transposed(values, shape.map(|size| size as usize)), &[batch, n, m]);
    let turned = bench.graph().transpose(turned, &[0.0, 2.0, 1.0]).expect("an order");
    vec![plain, bench.graph().hold(turned)]
}

#[test]
fn products_of_all_layouts_and_sizes() {
    let mut random = Random::new(41);
    for precision in [Precision::F32, Precision::F64] {
        let mut bench = bench(precision);
        for [batch, m, k, n] in
            [[1, 2, 1, 2], [1, 64, 64, 64], [3, 65, 63, 17], [1, 2, 500, 7], [2, 127, 1, 131], [1, 1000, 311, 2], [5, 4, 1009, 3]]
        {
            let (a, b) = (values(&mut random, batch * m * k), values(&mut random, batch * k * n));
            let right = product(&a, &b, [batch, m, k, n].map(|size| size as usize));
            for left in ways(&mut bench, &a, [batch, m, k]) {
                for other in ways(&mut bench, &b, [batch, k, n]) {
                    let made = bench.graph().matmul(left, other).expect("a product");
                    let found = bench.read(&[made]).remove(0);
                    assert!(by_library(&bench), "{:?}", bench.tensors.trace);
                    let bound = bench.epsilon() * f64::from(k).sqrt() * 4.0;
                    compare(&format!("{precision:?}: {batch} × {m} × {k} × {n}"), &found, &right, bound);
                }
            }
        }
    }
}

#[test]
fn what_comes_after_a_product_is_done_by_the_library_or_in_place() {
    let mut random = Random::new(42);
    for precision in [Precision::F32, Precision::F64] {
        for (m, n) in [(64, 64), (65, 33), (2, 5), (128, 3)] {
            let mut bench = bench(precision);
            let [a, b, row, full] = [&[m, 40][..], &[40, n], &[n], &[m, n]].map(|shape| bench.random(&mut random, shape));
            type After = fn(&mut Graph, Node, [Node; 2]) -> Result<Node, leastwise::Error>;
            let cases: [(&str, After); 7] = [
                ("bias", |graph, product, [row, _]| graph.apply("add", &[row, product])),
                ("bias on the right", |graph, product, [row, _]| graph.apply("add", &[product, row])),
                ("gelu", |graph, product, _| graph.apply("gelu", &[product])),
                ("layer", |graph, product, [row, _]| graph.apply("add", &[product, row]).and_then(|sum| graph.apply("gelu", &[sum]))),
                ("relu", |graph, product, [row, _]| graph.apply("add", &[product, row]).and_then(|sum| graph.apply("relu", &[sum]))),
                ("sum", |graph, product, [_, full]| graph.apply("add", &[product, full])),
                ("more", |graph, product, [row, full]| {
                    let layer = graph.apply("add", &[product, row]).and_then(|sum| graph.apply("gelu", &[sum]))?;
                    graph.apply("mul", &[layer, full])
                }),
            ];
            for (name, after) in cases {
                let [own, found] = [Products::Own, Products::Library].map(|products| {
                    bench.tensors.products = products;
                    let made = bench.graph().made(|graph| {
                        let product = graph.matmul(a, b)?;
                        after(graph, product, [row, full]).map(|node| vec![node])
                    });
                    let values = bench.read(&made.expect("a graph")).remove(0);
                    assert_eq!(by_library(&bench), products == Products::Library, "{name}: {:?}", bench.tensors.trace);
                    assert_eq!(bench.tensors.statistics.kernels, 1, "{name}");
                    values
                });
                let bound = if precision == Precision::F32 { 1e-5 } else { 1e-12 };
                compare(&format!("{precision:?}: {name} of {m} × {n}"), &found, &own, bound);
            }
        }
    }
}

#[test]
fn views_that_the_library_does_not_know_are_left_to_our_kernels() {
    let mut random = Random::new(43);
    let mut bench = bench(Precision::F32);
    let (a, b) = (bench.random(&mut random, &[20, 30]), bench.random(&mut random, &[30, 40]));
    let graph = bench.graph();
    let flipped = graph.flip(a, 1.0).expect("a view");
    let every_other = graph.slice(b, 1.0, 0.0, 20.0, 2.0).expect("a view");
    let offset = graph.slice(b, 1.0, 3.0, 17.0, 1.0).expect("a view");
    let made = [(flipped, b, false), (a, every_other, false), (a, offset, true)];
    for node in made.iter().flat_map(|(left, right, _)| [*left, *right]) {
        bench.graph().hold(node);
    }
    for (left, right, library) in made {
        let node = bench.graph().matmul(left, right).expect("a product");
        let found = bench.read(&[node]).remove(0);
        assert_eq!(by_library(&bench), library, "{:?}", bench.tensors.trace);
        bench.tensors.products = Products::Own;
        let again = bench.graph().matmul(left, right).expect("a product");
        let own = bench.read(&[again]).remove(0);
        bench.tensors.products = Products::Library;
        compare("a product of views", &found, &own, 1e-5);
    }
}

#[test]
fn tf32_is_coarse_and_only_where_it_is_asked_for() {
    let mut random = Random::new(44);
    let mut bench = bench(Precision::F32);
    let size = 256;
    let (a, b) = (values(&mut random, size * size), values(&mut random, size * size));
    let right = product(&a, &b, [1, size as usize, size as usize, size as usize]);
    let error = |found: &[f64]| found.iter().zip(&right).map(|(found, right)| (found - right).abs()).fold(0.0, f64::max);
    let (a, b) = (bench.tensor(&a, &[size, size]), bench.tensor(&b, &[size, size]));
    let mut errors = Vec::new();
    for products in [Products::Library, Products::Tf32, Products::Own] {
        bench.tensors.products = products;
        let node = bench.graph().matmul(a, b).expect("a product");
        let found = bench.read(&[node]).remove(0);
        let again = bench.graph().matmul(a, b).expect("a product");
        assert_eq!(found, bench.read(&[again]).remove(0), "the same bits");
        errors.push(error(&found));
    }
    assert!(errors[0] < 2e-5 && errors[2] < 2e-5, "{errors:?}");
    assert!(errors[1] > 1e-4 && errors[1] < 3e-2, "{errors:?}");
}

#[test]
fn a_recording_with_products_becomes_a_graph_and_has_the_same_bits() {
    let mut random = Random::new(45);
    let mut bench = bench(Precision::F32);
    let (a, b) = (bench.random(&mut random, &[100, 100]), bench.random(&mut random, &[100, 100]));
    let mut first: Option<Vec<f64>> = None;
    for round in 0..6 {
        let made = bench.graph().made(|graph| {
            let mut x = a;
            for _ in 0..5 {
                x = graph.matmul(x, b)?;
                x = graph.apply("tanh", &[x])?;
            }
            Ok::<_, leastwise::Error>(vec![x])
        });
        let x = made.expect("a graph")[0];
        let found = bench.read(&[x]).remove(0);
        bench.graph().release(x);
        bench.tensors.collect();
        let first = first.get_or_insert_with(|| found.clone());
        assert_eq!(*first, found, "round {round}");
    }
}
