//! A solver between two steps, as sections of a checkpoint, and back.
//!
//! A step leaves for the next one the state, the largest diagonal, the points before and the best. After a rejected step of a
//! solve that goes on, J and g still hold, and so does the solution that methods keep: then the next step begins with
//! differentiating, at the same point and to the same bits, and with uploading the rest ([`CheckpointedSystem`]).

use super::super::{Dogleg, Method, state};
use super::iterate::{CheckpointedSystem, Iterate};
use super::saved::{Extent, Known, Running};
use super::start::Start;
use super::stopping::Stopping;
use super::{Phase, Solver};
use crate::linear::Preconditioner;
use leastwise_base::FileError;
use leastwise_base::container::Section;
use leastwise_device::{Command, Precision, Slice};
use leastwise_error::Error;
use leastwise_problem::file::bytes::{Reader, Writer, reals};
use leastwise_problem::file::{malformed, section};
use leastwise_problem::{Problem, Table};
use std::borrow::Cow;

/// Part of each table that a section has values of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// The scalars of all tables, or of those that move.
    Scalars {
        /// True for the latter.
        moving: bool,
    },
    /// Degrees of freedom.
    Unknowns,
    /// Elements of the state.
    State,
    /// All elements.
    All,
}

/// A part of a buffer that a checkpoint has.
pub struct Part {
    /// Section of the file ([`section`]).
    pub section: u32,
    /// Slice that the values are read from and written to.
    pub slice: Slice,
    /// Part of each table.
    pub over: Over,
    /// Places of its values in the buffer: first elements and lengths.
    pieces: Vec<(u32, u32)>,
}

impl Part {
    fn new(problem: &Problem, section: u32, slice: Slice, over: Over) -> Self {
        let of = |table: &Table| match over {
            Over::Unknowns => (table.vector, table.unknowns()),
            _ => (table.arena, table.elements()),
        };
        let pieces = match over {
            Over::State => vec![(0, state::STATE_LEN)],
            Over::All => vec![(0, slice.len)],
            Over::Scalars { moving: false } => problem.tables().iter().map(of).collect(),
            Over::Scalars { moving: true } | Over::Unknowns => problem.moving().map(of).collect(),
        };
        Self { section, slice, over, pieces }
    }

    /// The section of what the buffer was found to hold.
    pub fn section(&self, precision: Precision, values: &[f64]) -> Section<'static> {
        let mut writer = Writer::default();
        for &(first, len) in &self.pieces {
            writer.reals(&values[first as usize..][..len as usize], precision);
        }
        Section { kind: self.section, bytes: Cow::Owned(writer.bytes) }
    }

    /// Its values in a section, table by table.
    fn values(&self, precision: Precision, sections: &[Section]) -> Result<Vec<f64>, FileError> {
        let count = self.pieces.iter().map(|piece| piece.1 as usize).sum();
        let found = reals(find(sections, self.section)?, precision, count);
        found.ok_or_else(|| malformed(format!("section {} of it has another length", self.section)))
    }

    /// Commands that write values, table by table, where they belong.
    fn uploads(&self, values: &[f64]) -> Vec<Command> {
        let mut rest = values;
        let upload = |&(offset, len): &(u32, u32)| {
            let (own, others) = rest.split_at(len as usize);
            rest = others;
            Command::UploadReals { buffer: self.slice.buffer, offset, data: own.to_vec() }
        };
        self.pieces.iter().map(upload).collect()
    }
}

fn find<'a>(sections: &'a [Section], kind: u32) -> Result<&'a [u8], FileError> {
    let found = sections.iter().find(|section| section.kind == kind);
    found.map(|section| &*section.bytes).ok_or_else(|| malformed(format!("section {kind} of it is missing")))
}

/// A solver as a file has it, checked.
pub struct Saved {
    known: Known,
    device: Vec<(u32, Vec<f64>)>,
}

/// Options that steps depend on: a solver that is restored must have the same.
struct Ways {
    method: &'static str,
    /// Options of the method's own.
    manner: String,
    nonmonotone: u32,
    max_inner_iterations: Option<u32>,
    forcing: [f64; 2],
    eliminate: Option<Vec<u32>>,
}

