//! The twins of `scan`, `scan_words` and `recur`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;
use std::ops::Range;

/// Elements of a task, about.
const TASK: usize = 1 << 14;

/// Running sums in chunks.
pub fn scan<R: Real>(work: &Workgroups, args: kernels::tensor::Scan, bindings: kernels::tensor::ScanSlices<R>) {
    let lines =
        Lines { length: args.length as usize, inner: args.inner as usize, chunk: args.chunk as usize, is_reversed: args.reverse != 0 };
    let x = bindings.x;
    // The first one is added to 0, as the shader does.
    lines.each(work, bindings.results, |before, place| before.unwrap_or(R::ZERO) + x[place]);
}

/// Running sums or products of whole numbers in chunks.
pub fn scan_words<R: Real>(work: &Workgroups, args: kernels::tensor::ScanWords, bindings: kernels::tensor::ScanWordsSlices<R>) {
    let lines = Lines { length: args.length as usize, inner: args.inner as usize, chunk: args.chunk as usize, is_reversed: false };
    let x = bindings.x;
    match args.products {
        0 => lines.each(work, bindings.results, |before, place| before.unwrap_or(0).wrapping_add(x[place])),
        _ => lines.each(work, bindings.results, |before, place| before.unwrap_or(1).wrapping_mul(x[place])),
    }
}

/// Recurrences of first order.
pub fn recur<R: Real>(work: &Workgroups, args: kernels::tensor::Recur, bindings: kernels::tensor::RecurSlices<R>) {
    let length = args.length as usize;
    let lines = Lines { length, inner: args.inner as usize, chunk: length, is_reversed: args.reverse != 0 };
    let (x, factors) = (bindings.x, bindings.factors);
    lines.each(work, bindings.results, |before, place| before.map_or(x[place], |before| x[place] + factors[place] * before));
}

/// Lines along the middle axis of an array, in chunks.
struct Lines {
    length: usize,
    inner: usize,
    chunk: usize,
    is_reversed: bool,
}

impl Lines {
    /// Results of a chunk one after the other, each of the one before it, if there is one, and of its place.
    fn each<T: Copy + Send + Sync>(&self, work: &Workgroups, results: &mut [T], next: impl Fn(Option<T>, usize) -> T + Sync) {
        let Self { length, inner, chunk, is_reversed } = *self;
        let mut results = Pieces::new(results);
        let items = work.items();
        // Empty lines are items of recurrences, too.
        if items.is_empty() || length == 0 {
            return;
        }
        let chunks = length.div_ceil(chunk);
        // Where the elements of a chunk lie, of all outer coordinates one after the other.
        let elements = |number: usize| {
            let (o, first) = (number / chunks, number % chunks * chunk);
            (o * length + first) * inner..(o * length + (first + chunk).min(length)) * inner
        };
        // A chunk of all inner coordinates is a run of elements; of the first and the last one some may belong to others.
        let (first, end) = (items.start / inner, (items.end - 1) / inner + 1);
        let several = (TASK / (chunk * inner)).max(1);
        let tasks: Vec<(Range<usize>, &mut [T])> = (first..end)
            .step_by(several)
            .map(|number| {
                let numbers = number..(number + several).min(end);
                let run = elements(numbers.start).start..elements(numbers.end - 1).end;
                (numbers, results.take(run))
            })
            .collect();
        threads::each(tasks, items.len() * chunk, |(numbers, results)| {
            let start = elements(numbers.start).start;
            for number in numbers {
                let run = elements(number);
                let columns = items.start.max(number * inner) - number * inner..items.end.min((number + 1) * inner) - number * inner;
                let (first, results) = (run.start, &mut results[run.start - start..run.end - start]);
                let rows = results.len() / inner;
                for k in 0..rows {
                    let row = if is_reversed { rows - 1 - k } else { k };
                    let before = if is_reversed { row + 1 } else { row.wrapping_sub(1) };
                    for column in columns.clone() {
                        let last = if k == 0 { None } else { Some(results[before * inner + column]) };
                        results[row * inner + column] = next(last, first + row * inner + column);
                    }
                }
            }
        });
    }
}
