//! Twins of what attention passes on to its inputs: `attend_queries` by panels of queries, `attend_keys` by panels of keys.

use super::panel::{BLOCK, LANES, Lanes, add_weighted, lanes_of, multiply, packed, unpacked};
use super::{Shape, batch_of};
use crate::Workgroups;
use crate::block::{Instructions, SimdKernel};
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;
use std::ops::Range;

/// What both read.
#[derive(Clone, Copy)]
struct Inputs<'a, R> {
    shape: Shape,
    queries: &'a [R],
    keys: &'a [R],
    values: &'a [R],
    /// dO
    slopes: &'a [R],
    /// L, and D = Σ dO·O.
    logarithms: &'a [R],
    means: &'a [R],
}

impl<'a, R: Real> Inputs<'a, R> {
    fn new(shape: Shape, [queries, keys, values, slopes, statistics]: [&'a [R]; 5]) -> Self {
        let (logarithms, means) = statistics.split_at(shape.batches * shape.queries);
        Self { shape, queries, keys, values, slopes, logarithms, means }
    }

    /// Those of one batch.
    fn of_batch(self, batch: usize) -> Self {
        let Shape { queries, keys, depth, width, .. } = self.shape;
        Self {
            shape: self.shape,
            queries: batch_of(self.queries, batch, queries, depth),
            keys: batch_of(self.keys, batch, keys, depth),
            values: batch_of(self.values, batch, keys, width),
            slopes: batch_of(self.slopes, batch, queries, width),
            logarithms: batch_of(self.logarithms, batch, queries, 1),
            means: batch_of(self.means, batch, queries, 1),
        }
    }
}

/// A panel of queries of a batch.
struct Queries<'a, R> {
    inputs: Inputs<'a, R>,
    first: usize,
    queries: Vec<Lanes<R>>,
    slopes: Vec<Lanes<R>>,
    logarithms: Lanes<R>,
    means: Lanes<R>,
    results: &'a mut [R],
}

impl<R: Real> SimdKernel for Queries<'_, R> {
    #[inline(always)]
    fn run(self) {
        let Inputs { shape: Shape { keys: count, depth, width, is_causal, .. }, keys, values, .. } = self.inputs;
        let end = if is_causal { count.min(self.first + self.results.len() / depth) } else { count };
        let mut sums = vec![[R::ZERO; LANES]; depth];
        let (mut scores, mut slopes) = ([[R::ZERO; LANES]; BLOCK], [[R::ZERO; LANES]; BLOCK]);
        for start in (0..end).step_by(BLOCK) {
            let block = start..end.min(start + BLOCK);
            let (scores, slopes) = (&mut scores[..block.len()], &mut slopes[..block.len()]);
            multiply(&self.queries, &keys[start * depth..block.end * depth], scores);
            multiply(&self.slopes, &values[start * width..block.end * width], slopes);
            for (scores, slopes) in scores.iter_mut().zip(&*slopes) {
                for lane in 0..LANES {
                    scores[lane] = (scores[lane] - self.logarithms[lane]).exp() * (slopes[lane] - self.means[lane]);
                }
            }
            if is_causal {
                for (key, scores) in block.clone().zip(&mut *scores).skip_while(|(key, _)| *key <= self.first) {
                    scores.iter_mut().take(key - self.first).for_each(|slope| *slope = R::ZERO);
                }
            }
            add_weighted(&mut sums, &keys[start * depth..block.end * depth], scores);
        }
        unpacked(&sums, self.results);
    }
}

/// A panel of keys of a batch, with their values.
struct Keys<'a, R> {
    inputs: Inputs<'a, R>,
    first: usize,
    keys: Vec<Lanes<R>>,
    values: Vec<Lanes<R>>,
    of_keys: &'a mut [R],
    of_values: &'a mut [R],
}

