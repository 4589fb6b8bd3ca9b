//! Linear solvers on the host, against whole matrices that are put together entry by entry.

#[path = "../support/mod.rs"]
mod support;

mod random;
mod solvers;
mod solves;
mod structure;
