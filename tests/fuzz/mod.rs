//! The corpus of random programs, what judges them, and campaigns over it. The CUDA device's tests share it, on a GPU.
#![allow(dead_code)]

pub mod backends;
#[path = "../kernels/bounds.rs"]
mod bounds;
pub mod check;
#[cfg(feature = "cuda")]
#[path = "../../native_cuda/writer/tests/support/mod.rs"]
mod cuda_on_host;
mod differences;
mod dual;
mod engine;
mod generate;
mod geometry;
#[cfg(feature = "cuda")]
mod host;
mod hostile;
mod meaning;
mod modules;
#[path = "../support/modules.rs"]
mod modules_support;
mod programs;
pub mod run;
mod shrink;
mod spectral;
pub mod traced;
