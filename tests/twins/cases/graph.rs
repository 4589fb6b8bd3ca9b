//! Kernels that build proximity graphs. Numbers are small and units 1, so that every distance is a whole number, and many are equal: what is
//! chosen is the same in any precision.

use crate::twins::harness::{Case, POISONED_WORD};
use crate::twins::value::Random;
use leastwise::kernels::{StaticKernel, graph};
use std::collections::BTreeSet;

const NO_NODE: u32 = u32::MAX;

/// α² of robust pruning.
const SLACK: f64 = 1.15f32 as f64;

/// Words of all vectors of a case at most.
const ROOM: usize = 100_000;

/// Vectors in small whole numbers, some of them equal, and their lists.
struct Vectors {
    dim: usize,
    numbers: Vec<i8>,
    /// Neighbours of each, at most `places`.
    lists: Vec<Vec<u32>>,
    places: usize,
}

impl Vectors {
    fn new(count: usize, dim: usize, places: usize, random: &mut Random) -> Self {
        let reach = [1, 3, 127][random.below(3) as usize].min(if dim > 20 { 3 } else { 127 });
        let mut numbers: Vec<i8> = (0..count * dim).map(|_| (random.below(2 * reach + 1) as i32 - reach as i32) as i8).collect();
        for node in 1..count {
            if random.below(5) == 0 {
                let same = random.below(node as u32) as usize;
                numbers.copy_within(same * dim..(same + 1) * dim, node * dim);
            }
        }
        let list = |node: usize, random: &mut Random| {
            let wanted = random.below(places.min(count - 1) as u32 + 1) as usize;
            distinct(count, wanted, node as u32, random)
        };
        let lists = (0..count).map(|node| list(node, random)).collect();
        Self { dim, numbers, lists, places }
    }

    fn count(&self) -> usize {
        self.lists.len()
    }

    fn words(&self) -> usize {
        self.dim.div_ceil(4)
    }

    fn row(&self, node: u32) -> &[i8] {
        &self.numbers[node as usize * self.dim..][..self.dim]
    }

    fn distance(&self, a: u32, b: u32) -> i64 {
        self.row(a).iter().zip(self.row(b)).map(|(a, b)| (i64::from(*a) - i64::from(*b)).pow(2)).sum()
    }

    /// Robust pruning of candidates in ascending order.
    fn pruned(&self, candidates: impl IntoIterator<Item = (i64, u32)>, degree: usize) -> Vec<u32> {
        let mut chosen: Vec<u32> = Vec::new();
        for (distance, node) in candidates {
            let is_covered = chosen.iter().any(|&other| SLACK * self.distance(other, node) as f64 <= distance as f64);
            if !is_covered && chosen.len() < degree {
                chosen.push(node);
            }
        }
        chosen
    }

    /// Neighbours that a walk finds, which marks what it has seen.
    fn walked(&self, node: u32, starts: &[u32], effort: usize, degree: usize) -> Vec<u32> {
        let mut seen: BTreeSet<u32> = starts.iter().copied().collect();
        let mut beam: BTreeSet<(i64, u32)> = starts.iter().map(|&start| (self.distance(node, start), start)).collect();
        let mut expanded = BTreeSet::new();
        loop {
            while beam.len() > effort {
                beam.pop_last();
            }
            let Some(next) = beam.iter().copied().find(|entry| !expanded.contains(entry)) else { break };
            expanded.insert(next);
            for &other in &self.lists[next.1 as usize] {
                if seen.insert(other) {
                    beam.insert((self.distance(node, other), other));
                }
            }
        }
        let candidates = expanded.into_iter().take(2 * effort).filter(|(_, other)| *other != node);
        self.pruned(candidates, degree)
    }

    /// The list with edges back.
    fn linked(&self, node: u32, old: &[u32], sources: &[u32], degree: usize, most: usize) -> Vec<u32> {
        let mut all = old.to_vec();
        all.extend(sources.iter().filter(|source| !old.contains(source)));
        if all.len() <= most {
            return all;
        }
        let candidates: BTreeSet<(i64, u32)> = all.iter().map(|&other| (self.distance(node, other), other)).collect();
        self.pruned(candidates.into_iter().take(512), degree)
    }

    fn bind(&self, case: &mut Case, scales: usize, rows: usize, lists: usize) {
        let word = |numbers: &[i8]| numbers.iter().enumerate().fold(0, |word, (k, number)| word | u32::from(*number as u8) << (8 * k));
        case.words(rows, self.numbers.chunks(self.dim).flat_map(|row| row.chunks(4).map(word)).collect());
        let scale = |node| [1.0, self.row(node).iter().map(|number| f64::from(*number).powi(2)).sum()];
        case.reals(scales, (0..self.count() as u32).flat_map(scale).collect());
        let mut table = vec![POISONED_WORD; self.count() * (self.places + 1)];
        for (list, places) in self.lists.iter().zip(table.chunks_exact_mut(self.places + 1)) {
            places[0] = list.len() as u32;
            places[1..][..list.len()].copy_from_slice(list);
        }
        case.words(lists, table);
    }
}

/// So many different vectors, but for one.
fn distinct(count: usize, wanted: usize, but: u32, random: &mut Random) -> Vec<u32> {
    let mut all: Vec<u32> = (0..count as u32).filter(|node| *node != but).collect();
    random.shuffle(&mut all);
    all.truncate(wanted);
    all
}

