//! What the host knows of a solve, as a section of a checkpoint.

use crate::linear::host::Knobs;
use crate::offender::Offender;
use crate::termination::Tests;
use crate::{Iteration, Termination};
use leastwise_base::FileError;
use leastwise_problem::file::bytes::{Reader, Writer};
use leastwise_problem::file::{malformed, section};

/// How much of a solver there is to save.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Whether the device's state was begun.
    pub fresh: bool,
    /// Whether the last step was rejected, and the next one goes on from what it found.
    pub again: bool,
    /// Whether a solve is under way.
    pub begun: bool,
    /// Whether there are limits.
    pub bounded: bool,
}

/// What the host knows of a solve.
pub(super) struct Known {
    pub knobs: Knobs,
    pub has_moved: bool,
    pub fresh_state: bool,
    pub sets_out: bool,
    pub edited: bool,
    pub iterations: Vec<Iteration>,
    pub first_iteration: u32,
    pub initial_cost: Option<f64>,
    pub moved: [u32; 2],
    pub arrival: Option<Iteration>,
    pub retreat: Option<Iteration>,
    pub retreats: u32,
    pub non_finite: u32,
    pub offender: Option<Offender>,
    pub running: Option<Running>,
}

/// Of a solve that goes on after the step.
pub(super) struct Running {
    pub tests: Tests,
    pub tried: u32,
    pub elapsed_ms: f64,
    pub again: bool,
    pub scale: Option<Vec<f64>>,
    pub ending: Option<(Termination, String)>,
}

pub(super) fn write_iteration(to: &mut Writer, iteration: &Iteration) {
    let Iteration { index, cost, cost_change, gradient_norm, step_norm, damping, radius, length, gain_ratio, .. } = *iteration;
    to.u32(index);
    [cost, cost_change, gradient_norm, step_norm, damping, gain_ratio, iteration.ms].into_iter().for_each(|value| to.f64(value));
    [radius, length].into_iter().for_each(|value| to.option(value, Writer::f64));
    to.u32(iteration.inner_iterations);
    to.flag(iteration.accepted);
}

fn read_iteration(from: &mut Reader) -> Result<Iteration, FileError> {
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
    /// How much there is, where a file has these sections.
    pub fn extent(&self, has: impl Fn(u32) -> bool) -> Extent {
        let again = self.running.as_ref().is_some_and(|running| running.again);
        Extent { fresh: self.fresh_state, again, begun: has(section::START), bounded: has(section::FREE) }
    }

    pub fn read(from: &mut Reader) -> Result<Self, FileError> {
        let knobs = Knobs { damping: from.f64()?, floor: from.f64()?, forcing: from.f64()? };
        let [has_moved, fresh_state, sets_out, edited] = [from.flag()?, from.flag()?, from.flag()?, from.flag()?];
        let count = from.u32()?;
        let iterations = from.list(count, read_iteration)?;
        let known = Self {
            knobs,
            has_moved,
            fresh_state,
            sets_out,
            edited,
            iterations,
            first_iteration: from.u32()?,
            initial_cost: from.option(Reader::f64)?,
            moved: [from.u32()?, from.u32()?],
            arrival: from.option(read_iteration)?,
            retreat: from.option(read_iteration)?,
            retreats: from.u32()?,
            non_finite: from.u32()?,
            offender: from.option(|from| Ok(Offender { iteration: from.u32()?, term: from.text()?, instance: from.u32()? }))?,
            running: from.option(Running::read)?,
        };
        let in_order = (0..).zip(&known.iterations).all(|(place, iteration)| iteration.index == place);
        let tried = known.running.as_ref().map_or([0; 2], |running| [running.tried, running.tests.count()]);
        // No more than there were steps; of trials of line searches there may be more.
        let most = tried.into_iter().fold(known.first_iteration, u32::max);
        if !in_order || most > count {
            return Err(malformed("its iterations make no sense"));
        }
        Ok(known)
    }
}

impl Running {
    fn read(from: &mut Reader) -> Result<Self, FileError> {
        Ok(Self {
            tests: Tests::read(from)?,
            tried: from.u32()?,
            elapsed_ms: from.f64()?,
            again: from.flag()?,
            scale: from.option(Reader::numbers)?,
            ending: from.option(|from| {
                let number = from.u32()?;
                let known = Termination::ALL.into_iter().find(|known| *known as u32 == number);
                Ok((known.ok_or_else(|| malformed("it ends for no reason that is known"))?, from.text()?))
            })?,
        })
    }
}
