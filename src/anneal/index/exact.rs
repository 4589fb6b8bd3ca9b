//! The exact answer, to compare with: every query against every point.

use super::ids::Ids;
use super::nearest::{Candidate, Nearest};
use super::search::{Hits, check_filter};
use crate::code::columns::{squared_distances, transpose};
use crate::rows;
use leastwise_cpu::block::{Instructions, SimdKernel};
use leastwise_cpu::threads;
use leastwise_error::Error;

/// Queries that pass over a block of points together, and points of a block.
const QUERIES: usize = 64;
const BLOCK: usize = 64;

/// The `k` nearest rows of `points` to every query by squared distance in f32, of rows whose byte in `filter` isn't 0; of equally near
/// ones the lower row comes first.
pub fn exact(points: &[f32], queries: &[f32], dim: usize, k: usize, filter: Option<&[u8]>) -> Result<Hits, Error> {
    let count = rows::check("points", points, dim)?;
    let query_count = rows::check("queries", queries, dim)?;
    if k == 0 {
        return Err(Error::InvalidOption("k must be at least 1".into()));
    }
    let ids = u32::try_from(count).map_err(|_| Error::Limits(format!("at most {} points are searched", u32::MAX)))?;
    check_filter(filter, ids)?;
    let mut hits = Hits::none(query_count, k)?;
    let tasks: Vec<&[f32]> = queries.chunks(QUERIES * dim).collect();
    let found = threads::map(tasks, points.len() * query_count, |queries| {
        let mut nearest: Vec<Nearest> = (0..queries.len() / dim).map(|_| Nearest::new(k.min(count))).collect();
        compare(points, 0, queries, dim, filter, &mut nearest);
        nearest
    });
    for (query, nearest) in found.into_iter().flatten().enumerate() {
        hits.put(query, nearest, 1.0, &Ids::whole(count));
    }
    Ok(hits)
}

/// Offers to each query the points that it is nearest to, the first of which has the number `first`.
pub(super) fn compare(points: &[f32], first: usize, queries: &[f32], dim: usize, filter: Option<&[u8]>, nearest: &mut [Nearest]) {
    Instructions::best().run(Compare { points, first, queries, dim, filter, nearest });
}

struct Compare<'a> {
    points: &'a [f32],
    first: usize,
    queries: &'a [f32],
    dim: usize,
    filter: Option<&'a [u8]>,
    nearest: &'a mut [Nearest],
}

impl SimdKernel for Compare<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { points, first, queries, dim, filter, nearest } = self;
        let (mut columns, mut distances) = (vec![0.0; BLOCK * dim], [0.0; BLOCK]);
        for (block, rows) in points.chunks(BLOCK * dim).enumerate() {
            let (columns, distances) = (&mut columns[..rows.len()], &mut distances[..rows.len() / dim]);
            transpose(rows, dim, columns);
            for (query, nearest) in queries.chunks_exact(dim).zip(&mut *nearest) {
                squared_distances(query, columns, distances);
                for (id, &distance) in (first + block * BLOCK..).zip(&*distances) {
                    if distance <= nearest.reach() && filter.is_none_or(|filter| filter[id] != 0) {
                        nearest.offer(Candidate { distance, id: id as u32 });
                    }
                }
            }
        }
    }
}
