//! Links: which variables the enabled instances of a problem link, apart from the problem, so that work in time slices can look at them.

use super::table::Site;
use super::{Batch, Problem};
use leastwise_program::ResidualPrograms;
use std::sync::Arc;

/// Variables of the enabled instances, by table and batch.
pub struct Links {
    /// All tables of the problem.
    pub tables: Vec<LinkedTable>,
    /// Enabled batches.
    pub batches: Vec<LinkedBatch>,
    /// Elements of a vector over all unknowns, and of the packed diagonal blocks.
    pub vector_len: u32,
    /// Elements of the packed diagonal blocks.
    pub blocks_len: u32,
}

/// A table as links have it.
pub struct LinkedTable {
    /// Name of the table.
    pub name: String,
    /// True if it is solved for.
    pub moving: bool,
    /// Sizes of the table, and its places in buffers.
    pub site: Site,
}

/// An enabled batch.
pub struct LinkedBatch {
    /// The problem's number of it.
    pub number: usize,
    /// Name of the batch.
    pub name: String,
    /// Programs of the batch's residual.
    pub programs: Arc<ResidualPrograms>,
    /// First instance and count of every chunk.
    pub chunks: Vec<(u32, u32)>,
    /// Number of instances.
    pub count: u32,
    /// True where diagonal blocks already have the part that two slots of one variable have in common.
    pub has_repeated_slots: bool,
    /// True if its residual is over sums of its rows' entries.
    pub has_sums: bool,
    /// For every slot its table and index column, and whether it moves.
    slots: Vec<(u32, usize, bool)>,
    indices: Arc<Vec<Vec<u32>>>,
}

impl Links {
    /// Those of a problem that is laid out.
    pub fn new(problem: &Problem) -> Self {
        let of_batch = |(number, batch): (usize, &Batch)| LinkedBatch {
            number,
            name: batch.name.clone(),
            programs: batch.programs.clone(),
            chunks: batch.chunks.iter().map(|chunk| (chunk.first, chunk.count)).collect(),
            count: batch.count(),
            has_repeated_slots: batch.repeated_slots.is_some(),
            has_sums: batch.sums.is_some(),
            slots: (0..)
                .zip(&batch.signature().slots)
                .map(|(number, slot)| (problem.slot_of(batch, number).0, slot.arena.column as usize, slot.vector.is_some()))
                .collect(),
            indices: batch.indices.clone(),
        };
        let tables = problem.tables.iter();
        Self {
            tables: tables.map(|table| LinkedTable { name: table.name.clone(), moving: table.moving, site: table.site() }).collect(),
            batches: problem.batches.iter().enumerate().filter(|(_, batch)| batch.enabled).map(of_batch).collect(),
            vector_len: problem.vector_len,
            blocks_len: problem.blocks_len,
        }
    }

    /// True if some residual is over sums of rows' entries.
    pub fn has_sums(&self) -> bool {
        self.batches.iter().any(|batch| batch.has_sums)
    }

    /// Tables that are solved for, with their numbers.
    pub fn moving(&self) -> impl Iterator<Item = (u32, &LinkedTable)> {
        (0..).zip(&self.tables).filter(|(_, table)| table.moving)
    }

    /// Degrees of freedom of all variables.
    pub fn unknowns(&self) -> u32 {
        self.moving().map(|(_, table)| table.site.unknowns()).sum()
    }
}

impl LinkedBatch {
    /// Every slot: its table, and which variable or constant each instance names.
    pub fn slots(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.slots.iter().map(|&(table, column, _)| (table, &self.indices[column][..]))
    }

    /// The slots that move, with their numbers.
    pub fn moving_slots(&self) -> Vec<(u32, u32, &[u32])> {
        let moving = (0..).zip(&self.slots).filter(|(_, (.., moves))| *moves);
        moving.map(|(number, &(table, column, _))| (number, table, &self.indices[column][..])).collect()
    }
}
