//! An index with a proximity graph: building it, and searching through it.
//!
//! A query walks by one-bit sketches (`graph::bits`), a bit a component and 4 bytes a vector, and what its beam has in the end is
//! rescored from the codes: distances have the bits that a search through the lists gives them. Vectors that are not in the graph yet are looked at one
//! by one, by their sketches.

use super::Index;
use super::fetched::Codes;
use super::nearest::{Candidate, Nearest};
use super::search::{BLOCK, Hits, SearchedBy, Through};
use super::sketch::Rescore;
use crate::code::Code;
use crate::code::columns::{squared_distances, squared_lengths};
use crate::code::packed::Packed;
use crate::graph::bits::{self, Asked, Bits, Mixer};
use crate::graph::build::{Builder, Plan};
use crate::graph::walk::Walk;
use crate::graph::whole::Whole;
use crate::graph::{DEGREES, NONE, STARTS};
use leastwise_base::clock::now_ms;
use leastwise_base::memory;
use leastwise_cpu::block::{Instructions, SimdKernel};
use leastwise_cpu::threads;
use leastwise_error::Error;
use std::ops::Range;

/// Neighbours of a vector, and beam of the search for them, unless the caller says otherwise.
const DEGREE: u32 = 32;
const BUILD_EFFORT: u32 = 96;

/// Beams that can be asked for.
pub const EFFORTS: Range<u32> = 1..8193;

/// Neighbours wanted of a query, beyond which lists are faster.
const MOST_K: usize = 1024;

/// Beam of a query by default: at least so many, and so many for each neighbour wanted.
const EFFORT: usize = 64;
const EFFORT_OF_EACH: usize = 3;

/// Of so many vectors at least one must pass a filter; beams grow by as much as it leaves out.
const FEWEST_PASS: usize = 16;

/// Queries of a task.
const TASK: usize = 4;

/// Blocks of vectors that are decoded between two looks at the clock.
const BLOCKS: usize = 16;

/// One-bit sketches of the vectors, in order of their slots.
pub struct Drawn {
    pub(super) mixer: Mixer,
    /// Turned anchors, rotated: while sketches are made.
    anchors: Vec<f32>,
    pub(super) bits: Bits,
}

impl Drawn {
    /// Bytes of the sketches.
    pub fn bytes(&self) -> usize {
        self.bits.bytes()
    }

    /// Sketches as files have them.
    pub fn stored(&self) -> &[u8] {
        self.bits.stored()
    }

    /// Sketches from a file, of as many vectors as there are in the index.
    pub fn from_stored(dim: usize, rows: Vec<u8>) -> Self {
        let mixer = Mixer::new(dim);
        Self { bits: Bits::from_stored(mixer.width(), rows), mixer, anchors: Vec::new() }
    }

    /// Keeps the sketches of some slots.
    pub fn retain(&mut self, kept: &[bool]) {
        self.bits.retain(kept);
    }
}

/// Bytes of a sketch.
pub fn sketch_bytes_of(dim: usize) -> usize {
    bits::stride_of(bits::width_of(dim))
}

/// Makes the sketches that walks go by, or goes on with it until the time is up: false while there are some to be made.
#[inline(never)]
pub fn draw(index: &mut Index, deadline: f64) -> bool {
    let mut drawn = index.drawn.take().unwrap_or_else(|| {
        let mixer = Mixer::new(index.stored.dim);
        Drawn { bits: Bits::new(mixer.width()), mixer, anchors: Vec::new() }
    });
    let count = index.count();
    if drawn.bits.count() < count && drawn.anchors.is_empty() {
        drawn.bits.reserve(count - drawn.bits.count());
        let width = drawn.mixer.width();
        drawn.anchors = vec![0.0; index.clusters() * width];
        for (anchor, mixed) in index.turned_centroids.chunks_exact(index.stored.dim).zip(drawn.anchors.chunks_exact_mut(width)) {
            drawn.mixer.mix(anchor, mixed);
        }
    }
    while drawn.bits.count() < count {
        let from = drawn.bits.count();
        Instructions::best().run(Draw { index, slots: from..count.min(from + BLOCKS * BLOCK), drawn: &mut drawn });
        if now_ms() >= deadline {
            break;
        }
    }
    let is_done = drawn.bits.count() == count;
    if is_done {
        drawn.anchors = Vec::new();
    }
    index.drawn = Some(drawn);
    is_done
}

struct Draw<'a> {
    index: &'a Index,
    slots: Range<usize>,
    drawn: &'a mut Drawn,
}

impl SimdKernel for Draw<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { index, slots, drawn: Drawn { mixer, anchors, bits } } = self;
        let (width, shrink) = (mixer.width(), index.stored.coder.shrink());
        let mut mixed = vec![0.0; width];
        decoded(index, slots, |slot, residual, square| {
            mixer.mix(residual, &mut mixed);
            bits.push(&mixed, &anchors[index.stored.labels.get(slot) as usize * width..][..width], square, shrink);
        });
    }
}

