//! Least squares by orthogonal transformations, for few unknowns: the condition of J, not its square, decides how many
//! digits are left (Björck, *Numerical Methods for Least Squares Problems*, section 2.4).
//!
//! The rows of √W J and √W r are folded into an upper triangle R, some at a time, by Householder reflections. That is done
//! once a linearisation; a step for one λ then is the factorisation of [R; √(λD)], with column pivoting
//! (Golub & Van Loan, *Matrix Computations*, 4th ed., section 5.4.2), which tells the rank. Rows that are no more than the
//! unknowns are not folded: they stand in R's place as they are.
//!
//! Rows follow each other, so that every loop runs over columns, whose sums do not wait for each other. A row of √(λD) takes
//! part once its column is the pivot; before, it is one number.

use leastwise_base::memory::{self, OutOfMemory};
use std::cmp::Ordering;

/// Rows that are folded in at a time: they and the triangle stay in the cache.
const ROWS: usize = 128;

/// R and Qᵀr of a tall matrix, of which only these are kept.
#[derive(Clone, Debug)]
pub struct Triangle {
    n: usize,
    /// The rows of R, and behind them room for `ROWS` rows; the last column is the right-hand side.
    values: Vec<f64>,
    /// Rows waiting below the triangle.
    waiting: usize,
    /// True once rows were folded; before, R is 0.
    folded: bool,
    scratch: Scratch,
}

/// Memory that stays from solve to solve.
#[derive(Clone, Debug, Default)]
struct Scratch {
    /// The rows above, then those of √(λD) as they come to take part.
    rows: Vec<f64>,
    /// Numbers of rows in the order of elimination, those of √(λD) ascending by unknown.
    live: Vec<usize>,
    /// Number of the unknown in every column, its length before columns were made of length 1, and its element of √(λD).
    order: Vec<usize>,
    lengths: Vec<f64>,
    diagonal: Vec<f64>,
    /// Numbers of a column, and of every column.
    column: Vec<f64>,
    sums: Vec<f64>,
}

impl Triangle {
    /// One without rows.
    pub fn new(n: usize) -> Result<Self, OutOfMemory> {
        let values = memory::zeros((n + ROWS) * (n + 1), "the matrix of linear \"dense\"")?;
        Ok(Self { n, values, waiting: 0, folded: false, scratch: Scratch::default() })
    }

    /// The same memory without rows.
    pub fn emptied(mut self) -> Self {
        let (n, width) = (self.n, self.n + 1);
        let first = if self.folded { 0 } else { n * width };
        self.values[first..(n + self.waiting) * width].fill(0.0);
        (self.waiting, self.folded) = (0, false);
        self
    }

    /// Number of unknowns.
    pub fn unknowns(&self) -> usize {
        self.n
    }

    /// Adds a row of the matrix, and its element of the right-hand side; gives the operations that this took.
    pub fn push(&mut self, row: impl Iterator<Item = (usize, f64)>, right: f64) -> usize {
        let mut spent = 0;
        if self.waiting == ROWS {
            self.fold();
            spent = 2 * ROWS * self.n * self.n;
        }
        let width = self.n + 1;
        let values = &mut self.values[(self.n + self.waiting) * width..][..width];
        for (column, value) in row {
            values[column] += value;
        }
        values[self.n] += right;
        self.waiting += 1;
        spent
    }

    /// Folds the waiting rows into the triangle.
    fn fold(&mut self) {
        let (n, width) = (self.n, self.n + 1);
        let (triangle, below) = self.values.split_at_mut(n * width);
        let below = &mut below[..self.waiting * width];
        let Scratch { column: own, sums, .. } = &mut self.scratch;
        sums.resize(width, 0.0);
        for column in 0..n {
            own.clear();
            own.extend(below.chunks_exact_mut(width).map(|row| std::mem::take(&mut row[column])));
            let top = &mut triangle[column * width..][column..width];
            let Some(reflection) = Reflection::new(top[0], own) else { continue };
            top[0] = reflection.length;
            let (top, sums) = (&mut top[1..], &mut sums[..n - column]);
            sums.fill(-0.0);
            for (row, &v) in below.chunks_exact(width).zip(&*own) {
                add(sums, &row[column + 1..], v);
            }
            reflection.take(top, sums);
            for (row, &v) in below.chunks_exact_mut(width).zip(&*own) {
                subtract(&mut row[column + 1..], sums, v);
            }
        }
        // What is left of the right-hand side no unknown can reach.
        below.fill(0.0);
        (self.waiting, self.folded) = (0, true);
    }

