//! Patches: the nodes of a graph in groups of neighbours, grown breadth first from seeds at the edge of those before. The same graph
//! gives the same patches.

use leastwise_base::task::{Pace, Stopped};
use std::collections::VecDeque;

/// A graph by rows: where each node's neighbours begin, and one past the last.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// First neighbour of every node, and the end of the last.
    pub starts: Vec<u32>,
    /// Neighbours, node after node.
    pub neighbours: Vec<u32>,
}

/// Edges between two counts of what was done.
const RUN: usize = 1 << 14;

/// What is in no patch.
pub const NONE: u32 = u32::MAX;

impl Graph {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Neighbours of a node.
    pub fn of(&self, node: u32) -> &[u32] {
        &self.neighbours[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// A node's neighbours are in the order of the edges.
    pub async fn new(nodes: usize, edges: &[(u32, u32)], pace: &Pace) -> Result<Self, Stopped> {
        let mut starts = vec![0u32; nodes + 1];
        for edges in edges.chunks(RUN) {
            pace.spend(8 * edges.len()).await?;
            for &(a, b) in edges {
                starts[a as usize + 1] += 1;
                starts[b as usize + 1] += 1;
            }
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let (mut next, mut neighbours) = (starts.clone(), vec![0; starts[nodes] as usize]);
        for edges in edges.chunks(RUN) {
            pace.spend(16 * edges.len()).await?;
            for (a, b) in edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]) {
                neighbours[next[a as usize] as usize] = b;
                next[a as usize] += 1;
            }
        }
        Ok(Self { starts, neighbours })
    }

    /// The patch of every node that takes part, and how many there are: of `size` nodes, more or less.
    pub async fn patches(&self, size: u32, takes_part: impl Fn(u32) -> bool, pace: &Pace) -> Result<(Vec<u32>, u32), Stopped> {
        let nodes = self.nodes() as u32;
        let (mut owners, mut counts) = (vec![NONE; nodes as usize], Vec::new());
        let mut edge = VecDeque::new();
        // When a node was last seen, by the number of the patch.
        let mut seen = vec![NONE; nodes as usize];
        let mut next = 0;
        loop {
            let is_open = |node: u32, owners: &[u32]| owners[node as usize] == NONE && takes_part(node);
            let mut seed = None;
            while let Some(node) = edge.pop_front() {
                if is_open(node, &owners) {
                    seed = Some(node);
                    break;
                }
            }
            while seed.is_none() && next < nodes {
                seed = is_open(next, &owners).then_some(next);
                next += 1;
            }
            let Some(seed) = seed else { break };
            let (number, mut count, mut queue) = (counts.len() as u32, 0, VecDeque::from([seed]));
            seen[seed as usize] = number;
            while let Some(node) = queue.pop_front() {
                if count == size {
                    edge.push_back(node);
                    continue;
                }
                owners[node as usize] = number;
                count += 1;
                pace.spend(16 + 8 * self.of(node).len()).await?;
                for &other in self.of(node) {
                    if seen[other as usize] != number && is_open(other, &owners) {
                        seen[other as usize] = number;
                        queue.push_back(other);
                    }
                }
            }
            counts.push(count);
        }
        self.merge(&mut owners, &mut counts, size, pace).await?;
        pace.spend(8 * owners.len()).await?;
        Ok(number(&mut owners, counts.len()))
    }

    /// Joins what is less than half a patch to the smallest of its neighbours.
    async fn merge(&self, owners: &mut [u32], counts: &mut [u32], size: u32, pace: &Pace) -> Result<(), Stopped> {
        let mut members: Vec<Vec<u32>> = counts.iter().map(|&count| Vec::with_capacity(count as usize)).collect();
        for (node, &owner) in (0..).zip(&*owners) {
            if owner != NONE {
                members[owner as usize].push(node);
            }
        }
        pace.spend(8 * owners.len()).await?;
        let mut order: Vec<u32> = (0..counts.len() as u32).filter(|&patch| 2 * counts[patch as usize] < size).collect();
        order.sort_by_key(|&patch| counts[patch as usize]);
        for patch in order {
            if 2 * counts[patch as usize] >= size {
                continue;
            }
            pace.spend(64 * members[patch as usize].len()).await?;
            let around = members[patch as usize].iter().flat_map(|&node| self.of(node)).map(|&node| owners[node as usize]);
            let smallest = around.filter(|&other| other != NONE && other != patch).min_by_key(|&other| (counts[other as usize], other));
            let Some(to) = smallest else { continue };
            let moved = std::mem::take(&mut members[patch as usize]);
            moved.iter().for_each(|&node| owners[node as usize] = to);
            counts[to as usize] += std::mem::take(&mut counts[patch as usize]);
            members[to as usize].extend(moved);
        }
        Ok(())
    }
}

/// Numbers patches in the order of their first nodes.
fn number(owners: &mut [u32], patches: usize) -> (Vec<u32>, u32) {
    let (mut numbers, mut count) = (vec![NONE; patches], 0);
    for owner in owners.iter_mut().filter(|owner| **owner != NONE) {
        let number = &mut numbers[*owner as usize];
        if *number == NONE {
            *number = count;
            count += 1;
        }
        *owner = *number;
    }
    (owners.to_vec(), count)
}
