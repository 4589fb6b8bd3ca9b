//! A searchable index of compressed vectors: anchors, lists of the vectors that are nearest to each, and codes of what is left.
//!
//! Everything inside is in units of a power of two that brings the largest value to about 2¹¹: then f16 neither overflows
//! nor loses small values that matter, whatever the data's scale. A vector's *slot* is its place in this index; its *id* never
//! changes and is never used again.

mod build;
pub mod by_bits;
mod by_lists;
pub mod changes;
pub mod device;
mod evaluate;
mod exact;
pub mod fetched;
pub mod graphed;
pub(crate) mod ids;
mod lists;
mod memory;
mod merging;
mod nearest;
mod rescored;
pub mod sample;
mod search;
mod sketch;
mod storage;

pub use build::{Coarse, Options, clusters_for};
pub use by_bits::Sketching;
pub use evaluate::{Evaluating, Evaluation};
pub use exact::exact;
pub use fetched::Fetched;
pub use memory::Memory;
pub use rescored::Rescoring;
pub use search::{Hits, SearchedBy, Through};
pub use storage::Reader;

use crate::code::columns::{least, squared_distances, transpose};
use crate::code::packed::Packed;
use crate::code::transform::Scratch;
use crate::code::{Code, Coder, PADDING, Reach, words};
use crate::file::published::{self, Files, Published};
use crate::file::{FileError, malformed};
use crate::graph::Graph;
use crate::rows;
use half::f16;
use ids::Ids;
use leastwise_base::memory as room;
use leastwise_cpu::block::{Instructions, SimdKernel};
use leastwise_cpu::threads::{self, Pieces};
use leastwise_error::Error;
use lists::Lists;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sketch::Sketch;
use std::ops::Range;
use std::sync::OnceLock;

/// Vectors that are coded by one task.
const CHUNK: usize = 64;

/// Most anchors: as many as can be counted in f32.
pub const MOST_CLUSTERS: usize = 1 << 24;

/// Searchable index of compressed vectors.
pub struct Index {
    stored: Stored,
    /// Anchors, turned into the code's coordinates.
    turned_centroids: Vec<f32>,
    /// `turned_centroids` by coordinates.
    turned_columns: Vec<f32>,
    /// The slots of every anchor, as long as searches go through them.
    lists: OnceLock<Lists>,
    /// By list; whether there are those of all vectors, and which there may be.
    sketches: Vec<Sketch>,
    sketched: bool,
    sketching: Sketching,
    /// Proximity graph, and the sketches that queries walk by.
    graph: Option<Graph>,
    built: Option<graphed::Built>,
    drawn: Option<graphed::Drawn>,
    /// Changes so far.
    revision: u64,
}

/// What a file has of an index.
struct Stored {
    dim: usize,
    /// The unit is 2^exponent.
    exponent: i32,
    /// f16 values, by anchor.
    anchors: Vec<f16>,
    coder: Coder,
    /// By slot; ids ascend.
    labels: Packed,
    ids: Ids,
    codes: Vec<u8>,
    /// What the next vector is called.
    next_id: u32,
    /// A JSON object, to the letter.
    about: Box<RawValue>,
}

/// Vectors that have their codes, and are not in the index yet.
#[derive(Default)]
pub struct Coming {
    labels: Vec<u32>,
    codes: Vec<u8>,
}

impl Coming {
    /// Number of vectors.
    pub fn count(&self) -> usize {
        self.labels.len()
    }
}

impl Index {
    fn new(stored: Stored) -> Self {
        let centroids: Vec<f32> = stored.anchors.iter().map(|value| value.to_f32()).collect();
        let mut turned = vec![0.0; centroids.len()];
        Instructions::best().run(Turn { coder: &stored.coder, dim: stored.dim, rows: &centroids, turned: &mut turned });
        Self::with_turned(stored, turned)
    }

    /// With the anchors turned.
    fn with_turned(stored: Stored, turned_centroids: Vec<f32>) -> Self {
        let mut turned_columns = vec![0.0; turned_centroids.len()];
        transpose(&turned_centroids, stored.dim, &mut turned_columns);
        Self {
            stored,
            turned_centroids,
            turned_columns,
            lists: OnceLock::new(),
            sketches: Vec::new(),
            sketched: false,
            sketching: Sketching::default(),
            graph: None,
            built: None,
            drawn: None,
            revision: 0,
        }
    }

