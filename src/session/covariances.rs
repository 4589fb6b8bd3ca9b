//! Covariances as tasks: the accepted values come back, a mirror of the problem is differentiated in f64 on the CPU, and
//! blocks are taken of its inverse.

use super::costs::Costs;
use super::task::{Progress, Task};
use super::{Session, SideDevice};
use leastwise_base::work::{Stopped, Work};
use leastwise_device::{Command, Device, Play, Playing, Precision, Recording, cpu::CpuDevice};
use leastwise_error::Error;
use leastwise_problem::Registry;
use leastwise_solve::Mirroring;
use leastwise_solve::covariance::{Blocks, Covariance, CovarianceOptions, Form, Linearising, Summary, Values};
use std::sync::Arc;

/// A covariance, and the problem that it is of.
pub(super) struct Entry {
    pub problem: u32,
    covariance: Arc<Covariance>,
}

/// A covariance on its way.
pub(super) struct CovarianceTask {
    pub problem: u32,
    options: CovarianceOptions,
    stage: Option<Stage>,
}

enum Stage {
    Reading(Play),
    Mirroring(Box<Mirroring>, Values),
    Linearising(Box<Linearising>, Values, Play),
    Inverting(Work<'static, Result<Covariance, Error>>),
}

/// The share that is done when derivatives are.
const LINEARISED: f64 = 0.2;

impl CovarianceTask {
    /// What uploads to the problem's own device, and reads.
    pub(super) fn reading(&mut self) -> Option<&mut Play> {
        match &mut self.stage {
            Some(Stage::Reading(play)) => Some(play),
            _ => None,
        }
    }
}

/// Blocks on their way.
pub(super) struct BlocksTask {
    covariance: u32,
    work: Work<'static, Result<Vec<f64>, Stopped>>,
}

/// A new covariance: its handle, and what is known of it.
#[derive(serde::Serialize)]
pub struct Covaried {
    pub handle: u32,
    pub summary: Summary,
}

impl Session {
    /// A task: the covariance of a problem's variables at the accepted values.
    pub fn covariance(&mut self, problem: u32, options: CovarianceOptions) -> Result<u32, Error> {
        options.validate()?;
        let (entry, ..) = self.idle(problem)?;
        if entry.problem.moving().next().is_none() {
            return Err(Error::EmptyProblem("variables"));
        }
        if !entry.problem.has_enabled_terms() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        entry.problem.without_constraints("covariance()", "and what residuals say of variables has no word for it")?;
        self.once_laid_out(problem, move |session| {
            let (entry, device, _) = session.entry(problem)?;
            if let Some(energy) = entry.problem.enabled_batches().find(|batch| batch.projection.is_some()) {
                let message = format!(
                    "covariance(): \"{}\" is an energy, and what residuals say of variables has no word for it: disable it",
                    energy.name
                );
                return Err(Error::InvalidOption(message));
            }
            let mut recording = Recording { commands: entry.problem.take_uploads() };
            recording.push(Command::Read { slice: entry.problem.arenas()?.0 });
            let stage = Some(Stage::Reading(device.start(recording)));
            Ok(Task::Covariance(CovarianceTask { problem, options, stage }))
        })
    }

    /// A task: blocks of a covariance, of instances that are given as table and instance one after the other; with
    /// themselves, with others, or with each other.
    pub fn covariance_blocks(
        &mut self,
        covariance: u32,
        of: &[u32],
        others: Option<&[u32]>,
        form: &str,
        lifted: bool,
    ) -> Result<u32, Error> {
        let pairs = |words: &[u32]| words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect::<Vec<(u32, u32)>>();
        let others = others.map(pairs);
        let known = self.covariances.get(&covariance).ok_or(Error::Disposed("covariance"))?.covariance.clone();
        let blocks = Blocks::new(&known, &pairs(of), others.as_deref(), Form::of_name(form)?, lifted)?;
        let work = Work::new(move |pace| async move { blocks.values(&known, &pace).await });
        Ok(self.add_task(Task::Blocks(BlocksTask { covariance, work })))
    }

    pub fn free_covariance(&mut self, covariance: u32) {
        self.covariances.remove(&covariance);
    }

