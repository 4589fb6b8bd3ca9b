//! Wide variables as scalars, for factors: a block of a thousand unknowns of which a residual links two at a time is a sparse matrix
//! itself, and as a dense one would take n³/3 multiplications.
//!
//! Which entries of a diagonal block can be other than 0 is told by the programs, not by values, so that the order of elimination is
//! the structure's alone.

use crate::matrix::{BlockMatrix, packed};
use leastwise_problem::{Pattern, PatternPart};
use std::sync::Arc;

/// Width of a variable from which its scalars may be worth an order of their own.
const WIDE: u32 = 32;
/// Share of a diagonal block's entries that may be there at most.
const SPARSE: f64 = 0.25;

/// Of every table of a pattern, the entries of its diagonal blocks (packed lower triangles) that can be other than 0; none where all
/// may be.
pub type Masks = Vec<Option<Vec<bool>>>;

/// The structure of a matrix in which some tables have scalars for variables, and where its values come from.
pub struct Unblocked {
    /// Its tables are those of the pattern that it was made of, with the same scalars.
    pub pattern: Arc<Pattern>,
    /// Of every value, which one it was: of the diagonal blocks, and of all blocks below, where a bit tells which of the two.
    diagonal: Vec<u32>,
    lower: Vec<u32>,
}

/// Tells a value below the diagonal that was in a diagonal block.
const OF_DIAGONAL: u32 = 1 << 31;

/// True if a table of variables so wide is worth it.
fn is_worth(width: u32, mask: &[bool]) -> bool {
    let there = mask.iter().filter(|there| **there).count();
    width >= WIDE && there as f64 <= SPARSE * mask.len() as f64
}

impl Unblocked {
    /// The structure, if there is a table to be taken apart.
    pub fn new(pattern: &Pattern, masks: &Masks) -> Option<Self> {
        let masks: Vec<Option<&[bool]>> =
            (pattern.tables.iter().zip(masks)).map(|(table, mask)| mask.as_deref().filter(|mask| is_worth(table.width, mask))).collect();
        let largest = pattern.values.max(pattern.blocks_len.into());
        if masks.iter().all(Option::is_none) || largest >= OF_DIAGONAL.into() {
            return None;
        }
        let (mut made, mut diagonal, mut lower) = (Pattern::default(), Vec::new(), Vec::new());
        for (table, mask) in pattern.tables.iter().zip(&masks) {
            let size = packed(table.width as usize, 0) as u32;
            let blocks = (0..table.count).map(|variable| table.block + variable * size);
            if mask.is_none() {
                made.push(&table.name, table.table, table.count, table.width);
                blocks.for_each(|first| diagonal.extend(first..first + size));
            } else {
                made.push(&table.name, table.table, table.count * table.width, 1);
                blocks.for_each(|first| diagonal.extend((0..table.width as usize).map(|k| first + packed(k, k) as u32)));
            }
        }
        for part in &pattern.parts {
            let own = if part.row == part.column { masks[part.row as usize] } else { None };
            let heights = [(part.row, part.rows), (part.column, part.width)];
            let [rows, width] = heights.map(|(table, size)| if masks[table as usize].is_some() { 1 } else { size });
            made.parts.push(Self::taken_apart(pattern, part, [rows, width], own, &mut lower));
        }
        for (number, (table, mask)) in (0..).zip(pattern.tables.iter().zip(&masks)) {
            let is_there = pattern.parts.iter().any(|part| (part.row, part.column) == (number, number));
            if mask.is_some() && !is_there {
                let (starts, columns) = (vec![0; table.count as usize + 1], Vec::new());
                let none = PatternPart { row: number, column: number, starts, columns, base: 0, rows: table.width, width: table.width };
                made.parts.push(Self::taken_apart(pattern, &none, [1, 1], *mask, &mut lower));
            }
        }
        made.values = lower.len() as u64;
        Some(Self { pattern: Arc::new(made), diagonal, lower })
    }

