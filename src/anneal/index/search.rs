//! Searching: distances from codes, all vectors of the lists that a query probes.
//!
//! A list's vectors are decoded in blocks, once for all queries of a batch, and multiplied with them:
//! ‖q − x‖² ≈ ‖q′‖² − 2⟨q′, r′⟩ + κ‖r′‖² with q′ = R·(q − anchor), which cancels nothing that is larger than the residuals. Of codes that
//! keep numbers as they are it is ‖q′ − r‖², which cancels nothing at all.
//! The list is cut into tasks by its length alone, and the nearest are kept in an order without ties: the bits don't
//! depend on the number of threads, nor on which queries come together.

use super::Index;
use super::fetched::Codes;
use super::ids::Ids;
use super::nearest::{Candidate, Nearest};
use crate::code::PADDING;
use crate::code::columns::{dot, products, squared_distances, squared_lengths};
use crate::rows;
use leastwise_cpu::block::{Instructions, SimdKernel};
use leastwise_cpu::threads;
use leastwise_error::Error;
use std::borrow::Cow;
use std::ops::Range;

/// Vectors that are decoded at once.
pub(super) const BLOCK: usize = 64;

/// Blocks of a task.
const TASK_BLOCKS: usize = 16;

/// A run of blocks, each some places of a list.
pub(super) type Blocks<'a> = &'a [(usize, Range<usize>)];

/// Queries of a batch; of more than so many candidates together fewer.
const BATCH: usize = 256;
const BATCH_CANDIDATES: usize = 1 << 20;

/// Lists that the queries of a batch probe together.
const BATCH_PROBES: usize = 1 << 24;

/// Numbers of vectors that queries are multiplied with by one thread between two looks at the clock.
const SLICE_NUMBERS: usize = 1 << 27;

/// Lists that are probed in any case unless the caller says how many, and the share of those beyond.
const PROBES: usize = 256;
const PROBED_SHARE: usize = 8;

/// What was found, queries × k, row-major; the nearest first. Where there are fewer than k, the id is `u32::MAX` and the
/// distance infinite.
#[derive(Clone, Debug, PartialEq)]
pub struct Hits {
    /// Ids of the hits, queries × k.
    pub ids: Vec<u32>,
    /// Squared, as far as codes tell.
    pub distances: Vec<f32>,
    /// Hits of each query.
    pub k: usize,
    /// Backend of the search.
    pub by: SearchedBy,
}

/// What a search ran on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedBy {
    /// As users call it.
    pub backend: &'static str,
    /// Path to the vectors.
    pub through: Through,
    /// Why it was not the device, or the graph, that could have been.
    pub reason: Option<String>,
}

/// Path of a search to the vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Through {
    /// All vectors of the lists that are probed.
    #[default]
    Lists,
    /// A walk along the edges of a graph.
    Graph,
}

impl Through {
    /// As users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lists => "lists",
            Self::Graph => "graph",
        }
    }
}

impl SearchedBy {
    /// A search on the CPU, where no device was to be considered.
    pub const CPU: Self = Self { backend: "cpu", through: Through::Lists, reason: None };
}

impl Hits {
    /// How many hits so many queries have, if one call can bring as many.
    fn count(queries: usize, k: usize) -> Result<usize, Error> {
        queries
            .checked_mul(k)
            .filter(|&count| count <= MOST_HITS)
            .ok_or_else(|| Error::Limits(format!("{queries} queries × k = {k} are too many hits for one call: {MOST_HITS} are the most")))
    }

    pub(super) fn none(queries: usize, k: usize) -> Result<Self, Error> {
        let count = Self::count(queries, k)?;
        Ok(Self { ids: vec![u32::MAX; count], distances: vec![f32::INFINITY; count], k, by: SearchedBy::CPU })
    }

    /// Of no queries yet.
    pub fn empty(k: usize, by: SearchedBy) -> Self {
        Self { ids: Vec::new(), distances: Vec::new(), k, by }
    }

