//! Batches: the instances of all terms of one structure over the same tables, cut into chunks by the device's limits.
//!
//! A hundred thousand terms of one instance each are one batch: one dispatch a kernel. What differs between them —
//! shared data, literals, weights — becomes a column with a value an instance.

use super::chunk::{self, Besides, Chunk, Frame};
use super::projection::Projection;
use super::registry::{Registry, TermKernels, TwiceKernel};
use super::schedule::{self, Owners, Product, Sizes};
use super::sum_batch::SumBatch;
use super::term::{Contents, Part, Values};
use super::{Table, Term};
use crate::device::{BufferId, Command, Device, KernelId};
use crate::error::Error;
use crate::kernel::{Layout, ProjectedHessian, ResidualPrograms, Signature, TwiceProgram, wgsl};
use std::ops::Range;
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// Parts of at most so many instances may share a batch. Larger ones have nothing to gain by it, and switching one of
/// them off would move them all.
pub const MAX_MERGED: u32 = 1 << 16;

/// A part of a term and where its instances are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    pub term: u32,
    pub part: u32,
    pub first: u32,
    pub count: u32,
}

pub struct Batch {
    pub name: String,
    pub members: Vec<Member>,
    pub enabled: bool,
    pub kernels: TermKernels,
    pub product: Product,
    pub programs: Arc<ResidualPrograms>,
    pub chunks: Vec<Chunk>,
    /// What is added to diagonal blocks where instances name a variable twice.
    pub twice: Option<KernelId>,
    /// What the residual sums over its rows' entries.
    pub sums: Option<SumBatch>,
    /// Of an energy, what it takes to make its second derivatives semidefinite.
    pub projection: Option<Projection>,
    signature: Signature,
    /// Columns of scratch that the kernels store into.
    scratch: u32,
}

/// What chunks are made of.
struct Plan<'a> {
    tables: &'a [&'a Table],
    /// The index columns of all instances.
    indices: &'a [Vec<u32>],
    /// The instances of every chunk.
    ranges: &'a [Range<usize>],
    /// Who owns the instances, where the product has owners.
    owners: Option<&'a Owners>,
    /// Pairs of slots that are one variable in some instances.
    twice: Option<(&'a [(u32, u32)], &'a TwiceProgram)>,
}

