//! Least squares by orthogonal transformations, for few unknowns: the condition of J, not its square, decides how many
//! digits are left (Björck, *Numerical Methods for Least Squares Problems*, section 2.4).
//!
//! The rows of √W J and √W r are folded into an upper triangle R, some at a time, by Householder reflections. That is done
//! once a linearisation; a step for one λ then is the factorisation of [R; √(λD)], with column pivoting
//! (Golub & Van Loan, *Matrix Computations*, 4th ed., section 5.4.2), which tells the rank.

use leastwise_base::memory::{self, OutOfMemory};

/// Rows that are folded in at a time: they and the triangle stay in the cache.
const ROWS: usize = 128;

/// R and Qᵀr of a tall matrix, of which only these are kept.
#[derive(Clone, Debug)]
pub struct Triangle {
    n: usize,
    /// n + `ROWS` rows, column by column; the last column is the right-hand side.
    values: Vec<f64>,
    /// Rows waiting below the triangle.
    waiting: usize,
}

impl Triangle {
    /// One without rows.
    pub fn new(n: usize) -> Result<Self, OutOfMemory> {
        Ok(Self { n, values: memory::zeros((n + ROWS) * (n + 1), "the matrix of linear \"dense\"")?, waiting: 0 })
    }

    /// Adds a row of the matrix, and its element of the right-hand side; gives the operations that this took.
    pub fn push(&mut self, row: impl Iterator<Item = (usize, f64)>, right: f64) -> usize {
        let mut spent = 0;
        if self.waiting == ROWS {
            self.fold();
            spent = 2 * ROWS * self.n * self.n;
        }
        let (height, at) = (self.n + ROWS, self.n + self.waiting);
        for (column, value) in row {
            self.values[column * height + at] += value;
        }
        self.values[self.n * height + at] += right;
        self.waiting += 1;
        spent
    }

    /// Folds the waiting rows into the triangle.
    fn fold(&mut self) {
        let (n, height) = (self.n, self.n + ROWS);
        let rows = n..n + self.waiting;
        let mut below = vec![0.0; rows.len()];
        for column in 0..n {
            let values = &mut self.values[column * height..(column + 1) * height];
            below.copy_from_slice(&values[rows.clone()]);
            values[rows.clone()].fill(0.0);
            let Some(reflection) = Reflection::new(values[column], &mut below) else { continue };
            values[column] = reflection.length;
            for other in column + 1..=n {
                let values = &mut self.values[other * height..(other + 1) * height];
                let (top, rest) = values.split_at_mut(n);
                reflection.apply(&below, &mut top[column], &mut rest[..below.len()]);
            }
        }
        // What is left of the right-hand side no unknown can reach.
        self.values[n * height..][rows].fill(0.0);
        self.waiting = 0;
    }

    /// R, column by column.
    pub fn columns(mut self) -> Vec<Vec<f64>> {
        self.fold();
        self.values.chunks(self.n + ROWS).take(self.n).map(|column| column[..self.n].to_vec()).collect()
    }

    /// The x that minimises ‖Jx − r‖² + ‖√damping x‖²; where columns depend on others, the unknowns that the pivoting
    /// leaves over are 0. `None` if something is not finite.
    pub fn solve(&mut self, damping: &[f64]) -> Option<Vec<f64>> {
        self.fold();
        let (n, height) = (self.n, self.n + ROWS);
        // [R; √damping | Qᵀr; 0], column by column.
        let tall = 2 * n;
        let mut columns: Vec<Vec<f64>> = (0..=n)
            .map(|column| {
                let mut values = vec![0.0; tall];
                values[..n].copy_from_slice(&self.values[column * height..][..n]);
                if column < n {
                    values[n + column] = damping[column].sqrt();
                }
                values
            })
            .collect();
        let mut right = columns.pop()?;
        // Columns of length 1: what depends on what is not to be a question of units.
        let lengths: Vec<f64> = columns.iter().map(|column| norm(column)).map(|length| if length == 0.0 { 1.0 } else { length }).collect();
        columns.iter_mut().zip(&lengths).for_each(|(column, length)| column.iter_mut().for_each(|entry| *entry /= length));
        let mut order: Vec<usize> = (0..n).collect();
        let mut rank = n;
        let mut largest = 0.0;
        for step in 0..n {
            // Norms are computed anew: updating them loses digits, and the matrix is small.
            let norms = columns[step..].iter().map(|column| norm(&column[step..]));
            let (pivot, length) = norms.enumerate().fold((0, -1.0), |best, (place, norm)| if norm > best.1 { (place, norm) } else { best });
            if !length.is_finite() || length < 0.0 {
                return None;
            }
            if step == 0 {
                largest = length;
            }
            if length <= tall as f64 * f64::EPSILON * largest {
                rank = step;
                break;
            }
            columns.swap(step, step + pivot);
            order.swap(step, step + pivot);
            let (before, after) = columns.split_at_mut(step + 1);
            let own = &mut before[step];
            let (top, below) = own.split_at_mut(step + 1);
            let Some(reflection) = Reflection::new(top[step], below) else { continue };
            top[step] = reflection.length;
            for other in after.iter_mut().chain([&mut right]) {
                let (top, rest) = other.split_at_mut(step + 1);
                reflection.apply(below, &mut top[step], rest);
            }
        }
        let mut x = vec![0.0; n];
        for step in (0..rank).rev() {
            let known: f64 = (step + 1..rank).map(|k| columns[k][step] * x[order[k]]).sum();
            x[order[step]] = (right[step] - known) / columns[step][step];
        }
        x.iter_mut().zip(&lengths).for_each(|(x, length)| *x /= length);
        x.iter().all(|x| x.is_finite()).then_some(x)
    }
}

/// The length of a column of which nothing is left.
const NOTHING: f64 = 1e-150;

/// I − τ v vᵀ with v = (1, below), which takes a column to (length, 0).
struct Reflection {
    length: f64,
    factor: f64,
}

impl Reflection {
    /// Of the column (top, below); `below` becomes that of v. None where there is nothing below, or only what rounding left
    /// of rounding: its reciprocal would overflow.
    fn new(top: f64, below: &mut [f64]) -> Option<Self> {
        let rest = norm(below);
        if rest <= NOTHING {
            below.fill(0.0);
            return None;
        }
        let length = -top.hypot(rest).copysign(top);
        let scale = 1.0 / (top - length);
        below.iter_mut().for_each(|value| *value *= scale);
        Some(Self { length, factor: (length - top) / length })
    }

    fn apply(&self, below: &[f64], top: &mut f64, rest: &mut [f64]) {
        let along = *top + below.iter().zip(&*rest).map(|(v, x)| v * x).sum::<f64>();
        let by = self.factor * along;
        *top -= by;
        rest.iter_mut().zip(below).for_each(|(x, v)| *x -= by * v);
    }
}

/// ‖x‖ without overflow.
fn norm(x: &[f64]) -> f64 {
    if x.iter().any(|x| !x.is_finite()) {
        return f64::NAN;
    }
    let largest = x.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    largest * x.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt()
}
