//! An index as sections of a [`container`], and back; from a file only what was checked gets in.

use super::by_lists::codes_by_slots;
use super::fetched::Parts;
use super::ids::{self, Ids};
use super::{Index, MOST_CLUSTERS, Memory, Stored, graphed};
use crate::code::packed::Packed;
use crate::code::rotation::{self, Rotation};
use crate::code::scalar::Scalar;
use crate::code::transform::{Transform, WINDOWS};
use crate::code::whole::{Precision, Whole};
use crate::code::{Code, Coder, MOST_BITS, words};
use crate::file::{FileError, INDEX, INDEX_BY_LISTS, INDEX_OF_LISTS, malformed};
use crate::graph::Graph;
use crate::rows::MOST_DIMENSIONS;
use half::f16;
use leastwise_base::container::{self, Section, Table};
use leastwise_base::memory;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Bytes that an index may say of itself: of which what is said of how it was made leaves some for the rest.
const MOST_INFO: usize = 1 << 20;
pub(super) const MOST_ABOUT: usize = MOST_INFO - 4096;

/// Kinds of sections.
pub(super) mod kind {
    /// Sizes and small numbers: [`super::Shape`].
    pub const SHAPE: u32 = 1;
    /// JSON for people: [`super::Index::info`].
    pub const INFO: u32 = 2;
    /// f16, by anchor.
    pub const ANCHORS: u32 = 3;
    /// The anchor of every vector, in ⌈log₂ anchors⌉ bits.
    pub const LABELS: u32 = 4;
    /// Runs ([`super::ids`]); in version 1 u32, ascending. Not there where they are 0, 1, 2…
    pub const IDS: u32 = 5;
    /// f32 by coordinate: units of the rotation's rows, or least values and then steps of `int8` and `int4`.
    pub const UNITS: u32 = 6;
    /// Of the rotation.
    pub const ENTRIES: u32 = 7;
    /// u8 by coordinate.
    pub const BITS: u32 = 8;
    /// f32 by coordinate.
    pub const SPREAD: u32 = 9;
    /// Row after row.
    pub const CODES: u32 = 11;
    /// Proximity graph: four u32 ([`super::GraphShape`]), the start of every anchor's list as u32, and rows. From version 3 on.
    pub const GRAPH: u32 = 12;
    /// CRC-32C of every list's codes, u32. From version 4 on, whose codes are in order of lists.
    pub const SUMS: u32 = 13;
    /// One-bit sketches by slot, where there is a graph. In version 4 only, and only for those who do not read all codes.
    pub const SKETCHES: u32 = 14;
}

/// Number of a code that was.
const PRODUCT: u32 = 3;

/// u32 each, but for the exponent (i32) and κ (f32).
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Shape {
    dim: u32,
    clusters: u32,
    count: u32,
    next_id: u32,
    exponent: i32,
    /// [`Code::number`]
    code: u32,
    /// Bits of the trellis' states; 0 for other codes.
    detail: u32,
    rotation_blocks: u32,
    rotation_bits: u32,
    shrink: f32,
}

impl Shape {
    /// Bytes in memory, about, of anchors and their lists, and of vectors but for their codes: many times those of the file where it has few
    /// bits of each.
    fn memory(&self) -> u128 {
        let [dim, clusters, count] = [self.dim, self.clusters, self.count].map(u128::from);
        let of_anchor = 2 * size_of::<f32>() as u128 * dim + size_of::<u32>() as u128;
        clusters * of_anchor + 2 * size_of::<u32>() as u128 * count
    }
}

/// Head of a graph's section.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct GraphShape {
    degree: u32,
    effort: u32,
    nodes: u32,
    removed: u32,
}

/// What an index says of itself; names ascend, as in every file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info<'a> {
    about: &'a RawValue,
    bits_per_dimension: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    clusters: usize,
    code: &'static str,
    count: usize,
    dim: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Memory>,
    next_id: u32,
    #[serde(skip_serializing_if = "Value::is_null")]
    quantization: Value,
    row_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    sketch_bytes: Option<usize>,
}