    /// R, column by column.
    pub fn columns(mut self) -> Vec<Vec<f64>> {
        self.fold();
        let (n, width) = (self.n, self.n + 1);
        (0..n).map(|column| (0..n).map(|row| self.values[row * width + column]).collect()).collect()
    }

    /// The x that minimises ‖Jx − r‖² + ‖√damping x‖²; where columns depend on others, the unknowns that the pivoting
    /// leaves over are 0. `None` if something is not finite.
    pub fn solve(&mut self, damping: &[f64]) -> Option<Vec<f64>> {
        let (n, width) = (self.n, self.n + 1);
        if self.folded || self.waiting > n {
            self.fold();
        }
        let above = if self.folded { &self.values[..n * width] } else { &self.values[n * width..][..self.waiting * width] };
        self.scratch.solve(above, damping)
    }
}

/// Columns whose squared norms, added up plainly, are so close to the largest may have the largest norm.
const CLOSE: f64 = 1.0 - 1e-12;
/// Squared norms that are sums of numbers neither too small nor too large.
const PLAIN: std::ops::Range<f64> = 1e-250..1e250;

impl Scratch {
    /// Solves [above; √damping] x = [right; 0]; the right-hand side is the last column of `above`.
    fn solve(&mut self, above: &[f64], damping: &[f64]) -> Option<Vec<f64>> {
        let (n, width) = (damping.len(), damping.len() + 1);
        let height = above.len() / width;
        if !above.iter().chain(damping).fold(true, |all, value| all & value.is_finite()) {
            return None;
        }
        self.begin(above, damping);
        let mut rank = n;
        let mut largest = 0.0;
        for step in 0..n {
            let (pivot, length) = self.pivot(step, height);
            if !length.is_finite() || length < 0.0 {
                return None;
            }
            if step == 0 {
                largest = length;
            }
            if length <= (2 * n) as f64 * f64::EPSILON * largest {
                rank = step;
                break;
            }
            self.swap(step, pivot, height);
            self.eliminate(step);
        }
        let Self { rows, live, order, lengths, .. } = self;
        let mut x = vec![0.0; n];
        for step in (0..rank).rev() {
            let row = &rows[live[step] * width..][..width];
            let known: f64 = (step + 1..rank).map(|k| row[k] * x[order[k]]).sum();
            x[order[step]] = (row[n] - known) / row[step];
        }
        x.iter_mut().zip(&*lengths).for_each(|(x, length)| *x /= length);
        x.iter().all(|x| x.is_finite()).then_some(x)
    }

    /// Takes the system in, with columns of length 1: what depends on what is not to be a question of units.
    fn begin(&mut self, above: &[f64], damping: &[f64]) {
        let (n, width) = (damping.len(), damping.len() + 1);
        let Self { rows, live, order, lengths, diagonal, sums, .. } = self;
        rows.clear();
        rows.extend_from_slice(above);
        live.clear();
        live.extend(0..above.len() / width);
        order.clear();
        order.extend(0..n);
        diagonal.clear();
        diagonal.extend(damping.iter().map(|value| value.sqrt()));
        sums.clear();
        sums.resize(width, 0.0);
        lengths.clear();
        lengths.resize(n, 0.0);
        let rows_of = || above.chunks_exact(width).map(|row| &row[..n]).chain([&diagonal[..]]);
        for row in rows_of() {
            lengths.iter_mut().zip(row).for_each(|(largest, value)| *largest = if value.abs() > *largest { value.abs() } else { *largest });
        }
        // As `norm` has it. A column of zeros has the length 1.
        lengths.iter_mut().for_each(|largest| *largest = if *largest == 0.0 { 1.0 } else { *largest });
        for row in rows_of() {
            for ((sum, value), largest) in sums.iter_mut().zip(row).zip(&*lengths) {
                let part = value / largest;
                *sum += part * part;
            }
        }
        for (largest, sum) in lengths.iter_mut().zip(&*sums).filter(|(_, sum)| **sum != 0.0) {
            *largest *= sum.sqrt();
        }
        for row in rows.chunks_exact_mut(width).map(|row| &mut row[..n]).chain([&mut diagonal[..]]) {
            row.iter_mut().zip(&*lengths).for_each(|(value, length)| *value /= length);
        }
    }

