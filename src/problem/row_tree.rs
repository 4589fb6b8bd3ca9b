//! The tree along which the entries of rows are summed.
//!
//! A row may have millions of entries: one lane that added them up would be slow, and in f32 wrong. A node adds up to
//! [`FAN_IN`] neighbours of the level below, and the last level has a node a row. Each level is an incidence list for
//! the kernel `gather`: the lowest one over the columns that the entries stored, the others over the nodes below, whose
//! components lie one after the other. All in the order of the entries, so sums have one order.

use crate::device::BufferId;

/// Items that a node adds up at most.
const FAN_IN: usize = 256;

pub struct RowTree {
    pub buffer: BufferId,
    pub len: u32,
    /// Where the column map begins: component k is column k.
    pub map: u32,
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

impl RowTree {
    /// The tree over entries of these rows, in order, without its buffers; and its words. `widths` are those of S and T.
    pub fn new(rows: &[u32], widths: [u32; 2]) -> (Self, Vec<u32>) {
        let mut words: Vec<u32> = (1..=widths[0].max(widths[1])).collect();
        let mut levels: Vec<Level> = Vec::new();
        let mut items: Vec<u32> = rows.to_vec();
        loop {
            let (mut starts, mut owners) = (vec![0], Vec::new());
            for part in items.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(FAN_IN)) {
                starts.push(starts[starts.len() - 1] + part.len() as u32);
                owners.push(part[0]);
            }
            let is_last = owners.windows(2).all(|pair| pair[0] != pair[1]);
            let first_word = |words: &mut Vec<u32>, list: &mut dyn Iterator<Item = u32>| {
                let first = words.len() as u32;
                words.extend(list);
                first
            };
            let count = owners.len() as u32;
            let starts = first_word(&mut words, &mut starts.into_iter());
            let ids = if is_last { first_word(&mut words, &mut owners.iter().copied()) } else { first_word(&mut words, &mut (0..count)) };
            let below = items.len() as u32;
            let entries = if levels.is_empty() {
                [first_word(&mut words, &mut (0..below)); 2]
            } else {
                widths.map(|width| first_word(&mut words, &mut (0..below).map(|node| node * width)))
            };
            levels.push(Level { count, starts, ids, entries });
            if is_last {
                break;
            }
            items = owners;
        }
        let tree = Self { buffer: BufferId(u32::MAX), len: words.len() as u32, map: 0, levels, nodes: Vec::new() };
        (tree, words)
    }

    /// Elements of the buffers that its nodes need.
    pub fn node_lens(&self, widths: [u32; 2]) -> Vec<u32> {
        let inner = &self.levels[..self.levels.len() - 1];
        inner.iter().take(2).map(|level| level.count * widths[0].max(widths[1])).collect()
    }

    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        std::iter::once(self.buffer).chain(self.nodes.iter().map(|nodes| nodes.0))
    }
}
