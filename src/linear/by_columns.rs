//! The lower triangle of a block matrix by columns of scalars.

use crate::matrix::{BlockMatrix, System, Unsolved, packed};
use crate::sparse::{Structure, TooLarge, Unfactorised};
use faer::sparse::SymbolicSparseColMatRef;
use leastwise_base::task::{Pace, Stopped, UNIT};

/// Columns of a lower triangle.
pub struct ByColumns {
    /// Beginning of each column, rows of the entries, and their values.
    starts: Vec<u32>,
    rows: Vec<u32>,
    values: Vec<f64>,
    /// For every block of every part, how many entries of its first column come before it.
    before: Vec<Vec<u32>>,
}

impl ByColumns {
    /// The columns of a structure, of whose variables these are the first scalars.
    pub async fn new(structure: Structure<'_>, first: &[u32], pace: &Pace) -> Result<Self, Unfactorised> {
        let Structure { pattern, blocks, .. } = structure;
        let n = pattern.scalars as usize;
        let mut starts = vec![0u32; n + 1];
        let mut rows: Vec<u32> = Vec::new();
        let mut before: Vec<Vec<u32>> = pattern.parts.iter().map(|part| vec![0; part.columns.len()]).collect();
        for variable in 0..pattern.variables() {
            let own = first[variable as usize]..first[variable as usize + 1];
            for column in own.clone() {
                let start = rows.len();
                rows.extend(column..own.end);
                for &(row, part, block) in blocks.of(variable) {
                    if column == own.start {
                        before[part as usize][block as usize] = (rows.len() - start) as u32;
                    }
                    rows.extend(first[row as usize]..first[row as usize + 1]);
                }
                starts[column as usize + 1] = u32::try_from(rows.len()).map_err(|_| TooLarge)?;
            }
            pace.spend(8 * own.len() * (blocks.of(variable).len() + 1)).await?;
        }
        Ok(Self { values: vec![0.0; rows.len()], starts, rows, before })
    }

    /// Rows of the columns.
    pub fn structure(&self) -> SymbolicSparseColMatRef<'_, u32> {
        let n = self.starts.len() - 1;
        SymbolicSparseColMatRef::new_checked(n, n, &self.starts, None, &self.rows)
    }

    /// Values, column by column.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Takes the values of a system's matrix, which must be finite.
    pub async fn fill(&mut self, system: &System<'_>, pace: &Pace) -> Result<(), Unsolved> {
        self.place(system.matrix, system.damping, pace).await?;
        // Pivots are only tested for their sign.
        for values in self.values.chunks(UNIT) {
            if values.iter().any(|value| !value.is_finite()) {
                return Err(Unsolved::Singular);
            }
            pace.spend(values.len()).await?;
        }
        Ok(())
    }

    async fn place(&mut self, matrix: &BlockMatrix, damping: &[f64], pace: &Pace) -> Result<(), Stopped> {
        let pattern = &matrix.pattern;
        for table in &pattern.tables {
            let width = table.width as usize;
            for variable in 0..table.count {
                let at = table.scalar as usize + variable as usize * width;
                let block = matrix.diagonal(table, variable);
                for c in 0..width {
                    let start = self.starts[at + c] as usize;
                    for r in c..width {
                        self.values[start + r - c] = block[packed(r, c)];
                    }
                    self.values[start] += damping[at + c];
                }
                pace.spend(4 * width * width).await?;
            }
        }
        for (part, before) in pattern.parts.iter().zip(&self.before) {
            let columns = &pattern.tables[part.column as usize];
            let (height, width) = (part.rows as usize, part.width as usize);
            let blocks = matrix.lower[part.base as usize..].chunks_exact(height * width);
            for ((values, column), before) in blocks.zip(&part.columns).zip(before) {
                let at = columns.scalar as usize + *column as usize * width;
                for c in 0..width {
                    // Every column of the variable has one entry of the diagonal block less than the one before.
                    let start = self.starts[at + c] as usize + *before as usize - c;
                    for r in 0..height {
                        self.values[start + r] = values[r * width + c];
                    }
                }
                pace.spend(4 * height * width).await?;
            }
        }
        Ok(())
    }
}
