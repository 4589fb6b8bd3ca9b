//! Vectors of bits, searched exhaustively by Hamming distance: the number of bits in which two vectors differ.
//!
//! Rows come packed, eight components a byte, in the order of NumPy's `packbits`: the first component is the highest bit of the first byte. Distances do not
//! depend on that order; bits behind the last component must be zero. In memory a row is padded to words of 64 bits.

mod distances;
mod file;

use crate::index::ids::Ids;
use crate::rows::MOST_DIMENSIONS;
use distances::Distances;
use leastwise_base::memory;
use leastwise_cpu::block::Instructions;
use leastwise_cpu::threads;
use leastwise_error::Error;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Bytes of a word.
const WORD: usize = 8;

/// Bytes of rows that all queries of a call are compared with before the next ones.
const BLOCK_BYTES: usize = 1 << 14;

/// Distances that are compared at once with that of the farthest hit.
const TOGETHER: usize = 16;

/// Blocks of a task.
const TASK_BLOCKS: usize = 64;

/// Hits of one call.
const MOST_HITS: usize = 1 << 28;

/// Vectors of bits, their ids, and nothing else. Ids are 0, 1, 2… in the order of arrival, and never used again.
pub struct BitIndex {
    dim: usize,
    /// Words of a row.
    width: usize,
    rows: Vec<u64>,
    ids: Ids,
    next_id: u32,
}

/// Hits of some queries.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BitHits {
    /// Begin of each query's hits, and end of the last one's.
    pub offsets: Vec<u32>,
    /// Ids of the hits, the nearest first; of equally near ones the lower id.
    pub ids: Vec<u32>,
    /// Number of bits that differ.
    pub distances: Vec<u32>,
}

/// The k nearest, or all within a distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// So many, or all that there are.
    Nearest(usize),
    /// All whose distance is not greater.
    Within(u32),
}

/// Distance and slot, in the order of hits.
type Found = (u32, u32);

/// Findings of a query so far.
struct Finding {
    most: usize,
    /// Distances beyond are of no use.
    reach: u32,
    /// Of the k nearest, the farthest is on top.
    heap: BinaryHeap<Found>,
    /// All within.
    all: Vec<Found>,
}

impl Finding {
    fn new(wanted: Wanted) -> Self {
        let (most, reach) = match wanted {
            Wanted::Nearest(k) => (k, u32::MAX),
            Wanted::Within(distance) => (0, distance),
        };
        Self { most, reach, heap: BinaryHeap::new(), all: Vec::new() }
    }

    /// Takes a vector whose distance is within reach.
    fn take(&mut self, found: Found) {
        if self.most == 0 {
            self.all.push(found);
            return;
        }
        if self.heap.len() < self.most {
            self.heap.push(found);
        } else if let Some(mut farthest) = self.heap.peek_mut()
            && found < *farthest
        {
            *farthest = found;
        }
        if self.heap.len() == self.most {
            self.reach = self.heap.peek().map_or(u32::MAX, |farthest| farthest.0);
        }
    }

    fn merge(&mut self, other: Self) {
        other.heap.into_iter().chain(other.all).for_each(|found| self.take(found));
    }

    fn into_sorted(mut self) -> Vec<Found> {
        self.all.extend(self.heap);
        self.all.sort_unstable();
        self.all
    }
}

impl BitIndex {
    /// An index of no vectors yet, of `dim` bits each.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a number of bits out of range.
    #[inline(never)]
    pub fn new(dim: usize) -> Result<Self, Error> {
        if !(1..=MOST_DIMENSIONS).contains(&dim) {
            return Err(Error::InvalidOption(format!("dim must be from 1 to {MOST_DIMENSIONS}, not {dim}")));
        }
        Ok(Self { dim, width: dim.div_ceil(64), rows: Vec::new(), ids: Ids::whole(0), next_id: 0 })
    }

