//! The programs of a robust residual, played on every backend, against r, J, ρ and W in plain f64.

use crate::losses::samples::{Sample, built_in, user_traced};
use crate::support::{Random, Tape};
use leastwise::device::binding::*;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::wgpu::WgpuDevice;
use leastwise::device::{Access, Command, Device, KernelSource, Kind, Precision, Recording, Slice};
use leastwise::expr::tape::{self, Source};
use leastwise::expr::{Graph, Leaf, Opcode::*};
use leastwise::problem::Loss;
use leastwise::program::{
    Address, ColumnMap, ColumnShape, EnergyPrograms, Guards, LEAST_CURVATURE, NEGATIVE, Program, ResidualPrograms, RobustShape, Signature,
    SlotShape, wgsl,
};
use leastwise::solve::dispatch;

const COUNT: usize = 9;
const WEIGHT: f64 = 2.5;
const WIDTHS: [u32; 2] = [3, 2];
const UNKNOWNS: usize = 5;

/// x₀y₀ − d, sin x₁ + y₁, x₂ − 2y₀ and y₁² of a point (x₀, x₁, x₂, y₀, y₁), with d a column.
fn residual() -> (Tape, u32) {
    let mut tape = Tape::default();
    let [x, y, d] = [0, 1, 2].map(|source| tape.input(source));
    let [x0, x1, x2] = [0, 1, 2].map(|k| tape.op(Component, &[x, k]));
    let [y0, y1] = [0, 1].map(|k| tape.op(Component, &[y, k]));
    let product = tape.op(Mul, &[x0, y0]);
    let first = tape.op(Sub, &[product, d]);
    let sine = tape.op(Sin, &[x1]);
    let second = tape.op(Add, &[sine, y1]);
    let twice = tape.op(Add, &[y0, y0]);
    let third = tape.op(Sub, &[x2, twice]);
    let fourth = tape.op(Square, &[y1]);
    let all = tape.op(Pack, &[first, second, third, fourth]);
    (tape, all)
}

fn rows(p: &[f64], d: f64) -> [f64; 4] {
    [p[0] * p[3] - d, p[1].sin() + p[4], p[2] - 2.0 * p[3], p[4] * p[4]]
}

fn jacobian(p: &[f64]) -> [[f64; UNKNOWNS]; 4] {
    [[p[3], 0.0, 0.0, p[0], 0.0], [0.0, p[1].cos(), 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, -2.0, 0.0], [0.0, 0.0, 0.0, 0.0, 2.0 * p[4]]]
}

/// Data: d an instance; shared: the weight, then the loss's parameters.
fn signature(loss: &Loss) -> Signature {
    let shape = |(slot, &stride): (u32, &u32)| SlotShape {
        arena: Address { base: slot, column: slot, stride },
        vector: Some(Address { base: 2 + slot, column: slot, stride }),
        manifold: None,
    };
    let parameters = (1..=loss.parameters.len() as u32).map(|offset| ColumnShape { width: 1, shared: true, offset });
    Signature {
        slots: (0..).zip(&WIDTHS).map(shape).collect(),
        columns: [ColumnShape { width: 1, shared: false, offset: 0 }].into_iter().chain(parameters).collect(),
        weight_shared: true,
        shared: 1 + loss.parameters.len() as u32,
        header: 4,
        loss: Some(RobustShape { kind: loss.kind.clone(), first: 1 }),
    }
}

fn graph() -> (Graph, Vec<leastwise::expr::Expr>) {
    let (tape, output) = residual();
    let mut graph = Graph::new();
    let slot = |slot: u32| Source { leaf: Leaf::Slot { slot, component: 0 }, width: WIDTHS[slot as usize] };
    let sources = [slot(0), slot(1), Source { leaf: Leaf::Data { column: 0, component: 0 }, width: 1 }];
    let residual = tape::read(&mut graph, &tape.words, &[output], &sources).unwrap();
    (graph, residual)
}

struct Points {
    points: Vec<Vec<f64>>,
    data: Vec<f64>,
}

impl Points {
    /// From small residuals to large ones, as f32 has them.
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut number = |size: f64| f64::from(random.between(-size, size) as f32);
        let sizes: Vec<f64> = (0..COUNT).map(|k| 0.2 + 0.35 * k as f64).collect();
        Self {
            points: sizes.iter().map(|&size| (0..UNKNOWNS).map(|_| number(size)).collect()).collect(),
            data: (0..COUNT).map(|_| number(1.0)).collect(),
        }
    }

    /// Moved by a part of themselves.
    fn moved(&self, by: f64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let points = self.points.iter().map(|point| point.iter().map(|x| x + by * random.between(-1.0, 1.0)).collect()).collect();
        Self { points, data: self.data.clone() }
    }

    /// Table by table.
    fn arena(&self) -> Vec<f64> {
        tables(&self.points)
    }
}

fn tables(points: &[Vec<f64>]) -> Vec<f64> {
    let table = |range: std::ops::Range<usize>| points.iter().flat_map(move |point| point[range.clone()].to_vec());
    table(0..3).chain(table(3..5)).collect()
}