    /// The column of the largest norm below what is eliminated, of equal ones the first; −1 where none can be compared.
    fn pivot(&mut self, step: usize, height: usize) -> (usize, f64) {
        let Self { rows, live, order, diagonal, column, sums, .. } = self;
        let (n, width) = (order.len(), order.len() + 1);
        // Norms are computed anew: updating them loses digits. Plain sums of squares tell which columns may be the one.
        let sums = &mut sums[step..n];
        sums.iter_mut().zip(&diagonal[step..]).for_each(|(sum, value)| *sum = value * value);
        for row in &live[step..] {
            let row = &rows[row * width..][step..n];
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
        }
        let top = sums.iter().fold(0.0f64, |top, sum| if *sum <= top { top } else { *sum });
        let least = if PLAIN.contains(&top) { top * CLOSE } else { f64::NEG_INFINITY };
        let mut best = (0, -1.0);
        for place in (0..n - step).filter(|place| sums[*place].partial_cmp(&least) != Some(Ordering::Less)) {
            let at = step + place;
            let before = Self::before(live, order, step, height, order[at]);
            column.clear();
            column.extend(live[step..before].iter().map(|row| rows[row * width + at]));
            column.push(diagonal[at]);
            column.extend(live[before..].iter().map(|row| rows[row * width + at]));
            let norm = norm(column);
            if norm > best.1 {
                best = (place, norm);
            }
        }
        best
    }

    /// Place of the row of √(λD) of an unknown among the rows that are left: behind those above and those of smaller unknowns.
    fn before(live: &[usize], order: &[usize], step: usize, height: usize, unknown: usize) -> usize {
        let first = step.max(height);
        first + live[first..].partition_point(|row| order[row - height] < unknown)
    }

    /// Makes a column the next one, and has its row of √(λD) take part.
    fn swap(&mut self, step: usize, pivot: usize, height: usize) {
        let Self { rows, live, order, diagonal, .. } = self;
        let width = order.len() + 1;
        if pivot > 0 {
            rows.chunks_exact_mut(width).for_each(|row| row.swap(step, step + pivot));
            order.swap(step, step + pivot);
            diagonal.swap(step, step + pivot);
        }
        let before = Self::before(live, order, step, height, order[step]);
        live.insert(before, rows.len() / width);
        rows.resize(rows.len() + width, 0.0);
        let last = rows.len() - width;
        rows[last + step] = diagonal[step];
    }

    /// Eliminates what a column has below its own row.
    fn eliminate(&mut self, step: usize) {
        let Self { rows, live, order, column, sums, .. } = self;
        let (n, width) = (order.len(), order.len() + 1);
        let (own, below) = (live[step], &live[step + 1..]);
        column.clear();
        column.extend(below.iter().map(|row| rows[row * width + step]));
        let Some(reflection) = Reflection::new(rows[own * width + step], column) else { return };
        rows[own * width + step] = reflection.length;
        let sums = &mut sums[..n - step];
        sums.fill(-0.0);
        for (row, &v) in below.iter().zip(&*column).filter(|(_, v)| **v != 0.0) {
            add(sums, &rows[row * width..][step + 1..width], v);
        }
        reflection.take(&mut rows[own * width..][step + 1..width], sums);
        for (row, &v) in below.iter().zip(&*column).filter(|(_, v)| **v != 0.0) {
            subtract(&mut rows[row * width..][step + 1..width], sums, v);
        }
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

    /// The products of v with other columns become what v is to be subtracted from each as often; so is the top row at once.
    fn take(&self, top: &mut [f64], products: &mut [f64]) {
        for (top, product) in top.iter_mut().zip(products) {
            *product = self.factor * (*top + *product);
            *top -= *product;
        }
    }
}

/// sums += v row
fn add(sums: &mut [f64], row: &[f64], v: f64) {
    sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += v * x);
}

