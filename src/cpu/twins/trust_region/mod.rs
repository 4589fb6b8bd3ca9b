//! Twins of `shaders/trust_region/`: what follows from a step for the next one, and steps within a radius.

mod damping;
mod dogleg;

pub use damping::{nielsen, reset_damping, step_length};
pub use dogleg::{combine, dogleg, dogleg_plane, dogleg_subspace, dogleg_sums, steepest, trust_region};
