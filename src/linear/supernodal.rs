//! Sparse Cholesky factors by faer's blocked kernels: columns of the same structure are worked on together, with matrix
//! products. Fast where these have registers, and a lot of code. A factor is one piece of work: natively, where threads keep
//! sessions from event loops, none is larger than seconds.

use crate::matrix::Unsolved;
use crate::sparse::{Factorization, TooLarge, Unfactorised};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};
use leastwise_base::task::{Pace, Stopped, UNIT};

/// Sparse Cholesky factorisation by supernodes, of faer: on hosts other than WebAssembly.
pub struct Supernodal {
    symbolic: SymbolicCholesky<u32>,
    factor: Vec<f64>,
    memory: MemBuffer,
}

impl Factorization for Supernodal {
    async fn new(lower: SymbolicSparseColMatRef<'_, u32>, order: PermRef<'_, u32>, pace: &Pace) -> Result<Self, Unfactorised> {
        pace.spend(UNIT).await?;
        let order = SymmetricOrdering::Custom(order);
        let symbolic = factorize_symbolic_cholesky(lower, Side::Lower, order, CholeskySymbolicParams::default());
        let symbolic = symbolic.map_err(|_| TooLarge)?;
        let memory = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
        let memory = memory.or(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
        let memory = MemBuffer::try_new(memory).map_err(|_| TooLarge)?;
        Ok(Self { factor: vec![0.0; symbolic.len_val()], symbolic, memory })
    }

    async fn factorize(&mut self, lower: SparseColMatRef<'_, u32, f64>, pace: &Pace) -> Result<(), Unsolved> {
        pace.spend(UNIT).await?;
        let stack = MemStack::new(&mut self.memory);
        let (regularization, params) = (Default::default(), Default::default());
        let done =
            self.symbolic.factorize_numeric_llt::<f64>(&mut self.factor, lower, Side::Lower, regularization, Par::Seq, stack, params);
        done.map(|_| ()).map_err(|_| Unsolved::Singular)?;
        Ok(pace.spend(UNIT).await?)
    }

    async fn solve(&mut self, x: &mut [f64], pace: &Pace) -> Result<(), Stopped> {
        let n = x.len();
        let factor = LltRef::new(&self.symbolic, &self.factor);
        let x = MatMut::from_column_major_slice_mut(x, n, 1);
        factor.solve_in_place_with_conj(Conj::No, x, Par::Seq, MemStack::new(&mut self.memory));
        pace.spend(4 * self.factor.len()).await
    }
}
