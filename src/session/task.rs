//! Tasks: what takes longer than one call.

use super::measure::Measure;
use super::{Entry, Session, SolverEntry};
use crate::clock::now_ms;
use crate::device::{BufferId, Command, Device, Play, Playing, Recording, Signal, Slice, binding::*};
use crate::error::Error;
use crate::problem::Problem;
use crate::solve::{Iteration, Next, Report, evaluate, state};

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
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SolveMode {
    Solve,
    /// One iteration.
    Step,
}

pub(super) enum Task {
    Solve { problem: u32, solver: u32, mode: SolveMode, play: Option<Play>, readback: Vec<f64>, stepped: bool, compiling: Option<f64> },
    Read { problem: u32, play: Play },
    Costs(Costs),
    Measure(Measure),
}

impl Task {
    pub(super) fn solve(problem: u32, solver: u32, mode: SolveMode) -> Self {
        Self::Solve { problem, solver, mode, play: None, readback: Vec::new(), stepped: false, compiling: None }
    }

    pub(super) fn playing(problem: u32, solver: u32, mode: SolveMode, play: Play) -> Self {
        Self::Solve { problem, solver, mode, play: Some(play), readback: Vec::new(), stepped: false, compiling: None }
    }

    pub(super) fn solver(&self) -> Option<u32> {
        match self {
            Self::Solve { solver, .. } => Some(*solver),
            _ => None,
        }
    }

    fn problem(&self) -> Option<u32> {
        match self {
            Self::Solve { problem, .. } | Self::Read { problem, .. } => Some(*problem),
            Self::Costs(costs) => Some(costs.problem),
            Self::Measure(measure) => measure.problem,
        }
    }
}

/// The costs of every instance of some terms, chunk by chunk.
pub(super) struct Costs {
    problem: u32,
    /// Terms still to do, the next one last.
    terms: Vec<u32>,
    chunk: usize,
    scratch: Slice,
    state: Slice,
    play: Option<Play>,
    values: Vec<f64>,
    /// Whether this looks for the first residual that is not finite.
    blame: bool,
}

impl Costs {
    pub(super) fn new(device: &mut Device, problem: &Problem, id: u32, terms: Vec<u32>, blame: bool) -> Result<Self, Error> {
        let longest = problem.terms().flat_map(|term| term.chunks.iter().map(|chunk| term.scratch_len(chunk))).max();
        let scratch = Session::scratch(device, longest.unwrap_or(1), "instance costs")?;
        let state = Session::scratch(device, state::STATE_LEN, "state")?;
        Ok(Self { problem: id, terms, chunk: 0, scratch, state, play: None, values: Vec::new(), blame })
    }

    fn buffers(&self) -> [BufferId; 2] {
        [self.scratch.buffer, self.state.buffer]
    }

    /// Starts the next chunk; `None` when all are done.
    fn next(&mut self, problem: &mut Problem, device: &mut Device) -> Result<Option<Play>, Error> {
        let Some(&number) = self.terms.last() else { return Ok(None) };
        let mut recording = Recording { commands: problem.take_uploads() };
        let term = problem.term(number)?;
        let chunk = &term.chunks[self.chunk];
        let bindings = [(ARENA, problem.arenas()?.0), (VECTOR_OUT, self.scratch), (STATE, self.state)];
        recording.push(evaluate(term.kernels.linearize, chunk, &bindings));
        recording.push(evaluate(term.kernels.energy, chunk, &bindings));
        recording.push(Command::Read { slice: Slice { len: chunk.count, ..self.scratch } });
        Ok(Some(device.start(recording)))
    }

    /// Takes a chunk's values.
    fn take(&mut self, problem: &Problem, values: Vec<f64>) -> Result<(), Error> {
        let Some(&number) = self.terms.last() else { return Ok(()) };
        let term = problem.term(number)?;
        if self.blame
            && let Some(place) = values.iter().position(|value| !value.is_finite())
        {
            let instance = term.chunks[self.chunk].first + place as u32;
            return Err(Error::NonFiniteResidual { term: term.name.clone(), instance });
        }
        if !self.blame {
            self.values.extend(values);
        }
        self.chunk += 1;
        if self.chunk == term.chunks.len() {
            self.chunk = 0;
            self.terms.pop();
        }
        Ok(())
    }
}

impl Session {
    /// Goes on with a task for at most `budget_ms` (CPU) or until the GPU must be waited for.
    /// An error ends the task.
    pub fn resume(&mut self, task: u32, budget_ms: f64) -> Result<Progress, Error> {
        let deadline = now_ms() + budget_ms;
        let mut running = self.tasks.remove(&task).ok_or(Error::Disposed("task"))?;
        let progress = match &mut running {
            Task::Read { play, .. } => self.device.resume(play, deadline).map_err(Error::from).map(|playing| match playing {
                Playing::Yielded => Progress::Yielded,
                Playing::Waiting(signal) => Progress::Waiting(signal),
                Playing::Finished(values) => Progress::Values(values),
            }),
            Task::Costs(costs) => self.resume_costs(costs, deadline),
            Task::Measure(measure) => self.resume_measure(measure, deadline),
            Task::Solve { .. } => self.resume_solve(&mut running, deadline),
        };
        let unfinished = matches!(progress, Ok(Progress::Yielded | Progress::Waiting(_) | Progress::Iteration(_)));
        if unfinished {
            self.tasks.insert(task, running);
        } else {
            self.end(running);
        }
        progress
    }

