//! A twin's work on all cores.
//!
//! What is written is cut into pieces, one a task, so that no two threads can touch the same element. Where the cuts
//! are depends on the dispatch alone, and every reduction has its fixed tree: the bits are those of one thread.

#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
use super::pool;
use std::ops::Range;
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
use std::sync::Mutex;

/// Elements that waking other threads is worth.
const FEWEST: usize = 1 << 14;

/// Elements of a task where the work does not say how it is to be cut.
const TASK: usize = 1 << 12;

/// Elements of a task of items that are several each.
const HEAVY: usize = 1 << 15;

/// A slice that is handed out from its front, piece by piece.
pub struct Pieces<'a, T> {
    rest: &'a mut [T],
    next: usize,
}

impl<'a, T> Pieces<'a, T> {
    /// A slice of which nothing was handed out.
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

/// How many tasks are worked on at once: the current pool of rayon has so many threads (RAYON_NUM_THREADS, or a core each).
#[cfg(not(target_arch = "wasm32"))]
pub fn count() -> usize {
    rayon::current_num_threads()
}

/// How many tasks are worked on at once: the threads of the engine that is called, its own among them.
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub fn count() -> usize {
    pool::count()
}

/// How many tasks are worked on at once: this module has one thread.
#[cfg(all(target_arch = "wasm32", not(target_feature = "atomics")))]
pub fn count() -> usize {
    1
}

/// Does all tasks, on as many threads as there are; what they give is in their order.
#[cfg(not(target_arch = "wasm32"))]
pub fn all<T: Send, U: Send>(tasks: Vec<T>, work: impl Fn(T) -> U + Sync + Send) -> Vec<U> {
    use rayon::prelude::*;
    if tasks.len() < 2 || count() == 1 {
        return tasks.into_iter().map(work).collect();
    }
    tasks.into_par_iter().map(work).collect()
}

/// Does all tasks, on as many threads as there are; what they give is in their order.
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub fn all<T: Send, U: Send>(tasks: Vec<T>, work: impl Fn(T) -> U + Sync + Send) -> Vec<U> {
    if tasks.len() < 2 || count() == 1 {
        return tasks.into_iter().map(work).collect();
    }
    enum Place<T, U> {
        Due(T),
        Done(U),
        Taken,
    }
    // Every place is locked once, by whom its number was given to: nobody ever waits.
    let places: Vec<_> = tasks.into_iter().map(|task| Mutex::new(Place::Due(task))).collect();
    pool::run(places.len(), &|number| {
        let mut place = places[number].lock().expect("no part panics and is survived");
        if let Place::Due(task) = std::mem::replace(&mut *place, Place::Taken) {
            *place = Place::Done(work(task));
        }
    });
    let results = places.into_iter().map(|place| place.into_inner().expect("no part panics and is survived"));
    results.filter_map(|place| if let Place::Done(result) = place { Some(result) } else { None }).collect()
}

/// Does all tasks, one after the other; what they give is in their order.
#[cfg(all(target_arch = "wasm32", not(target_feature = "atomics")))]
pub fn all<T, U>(tasks: Vec<T>, work: impl Fn(T) -> U) -> Vec<U> {
    tasks.into_iter().map(work).collect()
}

/// Cuts items into the ranges of tasks.
pub fn cut(items: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    cut_by(items, HEAVY / TASK)
}

/// The same of items that are several elements each.
pub fn cut_by(items: Range<usize>, elements: usize) -> impl Iterator<Item = Range<usize>> {
    let length = (HEAVY / elements.max(1)).clamp(1, TASK);
    items.clone().step_by(length).map(move |start| start..items.end.min(start + length))
}

/// The same where it is worth it, for tasks that are so many elements together.
pub fn map<T: Send, U: Send>(tasks: Vec<T>, elements: usize, work: impl Fn(T) -> U + Sync + Send) -> Vec<U> {
    if elements < FEWEST {
        return tasks.into_iter().map(work).collect();
    }
    all(tasks, work)
}

/// The same for tasks that give nothing.
pub fn each<T: Send>(tasks: Vec<T>, elements: usize, work: impl Fn(T) + Sync + Send) {
    map(tasks, elements, work);
}
