//! `cargo bench --bench tensors`: what the tensor layer takes, on the CPU or with `LEASTWISE_DEVICE=webgpu`, `cuda` or `cuda/f32` (feature
//! `cuda`). Products of matrices are beside what PyTorch takes on an H200 (`docs/TENSORS.md`).
//!
//! Every figure is the least of several; a submission that only reads one number back is taken off where it says so.

use leastwise::device::cpu::CpuDevice;
use leastwise::device::wgpu::WgpuDevice;
use leastwise::device::{Device, Precision};
use leastwise::program::fused::Fold;
use leastwise::tensor::graph::{Data, Graph, Node};
use leastwise::tensor::runtime::{Devices, Next, Products, Tensors};
use std::sync::Arc;
use std::time::Instant;

const REPEATS: usize = 7;

fn device() -> Device {
    match std::env::var("LEASTWISE_DEVICE").as_deref() {
        Err(_) | Ok("cpu") => Device::Cpu(CpuDevice::new(Precision::F32, CpuDevice::default_limits())),
        Ok("webgpu") => Device::Wgpu(Box::new(WgpuDevice::open_blocking(None).expect("a WebGPU adapter"))),
        #[cfg(feature = "cuda")]
        Ok(name @ ("cuda" | "cuda/f32")) => {
            let precision = if name == "cuda" { Precision::F64 } else { Precision::F32 };
            Device::Cuda(Box::new(leastwise::device::cuda::CudaDevice::open(0, precision).expect("an NVIDIA GPU")))
        }
        Ok(other) => panic!("LEASTWISE_DEVICE is cpu, webgpu, cuda or cuda/f32 (with the feature of that name), not {other}"),
    }
}

struct Bench {
    device: Device,
    tensors: Tensors,
}

impl Bench {
    fn run(&mut self, outputs: &[Node], read: &[Node]) -> Vec<f64> {
        let mut devices = Devices { main: &mut self.device, cpu: None };
        let mut evaluation = self.tensors.evaluate(&mut devices, outputs, read).expect("a plan");
        let mut readback = Vec::new();
        loop {
            match self.tensors.advance(&mut devices, &mut evaluation, std::mem::take(&mut readback)).expect("a recording") {
                Next::Run(place, recording) => readback = devices.at(place).run(recording).expect("kernels"),
                Next::Done(values) => return values,
            }
        }
    }

    fn tensor(&mut self, shape: &[u32]) -> Node {
        let count: u32 = shape.iter().product();
        let values = (0..count).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32 - 0.5).collect();
        let node = self.tensors.graph.stored(Data::Singles(Arc::new(values)), shape.to_vec());
        self.tensors.graph.hold(node);
        self.run(&[], &[]);
        node
    }

    /// The least milliseconds of computing something and reading one number that depends on it.
    fn time(&mut self, make: impl Fn(&mut Graph) -> Node) -> f64 {
        let mut best = f64::INFINITY;
        for _ in 0..REPEATS {
            let made = self.tensors.graph.made(|graph| {
                let result = make(graph);
                let flat = graph.reshape(result, &[-1.0])?;
                let first = graph.slice(flat, 0.0, 0.0, 1.0, 1.0)?;
                Ok::<_, leastwise::Error>(vec![result, first])
            });
            let made = made.expect("a graph");
            let start = Instant::now();
            self.run(&made[..1], &made[1..]);
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
            made.into_iter().for_each(|node| self.tensors.graph.release(node));
            self.tensors.collect();
        }
        best
    }
}

