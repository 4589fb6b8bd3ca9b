//! What the host knows of values that lie on a device, and going on where the device refused memory or is gone.

use super::{Batch, Problem, Table};
use leastwise_device::Device;
use leastwise_error::Error;

impl Problem {
    /// Drops buffers that memory was refused for, which WebGPU tells only after they were given out: laid out again, they are made anew
    /// of what the host knows.
    pub fn drop_refused(&mut self, device: &mut Device) {
        if !device.has_refused() {
            return;
        }
        if let Some(arena) = self.arena.filter(|arena| device.refuses([arena.point, arena.trial].into_iter())) {
            super::chunk::free([arena.point, arena.trial].into_iter(), device, &mut self.uploads);
            self.arena = None;
            self.tables.iter_mut().for_each(|table| table.initial = table.initial.take().or_else(|| table.known.take()));
            (self.structure, self.revision) = (self.structure + 1, self.revision + 1);
        }
        if self.bounds.is_some_and(|known| device.refuses(known.buffers())) {
            self.free_bounds(device);
            self.structure += 1;
        }
        if self.combining.as_ref().is_some_and(|known| device.refuses(known.buffers())) {
            self.free_combining(device);
        }
        for table in &mut self.tables {
            if !device.refuses(table.buffers()) {
                continue;
            }
            super::chunk::free(table.buffers(), device, &mut self.uploads);
            table.trials = None;
            self.structure += 1;
        }
        if device.refuses(self.batches.iter().flat_map(Batch::buffers)) {
            self.forget_batches(device);
        }
    }

    /// The last values of a table that the host knows: as they were given, written, read or restored.
    pub fn known(&self, table: u32) -> Result<&[f64], Error> {
        let table = self.table(table)?;
        table.initial.as_deref().or(table.known.as_deref()).ok_or(Error::Internal("no values of a variable are known"))
    }

    /// Takes values of a table that were read, unless something was edited since the reading began.
    pub fn learn(&mut self, table: u32, revision: u64, values: &[f64]) {
        let same = revision == self.revision;
        if let Some(table) = self.tables.get_mut(table as usize).filter(|_| same) {
            table.learn(0, values);
        }
    }
}

impl Table {
    /// Notes values on the device, from an element on.
    pub(super) fn learn(&mut self, offset: u32, values: &[f64]) {
        if let Some(part) = self.known.as_mut().and_then(|known| known.get_mut(offset as usize..offset as usize + values.len())) {
            part.copy_from_slice(values);
        }
    }
}
