//! Reach of a solve that is yet to come, for hosts that load the engine in parts.

use super::{Session, SolverEntry};
use leastwise_error::Error;
use leastwise_outer::Driven;
use leastwise_problem::Term;
use leastwise_solve::linear::choose::Reach;
use leastwise_solve::{Options, Settings};

impl Session {
    /// What a solve of this problem with these options may run: linear solvers on the host, the preconditioner of two levels, methods
    /// without a linear system, multipliers of constraints, second derivatives, and Schur complements on the device; each 0 or 1.
    pub fn reach(&mut self, problem: u32, options: &Options) -> Result<Vec<u32>, Error> {
        let Settings { method, linear, .. } = options.settings()?;
        let (entry, devices) = self.entry(problem)?;
        let descends = method.descent().is_some();
        let Reach { host, two_level, reduced } = Reach::new(&linear, &entry.problem, devices.main.profile());
        let is_constrained = entry.problem.enabled_constraints().next().is_some();
        let is_curved = entry.problem.terms().any(Term::is_curved);
        Ok([host && !descends, two_level && !descends, descends, is_constrained, is_curved, reduced && !descends].map(u32::from).to_vec())
    }

    /// A solver that is set up by its first task, whatever the problem's size; else as [`Session::solver`] makes it.
    pub fn later_solver(&mut self, problem: u32, options: &Options) -> Result<u32, Error> {
        #[cfg(not(target_arch = "wasm32"))]
        if self.is_ranked() {
            return self.ranked_solver(problem, options);
        }
        let settings = options.settings()?;
        let (entry, devices) = self.idle(problem)?;
        let driven = Driven::unprepared(&devices.main, &mut entry.problem, settings)?;
        Ok(self.solvers.insert(Box::new(SolverEntry::new(problem, driven))))
    }
}
