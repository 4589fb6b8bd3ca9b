//! A kernel's interface: its slots, what it does with them, and what it is given.

use crate::StaticKernel;

/// The binding slots of generated kernels; 0 is the uniform, the parameters of a dispatch. Static kernels have names of their own for
/// the same numbers.
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
    /// Number of bindings.
    pub const COUNT: usize = 9;
}

/// What a kernel does with one binding slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Access {
    /// Not bound.
    Unused,
    /// Only read.
    Read,
    /// Read and written.
    ReadWrite,
}

/// The elements of a buffer, or of a kernel's binding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Elements {
    /// Reals of the device's precision.
    Reals,
    /// `u32`s.
    Indices,
}

impl std::fmt::Display for Elements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reals => "reals",
            Self::Indices => "indices",
        })
    }
}

/// A binding of a static kernel, as its text declares it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Name in the text.
    pub name: &'static str,
    /// Number of the binding.
    pub slot: usize,
    /// Access of the kernel.
    pub access: Access,
    /// Kind of the elements.
    pub elements: Elements,
}

/// Words that arguments have at most.
pub const ARGUMENT_WORDS: usize = 12;

/// The arguments of a static kernel: `struct Args` of its text.
pub trait Arguments: Copy {
    /// The kernel that the arguments are for.
    const KERNEL: StaticKernel;
    /// Something for each of its bindings, by name.
    type Bindings<T: Copy>: Copy;

    /// The words of a dispatch.
    fn words(self) -> [u32; ARGUMENT_WORDS];

    /// The arguments that words are.
    fn of(words: [u32; ARGUMENT_WORDS]) -> Self;

    /// Bindings by slot.
    fn slots<T: Copy>(bindings: Self::Bindings<T>) -> [Option<T>; binding::COUNT];
}

/// A kernel that makes scalars of partial sums, and is bound to nothing else.
pub trait Reduction: Arguments {
    /// Its bindings: the scalars, and the partial sums that it reads.
    fn over<T: Copy>(state: T, partials: T) -> Self::Bindings<T>;
}

/// A kernel that is bound to the scalars alone.
pub trait Scalars: Arguments {
    /// Its bindings: the scalars.
    fn over<T: Copy>(state: T) -> Self::Bindings<T>;
}

/// The slices of a twin, made of those of a dispatch.
pub trait FromSlots<'a, R> {
    /// Takes the slices of its bindings.
    fn of(slots: &mut impl Slots<'a, R>) -> Self;
}

/// The slices bound to a dispatch, by slot. Each is taken once.
pub trait Slots<'a, R> {
    /// Reals of a slot that is only read; empty if nothing is bound.
    fn read(&mut self, slot: usize) -> &'a [R];
    /// Reals of a slot that is written.
    fn write(&mut self, slot: usize) -> &'a mut [R];
    /// Indices of a slot that is only read.
    fn words(&mut self, slot: usize) -> &'a [u32];
    /// Indices of a slot that is written.
    fn words_mut(&mut self, slot: usize) -> &'a mut [u32];
}
