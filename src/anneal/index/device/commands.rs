//! The dispatches of a search.

use super::image::{Image, Part};
use super::searching::Wanted;
use crate::buffers::Buffers;
use leastwise_cpu::twins::tile;
use leastwise_device::{BufferId, Command, Device, Dispatch, PARAM_WORDS, Slice, binding::*};
use leastwise_error::Error;
use leastwise_kernel::Fixed;
use std::sync::Arc;

/// Queries of a batch.
const QUERIES: usize = 4096;

/// Distances, and numbers of decoded vectors, that are kept at once.
const DISTANCES: usize = 1 << 24;
const DECODED: usize = 1 << 24;

/// Lanes that decode a vector (`shaders/decode.wgsl`).
const LANES_OF_ROW: u32 = 16;

/// How many queries are searched together, through how many vectors at a time, and what is kept of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub queries: u32,
    pub vectors: u32,
    pub k: u32,
}

impl Shape {
    /// For so many queries and neighbours, within what a device and its buffers can hold.
    pub fn new(image: &Image, queries: usize, k: usize) -> Self {
        let most = (image.limits.binding_bytes.min(image.limits.buffer_bytes) / 4).min(1 << 30) as usize;
        let distances = DISTANCES.min(most);
        let queries = queries.min(QUERIES).min(most / image.dim).min(most / image.lists).min(distances / 16).min(most / 4 / k).max(1);
        let largest = image.parts.iter().map(|part| part.count).max().unwrap_or(1) as usize;
        let vectors = (distances / queries).min(DECODED.min(most) / image.dim).min(most / 2).clamp(1, largest);
        // Whole tiles, where there are several.
        let vectors = if vectors > 256 && vectors < largest { vectors / 256 * 256 } else { vectors };
        Self { queries: queries as u32, vectors: vectors as u32, k: k as u32 }
    }
}

/// What a search works in.
pub struct Scratch {
    pub(super) shape: Shape,
    /// As they come, and turned.
    queries: Slice,
    turned: Slice,
    /// To all anchors.
    distances: Slice,
    residuals: Slice,
    constants: Slice,
    estimates: Slice,
    /// The ids of a block; the orders and the ids of the nearest.
    board: Slice,
    buffers: Vec<BufferId>,
}

impl Scratch {
    /// For a search of an image; what an earlier search leaves may do, and is freed otherwise.
    ///
    /// # Errors
    /// [`Error::Device`] where there is no room.
    pub fn new(device: &mut Device, image: &Image, wanted: &Wanted, spare: Option<Self>) -> Result<Self, Error> {
        let shape = Shape::new(image, wanted.queries.len() / image.dim, wanted.k.min(image.count));
        if let Some(spare) = spare {
            if spare.shape == shape {
                return Ok(spare);
            }
            spare.dispose(device);
        }
        let Shape { queries, vectors, k } = shape;
        let dim = image.dim as u32;
        let mut buffers = Buffers::new(device);
        let given = buffers.real(queries * dim, "queries")?;
        Ok(Self {
            shape,
            queries: given,
            turned: if image.rotation.is_empty() { given } else { buffers.real(queries * dim, "turned queries")? },
            distances: buffers.real(queries * image.lists as u32, "distances to anchors")?,
            residuals: buffers.real(vectors * dim, "decoded vectors")?,
            constants: buffers.real(vectors, "constants of vectors")?,
            estimates: buffers.real(queries * vectors, "distances to vectors")?,
            board: buffers.index(vectors + 2 * queries * k, "nearest vectors")?,
            buffers: buffers.keep(),
        })
    }

    pub fn dispose(self, device: &mut Device) {
        self.buffers.into_iter().for_each(|buffer| device.free(buffer));
    }

    /// The orders of the nearest of so many queries, then their ids.
    fn nearest(&self, count: u32) -> [u32; 2] {
        [self.shape.vectors, self.shape.vectors + count * self.shape.k]
    }

