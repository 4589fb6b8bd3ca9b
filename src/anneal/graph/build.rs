//! Building a graph, or going on with one, in slices of time: batches of vectors that double, each against the graph before it.

use super::connect::Reach;
use super::walk::{Seen, Walk};
use super::whole::Whole;
use super::{Edges, Graph, NONE};
use leastwise_cpu::block::{Instructions, SimdKernel};
use leastwise_cpu::threads;
pub use leastwise_cpu::twins::graph::SLACK;
use std::collections::BTreeSet;
use std::ops::Range;

/// Share of the vectors that a batch may have.
const BATCH_SHARE: usize = 50;

/// Candidates for a list that is pruned, the nearest: no more are looked at, so that kernels have room for them.
pub(super) const MOST_CANDIDATES: usize = 512;

/// Vectors of a task.
const TASK: usize = 32;

/// Neighbours of nodes while a graph is built: so many places a node that lists are pruned seldom.
pub struct Lists {
    stride: usize,
    places: Vec<u32>,
    counts: Vec<u32>,
}

/// Places of a list, of so many neighbours in the end.
pub(super) const fn stride_of(degree: u32) -> usize {
    degree as usize + (degree as usize).div_ceil(3)
}

impl Lists {
    fn new(count: usize, degree: u32) -> Self {
        let stride = stride_of(degree);
        Self { stride, places: vec![NONE; count * stride], counts: vec![0; count] }
    }

    /// Places of a node.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Nodes.
    pub fn count(&self) -> usize {
        self.counts.len()
    }

    /// Neighbours of a node.
    #[inline(always)]
    pub fn of(&self, node: u32) -> &[u32] {
        &self.places[node as usize * self.stride..][..self.counts[node as usize] as usize]
    }

    /// Replaces the neighbours of a node.
    pub fn put(&mut self, node: u32, neighbours: &[u32]) {
        self.places[node as usize * self.stride..][..neighbours.len()].copy_from_slice(neighbours);
        self.counts[node as usize] = neighbours.len() as u32;
    }
}

impl Edges for Lists {
    #[inline(always)]
    fn extend(&self, node: u32, out: &mut Vec<u32>) {
        out.extend_from_slice(self.of(node));
    }
}

/// Options of a build.
pub struct Plan {
    /// Most neighbours of a node.
    pub degree: u32,
    /// Beam of the searches for them.
    pub effort: u32,
    /// The list of every vector.
    pub labels: Vec<u32>,
    /// Start of every list, or [`NONE`].
    pub starts: Vec<u32>,
    /// Lists near to each list, itself first: as many of each.
    pub near: Vec<u32>,
}

impl Plan {
    /// Lists near to each.
    pub(super) fn near_count(&self) -> usize {
        self.near.len() / self.starts.len().max(1)
    }
}

/// A graph that is being built.
pub struct Builder {
    pub(super) plan: Plan,
    pub(super) whole: Whole,
    pub(super) lists: Lists,
    /// Vectors that are still to come, or were inserted, in the order of insertion.
    pub(super) order: Vec<u32>,
    removed: u32,
    /// Nodes there were before.
    pub(super) before: usize,
    /// Of `order`: so many are inserted, and the batch ends here.
    pub(super) inserted: usize,
    pub(super) batch: usize,
    /// Of the batch: neighbours found, by vector.
    found: Vec<(u32, Vec<u32>)>,
    /// Edges back, by target; whether they are made, and how many targets are done.
    back: Vec<(u32, Vec<u32>)>,
    is_turned: bool,
    returned: usize,
    pub(super) is_shrunk: usize,
    /// Nodes that are reached, once all lists are short.
    reach: Option<Reach>,
    walks: Vec<Walk>,
    pub(super) entry: u32,
}

