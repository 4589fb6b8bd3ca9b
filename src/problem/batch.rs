//! Batches: the instances of all terms of one structure over the same tables, cut into chunks by the device's limits.
//!
//! A hundred thousand terms of one instance each are one batch: one dispatch a kernel. What differs between them —
//! shared data, literals, weights — becomes a column with a value an instance.

use super::Term;
use super::chunk::{self, Chunk, Frame};
use super::incidence::runs;
use super::psd_projection::PsdProjection;
use super::registry::{Registry, TermKernels};
use super::schedule::Product;
use super::segment_sum_batch::SegmentSumBatch;
use super::table::Site;
use super::term::{Contents, Part, Values};
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::{BufferId, Command, Device, KernelId};
use leastwise_error::Error;
use leastwise_program::{Layout, ProjectedHessian, ResidualPrograms, Signature};
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// Parts of at most so many instances may share a batch. Larger ones have nothing to gain by it, and switching one of
/// them off would move them all.
pub const MAX_MERGED: u32 = 1 << 16;

/// A part of a term and where its instances are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// The problem's number of the term.
    pub term: u32,
    /// Index among [`Term::parts`](super::Term::parts).
    pub part: u32,
    /// Its first instance in the batch.
    pub first: u32,
    /// Number of its instances.
    pub count: u32,
}

/// Instances of all terms of one structure: one set of kernels, cut into chunks.
pub struct Batch {
    /// Name for messages and labels of buffers: that of its terms.
    pub name: String,
    /// Parts of terms whose instances it holds, in their order.
    pub members: Vec<Member>,
    /// True if it takes part in costs, gradients and products.
    pub enabled: bool,
    /// Kernels of its residual.
    pub kernels: TermKernels,
    /// Schedule and kernel of its product JᵀWJ·p.
    pub product: Product,
    /// Programs of its residual.
    pub programs: Arc<ResidualPrograms>,
    /// Chunks, in the order of the instances.
    pub chunks: Vec<Chunk>,
    /// What is added to diagonal blocks where instances name a variable twice.
    pub repeated_slots: Option<KernelId>,
    /// What the residual sums over its rows' entries.
    pub sums: Option<SegmentSumBatch>,
    /// Of an energy, what it takes to make its second derivatives semidefinite.
    pub projection: Option<PsdProjection>,
    pub(super) signature: Signature,
    /// The index columns of all instances; of a single member, its own.
    pub(super) indices: Arc<Vec<Vec<u32>>>,
    /// Columns of scratch that the kernels store into.
    pub(super) scratch: u32,
}

impl Batch {
    /// Shape of its slots and data, as its kernels expect them.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Whether it is residuals, squared, of their own slots alone.
    pub fn is_plain(&self) -> bool {
        self.sums.is_none() && self.signature.loss.is_none() && self.programs.curvature.is_none()
    }

    /// Number of instances.
    pub fn count(&self) -> u32 {
        self.members.last().map_or(0, |last| last.first + last.count)
    }

    fn frame(&self) -> Frame<'_> {
        frame(&self.name, &self.programs, &self.signature)
    }

    /// Elements of the scratch columns that the chunk's kernels store into.
    pub fn scratch_len(&self, chunk: &Chunk) -> u32 {
        self.scratch * chunk.count
    }

    /// The same for the longest of all chunks.
    pub fn longest_scratch(&self) -> u32 {
        let sums = self.sums.as_ref().map_or(0, SegmentSumBatch::longest_scratch);
        self.chunks.iter().map(|chunk| self.scratch_len(chunk)).max().unwrap_or(1).max(sums)
    }

    /// Every buffer that it owns.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        let sums = self.sums.iter().flat_map(SegmentSumBatch::buffers);
        self.chunks.iter().flat_map(Chunk::buffers).chain(sums).chain(self.projection.iter().flat_map(PsdProjection::buffers))
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
pub(super) async fn named_twice(
    signature: &Signature,
    sites: &[Site],
    indices: &[Vec<u32>],
    pace: &Pace,
) -> Result<Vec<(u32, u32)>, Stopped> {
    let moving: Vec<u32> = signature.moving().collect();
    let column = |slot: u32| &indices[signature.slots[slot as usize].arena.column as usize];
    let mut pairs = Vec::new();
    for (place, &a) in moving.iter().enumerate() {
        for &b in &moving[place + 1..] {
            if sites[a as usize].vector != sites[b as usize].vector {
                continue;
            }
            for run in runs(column(a).len()) {
                pace.spend(2 * run.len()).await?;
                if column(a)[run.clone()].iter().zip(&column(b)[run]).any(|(a, b)| a == b) {
                    pairs.push((a, b));
                    break;
                }
            }
        }
    }
    Ok(if pairs.len() > MOST_PAIRS { Vec::new() } else { pairs })
}

/// One part keeps what its instances share; several, or one instance alone, which may get company, share nothing.
pub(super) fn layout(part: &Part, contents: &[&Contents]) -> Layout {
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