/// Degree and places of a list.
fn degree_of(random: &mut Random) -> (usize, usize) {
    let degree = [4, 5, 32, 64, 128][random.below(5) as usize];
    (degree, degree + usize::div_ceil(degree, 3))
}

fn dim_of(count: usize, random: &mut Random) -> usize {
    [1, 3, 17, 100, 130][random.below(5) as usize].min((ROOM / count).max(1) * 4)
}

fn expect_list(case: &mut Case, slot: usize, at: usize, list: &[u32]) {
    case.expect(slot, at, list.len() as f64);
    list.iter().enumerate().for_each(|(place, node)| case.expect(slot, at + 1 + place, f64::from(*node)));
}

/// Vectors that are in the graph themselves, too; beams of one and of as many as there may be; few starts, or none.
pub fn walk(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |effort: usize| {
        let (degree, places) = degree_of(random);
        let count = (size + 1).min(400);
        let dim = dim_of(count, random);
        let all = Vectors::new(count, dim, places, random);
        let (first, vectors) = (random.below(3) as usize, size.min(12));
        let starts = 1 + random.below(5) as usize;
        let name = format!("{count} × {dim}, degree {degree}, effort {effort}, {starts} starts");
        let mut case = Case::new(StaticKernel::GraphWalk, name);
        let args = graph::Walk {
            vectors: vectors as u32,
            first: first as u32,
            words: all.words() as u32,
            effort: effort as u32,
            degree: degree as u32,
            places: places as u32,
            starts: starts as u32,
        };
        case.dispatch((vectors * group) as u32, args);
        all.bind(&mut case, graph::Walk::SCALES, graph::Walk::ROWS, graph::Walk::LISTS);
        let mut table = vec![POISONED_WORD; first * (starts + 1)];
        case.words(graph::Walk::FOUND, vec![POISONED_WORD; (first + vectors) * (degree + 1) + 3]);
        for row in first..first + vectors {
            let node = random.below(count as u32);
            let wanted = random.below(starts as u32 + 1) as usize;
            let from = distinct(count, wanted, node, random);
            table.push(node);
            table.extend(&from);
            table.resize((row + 1) * (starts + 1), NO_NODE);
            expect_list(&mut case, graph::Walk::FOUND, row * (degree + 1), &all.walked(node, &from, effort, degree));
        }
        table.push(POISONED_WORD);
        case.indices(table);
        case
    };
    [1, 2, 13, 96, 256].map(case).into()
}

/// Lists that are found, or were there; few sources, more than there is room for, and more than are sorted at once; some are there already.
pub fn link(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |(is_hub, shrinks): (bool, bool)| {
        let (degree, places) = degree_of(random);
        let count = if is_hub { 1400 } else { (size + 1).min(400) };
        let dim = if is_hub { [1, 3, 17][random.below(3) as usize] } else { dim_of(count, random) };
        let all = Vectors::new(count, dim, places, random);
        let (first, targets) = (random.below(3) as usize, size.min(if is_hub { 2 } else { 12 }).min(count));
        let most = if shrinks { degree } else { places };
        let nodes = distinct(count, targets, NO_NODE, random);
        let mut case = Case::new(StaticKernel::GraphLink, format!("{count} × {dim}, degree {degree}, most {most}, hubs {is_hub}"));
        all.bind(&mut case, graph::Link::SCALES, graph::Link::ROWS, graph::Link::LISTS);
        let rows = targets + 2;
        let mut found = vec![POISONED_WORD; rows * (degree + 1)];
        let (mut heads, mut sources) = (vec![POISONED_WORD; 4 * first], Vec::new());
        for (row, &node) in nodes.iter().enumerate() {
            let is_new = !shrinks && random.below(3) == 0;
            let old = if is_new {
                let wanted = random.below(degree.min(count - 1) as u32 + 1) as usize;
                let old = distinct(count, wanted, node, random);
                let to = &mut found[(row + 2) * (degree + 1)..][..degree + 1];
                to[0] = old.len() as u32;
                to[1..][..old.len()].copy_from_slice(&old);
                old
            } else {
                all.lists[node as usize].clone()
            };
            let wanted = match random.below(3) {
                _ if shrinks => 0,
                0 => 0,
                _ if is_hub => [500, 513, 1100, 1399][random.below(4) as usize],
                1 => 1 + random.below(3) as usize,
                _ => random.below(count as u32) as usize,
            };
            let mut new = distinct(count, wanted, node, random);
            new.sort_unstable();
            let row = if is_new { row as u32 + 2 } else { NO_NODE };
            heads.extend([node, row, sources.len() as u32, new.len() as u32]);
            let list = all.linked(node, &old, &new, degree, most);
            expect_list(&mut case, graph::Link::LISTS, node as usize * (places + 1), &list);
            sources.extend(new);
        }
        let args = graph::Link {
            targets: targets as u32,
            first: first as u32,
            sources: heads.len() as u32,
            words: all.words() as u32,
            degree: degree as u32,
            places: places as u32,
            most: most as u32,
        };
        case.dispatch((targets * group) as u32, args);
        case.words(graph::Link::FOUND, found);
        case.indices([heads, sources, vec![POISONED_WORD]].concat());
        case
    };
    [(false, false), (true, false), (false, true)].map(case).into()
}
