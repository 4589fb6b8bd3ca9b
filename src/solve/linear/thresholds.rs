//! Thresholds by which [`choose`](super::choose) takes a linear solver.

/// Thresholds between linear solvers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thresholds {
    /// Unknowns up to which JᵀWJ is a full matrix.
    pub dense: u32,
    /// Unknowns up to which a dense problem is solved by a QR factorisation of J.
    pub qr: u32,
    /// Rows of J up to which a QR factorisation is taken.
    pub qr_rows: u32,
    /// Unknowns up to which a matrix is considered, for residuals on the CPU.
    pub host: u32,
    /// Unknowns up to which a matrix is considered, for residuals on a GPU.
    pub host_of_gpu: u32,
    /// Entries that a sparse factor may have.
    pub fill: f64,
    /// Multiplications that a sparse factor may take.
    pub work: f64,
    /// Unknowns that a Schur complement may leave.
    pub reduced: u32,
    /// Least part of all unknowns that a Schur complement eliminates.
    pub eliminated: f64,
    /// Products of blocks that a Schur complement may take.
    pub products: f64,
    /// Unknowns from which conjugate gradients get a coarse space: on a CPU, where an iteration with it costs twice as much, and on a GPU,
    /// where it costs five launches and chains of loads more, and a step some forty.
    pub two_level: u32,
    /// Values of J for each of JᵀWJ from which a matrix is assembled for its products alone.
    pub redundancy: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            dense: 200,
            qr: 64,
            qr_rows: 100_000,
            host: 2_000_000,
            host_of_gpu: 20_000,
            // A page has one thread, which a factorisation keeps from all else, and little memory (docs/SOLVERS.md).
            fill: if cfg!(target_arch = "wasm32") { 2e6 } else { 1e8 },
            work: if cfg!(target_arch = "wasm32") { 1e9 } else { 3e10 },
            reduced: 3000,
            eliminated: 0.6,
            products: 2e7,
            two_level: 20_000,
            redundancy: 10.0,
        }
    }
}
