//! Solvers of a session: solving as a task, and live steps for frame loops.

use super::task::{SolveMode, Task};
use super::{Session, SolverEntry};
use crate::clock::now_ms;
use crate::device::{Playing, Signal};
use crate::error::Error;

impl Session {
    pub(super) fn solver_entry(&mut self, solver: u32) -> Result<&mut SolverEntry, Error> {
        self.solvers.get_mut(solver as usize).and_then(Option::as_mut).ok_or(Error::Disposed("solver"))
    }

    /// Waits for what other calls left unfinished and brings the solver up to date with its problem.
    pub(super) fn prepare(&mut self, solver: u32) -> Result<(), Error> {
        let problem = self.solver_entry(solver)?.problem;
        self.idle(problem)?;
        let Some(Some(entry)) = self.solvers.get_mut(solver as usize) else { return Err(Error::Disposed("solver")) };
        let Some(Some(owner)) = self.problems.get_mut(problem as usize) else { return Err(Error::Disposed("problem")) };
        entry.solver.prepare(&mut self.device, &mut self.registry, &mut owner.problem)
    }

    /// A task that solves to termination, or makes one step.
    pub fn solve(&mut self, solver: u32, mode: SolveMode) -> Result<u32, Error> {
        let problem = self.solver_entry(solver)?.problem;
        self.prepare(solver)?;
        self.solver_entry(solver)?.solver.reopen();
        let is_constrained = self.entry(problem)?.0.problem.enabled_constraints().next().is_some();
        let task = if is_constrained && mode == SolveMode::Solve {
            self.constrained_solve(problem, solver)?
        } else {
            Task::solve(problem, solver, mode)
        };
        self.start_task(problem, task)
    }

    /// A task whose outcome is the report of what was done so far.
    pub fn report(&mut self, solver: u32) -> Result<u32, Error> {
        let problem = self.solver_entry(solver)?.problem;
        self.prepare(solver)?;
        let entry = self.solvers[solver as usize].as_mut().ok_or(Error::Disposed("solver"))?;
        let owner = self.problems[problem as usize].as_mut().ok_or(Error::Disposed("problem"))?;
        entry.awaits_live = self.device.is_queue() && entry.compiled.is_none();
        let recording = entry.solver.report_now(&mut owner.problem)?;
        let play = self.device.start(recording);
        self.start_task(problem, Task::playing(problem, solver, SolveMode::Solve, play))
    }

    /// Live use: a GPU gets `iterations` steps enqueued at once and nothing is read back; the CPU works until
    /// `budget_ms` are over or the steps are done, and goes on within a step the next time.
    ///
    /// While kernels are still being compiled, a call does nothing.
    pub fn advance(&mut self, solver: u32, iterations: u32, budget_ms: f64) -> Result<(), Error> {
        let deadline = now_ms() + budget_ms;
        let entry = self.solver_entry(solver)?;
        let problem = entry.problem;
        // A step that this solver is in the midst of may go on; those of others would work on the same trial point.
        let own = entry.live.take();
        self.finish_live(problem)?;
        self.solver_entry(solver)?.live = own;
        let (owner, ..) = self.entry(problem)?;
        if owner.is_busy() {
            return Err(Error::Busy);
        }
        let structure = owner.problem.structure;
        if !self.solver_entry(solver)?.solver.is_of(structure) || !self.entry(problem)?.0.problem.has_enabled_terms() {
            self.prepare(solver)?;
        }
        // Before a step is recorded: what it takes from the problem is uploaded once.
        if self.compile_live(solver)?.is_some() {
            return Ok(());
        }
        let Some(Some(entry)) = self.solvers.get_mut(solver as usize) else { return Err(Error::Disposed("solver")) };
        let Some(Some(owner)) = self.problems.get_mut(problem as usize) else { return Err(Error::Disposed("problem")) };
        for _ in 0..iterations {
            if self.device.is_queue() {
                let recording = entry.solver.live_step(&mut owner.problem)?;
                self.device.enqueue(&recording)?;
                continue;
            }
            let mut play = match entry.live.take() {
                Some(play) => play,
                None => {
                    let recording = entry.solver.live_step(&mut owner.problem)?;
                    self.device.start(recording)
                }
            };
            if let Playing::Yielded = self.device.resume(&mut play, deadline)? {
                entry.live = Some(play);
                break;
            }
            if now_ms() > deadline {
                break;
            }
        }
        Ok(())
    }

    /// Begins to compile what live steps of a prepared solver need on a GPU; the signal to wait for until all of it is there, if anything.
    pub fn compile_live(&mut self, solver: u32) -> Result<Option<Signal>, Error> {
        let Some(Some(entry)) = self.solvers.get_mut(solver as usize) else { return Err(Error::Disposed("solver")) };
        let Some(Some(owner)) = self.problems.get_mut(entry.problem as usize) else { return Err(Error::Disposed("problem")) };
        let version = (owner.problem.structure, owner.problem.selection);
        if !self.device.is_queue() || entry.compiled == Some(version) {
            return Ok(None);
        }
        let unready = self.device.compile(&entry.solver.live_kernels(&owner.problem)?)?;
        if unready.is_none() {
            entry.compiled = Some(version);
        }
        Ok(unready)
    }

    /// Finishes a step that `advance` left unfinished: dropped within its commit, it would leave half a step.
    pub(super) fn finish_live(&mut self, problem: u32) -> Result<(), Error> {
        for entry in self.solvers.iter_mut().flatten().filter(|entry| entry.problem == problem) {
            if let Some(mut play) = entry.live.take() {
                self.device.resume(&mut play, f64::INFINITY)?;
            }
        }
        Ok(())
    }

    /// Destroys the solver. What it was in the midst of is finished first (CPU): a dropped play may hold the only
    /// upload of some values, or half a commit.
    pub fn free_solver(&mut self, solver: u32) {
        let tasks: Vec<u32> = self.tasks.iter().filter(|(_, task)| task.solver() == Some(solver)).map(|(id, _)| *id).collect();
        for task in tasks {
            self.cancel(task);
        }
        let Some(mut entry) = self.solvers.get_mut(solver as usize).and_then(Option::take) else { return };
        if let Some(play) = &mut entry.live {
            // Whatever goes wrong here, the solver is gone afterwards.
            let _ = self.device.resume(play, f64::INFINITY);
        }
        entry.solver.buffers().into_iter().for_each(|buffer| self.device.free(buffer));
    }
}
