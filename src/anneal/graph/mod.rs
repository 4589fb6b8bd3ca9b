//! Proximity graph over the vectors of an index: a query walks along its edges, and looks at a few hundred vectors of millions.
//!
//! The graph is Vamana's (Subramanya et al., *DiskANN*, 2019): every vector points to at most `degree` others, chosen by robust pruning. It is
//! built in batches that double in size, without locks (Manohar et al., *ParlayANN*, 2024): all vectors of a batch search the graph as it was
//! before the batch, then edges back are added target by target. So its bits depend neither on the number of threads nor on the machine's
//! clock. In the end all nodes are reached from the starts. Walks begin at the vectors nearest to the anchors that are nearest to the query, where DiskANN begins at one medoid.
//!
//! `device` has a GPU do the walks and the pruning, of which the same graph comes. `whole` has the distances that a graph is built by, `bits` those that queries walk by.

pub(crate) mod bits;
pub(crate) mod build;
pub(crate) mod connect;
pub mod device;
pub(crate) mod walk;
pub(crate) mod whole;

use std::ops::Range;

/// Neighbours that a node may have.
pub const DEGREES: Range<u32> = 4..129;

/// No node.
pub const NONE: u32 = u32::MAX;

/// Lists whose starts a walk begins from.
pub const STARTS: usize = 4;

/// Access to the neighbours of a node.
pub trait Edges {
    /// Appends the neighbours of a node.
    fn extend(&self, node: u32, out: &mut Vec<u32>);
}

/// Graph as it is kept and stored: rows of `degree` numbers of `width` bits. Unused places have the node's own number. Node i is the vector in slot i;
/// vectors in later slots are not in the graph yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    degree: u32,
    /// Beam of the searches that found the neighbours.
    effort: u32,
    width: u32,
    nodes: u32,
    /// Vectors removed since it was built whole.
    removed: u32,
    rows: Vec<u8>,
    /// Start of every list: its vector nearest to the anchor, or [`NONE`].
    starts: Vec<u32>,
}

/// Bytes after the rows, so that eight can be read anywhere.
const PADDING: usize = 8;

/// Bits of a node's number.
fn width_of(nodes: u32) -> u32 {
    (nodes.max(2) - 1).ilog2() + 1
}

impl Graph {
    /// A graph of lists of neighbours: `stride` places a node, of which `counts` are used.
    fn pack(lists: &build::Lists, degree: u32, effort: u32, removed: u32, starts: Vec<u32>) -> Self {
        let nodes = lists.count() as u32;
        let mut graph = Self::blank(degree, effort, nodes, removed, starts);
        for node in 0..nodes {
            graph.put(node, lists.of(node));
        }
        graph
    }

    fn blank(degree: u32, effort: u32, nodes: u32, removed: u32, starts: Vec<u32>) -> Self {
        let width = width_of(nodes);
        let rows = vec![0; Self::row_bytes_of(degree, width) * nodes as usize + PADDING];
        Self { degree, effort, width, nodes, removed, rows, starts }
    }

    fn row_bytes_of(degree: u32, width: u32) -> usize {
        (degree as usize * width as usize).div_ceil(8)
    }

    /// Writes a row that was zero.
    fn put(&mut self, node: u32, neighbours: &[u32]) {
        let bytes = Self::row_bytes_of(self.degree, self.width);
        let row = &mut self.rows[node as usize * bytes..][..bytes];
        for place in 0..self.degree as usize {
            let number = neighbours.get(place).copied().unwrap_or(node);
            crate::code::words::put(row, place * self.width as usize, number, self.width);
        }
    }

    /// Nodes: vectors that are in it.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Most neighbours of a node.
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// Beam that it was built with.
    pub fn effort(&self) -> u32 {
        self.effort
    }

    /// Vectors removed since it was built whole.
    pub fn removed(&self) -> u32 {
        self.removed
    }

    /// Start of a list.
    pub fn start(&self, list: usize) -> Option<u32> {
        self.starts.get(list).copied().filter(|&start| start != NONE)
    }

    /// Bytes of memory, and of its sections in a file.
    pub fn bytes(&self) -> usize {
        self.rows().len() + 4 * self.starts.len()
    }

    /// Rows as they are stored.
    pub fn rows(&self) -> &[u8] {
        &self.rows[..self.rows.len() - PADDING]
    }