    /// A part in blocks of another size, and what lies within diagonal blocks, if that is given.
    fn taken_apart(
        pattern: &Pattern,
        part: &PatternPart,
        [rows, width]: [u32; 2],
        own: Option<&[bool]>,
        lower: &mut Vec<u32>,
    ) -> PatternPart {
        let (mut starts, mut columns, base) = (vec![0], Vec::new(), lower.len() as u64);
        let table = &pattern.tables[part.row as usize];
        let diagonal = |variable: u32| table.block + variable * packed(table.width as usize, 0) as u32;
        for variable in 0..table.count {
            for row in (0..part.rows).step_by(rows as usize) {
                for (block, column) in part.row(variable) {
                    let first = part.base as u32 + block * part.size();
                    for across in (0..part.width).step_by(width as usize) {
                        columns.push((column * part.width + across) / width);
                        let place = |r: u32, c: u32| first + (row + r) * part.width + across + c;
                        lower.extend((0..rows).flat_map(|r| (0..width).map(move |c| place(r, c))));
                    }
                }
                for (across, _) in own
                    .iter()
                    .flat_map(|mask| mask[packed(row as usize, 0)..][..row as usize].iter().enumerate())
                    .filter(|(_, there)| **there)
                {
                    columns.push(variable * table.width + across as u32);
                    lower.push(OF_DIAGONAL | (diagonal(variable) + packed(row as usize, across) as u32));
                }
                starts.push(columns.len() as u32);
            }
        }
        PatternPart { row: part.row, column: part.column, starts, columns, base, rows, width }
    }

    /// The matrix of values that lie as the whole blocks do.
    pub fn matrix(&self, diagonal: &[f64], lower: &[f64]) -> BlockMatrix {
        let below = |&place: &u32| match place & OF_DIAGONAL {
            0 => lower[place as usize],
            _ => diagonal[(place & !OF_DIAGONAL) as usize],
        };
        let own = self.diagonal.iter().map(|&place| diagonal[place as usize]);
        BlockMatrix { pattern: self.pattern.clone(), diagonal: own.collect(), lower: self.lower.iter().map(below).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastwise_base::task::Task;

    /// The lower triangle of a matrix, column by column.
    fn dense(matrix: BlockMatrix) -> Vec<f64> {
        let n = matrix.pattern.scalars as usize;
        let whole = Task::new(|pace| async move { matrix.dense(&vec![0.0; n], &pace).await }).finish().unwrap();
        (0..n * n).map(|place| if place % n >= place / n { whole[place] } else { 0.0 }).collect()
    }

    #[test]
    fn the_matrix_stays_what_it_is() {
        const WIDTH: u32 = 40;
        let mut pattern = Pattern::default();
        pattern.push("points", 0, 3, 3);
        pattern.push("wide", 1, 2, WIDTH);
        let part =
            |row, column, starts, columns, [rows, width]: [u32; 2], base| PatternPart { row, column, starts, columns, base, rows, width };
        pattern.parts = vec![
            part(0, 0, vec![0, 0, 1, 2], vec![0, 1], [3, 3], 0),
            part(1, 0, vec![0, 2, 3], vec![0, 2, 1], [WIDTH, 3], 18),
            part(1, 1, vec![0, 0, 1], vec![0], [WIDTH, WIDTH], 18 + 360),
        ];
        pattern.values = 18 + 360 + u64::from(WIDTH * WIDTH);
        let size = packed(WIDTH as usize, 0);
        // The diagonal, and every fifth entry below.
        let mask: Vec<bool> = (0..WIDTH as usize).flat_map(|r| (0..=r).map(move |c| r == c || (7 * r + c) % 5 == 0)).collect();
        let number = |k: usize| ((k * 7919) % 1009) as f64 + 1.0;
        let mut diagonal: Vec<f64> = (0..pattern.blocks_len as usize).map(number).collect();
        for (value, is_there) in diagonal[18..].iter_mut().zip(mask.iter().cycle()) {
            *value = if *is_there { *value } else { 0.0 };
        }
        let lower: Vec<f64> = (0..pattern.values as usize).map(|k| number(k + 5)).collect();
        let masks = vec![None, Some(mask.clone())];
        for parts in [3, 2, 1] {
            pattern.parts.truncate(parts);
            let unblocked = Unblocked::new(&pattern, &masks).expect("a sparse block");
            let made = unblocked.matrix(&diagonal, &lower);
            assert_eq!((made.pattern.scalars, made.pattern.variables()), (9 + 2 * WIDTH, 3 + 2 * WIDTH));
            assert_eq!((made.diagonal.len(), made.lower.len() as u64), (18 + 2 * WIDTH as usize, made.pattern.values));
            let whole = BlockMatrix { pattern: Arc::new(pattern.clone()), diagonal: diagonal.clone(), lower: lower.clone() };
            assert!(dense(made) == dense(whole), "{parts} parts");
        }
        let full = vec![None, Some(vec![true; size])];
        assert!(Unblocked::new(&pattern, &full).is_none() && Unblocked::new(&pattern, &vec![None, None]).is_none());
    }
}
