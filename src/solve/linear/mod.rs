//! Linear solvers of (JᵀWJ + λD) s = −g.
//!
//! There are two families:
//!
//! - *On the device*: [`Linear::append`] appends commands that leave s in `work.step` and what is left of the system,
//!   −g − (JᵀWJ + λD)s, in `work.residual`. λ is `state[DAMPING]`, which only the device knows when the commands are
//!   recorded. Nothing is read back.
//! - *On the host* (`direct`): a step is two recordings. The first one ends after [`Workspace::differentiate`] and the
//!   assembly of the system, which it reads back (`Phase::Assembling` of the solver); the second one uploads s in place of
//!   the commands above and goes on with [`Workspace::attempt`]. After a rejected step the values are still there: only λ
//!   differs, which the host has from the state that every step reads back. A system that cannot be solved raises λ, or
//!   ends the solve as `Termination::Singular`. Live steps, which read nothing back, are solved on the device.
//!
//! Which one a problem gets is decided in [`choose`]; docs/SOLVERS.md says what each is for.

pub mod choose;
mod correction;
pub(crate) mod direct;
mod eliminable;
pub mod merged;
pub mod pcg;
mod preconditioner;
pub mod reduced;
pub(crate) mod rows;
mod sizes;
mod thresholds;
pub mod two_level;

pub use correction::{Correction, DeviceSolver, Plan, Planning};
pub use preconditioner::Preconditioner;

use super::Workspace;
use leastwise_device::Command;
use leastwise_error::Error;
use leastwise_problem::Problem;

/// Conjugate-gradient iterations of a live step.
const LIVE_ITERATIONS: u32 = 24;

/// How long an iterative solver may go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inner {
    /// Iterates until the forcing term or the greatest number of iterations is reached.
    ToTolerance,
    /// A bounded number of iterations, for frame loops: they are enqueued without knowing when the system is solved.
    Live,
}

/// A linear solver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linear {
    /// Matrix-free preconditioned conjugate gradients, on the device.
    Pcg,
    /// On the host: a QR factorisation of J where that is small, else a Cholesky factor of the whole matrix.
    Dense,
    /// On the host: a sparse Cholesky factor.
    SparseCholesky,
    /// On the host: conjugate gradients on the assembled matrix.
    AssembledPcg,
    /// On the host: the elimination of a block-diagonal part, and a factor of what is left.
    Schur,
    /// The elimination of a block-diagonal part, and conjugate gradients on what is left, which is never formed: on the device.
    SchurPcg,
    /// Methods that know only the gradient have no system to be solved.
    None,
}

/// What a caller asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// The best for the problem where nothing was.
    pub linear: Option<Linear>,
    /// Of conjugate gradients; the best where nothing was.
    pub preconditioner: Option<Preconditioner>,
    /// Tables that a Schur complement eliminates; those that are found where nothing was.
    pub eliminate: Option<Vec<u32>>,
    /// Iterations of conjugate gradients in a step at most.
    pub max_iterations: Option<u32>,
}

/// The solver of a problem, and why it is that one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Linear solver.
    pub linear: Linear,
    /// Reason of the choice, for reports.
    pub why: String,
    /// Of conjugate gradients, and why it is that one.
    pub preconditioner: Option<(Preconditioner, String)>,
}

impl Choice {
    /// Its names, in the words of options.
    pub fn named(&self) -> String {
        let linear = format!("linear: \"{}\"", self.linear.name());
        match &self.preconditioner {
            Some((preconditioner, _)) => format!("{linear}, preconditioner: \"{}\"", preconditioner.name()),
            None => linear,
        }
    }

    /// Refuses a checkpoint whose systems were solved by another one, which has these names.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] with both.
    pub fn compare(&self, name: &str) -> Result<(), Error> {
        let own = self.named();
        if name == own {
            return Ok(());
        }
        let message = format!("its linear systems were solved by {name}, and here they are by {own}: make the solver with {name}");
        Err(Error::Checkpoint(message))
    }
}

impl Linear {
    /// Those that can be asked for.
    pub const ALL: [Self; 6] = [Self::Dense, Self::SparseCholesky, Self::Pcg, Self::AssembledPcg, Self::Schur, Self::SchurPcg];

    /// The name that options and reports have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pcg => "pcg",
            Self::Dense => "dense",
            Self::SparseCholesky => "sparse-cholesky",
            Self::AssembledPcg => "assembled-pcg",
            Self::Schur => "schur",
            Self::SchurPcg => "schur-pcg",
            Self::None => "none",
        }
    }

    /// Whether systems come back to be solved.
    pub fn is_on_host(self) -> bool {
        !matches!(self, Self::Pcg | Self::SchurPcg | Self::None)
    }

    /// Whether it eliminates variables.
    pub fn eliminates(self) -> bool {
        matches!(self, Self::Schur | Self::SchurPcg)
    }

    /// Whether it multiplies with JᵀWJ on the device.
    pub fn multiplies(self) -> bool {
        matches!(self, Self::Pcg | Self::SchurPcg)
    }

    /// Appends the solve of one step's system on the device, in so many iterations at most, if it is told; by conjugate gradients with
    /// diagonal blocks unless there is another solver. Live steps come here whatever the linear solver.
    pub fn append(
        self,
        work: &Workspace,
        problem: &Problem,
        solver: Option<&dyn DeviceSolver>,
        inner: Inner,
        most: Option<u32>,
        commands: &mut Vec<Command>,
    ) -> Result<(), Error> {
        let usual = match inner {
            Inner::ToTolerance => pcg::max_iterations(problem),
            Inner::Live => LIVE_ITERATIONS,
        };
        let most = most.unwrap_or(usual);
        match solver {
            Some(solver) => solver.solve(work, problem, most, commands),
            None => pcg::solve(work, problem, None, most, commands),
        }
    }
}
