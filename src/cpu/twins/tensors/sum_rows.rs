//! The twin of `sum_rows`.

use super::super::super::{Bindings, Work};
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_recording::binding::{VECTOR_IN, VECTOR_OUT};

/// The adjoint of gathering rows.
pub fn sum_rows<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [rows, width, ..] = work.params.words.map(|word| word as usize);
    let (starts, members) = bindings.index().split_at(rows + 1);
    let (gathered, mut results) = (bindings.read(VECTOR_IN), Pieces::new(bindings.write(VECTOR_OUT)));
    let tasks: Vec<_> = threads::cut(work.items()).map(|items| (items.start, results.take(items))).collect();
    threads::each(tasks, work.items().len() + members.len() * width, |(first, mut results)| {
        let mut place = first;
        // One row after the other; the first and the last may be cut off.
        while !results.is_empty() {
            let (row, entry) = (place / width, place % width);
            let here = (width - entry).min(results.len());
            let (sums, rest) = std::mem::take(&mut results).split_at_mut(here);
            sums.fill(R::ZERO);
            for member in &members[starts[row] as usize..starts[row + 1] as usize] {
                let x = &gathered[*member as usize * width + entry..][..here];
                sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += *x);
            }
            (results, place) = (rest, place + here);
        }
    });
}
