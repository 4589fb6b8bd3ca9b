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
    /// By faer, with products of blocks, on all threads.
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
            Self::Products => crate::products::factorize(matrix, n, pace).await,
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
