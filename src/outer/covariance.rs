//! Covariance: the accepted values come back, a snapshot of the problem is differentiated in f64 on the CPU, and JᵀWJ is inverted
//! as far as its blocks will be asked for. Constraints are evaluated before, on a snapshot of their own.

use crate::evaluation::{HeldRun, InstanceCosts};
use crate::{Devices, Turn};
use leastwise_base::task::Task;
use leastwise_device::{Command, Device, Play, Recording};
use leastwise_error::Error;
use leastwise_problem::{Problem, Term};
use leastwise_program::Objective;
use leastwise_solve::SnapshotLayout;
use leastwise_solve::covariance::{Covariance, CovarianceOptions, Held, Linearising, Values};

/// A covariance on its way.
pub struct CovarianceRun {
    options: CovarianceOptions,
    /// Constraints that hold with equality, where there are some.
    held: Option<Held>,
    stage: Option<Stage>,
}

enum Stage {
    Reading(Play),
    /// Constraints at the point that was read.
    Holding(Box<HeldRun>, Vec<f64>),
    LayingOut(Box<SnapshotLayout>, Values),
    Linearising(Box<Linearising>, Values, Play),
    Inverting(Task<'static, Result<Covariance, Error>>),
    /// Search for the residual that is not finite; it ends in an error.
    Searching(Box<InstanceCosts>),
}

/// Share of the work that is done once derivatives are.
const LINEARISED: f64 = 0.2;

impl CovarianceRun {
    /// Refuses problems that have no covariance, before they are laid out.
    pub fn check(problem: &Problem) -> Result<(), Error> {
        if problem.moving().next().is_none() {
            return Err(Error::EmptyProblem("variables"));
        }
        if residuals(problem).next().is_none() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        Ok(())
    }

    /// Covariance of a problem's variables at the accepted values. The problem is laid out.
    pub fn new(device: &mut Device, problem: &mut Problem, options: CovarianceOptions) -> Result<Self, Error> {
        if let Some(energy) = residuals(problem).find(|term| term.is_curved()) {
            let objectives = || energy.parts.iter().map(|part| part.reading.structure.objective);
            let why = if objectives().any(|objective| objective == Objective::FullCurvature) {
                "has curvature \"full\", and a covariance is the inverse of JᵀWJ: make it without"
            } else {
                "is an energy, and what residuals say of variables has no word for it: disable it"
            };
            return Err(Error::InvalidOption(format!("covariance(): \"{}\" {why}", energy.name)));
        }
        let mut recording = Recording { commands: problem.take_uploads() };
        recording.push(Command::Read { slice: problem.arenas()?.0 });
        Ok(Self { options, held: None, stage: Some(Stage::Reading(device.start(recording))) })
    }

    /// The recording on the problem's own device that is being played, which brings the problem's uploads along.
    pub fn playing(&mut self) -> Option<&mut Play> {
        match &mut self.stage {
            Some(Stage::Reading(play)) => Some(play),
            Some(Stage::Searching(search)) => search.playing(),
            _ => None,
        }
    }

