//! Checkpoints: a solve between two steps, as one file.
//!
//! A file holds what the next step depends on: the accepted values as the device has them, what of the problem may have been
//! edited (data, weights, losses, what is fixed, bounded or disabled), the device's state, and what the host knows. J is not
//! in it: differentiated again at the same point, it has the same bits. What a problem *is* — names, shapes, counts, indices,
//! residuals — a file has marks of only: whoever restores it has made the same problem before.
//!
//! It is a [`container`](leastwise_base::container) with these sections. A file is read and compared as a whole before
//! anything is changed by it; nothing that it says is believed.

pub mod bytes;

use leastwise_base::FileError;
use leastwise_base::container::Format;

/// To be counted up when a section changes, or an element of the solver's state.
pub const FORMAT: Format = Format { magic: *b"LWSOLVE\n", oldest: 4, version: 4, name: "a checkpoint of a solve" };

/// The sections of a file.
pub mod section {
    /// What problem and solver it is of.
    pub const MARKS: u32 = 1;
    /// The accepted values of all tables.
    pub const VALUES: u32 = 2;
    /// What of the problem may be edited besides.
    pub const EDITS: u32 = 3;
    /// What the host knows.
    pub const HOST: u32 = 4;
    /// The device's scalars; and vectors, of which those that the next step does not read are not there.
    pub const STATE: u32 = 5;
    /// Largest diagonal entry of JᵀWJ so far, by unknown.
    pub const PEAK: u32 = 6;
    /// The point before the last accepted step; of a line search the one where r and J are.
    pub const PREVIOUS: u32 = 7;
    /// Best accepted values of the moving tables, of methods whose cost may rise.
    pub const BEST: u32 = 8;
    /// Damping's scale D, by unknown.
    pub const SCALE: u32 = 9;
    /// Newton step of the last factorization, of dogleg methods.
    pub const NEWTON: u32 = 10;
    /// Residual of the system at the Newton step.
    pub const NEWTON_RESIDUAL: u32 = 11;
    /// Scaled steepest descent direction d = −D⁻¹g.
    pub const STEEPEST: u32 = 12;
    /// Product JᵀWJ·d.
    pub const STEEPEST_PRODUCT: u32 = 13;
    /// Of methods that solve no linear system.
    pub const DIRECTION: u32 = 14;
    /// Gradient at the last accepted point.
    pub const GRADIENT: u32 = 15;
    /// Pairs of steps and changes of the gradient; the moments of Adam.
    pub const HISTORY: u32 = 16;
    /// Inner products of the vectors of `HISTORY`.
    pub const GRAM: u32 = 17;
    /// 1 for an unknown that may move in a step, 0 for one at its bound.
    pub const FREE: u32 = 18;
    /// The values that the solve began with, where it goes on and they were not edited.
    pub const START: u32 = 19;
    /// What the outer iteration of a constrained solve knows, in the midst of one.
    pub const OUTER: u32 = 20;
}

/// What is no checkpoint, for a reason.
pub fn malformed(why: impl Into<String>) -> FileError {
    FORMAT.refuse(why)
}
