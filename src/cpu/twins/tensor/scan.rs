//! The twin of `scan`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;
use std::ops::Range;

/// Elements of a task, about.
const TASK: usize = 1 << 14;

/// Running sums in chunks.
pub fn scan<R: Real>(work: &Workgroups, args: kernels::tensor::Scan, bindings: kernels::tensor::ScanSlices<R>) {
    let [length, inner, chunk] = [args.length, args.inner, args.chunk].map(|word| word as usize);
    let (x, mut results) = (bindings.x, Pieces::new(bindings.results));
    let items = work.items();
    if items.is_empty() {
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
    let tasks: Vec<(Range<usize>, &mut [R])> = (first..end)
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
            let (x, results) = (&x[run.clone()], &mut results[run.start - start..run.end - start]);
            let rows = x.len() / inner;
            // The first row is added to 0, as the shader does.
            for k in 0..rows {
                let row = if args.reverse == 0 { k } else { rows - 1 - k };
                let before = if args.reverse == 0 { row.wrapping_sub(1) } else { row + 1 };
                for column in columns.clone() {
                    let sum = if k == 0 { R::ZERO } else { results[before * inner + column] };
                    results[row * inner + column] = sum + x[row * inner + column];
                }
            }
        }
    });
}
