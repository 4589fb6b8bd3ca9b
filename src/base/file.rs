//! What is wrong with files.

use crate::memory::OutOfMemory;

/// What is wrong with a file.
#[derive(Debug, thiserror::Error, PartialEq, Clone)]
pub enum FileError {
    #[error("the file ends too early: {what} needs {needed} bytes, but there are {got}")]
    Truncated { what: String, needed: u64, got: u64 },
    #[error("the file is damaged: the checksum of {what} is wrong")]
    Corrupt { what: String },
    #[error("the file has version {found}, but this build reads version {expected}: update leastwise, or write the file again")]
    Version { found: u32, expected: u32 },
    #[error("this isn't {what}: {why}")]
    Format { what: &'static str, why: String },
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
