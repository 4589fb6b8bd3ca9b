//! Ranks: solves and clusterings by threads that each have a part, against one device.

mod checkpoints;
mod clusters;
mod device_clusters;
mod devices;
mod faults;
mod fixed;
mod limits;
mod scenes;
mod schur;
mod sessions;
mod solves;
mod tensors;
mod times;
mod training;

use leastwise::collective::{Communicator, DEADLINE, threads};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Results of so many ranks; none of one that panics.
pub fn on_ranks<T: Send>(size: u32, each: impl Fn(Arc<dyn Communicator>) -> T + Sync) -> Vec<Option<T>> {
    let each = &each;
    std::thread::scope(|scope| {
        let start = |rank| scope.spawn(move || catch_unwind(AssertUnwindSafe(|| each(rank))).ok());
        let started: Vec<_> = threads(size, DEADLINE).into_iter().map(start).collect();
        started.into_iter().map(|thread| thread.join().expect("a panic is caught")).collect()
    })
}

/// The same of ranks that all live.
pub fn on_all<T: Send>(size: u32, each: impl Fn(Arc<dyn Communicator>) -> T + Sync) -> Vec<T> {
    on_ranks(size, each).into_iter().map(|found| found.expect("a rank that does not panic")).collect()
}

pub fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}
