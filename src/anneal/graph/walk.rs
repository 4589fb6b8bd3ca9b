//! Greedy search along a graph's edges with a beam: of the nearest nodes seen, the nearest that was not expanded is expanded next.

use super::Edges;

/// A node of a beam, and its distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    pub distance: f32,
    pub node: u32,
    is_expanded: bool,
}

impl Seen {
    pub fn new(distance: f32, node: u32) -> Self {
        Self { distance, node, is_expanded: false }
    }

    /// Nearer, or as near with a lower number.
    #[inline(always)]
    pub fn precedes(&self, other: &Self) -> bool {
        self.distance < other.distance || (self.distance == other.distance && self.node < other.node)
    }
}

/// Memory of one walk after another.
#[derive(Default)]
pub struct Walk {
    /// A bit a node.
    marks: Vec<u64>,
    /// Nodes that are marked.
    marked: Vec<u32>,
    /// The nearest of them, ascending.
    beam: Vec<Seen>,
    /// Those that were expanded, in order.
    expanded: Vec<Seen>,
    fresh: Vec<u32>,
}

impl Walk {
    /// Walks from `starts` until the `effort` nearest nodes seen are all expanded. `distances` appends those of some nodes.
    #[inline(always)]
    pub fn run(
        &mut self,
        edges: &impl Edges,
        nodes: usize,
        starts: impl Iterator<Item = u32>,
        effort: usize,
        mut distances: impl FnMut(&[u32], &mut Vec<f32>),
    ) {
        self.clear(nodes);
        let mut found = Vec::with_capacity(256);
        self.fresh.extend(starts);
        self.take_fresh();
        let mut at = 0;
        loop {
            found.clear();
            distances(&self.fresh, &mut found);
            for (place, &distance) in found.iter().enumerate() {
                let seen = Seen::new(distance, self.fresh[place]);
                at = at.min(self.offer(seen, effort));
            }
            while self.beam.get(at).is_some_and(|seen| seen.is_expanded) {
                at += 1;
            }
            let Some(next) = self.beam.get_mut(at) else { break };
            next.is_expanded = true;
            let next = *next;
            self.expanded.push(next);
            self.fresh.clear();
            edges.extend(next.node, &mut self.fresh);
            self.take_fresh();
        }
    }

    fn clear(&mut self, nodes: usize) {
        self.marks.resize(nodes.div_ceil(64), 0);
        for node in self.marked.drain(..) {
            if let Some(word) = self.marks.get_mut(node as usize / 64) {
                *word = 0;
            }
        }
        self.beam.clear();
        self.expanded.clear();
        self.fresh.clear();
    }

    /// Marks fresh nodes, and drops those that were marked.
    #[inline(always)]
    fn take_fresh(&mut self) {
        let Self { marks, marked, fresh, .. } = self;
        fresh.retain(|&node| {
            let (word, bit) = (node as usize / 64, 1_u64 << (node % 64));
            let is_new = marks[word] & bit == 0;
            if is_new {
                marks[word] |= bit;
                marked.push(node);
            }
            is_new
        });
    }

    /// Puts a node into the beam; gives its place, or the beam's length.
    #[inline(always)]
    fn offer(&mut self, seen: Seen, effort: usize) -> usize {
        if self.beam.len() >= effort {
            if !self.beam.last().is_some_and(|last| seen.precedes(last)) {
                return self.beam.len();
            }
            self.beam.pop();
        }
        let place = self.beam.partition_point(|other| other.precedes(&seen));
        self.beam.insert(place, seen);
        place
    }

    /// The nearest nodes seen, the nearest first.
    pub fn beam(&self) -> &[Seen] {
        &self.beam
    }

    /// Nodes that were expanded.
    pub fn expanded(&self) -> &[Seen] {
        &self.expanded
    }
}
