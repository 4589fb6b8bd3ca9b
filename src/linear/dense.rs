//! Cholesky's factor of a whole matrix, for few unknowns: by faer's products natively, in wasm by a small kernel of our own.

use crate::Computed;
use crate::matrix::{System, Unsolved};
use crate::panels;
use leastwise_base::task::{Pace, Stopped};

/// H + λD = L Lᵀ.
pub struct DenseCholesky {
    n: usize,
    /// L by columns; what is above its diagonal means nothing.
    factor: Vec<f64>,
}

/// Algorithms that make a matrix its factor, on and below the diagonal. Columns follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// As one panel.
    Columns,
    /// By faer, with products of blocks.
    #[cfg(not(target_arch = "wasm32"))]
    Products,
}

impl Algorithm {
    /// The faster algorithm on this host.
    #[cfg(target_arch = "wasm32")]
    pub const BEST: Self = Self::Columns;
    /// The faster algorithm on this host.
    #[cfg(not(target_arch = "wasm32"))]
    pub const BEST: Self = Self::Products;

    /// Cholesky factor of a dense n × n matrix, in place; the lower triangle is read and written. Fails if it is not positive definite.
    pub async fn factorize(self, matrix: &mut [f64], n: usize, pace: &Pace) -> Result<(), Unsolved> {
        match self {
            Self::Columns => panels::factorize(matrix, n, pace).await,
            #[cfg(not(target_arch = "wasm32"))]
            Self::Products => by_products(matrix, n, pace).await,
        }
    }
}

impl DenseCholesky {
    /// Factorises the matrix of a system.
    pub async fn new(system: &System<'_>, pace: &Pace) -> Result<Self, Unsolved> {
        Self::by(Algorithm::BEST, system, pace).await
    }

    /// The same by the given algorithm.
    pub fn by<'a>(algorithm: Algorithm, system: &'a System<'a>, pace: &'a Pace) -> Computed<'a, Result<Self, Unsolved>> {
        Box::pin(async move {
            let n = system.matrix.pattern.scalars as usize;
            let mut factor = system.matrix.dense(system.damping, pace).await?;
            algorithm.factorize(&mut factor, n, pace).await?;
            // A pivot that is not a number may pass as positive.
            let definite = (0..n).all(|k| factor[k * n + k].is_finite());
            if definite { Ok(Self { n, factor }) } else { Err(Unsolved::Singular) }
        })
    }

    /// x becomes (H + λD)⁻¹x.
    pub fn solve<'a>(&'a self, x: &'a mut [f64], pace: &'a Pace) -> Computed<'a, Result<(), Stopped>> {
        Box::pin(async move {
            let column = |k: usize| self.factor[k * self.n..][k..self.n].split_first().expect("columns reach their diagonal");
            for k in 0..self.n {
                let (pivot, below) = column(k);
                x[k] /= pivot;
                let value = x[k];
                x[k + 1..].iter_mut().zip(below).for_each(|(x, entry)| *x -= entry * value);
                pace.spend(2 * below.len()).await?;
            }
            for k in (0..self.n).rev() {
                let (pivot, below) = column(k);
                let known: f64 = below.iter().zip(&x[k + 1..]).map(|(entry, x)| entry * x).sum();
                x[k] = (x[k] - known) / pivot;
                pace.spend(2 * below.len()).await?;
            }
            Ok(())
        })
    }
}

/// Unknowns that faer factorises in one piece, and beyond: columns that are made at a time, and rows and columns of a product.
#[cfg(not(target_arch = "wasm32"))]
const PIECE: usize = 512;
#[cfg(not(target_arch = "wasm32"))]
const BLOCK: usize = 128;
#[cfg(not(target_arch = "wasm32"))]
const PRODUCT: [usize; 2] = [256, 2048];

/// By products of blocks: column blocks from left to right, of which what is before them is subtracted first.
#[cfg(not(target_arch = "wasm32"))]
async fn by_products(matrix: &mut [f64], n: usize, pace: &Pace) -> Result<(), Unsolved> {
    let width = if n <= PIECE { n.max(1) } else { BLOCK };
    let [most_rows, most_columns] = PRODUCT;
    for first in (0..n).step_by(width) {
        let end = n.min(first + width);
        for row in (first..n).step_by(most_rows) {
            let rows = row..n.min(row + most_rows);
            for column in (0..first).step_by(most_columns) {
                let columns = column..first.min(column + most_columns);
                let spent = 2 * rows.len() * columns.len() * (end - first);
                subtract(matrix, n, first..end, rows.clone(), columns);
                pace.spend(spent).await?;
            }
        }
        factorize_block(matrix, n, first..end)?;
        pace.spend((end - first).pow(3) / 3).await?;
        for row in (end..n).step_by(most_rows) {
            let rows = row..n.min(row + most_rows);
            let spent = rows.len() * (end - first).pow(2);
            divide(matrix, n, first..end, rows);
            pace.spend(spent).await?;
        }
    }
    Ok(())
}

#[cfg(not(target_arch = "wasm32"))]
use std::ops::Range;

/// A[rows, block] −= L[rows, columns] L[block, columns]ᵀ
#[cfg(not(target_arch = "wasm32"))]
fn subtract(matrix: &mut [f64], n: usize, block: Range<usize>, rows: Range<usize>, columns: Range<usize>) {
    use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
    let (known, rest) = matrix.split_at_mut(block.start * n);
    let known = MatRef::from_column_major_slice(&known[..block.start * n], n, block.start);
    let target = MatMut::from_column_major_slice_mut(&mut rest[..block.len() * n], n, block.len());
    let of = |rows: &Range<usize>| known.submatrix(rows.start, columns.start, rows.len(), columns.len());
    let target = target.submatrix_mut(rows.start, 0, rows.len(), block.len());
    matmul(target, Accum::Add, of(&rows), of(&block).transpose(), -1.0, Par::Seq);
}

/// The factor of a block on the diagonal.
#[cfg(not(target_arch = "wasm32"))]
fn factorize_block(matrix: &mut [f64], n: usize, block: Range<usize>) -> Result<(), Unsolved> {
    use faer::dyn_stack::{MemBuffer, MemStack};
    use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
    use faer::{MatMut, Par};
    let params = Default::default();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(block.len(), Par::Seq, params));
    let columns = MatMut::from_column_major_slice_mut(&mut matrix[block.start * n..block.end * n], n, block.len());
    let own = columns.submatrix_mut(block.start, 0, block.len(), block.len());
    let done = cholesky_in_place(own, Default::default(), Par::Seq, MemStack::new(&mut memory), params);
    done.map(|_| ()).map_err(|_| Unsolved::Singular)
}

/// L[rows, block] = A[rows, block] L[block, block]⁻ᵀ
#[cfg(not(target_arch = "wasm32"))]
fn divide(matrix: &mut [f64], n: usize, block: Range<usize>, rows: Range<usize>) {
    use faer::prelude::IntoConst;
    use faer::{MatMut, Par, linalg::triangular_solve::solve_lower_triangular_in_place};
    let columns = MatMut::from_column_major_slice_mut(&mut matrix[block.start * n..block.end * n], n, block.len());
    let (above, below) = columns.split_at_row_mut(block.end);
    let own = above.into_const().submatrix(block.start, 0, block.len(), block.len());
    let target = below.submatrix_mut(rows.start - block.end, 0, rows.len(), block.len());
    solve_lower_triangular_in_place(own, target.transpose_mut(), Par::Seq);
}
