//! Mirrors of problems on the sibling in mixed precision ([`Reals::Mixed`](leastwise_device::Reals::Mixed)): how one is solved, read
//! while it is, and taken over.

use super::refined::{Refining, of_waiting};
use super::task::{Progress, Task};
use super::{Problem, Session, Solver};
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, Play, Playing, Precision, Recording, Signal, Slice};
use leastwise_error::Error;
use leastwise_solve::{Next, Report, Termination};

pub(super) struct Mirror {
    problem: Problem,
    solver: Solver,
    play: Option<Play>,
    readback: Vec<f64>,
    /// What it came to, while the point is read.
    report: Option<Box<Report>>,
    /// The point that it was made of and the cost there, once it is known; and the number of its first step among the solver's.
    start: Vec<f64>,
    pub start_cost: Option<f64>,
    pub first: u32,
    /// Since when it waits for kernels, and what is set besides, so that a stop is heard of.
    compiling: Option<f64>,
    woken: Option<Signal>,
    has_begun: bool,
}

/// What came of a mirror's turn.
pub(super) enum Turn {
    Progress(Progress),
    /// It has ended; its point is read.
    Over(Box<Report>),
    /// Nothing is worth to be begun any more.
    Unbegun(Termination, String),
    /// The residual is not finite at the point.
    Undefined,
}

/// A part of a mirror's point, as the problem will have it, with what was written there since.
pub(super) struct Glimpse {
    play: Play,
    first: u32,
    written: Vec<(u32, Vec<f64>)>,
}

impl Mirror {
    /// Whether no step is on its way.
    pub fn is_between_steps(&self) -> bool {
        self.play.is_none() && self.compiling.is_none() && self.report.is_none() && !self.solver.is_solving()
    }

    pub fn compile_ms(&self) -> f64 {
        self.solver.compile_ms + self.compiling.map_or(0.0, |since| now_ms() - since)
    }

    pub fn stop(&mut self, reason: &str) {
        self.solver.stop(reason);
        self.woken.iter().for_each(Signal::set);
    }
}

impl Session {
    /// The mirror of a problem as it is now, whose point was read before: what was written since belongs to it.
    pub(super) fn mirror(&mut self, task: &mut Refining, mut start: Vec<f64>) -> Result<Mirror, Error> {
        let (owner, device, _) = self.entry(task.problem)?;
        let owner = &mut owner.problem;
        owner.written(0..start.len() as u32).iter().for_each(|(offset, data)| put(&mut start, *offset, data));
        device.enqueue(&Recording { commands: owner.take_uploads() })?;
        task.revision = owner.revision;
        let mut problem = owner.mirrored(&start, Precision::F32)?;
        let method = &self.solver_entry(task.solver)?.solver;
        let (settings, first) = (method.settings().clone(), method.steps());
        let (device, registry) = self.mixed()?;
        let solver = Solver::new(device, registry, &mut problem, settings);
        let mut solver = solver.inspect_err(|_| problem.dispose(device))?;
        solver.succeed(task.spent);
        task.stopped.iter().for_each(|reason| solver.stop(reason));
        Ok(Mirror {
            problem,
            solver,
            play: None,
            readback: Vec::new(),
            report: None,
            start,
            start_cost: None,
            first,
            compiling: None,
            woken: None,
            has_begun: false,
        })
    }

