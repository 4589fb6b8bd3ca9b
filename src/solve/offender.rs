//! Trial points where the residual is not finite: how many there were, and which instance was the first.
//!
//! A step to such a point is rejected like any other that goes uphill. Whoever is to mend the residual wants to know where
//! it was: for the first of these points, the instances' changes are computed once more and looked through.

use super::Workspace;
use leastwise_device::{Command, Recording, Slice};
use leastwise_error::Error;
use leastwise_problem::{Batch, Problem};
use serde::Serialize;

/// The first instance of a term that was not finite at a trial point.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Offender {
    /// Number of the step.
    pub iteration: u32,
    pub term: String,
    pub instance: u32,
}

/// Since the last report.
#[derive(Default)]
pub struct Offenders {
    pub count: u32,
    pub first: Option<Offender>,
    /// The step, and the next batch and chunk to look through.
    at: (u32, usize, usize),
}

impl Offenders {
    /// Counts a step whose trial point was not finite. Whether it is the first: then its offender is to be looked for.
    pub fn count(&mut self, iteration: u32) -> bool {
        self.count += 1;
        self.at = (iteration, 0, 0);
        self.count == 1
    }

    /// What shows the changes of the next chunk; `None` when all were looked through, or the offender is known.
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
            self.first = Some(Offender { iteration, term, instance });
        }
        Ok(())
    }
}

/// The term of a batch's instance, and the number that it has there.
pub fn name(problem: &Problem, batch: &Batch, instance: u32) -> Result<(String, u32), Error> {
    let member = batch.members.iter().find(|member| (member.first..member.first + member.count).contains(&instance));
    let member = member.ok_or(Error::Disposed("term"))?;
    let term = problem.term(member.term)?;
    Ok((term.name.clone(), term.instance(member.part, instance - member.first)))
}