fn main() {
    let device = device();
    let is_cpu = matches!(device, Device::Cpu(_));
    println!("{} ({}), {:?}", device.adapter(), device.backend(), device.precision());
    let bytes = device.precision().bytes();
    let mut bench = Bench { device, tensors: Tensors::new(bytes) };
    let sizes: &[u32] = if is_cpu { &[128, 512, 1024] } else { &[512, 1024, 4096] };
    let tiny = bench.tensor(&[64]);
    let idle = bench.time(|graph| graph.apply("exp", &[tiny]).expect("a tensor"));
    println!("one small kernel and reading a number: {idle:.3} ms; taken off below");
    let ways: &[Products] = if bench.device.multiplies() { &[Products::Library, Products::Tf32, Products::Own] } else { &[Products::Own] };
    for (&way, n) in ways.iter().flat_map(|way| sizes.iter().map(move |n| (way, *n))) {
        bench.tensors.products = way;
        let (a, b, bias) = (bench.tensor(&[n, n]), bench.tensor(&[n, n]), bench.tensor(&[n]));
        let flops = 2.0 * f64::from(n).powi(3);
        let product = bench.time(|graph| graph.matmul(a, b).expect("a product")) - idle;
        println!("matmul {n}³ ({way:?}): {product:.3} ms, {:.2} TFLOP/s", flops / product / 1e9);
        let layer = bench.time(|graph| {
            let product = graph.matmul(a, b).expect("a product");
            let sum = graph.apply("add", &[product, bias]).expect("a sum");
            graph.apply("gelu", &[sum]).expect("a layer")
        }) - idle;
        println!("linear + bias + GELU {n}³ ({way:?}): {layer:.3} ms, {:.2} TFLOP/s", flops / layer / 1e9);
    }
    if !is_cpu {
        let (a, b, bias) = (bench.tensor(&[4096, 4096]), bench.tensor(&[4096, 4096]), bench.tensor(&[4096]));
        for &way in ways {
            bench.tensors.products = way;
            let layers = bench.time(|graph| {
                (0..10).fold(a, |x, _| {
                    let product = graph.matmul(x, b).expect("a product");
                    let sum = graph.apply("add", &[product, bias]).expect("a sum");
                    graph.apply("gelu", &[sum]).expect("a layer")
                })
            }) - idle;
            println!("10 dependent layers (linear + bias + GELU) 4096³ ({way:?}): {:.3} ms each", layers / 10.0);
        }
    }
    let chain = if is_cpu { 4 } else { 100 };
    let (a, b) = (bench.tensor(&[512, 512]), bench.tensor(&[512, 512]));
    for &way in ways {
        bench.tensors.products = way;
        let products = bench.time(|graph| (0..chain).fold(a, |a, _| graph.matmul(a, b).expect("a product"))) - idle;
        println!("{chain} dependent products 512³ ({way:?}): {:.4} ms each", products / f64::from(chain));
    }
    let len = if is_cpu { 1 << 20 } else { 1 << 25 };
    let (x, y) = (bench.tensor(&[len / 1024, 1024]), bench.tensor(&[len / 1024, 1024]));
    let gigabytes = |passes: f64, ms: f64| passes * f64::from(len) * bytes as f64 / ms / 1e6;
    let sum = bench.time(|graph| graph.apply("add", &[x, y]).expect("a sum")) - idle;
    println!("add of {len}: {sum:.3} ms, {:.0} GB/s", gigabytes(3.0, sum));
    let gelu = bench.time(|graph| graph.apply("gelu", &[x]).expect("a tensor")) - idle;
    println!("gelu of {len}: {gelu:.3} ms, {:.0} GB/s", gigabytes(2.0, gelu));
    for (name, axes) in [("all", &[][..]), ("rows", &[1.0]), ("columns", &[0.0])] {
        let sum = bench.time(|graph| graph.reduce("sum", Fold::Sum, x, axes, false).expect("a sum")) - idle;
        println!("sum of {name} of {len}: {sum:.3} ms, {:.0} GB/s", gigabytes(1.0, sum));
    }
    let wide = if is_cpu { 1024 } else { 4096 };
    let (weights, vector) = (bench.tensor(&[wide, wide]), bench.tensor(&[wide]));
    if bytes == 4 {
        let halves = bench.tensors.graph.half(weights).expect("a tensor");
        let (kept, large) = (bench.tensors.graph.hold(halves), bench.tensors.graph.half(x).expect("a tensor"));
        let large = bench.tensors.graph.hold(large);
        bench.run(&[kept, large], &[]);
        // Read once and written once, or read once: half of the bytes where halves are.
        for (name, matrix, long, each) in [("f32", weights, x, 4.0), ("f16", kept, large, 2.0)] {
            let product = bench.time(|graph| graph.matmul(matrix, vector).expect("a product")) - idle;
            let rate = each * f64::from(wide) * f64::from(wide) / product / 1e6;
            println!("matrix of {name}, {wide}², times a vector: {product:.4} ms, {rate:.0} GB/s");
            let gathered = bench.time(|graph| graph.reduce("sum", Fold::Sum, long, &[1.0], false).expect("a sum")) - idle;
            println!("sum of rows of {len} of {name}: {gathered:.3} ms, {:.0} GB/s", gigabytes(each / 4.0, gathered));
            let copied = bench.time(|graph| match each {
                4.0 => graph.apply("neg", &[long]).expect("a tensor"),
                _ => {
                    let turned = graph.apply("neg", &[long]).expect("a tensor");
                    graph.half(turned).expect("a tensor")
                }
            });
            println!("neg of {len} of {name}: {:.3} ms, {:.0} GB/s", copied - idle, gigabytes(each / 2.0, copied - idle));
        }
        [kept, large].into_iter().for_each(|node| bench.tensors.graph.release(node));
    }
    let soft = bench.time(|graph| graph.softmax(x, 1.0).expect("a tensor")) - idle;
    println!("softmax of rows of {len}: {soft:.3} ms, {:.0} GB/s of two passes", gigabytes(2.0, soft));
    let norm = bench.time(|graph| graph.layer_norm(x, None, None, 1e-5).expect("a tensor")) - idle;
    println!("layer norm of {len}: {norm:.3} ms, {:.0} GB/s of two passes", gigabytes(2.0, norm));
    let (heads, n, d) = if is_cpu { (2, 256, 64) } else { (64, 1024, 64) };
    let [q, k, v] = [0; 3].map(|_| bench.tensor(&[heads, n, d]));
    for causal in [false, true] {
        let ms = bench.time(|graph| graph.attention(q, k, v, 0.125, causal).expect("a tensor")) - idle;
        let flops = 4.0 * f64::from(heads) * f64::from(n) * f64::from(n) * f64::from(d) * if causal { 0.5 } else { 1.0 };
        println!("attention {heads} × {n} × {d}{}: {ms:.3} ms, {:.2} TFLOP/s", if causal { ", causal" } else { "" }, flops / ms / 1e9);
    }
}