    /// Puts what was found for one query, by slots; distances are still to be multiplied.
    pub(super) fn put(&mut self, query: usize, nearest: Nearest, scale: f32, ids: &Ids) {
        for (place, candidate) in nearest.into_sorted().into_iter().enumerate() {
            self.ids[query * self.k + place] = ids.get(candidate.id as usize);
            self.distances[query * self.k + place] = Self::distance(candidate.distance, scale);
        }
    }

    /// A squared distance that was estimated in units of `scale`: none is negative, and what is found is not infinitely far.
    pub(super) fn distance(estimate: f32, scale: f32) -> f32 {
        (estimate.max(0.0) * scale * scale).min(f32::MAX)
    }
}

/// Hits of one call.
const MOST_HITS: usize = 1 << 28;

impl Index {
    /// Lists that a query probes by default: all up to 256, and an eighth of those beyond.
    pub fn default_probes(&self) -> u32 {
        let clusters = self.clusters();
        (clusters.min(PROBES) + clusters.saturating_sub(PROBES).div_ceil(PROBED_SHARE)) as u32
    }

    /// Queries that are searched between two looks at the clock.
    pub fn queries_together(&self) -> usize {
        let numbers = self.count() * self.stored.dim;
        (SLICE_NUMBERS / numbers.max(1)).clamp(1, BATCH) * threads::count()
    }

    /// The `k` nearest of every query (row-major) among the vectors of the `probes` lists whose anchors are nearest, of ids whose
    /// byte in `filter` isn't 0. By squared distance; of equally near ones the lower id comes first.
    pub fn search(&self, queries: &[f32], k: usize, probes: Option<u32>, filter: Option<&[u8]>) -> Result<Hits, Error> {
        let (count, probes) = self.check_search(queries, k, probes, filter)?;
        let mut hits = Hits::none(count, k)?;
        let (kept, passing) = (k.min(self.count()), self.passing(filter));
        let filter = passing.as_deref();
        let batch = (BATCH_CANDIDATES / kept.max(1)).min(BATCH_PROBES / probes).clamp(1, BATCH);
        for first in (0..count).step_by(batch) {
            let last = count.min(first + batch);
            let turned = self.turn_queries(&queries[first * self.stored.dim..last * self.stored.dim]);
            for (query, nearest) in (first..).zip(self.search_batch(&turned, kept, probes, filter)) {
                hits.put(query, nearest, self.scale(), &self.stored.ids);
            }
        }
        Ok(hits)
    }

    /// How many queries there are and how many lists each probes, if they can be searched for so.
    pub fn check_search(&self, queries: &[f32], k: usize, probes: Option<u32>, filter: Option<&[u8]>) -> Result<(usize, usize), Error> {
        let count = rows::check("queries", queries, self.stored.dim)?;
        if k == 0 {
            return Err(Error::InvalidOption("k must be at least 1".into()));
        }
        if probes == Some(0) {
            return Err(Error::InvalidOption("probes must be at least 1".into()));
        }
        check_filter(filter, self.stored.next_id)?;
        Hits::count(count, k)?;
        Ok((count, (probes.unwrap_or_else(|| self.default_probes()) as usize).min(self.clusters())))
    }

    pub(super) fn turn_queries(&self, queries: &[f32]) -> Vec<f32> {
        let mut turned = vec![0.0; queries.len()];
        Instructions::best().run(TurnQueries { index: self, queries, turned: &mut turned });
        turned
    }

    /// Queries that probe each list.
    pub(super) fn probed(&self, turned: &[f32], probes: usize) -> Vec<Vec<u32>> {
        let mut probing = vec![Vec::new(); self.clusters()];
        Instructions::best().run(Probe { index: self, turned, probes, probing: &mut probing });
        probing
    }

