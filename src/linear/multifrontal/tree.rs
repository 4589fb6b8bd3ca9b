//! The assembly tree of an order of elimination: which variables are eliminated together, and which rows that touches.
//!
//! Everything is found block by block: a variable's scalars have the same neighbours.

use crate::sparse::{Graph, TooLarge};
use std::ops::Range;

/// No front.
pub const NONE: u32 = u32::MAX;
/// Entries of a factor at most.
const MOST: f64 = i32::MAX as f64;

/// Fronts, children before parents, so that the fronts of a subtree are a range that ends with its root.
pub struct Tree {
    /// Variables in the order of elimination.
    pub order: Vec<u32>,
    /// Position of each variable in the order.
    pub inverse: Vec<u32>,
    /// First scalar of each position, and one past the last.
    pub first: Vec<u32>,
    /// Fronts.
    pub fronts: Vec<Front>,
    /// Positions of the variables below each front, ascending.
    pub rows: Vec<u32>,
    /// Multiplications of a factorisation.
    pub work: f64,
}

/// Variables that are eliminated together.
#[derive(Clone, Debug)]
pub struct Front {
    /// Positions of its own variables.
    pub variables: Range<u32>,
    /// Those of variables that its elimination changes, in [`Tree::rows`].
    pub rows: Range<usize>,
    /// Scalars of its own variables.
    pub width: usize,
    /// Scalars of both.
    pub height: usize,
    /// First of its values in the factor: columns of the whole height.
    pub values: usize,
    /// Front that its changes go to.
    pub parent: u32,
    /// First front of its subtree.
    pub descendants: u32,
    /// Multiplications of the front, and of its subtree.
    pub work: f64,
    /// Multiplications of its subtree.
    pub subtree: f64,
}

impl Front {
    /// Scalars below its own.
    pub fn below(&self) -> usize {
        self.height - self.width
    }

    /// Range of its values in the factor.
    pub fn panel(&self) -> Range<usize> {
        self.values..self.values + self.height * self.width
    }
}

/// The elimination tree of an order (Liu, "The role of elimination trees in sparse factorization", 1990): the parent of each position.
fn elimination_tree(graph: &Graph, order: &[u32], inverse: &[u32]) -> Vec<u32> {
    let n = order.len();
    let (mut parent, mut ancestor) = (vec![NONE; n], vec![NONE; n]);
    for row in 0..n as u32 {
        for &neighbour in graph.of(order[row as usize]) {
            let mut at = inverse[neighbour as usize];
            while at < row {
                let next = std::mem::replace(&mut ancestor[at as usize], row);
                if next == NONE {
                    parent[at as usize] = row;
                    break;
                }
                at = next;
            }
        }
    }
    parent
}

/// Scalars below each position in the factor: row by row, along the paths from its entries up the tree.
fn scalars_below(graph: &Graph, order: &[u32], inverse: &[u32], parent: &[u32], width: impl Fn(u32) -> u32) -> Vec<u64> {
    let n = order.len();
    let (mut below, mut seen) = (vec![0u64; n], vec![NONE; n]);
    for row in 0..n as u32 {
        seen[row as usize] = row;
        let variable = order[row as usize];
        for &neighbour in graph.of(variable) {
            let mut at = inverse[neighbour as usize];
            while at < row && seen[at as usize] != row {
                seen[at as usize] = row;
                below[at as usize] += u64::from(width(variable));
                at = parent[at as usize];
            }
        }
    }
    below
}

/// Multiplications that so many columns take, of a front of that height.
fn multiplications(width: f64, height: f64) -> f64 {
    let below = height - width;
    width * width * width / 6.0 + width * width * below / 2.0 + width * below * below / 2.0
}

/// The positions in postorder, of children the smallest subtree first.
fn postorder(parent: &[u32], work: &[f64]) -> Vec<u32> {
    let n = parent.len();
    let mut subtree = work.to_vec();
    for at in 0..n {
        if parent[at] != NONE {
            subtree[parent[at] as usize] += subtree[at];
        }
    }
    let mut by_work: Vec<u32> = (0..n as u32).collect();
    // Stable: ties stay in the order of elimination.
    by_work.sort_by(|&a, &b| subtree[a as usize].total_cmp(&subtree[b as usize]));
    let (mut child, mut sibling) = (vec![NONE; n], vec![NONE; n]);
    let mut root = NONE;
    for &at in by_work.iter().rev() {
        let head = if parent[at as usize] == NONE { &mut root } else { &mut child[parent[at as usize] as usize] };
        sibling[at as usize] = std::mem::replace(head, at);
    }
    let (mut turns, mut stack) = (Vec::with_capacity(n), Vec::new());
    while root != NONE {
        stack.push(root);
        root = sibling[root as usize];
        while let Some(&at) = stack.last() {
            let next = child[at as usize];
            if next == NONE {
                turns.push(at);
                stack.pop();
            } else {
                child[at as usize] = sibling[next as usize];
                stack.push(next);
            }
        }
    }
    turns
}

/// True if so many columns, of whose entries this part would be zeros, are worth being together (Chen, Davis, Hager & Rajamanickam,
/// *Algorithm 887: CHOLMOD*, 2008, section 2.3).
fn is_worth(columns: usize, zeros: f64) -> bool {
    columns <= 4 || columns <= 16 && zeros < 0.8 || columns <= 48 && zeros < 0.1 || zeros < 0.05
}