    /// Goes on until a recording has to be waited for, the deadline (ms) is over, or the covariance is there. Fails if the cost is flat and no pseudo-inverse was requested.
    pub fn resume(&mut self, devices: &mut Devices, problem: &mut Problem, deadline: f64) -> Result<Turn<Covariance>, Error> {
        loop {
            match self.stage.take().ok_or(Error::Internal("a covariance has no stage"))? {
                Stage::Reading(mut play) => match Turn::from(devices.main.resume(&mut play, deadline)?).outcome() {
                    Ok(point) => {
                        let snapshot = problem.snapshot(&point, devices.main.precision())?;
                        self.stage = Some(if problem.enabled_constraints().next().is_some() {
                            Stage::Holding(Box::new(HeldRun::new(snapshot, devices.main.precision())?), point)
                        } else {
                            laying_out(snapshot)
                        });
                    }
                    Err(turn) => {
                        self.stage = Some(Stage::Reading(play));
                        return Ok(turn);
                    }
                },
                Stage::Holding(mut run, point) => match run.resume(devices, deadline)?.outcome() {
                    Ok(held) => {
                        let mut snapshot = problem.snapshot(&point, devices.main.precision())?;
                        snapshot.leave_out_constraints(&held.free);
                        self.held = Some(held);
                        self.stage = Some(laying_out(snapshot));
                    }
                    Err(turn) => {
                        self.stage = Some(Stage::Holding(run, point));
                        return Ok(turn);
                    }
                },
                Stage::LayingOut(mut layout, values) => {
                    let (device, registry) = devices.double();
                    let Some((snapshot, found)) = layout.resume(device, registry, deadline)? else {
                        self.stage = Some(Stage::LayingOut(layout, values));
                        return Ok(Turn::Yielded);
                    };
                    let mut work = Linearising::new(device, registry, snapshot, found)?;
                    let play = work.recording().map(|recording| device.start(recording));
                    let play = play.inspect_err(|_| work.dispose(device))?;
                    self.stage = Some(Stage::Linearising(Box::new(work), values, play));
                }
                Stage::Linearising(mut work, values, mut play) => {
                    let (device, _) = devices.double();
                    let played = device.resume(&mut play, deadline).inspect_err(|_| work.dispose(device))?;
                    let readback = match Turn::from(played).outcome() {
                        Ok(readback) => readback,
                        Err(turn) => {
                            self.stage = Some(Stage::Linearising(work, values, play));
                            return Ok(turn);
                        }
                    };
                    work.dispose(device);
                    if !Linearising::cost(&readback).is_finite() {
                        let search = InstanceCosts::first_non_finite(&mut devices.main, problem)?;
                        self.stage = Some(Stage::Searching(Box::new(search)));
                        return Ok(Turn::Yielded);
                    }
                    let (options, held) = (self.options, self.held.take());
                    self.stage = Some(Stage::Inverting(Task::new(move |pace| async move {
                        let mut linearised = work.take(readback, &pace.part(0.0..0.1)).await?;
                        // What the Lagrangian holds at a limit is fixed in this snapshot.
                        held.iter().for_each(|held| linearised.fixed.clone_from(&held.fixed));
                        Covariance::new(linearised, held.as_ref(), &values, &options, &pace.part(0.1..1.0)).await
                    })));
                }
                Stage::Inverting(mut work) => {
                    let Some(covariance) = work.resume(deadline) else {
                        let done = LINEARISED + (1.0 - LINEARISED) * work.done();
                        self.stage = Some(Stage::Inverting(work));
                        return Ok(Turn::Partly { done, total: 1.0 });
                    };
                    return Ok(Turn::Over(covariance?));
                }
                Stage::Searching(mut search) => {
                    let turn = search.resume(&mut devices.main, problem, deadline);
                    self.stage = Some(Stage::Searching(search));
                    return Ok(match turn?.outcome() {
                        Err(turn) => turn,
                        Ok(_) => return Err(Error::Internal("a search for a residual came to no end")),
                    });
                }
            }
        }
    }

    /// Frees what it has on the devices.
    pub fn free(self, devices: &mut Devices) {
        let device = devices.double().0;
        match self.stage {
            Some(Stage::Holding(run, _)) => run.free(device),
            Some(Stage::LayingOut(mut layout, _)) => layout.dispose(device),
            Some(Stage::Linearising(mut work, ..)) => work.dispose(device),
            Some(Stage::Searching(search)) => search.free(&mut devices.main),
            Some(Stage::Reading(_) | Stage::Inverting(_)) | None => {}
        }
    }
}

/// The terms that take part and are no constraints.
fn residuals(problem: &Problem) -> impl Iterator<Item = &Term> {
    problem.terms().filter(|term| term.enabled && term.constraint.is_none())
}

fn laying_out(snapshot: Problem) -> Stage {
    let values = Values::of(&snapshot);
    Stage::LayingOut(Box::new(Linearising::layout(snapshot)), values)
}