    fn search_batch(&self, turned: &[f32], k: usize, probes: usize, filter: Option<&[u8]>) -> Vec<Nearest> {
        let queries = turned.len() / self.stored.dim;
        let mut probing = self.probed(turned, probes);
        // Runs of blocks, each a piece of a list; where they are cut depends on the lists alone.
        let lists = self.lists();
        let blocks: Vec<(usize, Range<usize>)> = (0..self.clusters())
            .map(|list| (list, lists.of_list(list)))
            .flat_map(|(list, slots)| (0..slots.len()).step_by(BLOCK).map(move |start| (list, start..slots.len().min(start + BLOCK))))
            .collect();
        let run = TASK_BLOCKS.max(blocks.len().div_ceil(64));
        let blocks: Vec<Blocks> = blocks.chunks(run).collect();
        if !self.goes_by_sketches(k) {
            return self.scan(turned, k, blocks, &probing, filter);
        }
        let found = self.search_sketches(turned, k, blocks.clone(), &probing, filter);
        // The others, all together.
        let left: Vec<usize> = (0..queries).filter(|&query| found[query].is_none()).collect();
        if left.is_empty() {
            return found.into_iter().flatten().collect();
        }
        let rows: Vec<f32> = left.iter().flat_map(|&query| &turned[query * self.stored.dim..][..self.stored.dim]).copied().collect();
        for list in &mut probing {
            *list = list.iter().filter_map(|query| left.binary_search(&(*query as usize)).ok()).map(|place| place as u32).collect();
        }
        let mut scanned = self.scan(&rows, k, blocks, &probing, filter).into_iter();
        found.into_iter().filter_map(|nearest| nearest.or_else(|| scanned.next())).collect()
    }

    /// The nearest of every query among all vectors of the lists that it probes, all of which are decoded.
    fn scan(&self, turned: &[f32], k: usize, blocks: Vec<Blocks>, probing: &[Vec<u32>], filter: Option<&[u8]>) -> Vec<Nearest> {
        let queries = turned.len() / self.stored.dim;
        let found = threads::map(blocks, self.count() * self.stored.dim, |blocks| {
            let mut nearest: Vec<Nearest> = (0..queries).map(|_| Nearest::new(k)).collect();
            Instructions::best().run(Scan { index: self, codes: Codes::Here, turned, blocks, probing, filter, nearest: &mut nearest });
            nearest
        });
        let mut all: Vec<Nearest> = (0..queries).map(|_| Nearest::new(k)).collect();
        for part in found {
            for (all, part) in all.iter_mut().zip(part) {
                all.merge(part);
            }
        }
        all
    }

    /// A filter by slots.
    pub(super) fn passing<'a>(&self, filter: Option<&'a [u8]>) -> Option<Cow<'a, [u8]>> {
        let ids = &self.stored.ids;
        filter.map(|filter| match ids.is_whole() {
            true => Cow::Borrowed(filter),
            false => Cow::Owned(ids.iter().map(|id| filter[id as usize]).collect()),
        })
    }

    /// The codes of some slots, each followed by what decoding needs.
    pub(super) fn padded_rows(&self, slots: &[u32], rows: &mut Vec<u8>) {
        self.padded_rows_of(Codes::Here, slots, rows);
    }

    /// The same of codes that may lie elsewhere.
    pub(super) fn padded_rows_of(&self, codes: Codes, slots: &[u32], rows: &mut Vec<u8>) {
        rows.clear();
        for &slot in slots {
            rows.extend_from_slice(codes.row(self, slot));
            rows.extend_from_slice(&[0; PADDING]);
        }
    }
}

pub(super) fn check_filter(filter: Option<&[u8]>, ids: u32) -> Result<(), Error> {
    match filter {
        Some(filter) if filter.len() != ids as usize => {
            let expected = format!("{ids}, one byte an id");
            Err(Error::DataLength { term: None, what: "filter".into(), got: filter.len(), expected })
        }
        _ => Ok(()),
    }
}

/// Queries into units and coordinates of the code.
struct TurnQueries<'a> {
    index: &'a Index,
    queries: &'a [f32],
    turned: &'a mut [f32],
}

impl SimdKernel for TurnQueries<'_> {
    #[inline(always)]
    fn run(self) {
        let (dim, scale) = (self.index.stored.dim, self.index.scale().recip());
        let mut scaled = vec![0.0; dim];
        for (query, turned) in self.queries.chunks_exact(dim).zip(self.turned.chunks_exact_mut(dim)) {
            for (scaled, value) in scaled.iter_mut().zip(query) {
                *scaled = Index::in_units(*value, scale);
            }
            self.index.stored.coder.turn(&scaled, turned);
        }
    }
}

