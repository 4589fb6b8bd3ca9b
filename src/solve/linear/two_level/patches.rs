//! Patches of a problem's variables, and what instances add to which block of their matrix.

use super::aggregate::{Graph, NONE};
use super::hierarchy::Lower;
use super::space::Space;
use leastwise_base::task::{Pace, Stopped};
use leastwise_problem::{LinkedBatch, LinkedTable, Links, pair_bits, runs};
use leastwise_program::SlotPair;
use std::ops::Range;

/// Variables of a patch.
pub const VARIABLES: u32 = 64;
/// A variable in more instances than this is in no patch: it would be next to all of them.
const MOST_INSTANCES: u32 = 256;
/// Of more slots than this only the first is linked with the others.
const MOST_LINKED: usize = 8;
/// Words of the shapes of pairs and the codes of their entries, usually.
const ROOM: usize = 1 << 12;
/// Patches next to one on the average, at most.
const MOST_NEIGHBOURS: usize = 48;

/// The patches of all variables.
pub struct Patches {
    pub count: u32,
    /// The patch of every variable of the problem's moving tables; none for constants.
    pub owners: Vec<Option<Vec<u32>>>,
}

/// A batch's slots that move: the slot, its table and its variables.
type Slots<'a> = Vec<(u32, u32, &'a [u32])>;

/// Operations that an instance takes, about.
const EACH: usize = 8;

