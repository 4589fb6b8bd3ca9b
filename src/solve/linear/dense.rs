//! Cholesky's factor of a whole matrix, for few unknowns.

use super::matrix::{Singular, System};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::{factor, solve};
use faer::{MatMut, MatRef, Par};

/// H + λD = L Lᵀ.
pub struct DenseCholesky {
    n: usize,
    factor: Vec<f64>,
}

impl DenseCholesky {
    /// Factorises the matrix of a system.
    pub fn new(system: &System) -> Result<Self, Singular> {
        let n = system.matrix.pattern.scalars as usize;
        let mut values = system.matrix.dense(system.damping);
        let params = Default::default();
        let mut memory = MemBuffer::new(factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, params));
        let matrix = MatMut::from_column_major_slice_mut(&mut values, n, n);
        factor::cholesky_in_place(matrix, Default::default(), Par::Seq, MemStack::new(&mut memory), params).map_err(|_| Singular)?;
        // A pivot that is not a number passes as positive.
        if (0..n).any(|k| !values[k * n + k].is_finite()) {
            return Err(Singular);
        }
        Ok(Self { n, factor: values })
    }

    /// x becomes (H + λD)⁻¹x.
    pub fn solve(&self, x: &mut [f64]) {
        let factor = MatRef::from_column_major_slice(&self.factor, self.n, self.n);
        let x = MatMut::from_column_major_slice_mut(x, self.n, 1);
        let mut memory = MemBuffer::new(solve::solve_in_place_scratch::<f64>(self.n, 1, Par::Seq));
        solve::solve_in_place(factor, x, Par::Seq, MemStack::new(&mut memory));
    }
}
