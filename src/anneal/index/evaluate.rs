//! How good an index is, measured: against the vectors that it was made from, as long as the caller has them.

use super::Index;
use super::by_bits;
use super::exact::compare;
use super::graphed;
use super::nearest::Nearest;
use super::search::{Hits, SearchedBy, Through};

use crate::code::columns::squared_distances;
use crate::rows;
use leastwise_base::clock::now_ms;
use leastwise_cpu::threads;
use leastwise_error::Error;
use std::ops::Range;

/// Queries that are timed one by one.
const SINGLE: usize = 32;

/// Passes of a measurement, of which the shortest counts, and milliseconds after which there is no other: what else runs on a machine makes
/// short ones long.
const PASSES: u32 = 5;
const ENOUGH_MS: f64 = 100.0;

/// Queries that pass over the points together, for each thread, and points of a step.
const QUERIES: usize = 64;
const POINTS: usize = 512;

/// What [`Index::evaluate`] found.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The share of the k nearest that search finds, mean over the queries. What is as near as the k-th counts as one of them.
    pub recall: f64,
    /// Bytes of the file, and what they are of the vectors' bytes as f32.
    pub bytes: usize,
    /// `bytes` divided by the bytes of the vectors as f32.
    pub ratio: f64,
    /// Milliseconds a query, all of them searched together.
    pub ms_per_query: f64,
    /// On what that was.
    pub by: SearchedBy,
    /// Milliseconds of one query searched alone.
    pub ms_single: f64,
    /// Milliseconds a query of the exact search through all vectors, all queries together.
    pub exact_ms_per_query: f64,
}

impl Index {
    /// Searches for `queries` and compares with the exact answer among `points`: a row for every id that was ever given, of which those of
    /// vectors that were removed aren't looked at.
    pub fn evaluate(&self, queries: &[f32], points: &[f32], k: usize, probes: Option<u32>) -> Result<Evaluation, Error> {
        let mut evaluating = Evaluating::new(self, queries, points, k, probes)?;
        loop {
            if let Some(evaluation) = evaluating.advance(self, f64::INFINITY)? {
                return Ok(evaluation);
            }
        }
    }
}

/// An evaluation in time slices, which end between two batches of queries, two queries that are timed alone, or two pieces of the points.
pub struct Evaluating<P> {
    queries: P,
    points: P,
    k: usize,
    probes: Option<u32>,
    /// Beam of walks in the graph, of searches that go through it.
    effort: Option<usize>,
    /// Vectors that are decoded for a query, of searches by one-bit sketches.
    beam: Option<usize>,
    /// Of the index.
    revision: u64,
    /// By id, whether it is in the index.
    present: Vec<u8>,
    /// Hits of the search so far, and the number of queries of this pass that were searched for.
    ids: Vec<u32>,
    searched: usize,
    /// Queries that were timed one by one, and queries that were compared.
    alone: usize,
    compared: usize,
    /// Of the queries that are being compared.
    nearest: Vec<Nearest>,
    passed: usize,
    found: usize,
    by: SearchedBy,
    searching: Passes,
    alone_passes: Passes,
    comparing: Passes,
}

/// A measurement that is repeated while it is short.
#[derive(Default)]
struct Passes {
    ended: u32,
    /// Of the pass that is on its way, of all before, and of the shortest.
    ms: f64,
    all_ms: f64,
    least_ms: f64,
}

impl Passes {
    /// Ends a pass, and says whether that was the last.
    fn end(&mut self) -> bool {
        self.least_ms = if self.ended == 0 { self.ms } else { self.least_ms.min(self.ms) };
        self.all_ms += self.ms;
        self.ended += 1;
        self.ms = 0.0;
        self.ended >= PASSES || self.all_ms >= ENOUGH_MS
    }
}

impl<P: AsRef<[f32]>> Evaluating<P> {
    /// An evaluation that has not begun; [`advance`](Self::advance) runs it. The arguments are those of [`Index::evaluate`].
    ///
    /// # Errors
    /// [`Error::DataLength`] for arrays of another length, [`Error::InvalidOption`] for no query and for the options that a search refuses.
    pub fn new(index: &Index, queries: P, points: P, k: usize, probes: Option<u32>) -> Result<Self, Error> {
        let (dim, ids) = (index.dim(), index.next_id() as usize);
        let rows = rows::check("points", points.as_ref(), dim)?;
        if rows != ids {
            let expected = format!("{ids} rows of {dim}, one for every id");
            return Err(Error::DataLength { term: None, what: "points".into(), got: points.as_ref().len(), expected });
        }
        if rows::check("queries", queries.as_ref(), dim)? == 0 {
            return Err(Error::InvalidOption("evaluating needs at least one query".into()));
        }
        // Whatever is wrong with the options is said now.
        index.search(&[], k, probes, None)?;
        let mut present = vec![0; rows];
        for id in index.stored.ids.iter() {
            present[id as usize] = 1;
        }
        Ok(Self {
            queries,
            points,
            k,
            probes,
            effort: None,
            beam: None,
            revision: index.revision,
            present,
            ids: Vec::new(),
            searched: 0,
            alone: 0,
            compared: 0,
            nearest: Vec::new(),
            passed: 0,
            found: 0,
            by: SearchedBy::CPU,
            searching: Passes::default(),
            alone_passes: Passes::default(),
            comparing: Passes::default(),
        })
    }

    /// Searches go through the graph if that can be, with this beam if one is given.
    pub fn walk(&mut self, index: &Index, effort: Option<u32>) {
        self.effort = graphed::route(index, self.k, effort, None).ok();
    }

