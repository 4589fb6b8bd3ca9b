//! Linear solvers on the device besides conjugate gradients with diagonal blocks, and corrections: terms C that a preconditioner adds to
//! the inverted diagonal blocks, M⁻¹ = B⁻¹ + C (additive Schwarz methods; Dryja & Widlund 1990).

use super::super::Workspace;
use leastwise_base::task::{Stopped, Task};
use leastwise_device::{BufferId, Command, Device};
use leastwise_error::Error;
use leastwise_problem::{Problem, Registry};

/// Solver of a step's system on the device, for a problem whose structure stays.
pub trait DeviceSolver: Send {
    /// Buffers that it owns.
    fn buffers(&self) -> &[BufferId];

    /// Uploads that come before the first [`solve`](Self::solve).
    fn take_uploads(&mut self) -> Vec<Command>;

    /// Appends the whole solve, of so many iterations at most; the step ends up in `work.step`, the remaining residual in
    /// `work.residual`.
    fn solve(&self, work: &Workspace, problem: &Problem, most: u32, commands: &mut Vec<Command>) -> Result<(), Error>;
}

/// C of a problem, while its structure stays.
pub trait Correction {
    /// Appends what makes C for the system at the current point, once `work.inverse` is there.
    fn set_up(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error>;

    /// Appends z += C r, and what that adds to rᵀz as partial sums from `partial` on; at a start also no maxima, from
    /// `maxima` on. Gives the number of partial sums.
    fn apply(&self, work: &Workspace, problem: &Problem, partial: u32, maxima: u32, commands: &mut Vec<Command>) -> u32;
}

/// All of a solver that takes no device.
pub trait Plan: Send {
    /// The solver; `Error::Limits` says that it does not fit.
    fn make(self: Box<Self>, device: &mut Device, registry: &mut Registry, problem: &Problem) -> Result<Box<dyn DeviceSolver>, Error>;
}

/// A plan that is being made, in time slices; or why there is none.
pub type Planning = Task<'static, Result<Result<Box<dyn Plan>, Error>, Stopped>>;