/// Vectors that the codes of some slots decode to, one after the other, each with its squared length.
#[inline(always)]
fn decoded(index: &Index, slots: Range<usize>, mut take: impl FnMut(usize, &[f32], f32)) {
    let dim = index.stored.dim;
    let (mut rows, mut columns, mut lengths) = (Vec::new(), vec![0.0; BLOCK * dim], [0.0; BLOCK]);
    let mut row = vec![0.0; dim];
    let all: Vec<u32> = slots.map(|slot| slot as u32).collect();
    for slots in all.chunks(BLOCK) {
        let (columns, lengths) = (&mut columns[..slots.len() * dim], &mut lengths[..slots.len()]);
        index.padded_rows(slots, &mut rows);
        index.stored.coder.decode(&rows, columns);
        squared_lengths(columns, lengths);
        for (number, (&slot, &length)) in slots.iter().zip(&*lengths).enumerate() {
            for (value, column) in row.iter_mut().zip(columns.chunks_exact(slots.len())) {
                *value = column[number];
            }
            take(slot as usize, &row, length);
        }
    }
}

/// Path of a search: the beam of a walk, or the reason that it goes through the lists.
#[inline(never)]
pub fn route(index: &Index, k: usize, effort: Option<u32>, filter: Option<&[u8]>) -> Result<usize, String> {
    let count = index.count();
    let Some(graph) = &index.graph else { return Err("the index has no graph any more".into()) };
    if k > MOST_K || k.saturating_mul(4) > count {
        return Err(format!("the graph was not used: {k} neighbours of {count} are too many"));
    }
    if (graph.nodes() as usize) < count / 2 {
        return Err(format!("the graph was not used: it has only {} of {count} vectors", graph.nodes()));
    }
    let effort = effort.map_or(EFFORT.max(EFFORT_OF_EACH * k), |effort| (effort as usize).max(k));
    let Some(filter) = filter else { return Ok(effort) };
    let pass = index.stored.ids.iter().filter(|&id| filter[id as usize] != 0).count();
    if pass.saturating_mul(FEWEST_PASS) < count || pass < 4 * k {
        return Err(format!("the graph was not used: the filter lets only {pass} of {count} vectors pass"));
    }
    Ok((effort * count).div_ceil(pass))
}

/// The `k` nearest of every query through the graph, with a beam of `effort` vectors. The sketches must be [drawn](draw). Queries that find fewer than k,
/// or than there are, go through all lists.
#[inline(never)]
pub fn search(index: &Index, queries: &[f32], k: usize, effort: usize, filter: Option<&[u8]>) -> Result<Hits, Error> {
    if index.graph.is_none() {
        return index.search(queries, k, None, filter);
    }
    let dim = index.stored.dim;
    let mut hits = Hits::none(queries.len() / dim, k)?;
    hits.by = SearchedBy { through: Through::Graph, ..SearchedBy::CPU };
    let turned = index.turn_queries(queries);
    let passing = index.passing(filter);
    let tasks: Vec<&[f32]> = turned.chunks(TASK * dim).collect();
    let found = threads::map(tasks, queries.len() * effort, |queries| {
        let mut met = Vec::with_capacity(TASK);
        Instructions::best().run(Walked { index, queries, effort, filter: passing.as_deref(), met: &mut met });
        let rescored = queries.chunks_exact(dim).zip(&met).map(|(query, slots)| {
            let mut nearest = Nearest::new(k);
            Instructions::best().run(Rescore { index, codes: Codes::Here, query, slots, nearest: &mut nearest });
            nearest
        });
        rescored.collect::<Vec<_>>()
    });
    for (query, nearest) in found.into_iter().flatten().enumerate() {
        if nearest.count() >= k {
            hits.put(query, nearest, index.scale(), &index.stored.ids);
            continue;
        }
        let all = index.search(&queries[query * dim..][..dim], k, Some(index.clusters() as u32), filter)?;
        hits.ids[query * k..][..k].copy_from_slice(&all.ids);
        hits.distances[query * k..][..k].copy_from_slice(&all.distances);
    }
    Ok(hits)
}

/// Slots that some turned queries meet in the graph, each its own; the filter is by slots.
#[inline(never)]
pub(super) fn met(index: &Index, queries: &[f32], effort: usize, filter: Option<&[u8]>) -> Vec<Vec<u32>> {
    let mut met = Vec::new();
    Instructions::best().run(Walked { index, queries, effort, filter, met: &mut met });
    met
}

/// Some queries through the graph; the filter is by slots.
struct Walked<'a> {
    index: &'a Index,
    queries: &'a [f32],
    effort: usize,
    filter: Option<&'a [u8]>,
    met: &'a mut Vec<Vec<u32>>,
}

