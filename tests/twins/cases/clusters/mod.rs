//! Kernels of clusterings: their shapes, their tables, and what all of them are tested with.

mod assign;
pub mod half;
mod maintain;
mod means;
mod pairs;
mod soft;
mod sort;
mod start;

pub use assign::assign;
pub use maintain::{divide, merge, relabel, totals};
pub use means::{centroid_sums, distances, norms, update, weigh};
pub use pairs::pairs;
pub use soft::{blend, converge, scores, soften};
pub use sort::{keys, offsets, scatter, spread, tally};
pub use start::{adopt, elect, farthest, pick, potentials, seed};

use crate::twins::harness::{Case, POISONED_WORD, poison, random_state};
use crate::twins::value::{Random, Value};
use leastwise::device::binding::STATE;
use leastwise::program::state::cluster::{ALWAYS, DONE};

const DIMENSIONS: [usize; 5] = [1, 2, 3, 8, 37];
const CLUSTERS: [usize; 5] = [1, 2, 5, 33, 70];

/// Points of a chunk, how many are before and after it, their dimensions, and anchors.
#[derive(Clone, Copy)]
struct Shape {
    points: usize,
    before: usize,
    all: usize,
    dimensions: usize,
    clusters: usize,
}

impl Shape {
    /// Any, but little where there are many points; now and then of few points more than a workgroup has lanes or a tile columns.
    fn new(points: usize, group: usize, random: &mut Random) -> Self {
        let mut any = |list: [usize; 5]| list[random.below(5) as usize];
        let (mut dimensions, mut clusters) = (any(DIMENSIONS), any(CLUSTERS));
        while points * dimensions > 200_000 {
            dimensions /= 2;
        }
        while points * dimensions * clusters > 400_000 {
            clusters /= 2;
        }
        if points <= 65 && random.below(4) == 0 {
            (dimensions, clusters) = if random.below(2) == 0 { (group + 3, 5) } else { (3, 150) };
        }
        let [before, after] = [0, 1].map(|_| random.below(3) as usize * 13);
        Self { points, before, all: before + points + after, dimensions, clusters }
    }

    fn name(&self) -> String {
        let Self { points, before, all, dimensions, clusters } = self;
        format!("{points} points from {before} on of {all}, dimension {dimensions}, {clusters} clusters")
    }

    /// Numbers of the chunk's points.
    fn chunk(&self) -> std::ops::Range<usize> {
        self.before..self.before + self.points
    }

    /// A label for every point; some clusters may have none.
    fn labels(&self, random: &mut Random) -> Vec<u32> {
        (0..self.all).map(|_| random.below(self.clusters as u32).min(random.below(self.clusters as u32 + 3))).collect()
    }
}

/// Points in order by their clusters, and where each cluster's begin.
struct Members {
    list: Vec<u32>,
    begins: Vec<u32>,
}

impl Members {
    fn new(labels: &[u32], clusters: usize, numbers: std::ops::Range<usize>) -> Self {
        let mut list: Vec<u32> = numbers.map(|number| number as u32).collect();
        list.sort_by_key(|number| labels[*number as usize]);
        let begin = |cluster: usize| list.partition_point(|number| (labels[*number as usize] as usize) < cluster) as u32;
        let begins = (0..=clusters).map(begin).collect();
        Self { list, begins }
    }

    fn of(&self, cluster: usize) -> &[u32] {
        &self.list[self.begins[cluster] as usize..self.begins[cluster + 1] as usize]
    }

    /// In any order within each cluster.
    fn shuffle(&mut self, random: &mut Random) {
        for ends in self.begins.windows(2) {
            random.shuffle(&mut self.list[ends[0] as usize..ends[1] as usize]);
        }
    }
}

/// A table of words, with poison between its parts.
struct Table(Vec<u32>);

impl Table {
    fn new(random: &mut Random) -> Self {
        Self(vec![POISONED_WORD; random.below(9) as usize])
    }

    /// Where the part begins.
    fn part(&mut self, words: impl IntoIterator<Item = u32>) -> usize {
        let begin = self.0.len();
        self.0.extend(words);
        self.0.extend([POISONED_WORD; 5]);
        begin
    }

    /// A part that must be written before it is read.
    fn unwritten(&mut self, len: usize) -> usize {
        self.part(vec![POISONED_WORD; len])
    }
}

/// A state that lets a kernel run, and what stops it.
fn guard(case: &mut Case, random: &mut Random, set: &[(u32, f64)]) -> u32 {
    let guard = if random.below(2) == 0 { DONE } else { ALWAYS };
    let mut state = random_state(random, set);
    state[guard as usize] = 0.0;
    case.reals(STATE, state);
    case.stop = Some((guard, 1.0));
    guard
}

/// Numbers that only a part of a vector has: the rest must not be read.
fn only(all: usize, here: std::ops::Range<usize>, values: &[f64]) -> Vec<f64> {
    let at = |i: usize| if here.contains(&i) { values[i - here.start] } else { poison(i) };
    (0..all).map(at).collect()
}

/// Differences of what f32 has are good to their last bit.
pub fn squared_distance(a: &[f64], b: &[f64]) -> Value {
    a.iter().zip(b).map(|(a, b)| Value::from((a - b) * (a - b))).sum()
}

fn square(x: &[f64]) -> Value {
    x.iter().map(|x| Value::from(x * x)).sum()
}

pub fn row(rows: &[f64], number: usize, width: usize) -> &[f64] {
    &rows[number * width..][..width]
}

/// What one of n additions after the other may be off in f32.
pub fn bound_of_sum(terms: usize) -> f64 {
    2e-6 + 1e-7 * (terms as f64).sqrt()
}

/// Rows and columns of a workgroup's tile (`shaders/clustering/shared/tile.wgsl`): a workgroup of 2ⁿ lanes has 2^⌊n/2⌋ columns of them, and lanes have 8×8.
pub fn tile(group: usize) -> (usize, usize) {
    let columns = 1 << (group.trailing_zeros() / 2);
    (8 * (group / columns), 8 * columns)
}
