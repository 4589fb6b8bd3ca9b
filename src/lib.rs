//! The engine of Leastwise: least squares on WebGPU and on the CPU.
//!
//! A residual, traced in TypeScript to a tape, becomes a hash-consed expression graph ([`expr`]), is differentiated
//! and turned into straight-line kernel programs ([`program`]); a [`problem`] holds variables, terms and their
//! incidence; a solver ([`solve`]) is a state machine that emits recordings, which a [`device`] plays. The
//! [`session`] is the whole engine's surface in plain Rust; the crate of `src/js` wraps it for wasm-bindgen. Each of them is a crate of its
//! own, in the folder of its name.

pub use leastwise_anneal as anneal;
pub use leastwise_base as base;
pub use leastwise_collective as collective;
pub use leastwise_device as device;
pub use leastwise_error::Error;
pub use leastwise_expr as expr;
pub use leastwise_fits as fits;
pub use leastwise_kernels as kernels;
pub use leastwise_linear as linear;
pub use leastwise_problem as problem;
pub use leastwise_program as program;
#[cfg(not(target_arch = "wasm32"))]
pub use leastwise_ranks as ranks;
pub use leastwise_session as session;
pub use leastwise_solve as solve;
pub use leastwise_tensor as tensor;
