//! x ⊕ δ on every device, and P in f64.

use crate::manifolds::reference::{moved, point, shapes, step};
use crate::support::{Random, Tape};
use leastwise::device::binding::{ARENA, INDEX, VECTOR_IN, VECTOR_OUT};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::wgpu::WgpuDevice;
use leastwise::device::{Command, Device, KernelSource, Kind, Precision, Recording, Slice};
use leastwise::expr::{Graph, Leaf, Manifold, Opcode};
use leastwise::problem::Shape;
use leastwise::program::Retraction;
use leastwise::solve::dispatch;
use std::sync::Arc;

const COUNT: u32 = 77;

/// The trial points of instances, from the kernel that a solver uses.
fn retracted(device: &mut Device, manifold: &Arc<Manifold>, points: &[f64], steps: &[f64]) -> Vec<f64> {
    let retraction = Retraction::new(manifold);
    let kernel = device.kernels(&[KernelSource::of(&retraction.program)]).unwrap()[0];
    let mut buffer = |kind: Kind, len: u32| Slice { buffer: device.allocate(kind, len, "a buffer").unwrap(), offset: 0, len };
    let [arena, vector] = [points, steps].map(|values| buffer(Kind::Real, values.len() as u32));
    let (index, out) =
        (buffer(Kind::Index, COUNT + 2), buffer(Kind::Real, retraction.scratch(Some(leastwise::program::wgsl::Cut::Coarse)) * COUNT));
    let mut recording = Recording::new();
    for (slice, values) in [(arena, points), (vector, steps)] {
        recording.push(Command::UploadReals { buffer: slice.buffer, offset: 0, data: values.to_vec() });
    }
    recording.push(Command::UploadIndices { buffer: index.buffer, offset: 0, data: [0, 0].into_iter().chain(0..COUNT).collect() });
    recording.push(dispatch(kernel, COUNT, &[(ARENA, arena), (INDEX, index), (VECTOR_IN, vector), (VECTOR_OUT, out)]));
    recording.push(Command::Read { slice: Slice { len: manifold.ambient * COUNT, ..out } });
    device.run(recording).unwrap()
}

fn devices() -> Vec<(&'static str, f64, Device)> {
    let cpu = |precision| Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits()));
    let gpu = Device::Wgpu(Box::new(WgpuDevice::open_blocking(None).expect("a WebGPU adapter")));
    vec![("cpu in f64", 1e-13, cpu(Precision::F64)), ("cpu in f32", 3e-6, cpu(Precision::F32)), ("webgpu", 3e-6, gpu)]
}

fn manifold(shape: &Shape) -> Option<Arc<Manifold>> {
    Manifold::new(vec![shape.clone()]).unwrap().map(Arc::new)
}

#[test]
fn retractions_are_products_of_matrices_on_every_device() {
    for (device_name, bound, mut device) in devices() {
        for (number, shape) in shapes().iter().enumerate() {
            let Some(manifold) = manifold(shape) else { continue };
            // In f32 the numbers that the reference gets are the device's.
            let rounded = |values: Vec<f64>| values.into_iter().map(|x| if bound > 1e-10 { f64::from(x as f32) } else { x });
            let mut random = Random::new(17 + number as u64);
            let (mut points, mut steps) = (Vec::new(), Vec::new());
            for instance in 0..COUNT {
                // From nothing over either side of every series to most of a turn.
                let length = [0.0, 1e-9, 1e-4, 0.09, 0.11, 0.3, 0.49, 0.51, 1.0, 2.0, 3.0][instance as usize % 11];
                points.extend(rounded(point(shape, &mut random)));
                steps.extend(rounded(step(shape, length, &mut random)));
            }
            let found = retracted(&mut device, &manifold, &points, &steps);
            for (instance, (x, d)) in points.chunks(shape.ambient() as usize).zip(steps.chunks(shape.tangent() as usize)).enumerate() {
                for (component, expected) in moved(shape, x, d).into_iter().enumerate() {
                    let found = found[component * COUNT as usize + instance];
                    let error = (found - expected).abs() / expected.abs().max(1.0);
                    assert!(error < bound * 20.0, "{shape:?} on {device_name}: {x:?} by {d:?}, {component}: {found}, not {expected}");
                }
            }
        }
    }
}

/// P at x: rows of scalars, columns of degrees of freedom.
fn plus(manifold: &Manifold, x: &[f64]) -> Vec<Vec<f64>> {
    let mut graph = Graph::new();
    let columns = manifold.plus(&mut graph, 4);
    let mut dense = vec![vec![0.0; columns.len()]; x.len()];
    for (column, entries) in columns.iter().enumerate() {
        let roots: Vec<_> = entries.iter().map(|entry| entry.1).collect();
        let values = graph.evaluate(&roots, &mut Vec::new(), |leaf| match leaf {
            Leaf::Slot { slot: 4, component } => x[component as usize],
            other => panic!("{other:?} in P"),
        });
        entries.iter().zip(values).for_each(|(entry, value)| dense[entry.0 as usize][column] = value);
    }
    dense
}

#[test]
fn the_derivative_of_a_retraction_is_that_of_the_matrices() {
    let mut random = Random::new(5);
    for shape in shapes() {
        let Some(manifold) = manifold(&shape) else { continue };
        for _ in 0..20 {
            let x = point(&shape, &mut random);
            let dense = plus(&manifold, &x);
            let columns = (0..shape.tangent() as usize).map(|k| dense.iter().map(|row| row[k]).collect::<Vec<f64>>());
            for (along, column) in columns.enumerate() {
                let at = |by: f64| {
                    let mut step = vec![0.0; shape.tangent() as usize];
                    step[along] = by;
                    moved(&shape, &x, &step)
                };
                // Fourth order.
                let [a, b, c, d] = [-2e-3, -1e-3, 1e-3, 2e-3].map(at);
                for (component, exact) in column.into_iter().enumerate() {
                    let difference = (a[component] - 8.0 * b[component] + 8.0 * c[component] - d[component]) / 12e-3;
                    let error = (exact - difference).abs() / exact.abs().max(1.0);
                    assert!(error < 1e-10, "{shape:?} at {x:?}: P[{component}, {along}] = {exact}, not {difference}");
                }
            }
        }
    }
}

