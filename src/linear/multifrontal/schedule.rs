//! Schedule of fronts: runs and levels that are worked on at the same time.
//!
//! Subtrees of little work are runs, each of which one thread goes through. What is above them are levels of fronts whose children are
//! all done. Both follow from the tree alone, so that bits do not depend on the number of threads.

use super::tree::{NONE, Tree};
use std::ops::Range;

/// Number of shares of the work; a subtree above the runs has more than one.
const SHARES: f64 = 64.0;
/// Multiplications that are not worth a share of their own.
pub const LITTLE: f64 = (1 << 18) as f64;
/// Multiplications from which on threads share a front.
pub const LARGE: f64 = (1 << 20) as f64;
/// Threads for which orders are compared: the same everywhere, since the order decides the bits.
const NOMINAL: f64 = 8.0;
/// Multiplications in the time that threads take to meet.
const MEETING: f64 = (1 << 15) as f64;

/// Runs, and levels of fronts above them.
pub struct Schedule {
    /// Runs, ascending.
    pub runs: Vec<Run>,
    /// Fronts above the runs: of each level, those whose children are on lower ones.
    pub levels: Vec<Vec<u32>>,
}

/// Subtrees next to each other, of which one thread makes the factor.
pub struct Run {
    /// Their fronts.
    pub fronts: Range<u32>,
    /// Front that all of their roots change; none where they change nothing.
    pub parent: u32,
    /// Number of roots.
    pub roots: u32,
    /// Multiplications.
    pub work: f64,
}

impl Schedule {
    /// The schedule of a tree.
    pub fn new(tree: &Tree) -> Self {
        let least = (tree.work / SHARES).max(LITTLE);
        let is_above = |front: u32| tree.fronts[front as usize].subtree > least;
        // Entries that sums of several roots' changes may have: as many as the factor.
        let mut room = tree.values() as f64;
        let (mut runs, mut levels): (Vec<Run>, Vec<Vec<u32>>) = (Vec::new(), Vec::new());
        let mut height = vec![0u32; tree.fronts.len()];
        for (number, front) in (0..).zip(&tree.fronts) {
            if is_above(number) {
                let level = height[number as usize] as usize;
                levels.resize_with(levels.len().max(level + 1), Vec::new);
                levels[level].push(number);
                if front.parent != NONE {
                    let parent = &mut height[front.parent as usize];
                    *parent = (*parent).max(level as u32 + 1);
                }
                continue;
            }
            if front.parent != NONE && !is_above(front.parent) {
                continue;
            }
            let entries = tree.fronts.get(front.parent as usize).map_or(0.0, |parent| (parent.height as f64).powi(2));
            let is_open = |run: &Run| run.parent == front.parent && run.fronts.end == front.descendants;
            match runs.last_mut() {
                Some(run) if is_open(run) && (run.work < least / 2.0 || room < entries) => {
                    room -= if run.roots == 1 { entries } else { 0.0 };
                    run.fronts.end = number + 1;
                    run.roots += 1;
                    run.work += front.subtree;
                }
                _ => runs.push(Run { fronts: front.descendants..number + 1, parent: front.parent, roots: 1, work: front.subtree }),
            }
        }
        Self { runs, levels }
    }

    /// Multiplications one after the other, about, on so many threads.
    pub fn path(&self, tree: &Tree, threads: f64) -> f64 {
        let shared = |works: &mut dyn Iterator<Item = f64>| {
            let (sum, largest) = works.fold((0.0, 0.0f64), |(sum, largest), work| {
                (sum + work, largest.max(if work < LARGE { work } else { (2.0 * work / LARGE).min(threads).recip() * work }))
            });
            largest.max(sum / threads)
        };
        let runs = self.runs.iter().map(|run| run.work);
        let most = runs.clone().fold(0.0, f64::max);
        let below = most.max(runs.sum::<f64>() / threads);
        let levels = self.levels.iter().map(|level| shared(&mut level.iter().map(|&front| tree.fronts[front as usize].work)) + MEETING);
        below + levels.sum::<f64>()
    }

    /// The same on the number of threads by which orders are chosen.
    pub fn nominal(&self, tree: &Tree) -> f64 {
        self.path(tree, NOMINAL)
    }
}
