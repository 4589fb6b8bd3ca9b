//! Searching batches of queries on a GPU, by the codes alone, which lie there.
//!
//! With an anchor a and what a code decodes to, r′, the squared distance of a query is ‖q − a‖² − 2q·r′ + (2a·r′ + κ‖r′‖²), all in the
//! code's coordinates and from the anchors' mean. The first is found for all queries and anchors and says which lists are probed
//! (`pairwise`, `probe`); the last belongs to the vector. So a block of vectors is decoded (`decode`), multiplied with all queries as one
//! matrix with another (`estimate`), and each query keeps the nearest it has seen (`shortlist`). Memory is bounded, however many vectors
//! there are; of a batch of queries nothing comes back but its hits.
//!
//! A device's library multiplies rows of 11 bits on tensor cores. Rows that are split (`split`) have the product nearly to f32's
//! precision, which then becomes distances (`finish`).

mod commands;
mod image;
mod searching;

pub use commands::Scratch;
pub use image::{Image, Upload};
pub use searching::{Next, Searching, Wanted};

/// Neighbours of a query that are found here: what sorting has room for in a workgroup (`shaders/search/shortlist.wgsl`).
pub const MOST_K: usize = 512;

/// Queries that are worth a GPU's while: decoding costs as much for one as for a tile of them, and so does waiting for the answer.
pub const FEWEST_QUERIES: usize = 16;