    /// Searches go by one-bit sketches, and decode so many vectors.
    pub fn by_bits(&mut self, beam: usize) {
        self.beam = Some(beam);
    }

    /// Makes what searches go by, or goes on with it until the time is up; true when it is there.
    pub fn prepare(&self, index: &mut Index, k: usize, deadline: f64) -> bool {
        if self.effort.or(self.beam).is_some() { graphed::draw(index, deadline) } else { index.sketch(k, deadline) }
    }

    fn find(&self, index: &Index, queries: Range<usize>) -> Result<Hits, Error> {
        let queries = &self.queries.as_ref()[queries.start * index.dim()..queries.end * index.dim()];
        if let Some(beam) = self.beam {
            let (_, probes) = index.check_search(queries, self.k, self.probes, None)?;
            return by_bits::search(index, queries, self.k, beam, probes, None);
        }
        match self.effort {
            Some(effort) if index.graph.is_some() => graphed::search(index, queries, self.k, effort, None),
            _ => index.search(queries, self.k, self.probes, None),
        }
    }

    /// It will search for all queries itself, for this reason.
    pub fn searches_itself(&mut self, by: SearchedBy) {
        self.by = by;
        if self.effort.is_some() {
            self.by.through = Through::Graph;
        }
    }

    /// Takes what was found for all queries together, elsewhere, and the milliseconds that it took.
    pub fn searched(&mut self, hits: Hits, took_ms: f64) {
        self.searched = self.queries.as_ref().len();
        (self.ids, self.by, self.searching.ms) = (hits.ids, hits.by, took_ms);
        self.searching.end();
    }

    /// Goes on until it is done or the time is up.
    pub fn advance(&mut self, index: &Index, deadline: f64) -> Result<Option<Evaluation>, Error> {
        if index.revision != self.revision {
            return Err(Error::InvalidOption("the index was changed while it was evaluated: evaluate it again".into()));
        }
        let count = self.queries.as_ref().len() / index.dim();
        let single = count.min(SINGLE);
        loop {
            let start = now_ms();
            if self.searched < count {
                let last = count.min(self.searched + index.queries_together());
                let hits = self.find(index, self.searched..last)?;
                self.searching.ms += now_ms() - start;
                if self.searching.ended == 0 {
                    self.ids.extend(hits.ids);
                }
                self.searched = if last == count && !self.searching.end() { 0 } else { last };
            } else if self.alone < single {
                self.find(index, self.alone..self.alone + 1)?;
                self.alone_passes.ms += now_ms() - start;
                self.alone += 1;
                if self.alone == single && !self.alone_passes.end() {
                    self.alone = 0;
                }
            } else if self.compared < count {
                self.compare(index);
                self.comparing.ms += now_ms() - start;
                if self.compared == count && !self.comparing.end() {
                    self.compared = 0;
                }
            } else {
                let there = self.k.min(index.count());
                return Ok(Some(Evaluation {
                    recall: if there == 0 { 1.0 } else { self.found as f64 / (there * count) as f64 },
                    bytes: index.bytes(),
                    ratio: index.ratio(),
                    ms_per_query: self.searching.least_ms / count as f64,
                    by: self.by.clone(),
                    ms_single: self.alone_passes.least_ms / single as f64,
                    exact_ms_per_query: self.comparing.least_ms / count as f64,
                }));
            }
            if now_ms() >= deadline {
                return Ok(None);
            }
        }
    }

    /// The share that is done, about.
    pub fn done(&self) -> f64 {
        let count = self.present.len().max(1);
        let queries = self.queries.as_ref().len() as f64 * count as f64 / self.points.as_ref().len().max(1) as f64;
        // Repetitions are short.
        let of_points = match self.comparing.ended {
            0 => self.compared as f64 + self.nearest.len() as f64 * self.passed as f64 / count as f64,
            _ => queries,
        };
        (self.ids.len() as f64 / self.k as f64 + of_points) / (2.0 * queries).max(1.0)
    }

    /// Some queries against some points; after the last of these, what search found of them is judged.
    fn compare(&mut self, index: &Index) {
        let (dim, there) = (index.dim(), self.k.min(index.count()));
        let (queries, points) = (self.queries.as_ref(), self.points.as_ref());
        let count = self.present.len();
        let first = self.compared;
        let last = (queries.len() / dim).min(first + QUERIES * threads::count());
        if self.nearest.is_empty() {
            self.nearest = (first..last).map(|_| Nearest::new(there)).collect();
        }
        let piece = self.passed..count.min(self.passed + POINTS);
        let rows = &points[piece.start * dim..piece.end * dim];
        let tasks: Vec<_> = queries[first * dim..last * dim].chunks(QUERIES * dim).zip(self.nearest.chunks_mut(QUERIES)).collect();
        threads::each(tasks, rows.len() * (last - first), |(queries, nearest)| {
            compare(rows, piece.start, queries, dim, Some(&self.present), nearest);
        });
        self.passed = piece.end;
        if self.passed < count {
            return;
        }
        for (query, nearest) in (first..).zip(self.nearest.drain(..)) {
            let reach = nearest.into_sorted().last().map_or(f32::NEG_INFINITY, |farthest| farthest.distance);
            for &id in self.ids[query * self.k..][..there].iter().filter(|id| **id != u32::MAX) {
                let mut distance = [0.0];
                squared_distances(&queries[query * dim..][..dim], &points[id as usize * dim..][..dim], &mut distance);
                self.found += usize::from(distance[0] <= reach && self.comparing.ended == 0);
            }
        }
        (self.compared, self.passed) = (last, 0);
    }
}