    /// An index of the published files: vectors are their anchors.
    pub fn from_published(files: Files) -> Result<Self, FileError> {
        let Published { dim, anchors, labels, jacobians } = published::read(files)?;
        let next_id = u32::try_from(labels.len()).map_err(|_| malformed("it has more vectors than there are ids"))?;
        let mut about = Map::new();
        about.insert("from".into(), "published files, version 1".into());
        if jacobians {
            about.insert("note".into(), "the Jacobians of the anchors were left out: searching needs none".into());
        }
        let (ids, codes, about) = (Ids::whole(labels.len()), Vec::new(), storage::json_of(&about));
        let labels = Packed::of(labels.into_iter(), words::width(anchors.len() / dim));
        Ok(Self::new(Stored { dim, exponent: 0, anchors, coder: Coder::None, labels, ids, codes, next_id, about }))
    }

    /// Lists of the anchors' slots: made now, unless they are there.
    fn lists(&self) -> &Lists {
        self.lists.get_or_init(|| Lists::of(&self.stored.labels, self.clusters()))
    }

    /// Vectors in it.
    pub fn count(&self) -> usize {
        self.stored.ids.count()
    }

    /// Components of a vector.
    pub fn dim(&self) -> usize {
        self.stored.dim
    }

    /// Anchors.
    pub fn clusters(&self) -> usize {
        self.stored.anchors.len() / self.stored.dim
    }

    /// Code of the residuals.
    pub fn code(&self) -> Code {
        self.stored.coder.code()
    }

    /// One more than the largest id that was ever given: the length of a filter.
    pub fn next_id(&self) -> u32 {
        self.stored.next_id
    }

    /// The ids in use, ascending.
    pub fn ids(&self) -> Vec<u32> {
        self.stored.ids.iter().collect()
    }

    /// What the file takes of what the vectors took as f32. Infinite when there are none.
    pub fn ratio(&self) -> f64 {
        self.bytes() as f64 / (self.count() as f64 * self.stored.dim as f64 * 4.0)
    }

    /// What the caller wants to be kept with the index (`Options::about`).
    pub fn about(&self) -> Map<String, Value> {
        serde_json::from_str(self.stored.about.get()).expect("it is a JSON object")
    }

    /// Adds vectors, row-major, coded by the model that there is, and gives their ids.
    pub fn add(&mut self, points: &[f32]) -> Result<Vec<u32>, Error> {
        let mut coming = Coming::default();
        let count = self.check_added(points)?;
        self.code_rows(points, 0..count, &mut coming)?;
        self.take_in(coming)
    }

    /// How many vectors these are, if they can be added.
    pub fn check_added(&self, points: &[f32]) -> Result<usize, Error> {
        let count = rows::check("the vectors to add", points, self.stored.dim)?;
        self.end_of_ids(count)?;
        Ok(count)
    }

    /// One more than the last id of so many vectors that come next.
    fn end_of_ids(&self, count: usize) -> Result<u32, Error> {
        let end = u32::try_from(count).ok().and_then(|count| self.stored.next_id.checked_add(count));
        end.ok_or_else(|| Error::Limits(format!("an index holds at most {} vectors in its life; make another one", u32::MAX)))
    }

    /// Codes some of the vectors that were [checked](Self::check_added). The index stays as it is.
    pub fn code_rows(&self, points: &[f32], rows: Range<usize>, coming: &mut Coming) -> Result<(), Error> {
        let (dim, count) = (self.stored.dim, rows.len());
        let scale = self.scale().recip();
        let mut labels = vec![0; count];
        let coder = &self.stored.coder;
        Assigning { coder, columns: &self.turned_columns, scale, dim }.rows(&points[rows.start * dim..rows.end * dim], &mut labels);
        let mut codes = vec![0; count * self.stored.coder.row_bytes()];
        let turned_centroids = &self.turned_centroids[..];
        let reach = coder.reach(dim);
        Encoding { coder, turned_centroids, scale, points, dim, reach: reach.as_ref() }.rows(rows, &labels, &mut codes)?;
        room::grow(&mut coming.codes, codes.len(), "the codes of the vectors to add")?;
        coming.labels.extend(labels);
        coming.codes.extend(codes);
        Ok(())
    }

    /// Puts vectors that have their codes into the index, all at once, and gives their ids.
    pub fn take_in(&mut self, coming: Coming) -> Result<Vec<u32>, Error> {
        let ids = self.stored.next_id..self.end_of_ids(coming.labels.len())?;
        let what = "the vectors to add";
        self.stored.labels.reserve(ids.len(), what)?;
        room::grow(&mut self.stored.codes, coming.codes.len(), what)?;
        self.lists.take();
        self.revision += 1;
        self.sketched = false;
        coming.labels.into_iter().for_each(|label| self.stored.labels.push(label));
        self.stored.codes.extend(coming.codes);
        self.stored.ids.extend(ids.clone());
        self.stored.next_id = ids.end;
        Ok(ids.collect())
    }

