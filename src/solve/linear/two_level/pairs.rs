//! Pairs of slots of a problem's instances, and the blocks of the patches' matrix that they add to.

use super::aggregate::{NONE, even};
use super::hierarchy::Lower;
use super::met::Met;
use super::patches::Patches;
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped};
use leastwise_problem::{LinkedBatch, Links, pair_bits};
use leastwise_program::SlotPair;
use std::ops::Range;

/// Words of the shapes of pairs and the codes of their entries, usually.
const ROOM: usize = 1 << 12;
/// Patches next to one on the average, at most.
const MOST_NEIGHBOURS: u32 = 48;
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
    let most = patches.count.saturating_mul(MOST_NEIGHBOURS / 2);
    let refused =
        || format!("patches of variables have more than {MOST_NEIGHBOURS} neighbours: variables are linked across the whole problem");
    let mut coupled = Vec::new();
    for batch in &links.batches {
        let pairs = Pairs::new(links, patches, batch);
        for (chunk, &(first, count)) in batch.chunks.iter().enumerate() {
            let shares = parallel::shares(count, 2 * EACH * pairs.pairs.len() * count as usize);
            let pairs = &pairs;
            let shares = parallel::ranges(
                shares.into_iter().map(|share| (first + share.start..first + share.end, ())).collect(),
                |range, (), pace| async move { Share::new(pairs, first, range, [patches.count, most], &pace).await },
                pace,
            );
            let shares = shares.await?;
            let Some(shares) = shares.into_iter().collect() else { return Ok(Err(refused())) };
            coupled.push(Coupled { batch: batch.number, chunk, first, pairs: pairs.clone(), shares });
        }
    }
    let met: Vec<&[(u32, u32)]> = coupled.iter().flat_map(|chunk| &chunk.shares).map(|share| &share.met[..]).collect();
    pace.spend(4 * EACH * met.iter().map(|pairs| pairs.len()).sum::<usize>()).await?;
    let matrix = Lower::of(patches.count, &met);
    Ok(if matrix.columns.len() > most as usize { Err(refused()) } else { Ok((matrix, coupled)) })
}

/// Lists of what adds to the blocks of the patches' matrix. A chunk's links are freed behind its list.
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
    /// Variables of instances.
    fn of(&self, instances: &Range<u32>) -> &[u32] {
        &self.variables[instances.start as usize..instances.end as usize]
    }

    fn unknown(&self, instance: u32) -> u32 {
        self.first + self.variables[instance as usize] * self.tangent
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

    /// Appends the codes of a few instances, by pair of slots: twice the number of a pair of patches, and one more where the first slot's
    /// patch is the column; [`NONE`] where a variable is in no patch.
    fn encode(&self, run: &Range<u32>, owners: &mut [[u32; FEW]], met: &mut Met, codes: &mut Vec<u32>) {
        for (side, owners) in self.sides.iter().zip(&mut *owners) {
            owners.iter_mut().zip(side.of(run)).for_each(|(owner, &variable)| *owner = side.owners[variable as usize]);
        }
        for &(_, [a, b]) in &self.pairs {
            let [left, right] = [&self.sides[a], &self.sides[b]];
            let skips_same = self.skips_same && left.table == right.table;
            let variables = left.of(run).iter().zip(right.of(run));
            codes.extend(owners[a].iter().zip(&owners[b]).zip(variables).map(|((&p, &q), (i, j))| {
                let is_none = p == NONE || q == NONE || skips_same && i == j;
                if is_none { NONE } else { met.meet(p, q) << 1 | u32::from(p < q) }
            }));
        }
    }
}

/// Puts the words of instances behind those that their codes have already; `word` is the first.
fn sort(codes: &[u32], word: u32, bits: u32, next: &mut [u32], words: &mut [u32]) {
    for (&code, word) in codes.iter().zip((word..).step_by(1 << bits)) {
        if let Some(next) = next.get_mut((code >> 1) as usize) {
            words[*next as usize] = word | code & 1;
            *next += 1;
        }
    }
}

/// Links of some instances of a chunk.
struct Share {
    /// Pairs of two patches. In lists they come behind those of a patch with itself.
    met: Vec<(u32, u32)>,
    /// First word of every pair of patches, and the end of the last.
    starts: Vec<u32>,
    /// First words of entries, by pair of patches, pair of slots and instance.
    words: Vec<u32>,
}

