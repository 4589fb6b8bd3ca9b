//! Ranks on GPUs: exchanges to the bit, solves and clusterings against the CPU's threads, faults.
//!
//! Ranks on one GPU exchange messages by way of the host; tests that need two GPUs and NCCL are ignored unless they are asked for:
//! `cargo test --features cuda --test cuda ranks:: -- --ignored`.

mod exchanges;
mod faults;
#[path = "../../ranks/scenes.rs"]
#[allow(dead_code)]
mod scenes;
mod solves;
mod speed;
mod tensors;

use leastwise::collective::{Communicator, DEADLINE, threads};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::cuda::{CudaDevice, WorldId};
use leastwise::device::{Device, Precision};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Devices of ranks, and how they exchange messages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Over {
    /// CPUs, by memory of the process.
    Cpu,
    /// The first GPU, which all ranks share, by way of the host.
    Host,
    /// A GPU each, over NCCL.
    Nccl,
}

/// Results of so many ranks, each a thread of its own; none of one that panics.
pub fn on_ranks<T: Send>(
    over: Over,
    (size, precision, deadline): (u32, Precision, Duration),
    each: impl Fn(Device, Arc<dyn Communicator>) -> T + Sync,
) -> Vec<Option<T>> {
    let (each, id) = (&each, (over == Over::Nccl).then(|| WorldId::new().unwrap_or_else(|error| panic!("{error}"))));
    let open = |index: u32| CudaDevice::open(index, precision).unwrap_or_else(|error| panic!("{error}"));
    let run = |rank: u32, known: Option<Arc<dyn Communicator>>| match (over, id) {
        (Over::Cpu, _) => each(Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits())), known.expect("threads")),
        (_, None) => each(Device::Cuda(Box::new(open(0))), known.expect("threads")),
        (_, Some(id)) => {
            let device = open(rank);
            let communicator = device.over_nccl(&id, rank, size, deadline).unwrap_or_else(|error| panic!("{error}"));
            each(Device::Cuda(Box::new(device)), communicator)
        }
    };
    let run = &run;
    std::thread::scope(|scope| {
        let known = threads(size, deadline).into_iter().map(|rank| (over != Over::Nccl).then_some(rank));
        let start = |(rank, known)| scope.spawn(move || catch_unwind(AssertUnwindSafe(|| run(rank, known))).ok());
        let started: Vec<_> = (0..).zip(known).map(start).collect();
        started.into_iter().map(|thread| thread.join().expect("a panic is caught")).collect()
    })
}

/// The same of ranks that all live.
pub fn on_all<T: Send>(over: Over, size: u32, precision: Precision, each: impl Fn(Device, Arc<dyn Communicator>) -> T + Sync) -> Vec<T> {
    on_ranks(over, (size, precision, DEADLINE), each).into_iter().map(|found| found.expect("a rank that does not panic")).collect()
}

pub fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}
