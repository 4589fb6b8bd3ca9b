//! Entries of a term with segment sums, as the device evaluates them: kernels, and chunks with a tree along which rows are summed.

use super::Table;
use super::chunk::{Allocation, Besides, Chunk, ChunkDraft, Filled, Frame};
use super::segment_sums::{self, Entries};
use super::segment_tree::SegmentTree;
use super::table::Site;
use super::term::Values;
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::{BufferId, Command, Device, KernelId, KernelSource};
use leastwise_error::Error;
use leastwise_program::{SegmentSumPrograms, Signature};
use std::sync::Arc;

/// The kernels of what is summed; none where there is nothing to store.
#[derive(Clone, Copy, Debug)]
pub struct SumKernels {
    pub value: KernelId,
    pub slopes: Option<KernelId>,
    pub linearize: Option<KernelId>,
    pub forward: Option<KernelId>,
    pub gradient: Option<KernelId>,
    pub product: Option<KernelId>,
    pub diagonal: Option<KernelId>,
}

/// Where a table of sums lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SumPlace {
    /// Scalars of a row's sum.
    pub width: u32,
    /// Number of rows.
    pub count: u32,
    /// First element in the arena.
    pub arena: u32,
    /// First element in vectors.
    pub vector: u32,
    /// First element among the packed diagonal blocks.
    pub block: u32,
}

/// Entries of some rows, and the tree that sums them by row.
pub struct SumChunk {
    /// Buffers of the entries.
    pub chunk: Chunk,
    /// Tree over the entries' columns.
    pub tree: SegmentTree,
}

/// Sums S over the entries of a batch's rows, and their slopes T.
pub struct SegmentSumBatch {
    /// Kernels of what is summed.
    pub kernels: SumKernels,
    /// Programs of what is summed.
    pub programs: Arc<SegmentSumPrograms>,
    /// Chunks, in the order of the entries.
    pub chunks: Vec<SumChunk>,
    /// Place of S.
    pub sums: SumPlace,
    /// Place of T.
    pub slopes: SumPlace,
    /// Columns of scratch that the kernels store into.
    scratch: u32,
}

impl SumPlace {
    /// The place of a table of sums that is laid out.
    pub fn of(table: &Table) -> Self {
        let &Table { width, count, arena, vector, block, .. } = table;
        Self { width, count, arena, vector, block }
    }
}

/// Draft of the entries of a term, apart from it.
pub(super) struct Outline {
    name: String,
    signature: Signature,
    programs: Arc<SegmentSumPrograms>,
    sites: Vec<Site>,
    indices: Arc<Vec<Vec<u32>>>,
    rows: Arc<Vec<u32>>,
    /// Entries of a chunk at most, and the widths of what a row is summed to.
    largest: u32,
    widths: [u32; 2],
}

/// A chunk of entries before it has buffers, and the words of its tree.
pub(super) struct SumDraft {
    pub chunk: ChunkDraft,
    tree: SegmentTree,
    words: Vec<u32>,
}

impl Outline {
    pub fn new(device: &Device, name: &str, entries: &Entries, tables: &[Table]) -> Result<Self, Error> {
        let (sums, slopes) = (&entries.sums, &entries.slopes);
        // The kernels find the row's parts of a vector and of the diagonal blocks where others find a table.
        let part = |arena: u32, width: u32| Site { arena, ..Table::of_sums(name, width, sums.count, false).site() };
        let width = sums.width;
        let parts = [part(sums.vector, width), part(sums.block, width * (width + 1) / 2)];
        let known = entries.tables.iter().map(|&table| tables[table as usize].site());
        let largest = entries.frame(name).largest_chunk(device, entries.programs.scratch(device.cut()))?;
        Ok(Self {
            name: name.into(),
            signature: entries.signature.clone(),
            programs: entries.programs.clone(),
            sites: known.chain(parts).collect(),
            indices: entries.contents.indices.clone(),
            rows: entries.rows.clone(),
            largest,
            widths: [width, slopes.width],
        })
    }