    /// Bits of a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Bytes of a packed vector.
    pub fn row_bytes(&self) -> usize {
        self.dim.div_ceil(8)
    }

    /// Vectors in it.
    pub fn count(&self) -> usize {
        self.ids.count()
    }

    /// Id that comes next: the length of a filter.
    pub fn next_id(&self) -> u32 {
        self.next_id
    }

    /// Bytes of memory: rows, and ids that are not 0, 1, 2….
    pub fn memory(&self) -> usize {
        WORD * self.rows.capacity() + self.ids.memory()
    }

    /// Number of packed rows, whose unused bits are zero.
    fn check_rows(&self, what: &str, rows: &[u8]) -> Result<usize, Error> {
        let bytes = self.row_bytes();
        if !rows.len().is_multiple_of(bytes) {
            let expected = format!("a multiple of {bytes}, the bytes of a vector of {} bits", self.dim);
            return Err(Error::DataLength { term: None, what: what.into(), got: rows.len(), expected });
        }
        let unused = (8 * bytes - self.dim) as u32;
        let mask = ((1_u32 << unused) - 1) as u8;
        match rows.chunks_exact(bytes).position(|row| row[bytes - 1] & mask != 0) {
            Some(row) if mask > 0 => Err(Error::InvalidOption(format!(
                "{what}: vector {row} has bits behind its last of {}: the lowest {unused} bits of its last byte must be 0, as numpy.packbits has them",
                self.dim
            ))),
            _ => Ok(rows.len() / bytes),
        }
    }

    fn put(&self, rows: &[u8], into: &mut Vec<u64>) {
        for row in rows.chunks_exact(self.row_bytes()) {
            let (words, rest) = row.as_chunks::<WORD>();
            into.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
            if !rest.is_empty() {
                let mut word = [0; WORD];
                word[..rest.len()].copy_from_slice(rest);
                into.push(u64::from_le_bytes(word));
            }
        }
    }

    /// Adds packed vectors, one after the other, and gives the id of the first: the others follow.
    ///
    /// # Errors
    /// [`Error::DataLength`], [`Error::InvalidOption`] for bits behind the last component, [`Error::Limits`] for more than there are ids,
    /// [`Error::OutOfMemory`]. Then none is added.
    #[inline(never)]
    pub fn add(&mut self, rows: &[u8]) -> Result<u32, Error> {
        let count = self.check_rows("the vectors to add", rows)?;
        let first = self.next_id;
        let end = u32::try_from(count).ok().and_then(|count| first.checked_add(count));
        let end = end.ok_or_else(|| Error::Limits(format!("an index holds at most {} vectors in its life; make another one", u32::MAX)))?;
        let mut own = std::mem::take(&mut self.rows);
        let grown = memory::grow(&mut own, count * self.width, "the vectors to add");
        if grown.is_ok() {
            self.put(rows, &mut own);
        }
        self.rows = own;
        grown?;
        self.ids.extend(first..end);
        self.next_id = end;
        Ok(first)
    }

    /// Takes vectors out and says how many there were; ids that are not in the index are passed over.
    #[inline(never)]
    pub fn remove(&mut self, ids: &[u32]) -> usize {
        let mut kept = vec![true; self.count()];
        ids.iter().filter_map(|&id| self.ids.find(id)).for_each(|slot| kept[slot] = false);
        let removed = kept.iter().filter(|kept| !**kept).count();
        if removed > 0 {
            let mut end = 0;
            for slot in (0..kept.len()).filter(|&slot| kept[slot]) {
                self.rows.copy_within(slot * self.width..(slot + 1) * self.width, end);
                end += self.width;
            }
            self.rows.truncate(end);
            self.ids.retain(&kept);
        }
        removed
    }