    /// Starts as they are stored.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Bytes that the rows of so many nodes take.
    pub fn stored_bytes(degree: u32, nodes: u32) -> u128 {
        Self::row_bytes_of(degree, width_of(nodes)) as u128 * u128::from(nodes)
    }

    /// A graph of what a file has, if it can be one.
    ///
    /// # Errors
    /// The first thing of it that makes no sense.
    pub fn from_stored(degree: u32, effort: u32, nodes: u32, removed: u32, mut rows: Vec<u8>, starts: Vec<u32>) -> Result<Self, String> {
        if !DEGREES.contains(&degree) || rows.len() as u128 != Self::stored_bytes(degree, nodes) {
            return Err(format!("its graph has {} bytes for {nodes} nodes of {degree} neighbours", rows.len()));
        }
        if let Some(&start) = starts.iter().find(|&&start| start != NONE && start >= nodes) {
            return Err(format!("its graph starts at node {start}, but there are {nodes}"));
        }
        rows.reserve_exact(PADDING);
        rows.resize(rows.len() + PADDING, 0);
        let graph = Self { degree, effort, width: width_of(nodes), nodes, removed, rows, starts };
        let mut neighbours = Vec::new();
        for node in 0..nodes {
            neighbours.clear();
            graph.extend(node, &mut neighbours);
            if let Some(neighbour) = neighbours.iter().find(|&&neighbour| neighbour >= nodes) {
                return Err(format!("node {node} of its graph points to node {neighbour}, but there are {nodes}"));
            }
        }
        Ok(graph)
    }

    /// Takes nodes out. Nodes that pointed to one of them point to its neighbours instead, as far as there is room. `label` gives the lists of the
    /// nodes that stay, by their new numbers; `kept` may have more entries than there are nodes.
    pub fn retain(&mut self, kept: &[bool], label: impl Fn(usize) -> u32) {
        let kept = &kept[..self.nodes as usize];
        let mut numbers = vec![NONE; kept.len()];
        let mut nodes = 0;
        for (number, _) in numbers.iter_mut().zip(kept).filter(|(_, kept)| **kept) {
            *number = nodes;
            nodes += 1;
        }
        if nodes == self.nodes {
            return;
        }
        let mut starts = std::mem::take(&mut self.starts);
        starts.iter_mut().filter(|start| **start != NONE).for_each(|start| *start = numbers[*start as usize]);
        for node in 0..nodes as usize {
            if let Some(start) = starts.get_mut(label(node) as usize).filter(|start| **start == NONE) {
                *start = node as u32;
            }
        }
        let mut graph = Self::blank(self.degree, self.effort, nodes, self.removed + (self.nodes - nodes), starts);
        let (mut old, mut row, mut around) = (Vec::new(), Vec::new(), Vec::new());
        for node in (0..self.nodes).filter(|&node| kept[node as usize]) {
            old.clear();
            row.clear();
            self.extend(node, &mut old);
            row.extend(old.iter().filter(|&&neighbour| kept[neighbour as usize]).map(|&neighbour| numbers[neighbour as usize]));
            let own = numbers[node as usize];
            around.clear();
            for &gone in old.iter().filter(|&&neighbour| !kept[neighbour as usize]) {
                self.extend(gone, &mut around);
            }
            around.retain(|&next| kept[next as usize]);
            for &next in &around {
                let number = numbers[next as usize];
                if row.len() < self.degree as usize && number != own && !row.contains(&number) {
                    row.push(number);
                }
            }
            graph.put(own, &row);
        }
        *self = graph;
    }
}

impl Edges for Graph {
    #[inline(always)]
    fn extend(&self, node: u32, out: &mut Vec<u32>) {
        let (width, bytes) = (self.width as usize, Self::row_bytes_of(self.degree, self.width));
        let row = &self.rows[node as usize * bytes..][..bytes + PADDING];
        let mask = (1_u64 << width) - 1;
        for place in 0..self.degree as usize {
            let bit = place * width;
            let eight = u64::from_le_bytes(row[bit / 8..bit / 8 + 8].try_into().expect("eight bytes"));
            let neighbour = (eight >> (bit % 8) & mask) as u32;
            if neighbour != node {
                out.push(neighbour);
            }
        }
    }
}
