//! Costs of single instances: of a term, or to find the first residual that is not finite.

use super::summing;
use crate::Turn;
use leastwise_device::{BufferId, Command, Device, Play, Precision, Recording, Slice, binding::*};
use leastwise_error::Error;
use leastwise_problem::Problem;
use leastwise_program::Objective;
use leastwise_solve::{Summing, evaluate, nonfinite};
use std::collections::VecDeque;

/// Chunks whose instances are evaluated one after the other.
pub struct InstanceCosts {
    /// The term whose costs are wanted; none when the first residual that is not finite is.
    term: Option<u32>,
    /// Batches and chunks still to do.
    left: VecDeque<(usize, usize)>,
    /// Batch, chunk and place of the instance whose cost is not finite, while its residual is read.
    suspect: Option<(usize, usize, usize)>,
    work: Summing,
    play: Option<Play>,
    values: Vec<f64>,
}

impl InstanceCosts {
    /// ½ w ‖r‖² of every instance of a term.
    pub fn of_term(device: &mut Device, problem: &Problem, term: u32) -> Result<Self, Error> {
        let mut left = VecDeque::new();
        for (number, batch) in problem.batches().iter().enumerate() {
            for member in batch.members.iter().filter(|member| member.term == term) {
                let chunks = batch.chunks.iter().enumerate();
                let mine =
                    chunks.filter(|(_, chunk)| chunk.first < member.first + member.count && member.first < chunk.first + chunk.count);
                left.extend(mine.map(|(chunk, _)| (number, chunk)));
            }
        }
        let values = vec![f64::NAN; problem.term(term)?.count as usize];
        Self::new(device, problem, Some(term), left, values)
    }

    /// A search for the first residual that is not finite, which ends in the error that names it.
    pub fn first_non_finite(device: &mut Device, problem: &Problem) -> Result<Self, Error> {
        let enabled = problem.batches().iter().enumerate().filter(|(_, batch)| batch.enabled);
        let left = enabled.flat_map(|(number, batch)| (0..batch.chunks.len()).map(move |chunk| (number, chunk))).collect();
        Self::new(device, problem, None, left, Vec::new())
    }

    fn new(
        device: &mut Device,
        problem: &Problem,
        term: Option<u32>,
        left: VecDeque<(usize, usize)>,
        values: Vec<f64>,
    ) -> Result<Self, Error> {
        let longest = left.iter().map(|&(batch, _)| problem.batches()[batch].longest_scratch()).max();
        let work = summing(device, longest.unwrap_or(1))?;
        Ok(Self { term, left, suspect: None, work, play: None, values })
    }

    /// The recording that is being played, which brings the problem's uploads along.
    pub fn playing(&mut self) -> Option<&mut Play> {
        self.play.as_mut()
    }

    fn buffers(&self) -> [BufferId; 2] {
        [self.work.scratch.buffer, self.work.state.buffer]
    }

    /// Outcome: the costs of the term's instances.
    ///
    /// # Errors
    /// The first residual that is not finite, where that is what is looked for.
    pub fn resume(&mut self, device: &mut Device, problem: &mut Problem, deadline: f64) -> Result<Turn<Vec<f64>>, Error> {
        loop {
            let mut play = match self.play.take() {
                Some(play) => play,
                None => match self.next(problem, device)? {
                    Some(play) => play,
                    None if self.term.is_none() => {
                        let message = "the cost at the start values is not finite, though every residual is: their sum overflows; scale the residuals down";
                        return Err(Error::InvalidOption(message.into()));
                    }
                    None => return Ok(Turn::Over(std::mem::take(&mut self.values))),
                },
            };
            match Turn::from(device.resume(&mut play, deadline)?).outcome() {
                Ok(values) => self.take(problem, device.precision(), values)?,
                Err(turn) => {
                    self.play = Some(play);
                    return Ok(turn);
                }
            }
        }
    }

