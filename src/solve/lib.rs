//! Solvers: state machines that emit recordings and read one small buffer back.
//!
//! [`Solver`] knows no device call, future, promise or thread: [`Solver::advance`] takes what the last recording
//! brought back and gives the next one, or the report. Whoever drives it decides how to wait.
//!
//! ```
//! use leastwise_solve::Options;
//!
//! // What is not given is chosen by the problem and the device.
//! let options = Options { method: Some("lm".into()), max_iterations: Some(50.0), ..Options::default() };
//! assert!(options.linear.is_none());
//! ```

mod active_set;
pub mod adjoint;
pub mod assembly;
mod buffers;
pub mod covariance;
pub mod descent;
pub mod graduated;
mod lagrangian;
pub mod linear;
mod method;
pub mod nonfinite;
mod options;
mod product;
#[cfg_attr(target_arch = "wasm32", path = "alone.rs")]
mod ranks;
mod reduction;
mod repeat_stats;
mod report;
mod segment_sums;
mod snapshot_layout;
mod solver;
mod step;
mod term_costs;
mod termination;
mod trial;
mod workspace;

pub use lagrangian::{ConstraintReport, Feasibility, Lagrangian, OuterSettings, Verdict};
pub use leastwise_program::state::solver as state;
pub use linear::Inner;
pub use linear::{Choice, Linear, Wanted};
pub use method::{Dogleg, Method};
pub use nonfinite::NonFiniteResidual;
pub use options::{Options, Settings};
#[cfg(not(target_arch = "wasm32"))]
pub use ranks::{Exchanged, agree_on_partials};
pub use report::{EvaluatorReport, Iteration, ProductReport, Refinement, RefinementState, Report, Termination};
pub use segment_sums::Summing;
pub use snapshot_layout::SnapshotLayout;
pub use solver::{Next, Over, Part, Saved, Solver, Spent};
pub use workspace::{Needs, Workspace, dispatch, evaluate};
