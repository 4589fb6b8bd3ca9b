//! The k nearest of many candidates, ties to the lower id: the same whatever order they come in.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub distance: f32,
    pub id: u32,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.id.cmp(&other.id))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

/// Keeps the k nearest; the farthest of them is on top.
pub struct Nearest {
    k: usize,
    heap: BinaryHeap<Candidate>,
}

impl Nearest {
    pub fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::new() }
    }

    /// What a candidate must not be farther than.
    #[inline(always)]
    pub fn reach(&self) -> f32 {
        if self.heap.len() < self.k { f32::INFINITY } else { self.heap.peek().map_or(f32::NEG_INFINITY, |farthest| farthest.distance) }
    }

    pub fn offer(&mut self, candidate: Candidate) {
        if self.heap.len() < self.k {
            self.heap.push(candidate);
        } else if let Some(mut farthest) = self.heap.peek_mut()
            && candidate < *farthest
        {
            *farthest = candidate;
        }
    }

    pub fn merge(&mut self, other: Self) {
        for candidate in other.heap {
            self.offer(candidate);
        }
    }

    /// Candidates that it has.
    pub fn count(&self) -> usize {
        self.heap.len()
    }

    /// Nearest first.
    pub fn into_sorted(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec()
    }
}
