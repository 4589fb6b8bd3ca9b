//! Twins of the shaders that build graphs: `walk`, `link`.

use crate::Workgroups;
use crate::real::Real;
use leastwise_kernels as kernels;
use std::ops::Range;

const NO_NODE: u32 = u32::MAX;

/// α² of robust pruning: a candidate is left out if a chosen neighbour is nearer to it by this factor than the node is.
pub const SLACK: f32 = 1.15;

/// Candidates for a list with too many.
const KEPT: usize = 512;

/// The vectors of the workgroups to do, where each has one.
fn vectors(work: &Workgroups, count: u32) -> Range<usize> {
    work.groups.start.min(count) as usize..work.groups.end.min(count) as usize
}

/// Vectors in bytes, and their scales.
struct Vectors<'a, R> {
    scales: &'a [R],
    rows: &'a [u32],
    words: usize,
}

/// A vector of a beam, or a candidate.
#[derive(Clone, Copy)]
struct Seen<R> {
    distance: R,
    node: u32,
    is_expanded: bool,
}

impl<R: Real> Seen<R> {
    fn precedes(&self, other: &Self) -> bool {
        self.distance < other.distance || (self.distance == other.distance && self.node < other.node)
    }
}

impl<R: Real> Vectors<'_, R> {
    fn row(&self, node: u32) -> &[u32] {
        &self.rows[node as usize * self.words..][..self.words]
    }

    /// Squared distance.
    fn distance(&self, a: u32, b: u32) -> R {
        let products = |(a, b): (&u32, &u32)| -> i32 {
            a.to_le_bytes().into_iter().zip(b.to_le_bytes()).map(|(a, b)| i32::from(a as i8) * i32::from(b as i8)).sum()
        };
        let product: i32 = self.row(a).iter().zip(self.row(b)).map(products).sum();
        let [[a_unit, a_length], [b_unit, b_length]] = [a, b].map(|node| [0, 1].map(|k| self.scales[2 * node as usize + k]));
        let scaled = a_unit * b_unit * R::from_f64(f64::from(product));
        let distance = a_length + b_length - (scaled + scaled);
        if distance > R::ZERO { distance } else { R::ZERO }
    }

    fn seen(&self, from: u32, node: u32) -> Seen<R> {
        Seen { distance: self.distance(from, node), node, is_expanded: false }
    }

    /// Robust pruning of candidates, the nearest first.
    fn choose(&self, candidates: &[Seen<R>], degree: usize) -> Vec<u32> {
        let (mut chosen, slack) = (Vec::new(), R::from_f64(f64::from(SLACK)));
        for candidate in candidates {
            if chosen.len() == degree {
                break;
            }
            if !chosen.iter().any(|&other| slack * self.distance(other, candidate.node) <= candidate.distance) {
                chosen.push(candidate.node);
            }
        }
        chosen
    }
}

/// Puts a vector in its place, unless it is there.
fn insert<R: Real>(beam: &mut Vec<Seen<R>>, seen: Seen<R>) {
    let place = beam.partition_point(|other| other.precedes(&seen));
    if beam.get(place).is_none_or(|other| other.node != seen.node) {
        beam.insert(place, seen);
    }
}

/// Writes a list: how many it has, and these.
fn write(list: &mut [u32], nodes: &[u32]) {
    list[0] = nodes.len() as u32;
    list[1..][..nodes.len()].copy_from_slice(nodes);
}

/// Neighbours of vectors that enter a graph.
pub fn walk<R: Real>(work: &Workgroups, args: kernels::graph::Walk, bindings: kernels::graph::WalkSlices<R>) {
    let [effort, degree, places, starts] = [args.effort, args.degree, args.places, args.starts].map(|word| word as usize);
    let kernels::graph::WalkSlices { scales, rows, table, lists, found } = bindings;
    let all = Vectors { scales, rows, words: args.words as usize };
    for place in vectors(work, args.vectors) {
        let vector = args.first as usize + place;
        let entry = &table[vector * (starts + 1)..][..starts + 1];
        let node = entry[0];
        let (mut beam, mut fallen) = (Vec::new(), Vec::new());
        entry[1..].iter().filter(|start| **start != NO_NODE).for_each(|&start| insert(&mut beam, all.seen(node, start)));
        loop {
            while beam.len() > effort {
                fallen.extend(beam.pop().filter(|seen| seen.is_expanded));
            }
            let Some(next) = beam.iter_mut().find(|seen| !seen.is_expanded) else { break };
            next.is_expanded = true;
            let list = &lists[next.node as usize * (places + 1)..][..places + 1];
            for &other in &list[1..][..list[0] as usize] {
                let seen = all.seen(node, other);
                // What fell out stays out.
                if beam.len() < effort || beam.last().is_some_and(|last| seen.precedes(last)) {
                    insert(&mut beam, seen);
                    if beam.len() > effort {
                        fallen.extend(beam.pop().filter(|seen| seen.is_expanded));
                    }
                }
            }
        }
        beam.extend(fallen.into_iter().rev().take(effort));
        beam.retain(|seen| seen.node != node);
        write(&mut found[vector * (degree + 1)..][..degree + 1], &all.choose(&beam, degree));
    }
}

/// Edges back enter lists.
pub fn link<R: Real>(work: &Workgroups, args: kernels::graph::Link, bindings: kernels::graph::LinkSlices<R>) {
    let [degree, places, most] = [args.degree, args.places, args.most].map(|word| word as usize);
    let kernels::graph::LinkSlices { scales, rows, table, lists, found } = bindings;
    let all = Vectors { scales, rows, words: args.words as usize };
    for place in vectors(work, args.targets) {
        let [node, row, first, count] = [0, 1, 2, 3].map(|word| table[4 * (args.first as usize + place) + word]);
        let list = &mut lists[node as usize * (places + 1)..][..places + 1];
        let old = if row == NO_NODE { &list[..] } else { &found[row as usize * (degree + 1)..][..degree + 1] };
        let mut nodes = old[1..][..old[0] as usize].to_vec();
        let before = nodes.len();
        for &source in &table[(args.sources + first) as usize..][..count as usize] {
            if !nodes[..before].contains(&source) {
                nodes.push(source);
            }
        }
        if nodes.len() > most {
            let mut candidates: Vec<Seen<R>> = nodes.iter().map(|&other| all.seen(node, other)).collect();
            candidates.sort_by(|a, b| if a.precedes(b) { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater });
            candidates.truncate(KEPT);
            nodes = all.choose(&candidates, degree);
        }
        write(list, &nodes);
    }
}