impl SimdKernel for Walked<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { index, queries, effort, filter, met } = self;
        let (Some(graph), Some(Drawn { mixer, bits, .. })) = (&index.graph, &index.drawn) else { return };
        let (nodes, labels) = (graph.nodes() as usize, &index.stored.labels);
        let is_allowed = |slot: u32| filter.is_none_or(|filter| filter[slot as usize] != 0);
        let (mut mixed, mut far, mut walk) = (vec![0.0; mixer.width()], vec![0.0; index.clusters()], Walk::default());
        for query in queries.chunks_exact(index.stored.dim) {
            mixer.mix(query, &mut mixed);
            let asked = Asked::new(&mixed);
            squared_distances(query, &index.turned_columns, &mut far);
            let mut starts = Nearest::new(STARTS);
            for (list, &distance) in far.iter().enumerate() {
                if distance <= starts.reach()
                    && let Some(start) = graph.start(list)
                {
                    starts.offer(Candidate { distance, id: start });
                }
            }
            let starts = starts.into_sorted();
            walk.run(graph, nodes, starts.iter().map(|start| start.id), effort, |fresh, distances| {
                estimates(bits, &asked, labels, &far, fresh, distances);
            });
            let mut slots = Vec::with_capacity(effort);
            slots.extend(walk.beam().iter().map(|seen| seen.node).filter(|&slot| is_allowed(slot)));
            if nodes < labels.count() {
                let mut later = Nearest::new(effort);
                for slot in (nodes as u32..labels.count() as u32).filter(|&slot| is_allowed(slot)) {
                    later.offer(Candidate { distance: far[labels.get(slot as usize) as usize] + bits.estimate(&asked, slot), id: slot });
                }
                slots.extend(later.into_sorted().iter().map(|candidate| candidate.id));
            }
            met.push(slots);
        }
    }
}

/// Estimated distances of some slots.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn estimates(bits: &Bits, asked: &Asked, labels: &Packed, far: &[f32], slots: &[u32], distances: &mut Vec<f32>) {
    distances.extend(slots.iter().map(|&slot| far[labels.get(slot as usize) as usize] + bits.estimate(asked, slot)));
}

/// Device that inserted a graph's vectors, and why it was the CPU where there is another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Built {
    /// Name of the backend.
    pub backend: &'static str,
    /// Reason in words; none where the engine has no other device, or was told to use the CPU.
    pub reason: Option<String>,
}

impl Default for Built {
    fn default() -> Self {
        Self { backend: "cpu", reason: None }
    }
}

/// A graph that is being built, in slices of time. If vectors come or go meanwhile it begins anew.
pub struct Building {
    degree: u32,
    effort: u32,
    /// Of the index.
    revision: u64,
    whole: Whole,
    mean: Vec<f32>,
    /// By list: its vector nearest to the anchor, and that one's squared distance; and the lists nearest to those so far.
    starts: Vec<u32>,
    least: Vec<f32>,
    near: Vec<u32>,
    builder: Option<Builder>,
    /// Device that inserts vectors, as far as is known.
    pub by: Built,
}

impl Building {
    /// A graph of `degree` (32) neighbours a vector, found by searches with a beam of `effort` (96). One of the same kind that is there is gone on
    /// with, unless more than a quarter of it was removed.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for numbers out of range and indices whose vectors have no codes, [`Error::OutOfMemory`].
    #[inline(never)]
    pub fn new(index: &Index, degree: Option<u32>, effort: Option<u32>) -> Result<Self, Error> {
        let (degree, effort) = (degree.unwrap_or(DEGREE), effort.unwrap_or(BUILD_EFFORT));
        let invalid = |message: String| Err(Error::InvalidOption(message));
        if !DEGREES.contains(&degree) {
            return invalid(format!("degree must be from {} to {}, not {degree}", DEGREES.start, DEGREES.end - 1));
        }
        if !EFFORTS.contains(&effort) {
            return invalid(format!("effort must be from {} to {}, not {effort}", EFFORTS.start, EFFORTS.end - 1));
        }
        if index.code() == Code::None {
            return invalid("an index with the code \"none\" can't have a graph: all vectors of a cluster look alike".into());
        }
        if index.count() == 0 {
            return invalid("a graph is made of vectors, but the index has none yet".into());
        }
        let (dim, clusters) = (index.stored.dim, index.clusters());
        memory::probe(index.count() as u128 * (dim as u128 + 12 + 8 * u128::from(degree)), "the graph")?;
        let mut mean = vec![0.0; dim];
        for centroid in index.turned_centroids.chunks_exact(dim) {
            mean.iter_mut().zip(centroid).for_each(|(mean, value)| *mean += value / clusters as f32);
        }
        Ok(Self {
            degree,
            effort,
            revision: index.revision,
            whole: Whole { dim, ..Whole::default() },
            mean,
            starts: vec![NONE; clusters],
            least: vec![f32::INFINITY; clusters],
            near: Vec::new(),
            builder: None,
            by: Built::default(),
        })
    }

