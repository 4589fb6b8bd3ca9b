//! Patches of a problem's variables, and what instances add to which block of their matrix.

use super::aggregate::{Graph, NONE};
use super::hierarchy::Lower;
use super::space::Space;
use crate::kernel::Pair;
use crate::problem::{Batch, Problem, Table, pair_bits};

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

fn slots<'a>(problem: &'a Problem, batch: &'a Batch) -> Slots<'a> {
    let moving = (0..).zip(&batch.signature().slots).filter(|(_, slot)| slot.vector.is_some());
    let named = moving.map(|(slot, _)| {
        let (table, variables) = problem.slot_of(batch, slot);
        (slot, table, variables)
    });
    named.collect()
}

impl Patches {
    pub fn new(problem: &Problem, space: &Space) -> Self {
        let tables = problem.tables();
        let batches: Vec<Slots> = problem.enabled_batches().map(|batch| slots(problem, batch)).collect();
        let mut first = vec![0u32; tables.len() + 1];
        for (number, table) in tables.iter().enumerate() {
            first[number + 1] = first[number] + if table.moving { table.count } else { 0 };
        }
        let all = first[tables.len()] as usize;
        let node = |table: u32, variable: u32| first[table as usize] + variable;
        let mut instances = vec![0u32; all];
        for (_, table, variables) in batches.iter().flatten() {
            variables.iter().for_each(|&variable| instances[node(*table, variable) as usize] += 1);
        }
        let leads: Vec<bool> = (0..tables.len() as u32).map(|table| space.leads(table)).collect();
        let graph = Graph::new(all, |edge| {
            for slots in &batches {
                let leading: Vec<_> = slots.iter().filter(|(_, table, _)| leads[*table as usize]).collect();
                let pairs = (0..leading.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
                for (a, b) in pairs.filter(|&(a, _)| a == 0 || leading.len() <= MOST_LINKED) {
                    let ((_, s, left), (_, t, right)) = (leading[a], leading[b]);
                    for (&i, &j) in left.iter().zip(&right[..]) {
                        let (i, j) = (node(*s, i), node(*t, j));
                        if i != j && instances[i as usize].max(instances[j as usize]) <= MOST_INSTANCES {
                            edge(i, j);
                        }
                    }
                }
            }
        });
        let mut is_leading = vec![false; all];
        let (mut leaders, mut total) = (0u64, 0u64);
        for (number, table) in (0..).zip(tables).filter(|(_, table)| table.moving) {
            total += u64::from(table.count);
            if leads[number as usize] {
                leaders += u64::from(table.count);
                is_leading[node(number, 0) as usize..node(number, table.count - 1) as usize + 1].fill(true);
            }
        }
        // Those who follow are variables of a patch as well.
        let size = (u64::from(VARIABLES) * leaders / total.max(1)).max(4) as u32;
        let takes_part = |node: u32| is_leading[node as usize] && (1..=MOST_INSTANCES).contains(&instances[node as usize]);
        let (mut owners, count) = graph.patches(size, takes_part);
        let followed = followed(&batches, &leads, all, node);
        for (place, &leader) in followed.iter().enumerate().filter(|(place, leader)| **leader != NONE && !is_leading[*place]) {
            if instances[place] <= MOST_INSTANCES {
                owners[place] = owners[leader as usize];
            }
        }
        let of_table =
            |(number, table): (usize, &Table)| table.moving.then(|| owners[first[number] as usize..first[number + 1] as usize].to_vec());
        Self { count, owners: tables.iter().enumerate().map(of_table).collect() }
    }

    fn owner(&self, table: u32, variable: u32) -> u32 {
        self.owners[table as usize].as_ref().map_or(NONE, |owners| owners[variable as usize])
    }
}

/// The leader that each follower meets in most instances: the one that is left of a vote (Boyer & Moore 1981).
fn followed(batches: &[Slots], leads: &[bool], all: usize, node: impl Fn(u32, u32) -> u32) -> Vec<u32> {
    let mut votes = vec![(NONE, 0u32); all];
    for slots in batches {
        let (leading, following): (Vec<_>, Vec<_>) = slots.iter().partition(|(_, table, _)| leads[*table as usize]);
        let Some(count) = slots.first().map(|slot| slot.2.len()).filter(|_| !leading.is_empty() && !following.is_empty()) else { continue };
        for instance in 0..count {
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
    votes.into_iter().map(|vote| vote.0).collect()
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

/// The blocks of the patches' matrix, and what adds to them; or why there are none.
pub fn couplings(problem: &Problem, patches: &Patches) -> Result<(Lower, Vec<PairList>), String> {
    let batches: Vec<(usize, &Batch, Slots, Vec<Pair>)> = problem
        .batches()
        .iter()
        .enumerate()
        .filter(|(_, batch)| batch.enabled)
        .map(|(number, batch)| (number, batch, slots(problem, batch), Pair::all(&batch.programs.inputs)))
        .collect();
    let mut linked = Vec::new();
    for (_, batch, slots, pairs) in &batches {
        each_pair(patches, batch, slots, pairs, 0..batch.count(), |_, _, [p, q], _| {
            if p != q {
                linked.push((p.max(q), p.min(q)));
            }
        });
        linked.sort_unstable();
        linked.dedup();
        if linked.len() > MOST_NEIGHBOURS / 2 * patches.count as usize {
            return Err(format!(
                "patches of variables have more than {MOST_NEIGHBOURS} neighbours: variables are linked across the whole problem"
            ));
        }
    }
    let matrix = Lower::new(patches.count, &linked);
    let mut lists = Vec::new();
    for (number, batch, slots, pairs) in &batches {
        let bits = pair_bits(pairs.len());
        for (chunk, range) in batch.chunks.iter().map(|chunk| chunk.first..chunk.first + chunk.count).enumerate() {
            if u64::from(range.end - range.start) << bits > 1 << 32 {
                return Err(format!("term \"{}\" has too many pairs of slots", batch.name));
            }
            lists.extend(list(problem, patches, &matrix, (*number, batch, chunk), slots, pairs, range, bits));
        }
    }
    Ok((matrix, lists))
}

/// Every pair of slots of every instance of which both variables are in patches: instance, number of the pair, patches, variables.
fn each_pair(
    patches: &Patches,
    batch: &Batch,
    slots: &Slots,
    pairs: &[Pair],
    instances: std::ops::Range<u32>,
    mut each: impl FnMut(u32, u32, [u32; 2], [(u32, u32); 2]),
) {
    let slot = |wanted: u32| slots.iter().find(|(slot, ..)| *slot == wanted);
    for (number, pair) in (0..).zip(pairs) {
        let (Some((_, s, left)), Some((_, t, right))) = (slot(pair.a), slot(pair.b)) else { continue };
        for instance in instances.clone() {
            let (i, j) = (left[instance as usize], right[instance as usize]);
            let owners = [patches.owner(*s, i), patches.owner(*t, j)];
            // The diagonal blocks have what two slots of one variable have in common already.
            let is_done = batch.twice.is_some() && (s, i) == (t, j);
            if !owners.contains(&NONE) && !is_done {
                each(instance, number, owners, [(*s, i), (*t, j)]);
            }
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "a loop's body with a name")]
fn list(
    problem: &Problem,
    patches: &Patches,
    matrix: &Lower,
    (number, batch, chunk): (usize, &Batch, usize),
    slots: &Slots,
    pairs: &[Pair],
    range: std::ops::Range<u32>,
    bits: u32,
) -> Option<PairList> {
    let unknown = |(table, variable): (u32, u32)| {
        let table = &problem.tables()[table as usize];
        table.vector + variable * table.tangent
    };
    let mut next = vec![0u32; matrix.blocks() as usize + 1];
    each_pair(patches, batch, slots, pairs, range.clone(), |_, _, [p, q], _| next[matrix.block(p.max(q), p.min(q)) as usize + 1] += 1);
    let ids: Vec<u32> = (0..matrix.blocks()).filter(|&block| next[block as usize + 1] > 0).collect();
    for block in 0..matrix.blocks() as usize {
        next[block + 1] += next[block];
    }
    let mut starts: Vec<u32> = ids.iter().map(|&block| next[block as usize]).collect();
    starts.push(next[matrix.blocks() as usize]);
    let len = 3 * next[matrix.blocks() as usize] as usize;
    let mut entries = Vec::with_capacity(len + 2 * ids.len() + ROOM);
    entries.resize(len, 0);
    each_pair(patches, batch, slots, pairs, range.clone(), |instance, pair, [p, q], [a, b]| {
        let place = &mut next[matrix.block(p.max(q), p.min(q)) as usize];
        let code = ((instance - range.start) << bits) | (2 * pair) | u32::from(p < q);
        entries[3 * *place as usize..][..3].copy_from_slice(&[code, unknown(a), unknown(b)]);
        *place += 1;
    });
    (!ids.is_empty()).then_some(PairList { batch: number, chunk, bits, ids, starts, entries })
}