/// A device with the buffers of a batch.
struct Bench {
    device: Device,
    buffers: Vec<(usize, Slice)>,
}

impl Bench {
    fn new(mut device: Device, programs: &ResidualPrograms, columns: u32, loss: &Loss, points: &Points, direction: &[Vec<f64>]) -> Self {
        let count = COUNT as u32;
        let mut index = vec![0, 3 * count, 0, 3 * count];
        (0..2).for_each(|_| index.extend(0..count));
        let data = [&[WEIGHT][..], &loss.parameters, &points.data].concat();
        let reals = [
            (ARENA, points.arena()),
            (DATA, data),
            (VECTOR_IN, tables(direction)),
            (VECTOR_OUT, vec![0.0; (columns * count) as usize]),
            (JACOBIAN, vec![0.0; (programs.stored * count) as usize]),
            (STATE, vec![0.0; 4]),
        ];
        let mut recording = Recording::new();
        let mut buffers = Vec::new();
        for (slot, data) in reals {
            let len = data.len() as u32;
            let buffer = device.allocate(Kind::Real, len, "reals").unwrap();
            recording.push(Command::UploadReals { buffer, offset: 0, data });
            buffers.push((slot, Slice { buffer, offset: 0, len }));
        }
        let len = index.len() as u32;
        let buffer = device.allocate(Kind::Index, len, "indices").unwrap();
        recording.push(Command::UploadIndices { buffer, offset: 0, data: index });
        buffers.push((INDEX, Slice { buffer, offset: 0, len }));
        device.run(recording).unwrap();
        Self { device, buffers }
    }

    fn upload(&mut self, slot: usize, data: Vec<f64>) {
        let slice = self.buffers.iter().find(|buffer| buffer.0 == slot).unwrap().1;
        let mut recording = Recording::new();
        recording.push(Command::UploadReals { buffer: slice.buffer, offset: 0, data });
        self.device.run(recording).unwrap();
    }

    /// The columns that a program stores.
    fn play(&mut self, program: &Program) -> Vec<f64> {
        let kernel = self.device.kernels(&[KernelSource::of(program)]).unwrap()[0];
        let used = program.access();
        let bindings: Vec<(usize, Slice)> = self.buffers.iter().copied().filter(|(slot, _)| used[*slot] != Access::Unused).collect();
        let out = self.buffers.iter().find(|buffer| buffer.0 == VECTOR_OUT).unwrap().1;
        let mut recording = Recording::new();
        recording.push(dispatch(kernel, COUNT as u32, &bindings));
        recording.push(Command::Read { slice: out });
        self.device.run(recording).unwrap()
    }
}

fn mapped(map: &ColumnMap, columns: &[f64], instance: usize) -> Vec<f64> {
    let value = |&code: &u32| match code & !NEGATIVE {
        0 => 0.0,
        column if code & NEGATIVE == 0 => columns[(column as usize - 1) * COUNT + instance],
        column => -columns[(column as usize - 1) * COUNT + instance],
    };
    map.codes.iter().map(value).collect()
}

fn close(what: &str, got: &[f64], expected: &[f64], bound: f64) {
    let size = expected.iter().fold(1e-3f64, |size, x| size.max(x.abs()));
    assert_eq!(got.len(), expected.len(), "{what}");
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() <= bound * size, "{what}: {got:e}, not {expected:e} (of {size:e})");
    }
}

/// ρ″ by differences of the textbook's ρ′.
fn bend(sample: &Sample, s: f64) -> f64 {
    let step = 1e-5 * s.max(1e-2 * sample.scale).min(s.max(1e-12) / 2e-5);
    ((sample.slope)(s + step) - (sample.slope)(s - step)) / (2.0 * step)
}

/// w (ρ′ I + κ r rᵀ), κ no less than what leaves a part of the curvature along r.
fn weights(sample: &Sample, r: &[f64; 4]) -> [[f64; 4]; 4] {
    let s: f64 = r.iter().map(|r| r * r).sum();
    let slope = (sample.slope)(s).max(0.0);
    let along = (2.0 * bend(sample, s)).max(-(1.0 - LEAST_CURVATURE) * slope / s);
    std::array::from_fn(|a| std::array::from_fn(|b| WEIGHT * (along * r[a] * r[b] + if a == b { slope } else { 0.0 })))
}

fn devices() -> Vec<(&'static str, f64, Device)> {
    let cpu = |precision| Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits()));
    let gpu = Device::Wgpu(Box::new(WgpuDevice::open_blocking(None).expect("a WebGPU adapter")));
    vec![("cpu in f64", 1e-7, cpu(Precision::F64)), ("cpu in f32", 1e-4, cpu(Precision::F32)), ("webgpu", 1e-4, gpu)]
}

