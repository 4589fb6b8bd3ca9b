//! Operation by operation, at ragged sizes.

use super::support::{Random, fresh_seed as fresh};
use super::{Bench, benches};
use leastwise::device::Precision;
use leastwise::program::fused::Fold;
use leastwise::tensor::operations::elementwise;

const UNARY: [&str; 22] = [
    "neg", "abs", "floor", "ceil", "round", "exp", "exp2", "expm1", "sin", "cos", "tan", "tanh", "erf", "sigmoid", "softplus", "relu",
    "gelu", "silu", "square", "sign", "cbrt", "log1p",
];
const BINARY: [&str; 8] = ["add", "sub", "mul", "less", "lessEqual", "maximum", "minimum", "equal"];
/// Those first that are most ragged.
const SIZES: [u32; 6] = [65, 997, 1, 63, 500, 1000];

#[test]
fn elementwise_operations() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for &size in bench.repeated(&SIZES, 2) {
            let (a, b) = (bench.random(&mut random, &[size]), bench.random(&mut random, &[size]));
            let mut nodes = Vec::new();
            for name in UNARY {
                nodes.push(bench.graph().apply(name, &[a]).unwrap());
            }
            for name in BINARY {
                nodes.push(bench.graph().apply(name, &[a, b]).unwrap());
            }
            let positive = bench.graph().apply_number("add", b, 2.5).unwrap();
            for name in ["sqrt", "rsqrt", "log"] {
                nodes.push(bench.graph().apply(name, &[positive]).unwrap());
            }
            for name in ["div", "pow"] {
                let base = bench.graph().apply_number("add", a, 1.5).unwrap();
                nodes.push(bench.graph().apply(name, &[base, positive]).unwrap());
            }
            // Whole exponents have powers of every base.
            let stretched = bench.graph().apply_number("mul", b, 2.0).unwrap();
            let whole = bench.graph().apply("round", &[stretched]).unwrap();
            nodes.push(bench.graph().apply("pow", &[a, whole]).unwrap());
            for exponent in [2.0, 3.0, -1.0] {
                nodes.push(bench.graph().operation("powInt", &[a], &[exponent]).unwrap());
            }
            bench.check(&format!("seed {seed}, {size}"), &nodes, 4.0);
        }
    }
    assert!(elementwise("nothing").is_none());
}

#[test]
fn broadcasting_follows_numpy() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        let shapes: [(&[u32], &[u32], &[u32]); 8] = [
            (&[], &[3], &[3]),
            (&[2, 1, 5], &[7, 1], &[2, 7, 5]),
            (&[1], &[4, 1, 3], &[4, 1, 3]),
            (&[63, 1], &[1, 65], &[63, 65]),
            (&[0, 3], &[1, 3], &[0, 3]),
            (&[5, 0], &[1], &[5, 0]),
            (&[2, 3, 1, 4, 1, 2], &[3, 5, 1, 3, 1], &[2, 3, 5, 4, 3, 2]),
            (&[1, 1], &[1, 1, 1], &[1, 1, 1]),
        ];
        for (left, right, result) in shapes {
            let (a, b) = (bench.random(&mut random, left), bench.random(&mut random, right));
            let sum = bench.graph().apply("sub", &[a, b]).unwrap();
            assert_eq!(bench.graph().shape(sum), result);
            bench.check(&format!("seed {seed}, {left:?} and {right:?}"), &[sum], 2.0);
        }
        let (a, b) = (bench.random(&mut random, &[2, 3]), bench.random(&mut random, &[2]));
        let refused = bench.graph().apply("add", &[a, b]).unwrap_err().to_string();
        assert_eq!(refused, "\"add\": shapes [2, 3] and [2] do not broadcast: axes from the last on must be equal, or 1");
    }
}

#[test]
fn movements() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        let a = bench.random(&mut random, &[5, 7, 3]);
        let graph = bench.graph();
        let turned = graph.transpose(a, &[2.0, 0.0, 1.0]).unwrap();
        let flat = graph.reshape(turned, &[-1.0]).unwrap();
        let backwards = graph.slice(a, 1.0, f64::NAN, f64::NAN, -2.0).unwrap();
        let part = graph.slice(backwards, -1.0, 1.0, f64::NAN, 1.0).unwrap();
        let padded = graph.pad(part, 0.0, 2.0, 1.0, 0.5).unwrap();
        let windows = graph.window(a, 1.0, 3.0, 2.0, 1.0).unwrap();
        let dilated = graph.window(padded, 0.0, 2.0, 1.0, 3.0).unwrap();
        let none = graph.slice(a, 0.0, 4.0, 2.0, 1.0).unwrap();
        assert_eq!(graph.shape(none), [0, 7, 3]);
        let joined = graph.concat(&[a, part, a], 1.0);
        assert!(joined.is_err());
        let mut joined = Vec::new();
        for k in 0..9 {
            joined.push(graph.slice(a, 1.0, f64::from(k % 7), 7.0, 1.0).unwrap());
        }
        let joined = graph.concat(&joined, 1.0).unwrap();
        let square = graph.apply("exp", &[windows]).unwrap();
        let negative = graph.apply("cos", &[padded]).unwrap();
        let edged = graph.pad(negative, 2.0, 1.0, 1.0, 0.0).unwrap();
        bench.check(&format!("seed {seed}"), &[turned, flat, backwards, part, padded, windows, dilated, none, joined, square, edged], 4.0);
    }
}

