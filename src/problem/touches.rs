//! Touches: which instances add to which block of JᵀWJ, sorted by rows and columns.

use super::incidence::runs;
use super::pattern::{PatternBatch, pair_bits};
use leastwise_base::counting_sort::Runs;
use leastwise_base::task::{Pace, Stopped};
use std::ops::Range;

/// Instances or touches between two counts of what was done, and operations that one takes.
pub const RUN: u32 = 1 << 14;
pub const EACH: usize = 8;

/// Touches of a row that are sorted by comparison, in one go: as many, or a quarter of the columns where that is more, and never more than
/// [`MOST_AT_ONCE`]. Longer rows are sorted by counting.
const SORTED_AT_ONCE: usize = 1 << 14;
const MOST_AT_ONCE: usize = 1 << 17;

/// A block that an instance adds to, of the row that it is in.
#[derive(Clone, Copy, Default)]
pub struct Touch {
    pub column: u32,
    /// Chunk (counted over all batches) and entry.
    pub chunk: u32,
    pub entry: u32,
}

/// Tables whose blocks are touched: of rows and of columns, or (without the second) the table of diagonal blocks.
pub type Tables = (u32, Option<u32>);

/// Touches of a target's blocks by their rows, in the order of batches, pairs of slots and instances.
pub struct Touches<'a> {
    target: Tables,
    pairs: Vec<Pair<'a>>,
    runs: Vec<Run>,
}

/// Tables and variables of two slots.
struct Pair<'a> {
    slots: [(u32, &'a [u32]); 2],
    /// Bits of an entry that number a batch's pairs, and those of this pair.
    bits: u32,
    code: u32,
}

/// Some instances of a chunk, as a pair sees them.
struct Run {
    pair: usize,
    chunk: u32,
    /// First instance of the chunk.
    first: u32,
    /// Instances, counted within the chunk.
    instances: Range<u32>,
}

impl<'a> Touches<'a> {
    pub fn new(batches: &'a [PatternBatch<'_>], target: Tables) -> Self {
        let (mut pairs, mut runs, mut before) = (Vec::new(), Vec::new(), 0);
        for batch in batches {
            for (number, slots) in batch.pairs() {
                let [a, b] = slots.map(|(table, _)| table);
                if (a.max(b), a.min(b)) != (target.0, target.1.unwrap_or(target.0)) {
                    continue;
                }
                for (chunk, &(first, count)) in (before..).zip(&batch.chunks) {
                    let starts = (0..count).step_by(RUN as usize);
                    let run = |start| Run { pair: pairs.len(), chunk, first, instances: start..start.saturating_add(RUN).min(count) };
                    runs.extend(starts.map(run));
                }
                pairs.push(Pair { slots, bits: pair_bits(batch.pairs.len()), code: 2 * number });
            }
            before += batch.chunks.len() as u32;
        }
        Self { target, pairs, runs }
    }
}

impl Runs for Touches<'_> {
    type Item = Touch;

    fn count(&self) -> u32 {
        self.runs.len() as u32
    }

    fn len(&self, run: u32) -> usize {
        self.runs[run as usize].instances.len()
    }

    fn visit(&self, run: u32, mut visit: impl FnMut(u32, Touch)) {
        let Run { pair, chunk, first, ref instances } = self.runs[run as usize];
        let Pair { slots: [a, b], bits, code } = self.pairs[pair];
        let of_run = (first + instances.start) as usize..(first + instances.end) as usize;
        for (instance, (&i, &j)) in instances.clone().zip(a.1[of_run.clone()].iter().zip(&b.1[of_run])) {
            let same = a.0 == b.0 && i == j;
            if same != self.target.1.is_none() {
                continue;
            }
            let mut touch = |row: u32, column: u32, turned: u32| {
                visit(row, Touch { column, chunk, entry: (instance << bits) | code | turned });
            };
            if same {
                touch(i, i, 0);
                touch(i, i, 1);
            } else if (a.0, i) > (b.0, j) {
                touch(i, j, 0);
            } else {
                touch(j, i, 1);
            }
        }
    }
}

/// Sorts each row's touches by column; those of equal ones stay in their order. Counts those of every chunk on the way.
pub async fn sort_rows(touches: &mut [Touch], ends: &[u32], columns: u32, of_chunks: &mut [usize], pace: &Pace) -> Result<(), Stopped> {
    let (mut first, mut spent) = (0, 0);
    for &end in ends {
        let of_row = &mut touches[first as usize..end as usize];
        first = end;
        spent += EACH * of_row.len() + 1;
        of_row.iter().for_each(|touch| of_chunks[touch.chunk as usize] += 1);
        if !of_row.is_sorted_by_key(|touch| touch.column) {
            if of_row.len() <= SORTED_AT_ONCE.max(columns as usize / 4).min(MOST_AT_ONCE) {
                of_row.sort_by_key(|touch| touch.column);
                spent += EACH * of_row.len() * of_row.len().ilog2() as usize;
            } else {
                of_row.copy_from_slice(&counted(of_row, columns, pace).await?);
            }
        }
        if spent >= EACH * RUN as usize {
            pace.spend(std::mem::take(&mut spent)).await?;
        }
    }
    Ok(())
}

/// Sorted by column, by counting; those of equal ones stay in their order.
async fn counted(touches: &[Touch], columns: u32, pace: &Pace) -> Result<Vec<Touch>, Stopped> {
    let mut next = vec![0u32; columns as usize + 1];
    for run in runs(touches.len()) {
        pace.spend(EACH * run.len()).await?;
        touches[run].iter().for_each(|touch| next[touch.column as usize + 1] += 1);
    }
    for column in 0..columns as usize {
        next[column + 1] += next[column];
    }
    let mut sorted = vec![Touch::default(); touches.len()];
    for run in runs(touches.len()) {
        pace.spend(2 * EACH * run.len()).await?;
        for touch in &touches[run] {
            let place = &mut next[touch.column as usize];
            sorted[*place as usize] = *touch;
            *place += 1;
        }
    }
    Ok(sorted)
}
