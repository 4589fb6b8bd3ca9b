//! Solvers of a session: solving as a task, and live steps for frame loops.

use super::live::Advanced;
use super::task::{Progress, SolveMode, Task, give_up};
use super::{Session, SolverEntry};
use leastwise_base::clock::now_ms;
use leastwise_device::{Playing, Signal};
use leastwise_error::Error;
use leastwise_problem::Problem;
use leastwise_solve::Solver;

/// Instances that take long to be laid out, or to be looked at by a solver's set-up.
pub(super) const LONG: u64 = 1 << 14;

/// A solver that is being set up for a task that comes after that.
pub(super) struct SettingUp {
    pub problem: u32,
    pub solver: u32,
    purpose: Purpose,
    since_ms: f64,
}

/// A problem that is being laid out, and what comes after that.
pub(super) struct LayingOut {
    pub problem: u32,
    /// False until the first call, which does nothing: so the problem is busy until its caller hears of the end.
    begun: bool,
    next: Option<Begin>,
}

type Begin = Box<dyn FnOnce(&mut Session) -> Result<Task, Error> + Send>;

/// Purpose of a solver's task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Solve(SolveMode),
    Report,
}

/// Whether bringing a solver up to date with its problem is a task's work.
fn takes_long(solver: &Solver, problem: &Problem) -> bool {
    problem.instances() >= LONG && !solver.is_ready(problem)
}

impl Task {
    fn setting_up(problem: u32, solver: u32, purpose: Purpose) -> Self {
        Self::SettingUp(SettingUp { problem, solver, purpose, since_ms: now_ms() })
    }
}

impl Session {
    pub(super) fn solver_entry(&mut self, solver: u32) -> Result<&mut SolverEntry, Error> {
        self.solvers.get_mut(solver).map(Box::as_mut).ok_or(Error::Disposed("solver"))
    }

    /// Waits for what other calls left unfinished and brings the solver up to date with its problem.
    pub(super) fn prepare(&mut self, solver: u32) -> Result<(), Error> {
        let problem = self.solver_entry(solver)?.problem;
        self.idle(problem)?;
        let Some(entry) = self.solvers.get_mut(solver) else { return Err(Error::Disposed("solver")) };
        let Some(owner) = self.problems.get_mut(problem) else { return Err(Error::Disposed("problem")) };
        entry.solver.prepare(&mut self.device, &mut self.registry, &mut owner.problem)
    }

    /// A task that lays a problem out in time slices, where that takes long: a solver finds it done.
    pub fn lay_out(&mut self, problem: u32) -> Result<Option<u32>, Error> {
        if self.idle(problem)?.0.problem.unplaced() < LONG {
            return Ok(None);
        }
        self.start_task(problem, Task::LayOut(LayingOut { problem, begun: false, next: None })).map(Some)
    }

    /// Starts a task of a problem that is laid out: of one that takes long in time slices, before the task begins.
    pub(super) fn once_laid_out(
        &mut self,
        problem: u32,
        begin: impl FnOnce(&mut Self) -> Result<Task, Error> + Send + 'static,
    ) -> Result<u32, Error> {
        let (entry, device, registry) = self.idle(problem)?;
        let task = if entry.problem.unplaced() < LONG {
            entry.problem.lay_out(device, registry)?;
            begin(self)?
        } else {
            Task::LayOut(LayingOut { problem, begun: true, next: Some(Box::new(begin)) })
        };
        self.start_task(problem, task)
    }

    pub(super) fn resume_layout(&mut self, running: &mut Task, deadline: f64) -> Result<Progress, Error> {
        let Task::LayOut(laying) = running else { return Err(Error::Disposed("task")) };
        if !std::mem::replace(&mut laying.begun, true) {
            return Ok(Progress::Yielded);
        }
        let (entry, device, registry) = self.entry(laying.problem)?;
        if !entry.problem.lay_out_until(device, registry, deadline)? {
            return Ok(Progress::Yielded);
        }
        let Some(begin) = laying.next.take() else { return Ok(Progress::Values(Vec::new())) };
        *running = begin(self)?;
        Ok(Progress::Yielded)
    }

