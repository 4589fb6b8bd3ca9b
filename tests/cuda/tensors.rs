//! Tensors on a CUDA device, held to the other evaluator of `tests/tensors`.

#[path = "../tensors/along.rs"]
mod along;
#[path = "../tensors/bench.rs"]
#[allow(dead_code)]
mod bench;
#[path = "../tensors/deep.rs"]
mod deep;
#[path = "../tensors/edges.rs"]
mod edges;
#[path = "../tensors/gradients.rs"]
mod gradients;
#[path = "../tensors/halves.rs"]
mod halves;
#[path = "../tensors/linear.rs"]
mod linear;
#[path = "../tensors/nans.rs"]
mod nans;
#[path = "../tensors/operations.rs"]
mod operations;
#[path = "../tensors/random.rs"]
mod random;
#[path = "../tensors/reference.rs"]
mod reference;
#[path = "../tensors/rows.rs"]
mod rows;

#[path = "products.rs"]
mod products;

use super::support;
use bench::{Bench, compare};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::cuda::CudaDevice;
use leastwise::device::{Device, Limits, Precision};

fn benches() -> Vec<Bench> {
    let open = |precision, limits: Option<Limits>| match limits {
        Some(limits) => CudaDevice::open_within(0, precision, |_| limits),
        None => CudaDevice::open(0, precision),
    };
    let device = |precision, limits| Device::Cuda(Box::new(open(precision, limits).unwrap_or_else(|error| panic!("{error}"))));
    vec![
        Bench::on("cuda f64", device(Precision::F64, None)),
        Bench::on("cuda f32", device(Precision::F32, None)),
        Bench::on("cuda f32, small", device(Precision::F32, Some(Limits::SMALL))),
    ]
}

/// A device with the CPU beside it.
fn beside_the_cpu() -> Bench {
    let device = CudaDevice::open(0, Precision::F32).unwrap_or_else(|error| panic!("{error}"));
    let mut bench = Bench::on("cuda", Device::Cuda(Box::new(device)));
    bench.cpu = Some(Device::Cpu(CpuDevice::new(Precision::F32, CpuDevice::default_limits())));
    bench
}
