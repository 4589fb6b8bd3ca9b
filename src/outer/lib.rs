//! Outer loops: what drives solvers, and all else that works on a whole problem for longer than one call.
//!
//! A solver of `leastwise_solve` makes steps. Around it, each file here has one state machine: a plain [`Solve`], the
//! [augmented Lagrangian](AugmentedLagrangian), [graduated non-convexity](Graduation), the continuation in
//! [mixed precision](MixedPrecision), [covariances](CovarianceRun) and [gradients](GradientRun), [evaluations](evaluation) of
//! terms, [measurements](Measurement) and [tuning](TuningRun). Its `resume` works until a deadline, or until a device must be
//! waited for, and gives a [`Turn`].
//!
//! They know devices, a problem and a solver. Handles, tasks and their order are the session's.
//!
//! ```
//! use leastwise_device::{Device, Limits, Precision, cpu::CpuDevice};
//! use leastwise_outer::Devices;
//!
//! let mut devices = Devices::new(Device::Cpu(CpuDevice::new(Precision::F32, Limits::SMALL)));
//! // Covariances are computed in f64, on a device beside this one.
//! assert_eq!(devices.double().0.precision(), Precision::F64);
//! ```

mod augmented_lagrangian;
mod covariance;
mod devices;
pub mod evaluation;
mod gradients;
mod graduated;
mod live;
mod measure;
mod mixed_precision;
mod set_up;
mod sibling_solve;
mod solve;
mod tuning;
mod turn;

pub use augmented_lagrangian::{AugmentedLagrangian, SavedOuter};
pub use covariance::CovarianceRun;
pub use devices::{Devices, SideDevice};
pub use evaluation::HessianForm;
pub use gradients::{BackwardOptions, GradientRequest, GradientRun, Gradients, OfTable, OfTerm};
pub use graduated::{Graduated, Graduation, Suspect};
pub use live::{Advanced, Driven};
pub use measure::{Measured, Measurement, Traffic, measure_copy};
pub use mixed_precision::{MixedPrecision, refusal};
pub use set_up::{LONG, SetUp, takes_long};
pub use sibling_solve::{SiblingRead, SiblingSolve};
pub use solve::{Solve, SolveMode};
pub use tuning::TuningRun;
pub use turn::Turn;

use leastwise_problem::Problem;

/// Devices, problem and solver of an outer loop.
pub struct Context<'a> {
    /// Devices of the engine.
    pub devices: &'a mut Devices,
    /// Problem that is solved.
    pub problem: &'a mut Problem,
    /// Solver of the problem.
    pub driven: &'a mut Driven,
}
