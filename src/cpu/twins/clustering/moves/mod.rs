//! Twins of `shaders/clustering/moves/`.

mod divide;
mod merge;

pub use divide::{divide, relabel, seed};
pub use merge::merge;