impl Tree {
    /// The tree of an order of a graph's variables, of whose scalars these are the first ones, and one past the last.
    pub fn new(graph: &Graph, scalars: &[u32], order: &[u32]) -> Result<Self, TooLarge> {
        let n = order.len();
        let width = |variable: u32| scalars[variable as usize + 1] - scalars[variable as usize];
        let mut inverse = vec![0u32; n];
        (0..).zip(order).for_each(|(place, &variable)| inverse[variable as usize] = place);
        let parent = elimination_tree(graph, order, &inverse);
        let below = scalars_below(graph, order, &inverse, &parent, width);
        let own = |place: usize| f64::from(width(order[place]));
        let work: Vec<f64> = (0..n).map(|place| multiplications(own(place), own(place) + below[place] as f64)).collect();
        let turns = postorder(&parent, &work);
        // Everything by its turn.
        let mut turn = vec![0u32; n];
        (0..).zip(&turns).for_each(|(place, &at)| turn[at as usize] = place);
        let parent: Vec<u32> =
            turns.iter().map(|&at| parent[at as usize]).map(|at| if at == NONE { NONE } else { turn[at as usize] }).collect();
        let below: Vec<u64> = turns.iter().map(|&at| below[at as usize]).collect();
        let order: Vec<u32> = turns.iter().map(|&at| order[at as usize]).collect();
        (0..).zip(&order).for_each(|(place, &variable)| inverse[variable as usize] = place);
        let mut first = vec![0u32; n + 1];
        for place in 0..n {
            first[place + 1] = first[place] + width(order[place]);
        }
        let mut made = Self { order, inverse, first, fronts: Vec::new(), rows: Vec::new(), work: 0.0 };
        made.join(&parent, &below)?;
        made.find_rows(graph);
        Ok(made)
    }

    /// Joins variables to fronts.
    fn join(&mut self, parent: &[u32], below: &[u64]) -> Result<(), TooLarge> {
        // Positions, and entries of the factor that are not zeros.
        let mut joined: Vec<(Range<u32>, f64)> = Vec::new();
        for place in 0..self.order.len() as u32 {
            let scalars = |range: &Range<u32>| (self.first[range.end as usize] - self.first[range.start as usize]) as usize;
            let last = below[place as usize] as f64;
            let stored = |width: usize| width as f64 * (width as f64 + 1.0) / 2.0 + width as f64 * last;
            let range = place..place + 1;
            let mut own = (range.clone(), stored(scalars(&range)));
            while let Some((before, entries)) = joined.last() {
                if parent[before.end as usize - 1] != own.0.start {
                    break;
                }
                let both = (before.start..own.0.end, entries + own.1);
                let width = scalars(&both.0);
                if !is_worth(width, 1.0 - both.1 / stored(width)) {
                    break;
                }
                own = both;
                joined.pop();
            }
            joined.push(own);
        }
        let mut values = 0.0;
        for (variables, _) in joined {
            let width = (self.first[variables.end as usize] - self.first[variables.start as usize]) as usize;
            let height = width + below[variables.end as usize - 1] as usize;
            let work = multiplications(width as f64, height as f64);
            let front = Front {
                variables,
                rows: 0..0,
                width,
                height,
                values: values as usize,
                parent: NONE,
                descendants: self.fronts.len() as u32,
                work,
                subtree: work,
            };
            values += width as f64 * height as f64;
            if values > MOST {
                return Err(TooLarge);
            }
            self.work += work;
            self.fronts.push(front);
        }
        Ok(())
    }

    /// Rows of every front: those of its variables and of its children that are behind it; and parents.
    fn find_rows(&mut self, graph: &Graph) {
        let n = self.order.len();
        let mut front_of = vec![0u32; n];
        for (number, front) in (0..).zip(&self.fronts) {
            front_of[front.variables.start as usize..front.variables.end as usize].fill(number);
        }
        let count = self.fronts.len();
        let (mut child, mut sibling, mut seen) = (vec![NONE; count], vec![NONE; count], vec![NONE; n]);
        for number in 0..count {
            let Front { variables, .. } = self.fronts[number].clone();
            let begin = self.rows.len();
            let mut take = |place: u32, rows: &mut Vec<u32>| {
                if place >= variables.end && std::mem::replace(&mut seen[place as usize], number as u32) != number as u32 {
                    rows.push(place);
                }
            };
            for place in variables.clone() {
                for &neighbour in graph.of(self.order[place as usize]) {
                    take(self.inverse[neighbour as usize], &mut self.rows);
                }
            }
            let mut next = child[number];
            while next != NONE {
                for place in self.fronts[next as usize].rows.clone() {
                    let row = self.rows[place];
                    take(row, &mut self.rows);
                }
                next = sibling[next as usize];
            }
            self.rows[begin..].sort_unstable();
            let parent = self.rows.get(begin).map_or(NONE, |&row| front_of[row as usize]);
            let front = &mut self.fronts[number];
            (front.rows, front.parent) = (begin..self.rows.len(), parent);
            let (descendants, subtree) = (front.descendants, front.subtree);
            if parent != NONE {
                sibling[number] = std::mem::replace(&mut child[parent as usize], number as u32);
                let parent = &mut self.fronts[parent as usize];
                parent.descendants = parent.descendants.min(descendants);
                parent.subtree += subtree;
            }
        }
    }

    /// Scalars of the variable at a position.
    pub fn width(&self, place: u32) -> usize {
        (self.first[place as usize + 1] - self.first[place as usize]) as usize
    }

    /// Positions below a front.
    pub fn rows(&self, front: &Front) -> &[u32] {
        &self.rows[front.rows.clone()]
    }

    /// Values of a factor.
    pub fn values(&self) -> usize {
        self.fronts.last().map_or(0, |front| front.panel().end)
    }
}
