//! What a device is asked to do: buffers, kernels and commands, in a [`Recording`], and what is wrong with one.
//!
//! It knows no device. Whoever makes recordings needs this alone, and so does whoever plays them.
//!
//! ```
//! use leastwise_kernels::{StaticKernel, system::Gather};
//! use leastwise_recording::{Access, KernelSource};
//!
//! // A kernel is what it is made of, and says what it does with its bindings.
//! let gather = KernelSource::of_static(StaticKernel::SystemGather);
//! assert_eq!(gather.key(), KernelSource::of_static(StaticKernel::SystemGather).key());
//! assert_eq!(gather.access()[Gather::TOTAL], Access::ReadWrite);
//! ```

#[cfg(not(target_arch = "wasm32"))]
mod collective;
mod commands;
mod multiply;
pub mod repeat_pacing;
mod signal;
mod source;
pub mod validation;

#[cfg(not(target_arch = "wasm32"))]
pub use collective::{ABSENT, Collective, Exchange, Fold};
pub use commands::*;
#[cfg(not(target_arch = "wasm32"))]
pub use leastwise_collective::{Communicator, Fault, Fingerprint};
pub use leastwise_kernels::{ARGUMENT_WORDS as PARAM_WORDS, Arguments, Elements, Reduction, Scalars, StaticKernel};
pub use leastwise_program::{Access, KernelText, binding};
pub use multiply::{After, Form, Multiply, Strided};
pub use signal::Signal;
pub use source::{Grade, KernelKey, KernelSource, Structure};
pub use validation::Interface;

/// The arithmetic of a device's reals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// `f32`.
    F32,
    /// Double-floats: two `f32`s a number, 48 bits of significand in the range of one.
    F32x2,
    /// `f64`.
    F64,
}

impl Precision {
    /// Bytes of a number.
    pub fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F32x2 | Self::F64 => 8,
        }
    }

    /// The largest finite number.
    pub fn largest(self) -> f64 {
        match self {
            Self::F32 | Self::F32x2 => f32::MAX.into(),
            Self::F64 => f64::MAX,
        }
    }

    /// What it resolves of 1.
    pub fn epsilon(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::EPSILON),
            Self::F32x2 => 2.0 * f64::from(f32::EPSILON) * f64::from(f32::EPSILON),
            Self::F64 => f64::EPSILON,
        }
    }
}

/// What the reals of a device without f64 are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reals {
    /// `f32`.
    #[default]
    Single,
    /// Double-floats ([`leastwise_kernels::doubles`]).
    Double,
    /// Double-floats, but for what conjugate gradients do in every inner iteration, which is in `f32`: an outer iteration that
    /// knows its residual well needs no exact solution (iterative refinement; Wilkinson, *Rounding Errors in Algebraic
    /// Processes*, 1963).
    Mixed,
}

/// What terms are cut to and workgroups are sized by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of one storage binding.
    pub binding_bytes: u64,
    /// Bytes of one buffer.
    pub buffer_bytes: u64,
    /// Bytes of all buffers.
    pub memory_bytes: u64,
    /// Invocations of a workgroup: a power of two from [`Limits::LEAST_GROUP`] to 256.
    pub group_size: u32,
    /// Workgroups in one dimension of a dispatch.
    pub groups_per_dimension: u32,
    /// Elements that the offset of a bound slice is a multiple of.
    pub offset_alignment: u32,
    /// Elements that a lane of a reduction adds up before its workgroup meets at a barrier: many where barriers are
    /// emulated, few where lanes are plenty.
    pub elements_per_lane: u32,
}