    /// Goes on until the time is up; true when the index has its graph.
    #[inline(never)]
    pub fn advance(&mut self, index: &mut Index, deadline: f64) -> Result<bool, Error> {
        if !self.prepare(index, deadline)? {
            return Ok(false);
        }
        if !self.builder.as_mut().is_none_or(|builder| builder.advance(|| now_ms() >= deadline)) {
            return Ok(false);
        }
        index.graph = self.builder.take().map(Builder::finish);
        index.built = Some(std::mem::take(&mut self.by));
        Ok(true)
    }

    /// The builder, once it is [prepared](Self::prepare).
    pub fn builder(&mut self) -> Option<&mut Builder> {
        self.builder.as_mut()
    }

    /// True if vectors came or went since it began.
    pub fn is_stale(&self, index: &Index) -> bool {
        index.revision != self.revision
    }

    /// Begins anew.
    ///
    /// # Errors
    /// As [`Building::new`].
    pub fn restart(&mut self, index: &Index) -> Result<(), Error> {
        let by = std::mem::take(&mut self.by);
        *self = Self { by, ..Self::new(index, Some(self.degree), Some(self.effort))? };
        Ok(())
    }

    /// Goes on until the time is up with what a builder is made of; true when there is one.
    #[inline(never)]
    pub fn prepare(&mut self, index: &Index, deadline: f64) -> Result<bool, Error> {
        if self.is_stale(index) {
            self.restart(index)?;
        }
        if self.builder.is_some() {
            return Ok(true);
        }
        let is_late = || now_ms() >= deadline;
        let count = index.count();
        while self.whole.rows.len() < count {
            let from = self.whole.rows.len();
            Instructions::best().run(Fill { building: self, index, slots: from..count.min(from + BLOCKS * BLOCK) });
            if is_late() {
                return Ok(false);
            }
        }
        let near = STARTS.min(index.clusters());
        while self.near.len() < near * index.clusters() {
            let list = self.near.len() / near;
            Instructions::best().run(Near { index, list, count: near, near: &mut self.near });
            if is_late() {
                return Ok(false);
            }
        }
        let same = |graph: &&crate::graph::Graph| {
            graph.degree() == self.degree && graph.effort() == self.effort && graph.removed() <= graph.nodes() / 4
        };
        let plan = Plan {
            degree: self.degree,
            effort: self.effort,
            labels: index.stored.labels.iter().collect(),
            starts: std::mem::take(&mut self.starts),
            near: std::mem::take(&mut self.near),
        };
        self.builder = Some(Builder::new(plan, std::mem::take(&mut self.whole), index.graph.as_ref().filter(same)));
        Ok(!is_late())
    }

    /// Vectors that are done, and all of them.
    pub fn progress(&self) -> (f64, f64) {
        let (done, all) = self.builder.as_ref().map_or((0, self.whole.rows.len().max(1)), Builder::progress);
        (done as f64, all as f64)
    }
}

/// Some vectors in bytes.
struct Fill<'a> {
    building: &'a mut Building,
    index: &'a Index,
    slots: Range<usize>,
}

impl SimdKernel for Fill<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { building: Building { whole, mean, starts, least, .. }, index, slots } = self;
        let (dim, shrink) = (index.stored.dim, index.stored.coder.shrink());
        let mut vector = vec![0.0; dim];
        decoded(index, slots, |slot, residual, square| {
            let list = index.stored.labels.get(slot) as usize;
            let centroid = &index.turned_centroids[list * dim..][..dim];
            for (value, ((residual, centroid), mean)) in vector.iter_mut().zip(residual.iter().zip(centroid).zip(&*mean)) {
                *value = shrink * residual + centroid - mean;
            }
            whole.push(&vector);
            if square < least[list] {
                (least[list], starts[list]) = (square, slot as u32);
            }
        });
    }
}

/// The lists nearest to one.
struct Near<'a> {
    index: &'a Index,
    list: usize,
    count: usize,
    near: &'a mut Vec<u32>,
}

impl SimdKernel for Near<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { index, list, count, near } = self;
        let dim = index.stored.dim;
        let (mut far, mut nearest) = (vec![0.0; index.clusters()], Nearest::new(count));
        squared_distances(&index.turned_centroids[list * dim..][..dim], &index.turned_columns, &mut far);
        for (other, &distance) in far.iter().enumerate() {
            nearest.offer(Candidate { distance, id: other as u32 });
        }
        near.extend(nearest.into_sorted().iter().map(|candidate| candidate.id));
    }
}
