//! Snapshot of a problem: its tables and the terms that take part, at given values and without a place on a device, so that
//! another device can lay it out.

use super::{Problem, Registry, Table};
use leastwise_device::{Command, Device, Limits, Precision};
use leastwise_error::Error;
use std::ops::Range;

impl Problem {
    /// The same tables and enabled terms at a point, given as the arena has it in this precision. Values are brought onto
    /// their manifolds again: in f32 they are next to them.
    pub fn snapshot(&self, point: &[f64], precision: Precision) -> Result<Self, Error> {
        if self.has_unknown_data() {
            return Err(Error::Internal("the host does not know data that a tensor has"));
        }
        let tables: Result<Vec<Table>, Error> = self.tables.iter().map(|table| table.snapshot(point, precision)).collect();
        let terms = self.terms.iter().map(|term| term.as_ref().filter(|term| term.enabled).map(|term| term.snapshot()));
        Ok(Self {
            tables: tables?,
            terms: terms.collect(),
            stale: true,
            arena_len: self.arena_len,
            vector_len: self.vector_len,
            blocks_len: self.blocks_len,
            ..Self::default()
        })
    }

    /// Refuses a problem whose tables a snapshot in double-floats would have no room for: each number is two.
    pub fn fits_doubled(&self, limits: Limits) -> Result<(), Error> {
        let bytes = u64::from(self.total.largest()) * Precision::F32x2.bytes();
        let most = limits.binding_bytes.min(limits.buffer_bytes);
        if bytes <= most {
            return Ok(());
        }
        Err(Error::Limits(format!(
            "in double-floats all variables and constants together would take {bytes} bytes, and one buffer binding has {most} here"
        )))
    }

    /// What is still to be uploaded to a part of the point: where, and what.
    pub fn written(&self, part: Range<u32>) -> Vec<(u32, Vec<f64>)> {
        let Some(arena) = self.arena else { return Vec::new() };
        let within = |command: &Command| match command {
            Command::UploadReals { buffer, offset, data } if *buffer == arena.point => {
                let (first, last) = (part.start.max(*offset), part.end.min(offset + data.len() as u32));
                (first < last).then(|| (first, data[(first - offset) as usize..(last - offset) as usize].to_vec()))
            }
            _ => None,
        };
        self.uploads.iter().filter_map(within).collect()
    }

    /// Uploads that make a snapshot's point this problem's, which was at `start` when the snapshot was made.
    pub fn taken_over(&self, start: &[f64], point: &[f64]) -> Result<Vec<Command>, Error> {
        let arena = self.arenas()?.0;
        let upload = |table: &Table| {
            let range = table.arena as usize..(table.arena + table.elements()) as usize;
            let data = table.taken_over(&start[range.clone()], &point[range])?;
            Ok(Command::UploadReals { buffer: arena.buffer, offset: table.arena, data })
        };
        self.moving().map(upload).collect()
    }

    /// Lays out all but what makes trial points, until a deadline: enough to differentiate. True when all is done.
    pub fn lay_out_point(&mut self, device: &mut Device, registry: &mut Registry, deadline_ms: f64) -> Result<bool, Error> {
        self.lay_out_sums(device)?;
        self.lay_out_tables(device)?;
        self.lay_out_bounds(device)?;
        self.lay_out_terms(device, registry, deadline_ms)
    }
}

impl Table {
    /// Its part of a snapshot's point. What the snapshot brought onto a manifold and did not move after that stays as it was: what is
    /// fixed keeps its bits.
    fn taken_over(&self, start: &[f64], point: &[f64]) -> Result<Vec<f64>, Error> {
        let mut found = point.to_vec();
        let Some(manifold) = self.moves_on().filter(|_| self.bounds.free.is_some()) else { return Ok(found) };
        let mut settled = start.to_vec();
        manifold.settle(&mut settled, |place| place).map_err(|error| Error::Manifold { name: self.name.clone(), error })?;
        let of_two_singles = |value: f64| {
            let high = f64::from(value as f32);
            high + f64::from((value - high) as f32)
        };
        let moved = found.iter_mut().zip(settled.into_iter().zip(start));
        moved.filter(|(found, (settled, _))| **found == of_two_singles(*settled)).for_each(|(found, (_, start))| *found = *start);
        Ok(found)
    }

    fn snapshot(&self, point: &[f64], precision: Precision) -> Result<Self, Error> {
        let of_point = &point[self.arena as usize..][..self.elements() as usize];
        let mut values = self.exact.as_deref().filter(|_| !self.is_combined).unwrap_or(of_point).to_vec();
        if let Some(manifold) = self.moves_on() {
            manifold.settle(&mut values, |place| place).map_err(|error| Error::Manifold { name: self.name.clone(), error })?;
        }
        Ok(Self {
            name: self.name.clone(),
            manifold: self.manifold.clone(),
            trials: None,
            initial: Some(values),
            exact: None,
            is_combined: false,
            known: None,
            bounds: self.bounds_in(precision),
            ..*self
        })
    }
}
