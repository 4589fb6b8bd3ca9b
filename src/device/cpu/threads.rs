//! A twin's work on all cores.
//!
//! What is written is cut into pieces, one a task, so that no two threads can touch the same element. Where the cuts
//! are depends on the dispatch alone, and every reduction has its fixed tree: the bits are those of one thread.

use std::ops::Range;

/// Elements that waking other threads is worth.
#[cfg(not(target_arch = "wasm32"))]
const FEWEST: usize = 1 << 14;

/// Elements of a task where the work does not say how it is to be cut.
const TASK: usize = 1 << 12;

/// A slice that is handed out from its front, piece by piece.
pub struct Pieces<'a, T> {
    rest: &'a mut [T],
    next: usize,
}

impl<'a, T> Pieces<'a, T> {
    pub fn new(all: &'a mut [T]) -> Self {
        Self { rest: all, next: 0 }
    }

    /// The elements `range` of the whole slice; none that was handed out before, or lies before one.
    ///
    /// # Panics
    /// When the range does.
    pub fn take(&mut self, range: Range<usize>) -> &'a mut [T] {
        self.rest.split_off_mut(..range.start - self.next).expect("pieces in ascending order");
        self.next = range.end;
        self.rest.split_off_mut(..range.len()).expect("a piece within its slice")
    }
}

/// How many tasks are worked on at once.
pub fn count() -> usize {
    #[cfg(not(target_arch = "wasm32"))]
    return rayon::current_num_threads();
    #[cfg(target_arch = "wasm32")]
    1
}

/// Cuts items into the ranges of tasks.
pub fn cut(items: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    items.clone().step_by(TASK).map(move |start| start..items.end.min(start + TASK))
}

/// Does all tasks, which are so many elements together; what they give is in their order.
#[cfg(not(target_arch = "wasm32"))]
pub fn map<T: Send, U: Send>(tasks: Vec<T>, elements: usize, work: impl Fn(T) -> U + Sync + Send) -> Vec<U> {
    use rayon::prelude::*;
    if tasks.len() == 1 || elements < FEWEST || rayon::current_num_threads() == 1 {
        return tasks.into_iter().map(work).collect();
    }
    tasks.into_par_iter().map(work).collect()
}

#[cfg(target_arch = "wasm32")]
pub fn map<T, U>(tasks: Vec<T>, _: usize, work: impl Fn(T) -> U) -> Vec<U> {
    tasks.into_iter().map(work).collect()
}

/// The same for tasks that give nothing.
pub fn each<T: Send>(tasks: Vec<T>, elements: usize, work: impl Fn(T) + Sync + Send) {
    map(tasks, elements, work);
}
