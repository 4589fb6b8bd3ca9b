//! Batches: the instances of all terms of one structure over the same tables, cut into chunks by the device's limits.
//!
//! A hundred thousand terms of one instance each are one batch: one dispatch a kernel. What differs between them —
//! shared data, literals, weights — becomes a column with a value an instance.

use super::incidence::{self, Incidence, IncidentSlot};
use super::registry::{Registry, TermKernels};
use super::term::{Contents, Part, Values};
use super::{Table, Term};
use crate::device::{BufferId, Command, Device, Kind, Limits};
use crate::error::Error;
use crate::kernel::{Layout, ResidualPrograms, Signature};
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// Parts of at most so many instances may share a batch. Larger ones have nothing to gain by it, and switching one of
/// them off would move them all.
pub const MAX_MERGED: u32 = 1 << 16;

/// Instances `first .. first + count` of a batch.
pub struct Chunk {
    pub first: u32,
    pub count: u32,
    pub data: BufferId,
    pub data_len: u32,
    pub index: BufferId,
    pub index_len: u32,
    /// r and the stored entries of J.
    pub jacobian: BufferId,
    pub jacobian_len: u32,
    /// One list for every moving table that the batch reaches.
    pub incidence: Vec<Incidence>,
}

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
    pub programs: Arc<ResidualPrograms>,
    pub chunks: Vec<Chunk>,
    signature: Signature,
}

