//! Pairs of slots of a problem's instances, and the blocks of the patches' matrix that they add to.

use super::aggregate::NONE;
use super::hierarchy::Lower;
use super::patches::Patches;
use leastwise_base::task::{Pace, Stopped};
use leastwise_problem::{LinkedBatch, Links, pair_bits, runs};
use leastwise_program::SlotPair;
use std::collections::HashMap;
use std::ops::Range;

/// Words of the shapes of pairs and the codes of their entries, usually.
const ROOM: usize = 1 << 12;
/// Patches next to one on the average, at most.
const MOST_NEIGHBOURS: usize = 48;
/// Operations that an instance of a pair takes, about.
const EACH: usize = 8;

/// Blocks that the pairs of a chunk add to, a row each.
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
pub async fn couplings(links: &Links, patches: &Patches, pace: &Pace) -> Result<Result<(Lower, Vec<PairList>), String>, Stopped> {
    for batch in &links.batches {
        let bits = pair_bits(SlotPair::all(&batch.programs.inputs).len());
        if batch.chunks.iter().any(|&(_, count)| u64::from(count) << bits > 1 << 32) {
            return Ok(Err(format!("term \"{}\" has too many pairs of slots", batch.name)));
        }
    }
    let mut numbers = Numbers::new(MOST_NEIGHBOURS / 2 * patches.count as usize);
    let mut coupled = Vec::new();
    for batch in &links.batches {
        let Some(pairs) = Coupled::new(links, patches, batch, &mut numbers, pace).await? else {
            return Ok(Err(format!(
                "patches of variables have more than {MOST_NEIGHBOURS} neighbours: variables are linked across the whole problem"
            )));
        };
        coupled.push(pairs);
    }
    let mut below: Vec<(u32, u32)> = numbers.pairs.iter().copied().filter(|(row, column)| row != column).collect();
    below.sort_unstable();
    let matrix = Lower::new(patches.count, &below);
    let blocks: Vec<u32> = numbers.pairs.iter().map(|&(row, column)| matrix.block(row, column)).collect();
    let mut lists = Vec::new();
    // A batch's codes are freed behind its lists.
    for pairs in coupled {
        for (chunk, range) in pairs.batch.chunks.iter().map(|&(first, count)| first..first + count).enumerate() {
            lists.extend(pairs.list(&blocks, matrix.blocks(), chunk, range, pace).await?);
        }
    }
    Ok(Ok((matrix, lists)))
}

/// Numbers of pairs of patches, row ≥ column, in the order in which they are met.
struct Numbers {
    pairs: Vec<(u32, u32)>,
    known: HashMap<(u32, u32), u32>,
    /// Pairs met lately, by a hash: most instances are next to their neighbours in a list.
    recent: Vec<((u32, u32), u32)>,
    /// Pairs of two patches, and the most that there may be.
    beside: usize,
    most: usize,
}

impl Numbers {
    const RECENT_BITS: u32 = 12;

    fn new(most: usize) -> Self {
        Self { pairs: Vec::new(), known: HashMap::new(), recent: vec![((NONE, NONE), 0); 1 << Self::RECENT_BITS], beside: 0, most }
    }

    fn of(&mut self, pair: (u32, u32)) -> u32 {
        let hash = pair.0.wrapping_mul(0x9e37_79b1) ^ pair.1.wrapping_mul(0x85eb_ca6b);
        let recent = &mut self.recent[(hash >> (32 - Self::RECENT_BITS)) as usize];
        if recent.0 != pair {
            let next = self.pairs.len() as u32;
            let number = *self.known.entry(pair).or_insert(next);
            if number == next {
                self.pairs.push(pair);
                self.beside += usize::from(pair.0 != pair.1);
            }
            *recent = (pair, number);
        }
        recent.1
    }
}

/// A slot of a pair: its table, the variable of every instance, the patch of every variable, and where unknowns of variables are.
#[derive(Clone, Copy)]
struct Side<'a> {
    table: u32,
    variables: &'a [u32],
    owners: &'a [u32],
    first: u32,
    tangent: u32,
}

impl Side<'_> {
    fn unknown(&self, instance: u32) -> u32 {
        self.first + self.variables[instance as usize] * self.tangent
    }
}

/// The pairs of slots of a batch's instances.
struct Coupled<'a> {
    batch: &'a LinkedBatch,
    /// Sides of every pair of slots; none where one of them does not move.
    sides: Vec<Option<[Side<'a>; 2]>>,
    /// Codes by pair and instance: twice the number of the pair of patches, and one more where the first slot's patch is the column;
    /// [`NONE`] where a variable is in no patch.
    codes: Vec<u32>,
}

