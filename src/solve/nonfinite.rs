//! Non-finite residuals at trial points: their number, and the instance that was the first.
//!
//! A step to such a point is rejected like any other that goes uphill. Whoever is to mend the residual wants to know where
//! it was: for the first of these points, the instances' changes are computed once more and looked through.

use super::Workspace;
use leastwise_base::FileError;
use leastwise_device::{Command, Recording, Slice};
use leastwise_error::Error;
use leastwise_problem::file::bytes::{Reader, Writer};
use leastwise_problem::{Batch, Problem};
use serde::Serialize;

/// The first instance of a term that was not finite at a trial point.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NonFiniteResidual {
    /// Number of the step.
    pub iteration: u32,
    /// Name of the term.
    pub term: String,
    /// The term's number of the instance.
    pub instance: u32,
}

impl NonFiniteResidual {
    pub(super) fn write(&self, to: &mut Writer) {
        to.u32(self.iteration);
        to.text(&self.term);
        to.u32(self.instance);
    }

    pub(super) fn read(from: &mut Reader) -> Result<Self, FileError> {
        Ok(Self { iteration: from.u32()?, term: from.text()?, instance: from.u32()? })
    }
}

/// Non-finite trial points since the last report.
#[derive(Default)]
pub struct NonFinite {
    /// Number of non-finite trial points.
    pub count: u32,
    /// Term and instance of the first, once they are found.
    pub first: Option<NonFiniteResidual>,
    /// The step, and the next batch and chunk to look through.
    at: (u32, usize, usize),
}

impl NonFinite {
    /// Counts a step whose trial point was not finite; true if it is the first, whose instance is to be looked for.
    pub fn count(&mut self, iteration: u32) -> bool {
        self.count += 1;
        self.at = (iteration, 0, 0);
        self.count == 1
    }

    /// The recording that reads the changes of the next chunk; `None` when all were looked through, or the instance is known.
    pub fn next(&mut self, work: &Workspace, problem: &Problem) -> Result<Option<Recording>, Error> {
        let (_, trial) = problem.arenas()?;
        while self.first.is_none() {
            let Some(batch) = problem.batches().get(self.at.1) else { break };
            let Some(chunk) = batch.chunks.get(self.at.2).filter(|_| batch.enabled) else {
                (self.at.1, self.at.2) = (self.at.1 + 1, 0);
                continue;
            };
            let evaluate = work.generated(batch.kernels.change, chunk, trial, work.step);
            let read = Command::Read { slice: Slice { len: chunk.count, ..work.scratch } };
            return Ok(Some(Recording { commands: vec![evaluate, read] }));
        }
        Ok(None)
    }

    /// Looks through the changes of a chunk's instances.
    pub fn look(&mut self, problem: &Problem, changes: &[f64]) -> Result<(), Error> {
        let (iteration, number, chunk) = self.at;
        self.at.2 += 1;
        let Some(batch) = problem.batches().get(number) else { return Ok(()) };
        if let Some(place) = changes.iter().position(|change| !change.is_finite()) {
            let (term, instance) = name(problem, batch, batch.chunks[chunk].first + place as u32)?;
            self.first = Some(NonFiniteResidual { iteration, term, instance });
        }
        Ok(())
    }
}

/// The term of a batch's instance, and the number that it has there.
pub fn name(problem: &Problem, batch: &Batch, instance: u32) -> Result<(String, u32), Error> {
    let member = batch.members.iter().find(|member| (member.first..member.first + member.count).contains(&instance));
    let member = member.ok_or(Error::Internal("an instance belongs to no term"))?;
    let term = problem.term(member.term)?;
    Ok((term.name.clone(), term.instance(member.part, instance - member.first)))
}
