//! A dispatch cut into parts that threads work on at the same time.
//!
//! Every column that is written is cut into slices, one a part, so that no two threads can touch the same element. Parts
//! begin at multiples of a block; what a lane computes does not depend on its block, so the bits are those of one thread.

use super::lanes::LANES;
use crate::real::Real;
use crate::threads;
use std::ops::Range;

/// The items of one part, and its piece of every target.
pub struct Part<'a, R> {
    pub items: Range<usize>,
    pub targets: Vec<&'a mut [R]>,
}

/// Steps times items of a part: some 20 µs, of which setting it up is little.
const WORK: usize = if cfg!(target_arch = "wasm32") { 1 << 15 } else { 1 << 16 };

/// Parts that waking other threads is worth. Those of wasm are hardly ever asleep in the middle of a solve.
const FEWEST: usize = if cfg!(target_arch = "wasm32") { 4 } else { 8 };

/// The items of a part, of so many for a program of so many steps.
fn length(items: usize, steps: usize) -> usize {
    if threads() == 1 || items * steps < FEWEST * WORK {
        return items;
    }
    (WORK / steps).next_multiple_of(LANES).max(LANES)
}

/// Cuts columns into parts; only one where there is nothing to be gained.
pub fn parts<'a, R: Real>(columns: Vec<&'a mut [R]>, items: Range<usize>, steps: usize) -> Vec<Part<'a, R>> {
    let length = length(items.len(), steps);
    let mut rest = columns;
    rest.iter_mut().for_each(|column| *column = &mut std::mem::take(column)[items.clone()]);
    if length >= items.len() {
        return vec![Part { targets: rest, items }];
    }
    let mut parts = Vec::new();
    for start in items.clone().step_by(length) {
        let items = start..items.end.min(start + length);
        let targets = rest.iter_mut().map(|column| column.split_off_mut(..items.len()).expect("all columns are as long as the items"));
        parts.push(Part { targets: targets.collect(), items });
    }
    parts
}

/// Runs every part, on as many threads as there are.
pub fn run<R: Real>(parts: Vec<Part<R>>, work: impl Fn(Part<R>) + Sync + Send) {
    threads::all(parts, work);
}

/// Does tasks of so many steps times items together.
pub fn each<T: Send>(tasks: Vec<T>, size: usize, work: impl Fn(T) + Sync + Send) {
    if size < FEWEST * WORK {
        return tasks.into_iter().for_each(work);
    }
    threads::all(tasks, work);
}

/// The threads that generated programs run on.
pub fn threads() -> usize {
    threads::count()
}