    /// Frees what it has on the device.
    pub fn free(self, device: &mut Device) {
        self.buffers().into_iter().for_each(|buffer| device.free(buffer));
    }

    /// Starts the next chunk; `None` when all are done.
    fn next(&mut self, problem: &mut Problem, device: &mut Device) -> Result<Option<Play>, Error> {
        if let Some((batch, chunk, _)) = self.suspect {
            let batch = &problem.batches()[batch];
            let chunk = &batch.chunks[chunk];
            let rows = Slice { buffer: chunk.jacobian, offset: 0, len: batch.programs.rows * chunk.count };
            return Ok(Some(device.start(Recording { commands: vec![Command::Read { slice: rows }] })));
        }
        let Some(&(batch, number)) = self.left.front() else { return Ok(None) };
        let mut recording = Recording { commands: problem.take_uploads() };
        let batch = &problem.batches()[batch];
        let chunk = &batch.chunks[number];
        let (point, work) = (problem.arenas()?.0, &self.work);
        if let Some(sums) = batch.sums.as_ref().filter(|_| number == 0) {
            work.linearize(sums, point, &mut recording.commands);
        }
        let bindings = [(ARENA, point), (VECTOR_OUT, work.scratch), (STATE, work.state)];
        recording.push(evaluate(batch.kernels.linearize, chunk, &bindings));
        recording.push(evaluate(batch.kernels.energy, chunk, &bindings));
        recording.push(Command::Read { slice: Slice { len: chunk.count, ..work.scratch } });
        Ok(Some(device.start(recording)))
    }

    /// Takes a chunk's values.
    fn take(&mut self, problem: &Problem, precision: Precision, values: Vec<f64>) -> Result<(), Error> {
        if let Some(suspect) = self.suspect {
            return Err(non_finite(problem, suspect, precision, &values)?);
        }
        let Some((number, chunk)) = self.left.pop_front() else { return Ok(()) };
        let batch = &problem.batches()[number];
        let first = batch.chunks[chunk].first;
        let Some(term) = self.term else {
            let Some(place) = values.iter().position(|value| !value.is_finite()) else { return Ok(()) };
            self.suspect = Some((number, chunk, place));
            return Ok(());
        };
        let owner = problem.term(term)?;
        for member in batch.members.iter().filter(|member| member.term == term) {
            for (instance, value) in (first..).zip(&values) {
                if (member.first..member.first + member.count).contains(&instance) {
                    self.values[owner.instance(member.part, instance - member.first) as usize] = *value;
                }
            }
        }
        Ok(())
    }
}

/// The error of an instance whose cost is not finite: its residual is not, the residual's square (or with its weight) overflows, or its
/// loss has no value there, which is the residual's fault to its user.
fn non_finite(problem: &Problem, suspect: (usize, usize, usize), precision: Precision, rows: &[f64]) -> Result<Error, Error> {
    let (batch, chunk, place) = suspect;
    let batch = &problem.batches()[batch];
    let chunk = &batch.chunks[chunk];
    let (term, instance) = nonfinite::name(problem, batch, chunk.first + place as u32)?;
    let is_squared = batch.programs.objective != Objective::Energy;
    let own = rows.iter().skip(place).step_by(chunk.count as usize).map(|r| r.abs());
    let squares: f64 = own.clone().map(|r| r * r).sum();
    let size = own.fold(0.0, |size: f64, r| if r.is_finite() { size.max(r) } else { f64::INFINITY });
    let has_loss = problem.terms().any(|owner| owner.name == term && owner.has_loss());
    let overflows = squares > precision.largest() || !has_loss;
    if !is_squared || !size.is_finite() || !overflows {
        return Ok(Error::NonFiniteResidual { term, instance });
    }
    let largest = if precision == Precision::F64 { "1.8e308" } else { "3.4e38" };
    Ok(Error::SquareOverflows { term, instance, value: format!("{size:.3e}"), largest })
}
