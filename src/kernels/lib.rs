//! Static kernels: every shader of `shaders/`, with types of its arguments and bindings that are made of its text.
//!
//! A build script reads each file with naga: `struct Args` becomes a structure of the kernel's name, its storage bindings become
//! named fields of what a recording binds ([`Arguments::Bindings`]) and of the slices that its twin on the CPU takes. Folders are
//! modules, with the set of their kernels. `#import shared/reduce` at the top of a file brings declarations of another file; [`KernelText`]
//! links those that are used.
//!
//! The same script writes each text that solvers need [in double-floats](doubles), as [operations] that are written out when a device
//! compiles it. So nothing reads WGSL at run time.
//!
//! It knows nothing of expressions, programs and devices.
//!
//! ```
//! use leastwise_kernels::{Access, Arguments, StaticKernel, pcg};
//!
//! let args = pcg::Curvature { elements: 10, partial: 3 };
//! assert_eq!(args.words()[..3], [10, 3, 0]);
//! assert!(pcg::ALL.contains(&pcg::Curvature::KERNEL));
//! let p = StaticKernel::PcgCurvature.slots()[0];
//! assert_eq!((p.name, p.access), ("p", Access::Read));
//! ```

mod arithmetic;
#[cfg(test)]
#[path = "build/double/mod.rs"]
mod double;
pub mod doubles;
mod interface;
mod link;
pub mod operations;

pub use arithmetic::Products;
pub use interface::{ARGUMENT_WORDS, Access, Arguments, Elements, FromSlots, Reduction, Scalars, Slot, Slots, binding};
use link::{Declaration, Text};
pub use link::{KernelText, Real};

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// A kernel's file, as it was read.
pub(crate) struct Module {
    path: &'static str,
    name: &'static str,
    slots: &'static [Slot],
}

impl StaticKernel {
    /// The file below `shaders/`, without its ending.
    pub fn path(self) -> &'static str {
        self.module().path
    }

    /// The path as one word, for messages and labels.
    pub fn name(self) -> &'static str {
        self.module().name
    }

    /// Bindings, as the text declares them.
    pub fn slots(self) -> &'static [Slot] {
        self.module().slots
    }

    /// What it does with each slot.
    pub fn access(self) -> [Access; binding::COUNT] {
        let mut access = [Access::Unused; binding::COUNT];
        self.slots().iter().for_each(|slot| access[slot.slot] = slot.access);
        access
    }

    /// The elements of each slot in use.
    pub fn elements(self) -> [Option<Elements>; binding::COUNT] {
        let mut elements = [None; binding::COUNT];
        self.slots().iter().for_each(|slot| elements[slot.slot] = Some(slot.elements));
        elements
    }

    /// Text with the shared declarations that it names.
    pub fn text(self) -> KernelText {
        let Text { text, uses } = texts::of(self);
        KernelText::linked(text, self.access(), uses)
    }

    /// True for kernels of clusterings, searches and graphs, which are in f32 alone.
    pub const fn is_of_points(self) -> bool {
        matches!(self.family(), Family::Clustering | Family::Graph | Family::Search)
    }

    /// True if there is one for double-floats: there is for all that solvers have.
    pub fn has_doubles(self) -> bool {
        !self.is_of_points() && !matches!(self.family(), Family::Tensor | Family::Measure | Family::Fits)
    }

    /// True if conjugate gradients are made of it, but for what writes the solver's scalars.
    pub fn is_inner(self) -> bool {
        self.family() == Family::Pcg && !self.slots().iter().any(|slot| slot.name == "state" && slot.access == Access::ReadWrite)
    }

    /// True if it measures or is of fits, which are in f32 on WebGPU whatever else is computed in.
    pub fn is_single(self) -> bool {
        matches!(self.family(), Family::Measure | Family::Fits)
    }

    /// True if an item is more than a few operations.
    pub fn is_heavy(self) -> bool {
        use StaticKernel::*;
        let of_points = matches!(
            self,
            ClusteringLloydAssign
                | ClusteringLloydCentroidSums
                | ClusteringLloydDistances
                | ClusteringInitFarthest
                | ClusteringInitPotentials
                | ClusteringMovesDivide
                | ClusteringAnnealScores
                | ClusteringAnnealSoften
                | ClusteringAnnealBlend
                | GraphWalk
                | GraphLink
                | SearchPairwise
                | SearchEstimate
        );
        of_points || self.family() == Family::Tensor
    }
}
