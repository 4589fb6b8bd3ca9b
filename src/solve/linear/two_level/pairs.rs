//! Pairs of slots of a problem's instances, and the blocks of the patches' matrix that they add to.

use super::aggregate::{NONE, even};
use super::hierarchy::Lower;
use super::met::Met;
use super::patches::Patches;
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped};
use leastwise_problem::{LinkedBatch, Links, pair_bits, runs};
use leastwise_program::SlotPair;
use std::ops::Range;

/// Words of the shapes of pairs and the codes of their entries, usually.
const ROOM: usize = 1 << 12;
/// Patches next to one on the average, at most.
const MOST_NEIGHBOURS: usize = 48;
/// Operations that an instance of a pair takes, about.
const EACH: usize = 8;
/// Instances whose patches are looked up together: few enough to stay in the nearest cache.
const FEW: usize = 1 << 10;

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
pub async fn couplings<'a>(
    links: &'a Links,
    patches: &'a Patches,
    pace: &Pace,
) -> Result<Result<(Lower, Vec<Coupled<'a>>), String>, Stopped> {
    for batch in &links.batches {
        let bits = pair_bits(SlotPair::all(&batch.programs.inputs).len());
        if batch.chunks.iter().any(|&(_, count)| u64::from(count) << bits > 1 << 32) {
            return Ok(Err(format!("term \"{}\" has too many pairs of slots", batch.name)));
        }
    }
    let most = MOST_NEIGHBOURS / 2 * patches.count as usize;
    let refused = || format!("patches of variables have more than {MOST_NEIGHBOURS} neighbours: variables are linked across the whole problem");
    let mut coupled = Vec::new();
    for batch in &links.batches {
        let pairs = Pairs::new(links, patches, batch);
        for (chunk, &(first, count)) in batch.chunks.iter().enumerate() {
            let shares = parallel::shares(count, 2 * EACH * pairs.pairs.len() * count as usize);
            let pairs = &pairs;
            let shares = parallel::ranges(
                shares.into_iter().map(|share| (first + share.start..first + share.end, ())).collect(),
                |range, (), pace| async move { Share::new(pairs, range, patches.count, most, &pace).await },
                pace,
            );
            let shares = shares.await?;
            if shares.iter().any(|share| share.met.pairs.len() > most) {
                return Ok(Err(refused()));
            }
            coupled.push(Coupled { batch: batch.number, chunk, first, pairs: pairs.clone(), shares });
        }
    }
    let met: Vec<&[(u32, u32)]> = coupled.iter().flat_map(|chunk| &chunk.shares).map(|share| &share.met.pairs[..]).collect();
    pace.spend(4 * EACH * met.iter().map(|pairs| pairs.len()).sum::<usize>()).await?;
    let matrix = Lower::of(patches.count, &met);
    Ok(if matrix.columns.len() > most { Err(refused()) } else { Ok((matrix, coupled)) })
}

/// Lists of what adds to the blocks of the patches' matrix. The codes of a chunk are freed behind its list.
pub async fn lists(matrix: &Lower, coupled: Vec<Coupled<'_>>, pace: &Pace) -> Result<Vec<PairList>, Stopped> {
    let mut lists = Vec::new();
    for chunk in coupled {
        lists.extend(chunk.list(matrix, pace).await?);
    }
    Ok(lists)
}

/// A slot of a pair: its table, the variable of every instance, the patch of every variable, and where unknowns of variables are.
#[derive(Clone, Copy)]
struct Side<'a> {
    slot: u32,
    table: u32,
    variables: &'a [u32],
    owners: &'a [u32],
    first: u32,
    tangent: u32,
}

impl Side<'_> {
    fn unknown(&self, variable: u32) -> u32 {
        self.first + variable * self.tangent
    }
}

/// The pairs of slots of a batch that move.
#[derive(Clone)]
struct Pairs<'a> {
    bits: u32,
    sides: Vec<Side<'a>>,
    /// Every pair's number and its sides.
    pairs: Vec<(u32, [usize; 2])>,
    /// True where the diagonal blocks have what two slots of one variable have in common already.
    skips_same: bool,
}

impl<'a> Pairs<'a> {
    fn new(links: &'a Links, patches: &'a Patches, batch: &'a LinkedBatch) -> Self {
        let side = |(slot, table, variables): (u32, u32, &'a [u32])| {
            let site = &links.tables[table as usize].site;
            let owners = patches.owners[table as usize].as_deref()?;
            Some(Side { slot, table, variables, owners, first: site.vector, tangent: site.tangent })
        };
        let sides: Vec<Side> = batch.moving_slots().into_iter().filter_map(side).collect();
        let all = SlotPair::all(&batch.programs.inputs);
        let place = |slot: u32| sides.iter().position(|side| side.slot == slot);
        let pairs = (0..).zip(&all).filter_map(|(number, pair)| Some((number, [place(pair.a)?, place(pair.b)?]))).collect();
        Self { bits: pair_bits(all.len()), sides, pairs, skips_same: batch.has_repeated_slots }
    }
}

/// What some instances of a chunk link.
struct Share {
    instances: Range<u32>,
    met: Met,
    /// Codes by pair and instance: twice the number of the pair of patches, and one more where the first slot's patch is the column;
    /// [`NONE`] where a variable is in no patch.
    codes: Vec<u32>,
}

