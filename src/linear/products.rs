//! Cholesky's factor of a whole matrix by faer's products of blocks, of which threads share the rows. Each run of rows has its own
//! products, of sizes that do not depend on the number of threads, and neither do bits.

use crate::matrix::Unsolved;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, MatRef, Par};
use leastwise_base::parallel;
use leastwise_base::task::{Pace, UNIT};
use std::ops::Range;

/// Unknowns that faer factorises in one piece, and beyond: columns that are made at a time, and rows and columns of a product.
const PIECE: usize = 512;
const BLOCK: usize = 128;
const PRODUCT: [usize; 2] = [256, 2048];

/// Cholesky factor of a dense n × n matrix, in place: column blocks from left to right, of which what is before them is subtracted first.
pub async fn factorize(matrix: &mut [f64], n: usize, pace: &Pace) -> Result<(), Unsolved> {
    let width = if n <= PIECE { n.max(1) } else { BLOCK };
    // Several runs of rows for each thread before all of them meet.
    let operations = |columns: usize, rows: usize| (2 * rows * columns * width).min(UNIT / 4);
    for first in (0..n).step_by(width) {
        let end = n.min(first + width);
        let (known, rest) = matrix.split_at_mut(first * n);
        let known = MatRef::from_column_major_slice(known, n, first);
        let mut own = MatMut::from_column_major_slice_mut(&mut rest[..(end - first) * n], n, end - first);
        let runs = if first > 0 { rows_from(own.rb_mut(), first) } else { Vec::new() };
        let subtract = |(): &mut (), (row, rows): (usize, MatMut<'_, f64>)| subtract(rows, known, row, first..end);
        parallel::map(runs, |(_, rows)| operations(first, rows.nrows()), || (), subtract, pace).await?;
        let (above, below) = own.split_at_row_mut(end);
        let mut block = above.subrows_mut(first, end - first);
        factorize_block(block.rb_mut())?;
        pace.spend((end - first).pow(3) / 3).await?;
        let block = block.rb();
        let divide = |(): &mut (), (_, rows): (usize, MatMut<'_, f64>)| divide(rows, block);
        parallel::map(rows_from(below, 0), |(_, rows)| operations(end - first, rows.nrows()), || (), divide, pace).await?;
    }
    Ok(())
}

/// Runs of rows from `first` on, with the number of the first of each.
fn rows_from(columns: MatMut<'_, f64>, first: usize) -> Vec<(usize, MatMut<'_, f64>)> {
    let (mut rest, mut row, mut runs) = (columns.split_at_row_mut(first).1, first, Vec::new());
    while rest.nrows() > 0 {
        let count = PRODUCT[0].min(rest.nrows());
        let (run, after) = rest.split_at_row_mut(count);
        runs.push((row, run));
        (rest, row) = (after, row + count);
    }
    runs
}

/// A[rows, block] −= L[rows, known] L[block, known]ᵀ, for rows from `row` on.
fn subtract(mut target: MatMut<'_, f64>, known: MatRef<'_, f64>, row: usize, block: Range<usize>) {
    for column in (0..known.ncols()).step_by(PRODUCT[1]) {
        let columns = PRODUCT[1].min(known.ncols() - column);
        let of = |row: usize, rows: usize| known.submatrix(row, column, rows, columns);
        let (left, right) = (of(row, target.nrows()), of(block.start, block.len()));
        matmul(target.rb_mut(), Accum::Add, left, right.transpose(), -1.0, Par::Seq);
    }
}

/// The factor of a block on the diagonal.
fn factorize_block(block: MatMut<'_, f64>) -> Result<(), Unsolved> {
    let params = Default::default();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(block.ncols(), Par::Seq, params));
    let done = cholesky_in_place(block, Default::default(), Par::Seq, MemStack::new(&mut memory), params);
    done.map(|_| ()).map_err(|_| Unsolved::Singular)
}

/// L[rows, block] = A[rows, block] L[block, block]⁻ᵀ
fn divide(rows: MatMut<'_, f64>, block: MatRef<'_, f64>) {
    solve_lower_triangular_in_place(block, rows.transpose_mut(), Par::Seq);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels;
    use leastwise_base::task::Task;

    /// A definite matrix by columns, but for a pivot.
    fn matrix(n: usize, pivot: Option<usize>) -> Vec<f64> {
        let number = |k: usize| (k * 7919 % 1009) as f64 / 1009.0 - 0.5;
        let mut matrix: Vec<f64> = (0..n * n).map(|place| number(place % n * (place / n) + place % n + place / n)).collect();
        (0..n).for_each(|k| matrix[k * n + k] = if pivot == Some(k) { -1.0 } else { 1.0 + n as f64 / 2.0 });
        matrix
    }

    #[test]
    fn factors_are_those_of_columns_on_any_number_of_threads() {
        for n in [0, 1, 7, 300, 512, 513, 700, 1100] {
            let mut wanted = matrix(n, None);
            Task::new(async |pace: Pace| panels::factorize(&mut wanted, n, &pace).await).finish().expect("a factor");
            let found = [1, 2, 5].map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                let mut found = matrix(n, None);
                pool.install(|| Task::new(async |pace: Pace| factorize(&mut found, n, &pace).await).finish()).expect("a factor");
                found
            });
            for place in (0..n * n).filter(|place| place % n >= place / n) {
                assert!((found[0][place] - wanted[place]).abs() < 1e-12, "{n}: {place}: {}, not {}", found[0][place], wanted[place]);
                assert!(found.iter().all(|other| other[place].to_bits() == found[0][place].to_bits()), "{n}: {place}");
            }
            for pivot in [0, n / 2, n.saturating_sub(1)].into_iter().filter(|pivot| *pivot < n) {
                let mut found = matrix(n, Some(pivot));
                let refused = Task::new(async |pace: Pace| factorize(&mut found, n, &pace).await).finish();
                assert_eq!(refused, Err(Unsolved::Singular), "{n}: {pivot}");
            }
        }
    }
}