/// What is read of it: the rest follows from the index.
#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    about: Option<&'a RawValue>,
}

/// Bytes of little-endian numbers: what memory holds, wherever this runs.
pub(super) fn bytes_of<T: bytemuck::NoUninit>(values: &[T]) -> Cow<'_, [u8]> {
    Cow::Borrowed(bytemuck::cast_slice(values))
}

impl Index {
    /// How it was made and what it holds, in words and numbers. `about` is the caller's.
    pub fn info(&self) -> Map<String, Value> {
        serde_json::from_slice(&self.info_of_file()).expect("what was written as JSON is JSON")
    }

    /// The same as JSON, and how much of the file and of memory it takes now.
    pub fn info_now(&self) -> String {
        self.info_of(self.bytes())
    }

    /// The same where the file has so many bytes.
    pub(super) fn info_of(&self, bytes: usize) -> String {
        let graph = self.graph.as_ref().map(|graph| {
            let mut info = json!({
                "degree": graph.degree(),
                "effort": graph.effort(),
                "vectors": graph.nodes(),
                "removed": graph.removed(),
                "bytes": graph.bytes(),
            });
            if let Some(built) = &self.built {
                info["builtBy"] = built.backend.into();
                built.reason.iter().for_each(|reason| info["reason"] = reason.as_str().into());
            }
            info
        });
        let memory = Some(self.memory());
        let info = Info { bytes: Some(bytes), graph, memory, sketch_bytes: Some(self.sketch_bytes()), ..self.stored_info() };
        serde_json::to_string(&info).expect("words and numbers are JSON")
    }

    fn info_of_file(&self) -> Vec<u8> {
        serde_json::to_vec(&self.stored_info()).expect("words and numbers are JSON")
    }

