//! The twins of `take` and `scatter`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;

/// Elements along an axis.
pub fn take<R: Real>(work: &Workgroups, args: kernels::tensor::Take, bindings: kernels::tensor::TakeSlices<R>) {
    let [length, taken, inner] = [args.length, args.taken, args.inner].map(|word| word as usize);
    let (x, numbers, mut results) = (bindings.x, bindings.numbers, Pieces::new(bindings.results));
    let items = work.items();
    let elements = 2 * items.len();
    let tasks: Vec<_> = threads::cut(items).map(|items| (items.start, results.take(items))).collect();
    threads::each(tasks, elements, |(first, results)| {
        for (place, result) in (first..).zip(results) {
            let (i, o) = (place % inner, place / inner / taken);
            // What is not a number becomes 0.
            let at = (numbers[place].to_f64().max(0.0) as usize).min(length - 1);
            *result = x[(o * length + at) * inner + i];
        }
    });
}

/// The adjoint of taking elements, or the last that were taken.
pub fn scatter<R: Real>(work: &Workgroups, args: kernels::tensor::Scatter, bindings: kernels::tensor::ScatterSlices<R>) {
    let [length, taken, inner, lists] = [args.length, args.taken, args.inner, args.lists].map(|word| word as usize);
    let (x, numbers, places, mut results) = (bindings.x, bindings.numbers, bindings.places, Pieces::new(bindings.results));
    let items = work.items();
    let elements = 8 * items.len();
    let tasks: Vec<_> = threads::cut(items).map(|items| (items.start, results.take(items))).collect();
    threads::each(tasks, elements, |(first, results)| {
        for (place, result) in (first..).zip(results) {
            let (i, h, o) = (place % inner, R::from_f64((place / inner % length) as f64), place / inner / length);
            let list = (o * lists + i.min(lists - 1)) * taken;
            let (numbers, places) = (&numbers[list..list + taken], &places[list..list + taken]);
            let low = numbers.partition_point(|number| *number < h);
            let members = numbers[low..].iter().zip(&places[low..]).take_while(|(number, _)| **number == h);
            *result = if args.latest != 0 {
                members.last().map_or(-R::ONE, |(_, place)| *place)
            } else {
                members.fold(R::ZERO, |sum, (_, place)| sum + x[(o * taken + place.to_f64() as usize) * inner + i])
            };
        }
    });
}
