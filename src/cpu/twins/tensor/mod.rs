//! Twins of the shaders of [`tensor`](leastwise_tensor).

mod attend;
mod backward;
mod fold;
mod linear;
mod merge;
mod panel;
mod scan;
mod sum_rows;
mod take;

pub use attend::attend;
pub use backward::{attend_keys, attend_queries};
pub use fold::fold;
pub use linear::{cholesky, qr, singular, solve};
pub use merge::{merge, merge_words};
pub use scan::{recur, scan, scan_words};
pub use sum_rows::sum_rows;
pub use take::{scatter, scatter_words, take};

use super::clustering::tile;
use crate::Workgroups;

/// Entries of a sum that a workgroup of attention makes (`shaders/tensor/shared/attention.wgsl`).
pub const STRETCH: usize = 64;

/// Rows of the tile of a workgroup of attention: four a lane.
pub fn tall(group_size: u32) -> usize {
    tile(group_size).0 / 2
}

/// The arguments of a kernel of attention.
#[derive(Clone, Copy)]
struct Shape {
    queries: usize,
    keys: usize,
    /// Entries of a key, and of a value.
    depth: usize,
    width: usize,
    is_causal: bool,
    batches: usize,
}

impl Shape {
    fn new([queries, keys, depth, width, causal, batches]: [u32; 6]) -> Self {
        let [queries, keys, depth, width, batches] = [queries, keys, depth, width, batches].map(|word| word as usize);
        Self { queries, keys, depth, width, is_causal: causal != 0, batches }
    }

    /// The panels of the workgroups to do, of so many rows a batch: which batch, and where they begin and end in it. A workgroup of
    /// the shader has a stretch of the sums too; here the first of those with the same rows does all of them.
    fn panels(&self, work: &Workgroups, rows: usize, entries: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let (tall, batches) = (tall(work.group_size), self.batches);
        let (blocks, stretches) = (rows.div_ceil(tall), entries.div_ceil(STRETCH));
        let groups = work.groups.start as usize..(work.groups.end as usize).min(batches * blocks * stretches);
        groups.filter(move |group| group.is_multiple_of(stretches)).flat_map(move |group| {
            let (batch, first) = (group / stretches / blocks, group / stretches % blocks * tall);
            let end = (first + tall).min(rows);
            (first..end).step_by(panel::LANES).map(move |first| (batch, first, end.min(first + panel::LANES)))
        })
    }
}

/// The rows of one batch of a matrix.
fn batch_of<R>(matrix: &[R], batch: usize, rows: usize, entries: usize) -> &[R] {
    &matrix[batch * rows * entries..][..rows * entries]
}