#[test]
fn reductions() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for &shape in bench.repeated(&[&[2u32, 7, 129][..], &[65, 3], &[40_000], &[33, 0], &[3, 500], &[1], &[63]], 4) {
            let mut a = bench.random(&mut random, shape);
            if shape == [40_000] {
                // Nothing of a long sum cancels.
                a = bench.graph().apply_number("add", a, 2.0).unwrap();
            }
            let mut nodes = Vec::new();
            for (axis, &size) in shape.iter().enumerate() {
                for fold in [Fold::Sum, Fold::Max, Fold::Min] {
                    if size > 0 || fold == Fold::Sum {
                        nodes.push(bench.graph().reduce("reduce", fold, a, &[axis as f64], axis % 2 == 0).unwrap());
                    }
                }
                if size > 0 {
                    nodes.push(bench.graph().argmax(a, axis as f64).unwrap());
                    nodes.push(bench.graph().argmin(a, axis as f64).unwrap());
                    nodes.push(bench.graph().softmax(a, axis as f64).unwrap());
                    nodes.push(bench.graph().log_softmax(a, axis as f64).unwrap());
                }
            }
            nodes.push(bench.graph().reduce("sum", Fold::Sum, a, &[], false).unwrap());
            if !shape.contains(&0) {
                nodes.push(bench.graph().mean(a, &[], false).unwrap());
                let turned = bench.graph().transpose(a, &[]).unwrap();
                nodes.push(bench.graph().layer_norm(turned, None, None, 1e-5).unwrap());
            }
            bench.check(&format!("seed {seed}, {shape:?}"), &nodes, 60.0);
        }
        let empty = bench.tensor(&[], &[0]);
        let refused = bench.graph().reduce("max", Fold::Max, empty, &[], false).unwrap_err().to_string();
        assert_eq!(refused, "\"max\": there is no extreme of no elements");
    }
}

#[test]
fn products() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        let shapes: [(&[u32], &[u32]); 11] = [
            (&[130, 17], &[17, 257]),
            (&[4, 1, 5, 7], &[3, 7, 2]),
            (&[5, 0], &[0, 4]),
            (&[4, 3], &[3]),
            (&[3], &[3, 5]),
            (&[3], &[3]),
            (&[1, 1], &[1, 1]),
            (&[63, 65], &[65, 31]),
            (&[2, 5, 7], &[7, 3]),
            (&[0, 5], &[5, 4]),
            (&[2, 70, 9], &[2, 9, 70]),
        ];
        for &(left, right) in bench.repeated(&shapes, 5) {
            let (a, b) = (bench.random(&mut random, left), bench.random(&mut random, right));
            let product = bench.graph().matmul(a, b).unwrap();
            let mut nodes = vec![product];
            if left.len() >= 2 && right.len() == 2 {
                // A row that is added, and what follows, in the product's own kernel.
                let bias = bench.random(&mut random, &[right[1]]);
                let sum = bench.graph().apply("add", &[product, bias]).unwrap();
                nodes.push(bench.graph().apply("gelu", &[sum]).unwrap());
                let turned = bench.graph().transpose(a, &[]).unwrap();
                let turned = bench.graph().reshape(turned, &left.iter().map(|&n| f64::from(n)).collect::<Vec<_>>()).unwrap();
                nodes.push(bench.graph().matmul(turned, b).unwrap());
            }
            bench.check(&format!("seed {seed}, {left:?} × {right:?}"), &nodes, 20.0);
        }
        let (a, b) = (bench.random(&mut random, &[2, 3]), bench.random(&mut random, &[4, 5]));
        assert!(bench.graph().matmul(a, b).unwrap_err().to_string().contains("[2, 3] times [4, 5]"));
    }
}

