//! Checkpoints as tasks: what the host knows is written down at once, and what the device knows comes back.

use super::indices::Answer;
use super::mirrors::Glimpse;
use super::refined::of_waiting;
use super::task::{Progress, SolveMode, Task};
use super::{Session, SolverEntry};
use leastwise_base::container::{self, Section};
use leastwise_device::{Command, Device, Play, Playing, Recording};
use leastwise_error::Error;
use leastwise_problem::file::bytes::{Reader, Writer};
use leastwise_problem::file::{FORMAT, malformed, section};
use leastwise_problem::{Edits, Marks};
use leastwise_solve::Part;
use std::borrow::Cow;
use std::collections::VecDeque;

/// A checkpoint on its way.
pub(super) struct Saving {
    pub problem: u32,
    sections: Vec<Section<'static>>,
    coming: VecDeque<(Part, Coming)>,
}

/// What a part's buffer holds: on its way, or here.
enum Coming {
    Playing(Box<Play>),
    Here(Vec<f64>),
    /// The point of a mirror.
    Glimpse(Box<Glimpse>),
}

impl Coming {
    /// Has a device read, without waiting for it: what is recorded afterwards finds the buffer read.
    fn of(device: &mut Device, recording: Recording) -> Result<Self, Error> {
        let mut play = device.start(recording);
        Ok(match device.resume(&mut play, f64::INFINITY)? {
            Playing::Finished(values) => Self::Here(values),
            Playing::Yielded | Playing::Waiting(_) => Self::Playing(Box::new(play)),
        })
    }
}

impl Session {
    /// A task whose answer is a checkpoint of a solver and its problem. Also between two steps of a solve that goes on: then
    /// it is of that moment.
    pub fn save(&mut self, solver: u32) -> Result<u32, Error> {
        let problem = self.solver_entry(solver)?.problem;
        let running = self.entry(problem)?.0.running;
        let running = running.and_then(|task| self.tasks.get(&task));
        let is_solve = |task: &Task| matches!(task, Task::Solve { mode: SolveMode::Solve, .. } | Task::Refining(_));
        let solves = |task: &Task| is_solve(task) && task.solver() == Some(solver);
        let within = running.is_some_and(|task| task.is_between_steps() && solves(task));
        if let Some(Task::Constrained(_)) = running {
            let message = "a solve with constraints is not saved in its midst, where a file would lack what it knows of them: save when it has ended, or between steps";
            return Err(Error::InvalidOption(message.into()));
        }
        if !self.entry(problem)?.0.problem.has_enabled_terms() {
            let message = "save(): the problem has no enabled residual terms, so there is no solve to be saved: enable one";
            return Err(Error::InvalidOption(message.into()));
        }
        if !within {
            self.prepare(solver)?;
        }
        let method = &self.solver_entry(solver)?.solver;
        method.may_save()?;
        let steps = method.steps();
        let running = self.entry(problem)?.0.running;
        // Where it goes on in mixed precision, the values are the mirror's, and whoever restores them goes on from f32's end.
        let mut glimpse = None;
        if let Some(Task::Refining(task)) = running.and_then(|task| self.tasks.get(&task)) {
            let (termination, reason) = task.ending(steps);
            self.solver_entry(solver)?.solver.end_as(termination, reason);
            let tables = self.entry(problem)?.0.problem.tables();
            let end = tables.iter().map(|table| table.arena + table.elements()).max().unwrap_or(0);
            glimpse = self.glimpse(problem, 0..end)?;
        }
        let is_mirrored = glimpse.is_some();
        let Some(SolverEntry { solver: method, .. }) = self.solvers.get_mut(solver).map(Box::as_mut) else {
            return Err(Error::Disposed("solver"));
        };
        let Some(owner) = self.problems.get_mut(problem) else { return Err(Error::Disposed("problem")) };
        let of = &mut owner.problem;
        let [mut marks, mut edits] = [Writer::default(), Writer::default()];
        marks.text(self.device.precision_name());
        of.marks().write(&mut marks);
        method.write_ways(&mut marks);
        of.write_edits(&mut edits);
        let (host, parts) = method.save(of, within)?;
        let section = |kind: u32, writer: Writer| Section { kind, bytes: Cow::Owned(writer.bytes) };
        let sections = vec![section(section::MARKS, marks), section(section::EDITS, edits), host];
        let mut coming = VecDeque::new();
        for part in parts {
            if let Some(glimpse) = glimpse.take_if(|_| part.section == section::VALUES) {
                coming.push_back((part, Coming::Glimpse(Box::new(glimpse))));
                continue;
            }
            // Uploads come after what is taken over of a mirror.
            let mut recording = Recording { commands: if is_mirrored { Vec::new() } else { of.take_uploads() } };
            recording.push(Command::Read { slice: part.slice });
            coming.push_back((part, Coming::of(&mut self.device, recording)?));
        }
        let task = Task::Save(Saving { problem, sections, coming });
        if within { Ok(self.add_task(task)) } else { self.start_task(problem, task) }
    }

