//! The dispatches of a search.

use super::image::{Image, Part};
use super::searching::Wanted;
use crate::buffers::Buffers;
use leastwise_cpu::twins::tile;
use leastwise_device::{After, Arguments, BufferId, Command, Device, Form, Multiply, Slice, Strided};
use leastwise_error::Error;
use leastwise_kernels::search;
use std::sync::Arc;

/// Queries of a batch.
const QUERIES: usize = 4096;

/// Distances, and numbers of decoded vectors, that are kept at once.
const DISTANCES: usize = 1 << 24;
const DECODED: usize = 1 << 24;

/// Lanes that decode a vector (`shaders/search/decode.wgsl`).
const LANES_OF_ROW: u32 = 16;

/// Parts of a row that a library multiplies (`shaders/search/split.wgsl`).
const PARTS: u32 = 3;

/// Queries of a tile of products, at most, and tiles that take as long as a library takes for one: it leaves none out.
const TILE: usize = 128;
const GAIN: usize = 3;

/// Sizes of a search: queries together, vectors at a time, neighbours that are kept of each query, and numbers of a decoded row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub queries: u32,
    pub vectors: u32,
    pub k: u32,
    pub width: u32,
}

impl Shape {
    /// For so many queries and neighbours, within what a device and its buffers can hold; batches are of equal size, but for the last.
    pub fn new(image: &Image, all: usize, k: usize, width: usize) -> Self {
        let most = (image.limits.binding_bytes.min(image.limits.buffer_bytes) / 4).min(1 << 30) as usize;
        let distances = DISTANCES.min(most);
        let queries = QUERIES.min(all).min(most / width).min(most / image.lists).min(distances / 16).min(most / 4 / k).max(1);
        let queries = all.div_ceil(all.div_ceil(queries).max(1)).max(1);
        let largest = image.parts.iter().map(|part| part.count).max().unwrap_or(1) as usize;
        let vectors = (distances / queries).min(DECODED.min(most) / width).min(most / 2).clamp(1, largest);
        // Whole tiles, where there are several.
        let vectors = if vectors > 256 && vectors < largest { vectors / 256 * 256 } else { vectors };
        Self { queries: queries as u32, vectors: vectors as u32, k: k as u32, width: width as u32 }
    }

    /// The product of split queries with split vectors of so many components.
    fn product(self, dim: usize) -> Form {
        let Self { queries, vectors, width, .. } = self;
        let [left, right] = [(width, 1), (1, width)].map(|(rows, columns)| Strided { offset: 0, batch: 0, rows, columns });
        Form { batch: 1, rows: queries, depth: PARTS * dim as u32, columns: vectors, left, right, after: After::Nothing, coarse: true }
    }
}