impl<R: Real> SimdKernel for Keys<'_, R> {
    #[inline(always)]
    fn run(self) {
        let Inputs { shape: Shape { queries: count, depth, width, is_causal, .. }, queries, slopes, logarithms, means, .. } = self.inputs;
        let begin = if is_causal { self.first.min(count) } else { 0 };
        let (mut of_keys, mut of_values) = (vec![[R::ZERO; LANES]; depth], vec![[R::ZERO; LANES]; width]);
        let (mut weights, mut weight_slopes) = ([[R::ZERO; LANES]; BLOCK], [[R::ZERO; LANES]; BLOCK]);
        for start in (begin..count).step_by(BLOCK) {
            let block = start..count.min(start + BLOCK);
            let (weights, weight_slopes) = (&mut weights[..block.len()], &mut weight_slopes[..block.len()]);
            multiply(&self.keys, &queries[start * depth..block.end * depth], weights);
            multiply(&self.values, &slopes[start * width..block.end * width], weight_slopes);
            for (query, (weights, slopes)) in block.clone().zip(weights.iter_mut().zip(&mut *weight_slopes)) {
                let (logarithm, mean) = (logarithms[query], means[query]);
                for weight in &mut *weights {
                    *weight = (*weight - logarithm).exp();
                }
                if is_causal && query - self.first < LANES {
                    weights[query - self.first + 1..].fill(R::ZERO);
                }
                for lane in 0..LANES {
                    slopes[lane] = weights[lane] * (slopes[lane] - mean);
                }
            }
            add_weighted(&mut of_values, &slopes[start * width..block.end * width], weights);
            add_weighted(&mut of_keys, &queries[start * depth..block.end * depth], weight_slopes);
        }
        unpacked(&of_keys, self.of_keys);
        unpacked(&of_values, self.of_values);
    }
}

/// How much work so many panels are.
fn elements(panels: usize, others: usize, shape: &Shape) -> usize {
    panels * others * (shape.depth + shape.width)
}

/// Where a panel's rows are among those of all batches.
fn rows_of(batch: usize, count: usize, rows: &Range<usize>, entries: usize) -> Range<usize> {
    (batch * count + rows.start) * entries..(batch * count + rows.end) * entries
}

/// dQ = dS·K
pub fn attend_queries<R: Real>(work: &Workgroups, args: kernels::tensor::AttendQueries, bindings: kernels::tensor::AttendQueriesSlices<R>) {
    let shape = Shape::new([args.queries, args.keys, args.width, args.value_width, args.causal, args.batches]);
    let given = [bindings.queries, bindings.keys, bindings.values, bindings.slopes, bindings.statistics];
    let inputs = Inputs::new(shape, given);
    let Shape { queries: count, keys, depth, width, .. } = inputs.shape;
    let mut results = Pieces::new(bindings.results);
    let panels = inputs.shape.panels(work, count, depth);
    let tasks: Vec<_> =
        panels.map(|(batch, first, end)| (batch, first..end, results.take(rows_of(batch, count, &(first..end), depth)))).collect();
    threads::each(tasks, elements(work.groups.len(), keys, &inputs.shape), |(batch, rows, results)| {
        let inputs = inputs.of_batch(batch);
        Instructions::best().run(Queries {
            inputs,
            first: rows.start,
            queries: packed(inputs.queries, depth, rows.clone()),
            slopes: packed(inputs.slopes, width, rows.clone()),
            logarithms: lanes_of(&inputs.logarithms[rows.clone()]),
            means: lanes_of(&inputs.means[rows]),
            results,
        });
    });
}

/// dK = dSᵀ·Q and dV = Pᵀ·dO
pub fn attend_keys<R: Real>(work: &Workgroups, args: kernels::tensor::AttendKeys, bindings: kernels::tensor::AttendKeysSlices<R>) {
    let shape = Shape::new([args.queries, args.keys, args.width, args.value_width, args.causal, args.batches]);
    let given = [bindings.queries, bindings.keys, bindings.values, bindings.slopes, bindings.statistics];
    let inputs = Inputs::new(shape, given);
    let Shape { queries, keys: count, depth, width, .. } = inputs.shape;
    let (mut of_keys, mut of_values) = (Pieces::new(bindings.of_keys), Pieces::new(bindings.of_values));
    let mut tasks = Vec::new();
    for (batch, first, end) in inputs.shape.panels(work, count, depth.max(width)) {
        let [of_key, of_value] = [depth, width].map(|entries| rows_of(batch, count, &(first..end), entries));
        tasks.push((batch, first..end, of_keys.take(of_key), of_values.take(of_value)));
    }
    threads::each(tasks, elements(work.groups.len(), queries, &inputs.shape), |(batch, rows, of_keys, of_values)| {
        let inputs = inputs.of_batch(batch);
        let [keys, values] = [(inputs.keys, depth), (inputs.values, width)].map(|(all, entries)| packed(all, entries, rows.clone()));
        Instructions::best().run(Keys { inputs, first: rows.start, keys, values, of_keys, of_values });
    });
}
