//! The programs of an energy, played alone, against differences of gradients.

use crate::hessians::samples::{COUNT, Plain, Sample, close, samples};
use crate::support::Random;
use leastwise::device::binding::{ARENA, DATA, INDEX, VECTOR_IN, VECTOR_OUT};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::wgpu::WgpuDevice;
use leastwise::device::{Command, Device, KernelSource, Kind, Precision, Recording, Slice};
use leastwise::program::{Address, ColumnMap, EnergyPrograms, NEGATIVE, Program, Signature, SlotShape, wgsl};
use leastwise::solve::dispatch;

/// Where everything is: slot k has an index column of its own, and its table is part k of the arena.
fn signature(sample: &Sample) -> Signature {
    let slots = sample.widths.len() as u32;
    let shape = |(slot, &stride): (u32, &u32)| SlotShape {
        arena: Address { base: slot, column: slot, stride },
        vector: Some(Address { base: slots + slot, column: slot, stride }),
        manifold: None,
    };
    let slots = (0..).zip(sample.widths).map(shape).collect();
    Signature { slots, columns: Vec::new(), weight_shared: true, shared: 1, header: 2 * sample.widths.len() as u32, loss: None }
}

/// The columns that a program stores at all points of a sample, of weight 2.5 and with the vector p.
fn play(device: &mut Device, sample: &Sample, program: &Program, stored: u32, p: &[f64]) -> Vec<f64> {
    let source = KernelSource::of(program);
    let kernel = device.kernels(&[source]).unwrap()[0];
    let count = COUNT as u32;
    // A table a slot, one after the other, in the arena as in the vector.
    let (mut bases, mut arena, mut vector) = (Vec::new(), Vec::new(), Vec::new());
    for (slot, &width) in sample.widths.iter().enumerate() {
        bases.push(arena.len() as u32);
        for point in &sample.points {
            let first = sample.place(slot as u32, 0);
            arena.extend_from_slice(&point[first..first + width as usize]);
            vector.extend_from_slice(&p[first..first + width as usize]);
        }
    }
    let mut index = [bases.clone(), bases].concat();
    sample.widths.iter().for_each(|_| index.extend(0..count));
    let mut buffer = |kind: Kind, len: usize| {
        let buffer = device.allocate(kind, len as u32, "a buffer").unwrap();
        Slice { buffer, offset: 0, len: len as u32 }
    };
    let slices = [(ARENA, buffer(Kind::Real, arena.len())), (DATA, buffer(Kind::Real, 1)), (VECTOR_IN, buffer(Kind::Real, vector.len()))];
    let (indices, out) =
        (buffer(Kind::Index, index.len()), buffer(Kind::Real, (wgsl::columns(program, wgsl::Cut::Coarse).max(stored) * count) as usize));
    let mut recording = Recording::new();
    for ((_, slice), data) in slices.iter().zip([arena, vec![2.5], vector]) {
        recording.push(Command::UploadReals { buffer: slice.buffer, offset: 0, data });
    }
    recording.push(Command::UploadIndices { buffer: indices.buffer, offset: 0, data: index });
    let bindings: Vec<(usize, Slice)> = slices.into_iter().chain([(INDEX, indices), (VECTOR_OUT, out)]).collect();
    recording.push(dispatch(kernel, count, &bindings));
    recording.push(Command::Read { slice: Slice { len: stored * count, ..out } });
    device.run(recording).unwrap()
}

/// What a map finds for one instance in stored columns.
fn mapped(map: &ColumnMap, columns: &[f64], instance: usize) -> Vec<f64> {
    let value = |&code: &u32| match code & !NEGATIVE {
        0 => 0.0,
        column if code & NEGATIVE == 0 => columns[(column as usize - 1) * COUNT + instance],
        column => -columns[(column as usize - 1) * COUNT + instance],
    };
    map.codes.iter().map(value).collect()
}

