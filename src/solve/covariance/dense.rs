//! (JᵀWJ)⁻¹ of few unknowns, from the singular values of √W J: its condition, not the square of that, decides how many
//! digits are left.

use super::equalities::{Equalities, Independent, RowSpace, borrow_scales, lifted};
use super::jacobi::{add, dot, length, orthogonalise, orthonormal, scale, unit};
use leastwise_base::task::{Pace, Stopped};

/// (JᵀWJ)⁺ = B Bᵀ, by the rows of B: zeros for what may not move.
pub struct Dense {
    rows: Vec<Vec<f64>>,
}

impl Dense {
    /// Of R of √W J = QR, or of JᵀWJ itself (`squared`), column by column, on what equalities leave; with an orthonormal basis of what no
    /// residual sees, and the equalities' rows that are independent.
    pub async fn new(
        mut columns: Vec<Vec<f64>>,
        squared: bool,
        free: &[bool],
        tolerance: f64,
        equalities: Option<&Equalities>,
        pace: &Pace,
    ) -> Result<(Self, Vec<Vec<f64>>, Independent), Stopped> {
        let n = columns.len();
        // D⁻¹, which makes the columns of √W J those of length 1: what depends on what is not to be a question of units.
        let mut inverse = vec![0.0; n];
        for k in 0..n {
            let size = if squared { columns[k][k].max(0.0).sqrt() } else { length(&columns[k]) };
            if free[k] && size > 0.0 {
                inverse[k] = 1.0 / size;
            }
        }
        if let Some(equalities) = equalities {
            borrow_scales(&mut inverse, free, equalities);
        }
        let mut null: Vec<Vec<f64>> = (0..n).filter(|&k| free[k] && inverse[k] == 0.0).map(|k| unit(n, k)).collect();
        for (column, by) in columns.iter_mut().zip(&inverse) {
            if squared {
                scale(column, &inverse);
            }
            column.iter_mut().for_each(|value| *value *= by);
        }
        let (mut basis, mut independent) = (None, Independent::default());
        if let Some(equalities) = equalities {
            let space = RowSpace::new(equalities, &inverse, pace).await?;
            let vectors = space.complement(&inverse, pace).await?;
            let mut step = space.point(&equalities.values());
            scale(&mut step, &inverse);
            independent = Independent { step, pivots: space.pivots };
            let mut on_basis = Vec::new();
            for vector in &vectors {
                let image = lifted(&columns, vector, &vec![1.0; columns[0].len()]);
                on_basis.push(if squared { vectors.iter().map(|other| dot(other, &image)).collect() } else { image });
                pace.spend(4 * n * n).await?;
            }
            (columns, basis) = (on_basis, Some(vectors));
        }
        let right = orthogonalise(&mut columns, pace).await?;
        let values: Vec<f64> = columns.iter().map(|column| length(column)).map(|size| if squared { size.sqrt() } else { size }).collect();
        // Of squares, rounding leaves no more.
        let rounding = if squared { (32.0 * f64::EPSILON * (n as f64).sqrt()).sqrt() } else { 0.0 };
        let least = tolerance.max(rounding) * values.iter().fold(0.0, |top: f64, value| top.max(*value));
        let mut rows = vec![Vec::new(); n];
        for (mut direction, value) in right.into_iter().zip(values) {
            match &basis {
                Some(basis) => direction = lifted(basis, &direction, &inverse),
                None => scale(&mut direction, &inverse),
            }
            if value > least {
                rows.iter_mut().zip(&direction).for_each(|(row, entry)| row.push(entry / value));
            } else if length(&direction) > 0.0 {
                null.push(direction);
            }
        }
        let null = orthonormal(null, pace).await?;
        let mut root = Self { rows };
        null.iter().for_each(|direction| root.remove(direction));
        Ok((root, null, independent))
    }

    /// B becomes (I − nnᵀ)B: of all inverses on what residuals see, the least one.
    fn remove(&mut self, direction: &[f64]) {
        let mut along = vec![0.0; self.rows[0].len()];
        self.rows.iter().zip(direction).for_each(|(row, n)| add(&mut along, *n, row));
        self.rows.iter_mut().zip(direction).for_each(|(row, n)| add(row, -n, &along));
    }

    pub fn at(&self, row: usize, column: usize) -> f64 {
        dot(&self.rows[row], &self.rows[column])
    }
}
