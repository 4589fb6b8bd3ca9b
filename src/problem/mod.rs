//! Problems: tables of variables and constants, terms over them, and where it all lies on the device.
//!
//! The *arena* is one buffer that holds every table, tightly packed, each on an aligned offset, in the order they were
//! made; it only ever holds accepted values. A second arena of the same layout holds the trial point. *Vectors* over
//! all unknowns (gradient, step, …) have their own layout: the moving tables one after the other, aligned.
//!
//! Uploads are collected and played before whatever needs them next.

mod incidence;
mod table;
mod term;

pub use incidence::Incidence;
pub use table::Table;
pub use term::{Chunk, Column, Slot, Term, TermSpec, Weight};

use crate::device::{BufferId, Command, Device, Kind, Slice};
use crate::error::Error;
use crate::kernel::Guards;
use crate::solve::state;

/// The state elements that guard generated kernels.
pub const GUARDS: Guards = Guards { linearized: state::LINEARIZED, solved: state::SOLVED };

/// Reals given by a caller in either precision.
#[derive(Clone, Copy)]
pub enum Reals<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl Reals<'_> {
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, or the position of the first that is not finite.
    pub fn finite(&self) -> Result<Vec<f64>, (usize, f64)> {
        let values: Vec<f64> = match self {
            Self::F32(values) => values.iter().map(|value| f64::from(*value)).collect(),
            Self::F64(values) => values.to_vec(),
        };
        // Beyond f32's range a value would be infinite on a GPU.
        match values.iter().position(|value| !value.is_finite() || value.abs() > f64::from(f32::MAX)) {
            Some(position) => Err((position, values[position])),
            None => Ok(values),
        }
    }
}

/// Variables, constants, terms.
#[derive(Default)]
pub struct Problem {
    tables: Vec<Table>,
    terms: Vec<Option<Term>>,
    arena: Option<Arena>,
    /// Elements of the arena and of a vector over all unknowns so far.
    arena_len: u32,
    vector_len: u32,
    /// Elements of the packed diagonal blocks of all moving tables.
    blocks_len: u32,
    uploads: Vec<Command>,
    /// Counts changes of values, data and weights: what a solver knows about the point is stale after one.
    pub revision: u64,
    /// Counts changes of tables and terms: a solver's buffers and recordings are stale after one.
    pub structure: u64,
    /// Counts changes of which terms are enabled: a solver's recordings are stale after one.
    pub selection: u64,
    /// The solver whose linearisation the chunks hold, and how many solvers there were.
    pub linearized_by: Option<u64>,
    pub solvers: u64,
}

/// The two arenas.
#[derive(Clone, Copy)]
struct Arena {
    point: BufferId,
    trial: BufferId,
    len: u32,
    /// Whether somebody outside was given the buffer: then it must not move.
    shared: bool,
}