    fn stored_info(&self) -> Info<'_> {
        let quantization = match &self.stored.coder {
            Coder::None | Coder::Scalar(_) | Coder::Whole(_) => Value::Null,
            Coder::Transform(transform) => json!({
                "rotation": if transform.rotation.is_identity() { "none" } else { "principal axes" },
                "rotationBlocks": transform.rotation.stored.blocks,
                "rotationBits": transform.rotation.stored.bits,
                "trellisBits": transform.window,
                "shrink": transform.shrink,
            }),
        };
        Info {
            about: &self.stored.about,
            bits_per_dimension: self.stored.coder.row_bytes() as f64 * 8.0 / self.stored.dim as f64,
            bytes: None,
            clusters: self.clusters(),
            code: self.code().name(),
            count: self.count(),
            dim: self.stored.dim,
            graph: None,
            memory: None,
            next_id: self.stored.next_id,
            quantization,
            row_bytes: self.stored.coder.row_bytes(),
            sketch_bytes: None,
        }
    }

    /// The whole file.
    pub fn save(&self) -> Vec<u8> {
        let graph = self.packed_graph();
        let format = if graph.is_some() { &INDEX } else { &INDEX_OF_LISTS };
        container::write(format, &self.sections(graph))
    }

    pub(super) fn packed_graph(&self) -> Option<Vec<u8>> {
        self.graph.as_ref().map(|graph| {
            let shape = GraphShape { degree: graph.degree(), effort: graph.effort(), nodes: graph.nodes(), removed: graph.removed() };
            [bytemuck::bytes_of(&shape), bytemuck::cast_slice(graph.starts()), graph.rows()].concat()
        })
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> usize {
        // Edges need not be packed to be counted.
        let graph = self.graph.as_ref().map_or(0, |graph| size_of::<GraphShape>() + graph.bytes());
        let sections = self.sections(self.graph.as_ref().map(|_| Vec::new()));
        container::length(sections.iter().map(|section| match section.kind {
            kind::GRAPH => graph,
            _ => section.bytes.len(),
        }))
    }

    /// With the graph as it is packed.
    pub(super) fn sections(&self, graph: Option<Vec<u8>>) -> Vec<Section<'_>> {
        let mut shape = Shape {
            dim: self.stored.dim as u32,
            clusters: self.clusters() as u32,
            count: self.count() as u32,
            next_id: self.stored.next_id,
            exponent: self.stored.exponent,
            code: self.code().number(),
            detail: 0,
            rotation_blocks: 0,
            rotation_bits: 0,
            shrink: 1.0,
        };
        let mut sections = vec![
            (kind::INFO, Cow::Owned(self.info_of_file())),
            (kind::ANCHORS, bytes_of(&self.stored.anchors)),
            (kind::LABELS, Cow::Borrowed(self.stored.labels.stored())),
        ];
        if !self.stored.ids.is_whole() {
            sections.push((kind::IDS, Cow::Owned(ids::pack(self.stored.ids.iter()))));
        }
        match &self.stored.coder {
            Coder::None | Coder::Whole(_) => {}
            Coder::Scalar(scalar) => {
                let ranges: Vec<u8> = bytemuck::cast_slice(&[&scalar.low[..], &scalar.step[..]].concat()).to_vec();
                sections.push((kind::UNITS, Cow::Owned(ranges)));
            }
            Coder::Transform(transform) => {
                let rotation = &transform.rotation.stored;
                shape.detail = transform.window;
                shape.rotation_blocks = rotation.blocks as u32;
                shape.rotation_bits = rotation.bits;
                shape.shrink = transform.shrink;
                if rotation.bits > 0 {
                    sections.push((kind::UNITS, bytes_of(&rotation.units)));
                    sections.push((kind::ENTRIES, Cow::Borrowed(&rotation.entries[..])));
                }
                sections.push((kind::BITS, Cow::Borrowed(&transform.bits[..])));
                sections.push((kind::SPREAD, bytes_of(&transform.spread)));
            }
        }
        if self.stored.coder.row_bytes() > 0 {
            sections.push((kind::CODES, Cow::Borrowed(&self.stored.codes[..])));
        }
        sections.extend(graph.map(|graph| (kind::GRAPH, Cow::Owned(graph))));
        sections.insert(0, (kind::SHAPE, Cow::Owned(bytemuck::bytes_of(&shape).to_vec())));
        sections.into_iter().map(|(kind, bytes)| Section { kind, bytes }).collect()
    }

    /// An index from the bytes of its file.
    pub fn open(file: &[u8]) -> Result<Self, FileError> {
        let sections = container::read(&INDEX_BY_LISTS, file)?;
        Self::of_sections(container::version(file), sections)
    }

    fn of_sections(version: u32, sections: Vec<Section>) -> Result<Self, FileError> {
        let (mut index, Parts { sums, .. }) = Self::of_parts(version, sections, true)?;
        if version >= 4 {
            index.stored.codes = codes_by_slots(&index, &sums)?;
            index.lists.take();
        }
        Ok(index)
    }

    /// An index with or without its codes, as the file has them, and what else is for those who read codes when they need them.
    pub(super) fn of_parts(version: u32, sections: Vec<Section>, with_codes: bool) -> Result<(Self, Parts), FileError> {
        let mut rest = Rest { sections, taken: 0 };
        let shape: Shape = bytemuck::pod_read_unaligned(rest.take(kind::SHAPE, size_of::<Shape>() as u128)?);
        let about = about_of(rest.any(kind::INFO)?)?;
        let (dim, clusters, count) = (shape.dim as usize, shape.clusters as usize, shape.count as usize);
        let fits = (1..=MOST_DIMENSIONS).contains(&dim) && (1..=MOST_CLUSTERS).contains(&clusters);
        if !fits || shape.count > shape.next_id || !(-126..=126).contains(&shape.exponent) {
            return Err(malformed("its sizes make no sense"));
        }
        let anchors: Vec<f16> = numbers(rest.take(kind::ANCHORS, 2 * clusters as u128 * dim as u128)?);
        all_finite("an anchor", anchors.iter().map(|value| value.to_f32()))?;
        let width = words::width(clusters);
        rest.expect(kind::LABELS, (count as u128 * u128::from(width)).div_ceil(8))?;
        memory::probe(shape.memory() + rest.memory(), "the index of this file")?;
        let labels = Packed::from_stored(rest.any(kind::LABELS)?, width, count)?;
        if let Some(vector) = labels.iter().position(|label| label as usize >= clusters) {
            return Err(malformed(format!("vector {vector} belongs to anchor {}, but there are {clusters}", labels.get(vector))));
        }
        let ids: Vec<u32> = match (rest.is_next(kind::IDS), version) {
            (true, 1) => numbers(rest.take(kind::IDS, 4 * count as u128)?),
            (true, _) => ids::unpack(rest.any(kind::IDS)?, count, shape.next_id).ok_or_else(|| malformed("its ids are no runs"))?,
            (false, _) => (0..shape.count).collect(),
        };
        if !ids.is_sorted_by(|a, b| a < b) || ids.last().is_some_and(|&id| id >= shape.next_id) {
            return Err(malformed("its ids don't ascend"));
        }
        let Some(code) = Code::ALL.into_iter().find(|code| code.number() == shape.code) else {
            let number = shape.code;
            return Err(malformed(match number {
                PRODUCT => "its code is product quantisation (\"pq\"), which no longer is one: make the index anew of its vectors".into(),
                _ => format!("it has code {number}, which isn't known"),
            }));
        };
        let ids = Ids::of(&ids);
        let coder = rest.coder(code, &shape)?;
        let row_bytes = coder.row_bytes();
        let codes = if with_codes && row_bytes > 0 { rest.own(kind::CODES, count as u128 * row_bytes as u128)? } else { Vec::new() };
        let graph = if version >= 3 && rest.is_next(kind::GRAPH) { Some(rest.graph(clusters, shape.count)?) } else { None };
        let mut parts = Parts::default();
        if version >= 4 {
            parts.sums = numbers(rest.take(kind::SUMS, 4 * clusters as u128)?);
            if rest.is_next(kind::SKETCHES) && graph.is_some() {
                let stride = graphed::sketch_bytes_of(dim);
                parts.sketches = Some(rest.take(kind::SKETCHES, count as u128 * stride as u128)?.to_vec());
            }
        }
        if rest.taken < rest.sections.len() {
            return Err(malformed(format!("section {} doesn't belong to it", rest.sections[rest.taken].kind)));
        }
        check_codes(&coder, &codes)?;
        let (exponent, next_id) = (shape.exponent, shape.next_id);
        let index = Self::new(Stored { dim, exponent, anchors, coder, labels, ids, codes, next_id, about });
        Ok((Self { graph, ..index }, parts))
    }
}