impl<'a> Coupled<'a> {
    /// None where too many pairs of patches are linked.
    async fn new(
        links: &'a Links,
        patches: &'a Patches,
        batch: &'a LinkedBatch,
        numbers: &mut Numbers,
        pace: &Pace,
    ) -> Result<Option<Self>, Stopped> {
        let moving = batch.moving_slots();
        let side = |wanted: u32| {
            let &(_, table, variables) = moving.iter().find(|(slot, ..)| *slot == wanted)?;
            let site = &links.tables[table as usize].site;
            let owners = patches.owners[table as usize].as_deref()?;
            Some(Side { table, variables, owners, first: site.vector, tangent: site.tangent })
        };
        let pairs = SlotPair::all(&batch.programs.inputs);
        let sides: Vec<Option<[Side; 2]>> = pairs.iter().map(|pair| Some([side(pair.a)?, side(pair.b)?])).collect();
        let mut codes = Vec::with_capacity(sides.len() * batch.count as usize);
        for sides in &sides {
            let Some([left, right]) = sides else {
                codes.resize(codes.len() + batch.count as usize, NONE);
                continue;
            };
            // The diagonal blocks have what two slots of one variable have in common already.
            let skips_same = batch.has_repeated_slots && left.table == right.table;
            for run in runs(batch.count as usize) {
                pace.spend(2 * EACH * run.len()).await?;
                let variables = left.variables[run.clone()].iter().zip(&right.variables[run]);
                codes.extend(variables.map(|(&i, &j)| {
                    let (p, q) = (left.owners[i as usize], right.owners[j as usize]);
                    if p == NONE || q == NONE || skips_same && i == j {
                        return NONE;
                    }
                    (numbers.of((p.max(q), p.min(q))) << 1) | u32::from(p < q)
                }));
                if numbers.beside > numbers.most {
                    return Ok(None);
                }
            }
        }
        Ok(Some(Self { batch, sides, codes }))
    }

    /// Every pair's slots and number, with runs of a chunk's instances and their codes.
    fn runs(&self, range: &Range<u32>) -> impl Iterator<Item = (u32, &[Side<'a>; 2], Range<u32>, &[u32])> {
        let (count, range) = (self.batch.count as usize, range.clone());
        (0..).zip(&self.sides).filter_map(|(number, sides)| Some((number, sides.as_ref()?))).flat_map(move |(number, sides)| {
            let (first, codes) = (range.start, &self.codes[number as usize * count..][..count]);
            runs(range.len()).map(move |run| {
                let instances = first + run.start as u32..first + run.end as u32;
                let codes = &codes[instances.start as usize..instances.end as usize];
                (number, sides, instances, codes)
            })
        })
    }

    async fn list(&self, blocks: &[u32], all: u32, chunk: usize, range: Range<u32>, pace: &Pace) -> Result<Option<PairList>, Stopped> {
        let bits = pair_bits(self.sides.len());
        let block = |code: u32| blocks[(code >> 1) as usize] as usize;
        let mut next = vec![0u32; all as usize + 1];
        for (_, _, run, codes) in self.runs(&range) {
            pace.spend(EACH * run.len()).await?;
            codes.iter().filter(|code| **code != NONE).for_each(|&code| next[block(code) + 1] += 1);
        }
        let ids: Vec<u32> = (0..all).filter(|&block| next[block as usize + 1] > 0).collect();
        for block in 0..all as usize {
            next[block + 1] += next[block];
        }
        let mut starts: Vec<u32> = ids.iter().map(|&block| next[block as usize]).collect();
        starts.push(next[all as usize]);
        let len = 3 * next[all as usize] as usize;
        let mut entries = Vec::with_capacity(len + 2 * ids.len() + ROOM);
        entries.resize(len, 0);
        for (number, [left, right], run, codes) in self.runs(&range) {
            pace.spend(2 * EACH * run.len()).await?;
            for (instance, &code) in run.zip(codes).filter(|(_, code)| **code != NONE) {
                let place = &mut next[block(code)];
                let entry = ((instance - range.start) << bits) | (2 * number) | (code & 1);
                entries[3 * *place as usize..][..3].copy_from_slice(&[entry, left.unknown(instance), right.unknown(instance)]);
                *place += 1;
            }
        }
        Ok((!ids.is_empty()).then_some(PairList { batch: self.batch.number, chunk, bits, ids, starts, entries }))
    }
}
