//! Going on in mixed precision where f32 stopped a solve: the default on WebGPU.
//!
//! Most solves on a GPU end by their tolerances before f32 shows. Where it does (`precision`, `no-progress`, `singular`, or
//! tolerances that are looser only because f32 has no more digits), the problem's mirror is solved on from there on a sibling of
//! the device, whose reals are double-floats ([`Reals::Mixed`]), and the values that it finds, rounded, are the problem's.
//! What was given in f64, data and constants, is there in f64; limits and what is pinned are as f32 has them.

use super::task::Task;
use super::{Progress, Session, SideDevice};
use crate::clock::now_ms;
use crate::device::{Command, Device, DeviceError, Play, Playing, Precision, Reals, Recording};
use crate::error::Error;
use crate::problem::{Problem, Registry};
use crate::solve::{Next, Report, Solver, Termination};

/// A solve that f32 stopped, and how far it is refined.
pub(super) struct Refining {
    pub problem: u32,
    pub solver: u32,
    /// What f32 came to.
    before: Report,
    started_ms: f64,
    /// Why it is to stop, if somebody said so before there was a mirror.
    stopped: Option<String>,
    stage: Stage,
}

enum Stage {
    /// The point where f32 stopped.
    Reading(Play),
    Solving(Box<Mirror>),
    /// What was found, on its way back.
    Writing(Play, Box<Report>),
    Over,
}

struct Mirror {
    problem: Problem,
    solver: Solver,
    play: Option<Play>,
    readback: Vec<f64>,
    /// What it came to, while the point is read.
    report: Option<Box<Report>>,
}

impl Session {
    /// Whether a solve may go on in mixed precision where f32 stops it; unless told, it does on WebGPU.
    pub fn set_refines(&mut self, refines: bool) {
        self.refines = refines;
    }

    /// The task that goes on where f32 stopped a solve; none where it did not, or where there is no more precision.
    pub(super) fn refinement(&mut self, problem: u32, solver: u32, report: &Report) -> Result<Option<Task>, Error> {
        let Device::Wgpu(device) = &self.device else { return Ok(None) };
        if !self.refines || device.reals() != Reals::Single || device.has_doubles().is_err() {
            return Ok(None);
        }
        let stopped = matches!(report.termination, Termination::Precision | Termination::NoProgress | Termination::Singular);
        // Where it may take as many steps as it likes, f32 may also go round in circles.
        let ended = report.converged || report.termination == Termination::MaxIterations;
        let loosened = ended && self.solver_entry(solver)?.solver.is_loosened_by(Precision::F32);
        let has_steps_left = self.solver_entry(solver)?.solver.settings_after(report).is_some();
        if !stopped && !loosened || !has_steps_left || report.feasibility.is_some() {
            return Ok(None);
        }
        let (owner, device, _) = self.entry(problem)?;
        let read = Command::Read { slice: owner.problem.arenas()?.0 };
        let stage = Stage::Reading(device.start(Recording { commands: vec![read] }));
        let before = report.clone();
        Ok(Some(Task::Refining(Box::new(Refining { problem, solver, before, started_ms: now_ms(), stopped: None, stage }))))
    }

    /// The sibling in mixed precision.
    fn mixed(&mut self) -> Result<(&mut Device, &mut Registry), Error> {
        if self.mixed.is_none() {
            let Device::Wgpu(device) = &self.device else { return Err(Error::Disposed("device")) };
            let device = Device::Wgpu(Box::new(device.sibling(Reals::Mixed)?));
            self.mixed = Some(SideDevice { device, registry: Registry::tuned(self.registry.tuning.clone()) });
        }
        let SideDevice { device, registry } = self.mixed.as_mut().ok_or(Error::Disposed("device"))?;
        registry.adopt_manifolds(&self.registry);
        Ok((device, registry))
    }

    /// Goes on; where that is not to be had, what f32 came to stands, with the reason.
    pub(super) fn resume_refining(&mut self, task: &mut Refining, deadline: f64) -> Result<Progress, Error> {
        match self.refine(task, deadline) {
            Err(error) if !matches!(error, Error::Device(DeviceError::Lost(_))) => {
                let reason = format!("{}; going on in mixed precision failed: {error}", task.before.reason);
                Ok(Progress::Report(Box::new(Report { reason, ..task.before.clone() })))
            }
            progress => progress,
        }
    }