    /// A device in f64 on the CPU, and what is known on it: the session's own where that is one.
    pub(super) fn double(&mut self) -> (&mut Device, &mut Registry) {
        let Self { device, registry, double, .. } = self;
        if matches!(device, Device::Cpu(_)) && device.precision() == Precision::F64 {
            return (device, registry);
        }
        let SideDevice { device, registry } = double.get_or_insert_with(|| {
            let limits = if matches!(device, Device::Cpu(_)) { device.limits() } else { CpuDevice::default_limits() };
            SideDevice { device: Device::Cpu(CpuDevice::new(Precision::F64, limits)), registry: Registry::default() }
        });
        (device, registry)
    }

    pub(super) fn resume_covariance(&mut self, running: &mut Task, deadline: f64) -> Result<Progress, Error> {
        let Task::Covariance(task) = running else { return Err(Error::Disposed("task")) };
        let id = task.problem;
        loop {
            match task.stage.as_mut().ok_or(Error::Disposed("task"))? {
                Stage::Reading(play) => {
                    let point = match self.device.resume(play, deadline)? {
                        Playing::Yielded => return Ok(Progress::Yielded),
                        Playing::Waiting(signal) => return Ok(Progress::Waiting(signal)),
                        Playing::Finished(point) => point,
                    };
                    let precision = self.device.precision();
                    let owner = self.problems.get(id).ok_or(Error::Disposed("problem"))?;
                    let mirror = owner.problem.mirrored(&point, precision)?;
                    let values = Values::of(&mirror);
                    task.stage = Some(Stage::Mirroring(Box::new(Linearising::mirroring(mirror)), values));
                }
                Stage::Mirroring(mirroring, _) => {
                    let (device, registry) = self.double();
                    let Some((mirror, found)) = mirroring.resume(device, registry, deadline)? else { return Ok(Progress::Yielded) };
                    let Some(Stage::Mirroring(_, values)) = task.stage.take() else { return Err(Error::Disposed("task")) };
                    let mut work = Linearising::new(device, registry, mirror, found)?;
                    let play = work.recording().map(|recording| device.start(recording));
                    let play = play.inspect_err(|_| work.dispose(device))?;
                    task.stage = Some(Stage::Linearising(Box::new(work), values, play));
                }
                Stage::Linearising(work, _, play) => {
                    let (device, _) = self.double();
                    let readback = match device.resume(play, deadline)? {
                        Playing::Yielded => return Ok(Progress::Yielded),
                        Playing::Waiting(signal) => return Ok(Progress::Waiting(signal)),
                        Playing::Finished(readback) => readback,
                    };
                    work.dispose(device);
                    let Some(Stage::Linearising(work, values, _)) = task.stage.take() else { return Err(Error::Disposed("task")) };
                    if !Linearising::cost(&readback).is_finite() {
                        let (owner, device, _) = self.entry(id)?;
                        *running = Task::Costs(Costs::blaming(device, &owner.problem, id)?);
                        return Ok(Progress::Yielded);
                    }
                    let options = task.options;
                    task.stage = Some(Stage::Inverting(Work::new(move |pace| async move {
                        let linearised = work.take(readback, &pace.part(0.0..0.1)).await?;
                        Covariance::new(linearised, &values, &options, &pace.part(0.1..1.0)).await
                    })));
                }
                Stage::Inverting(work) => {
                    let Some(covariance) = work.resume(deadline) else {
                        return Ok(Progress::Partly { done: LINEARISED + (1.0 - LINEARISED) * work.done(), total: 1.0 });
                    };
                    task.stage = None;
                    let covariance = covariance?;
                    let summary = covariance.summary.clone();
                    let handle = self.next_covariance;
                    self.next_covariance += 1;
                    self.covariances.insert(handle, Entry { problem: id, covariance: Arc::new(covariance) });
                    return Ok(Progress::Covariance(Box::new(Covaried { handle, summary })));
                }
            }
        }
    }

    /// Frees what a task that does not go on has on its device.
    pub(super) fn end_covariance(&mut self, task: CovarianceTask) {
        let (device, _) = self.double();
        match task.stage {
            Some(Stage::Mirroring(mut mirroring, _)) => mirroring.dispose(device),
            Some(Stage::Linearising(mut work, ..)) => work.dispose(device),
            _ => {}
        }
    }

    pub(super) fn resume_blocks(&mut self, task: &mut BlocksTask, deadline: f64) -> Result<Progress, Error> {
        if !self.covariances.contains_key(&task.covariance) {
            return Err(Error::Disposed("covariance"));
        }
        Ok(match task.work.resume(deadline) {
            Some(values) => Progress::Values(values?),
            None => Progress::Partly { done: task.work.done(), total: 1.0 },
        })
    }
}