impl Solver {
    fn ways(&self) -> Ways {
        let manner = match self.settings.method {
            Method::Dogleg(Dogleg::Traditional) => "dogleg: \"traditional\"".into(),
            Method::Dogleg(Dogleg::Subspace) => "dogleg: \"subspace\"".into(),
            Method::Descent(rule) => rule.manner(),
            _ => String::new(),
        };
        Ways {
            method: self.settings.method.name(),
            manner,
            nonmonotone: self.settings.nonmonotone,
            max_inner_iterations: self.settings.max_inner_iterations,
            forcing: self.settings.forcing,
            eliminate: self.settings.linear.eliminate.clone(),
        }
    }

    /// Refuses to save what a file does not have: a factor of an earlier step, with which the next one is solved.
    pub fn may_save(&self) -> Result<(), Error> {
        if !matches!(self.resources.choice.preconditioner, Some((Preconditioner::FrozenFactor, _))) {
            return Ok(());
        }
        let message = "preconditioner \"frozen-factor\" keeps a factor of an earlier step, which a checkpoint does not have: save a solver with another one";
        Err(Error::InvalidOption(message.into()))
    }

    /// Writes what steps are made with.
    pub fn write_ways(&self, to: &mut Writer) {
        self.write_ways_of(self.settings.linear.eliminate.clone(), to);
    }

    /// The same where the tables to eliminate were asked for by other numbers.
    pub fn write_ways_of(&self, eliminate: Option<Vec<u32>>, to: &mut Writer) {
        let Ways { method, manner, nonmonotone, max_inner_iterations, forcing, .. } = self.ways();
        to.text(method);
        to.text(&manner);
        to.u32(nonmonotone);
        to.option(max_inner_iterations, Writer::u32);
        forcing.into_iter().for_each(|eta| to.f64(eta));
        to.option(eliminate, |to, tables| {
            to.u32(tables.len() as u32);
            tables.into_iter().for_each(|table| to.u32(table));
        });
        to.text(&self.resources.choice.named());
    }

    /// Refuses steps that are made otherwise than this solver's; gives the name of the linear solver, to be
    /// [compared](Self::compare_linear) when the problem is as it was.
    pub fn compare_ways(&self, from: &mut Reader) -> Result<String, Error> {
        let own = self.ways();
        let differs = |what: &str, known: String, own: String| {
            let message =
                format!("its solver has {what} {known}, and this one {own}: make the solver with the options that it was made with");
            Err(Error::Checkpoint(message))
        };
        let (method, manner, nonmonotone) = (from.text()?, from.text()?, from.u32()?);
        let max_inner_iterations = from.option(Reader::u32)?;
        let forcing = [from.f64()?, from.f64()?];
        let eliminate = from.option(|from| {
            let count = from.u32()?;
            from.list(count, Reader::u32)
        })?;
        let linear = from.text()?;
        let quoted = |name: &str| format!("\"{name}\"");
        let some = |number: Option<u32>| number.map_or("unset".into(), |number| number.to_string());
        if method != own.method {
            return differs("method", quoted(&method), quoted(own.method));
        }
        if manner != own.manner {
            return differs("its method with", manner, own.manner);
        }
        if nonmonotone != own.nonmonotone {
            return differs("nonmonotone", nonmonotone.to_string(), own.nonmonotone.to_string());
        }
        if max_inner_iterations != own.max_inner_iterations {
            return differs("maxInnerIterations", some(max_inner_iterations), some(own.max_inner_iterations));
        }
        if forcing != own.forcing {
            return differs("forcing", format!("{forcing:?}"), format!("{:?}", own.forcing));
        }
        if eliminate != own.eliminate {
            return differs("eliminate", format!("{eliminate:?}"), format!("{:?}", own.eliminate));
        }
        Ok(linear)
    }

    /// Refuses another linear solver.
    pub fn compare_linear(&self, name: &str) -> Result<(), Error> {
        self.resources.choice.compare(name)
    }

