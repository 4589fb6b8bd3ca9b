//! An index on a device: codes as they are, anchors, and the tables to decode with. Vectors stand in order of their lists.

use super::super::Index;
use crate::buffers::Buffers;
use crate::code::Form;
use leastwise_device::{BufferId, Command, Device, Limits, Recording, Slice, StaticKernels};
use leastwise_error::Error;
use leastwise_kernels::search;
use std::ops::Range;
use std::sync::Arc;

/// Most rows of one upload, and words of their codes.
const ROWS: usize = 1 << 14;
const WORDS: usize = 1 << 21;

/// Words of the place of a coordinate in rows.
const PLACE: usize = 3;

/// A block of the rotation, by columns: which coordinates it turns, and where it begins.
pub(super) struct Turned {
    pub span: Range<usize>,
    pub matrix: Slice,
    pub begin: u32,
}

/// Anchors that lie in one buffer.
pub(super) struct Anchors {
    pub first: u32,
    pub count: u32,
    pub values: Slice,
}

/// Vectors that lie in one buffer, and whose anchors do: a table of places, then of every vector its list, its id, and its code.
pub(super) struct Part {
    pub first: usize,
    pub count: u32,
    pub anchors: usize,
    pub table: Slice,
    pub lists_at: u32,
    pub ids_at: u32,
    pub codes_at: u32,
}

/// An index as it was when the image was made.
pub struct Image {
    pub(super) kernels: StaticKernels,
    pub(super) limits: Limits,
    pub(super) dim: usize,
    pub(super) lists: usize,
    pub(super) count: usize,
    /// Unit.
    pub(super) scale: f32,
    /// Mean of the anchors, in units.
    pub(super) centre: Vec<f32>,
    /// Mean of numbers that are kept as they are, beside the anchors', in units.
    pub(super) shift: Vec<f32>,
    pub(super) rotation: Vec<Turned>,
    pub(super) anchors: Vec<Anchors>,
    /// κ, spreads, lows and levels.
    pub(super) numbers: Slice,
    pub(super) parts: Vec<Part>,
    pub(super) row_words: u32,
    pub(super) form: Form,
    /// Of the vectors as they stand.
    pub(super) ids: Vec<u32>,
    buffers: Vec<BufferId>,
}

/// How far an image has been uploaded.
#[derive(Default)]
pub struct Upload {
    has_model: bool,
    part: usize,
    row: usize,
}

impl Image {
    /// Room for an index on a device.
    ///
    /// # Errors
    /// [`Error::Limits`] and [`DeviceError::OutOfMemory`](leastwise_device::DeviceError), if it does not fit there.
    pub fn new(device: &mut Device, index: &Index) -> Result<Self, Error> {
        let limits = device.limits();
        let most = (limits.binding_bytes.min(limits.buffer_bytes) / 4).min(1 << 30) as usize;
        let (dim, lists, coder) = (index.dim(), index.clusters(), index.coder());
        let fields = coder.fields(dim);
        // What is read of a row may reach beyond it, where it has zeros.
        let end = |&[bit, mask, _]: &[u32; 3]| bit as usize + mask.count_ones() as usize;
        let row_words = fields.places.iter().map(end).max().unwrap_or(0).max(8 * coder.row_bytes()).div_ceil(32);
        let numbers = 1 + 2 * dim + fields.levels.len();
        // Two words of a vector stand before its code, and behind the last is one that is read and not looked at.
        let (before, beside, behind) = (PLACE * dim, 2 + row_words, 1);
        for (what, needed) in [("the model of its code", numbers), ("a vector", before + beside + behind), ("distances to anchors", lists)]
        {
            if needed > most {
                return Err(Error::Limits(format!(
                    "{what} of the index takes {needed} numbers, and a buffer of this device has room for {most}"
                )));
            }
        }
        let kernels = StaticKernels::request(device, search::ALL, |source| source)?;
        let mut buffers = Buffers::new(device);
        let mut rotation: Vec<Turned> = Vec::new();
        let widths: Vec<Range<usize>> = coder.rotation_blocks().map(|(span, _)| span).collect();
        for run in runs(&widths, |span| span.len().pow(2), most) {
            let len: usize = run.iter().map(|span| span.len().pow(2)).sum();
            let matrix = buffers.real(len as u32, "rotation of an index")?;
            let mut begin = 0;
            for span in run {
                rotation.push(Turned { span: span.clone(), matrix, begin });
                begin += span.len().pow(2) as u32;
            }
        }
        let begins = begins_of(index);
        let mut anchors = Vec::new();
        let mut parts = Vec::new();
        let rows = (most - before - behind) / beside;
        for first in (0..lists).step_by(most / dim) {
            let here = (most / dim).min(lists - first);
            let of_anchors = anchors.len();
            anchors.push(Anchors {
                first: first as u32,
                count: here as u32,
                values: buffers.real((here * dim) as u32, "anchors of an index")?,
            });
            let end = begins[first + here];
            for first in (begins[first]..end).step_by(rows) {
                let count = rows.min(end - first);
                let table = buffers.index((before + count * beside + behind) as u32, "codes of an index")?;
                let at = |words: usize| (before + words) as u32;
                let (lists_at, ids_at, codes_at) = (at(0), at(count), at(2 * count));
                parts.push(Part { first, count: count as u32, anchors: of_anchors, table, lists_at, ids_at, codes_at });
            }
        }
        let mut centre = vec![0.0f64; dim];
        for anchor in index.stored.anchors.chunks_exact(dim) {
            centre.iter_mut().zip(anchor).for_each(|(sum, value)| *sum += f64::from(value.to_f32()) / lists as f64);
        }
        Ok(Self {
            kernels,
            limits,
            dim,
            lists,
            count: index.count(),
            scale: index.scale(),
            centre: centre.iter().map(|value| *value as f32).collect(),
            shift: index.shift(),
            rotation,
            anchors,
            numbers: buffers.real(numbers as u32, "model of an index")?,
            parts,
            row_words: row_words as u32,
            form: fields.form,
            ids: index.lists().slots().iter().map(|&slot| index.stored.ids.get(slot as usize)).collect(),
            buffers: buffers.keep(),
        })
    }

