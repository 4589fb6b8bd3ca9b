//! Thresholds by which [`choose`](super::choose) takes a linear solver.

use leastwise_device::Profile;

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
    /// Unknowns from which conjugate gradients get a coarse space, where an iteration costs what it computes.
    pub two_level: u32,
    /// Unknowns from which conjugate gradients get a coarse space, where an iteration costs its launches.
    pub two_level_of_gpu: u32,
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
            two_level_of_gpu: 200_000,
            redundancy: 10.0,
        }
    }
}

impl Thresholds {
    /// Unknowns from which on a step with two levels costs less on such a device, and why there.
    ///
    /// On a CPU, and on an adapter that is a program on one, a step costs what it computes: an iteration with two levels twice that of
    /// block Jacobi, of which there are several times as many. On a GPU the cost up to some 10⁵ unknowns is that of launches and of
    /// chains of loads, of which two levels have more, both in the set-up and in every iteration: on an H200 a step takes 9 to 16 ms
    /// whatever the size, 300 to 500 iterations with block Jacobi, and steps of such problems take no more of them.
    pub fn two_level_on(&self, profile: Profile) -> (u32, &'static str) {
        match profile {
            Profile::Cpu | Profile::Software => (self.two_level, "from which on fewer iterations are worth two levels"),
            Profile::Gpu => (self.two_level_of_gpu, "from which on fewer iterations are worth the launches of two levels on a GPU"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_levels_are_taken_later_where_launches_are_what_a_step_costs() {
        let thresholds = Thresholds::default();
        let least = [Profile::Cpu, Profile::Software, Profile::Gpu].map(|profile| thresholds.two_level_on(profile).0);
        assert_eq!(least, [20_000, 20_000, 200_000]);
        assert!(thresholds.two_level_on(Profile::Gpu).1.ends_with("on a GPU"));
    }
}
