//! Jobs: what takes longer than one call. A task is a job under a number.

use super::indices::Answer;
use super::{Session, covariances::Covaried};
use leastwise_anneal::cluster::Outcome;
use leastwise_base::clock::now_ms;
use leastwise_device::{Play, Signal};
use leastwise_error::Error;
use leastwise_outer::{Gradients, Graduated, MixedPrecision, Turn};
use leastwise_solve::{Iteration, Report};

/// Outcome of one [`Session::resume`] of a task.
pub enum Progress {
    /// The time slice is used up: call again.
    Yielded,
    /// The GPU works: call again when the signal is set.
    Waiting(Signal),
    /// A solver completed one iteration: call again.
    Iteration(Iteration),
    /// Values of a read or of term costs.
    Values(Vec<f64>),
    /// Report of a solve.
    Report(Box<Report>),
    /// A single step is over; its iteration was reported before.
    Stepped,
    /// So much is done: call again.
    Partly {
        /// Work done, in the units of `total`.
        done: f64,
        /// Work in all.
        total: f64,
    },
    /// Result of a clustering.
    Clustering(Box<Outcome>),
    /// Answer of an index.
    Answer(Answer),
    /// A new covariance.
    Covariance(Box<Covaried>),
    /// Gradients through a solve.
    Gradients(Box<Gradients>),
    /// Result of a graduated solve.
    Graduated(Box<Graduated>),
}

impl Progress {
    /// Progress of a state machine; `over` makes it of its outcome.
    pub(super) fn of<T>(turn: Turn<T>, over: impl FnOnce(T) -> Self) -> Self {
        match turn {
            Turn::Yielded => Self::Yielded,
            Turn::Waiting(signal) => Self::Waiting(signal),
            Turn::Iteration(iteration) => Self::Iteration(iteration),
            Turn::Partly { done, total } => Self::Partly { done, total },
            Turn::Over(outcome) => over(outcome),
        }
    }

    /// True if the task is to be called again.
    fn is_unfinished(&self) -> bool {
        matches!(self, Self::Yielded | Self::Waiting(_) | Self::Iteration(_) | Self::Partly { .. })
    }
}

/// Outcome of one slice of a job.
pub(super) enum Step {
    Progress(Progress),
    /// The task goes on as another job.
    Becomes(Box<dyn Job>),
}

impl From<Progress> for Step {
    fn from(progress: Progress) -> Self {
        Self::Progress(progress)
    }
}

/// Values that may be sent to another thread, where sessions have threads.
#[cfg(not(target_arch = "wasm32"))]
pub(super) trait Portable: Send {}
#[cfg(not(target_arch = "wasm32"))]
impl<T: Send> Portable for T {}
#[cfg(target_arch = "wasm32")]
pub(super) trait Portable {}
#[cfg(target_arch = "wasm32")]
impl<T> Portable for T {}

/// A long piece of work in slices.
pub(super) trait Job: Portable {
    /// Goes on until the deadline, or until the GPU must be waited for. An error ends it. `task` is its own number.
    fn resume(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Step, Error>;

    /// Ends it after the iteration that is being played, if it is a kind that can be ended so.
    fn stop(&mut self, session: &mut Session, reason: &str) {
        if let Some(entry) = self.solver().and_then(|solver| session.solvers.get_mut(solver)) {
            entry.driven.solver.stop(reason);
        }
    }

    /// Prepares it for not being resumed any more: on the CPU what it is in the midst of is finished, on a GPU it is left out.
    fn cancel(&mut self, session: &mut Session) {
        if let Some(play @ Play::Cpu(_)) = self.playing() {
            // Errors end a task anyway.
            let _ = session.devices.main.resume(play, f64::INFINITY);
        }
        if let Some(entry) = self.solver().and_then(|solver| session.solvers.get_mut(solver)) {
            entry.driven.give_up(&mut session.devices.main);
        }
    }

    /// Frees what it has on devices, whether it came to its end or not. Its problem may be gone.
    fn free(self: Box<Self>, session: &mut Session, task: u32);

    /// The problem that is busy with it.
    fn problem(&self) -> Option<u32> {
        None
    }

    /// The solver that it drives.
    fn solver(&self) -> Option<u32> {
        None
    }

    /// The recording on the session's device that it plays, where that brings the problem's uploads along.
    fn playing(&mut self) -> Option<&mut Play> {
        None
    }

    /// True for a solve that has no step on its way.
    fn is_between_steps(&self) -> bool {
        false
    }

    /// True if it waits for kernels, or may do so.
    fn awaits_kernels(&self) -> bool {
        true
    }

    /// True if it makes calls of all ranks.
    #[cfg(not(target_arch = "wasm32"))]
    fn is_collective(&self) -> bool {
        false
    }

    /// True if a checkpoint can be made of its solver now, in its midst; or the reason that none ever can.
    fn may_save(&self) -> Result<bool, &'static str> {
        Ok(false)
    }

    /// The solve of ranks that goes on when it is over.
    #[cfg(not(target_arch = "wasm32"))]
    fn precedes(&self) -> Option<u32> {
        None
    }

    /// The solve by ranks that it is in the midst of.
    #[cfg(not(target_arch = "wasm32"))]
    fn ranked(&self) -> Option<&leastwise_ranks::RankedSolve> {
        None
    }

    /// What a checkpoint in its midst has besides its solver's sections.
    fn outer(&self) -> Option<Vec<u8>> {
        None
    }

    /// The continuation in mixed precision that it is.
    fn refinement(&self) -> Option<&MixedPrecision> {
        None
    }
}

/// A task that came to its end while another waited for it.
pub(super) struct Ended(Option<Result<Progress, Error>>);

