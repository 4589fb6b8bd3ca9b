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

mod arena;
mod batch;
mod bounds;
mod checkpoint;
mod chunk;
mod combination;
mod constraint;
mod draft;
mod editing;
pub mod file;
mod gauge;
mod incidence;
mod layout;
mod lending;
mod links;
mod loss_parameters;
mod own_lists;
mod pattern;
mod probe;
mod psd_projection;
mod ragged;
mod reals;
mod recovery;
mod registry;
mod retraction;
mod schedule;
mod segment_sum_batch;
mod segment_sums;
mod segment_tree;
#[cfg(not(target_arch = "wasm32"))]
mod shares;
mod snapshot;
mod spec;
mod table;
mod term;
mod touches;

pub use batch::{Batch, Member};
pub use bounds::Bounds;
pub use checkpoint::{Edits, Marks};
pub use chunk::{Chunk, Tiles};
pub use constraint::{Constraint, Relation};
pub use gauge::Freedom;
pub use incidence::{Incidence, runs};
pub use lending::{Order, Recipient, Request};
pub use links::{LinkedBatch, LinkedTable, Links};
pub use loss_parameters::Loss;
pub use own_lists::{Contributions, ListWords};
pub use pattern::{BlockList, BlockRows, Pattern, PatternBatch, PatternPart, Target, pair_bits};
pub use psd_projection::{PsdProjection, rounding};
pub use reals::Reals;
pub use registry::{CrossDerivativeKernel, HessianKernel, OffDiagonalKernels, Registry, Stats, TermKernels};
pub use retraction::{TrialChunk, Trials};
pub use schedule::distinct;
pub use schedule::{Product, Schedule, Tuning};
pub use segment_sum_batch::{SegmentSumBatch, SumChunk, SumPlace};
pub use segment_sums::Entries;
pub use segment_tree::SegmentTree;
#[cfg(not(target_arch = "wasm32"))]
pub use shares::Shares;
pub use spec::{Column, EntryColumn, RaggedSlot, RaggedSpec, Slot, SummedSpec, TermSpec, Trace, Weight};
pub use table::Table;
pub use term::{Contents, Part, Place, Term};

/// What an instance of a table is made of.
pub use leastwise_expr::Part as Shape;

use arena::{Arena, Lengths};
use leastwise_device::{Command, Device};
use leastwise_error::Error;
use leastwise_program::Guards;
use leastwise_program::state::solver as state;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The state elements that guard generated kernels.
pub const GUARDS: Guards = Guards { linearized: state::LINEARIZED, solved: state::SOLVED };

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
    /// Loans: elements on the device that belong to others.
    lending: lending::Lending,
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
    /// Number of solvers made so far.
    pub solvers: u64,
    unmoved: RefCell<gauge::Unmoved>,
    #[cfg(not(target_arch = "wasm32"))]
    divided: Option<Box<shares::Divided>>,
}

impl Problem {
    /// A problem without tables and terms.
    pub fn new() -> Self {
        Self::default()
    }

    /// All tables, in the order in which they were added.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The tables that are solved for, with their numbers.
    pub fn moving(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().filter(|table| table.moving)
    }

    /// Moving tables: there are no ranks here, which would own parts of them.
    #[cfg(target_arch = "wasm32")]
    pub fn counted(&self) -> impl Iterator<Item = &Table> {
        self.moving()
    }

    /// Copies of what other ranks own: there are none.
    #[cfg(target_arch = "wasm32")]
    pub fn copies(&self) -> impl Iterator<Item = &Table> {
        std::iter::empty()
    }

    /// True if a moving table has limits.
    #[cfg(target_arch = "wasm32")]
    pub fn is_limited(&self, table: &Table) -> bool {
        table.is_bounded()
    }

    /// All terms that were not removed.
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

    /// Programs of a batch's blocks off the diagonal, each of `most` columns at most, and their kernels.
    pub fn offdiagonal(&self, device: &mut Device, registry: &mut Registry, batch: &Batch, most: u32) -> Result<OffDiagonalKernels, Error> {
        let member = batch.members[0];
        let part = &self.term(member.term)?.parts[member.part as usize];
        registry.compiled(&part.reading.structure, &batch.signature().layout(), &batch.name).offdiagonal(device, &batch.name, most)
    }

    /// True if some term takes part.
    pub fn has_enabled_terms(&self) -> bool {
        self.terms().any(|term| term.enabled)
    }

    /// The term of this number.
    ///
    /// # Errors
    /// [`Error::Disposed`] if it was removed.
    pub fn term(&self, term: u32) -> Result<&Term, Error> {
        self.terms.get(term as usize).and_then(Option::as_ref).ok_or(Error::Disposed("term"))
    }

    fn term_mut(&mut self, term: u32) -> Result<&mut Term, Error> {
        self.terms.get_mut(term as usize).and_then(Option::as_mut).ok_or(Error::Disposed("term"))
    }

    /// The table of this number.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is none.
    pub fn table(&self, table: u32) -> Result<&Table, Error> {
        self.tables.get(table as usize).ok_or(Error::Internal("a handle names no variable"))
    }

    /// Elements of a vector over all unknowns, gaps between tables included.
    pub fn vector_len(&self) -> u32 {
        self.vector_len
    }

    /// Elements of the packed diagonal blocks of all moving tables.
    pub fn blocks_len(&self) -> u32 {
        self.blocks_len
    }

    /// The elements of a vector, and of the diagonal blocks, that belong to sums over entries as well as to unknowns.
    pub fn total_vector_len(&self) -> u32 {
        self.total.vector
    }

    /// Elements of the diagonal blocks, those of sums over entries included.
    pub fn total_blocks_len(&self) -> u32 {
        self.total.blocks
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
        self.tables.iter().flat_map(Table::buffers).for_each(|buffer| device.free(buffer));
        self.tables.clear();
        #[cfg(not(target_arch = "wasm32"))]
        self.free_shares(device);
        self.uploads.clear();
    }
}
