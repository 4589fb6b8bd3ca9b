//! The host's section of a checkpoint: each of the solver's parts writes and reads itself.

use super::history::History;
use super::iterate::Iterate;
use super::rollback::Rollback;
use super::stopping::Stopping;
use crate::Iteration;
use leastwise_base::FileError;
use leastwise_problem::file::bytes::{Reader, Writer};
use leastwise_problem::file::{malformed, section};

/// Extent of a solver's state that a checkpoint has.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// True once the device's state was begun.
    pub begun_state: bool,
    /// True if the last step was rejected, and the next one goes on from what it found.
    pub reused: bool,
    /// True if a solve is under way.
    pub begun_solve: bool,
    /// True if there are bounds.
    pub bounded: bool,
}

/// The parts of a solver that a file has.
pub(super) struct Known {
    pub iterate: Iterate,
    pub history: History,
    pub rollback: Rollback,
    pub running: Option<Running>,
}

/// Parts of a solve that goes on after the step.
pub(super) struct Running {
    pub stopping: Stopping,
    pub reused: bool,
    /// D as a linear solver on the host has it.
    pub scale: Option<Vec<f64>>,
}

pub(super) fn write_iteration(to: &mut Writer, iteration: &Iteration) {
    let Iteration { index, cost, cost_change, gradient_norm, step_norm, damping, radius, length, gain_ratio, .. } = *iteration;
    to.u32(index);
    [cost, cost_change, gradient_norm, step_norm, damping, gain_ratio, iteration.ms].into_iter().for_each(|value| to.f64(value));
    [radius, length].into_iter().for_each(|value| to.option(value, Writer::f64));
    to.u32(iteration.inner_iterations);
    to.flag(iteration.accepted);
}

pub(super) fn read_iteration(from: &mut Reader) -> Result<Iteration, FileError> {
    Ok(Iteration {
        index: from.u32()?,
        cost: from.f64()?,
        cost_change: from.f64()?,
        gradient_norm: from.f64()?,
        step_norm: from.f64()?,
        damping: from.f64()?,
        gain_ratio: from.f64()?,
        ms: from.f64()?,
        radius: from.option(Reader::f64)?,
        length: from.option(Reader::f64)?,
        inner_iterations: from.u32()?,
        accepted: from.flag()?,
    })
}

impl Known {
    /// The extent, where a file has these sections.
    pub fn extent(&self, has: impl Fn(u32) -> bool) -> Extent {
        let reused = self.running.as_ref().is_some_and(|running| running.reused);
        Extent { begun_state: self.iterate.state_uploaded, reused, begun_solve: has(section::START), bounded: has(section::FREE) }
    }

    pub fn read(from: &mut Reader) -> Result<Self, FileError> {
        let iterate = Iterate::read(from)?;
        let mut history = History::read(from)?;
        let rollback = Rollback::read(from)?;
        history.read_non_finite(from)?;
        let known = Self { iterate, history, rollback, running: from.option(Running::read)? };
        let in_order = (0..).zip(&known.history.iterations).all(|(place, iteration)| iteration.index == place);
        let tried = known.running.as_ref().map_or([0; 2], |running| [running.stopping.tried, running.stopping.tests.count()]);
        // No more than there were steps; of trials of line searches there may be more.
        let most = tried.into_iter().fold(known.history.unreported, u32::max);
        if !in_order || most > known.history.len() {
            return Err(malformed("its iterations make no sense"));
        }
        Ok(known)
    }
}

impl Running {
    fn read(from: &mut Reader) -> Result<Self, FileError> {
        let mut stopping = Stopping::read(from)?;
        let (reused, scale) = (from.flag()?, from.option(Reader::numbers)?);
        stopping.read_verdict(from)?;
        Ok(Self { stopping, reused, scale })
    }
}