impl Patches {
    pub async fn new(links: &Links, space: &Space, pace: &Pace) -> Result<Self, Stopped> {
        let batches: Vec<Slots> = links.batches.iter().map(LinkedBatch::moving_slots).collect();
        let mut first = vec![0u32; links.tables.len() + 1];
        for (number, table) in links.tables.iter().enumerate() {
            first[number + 1] = first[number] + if table.moving { table.site.count } else { 0 };
        }
        let all = first[links.tables.len()] as usize;
        let node = |table: u32, variable: u32| first[table as usize] + variable;
        let mut instances = vec![0u32; all];
        for (_, table, variables) in batches.iter().flatten() {
            for run in runs(variables.len()) {
                pace.spend(EACH * run.len()).await?;
                variables[run].iter().for_each(|&variable| instances[node(*table, variable) as usize] += 1);
            }
        }
        let leads: Vec<bool> = (0..links.tables.len() as u32).map(|table| space.leads(table)).collect();
        let mut edges = Vec::new();
        for slots in &batches {
            let leading: Vec<_> = slots.iter().filter(|(_, table, _)| leads[*table as usize]).collect();
            let pairs = (0..leading.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
            for (a, b) in pairs.filter(|&(a, _)| a == 0 || leading.len() <= MOST_LINKED) {
                let ((_, s, left), (_, t, right)) = (leading[a], leading[b]);
                for run in runs(left.len().min(right.len())) {
                    pace.spend(EACH * run.len()).await?;
                    let linked = left[run.clone()].iter().zip(&right[run]).map(|(&i, &j)| (node(*s, i), node(*t, j)));
                    let is_close = |&(i, j): &(u32, u32)| i != j && instances[i as usize].max(instances[j as usize]) <= MOST_INSTANCES;
                    edges.extend(linked.filter(is_close));
                }
            }
        }
        let graph = Graph::new(all, &edges, pace).await?;
        drop(edges);
        let mut is_leading = vec![false; all];
        let (mut leaders, mut total) = (0u64, 0u64);
        for (number, table) in links.moving() {
            let count = table.site.count;
            total += u64::from(count);
            if leads[number as usize] {
                leaders += u64::from(count);
                is_leading[node(number, 0) as usize..node(number, count - 1) as usize + 1].fill(true);
            }
        }
        // Those who follow are variables of a patch as well.
        let size = (u64::from(VARIABLES) * leaders / total.max(1)).max(4) as u32;
        let takes_part = |node: u32| is_leading[node as usize] && (1..=MOST_INSTANCES).contains(&instances[node as usize]);
        let (mut owners, count) = graph.patches(size, takes_part, pace).await?;
        let followed = followed(&batches, &leads, all, node, pace).await?;
        for (place, &leader) in followed.iter().enumerate().filter(|(place, leader)| **leader != NONE && !is_leading[*place]) {
            if instances[place] <= MOST_INSTANCES {
                owners[place] = owners[leader as usize];
            }
        }
        pace.spend(EACH * all).await?;
        let of_table = |(number, table): (usize, &LinkedTable)| {
            table.moving.then(|| owners[first[number] as usize..first[number + 1] as usize].to_vec())
        };
        Ok(Self { count, owners: links.tables.iter().enumerate().map(of_table).collect() })
    }

    fn owner(&self, table: u32, variable: u32) -> u32 {
        self.owners[table as usize].as_ref().map_or(NONE, |owners| owners[variable as usize])
    }
}

/// The leader that each follower meets in most instances: the one that is left of a vote (Boyer & Moore 1981).
async fn followed(
    batches: &[Slots<'_>],
    leads: &[bool],
    all: usize,
    node: impl Fn(u32, u32) -> u32,
    pace: &Pace,
) -> Result<Vec<u32>, Stopped> {
    let mut votes = vec![(NONE, 0u32); all];
    for slots in batches {
        let (leading, following): (Vec<_>, Vec<_>) = slots.iter().partition(|(_, table, _)| leads[*table as usize]);
        let Some(count) = slots.first().map(|slot| slot.2.len()).filter(|_| !leading.is_empty() && !following.is_empty()) else { continue };
        for instance in 0..count {
            pace.spend(EACH * leading.len() * following.len()).await?;
            for (_, table, variables) in &following {
                let vote = &mut votes[node(*table, variables[instance]) as usize];
                for (_, table, leaders) in &leading {
                    let leader = node(*table, leaders[instance]);
                    match vote {
                        (known, times) if *known == leader => *times += 1,
                        (_, 0) => *vote = (leader, 1),
                        (_, times) => *times -= 1,
                    }
                }
            }
        }
    }
    Ok(votes.into_iter().map(|vote| vote.0).collect())
}

/// What the pairs of a chunk add to: rows of the list are blocks.
#[derive(Clone, Default)]
pub struct PairList {
    /// The batch's number, and the chunk's within it.
    pub batch: usize,
    pub chunk: usize,
    pub bits: u32,
    pub ids: Vec<u32>,
    pub starts: Vec<u32>,
    /// Three words each: the instance and its pair, and the first unknowns of both slots. There is room for the other lists
    /// behind them: this is most of what a preconditioner is made of.
    pub entries: Vec<u32>,
}

/// Pairs of patches that are put in order together.
const SORTED: usize = 1 << 15;

/// The pairs of patches that are linked, each once, in order.
#[derive(Default)]
struct Pairs {
    known: Vec<(u32, u32)>,
    new: Vec<(u32, u32)>,
}

impl Pairs {
    fn push(&mut self, pair: (u32, u32)) {
        self.new.push(pair);
        if self.new.len() >= SORTED {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.new.sort_unstable();
        self.new.dedup();
        self.new.retain(|pair| self.known.binary_search(pair).is_err());
        // Merges two runs that are in order each.
        self.known.append(&mut self.new);
        self.known.sort();
    }
}

/// The blocks of the patches' matrix, and what adds to them; or why there are none.
pub async fn couplings(links: &Links, patches: &Patches, pace: &Pace) -> Result<Result<(Lower, Vec<PairList>), String>, Stopped> {
    let batches: Vec<(&LinkedBatch, Slots, Vec<SlotPair>)> =
        links.batches.iter().map(|batch| (batch, batch.moving_slots(), SlotPair::all(&batch.programs.inputs))).collect();
    let mut linked = Pairs::default();
    for (batch, slots, pairs) in &batches {
        let all = Pairing { links, patches, batch, slots, pairs };
        for (number, run) in all.runs(0..batch.count) {
            pace.spend(2 * EACH * run.len()).await?;
            all.each(number, run, |_, [p, q], _| {
                if p != q {
                    linked.push((p.max(q), p.min(q)));
                }
            });
        }
        linked.sort();
        if linked.known.len() > MOST_NEIGHBOURS / 2 * patches.count as usize {
            return Ok(Err(format!(
                "patches of variables have more than {MOST_NEIGHBOURS} neighbours: variables are linked across the whole problem"
            )));
        }
    }
    let matrix = Lower::new(patches.count, &linked.known);
    let mut lists = Vec::new();
    for (batch, slots, pairs) in &batches {
        let bits = pair_bits(pairs.len());
        let all = Pairing { links, patches, batch, slots, pairs };
        for (chunk, range) in batch.chunks.iter().map(|&(first, count)| first..first + count).enumerate() {
            if u64::from(range.end - range.start) << bits > 1 << 32 {
                return Ok(Err(format!("term \"{}\" has too many pairs of slots", batch.name)));
            }
            lists.extend(all.list(&matrix, chunk, range, bits, pace).await?);
        }
    }
    Ok(Ok((matrix, lists)))
}

/// The pairs of slots of a batch's instances.
struct Pairing<'a> {
    links: &'a Links,
    patches: &'a Patches,
    batch: &'a LinkedBatch,
    slots: &'a Slots<'a>,
    pairs: &'a [SlotPair],
}

impl Pairing<'_> {
    /// The instances of every pair in runs, with the pair's number.
    fn runs(&self, instances: Range<u32>) -> impl Iterator<Item = (u32, Range<u32>)> {
        let Range { start, end } = instances;
        let of_pair =
            move |number: u32| runs((end - start) as usize).map(move |run| (number, start + run.start as u32..start + run.end as u32));
        (0..self.pairs.len() as u32).flat_map(of_pair)
    }

    /// The instances of a run of which both variables of a pair are in patches: instance, patches, variables.
    fn each(&self, number: u32, run: Range<u32>, mut each: impl FnMut(u32, [u32; 2], [(u32, u32); 2])) {
        let slot = |wanted: u32| self.slots.iter().find(|(slot, ..)| *slot == wanted);
        let pair = &self.pairs[number as usize];
        let (Some((_, s, left)), Some((_, t, right))) = (slot(pair.a), slot(pair.b)) else { return };
        for instance in run {
            let (i, j) = (left[instance as usize], right[instance as usize]);
            let owners = [self.patches.owner(*s, i), self.patches.owner(*t, j)];
            // The diagonal blocks have what two slots of one variable have in common already.
            let is_done = self.batch.has_repeated_slots && (s, i) == (t, j);
            if !owners.contains(&NONE) && !is_done {
                each(instance, owners, [(*s, i), (*t, j)]);
            }
        }
    }

    async fn list(&self, matrix: &Lower, chunk: usize, range: Range<u32>, bits: u32, pace: &Pace) -> Result<Option<PairList>, Stopped> {
        let unknown = |(table, variable): (u32, u32)| {
            let site = &self.links.tables[table as usize].site;
            site.vector + variable * site.tangent
        };
        let mut next = vec![0u32; matrix.blocks() as usize + 1];
        for (number, run) in self.runs(range.clone()) {
            pace.spend(4 * EACH * run.len()).await?;
            self.each(number, run, |_, [p, q], _| next[matrix.block(p.max(q), p.min(q)) as usize + 1] += 1);
        }
        let ids: Vec<u32> = (0..matrix.blocks()).filter(|&block| next[block as usize + 1] > 0).collect();
        for block in 0..matrix.blocks() as usize {
            next[block + 1] += next[block];
        }
        let mut starts: Vec<u32> = ids.iter().map(|&block| next[block as usize]).collect();
        starts.push(next[matrix.blocks() as usize]);
        let len = 3 * next[matrix.blocks() as usize] as usize;
        let mut entries = Vec::with_capacity(len + 2 * ids.len() + ROOM);
        entries.resize(len, 0);
        for (number, run) in self.runs(range.clone()) {
            pace.spend(6 * EACH * run.len()).await?;
            self.each(number, run, |instance, [p, q], [a, b]| {
                let place = &mut next[matrix.block(p.max(q), p.min(q)) as usize];
                let code = ((instance - range.start) << bits) | (2 * number) | u32::from(p < q);
                entries[3 * *place as usize..][..3].copy_from_slice(&[code, unknown(a), unknown(b)]);
                *place += 1;
            });
        }
        Ok((!ids.is_empty()).then_some(PairList { batch: self.batch.number, chunk, bits, ids, starts, entries }))
    }
}
