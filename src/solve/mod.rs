//! Solvers: state machines that emit recordings and read one small buffer back.
//!
//! [`Levenberg`] knows no device call, future, promise or thread: [`Levenberg::advance`] takes what the last recording
//! brought back and gives the next one, or the report. Whoever drives it decides how to wait.

mod levenberg;
pub mod linear;
mod options;
mod report;
pub mod state;
mod sums;
mod term_costs;
mod workspace;

pub use levenberg::{Inner, Levenberg, Next};
pub use options::{Options, Settings};
pub use report::{Iteration, Report, Termination};
pub use sums::Summing;
pub use workspace::{Workspace, dispatch, evaluate};
