//! Set-up of a solver in time slices, where its problem is large.

use crate::{Devices, Turn};
use leastwise_base::clock::now_ms;
use leastwise_error::Error;
use leastwise_problem::Problem;
use leastwise_solve::Solver;

/// Instances that take long to be laid out, or to be looked at by a solver's set-up.
pub const LONG: u64 = 1 << 14;

/// True if bringing a solver up to date with its problem takes more than one call.
pub fn takes_long(solver: &Solver, problem: &Problem) -> bool {
    problem.instances() >= LONG && !solver.is_ready(problem)
}

/// A set-up on its way.
pub struct SetUp {
    since_ms: f64,
    /// True before a solve, whose limits hold for the set-up too.
    is_solve: bool,
}

impl SetUp {
    /// Begins to count time; `is_solve` says that the solve's limits hold for it.
    pub fn new(is_solve: bool) -> Self {
        Self { since_ms: now_ms(), is_solve }
    }

    /// Goes on until a recording has to be waited for, the deadline (ms) is over, or the solver is ready. Fails if a limit of the solve ends it before.
    pub fn resume(&self, devices: &mut Devices, problem: &mut Problem, solver: &mut Solver, deadline: f64) -> Result<Turn<()>, Error> {
        if let Some(why) = solver.ends_set_up(self.since_ms).filter(|_| self.is_solve) {
            return Err(Error::StoppedSetUp(why));
        }
        if !solver.prepare_until(&mut devices.main, &mut devices.registry, problem, deadline)? {
            return Ok(Turn::Yielded);
        }
        if self.is_solve {
            solver.began(self.since_ms);
        }
        Ok(Turn::Over(()))
    }
}
