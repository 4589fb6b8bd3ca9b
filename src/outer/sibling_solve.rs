//! A solve on the device's sibling in mixed precision ([`Reals::Mixed`](leastwise_device::Reals::Mixed)): it works on a snapshot of the
//! problem, which can be read on the way, and whose point is taken over in the end.

use crate::mixed_precision::MixedPrecision;
use crate::{Context, Devices, Turn};
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, Play, Playing, Precision, Recording, Signal, Slice};
use leastwise_error::Error;
use leastwise_problem::Problem;
use leastwise_solve::{Next, Report, Solver, Termination};

/// A solve of a copy of the problem, whose values are copied back.
pub struct SiblingSolve {
    problem: Problem,
    solver: Solver,
    play: Option<Play>,
    readback: Vec<f64>,
    /// Its report, while the point is read.
    report: Option<Box<Report>>,
    /// Point that it was made of and the cost there, once it is known; and the number of its first step among the solver's.
    start: Vec<f64>,
    pub(crate) start_cost: Option<f64>,
    pub(crate) first: u32,
    /// Time since when it waits for kernels, and a signal that a stop sets too.
    compiling: Option<f64>,
    woken: Option<Signal>,
    has_begun: bool,
}

/// Outcome of one slice of a sibling solve.
pub(crate) enum SiblingTurn {
    Under(Turn<Box<Report>>),
    /// It has ended; its point is read.
    Over(Box<Report>),
    /// No step was begun, and none is worth beginning.
    Unbegun(Termination, String),
    /// The residual is not finite at the point.
    Undefined,
}

/// A read of a part of a sibling's point, as the problem will have it, with what was written there since.
pub struct SiblingRead {
    play: Play,
    first: u32,
    written: Vec<(u32, Vec<f64>)>,
}

