//! Nodes that no path leads to, as may be where pruning took the last edge to one: each gets an edge from a node near to it, as in NSG
//! (Fu et al., *Fast approximate nearest neighbor search with the navigating spreading-out graph*, 2019, algorithm 2), so that all are
//! reached from the starts.

use super::NONE;
use super::build::Lists;

/// Nodes between two looks at the clock.
const SLICE: usize = 1 << 12;

/// Search for what is reached.
pub struct Reach {
    /// The node that each was reached from, itself for a start; [`NONE`] for those that were not reached yet.
    from: Vec<u32>,
    /// Nodes whose neighbours were not looked at.
    open: Vec<u32>,
    /// All nodes before it are reached.
    next: usize,
}

impl Reach {
    /// From some starts on.
    pub fn new(nodes: usize, starts: impl Iterator<Item = u32>) -> Self {
        let (mut from, mut open) = (vec![NONE; nodes], Vec::new());
        for start in starts {
            if std::mem::replace(&mut from[start as usize], start) == NONE {
                open.push(start);
            }
        }
        Self { from, open, next: 0 }
    }

    /// Goes on until a node is found that nothing leads to, all are reached (`Ok(None)`), or the time is up (`Err`).
    pub fn lost(&mut self, lists: &Lists, is_late: impl Fn() -> bool) -> Result<Option<u32>, ()> {
        loop {
            for _ in 0..SLICE {
                let Some(node) = self.open.pop() else {
                    self.next += self.from[self.next..].iter().take_while(|from| **from != NONE).count();
                    return Ok((self.next < self.from.len()).then_some(self.next as u32));
                };
                for &neighbour in lists.of(node) {
                    if self.from[neighbour as usize] == NONE {
                        self.from[neighbour as usize] = node;
                        self.open.push(neighbour);
                    }
                }
            }
            if is_late() {
                return Err(());
            }
        }
    }

    /// Leads to a lost node from the first of these nodes that has room, and from any other one if none has.
    pub fn connect(
        &mut self,
        lists: &mut Lists,
        degree: u32,
        lost: u32,
        near: impl Iterator<Item = u32>,
        distance: impl Fn(u32, u32) -> f32,
    ) {
        let all = (0..self.from.len() as u32).filter(|&node| node != lost);
        for node in near.chain(all) {
            if self.from[node as usize] == NONE {
                continue;
            }
            let mut neighbours = lists.of(node).to_vec();
            if neighbours.len() < degree as usize {
                neighbours.push(lost);
            } else {
                // Edges that the search came along are those that lead to something.
                let spare = (0..neighbours.len()).filter(|&place| self.from[neighbours[place] as usize] != node);
                let far = |&place: &usize| distance(node, neighbours[place]);
                let Some(place) = spare.max_by(|a, b| far(a).total_cmp(&far(b))) else { continue };
                neighbours[place] = lost;
            }
            lists.put(node, &neighbours);
            self.from[lost as usize] = node;
            self.open.push(lost);
            return;
        }
        unreachable!("a tree has fewer edges than nodes, and every node room for several");
    }
}
