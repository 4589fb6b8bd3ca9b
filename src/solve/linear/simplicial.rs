//! Sparse Cholesky factors by faer, row by row and entry by entry (Davis, *Direct Methods for Sparse Linear Systems*,
//! section 4.7): little code, and no matrix products, which are slow in wasm.

use super::matrix::Singular;
use super::sparse::{Factorization, TooLarge};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::simplicial::{
    self, SymbolicSimplicialCholesky, factorize_simplicial_numeric_llt, factorize_simplicial_numeric_llt_scratch,
    factorize_simplicial_symbolic_cholesky, factorize_simplicial_symbolic_cholesky_scratch,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};

pub struct Simplicial {
    symbolic: SymbolicSimplicialCholesky<u32>,
    /// Where a row of the matrix is in the order of elimination.
    inverse: Vec<u32>,
    upper: Upper,
    /// The values of the upper triangle, and of the factor.
    values: Vec<f64>,
    factor: Vec<f64>,
    /// A vector in the order of elimination.
    ordered: Vec<f64>,
    memory: MemBuffer,
}

/// The upper triangle in the order of elimination, by columns, whose rows are in any order.
struct Upper {
    starts: Vec<u32>,
    rows: Vec<u32>,
    /// For every entry of the lower triangle, which one it is here.
    places: Vec<u32>,
}

impl Upper {
    fn new(lower: SymbolicSparseColMatRef<'_, u32>, inverse: &[u32]) -> Self {
        let n = inverse.len();
        let entries = || (0..n).flat_map(|column| lower.row_idx_of_col_raw(column).iter().map(move |&row| (row as usize, column)));
        let ordered = |(row, column): (usize, usize)| {
            let (a, b) = (inverse[row], inverse[column]);
            (a.min(b), a.max(b))
        };
        let mut starts = vec![0u32; n + 1];
        entries().map(ordered).for_each(|(_, column)| starts[column as usize + 1] += 1);
        for column in 0..n {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut rows = vec![0u32; starts[n] as usize];
        let places = entries().map(ordered).map(|(row, column)| {
            let place = next[column as usize];
            rows[place as usize] = row;
            next[column as usize] += 1;
            place
        });
        let places = places.collect();
        Self { starts, rows, places }
    }

    fn structure(&self) -> SymbolicSparseColMatRef<'_, u32> {
        let n = self.starts.len() - 1;
        SymbolicSparseColMatRef::new_unsorted_checked(n, n, &self.starts, None, &self.rows)
    }
}

impl Factorization for Simplicial {
    fn new(lower: SymbolicSparseColMatRef<'_, u32>, order: PermRef<'_, u32>) -> Result<Self, TooLarge> {
        let n = lower.nrows();
        let inverse = order.arrays().1.to_vec();
        let upper = Upper::new(lower, &inverse);
        let (mut tree, mut counts) = (vec![0i32; n], vec![0u32; n]);
        let memory = simplicial::prefactorize_symbolic_cholesky_scratch::<u32>(n, upper.rows.len());
        let memory = memory.or(factorize_simplicial_symbolic_cholesky_scratch::<u32>(n));
        let memory = memory.or(factorize_simplicial_numeric_llt_scratch::<u32, f64>(n));
        let mut memory = MemBuffer::try_new(memory).map_err(|_| TooLarge)?;
        let tree = simplicial::prefactorize_symbolic_cholesky(&mut tree, &mut counts, upper.structure(), MemStack::new(&mut memory));
        let entries: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        if entries > i32::MAX as u64 {
            return Err(TooLarge);
        }
        let symbolic = factorize_simplicial_symbolic_cholesky(upper.structure(), tree, &counts, MemStack::new(&mut memory));
        let symbolic = symbolic.map_err(|_| TooLarge)?;
        let (values, factor) = (vec![0.0; upper.rows.len()], vec![0.0; symbolic.len_val()]);
        Ok(Self { symbolic, inverse, upper, values, factor, ordered: vec![0.0; n], memory })
    }

    fn factorize(&mut self, lower: SparseColMatRef<'_, u32, f64>) -> Result<(), Singular> {
        for (&place, &value) in self.upper.places.iter().zip(lower.val()) {
            self.values[place as usize] = value;
        }
        let upper = SparseColMatRef::new(self.upper.structure(), &self.values[..]);
        let stack = MemStack::new(&mut self.memory);
        let done = factorize_simplicial_numeric_llt(&mut self.factor, upper, Default::default(), &self.symbolic, stack);
        done.map(|_| ()).map_err(|_| Singular)
    }

    fn solve(&mut self, x: &mut [f64]) {
        let Self { symbolic, inverse, factor, ordered: y, .. } = self;
        inverse.iter().zip(&*x).for_each(|(&place, &value)| y[place as usize] = value);
        // The diagonal comes first in every column.
        let columns = || symbolic.col_ptr().windows(2).map(|ends| ends[0] as usize..ends[1] as usize).enumerate();
        let below = |start: usize, end: usize| symbolic.row_idx()[start + 1..end].iter().zip(&factor[start + 1..end]);
        for (column, range) in columns() {
            let value = y[column] / factor[range.start];
            y[column] = value;
            below(range.start, range.end).for_each(|(&row, entry)| y[row as usize] -= entry * value);
        }
        for (column, range) in columns().rev() {
            let known: f64 = below(range.start, range.end).map(|(&row, entry)| entry * y[row as usize]).sum();
            y[column] = (y[column] - known) / factor[range.start];
        }
        inverse.iter().zip(x).for_each(|(&place, value)| *value = y[place as usize]);
    }
}
