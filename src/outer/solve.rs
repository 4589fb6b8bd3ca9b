//! A solve, or one step of it: recordings are played one after the other until the solver has its report.

use crate::evaluation::InstanceCosts;
use crate::{Context, Driven, Turn};
use leastwise_base::clock::now_ms;
use leastwise_device::{Device, Play};
use leastwise_error::Error;
use leastwise_problem::Problem;
use leastwise_solve::{Next, Report};

/// Extent of a solve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SolveMode {
    /// All steps until the solve ends.
    Solve,
    /// One iteration.
    Step,
}

/// A solve of the engine's problem by its own solver.
pub struct Solve {
    /// Extent.
    pub mode: SolveMode,
    play: Option<Play>,
    readback: Vec<f64>,
    /// True once an iteration is complete.
    stepped: bool,
    /// Time since when kernels are being compiled.
    compiling: Option<f64>,
    /// True while the host solves the system of a step.
    solving: bool,
    /// Search for the residual that is not finite at the accepted values; it ends in an error.
    search: Option<InstanceCosts>,
}

impl Solve {
    /// A solve that has not begun.
    pub fn new(mode: SolveMode) -> Self {
        Self { mode, play: None, readback: Vec::new(), stepped: false, compiling: None, solving: false, search: None }
    }

    /// A solver's report of what it has done so far.
    pub fn report(device: &mut Device, problem: &mut Problem, driven: &mut Driven) -> Result<Self, Error> {
        let play = driven.report(device, problem)?;
        Ok(Self { play: Some(play), ..Self::new(SolveMode::Solve) })
    }

    /// True while no step is on its way.
    pub fn is_between_steps(&self) -> bool {
        self.play.is_none() && self.compiling.is_none() && !self.solving && self.search.is_none()
    }

    /// True while kernels are being compiled, or a search may need some.
    pub fn awaits_kernels(&self) -> bool {
        self.compiling.is_some() || self.search.is_some()
    }

    /// True once the cost was found not to be finite.
    pub fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    /// The recording that is being played, which brings the problem's uploads along.
    pub fn playing(&mut self) -> Option<&mut Play> {
        match &mut self.search {
            Some(search) => search.playing(),
            None => self.play.as_mut(),
        }
    }

    /// Outcome: the report, or nothing after a step, whose iteration was given before.
    pub fn resume(&mut self, context: &mut Context, deadline: f64) -> Result<Turn<Option<Box<Report>>>, Error> {
        let Context { devices, problem, driven } = context;
        let device = &mut devices.main;
        if self.mode == SolveMode::Step && self.stepped {
            return Ok(Turn::Over(None));
        }
        loop {
            if let Some(search) = &mut self.search {
                return Ok(match search.resume(device, problem, deadline)?.outcome() {
                    Err(turn) => turn,
                    Ok(_) => return Err(Error::Internal("a search for a residual came to no end")),
                });
            }
            if let Some(play) = &mut self.play {
                let mut unready = driven.await_live(device, problem)?;
                if unready.is_none() {
                    unready = device.compile_for(play)?;
                }
                if let Some(signal) = unready {
                    self.compiling.get_or_insert_with(now_ms);
                    return Ok(Turn::Waiting(signal));
                }
                if let Some(since) = self.compiling.take() {
                    driven.solver.compile_ms += now_ms() - since;
                }
                if driven.solver.is_urged() {
                    driven.solver.hurry(device)?;
                }
                match Turn::from(device.resume(play, deadline)?).outcome() {
                    Ok(values) => self.readback = values,
                    Err(turn) => return Ok(turn),
                }
                self.play = None;
            }
            let next = driven.solver.advance(problem, device, &mut self.readback, deadline)?;
            self.solving = matches!(next, Next::Yielded);
            match next {
                Next::Run(recording) => {
                    // Along with the first step's, so that edits compile nothing.
                    driven.compile_edits(device, problem)?;
                    self.play = Some(device.start(recording));
                }
                Next::Yielded => return Ok(Turn::Yielded),
                Next::Iteration(iteration) => {
                    self.stepped = true;
                    return Ok(Turn::Iteration(iteration));
                }
                Next::Done(report) => return Ok(Turn::Over(Some(report))),
                Next::NonFinite => {
                    self.search = Some(InstanceCosts::first_non_finite(device, problem)?);
                    return Ok(Turn::Yielded);
                }
            }
        }
    }

    /// Frees what it has on the device.
    pub fn free(&mut self, device: &mut Device) {
        self.search.take().into_iter().for_each(|search| search.free(device));
    }
}
