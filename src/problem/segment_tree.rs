//! Trees that sum long lists, segment by segment: the entries of rows, and what variables get that many instances share.
//!
//! A row may have millions of entries: one lane that added them up would be slow, and in f32 wrong. A node adds up to
//! [`FAN_IN`] neighbours of the level below, and the last level has a node a row. Each level is an incidence list for
//! the kernel `gather`: the lowest one over the columns that the entries stored, the others over the nodes below, whose
//! components lie one after the other. All in the order of the entries, so sums have one order.

use super::chunk::Allocation;
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::{BufferId, DeviceError, Kind};

/// Items that a node adds up at most: one lane does, one after the other, so on a GPU more levels cost less than longer nodes.
const FAN_IN: usize = 32;

/// The same for nodes of more components than [`WIDE`], which occupy lanes enough, and would take much memory.
const FAN_IN_OF_WIDE: usize = 256;
const WIDE: u32 = 64;

/// Tree of partial sums over the rows of a list.
pub struct SegmentTree {
    /// Index buffer with all levels.
    pub buffer: BufferId,
    /// Words of `buffer`.
    pub len: u32,
    /// Where the column map of nodes begins: component k is column k.
    pub map: u32,
    /// The same for what the lowest level adds up, for either width; and the bits of a slot number there.
    pub leaf_maps: [u32; 2],
    /// Bits of a slot number in the entries of the lowest level.
    pub bits: u32,
    /// Levels from the lowest to the one with a node a row.
    pub levels: Vec<Level>,
    /// Where levels put their nodes by turns, but for the last one, and how many elements these have.
    pub nodes: Vec<(BufferId, u32)>,
}

pub struct Level {
    /// Nodes.
    pub count: u32,
    /// First words of its node starts, of what its nodes are called, and of its entries for either width of a node.
    pub starts: u32,
    pub ids: u32,
    pub entries: [u32; 2],
}

/// What the lowest level adds up.
pub struct Leaves<'a> {
    /// Entries of an incidence list, in the order of their rows, and the column maps for either width.
    pub entries: &'a [u32],
    pub bits: u32,
    pub maps: [Vec<u32>; 2],
}

/// Operations that an item takes, about.
const EACH: usize = 4;

/// Appends words; gives the place of the first.
fn first_word(words: &mut Vec<u32>, list: impl IntoIterator<Item = u32>) -> u32 {
    let first = words.len() as u32;
    words.extend(list);
    first
}

/// Appends so many words, which threads share; gives the place of the first.
fn many_words(words: &mut Vec<u32>, count: u32, word: impl Fn(u32) -> u32 + Sync + Send) -> u32 {
    let first = words.len() as u32;
    // Levels above have a thirtieth of them.
    words.reserve(count as usize + count as usize / 8);
    parallel::extend(words, 0..count, word);
    first
}

impl SegmentTree {
    /// The tree over entries of rows in order, given as rows and how many entries they have, without its buffers; and its words. `widths` are
    /// those of a node. Without `leaves`, the entries are numbered through and their components are columns.
    pub async fn new(
        rows: Vec<(u32, u32)>,
        widths: [u32; 2],
        leaves: Option<Leaves<'_>>,
        pace: &Pace,
    ) -> Result<(Self, Vec<u32>), Stopped> {
        let mut words: Vec<u32> = (1..=widths[0].max(widths[1])).collect();
        let (mut leaf_maps, mut bits, mut given) = ([0; 2], 0, None);
        if let Some(Leaves { entries, bits: of_slots, maps }) = leaves {
            leaf_maps = maps.map(|map| first_word(&mut words, map));
            (bits, given) = (of_slots, Some(entries));
        }
        let mut levels: Vec<Level> = Vec::new();
        let fan_in = if widths[0].max(widths[1]) > WIDE { FAN_IN_OF_WIDE } else { FAN_IN } as u32;
        let mut items = rows;
        loop {
            let below: u32 = items.iter().map(|(_, items)| items).sum();
            let mut starts = vec![0];
            for (_, items) in &mut items {
                let end = starts[starts.len() - 1] + *items;
                starts.extend((starts[starts.len() - 1]..end).step_by(fan_in as usize).skip(1));
                starts.push(end);
                *items = items.div_ceil(fan_in);
            }
            pace.spend(EACH * (below / fan_in) as usize + EACH * items.len()).await?;
            let is_last = items.iter().all(|(_, nodes)| *nodes == 1);
            let count = starts.len() as u32 - 1;
            let starts = first_word(&mut words, starts);
            let ids = if is_last { first_word(&mut words, items.iter().map(|(row, _)| *row)) } else { first_word(&mut words, 0..count) };
            let entries = match given.take() {
                Some(entries) => [many_words(&mut words, below, |entry| entries[entry as usize]); 2],
                None if levels.is_empty() => [many_words(&mut words, below, |entry| entry); 2],
                None => widths.map(|width| first_word(&mut words, (0..below).map(|node| node.wrapping_mul(width)))),
            };
            pace.spend(EACH * below as usize).await?;
            levels.push(Level { count, starts, ids, entries });
            if is_last {
                break;
            }
        }
        let len = words.len() as u32;
        Ok((Self { buffer: BufferId(u32::MAX), len, map: 0, leaf_maps, bits, levels, nodes: Vec::new() }, words))
    }

    /// Makes its buffers. What was made is in it also after an error.
    pub(super) fn allocate(&mut self, allocation: &mut Allocation, widths: [u32; 2], label: &str) -> Result<(), DeviceError> {
        self.buffer = allocation.buffer(Kind::Index, self.len, label)?;
        let inner = &self.levels[..self.levels.len() - 1];
        for level in inner.iter().take(2) {
            // Places of nodes are words: what goes beyond was not written into the list either.
            let (label, limit) = (format!("{label}, partial sums"), Some(u64::from(u32::MAX)));
            let elements = u64::from(level.count) * u64::from(widths[0].max(widths[1]));
            let len = u32::try_from(elements).map_err(|_| DeviceError::OutOfMemory { what: label.clone(), needed: elements, limit })?;
            self.nodes.push((allocation.buffer(Kind::Real, len, &label)?, len));
        }
        Ok(())
    }

    /// Every buffer that it owns.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        std::iter::once(self.buffer).chain(self.nodes.iter().map(|nodes| nodes.0))
    }
}