    /// Becomes another index, which is a change of this one.
    pub fn replace_with(&mut self, other: Self) {
        let (revision, sketching) = (self.revision + 1, self.sketching);
        *self = Self { revision, sketching, ..other };
    }

    /// Takes vectors out and says how many there were. Their ids are never used again; those that are not in the index are
    /// passed over.
    pub fn remove(&mut self, ids: &[u32]) -> usize {
        let mut kept = vec![true; self.count()];
        for &id in ids {
            if let Some(slot) = self.stored.ids.find(id) {
                kept[slot] = false;
            }
        }
        let removed = kept.iter().filter(|kept| !**kept).count();
        if removed > 0 {
            self.revision += 1;
            self.retain_sketches(&kept);
            self.lists.take();
            self.stored.ids.retain(&kept);
            self.stored.labels.retain(&kept);
            retain_rows(&mut self.stored.codes, &kept, self.stored.coder.row_bytes());
            self.drawn.iter_mut().for_each(|drawn| drawn.retain(&kept));
            let labels = &self.stored.labels;
            self.graph.iter_mut().for_each(|graph| graph.retain(&kept, |slot| labels.get(slot)));
        }
        removed
    }

    /// The vectors of these ids as the index knows them, row-major.
    pub fn reconstruct(&self, ids: &[u32]) -> Result<Vec<f32>, Error> {
        let dim = self.stored.dim;
        let mut out = vec![0.0; ids.len() * dim];
        let (mut row, mut turned) = (vec![0; self.stored.coder.row_bytes() + PADDING], vec![0.0; dim]);
        for (&id, out) in ids.iter().zip(out.chunks_exact_mut(dim)) {
            let Some(slot) = self.stored.ids.find(id) else {
                return Err(Error::InvalidOption(format!("the index has no vector with the id {id}")));
            };
            row[..self.stored.coder.row_bytes()].copy_from_slice(self.row(slot));
            self.stored.coder.decode(&row, &mut turned);
            turned.iter_mut().for_each(|value| *value *= self.stored.coder.shrink());
            self.stored.coder.turn_back(&turned, out);
            let anchor = &self.stored.anchors[self.stored.labels.get(slot) as usize * dim..][..dim];
            for (value, anchor) in out.iter_mut().zip(anchor) {
                *value = (*value + anchor.to_f32()) * self.scale();
            }
        }
        Ok(out)
    }

    fn row(&self, slot: usize) -> &[u8] {
        let bytes = self.stored.coder.row_bytes();
        &self.stored.codes[slot * bytes..][..bytes]
    }

    /// Proximity graph, if one was built.
    pub fn graph(&self) -> Option<&Graph> {
        self.graph.as_ref()
    }

    /// How often vectors came or went.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    fn coder(&self) -> &Coder {
        &self.stored.coder
    }

    /// A component of a query in units: far from everything at most, and finite when squared.
    #[inline(always)]
    fn in_units(value: f32, scale: f32) -> f32 {
        (value * scale).clamp(-1e15, 1e15)
    }

    /// The unit.
    fn scale(&self) -> f32 {
        power_of_two(self.stored.exponent)
    }
}

/// 2^exponent, within what f32 holds.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent.clamp(-126, 127) + 127) as u32) << 23)
}

/// Keeps the rows that a mask says.
fn retain_rows<T: Copy>(values: &mut Vec<T>, kept: &[bool], width: usize) {
    let mut end = 0;
    for slot in (0..kept.len()).filter(|&slot| kept[slot]) {
        values.copy_within(slot * width..(slot + 1) * width, end);
        end += width;
    }
    values.truncate(end);
}

/// Vectors that are coded between two looks at the clock.
pub fn rows_together() -> usize {
    CHUNK * threads::count()
}

/// What vectors are coded with. They and the turned centroids that are taken from them are in units of `1/scale` and 1.
#[derive(Clone, Copy)]
struct Encoding<'a> {
    coder: &'a Coder,
    turned_centroids: &'a [f32],
    scale: f32,
    points: &'a [f32],
    dim: usize,
    /// Of what the coder was not trained on.
    reach: Option<&'a Reach>,
}

