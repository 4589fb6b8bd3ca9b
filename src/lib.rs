//! The engine of Leastwise: least squares on WebGPU and on the CPU.
//!
//! A residual, traced in TypeScript to a tape, becomes a hash-consed expression graph ([`expr`]), is differentiated
//! and turned into straight-line kernel programs ([`kernel`]); a [`problem`] holds variables, terms and their
//! incidence; a solver ([`solve`]) is a state machine that emits recordings, which a [`device`] plays. The
//! [`session`] is the whole engine's surface in plain Rust; `js` wraps it for wasm-bindgen.

// Waiting in shared memory; the build of the module with threads compiles the standard library itself.
#![cfg_attr(all(target_arch = "wasm32", target_feature = "atomics"), feature(stdarch_wasm_atomic_wait))]

pub mod anneal;
pub mod checkpoint;
pub mod clock;
pub mod crossing;
pub mod device;
mod error;
pub mod expr;
#[cfg(target_arch = "wasm32")]
mod js;
pub mod kernel;
pub mod problem;
pub mod real;
pub mod session;
mod slab;
pub mod solve;
pub mod tensor;
pub mod work;

pub use error::Error;
