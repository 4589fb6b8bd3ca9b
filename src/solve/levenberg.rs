//! Levenberg–Marquardt with Nielsen's damping (Madsen, Nielsen & Tingleff, *Methods for Non-Linear Least Squares
//! Problems*, 2nd ed. 2004, section 3.2) and inexact steps. Its rules are those of the shader `accept`.

use super::state;

/// λ of the first step (Ceres' initial radius of 10⁴).
pub const FIRST_DAMPING: f64 = 1e-4;
/// η of the first step's inner solver; `accept` moves it between 0.001 and 0.1 by how well the model did.
const FORCING: f64 = 0.1;

/// The state that the first step finds.
pub fn start() -> [(u32, f64); 3] {
    [(state::DAMPING, FIRST_DAMPING), (state::GROWTH, 2.0), (state::FORCING, FORCING)]
}
