//! Twin of `shaders/measure/copy.wgsl`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;

/// to = from, four elements an item.
///
/// The factor is 1, but only at run time: without it the loop would become a `memmove`, which is no measure for our
/// loops — some processors run theirs ten times slower at certain distances between source and target.
pub fn copy<R: Real>(work: &Workgroups, _: kernels::measure::Copy, bindings: kernels::measure::CopySlices<R>) {
    let items = work.items();
    let elements = 4 * items.start..4 * items.end;
    let one = R::from_f64(1.0 + f64::from(work.params.zero));
    let (source, mut target) = (bindings.source, Pieces::new(bindings.copied));
    let tasks = threads::cut(elements.clone()).map(|range| (target.take(range.clone()), &source[range]));
    threads::each(tasks.collect(), elements.len(), |(target, source)| {
        target.iter_mut().zip(source).for_each(|(to, from)| *to = *from * one);
    });
}