    pub async fn drafts(&self, pace: &Pace) -> Result<Vec<SumDraft>, Stopped> {
        let frame = segment_sums::frame(&self.name, &self.programs, &self.signature);
        let mut drafts = Vec::new();
        let mut rest = &self.rows[..];
        while !rest.is_empty() {
            let first = self.rows.len() - rest.len();
            let (rows, after) = rest.split_at(rest.len().min(self.largest as usize));
            let chunk = frame.draft(&self.sites, &self.indices, first..first + rows.len(), Besides::default(), pace).await?;
            let counted = rows.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect();
            let (tree, words) = SegmentTree::new(counted, self.widths, None, pace).await?;
            drafts.push(SumDraft { chunk, tree, words });
            rest = after;
        }
        Ok(drafts)
    }
}

impl SegmentSumBatch {
    /// What is summed for a term, of its drafts and their data. Uploads are the caller's to drop where it is refused.
    pub(super) fn new(
        device: &mut Device,
        name: &str,
        entries: &Entries,
        (drafts, filled): (Vec<SumDraft>, Vec<Filled>),
        uploads: &mut Vec<Command>,
    ) -> Result<Self, Error> {
        let programs = entries.programs.clone();
        let sources: Vec<_> = programs.all().into_iter().map(KernelSource::of).collect();
        let ids = device.kernels(&sources)?;
        let some = |place: usize, columns: u32| (columns > 0).then(|| ids[place]);
        let kernels = SumKernels {
            value: ids[0],
            linearize: some(1, programs.stored),
            forward: some(2, programs.inputs.len() as u32),
            gradient: some(3, programs.contributions),
            product: some(4, programs.contributions),
            diagonal: some(5, programs.diagonals),
            slopes: some(6, programs.slopes_width),
        };
        let (sums, slopes) = (SumPlace::of(&entries.sums), SumPlace::of(&entries.slopes));
        let scratch = programs.scratch(device.cut());
        let mut batch = Self { kernels, programs, chunks: Vec::new(), sums, slopes, scratch };
        if let Err(error) = batch.place(device, &entries.frame(name), drafts, uploads) {
            batch.buffers().for_each(|buffer| device.free(buffer));
            return Err(error);
        }
        uploads.extend(filled.into_iter().map(|filled| {
            let buffer = batch.chunks[filled.chunk].chunk.data;
            filled.upload(buffer)
        }));
        Ok(batch)
    }

    /// Makes the buffers.
    fn place(&mut self, device: &mut Device, frame: &Frame, drafts: Vec<SumDraft>, uploads: &mut Vec<Command>) -> Result<(), Error> {
        let widths = [self.sums.width, self.slopes.width];
        for SumDraft { chunk, tree, words } in drafts {
            let chunk = frame.place(device, chunk, uploads)?;
            // At once, so that its buffers are freed whatever goes wrong from here on.
            self.chunks.push(SumChunk { chunk, tree });
            let tree = &mut self.chunks.last_mut().expect("just pushed").tree;
            let mut allocation = Allocation::new(device);
            tree.allocate(&mut allocation, widths, &format!("{}: rows", frame.name))?;
            uploads.push(Command::UploadIndices { buffer: tree.buffer, offset: 0, data: words });
        }
        Ok(())
    }

    /// Buffers of all chunks.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.chunks.iter().map(|chunk| &chunk.chunk)
    }

    /// Replaces a scalar of data of all entries.
    pub(super) fn upload(&self, entries: &Entries, scalar: usize, values: &Values, uploads: &mut Vec<Command>) {
        entries.frame("").upload(self.chunks(), scalar, 0, entries.count, values, uploads);
    }

    /// Elements of scratch for the longest chunk.
    pub fn longest_scratch(&self) -> u32 {
        self.chunks().map(|chunk| self.scratch * chunk.count).max().unwrap_or(0)
    }

    /// Every buffer that it owns.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        self.chunks.iter().flat_map(|chunk| chunk.chunk.buffers().chain(chunk.tree.buffers()))
    }
}