impl Share {
    /// Ends early where more than the most pairs of patches are linked.
    async fn new(of: &Pairs<'_>, instances: Range<u32>, patches: u32, most: usize, pace: &Pace) -> Result<Self, Stopped> {
        let (mut met, all) = (Met::new(patches), instances.len());
        let mut codes = vec![0; of.pairs.len() * all];
        let mut owners = vec![[0; FEW]; if of.pairs.is_empty() { 0 } else { of.sides.len() }];
        for start in (0..all).step_by(FEW) {
            let len = FEW.min(all - start);
            let run = instances.start as usize + start..instances.start as usize + start + len;
            pace.spend(2 * EACH * of.pairs.len() * len).await?;
            for (side, owners) in of.sides.iter().zip(&mut owners) {
                let variables = &side.variables[run.clone()];
                owners.iter_mut().zip(variables).for_each(|(owner, &variable)| *owner = side.owners[variable as usize]);
            }
            for (place, &(_, [a, b])) in of.pairs.iter().enumerate() {
                let [left, right] = [&of.sides[a], &of.sides[b]];
                let skips_same = of.skips_same && left.table == right.table;
                let codes = codes[place * all + start..][..len].iter_mut();
                let variables = left.variables[run.clone()].iter().zip(&right.variables[run.clone()]);
                for ((code, (&p, &q)), (i, j)) in codes.zip(owners[a].iter().zip(&owners[b])).zip(variables) {
                    let is_none = p == NONE || q == NONE || skips_same && i == j;
                    *code = if is_none { NONE } else { met.meet(p, q) << 1 | u32::from(p < q) };
                }
            }
            if met.pairs.len() > most {
                break;
            }
        }
        Ok(Self { instances, met, codes })
    }
}

/// The pairs of patches that a chunk of a batch links.
pub struct Coupled<'a> {
    /// The batch's number, the chunk's within it, and its first instance.
    batch: usize,
    chunk: usize,
    first: u32,
    pairs: Pairs<'a>,
    shares: Vec<Share>,
}

impl Coupled<'_> {
    async fn list(self, matrix: &Lower, pace: &Pace) -> Result<Option<PairList>, Stopped> {
        // The block of every number of a share.
        let block = |&(row, column): &(u32, u32)| matrix.block(row, column);
        let blocks = parallel::map(
            self.shares.iter().map(|share| &share.met.pairs).collect(),
            |pairs| 2 * EACH * pairs.len(),
            || (),
            |(), pairs| (0..matrix.nodes()).chain(pairs.iter().map(block)).collect::<Vec<u32>>(),
            pace,
        );
        let blocks = blocks.await?;
        let all = matrix.blocks() as usize;
        let mut starts = vec![0u32; all + 1];
        for (share, blocks) in self.shares.iter().zip(&blocks) {
            pace.spend(blocks.len()).await?;
            blocks.iter().zip(&share.met.counts).for_each(|(&block, count)| starts[block as usize + 1] += count);
        }
        let ids: Vec<u32> = (0..all as u32).filter(|&block| starts[block as usize + 1] > 0).collect();
        if ids.is_empty() {
            return Ok(None);
        }
        for block in 0..all {
            starts[block + 1] += starts[block];
        }
        let len = starts[all] as usize;
        // Untouched pages of zeros: each thread's first write places its memory.
        let mut entries = vec![[0; 3]; len + (2 * ids.len() + ROOM).div_ceil(3)];
        let ranges = even(&starts, 2 * EACH * self.shares.iter().map(|share| share.codes.len()).sum::<usize>());
        let rows = parallel::parts(&mut entries[..len], &ranges, |block| starts[block as usize]);
        let (of, from, blocks) = (&self, &starts, &blocks);
        let fill = parallel::ranges(
            ranges.into_iter().zip(rows).collect(),
            |range, rows, pace| async move { of.fill(&from[range.start as usize..=range.end as usize], range.start, blocks, rows, &pace).await },
            pace,
        );
        fill.await?;
        entries.truncate(len);
        let starts = ids.iter().map(|&block| starts[block as usize]).chain([starts[all]]).collect();
        let Self { batch, chunk, pairs: Pairs { bits, .. }, .. } = self;
        Ok(Some(PairList { batch, chunk, bits, ids, starts, entries: entries.into_flattened() }))
    }

    /// Fills the rows of the blocks from `first` on, which begin at `starts`. `blocks` has the block of every number of each share.
    async fn fill(&self, starts: &[u32], first: u32, blocks: &[Vec<u32>], rows: &mut [[u32; 3]], pace: &Pace) -> Result<(), Stopped> {
        let mut next: Vec<u32> = starts[..starts.len() - 1].iter().map(|start| start - starts[0]).collect();
        for (place, &(number, [a, b])) in self.pairs.pairs.iter().enumerate() {
            let [left, right] = [&self.pairs.sides[a], &self.pairs.sides[b]];
            for (share, blocks) in self.shares.iter().zip(blocks) {
                let codes = &share.codes[place * share.instances.len()..];
                for run in runs(share.instances.len()) {
                    pace.spend(2 * EACH * run.len()).await?;
                    let instances = share.instances.start as usize + run.start..share.instances.start as usize + run.end;
                    let variables = left.variables[instances.clone()].iter().zip(&right.variables[instances.clone()]);
                    let head = (instances.start as u32 - self.first) << self.pairs.bits | 2 * number;
                    for ((&code, (&i, &j)), head) in codes[run].iter().zip(variables).zip((head..).step_by(1 << self.pairs.bits)) {
                        // What is in no patch has no block, and other blocks are another thread's.
                        let block = blocks.get((code >> 1) as usize).map(|block| block.wrapping_sub(first) as usize);
                        let Some(place) = block.and_then(|block| next.get_mut(block)) else { continue };
                        rows[*place as usize] = [head | code & 1, left.unknown(i), right.unknown(j)];
                        *place += 1;
                    }
                }
            }
        }
        Ok(())
    }
}