impl Limits {
    /// Workgroups have at least so many invocations: a row of a 6 × 6 block (`shaders/shared/rows.wgsl`), and a multiple of 16
    /// (`shaders/shared/reduce.wgsl`).
    pub const LEAST_GROUP: u32 = 64;
    /// What every WebGPU device has.
    pub const WEBGPU: Self = Self {
        binding_bytes: 128 << 20,
        buffer_bytes: 256 << 20,
        memory_bytes: u64::MAX,
        group_size: 256,
        groups_per_dimension: 65_535,
        offset_alignment: 64,
        elements_per_lane: 8,
    };
    /// The small limits that the whole test suite also runs with.
    pub const SMALL: Self = Self {
        binding_bytes: 1 << 20,
        buffer_bytes: 1 << 20,
        memory_bytes: u64::MAX,
        group_size: 64,
        groups_per_dimension: 256,
        offset_alignment: 64,
        elements_per_lane: 8,
    };

    /// What a device with these limits says when others are asked of it: less where less is wanted, more never; workgroups
    /// of a power of two.
    pub fn narrowed(self, wanted: Self) -> Self {
        let group = self.group_size.min(wanted.group_size).max(Self::LEAST_GROUP);
        Self {
            binding_bytes: self.binding_bytes.min(wanted.binding_bytes),
            buffer_bytes: self.buffer_bytes.min(wanted.buffer_bytes),
            memory_bytes: self.memory_bytes.min(wanted.memory_bytes),
            group_size: 1 << group.ilog2(),
            groups_per_dimension: self.groups_per_dimension.min(wanted.groups_per_dimension).max(1),
            // Both are powers of two, so the larger one is a multiple of the other.
            offset_alignment: self.offset_alignment.max(wanted.offset_alignment),
            elements_per_lane: wanted.elements_per_lane,
        }
    }

    /// Bytes that can be had where a buffer of so many can't, beside so many in other buffers.
    pub fn exceeded(&self, bytes: u64, live: u64) -> Option<u64> {
        let most = self.buffer_bytes.min(self.memory_bytes.saturating_sub(live));
        (bytes > most).then_some(most)
    }

    /// The most items one dispatch can have.
    pub fn max_items(&self) -> u64 {
        u64::from(self.groups_per_dimension) * u64::from(self.groups_per_dimension) * u64::from(self.group_size)
    }

    /// `len` elements rounded up to the alignment of slices.
    pub fn align(&self, len: u32) -> u32 {
        len.next_multiple_of(self.offset_alignment)
    }
}

/// What went wrong on a device.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
#[expect(missing_docs, reason = "the message above a variant says what it is, and what its fields are")]
pub enum DeviceError {
    #[error("no WebGPU adapter: {0}")]
    NoAdapter(String),
    #[error("CUDA can't be used: {0}")]
    NoCuda(String),
    #[error("out of device memory: {what} needs {} bytes{}", if *needed > 0 { needed.to_string() } else { "more".into() }, limit.map_or(String::new(), |limit| format!(", {limit} can be had")))]
    OutOfMemory {
        what: String,
        needed: u64,
        /// What can be had, where that is known.
        limit: Option<u64>,
    },
    #[error("{0}")]
    NoDoubles(String),
    #[error("the device was lost: {0}")]
    Lost(String),
    #[error("kernel `{kernel}` was refused by the device's compiler: {message}")]
    Kernel { kernel: String, message: String },
    #[error("buffer {0} is disposed or belongs to another device")]
    UnknownBuffer(u32),
    #[error("invalid recording: {0}")]
    Invalid(String),
    #[cfg(not(target_arch = "wasm32"))]
    #[error(transparent)]
    Ranks(#[from] Fault),
}

/// What became of a recording after it was played on.
pub enum Playing {
    /// The time slice is used up; call again (CPU).
    Yielded,
    /// Nothing can go on before the signal is set (GPU); call again then.
    Waiting(Signal),
    /// All commands are done. What `Read` brought back, in f64; empty without a `Read`.
    Finished(Vec<f64>),
}

/// What kind of device it is, as far as schedules are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// The CPU.
    Cpu,
    /// A graphics adapter that is a program on the CPU.
    Software,
    /// A GPU.
    Gpu,
}

/// Why devices with f64 have no double-floats.
pub const NO_NEED_OF_DOUBLES: &str = "double-floats are for WebGPU, which has no f64: here use precision \"f64\"";
