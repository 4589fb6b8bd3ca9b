//! What every part of Leastwise stands on: slices of time, slots, memory that may not be there, files of sections.
//!
//! Nothing here knows what it is used for. What two crates happen to have in common is not for here: what they have in common by their
//! nature as programs is.
//!
//! ```
//! use leastwise_base::slab::Slab;
//!
//! let mut names = Slab::default();
//! let handle = names.insert("gauge");
//! assert_eq!(names.remove(handle), Some("gauge"));
//! // Slots are used again, and handles are not.
//! assert_ne!(names.insert("weight"), handle);
//! ```

pub mod clock;
pub mod container;
pub mod counting_sort;
mod file;
pub mod memory;
pub mod parallel;
pub mod random;
pub mod slab;
pub mod task;

pub use file::FileError;