/// Refuses codes whose scales or numbers are not finite.
pub(super) fn check_codes(coder: &Coder, codes: &[u8]) -> Result<(), FileError> {
    match coder {
        Coder::Transform(_) => {
            all_finite("a scale", codes.chunks_exact(coder.row_bytes()).map(|row| f16::from_le_bytes([row[0], row[1]]).to_f32()))
        }
        Coder::Whole(whole) if !whole.is_sound(codes) => Err(malformed("a number of a vector isn't finite, or its square isn't")),
        _ => Ok(()),
    }
}

/// Sections that haven't been read yet, in their order.
struct Rest<'a> {
    sections: Vec<Section<'a>>,
    taken: usize,
}

impl Rest<'_> {
    fn is_next(&self, kind: u32) -> bool {
        self.sections.get(self.taken).is_some_and(|section| section.kind == kind)
    }

    /// Bytes in memory, about, that is made of what hasn't been read: models several times those of the file, codes as they are.
    fn memory(&self) -> u128 {
        let times = |section: &Section| match (section.kind, &section.bytes) {
            (kind::CODES, Cow::Owned(_)) => 0,
            (kind::GRAPH | kind::SUMS | kind::SKETCHES, _) => 1,
            (kind::CODES, Cow::Borrowed(_)) => 1,
            _ => 10,
        };
        self.sections[self.taken..].iter().map(|section| times(section) * section.bytes.len() as u128).sum()
    }

    fn any(&mut self, kind: u32) -> Result<&[u8], FileError> {
        if !self.is_next(kind) {
            return Err(malformed(format!("section {kind} is missing")));
        }
        self.taken += 1;
        Ok(&self.sections[self.taken - 1].bytes)
    }

    /// Whether a section that is there comes next, and has this length.
    fn expect(&self, kind: u32, length: u128) -> Result<(), FileError> {
        match self.sections.get(self.taken) {
            Some(section) if section.kind == kind && section.bytes.len() as u128 != length => {
                Err(malformed(format!("section {kind} has {} bytes, not {length}", section.bytes.len())))
            }
            _ => Ok(()),
        }
    }

    fn take(&mut self, kind: u32, length: u128) -> Result<&[u8], FileError> {
        self.expect(kind, length)?;
        self.any(kind)
    }

    /// The bytes themselves, if they are not the file's.
    fn own(&mut self, kind: u32, length: u128) -> Result<Vec<u8>, FileError> {
        self.take(kind, length)?;
        Ok(std::mem::take(&mut self.sections[self.taken - 1].bytes).into_owned())
    }

    fn reals(&mut self, kind: u32, count: usize) -> Result<Vec<f32>, FileError> {
        let values: Vec<f32> = numbers(self.take(kind, 4 * count as u128)?);
        all_finite("a number of the code's model", values.iter().copied())?;
        Ok(values)
    }

    /// The graph of so many lists and vectors, of which it may have fewer.
    fn graph(&mut self, clusters: usize, count: u32) -> Result<Graph, FileError> {
        let bytes = self.any(kind::GRAPH)?;
        let short = || malformed("its graph has no room for its sizes");
        let (shape, rest) = bytes.split_at_checked(size_of::<GraphShape>()).ok_or_else(short)?;
        let (starts, rows) = rest.split_at_checked(4 * clusters).ok_or_else(short)?;
        let GraphShape { degree, effort, nodes, removed } = bytemuck::pod_read_unaligned(shape);
        if nodes > count {
            return Err(malformed(format!("its graph has {nodes} nodes, but there are {count} vectors")));
        }
        Graph::from_stored(degree, effort, nodes, removed, rows.to_vec(), numbers(starts)).map_err(malformed)
    }

    fn coder(&mut self, code: Code, shape: &Shape) -> Result<Coder, FileError> {
        let dim = shape.dim as usize;
        Ok(match code {
            Code::None => Coder::None,
            Code::Int8 | Code::Int4 => {
                let mut low = self.reals(kind::UNITS, 2 * dim)?;
                let step = low.split_off(dim);
                low.shrink_to_fit();
                Coder::Scalar(Scalar { bits: if code == Code::Int8 { 8 } else { 4 }, low, step })
            }
            Code::F32 => Coder::Whole(Whole { dim, precision: Precision::Single }),
            Code::F16 => Coder::Whole(Whole { dim, precision: Precision::Half }),
            Code::Bits => {
                let (blocks, bits) = (shape.rotation_blocks as usize, shape.rotation_bits);
                let (units, entries) = match bits {
                    0 => (Vec::new(), Vec::new()),
                    _ => (self.reals(kind::UNITS, dim)?, self.any(kind::ENTRIES)?.to_vec()),
                };
                let stored = rotation::Stored { blocks, bits, units, entries };
                if !stored.fits(dim) || stored.has_empty_rows(dim) {
                    return Err(malformed("its rotation isn't one"));
                }
                let bits = self.take(kind::BITS, dim as u128)?.to_vec();
                let spread = self.reals(kind::SPREAD, dim)?;
                let bits_fit = bits.iter().zip(&spread).all(|(&bits, &spread)| u32::from(bits) <= MOST_BITS && (bits == 0 || spread > 0.0));
                let shrink_fits = shape.shrink > 0.0 && shape.shrink <= 1.0;
                if !(bits_fit && shrink_fits && WINDOWS.contains(&shape.detail)) {
                    return Err(malformed("its numbers of bits, or what they are for, are out of range"));
                }
                Coder::Transform(Box::new(Transform::new(Rotation::from_stored(dim, stored), shape.detail, bits, spread, shape.shrink)))
            }
        })
    }
}