impl Problem {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The tables that are solved for, with their numbers.
    pub fn moving(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().filter(|table| table.moving)
    }

    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter().flatten()
    }

    /// The terms that take part in the cost.
    pub fn enabled_terms(&self) -> impl Iterator<Item = &Term> {
        self.terms().filter(|term| term.enabled)
    }

    pub fn has_enabled_terms(&self) -> bool {
        self.enabled_terms().next().is_some()
    }

    /// Their numbers, the last first.
    pub fn enabled_numbers(&self) -> impl Iterator<Item = u32> {
        let enabled = |entry: &(usize, &Option<Term>)| entry.1.as_ref().is_some_and(|term| term.enabled);
        self.terms.iter().enumerate().rev().filter(enabled).map(|(number, _)| number as u32)
    }

    pub fn term(&self, term: u32) -> Result<&Term, Error> {
        self.terms.get(term as usize).and_then(Option::as_ref).ok_or(Error::Disposed("term"))
    }

    fn term_mut(&mut self, term: u32) -> Result<&mut Term, Error> {
        self.terms.get_mut(term as usize).and_then(Option::as_mut).ok_or(Error::Disposed("term"))
    }

    pub fn table(&self, table: u32) -> Result<&Table, Error> {
        self.tables.get(table as usize).ok_or(Error::Disposed("variable"))
    }

    pub fn vector_len(&self) -> u32 {
        self.vector_len
    }

    pub fn blocks_len(&self) -> u32 {
        self.blocks_len
    }

    /// A table of `values.len() / width` instances; gives its number.
    pub fn add_table(&mut self, device: &Device, name: &str, width: u32, values: Reals, moving: bool) -> Result<u32, Error> {
        if self.arena.is_some_and(|arena| arena.shared) {
            let message = "x.buffer of this problem is in use, so its layout can't change: make every variable and constant before asking for a buffer";
            return Err(Error::Shape { name: name.into(), message: message.into() });
        }
        let limits = device.limits();
        let mut table = Table::new(name, width, values, moving)?;
        let too_large = || {
            Error::Limits(format!(
                "\"{name}\": all variables and constants together exceed one buffer binding ({} bytes)",
                limits.binding_bytes
            ))
        };
        let real = device.precision().bytes();
        let grown = |len: u32, more: u64| {
            let end = u64::from(len) + more.next_multiple_of(limits.offset_alignment.into());
            u32::try_from(end).ok().filter(|_| end * real <= limits.binding_bytes.min(limits.buffer_bytes)).ok_or_else(too_large)
        };
        (table.arena, table.vector, table.block) = (self.arena_len, self.vector_len, self.blocks_len);
        let elements = u64::from(table.count) * u64::from(width);
        let arena_len = grown(self.arena_len, elements)?;
        if moving {
            let packed = u64::from(table.count) * u64::from(table.packed());
            (self.vector_len, self.blocks_len) = (grown(self.vector_len, elements)?, grown(self.blocks_len, packed)?);
        }
        self.arena_len = arena_len;
        self.tables.push(table);
        self.structure += 1;
        Ok(self.tables.len() as u32 - 1)
    }

    /// Overwrites the instances in `at`, or all.
    pub fn write_table(&mut self, table: u32, values: Reals, at: Option<&[u32]>) -> Result<(), Error> {
        let arena = self.arena;
        let entry = self.tables.get_mut(table as usize).ok_or(Error::Disposed("variable"))?;
        let writes = entry.writes(values, at)?;
        self.revision += 1;
        let Some(arena) = arena.filter(|_| entry.initial.is_none()) else {
            entry.write_initial(writes);
            return Ok(());
        };
        for (offset, data) in writes {
            let offset = entry.arena + offset;
            // Constants are read at the trial point too.
            if !entry.moving {
                self.uploads.push(Command::UploadReals { buffer: arena.trial, offset, data: data.clone() });
            }
            self.uploads.push(Command::UploadReals { buffer: arena.point, offset, data });
        }
        Ok(())
    }

    /// Makes the arenas, or makes them longer; afterwards every table has its place on the device.
    pub fn lay_out(&mut self, device: &mut Device) -> Result<(), Error> {
        if self.tables.is_empty() {
            return Err(Error::EmptyProblem("variables"));
        }
        let old = self.arena;
        let arena = match old {
            Some(arena) if arena.len == self.arena_len => arena,
            _ => {
                let point = device.allocate(Kind::Real, self.arena_len, "variables")?;
                let trial = match device.allocate(Kind::Real, self.arena_len, "trial point") {
                    Ok(trial) => trial,
                    Err(error) => {
                        device.free(point);
                        return Err(error.into());
                    }
                };
                Arena { point, trial, len: self.arena_len, shared: false }
            }
        };
        if let Some(old) = old.filter(|old| old.point != arena.point) {
            // What was already uploaded moves over on the device, before the old buffers go.
            for (from, to) in [(old.point, arena.point), (old.trial, arena.trial)] {
                let slice = |buffer| Slice { buffer, offset: 0, len: old.len };
                self.uploads.push(Command::Copy { from: slice(from), to: slice(to) });
            }
            let mut play = device.start(crate::device::Recording { commands: std::mem::take(&mut self.uploads) });
            device.resume(&mut play, f64::INFINITY)?;
            device.free(old.point);
            device.free(old.trial);
        }
        self.arena = Some(arena);
        for table in &mut self.tables {
            let Some(data) = table.initial.take() else { continue };
            self.uploads.push(Command::UploadReals { buffer: arena.trial, offset: table.arena, data: data.clone() });
            self.uploads.push(Command::UploadReals { buffer: arena.point, offset: table.arena, data });
        }
        Ok(())
    }

    /// The accepted point and the trial point, whole. Only after [`lay_out`](Self::lay_out).
    pub fn arenas(&self) -> Result<(Slice, Slice), Error> {
        let arena = self.arena.ok_or(Error::EmptyProblem("variables"))?;
        let slice = |buffer| Slice { buffer, offset: 0, len: arena.len };
        Ok((slice(arena.point), slice(arena.trial)))
    }

    /// Gives the arena's buffer to the outside: from now on it stays where it is.
    pub fn share(&mut self, device: &mut Device) -> Result<BufferId, Error> {
        self.lay_out(device)?;
        let arena = self.arena.as_mut().ok_or(Error::EmptyProblem("variables"))?;
        arena.shared = true;
        Ok(arena.point)
    }

    /// Uploads that must be played before anything else.
    pub fn take_uploads(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.uploads)
    }

    pub fn add_term(&mut self, device: &mut Device, spec: TermSpec) -> Result<u32, Error> {
        let (term, uploads) = Term::new(device, &self.tables, spec)?;
        self.uploads.extend(uploads);
        self.terms.push(Some(term));
        self.structure += 1;
        Ok(self.terms.len() as u32 - 1)
    }

    pub fn set_column(&mut self, term: u32, column: u32, values: Reals) -> Result<(), Error> {
        let uploads = self.term(term)?.column_uploads(column, values)?;
        self.uploads.extend(uploads);
        self.revision += 1;
        Ok(())
    }

    pub fn set_weight(&mut self, term: u32, weight: Weight) -> Result<(), Error> {
        let uploads = self.term(term)?.weight_uploads(weight)?;
        self.uploads.extend(uploads);
        self.revision += 1;
        Ok(())
    }

    pub fn set_enabled(&mut self, term: u32, enabled: bool) -> Result<(), Error> {
        let term = self.term_mut(term)?;
        if term.enabled != enabled {
            term.enabled = enabled;
            self.revision += 1;
            self.selection += 1;
        }
        Ok(())
    }

    pub fn remove_term(&mut self, device: &mut Device, term: u32) -> Result<(), Error> {
        let entry = self.terms.get_mut(term as usize).ok_or(Error::Disposed("term"))?;
        let Some(removed) = entry.take() else { return Ok(()) };
        let buffers: Vec<BufferId> = removed.buffers().collect();
        self.uploads.retain(|upload| {
            !matches!(upload,
            Command::UploadReals { buffer, .. } | Command::UploadIndices { buffer, .. } if buffers.contains(buffer))
        });
        buffers.into_iter().for_each(|buffer| device.free(buffer));
        self.revision += 1;
        self.structure += 1;
        Ok(())
    }

    /// Destroys everything the problem has on the device.
    pub fn dispose(&mut self, device: &mut Device) {
        for term in self.terms.drain(..).flatten() {
            term.buffers().for_each(|buffer| device.free(buffer));
        }
        if let Some(arena) = self.arena.take() {
            device.free(arena.point);
            device.free(arena.trial);
        }
        self.tables.clear();
        self.uploads.clear();
    }
}