impl Encoding<'_> {
    /// The codes of some rows, which have these labels.
    fn rows(self, rows: Range<usize>, labels: &[u32], codes: &mut [u8]) -> Result<(), Error> {
        let width = self.coder.row_bytes();
        let (mut rest, mut tasks) = (Pieces::new(codes), Vec::new());
        for start in (0..labels.len()).step_by(CHUNK) {
            let range = start..labels.len().min(start + CHUNK);
            tasks.push((range.clone(), rest.take(range.start * width..range.end * width)));
        }
        let failed = threads::map(tasks, labels.len() * self.dim, |(range, codes)| {
            let (labels, first) = (&labels[range.clone()], rows.start + range.start);
            let points = &self.points[first * self.dim..][..range.len() * self.dim];
            let mut failed = None;
            Instructions::best().run(Encode { with: self, points, labels, codes, failed: &mut failed });
            failed.map(|row| first + row)
        });
        match failed.into_iter().flatten().next() {
            None => Ok(()),
            Some(row) => Err(Error::Limits(format!(
                "vector {row} lies too far outside the values that the index was built for: build an index of such vectors"
            ))),
        }
    }
}

struct Encode<'a> {
    with: Encoding<'a>,
    points: &'a [f32],
    labels: &'a [u32],
    codes: &'a mut [u8],
    failed: &'a mut Option<usize>,
}

impl SimdKernel for Encode<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { with: Encoding { coder, turned_centroids, scale, dim, reach, .. }, points, labels, codes, failed } = self;
        let width = coder.row_bytes();
        let (mut scratch, mut scaled, mut turned) = (Scratch::default(), vec![0.0; dim], vec![0.0; dim]);
        for (row, (point, &label)) in points.chunks_exact(dim).zip(labels).enumerate() {
            for (scaled, value) in scaled.iter_mut().zip(point) {
                *scaled = value * scale;
            }
            coder.turn(&scaled, &mut turned);
            for (value, centroid) in turned.iter_mut().zip(&turned_centroids[label as usize * dim..][..dim]) {
                *value -= centroid;
            }
            let is_coded =
                reach.is_none_or(|reach| reach.holds(&turned)) && coder.encode(&turned, &mut codes[row * width..][..width], &mut scratch);
            if !is_coded {
                failed.get_or_insert(row);
            }
        }
    }
}

/// Rows into the code's coordinates.
struct Turn<'a> {
    coder: &'a Coder,
    dim: usize,
    rows: &'a [f32],
    turned: &'a mut [f32],
}

impl SimdKernel for Turn<'_> {
    #[inline(always)]
    fn run(self) {
        for (row, turned) in self.rows.chunks_exact(self.dim).zip(self.turned.chunks_exact_mut(self.dim)) {
            self.coder.turn(row, turned);
        }
    }
}

/// Centroids that points are compared with, turned and by coordinates. Points are in units of `1/scale`.
#[derive(Clone, Copy)]
struct Assigning<'a> {
    coder: &'a Coder,
    columns: &'a [f32],
    scale: f32,
    dim: usize,
}

impl Assigning<'_> {
    /// The nearest centroid of every point; of equally near ones the first.
    fn rows(self, points: &[f32], labels: &mut [u32]) {
        let (count, mut tasks) = (labels.len(), Vec::new());
        let mut rest = Pieces::new(labels);
        for start in (0..count).step_by(CHUNK) {
            let range = start..count.min(start + CHUNK);
            tasks.push((&points[range.start * self.dim..range.end * self.dim], rest.take(range)));
        }
        threads::each(tasks, count * self.columns.len(), |(points, labels)| {
            Instructions::best().run(Assign { with: self, points, labels })
        });
    }
}

struct Assign<'a> {
    with: Assigning<'a>,
    points: &'a [f32],
    labels: &'a mut [u32],
}

impl SimdKernel for Assign<'_> {
    #[inline(always)]
    fn run(self) {
        let Assigning { coder, columns, scale, dim } = self.with;
        let (mut scaled, mut turned) = (vec![0.0; dim], vec![0.0; dim]);
        let mut distances = vec![0.0; columns.len() / dim];
        for (point, label) in self.points.chunks_exact(dim).zip(self.labels) {
            for (scaled, value) in scaled.iter_mut().zip(point) {
                *scaled = value * scale;
            }
            coder.turn(&scaled, &mut turned);
            squared_distances(&turned, columns, &mut distances);
            *label = least(&distances) as u32;
        }
    }
}