/// Numbers in their order, each where it comes first.
fn without_repeats(numbers: &mut [u32]) -> &[u32] {
    let mut distinct = 0;
    for place in 0..numbers.len() {
        if !numbers[..distinct].contains(&numbers[place]) {
            numbers[distinct] = numbers[place];
            distinct += 1;
        }
    }
    &numbers[..distinct]
}

/// A number that looks random, of another.
fn hashed(number: u32) -> u64 {
    let mut bits = u64::from(number).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl Builder {
    /// Of all these vectors, of which those of a graph are in it already.
    pub fn new(mut plan: Plan, whole: Whole, graph: Option<&Graph>) -> Self {
        let count = whole.rows.len();
        let mut lists = Lists::new(count, plan.degree);
        let before = graph.map_or(0, |graph| graph.nodes() as usize);
        if let Some(graph) = graph {
            let mut neighbours = Vec::new();
            for node in 0..graph.nodes() {
                neighbours.clear();
                graph.extend(node, &mut neighbours);
                // A file may name a neighbour twice; beams, here and on devices, have room for each once.
                let distinct = without_repeats(&mut neighbours);
                lists.put(node, distinct);
            }
            for (start, old) in plan.starts.iter_mut().zip(graph.starts()).filter(|(_, old)| **old != NONE) {
                *start = *old;
            }
        }
        let firsts: BTreeSet<u32> = plan.starts.iter().copied().filter(|&start| start != NONE).collect();
        let mut order: Vec<u32> = (before as u32..count as u32).collect();
        // Starts first: walks begin there.
        order.sort_unstable_by_key(|node| (!firsts.contains(node), hashed(*node), *node));
        let entry = if before > 0 { firsts.first().copied().unwrap_or(0) } else { order.first().copied().unwrap_or(0) };
        let (removed, walks) = (graph.map_or(0, Graph::removed), Vec::new());
        let mut builder = Self {
            plan,
            whole,
            lists,
            order,
            removed,
            before,
            inserted: 0,
            batch: 0,
            found: Vec::new(),
            back: Vec::new(),
            is_turned: false,
            returned: 0,
            is_shrunk: 0,
            reach: None,
            walks,
            entry,
        };
        builder.begin_batch();
        builder
    }

    /// Vectors that are to be inserted, and those that are.
    pub fn progress(&self) -> (usize, usize) {
        (self.inserted + self.found.len() / 2, self.order.len())
    }

    /// Vectors that a batch has at most.
    pub(super) fn largest_batch(&self) -> usize {
        (self.lists.count() / BATCH_SHARE).max(1)
    }

    /// True while no vector was inserted: the lists are those of the graph before.
    pub fn is_fresh(&self) -> bool {
        self.inserted == 0
    }

    /// Vectors that are still to be inserted.
    pub fn left(&self) -> usize {
        self.order.len() - self.inserted
    }

    /// Lists of some nodes as a device has them, `each` numbers a node: how many there are, then these.
    pub(super) fn keep_lists(&mut self, nodes: Range<usize>, read: &[f64], each: usize) {
        let mut list = Vec::with_capacity(each);
        for (node, numbers) in nodes.zip(read.chunks_exact(each)) {
            list.clear();
            list.extend(numbers[1..][..numbers[0] as usize].iter().map(|&number| number as u32));
            self.lists.put(node as u32, &list);
        }
    }

    pub(super) fn begin_batch(&mut self) {
        let most = self.largest_batch();
        let doubled = (self.before + self.inserted).clamp(1, most);
        self.batch = self.order.len().min(self.inserted + doubled);
        self.found.clear();
        self.back.clear();
        (self.is_turned, self.returned) = (false, 0);
    }

    /// Goes on until the time is up (`is_late`): true when all are inserted.
    pub fn advance(&mut self, is_late: impl Fn() -> bool) -> bool {
        loop {
            if self.inserted < self.order.len() {
                if self.inserted + self.found.len() < self.batch {
                    self.search_some();
                } else if !self.is_turned {
                    self.turn_around();
                } else if self.returned < self.back.len() {
                    self.return_some();
                } else {
                    self.inserted = self.batch;
                    self.begin_batch();
                }
            } else if self.is_shrunk < self.lists.count() {
                self.shrink_some();
            } else if self.reach_some(&is_late) {
                return true;
            }
            if is_late() {
                return false;
            }
        }
    }

    /// Neighbours of some vectors of the batch, by walks in the graph as it is.
    fn search_some(&mut self) {
        let from = self.inserted + self.found.len();
        let some = &self.order[from..self.batch.min(from + TASK * threads::count())];
        let mut walks = std::mem::take(&mut self.walks);
        walks.resize_with(walks.len().max(some.len().div_ceil(TASK)), Walk::default);
        let tasks: Vec<_> = some.chunks(TASK).zip(walks.drain(..)).collect();
        let done = threads::map(tasks, usize::MAX, |(nodes, mut walk)| {
            let mut found = Vec::with_capacity(nodes.len());
            Instructions::best().run(Search { builder: self, nodes, walk: &mut walk, found: &mut found });
            (found, walk)
        });
        for (found, walk) in done {
            self.found.extend(found);
            self.walks.push(walk);
        }
    }

    /// The batch's edges enter the graph, and are put in order by target.
    fn turn_around(&mut self) {
        self.is_turned = true;
        let mut pairs = Vec::new();
        for (node, neighbours) in &self.found {
            self.lists.put(*node, neighbours);
            pairs.extend(neighbours.iter().map(|&neighbour| (neighbour, *node)));
        }
        pairs.sort_unstable();
        for (target, source) in pairs {
            match self.back.last_mut().filter(|(last, _)| *last == target) {
                Some((_, sources)) => sources.push(source),
                None => self.back.push((target, vec![source])),
            }
        }
    }

    /// Adds edges back to some targets; too many are pruned.
    fn return_some(&mut self) {
        let end = self.back.len().min(self.returned + TASK * threads::count());
        let tasks: Vec<_> = self.back[self.returned..end].chunks(TASK).collect();
        let done = threads::map(tasks, usize::MAX, |targets| {
            let mut found = Vec::with_capacity(targets.len());
            Instructions::best().run(Return { builder: self, targets, found: &mut found });
            found
        });
        for (node, neighbours) in done.into_iter().flatten() {
            self.lists.put(node, &neighbours);
        }
        self.returned = end;
    }

    /// Prunes some of the lists that have more than they may have in the end.
    fn shrink_some(&mut self) {
        let end = self.lists.count().min(self.is_shrunk + 8 * TASK * threads::count());
        let long: Vec<(u32, Vec<u32>)> = (self.is_shrunk as u32..end as u32)
            .filter(|&node| self.lists.of(node).len() > self.plan.degree as usize)
            .map(|node| (node, Vec::new()))
            .collect();
        let done = threads::map(long.chunks(TASK).collect(), usize::MAX, |targets| {
            let mut found = Vec::with_capacity(targets.len());
            Instructions::best().run(Return { builder: self, targets, found: &mut found });
            found
        });
        for (node, neighbours) in done.into_iter().flatten() {
            self.lists.put(node, &neighbours[..neighbours.len().min(self.plan.degree as usize)]);
        }
        self.is_shrunk = end;
    }

    /// Goes on to look for nodes that are not reached, and leads to one: true if there is none.
    fn reach_some(&mut self, is_late: impl Fn() -> bool) -> bool {
        let Self { plan, whole, lists, entry, walks, .. } = self;
        let entries = plan.starts.iter().copied().filter(|&start| start != NONE).chain((!whole.rows.is_empty()).then_some(*entry));
        let reach = self.reach.get_or_insert_with(|| Reach::new(lists.count(), entries));
        let node = match reach.lost(lists, is_late) {
            Ok(Some(node)) => node,
            Ok(None) => return true,
            Err(()) => return false,
        };
        let mut walk = walks.pop().unwrap_or_default();
        walk.run(lists, lists.count(), starts_of(plan, *entry, node), plan.effort as usize, |fresh, out| {
            out.extend(fresh.iter().map(|&other| whole.distance(node, other)));
        });
        let near = walk.beam().iter().map(|seen| seen.node);
        reach.connect(lists, plan.degree, node, near, |node, other| whole.distance(node, other));
        walks.push(walk);
        false
    }

    /// The graph, when all is done.
    pub fn finish(self) -> Graph {
        let Plan { degree, effort, starts, .. } = self.plan;
        Graph::pack(&self.lists, degree, effort, self.removed, starts)
    }

    /// Robust pruning of candidates, ascending: the nearest, and of the others those that no chosen one is nearer to by the factor α.
    #[inline(always)]
    fn prune(&self, candidates: &[Seen], chosen: &mut Vec<u32>) {
        chosen.clear();
        let degree = self.plan.degree as usize;
        for candidate in candidates {
            if chosen.len() == degree {
                break;
            }
            let is_covered = chosen.iter().any(|&other| SLACK * self.whole.distance(other, candidate.node) <= candidate.distance);
            if !is_covered {
                chosen.push(candidate.node);
            }
        }
    }
}

/// Nodes that a walk to one begins at: the starts of the lists near to its own, and the entry.
pub(super) fn starts_of(plan: &Plan, entry: u32, node: u32) -> impl Iterator<Item = u32> {
    let near = plan.near_count();
    let list = plan.labels[node as usize] as usize;
    let starts = plan.near[list * near..][..near].iter().map(|&list| plan.starts[list as usize]);
    starts.chain([entry]).filter(move |&start| start != NONE && start != node)
}

struct Search<'a> {
    builder: &'a Builder,
    nodes: &'a [u32],
    walk: &'a mut Walk,
    found: &'a mut Vec<(u32, Vec<u32>)>,
}

