//! Solves over several ranks: every rank runs the same program and declares the same problem, and has a part of its instances.
//!
//! A [`RankedProblem`] keeps what was declared. Before the first solve ranks compare a fingerprint of all of it, find the same
//! [`Partition`], and each makes a problem of its own part ([`leastwise_problem::Shares`]). What a step exchanges, `leastwise_solve`
//! says in `ranks.rs`. Values are the same on all ranks, to the bit.
//!
//! ```
//! use leastwise_collective::{DEADLINE, threads};
//! use leastwise_device::{Device, Limits, Precision, cpu::CpuDevice};
//! use leastwise_problem::Shape;
//! use leastwise_ranks::RankedProblem;
//!
//! let ranks = threads(1, DEADLINE).remove(0);
//! let device = Device::Cpu(CpuDevice::new(Precision::F64, Limits::SMALL));
//! let mut problem = RankedProblem::new(device, ranks)?;
//! let table = problem.table("x", vec![Shape::Euclidean(2)], &[1.0, 2.0], true)?;
//! assert_eq!(problem.read(table)?, [1.0, 2.0]);
//! # Ok::<(), leastwise_error::Error>(())
//! ```

mod checkpoint;
mod declared;
mod frontier;
mod graph;
mod growth;
mod local;
mod partition;
mod parts;
mod problem;
mod solve;

pub use checkpoint::Restored;
pub use declared::in_f64;
pub use partition::{Links, NOBODY, Partition};
pub use parts::RankedParts;
pub use problem::RankedProblem;
pub use solve::{RankedReport, RankedSolve, supported};
