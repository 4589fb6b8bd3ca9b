//! What the engine refuses, in words for people and with a code for programs.
//!
//! What goes wrong in devices, files and tapes is said there; here it becomes one type.
//!
//! ```
//! use leastwise_error::Error;
//!
//! let error = Error::EmptyTerm("springs".into());
//! assert_eq!((error.code(), error.term()), ("empty-term", Some("springs")));
//! ```

use leastwise_base::FileError;
use leastwise_base::memory::OutOfMemory;
use leastwise_base::task::Stopped;
use leastwise_device::DeviceError;
#[cfg(not(target_arch = "wasm32"))]
use leastwise_device::Fault;
use leastwise_expr::{ManifoldError, tape::TapeError};

/// Every error of the engine. Its text says what was wrong, where, and what to do.
#[derive(Debug, thiserror::Error, PartialEq, Clone)]
#[expect(missing_docs, reason = "the message above a variant says what it is, and what its fields are")]
pub enum Error {
    #[error("term \"{term}\": slot {slot} of instance {instance} has index {index}, but \"{table}\" has {count} instances (0 to {last})", last = i64::from(*count) - 1)]
    IndexOutOfRange { term: String, slot: u32, instance: u32, index: u32, table: String, count: u32 },
    #[error("\"{table}\": index {index} is out of range: it has {count} instances (0 to {last})", last = i64::from(*count) - 1)]
    RowOutOfRange { table: String, index: u32, count: u32 },
    #[error("{what} has {got} values, but {expected} are needed")]
    DataLength { term: Option<String>, what: String, got: usize, expected: String },
    #[error("{what} is not finite: value {position} is {value}")]
    NonFinite { term: Option<String>, instance: Option<u32>, what: String, position: usize, value: String },
    #[error("{what}: value {position} is {value}, and numbers of f32 end at 3.4e38: scale it, or use an engine in f64")]
    OutOfRange { term: Option<String>, instance: Option<u32>, what: String, position: usize, value: String },
    #[error("{what}: component {component} of row {row} is {value}, but all numbers must be finite")]
    NonFiniteRow { what: String, row: usize, component: usize, value: String },
    #[error(
        "points: component {component} of row {row} is {value}, beyond what half precision has (65504), which method \"vlc\" keeps its centroids in: scale the points, or use another method"
    )]
    LargePoint { row: usize, component: usize, value: String },
    #[error("stopped before there was a codebook: {0}")]
    Stopped(String),
    #[error("{0} before the problem was laid out and the solver set up: no step was made, and the next solve goes on from there")]
    StoppedSetUp(String),
    #[error(
        "term \"{term}\": the residual of instance {instance} is not finite at the current values; change them, or guard the expression with select()"
    )]
    NonFiniteResidual { term: String, instance: u32 },
    #[error(
        "term \"{term}\": the residual of instance {instance} is {value} at the current values, and its square overflows (numbers end at {largest}): scale the residual down"
    )]
    SquareOverflows { term: String, instance: u32, value: String, largest: &'static str },
    #[error("term \"{0}\" has no instances: leave it out, or disable it with term.enabled = false")]
    EmptyTerm(String),
    #[error("the problem has no {0}: add some before solving")]
    EmptyProblem(&'static str),
    #[error("term \"{0}\" has an empty residual: return at least one scalar")]
    NoResidual(String),
    #[error("\"{name}\": {message}")]
    Shape { name: String, message: String },
    #[error("\"{name}\", component {component} of instance {instance}: {message}")]
    Bounds { name: String, instance: u32, component: u32, message: String },
    #[error("\"{name}\": {error}")]
    Manifold { name: String, error: ManifoldError },
    #[error("{0}")]
    InvalidOption(String),
    #[error("{0}")]
    Dtype(String),
    #[error("term \"{term}\": {error}")]
    Tape { term: String, error: TapeError },
    #[error("{0}")]
    Limits(String),
    #[error("{0}")]
    RankDeficient(String),
    #[error("the checkpoint is of something else: {0}")]
    Checkpoint(String),
    #[error("this problem is already being solved or read: wait for the running call, or stop it with its signal")]
    Busy,
    /// A handle of something that was disposed, or that was never made.
    #[error("this {0} was disposed: it can't be used any more")]
    Disposed(&'static str),
    /// A state that the engine never reaches, unless it has a bug.
    #[error("{0}: this is a bug of Leastwise, please report it")]
    Internal(&'static str),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

#[cfg(not(target_arch = "wasm32"))]
impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Device(fault.into())
    }
}

/// Only work of a task that nobody resumes any more is stopped, so nobody sees this error.
impl From<Stopped> for Error {
    fn from(_: Stopped) -> Self {
        Self::Internal("work was stopped that a task waits for")
    }
}

impl Error {
    /// The error of a number that the device does not have: it is not finite, or beyond f32's range.
    pub fn not_finite(term: Option<String>, instance: Option<u32>, what: String, (position, value): (usize, f64)) -> Self {
        if value.is_finite() {
            return Self::OutOfRange { term, instance, what, position, value: format!("{value:e}") };
        }
        Self::NonFinite { term, instance, what, position, value: value.to_string() }
    }

    /// The code that programs switch on (`LeastwiseError.code`).
    pub fn code(&self) -> &'static str {
        match self {
            Self::IndexOutOfRange { .. } | Self::RowOutOfRange { .. } => "index-out-of-range",
            Self::DataLength { .. } => "data-length",
            Self::NonFinite { .. } | Self::OutOfRange { .. } | Self::NonFiniteRow { .. } => "non-finite",
            // Half precision has infinity in place of such a point.
            Self::NonFiniteResidual { .. } | Self::SquareOverflows { .. } | Self::LargePoint { .. } => "non-finite",
            Self::Stopped(_) | Self::StoppedSetUp(_) => "stopped",
            Self::EmptyTerm(_) | Self::EmptyProblem(_) => "empty-term",
            Self::NoResidual(_) => "no-residual",
            Self::Shape { .. } | Self::Manifold { .. } => "shape",
            Self::Bounds { .. } => "bounds",
            Self::InvalidOption(_) => "invalid-option",
            Self::Dtype(_) => "dtype",
            Self::Tape { error: TapeError::Literal { .. }, .. } => "non-finite",
            Self::Tape { .. } => "tape",
            Self::Limits(_) => "limits",
            Self::RankDeficient(_) => "rank-deficient",
            Self::Checkpoint(_) => "checkpoint-mismatch",
            Self::Busy => "busy",
            Self::Disposed(_) => "disposed",
            Self::Internal(_) => "internal",
            Self::File(error) => error.code(),
            Self::Memory(_) => "out-of-memory",
            Self::Device(error) => match error {
                DeviceError::NoAdapter(_) | DeviceError::NoCuda(_) | DeviceError::NoDoubles(_) => "no-adapter",
                DeviceError::OutOfMemory { .. } => "out-of-memory",
                DeviceError::Lost(_) => "device-lost",
                // Recordings name the engine's own buffers alone.
                DeviceError::UnknownBuffer(_) => "internal",
                // A tape is what was traced: these are of a driver, or of ours.
                DeviceError::Kernel { .. } | DeviceError::Invalid(_) => "device-error",
                // Data of another rank are lost like a device, or were never asked for.
                #[cfg(not(target_arch = "wasm32"))]
                DeviceError::Ranks(
                    Fault::Gone { .. } | Fault::Broken { .. } | Fault::Late { .. } | Fault::Stalled { .. } | Fault::Failed { .. },
                ) => "device-lost",
                #[cfg(not(target_arch = "wasm32"))]
                DeviceError::Ranks(_) => "invalid-option",
            },
        }
    }

    /// The term that it is about.
    pub fn term(&self) -> Option<&str> {
        match self {
            Self::IndexOutOfRange { term, .. } | Self::NonFiniteResidual { term, .. } => Some(term),
            Self::SquareOverflows { term, .. } | Self::Tape { term, .. } => Some(term),
            Self::EmptyTerm(term) | Self::NoResidual(term) => Some(term),
            Self::DataLength { term, .. } | Self::NonFinite { term, .. } | Self::OutOfRange { term, .. } => term.as_deref(),
            _ => None,
        }
    }

    /// The instance that it is about, of the term or of a table.
    pub fn instance(&self) -> Option<u32> {
        match self {
            Self::IndexOutOfRange { instance, .. } | Self::NonFiniteResidual { instance, .. } => Some(*instance),
            Self::SquareOverflows { instance, .. } => Some(*instance),
            Self::NonFinite { instance, .. } | Self::OutOfRange { instance, .. } => *instance,
            Self::NonFiniteRow { row, .. } | Self::LargePoint { row, .. } => u32::try_from(*row).ok(),
            Self::Bounds { instance, .. } => Some(*instance),
            Self::Manifold { error, .. } => error.instance(),
            _ => None,
        }
    }

    /// The slot that it is about.
    pub fn slot(&self) -> Option<u32> {
        match self {
            Self::IndexOutOfRange { slot, .. } => Some(*slot),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes of `ts/src/errors.ts`.
    fn documented() -> Vec<&'static str> {
        let text = include_str!("../../ts/src/errors.ts");
        let (_, list) = text.split_once("ERROR_CODES = [").expect("the list of codes");
        let (list, _) = list.split_once("] as const").expect("its end");
        list.split(',').map(|code| code.trim().trim_matches('"')).filter(|code| !code.is_empty()).collect()
    }

    #[test]
    fn a_code_says_what_happened() {
        let refused = DeviceError::Kernel { kernel: "dot".into(), message: "syntax".into() };
        let point = Error::LargePoint { row: 3, component: 0, value: "7e4".into() };
        let cases = [
            (Error::Disposed("problem"), "disposed"),
            (Error::Internal("a solver was not set up"), "internal"),
            (Error::from(Stopped), "internal"),
            (DeviceError::UnknownBuffer(7).into(), "internal"),
            (refused.into(), "device-error"),
            (DeviceError::Invalid("overlap".into()).into(), "device-error"),
            (point, "non-finite"),
            (Error::Tape { term: "r".into(), error: TapeError::Literal { instruction: 0, value: f64::INFINITY } }, "non-finite"),
            (Error::StoppedSetUp("stop".into()), "stopped"),
            (Error::Busy, "busy"),
            (Fault::Gone { rank: 1, size: 2, panicked: true }.into(), "device-lost"),
            (Fault::Stalled { call: "residual", size: 2, within: std::time::Duration::from_secs(30) }.into(), "device-lost"),
            (Fault::Failed { message: "NCCL: remote error".into() }.into(), "device-lost"),
            (Fault::Differs { what: "terms", rank: 1 }.into(), "invalid-option"),
        ];
        let documented = documented();
        for (error, code) in cases {
            assert_eq!(error.code(), code, "{error}");
            assert!(documented.contains(&code), "{code} is not in ts/src/errors.ts");
        }
    }

    #[test]
    fn an_internal_error_asks_for_a_report() {
        let message = Error::Internal("a solver was not set up").to_string();
        assert_eq!(message, "a solver was not set up: this is a bug of Leastwise, please report it");
    }
}
