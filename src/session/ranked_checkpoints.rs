//! Checkpoints of solves by ranks: all write the same file, that of one device, and any number of ranks goes on from it.
//!
//! Of ranks the last solve of a problem is kept until the next one, or until its solver is freed; in its midst it is the task's. What is
//! restored is at once what is read, and the next solve goes on from it. A solve waits for a checkpoint in its midst.

use super::Session;
use super::checkpoints::{compare, find};
use super::indices::Answer;
use super::job::{Job, Progress, Step};
use leastwise_base::container::{self, Section};
use leastwise_collective::Fault;
use leastwise_error::Error;
use leastwise_outer::Devices;
use leastwise_problem::file::bytes::{Reader, Writer};
use leastwise_problem::file::{FORMAT, section};
use leastwise_ranks::{Restored, supported};
use leastwise_solve::{Choice, Linear};
use std::borrow::Cow;
use std::sync::Arc;

/// A checkpoint that all ranks make together.
struct RankedSave {
    problem: u32,
    solver: u32,
    /// The solve in whose midst it is.
    within: Option<u32>,
    /// True once ranks have made it, or know of its failure.
    is_over: bool,
}

impl RankedSave {
    fn file(&self, session: &mut Session) -> Result<Vec<u8>, Error> {
        let Session { problems, solvers, tasks, devices: Devices { main: device, .. }, .. } = session;
        let entry = problems.get_mut(self.problem).ok_or(Error::Disposed("problem"))?;
        let options = solvers.get_mut(self.solver).and_then(|solver| solver.options.as_ref()).ok_or(Error::Disposed("solver"))?;
        let parts = entry.ranked.as_mut().ok_or(Error::Internal("a problem is not one of ranks"))?;
        let [mut marks, mut edits] = [Writer::default(), Writer::default()];
        marks.text(device.precision_name());
        entry.problem.marks().write(&mut marks);
        entry.problem.write_edits(&mut edits);
        // A solve that has come to its end meanwhile is the problem's last one.
        let running = self.within.and_then(|task| tasks.get(&task)?.ranked());
        let mut sections = parts.save(device, (self.solver, running), |solve| solve.write_ways(options.eliminate.clone(), &mut marks))?;
        let section = |kind: u32, writer: Writer| Section { kind, bytes: Cow::Owned(writer.bytes) };
        sections.extend([section(section::MARKS, marks), section(section::EDITS, edits)]);
        sections.sort_unstable_by_key(|section| section.kind);
        Ok(container::write(&FORMAT, &sections))
    }
}

impl Job for RankedSave {
    fn resume(&mut self, session: &mut Session, task: u32, _: f64) -> Result<Step, Error> {
        let waits = match self.within {
            Some(solve) => session.is_preceded(solve, task),
            None => session.is_behind(task),
        };
        if waits {
            return Ok(Progress::Yielded.into());
        }
        let file = self.file(session);
        // A solver or problem that is gone is this rank's failure alone.
        self.is_over = !matches!(file, Err(Error::Disposed(_)));
        Ok(Progress::Answer(Answer::Bytes(file?)).into())
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        if let (false, None, Some(ranks)) = (self.is_over, &session.followers, &session.ranks) {
            let message = "its checkpoint was given up".into();
            ranks.give_up(Fault::Broken { rank: ranks.rank(), size: ranks.size(), message });
        }
    }

    fn problem(&self) -> Option<u32> {
        Some(self.problem).filter(|_| self.within.is_none())
    }

    fn is_collective(&self) -> bool {
        true
    }

    fn precedes(&self) -> Option<u32> {
        self.within
    }
}

/// Refusal where nothing is kept that could be saved.
pub(super) fn nothing_to_save() -> Error {
    let message = "save(): several ranks keep the problem's last solve alone, which was not this solver's: solve with it before, or call save() \
                   within onIteration";
    Error::InvalidOption(message.into())
}

impl Session {
    /// A task whose answer is a checkpoint, which all ranks make together.
    pub(super) fn save_ranked(&mut self, solver: u32) -> Result<u32, Error> {
        let problem = self.solver_entry(solver)?.problem;
        let running = self.entry(problem)?.0.running;
        let within = running.filter(|task| self.tasks.get(task).is_some_and(|job| job.solver() == Some(solver) && job.ranked().is_some()));
        let job = RankedSave { problem, solver, within, is_over: false };
        if within.is_some() {
            return Ok(self.add_task(job));
        }
        let parts = self.idle(problem)?.0.ranked.as_ref();
        if !parts.is_some_and(|parts| parts.has_ended(solver)) {
            return Err(nothing_to_save());
        }
        self.start_task(problem, job)
    }

    /// Has the next solve of a solver of ranks go on from a file. Ranks compare it then.
    pub(super) fn restore_ranked(&mut self, solver: u32, file: &[u8]) -> Result<(), Error> {
        let problem = self.solver_entry(solver)?.problem;
        self.idle(problem)?;
        let sections = container::read(&FORMAT, file)?;
        let mut marks = Reader::new(find(&sections, section::MARKS)?);
        let Self { problems, solvers, devices: Devices { main: device, .. }, .. } = self;
        let entry = problems.get_mut(problem).ok_or(Error::Disposed("problem"))?;
        let of_solver = solvers.get_mut(solver).ok_or(Error::Disposed("solver"))?;
        let (of, method) = (&mut entry.problem, &of_solver.driven.solver);

        let linear = compare(&mut marks, device, of, method)?;
        let options = of_solver.options.as_deref().ok_or(Error::Internal("a solver of ranks has no options"))?;
        let wanted = supported(options)?.settings()?.linear;
        let preconditioner = wanted.preconditioner.map(|preconditioner| (preconditioner, String::new()));
        Choice { linear: wanted.linear.unwrap_or(Linear::Pcg), why: String::new(), preconditioner }.compare(&linear)?;
        let mut edits = Writer::default();
        of.write_edits(&mut edits);
        if edits.bytes != find(&sections, section::EDITS)? {
            let message = "its data, weights, losses, limits or fixed rows are others than this problem's: with several ranks give the problem \
                           those of the file before restore()";
            return Err(Error::Checkpoint(message.into()));
        }
        let (_, values) = method.read_saved(of, &sections)?;
        of.check_restored(&values, false)?;

        let parts = entry.ranked.as_mut().ok_or(Error::Internal("a problem is not one of ranks"))?;
        // The next solve begins with the file, and not with what the last one left.
        parts.forget_solve(device, Some(solver));
        let unedited = parts.restore_values(&values)?;
        of.restore_values(&values);
        let sections = sections.into_iter().map(|section| Section { kind: section.kind, bytes: Cow::Owned(section.bytes.into_owned()) });
        let sections = sections.filter(|section| ![section::MARKS, section::EDITS].contains(&section.kind)).collect();
        of_solver.restored = Some(Arc::new(Restored { sections, linear, unedited }));
        Ok(())
    }
}
