//! Problems: tables of variables and constants, terms over them, and where it all lies on the device.
//!
//! The *arena* is one buffer that holds every table, tightly packed, each on an aligned offset, in the order they were
//! made; it only ever holds accepted values. A second arena of the same layout holds the trial point. *Vectors* over
//! all unknowns (gradient, step, …) have their own layout: the moving tables one after the other, aligned.
//!
//! A *term* is what its user made, a *batch* what the device runs: the instances of all terms of one structure. Batches
//! are made when something is about to be computed.
//!
//! Sums over the entries of rows have their places behind everything else, in the arenas as in vectors.
//!
//! Uploads are collected and played before whatever needs them next.
//!
//! What is done with all of it, a solver decides.
//!
//! ```
//! use leastwise_device::{Device, Limits, Precision, cpu::CpuDevice};
//! use leastwise_problem::{Problem, Reals, Registry, Shape};
//!
//! let device = Device::Cpu(CpuDevice::new(Precision::F64, Limits::SMALL));
//! let mut problem = Problem::new();
//! let table = problem.add_table(&device, &mut Registry::default(), "x", vec![Shape::Euclidean(2)], Reals::F64(&[0.0; 6]), true)?;
//! assert_eq!(problem.table(table)?.count, 3);
//! # Ok::<(), leastwise_error::Error>(())
//! ```

mod batch;
mod bounds;
mod checkpoint;
mod chunk;
mod combination;
mod constraint;
mod draft;
pub mod file;
mod gauge;
mod incidence;
mod layout;
mod links;
mod loss_parameters;
mod normals;
mod pattern;
mod probe;
mod psd_projection;
mod ragged;
mod recovery;
mod registry;
mod retraction;
mod schedule;
mod segment_sum_batch;
mod segment_sums;
mod segment_tree;
mod snapshot;
mod spec;
mod table;
mod term;

pub use batch::{Batch, Member};
pub use bounds::Bounds;
pub use checkpoint::{Edits, Marks};
pub use chunk::{Chunk, Tiles};
pub use constraint::{Constraint, Relation};
pub use gauge::Freedom;
pub use incidence::{Incidence, runs};
pub use links::{LinkedBatch, LinkedTable, Links};
pub use loss_parameters::Loss;
pub use pattern::{BlockList, BlockRows, Pattern, PatternBatch, PatternPart, Target, pair_bits};
pub use psd_projection::{PsdProjection, rounding};
pub use registry::{HessianKernel, MixedKernel, PairKernels, Registry, Stats, TermKernels};
pub use retraction::{TrialChunk, Trials};
pub use schedule::distinct;
pub use schedule::{Product, Schedule, Tuning};
pub use segment_sum_batch::{SegmentSumBatch, SumChunk, SumPlace};
pub use segment_sums::Entries;
pub use segment_tree::SegmentTree;
pub use spec::{Column, EntryColumn, RaggedSlot, RaggedSpec, Slot, SummedSpec, TermSpec, Trace, Weight};
pub use table::Table;
pub use term::{Contents, Part, Place, Term};

/// What an instance of a table is made of.
pub use leastwise_expr::Part as Shape;

