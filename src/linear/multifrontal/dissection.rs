//! Nested dissection (George, "Nested dissection of a regular finite element mesh", 1973) of a graph by levels of a breadth-first search:
//! a part is divided by a level of few unknowns near its middle, which is eliminated after both sides; small parts are ordered by minimum
//! degree. Unlike the order of minimum degree alone, of a long chain it makes a tree with many branches.

use crate::minimum_degree;
use crate::sparse::Graph;
use leastwise_base::task::{Pace, Stopped};

/// Parts that are not divided have at most this share of all unknowns.
const PARTS: u64 = 64;
/// Neighbours, times √n, of a variable that is eliminated last.
const DENSE: f64 = 10.0;
/// A variable may have so many neighbours in any case.
const FEW: usize = 16;
/// Operations that a neighbour takes, about.
const EACH: usize = 8;
/// No part.
const NONE: u32 = u32::MAX;

/// The variables in the order of elimination; `widths` are their unknowns.
pub async fn order(graph: &Graph, widths: &[u32], pace: &Pace) -> Result<Vec<u32>, Stopped> {
    let n = widths.len();
    let most = (DENSE * (n as f64).sqrt()).max(FEW as f64) as usize;
    let (mut part, mut reversed): (Vec<u32>, Vec<u32>) = (0..n as u32).partition(|&variable| graph.of(variable).len() <= most);
    let mut dissection = Dissection { graph, widths, owner: vec![NONE; n], level: vec![0; n], local: vec![0; n], parts: 0 };
    let least = dissection.weight(&part) / PARTS;
    let mut pending = vec![std::mem::take(&mut part)];
    while let Some(part) = pending.pop() {
        let divided = if dissection.weight(&part) > least { dissection.divided(&part) } else { None };
        let entries: usize = part.iter().map(|&variable| graph.of(variable).len() + 1).sum();
        pace.spend(4 * EACH * entries).await?;
        match divided {
            Some(Divided { sides, separator }) => {
                reversed.extend(separator);
                pending.extend(sides);
            }
            None => reversed.extend(dissection.by_minimum_degree(&part, pace).await?.into_iter().rev()),
        }
    }
    reversed.reverse();
    Ok(reversed)
}

struct Dissection<'a> {
    graph: &'a Graph,
    widths: &'a [u32],
    /// Part that each variable is in, level of the last search, and place in a part.
    owner: Vec<u32>,
    level: Vec<u32>,
    local: Vec<u32>,
    parts: u32,
}

/// A part without its separator.
struct Divided {
    sides: [Vec<u32>; 2],
    separator: Vec<u32>,
}

impl Dissection<'_> {
    fn weight(&self, part: &[u32]) -> u64 {
        part.iter().map(|&variable| u64::from(self.widths[variable as usize])).sum()
    }

    /// Marks variables as a part of their own.
    fn mark(&mut self, part: &[u32]) -> u32 {
        self.parts += 1;
        part.iter().for_each(|&variable| self.owner[variable as usize] = self.parts);
        self.parts
    }

    /// Appends what a search from a variable finds among those marked as `from`, by levels; marks them as `to`.
    fn search(&mut self, start: u32, from: u32, to: u32, found: &mut Vec<u32>) {
        let mut next = found.len();
        (self.owner[start as usize], self.level[start as usize]) = (to, 0);
        found.push(start);
        while let Some(&variable) = found.get(next) {
            next += 1;
            for &neighbour in self.graph.of(variable) {
                if self.owner[neighbour as usize] == from {
                    self.owner[neighbour as usize] = to;
                    self.level[neighbour as usize] = self.level[variable as usize] + 1;
                    found.push(neighbour);
                }
            }
        }
    }

    /// Two sides of about the same weight; none where a separator would be too large.
    fn divided(&mut self, part: &[u32]) -> Option<Divided> {
        let here = self.mark(part);
        // Components one after the other.
        self.parts += 1;
        let (mut found, mut ends, seen) = (Vec::with_capacity(part.len()), Vec::new(), self.parts);
        for &variable in part {
            if self.owner[variable as usize] == here {
                self.search(variable, here, seen, &mut found);
                ends.push(found.len());
            }
        }
        if ends.len() > 1 {
            let half = self.weight(part) / 2;
            let (mut begin, mut sides) = (0, [Vec::new(), Vec::new()]);
            let mut weight = 0;
            for end in ends {
                let own = self.weight(&found[begin..end]);
                // The side that a large component leaves room on.
                let side = usize::from(weight + own / 2 > half && weight > 0);
                sides[side].extend(&found[begin..end]);
                weight += if side == 0 { own } else { 0 };
                begin = end;
            }
            return sides.iter().all(|side| !side.is_empty()).then_some(Divided { sides, separator: Vec::new() });
        }
        // From one end to the other.
        for _ in 0..2 {
            let start = *found.last()?;
            let from = self.mark(&found);
            found.clear();
            self.parts += 1;
            self.search(start, from, self.parts, &mut found);
        }
        self.divided_by_level(&found)
    }

    /// The same by the best level of a search.
    fn divided_by_level(&self, found: &[u32]) -> Option<Divided> {
        let levels = self.level[*found.last()? as usize] as usize + 1;
        let mut weights = vec![0u64; levels];
        found.iter().for_each(|&variable| weights[self.level[variable as usize] as usize] += u64::from(self.widths[variable as usize]));
        let all: u64 = weights.iter().sum();
        let mut best: Option<(f64, usize)> = None;
        let mut before = 0;
        for (level, &own) in weights.iter().enumerate() {
            let smaller = before.min(all - before - own);
            before += own;
            let share = own as f64 / smaller as f64;
            if smaller > 0 && share < best.map_or(0.5, |(least, _)| least) {
                best = Some((share, level));
            }
        }
        let cut = best?.1 as u32;
        let (mut sides, mut separator) = ([Vec::new(), Vec::new()], Vec::new());
        for &variable in found {
            let own = self.level[variable as usize];
            let is_between = || {
                self.graph.of(variable).iter().any(|&other| self.owner[other as usize] == self.parts && self.level[other as usize] > cut)
            };
            if own < cut || own == cut && !is_between() {
                sides[0].push(variable);
            } else if own == cut {
                separator.push(variable);
            } else {
                sides[1].push(variable);
            }
        }
        Some(Divided { sides, separator })
    }

    async fn by_minimum_degree(&mut self, part: &[u32], pace: &Pace) -> Result<Vec<u32>, Stopped> {
        let here = self.mark(part);
        (0..).zip(part).for_each(|(place, &variable)| self.local[variable as usize] = place);
        let (mut starts, mut neighbours) = (vec![0], Vec::new());
        for &variable in part {
            let own = self.graph.of(variable).iter().filter(|&&other| self.owner[other as usize] == here);
            neighbours.extend(own.map(|&other| self.local[other as usize]));
            starts.push(neighbours.len() as u32);
        }
        let found = minimum_degree::order(&starts, &neighbours, pace).await?;
        Ok(found.order.into_iter().map(|place| part[place as usize]).collect())
    }
}
