//! Twins of `shaders/clustering/anneal/`.

mod pairs;
mod soften;

pub use pairs::pairs;
pub use soften::{blend, scores, soften};