    /// Goes on with the mirror's solve.
    pub(super) fn advance_mirror(&mut self, task: &Refining, mirror: &mut Mirror, deadline: f64) -> Result<Turn, Error> {
        // Between two steps; and at least one is made of every mirror, however fast edits come.
        if mirror.play.is_none() && mirror.start_cost.is_some() && self.entry(task.problem)?.0.problem.revision != task.revision {
            mirror.solver.stop("the problem was edited");
        }
        loop {
            let may_give_up = !mirror.has_begun && task.is_first();
            let (device, _) = self.mixed()?;
            let unready = mirror.play.as_ref().map_or(Ok(None), |play| device.compile_for(play))?;
            if let Some(compiled) = unready {
                if let Some(reason) = task.stopped.clone().filter(|_| may_give_up) {
                    return Ok(Turn::Unbegun(Termination::Stopped, reason));
                }
                mirror.compiling.get_or_insert_with(now_ms);
                let woken = mirror.woken.insert(Signal::default());
                compiled.sets(woken);
                return Ok(Turn::Progress(Progress::Waiting(woken.clone())));
            }
            mirror.woken = None;
            if let Some(since) = mirror.compiling.take() {
                mirror.solver.compile_ms += now_ms() - since;
            }
            if let Some((termination, reason)) = mirror.solver.limit_of(task.spent).filter(|_| may_give_up) {
                return Ok(Turn::Unbegun(termination, reason));
            }
            if let Some(play) = &mut mirror.play {
                mirror.has_begun = true;
                if mirror.solver.is_urged() {
                    mirror.solver.hurry(device)?;
                }
                match device.resume(play, deadline)? {
                    Playing::Finished(values) => mirror.readback = values,
                    waiting => return Ok(Turn::Progress(of_waiting(waiting))),
                }
                mirror.play = None;
                if let Some(report) = mirror.report.take() {
                    return Ok(Turn::Over(report));
                }
            }
            match mirror.solver.advance(&mut mirror.problem, device, &mut mirror.readback, deadline)? {
                Next::Yielded => return Ok(Turn::Progress(Progress::Yielded)),
                Next::Run(recording) => mirror.play = Some(device.start(recording)),
                Next::Iteration(step) => {
                    let decrease = if step.accepted { -step.cost_change } else { 0.0 };
                    mirror.start_cost.get_or_insert(step.cost + decrease);
                    let step = self.solver_entry(task.solver)?.solver.note(step);
                    return Ok(Turn::Progress(Progress::Iteration(step)));
                }
                Next::Done(report) => {
                    let read = Command::Read { slice: mirror.problem.arenas()?.0 };
                    mirror.play = Some(device.start(Recording { commands: vec![read] }));
                    mirror.report = Some(report);
                }
                Next::Blame => return Ok(Turn::Undefined),
            }
        }
    }

    /// Makes the point of a mirror that ended the problem's own, and then whatever was written meanwhile. Whether anything was
    /// edited.
    pub(super) fn take_over(&mut self, task: &mut Refining, mirror: &mut Mirror) -> Result<bool, Error> {
        let point = std::mem::take(&mut mirror.readback);
        task.spent = mirror.solver.spent();
        let (owner, device, _) = self.entry(task.problem)?;
        let owner = &mut owner.problem;
        let mut recording = Recording { commands: owner.taken_over(&mirror.start, &point)? };
        recording.commands.extend(owner.take_uploads());
        let is_edited = owner.revision != task.revision;
        owner.revision += 1;
        device.enqueue(&recording)?;
        Ok(is_edited)
    }

    pub(super) fn free_mirror(&mut self, mut mirror: Mirror) {
        // Where there is no device any more, nothing is left on it.
        let Ok((device, _)) = self.mixed() else { return };
        // Its own uploads go with it.
        mirror.solver.give_up();
        mirror.solver.buffers().into_iter().for_each(|buffer| device.free(buffer));
        mirror.problem.dispose(device);
    }

    /// Begins to read a part of the point that a running task's mirror is at; none where there is none to be read now.
    pub(super) fn glimpse(&mut self, problem: u32, part: std::ops::Range<u32>) -> Result<Option<Glimpse>, Error> {
        let Some(running) = self.entry(problem)?.0.running else { return Ok(None) };
        let Some(Task::Refining(task)) = self.tasks.get(&running) else { return Ok(None) };
        let Some(mirror) = task.idle_mirror() else { return Ok(None) };
        let buffer = mirror.problem.arenas()?.0.buffer;
        let slice = Slice { buffer, offset: part.start, len: part.end - part.start };
        let written = self.entry(problem)?.0.problem.written(part);
        let (device, _) = self.mixed()?;
        let mut play = device.start(Recording { commands: vec![Command::Read { slice }] });
        // Enqueued ahead of the next step.
        device.resume(&mut play, f64::INFINITY)?;
        Ok(Some(Glimpse { play, first: slice.offset, written }))
    }

    pub(super) fn resume_glimpse(&mut self, glimpse: &mut Glimpse, deadline: f64) -> Result<Playing, Error> {
        let (device, _) = self.mixed()?;
        Ok(match device.resume(&mut glimpse.play, deadline)? {
            Playing::Finished(mut values) => {
                values.iter_mut().for_each(|value| *value = f64::from(*value as f32));
                glimpse.written.iter().for_each(|(offset, data)| put(&mut values, offset - glimpse.first, data));
                Playing::Finished(values)
            }
            waiting => waiting,
        })
    }
}

/// Writes as f32 has it.
fn put(values: &mut [f64], offset: u32, data: &[f64]) {
    values[offset as usize..].iter_mut().zip(data).for_each(|(value, data)| *value = f64::from(*data as f32));
}
