//! A kernel's bindings: the slots that all kernels share, and what a kernel does with them.

use std::sync::Arc;

/// The binding slots that every kernel shares (generated and static alike); 0 is the uniform the parameters of a dispatch.
pub mod binding {
    /// Variables and constants, each table tightly packed and aligned; reals.
    pub const ARENA: usize = 1;
    /// A chunk's term data: shared values first, then columns (structure of arrays); reals.
    pub const DATA: usize = 2;
    /// Index table or incidence lists; `u32`.
    pub const INDEX: usize = 3;
    /// Vector read; reals.
    pub const VECTOR_IN: usize = 4;
    /// Vector written; reals.
    pub const VECTOR_OUT: usize = 5;
    /// Residual and non-constant Jacobian entries of a chunk, or another matrix; reals.
    pub const JACOBIAN: usize = 6;
    /// The solver's scalars; reals.
    pub const STATE: usize = 7;
    /// One sum (or maximum) a workgroup, between the two stages of a reduction; reals.
    pub const PARTIALS: usize = 8;
    pub const COUNT: usize = 9;
}

/// What a kernel does with one binding slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Access {
    Unused,
    Read,
    ReadWrite,
}

/// One module: the text *after* the prelude that the device puts in front (`alias real`, `group_size`, `Params`, helpers:
/// `shaders/prelude.wgsl`), with the entry point `main`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KernelText {
    pub wgsl: Arc<str>,
    pub access: [Access; binding::COUNT],
}
