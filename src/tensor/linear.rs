//! Launches of the kernels of matrices: a workgroup for each of them.

use super::attention::Launch;
use leastwise_device::{Arguments, Limits};
use leastwise_kernels::tensor;

/// Number of times that all pairs of columns are turned: convergence is quadratic, and some ten times are enough for any matrix (Demmel &
/// Veselić 1992).
const SWEEPS: u32 = 12;
const SWEEPS_OF_MANY: u32 = 16;
const MANY: u32 = 64;

/// Matrices of one size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matrices {
    /// Number of matrices.
    pub batches: u32,
    /// Rows of each.
    pub rows: u32,
    /// Columns of each.
    pub columns: u32,
}

impl Matrices {
    /// Solutions of `columns` right-hand sides. As of all four, `None` where a device with these limits can't have so many
    /// workgroups.
    pub fn solve(&self, columns: u32, limits: &Limits) -> Option<Launch> {
        self.launch(tensor::Solve { size: self.rows, columns, batches: self.batches }, limits)
    }

    /// Lower triangles.
    pub fn cholesky(&self, limits: &Limits) -> Option<Launch> {
        self.launch(tensor::Cholesky { size: self.rows, batches: self.batches }, limits)
    }

    /// Q and R.
    pub fn qr(&self, limits: &Limits) -> Option<Launch> {
        let Self { batches, rows, columns } = *self;
        self.launch(tensor::Qr { rows, columns, batches }, limits)
    }

    /// Right singular vectors.
    pub fn singular(&self, limits: &Limits) -> Option<Launch> {
        let Self { batches, rows, columns } = *self;
        let sweeps = if columns > MANY { SWEEPS_OF_MANY } else { SWEEPS };
        self.launch(tensor::Singular { rows, columns, batches, sweeps }, limits)
    }

    fn launch<K: Arguments>(&self, args: K, limits: &Limits) -> Option<Launch> {
        let groups = if self.rows == 0 || self.columns == 0 { 0 } else { self.batches };
        Launch::new(args, u64::from(groups) * u64::from(limits.group_size), limits)
    }
}
