//! Cholesky's factor of a whole matrix, for few unknowns: faer's natively, in wasm a small one of our own.

use super::matrix::{Singular, System};
use crate::kernel::block::{Instructions, Task};

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
        let best = by_panels;
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

/// Panel by panel of columns, each of which stays in a cache while it is subtracted from all columns behind it (Golub &
/// Van Loan, *Matrix Computations*, 4th ed., section 4.2.6).
pub fn by_panels(matrix: &mut [f64], n: usize) -> Result<(), Singular> {
    let mut definite = true;
    Instructions::best().run(Panels { matrix, n, definite: &mut definite });
    if definite { Ok(()) } else { Err(Singular) }
}

/// Columns of a panel, and of them those that are subtracted at a time: target and factors fit the registers.
const PANEL: usize = 32;
const AT_ONCE: usize = 8;

struct Panels<'a> {
    matrix: &'a mut [f64],
    n: usize,
    definite: &'a mut bool,
}

impl Task for Panels<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { matrix, n, definite } = self;
        for start in (0..n).step_by(PANEL) {
            let end = n.min(start + PANEL);
            for column in start..n {
                let (before, rest) = matrix.split_at_mut(column * n);
                let target = &mut rest[column..n];
                let panel = &before[start * n..column.min(end) * n];
                let mut several = panel.chunks_exact(AT_ONCE * n);
                for sources in several.by_ref() {
                    subtract::<AT_ONCE>(target, sources, column, n);
                }
                several.remainder().chunks_exact(n).for_each(|source| subtract::<1>(target, source, column, n));
                if column < end {
                    *definite &= target[0] > 0.0;
                    let inverse = 1.0 / target[0].sqrt();
                    target.iter_mut().for_each(|entry| *entry *= inverse);
                }
            }
            if !*definite {
                return;
            }
        }
    }
}

/// Subtracts columns, each times its entry in the target's row.
#[inline(always)]
fn subtract<const COUNT: usize>(target: &mut [f64], sources: &[f64], row: usize, n: usize) {
    let sources: [&[f64]; COUNT] = std::array::from_fn(|k| &sources[k * n..][row..n][..target.len()]);
    let factors = sources.map(|source| source[0]);
    for (place, entry) in target.iter_mut().enumerate() {
        let mut value = *entry;
        for k in 0..COUNT {
            value -= sources[k][place] * factors[k];
        }
        *entry = value;
    }
}
