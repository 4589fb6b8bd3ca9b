//! Trial points of tables on a manifold: a kernel a manifold, and for every table an index buffer that leads it there.

use super::chunk::{Allocation, Frame};
use super::registry::RetractionKernel;
use super::{Problem, Registry, Table};
use leastwise_device::{BufferId, Command, Device, KernelId, Kind};
use leastwise_error::Error;

/// What makes the trial points of a table.
pub struct Trials {
    /// Kernel that computes x ⊕ δ.
    pub kernel: KernelId,
    /// Chunks of the table, in the order of the instances.
    pub chunks: Vec<TrialChunk>,
    /// Columns of scratch that the kernel stores into.
    columns: u32,
}

/// Instances `first .. first + count` of a table.
pub struct TrialChunk {
    /// First instance of the table.
    pub first: u32,
    /// Number of instances.
    pub count: u32,
    /// Index buffer: the table's places in arena and vectors, then the instances.
    pub index: BufferId,
    /// Elements of `index`.
    pub index_len: u32,
}

impl Trials {
    pub(super) fn new(device: &mut Device, table: &Table, made: &RetractionKernel, uploads: &mut Vec<Command>) -> Result<Self, Error> {
        let RetractionKernel { retraction, kernel } = made;
        let columns = retraction.scratch(device.cut());
        let frame = Frame {
            name: &table.name,
            signature: &retraction.signature,
            stored: 0,
            list_words: 0,
            list_maps: 0,
            gradient_maps: &[],
            diagonal_maps: &[],
        };
        let most = frame.largest_chunk(device, columns)?;
        let mut trials = Self { kernel: *kernel, chunks: Vec::new(), columns };
        let mut allocation = Allocation::new(device);
        let mut first = 0;
        while first < table.count {
            let count = most.min(table.count - first);
            let begins = [table.arena + first * table.width, table.vector + first * table.tangent];
            let words: Vec<u32> = begins.into_iter().chain(0..count).collect();
            let index_len = words.len() as u32;
            let index = allocation.buffer(Kind::Index, index_len, &format!("{}: instances", table.name))?;
            uploads.push(Command::UploadIndices { buffer: index, offset: 0, data: words });
            trials.chunks.push(TrialChunk { first, count, index, index_len });
            first += count;
        }
        Ok(trials)
    }

    /// Elements of scratch for the longest chunk.
    pub fn longest_scratch(&self) -> u32 {
        self.chunks.iter().map(|chunk| self.columns * chunk.count).max().unwrap_or(0)
    }
}

impl Table {
    /// Its own buffers, besides its places in those of the problem.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        self.trials.iter().flat_map(|trials| &trials.chunks).map(|chunk| chunk.index)
    }
}

impl Problem {
    pub(super) fn lay_out_trials(&mut self, device: &mut Device, registry: &mut Registry) -> Result<(), Error> {
        for table in self.tables.iter_mut().filter(|table| table.trials.is_none()) {
            let Some(manifold) = table.moves_on() else { continue };
            let made = registry.retraction(device, manifold)?;
            table.trials = Some(Trials::new(device, table, &made, &mut self.uploads)?);
        }
        Ok(())
    }
}
