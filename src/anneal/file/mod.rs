//! Files: the [`container`](leastwise_base::container) that an index is stored in, and the [`published`] format of three files.

pub mod published;

pub use leastwise_base::FileError;
use leastwise_base::container::Format;

/// An index of compressed vectors, whole.
pub const INDEX: Format = Format { magic: *b"LWINDEX\n", oldest: 1, version: 3, name: "an index" };

/// The same without a graph, which readers of version 2 know.
pub const INDEX_OF_LISTS: Format = Format { version: 2, ..INDEX };

/// The same with codes in order of lists, each with a checksum, so that they can be read when searches need them. All versions up to it are read.
pub const INDEX_BY_LISTS: Format = Format { version: 4, ..INDEX };

/// Changes of an index since a file of it was written: vectors that were added and taken out.
pub const CHANGES: Format = Format { magic: *b"LWCHANG\n", oldest: 1, version: 1, name: "a file of an index's changes" };

/// An index of vectors of bits.
pub const BITS: Format = Format { magic: *b"LWBITS\x00\n", oldest: 1, version: 1, name: "an index of bits" };

/// What is no index, for a reason.
pub(crate) fn malformed(why: impl Into<String>) -> FileError {
    INDEX.refuse(why)
}
