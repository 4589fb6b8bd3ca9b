//! A program bound to buffers of the CPU device, and how long playing it takes.

use leastwise::device::cpu::CpuDevice;
use leastwise::device::*;
use leastwise::program::Program;
use std::time::Instant;

/// What a program reads; what it writes is sized by `columns`.
#[derive(Default)]
pub struct Inputs {
    pub count: u32,
    pub arena: Vec<f64>,
    pub data: Vec<f64>,
    pub index: Vec<u32>,
    /// Columns that are written.
    pub columns: u32,
}

/// Seconds that one dispatch takes: the quickest of repetitions that fill half a second. (Whatever else the machine does
/// only ever adds to it.)
pub fn seconds(program: &Program, inputs: &Inputs, precision: Precision) -> f64 {
    let mut device = Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits()));
    let kernel = device.kernels(&[KernelSource::of(program)]).expect("a kernel")[0];
    let mut bindings = [None; binding::COUNT];
    let mut recording = Recording::new();
    let outputs = vec![0.0; (inputs.columns * inputs.count) as usize];
    let reals = [
        (binding::ARENA, &inputs.arena),
        (binding::DATA, &inputs.data),
        (binding::VECTOR_OUT, &outputs),
        (binding::JACOBIAN, &outputs),
        (binding::STATE, &vec![0.0; 64]),
    ];
    for (slot, values) in reals {
        let len = values.len() as u32;
        let buffer = device.allocate(Kind::Real, len, "reals").expect("memory");
        recording.push(Command::UploadReals { buffer, offset: 0, data: values.clone() });
        bindings[slot] = Some(Slice { buffer, offset: 0, len });
    }
    let len = inputs.index.len() as u32;
    let buffer = device.allocate(Kind::Index, len, "indices").expect("memory");
    recording.push(Command::UploadIndices { buffer, offset: 0, data: inputs.index.clone() });
    bindings[binding::INDEX] = Some(Slice { buffer, offset: 0, len });
    play(&mut device, recording);
    let dispatch = Dispatch { kernel, bindings, count: inputs.count, single_group: false, words: [0; PARAM_WORDS] };
    let mut once = || {
        let mut recording = Recording::new();
        recording.push(Command::Dispatch(dispatch.clone()));
        let start = Instant::now();
        play(&mut device, recording);
        start.elapsed().as_secs_f64()
    };
    let begun = Instant::now();
    let mut quickest = f64::INFINITY;
    while begun.elapsed().as_secs_f64() < 0.5 {
        quickest = quickest.min(once());
    }
    quickest
}

fn play(device: &mut Device, recording: Recording) {
    let mut play = device.start(recording);
    let played = device.resume(&mut play, f64::INFINITY).expect("a recording that plays");
    assert!(matches!(played, Playing::Finished(_)));
}

/// On so many threads.
pub fn on_threads<T: Send>(threads: usize, task: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(task)
}