    pub(super) fn resume_saving(&mut self, saving: &mut Saving, deadline: f64) -> Result<Progress, Error> {
        while let Some((part, coming)) = saving.coming.front_mut() {
            let playing = match coming {
                Coming::Here(values) => Playing::Finished(std::mem::take(values)),
                Coming::Playing(play) => self.device.resume(play, deadline)?,
                Coming::Glimpse(glimpse) => self.resume_glimpse(glimpse, deadline)?,
            };
            let values = match playing {
                Playing::Finished(values) => values,
                waiting => return Ok(of_waiting(waiting)),
            };
            saving.sections.push(part.section(self.device.precision(), &values));
            saving.coming.pop_front();
        }
        saving.sections.sort_unstable_by_key(|section| section.kind);
        Ok(Progress::Answer(Answer::Bytes(container::write(&FORMAT, &saving.sections))))
    }

    /// Brings a problem and one of its solvers back to where they were saved, be it in another process. A file that is
    /// refused changes nothing.
    pub fn restore(&mut self, solver: u32, file: &[u8]) -> Result<(), Error> {
        let problem = self.solver_entry(solver)?.problem;
        self.idle(problem)?;
        if self.entry(problem)?.0.problem.has_enabled_terms() {
            self.prepare(solver)?;
        }
        let sections = container::read(&FORMAT, file)?;
        let find = |kind: u32| {
            let found = sections.iter().find(|section| section.kind == kind);
            found.map(|section| &*section.bytes).ok_or_else(|| malformed(format!("section {kind} of it is missing")))
        };
        let [mut marks, mut edits] = [Reader::new(find(section::MARKS)?), Reader::new(find(section::EDITS)?)];
        let Self { device, registry, solvers, problems, .. } = self;
        let entry = solvers.get_mut(solver).ok_or(Error::Disposed("solver"))?;
        let owner = problems.get_mut(problem).ok_or(Error::Disposed("problem"))?;
        let (of, method) = (&mut owner.problem, &mut entry.solver);

        let (known, own) = (marks.text()?, device.precision_name());
        if known != own {
            return Err(Error::Checkpoint(format!(
                "it is in {known}, and this engine computes in {own}: init({{ precision: \"{known}\" }})"
            )));
        }
        Marks::read(&mut marks)?.compare(&of.marks())?;
        let linear = method.compare_ways(&mut marks)?;
        marks.end()?;
        let changes = Edits::read(&mut edits, of)?;
        edits.end()?;
        if changes.select_as(of) {
            method.compare_linear(&linear)?;
        }
        let (saved, values) = method.read_saved(of, &sections)?;
        of.check_restored(&values, false)?;

        of.restore(device, &values, changes)?;
        method.prepare(device, registry, of)?;
        method.compare_linear(&linear)?;
        let uploads = method.restore(of, saved)?;
        let mut commands = of.take_uploads();
        commands.extend(uploads);
        let mut play = device.start(Recording { commands });
        device.resume(&mut play, f64::INFINITY)?;
        Ok(())
    }
}
