//! Solvers of a session: solving as a task, and live steps for frame loops.

use super::job::Job;
use super::solving::{Begin, ConstrainedJob, LayOutJob, Purpose, SetUpJob, SolveJob};
use super::{Session, SolverEntry};
use leastwise_base::clock::now_ms;
use leastwise_device::Signal;
use leastwise_error::Error;
use leastwise_outer::{Advanced, AugmentedLagrangian, Context, Devices, Driven, LONG, Solve, SolveMode, takes_long};
use leastwise_problem::Problem;
use leastwise_solve::Options;

impl Session {
    /// A solver for a problem; returns its handle.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for refused options, [`Error::EmptyProblem`] without enabled terms, and [`Error::Device`] if its
    /// buffers do not fit.
    pub fn solver(&mut self, problem: u32, options: &Options) -> Result<u32, Error> {
        #[cfg(not(target_arch = "wasm32"))]
        if self.ranks.is_some() {
            return self.ranked_solver(problem, options);
        }
        let settings = options.settings()?;
        let (entry, devices) = self.idle(problem)?;
        let driven = Driven::new(&mut devices.main, &mut devices.registry, &mut entry.problem, settings)?;
        Ok(self.solvers.insert(Box::new(SolverEntry::new(problem, driven))))
    }

    pub(super) fn solver_entry(&mut self, solver: u32) -> Result<&mut SolverEntry, Error> {
        self.solvers.get_mut(solver).map(Box::as_mut).ok_or(Error::Disposed("solver"))
    }

    /// A problem and the devices.
    pub(super) fn site(&mut self, problem: u32) -> Result<(&mut Devices, &mut Problem), Error> {
        self.refuse_ranks("this call")?;
        let (entry, devices) = self.entry(problem)?;
        Ok((devices, &mut entry.problem))
    }

