//! Values of tables: their places in the arenas, writes, and what a caller gets of them.

use super::{Problem, Reals, Recipient, Registry, Shape, Table};
use leastwise_device::{BufferId, Command, Device, Limits, Slice};
use leastwise_error::Error;

/// Elements of the arena, of a vector over all unknowns, and of the packed diagonal blocks.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Lengths {
    pub arena: u32,
    pub vector: u32,
    pub blocks: u32,
}

impl Lengths {
    /// Puts a table behind what is there; `None` where that is too much to count.
    pub fn place(&mut self, table: &mut Table, limits: Limits) -> Option<()> {
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

    pub fn largest(self) -> u32 {
        self.arena.max(self.vector).max(self.blocks)
    }
}

/// The two arenas.
#[derive(Clone, Copy)]
pub(super) struct Arena {
    pub point: BufferId,
    pub trial: BufferId,
    pub len: u32,
    /// True once the buffer was given to a caller: then it must not move.
    pub shared: bool,
}

impl Problem {
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
        if self.lending.is_active() && at.is_some() {
            self.must_not_await(table)?;
        }
        let writes = self.table(table)?.writes(values, at)?;
        if self.lending.is_active() {
            self.withdraw(Recipient::Table(table));
        }
        self.store_table(table, writes, at.is_none())
    }

    /// Stores values as they are, those of all instances or of some.
    pub(super) fn store_table(&mut self, table: u32, writes: Vec<(u32, Vec<f64>)>, is_whole: bool) -> Result<(), Error> {
        let arena = self.arena;
        let entry = self.tables.get_mut(table as usize).ok_or(Error::Internal("a handle names no variable"))?;
        self.revision += 1;
        let Some(arena) = arena.filter(|_| entry.initial.is_none()) else {
            entry.write_initial(writes);
            return Ok(());
        };
        entry.is_combined &= !is_whole;
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

    /// Puts taken uploads back, in front of those that came since.
    pub fn upload_later(&mut self, mut taken: Vec<Command>) {
        taken.append(&mut self.uploads);
        self.uploads = taken;
    }
}
