//! Twins of `shaders/clustering/lloyd/`.

mod anchors;
mod assign;
mod totals;

pub use anchors::{centroid_sums, distances, norms, update, weigh};
pub use assign::assign;
pub use totals::{converge, totals};