    /// The parts of buffers that the next step reads: after a rejected one of a solve that goes on, the kept solution, too.
    fn parts(&self, problem: &Problem, Extent { begun_state, reused, begun_solve, bounded }: Extent) -> Result<Vec<Part>, Error> {
        let work = &self.resources.work;
        let part = |section: u32, slice: Slice, over: Over| Part::new(problem, section, slice, over);
        let mut parts = vec![part(section::VALUES, work.point, Over::Scalars { moving: false })];
        if !begun_state {
            return Ok(parts);
        }
        parts.extend(begun_solve.then(|| part(section::START, work.start, Over::Scalars { moving: false })));
        parts.push(part(section::STATE, work.state, Over::State));
        parts.push(part(section::PREVIOUS, work.previous, Over::Scalars { moving: true }));
        if let Some(descent) = &self.resources.descent {
            let [history, gram] = descent.memory();
            parts.push(part(section::DIRECTION, work.z, Over::Unknowns));
            parts.push(part(section::GRADIENT, work.gradient, Over::Unknowns));
            parts.push(part(section::HISTORY, history, Over::All));
            parts.push(part(section::GRAM, gram, Over::All));
            // Before the limits of a file are there, nobody may move from them, and there is nowhere to write this to.
            parts.extend(bounded.then(|| part(section::FREE, work.free().unwrap_or(work.z), Over::Unknowns)));
            return Ok(parts);
        }
        parts.push(part(section::PEAK, work.peak, Over::Unknowns));
        // A solver that is not set up yet checks files by the lengths of their sections.
        let best = (self.settings.nonmonotone > 0).then(|| work.best.unwrap_or(work.previous));
        parts.extend(best.map(|best| part(section::BEST, best, Over::Scalars { moving: true })));
        if reused && self.settings.method.keeps_solution() {
            let [newton, residual] = work.newton()?;
            let [d, q] = work.steepest().unwrap_or([work.p, work.q]);
            let kept = [
                (section::SCALE, work.scale),
                (section::NEWTON, newton),
                (section::NEWTON_RESIDUAL, residual),
                (section::STEEPEST, d),
                (section::STEEPEST_PRODUCT, q),
            ];
            parts.extend(kept.map(|(section, slice)| part(section, slice, Over::Unknowns)));
        }
        Ok(parts)
    }

    /// True if the active set of a line search is kept.
    fn has_limits(&self) -> bool {
        self.resources.work.bounds().is_some()
    }

    /// The host's part as a section, and the parts of buffers that are to be read. `running`: in the midst of a solve.
    pub fn save(&self, problem: &Problem, running: bool) -> Result<(Section<'static>, Vec<Part>), Error> {
        let mut to = Writer::default();
        self.iterate.write(&mut to, self.iterate.is_stale(problem, self.id));
        self.history.write(&mut to);
        self.rollback.write(&mut to);
        self.history.write_non_finite(&mut to);
        let reused = running && self.iterate.step_reused;
        to.option(running.then_some(()), |to, ()| {
            self.stopping.write(to);
            to.flag(reused);
            let scale =
                self.resources.host.as_ref().filter(|_| reused && !self.settings.method.keeps_solution()).and_then(|host| host.scale());
            to.option(scale, Writer::numbers);
            self.stopping.write_verdict(to);
        });
        let begun_solve = self.has_start(problem) || running && self.stopping.is_later;
        let extent = Extent { begun_state: self.iterate.state_uploaded, reused, begun_solve, bounded: self.has_limits() };
        Ok((Section { kind: section::HOST, bytes: Cow::Owned(to.bytes) }, self.parts(problem, extent)?))
    }

