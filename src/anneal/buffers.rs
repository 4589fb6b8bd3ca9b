//! Buffers that are made together.

use leastwise_device::{BufferId, Device, Kind, Slice};
use leastwise_error::Error;

/// Buffers that are freed again if one of them can't be had.
pub struct Buffers<'a> {
    pub device: &'a mut Device,
    made: Vec<BufferId>,
}

impl<'a> Buffers<'a> {
    pub fn new(device: &'a mut Device) -> Self {
        Self { device, made: Vec::new() }
    }

    fn make(&mut self, kind: Kind, len: u32, what: &str) -> Result<Slice, Error> {
        let buffer = self.device.allocate(kind, len.max(1), what)?;
        self.made.push(buffer);
        Ok(Slice { buffer, offset: 0, len: len.max(1) })
    }

    pub fn real(&mut self, len: u32, what: &str) -> Result<Slice, Error> {
        self.make(Kind::Real, len, what)
    }

    pub fn index(&mut self, len: u32, what: &str) -> Result<Slice, Error> {
        self.make(Kind::Index, len, what)
    }

    /// Those that were made: from now on the caller's to free.
    pub fn keep(mut self) -> Vec<BufferId> {
        std::mem::take(&mut self.made)
    }
}

impl Drop for Buffers<'_> {
    fn drop(&mut self) {
        self.made.drain(..).for_each(|buffer| self.device.free(buffer));
    }
}
