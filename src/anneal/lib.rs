//! Annealed compression: codebooks, codes of vectors, an index that searches them, and its file.
//!
//! It knows no problem and no solver: a clustering has kernels of its own.
//!
//! ```
//! use leastwise_anneal::index::{Coarse, Index, Options};
//!
//! let points = [0.0, 0.0, 1.0, 0.0, 0.0, 9.0];
//! let index = Index::build(&points, 2, Coarse::default(), &Options::default())?;
//! let hits = index.search(&[0.0, 8.0], 1, None, None)?;
//! assert_eq!(hits.ids, [2]);
//! # Ok::<(), leastwise_error::Error>(())
//! ```

pub mod bits;
mod buffers;
pub mod cluster;
pub mod code;
pub mod file;
pub mod graph;
pub mod index;
pub mod rows;