impl Share {
    /// Links of instances, or none where they link more than the most pairs of patches.
    async fn new(
        of: &Pairs<'_>,
        first: u32,
        instances: Range<u32>,
        [patches, most]: [u32; 2],
        pace: &Pace,
    ) -> Result<Option<Self>, Stopped> {
        let (mut met, pairs) = (Met::new(patches), of.pairs.len());
        let mut codes = Vec::with_capacity(pairs * instances.len());
        let mut owners = vec![[0; FEW]; if pairs > 0 { of.sides.len() } else { 0 }];
        let runs = || (instances.start..instances.end).step_by(FEW).map(|start| start..instances.end.min(start + FEW as u32));
        for run in runs() {
            pace.spend(2 * EACH * pairs * run.len()).await?;
            of.encode(&run, &mut owners, &mut met, &mut codes);
            if met.pairs.len() > most as usize {
                return Ok(None);
            }
        }
        let mut starts = vec![0];
        starts.extend(met.counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        }));
        let (mut next, mut words) = (starts.clone(), vec![0; starts[met.counts.len()] as usize]);
        for (place, &(pair, _)) in of.pairs.iter().enumerate() {
            for (run, codes) in runs().zip(codes.chunks(pairs * FEW)) {
                pace.spend(EACH * run.len()).await?;
                sort(
                    &codes[place * run.len()..][..run.len()],
                    ((run.start - first) << of.bits) | (2 * pair),
                    of.bits,
                    &mut next,
                    &mut words,
                );
            }
        }
        Ok(Some(Self { met: met.pairs, starts, words }))
    }

    /// Words of a pair of patches.
    fn of(&self, number: u32) -> &[u32] {
        &self.words[self.starts[number as usize] as usize..self.starts[number as usize + 1] as usize]
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
    /// Links between two slots of instances.
    pub(super) fn links(&self) -> usize {
        self.shares.iter().map(|share| share.words.len()).sum()
    }

    async fn list(self, matrix: &Lower, pace: &Pace) -> Result<Option<PairList>, Stopped> {
        // The number of every block below the diagonal, by share.
        let numbers = parallel::map(
            self.shares.iter().map(|share| &share.met[..]).collect(),
            |met| 2 * EACH * met.len() + matrix.columns.len(),
            || (),
            |(), met: &[(u32, u32)]| {
                let mut numbers = vec![NONE; matrix.columns.len()];
                for (number, &(row, column)) in (matrix.nodes()..).zip(met) {
                    numbers[(matrix.block(row, column) - matrix.nodes()) as usize] = number;
                }
                numbers
            },
            pace,
        );
        let numbers = numbers.await?;
        let words_of = |block: u32| {
            let below = move |numbers: &Vec<u32>| block.checked_sub(matrix.nodes()).map_or(block, |place| numbers[place as usize]);
            let shares = self.shares.iter().zip(&numbers).map(move |(share, numbers)| (share, below(numbers)));
            shares.filter(|(_, number)| *number != NONE).map(|(share, number)| share.of(number))
        };
        let mut starts = vec![0];
        let mut ids = Vec::new();
        for block in 0..matrix.blocks() {
            let len: usize = words_of(block).map(|words| words.len()).sum();
            pace.spend(EACH).await?;
            if len > 0 {
                ids.push(block);
                starts.push(starts[ids.len() - 1] + len as u32);
            }
        }
        if ids.is_empty() {
            return Ok(None);
        }
        let len = starts[ids.len()];
        let mut entries = Vec::with_capacity(len as usize + (2 * ids.len() + ROOM).div_ceil(3));
        parallel::extend(&mut entries, 0..len, |_| [0; 3]);
        let ranges = even(&starts, 2 * EACH * len as usize);
        let rows = parallel::parts(&mut entries, &ranges, |row| starts[row as usize]);
        let (of, ids_of, words_of) = (&self, &ids, &words_of);
        let fill = parallel::ranges(
            ranges.into_iter().zip(rows).collect(),
            |range, mut rows: &mut [[u32; 3]], pace| async move {
                let mut words = Vec::new();
                for &block in &ids_of[range.start as usize..range.end as usize] {
                    words.extend(words_of(block));
                    let own = rows.split_off_mut(..words.iter().map(|words| words.len()).sum()).unwrap_or_default();
                    pace.spend(EACH * own.len()).await?;
                    of.fill(own, &mut words);
                    words.clear();
                }
                Ok(())
            },
            pace,
        );
        fill.await?;
        let Self { batch, chunk, pairs: Pairs { bits, .. }, .. } = self;
        Ok(Some(PairList { batch, chunk, bits, ids, starts, entries: entries.into_flattened() }))
    }

    /// Fills a row with the entries of the words that shares have for it, by pair of slots and instance.
    fn fill(&self, row: &mut [[u32; 3]], words: &mut [&[u32]]) {
        let mut row = row.iter_mut();
        let of_pair = (1 << self.pairs.bits) - 1;
        for &(pair, [a, b]) in &self.pairs.pairs {
            let [left, right] = [&self.pairs.sides[a], &self.pairs.sides[b]];
            for words in &mut *words {
                let len = words.iter().take_while(|word| (**word & of_pair) >> 1 == pair).count();
                let own = words.split_off(..len).unwrap_or_default();
                for (&word, entry) in own.iter().zip(&mut row) {
                    let instance = self.first + (word >> self.pairs.bits);
                    *entry = [word, left.unknown(instance), right.unknown(instance)];
                }
            }
        }
    }
}
