//! The operations as WGSL computes them, against f64: docs/PRECISION.md has the bounds and where they come from.
//!
//! `cargo test --test functions table -- --ignored --nocapture` measures whatever adapter there is.

mod bounds;
mod doubles;
mod edges;
mod harness;
mod samples;
mod table;
