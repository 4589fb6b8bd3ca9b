//! Hits of a device in order of their exact distances, of codes that keep numbers as they are.
//!
//! A device takes distances from products, ‖q‖² − 2⟨q, x⟩ + ‖x‖², seen from the vectors' mean. Their rounding is that of the squared lengths, which among vectors that
//! are much nearer to each other than to the mean changes the order. So a few more than k are found there, and ranked here by ‖q − x‖².

use super::Index;
use super::fetched::Codes;
use super::nearest::Nearest;
use super::search::Hits;
use super::sketch::Rescore;
use leastwise_cpu::block::Instructions;
use leastwise_cpu::threads;
use leastwise_error::Error;
use std::ops::Range;

/// Neighbours that a device finds beyond those that are wanted.
const SPARE: usize = 16;

/// Most queries of a task, and numbers that they decode together.
const TASK: usize = 64;
const TASK_NUMBERS: usize = 1 << 20;

/// Vectors whose mean is taken for that of all.
const MEAN_OF: usize = 1024;

impl Index {
    /// Neighbours that a device is to find for k, some more where it [does not rank them exactly](Self::rescore).
    pub fn found_for(&self, k: usize) -> usize {
        if self.is_rescored() { k.saturating_add(SPARE) } else { k }
    }

    /// True if hits of devices are to be [rescored](Self::rescore).
    pub fn is_rescored(&self) -> bool {
        self.code().is_whole()
    }

    /// Mean of what some vectors are beside their anchors, by which a device [shifts](super::device::Image) numbers that are kept as they are; zeros for other codes.
    pub(super) fn shift(&self) -> Vec<f32> {
        let (dim, count) = (self.stored.dim, self.count());
        let mut mean = vec![0.0; dim];
        // With several anchors it is they that residuals are centred by, and by which lists are chosen.
        if !self.is_rescored() || self.clusters() > 1 || count == 0 {
            return mean;
        }
        let stride = count.div_ceil(MEAN_OF);
        let (mut row, mut values) = (Vec::new(), vec![0.0; dim]);
        for slot in (0..count).step_by(stride) {
            self.padded_rows(&[slot as u32], &mut row);
            self.stored.coder.decode(&row, &mut values);
            mean.iter_mut().zip(&values).for_each(|(mean, value)| *mean += value);
        }
        let some = count.div_ceil(stride) as f32;
        mean.iter_mut().for_each(|mean| *mean /= some);
        mean
    }

    /// The `k` nearest of what was found for some of the queries, as a search on the CPU ranks them. What was removed since is left out.
    #[inline(never)]
    pub fn rescore(&self, queries: &[f32], found: &Hits, some: Range<usize>, k: usize) -> Result<Hits, Error> {
        let dim = self.stored.dim;
        let mut hits = Hits::none(some.len(), k)?;
        let turned = self.turn_queries(&queries[some.start * dim..some.end * dim]);
        let each = queries_of_task(found.k, dim);
        let rows = found.ids[some.start * found.k..some.end * found.k].chunks(each * found.k);
        let tasks: Vec<_> = turned.chunks(each * dim).zip(rows).collect();
        let nearest = threads::map(tasks, some.len() * found.k * dim, |(queries, rows)| {
            let of_each = queries.chunks_exact(dim).zip(rows.chunks_exact(found.k));
            of_each
                .map(|(query, ids)| {
                    let mut slots: Vec<u32> = ids.iter().filter_map(|&id| self.stored.ids.find(id)).map(|slot| slot as u32).collect();
                    slots.sort_unstable();
                    let mut nearest = Nearest::new(k.min(slots.len()));
                    Instructions::best().run(Rescore { index: self, codes: Codes::Here, query, slots: &slots, nearest: &mut nearest });
                    nearest
                })
                .collect::<Vec<_>>()
        });
        for (query, nearest) in nearest.into_iter().flatten().enumerate() {
            hits.put(query, nearest, self.scale(), &self.stored.ids);
        }
        Ok(hits)
    }
}

/// Queries of which so many are ranked that no slice of time is long.
fn queries_of_task(found: usize, dim: usize) -> usize {
    (TASK_NUMBERS / found.saturating_mul(dim).max(1)).clamp(1, TASK)
}

/// Hits of a device that are being rescored, in slices of time.
pub struct Rescoring {
    found: Hits,
    hits: Hits,
}

impl Rescoring {
    /// The k best of each query's hits are to be told of what was found.
    pub fn new(found: Hits, k: usize) -> Self {
        let hits = Hits::empty(k, found.by.clone());
        Self { found, hits }
    }

    /// Goes on until the time is up; the hits once all queries are done.
    #[inline(never)]
    pub fn advance(&mut self, index: &Index, queries: &[f32], is_late: impl Fn() -> bool) -> Result<Option<Hits>, Error> {
        let (k, count) = (self.hits.k, queries.len() / index.dim());
        loop {
            let done = self.hits.ids.len() / k;
            if done >= count {
                let empty = Hits::empty(k, self.hits.by.clone());
                return Ok(Some(std::mem::replace(&mut self.hits, empty)));
            }
            let some = done..count.min(done + queries_of_task(self.found.k, index.dim()) * threads::count());
            let ranked = index.rescore(queries, &self.found, some, k)?;
            self.hits.ids.extend(ranked.ids);
            self.hits.distances.extend(ranked.distances);
            if is_late() && self.hits.ids.len() / k < count {
                return Ok(None);
            }
        }
    }
}