use leastwise_device::{BufferId, Command, Device, Kind, Limits, Slice};
use leastwise_error::Error;
use leastwise_program::Guards;
use leastwise_program::state::solver as state;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use term::Values;

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

    /// The values, or the position of the first that is not finite where numbers go to `largest`: beyond, it would be infinite
    /// on the device.
    pub fn finite(&self, largest: f64) -> Result<Vec<f64>, (usize, f64)> {
        let values: Vec<f64> = match self {
            Self::F32(values) => values.iter().map(|value| f64::from(*value)).collect(),
            Self::F64(values) => values.to_vec(),
        };
        match values.iter().position(|value| !value.is_finite() || value.abs() > largest) {
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
    batches: Vec<Batch>,
    /// Whether the batches are not those of the terms any more.
    stale: bool,
    /// Those that are being made.
    laying: Option<Box<layout::Laying>>,
    /// The most operations that laying out has spent between two looks at the clock.
    pub largest_unit: usize,
    arena: Option<Arena>,
    bounds: Option<Bounds>,
    /// What linear combinations of tables are made with, once there was one.
    combining: Option<combination::Combining>,
    /// Tables of normals.
    normals: Vec<normals::Normals>,
    /// Elements of the arena and of a vector over all unknowns so far.
    arena_len: u32,
    vector_len: u32,
    /// Elements of the packed diagonal blocks of all moving tables.
    blocks_len: u32,
    /// What these become with the sums of terms.
    total: Lengths,
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

/// Elements of the arena, of a vector over all unknowns, and of the packed diagonal blocks.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Lengths {
    arena: u32,
    vector: u32,
    blocks: u32,
}

impl Lengths {
    /// Puts a table behind what is there; `None` where that is too much to count.
    fn place(&mut self, table: &mut Table, limits: Limits) -> Option<()> {
        (table.arena, table.vector, table.block) = (self.arena, self.vector, self.blocks);
        let grown = |len: u32, each: u32| {
            let more = (u64::from(table.count) * u64::from(each)).next_multiple_of(limits.offset_alignment.into());
            u32::try_from(u64::from(len) + more).ok()
        };
        self.arena = grown(self.arena, table.width)?;
        if table.moving {
            (self.vector, self.blocks) = (grown(self.vector, table.tangent)?, grown(self.blocks, table.packed())?);
        }
        Some(())
    }

    fn largest(self) -> u32 {
        self.arena.max(self.vector).max(self.blocks)
    }
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

    /// The same with their numbers.
    pub fn numbered_terms(&self) -> impl Iterator<Item = (u32, &Term)> {
        (0..).zip(&self.terms).filter_map(|(number, term)| Some((number, term.as_ref()?)))
    }

    /// Every batch, also of terms that take no part. Only after [`lay_out`](Self::lay_out).
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// The batches that take part in the cost.
    pub fn enabled_batches(&self) -> impl Iterator<Item = &Batch> {
        self.batches.iter().filter(|batch| batch.enabled)
    }

    /// The names of the terms that take part, by number.
    pub fn enabled_names(&self) -> BTreeMap<u32, String> {
        let named = |(number, term): (usize, &Option<Term>)| Some((number as u32, term.as_ref().filter(|term| term.enabled)?.name.clone()));
        self.terms.iter().enumerate().filter_map(named).collect()
    }

    /// The table of a batch's slot, and which of its instances those of the batch name.
    pub fn slot_of<'b>(&self, batch: &'b Batch, slot: u32) -> (u32, &'b [u32]) {
        let column = batch.signature().slots[slot as usize].arena.column as usize;
        let Member { term, part, .. } = batch.members[0];
        let term = self.terms[term as usize].as_ref().expect("a batch is made of terms that are there");
        (term.parts[part as usize].tables[slot as usize], &batch.indices[column])
    }

    /// The programs of a batch's pairs, each of `most` columns at most, and their kernels.
    pub fn pairs(&self, device: &mut Device, registry: &mut Registry, batch: &Batch, most: u32) -> Result<PairKernels, Error> {
        let member = batch.members[0];
        let part = &self.term(member.term)?.parts[member.part as usize];
        registry.compiled(&part.reading.structure, &batch.signature().layout(), &batch.name).pairs(device, &batch.name, most)
    }

    pub fn has_enabled_terms(&self) -> bool {
        self.terms().any(|term| term.enabled)
    }

    pub fn term(&self, term: u32) -> Result<&Term, Error> {
        self.terms.get(term as usize).and_then(Option::as_ref).ok_or(Error::Disposed("term"))
    }

    fn term_mut(&mut self, term: u32) -> Result<&mut Term, Error> {
        self.terms.get_mut(term as usize).and_then(Option::as_mut).ok_or(Error::Disposed("term"))
    }

    pub fn table(&self, table: u32) -> Result<&Table, Error> {
        self.tables.get(table as usize).ok_or(Error::Internal("a handle names no variable"))
    }

    pub fn vector_len(&self) -> u32 {
        self.vector_len
    }

    pub fn blocks_len(&self) -> u32 {
        self.blocks_len
    }

    /// The elements of a vector, and of the diagonal blocks, that belong to sums over entries as well as to unknowns.
    pub fn total_vector_len(&self) -> u32 {
        self.total.vector
    }

    pub fn total_blocks_len(&self) -> u32 {
        self.total.blocks
    }

    /// A table of instances that are made of these shapes, one after the other; gives its number.
    pub fn add_table(
        &mut self,
        device: &Device,
        registry: &mut Registry,
        name: &str,
        shapes: Vec<Shape>,
        values: Reals,
        moving: bool,
    ) -> Result<u32, Error> {
        if self.arena.is_some_and(|arena| arena.shared) {
            let message = "x.buffer of this problem is in use, so its layout can't change: make every variable and constant before asking for a buffer";
            return Err(Error::Shape { name: name.into(), message: message.into() });
        }
        let limits = device.limits();
        let refused = |error| Error::Manifold { name: name.into(), error };
        let (width, manifold) = registry.manifold(shapes).map_err(refused)?;
        let mut table = Table::new(name, width, manifold, values, (moving, device.precision().largest()))?;
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
            let unknowns = u64::from(table.count) * u64::from(table.tangent);
            (self.vector_len, self.blocks_len) = (grown(self.vector_len, unknowns)?, grown(self.blocks_len, packed)?);
        }
        self.arena_len = arena_len;
        self.tables.push(table);
        self.structure += 1;
        Ok(self.tables.len() as u32 - 1)
    }

    /// Overwrites the instances in `at`, or all.
    pub fn write_table(&mut self, table: u32, values: Reals, at: Option<&[u32]>) -> Result<(), Error> {
        let arena = self.arena;
        let entry = self.tables.get_mut(table as usize).ok_or(Error::Internal("a handle names no variable"))?;
        let writes = entry.writes(values, at)?;
        self.revision += 1;
        let Some(arena) = arena.filter(|_| entry.initial.is_none()) else {
            entry.write_initial(writes);
            return Ok(());
        };
        entry.is_combined &= at.is_some();
        for (offset, data) in writes {
            entry.write_exact(offset, &data);
            entry.learn(offset, &data);
            let offset = entry.arena + offset;
            // Constants are read at the trial point too.
            if !entry.moving {
                self.uploads.push(Command::UploadReals { buffer: arena.trial, offset, data: data.clone() });
            }
            self.uploads.push(Command::UploadReals { buffer: arena.point, offset, data });
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
        self.lay_out_values(device)?;
        let arena = self.arena.as_mut().ok_or(Error::EmptyProblem("variables"))?;
        arena.shared = true;
        Ok(arena.point)
    }

    /// Uploads that must be played before anything else.
    pub fn take_uploads(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.uploads)
    }

    pub fn add_term(&mut self, device: &Device, registry: &mut Registry, spec: TermSpec) -> Result<u32, Error> {
        spec.validate(&self.tables)?;
        let largest = device.precision().largest();
        spec.check_literals(largest)?;
        let (reading, literals) = registry.read(&spec, &self.tables)?;
        let term = Term::new(spec, reading, &literals, largest)?;
        self.add(device, registry, term)
    }

    /// A term of which some slots have a row of entries an instance.
    pub fn add_ragged(&mut self, device: &Device, registry: &mut Registry, spec: RaggedSpec) -> Result<u32, Error> {
        spec.validate(&self.tables)?;
        let largest = device.precision().largest();
        spec.check_literals(largest)?;
        let term = Term::ragged(registry, spec, &self.tables, largest)?;
        self.add(device, registry, term)
    }

    /// A term that sums over rows of any length.
    pub fn add_summed(&mut self, device: &Device, registry: &mut Registry, spec: SummedSpec) -> Result<u32, Error> {
        let largest = device.precision().largest();
        spec.plain.check_literals(largest)?;
        let term = Term::summed(spec, &self.tables, largest)?;
        let number = self.add(device, registry, term)?;
        // What has no place is refused at once.
        self.lay_out_sums(device).inspect_err(|_| self.terms.truncate(number as usize)).map(|()| number)
    }

    fn add(&mut self, device: &Device, registry: &mut Registry, term: Term) -> Result<u32, Error> {
        batch::fits(device, registry, &term)?;
        self.terms.push(Some(term));
        self.structure += 1;
        self.stale = true;
        Ok(self.terms.len() as u32 - 1)
    }

    pub fn set_column(&mut self, term: u32, column: u32, values: Reals) -> Result<(), Error> {
        for (part, scalar, values) in self.term(term)?.replaced_column(column, values)? {
            self.replace(term, part, Some(scalar), values)?;
        }
        for (scalar, values) in self.term(term)?.replaced_of_entries(column, values)? {
            self.replace_of_entries(term, scalar, values);
        }
        self.revision += 1;
        Ok(())
    }

    pub fn set_weight(&mut self, term: u32, weight: Weight) -> Result<(), Error> {
        let owner = self.term_mut(term)?;
        if owner.constraint.is_some() {
            let weight = owner.weight_values(weight)?;
            owner.constraint.iter_mut().for_each(|constraint| constraint.weight = weight.clone());
            return self.weigh_constraint(term);
        }
        self.replace_weight(term, weight)
    }

    fn replace_weight(&mut self, term: u32, weight: Weight) -> Result<(), Error> {
        for (part, values) in self.term(term)?.replaced_weight(weight)?.into_iter().enumerate() {
            self.replace(term, part, None, values)?;
        }
        self.revision += 1;
        Ok(())
    }

    /// Has every instance of a term weigh by itself; its batches are made anew.
    pub fn spread_weight(&mut self, device: &mut Device, term: u32) -> Result<(), Error> {
        self.share_weight(device, term, None)
    }

    /// Has all instances of a term share a weight again.
    pub fn gather_weight(&mut self, device: &mut Device, term: u32, value: f64) -> Result<(), Error> {
        self.share_weight(device, term, Some(value))
    }

    fn share_weight(&mut self, device: &mut Device, term: u32, value: Option<f64>) -> Result<(), Error> {
        let entry = self.term_mut(term)?;
        entry.share_weight(value);
        let gone: Vec<u32> = entry.parts.iter().filter_map(|part| part.place).map(|place| place.batch).collect();
        self.revision += 1;
        self.free_batches(device, &gone);
        Ok(())
    }

    /// Replaces the parameters of a term's loss: one of another kind would be another kernel.
    pub fn set_loss(&mut self, term: u32, loss: &Loss) -> Result<(), Error> {
        for (part, scalar, value) in self.term(term)?.replaced_loss(loss)? {
            self.replace(term, part, Some(scalar), Values::Shared(value))?;
        }
        self.term_mut(term)?.loss = Some(loss.clone());
        self.revision += 1;
        Ok(())
    }

    /// Replaces a scalar of data, or the weight, of a part.
    fn replace(&mut self, term: u32, part: usize, scalar: Option<usize>, values: Values) -> Result<(), Error> {
        let entry = self.terms.get_mut(term as usize).and_then(Option::as_mut).ok_or(Error::Disposed("term"))?;
        let part = &mut entry.parts[part];
        if let Some(place) = part.place
            && let Some(batch) = self.batches.get(place.batch as usize)
        {
            match scalar {
                Some(scalar) => batch.upload(scalar, place.first, part.count, &values, &mut self.uploads),
                None => batch.upload_weight(place.first, part.count, &values, &mut self.uploads),
            }
        }
        match scalar {
            Some(scalar) => part.contents.data[scalar] = values,
            None => part.contents.weight = values,
        }
        Ok(())
    }

    /// Replaces a scalar of data of a term's entries.
    fn replace_of_entries(&mut self, term: u32, scalar: usize, values: Values) {
        let Some(Some(Term { parts, entries: Some(entries), .. })) = self.terms.get_mut(term as usize) else { return };
        let batch = parts[0].place.and_then(|place| self.batches.get(place.batch as usize));
        if let Some(sums) = batch.and_then(|batch| batch.sums.as_ref()) {
            sums.upload(entries, scalar, &values, &mut self.uploads);
        }
        entries.contents.data[scalar] = values;
    }

    pub fn set_enabled(&mut self, term: u32, enabled: bool) -> Result<(), Error> {
        let entry = self.term_mut(term)?;
        if entry.enabled == enabled {
            return Ok(());
        }
        entry.enabled = enabled;
        let places: Vec<Option<Place>> = entry.parts.iter().map(|part| part.place).collect();
        self.revision += 1;
        self.selection += 1;
        let alone = |place: &Option<Place>| place.is_some_and(|place| self.batches[place.batch as usize].members.len() == 1);
        if !self.stale && places.iter().all(alone) {
            places.into_iter().flatten().for_each(|place| self.batches[place.batch as usize].enabled = enabled);
        } else {
            self.structure += 1;
            self.stale = true;
        }
        Ok(())
    }

    /// Takes the term out and destroys its batches at once; those that shared them get new ones before the next solve.
    pub fn remove_term(&mut self, device: &mut Device, term: u32) -> Result<(), Error> {
        let entry = self.terms.get_mut(term as usize).ok_or(Error::Disposed("term"))?;
        let Some(removed) = entry.take() else { return Ok(()) };
        self.revision += 1;
        let gone: Vec<u32> = removed.parts.iter().filter_map(|part| part.place).map(|place| place.batch).collect();
        self.free_batches(device, &gone);
        Ok(())
    }

    /// Destroys batches, whose terms get new ones before the next solve.
    fn free_batches(&mut self, device: &mut Device, gone: &[u32]) {
        self.structure += 1;
        self.stale = true;
        if gone.is_empty() {
            return;
        }
        let batches = std::mem::take(&mut self.batches);
        for (number, batch) in (0..).zip(batches) {
            if gone.contains(&number) {
                batch.free(device, &mut self.uploads);
            } else {
                self.batches.push(batch);
            }
        }
        self.note_places();
    }

    /// Destroys everything the problem has on the device.
    pub fn dispose(&mut self, device: &mut Device) {
        self.terms.clear();
        self.laying = None;
        for batch in self.batches.drain(..) {
            batch.free(device, &mut self.uploads);
        }
        if let Some(arena) = self.arena.take() {
            device.free(arena.point);
            device.free(arena.trial);
        }
        self.free_bounds(device);
        self.free_combining(device);
        self.free_normals(device);
        self.tables.iter().flat_map(Table::buffers).for_each(|buffer| device.free(buffer));
        self.tables.clear();
        self.uploads.clear();
    }
}