    fn refine(&mut self, task: &mut Refining, deadline: f64) -> Result<Progress, Error> {
        loop {
            match std::mem::replace(&mut task.stage, Stage::Over) {
                Stage::Reading(mut play) => match self.device.resume(&mut play, deadline)? {
                    Playing::Finished(point) => {
                        let settings = self.solver_entry(task.solver)?.solver.settings_after(&task.before);
                        let settings = settings.ok_or(Error::Disposed("solver"))?;
                        let owner = &self.entry(task.problem)?.0.problem;
                        let mut problem = owner.mirrored(&point, Precision::F32)?;
                        let (device, registry) = self.mixed()?;
                        let solver = Solver::new(device, registry, &mut problem, settings);
                        let mut solver = solver.inspect_err(|_| problem.dispose(device))?;
                        task.stopped.iter().for_each(|reason| solver.stop(reason));
                        let mirror = Mirror { problem, solver, play: None, readback: Vec::new(), report: None };
                        task.stage = Stage::Solving(Box::new(mirror));
                    }
                    waiting => {
                        task.stage = Stage::Reading(play);
                        return Ok(of_waiting(waiting));
                    }
                },
                Stage::Solving(mut mirror) => {
                    let progress = self.advance_mirror(&mut mirror, deadline);
                    match (progress, mirror.report.take()) {
                        (Ok(None), Some(report)) => {
                            let point = std::mem::take(&mut mirror.readback);
                            self.free_mirror(*mirror);
                            let recording = self.taken_over(task.problem, point)?;
                            task.stage = Stage::Writing(self.device.start(recording), report);
                        }
                        (Ok(Some(progress)), report) => {
                            mirror.report = report;
                            task.stage = Stage::Solving(mirror);
                            return Ok(match progress {
                                Progress::Iteration(mut iteration) => {
                                    iteration.index += task.before.iterations.len() as u32;
                                    Progress::Iteration(iteration)
                                }
                                other => other,
                            });
                        }
                        (Ok(None), None) => task.stage = Stage::Solving(mirror),
                        (Err(error), _) => {
                            self.free_mirror(*mirror);
                            return Err(error);
                        }
                    }
                }
                Stage::Writing(mut play, report) => match self.device.resume(&mut play, deadline)? {
                    Playing::Finished(_) => return Ok(Progress::Report(Box::new(joined(task, *report)))),
                    waiting => {
                        task.stage = Stage::Writing(play, report);
                        return Ok(of_waiting(waiting));
                    }
                },
                Stage::Over => return Err(Error::Disposed("task")),
            }
        }
    }

    /// Goes on with the mirror's solve; `None` where its report is there, and its point in `readback`.
    fn advance_mirror(&mut self, mirror: &mut Mirror, deadline: f64) -> Result<Option<Progress>, Error> {
        let (device, _) = self.mixed()?;
        loop {
            if let Some(signal) = device.compiled()? {
                return Ok(Some(Progress::Waiting(signal)));
            }
            if let Some(play) = &mut mirror.play {
                if mirror.solver.is_urged() {
                    mirror.solver.hurry(device)?;
                }
                match device.resume(play, deadline)? {
                    Playing::Finished(values) => mirror.readback = values,
                    waiting => return Ok(Some(of_waiting(waiting))),
                }
                mirror.play = None;
                if mirror.report.is_some() {
                    return Ok(None);
                }
            }
            match mirror.solver.advance(&mut mirror.problem, device, &mirror.readback)? {
                Next::Run(recording) => mirror.play = Some(device.start(recording)),
                Next::Iteration(iteration) => return Ok(Some(Progress::Iteration(iteration))),
                Next::Done(report) => {
                    let read = Command::Read { slice: mirror.problem.arenas()?.0 };
                    mirror.play = Some(device.start(Recording { commands: vec![read] }));
                    mirror.report = Some(report);
                }
                Next::Blame => return Err(Error::InvalidOption("what f32 came to is not finite in double-floats".into())),
            }
        }
    }

    /// What makes a point of the mirror's the problem's own.
    fn taken_over(&mut self, problem: u32, point: Vec<f64>) -> Result<Recording, Error> {
        let owner = &mut self.entry(problem)?.0.problem;
        let arena = owner.arenas()?.0;
        let mut recording = Recording::new();
        for table in owner.moving() {
            let data = point[table.arena as usize..][..table.elements() as usize].to_vec();
            recording.push(Command::UploadReals { buffer: arena.buffer, offset: table.arena, data });
        }
        owner.revision += 1;
        Ok(recording)
    }

    fn free_mirror(&mut self, mut mirror: Mirror) {
        // Where there is no device any more, nothing is left on it.
        let Ok((device, _)) = self.mixed() else { return };
        mirror.solver.buffers().into_iter().for_each(|buffer| device.free(buffer));
        mirror.problem.dispose(device);
    }

    /// Ends a running refinement after the present iteration.
    pub(super) fn stop_refining(&mut self, task: u32, reason: &str) {
        let Some(Task::Refining(refining)) = self.tasks.get_mut(&task) else { return };
        match &mut refining.stage {
            Stage::Solving(mirror) => mirror.solver.stop(reason),
            _ => refining.stopped = Some(reason.into()),
        }
    }

    /// Frees what a task that does not go on has on its device.
    pub(super) fn end_refining(&mut self, task: Refining) {
        if let Stage::Solving(mirror) = task.stage {
            self.free_mirror(*mirror);
        }
    }
}

fn of_waiting(playing: Playing) -> Progress {
    match playing {
        Playing::Waiting(signal) => Progress::Waiting(signal),
        _ => Progress::Yielded,
    }
}

/// The account of both solves as one.
fn joined(task: &Refining, after: Report) -> Report {
    let before = &task.before;
    let steps = before.iterations.len() as u32;
    let later = after.iterations.iter().map(|iteration| crate::solve::Iteration { index: iteration.index + steps, ..*iteration });
    Report {
        reason: format!(
            "{} (in f32 it ended after {steps} iterations: {}; then it went on in mixed precision)",
            after.reason, before.reason
        ),
        initial_cost: before.initial_cost,
        iterations: before.iterations.iter().copied().chain(later).collect(),
        moved_into_bounds: before.moved_into_bounds + after.moved_into_bounds,
        non_finite: before.non_finite + after.non_finite,
        first_non_finite: before.first_non_finite.clone().or(after.first_non_finite),
        compile_ms: before.compile_ms + after.compile_ms,
        solve_ms: before.solve_ms + now_ms() - task.started_ms,
        counters: before.counters.with(&after.counters),
        idle_dispatches: before.idle_dispatches + after.idle_dispatches,
        ..after
    }
}
