//! What a Schur complement on the device is made of, without a device: the tables that go, programs, tiles and lists.

use super::super::{self as linear, Planning, Preconditioner};
use super::tables::{Candidate, choose_tables, in_two_slots};
use super::{OF_SUMS, refused};
use leastwise_base::task::{Pace, Stopped, Task};
use leastwise_device::{Device, Reals};
use leastwise_error::Error;
use leastwise_problem::{Contributions, LinkedBatch, Links, ListWords, Problem, distinct, runs};
use leastwise_program::wgsl::Cut;
use leastwise_program::{ColumnMap, ReducedProgram, Rows, SchurDiagonalProgram, Signature};

/// A Schur complement before it has buffers.
pub struct Plan {
    /// For every table of the problem, whether it is eliminated.
    pub(super) eliminated: Vec<bool>,
    pub(super) batches: Vec<BatchPlan>,
    /// Products by tiles, where all of these batches have them.
    pub(super) tiled: Option<Vec<TilePlan>>,
    /// The diagonal blocks of S, where they are the preconditioner.
    pub(super) diagonals: Option<Vec<DiagonalPlan>>,
}

/// A batch whose instances link kept variables with eliminated ones.
#[derive(Clone, Copy)]
pub(super) struct BatchPlan {
    pub batch: usize,
    /// Table of the eliminated variables.
    pub table: u32,
}

/// The product of a batch by tiles.
pub(super) struct TilePlan {
    pub program: ReducedProgram,
    pub chunks: Vec<TileWords>,
}

/// The tiles of a chunk, and the lists of what crosses to kept variables.
pub(super) struct TileWords {
    pub words: Vec<u32>,
    pub tiles: u32,
    pub starts: u32,
    pub lists: Vec<ListWords>,
}

/// What a batch takes from the diagonal blocks, and the lists of every chunk.
pub(super) struct DiagonalPlan {
    pub program: SchurDiagonalProgram,
    pub lists: Vec<Vec<ListWords>>,
}

/// Facts of the device that a plan depends on.
#[derive(Clone, Copy)]
struct Limits {
    group_size: u32,
    /// Columns of a tile.
    columns: u32,
    cut: Cut,
}

impl Limits {
    fn of(device: &Device) -> Self {
        let columns = (1..=leastwise_program::OwnerProgram::MOST_COLUMNS).rev().find(|&columns| device.holds_tile(columns));
        let cut = if device.reals() == Reals::Double { Cut::Fine } else { Cut::Coarse };
        Self { group_size: device.limits().group_size, columns: columns.unwrap_or(0), cut }
    }
}

/// Begins the plan for a problem; `given` are the numbers of the tables to eliminate, which are found where there are none.
pub fn plan(device: &Device, problem: &Problem, given: Option<Vec<u32>>, preconditioner: Preconditioner) -> Planning {
    let (links, limits) = (Links::new(problem), Limits::of(device));
    // In the order of the links' batches.
    let signatures: Vec<Signature> = links.batches.iter().map(|batch| problem.batches()[batch.number].signature().clone()).collect();
    Task::new(move |pace| async move {
        let plan = Plan::new(&links, &signatures, (limits, given.as_deref(), preconditioner), &pace).await?;
        Ok(plan.map(|plan| Box::new(plan) as Box<dyn linear::Plan>))
    })
}

/// The pairs of tables of which variables meet in an instance, and those of which two variables of one do.
async fn linked(links: &Links, pace: &Pace) -> Result<Vec<[u32; 2]>, Stopped> {
    let mut pairs = Vec::new();
    for batch in &links.batches {
        let slots = batch.moving_slots();
        for (place, (_, a, left)) in slots.iter().enumerate() {
            for (_, b, right) in &slots[..place] {
                if a != b {
                    pairs.push([*a.min(b), *a.max(b)]);
                    continue;
                }
                for run in runs(left.len().min(right.len())) {
                    pace.spend(2 * run.len()).await?;
                    if left[run.clone()] != right[run] {
                        pairs.push([*a, *b]);
                        break;
                    }
                }
            }
        }
    }
    Ok(distinct(pairs.into_iter()))
}

