//! Kernels that are written by hand.

use super::{Kernel, Launch, Ref, Step, Target, Work};
use crate::along::{Along, merge, merge_words};
use crate::attention::{self, Attention, Windows, sum_rows};
use crate::graph::{Graph, Node, Op, Special};
use crate::linear::Matrices;
use leastwise_device::{KernelSource, Limits};
use leastwise_error::Error;

/// The shapes of what a kernel writes, and whether that is whole numbers.
pub fn results(graph: &Graph, node: Node) -> Vec<(Vec<u32>, bool)> {
    let entry = graph.entry(node);
    let shapes = if entry.parts.is_empty() { vec![entry.shape.clone()] } else { entry.parts.clone() };
    let is_word = |result: u32| matches!(entry.op, Op::Special(special) if special.gives_words(result));
    (0..).map(is_word).zip(shapes).map(|(word, shape)| (shape, word)).collect()
}

fn attention(graph: &Graph, inputs: &[Node], causal: bool) -> Attention {
    let [q, k, v] = [inputs[0], inputs[1], inputs[2]].map(|node| graph.shape(node));
    Attention { batches: q[0], queries: q[1], keys: k[1], depth: q[2], width: v[2], causal }
}

/// The step of a kernel whose operands are in `inputs` and whose results go to `results`.
pub fn step(graph: &Graph, node: Node, targets: &[Target], inputs: &[Ref], results: &[Ref]) -> Result<Step, Error> {
    let entry = graph.entry(node);
    let Op::Special(special) = entry.op else { return Err(Error::Internal("an operation has no kernel of its own")) };
    let shape = |k: usize| graph.shape(entry.inputs[k]);
    let attention = |causal| attention(graph, &entry.inputs, causal);
    let along = |[outer, length, inner]: [u32; 3]| Along { outer, length, inner };
    let matrices = || Matrices { batches: shape(0)[0], rows: shape(0)[1], columns: shape(0)[2] };
    let launch = |limits: &Limits| match special {
        Special::Attend { causal } => attention(causal).forward(limits),
        Special::AttendQueries { causal } => attention(causal).of_queries(limits),
        Special::AttendKeys { causal } => attention(causal).of_keys(limits),
        Special::Fold { n, step, dilation } => {
            let x = shape(0);
            Windows { outer: x[0], length: n, inner: x[3], count: x[1], size: x[2], step, dilation }.fold(limits)
        }
        Special::SumRows { rows } => sum_rows(rows, shape(0)[1], limits),
        Special::Scan { chunk, reverse } => along([0, 1, 2].map(|axis| shape(0)[axis])).scan(chunk, reverse, limits),
        Special::Recur { reverse } => along([0, 1, 2].map(|axis| shape(0)[axis])).recur(reverse, limits),
        Special::Merge { width } => merge(shape(0)[0], shape(0)[1], width, limits),
        Special::MergeWords { width } => merge_words(shape(0)[0], shape(0)[1], width, limits),
        Special::ScanWords { chunk, products } => along([0, 1, 2].map(|axis| shape(0)[axis])).scan_words(chunk, products, limits),
        Special::ScatterWords { n } => along([shape(0)[0], n, shape(0)[2]]).scatter_words(shape(0)[1], shape(1)[1], limits),
        Special::Take => along([0, 1, 2].map(|axis| shape(0)[axis])).take(shape(1)[1], limits),
        Special::Scatter { n, latest } => {
            let x = shape(0);
            along([x[0], n, x[2]]).scatter(x[1], shape(1)[1], latest, limits)
        }
        Special::Solve => matrices().solve(shape(1)[2], limits),
        Special::Cholesky => matrices().cholesky(limits),
        Special::Qr => matrices().qr(limits),
        Special::Singular => matrices().singular(limits),
    };
    use leastwise_kernels::tensor::{Attend, AttendKeys, AttendQueries, Fold, Merge, Recur, Scan, Scatter, SumRows, Take};
    use leastwise_kernels::tensor::{Cholesky, MergeWords, Qr, ScanWords, ScatterWords, Singular, Solve};
    let (slots, written): (&[usize], &[usize]) = match special {
        Special::Attend { .. } => (&[Attend::QUERIES, Attend::KEYS, Attend::VALUES], &[Attend::RESULTS, Attend::LOGARITHMS]),
        Special::AttendQueries { .. } => {
            type Of = AttendQueries;
            (&[Of::QUERIES, Of::KEYS, Of::VALUES, Of::SLOPES, Of::STATISTICS], &[Of::RESULTS])
        }
        Special::AttendKeys { .. } => {
            type Of = AttendKeys;
            (&[Of::QUERIES, Of::KEYS, Of::VALUES, Of::SLOPES, Of::STATISTICS], &[Of::OF_KEYS, Of::OF_VALUES])
        }
        Special::Fold { .. } => (&[Fold::WINDOWS], &[Fold::RESULTS]),
        Special::SumRows { .. } => (&[SumRows::GATHERED, SumRows::TABLE], &[SumRows::RESULTS]),
        Special::Scan { .. } => (&[Scan::X], &[Scan::RESULTS]),
        Special::Recur { .. } => (&[Recur::X, Recur::FACTORS], &[Recur::RESULTS]),
        Special::Merge { .. } => (&[Merge::KEYS, Merge::PLACES], &[Merge::SORTED, Merge::ORIGINS]),
        Special::MergeWords { .. } => (&[MergeWords::KEYS, MergeWords::PLACES], &[MergeWords::SORTED, MergeWords::ORIGINS]),
        Special::ScanWords { .. } => (&[ScanWords::X], &[ScanWords::RESULTS]),
        Special::ScatterWords { .. } => (&[ScatterWords::X, ScatterWords::NUMBERS, ScatterWords::PLACES], &[ScatterWords::RESULTS]),
        Special::Take => (&[Take::X, Take::NUMBERS], &[Take::RESULTS]),
        // The last operand is for gradients alone.
        Special::Scatter { .. } => (&[Scatter::X, Scatter::NUMBERS, Scatter::PLACES], &[Scatter::RESULTS]),
        Special::Solve => (&[Solve::MATRICES, Solve::RIGHT], &[Solve::RESULTS, Solve::FACTORS]),
        Special::Cholesky => (&[Cholesky::MATRICES], &[Cholesky::RESULTS]),
        Special::Qr => (&[Qr::MATRICES], &[Qr::ORTHOGONAL, Qr::TRIANGULAR, Qr::FACTORS]),
        Special::Singular => (&[Singular::MATRICES], &[Singular::VECTORS, Singular::PRODUCTS]),
    };
    let name = match special {
        Special::Attend { .. } => "attention",
        Special::AttendQueries { .. } | Special::AttendKeys { .. } => "attention, backward",
        Special::Fold { .. } => "fold",
        Special::SumRows { .. } => "sum of rows",
        Special::Scan { .. } | Special::ScanWords { products: false, .. } => "running sum",
        Special::ScanWords { .. } => "running product",
        Special::Recur { .. } => "recurrence",
        Special::Merge { .. } | Special::MergeWords { .. } => "sort",
        Special::Take => "take",
        Special::Scatter { .. } | Special::ScatterWords { .. } => "scatter",
        Special::Solve => "solve",
        Special::Cholesky => "cholesky",
        Special::Qr => "qr",
        Special::Singular => "singular vectors",
    };
    let launched = |target: &Target| {
        let attention::Launch { kernel, count, words } = launch(&target.limits)?;
        Some(Launch { multiplied: None, kernel: Some(Kernel { source: KernelSource::of_static(kernel), table: None, count, words }) })
    };
    let Some(launches) = targets.iter().map(launched).collect::<Option<Vec<Launch>>>() else {
        return Err(Error::Limits(format!("{name}: more work than one dispatch of this device can have; cut the batch")));
    };
    let elements = |node: &Node| f64::from(graph.size(*node));
    let size: f64 = entry.inputs.iter().map(elements).sum();
    let (operations, products) = match special {
        Special::Fold { .. } | Special::SumRows { .. } | Special::Recur { .. } | Special::Take => (size, 0.0),
        Special::Scan { .. } | Special::ScanWords { .. } => (size, 0.0),
        Special::Merge { width } | Special::MergeWords { width } => (size * f64::from(2 + width.ilog2()), 0.0),
        Special::Scatter { .. } | Special::ScatterWords { .. } => (size * f64::from(2 + shape(0)[1].max(1).ilog2()), 0.0),
        Special::Solve => (0.0, size * f64::from(shape(0)[1])),
        Special::Cholesky => (0.0, size * f64::from(shape(0)[1]) / 3.0),
        Special::Qr => (0.0, 4.0 * size * f64::from(shape(0)[2])),
        Special::Singular => (0.0, 60.0 * size * f64::from(shape(0)[2])),
        // Two products of matrices, each an operation and an addition an entry; five on the way back, in two kernels.
        Special::Attend { causal } | Special::AttendQueries { causal } | Special::AttendKeys { causal } => {
            let Attention { batches, queries, keys, depth, width, .. } = attention(causal);
            let products = if matches!(special, Special::Attend { .. }) { 2.0 } else { 4.0 };
            (0.0, products * f64::from(batches) * f64::from(queries) * f64::from(keys) * f64::from(depth + width))
        }
    };
    let bindings = slots.iter().copied().zip(inputs.iter().copied()).chain(written.iter().copied().zip(results.iter().copied()));
    Ok(Step {
        what: name.into(),
        bindings: bindings.collect(),
        constants: None,
        work: Work {
            elements: size + entry.parts.iter().flatten().map(|&size| f64::from(size)).sum::<f64>(),
            halves: 0.0,
            operations,
            products,
        },
        launches,
    })
}
