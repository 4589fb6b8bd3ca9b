//! Checkpoints as jobs: the host's part is written down at once, and the device's part is read back.

use super::Session;
use super::indices::Answer;
use super::job::{Job, Progress, Step};
use leastwise_base::FileError;
use leastwise_base::container::{self, Section};
use leastwise_device::{Command, Device, Play, Playing, Precision, Recording};
use leastwise_error::Error;
use leastwise_outer::{Context, SavedOuter, SiblingRead, Turn};
use leastwise_problem::file::bytes::{Reader, Writer};
use leastwise_problem::file::{FORMAT, malformed, section};
use leastwise_problem::{Edits, Marks, Problem};
use leastwise_solve::{Part, Solver};
use std::borrow::Cow;
use std::collections::VecDeque;

/// A checkpoint on its way.
struct SaveJob {
    problem: u32,
    sections: Vec<Section<'static>>,
    coming: VecDeque<(Part, Coming)>,
}

/// Values of a part's buffer: on their way, or here.
enum Coming {
    Playing(Box<Play>),
    Here(Vec<f64>),
    /// The point of a sibling solve in mixed precision.
    Sibling(Box<SiblingRead>),
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

impl Job for SaveJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let devices = &mut session.devices;
        while let Some((part, coming)) = self.coming.front_mut() {
            let playing = match coming {
                Coming::Here(values) => Playing::Finished(std::mem::take(values)),
                Coming::Playing(play) => devices.main.resume(play, deadline)?,
                Coming::Sibling(read) => read.resume(devices, deadline)?,
            };
            let values = match Turn::from(playing).outcome() {
                Ok(values) => values,
                Err(turn) => return Ok(Progress::of(turn, Progress::Values).into()),
            };
            self.sections.push(part.section(devices.main.precision(), &values));
            self.coming.pop_front();
        }
        self.sections.sort_unstable_by_key(|section| section.kind);
        Ok(Progress::Answer(Answer::Bytes(container::write(&FORMAT, &self.sections))).into())
    }

    fn free(self: Box<Self>, _: &mut Session, _: u32) {}

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }
}

/// Bytes of a section.
pub(super) fn find<'a>(sections: &'a [Section], kind: u32) -> Result<&'a [u8], FileError> {
    let found = sections.iter().find(|section| section.kind == kind);
    found.map(|section| &*section.bytes).ok_or_else(|| malformed(format!("section {kind} of it is missing")))
}

/// Refuses a file of another precision, problem or solver; gives the names of its linear solver, to be compared when the problem is as it
/// was.
pub(super) fn compare(marks: &mut Reader, device: &Device, of: &Problem, method: &Solver) -> Result<String, Error> {
    let (known, own) = (marks.text()?, device.precision_name());
    if known != own {
        return Err(Error::Checkpoint(format!("it is in {known}, and this engine computes in {own}: init({{ precision: \"{known}\" }})")));
    }
    Marks::read(marks)?.compare(&of.marks())?;
    let linear = method.compare_ways(marks)?;
    marks.end()?;
    Ok(linear)
}