    /// The next piece of what has to be uploaded before a search; of the index that the image was made for, unchanged.
    pub fn upload(&self, index: &Index, done: &mut Upload) -> Option<Recording> {
        if !std::mem::replace(&mut done.has_model, true) {
            return Some(Recording { commands: self.upload_model(index) });
        }
        let part = self.parts.get(done.part)?;
        let most = (WORDS / self.row_words.max(1) as usize).clamp(1, ROWS);
        let rows = done.row..(part.count as usize).min(done.row + most);
        done.row = rows.end;
        if rows.end == part.count as usize {
            (done.part, done.row) = (done.part + 1, 0);
        }
        Some(Recording { commands: self.upload_rows(index, part, rows) })
    }

    fn upload_model(&self, index: &Index) -> Vec<Command> {
        let (dim, coder) = (self.dim, index.coder());
        let fields = coder.fields(dim);
        let mut commands = Vec::new();
        let mut turned = vec![0.0; dim];
        coder.turn(&self.centre, &mut turned);
        for anchors in &self.anchors {
            let here = anchors.first as usize * dim..(anchors.first + anchors.count) as usize * dim;
            let values = index.turned_centroids[here].iter().enumerate();
            upload_reals(anchors.values, 0, values.map(|(place, value)| value - turned[place % dim]), &mut commands);
        }
        for (turned, (_, columns)) in self.rotation.iter().zip(coder.rotation_blocks()) {
            upload_reals(turned.matrix, turned.begin, columns.iter().copied(), &mut commands);
        }
        let lows = fields.lows.iter().zip(&self.shift).map(|(low, shift)| low - shift);
        let numbers = [coder.shrink()].into_iter().chain(fields.spreads).chain(lows).chain(fields.levels);
        upload_reals(self.numbers, 0, numbers, &mut commands);
        for part in &self.parts {
            let data = fields.places.concat();
            commands.push(Command::UploadIndices { buffer: part.table.buffer, offset: 0, data });
        }
        commands
    }

    fn upload_rows(&self, index: &Index, part: &Part, rows: Range<usize>) -> Vec<Command> {
        let begins = begins_of(index);
        let (from, to) = (part.first + rows.start, part.first + rows.end);
        let mut list = begins.partition_point(|&begin| begin <= from).saturating_sub(1);
        let width = self.row_words as usize;
        let (mut lists, mut codes) = (Vec::with_capacity(rows.len()), vec![0; rows.len() * width]);
        for row in from..to {
            while row >= begins[list + 1] {
                list += 1;
            }
            let slot = index.lists().slots()[row];
            let code = &mut codes[(row - from) * width..][..width];
            for (word, bytes) in code.iter_mut().zip(index.row(slot as usize).chunks(4)) {
                let mut whole = [0; 4];
                whole[..bytes.len()].copy_from_slice(bytes);
                *word = u32::from_le_bytes(whole);
            }
            lists.push(list as u32);
        }
        let upload = |at: u32, width: u32, data: Vec<u32>| Command::UploadIndices {
            buffer: part.table.buffer,
            offset: at + rows.start as u32 * width,
            data,
        };
        vec![
            upload(part.lists_at, 1, lists),
            upload(part.ids_at, 1, self.ids[from..to].to_vec()),
            upload(part.codes_at, self.row_words, codes),
        ]
    }

    /// Frees what it has on the device.
    pub fn dispose(self, device: &mut Device) {
        self.buffers.into_iter().for_each(|buffer| device.free(buffer));
    }
}

/// Where each list's vectors begin, and where all end.
fn begins_of(index: &Index) -> Vec<usize> {
    index.lists().starts().iter().map(|&start| start as usize).collect()
}

/// Runs of items whose sizes together are at most so much, where one alone is not more.
fn runs<T>(items: &[T], size: impl Fn(&T) -> usize, most: usize) -> Vec<&[T]> {
    let (mut runs, mut begin, mut sum) = (Vec::new(), 0, 0);
    for (place, item) in items.iter().enumerate() {
        if sum + size(item) > most {
            runs.push(&items[begin..place]);
            (begin, sum) = (place, 0);
        }
        sum += size(item);
    }
    runs.push(&items[begin..]);
    runs.retain(|run| !run.is_empty());
    runs
}

fn upload_reals(to: Slice, at: u32, values: impl Iterator<Item = f32>, commands: &mut Vec<Command>) {
    let data: Vec<f32> = values.collect();
    let len = data.len() as u32;
    commands.push(Command::UploadSingles { buffer: to.buffer, offset: at, data: Arc::new(data), first: 0, len });
}
