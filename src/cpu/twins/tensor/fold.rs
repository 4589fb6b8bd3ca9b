//! The twin of `fold`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;

/// The adjoint of windows along an axis.
pub fn fold<R: Real>(work: &Workgroups, args: kernels::tensor::Fold, bindings: kernels::tensor::FoldSlices<R>) {
    let [count, size, inner, length, step, dilation] =
        [args.windows, args.window, args.inner, args.length, args.step, args.dilation].map(|word| word as usize);
    let (windows, mut results) = (bindings.windows, Pieces::new(bindings.results));
    let items = work.items();
    let elements = items.len() * size;
    let tasks: Vec<_> = threads::cut(items).map(|items| (items.start, results.take(items))).collect();
    threads::each(tasks, elements, |(first, mut results)| {
        let mut place = first;
        // One place of the axis after the other; the first and the last may be cut off.
        while !results.is_empty() {
            let (i, h, o) = (place % inner, place / inner % length, place / inner / length);
            let here = (inner - i).min(results.len());
            let (sums, rest) = std::mem::take(&mut results).split_at_mut(here);
            sums.fill(R::ZERO);
            for k in (0..size).take_while(|k| k * dilation <= h) {
                let before = h - k * dilation;
                let window = before / step;
                if window * step == before && window < count {
                    let row = &windows[((o * count + window) * size + k) * inner + i..][..here];
                    sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += *x);
                }
            }
            (results, place) = (rest, place + here);
        }
    });
}