#[test]
fn convolutions_and_pools() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        let shapes = [
            ([3, 2, 11, 7], [5, 2, 3, 3], [2.0, 3.0], [1.0, 1.0], [2.0, 1.0]),
            ([2, 3, 8, 9], [4, 3, 3, 2], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]),
            ([1, 1, 5, 5], [1, 1, 5, 5], [1.0, 1.0], [2.0, 1.0], [1.0, 1.0]),
        ];
        for &(images, filters, step, padding, dilation) in bench.repeated(&shapes, 1) {
            let (x, w) = (bench.random(&mut random, &images), bench.random(&mut random, &filters));
            let convolved = bench.graph().conv2d(x, w, step, padding, dilation).unwrap();
            let pooled = bench.graph().max_pool2d(x, [3.0, 2.0], [2.0, 2.0], [1.0, 0.0]).unwrap();
            bench.check(&format!("seed {seed}, {images:?}"), &[convolved, pooled], 20.0);
        }
    }
}

#[test]
fn attention_embedding_and_cross_entropy() {
    let seed = fresh();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        let shapes = [(33, 65, 8, 5, false), (47, 47, 16, 16, true), (1, 1, 1, 1, false)];
        for &(n, m, d, e, causal) in bench.repeated(&shapes, 2) {
            let [q, k] = [n, m].map(|rows| bench.random(&mut random, &[2, 3, rows, d]));
            let v = bench.random(&mut random, &[2, 3, m, e]);
            let attended = bench.graph().attention(q, k, v, 1.0 / f64::from(d).sqrt(), causal).unwrap();
            bench.check(&format!("seed {seed}, attention {n}, {m}, {d}, {e}"), &[attended], 30.0);
        }
        let table = bench.random(&mut random, &[10, 3]);
        let rows = bench.graph().numbers(vec![3, 9, 3, 0, 0, 7], vec![2, 3]);
        let gathered = bench.graph().gather(table, rows).unwrap();
        let squared = bench.graph().apply("square", &[gathered]).unwrap();
        let logits = bench.random(&mut random, &[6, 10]);
        let labels = bench.graph().numbers(vec![3, 9, 3, 0, 0, 7], vec![6]);
        let loss = bench.graph().cross_entropy(logits, labels).unwrap();
        bench.check(&format!("seed {seed}"), &[gathered, squared, loss], 20.0);
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let has_little = |bench: &Bench| bench.device.precision() == Precision::F32 && bench.device.limits().binding_bytes == 1 << 20;
    let mut bench = benches().into_iter().find(has_little).expect("a device with small limits");
    let x = bench.tensor(&[0.5; 3000], &[3000]);
    let graph = bench.graph();
    for (refused, message) in [
        (graph.broadcast_to("broadcastTo", x, &[70_000, 70_000, 3000]), "more elements than 2³² − 1"),
        (graph.pad(x, 0.0, 4e9, 4e9, 0.0), "longer than 2³² − 1"),
        (graph.reshape(x, &[f64::NAN]), "a whole number"),
        (graph.reshape(x, &[7.0, -1.0]), "[3000] has 3000 elements"),
        (graph.slice(x, 0.0, 0.5, 2.0, 1.0), "positions must be whole numbers"),
        (graph.slice(x, 3.0, 0.0, 2.0, 1.0), "there is no axis 3"),
        (graph.window(x, 0.0, 3001.0, 1.0, 1.0), "too short for windows"),
        (graph.concat(&[], 0.0), "nothing to join"),
        (graph.operation("matmul", &[x], &[]), "it does not take 1 tensors and 0 numbers"),
        (graph.operation("no such", &[x], &[]), "it does not take"),
    ] {
        let found = refused.expect_err(message).to_string();
        assert!(found.contains(message), "{found}");
    }
    // 2³² elements are no tensor, but a convolution's windows may be as many.
    let row = graph.reshape(x, &[1.0, 3000.0]).unwrap();
    let long = graph.window(row, 1.0, 1500.0, 1.0, 1.0).unwrap();
    assert!(graph.window(long, 2.0, 1000.0, 1.0, 1.0).is_ok());
    let column = graph.reshape(long, &[1501.0 * 1500.0]).unwrap();
    assert!(graph.window(column, 0.0, 5000.0, 1.0, 1.0).unwrap_err().to_string().contains("more elements"));
    // Larger than a binding of these limits: 2¹⁸ numbers of f32.
    let wide = bench.tensor(&vec![0.5; 300_000], &[300_000]);
    let doubled = bench.graph().apply("add", &[wide, wide]).unwrap();
    let mut devices = leastwise::tensor::runtime::Devices { main: &mut bench.device, cpu: None };
    let refused = bench.tensors.evaluate(&mut devices, &[], &[doubled]).err().expect("a refusal").to_string();
    assert_eq!(refused, "a tensor of 300000 elements takes 1200000 bytes, but this device binds 1048576 at once");
}
