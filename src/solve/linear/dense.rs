//! Cholesky's factor of a whole matrix, for few unknowns: faer's natively, in wasm a small one of our own.

use super::matrix::{Singular, System};
use super::panels;

/// H + λD = L Lᵀ.
pub struct DenseCholesky {
    n: usize,
    /// L by columns; what is above its diagonal means nothing.
    factor: Vec<f64>,
}

/// Makes a matrix its factor, on and below the diagonal. Columns follow each other.
pub type Factorize = fn(matrix: &mut [f64], n: usize) -> Result<(), Singular>;

impl DenseCholesky {
    /// Factorises the matrix of a system.
    pub fn new(system: &System) -> Result<Self, Singular> {
        #[cfg(target_arch = "wasm32")]
        let best = by_columns;
        #[cfg(not(target_arch = "wasm32"))]
        let best = by_products;
        Self::by(best, system)
    }

    /// The same by the given algorithm.
    pub fn by(factorize: Factorize, system: &System) -> Result<Self, Singular> {
        let n = system.matrix.pattern.scalars as usize;
        let mut factor = system.matrix.dense(system.damping);
        factorize(&mut factor, n)?;
        // A pivot that is not a number may pass as positive.
        let definite = (0..n).all(|k| factor[k * n + k].is_finite());
        if definite { Ok(Self { n, factor }) } else { Err(Singular) }
    }

    /// x becomes (H + λD)⁻¹x.
    pub fn solve(&self, x: &mut [f64]) {
        let column = |k: usize| self.factor[k * self.n..][k..self.n].split_first().expect("columns reach their diagonal");
        for k in 0..self.n {
            let (pivot, below) = column(k);
            x[k] /= pivot;
            let value = x[k];
            x[k + 1..].iter_mut().zip(below).for_each(|(x, entry)| *x -= entry * value);
        }
        for k in (0..self.n).rev() {
            let (pivot, below) = column(k);
            let known: f64 = below.iter().zip(&x[k + 1..]).map(|(entry, x)| entry * x).sum();
            x[k] = (x[k] - known) / pivot;
        }
    }
}

/// By faer, with products of blocks.
#[cfg(not(target_arch = "wasm32"))]
pub fn by_products(matrix: &mut [f64], n: usize) -> Result<(), Singular> {
    use faer::dyn_stack::{MemBuffer, MemStack};
    use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
    use faer::{MatMut, Par};
    let params = Default::default();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(n, Par::Seq, params));
    let matrix = MatMut::from_column_major_slice_mut(matrix, n, n);
    let done = cholesky_in_place(matrix, Default::default(), Par::Seq, MemStack::new(&mut memory), params);
    done.map(|_| ()).map_err(|_| Singular)
}

/// As one panel.
pub fn by_columns(matrix: &mut [f64], n: usize) -> Result<(), Singular> {
    panels::factorize(matrix, n)
}