impl SiblingSolve {
    /// Solve of a problem as it is now, whose point was read before: what was written since belongs to it.
    pub(crate) fn new(task: &mut MixedPrecision, context: &mut Context, mut start: Vec<f64>) -> Result<Self, Error> {
        let Context { devices, problem: owner, driven } = context;
        owner.written(0..start.len() as u32).iter().for_each(|(offset, data)| put(&mut start, *offset, data));
        devices.main.enqueue(&Recording { commands: owner.take_uploads() })?;
        task.revision = owner.revision;
        let mut problem = owner.snapshot(&start, Precision::F32)?;
        let (settings, first) = (driven.solver.settings().clone(), driven.solver.steps());
        let (device, registry) = devices.mixed()?;
        let solver = Solver::new(device, registry, &mut problem, settings);
        let mut solver = solver.inspect_err(|_| problem.dispose(device))?;
        solver.succeed(task.spent);
        task.stopped.iter().for_each(|reason| solver.stop(reason));
        Ok(Self {
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

    /// True while no step is on its way.
    pub fn is_between_steps(&self) -> bool {
        self.play.is_none() && self.compiling.is_none() && self.report.is_none() && !self.solver.is_solving()
    }

    pub(crate) fn compile_ms(&self) -> f64 {
        self.solver.compile_ms + self.compiling.map_or(0.0, |since| now_ms() - since)
    }

    pub(crate) fn stop(&mut self, reason: &str) {
        self.solver.stop(reason);
        self.woken.iter().for_each(Signal::set);
    }

    /// Goes on with the solve.
    pub(crate) fn advance(&mut self, task: &MixedPrecision, context: &mut Context, deadline: f64) -> Result<SiblingTurn, Error> {
        // Between two steps; and at least one is made of every snapshot, however fast edits come.
        if self.play.is_none() && self.start_cost.is_some() && context.problem.revision != task.revision {
            self.solver.stop("the problem was edited");
        }
        loop {
            let may_give_up = !self.has_begun && task.is_first();
            let (device, _) = context.devices.mixed()?;
            let unready = self.play.as_ref().map_or(Ok(None), |play| device.compile_for(play))?;
            if let Some(compiled) = unready {
                if let Some(reason) = task.stopped.clone().filter(|_| may_give_up) {
                    return Ok(SiblingTurn::Unbegun(Termination::Stopped, reason));
                }
                self.compiling.get_or_insert_with(now_ms);
                let woken = self.woken.insert(Signal::default());
                compiled.sets(woken);
                return Ok(SiblingTurn::Under(Turn::Waiting(woken.clone())));
            }
            self.woken = None;
            if let Some(since) = self.compiling.take() {
                self.solver.compile_ms += now_ms() - since;
            }
            if let Some((termination, reason)) = self.solver.limit_of(task.spent).filter(|_| may_give_up) {
                return Ok(SiblingTurn::Unbegun(termination, reason));
            }
            if let Some(play) = &mut self.play {
                self.has_begun = true;
                if self.solver.is_urged() {
                    self.solver.hurry(device)?;
                }
                match Turn::from(device.resume(play, deadline)?).outcome() {
                    Ok(values) => self.readback = values,
                    Err(turn) => return Ok(SiblingTurn::Under(turn)),
                }
                self.play = None;
                if let Some(report) = self.report.take() {
                    return Ok(SiblingTurn::Over(report));
                }
            }
            match self.solver.advance(&mut self.problem, device, &mut self.readback, deadline)? {
                Next::Yielded => return Ok(SiblingTurn::Under(Turn::Yielded)),
                Next::Run(recording) => self.play = Some(device.start(recording)),
                Next::Iteration(step) => {
                    let decrease = if step.accepted { -step.cost_change } else { 0.0 };
                    self.start_cost.get_or_insert(step.cost + decrease);
                    return Ok(SiblingTurn::Under(Turn::Iteration(context.driven.solver.note(step))));
                }
                Next::Done(report) => {
                    let read = Command::Read { slice: self.problem.arenas()?.0 };
                    self.play = Some(device.start(Recording { commands: vec![read] }));
                    self.report = Some(report);
                }
                Next::NonFinite => return Ok(SiblingTurn::Undefined),
            }
        }
    }

    /// Makes its point the problem's own, and then what was written meanwhile; true if the problem was edited.
    pub(crate) fn take_over(&mut self, task: &mut MixedPrecision, context: &mut Context) -> Result<bool, Error> {
        let point = std::mem::take(&mut self.readback);
        task.spent = self.solver.spent();
        let owner = &mut *context.problem;
        let mut recording = Recording { commands: owner.taken_over(&self.start, &point)? };
        recording.commands.extend(owner.take_uploads());
        let is_edited = owner.revision != task.revision;
        owner.revision += 1;
        context.devices.main.enqueue(&recording)?;
        Ok(is_edited)
    }

    /// Begins to read a part of the point that it is at, for the problem that it was made of.
    pub fn read(&self, devices: &mut Devices, owner: &Problem, part: std::ops::Range<u32>) -> Result<SiblingRead, Error> {
        let buffer = self.problem.arenas()?.0.buffer;
        let slice = Slice { buffer, offset: part.start, len: part.end - part.start };
        let written = owner.written(part);
        let (device, _) = devices.mixed()?;
        let mut play = device.start(Recording { commands: vec![Command::Read { slice }] });
        // Enqueued ahead of the next step.
        device.resume(&mut play, f64::INFINITY)?;
        Ok(SiblingRead { play, first: slice.offset, written })
    }

    /// Frees what it has on the device.
    pub(crate) fn free(mut self, devices: &mut Devices) {
        // Where there is no device any more, nothing is left on it.
        let Ok((device, _)) = devices.mixed() else { return };
        // Its own uploads go with it.
        self.solver.give_up();
        self.solver.buffers().into_iter().for_each(|buffer| device.free(buffer));
        self.problem.dispose(device);
    }
}

impl SiblingRead {
    /// Outcome: the values, as f32 has them.
    pub fn resume(&mut self, devices: &mut Devices, deadline: f64) -> Result<Playing, Error> {
        let (device, _) = devices.mixed()?;
        Ok(match device.resume(&mut self.play, deadline)? {
            Playing::Finished(mut values) => {
                values.iter_mut().for_each(|value| *value = f64::from(*value as f32));
                self.written.iter().for_each(|(offset, data)| put(&mut values, offset - self.first, data));
                Playing::Finished(values)
            }
            waiting => waiting,
        })
    }
}

/// Writes numbers as f32 has them.
fn put(values: &mut [f64], offset: u32, data: &[f64]) {
    values[offset as usize..].iter_mut().zip(data).for_each(|(value, data)| *value = f64::from(*data as f32));
}