impl Session {
    /// A task whose answer is a checkpoint of a solver and its problem. Also between two steps of a solve that goes on: then
    /// it is of that moment.
    pub fn save(&mut self, solver: u32) -> Result<u32, Error> {
        #[cfg(not(target_arch = "wasm32"))]
        if self.is_ranked() {
            return self.save_ranked(solver);
        }
        let problem = self.solver_entry(solver)?.problem;
        let running = self.entry(problem)?.0.running;
        let job = running.and_then(|task| self.tasks.get(&task));
        let may_save = job.map_or(Ok(false), |job| job.may_save()).map_err(|message| Error::InvalidOption(message.into()))?;
        let within = may_save && job.is_some_and(|job| job.solver() == Some(solver));
        if !self.entry(problem)?.0.problem.has_enabled_terms() {
            let message = "save(): the problem has no enabled residual terms, so there is no solve to be saved: enable one";
            return Err(Error::InvalidOption(message.into()));
        }
        if !within {
            self.prepare(solver)?;
        }
        let method = &self.solver_entry(solver)?.driven.solver;
        method.may_save()?;
        let steps = method.steps();
        // In mixed precision, the values are the sibling's, and a solve that is restored goes on from f32's end.
        let mut sibling = None;
        let refinement = running.and_then(|task| self.tasks.get(&task)?.refinement());
        if let Some((termination, reason)) = refinement.map(|refinement| refinement.ending(steps)) {
            self.solver_entry(solver)?.driven.solver.end_as(termination, reason);
            let tables = self.entry(problem)?.0.problem.tables();
            let end = tables.iter().map(|table| table.arena + table.elements()).max().unwrap_or(0);
            sibling = self.read_sibling(problem, 0..end)?;
        }
        let has_sibling = sibling.is_some();
        let outer = running.filter(|_| within).and_then(|task| self.tasks.get(&task)?.outer());
        let Context { devices, problem: of, driven } = self.context(problem, solver)?;
        let (device, method) = (&mut devices.main, &driven.solver);
        let [mut marks, mut edits] = [Writer::default(), Writer::default()];
        marks.text(device.precision_name());
        of.marks().write(&mut marks);
        method.write_ways(&mut marks);
        of.write_edits(&mut edits);
        let (host, parts) = method.save(of, within)?;
        let section = |kind: u32, writer: Writer| Section { kind, bytes: Cow::Owned(writer.bytes) };
        let mut sections = vec![section(section::MARKS, marks), section(section::EDITS, edits), host];
        sections.extend(outer.map(|bytes| Section { kind: section::OUTER, bytes: Cow::Owned(bytes) }));
        let mut coming = VecDeque::new();
        for part in parts {
            if let Some(read) = sibling.take_if(|_| part.section == section::VALUES) {
                coming.push_back((part, Coming::Sibling(Box::new(read))));
                continue;
            }
            // Uploads come after what is taken over of a sibling.
            let mut recording = Recording { commands: if has_sibling { Vec::new() } else { of.take_uploads() } };
            recording.push(Command::Read { slice: part.slice });
            coming.push_back((part, Coming::of(device, recording)?));
        }
        let job = SaveJob { problem, sections, coming };
        if within { Ok(self.add_task(job)) } else { self.start_task(problem, job) }
    }

    /// Brings a problem and one of its solvers back to where they were saved, be it in another process. A file that is
    /// refused changes nothing.
    pub fn restore(&mut self, solver: u32, file: &[u8]) -> Result<(), Error> {
        #[cfg(not(target_arch = "wasm32"))]
        if self.is_ranked() {
            return self.restore_ranked(solver, file);
        }
        let problem = self.solver_entry(solver)?.problem;
        self.idle(problem)?;
        if self.entry(problem)?.0.problem.has_enabled_terms() {
            self.prepare(solver)?;
        }
        let sections = container::read(&FORMAT, file)?;
        let [mut marks, mut edits] = [Reader::new(find(&sections, section::MARKS)?), Reader::new(find(&sections, section::EDITS)?)];
        let Context { devices, problem: of, driven } = self.context(problem, solver)?;
        let (device, registry, method) = (&mut devices.main, &mut devices.registry, &mut driven.solver);

        let linear = compare(&mut marks, device, of, method)?;
        let changes = Edits::read(&mut edits, of)?;
        edits.end()?;
        if changes.select_as(of) {
            method.compare_linear(&linear)?;
        }
        let (saved, values) = method.read_saved(of, &sections)?;
        let outer = sections.iter().find(|section| section.kind == section::OUTER);
        let outer = outer.map(|section| SavedOuter::read(&section.bytes, method, device.precision() == Precision::F32)).transpose()?;
        of.check_restored(&values, false)?;

        if of.is_lending() {
            of.stop_lending(device);
        }
        of.restore(device, &values, changes)?;
        method.prepare(device, registry, of)?;
        method.compare_linear(&linear)?;
        let uploads = method.restore(of, saved)?;
        driven.outer = outer;
        let mut commands = of.take_uploads();
        commands.extend(uploads);
        let mut play = device.start(Recording { commands });
        device.resume(&mut play, f64::INFINITY)?;
        Ok(())
    }
}
