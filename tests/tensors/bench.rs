//! A device with tensors, whose values are held to those of the other evaluator.

use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Limits, Precision};
use leastwise::tensor::graph::{Data, Graph, Node};
use leastwise::tensor::routing::{Model, Rates};
use leastwise::tensor::runtime::{Devices, Next, Tensors};
use std::collections::HashMap;

use super::reference;
use super::support::{Random, SharedDevice, repeated, shared_device};

/// The GPU is best at products, the CPU at everything else.
pub const DIVIDED: Model = Model {
    device: Rates { launch_us: 1.0, gigabytes: 0.01, gigaops: 0.001, product_gigaops: 1000.0 },
    cpu: Rates { launch_us: 1.0, gigabytes: 10.0, gigaops: 10.0, product_gigaops: 0.001 },
    readback_us: 1.0,
    transfer_gigabytes: 10.0,
};

/// A device, perhaps the CPU beside it, and tensors on them.
pub struct Bench {
    pub name: &'static str,
    pub device: SharedDevice,
    pub cpu: Option<Device>,
    pub tensors: Tensors,
}

impl Bench {
    pub fn cpu(precision: Precision, limits: Limits) -> Self {
        let name = if precision == Precision::F64 { "cpu f64" } else { "cpu f32" };
        Self::on(name, Device::Cpu(CpuDevice::new(precision, limits)))
    }

    pub fn gpu(limits: Limits) -> Self {
        let cpu = Some(Device::Cpu(CpuDevice::new(Precision::F32, CpuDevice::default_limits())));
        Self { name: "webgpu", device: shared_device(Some(limits)), cpu, tensors: Tensors::new(4) }
    }

    /// On one device.
    pub fn on(name: &'static str, device: Device) -> Self {
        let tensors = Tensors::new(device.precision().bytes());
        Self { name, device: device.into(), cpu: None, tensors }
    }

    /// What a claim is repeated for: all of it but on an adapter in `npm test`, which takes long to compile kernels.
    pub fn repeated<'a, T>(&self, all: &'a [T], few: usize) -> &'a [T] {
        if self.name == "webgpu" { repeated(all, few) } else { all }
    }

    pub fn epsilon(&self) -> f64 {
        if self.device.precision() == Precision::F64 { 1e-13 } else { 2e-6 }
    }

    pub fn graph(&mut self) -> &mut Graph {
        &mut self.tensors.graph
    }

    pub fn tensor(&mut self, values: &[f64], shape: &[u32]) -> Node {
        let node = self.graph().stored(Data::Doubles(values.to_vec()), shape.to_vec());
        self.graph().hold(node)
    }

    /// Numbers that f32 has too, between −1 and 1.
    pub fn random(&mut self, random: &mut Random, shape: &[u32]) -> Node {
        let values: Vec<f64> = (0..shape.iter().product()).map(|_| f64::from(random.between(-1.0, 1.0) as f32)).collect();
        self.tensor(&values, shape)
    }

    /// Computes and reads.
    pub fn read(&mut self, nodes: &[Node]) -> Vec<Vec<f64>> {
        self.compute(&[], nodes)
    }

    pub fn compute(&mut self, outputs: &[Node], read: &[Node]) -> Vec<Vec<f64>> {
        let sizes: Vec<usize> = read.iter().map(|&node| self.tensors.graph.size(node) as usize).collect();
        let Self { device, cpu, tensors, .. } = self;
        let mut devices = Devices { main: device, cpu: cpu.as_mut() };
        let mut evaluation = tensors.evaluate(&mut devices, outputs, read).expect("a plan");
        let mut readback = Vec::new();
        let mut values = loop {
            match tensors.advance(&mut devices, &mut evaluation, std::mem::take(&mut readback)).expect("a recording") {
                Next::Run(place, recording) => readback = devices.at(place).run(recording).expect("kernels that run"),
                Next::Done(values) => break values,
            }
        };
        let mut all = Vec::new();
        for size in sizes {
            let rest = values.split_off(size);
            all.push(std::mem::replace(&mut values, rest));
        }
        all
    }

    /// Holds what is read to the other evaluator, relative to the largest element.
    pub fn check(&mut self, what: &str, nodes: &[Node], factor: f64) {
        let right = reference::values(&self.tensors.graph, nodes, &HashMap::new());
        nodes.iter().for_each(|&node| {
            self.tensors.graph.hold(node);
        });
        let found = self.read(nodes);
        for (place, (found, right)) in found.iter().zip(&right).enumerate() {
            compare(&format!("{}: {what}, tensor {place}", self.name), found, right, factor * self.epsilon());
        }
    }
}

impl Drop for Bench {
    /// Nothing may be left on a device that is handed on.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let graph = &mut self.tensors.graph;
        let mut nodes = (0..1 << 24).map(Node);
        while let Some(node) = nodes.next().filter(|_| !graph.is_empty()) {
            (0..graph.get(node).map_or(0, |entry| entry.held.max(1))).for_each(|_| graph.release(node));
        }
        self.tensors.collect();
        self.tensors.trim(&mut Devices { main: &mut self.device, cpu: self.cpu.as_mut() });
    }
}

pub fn compare(what: &str, found: &[f64], right: &[f64], tolerance: f64) {
    assert_eq!(found.len(), right.len(), "{what}");
    // Sums of numbers up to 1 may cancel: they are known to those numbers' rounding.
    let scale = right.iter().fold(1e-2f64, |most, value| most.max(value.abs()));
    for (i, (found, right)) in found.iter().zip(right).enumerate() {
        let near = (found - right).abs() <= tolerance * scale || found == right || found.is_nan() && right.is_nan();
        assert!(near, "{what}: element {i}: {found} instead of {right} (of {scale} at most)");
    }
}
