//! The tensor layer: every operation and gradient against another evaluator, fused and not, on every device.
//!
//! `VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json XDG_RUNTIME_DIR=/tmp cargo test --test tensors`

use crate::support;
mod along;
mod bench;
mod chains;
mod deep;
mod edges;
mod gradients;
mod halves;
mod integers;
mod linear;
mod many;
mod nans;
mod operations;
mod random;
mod reference;
mod rows;
mod runs;
mod sessions;
mod slopes;
mod streams;
mod words;

use bench::{Bench, compare};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Limits, Precision};

/// Those that tests of operations run on. Limits change how operations are cut: in `npm test` a GPU is there within the small ones,
/// where they are cut most, and within WebGPU's in tests of their own.
fn benches() -> Vec<Bench> {
    let cpus = [(Precision::F64, CpuDevice::default_limits()), (Precision::F32, Limits::SMALL)];
    let cpus = cpus.into_iter().map(|(precision, limits)| Bench::cpu(precision, limits));
    cpus.chain(support::repeated(&[Limits::SMALL, Limits::WEBGPU], 1).iter().map(|&limits| Bench::gpu(limits))).collect()
}

/// A device with the CPU beside it.
fn beside_the_cpu() -> Bench {
    Bench::gpu(Limits::WEBGPU)
}