    /// Uploads queries, turns them and finds out which lists they probe.
    pub(super) fn ask(&self, image: &Image, queries: Vec<f32>, probes: usize) -> Vec<Command> {
        let dim = image.dim as u32;
        let count = queries.len() as u32 / dim;
        let len = queries.len() as u32;
        let mut commands = vec![Command::UploadSingles { buffer: self.queries.buffer, offset: 0, data: Arc::new(queries), first: 0, len }];
        for block in &image.rotation {
            let (width, first) = (block.span.len() as u32, block.span.start as u32);
            let bound = [(ARENA, self.queries), (DATA, block.matrix), (VECTOR_OUT, self.turned)];
            let words = [count, width, width, 0, dim, first, dim, first, block.begin, 1, width];
            commands.push(image.tiles(Fixed::Pairwise, count, width, &words, &bound));
        }
        let lists = image.lists as u32;
        for anchors in &image.anchors {
            let bound = [(ARENA, self.turned), (DATA, anchors.values), (VECTOR_OUT, self.distances)];
            let words = [count, dim, anchors.count, 1, dim, 0, lists, anchors.first, 0, dim, 1];
            commands.push(image.tiles(Fixed::Pairwise, count, anchors.count, &words, &bound));
        }
        if probes < image.lists {
            commands.push(image.groups(Fixed::Probe, count, &[count, lists, probes as u32], &[(VECTOR_OUT, self.distances)]));
        }
        commands
    }

    /// Searches a block of a part's vectors, of which `allowed` are to be found: all, unless it says which, by their places.
    pub(super) fn look(&self, image: &Image, part: &Part, block: Block, probes: usize, allowed: Option<&[u32]>) -> Vec<Command> {
        let Block { first, vectors, count, continues } = block;
        let (dim, lists) = (image.dim as u32, image.lists as u32);
        let anchors = &image.anchors[part.anchors];
        let bound =
            [(ARENA, anchors.values), (DATA, image.numbers), (INDEX, part.table), (VECTOR_OUT, self.residuals), (PARTIALS, self.constants)];
        let words = [vectors, dim, first, anchors.first, part.lists_at, part.codes_at, image.row_words, image.is_scaled.into()];
        let decode = image.over(Fixed::Decode, vectors * LANES_OF_ROW, &words, &bound);
        let bound = [
            (ARENA, self.turned),
            (DATA, self.residuals),
            (INDEX, part.table),
            (VECTOR_IN, self.constants),
            (VECTOR_OUT, self.estimates),
            (JACOBIAN, self.distances),
        ];
        let some = u32::from(probes < image.lists);
        let words = [count, dim, vectors, self.shape.vectors, lists, part.lists_at + first, some];
        let estimate = image.tiles(Fixed::Estimate, count, vectors, &words, &bound);
        let ids = match allowed {
            Some(allowed) => Command::UploadIndices { buffer: self.board.buffer, offset: 0, data: allowed.to_vec() },
            None => Command::Copy {
                from: Slice { offset: part.ids_at + first, len: vectors, ..part.table },
                to: Slice { offset: 0, len: vectors, ..self.board },
            },
        };
        let [orders_at, ids_at] = self.nearest(count);
        let words = [count, vectors, self.shape.vectors, self.shape.k, 0, orders_at, ids_at, continues.into()];
        let shortlist = image.groups(Fixed::Shortlist, count, &words, &[(INDEX, self.board), (VECTOR_IN, self.estimates)]);
        vec![decode, estimate, ids, shortlist]
    }

    /// Brings the orders and the ids of the nearest back.
    pub(super) fn read(&self, count: u32) -> Command {
        let [offset, _] = self.nearest(count);
        Command::Read { slice: Slice { offset, len: 2 * count * self.shape.k, ..self.board } }
    }
}

/// Vectors from one of a part on, for so many queries; whether some were looked at before.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub first: u32,
    pub vectors: u32,
    pub count: u32,
    pub continues: bool,
}

impl Image {
    fn over(&self, kernel: Fixed, items: u32, words: &[u32], bound: &[(usize, Slice)]) -> Command {
        let mut bindings = [None; COUNT];
        bound.iter().for_each(|(slot, slice)| bindings[*slot] = Some(*slice));
        let mut all = [0; PARAM_WORDS];
        all[..words.len()].copy_from_slice(words);
        let kernel = self.kernels[kernel as usize - Fixed::OF_SEARCHES[0] as usize];
        Command::Dispatch(Dispatch { kernel, bindings, count: items, single_group: false, words: all })
    }

    fn groups(&self, kernel: Fixed, groups: u32, words: &[u32], bound: &[(usize, Slice)]) -> Command {
        self.over(kernel, groups * self.limits.group_size, words, bound)
    }

    /// A workgroup a tile of a product.
    fn tiles(&self, kernel: Fixed, rows: u32, columns: u32, words: &[u32], bound: &[(usize, Slice)]) -> Command {
        let (tall, wide) = tile(self.limits.group_size);
        self.groups(kernel, rows.div_ceil(tall as u32) * columns.div_ceil(wide as u32), words, bound)
    }
}
