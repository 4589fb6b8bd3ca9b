//! Twin of `shaders/copy.wgsl`.

use super::super::{Bindings, Work};
use crate::device::binding::{VECTOR_IN, VECTOR_OUT};
use crate::real::Real;

/// to = from, four elements an item.
pub fn copy<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let items = work.items();
    let elements = 4 * items.start..4 * items.end;
    bindings.write(VECTOR_OUT)[elements.clone()].copy_from_slice(&bindings.read(VECTOR_IN)[elements]);
}