/// Numbers from bytes that may lie anywhere.
fn numbers<T: bytemuck::Pod>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

fn all_finite(what: &str, mut values: impl Iterator<Item = f32>) -> Result<(), FileError> {
    match values.position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(place) => Err(malformed(format!("{what} isn't finite (number {place})"))),
    }
}

fn about_of(info: &[u8]) -> Result<Box<RawValue>, FileError> {
    if info.len() > MOST_INFO {
        return Err(malformed(format!("it says {} bytes of itself, where {MOST_INFO} are the most", info.len())));
    }
    let refused = || malformed("what it says of itself isn't a JSON object");
    if info.first() != Some(&b'{') {
        return Err(refused());
    }
    let said: Said = serde_json::from_slice(info).map_err(|_| refused())?;
    // Its letters are kept, so that it is saved as it was.
    let about = said.about.filter(|about| serde_json::from_str::<Map<String, Value>>(about.get()).is_ok());
    Ok(about.map_or_else(|| json_of(&Map::new()), RawValue::to_owned))
}

/// What a caller says, as it is kept.
pub(super) fn json_of(about: &Map<String, Value>) -> Box<RawValue> {
    to_raw_value(about).expect("names and values are JSON")
}

/// Takes a file piece by piece, of a stream say, and refuses it as soon as what has come can't become one. Memory grows with what comes, not
/// with what the file promises, and what has come is there once.
#[derive(Default)]
pub struct Reader {
    /// What has come of the header, and then of a section with its padding.
    piece: Vec<u8>,
    table: Option<Table>,
    sections: Vec<Section<'static>>,
    /// Bytes of all that has come.
    come: usize,
}