fn devices() -> Vec<(&'static str, f64, Device)> {
    let cpu = |precision| Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits()));
    let gpu = Device::Wgpu(Box::new(WgpuDevice::open_blocking(None).expect("a WebGPU adapter")));
    vec![("cpu in f64", 2e-9, cpu(Precision::F64)), ("cpu in f32", 2e-4, cpu(Precision::F32)), ("webgpu", 2e-4, gpu)]
}

/// Larger Hessians are played by the CPU alone here, and by WebGPU in the terms' test: compiling the one of the polar
/// decomposition, of 16,000 instructions, for an adapter in software takes longer than all others together.
const MOST_ON_WEBGPU: usize = 2500;

fn judge(devices: &mut [(&'static str, f64, Device)], sample: &Sample, programs: &EnergyPrograms) {
    let (plain, n) = (Plain::new(sample), sample.unknowns());
    let mut random = Random::new(7);
    let p: Vec<f64> = (0..n).map(|_| f64::from(random.between(-1.0, 1.0) as f32)).collect();
    let scaled = |values: &[f64]| values.iter().map(|x| 2.5 * x).collect::<Vec<f64>>();
    for (device_name, bound, device) in devices {
        if *device_name == "webgpu" && programs.hessian.instructions.len() > MOST_ON_WEBGPU {
            continue;
        }
        let [value, gradient, hessian, product] = [
            (&programs.value, 1),
            (&programs.gradient, programs.contributions),
            (&programs.hessian, programs.stored),
            (&programs.product, programs.contributions),
        ]
        .map(|(program, stored)| play(device, sample, program, stored, &p));
        for (instance, point) in sample.points.iter().enumerate() {
            let what = |of: &str| format!("{of} of `{}` at {instance} on {device_name}", sample.name);
            let (exact, second) = (scaled(&plain.at(point)), scaled(&plain.hessian(point)));
            close(&what("value"), &[value[instance]], &exact[..1], *bound);
            let vector =
                |columns: &[f64]| -> Vec<f64> { programs.gradient_maps.iter().flat_map(|map| mapped(map, columns, instance)).collect() };
            close(&what("gradient"), &vector(&gradient), &exact[1..], *bound);
            let lower: Vec<f64> = (0..n).flat_map(|r| second[r * n..=r * n + r].to_vec()).collect();
            close(&what("Hessian"), &mapped(&programs.entries, &hessian, instance), &lower, *bound);
            let along: Vec<f64> = second.chunks(n).map(|row| row.iter().zip(&p).map(|(h, p)| h * p).sum()).collect();
            close(&what("Hessian product"), &vector(&product), &along, *bound);
        }
    }
}

#[test]
fn programs_of_residuals_are_derivatives() {
    let mut devices = devices();
    for sample in samples() {
        let (graph, residual) = sample.graph();
        judge(&mut devices, &sample, &EnergyPrograms::of_residual(sample.name, graph, &residual, &signature(&sample)));
    }
}

#[test]
fn programs_of_any_energy_are_derivatives() {
    let mut devices = devices();
    for sample in samples() {
        let (mut graph, residual) = sample.graph();
        let half = graph.constant(0.5);
        let squared = graph.dot(&residual, &residual);
        let energy = graph.mul(half, squared);
        judge(&mut devices, &sample, &EnergyPrograms::new(sample.name, graph, energy, &signature(&sample)));
    }
}

#[test]
fn entries_that_differ_in_sign_are_stored_once_and_zeros_not_at_all() {
    let programs = |name: &str| {
        let sample = samples().into_iter().find(|sample| sample.name == name).unwrap();
        let (graph, residual) = sample.graph();
        EnergyPrograms::of_residual(name, graph, &residual, &signature(&sample))
    };
    let linear = programs("linear");
    assert_eq!((linear.stored, linear.contributions), (1, 3), "the weight, and what one end gets");
    assert_eq!(linear.entries.codes.iter().filter(|code| **code == 0).count(), 12, "between components there is nothing");
    let spring = programs("spring");
    assert_eq!((spring.stored, spring.contributions), (15, 3), "one symmetric block for both ends, and one between them");
}