/// Which queries probe each list.
struct Probe<'a> {
    index: &'a Index,
    turned: &'a [f32],
    probes: usize,
    probing: &'a mut [Vec<u32>],
}

impl SimdKernel for Probe<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { index, turned, probes, probing } = self;
        let mut distances = vec![0.0; index.clusters()];
        for (number, query) in turned.chunks_exact(index.stored.dim).enumerate() {
            if probes == probing.len() {
                probing.iter_mut().for_each(|list| list.push(number as u32));
                continue;
            }
            let mut nearest = Nearest::new(probes);
            squared_distances(query, &index.turned_columns, &mut distances);
            for (list, &distance) in distances.iter().enumerate() {
                nearest.offer(Candidate { distance, id: list as u32 });
            }
            for candidate in nearest.into_sorted() {
                probing[candidate.id as usize].push(number as u32);
            }
        }
    }
}

/// Some blocks against all queries that probe their lists; the filter and what is found are by slots.
pub(super) struct Scan<'a> {
    pub index: &'a Index,
    pub codes: Codes<'a>,
    pub turned: &'a [f32],
    pub blocks: Blocks<'a>,
    pub probing: &'a [Vec<u32>],
    pub filter: Option<&'a [u8]>,
    pub nearest: &'a mut [Nearest],
}

impl SimdKernel for Scan<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { index, codes, turned, blocks, probing, filter, nearest } = self;
        let (dim, shrink, row_bytes) = (index.stored.dim, index.stored.coder.shrink(), index.stored.coder.row_bytes());
        let lists = index.lists();
        let (mut slots, mut rows) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK * (row_bytes + PADDING)));
        let mut decoded = vec![0.0; BLOCK * dim];
        let (mut lengths, mut products_with) = ([0.0; BLOCK], [0.0; BLOCK]);
        // Queries as seen from an anchor, and their squared lengths.
        let (mut seen, mut seen_lengths) = (Vec::new(), Vec::new());
        let mut seen_from = None;
        for (list, range) in blocks {
            let asking = &probing[*list];
            if asking.is_empty() {
                continue;
            }
            slots.clear();
            rows.clear();
            for &slot in &lists.of_list(*list)[range.clone()] {
                if filter.is_none_or(|filter| filter[slot as usize] != 0) {
                    slots.push(slot);
                    rows.extend_from_slice(codes.row(index, slot));
                    rows.extend_from_slice(&[0; PADDING]);
                }
            }
            let decoded = &mut decoded[..slots.len() * dim];
            let (lengths, products_with) = (&mut lengths[..slots.len()], &mut products_with[..slots.len()]);
            index.stored.coder.decode(&rows, decoded);
            let is_whole = index.stored.coder.is_whole();
            if !is_whole {
                squared_lengths(decoded, lengths);
            }
            if seen_from != Some(*list) {
                seen_from = Some(*list);
                seen.clear();
                seen_lengths.clear();
                let centroid = &index.turned_centroids[*list * dim..][..dim];
                for &query in asking {
                    let start = seen.len();
                    seen.extend(turned[query as usize * dim..][..dim].iter().zip(centroid).map(|(query, centroid)| query - centroid));
                    seen_lengths.push(dot(&seen[start..], &seen[start..]));
                }
            }
            for (&query, (seen, seen_length)) in asking.iter().zip(seen.chunks_exact(dim).zip(&seen_lengths)) {
                let nearest = &mut nearest[query as usize];
                if is_whole {
                    squared_distances(seen, decoded, products_with);
                    for (&slot, &distance) in slots.iter().zip(&*products_with) {
                        if distance <= nearest.reach() {
                            nearest.offer(Candidate { distance, id: slot });
                        }
                    }
                    continue;
                }
                products(seen, decoded, products_with);
                for ((&slot, length), product) in slots.iter().zip(&*lengths).zip(&*products_with) {
                    let distance = seen_length - 2.0 * product + shrink * length;
                    if distance <= nearest.reach() {
                        nearest.offer(Candidate { distance, id: slot });
                    }
                }
            }
        }
    }
}