    /// Sections of values in a file, with what each has of tables.
    ///
    /// # Errors
    /// [`Error`] for a file that is damaged.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn sections_of(&self, problem: &Problem, sections: &[Section]) -> Result<Vec<(u32, Over)>, Error> {
        let known = Known::read(&mut Reader::new(find(sections, section::HOST)?))?;
        let parts = self.parts(problem, known.extent(|kind| sections.iter().any(|section| section.kind == kind)))?;
        Ok(parts.into_iter().map(|part| (part.section, part.over)).collect())
    }

    /// Reads sections, and the values of all tables, which are the problem's to check.
    pub fn read_saved(&self, problem: &Problem, sections: &[Section]) -> Result<(Saved, Vec<f64>), Error> {
        let mut from = Reader::new(find(sections, section::HOST)?);
        let known = Known::read(&mut from)?;
        from.end()?;
        if known.rollback.count() > self.settings.method.max_rejections() {
            return Err(malformed("it went back more often than its method does").into());
        }
        let unknowns: u32 = problem.moving().map(Table::unknowns).sum();
        if known.running.iter().filter_map(|running| running.scale.as_ref()).any(|scale| scale.len() != unknowns as usize) {
            return Err(malformed("its damping is of another number of unknowns").into());
        }
        let mut parts = self.parts(problem, known.extent(|kind| sections.iter().any(|section| section.kind == kind)))?;
        let values = parts.remove(0).values(self.precision, sections)?;
        let device = parts.into_iter().map(|part| Ok((part.section, part.values(self.precision, sections)?)));
        let device: Vec<(u32, Vec<f64>)> = device.collect::<Result<_, FileError>>()?;
        // Where no step was accepted yet, there is nothing before it.
        let may_retreat = known.rollback.may_undo();
        for (_, values) in device.iter().filter(|(section, _)| may_retreat && *section == section::PREVIOUS) {
            problem.check_restored(values, true)?;
        }
        for (_, values) in device.iter().filter(|(section, _)| *section == section::START) {
            problem.check_restored(values, false)?;
        }
        Ok((Saved { known, device }, values))
    }

    /// Becomes what was saved; gives what is to be uploaded. The problem is what it was already.
    pub fn restore(&mut self, problem: &mut Problem, saved: Saved) -> Result<Vec<Command>, Error> {
        let Saved { known, device } = saved;
        // Buffers may have been made anew since the file was read.
        let extent = known.extent(|kind| device.iter().any(|(section, _)| *section == kind));
        let parts = self.parts(problem, Extent { bounded: extent.bounded && self.has_limits(), ..extent })?;
        let values = |section: u32| device.iter().find(|(known, _)| *known == section).map(|(_, values)| &values[..]);
        let (mut uploads, mut kept, mut restored) = (Vec::new(), Vec::new(), None);
        for part in &parts[1..] {
            let Some(values) = values(part.section) else { continue };
            match part.section {
                section::STATE => {
                    // J is not there yet.
                    let mut first = values.to_vec();
                    let linearized = std::mem::take(&mut first[state::LINEARIZED as usize]);
                    restored = self.resources.descent.is_some().then_some(linearized);
                    uploads.extend(part.uploads(&first));
                    kept.extend(part.uploads(values));
                }
                section::PREVIOUS if self.resources.descent.is_some() => {
                    // There r and J are to be made again.
                    let trial = Part::new(problem, part.section, problem.arenas()?.1, Over::Scalars { moving: true });
                    uploads.extend([part, &trial].into_iter().flat_map(|part| part.uploads(values)));
                }
                section::PEAK | section::PREVIOUS | section::BEST | section::DIRECTION.. => uploads.extend(part.uploads(values)),
                _ => kept.extend(part.uploads(values)),
            }
        }
        let Known { iterate, history, rollback, running } = known;
        let revision = if iterate.revision == u64::MAX { u64::MAX } else { problem.revision };
        let restored_linearization = restored;
        self.iterate = Iterate { revision, restored_linearization, ..iterate };
        problem.linearized_by = Some(self.id);
        // A later one of several solves does not return to where the first began.
        let is_first = running.as_ref().is_none_or(|running| !running.stopping.is_later);
        self.start = Start { revision: (extent.begun_solve && is_first).then_some(problem.revision), ..Start::default() };
        self.history.restore(history);
        self.rollback = rollback;
        self.cache.clear();
        self.phase = Phase::Ready;
        self.stopping = Stopping::default();
        if let Some(Running { stopping, reused, scale }) = running {
            self.stopping = stopping;
            if reused {
                let damping = self.iterate.damping;
                self.iterate.step_reused = true;
                self.iterate.checkpointed_system = Some(CheckpointedSystem { uploads: kept, scale, damping });
            }
        }
        Ok(uploads)
    }
}
