//! The twins of `take`, `scatter` and `scatter_words`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;

/// Elements along an axis.
pub fn take<R: Real>(work: &Workgroups, args: kernels::tensor::Take, bindings: kernels::tensor::TakeSlices<R>) {
    let [length, taken, inner] = [args.length, args.taken, args.inner].map(|word| word as usize);
    let (x, numbers) = (bindings.x, bindings.numbers);
    each_place(work, [taken, inner], 2, bindings.results, |[o, t, i]| {
        // What is not a number becomes 0.
        let at = (numbers[(o * taken + t) * inner + i].to_f64().max(0.0) as usize).min(length - 1);
        x[(o * length + at) * inner + i]
    });
}

/// The adjoint of taking elements, or the last that were taken.
pub fn scatter<R: Real>(work: &Workgroups, args: kernels::tensor::Scatter, bindings: kernels::tensor::ScatterSlices<R>) {
    let [length, taken, inner, lists] = [args.length, args.taken, args.inner, args.lists].map(|word| word as usize);
    let (x, numbers, places) = (bindings.x, bindings.numbers, bindings.places);
    each_place(work, [length, inner], 8, bindings.results, |[o, h, i]| {
        let mut members = members(numbers, places, (o * lists + i.min(lists - 1)) * taken, taken, h);
        if args.latest != 0 {
            members.next_back().unwrap_or(-R::ONE)
        } else {
            members.fold(R::ZERO, |sum, t| sum + x[(o * taken + t.to_f64() as usize) * inner + i])
        }
    });
}

/// Sums of whole numbers by numbers.
pub fn scatter_words<R: Real>(work: &Workgroups, args: kernels::tensor::ScatterWords, bindings: kernels::tensor::ScatterWordsSlices<R>) {
    let [length, taken, inner, lists] = [args.length, args.taken, args.inner, args.lists].map(|word| word as usize);
    let (x, numbers, places) = (bindings.x, bindings.numbers, bindings.places);
    each_place(work, [length, inner], 8, bindings.results, |[o, h, i]| {
        let members = members(numbers, places, (o * lists + i.min(lists - 1)) * taken, taken, h);
        members.fold(0, |sum: u32, t| sum.wrapping_add(x[(o * taken + t.to_f64() as usize) * inner + i]))
    });
}

/// Results by their coordinates [outer, place along the axis, inner], of so many elements each.
fn each_place<T: Send>(
    work: &Workgroups,
    [length, inner]: [usize; 2],
    elements: usize,
    results: &mut [T],
    value: impl Fn([usize; 3]) -> T + Sync,
) {
    let (mut results, items) = (Pieces::new(results), work.items());
    let elements = elements * items.len();
    let tasks: Vec<_> = threads::cut(items).map(|items| (items.start, results.take(items))).collect();
    threads::each(tasks, elements, |(first, results)| {
        for (place, result) in (first..).zip(results) {
            *result = value([place / inner / length, place / inner % length, place % inner]);
        }
    });
}

/// The places of a number in a sorted list of so many, in their order.
fn members<'a, R: Real>(numbers: &'a [R], places: &'a [R], list: usize, taken: usize, h: usize) -> impl DoubleEndedIterator<Item = R> + 'a {
    let h = R::from_f64(h as f64);
    let (numbers, places) = (&numbers[list..list + taken], &places[list..list + taken]);
    let low = numbers.partition_point(|number| *number < h);
    let end = low + numbers[low..].iter().take_while(|number| **number == h).count();
    places[low..end].iter().copied()
}
