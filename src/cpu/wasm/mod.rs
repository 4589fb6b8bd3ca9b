//! Programs as WebAssembly: modules that the engine writes while it runs, for the engine that is WebAssembly itself.
//!
//! The block interpreter ([`block`](super::block)) pays for every step with a walk through memory: operands come from the
//! register file and results go back there. A module's function keeps them in the processor's registers. It is a loop over
//! items, two at a time in f64 and four in f32, over the memory of the engine, which it imports with a function of the engine's
//! (`apply`); the engine calls it through its own table of functions.
//! `phases` cuts a program at the functions that it calls, `module` has what surrounds a function, `write` its loops and `steps`
//! what is in them; `Frame` is what a call is told, and `link` (in WebAssembly alone) has the browser compile it, on other
//! threads by way of `workers`. `fit` writes another kind of function, which adds up all points of a block of fits, with eᵃ
//! written out (`exponential`).
//!
//! **Same bits.** Every step is the instruction that the interpreter's loop is compiled to, in the same order, nothing fused
//! and nothing relaxed, and sin, exp and their like are the interpreter's own loops (`apply`), or the same operations. So either may compute any
//! part of a dispatch: what a module can't do (the last few items of a short part, an index that leads out of its table) is
//! left to the interpreter, and that one's message is what a user sees.

mod apply;
mod exponential;
mod fit;
mod frame;
#[cfg(target_arch = "wasm32")]
mod link;
mod module;
mod phases;
mod steps;
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub mod workers;
mod write;

pub use apply::apply;
pub use fit::{SumsForm, is_summed, sums};
pub use frame::{Frame, Span};
#[cfg(target_arch = "wasm32")]
pub use link::{Linked, Ready};
pub use module::Module;