    fn resume_costs(&mut self, costs: &mut Costs, deadline: f64) -> Result<Progress, Error> {
        let entry = self.problems[costs.problem as usize].as_mut().ok_or(Error::Disposed("problem"))?;
        loop {
            if let Some(signal) = self.device.compiled()? {
                return Ok(Progress::Waiting(signal));
            }
            let mut play = match costs.play.take() {
                Some(play) => play,
                None => match costs.next(&mut entry.problem, &mut self.device)? {
                    Some(play) => play,
                    None if costs.blame => {
                        let message = "the cost at the start values is not finite, though every residual is: their sum overflows; scale the residuals down";
                        return Err(Error::InvalidOption(message.into()));
                    }
                    None => return Ok(Progress::Values(std::mem::take(&mut costs.values))),
                },
            };
            match self.device.resume(&mut play, deadline)? {
                Playing::Yielded => {
                    costs.play = Some(play);
                    return Ok(Progress::Yielded);
                }
                Playing::Waiting(signal) => {
                    costs.play = Some(play);
                    return Ok(Progress::Waiting(signal));
                }
                Playing::Finished(values) => costs.take(&entry.problem, values)?,
            }
        }
    }

    fn resume_solve(&mut self, task: &mut Task, deadline: f64) -> Result<Progress, Error> {
        let Task::Solve { problem, solver, mode, play, readback, stepped, compiling } = task else {
            return Err(Error::Disposed("task"));
        };
        if *mode == SolveMode::Step && *stepped {
            return Ok(Progress::Stepped);
        }
        let Some(Some(SolverEntry { solver: method, .. })) = self.solvers.get_mut(*solver as usize) else {
            return Err(Error::Disposed("solver"));
        };
        let Some(Some(Entry { problem: unknowns, .. })) = self.problems.get_mut(*problem as usize) else {
            return Err(Error::Disposed("problem"));
        };
        loop {
            if let Some(signal) = self.device.compiled()? {
                compiling.get_or_insert_with(now_ms);
                return Ok(Progress::Waiting(signal));
            }
            if let Some(since) = compiling.take() {
                method.compile_ms += now_ms() - since;
            }
            if let Some(current) = play {
                match self.device.resume(current, deadline)? {
                    Playing::Yielded => return Ok(Progress::Yielded),
                    Playing::Waiting(signal) => return Ok(Progress::Waiting(signal)),
                    Playing::Finished(values) => *readback = values,
                }
                *play = None;
            }
            match method.advance(unknowns, &self.device, readback)? {
                Next::Run(recording) => *play = Some(self.device.start(recording)),
                Next::Iteration(iteration) => {
                    *stepped = true;
                    return Ok(Progress::Iteration(iteration));
                }
                Next::Done(report) => return Ok(Progress::Report(report)),
                Next::Blame => {
                    let terms: Vec<u32> = unknowns.enabled_numbers().collect();
                    let costs = Costs::new(&mut self.device, unknowns, *problem, terms, true)?;
                    *task = Task::Costs(costs);
                    return Ok(Progress::Yielded);
                }
            }
        }
    }

    /// Ends a running solve after the iteration that is being played.
    pub fn stop(&mut self, task: u32, reason: &str) {
        let solver = self.tasks.get(&task).and_then(Task::solver);
        if let Some(Some(entry)) = solver.and_then(|solver| self.solvers.get_mut(solver as usize)) {
            entry.solver.stop(reason);
        }
    }

    /// Drops a task that will not be resumed. What it was in the midst of is finished on the CPU and left out on a GPU.
    pub fn cancel(&mut self, task: u32) {
        if let Some(Task::Solve { play: Some(play @ Play::Cpu(_)), .. }) = self.tasks.get_mut(&task) {
            // Errors end a task anyway.
            let _ = self.device.resume(play, f64::INFINITY);
        }
        self.drop_task(task);
    }

    pub(super) fn drop_task(&mut self, task: u32) {
        if let Some(task) = self.tasks.remove(&task) {
            self.end(task);
        }
    }

    fn end(&mut self, task: Task) {
        if let Some(Some(entry)) = task.problem().and_then(|problem| self.problems.get_mut(problem as usize)) {
            entry.running = None;
        }
        match task {
            Task::Costs(costs) => costs.buffers().into_iter().for_each(|buffer| self.device.free(buffer)),
            Task::Measure(measure) => measure.buffers.into_iter().for_each(|buffer| self.device.free(buffer)),
            Task::Solve { .. } | Task::Read { .. } => {}
        }
    }
}
