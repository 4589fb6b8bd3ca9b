//! Linear solvers on the host, against whole matrices that are put together entry by entry.

mod random;
mod solvers;
mod solves;
mod structure;