impl Plan {
    async fn new(
        links: &Links,
        signatures: &[Signature],
        (limits, given, preconditioner): (Limits, Option<&[u32]>, Preconditioner),
        pace: &Pace,
    ) -> Result<Result<Self, Error>, Stopped> {
        if links.has_sums() {
            return Ok(Err(refused(OF_SUMS)));
        }
        let linked = linked(links, pace).await?;
        let candidates = links.moving().map(|(number, table)| Candidate { number, name: &table.name, unknowns: table.site.unknowns() });
        let tables = match choose_tables(&candidates.collect::<Vec<_>>(), &linked, given) {
            Ok(tables) => tables,
            Err(error) => return Ok(Err(error)),
        };
        let mut eliminated = vec![false; links.tables.len()];
        tables.iter().for_each(|&table| eliminated[table as usize] = true);
        // Batches that link what is kept with what goes, and the slot of that.
        let mut linking: Vec<(&LinkedBatch, &Signature, u32, u32)> = Vec::new();
        for (batch, signature) in links.batches.iter().zip(signatures) {
            let (gone, kept): (Vec<_>, Vec<_>) = batch.moving_slots().into_iter().partition(|(_, table, _)| eliminated[*table as usize]);
            match (&gone[..], &kept[..]) {
                ([], _) | (_, []) => {}
                ([(slot, table, _)], _) => linking.push((batch, signature, *slot, *table)),
                _ => return Ok(Err(in_two_slots(&batch.name))),
            }
        }
        let mut tiled = Some(Vec::new());
        for &(batch, signature, slot, table) in &linking {
            let alone = linking.iter().filter(|other| other.3 == table).count() == 1;
            let plan = if alone { TilePlan::new(links, batch, signature, slot, limits, pace).await? } else { None };
            match (&mut tiled, plan) {
                (Some(plans), Some(plan)) => plans.push(plan),
                _ => {
                    tiled = None;
                    break;
                }
            }
        }
        let mut diagonals = None;
        if preconditioner == Preconditioner::SchurJacobi {
            let mut plans = Vec::new();
            for &(batch, signature, slot, _) in &linking {
                let program = SchurDiagonalProgram::new(&batch.name, &batch.programs, signature, slot);
                let from = Contributions { product: &[], diagonal: &program.maps, distance: 1 };
                let mut lists = Vec::new();
                for &(first, count) in &batch.chunks {
                    lists.push(ListWords::of(links, batch, first as usize..(first + count) as usize, from, pace).await?);
                }
                plans.push(DiagonalPlan { program, lists });
            }
            diagonals = Some(plans);
        }
        let batches = linking.into_iter().map(|(batch, .., table)| BatchPlan { batch: batch.number, table }).collect();
        Ok(Ok(Self { eliminated, batches, tiled, diagonals }))
    }
}

impl TilePlan {
    /// `None` where instances do not lie in the order of the eliminated variables, or the kernel would be too large.
    async fn new(
        links: &Links,
        batch: &LinkedBatch,
        signature: &Signature,
        slot: u32,
        limits: Limits,
        pace: &Pace,
    ) -> Result<Option<Self>, Stopped> {
        let Some(program) = ReducedProgram::new(&batch.programs, signature, slot, limits.cut) else { return Ok(None) };
        if program.tile > limits.columns {
            return Ok(None);
        }
        let Some((.., owners)) = batch.moving_slots().into_iter().find(|(number, ..)| *number == slot) else { return Ok(None) };
        let none: &[ColumnMap] = &[];
        let from = Contributions { product: &program.crossing, diagonal: none, distance: program.crossing_columns };
        if !follow_each_other(owners, batch.chunks.iter().map(|&(first, _)| first as usize)) {
            return Ok(None);
        }
        let mut chunks = Vec::new();
        for &(first, count) in &batch.chunks {
            let range = first as usize..(first + count) as usize;
            let Some(Rows { starts, tiles }) = Rows::new(&owners[range.clone()], limits.group_size, pace).await? else { return Ok(None) };
            let mut words: Vec<u32> = tiles.iter().flat_map(|&row| [row, starts[row as usize]]).collect();
            let (tiles, first_start) = (tiles.len() as u32 - 1, words.len() as u32);
            words.extend(starts);
            let lists = ListWords::of(links, batch, range, from, pace).await?;
            chunks.push(TileWords { words, tiles, starts: first_start, lists });
        }
        Ok(Some(Self { program, chunks }))
    }
}

/// Whether owners ascend from each chunk to the next: a row of which a later chunk has more would be two, and w of its variable wrong.
fn follow_each_other(owners: &[u32], mut firsts: impl Iterator<Item = usize>) -> bool {
    firsts.all(|first| first == 0 || owners[first - 1] < owners[first])
}

#[cfg(test)]
mod tests {
    use super::follow_each_other;

    #[test]
    fn a_variable_has_its_instances_in_one_chunk() {
        let follow = |owners: &[u32]| follow_each_other(owners, [0, 4].into_iter());
        assert!(follow(&[0, 0, 1, 1, 2, 2, 3, 3]));
        assert!(!follow(&[0, 0, 1, 1, 1, 2, 3, 3]), "goes on in the next chunk");
        assert!(!follow(&[0, 1, 2, 3, 0, 1, 2, 3]), "begins anew with the next chunk");
    }
}