    /// A task that solves to termination, or makes one step.
    pub fn solve(&mut self, solver: u32, mode: SolveMode) -> Result<u32, Error> {
        let problem = self.solver_entry(solver)?.problem;
        self.idle(problem)?;
        let Some(entry) = self.solvers.get_mut(solver) else { return Err(Error::Disposed("solver")) };
        match mode {
            SolveMode::Solve => entry.solver.begin_call(&self.device),
            SolveMode::Step => entry.solver.begin_step(&self.device),
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
        let entry = self.solvers.get_mut(solver).ok_or(Error::Disposed("solver"))?;
        let owner = self.problems.get_mut(problem).ok_or(Error::Disposed("problem"))?;
        let is_long = takes_long(&entry.solver, &owner.problem);
        if !is_long {
            entry.solver.prepare(&mut self.device, &mut self.registry, &mut owner.problem)?;
        }
        if purpose != Purpose::Report {
            entry.solver.reopen();
        }
        let task = if is_long { Task::setting_up(problem, solver, purpose) } else { self.prepared(problem, solver, purpose)? };
        self.start_task(problem, task)
    }

    /// The first solve of a solver that was just made.
    pub(super) fn first_solve(&mut self, problem: u32, solver: u32) -> Result<Task, Error> {
        let entry = self.solvers.get_mut(solver).ok_or(Error::Disposed("solver"))?;
        let owner = self.problems.get_mut(problem).ok_or(Error::Disposed("problem"))?;
        let purpose = Purpose::Solve(SolveMode::Solve);
        Ok(match takes_long(&entry.solver, &owner.problem) {
            true => Task::setting_up(problem, solver, purpose),
            false => Task::solve(problem, solver, SolveMode::Solve),
        })
    }

    /// The task for a purpose of a solver that is up to date.
    fn prepared(&mut self, problem: u32, solver: u32, purpose: Purpose) -> Result<Task, Error> {
        match purpose {
            Purpose::Solve(mode) => {
                let is_constrained = self.entry(problem)?.0.problem.enabled_constraints().next().is_some();
                if is_constrained && mode == SolveMode::Solve {
                    return self.constrained_solve(problem, solver);
                }
                Ok(Task::solve(problem, solver, mode))
            }
            Purpose::Report => {
                let entry = self.solvers.get_mut(solver).ok_or(Error::Disposed("solver"))?;
                let owner = self.problems.get_mut(problem).ok_or(Error::Disposed("problem"))?;
                entry.awaits_live = self.device.is_queue() && entry.compiled.is_none();
                let recording = entry.solver.report_now(&mut owner.problem)?;
                let play = self.device.start(recording);
                Ok(Task::playing(problem, solver, SolveMode::Solve, play))
            }
        }
    }

    /// Goes on with a set-up; at its end the task is what it was set up for.
    pub(super) fn resume_set_up(&mut self, running: &mut Task, deadline: f64) -> Result<Progress, Error> {
        let &mut Task::SettingUp(SettingUp { problem, solver, purpose, since_ms }) = running else { return Err(Error::Disposed("task")) };
        let entry = self.solvers.get_mut(solver).ok_or(Error::Disposed("solver"))?;
        let owner = self.problems.get_mut(problem).ok_or(Error::Disposed("problem"))?;
        let is_solve = purpose != Purpose::Report;
        if let Some(why) = entry.solver.ends_set_up(since_ms).filter(|_| is_solve) {
            return Err(Error::StoppedSetUp(why));
        }
        if entry.solver.prepare_until(&mut self.device, &mut self.registry, &mut owner.problem, deadline)? {
            if is_solve {
                entry.solver.began(since_ms);
            }
            *running = self.prepared(problem, solver, purpose)?;
        }
        Ok(Progress::Yielded)
    }

    /// Live use: a GPU gets `iterations` steps enqueued at once and nothing is read back; the CPU works until
    /// `budget_ms` are over or the steps are done, and goes on within a step the next time.
    ///
    /// While kernels are still being compiled, or the solver is set up, a call makes no step. Gives what is known of the solver's steps: on the CPU what
    /// is, on a GPU what was some calls ago, and nothing before that has come.
    pub fn advance(&mut self, solver: u32, iterations: u32, budget_ms: f64) -> Result<Option<Advanced>, Error> {
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
        let is_refused = self.device.has_refused();
        if is_refused || !self.solver_entry(solver)?.solver.is_of(structure) || !self.entry(problem)?.0.problem.has_enabled_terms() {
            self.idle(problem)?;
            let entry = self.solvers.get_mut(solver).ok_or(Error::Disposed("solver"))?;
            let owner = self.problems.get_mut(problem).ok_or(Error::Disposed("problem"))?;
            // A large problem's solver is set up over several calls.
            let until = if owner.problem.instances() >= LONG { deadline } else { f64::INFINITY };
            if !entry.solver.prepare_until(&mut self.device, &mut self.registry, &mut owner.problem, until)? {
                return Ok(entry.live_steps.known(false));
            }
        }
        // Before a step is recorded: what it takes from the problem is uploaded once.
        let is_compiling = self.compile_live(solver)?.is_some();
        let Some(entry) = self.solvers.get_mut(solver) else { return Err(Error::Disposed("solver")) };
        let Some(owner) = self.problems.get_mut(problem) else { return Err(Error::Disposed("problem")) };
        if is_compiling {
            return Ok(entry.live_steps.known(entry.live.is_some()));
        }
        entry.solver.begin_step(&self.device);
        for _ in 0..iterations {
            if self.device.is_queue() {
                let recording = entry.solver.live_step(&mut owner.problem)?;
                self.device.enqueue(&recording)?;
                entry.live_steps.enqueue();
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
        entry.live_steps.look(&mut self.device, entry.solver.step_counts())?;
        Ok(entry.live_steps.known(entry.live.is_some()))
    }

    /// Begins to compile what live steps of a prepared solver need on a GPU; the signal to wait for until all of it is there, if anything.
    pub fn compile_live(&mut self, solver: u32) -> Result<Option<Signal>, Error> {
        let Some(entry) = self.solvers.get_mut(solver) else { return Err(Error::Disposed("solver")) };
        let Some(owner) = self.problems.get_mut(entry.problem) else { return Err(Error::Disposed("problem")) };
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
        for entry in self.solvers.values_mut().filter(|entry| entry.problem == problem) {
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
        let Some(mut entry) = self.solvers.remove(solver) else { return };
        if let Some(play) = &mut entry.live {
            // Whatever goes wrong here, the solver is gone afterwards.
            let _ = self.device.resume(play, f64::INFINITY);
        }
        give_up(&mut self.device, &mut entry.solver);
        entry.solver.buffers().into_iter().for_each(|buffer| self.device.free(buffer));
    }
}
