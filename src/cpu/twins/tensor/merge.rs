//! The twins of `merge` and `merge_words`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;

/// A pass of a merge sort: NaN is behind everything else.
pub fn merge<R: Real>(work: &Workgroups, args: kernels::tensor::Merge, bindings: kernels::tensor::MergeSlices<R>) {
    let pass = Pass { length: args.length as usize, width: args.width as usize, keys: bindings.keys, places: bindings.places };
    pass.run(work, bindings.sorted, bindings.origins, |a: R, b: R| a < b || (b.is_nan() && !a.is_nan()));
}

/// A pass of a merge sort of int32s.
pub fn merge_words<R: Real>(work: &Workgroups, args: kernels::tensor::MergeWords, bindings: kernels::tensor::MergeWordsSlices<R>) {
    let pass = Pass { length: args.length as usize, width: args.width as usize, keys: bindings.keys, places: bindings.places };
    pass.run(work, bindings.sorted, bindings.origins, |a: u32, b: u32| (a as i32) < b as i32);
}

/// Number of the left run's keys among the first k of two sorted runs together.
fn of_left<K: Copy>(left: &[K], right: &[K], k: usize, is_before: impl Fn(K, K) -> bool) -> usize {
    let (mut low, mut high) = (k.saturating_sub(right.len()), k.min(left.len()));
    while low < high {
        let middle = (low + high) / 2;
        if is_before(right[k - 1 - middle], left[middle]) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Keys of rows of a length, whose runs of a width are sorted, and the places that they came from.
struct Pass<'a, K, R> {
    length: usize,
    width: usize,
    keys: &'a [K],
    places: &'a [R],
}

impl<K: Copy + Send + Sync, R: Real> Pass<'_, K, R> {
    /// Merges runs in pairs, by which of two keys is to be before the other.
    fn run(&self, work: &Workgroups, sorted: &mut [K], origins: &mut [R], is_before: impl Fn(K, K) -> bool + Copy + Sync) {
        let Self { length, width, keys, places } = *self;
        let (mut sorted, mut origins) = (Pieces::new(sorted), Pieces::new(origins));
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
                let mut i = of_left(left, right, column - start, is_before);
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
}
