//! JᵀWJ on the host, in f64, block by block.

use crate::Computed;
use leastwise_base::memory::{self, OutOfMemory};
use leastwise_base::task::{Pace, Stopped, UNIT};
use leastwise_problem::{BlockRows, Pattern, PatternPart};
use std::ops::Range;
use std::sync::Arc;

/// A symmetric matrix of the structure of a [`Pattern`]: its diagonal blocks as packed lower triangles, and the blocks
/// below the diagonal row by row.
#[derive(Clone, Debug)]
pub struct BlockMatrix {
    /// Tables and blocks.
    pub pattern: Arc<Pattern>,
    /// Packed lower triangles of the diagonal blocks, one variable after the other.
    pub diagonal: Vec<f64>,
    /// Blocks below the diagonal, part by part, each row by row.
    pub lower: Vec<f64>,
}

/// (H + diag(damping)) x = right.
#[derive(Clone, Copy)]
pub struct System<'a> {
    /// H.
    pub matrix: &'a BlockMatrix,
    /// λD, and the right-hand side: over all unknowns, without gaps.
    pub damping: &'a [f64],
    /// Right-hand side.
    pub right: &'a [f64],
}

/// Why a system has no solution.
#[derive(Clone, PartialEq, Debug)]
pub enum Unsolved {
    /// The matrix has no factor: it is not positive definite in f64.
    Singular,
    /// The work was told to end.
    Stopped,
    /// There is no room for it besides what else is there by now.
    OutOfMemory(OutOfMemory),
}

impl From<OutOfMemory> for Unsolved {
    fn from(lack: OutOfMemory) -> Self {
        Self::OutOfMemory(lack)
    }
}

impl From<Stopped> for Unsolved {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// Entry (row, column ≤ row) of a packed lower triangle.
pub fn packed(row: usize, column: usize) -> usize {
    row * (row + 1) / 2 + column
}

impl BlockMatrix {
    /// The zero matrix of a structure.
    pub fn zero(pattern: Arc<Pattern>) -> Self {
        let (diagonal, lower) = (vec![0.0; pattern.blocks_len as usize], vec![0.0; pattern.values as usize]);
        Self { pattern, diagonal, lower }
    }

    /// The packed diagonal block of a variable.
    pub fn diagonal(&self, table: &BlockRows, variable: u32) -> &[f64] {
        let size = packed(table.width as usize, 0);
        &self.diagonal[table.block as usize + variable as usize * size..][..size]
    }

    /// Rows and columns of unknowns that are not free (0) become those of the identity.
    pub async fn mask(&mut self, free: &[f64], pace: &Pace) -> Result<(), Stopped> {
        let to = |r: usize, c: usize, value| if free[r] == 0.0 || free[c] == 0.0 { f64::from(u8::from(r == c)) } else { value };
        self.change(to, pace).await
    }

    /// Every entry of the lower triangle becomes what `to` makes of its row, its column and it.
    pub async fn change(&mut self, to: impl Fn(usize, usize, f64) -> f64 + Send, pace: &Pace) -> Result<(), Stopped> {
        let Self { pattern, diagonal, lower } = self;
        for table in &pattern.tables {
            let width = table.width as usize;
            for variable in 0..table.count as usize {
                let first = table.scalar as usize + variable * width;
                let block = &mut diagonal[table.block as usize + variable * packed(width, 0)..];
                for r in 0..width {
                    for c in 0..=r {
                        block[packed(r, c)] = to(first + r, first + c, block[packed(r, c)]);
                    }
                }
                pace.spend(packed(width, 0)).await?;
            }
        }
        for part in &pattern.parts {
            let [rows, columns] = [part.row, part.column].map(|number| &pattern.tables[number as usize]);
            let (height, width) = (part.rows as usize, part.width as usize);
            for variable in 0..rows.count {
                let above = rows.scalar as usize + variable as usize * height;
                for (block, column) in part.row(variable) {
                    let across = columns.scalar as usize + column as usize * width;
                    let values = &mut lower[part.base as usize + block as usize * height * width..][..height * width];
                    for (place, value) in values.iter_mut().enumerate() {
                        *value = to(above + place / width, across + place % width, *value);
                    }
                }
                pace.spend(4 * part.values_of(variable)).await?;
            }
        }
        Ok(())
    }

