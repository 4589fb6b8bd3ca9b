//! Double-floats on WebGPU: how they are stored, and solves in them and in mixed precision against f64.

use crate::support::{Mesh, Random, arap, cpu, gpu_in, read, repeated, solve};
use leastwise::device::wgpu::WgpuDevice;
use leastwise::device::{Command, Device, DeviceError, Kind, Limits, Precision, Reals, Recording, Slice};
use leastwise::session::Session;
use leastwise::solve::Options;

fn device(reals: Reals) -> Device {
    let mut device = WgpuDevice::open_blocking(None).expect("a WebGPU adapter");
    pollster::block_on(device.check_doubles()).expect("a self-check");
    device.set_reals(reals).expect("an adapter whose double-floats are exact");
    Device::Wgpu(Box::new(device))
}

/// Numbers that two `f32`s hold.
fn numbers(count: u32, random: &mut Random) -> Vec<f64> {
    let of_48_bits = |x: f64| {
        let high = x as f32;
        f64::from(high) + f64::from((x - f64::from(high)) as f32)
    };
    (0..count).map(|_| of_48_bits(random.between(-3.0, 3.0) * 10f64.powf(random.between(-20.0, 20.0)))).collect()
}

fn upload(slice: Slice, data: &[f64]) -> Command {
    Command::UploadReals { buffer: slice.buffer, offset: slice.offset, data: data.to_vec() }
}

fn read_back(device: &mut Device, slice: Slice) -> Vec<f64> {
    device.run(Recording { commands: vec![Command::Read { slice }] }).unwrap()
}

#[test]
fn numbers_keep_48_bits_on_their_way() {
    let mut device = device(Reals::Double);
    let mut random = Random::new(1);
    let (len, part) = (1000, 64..700);
    let values = numbers(len, &mut random);
    let mut made = |kind| Slice { buffer: device.allocate(kind, len, "numbers").unwrap(), offset: 0, len };
    let (from, to, double) = (made(Kind::Real), made(Kind::Real), made(Kind::Double));
    let slice = |whole: Slice| Slice { offset: part.start, len: part.end - part.start, ..whole };
    device.run(Recording { commands: vec![upload(from, &values)] }).unwrap();
    assert_eq!(read_back(&mut device, from), values);
    let copy = Command::Copy { from: slice(from), to: slice(to) };
    device.run(Recording { commands: vec![upload(to, &numbers(len, &mut random)), copy] }).unwrap();
    assert_eq!(read_back(&mut device, slice(to)), values[part.start as usize..part.end as usize]);
    device.run(Recording { commands: vec![Command::Clear { slice: slice(from) }] }).unwrap();
    let cleared: Vec<f64> = (0..).zip(&values).map(|(k, value)| if part.contains(&k) { 0.0 } else { *value }).collect();
    assert_eq!(read_back(&mut device, from), cleared);
    // Single numbers leave nothing of what was there.
    let singles: std::sync::Arc<Vec<f32>> = std::sync::Arc::new((0..len).map(|k| k as f32 + 0.1).collect());
    let command = Command::UploadSingles { buffer: double.buffer, offset: 0, data: singles.clone(), first: 0, len };
    device.run(Recording { commands: vec![upload(double, &values), command] }).unwrap();
    assert_eq!(read_back(&mut device, double), singles.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>());
}

#[test]
fn mixed_precision_has_f32_where_it_was_asked_for() {
    let mut device = device(Reals::Mixed);
    let values = numbers(100, &mut Random::new(2));
    let mut made = |kind| Slice { buffer: device.allocate(kind, 100, "numbers").unwrap(), offset: 0, len: 100 };
    let (inner, outer) = (made(Kind::Inner), made(Kind::Real));
    let rounded: Vec<f64> = values.iter().map(|value| f64::from(*value as f32)).collect();
    device.run(Recording { commands: vec![upload(inner, &values), upload(outer, &values)] }).unwrap();
    assert_eq!(read_back(&mut device, inner), rounded);
    assert_eq!(read_back(&mut device, outer), values);
    // What has no low parts leaves none.
    device.run(Recording { commands: vec![Command::Copy { from: inner, to: outer }] }).unwrap();
    assert_eq!(read_back(&mut device, outer), rounded);
    device.run(Recording { commands: vec![upload(outer, &values), Command::Copy { from: outer, to: inner }] }).unwrap();
    assert_eq!(read_back(&mut device, inner), rounded);
}

#[test]
fn an_adapter_that_was_not_checked_has_none() {
    let mut device = WgpuDevice::open_blocking(None).expect("a WebGPU adapter");
    assert!(matches!(device.set_reals(Reals::Double), Err(DeviceError::NoDoubles(_))));
    assert_eq!(device.precision(), Precision::F32);
}

/// Elements of columns that do not begin in the same bank lie behind one another; WebGPU promises 16,384 bytes.
#[test]
fn tiles_of_double_floats_are_half_as_many_columns() {
    for (reals, most) in [(Reals::Double, 7), (Reals::Mixed, 15), (Reals::Single, 15)] {
        let session = gpu_in(reals, Some(Limits::WEBGPU));
        let held = (1..=20).filter(|columns| session.device().holds_tile(*columns)).count();
        assert_eq!((held, session.device().limits().group_size), (most, 256), "{reals:?}");
    }
}

/// The cost, what was read, and the report's precision.
fn solved(mut session: Session, mesh: &Mesh, options: &Options) -> (f64, Vec<f64>, String) {
    let (problem, x) = arap(&mut session, mesh);
    let report = solve(&mut session, problem, options);
    (report.cost, read(&mut session, problem, x), report.precision.to_string())
}

fn farthest(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn a_mesh_comes_to_f64s_minimum_with_conjugate_gradients_and_with_a_factor() {
    let mesh = Mesh::icosphere(2).normalized();
    let (double, mixed) = ((Reals::Double, "f32x2"), (Reals::Mixed, "mixed"));
    for &(linear, (reals, name)) in repeated(&[("pcg", double), ("dense", mixed), ("pcg", mixed), ("dense", double)], 2) {
        let options = Options {
            linear: Some(linear.into()),
            max_iterations: Some(60.0),
            cost_tolerance: Some(1e-14),
            gradient_tolerance: Some(1e-11),
            ..Options::default()
        };
        let (exact, right, _) = solved(cpu(Precision::F64), &mesh, &options);
        let (cost, values, precision) = solved(gpu_in(reals, None), &mesh, &options);
        println!("{linear:?} {name}: {cost} for {exact}, {} apart", farthest(&values, &right));
        assert_eq!(precision, name);
        assert!((cost - exact).abs() <= 1e-12 * exact, "{name}: {cost} for {exact}");
        // Between two numbers of f32 there are some 6·10⁻⁸.
        assert!(farthest(&values, &right) < 1e-8, "{name}: {}", farthest(&values, &right));
    }
}
