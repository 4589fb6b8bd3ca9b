//! Generated kernels: the block interpreter against a scalar one with running error bounds, WebAssembly against the block
//! interpreter, and WGSL against naga and golden files.

mod accuracy;
mod accuracy_edges;
mod blocks;
mod bounds;
mod build;
pub(crate) mod double_double;
mod golden;
mod modules;
#[path = "../support/modules.rs"]
mod modules_support;
mod play;
mod random;
mod reference;
mod text;
