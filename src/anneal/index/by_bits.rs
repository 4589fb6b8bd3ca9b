//! Searches through lists by one-bit sketches alone: of all vectors that queries may find, those with the least estimated distances are decoded and ranked.
//!
//! It takes an eighth of the memory of [byte sketches](super::sketch) and no lists of slots: sketches are passed over by slots, as they are stored. What is
//! found is not proven to be the nearest by the codes: estimates of one bit have errors. Distances have the bits of any other search.

use super::fetched::Codes;
use super::nearest::{Candidate, Nearest};
use super::search::Hits;
use super::sketch::Rescore;
use super::{Index, graphed};
use crate::code::columns::squared_distances;
use crate::graph::bits::Asked;
use leastwise_cpu::block::{Instructions, SimdKernel};
use leastwise_cpu::threads;
use leastwise_error::Error;

/// Sketches that searches through lists may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sketching {
    /// None: all codes are decoded.
    Off,
    /// A byte a component. Hits are those of decoding all.
    #[default]
    Bytes,
    /// A bit a component.
    Bits,
}

impl From<bool> for Sketching {
    fn from(bytes: bool) -> Self {
        if bytes { Self::Bytes } else { Self::Off }
    }
}

/// Vectors that are decoded for a query by default: at least so many, and so many for each neighbour wanted.
const BEAM: usize = 128;
const BEAM_OF_EACH: usize = 4;

/// Queries of a task.
const TASK: usize = 4;

impl Index {
    /// Vectors that a search for k decodes for each query, if it goes by one-bit sketches.
    pub fn beam_of_bits(&self, k: usize, effort: Option<u32>) -> Option<usize> {
        let goes = self.sketching == Sketching::Bits && self.suits_sketches(k);
        goes.then(|| effort.map_or(BEAM.max(BEAM_OF_EACH * k), |effort| (effort as usize).max(k)))
    }
}

/// The `k` nearest of every query, of the `beam` vectors that the sketches of its `probes` nearest lists say are nearest. They must be
/// [drawn](graphed::draw).
#[inline(never)]
pub fn search(index: &Index, queries: &[f32], k: usize, beam: usize, probes: usize, filter: Option<&[u8]>) -> Result<Hits, Error> {
    let dim = index.stored.dim;
    let mut hits = Hits::none(queries.len() / dim, k)?;
    let turned = index.turn_queries(queries);
    let passing = index.passing(filter);
    let tasks: Vec<&[f32]> = turned.chunks(TASK * dim).collect();
    let found = threads::map(tasks, queries.len() * index.count() / 8, |queries| {
        let mut nearest = Vec::with_capacity(TASK);
        Instructions::best().run(Pass { index, queries, k, beam, probes, filter: passing.as_deref(), nearest: &mut nearest });
        nearest
    });
    for (query, nearest) in found.into_iter().flatten().enumerate() {
        hits.put(query, nearest, index.scale(), &index.stored.ids);
    }
    Ok(hits)
}

/// Some queries over the sketches of all vectors; the filter is by slots.
struct Pass<'a> {
    index: &'a Index,
    queries: &'a [f32],
    k: usize,
    beam: usize,
    probes: usize,
    filter: Option<&'a [u8]>,
    nearest: &'a mut Vec<Nearest>,
}

impl SimdKernel for Pass<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { index, queries, k, beam, probes, filter, nearest } = self;
        let Some(graphed::Drawn { mixer, bits, .. }) = &index.drawn else { return };
        let (dim, labels, clusters) = (index.stored.dim, &index.stored.labels, index.clusters());
        let (mut mixed, mut far) = (vec![0.0; mixer.width()], vec![0.0; clusters]);
        for query in queries.chunks_exact(dim) {
            mixer.mix(query, &mut mixed);
            let asked = Asked::new(&mixed);
            squared_distances(query, &index.turned_columns, &mut far);
            if probes < clusters {
                let mut probed = Nearest::new(probes);
                far.iter().enumerate().for_each(|(list, &distance)| probed.offer(Candidate { distance, id: list as u32 }));
                let mut is_probed = vec![false; clusters];
                probed.into_sorted().iter().for_each(|list| is_probed[list.id as usize] = true);
                // Vectors of the others are infinitely far.
                far.iter_mut().zip(&is_probed).filter(|(_, is_probed)| !**is_probed).for_each(|(far, _)| *far = f32::INFINITY);
            }
            let mut met = Nearest::new(beam);
            for (slot, list) in labels.iter().enumerate() {
                let far = far[list as usize];
                if far < f32::INFINITY && filter.is_none_or(|filter| filter[slot] != 0) {
                    let distance = far + bits.estimate(&asked, slot as u32);
                    if distance <= met.reach() {
                        met.offer(Candidate { distance, id: slot as u32 });
                    }
                }
            }
            let mut slots: Vec<u32> = met.into_sorted().iter().map(|candidate| candidate.id).collect();
            slots.sort_unstable();
            let mut found = Nearest::new(k);
            Rescore { index, codes: Codes::Here, query, slots: &slots, nearest: &mut found }.run();
            nearest.push(found);
        }
    }
}