    /// A solver with its problem and the devices.
    pub(super) fn context(&mut self, problem: u32, solver: u32) -> Result<Context<'_>, Error> {
        self.refuse_ranks("this call")?;
        let entry = self.solvers.get_mut(solver).ok_or(Error::Disposed("solver"))?;
        let owner = self.problems.get_mut(problem).ok_or(Error::Disposed("problem"))?;
        Ok(Context { devices: &mut self.devices, problem: &mut owner.problem, driven: &mut entry.driven })
    }

    /// A solver that was brought up to date with its problem, on which nothing may run.
    pub(super) fn prepare(&mut self, solver: u32) -> Result<Context<'_>, Error> {
        let problem = self.solver_entry(solver)?.problem;
        self.idle(problem)?;
        let Context { devices, problem, driven } = self.context(problem, solver)?;
        driven.solver.prepare(&mut devices.main, &mut devices.registry, problem)?;
        Ok(Context { devices, problem, driven })
    }

    /// A task that lays a problem out in time slices, where that takes long: a solver finds it done.
    pub fn lay_out(&mut self, problem: u32) -> Result<Option<u32>, Error> {
        // Of ranks each lays out its part, when all solve.
        if self.idle(problem)?.0.problem.unplaced() < LONG || self.is_ranked() {
            return Ok(None);
        }
        self.start_task(problem, LayOutJob { problem, begun: false, next: None }).map(Some)
    }

    /// Starts a job of a problem that is laid out: of one that takes long in time slices, before the job begins.
    pub(super) fn once_laid_out<J: Job + 'static>(
        &mut self,
        problem: u32,
        begin: impl FnOnce(&mut Self) -> Result<J, Error> + Send + 'static,
    ) -> Result<u32, Error> {
        self.refuse_ranks("this call")?;
        let (entry, devices) = self.idle(problem)?;
        if entry.problem.unplaced() < LONG {
            entry.problem.lay_out(&mut devices.main, &mut devices.registry)?;
            let job = begin(self)?;
            return self.start_task(problem, job);
        }
        let next: Begin = Box::new(|session| Ok(Box::new(begin(session)?)));
        self.start_task(problem, LayOutJob { problem, begun: true, next: Some(next) })
    }

    /// A task that solves to termination, or makes one step.
    pub fn solve(&mut self, solver: u32, mode: SolveMode) -> Result<u32, Error> {
        let problem = self.solver_entry(solver)?.problem;
        self.idle(problem)?.0.moves += 1;
        #[cfg(not(target_arch = "wasm32"))]
        if self.ranks.is_some() {
            return self.solve_ranked(problem, solver, mode);
        }
        let Context { devices, driven, .. } = self.context(problem, solver)?;
        match mode {
            SolveMode::Solve => driven.solver.begin_call(&devices.main),
            SolveMode::Step => driven.solver.begin_step(&devices.main),
        }
        self.begin(problem, solver, Purpose::Solve(mode))
    }

    /// A task whose outcome is the report of what was done so far.
    pub fn report(&mut self, solver: u32) -> Result<u32, Error> {
        let problem = self.solver_entry(solver)?.problem;
        self.idle(problem)?;
        self.begin(problem, solver, Purpose::Report)
    }

    /// A task for a purpose: of a large problem it begins with the solver's set-up, if there is anything to do.
    fn begin(&mut self, problem: u32, solver: u32, purpose: Purpose) -> Result<u32, Error> {
        let Context { devices, problem: of, driven } = self.context(problem, solver)?;
        let is_long = takes_long(&driven.solver, of);
        if !is_long {
            driven.solver.prepare(&mut devices.main, &mut devices.registry, of)?;
        }
        if purpose != Purpose::Report {
            driven.solver.reopen();
        }
        if is_long {
            return self.start_task(problem, SetUpJob::new(problem, solver, purpose));
        }
        let job = self.prepared(problem, solver, purpose)?;
        self.start_boxed(problem, job)
    }

    /// The job for a purpose of a solver that is up to date.
    pub(super) fn prepared(&mut self, problem: u32, solver: u32, purpose: Purpose) -> Result<Box<dyn Job>, Error> {
        let mut context = self.context(problem, solver)?;
        let is_constrained = context.problem.enabled_constraints().next().is_some();
        let solve = match purpose {
            Purpose::Solve(SolveMode::Solve) if is_constrained => {
                let outer = AugmentedLagrangian::new(&mut context)?;
                return Ok(Box::new(ConstrainedJob { problem, solver, outer }));
            }
            Purpose::Solve(mode) => {
                context.driven.outer = None;
                Solve::new(mode)
            }
            Purpose::Report => Solve::report(&mut context.devices.main, context.problem, context.driven)?,
        };
        Ok(Box::new(SolveJob { problem, solver, solve }))
    }

    /// Live use: makes up to `iterations` steps, on the CPU for about `budget_ms`; see [`Driven::advance`].
    pub fn advance(&mut self, solver: u32, iterations: u32, budget_ms: f64) -> Result<Option<Advanced>, Error> {
        self.refuse_ranks("advance()")?;
        let deadline = now_ms() + budget_ms;
        let problem = self.solver_entry(solver)?.problem;
        // A step that this solver is in the midst of may go on; those of others would work on the same trial point.
        let others = self.solvers.iter().filter(|(handle, entry)| *handle != solver && entry.problem == problem);
        for other in others.map(|(handle, _)| handle).collect::<Vec<_>>() {
            let Self { solvers, devices, .. } = self;
            solvers.get_mut(other).map_or(Ok(()), |entry| entry.driven.finish_live(&mut devices.main))?;
        }
        let entry = self.entry(problem)?.0;
        if entry.is_busy() {
            return Err(Error::Busy);
        }
        entry.moves += 1;
        let Context { devices, problem, driven } = self.context(problem, solver)?;
        driven.advance(devices, problem, iterations, deadline)
    }

    /// Has a solver forget what its steps have taught it: damping, trust radius and histories.
    pub fn reset_solver(&mut self, solver: u32) -> Result<(), Error> {
        let problem = self.solver_entry(solver)?.problem;
        self.idle(problem)?;
        let Context { devices, driven, .. } = self.context(problem, solver)?;
        driven.finish_live(&mut devices.main)?;
        driven.solver.reset();
        Ok(())
    }

    /// Begins to compile what live steps of a prepared solver need on a GPU; the signal to wait for until all of it is there, if anything.
    pub fn compile_live(&mut self, solver: u32) -> Result<Option<Signal>, Error> {
        let problem = self.solver_entry(solver)?.problem;
        let Context { devices, problem, driven } = self.context(problem, solver)?;
        driven.compile_live(&mut devices.main, problem)
    }

    /// Finishes steps that `advance` left unfinished.
    pub(super) fn finish_live(&mut self, problem: u32) -> Result<(), Error> {
        for entry in self.solvers.values_mut().filter(|entry| entry.problem == problem) {
            entry.driven.finish_live(&mut self.devices.main)?;
        }
        Ok(())
    }

    /// Destroys the solver, and what it is in the midst of.
    pub fn free_solver(&mut self, solver: u32) {
        let tasks: Vec<u32> = self.tasks.iter().filter(|(_, job)| job.solver() == Some(solver)).map(|(id, _)| *id).collect();
        for task in tasks {
            self.cancel(task);
        }
        if let Some(entry) = self.solvers.remove(solver) {
            #[cfg(not(target_arch = "wasm32"))]
            if let Some(parts) = self.problems.get_mut(entry.problem).and_then(|problem| problem.ranked.as_mut()) {
                parts.forget_solve(&mut self.devices.main, Some(solver));
            }
            entry.driven.free(&mut self.devices.main);
        }
    }
}