fn check(sample: &Sample) {
    let (graph, residual) = graph();
    let signature = signature(&sample.loss);
    let programs = ResidualPrograms::new("robust", graph.clone(), &residual, &signature, Guards { linearized: 0, solved: 1 });
    let energy = EnergyPrograms::of_residual("robust", graph, &residual, &signature);
    let columns = [
        programs.scratch(Some(wgsl::Cut::Coarse)),
        energy.scratch(Some(wgsl::Cut::Coarse)),
        wgsl::columns(&energy.hessian, wgsl::Cut::Coarse),
    ]
    .into_iter()
    .max()
    .unwrap();
    let points = Points::new(sample.name.len() as u64);
    let direction = Points::new(99).points;
    for (name, bound, device) in devices() {
        let mut bench = Bench::new(device, &programs, columns, &sample.loss, &points, &direction);
        bench.play(&programs.linearize);
        let [value, gradient, product, diagonal, hessian] =
            [&programs.energy, &programs.gradient, &programs.product, &programs.diagonal, &energy.hessian]
                .map(|program| bench.play(program));
        for (instance, point) in points.points.iter().enumerate() {
            let what = |of: &str| format!("{of} of {} at {instance} on {name}", sample.name);
            let d = points.data[instance];
            let (r, j) = (rows(point, d), jacobian(point));
            let s: f64 = r.iter().map(|r| r * r).sum();
            if sample.kinks.iter().any(|kink| (kink - s).abs() < 1e-3 * kink) {
                continue;
            }
            close(&what("energy"), &[value[instance]], &[0.5 * WEIGHT * (sample.value)(s)], bound);
            let of_both =
                |maps: &[ColumnMap], columns: &[f64]| -> Vec<f64> { maps.iter().flat_map(|map| mapped(map, columns, instance)).collect() };
            let slopes = |p: &[f64], k: usize| {
                let (r, j) = (rows(p, d), jacobian(p));
                let s: f64 = r.iter().map(|r| r * r).sum();
                WEIGHT * (sample.slope)(s) * (0..4).map(|row| j[row][k] * r[row]).sum::<f64>()
            };
            let expected: Vec<f64> = (0..UNKNOWNS).map(|k| slopes(point, k)).collect();
            close(&what("gradient"), &of_both(&programs.gradient_maps, &gradient), &expected, bound);
            let w = weights(sample, &r);
            let entry = |a: usize, b: usize| {
                (0..4).flat_map(|m| (0..4).map(move |n| (m, n))).map(|(m, n)| j[m][a] * w[m][n] * j[n][b]).sum::<f64>()
            };
            let p = &direction[instance];
            let expected: Vec<f64> = (0..UNKNOWNS).map(|a| (0..UNKNOWNS).map(|b| entry(a, b) * p[b]).sum()).collect();
            close(&what("product"), &of_both(&programs.gradient_maps, &product), &expected, bound);
            let block = |range: std::ops::Range<usize>| range.clone().flat_map(move |a| (range.start..=a).map(move |b| (a, b)));
            let expected: Vec<f64> = block(0..3).chain(block(3..5)).map(|(a, b)| entry(a, b)).collect();
            close(&what("diagonal"), &of_both(&programs.diagonal_maps, &diagonal), &expected, bound);
            // The exact Hessian, by differences of the gradient.
            let second = |a: usize, b: usize| {
                let at =
                    |by: f64| slopes(&point.iter().enumerate().map(|(k, x)| x + if k == b { by } else { 0.0 }).collect::<Vec<f64>>(), a);
                let h = 1e-4;
                (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
            };
            let expected: Vec<f64> = block(0..UNKNOWNS).map(|(a, b)| second(a, b)).collect();
            close(&what("Hessian"), &mapped(&energy.entries, &hessian, instance), &expected, bound.max(1e-6));
        }
        // Far steps and none.
        for by in [0.5, 0.0] {
            let there = points.moved(by, 5);
            bench.upload(ARENA, there.arena());
            let change = bench.play(&programs.change);
            for (instance, &change) in change.iter().take(COUNT).enumerate() {
                let energy = |p: &[f64]| 0.5 * WEIGHT * (sample.value)(rows(p, points.data[instance]).iter().map(|r| r * r).sum());
                let (before, after) = (energy(&points.points[instance]), energy(&there.points[instance]));
                let tolerance = if by == 0.0 { 0.0 } else { bound * (before.abs() + after.abs()) };
                let what = format!("change of {} at {instance} on {name}", sample.name);
                assert!((change - (after - before)).abs() <= tolerance, "{what}: {change:e}, not {:e}", after - before);
            }
            bench.upload(ARENA, points.arena());
        }
    }
}

#[test]
fn programs_with_built_in_losses_agree_with_dense_algebra() {
    built_in().iter().filter(|sample| sample.name != "trivial").for_each(check);
}

#[test]
fn programs_with_traced_losses_agree_with_dense_algebra() {
    let some = ["Log1p", "Softplus", "(1 + s/a)ᵖ and ln (1.5 + s)", "s e⁻ˢ + s²", "Huber's, traced"];
    user_traced().iter().filter(|sample| some.contains(&sample.name.as_str())).for_each(check);
}

/// The trivial loss as a kind is no loss at all.
#[test]
fn the_trivial_loss_weighs_like_none() {
    check(&built_in()[0]);
}
