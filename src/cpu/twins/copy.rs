//! Twin of `shaders/copy.wgsl`.

use super::super::threads::{self, Pieces};
use super::super::{Bindings, Work};
use crate::real::Real;
use leastwise_recording::binding::{VECTOR_IN, VECTOR_OUT};

/// to = from, four elements an item.
///
/// The factor is 1, but only at run time: without it the loop would become a `memmove`, which is no measure for our
/// loops — some processors run theirs ten times slower at certain distances between source and target.
pub fn copy<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let items = work.items();
    let elements = 4 * items.start..4 * items.end;
    let one = R::from_f64(1.0 + f64::from(work.params.zero));
    let (source, mut target) = (bindings.read(VECTOR_IN), Pieces::new(bindings.write(VECTOR_OUT)));
    let tasks = threads::cut(elements.clone()).map(|range| (target.take(range.clone()), &source[range]));
    threads::each(tasks.collect(), elements.len(), |(target, source)| {
        target.iter_mut().zip(source).for_each(|(to, from)| *to = *from * one);
    });
}