impl Ended {
    pub fn with(values: Vec<f64>) -> Self {
        Self(Some(Ok(Progress::Values(values))))
    }
}

impl Job for Ended {
    fn resume(&mut self, _: &mut Session, _: u32, _: f64) -> Result<Step, Error> {
        self.0.take().unwrap_or(Err(Error::Internal("a task that is over was resumed"))).map(Step::from)
    }

    fn free(self: Box<Self>, _: &mut Session, _: u32) {}
}

impl Session {
    /// Goes on with a task for at most `budget_ms` (CPU) or until the GPU must be waited for.
    /// An error ends the task.
    pub fn resume(&mut self, task: u32, budget_ms: f64) -> Result<Progress, Error> {
        let deadline = now_ms() + budget_ms;
        let mut job = self.tasks.remove(&task).ok_or(Error::Disposed("problem or solver"))?;
        match job.resume(self, task, deadline) {
            Ok(Step::Progress(progress)) if progress.is_unfinished() => {
                self.tasks.insert(task, job);
                Ok(progress)
            }
            Ok(Step::Progress(progress)) => {
                self.end(task, job);
                Ok(progress)
            }
            Ok(Step::Becomes(next)) => {
                job.free(self, task);
                self.tasks.insert(task, next);
                Ok(Progress::Yielded)
            }
            Err(error) => {
                self.end(task, job);
                Err(error)
            }
        }
    }

    /// The same where nobody wants to hear of single iterations: solves go on from one to the next until the time is up.
    pub fn resume_quietly(&mut self, task: u32, budget_ms: f64) -> Result<Progress, Error> {
        let until = now_ms() + budget_ms;
        loop {
            match self.resume(task, until - now_ms())? {
                Progress::Iteration(_) if now_ms() < until => {}
                Progress::Iteration(_) => return Ok(Progress::Yielded),
                progress => return Ok(progress),
            }
        }
    }

    /// Goes on with a task that another waits for. Gives its progress; nothing when it is over, and its outcome is kept for whoever
    /// resumes it.
    pub(super) fn resume_before(&mut self, first: u32, deadline: f64) -> Option<Progress> {
        let mut job = self.tasks.remove(&first)?;
        let outcome = match job.resume(self, first, deadline) {
            Ok(Step::Progress(progress)) if progress.is_unfinished() => {
                self.tasks.insert(first, job);
                return Some(progress);
            }
            Ok(Step::Becomes(next)) => {
                job.free(self, first);
                self.tasks.insert(first, next);
                return Some(Progress::Yielded);
            }
            Ok(Step::Progress(progress)) => Ok(progress),
            Err(error) => Err(error),
        };
        self.end(first, job);
        self.tasks.insert(first, Box::new(Ended(Some(outcome))));
        None
    }

    /// True if a task waits for kernels, or it can't be told.
    pub fn awaits_kernels(&self, task: u32) -> bool {
        self.tasks.get(&task).is_none_or(|job| job.awaits_kernels())
    }

    /// True if a task is there to be resumed.
    pub fn has_task(&self, task: u32) -> bool {
        self.tasks.contains_key(&task)
    }

    /// True if a task of all ranks that was begun before this one is not over: ranks begin tasks in the same order, and make the calls of
    /// one after those of the other.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn is_behind(&self, task: u32) -> bool {
        self.tasks.iter().any(|(other, job)| *other < task && job.is_collective())
    }

    /// True if a task with a number below `before` is to be over before this solve of ranks goes on.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn is_preceded(&self, solve: u32, before: u32) -> bool {
        self.tasks.iter().any(|(other, job)| *other < before && job.precedes() == Some(solve))
    }

    /// Ends a running solve after the iteration that is being played, whose inner iterations end at once.
    pub fn stop(&mut self, task: u32, reason: &str) {
        if let Some(mut job) = self.tasks.remove(&task) {
            job.stop(self, reason);
            self.tasks.insert(task, job);
        }
    }

    /// Drops a task that will not be resumed. What it was in the midst of is finished on the CPU and left out on a GPU.
    pub fn cancel(&mut self, task: u32) {
        if let Some(mut job) = self.tasks.remove(&task) {
            job.cancel(self);
            self.end(task, job);
        }
    }

    pub(super) fn drop_task(&mut self, task: u32) {
        if let Some(job) = self.tasks.remove(&task) {
            self.end(task, job);
        }
    }

    fn end(&mut self, task: u32, mut job: Box<dyn Job>) {
        if let Some(play) = job.playing() {
            self.devices.main.abandon(play);
        }
        let problem = job.problem();
        if let Some(entry) = problem.and_then(|problem| self.problems.get_mut(problem)) {
            entry.running = entry.running.filter(|running| *running != task);
            entry.reads.retain(|read| *read != task);
        }
        job.free(self, task);
        problem.into_iter().for_each(|problem| self.let_go(problem));
    }

    /// Adds a task that its problem is busy with.
    pub(super) fn start_task(&mut self, problem: u32, job: impl Job + 'static) -> Result<u32, Error> {
        self.start_boxed(problem, Box::new(job))
    }

    pub(super) fn start_boxed(&mut self, problem: u32, job: Box<dyn Job>) -> Result<u32, Error> {
        self.entry(problem)?.0.running = Some(self.next_task);
        Ok(self.add_boxed(job))
    }

    pub(super) fn add_task(&mut self, job: impl Job + 'static) -> u32 {
        self.add_boxed(Box::new(job))
    }

    fn add_boxed(&mut self, job: Box<dyn Job>) -> u32 {
        self.tasks.insert(self.next_task, job);
        self.next_task += 1;
        self.next_task - 1
    }
}