    /// y = Hx, over all unknowns without gaps.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        for table in &self.pattern.tables {
            self.multiply_diagonal(table, 0..table.count, x, y);
        }
        for part in &self.pattern.parts {
            self.multiply_rows(part, 0..part.starts.len() as u32 - 1, x, y);
        }
    }

    /// The same in time slices.
    pub fn multiply_in_slices<'a>(&'a self, x: &'a [f64], y: &'a mut [f64], pace: &'a Pace) -> Computed<'a, Result<(), Stopped>> {
        Box::pin(async move {
            for table in &self.pattern.tables {
                for variables in runs(table.count, |_| 2 * (table.width * table.width) as usize) {
                    self.multiply_diagonal(table, variables.clone(), x, y);
                    pace.spend(variables.len() * 2 * (table.width * table.width) as usize).await?;
                }
            }
            for part in &self.pattern.parts {
                for rows in runs(part.starts.len() as u32 - 1, |row| 4 * part.values_of(row)) {
                    self.multiply_rows(part, rows.clone(), x, y);
                    pace.spend(rows.map(|row| 4 * part.values_of(row)).sum()).await?;
                }
            }
            Ok(())
        })
    }

    fn multiply_diagonal(&self, table: &BlockRows, variables: Range<u32>, x: &[f64], y: &mut [f64]) {
        let width = table.width as usize;
        for variable in variables {
            let at = table.scalar as usize + variable as usize * width;
            let block = self.diagonal(table, variable);
            for r in 0..width {
                let entry = |c: usize| block[packed(r.max(c), r.min(c))];
                y[at + r] = (0..width).map(|c| entry(c) * x[at + c]).sum();
            }
        }
    }

    fn multiply_rows(&self, part: &PatternPart, variables: Range<u32>, x: &[f64], y: &mut [f64]) {
        let [rows, columns] = [part.row, part.column].map(|number| &self.pattern.tables[number as usize]);
        let (height, width) = (part.rows as usize, part.width as usize);
        for variable in variables {
            let i = rows.scalar as usize + variable as usize * height;
            for (block, column) in part.row(variable) {
                let j = columns.scalar as usize + column as usize * width;
                let values = &self.lower[part.base as usize + block as usize * height * width..][..height * width];
                for (r, row) in values.chunks_exact(width).enumerate() {
                    for (c, value) in row.iter().enumerate() {
                        y[i + r] += value * x[j + c];
                        y[j + c] += value * x[i + r];
                    }
                }
            }
        }
    }

    /// The whole matrix plus `damping` on its diagonal, column by column; the lower triangle is filled.
    pub fn dense<'a>(&'a self, damping: &'a [f64], pace: &'a Pace) -> Computed<'a, Result<Vec<f64>, Unsolved>> {
        Box::pin(async move {
            let n = self.pattern.scalars as usize;
            // Fresh pages cost as much as operations do.
            let mut dense = memory::room(n * n, "the matrix of linear \"dense\"")?;
            while dense.len() < n * n {
                let filled = (n * n).min(dense.len() + UNIT / 2);
                dense.resize(filled, 0.0);
                pace.spend(UNIT / 2).await?;
            }
            for table in &self.pattern.tables {
                let width = table.width as usize;
                for variable in 0..table.count {
                    let at = table.scalar as usize + variable as usize * width;
                    let block = self.diagonal(table, variable);
                    for c in 0..width {
                        for r in c..width {
                            dense[(at + c) * n + at + r] = block[packed(r, c)];
                        }
                        dense[(at + c) * n + at + c] += damping[at + c];
                    }
                    pace.spend(packed(width, 0)).await?;
                }
            }
            for part in &self.pattern.parts {
                let [rows, columns] = [part.row, part.column].map(|number| &self.pattern.tables[number as usize]);
                let (height, width) = (part.rows as usize, part.width as usize);
                for variable in 0..rows.count {
                    let i = rows.scalar as usize + variable as usize * height;
                    for (block, column) in part.row(variable) {
                        let j = columns.scalar as usize + column as usize * width;
                        let values = &self.lower[part.base as usize + block as usize * height * width..][..height * width];
                        for (place, value) in values.iter().enumerate() {
                            dense[(j + place % width) * n + i + place / width] = *value;
                        }
                    }
                    pace.spend(4 * part.values_of(variable)).await?;
                }
            }
            Ok(dense)
        })
    }
}

/// Runs of `0..count` that take a quarter of a [`UNIT`] of operations, or one item.
pub fn runs(count: u32, operations: impl Fn(u32) -> usize) -> impl Iterator<Item = Range<u32>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let (first, mut spent) = (next, 0);
        while next < count && (spent < UNIT / 4) {
            spent += operations(next);
            next += 1;
        }
        (first < next).then_some(first..next)
    })
}
