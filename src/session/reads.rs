//! Reads of tables as jobs. They are played in turn, since each may bring the problem's uploads along.

use super::Session;
use super::job::{Ended, Job, Progress, Step};
use leastwise_device::{Command, Play, Playing, Recording, Slice};
use leastwise_error::Error;
use leastwise_outer::{SiblingRead, Turn};
use std::ops::Range;

/// A read of a table.
struct ReadJob {
    problem: u32,
    /// The table, and the problem's revision when it was asked for.
    table: u32,
    revision: u64,
    play: Play,
}

impl Job for ReadJob {
    fn resume(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Step, Error> {
        // Those that were asked for before this one are played first. What they wait for, this one does.
        while let Some(first) = session.read_before(self.problem, task)? {
            if let Some(progress) = session.resume_before(first, deadline) {
                return Ok(progress.into());
            }
        }
        let values = match Turn::from(session.devices.main.resume(&mut self.play, deadline)?).outcome() {
            Ok(values) => values,
            Err(turn) => return Ok(Progress::of(turn, Progress::Values).into()),
        };
        if let Some(entry) = session.problems.get_mut(self.problem) {
            entry.problem.learn(self.table, self.revision, &values);
        }
        Ok(Progress::Values(values).into())
    }

    fn free(self: Box<Self>, _: &mut Session, _: u32) {}

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }

    fn playing(&mut self) -> Option<&mut Play> {
        Some(&mut self.play)
    }
}

/// A read of the point that a continuation in mixed precision is at.
struct SiblingReadJob(SiblingRead);

impl Job for SiblingReadJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let playing = self.0.resume(&mut session.devices, deadline)?;
        Ok(Progress::of(Turn::from(playing), Progress::Values).into())
    }

    fn free(self: Box<Self>, _: &mut Session, _: u32) {}
}

impl Session {
    /// The last values of a table that the host knows, also when the device is gone.
    pub fn known_table(&mut self, problem: u32, table: u32) -> Result<Vec<f64>, Error> {
        Ok(self.entry(problem)?.0.problem.known(table)?.to_vec())
    }

    /// A task that reads a table's accepted values. Several may be under way: they are played in turn.
    pub fn read_table(&mut self, problem: u32, number: u32) -> Result<u32, Error> {
        #[cfg(not(target_arch = "wasm32"))]
        if self.ranks.is_some() {
            return self.read_ranked(problem, number);
        }
        let part = self.entry(problem)?.0.problem.table(number)?;
        let part = part.arena..part.arena + part.elements();
        if let Some(read) = self.read_sibling(problem, part)? {
            return Ok(self.add_task(SiblingReadJob(read)));
        }
        let running = self.entry(problem)?.0.running;
        let aside = running.and_then(|task| self.tasks.get(&task)).is_some_and(|job| job.is_between_steps());
        if running.is_some() && !aside {
            return Err(Error::Busy);
        }
        if !aside {
            self.finish_live(problem)?;
        }
        let (devices, of) = self.site(problem)?;
        let device = &mut devices.main;
        // Values are there before terms are.
        of.lay_out_values(device)?;
        let (point, _) = of.arenas()?;
        let table = of.table(number)?;
        let slice = Slice { buffer: point.buffer, offset: table.arena, len: table.elements() };
        let revision = of.revision;
        let mut recording = Recording { commands: of.take_uploads() };
        recording.push(Command::Read { slice });
        let mut play = device.start(recording);
        if !aside {
            let task = self.add_task(ReadJob { problem, table: number, revision, play });
            self.entry(problem)?.0.reads.push(task);
            return Ok(task);
        }
        // Before the solve goes on: here it is played, or enqueued ahead of the next step.
        match device.resume(&mut play, f64::INFINITY)? {
            Playing::Finished(values) => Ok(self.add_task(Ended::with(values))),
            Playing::Yielded | Playing::Waiting(_) => Ok(self.add_task(ReadJob { problem, table: number, revision, play })),
        }
    }

    /// The first of a problem's reads, if a read is in turn and not the first.
    pub(super) fn read_before(&mut self, problem: u32, task: u32) -> Result<Option<u32>, Error> {
        let reads = &self.entry(problem)?.0.reads;
        let first = reads.first().copied().filter(|first| *first != task && reads.contains(&task));
        Ok(first.filter(|first| self.tasks.contains_key(first)))
    }

    /// Begins to read a part of the point that a continuation in mixed precision is at; nothing where there is none between two steps.
    pub(super) fn read_sibling(&mut self, problem: u32, part: Range<u32>) -> Result<Option<SiblingRead>, Error> {
        let Self { devices, problems, tasks, .. } = self;
        let owner = problems.get(problem).ok_or(Error::Disposed("problem"))?;
        let job = owner.running.and_then(|running| tasks.get(&running));
        let Some(sibling) = job.and_then(|job| job.refinement()?.idle_sibling()) else { return Ok(None) };
        sibling.read(devices, &owner.problem, part).map(Some)
    }
}