    /// The packed vectors of some ids, one after the other.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for an id that is not in the index.
    #[inline(never)]
    pub fn rows(&self, ids: &[u32]) -> Result<Vec<u8>, Error> {
        let mut packed = Vec::with_capacity(ids.len() * self.row_bytes());
        for &id in ids {
            let missing = || Error::InvalidOption(format!("the index has no vector with the id {id}"));
            self.pack(self.ids.find(id).ok_or_else(missing)?, &mut packed);
        }
        Ok(packed)
    }

    fn pack(&self, slot: usize, packed: &mut Vec<u8>) {
        let words = &self.rows[slot * self.width..][..self.width];
        packed.extend(words.iter().flat_map(|word| word.to_le_bytes()).take(self.row_bytes()));
    }

    /// Hits of every packed query, as wanted, among the ids whose byte in `filter` isn't 0.
    ///
    /// # Errors
    /// Whatever is wrong with the call.
    #[inline(never)]
    pub fn search(&self, queries: &[u8], wanted: Wanted, filter: Option<&[u8]>) -> Result<BitHits, Error> {
        let count = self.check_rows("queries", queries)?;
        if let Wanted::Nearest(k) = wanted {
            if k == 0 {
                return Err(Error::InvalidOption("k must be at least 1".into()));
            }
            if count.saturating_mul(k.min(self.count())) > MOST_HITS {
                return Err(Error::Limits(format!("{count} queries × k = {k} are too many hits for one call: {MOST_HITS} are the most")));
            }
        }
        if let Some(filter) = filter.filter(|filter| filter.len() != self.next_id as usize) {
            let expected = format!("{}, one byte an id", self.next_id);
            return Err(Error::DataLength { term: None, what: "filter".into(), got: filter.len(), expected });
        }
        let passing: Option<Vec<u8>> = filter.map(|filter| self.ids.iter().map(|id| filter[id as usize]).collect());
        let mut asked = Vec::with_capacity(count * self.width);
        self.put(queries, &mut asked);
        let block = (BLOCK_BYTES / (WORD * self.width)).max(1);
        let slots = self.count();
        let tasks: Vec<Range<usize>> =
            (0..slots).step_by(TASK_BLOCKS * block).map(|start| start..slots.min(start + TASK_BLOCKS * block)).collect();
        let parts = threads::map(tasks, count * slots * self.width / 4, |slots| {
            let mut finding: Vec<Finding> = (0..count).map(|_| Finding::new(wanted)).collect();
            let mut distances = vec![0; block];
            for start in slots.clone().step_by(block) {
                let slots = start..slots.end.min(start + block);
                let rows = &self.rows[slots.start * self.width..slots.end * self.width];
                for (query, finding) in asked.chunks_exact(self.width).zip(&mut finding) {
                    let distances = &mut distances[..slots.len()];
                    Instructions::best().run(Distances { rows, query, distances });
                    for (start, distances) in (slots.start..).step_by(TOGETHER).zip(distances.chunks(TOGETHER)) {
                        // Few runs have any that is near enough.
                        if distances.iter().copied().fold(u32::MAX, u32::min) > finding.reach {
                            continue;
                        }
                        for (slot, &distance) in (start..).zip(distances) {
                            if distance <= finding.reach && passing.as_ref().is_none_or(|passing| passing[slot] != 0) {
                                finding.take((distance, slot as u32));
                            }
                        }
                    }
                }
            }
            finding
        });
        let mut all: Vec<Finding> = (0..count).map(|_| Finding::new(wanted)).collect();
        for part in parts {
            all.iter_mut().zip(part).for_each(|(all, part)| all.merge(part));
        }
        let mut hits = BitHits { offsets: vec![0], ..BitHits::default() };
        for finding in all {
            for (distance, slot) in finding.into_sorted() {
                hits.ids.push(self.ids.get(slot as usize));
                hits.distances.push(distance);
            }
            let end = u32::try_from(hits.ids.len()).map_err(|_| Error::Limits("there are too many hits for one call".into()))?;
            hits.offsets.push(end);
        }
        Ok(hits)
    }
}