/// Spheres have orthonormal tangents, so that a step is as long as the way that it leads.
#[test]
fn tangents_of_spheres_are_orthonormal() {
    let mut random = Random::new(6);
    for n in [2, 3, 6] {
        let shape = Shape::Sphere(n);
        // The poles and the equator, too.
        let pole = |sign: f64| (0..n).map(|k| if k + 1 == n { sign } else { 0.0 }).collect::<Vec<_>>();
        let equator = (0..n).map(|k| f64::from(u8::from(k == 0))).collect();
        for x in [pole(1.0), pole(-1.0), equator, point(&shape, &mut random), point(&shape, &mut random)] {
            let p = plus(&manifold(&shape).unwrap(), &x);
            let column = |k: usize| p.iter().map(|row| row[k]).collect::<Vec<_>>();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            for i in 0..n as usize - 1 {
                assert!(dot(&column(i), &x).abs() < 1e-15);
                for j in 0..=i {
                    assert!((dot(&column(i), &column(j)) - f64::from(u8::from(i == j))).abs() < 1e-15, "{x:?}");
                }
            }
        }
    }
}

/// (x, d) => normalize(x + d), on the unit circle by its tangent.
pub fn circle() -> Shape {
    let mut tape = Tape::default();
    let [x, d] = [0, 1].map(|source| tape.input(source));
    let [first, second] = [0, 1].map(|k| tape.op(Opcode::Component, &[x, k]));
    let minus = tape.op(Opcode::Neg, &[second]);
    let across = tape.op(Opcode::Pack, &[minus, first]);
    let along = tape.op(Opcode::Mul, &[across, d]);
    let sum = tape.op(Opcode::Add, &[x, along]);
    let unit = tape.op(Opcode::Normalize, &[sum]);
    Shape::Traced { ambient: 2, tangent: 1, tape: tape.words, outputs: vec![unit] }
}

#[test]
fn a_traced_retraction_is_the_function_that_was_traced() {
    let mut random = Random::new(8);
    let manifold = manifold(&circle()).unwrap();
    let (mut points, mut steps) = (Vec::new(), Vec::new());
    for _ in 0..COUNT {
        points.extend(point(&Shape::Sphere(2), &mut random));
        steps.push(random.between(-2.0, 2.0));
    }
    let expected = |x: &[f64], d: f64| crate::manifolds::reference::unit(vec![x[0] - d * x[1], x[1] + d * x[0]]);
    for (name, bound, mut device) in devices() {
        let found = retracted(&mut device, &manifold, &points, &steps);
        for (instance, (x, d)) in points.chunks(2).zip(&steps).enumerate() {
            for (k, value) in expected(x, *d).into_iter().enumerate() {
                assert!((found[k * COUNT as usize + instance] - value).abs() < bound, "{name}");
            }
        }
    }
    for x in points.chunks(2) {
        let p = plus(&manifold, x);
        assert!((p[0][0] + x[1]).abs() < 1e-14 && (p[1][0] - x[0]).abs() < 1e-14);
    }
}

#[test]
fn what_moves_freely_is_no_manifold() {
    let mut tape = Tape::default();
    let [x, d] = [0, 1].map(|source| tape.input(source));
    let sum = tape.op(Opcode::Add, &[d, x]);
    let traced = Shape::Traced { ambient: 3, tangent: 3, tape: tape.words, outputs: vec![sum] };
    for shapes in [vec![Shape::Euclidean(2), Shape::Euclidean(5)], vec![Shape::Subset { width: 4, constant: Vec::new() }], vec![traced]] {
        assert!(Manifold::new(shapes).unwrap().is_none());
    }
}

/// What the symbols know of P is not computed: a constant component costs nothing, a translation is turned, not screwed.
#[test]
fn constant_entries_of_p_are_constants() {
    let subset = plus(&manifold(&Shape::Subset { width: 4, constant: vec![1, 3] }).unwrap(), &[0.0; 4]);
    assert_eq!(subset, [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]);
    let pose = manifold(&Shape::Se3).unwrap();
    let mut graph = Graph::new();
    let columns = pose.plus(&mut graph, 0);
    let scalars = |k: usize| columns[k].iter().map(|entry| entry.0).collect::<Vec<_>>();
    assert_eq!(scalars(0), [0, 1, 2, 3], "turning moves the quaternion alone");
    assert_eq!(scalars(5), [4, 5, 6], "and going moves the translation");
}

#[test]
fn manifolds_are_equal_by_structure() {
    let product = |parts: &[Shape]| Manifold::new(parts.to_vec()).unwrap().unwrap();
    assert_eq!(product(&[Shape::Euclidean(1), Shape::Euclidean(2), Shape::So2]), product(&[Shape::Euclidean(3), Shape::So2]));
    assert_ne!(product(&[Shape::Quaternion, Shape::Euclidean(3)]), product(&[Shape::Se3]));
    assert_ne!(product(&[Shape::Sphere(4)]), product(&[Shape::Quaternion]));
    let constant = |component| product(&[Shape::Subset { width: 3, constant: vec![component] }]);
    assert_ne!(constant(0), constant(2));
}
