//! Runs functions of one or two reals on the adapter, and tells how far off the results are.

use leastwise::device::wgpu::WgpuDevice;
use leastwise::device::{
    Access, Command, Device, Dispatch, KernelSource, Kind, PARAM_WORDS, Recording, Slice, binding, binding::DATA, binding::VECTOR_OUT,
};
use leastwise::program::{Binary, Instruction, Load, Program, Store, Unary};

pub fn adapter() -> Device {
    Device::Wgpu(Box::new(WgpuDevice::open_blocking(None).expect("a WebGPU adapter")))
}

/// An adapter whose double-floats were checked.
pub fn adapter_of_doubles() -> Device {
    let mut device = WgpuDevice::open_blocking(None).expect("a WebGPU adapter");
    pollster::block_on(device.check_doubles()).expect("a self-check");
    device.has_doubles().expect("an adapter that computes as it says");
    Device::Wgpu(Box::new(device))
}

/// The kernel of one operation, as programs have it.
pub fn unary(operation: Unary) -> KernelSource {
    kernel_of(vec![Instruction::Load(Load::Data(0)), Instruction::Unary(operation, 0)])
}

pub fn binary(operation: Binary) -> KernelSource {
    kernel_of(vec![Instruction::Load(Load::Data(0)), Instruction::Load(Load::Data(1)), Instruction::Binary(operation, 0, 1)])
}

/// The kernel of instructions of which the last one's result is stored.
pub fn kernel_of(instructions: Vec<Instruction>) -> KernelSource {
    let stores = vec![(Store::Column(0), instructions.len() as u32 - 1)];
    KernelSource::of(&Program { name: "function".into(), instructions, stores, ..Program::default() })
}

/// The kernel of an expression of `a`, `b` and `c` in WGSL itself.
pub fn built_in(expression: &str) -> KernelSource {
    let wgsl = format!(
        "@group(0) @binding({DATA}) var<storage, read> data: array<real>;
        @group(0) @binding({VECTOR_OUT}) var<storage, read_write> vector_out: array<real>;
        struct Args {{ none: u32 }}
        @compute @workgroup_size(group_size)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
            let i = item(id);
            if (i >= params.count) {{ return; }}
            let a = data[i];
            let b = data[params.count + i];
            let c = data[2u * params.count + i];
            vector_out[i] = {expression};
        }}"
    );
    let mut access = [Access::Unused; binding::COUNT];
    (access[DATA], access[VECTOR_OUT]) = (Access::Read, Access::ReadWrite);
    KernelSource::new("function", &wgsl, access)
}

/// What a kernel makes of every item of its columns.
pub fn play(device: &mut Device, source: KernelSource, columns: &[Vec<f64>]) -> Vec<f64> {
    play_in(device, Kind::Real, source, columns)
}

/// The same in reals of a kind.
pub fn play_in(device: &mut Device, kind: Kind, source: KernelSource, columns: &[Vec<f64>]) -> Vec<f64> {
    let source = if kind == Kind::Double { source.in_doubles() } else { source };
    let kernel = device.kernels(&[source]).unwrap()[0];
    let data = columns.concat();
    let (count, len) = (columns[0].len() as u32, data.len() as u32);
    let input = device.allocate(kind, len, "data").unwrap();
    let output = device.allocate(kind, count, "results").unwrap();
    let mut bindings = [None; binding::COUNT];
    bindings[DATA] = Some(Slice { buffer: input, offset: 0, len });
    bindings[VECTOR_OUT] = Some(Slice { buffer: output, offset: 0, len: count });
    let mut recording = Recording::new();
    recording.push(Command::UploadReals { buffer: input, offset: 0, data });
    recording.push(Command::Dispatch(Dispatch { kernel, bindings, count, single_group: false, words: [0; PARAM_WORDS] }));
    recording.push(Command::Read { slice: Slice { buffer: output, offset: 0, len: count } });
    let results = device.run(recording).unwrap();
    [input, output].into_iter().for_each(|buffer| device.free(buffer));
    results
}

/// The error of a result in units in the last place of f32, or none where there is nothing to compare: the operation is
/// not defined or overflows. An error below the smallest normal number is none: adapters may put 0 for what is less.
pub fn ulps(result: f64, exact: f64) -> Option<f64> {
    let tiny = f64::from(f32::MIN_POSITIVE);
    if has_no_value(exact) {
        return None;
    }
    let error = (result - exact).abs();
    let exponent = exact.abs().max(tiny).log2().floor();
    match error <= tiny {
        true => Some(0.0),
        // A NaN is as far off as can be.
        false if error.is_nan() => Some(f64::INFINITY),
        false => Some(error / 2f64.powi(exponent as i32 - 23)),
    }
}

/// Whether f32 has no number for it.
pub fn has_no_value(exact: f64) -> bool {
    // Half a unit above the largest number.
    exact.is_nan() || exact.abs() >= f64::from(f32::MAX) + 2f64.powi(103)
}

/// The largest error over all samples, and where it is.
pub struct Worst {
    pub error: f64,
    pub at: Vec<f64>,
    /// The largest error in parts of the value, or of 1 where that is more.
    pub mixed: f64,
    /// Samples that could be compared.
    pub compared: usize,
}

pub fn worst(results: &[f64], columns: &[Vec<f64>], exact: impl Fn(&[f64]) -> f64) -> Worst {
    let mut worst = Worst { error: 0.0, at: Vec::new(), mixed: 0.0, compared: 0 };
    for (sample, result) in results.iter().enumerate() {
        let operands: Vec<f64> = columns.iter().map(|column| column[sample]).collect();
        let exact = exact(&operands);
        let Some(error) = ulps(*result, exact) else { continue };
        worst.compared += 1;
        let mixed = (result - exact).abs() / exact.abs().max(1.0);
        worst.mixed = worst.mixed.max(if mixed.is_nan() { f64::INFINITY } else { mixed });
        if error > worst.error {
            (worst.error, worst.at) = (error, operands);
        }
    }
    worst
}
