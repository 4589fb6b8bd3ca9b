//! The entries of an inverse where a Cholesky factor has entries, without any other (Takahashi, Fagan & Chin 1973; Erisman &
//! Tinney 1975), panel by panel: of columns J with the rows I below, Y = L_IJ L_JJ⁻¹ and
//!
//! Z_IJ = −Z_II Y,  Z_JJ = L_JJ⁻ᵀL_JJ⁻¹ − YᵀZ_IJ,
//!
//! from the last panel to the first. Z_II lies in panels behind, since a factor's structure is closed: that takes about as
//! many operations as the factor, for all diagonal blocks and those of all variables that meet in a residual.

use super::jacobi::{add, dot};
use leastwise_base::task::{Pace, Stopped, UNIT};
use leastwise_linear::left_looking::LeftLooking;

/// Z, in the places of the factor's entries.
pub struct Subset {
    values: Vec<f64>,
}

impl Subset {
    pub async fn new(factor: &LeftLooking, pace: &Pace) -> Result<Self, Stopped> {
        let mut values = Vec::with_capacity(factor.values().len());
        while values.len() < factor.values().len() {
            values.resize(factor.values().len().min(values.len() + UNIT / 2), 0.0);
            pace.spend(UNIT / 2).await?;
        }
        let mut place = vec![0; factor.len()];
        let mut together: Vec<f64> = Vec::new();
        for (done, panel) in factor.panels().iter().rev().enumerate() {
            pace.tell(done, factor.panels().len());
            let rows = factor.rows(panel);
            let (width, height) = (panel.columns.len(), rows.len());
            let (below, own) = (&rows[width..], &factor.values()[panel.values()]);
            let y = below_over_diagonal(own, width, height);
            pace.spend(width * width * height).await?;
            // Z_II, whole.
            let count = below.len();
            together.clear();
            together.resize(count * count, 0.0);
            let mut column = 0;
            while column < count {
                let of = factor.panel_of(below[column]);
                let target = &factor.panels()[of];
                factor.rows(target).iter().enumerate().for_each(|(k, &row)| place[row as usize] = k);
                while column < count && (below[column] as usize) < target.columns.end {
                    let from = target.first + (below[column] as usize - target.columns.start) * factor.rows(target).len();
                    for row in column..count {
                        let value = values[from + place[below[row] as usize]];
                        together[column * count + row] = value;
                        together[row * count + column] = value;
                    }
                    pace.spend(4 * (count - column)).await?;
                    column += 1;
                }
            }
            let inverse = inverse_of_triangle(own, width, height);
            pace.spend(width * width * width).await?;
            let target = &mut values[panel.values()];
            for (k, y_k) in y.chunks_exact(count.max(1)).take(width).enumerate() {
                let z = &mut target[k * height + width..][..count];
                for (column, by) in together.chunks_exact(count.max(1)).zip(y_k) {
                    add(z, -by, column);
                }
                pace.spend(2 * count * count).await?;
            }
            for k in 0..width {
                for row in k..width {
                    let own = dot(&inverse[row * width..(row + 1) * width], &inverse[k * width..(k + 1) * width]);
                    let through = dot(&y[row * count..(row + 1) * count], &target[k * height + width..(k + 1) * height]);
                    target[k * height + row] = own - through;
                }
                pace.spend(2 * width * height).await?;
            }
        }
        Ok(Self { values })
    }

    /// An entry in the matrix's own order; none where the factor has none.
    pub fn at(&self, factor: &LeftLooking, row: usize, column: usize) -> Option<f64> {
        factor.place(row, column).map(|place| self.values[place])
    }
}

/// Y = L_IJ L_JJ⁻¹, column by column.
fn below_over_diagonal(panel: &[f64], width: usize, height: usize) -> Vec<f64> {
    let count = height - width;
    let mut y = vec![0.0; count * width];
    for k in (0..width).rev() {
        let (target, after) = y[k * count..].split_at_mut(count);
        target.copy_from_slice(&panel[k * height + width..][..count]);
        for (j, known) in (k + 1..width).zip(after.chunks_exact(count.max(1))) {
            let entry = panel[k * height + j];
            add(target, -entry, known);
        }
        let pivot = panel[k * height + k];
        target.iter_mut().for_each(|y| *y /= pivot);
    }
    y
}

/// L_JJ⁻¹, column by column.
fn inverse_of_triangle(panel: &[f64], width: usize, height: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; width * width];
    for (k, column) in inverse.chunks_exact_mut(width).enumerate() {
        column[k] = 1.0;
        for row in k..width {
            column[row] /= panel[row * height + row];
            let value = column[row];
            for below in row + 1..width {
                column[below] -= panel[row * height + below] * value;
            }
        }
    }
    inverse
}