impl Reader {
    /// Takes the next bytes of the file.
    ///
    /// # Errors
    /// [`FileError`] as soon as the bytes cannot be the beginning of an index's file.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), FileError> {
        self.come += bytes.len();
        let mut start = Vec::new();
        if self.table.is_none() {
            let more = bytes.split_off(..bytes.len().min(container::MOST_HEADER - self.piece.len())).unwrap_or_default();
            self.piece.extend_from_slice(more);
            self.table = Table::read(&INDEX_BY_LISTS, &self.piece)?;
            if let Some(table) = &self.table {
                start = self.piece.split_off(table.header());
                self.piece.clear();
            }
        }
        if self.table.is_some() {
            self.push_sections(&start)?;
            self.push_sections(bytes)?;
        }
        Ok(())
    }

    fn push_sections(&mut self, mut bytes: &[u8]) -> Result<(), FileError> {
        let Some(table) = &self.table else { return Ok(()) };
        while let Some(length) = table.padded(self.sections.len()) {
            let left = length - self.piece.len();
            let some = bytes.split_off(..left.min(bytes.len())).unwrap_or_default();
            if self.piece.capacity() - self.piece.len() < some.len() {
                // As much again as there is, but never more than the section has.
                let more = left.min(some.len().max(self.piece.len()));
                memory::reserve_exact(&mut self.piece, more, "the file")?;
            }
            self.piece.extend_from_slice(some);
            if self.piece.len() < length {
                return Ok(());
            }
            self.sections.push(table.section(self.sections.len(), std::mem::take(&mut self.piece))?);
        }
        if bytes.is_empty() { Ok(()) } else { Err(malformed("bytes follow its end")) }
    }

    /// Bytes that have come, and how many there will be, as soon as that is known.
    pub fn progress(&self) -> (usize, Option<usize>) {
        (self.come, self.table.as_ref().map(Table::total))
    }

    /// The index, when all bytes have come.
    ///
    /// # Errors
    /// [`FileError`] if the file is incomplete or its sections contradict each other.
    pub fn finish(self) -> Result<Index, FileError> {
        let Some(table) = &self.table else { return Err(container::ends_in_header(&self.piece)) };
        if table.padded(self.sections.len()).is_some() {
            return Err(FileError::Truncated { what: "the file".into(), needed: table.total() as u64, got: self.come as u64 });
        }
        Index::of_sections(table.version(), self.sections)
    }
}