/// row −= v by
fn subtract(row: &mut [f64], by: &[f64], v: f64) {
    row.iter_mut().zip(by).for_each(|(x, by)| *x -= by * v);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// R, and Qᵀr behind it, by the plain algorithm: column by column, all rows at once.
    fn plainly(rows: &[Vec<f64>], damping: &[f64]) -> Vec<f64> {
        let n = damping.len();
        let tall = rows.len() + n;
        let mut columns: Vec<Vec<f64>> =
            (0..=n).map(|column| (0..tall).map(|row| rows.get(row).map_or(0.0, |row| row[column])).collect()).collect();
        (0..n).for_each(|column| columns[column][rows.len() + column] = damping[column].sqrt());
        for step in 0..n {
            let (before, after) = columns.split_at_mut(step + 1);
            let (top, below) = before[step].split_at_mut(step + 1);
            let Some(reflection) = Reflection::new(top[step], below) else { continue };
            top[step] = reflection.length;
            for other in after {
                let (top, rest) = other.split_at_mut(step + 1);
                let product = reflection.factor * (top[step] + below.iter().zip(&*rest).map(|(v, x)| v * x).sum::<f64>());
                top[step] -= product;
                rest.iter_mut().zip(&*below).for_each(|(x, v)| *x -= product * v);
            }
        }
        let mut x = vec![0.0; n];
        for step in (0..n).rev() {
            let known: f64 = (step + 1..n).map(|k| columns[k][step] * x[k]).sum();
            x[step] = (columns[n][step] - known) / columns[step][step];
        }
        x
    }

    #[test]
    fn few_rows_and_many_give_the_damped_solution() {
        let number = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 504.5 - 1.0;
        for (n, m) in [(1, 1), (5, 1), (5, 4), (5, 5), (5, 6), (30, 3), (30, 29), (30, 33), (12, 300), (40, 128), (3, 129)] {
            let rows: Vec<Vec<f64>> = (0..m).map(|row| (0..=n).map(|k| number(row * 131 + k) * (1.0 + (k % 7) as f64)).collect()).collect();
            let push = |triangle: &mut Triangle, rows: &[Vec<f64>]| {
                for row in rows {
                    triangle.push(row[..n].iter().copied().enumerate(), row[n]);
                }
            };
            let mut triangle = Triangle::new(n).unwrap();
            push(&mut triangle, &rows);
            let mut again = Triangle::new(n).unwrap();
            push(&mut again, &rows[..1]);
            let _ = again.solve(&vec![1.0; n]);
            let mut again = again.emptied();
            push(&mut again, &rows);
            for damping in [1e-3, 1.0, 40.0] {
                let damping: Vec<f64> = (0..n).map(|k| damping * (1.0 + (k % 3) as f64)).collect();
                let (x, expected) = (triangle.solve(&damping).unwrap(), plainly(&rows, &damping));
                let size = expected.iter().fold(0.0f64, |size, x| size.max(x.abs()));
                let error = x.iter().zip(&expected).fold(0.0f64, |error, (a, b)| error.max((a - b).abs()));
                assert!(error <= 1e-9 * size, "{n} unknowns, {m} rows: off by {error}");
                // The same memory, emptied and filled again, gives the same bits.
                assert!(again.solve(&damping).unwrap() == x, "{n} unknowns, {m} rows");
            }
        }
    }

    #[test]
    fn what_no_row_holds_stays_where_it_is() {
        let mut triangle = Triangle::new(4).unwrap();
        triangle.push([(1, 2.0), (3, 1.0)].into_iter(), 4.0);
        let x = triangle.solve(&[0.0; 4]).unwrap();
        assert!((2.0 * x[1] + x[3] - 4.0).abs() < 1e-12 && x[0] == 0.0 && x[2] == 0.0, "{x:?}");
        assert!(triangle.solve(&[0.0, f64::NAN, 0.0, 0.0]).is_none());
    }
}