impl Batch {
    /// A batch of these parts, given as term, number of the part, and part.
    pub(super) fn new(
        device: &mut Device,
        registry: &mut Registry,
        all_tables: &[Table],
        terms: &[Option<Term>],
        parts: &[(u32, u32)],
        uploads: &mut Vec<Command>,
    ) -> Result<Self, Error> {
        let term = |number: u32| terms[number as usize].as_ref().expect("a batch is made of terms that are there");
        let members = parts.iter().scan(0, |first, &(number, part)| {
            let count = term(number).parts[part as usize].count;
            *first += count;
            Some(Member { term: number, part, first: *first - count, count })
        });
        let members: Vec<Member> = members.collect();
        let parts: Vec<&Part> = members.iter().map(|member| &term(member.term).parts[member.part as usize]).collect();
        let contents: Vec<&Contents> = parts.iter().map(|part| &part.contents).collect();
        let first = term(members[0].term);
        let mut borrowed;
        registry.count_layout();
        let tuning = registry.tuning.clone();
        let compiled = match &first.entries {
            Some(entries) => {
                borrowed = entries.compiled.borrow_mut();
                &mut *borrowed
            }
            None => registry.compiled(&parts[0].reading.structure, &layout(parts[0], &contents), &first.name),
        };
        let (kernels, programs, signature) = (compiled.kernels(device)?, compiled.programs.clone(), compiled.signature.clone());
        let tables: Vec<&Table> = parts[0].tables.iter().map(|&number| first.table(all_tables, number)).collect();
        let column = |number: usize| contents.iter().flat_map(|part| &part.indices[number]).copied().collect();
        let indices: Vec<Vec<u32>> = (0..contents[0].indices.len()).map(column).collect();
        let count = members.last().map_or(0, |last| last.first + last.count);
        let mut scratch = programs.scratch(device.cut());
        let pairs = named_twice(&signature, &tables, &indices);
        let twice = if pairs.is_empty() { None } else { Some(compiled.twice(device, &first.name, &pairs)?) };
        if let Some(TwiceKernel { program, .. }) = &twice {
            scratch = scratch.max(program.columns).max(device.cut().map_or(0, |cut| wgsl::columns(&program.program, cut)));
        }
        let mut of_chunks = frame(&first.name, &programs, &signature);
        of_chunks.list_words = of_chunks.list_words.max(3 * pairs.len() as u32);
        // What projecting takes is the solver's.
        let projecting = programs.curvature.as_ref().map_or(0, ProjectedHessian::work);
        let largest = of_chunks.largest_chunk(device, scratch.max(projecting))?;
        let ranges = (0..count as usize).step_by(largest as usize).map(|start| start..(start + largest as usize).min(count as usize));
        let ranges: Vec<Range<usize>> = ranges.collect();
        // Sums over entries put a pass before and one after the product's own, between which u must be stored.
        let owners = match &first.entries {
            Some(_) => Vec::new(),
            None => schedule::owners(&signature, &indices, &ranges, device.limits().group_size),
        };
        let sizes = Sizes { instances: count, tables: &tables };
        let (product, place) = schedule::choose(device, compiled, &tuning, &owners, &sizes)?;
        let mut batch = Self {
            name: first.name.clone(),
            enabled: first.enabled,
            kernels,
            product,
            programs,
            signature,
            members,
            chunks: Vec::new(),
            twice: twice.as_ref().map(|twice| twice.kernel),
            sums: None,
            projection: None,
            scratch,
        };
        let plan = Plan {
            tables: &tables,
            indices: &indices,
            ranges: &ranges,
            owners: place.map(|place| &owners[place]),
            twice: twice.as_ref().map(|twice| (&pairs[..], &*twice.program)),
        };
        let filled = batch.fill(device, &plan, &contents, uploads).and_then(|()| {
            batch.projection = match (&batch.programs.curvature, kernels.curvature) {
                (Some(curvature), Some(kernels)) => Some(Projection::new(device, kernels, curvature, uploads)?),
                _ => None,
            };
            let Some(entries) = &first.entries else { return Ok(()) };
            batch.sums = Some(SumBatch::new(device, &first.name, entries, all_tables, uploads)?);
            Ok(())
        });
        match filled {
            Ok(()) => Ok(batch),
            Err(error) => {
                // Neither buffers nor uploads of a refused batch stay behind.
                batch.free(device, uploads);
                Err(error)
            }
        }
    }

    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Whether it is residuals, squared, of their own slots alone.
    pub fn is_plain(&self) -> bool {
        self.sums.is_none() && self.signature.loss.is_none() && self.programs.curvature.is_none()
    }

    pub fn count(&self) -> u32 {
        self.members.last().map_or(0, |last| last.first + last.count)
    }

    fn frame(&self) -> Frame<'_> {
        frame(&self.name, &self.programs, &self.signature)
    }

    /// Makes the chunks, with their data.
    fn fill(&mut self, device: &mut Device, plan: &Plan, contents: &[&Contents], uploads: &mut Vec<Command>) -> Result<(), Error> {
        for (number, range) in plan.ranges.iter().enumerate() {
            let owners = self.product.owner.as_deref().zip(plan.owners.map(|owners| &owners.rows[number]));
            let chunk =
                self.frame().chunk(device, plan.tables, plan.indices, range.clone(), Besides { owners, twice: plan.twice }, uploads)?;
            self.chunks.push(chunk);
        }
        // Column by column, so that what is next to each other goes up together.
        let members = || self.members.iter().zip(contents);
        members().for_each(|(member, part)| self.upload_weight(member.first, member.count, &part.weight, uploads));
        for scalar in 0..self.signature.columns.len() {
            members().for_each(|(member, part)| self.upload(scalar, member.first, member.count, &part.data[scalar], uploads));
        }
        Ok(())
    }

    /// Elements of the scratch columns that the chunk's kernels store into.
    pub fn scratch_len(&self, chunk: &Chunk) -> u32 {
        self.scratch * chunk.count
    }

    /// The same for the longest of all chunks.
    pub fn longest_scratch(&self) -> u32 {
        let sums = self.sums.as_ref().map_or(0, SumBatch::longest_scratch);
        self.chunks.iter().map(|chunk| self.scratch_len(chunk)).max().unwrap_or(1).max(sums)
    }

    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        let sums = self.sums.iter().flat_map(SumBatch::buffers);
        self.chunks.iter().flat_map(Chunk::buffers).chain(sums).chain(self.projection.iter().flat_map(Projection::buffers))
    }

    /// Destroys its buffers, and forgets what was to be uploaded into them.
    pub(super) fn free(&self, device: &mut Device, uploads: &mut Vec<Command>) {
        chunk::free(self.buffers(), device, uploads);
    }

    /// What replaces a scalar of data of `count` instances from `first` on.
    pub(super) fn upload(&self, scalar: usize, first: u32, count: u32, values: &Values, uploads: &mut Vec<Command>) {
        self.frame().upload(self.chunks.iter(), scalar, first, count, values, uploads);
    }

    pub(super) fn upload_weight(&self, first: u32, count: u32, values: &Values, uploads: &mut Vec<Command>) {
        self.frame().upload_weight(self.chunks.iter(), first, count, values, uploads);
    }
}

