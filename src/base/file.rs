//! What is wrong with files.

use crate::memory::OutOfMemory;

/// What is wrong with a file.
#[derive(Debug, thiserror::Error, PartialEq, Clone)]
pub enum FileError {
    /// It ends within a part.
    #[error("the file ends too early: {what} needs {needed} bytes, but there are {got}")]
    Truncated {
        /// The part.
        what: String,
        /// Bytes that the part takes.
        needed: u64,
        /// Bytes that are there.
        got: u64,
    },
    /// A checksum is wrong.
    #[error("the file is damaged: the checksum of {what} is wrong")]
    Corrupt {
        /// The part whose checksum it is.
        what: String,
    },
    /// Its version is not read.
    #[error("the file has version {found}, but this build reads version {expected}: update leastwise, or write the file again")]
    Version {
        /// The file's version.
        found: u32,
        /// The version that is read.
        expected: u32,
    },
    /// It is something else.
    #[error("this isn't {what}: {why}")]
    Format {
        /// Name of the kind of file, with its article.
        what: &'static str,
        /// The first thing that differs.
        why: String,
    },
    /// There is no room for its content.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

impl FileError {
    /// The code that programs switch on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "file-truncated",
            Self::Corrupt { .. } => "file-corrupt",
            Self::Version { .. } => "file-version",
            Self::Format { .. } => "file-format",
            Self::Memory(_) => "out-of-memory",
        }
    }
}
