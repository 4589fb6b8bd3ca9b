//! The tensor layer: every operation and gradient against another evaluator, fused and not, on every device.
//!
//! `VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json XDG_RUNTIME_DIR=/tmp cargo test --test tensors`

use crate::support;
mod bench;
mod gradients;
mod halves;
mod many;
mod operations;
mod random;
mod reference;
mod runs;
mod sessions;

use bench::{Bench, compare};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Limits, Precision};

/// Those that tests of operations run on.
fn benches() -> Vec<Bench> {
    let own = CpuDevice::default_limits();
    vec![Bench::cpu(Precision::F64, own), Bench::cpu(Precision::F32, Limits::SMALL), Bench::gpu(Limits::WEBGPU), Bench::gpu(Limits::SMALL)]
}

/// A device with the CPU beside it.
fn beside_the_cpu() -> Bench {
    Bench::gpu(Limits::WEBGPU)
}
