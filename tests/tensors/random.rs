//! Random graphs: fused, unfused and the other evaluator agree.

use super::support::{Random, fresh_seed};
use super::{Bench, benches};
use leastwise::device::Precision;
use leastwise::program::fused::Fold;
use leastwise::tensor::graph::{Graph, Node};

/// Sizes, of which the last fill vectors and blocks without a rest.
const SIZES: [u32; 8] = [1, 2, 3, 5, 7, 31, 8, 64];

fn pick<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len() as u64) as usize]
}

/// One more operation on some of what is there, rounding to halves perhaps; none where shapes do not fit.
fn grow(graph: &mut Graph, random: &mut Random, nodes: &[Node], rounds: bool) -> Option<Node> {
    let a = pick(random, nodes);
    let b = pick(random, nodes);
    let rank = graph.shape(a).len() as u64;
    let axis = |random: &mut Random| random.below(rank.max(1)) as f64;
    let fold = |random: &mut Random| pick(random, &[Fold::Sum, Fold::Max, Fold::Min]);
    // Nothing grows, and nothing jumps: what rounding changes stays as small as it is, however long a chain is.
    let small = |graph: &mut Graph, node: Node, by: f64| {
        let scaled = graph.apply_number("mul", node, by).ok()?;
        graph.apply("tanh", &[scaled]).ok()
    };
    match random.below(if rounds { 16 } else { 14 }) {
        14 | 15 => graph.half(a).ok(),
        0..=2 => {
            let name = pick(random, &["add", "sub", "mul", "maximum"]);
            let node = graph.apply(name, &[a, b]).ok().filter(|&node| graph.size(node) < 20_000)?;
            small(graph, node, 0.6)
        }
        3 | 4 => {
            let name = pick(random, &["sin", "tanh", "sigmoid", "relu", "neg", "gelu", "abs", "sqrt"]);
            // Its slope has no bound at 0, where a rounding would be made large.
            let a = if name == "sqrt" {
                graph.apply("mul", &[a, a]).and_then(|square| graph.apply_number("add", square, 0.5)).ok()?
            } else {
                a
            };
            graph.apply(name, &[a]).ok()
        }
        5 => graph.transpose(a, &[]).ok(),
        6 => {
            let size = f64::from(graph.size(a));
            graph.reshape(a, &[pick(random, &[1.0, size]), -1.0]).ok()
        }
        7 => {
            let axis = axis(random);
            graph.slice(a, axis, pick(random, &[0.0, 1.0, -2.0, f64::NAN]), f64::NAN, pick(random, &[1.0, 2.0, -1.0])).ok()
        }
        8 => {
            let axis = axis(random);
            graph.pad(a, axis, random.below(3) as f64, random.below(3) as f64, pick(random, &[0.0, 0.5])).ok()
        }
        9 => {
            let axis = axis(random);
            graph.window(a, axis, 2.0, pick(random, &[1.0, 2.0]), 1.0).ok().filter(|&node| graph.size(node) < 20_000)
        }
        10 => {
            let (axis, fold) = (axis(random), fold(random));
            let reduced = graph.reduce("reduce", fold, a, &[axis], random.below(2) == 0).ok()?;
            let each = f64::from(graph.size(a)) / f64::from(graph.size(reduced).max(1));
            small(graph, reduced, if fold == Fold::Sum { 1.0 / each.max(1.0) } else { 1.0 })
        }
        11 => {
            let product = graph.matmul(a, b).ok().filter(|&node| graph.size(node) < 20_000)?;
            let depth = graph.shape(a).last().copied().unwrap_or(1);
            small(graph, product, 1.0 / f64::from(depth.max(1)))
        }
        12 => {
            let turned = graph.transpose(b, &[]).ok()?;
            let product = graph.matmul(a, turned).ok().filter(|&node| graph.size(node) < 20_000)?;
            let depth = graph.shape(a).last().copied().unwrap_or(1);
            small(graph, product, 1.0 / f64::from(depth.max(1)))
        }
        _ => {
            let axis = axis(random);
            graph.concat(&[a, a, a], axis).ok().filter(|&node| graph.size(node) < 20_000)
        }
    }
}

/// Grows a graph and computes some of its nodes. Halves of what is given are the same everywhere; where what was computed is
/// rounded as well, a last bit more or less may be a half's.
fn round(bench: &mut Bench, seed: u64, rounds: bool) {
    let mut random = Random::new(seed);
    let has_halves = bench.device.precision() == Precision::F32;
    let mut nodes = Vec::new();
    for _ in 0..4 {
        let rank = random.below(4);
        let shape: Vec<u32> = (0..rank).map(|_| pick(&mut random, &SIZES)).collect();
        let given = bench.random(&mut random, &shape);
        nodes.push(if has_halves && random.below(3) == 0 { bench.graph().half(given).expect("numbers") } else { given });
    }
    for _ in 0..24 {
        if let Some(node) = grow(bench.graph(), &mut random, &nodes, rounds && has_halves).filter(|&node| bench.graph().size(node) > 0) {
            nodes.push(node);
        }
    }
    let count = 1 + random.below(4) as usize;
    let mut asked: Vec<Node> = (0..count).map(|_| pick(&mut random, &nodes)).collect();
    asked.sort_unstable();
    asked.dedup();
    asked.iter().for_each(|&node| {
        bench.graph().hold(node);
    });
    let right = super::reference::values(&bench.tensors.graph, &asked, &Default::default());
    // Halves between ½ and 1 are 2⁻¹¹ apart, and of 24 operations most are others.
    let tolerance = if rounds && has_halves { 0.02 } else { 100.0 * bench.epsilon() };
    for (found, right) in bench.read(&asked).iter().zip(&right) {
        let worst = found.iter().zip(right).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst <= tolerance && found.iter().all(|value| value.is_finite()), "{}: seed {seed}: {worst} apart", bench.name);
    }
}

#[test]
fn fused_and_unfused_graphs_agree() {
    let seed = fresh_seed();
    for (mut bench, rounds) in benches().into_iter().zip([200, 100, 40, 40]) {
        let numbers: Vec<u64> = (0..rounds).collect();
        for &number in bench.repeated(&numbers, 20) {
            bench.tensors.unfused = false;
            round(&mut bench, seed + number, number % 2 == 1);
            bench.tensors.unfused = true;
            round(&mut bench, seed + number, number % 2 == 1);
        }
    }
}
