//! (JᵀWJ)⁻¹ of few unknowns, from the singular values of √W J: its condition, not the square of that, decides how many
//! digits are left.

use super::jacobi::{dot, length, orthogonalise, orthonormal};

/// (JᵀWJ)⁺ = B Bᵀ, by the rows of B: zeros for what may not move.
pub struct Dense {
    rows: Vec<Vec<f64>>,
}

impl Dense {
    /// Of R of √W J = QR, column by column; and an orthonormal basis of what no residual sees.
    pub fn of_triangle(mut columns: Vec<Vec<f64>>, free: &[bool], tolerance: f64) -> (Self, Vec<Vec<f64>>) {
        let scale: Vec<f64> = columns.iter().map(|column| length(column)).collect();
        for (column, scale) in columns.iter_mut().zip(&scale).filter(|(_, scale)| **scale > 0.0) {
            column.iter_mut().for_each(|value| *value /= scale);
        }
        Self::new(columns, &scale, free, |length| length, tolerance)
    }

    /// The same of JᵀWJ, whose singular values are the squares.
    pub fn of_matrix(mut columns: Vec<Vec<f64>>, free: &[bool], tolerance: f64) -> (Self, Vec<Vec<f64>>) {
        let n = columns.len();
        let scale: Vec<f64> = (0..n).map(|k| columns[k][k].max(0.0).sqrt()).collect();
        let inverse: Vec<f64> =
            free.iter().zip(&scale).map(|(&free, &scale)| if free && scale > 0.0 { 1.0 / scale } else { 0.0 }).collect();
        for (column, of_column) in columns.iter_mut().zip(&inverse) {
            column.iter_mut().zip(&inverse).for_each(|(value, of_row)| *value *= of_row * of_column);
        }
        let rounding = 32.0 * f64::EPSILON * (n as f64).sqrt();
        Self::new(columns, &scale, free, f64::sqrt, tolerance.max(rounding.sqrt()))
    }

    /// Of AD⁻¹, whose columns have length 1: what depends on what is not to be a question of units. `singular` makes singular
    /// values of √W J of those of A.
    fn new(columns: Vec<Vec<f64>>, scale: &[f64], free: &[bool], singular: fn(f64) -> f64, tolerance: f64) -> (Self, Vec<Vec<f64>>) {
        let n = columns.len();
        let (touched, untouched): (Vec<usize>, Vec<usize>) = (0..n).filter(|&k| free[k]).partition(|&k| scale[k] > 0.0);
        let unit = |k: usize| (0..n).map(|row| f64::from(u8::from(row == k))).collect::<Vec<f64>>();
        let mut null: Vec<Vec<f64>> = untouched.into_iter().map(unit).collect();
        let mut turned: Vec<Vec<f64>> = touched.iter().map(|&k| columns[k].clone()).collect();
        let right = orthogonalise(&mut turned);
        let values: Vec<f64> = turned.iter().map(|column| singular(length(column))).collect();
        let largest = values.iter().fold(0.0, |top: f64, value| top.max(*value));
        let mut rows = vec![Vec::new(); n];
        for (direction, &value) in right.iter().zip(&values) {
            let mut column = vec![0.0; n];
            let by = if value > tolerance * largest { value } else { 1.0 };
            touched.iter().zip(direction).for_each(|(&k, entry)| column[k] = entry / (scale[k] * by));
            if value > tolerance * largest {
                rows.iter_mut().zip(column).for_each(|(row, entry): (&mut Vec<f64>, f64)| row.push(entry));
            } else {
                null.push(column);
            }
        }
        let null = orthonormal(null);
        let mut root = Self { rows };
        null.iter().for_each(|direction| root.remove(direction));
        (root, null)
    }

    /// B becomes (I − nnᵀ)B: of all inverses on what residuals see, the least one.
    fn remove(&mut self, direction: &[f64]) {
        let width = self.rows.first().map_or(0, Vec::len);
        let along: Vec<f64> = (0..width).map(|k| self.rows.iter().zip(direction).map(|(row, n)| row[k] * n).sum()).collect();
        for (row, n) in self.rows.iter_mut().zip(direction) {
            row.iter_mut().zip(&along).for_each(|(value, along)| *value -= n * along);
        }
    }

    pub fn at(&self, row: usize, column: usize) -> f64 {
        dot(&self.rows[row], &self.rows[column])
    }
}