/// What a search works in.
pub struct Scratch {
    pub(super) shape: Shape,
    /// As they come, and turned.
    queries: Slice,
    turned: Slice,
    /// Split, where a library multiplies them.
    split: Option<Slice>,
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
        let shaped = |width| Shape::new(image, wanted.queries.len() / image.dim, wanted.k.min(image.count), width);
        // Rows of a library begin at multiples of 16 bytes.
        let by_library = shaped((PARTS as usize * image.dim).next_multiple_of(4));
        let is_worth = wanted.probes * TILE.min(by_library.queries as usize) * GAIN >= image.lists && device.multiplies();
        let splits = is_worth && device.prepare_product(&by_library.product(image.dim))?;
        let shape = if splits { by_library } else { shaped(image.dim) };
        if let Some(spare) = spare {
            if spare.shape == shape {
                return Ok(spare);
            }
            spare.dispose(device);
        }
        let Shape { queries, vectors, k, width } = shape;
        let dim = image.dim as u32;
        let mut buffers = Buffers::new(device);
        let given = buffers.real(queries * dim, "queries")?;
        Ok(Self {
            shape,
            queries: given,
            turned: if image.rotation.is_empty() { given } else { buffers.real(queries * dim, "turned queries")? },
            split: if splits { Some(buffers.real(queries * width, "split queries")?) } else { None },
            distances: buffers.real(queries * image.lists as u32, "distances to anchors")?,
            residuals: buffers.real(vectors * width, "decoded vectors")?,
            constants: buffers.real(vectors, "constants of vectors")?,
            estimates: buffers.real(queries * vectors, "distances to vectors")?,
            board: buffers.index(vectors + 2 * queries * k, "nearest vectors")?,
            buffers: buffers.keep(),
        })
    }

    /// Frees its buffers.
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
            commands.push(image.tiles(
                search::Pairwise {
                    rows: count,
                    entries: width,
                    other_rows: width,
                    squared: 0,
                    stride: dim,
                    first,
                    result_stride: dim,
                    result_first: first,
                    other_first: block.begin,
                    other_row_stride: 1,
                    other_entry_stride: width,
                },
                count,
                width,
                search::PairwiseBindings { points: self.queries, others: block.matrix, results: self.turned },
            ));
        }
        let lists = image.lists as u32;
        for anchors in &image.anchors {
            commands.push(image.tiles(
                search::Pairwise {
                    rows: count,
                    entries: dim,
                    other_rows: anchors.count,
                    squared: 1,
                    stride: dim,
                    first: 0,
                    result_stride: lists,
                    result_first: anchors.first,
                    other_first: 0,
                    other_row_stride: dim,
                    other_entry_stride: 1,
                },
                count,
                anchors.count,
                search::PairwiseBindings { points: self.turned, others: anchors.values, results: self.distances },
            ));
        }
        if probes < image.lists {
            commands.push(image.groups(
                search::Probe { queries: count, lists, probed: probes as u32 },
                count,
                search::ProbeBindings { distances: self.distances },
            ));
        }
        if let Some(rows) = self.split {
            let split = search::Split { queries: count, dimensions: dim, stride: self.shape.width };
            commands.push(image.over(split, count * dim, search::SplitBindings { queries: self.turned, rows }));
        }
        commands
    }

    /// Searches a block of a part's vectors, of which `allowed` are to be found: all, unless it says which, by their places.
    pub(super) fn look(&self, image: &Image, part: &Part, block: Block, probes: usize, allowed: Option<&[u32]>) -> Vec<Command> {
        let Block { first, vectors, count, continues } = block;
        let dim = image.dim as u32;
        let anchors = &image.anchors[part.anchors];
        let decode = image.over(
            search::Decode {
                vectors,
                dimensions: dim,
                first,
                first_list: anchors.first,
                lists: part.lists_at,
                codes: part.codes_at,
                code_words: image.row_words,
                form: image.form as u32,
                split_stride: if self.split.is_some() { self.shape.width } else { 0 },
            },
            vectors * LANES_OF_ROW,
            search::DecodeBindings {
                anchors: anchors.values,
                numbers: image.numbers,
                table: part.table,
                residuals: self.residuals,
                constants: self.constants,
            },
        );
        let ids = match allowed {
            Some(allowed) => Command::UploadIndices { buffer: self.board.buffer, offset: 0, data: allowed.to_vec() },
            None => Command::Copy {
                from: Slice { offset: part.ids_at + first, len: vectors, ..part.table },
                to: Slice { offset: 0, len: vectors, ..self.board },
            },
        };
        let [orders_at, ids_at] = self.nearest(count);
        let shortlist = image.groups(
            search::Shortlist {
                queries: count,
                vectors,
                stride: self.shape.vectors,
                k: self.shape.k,
                ids: 0,
                orders: orders_at,
                nearest: ids_at,
                any: continues.into(),
            },
            count,
            search::ShortlistBindings { board: self.board, distances: self.estimates },
        );
        [vec![decode], self.estimate(image, part, block, probes), vec![ids, shortlist]].concat()
    }

    /// Squared distances of a block's vectors, which are decoded.
    fn estimate(&self, image: &Image, part: &Part, block: Block, probes: usize) -> Vec<Command> {
        let Block { first, vectors, count: queries, .. } = block;
        let (dimensions, lists, stride, list_of) = (image.dim as u32, image.lists as u32, self.shape.vectors, part.lists_at + first);
        let Self { residuals, constants, distances, estimates: results, .. } = *self;
        let table = part.table;
        let Some(left) = self.split else {
            let probing = (probes < image.lists).into();
            return vec![image.tiles(
                search::Estimate { queries, dimensions, vectors, stride, lists, list_of, probing },
                queries,
                vectors,
                search::EstimateBindings { queries: self.turned, residuals, table, constants, results, distances },
            )];
        };
        // Of whole blocks, whose last rows and columns may be of others: one form is prepared.
        let product = Multiply { form: self.shape.product(image.dim), left, right: residuals, out: results, bias: None };
        let finish = image.over(
            search::Finish { queries, vectors, stride, lists, list_of },
            queries * vectors,
            search::FinishBindings { table, constants, results, distances },
        );
        vec![Command::Multiply(product), finish]
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
    fn over<K: Arguments>(&self, args: K, items: u32, bindings: K::Bindings<Slice>) -> Command {
        Command::Dispatch(self.kernels.dispatch(args, items, bindings))
    }

    fn groups<K: Arguments>(&self, args: K, groups: u32, bindings: K::Bindings<Slice>) -> Command {
        self.over(args, groups * self.limits.group_size, bindings)
    }

    /// A workgroup a tile of a product.
    fn tiles<K: Arguments>(&self, args: K, rows: u32, columns: u32, bindings: K::Bindings<Slice>) -> Command {
        let (tall, wide) = tile(self.limits.group_size);
        self.groups(args, rows.div_ceil(tall as u32) * columns.div_ceil(wide as u32), bindings)
    }
}
