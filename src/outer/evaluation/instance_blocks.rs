//! Blocks of instances: a batch is streamed block by block, for kernels whose outputs per instance exceed a chunk's scratch space.
//!
//! A block's data and indices are copied into buffers of its own, as many instances at a time as fit.

use leastwise_device::{BufferId, Command, Device, Kind, Recording, Slice};
use leastwise_error::Error;
use leastwise_problem::{Batch, Problem};
use std::collections::VecDeque;
use std::ops::Range;

/// Approximate number of elements of all buffers of a block.
const BLOCK_ELEMENTS: u32 = 1 << 24;

/// Instances of a batch, and the member that they are of; of several members, the first.
pub struct Instances {
    /// Number of the batch.
    pub batch: usize,
    /// Number of the member within the batch.
    pub member: usize,
    /// Instances of the batch.
    pub range: Range<u32>,
}

/// A block of instances within one chunk.
#[derive(Clone, Copy)]
pub struct InstanceBlock {
    /// Number of the batch.
    pub batch: usize,
    chunk: usize,
    /// Number of the member within the batch.
    pub member: usize,
    /// First instance within the batch.
    pub first: u32,
    /// Number of instances.
    pub count: u32,
}

/// Blocks still to do, and the buffers of the one that is being played.
#[derive(Default)]
pub struct InstanceBlocks {
    left: VecDeque<InstanceBlock>,
    buffers: Vec<BufferId>,
}

impl InstanceBlocks {
    /// Adds those of instances of a batch, of each of which further buffers hold so many elements besides data and indices.
    pub fn cut(&mut self, device: &Device, problem: &Problem, of: Instances, besides: &[u32], what: &str) -> Result<(), Error> {
        let Instances { batch: number, member, range } = of;
        let batch = &problem.batches()[number];
        let signature = batch.signature();
        let sizes = [&[signature.each(), signature.index_columns()], besides].concat();
        let limits = device.limits();
        let widest = u64::from(sizes.iter().copied().max().unwrap_or(1).max(1)) * device.precision().bytes();
        let fitting = limits.binding_bytes.min(limits.buffer_bytes) / widest;
        let most = fitting.min(u64::from(BLOCK_ELEMENTS / sizes.iter().sum::<u32>().max(1)).max(1)) as u32;
        if most == 0 {
            let name = &problem.term(batch.members[member].term)?.name;
            return Err(Error::Limits(format!("term \"{name}\": the {what} of one instance needs more than a buffer binding")));
        }
        for (chunk, of) in batch.chunks.iter().enumerate() {
            let (mut first, end) = (range.start.max(of.first), range.end.min(of.first + of.count));
            while first < end {
                let count = most.min(end - first);
                self.left.push_back(InstanceBlock { batch: number, chunk, member, first, count });
                first += count;
            }
        }
        Ok(())
    }

    /// The next block; none when all are done.
    pub fn first(&self) -> Option<InstanceBlock> {
        self.left.front().copied()
    }

    /// Frees the buffers of the block that was played, and goes on to the next.
    pub fn pop(&mut self, device: &mut Device) -> Option<InstanceBlock> {
        self.free(device);
        self.left.pop_front()
    }

    /// Frees the buffers.
    pub fn free(&mut self, device: &mut Device) {
        self.buffers.drain(..).for_each(|buffer| device.free(buffer));
    }

    /// Buffers that blocks share.
    pub fn buffers(&self) -> &[BufferId] {
        &self.buffers
    }

    /// Allocates a buffer that all blocks share. Fails if memory runs out.
    pub fn allocate(&mut self, device: &mut Device, kind: Kind, len: u32, what: &str) -> Result<Slice, Error> {
        let buffer = device.allocate(kind, len.max(1), what)?;
        self.buffers.push(buffer);
        Ok(Slice { buffer, offset: 0, len: len.max(1) })
    }

    /// Copies a block's data and indices.
    pub fn copy(
        &mut self,
        device: &mut Device,
        batch: &Batch,
        block: InstanceBlock,
        recording: &mut Recording,
    ) -> Result<[Slice; 2], Error> {
        let InstanceBlock { chunk, first, count, .. } = block;
        let (chunk, signature) = (&batch.chunks[chunk], batch.signature());
        // What all instances share, then a piece of every column.
        let mut pieces = |from: BufferId, to: Slice, shared: u32, columns: u32| {
            let mut copy = |from_element: u32, to_element: u32, len: u32| {
                let from = Slice { buffer: from, offset: from_element, len };
                recording.push(Command::Copy { from, to: Slice { offset: to_element, len, ..to } });
            };
            if shared > 0 {
                copy(0, 0, shared);
            }
            for column in 0..columns {
                copy(shared + column * chunk.count + first - chunk.first, shared + column * count, count);
            }
        };
        let data = self.allocate(device, Kind::Real, signature.shared + signature.each() * count, "data of a block of instances")?;
        pieces(chunk.data, data, signature.shared, signature.each());
        let index = self.allocate(
            device,
            Kind::Index,
            signature.header + signature.index_columns() * count,
            "index table of a block of instances",
        )?;
        pieces(chunk.index, index, signature.header, signature.index_columns());
        Ok([data, index])
    }
}
