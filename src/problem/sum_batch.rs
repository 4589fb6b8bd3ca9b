//! The entries of a summed term as the device runs them: kernels, and chunks with a tree along which rows are summed.

use super::chunk::{Allocation, Besides, Chunk};
use super::row_tree::RowTree;
use super::summed::Entries;
use super::term::Values;
use super::{Table, chunk};
use crate::device::{BufferId, Command, Device, KernelId, KernelSource};
use crate::error::Error;
use crate::kernel::SumPrograms;
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
    pub width: u32,
    pub count: u32,
    pub arena: u32,
    pub vector: u32,
    pub block: u32,
}

pub struct SumChunk {
    pub chunk: Chunk,
    pub tree: RowTree,
}

pub struct SumBatch {
    pub kernels: SumKernels,
    pub programs: Arc<SumPrograms>,
    pub chunks: Vec<SumChunk>,
    pub sums: SumPlace,
    pub slopes: SumPlace,
    /// Columns of scratch that the kernels store into.
    scratch: u32,
}

impl SumPlace {
    pub fn of(table: &Table) -> Self {
        let &Table { width, count, arena, vector, block, .. } = table;
        Self { width, count, arena, vector, block }
    }
}

impl SumBatch {
    pub(super) fn new(
        device: &mut Device,
        name: &str,
        entries: &Entries,
        tables: &[Table],
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
        match batch.fill(device, name, entries, tables, uploads) {
            Ok(()) => Ok(batch),
            Err(error) => {
                chunk::free(batch.buffers(), device, uploads);
                Err(error)
            }
        }
    }

    fn fill(
        &mut self,
        device: &mut Device,
        name: &str,
        entries: &Entries,
        tables: &[Table],
        uploads: &mut Vec<Command>,
    ) -> Result<(), Error> {
        // The kernels find the row's parts of a vector and of the diagonal blocks where others find a table.
        let part = |at: u32, width: u32| {
            let mut part = Table::of_sums(name, width, self.sums.count, false);
            part.arena = at;
            part
        };
        let width = self.sums.width;
        let parts = [part(self.sums.vector, width), part(self.sums.block, width * (width + 1) / 2)];
        let known = entries.tables.iter().map(|&table| &tables[table as usize]);
        let slots: Vec<&Table> = known.chain(&parts).collect();
        let frame = entries.frame(name);
        let largest = frame.largest_chunk(device, self.scratch)?;
        let widths = [width, self.slopes.width];
        let mut first = 0;
        while first < entries.count {
            let count = largest.min(entries.count - first);
            let chunk = frame.chunk(
                device,
                &slots,
                &entries.contents.indices,
                first as usize..(first + count) as usize,
                Besides::default(),
                uploads,
            )?;
            let (tree, words) = RowTree::new(&entries.rows[first as usize..(first + count) as usize], widths, None);
            // At once, so that its buffers are freed whatever goes wrong from here on.
            self.chunks.push(SumChunk { chunk, tree });
            let tree = &mut self.chunks.last_mut().expect("just pushed").tree;
            let mut allocation = Allocation::new(device);
            tree.allocate(&mut allocation, widths, &format!("{name}: rows"))?;
            uploads.push(Command::UploadIndices { buffer: tree.buffer, offset: 0, data: words });
            first += count;
        }
        let weight = &entries.contents.weight;
        frame.upload_weight(self.chunks(), 0, entries.count, weight, uploads);
        for (scalar, values) in entries.contents.data.iter().enumerate() {
            frame.upload(self.chunks(), scalar, 0, entries.count, values, uploads);
        }
        Ok(())
    }

    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.chunks.iter().map(|chunk| &chunk.chunk)
    }

    /// Replaces a scalar of data of all entries.
    pub(super) fn upload(&self, entries: &Entries, scalar: usize, values: &Values, uploads: &mut Vec<Command>) {
        entries.frame("").upload(self.chunks(), scalar, 0, entries.count, values, uploads);
    }

    pub fn longest_scratch(&self) -> u32 {
        self.chunks().map(|chunk| self.scratch * chunk.count).max().unwrap_or(0)
    }

    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        self.chunks.iter().flat_map(|chunk| chunk.chunk.buffers().chain(chunk.tree.buffers()))
    }
}
