//! A search on its way: recordings, batch after batch of queries, and hits of what comes back.

use super::super::Index;
use super::super::search::{Hits, SearchedBy};
use super::commands::{Block, Scratch};
use super::image::Image;
use leastwise_device::{Device, Recording};
use std::sync::Arc;

/// Products of one recording: what the slowest GPU does in well under the second after which systems think that it hangs.
const PRODUCTS: u64 = 1 << 36;

const NOBODY: u32 = u32::MAX;

/// What to do next.
pub enum Next {
    /// Play it, and come back with what it read.
    Run(Recording),
    /// The hits; the search is over.
    Done(Hits),
}

/// The stage of a batch.
enum Stage {
    Ask,
    /// Blocks from this vector of this part on.
    Look {
        part: usize,
        row: u32,
    },
    Read,
}

/// State machine of one search on a device.
pub struct Searching {
    image: Arc<Image>,
    scratch: Scratch,
    queries: Vec<f32>,
    probes: usize,
    /// Ids of vectors as they stand, [`NOBODY`]'s where a filter leaves one out.
    allowed: Option<Vec<u32>>,
    /// The first query of the batch.
    first: usize,
    stage: Stage,
    hits: Hits,
}

impl Searching {
    /// A search that [`Index::search`] would take too, of an index that has vectors, for at most [`MOST_K`](super::MOST_K) neighbours, in
    /// scratch for as many.
    pub fn new(device: &Device, image: Arc<Image>, scratch: Scratch, wanted: Wanted) -> Self {
        let Wanted { queries, k, probes, filter } = wanted;
        let count = queries.len() / image.dim;
        let is_allowed = |id: &u32| filter.as_ref().is_none_or(|filter| filter.get(*id as usize).is_some_and(|byte| *byte != 0));
        let allowed = filter.as_ref().map(|_| image.ids.iter().map(|id| if is_allowed(id) { *id } else { NOBODY }).collect());
        let mut hits = Hits::empty(k, SearchedBy { backend: device.backend(), ..SearchedBy::CPU });
        hits.ids.reserve(count * k);
        hits.distances.reserve(count * k);
        Self { image, scratch, queries, probes, allowed, first: 0, stage: Stage::Ask, hits }
    }

    /// Goes on, with what the last recording has read.
    pub fn advance(&mut self, readback: &[f64]) -> Next {
        let mut commands = Vec::new();
        let mut products = 0;
        loop {
            let batch = self.batch();
            if batch.is_empty() {
                let none = Hits::empty(self.hits.k, self.hits.by.clone());
                return Next::Done(std::mem::replace(&mut self.hits, none));
            }
            match self.stage {
                Stage::Ask => {
                    let queries = self.prepared(batch);
                    commands.extend(self.scratch.ask(&self.image, queries, self.probes));
                    self.stage = Stage::Look { part: 0, row: 0 };
                }
                Stage::Look { part: number, row } => {
                    let Some(part) = self.image.parts.get(number) else {
                        commands.push(self.scratch.read(batch.len() as u32));
                        self.stage = Stage::Read;
                        return Next::Run(Recording { commands });
                    };
                    let vectors = self.scratch.shape.vectors.min(part.count - row);
                    products += u64::from(vectors) * (batch.len() * self.image.dim) as u64;
                    if products > PRODUCTS && !commands.is_empty() {
                        return Next::Run(Recording { commands });
                    }
                    let block = Block { first: row, vectors, count: batch.len() as u32, continues: number > 0 || row > 0 };
                    let allowed = self.allowed.as_ref().map(|ids| &ids[part.first + row as usize..][..vectors as usize]);
                    commands.extend(self.scratch.look(&self.image, part, block, self.probes, allowed));
                    self.stage = match row + vectors {
                        end if end == part.count => Stage::Look { part: number + 1, row: 0 },
                        row => Stage::Look { part: number, row },
                    };
                }
                Stage::Read => {
                    self.keep(batch.len(), readback);
                    self.first = batch.end;
                    self.stage = Stage::Ask;
                }
            }
        }
    }

    /// The queries that are searched together now.
    fn batch(&self) -> std::ops::Range<usize> {
        let count = self.queries.len() / self.image.dim;
        self.first..count.min(self.first + self.scratch.shape.queries as usize)
    }

    /// In units, as seen from the anchors' mean and what numbers have in common.
    fn prepared(&self, batch: std::ops::Range<usize>) -> Vec<f32> {
        let (dim, scale) = (self.image.dim, self.image.scale.recip());
        let values = self.queries[batch.start * dim..batch.end * dim].iter().enumerate();
        values
            .map(|(place, value)| Index::in_units(*value, scale) - self.image.centre[place % dim] - self.image.shift[place % dim])
            .collect()
    }

    /// Adds the hits of a batch.
    fn keep(&mut self, count: usize, readback: &[f64]) {
        let (found, k, scale) = (self.scratch.shape.k as usize, self.hits.k, self.image.scale);
        let (orders, ids) = readback.split_at(count * found);
        for (orders, ids) in orders.chunks_exact(found).zip(ids.chunks_exact(found)) {
            let to = self.hits.ids.len();
            for (order, id) in orders.iter().zip(ids).filter(|(_, id)| **id != f64::from(NOBODY)) {
                self.hits.ids.push(*id as u32);
                self.hits.distances.push(Hits::distance(number_of(*order as u32), scale));
            }
            self.hits.ids.resize(to + k, NOBODY);
            self.hits.distances.resize(to + k, f32::INFINITY);
        }
    }

    /// The queries.
    pub fn queries(&self) -> &[f32] {
        &self.queries
    }

    /// Ends it, and gives back what others may go on with.
    pub fn end(self) -> (Arc<Image>, Scratch) {
        (self.image, self.scratch)
    }
}

/// What a search is for.
#[derive(Clone, Default, Debug)]
pub struct Wanted {
    /// Query vectors, row-major, in the points' units.
    pub queries: Vec<f32>,
    /// Number of neighbours for each query.
    pub k: usize,
    /// Of the index's lists; at least one.
    pub probes: usize,
    /// A byte for each id.
    pub filter: Option<Vec<u8>>,
}

/// The number that stands at a place among all (`signed_order_of` of `shaders/functions/bits.wgsl`).
fn number_of(order: u32) -> f32 {
    f32::from_bits(if order >> 31 == 1 { order ^ 1 << 31 } else { !order })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_those_of_numbers() {
        for x in [0.0, 1.0, -1.0, 1e-40, -3.5e37, f32::MAX, f32::MIN_POSITIVE] {
            let order = if x.is_sign_positive() { x.to_bits() | 1 << 31 } else { !x.to_bits() };
            assert_eq!(number_of(order).to_bits(), x.to_bits());
        }
    }
}