impl SimdKernel for Search<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { builder, nodes, walk, found } = self;
        let Builder { plan, whole, lists, .. } = builder;
        let (mut candidates, mut chosen) = (Vec::new(), Vec::new());
        for &node in nodes {
            let starts = starts_of(plan, builder.entry, node);
            walk.run(lists, lists.count(), starts, plan.effort as usize, |fresh, out| {
                out.extend(fresh.iter().map(|&other| whole.distance(node, other)));
            });
            candidates.clear();
            candidates.extend_from_slice(walk.beam());
            candidates.extend_from_slice(walk.expanded());
            ascending(&mut candidates);
            candidates.truncate(2 * plan.effort as usize);
            candidates.retain(|seen| seen.node != node);
            builder.prune(&candidates, &mut chosen);
            found.push((node, chosen.clone()));
        }
    }
}

/// In order of distance, each node once.
fn ascending(candidates: &mut Vec<Seen>) {
    candidates.sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.node.cmp(&b.node)));
    candidates.dedup_by_key(|seen| seen.node);
}

struct Return<'a> {
    builder: &'a Builder,
    targets: &'a [(u32, Vec<u32>)],
    found: &'a mut Vec<(u32, Vec<u32>)>,
}

impl SimdKernel for Return<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { builder, targets, found } = self;
        let (mut candidates, mut chosen) = (Vec::new(), Vec::new());
        for (target, sources) in targets {
            let old = builder.lists.of(*target);
            let mut all = old.to_vec();
            all.extend(sources.iter().filter(|source| !old.contains(source)));
            if all.len() > builder.lists.stride || sources.is_empty() {
                candidates.clear();
                candidates.extend(all.iter().map(|&other| Seen::new(builder.whole.distance(*target, other), other)));
                ascending(&mut candidates);
                candidates.truncate(MOST_CANDIDATES);
                builder.prune(&candidates, &mut chosen);
                all.clone_from(&chosen);
            }
            found.push((*target, all));
        }
    }
}
