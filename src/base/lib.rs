//! What every part of Leastwise stands on: slices of time, slots, memory that may not be there, files of sections.
//!
//! Nothing here knows what it is used for.

pub mod clock;
pub mod container;
mod file;
pub mod memory;
pub mod random;
pub mod slab;
pub mod work;

pub use file::FileError;