impl Batch {
    /// A batch of these parts, given as term, number of the part, and part.
    pub(super) fn new(
        device: &mut Device,
        registry: &mut Registry,
        tables: &[Table],
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
        let layout = layout(parts[0], &contents);
        let compiled = registry.compiled(&parts[0].reading.structure, &layout, &first.name);
        let mut batch = Self {
            name: first.name.clone(),
            enabled: first.enabled,
            kernels: compiled.kernels(device)?,
            programs: compiled.programs.clone(),
            signature: compiled.signature.clone(),
            members,
            chunks: Vec::new(),
        };
        match batch.fill(device, tables, &parts[0].tables, &contents, uploads) {
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

    pub fn count(&self) -> u32 {
        self.members.last().map_or(0, |last| last.first + last.count)
    }

    /// Makes the chunks, with their data.
    fn fill(
        &mut self,
        device: &mut Device,
        tables: &[Table],
        slots: &[u32],
        contents: &[&Contents],
        uploads: &mut Vec<Command>,
    ) -> Result<(), Error> {
        let column = |number: usize| contents.iter().flat_map(|part| &part.indices[number]).copied().collect();
        let indices: Vec<Vec<u32>> = (0..contents[0].indices.len()).map(column).collect();
        let largest = largest_chunk(&self.name, &self.programs, &self.signature, device.limits(), device.precision().bytes())?;
        let (mut first, count) = (0, self.count());
        while first < count {
            let some = largest.min(count - first);
            let chunk = self.add_chunk(device, tables, slots, &indices, first, some, uploads)?;
            self.chunks.push(chunk);
            first += some;
        }
        // Column by column, so that what is next to each other goes up together.
        let members = || self.members.iter().zip(contents);
        members().for_each(|(member, part)| self.upload_weight(member.first, member.count, &part.weight, uploads));
        for scalar in 0..self.signature.columns.len() {
            members().for_each(|(member, part)| self.upload(scalar, member.first, member.count, &part.data[scalar], uploads));
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn add_chunk(
        &self,
        device: &mut Device,
        tables: &[Table],
        slots: &[u32],
        indices: &[Vec<u32>],
        first: u32,
        count: u32,
        uploads: &mut Vec<Command>,
    ) -> Result<Chunk, Error> {
        let range = first as usize..(first + count) as usize;
        let mut made: Vec<BufferId> = Vec::new();
        let mut allocate = |device: &mut Device, kind, len: u32, what: &str| {
            let buffer = device.allocate(kind, len.max(1), &format!("{}: {what}", self.name));
            match buffer {
                Ok(buffer) => made.push(buffer),
                Err(_) => made.iter().for_each(|buffer| device.free(*buffer)),
            }
            buffer
        };
        // Where each slot's table begins, in the arena and in vectors.
        let bases = |place: fn(&Table) -> u32| slots.iter().map(move |&table| place(&tables[table as usize]));
        let mut words: Vec<u32> = bases(|table| table.arena).chain(bases(|table| table.vector)).collect();
        debug_assert_eq!(words.len(), self.signature.header as usize);
        indices.iter().for_each(|column| words.extend(&column[range.clone()]));
        let data_len = self.signature.shared + self.signature.each() * count;
        let jacobian_len = self.programs.stored * count;
        let index_len = words.len() as u32;
        let data = allocate(device, Kind::Real, data_len, "data")?;
        let index = allocate(device, Kind::Index, index_len, "index table")?;
        let jacobian = allocate(device, Kind::Real, jacobian_len, "Jacobian")?;
        uploads.push(Command::UploadIndices { buffer: index, offset: 0, data: words });
        let mut lists = Vec::new();
        for (number, table) in tables.iter().enumerate().filter(|(_, table)| table.moving) {
            let mine = |slot: &(usize, &u32)| *slot.1 == number as u32 && self.signature.slots[slot.0].vector.is_some();
            let slots: Vec<IncidentSlot> = slots
                .iter()
                .enumerate()
                .filter(mine)
                .map(|(slot, _)| IncidentSlot {
                    indices: &indices[self.signature.slots[slot].arena.column as usize][range.clone()],
                    gradient: &self.programs.gradient_maps[slot],
                    diagonal: &self.programs.diagonal_maps[slot],
                })
                .collect();
            if slots.is_empty() {
                continue;
            }
            let (mut list, words) = incidence::build(number as u32, table.count, &slots);
            list.buffer = allocate(device, Kind::Index, list.len, "incidence")?;
            uploads.push(Command::UploadIndices { buffer: list.buffer, offset: 0, data: words });
            lists.push(list);
        }
        Ok(Chunk { first, count, data, data_len, index, index_len, jacobian, jacobian_len, incidence: lists })
    }

    /// Elements of the scratch columns that the chunk's kernels store into.
    pub fn scratch_len(&self, chunk: &Chunk) -> u32 {
        self.programs.scratch * chunk.count
    }

    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        self.chunks
            .iter()
            .flat_map(|chunk| [chunk.data, chunk.index, chunk.jacobian].into_iter().chain(chunk.incidence.iter().map(|list| list.buffer)))
    }

    /// Destroys its buffers, and forgets what was to be uploaded into them.
    pub(super) fn free(&self, device: &mut Device, uploads: &mut Vec<Command>) {
        let buffers: std::collections::HashSet<BufferId> = self.buffers().collect();
        uploads.retain(|upload| match upload {
            Command::UploadReals { buffer, .. } | Command::UploadIndices { buffer, .. } => !buffers.contains(buffer),
            _ => true,
        });
        self.buffers().for_each(|buffer| device.free(buffer));
    }

    /// What replaces a scalar of data of `count` instances from `first` on.
    pub(super) fn upload(&self, scalar: usize, first: u32, count: u32, values: &Values, uploads: &mut Vec<Command>) {
        let shape = self.signature.columns[scalar];
        self.upload_column(shape.shared, shape.offset, first, count, values, uploads);
    }

    pub(super) fn upload_weight(&self, first: u32, count: u32, values: &Values, uploads: &mut Vec<Command>) {
        self.upload_column(self.signature.weight_shared, 0, first, count, values, uploads);
    }

    fn upload_column(&self, shared: bool, column: u32, first: u32, count: u32, values: &Values, uploads: &mut Vec<Command>) {
        for chunk in &self.chunks {
            if shared {
                uploads.push(Command::UploadReals { buffer: chunk.data, offset: column, data: vec![values.at(0)] });
                continue;
            }
            let range = first.max(chunk.first)..(first + count).min(chunk.first + chunk.count);
            if range.is_empty() {
                continue;
            }
            let data: Vec<f64> = range.clone().map(|instance| values.at((instance - first) as usize)).collect();
            let offset = self.signature.shared + column * chunk.count + (range.start - chunk.first);
            append(uploads, chunk.data, offset, data);
        }
    }
}

/// An upload, as one with the one before it where they are next to each other.
fn append(uploads: &mut Vec<Command>, to: BufferId, at: u32, mut values: Vec<f64>) {
    if let Some(Command::UploadReals { buffer, offset, data }) = uploads.last_mut()
        && *buffer == to
        && *offset + data.len() as u32 == at
    {
        data.append(&mut values);
        return;
    }
    uploads.push(Command::UploadReals { buffer: to, offset: at, data: values });
}

/// One part keeps what its instances share; several, or one instance alone, which may get company, share nothing.
fn layout(part: &Part, contents: &[&Contents]) -> Layout {
    let alone = contents.len() == 1 && part.count > 1;
    Layout {
        weight_shared: alone && contents[0].weight.is_shared(),
        shared: contents[0].data.iter().map(|values| alone && values.is_shared()).collect(),
    }
}

/// The most instances of which every buffer still fits a binding.
fn largest_chunk(name: &str, programs: &ResidualPrograms, signature: &Signature, limits: Limits, real: u64) -> Result<u32, Error> {
    let slots = signature.slots.len() as u64;
    let columns = signature.slots.iter().map(|slot| u64::from(slot.arena.column) + 1).max().unwrap_or(0);
    let reals = [programs.stored, programs.scratch, signature.each()];
    // A row start and a row id at most for every entry.
    let words = [columns, 3 * slots];
    let widest = reals.iter().map(|&n| u64::from(n) * real).chain(words.iter().map(|n| n * 4)).max().unwrap_or(4).max(4);
    let maps: u64 = programs.gradient_maps.iter().chain(&programs.diagonal_maps).map(|map| map.codes.len() as u64).sum();
    let fixed = 4 * (maps + slots * 2 + 64) + u64::from(signature.shared) * real;
    let bytes = limits.binding_bytes.min(limits.buffer_bytes).saturating_sub(fixed);
    let most = (bytes / widest).min(limits.max_items() / 1024).min(u64::from(u32::MAX) / 8 / (widest / 4)).min(1 << 26);
    let whole = most / u64::from(limits.group_size) * u64::from(limits.group_size);
    if whole == 0 {
        return Err(Error::Limits(format!(
            "term \"{name}\": one workgroup's instances need more than a buffer binding ({} bytes): split the residual",
            limits.binding_bytes
        )));
    }
    Ok(whole as u32)
}

/// Refuses a term whose instances could never be laid out.
pub(super) fn fits(device: &Device, registry: &mut Registry, term: &Term) -> Result<(), Error> {
    // Of a hundred thousand terms that read the same, one is looked at.
    for part in term.parts.iter().filter(|part| !part.reading.fits.load(Relaxed)) {
        let compiled = registry.compiled(&part.reading.structure, &layout(part, &[&part.contents]), &term.name);
        largest_chunk(&term.name, &compiled.programs, &compiled.signature, device.limits(), device.precision().bytes())?;
        part.reading.fits.store(true, Relaxed);
    }
    Ok(())
}
