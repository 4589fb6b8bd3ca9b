//! Tasks: what takes longer than one call.

use super::backward::{BackwardTask, Gradients};
use super::calibration::Calibration;
use super::checkpoints::Saving;
use super::clusters::ClusterTask;
use super::compress::Compress;
use super::constrained::Constrained;
use super::costs::Costs;
use super::covariances::{BlocksTask, CovarianceTask, Covaried};
use super::graduated::{Graduated, GraduatedTask};
use super::indices::{Answer, IndexTask};
use super::inspect::Inspection;
use super::measure::Measure;
use super::mirrors::Glimpse;
use super::refined::{Refining, of_waiting};
use super::solvers::{LayingOut, SettingUp};
use super::tensors::TensorTask;
use super::tune::Tune;
use super::{Entry, Session, Solver, SolverEntry};
use leastwise_anneal::cluster::Outcome;
use leastwise_base::clock::now_ms;
use leastwise_device::{Device, Play, Playing, Signal};
use leastwise_error::Error;
use leastwise_solve::{Iteration, Next, Report};

/// What became of a task after one [`Session::resume`].
pub enum Progress {
    /// The time slice is used up: call again.
    Yielded,
    /// The GPU works: call again when the signal is set.
    Waiting(Signal),
    /// A solver completed one iteration: call again.
    Iteration(Iteration),
    /// Values of a read or of term costs.
    Values(Vec<f64>),
    Report(Box<Report>),
    /// A single step is over; its iteration was reported before.
    Stepped,
    /// So much is done: call again.
    Partly {
        done: f64,
        total: f64,
    },
    Clustering(Box<Outcome>),
    /// Of an index.
    Answer(Answer),
    Covariance(Box<Covaried>),
    Gradients(Box<Gradients>),
    Graduated(Box<Graduated>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SolveMode {
    Solve,
    /// One iteration.
    Step,
}

pub(super) enum Task {
    Solve {
        problem: u32,
        solver: u32,
        mode: SolveMode,
        play: Option<Play>,
        readback: Vec<f64>,
        stepped: bool,
        compiling: Option<f64>,
        /// Whether the host is solving the system of a step.
        solving: bool,
    },
    SettingUp(SettingUp),
    /// A problem that is being laid out.
    LayOut(LayingOut),
    Constrained(Box<Constrained>),
    Refining(Box<Refining>),
    Read {
        problem: u32,
        /// The table, and the problem's revision when it was asked for.
        table: u32,
        revision: u64,
        play: Play,
    },
    /// What was read between the steps of a solve that goes on.
    Values(Vec<f64>),
    /// The same where it goes on in mixed precision.
    Glimpse(Box<Glimpse>),
    Costs(Costs),
    Inspect(Box<Inspection>),
    Measure(Measure),
    Tune(Box<Tune>),
    Cluster(Box<ClusterTask>),
    Compress(Box<Compress>),
    Index(IndexTask),
    Covariance(CovarianceTask),
    Blocks(BlocksTask),
    Save(Saving),
    Backward(BackwardTask),
    Graduated(Box<GraduatedTask>),
    Tensors(Box<TensorTask>),
    Calibration(Box<Calibration>),
    /// What went wrong while another task waited for it.
    Failed(Error),
}

impl Task {
    pub(super) fn solve(problem: u32, solver: u32, mode: SolveMode) -> Self {
        Self::Solve { problem, solver, mode, play: None, readback: Vec::new(), stepped: false, compiling: None, solving: false }
    }

    pub(super) fn playing(problem: u32, solver: u32, mode: SolveMode, play: Play) -> Self {
        Self::Solve { problem, solver, mode, play: Some(play), readback: Vec::new(), stepped: false, compiling: None, solving: false }
    }

    pub(super) fn solver(&self) -> Option<u32> {
        match self {
            Self::Solve { solver, .. } => Some(*solver),
            Self::SettingUp(task) => Some(task.solver),
            Self::Constrained(task) => Some(task.solver),
            Self::Refining(task) => Some(task.solver),
            Self::Graduated(task) => Some(task.solver),
            _ => None,
        }
    }

    /// Whether it is a solve with no step on its way.
    pub(super) fn is_between_steps(&self) -> bool {
        match self {
            Self::Solve { play, compiling, solving, .. } => play.is_none() && compiling.is_none() && !solving,
            Self::Constrained(task) => task.is_between_steps(),
            Self::Refining(task) => task.idle_mirror().is_some(),
            _ => false,
        }
    }

    /// Whether it waits for kernels, or it can't be told: only of a plain solve can it.
    fn awaits_kernels(&self) -> bool {
        !matches!(self, Self::Solve { compiling: None, .. } | Self::SettingUp(_) | Self::LayOut(_))
    }

    /// What goes on in mixed precision, if that is what it does.
    pub(super) fn refining(&mut self) -> Option<&mut Refining> {
        match self {
            Self::Refining(task) => Some(task),
            Self::Graduated(task) => task.refining(),
            _ => None,
        }
    }

    /// The recording on the session's device that it plays, where that brings the problem's uploads along.
    fn reading_or_solving(&mut self) -> Option<&mut Play> {
        match self {
            Self::Solve { play, .. } => play.as_mut(),
            Self::Read { play, .. } => Some(play),
            Self::Constrained(task) => task.playing(),
            Self::Covariance(task) => task.reading(),
            Self::Backward(task) => task.reading(),
            Self::Graduated(task) => task.playing(),
            Self::Costs(costs) => costs.play.as_mut(),
            _ => None,
        }
    }

    fn problem(&self) -> Option<u32> {
        match self {
            Self::Solve { problem, .. } | Self::Read { problem, .. } => Some(*problem),
            Self::LayOut(laying) => Some(laying.problem),
            Self::SettingUp(task) => Some(task.problem),
            Self::Constrained(task) => Some(task.problem),
            Self::Refining(task) => Some(task.problem),
            Self::Values(_) | Self::Glimpse(_) => None,
            Self::Costs(costs) => Some(costs.problem),
            Self::Inspect(inspection) => Some(inspection.problem),
            Self::Measure(measure) => measure.problem,
            Self::Tune(tune) => Some(tune.problem),
            Self::Covariance(task) => Some(task.problem),
            Self::Save(saving) => Some(saving.problem),
            Self::Backward(task) => Some(task.problem),
            Self::Graduated(task) => Some(task.problem),
            Self::Cluster(_)
            | Self::Compress(_)
            | Self::Index(_)
            | Self::Blocks(_)
            | Self::Tensors(_)
            | Self::Calibration(_)
            | Self::Failed(_) => None,
        }
    }
}

/// Has a solver give up the system that it is solving, and plays what that leaves.
pub(super) fn give_up(device: &mut Device, solver: &mut Solver) {
    let recording = solver.give_up();
    if !recording.commands.is_empty() {
        let mut play = device.start(recording);
        // Nobody waits for it any more.
        let _ = device.resume(&mut play, f64::INFINITY);
    }
}

impl Session {
    /// Goes on with a task for at most `budget_ms` (CPU) or until the GPU must be waited for.
    /// An error ends the task.
    pub fn resume(&mut self, task: u32, budget_ms: f64) -> Result<Progress, Error> {
        let deadline = now_ms() + budget_ms;
        match self.play_reads_before(task, deadline) {
            Ok(None) => {}
            Ok(Some(progress)) => return Ok(progress),
            Err(error) => {
                self.drop_task(task);
                return Err(error);
            }
        }
        let mut running = self.tasks.remove(&task).ok_or(Error::Disposed("problem or solver"))?;
        let progress = match &mut running {
            Task::Read { problem, table, revision, play } => {
                self.device.resume(play, deadline).map_err(Error::from).map(|playing| match playing {
                    Playing::Finished(values) => {
                        if let Some(entry) = self.problems.get_mut(*problem) {
                            entry.problem.learn(*table, *revision, &values);
                        }
                        Progress::Values(values)
                    }
                    waiting => of_waiting(waiting),
                })
            }
            Task::LayOut(_) => self.resume_layout(&mut running, deadline),
            Task::SettingUp(_) => self.resume_set_up(&mut running, deadline),
            Task::Values(values) => Ok(Progress::Values(std::mem::take(values))),
            Task::Glimpse(glimpse) => self.resume_glimpse(glimpse, deadline).map(|playing| match playing {
                Playing::Finished(values) => Progress::Values(values),
                waiting => of_waiting(waiting),
            }),
            Task::Costs(costs) => self.resume_costs(costs, deadline),
            Task::Inspect(inspection) => self.resume_inspection(inspection, deadline),
            Task::Measure(measure) => self.resume_measure(measure, deadline),
            Task::Tune(tune) => self.resume_tune(tune, deadline),
            Task::Cluster(cluster) => self.resume_cluster(cluster, deadline),
            Task::Compress(compress) => self.resume_compress(compress, budget_ms),
            Task::Index(task) => self.resume_index(task, deadline),
            Task::Covariance(_) => self.resume_covariance(&mut running, deadline),
            Task::Blocks(blocks) => self.resume_blocks(blocks, deadline),
            Task::Constrained(task) => self.resume_constrained(task, deadline),
            Task::Save(saving) => self.resume_saving(saving, deadline),
            Task::Backward(_) => self.resume_backward(&mut running, deadline),
            Task::Graduated(task) => self.resume_graduated(task, deadline),
            Task::Tensors(tensors) => self.resume_tensors(task, tensors, deadline),
            Task::Calibration(calibration) => self.resume_calibration(task, calibration, deadline),
            Task::Failed(error) => Err(error.clone()),
            Task::Refining(task) => self.resume_refining(task, deadline),
            Task::Solve { .. } => self.resume_solve(&mut running, deadline).and_then(|progress| self.refined(&mut running, progress)),
        };
        let unfinished =
            matches!(progress, Ok(Progress::Yielded | Progress::Waiting(_) | Progress::Iteration(_) | Progress::Partly { .. }));
        if unfinished {
            self.tasks.insert(task, running);
        } else {
            self.end(task, running);
        }
        progress
    }

    /// Plays the reads of a problem that were asked for before this one, which may bring uploads, and keeps their values for whoever
    /// asks. What the first of them waits for, this one does.
    fn play_reads_before(&mut self, task: u32, deadline: f64) -> Result<Option<Progress>, Error> {
        let Some(Task::Read { problem, .. }) = self.tasks.get(&task) else { return Ok(None) };
        let problem = *problem;
        loop {
            let reads = &self.entry(problem)?.0.reads;
            let Some(first) = reads.first().copied().filter(|first| *first != task && reads.contains(&task)) else { return Ok(None) };
            let Some(Task::Read { play, .. }) = self.tasks.get_mut(&first) else { return Ok(None) };
            match self.device.resume(play, deadline)? {
                Playing::Yielded => return Ok(Some(Progress::Yielded)),
                Playing::Waiting(signal) => return Ok(Some(Progress::Waiting(signal))),
                Playing::Finished(values) => {
                    if let Some(Task::Read { table, revision, .. }) = self.tasks.get(&first)
                        && let Some(entry) = self.problems.get_mut(problem)
                    {
                        entry.problem.learn(*table, *revision, &values);
                    }
                    self.drop_task(first);
                    self.tasks.insert(first, Task::Values(values));
                }
            }
        }
    }

    /// Goes on in more precision where that is what ended a solve.
    fn refined(&mut self, task: &mut Task, mut progress: Progress) -> Result<Progress, Error> {
        let (Progress::Report(report), &mut Task::Solve { problem, solver, mode: SolveMode::Solve, .. }) = (&mut progress, &mut *task)
        else {
            return Ok(progress);
        };
        match self.refinement(problem, solver, report)? {
            None => Ok(progress),
            Some(refining) => {
                *task = Task::Refining(refining);
                Ok(Progress::Yielded)
            }
        }
    }

    pub(super) fn resume_solve(&mut self, task: &mut Task, deadline: f64) -> Result<Progress, Error> {
        let Task::Solve { problem, solver, mode, play, readback, stepped, compiling, solving } = task else {
            return Err(Error::Disposed("task"));
        };
        if *mode == SolveMode::Step && *stepped {
            return Ok(Progress::Stepped);
        }
        let Some(SolverEntry { solver: method, edits_of, awaits_live, .. }) = self.solvers.get_mut(*solver).map(Box::as_mut) else {
            return Err(Error::Disposed("solver"));
        };
        let Some(Entry { problem: unknowns, .. }) = self.problems.get_mut(*problem).map(Box::as_mut) else {
            return Err(Error::Disposed("problem"));
        };
        loop {
            if let Some(current) = play {
                if *awaits_live {
                    if let Some(signal) = self.device.compile(&method.live_kernels(unknowns)?)? {
                        compiling.get_or_insert_with(now_ms);
                        return Ok(Progress::Waiting(signal));
                    }
                    *awaits_live = false;
                }
                if let Some(signal) = self.device.compile_for(current)? {
                    compiling.get_or_insert_with(now_ms);
                    return Ok(Progress::Waiting(signal));
                }
                if let Some(since) = compiling.take() {
                    method.compile_ms += now_ms() - since;
                }
                if method.is_urged() {
                    method.hurry(&mut self.device)?;
                }
                match self.device.resume(current, deadline)? {
                    Playing::Yielded => return Ok(Progress::Yielded),
                    Playing::Waiting(signal) => return Ok(Progress::Waiting(signal)),
                    Playing::Finished(values) => *readback = values,
                }
                *play = None;
            }
            let next = method.advance(unknowns, &self.device, readback, deadline)?;
            *solving = matches!(next, Next::Yielded);
            match next {
                Next::Run(recording) => {
                    // Along with the first step's, so that edits compile nothing.
                    if *edits_of != Some(unknowns.structure) {
                        *edits_of = Some(unknowns.structure);
                        self.device.compile(&method.edit_kernels(unknowns)?)?;
                    }
                    *play = Some(self.device.start(recording));
                }
                Next::Yielded => return Ok(Progress::Yielded),
                Next::Iteration(iteration) => {
                    *stepped = true;
                    return Ok(Progress::Iteration(iteration));
                }
                Next::Done(report) => return Ok(Progress::Report(report)),
                Next::Blame => {
                    let costs = Costs::blaming(&mut self.device, unknowns, *problem)?;
                    *task = Task::Costs(costs);
                    return Ok(Progress::Yielded);
                }
            }
        }
    }

    /// Whether a task waits for kernels, or it can't be told.
    pub fn awaits_kernels(&self, task: u32) -> bool {
        self.tasks.get(&task).is_none_or(Task::awaits_kernels)
    }

    /// Whether a task is there to be resumed.
    pub fn has_task(&self, task: u32) -> bool {
        self.tasks.contains_key(&task)
    }

    /// Ends a running solve after the iteration that is being played, whose inner iterations end at once.
    pub fn stop(&mut self, task: u32, reason: &str) {
        if let Some(Task::Cluster(cluster)) = self.tasks.get_mut(&task) {
            cluster.clustering.stop(reason);
        }
        if let Some(Task::Graduated(graduated)) = self.tasks.get_mut(&task) {
            graduated.stopped = true;
        }
        self.stop_refining(task, reason);
        let solver = self.tasks.get(&task).and_then(Task::solver);
        if let Some(entry) = solver.and_then(|solver| self.solvers.get_mut(solver)) {
            entry.solver.stop(reason);
        }
    }

    /// Drops a task that will not be resumed. What it was in the midst of is finished on the CPU and left out on a GPU.
    pub fn cancel(&mut self, task: u32) {
        if let Some(play @ Play::Cpu(_)) = self.tasks.get_mut(&task).and_then(Task::reading_or_solving) {
            // Errors end a task anyway.
            let _ = self.device.resume(play, f64::INFINITY);
        }
        let solver = self.tasks.get(&task).and_then(Task::solver);
        if let Some(entry) = solver.and_then(|solver| self.solvers.get_mut(solver)) {
            give_up(&mut self.device, &mut entry.solver);
        }
        self.drop_task(task);
    }

    pub(super) fn drop_task(&mut self, task: u32) {
        if let Some(ended) = self.tasks.remove(&task) {
            self.end(task, ended);
        }
    }

    fn end(&mut self, number: u32, mut task: Task) {
        if let Some(play) = task.reading_or_solving() {
            self.device.abandon(play);
        }
        if let Some(entry) = task.problem().and_then(|problem| self.problems.get_mut(problem)) {
            entry.running = entry.running.filter(|running| *running != number);
            entry.reads.retain(|read| *read != number);
        }
        match task {
            Task::Costs(costs) => costs.buffers().into_iter().for_each(|buffer| self.device.free(buffer)),
            Task::Inspect(inspection) => inspection.buffers().into_iter().for_each(|buffer| self.device.free(buffer)),
            Task::Measure(measure) => measure.buffers.into_iter().for_each(|buffer| self.device.free(buffer)),
            Task::Tune(tune) => self.end_tune(*tune),
            Task::Cluster(cluster) => self.end_cluster(*cluster),
            Task::Compress(compress) => self.end_compress(&compress),
            Task::Index(task) => self.end_index(task),
            Task::Covariance(task) => self.end_covariance(task),
            Task::Constrained(task) => self.end(number, task.into_inner()),
            Task::Backward(task) => self.end_backward(task),
            Task::Graduated(task) => self.end_graduated(*task),
            Task::Refining(task) => self.end_refining(*task),
            Task::Tensors(task) => self.end_tensors(number, *task),
            Task::Calibration(task) => self.end_calibration(number, *task),
            Task::Failed(_)
            | Task::SettingUp(_)
            | Task::LayOut(_)
            | Task::Solve { .. }
            | Task::Read { .. }
            | Task::Values(_)
            | Task::Glimpse(_)
            | Task::Blocks(_)
            | Task::Save(_) => {}
        }
    }
}
