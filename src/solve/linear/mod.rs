//! Linear solvers of (JᵀWJ + λD) s = −g.
//!
//! There are two families:
//!
//! - *On the device*: [`Linear::append`] appends commands that leave s in `work.step` and what is left of the system,
//!   −g − (JᵀWJ + λD)s, in `work.residual`. λ is `state[DAMPING]`, which only the device knows when the commands are
//!   recorded. Nothing is read back.
//! - *On the host*: a step is two recordings. The first one ends after [`Workspace::differentiate`] and the assembly of the
//!   system, which it reads back (`Phase::Assembling` of the solver); the second one uploads s and its residual in place
//!   of the commands above and goes on with [`Workspace::attempt`]. After a rejected step the values are still there:
//!   only λ differs, which the host has from the state that every step reads back. A system that cannot be solved ends
//!   the solve as `Termination::Singular`. Live steps, which read nothing back, need a solver on the device.

pub mod pcg;

use super::Workspace;
use crate::device::Command;
use crate::problem::Problem;

/// Conjugate-gradient iterations of a live step.
const LIVE_ITERATIONS: u32 = 24;

/// How long an iterative solver may go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inner {
    ToTolerance,
    /// A bounded number of iterations, for frame loops: they are enqueued without knowing when the system is solved.
    Live,
}

/// A linear solver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linear {
    /// Matrix-free preconditioned conjugate gradients, on the device.
    Pcg,
}

/// The solver of a problem, and why it is that one.
#[derive(Clone, Debug)]
pub struct Choice {
    pub linear: Linear,
    pub why: String,
}

/// What solves this problem's systems: what was asked for, else the best for its structure and size. A pure function.
pub fn choose(wanted: Option<Linear>, _problem: &Problem) -> Choice {
    match wanted {
        Some(linear) => Choice { linear, why: "it was asked for".into() },
        None => Choice { linear: Linear::Pcg, why: "it works at any size, without a matrix".into() },
    }
}

impl Linear {
    /// The name that options and reports have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pcg => "pcg",
        }
    }

    /// Appends the solve of one step's system, in so many iterations at most, if it is told and there are any.
    pub fn append(self, work: &Workspace, problem: &Problem, inner: Inner, most: Option<u32>, commands: &mut Vec<Command>) {
        match self {
            Self::Pcg => {
                let usual = match inner {
                    Inner::ToTolerance => pcg::max_iterations(problem),
                    Inner::Live => LIVE_ITERATIONS,
                };
                pcg::solve(work, problem, most.unwrap_or(usual), commands);
            }
        }
    }
}
