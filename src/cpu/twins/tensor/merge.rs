//! The twin of `merge`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;

/// True where a key is to be before another: NaN is behind everything else.
fn is_before<R: Real>(a: R, b: R) -> bool {
    a < b || (b.is_nan() && !a.is_nan())
}

/// Number of the left run's keys among the first k of two sorted runs together.
fn of_left<R: Real>(left: &[R], right: &[R], k: usize) -> usize {
    let (mut low, mut high) = (k.saturating_sub(right.len()), k.min(left.len()));
    while low < high {
        let middle = (low + high) / 2;
        if is_before(right[k - 1 - middle], left[middle]) { high = middle } else { low = middle + 1 }
    }
    low
}

/// A pass of a merge sort.
pub fn merge<R: Real>(work: &Workgroups, args: kernels::tensor::Merge, bindings: kernels::tensor::MergeSlices<R>) {
    let [length, width] = [args.length, args.width].map(|word| word as usize);
    let (keys, places) = (bindings.keys, bindings.places);
    let (mut sorted, mut origins) = (Pieces::new(bindings.sorted), Pieces::new(bindings.origins));
    let items = work.items();
    let elements = 4 * items.len();
    let tasks: Vec<_> = threads::cut(items).map(|items| (items.start, sorted.take(items.clone()), origins.take(items))).collect();
    threads::each(tasks, elements, |(first, sorted, origins)| {
        let mut done = 0;
        // One pair of runs after the other; the first and the last may be cut off.
        while done < sorted.len() {
            let (row, column) = ((first + done) / length * length, (first + done) % length);
            let start = column / width / 2 * 2 * width;
            let middle = (start + width).min(length);
            let end = (middle + width).min(length);
            let (left, right) = (&keys[row + start..row + middle], &keys[row + middle..row + end]);
            let here = (end - column).min(sorted.len() - done);
            let mut i = of_left(left, right, column - start);
            let mut j = column - start - i;
            for _ in 0..here {
                let is_right = i >= left.len() || j < right.len() && is_before(right[j], left[i]);
                let from = if is_right { middle + j } else { start + i };
                (sorted[done], origins[done]) = (keys[row + from], places[row + from]);
                (i, j) = if is_right { (i, j + 1) } else { (i + 1, j) };
                done += 1;
            }
        }
    });
}