/// Pairs of slots that may be one variable. Where there are more, they are the padding of rows, whose J is 0; were they not,
/// only damping and preconditioner would miss what two slots have in common.
const MOST_PAIRS: usize = 128;

/// The pairs of slots that are one variable in some instance.
fn named_twice(signature: &Signature, tables: &[&Table], indices: &[Vec<u32>]) -> Vec<(u32, u32)> {
    let moving: Vec<u32> = signature.moving().collect();
    let pairs = moving.iter().flat_map(|&a| moving.iter().filter(move |&&b| a < b).map(move |&b| (a, b)));
    let column = |slot: u32| &indices[signature.slots[slot as usize].arena.column as usize];
    let same = |&(a, b): &(u32, u32)| {
        let of_one_table = tables[a as usize].vector == tables[b as usize].vector;
        of_one_table && column(a).iter().zip(column(b)).any(|(a, b)| a == b)
    };
    let pairs: Vec<(u32, u32)> = pairs.filter(same).collect();
    if pairs.len() > MOST_PAIRS { Vec::new() } else { pairs }
}

/// One part keeps what its instances share; several, or one instance alone, which may get company, share nothing.
fn layout(part: &Part, contents: &[&Contents]) -> Layout {
    let alone = contents.len() == 1 && part.count > 1;
    Layout {
        weight_shared: alone && contents[0].weight.is_shared(),
        shared: contents[0].data.iter().map(|values| alone && values.is_shared()).collect(),
    }
}

pub(super) fn frame<'a>(name: &'a str, programs: &'a ResidualPrograms, signature: &'a Signature) -> Frame<'a> {
    Frame {
        name,
        signature,
        stored: programs.stored,
        // A row start and a row id at most for every entry.
        list_words: 3 * signature.slots.len() as u32,
        list_maps: 0,
        gradient_maps: &programs.gradient_maps,
        diagonal_maps: &programs.diagonal_maps,
    }
}

/// Refuses a term whose instances could never be laid out.
pub(super) fn fits(device: &Device, registry: &mut Registry, term: &Term) -> Result<(), Error> {
    let cut = device.cut();
    if let Some(entries) = &term.entries {
        let compiled = entries.compiled.borrow();
        frame(&term.name, &compiled.programs, &compiled.signature).largest_chunk(device, compiled.programs.scratch(cut))?;
        return entries.frame(&term.name).largest_chunk(device, entries.programs.scratch(cut)).map(|_| ());
    }
    // Of a hundred thousand terms that read the same, one is looked at.
    for part in term.parts.iter().filter(|part| !part.reading.fits.load(Relaxed)) {
        let compiled = registry.compiled(&part.reading.structure, &layout(part, &[&part.contents]), &term.name);
        let projecting = compiled.programs.curvature.as_ref().map_or(0, ProjectedHessian::work);
        let scratch = compiled.programs.scratch(cut).max(projecting);
        frame(&term.name, &compiled.programs, &compiled.signature).largest_chunk(device, scratch)?;
        part.reading.fits.store(true, Relaxed);
    }
    Ok(())
}
