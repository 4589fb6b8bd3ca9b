//! The twin of `sum_rows`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;

/// The adjoint of gathering rows.
pub fn sum_rows<R: Real>(work: &Workgroups, args: kernels::tensor::SumRows, bindings: kernels::tensor::SumRowsSlices<R>) {
    let [rows, width] = [args.rows, args.width].map(|word| word as usize);
    let (starts, members) = bindings.table.split_at(rows + 1);
    let (gathered, mut results) = (bindings.gathered, Pieces::new(bindings.results));
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
