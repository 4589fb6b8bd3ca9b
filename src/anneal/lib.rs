//! Annealed compression: codebooks, codes of vectors, an index that searches them, and its file.

mod buffers;
pub mod cluster;
pub mod code;
pub mod file;
pub mod index;
pub mod rows;
