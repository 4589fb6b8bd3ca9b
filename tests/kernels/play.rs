//! Runs a program on the CPU device, with every buffer filled and outputs poisoned.

use leastwise::device::cpu::block::BlockProgram;
use leastwise::device::cpu::{Body, CpuDevice};
use leastwise::device::*;
use leastwise::program::Program;
use std::sync::Arc;

/// What outputs hold before a run.
pub const POISON: f64 = 777.25;

/// A program and all that it is bound to; the Jacobian is input and output.
#[derive(Clone, Debug)]
pub struct Case {
    pub program: Program,
    pub count: u32,
    pub arena: Vec<f64>,
    pub data: Vec<f64>,
    pub index: Vec<u32>,
    pub vector: Vec<f64>,
    pub jacobian: Vec<f64>,
    pub state: Vec<f64>,
    /// Elements of the vector that is written.
    pub out: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Outputs {
    pub vector: Vec<f64>,
    pub jacobian: Vec<f64>,
}

impl Outputs {
    /// One NaN is as good as another: which operand's bits it has is up to the compiler.
    pub fn bits(&self) -> Vec<u64> {
        let bits = |value: &f64| if value.is_nan() { f64::NAN } else { *value }.to_bits();
        self.vector.iter().chain(&self.jacobian).map(bits).collect()
    }
}

/// How the work is cut: `group_size` items a group, and a time slice that ends at once when `sliced`.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub group_size: u32,
    pub sliced: bool,
}

pub const WHOLE: Cut = Cut { group_size: 256, sliced: false };

pub fn play(case: &Case, precision: Precision, cut: Cut) -> Outputs {
    play_program(BlockProgram::new(&case.program), case, precision, cut)
}

pub fn play_program(program: BlockProgram, case: &Case, precision: Precision, cut: Cut) -> Outputs {
    let limits = Limits { group_size: cut.group_size, ..CpuDevice::default_limits() };
    let mut device = CpuDevice::new(precision, limits);
    let kernel = device.kernel_of(&KernelSource::of(&case.program), Body::Program(Arc::new(program)));
    let mut device = Device::Cpu(device);
    let mut bindings = [None; binding::COUNT];
    let mut recording = Recording::new();
    let poisoned = vec![POISON; case.out as usize];
    let reals = [
        (binding::ARENA, &case.arena),
        (binding::DATA, &case.data),
        (binding::VECTOR_IN, &case.vector),
        (binding::VECTOR_OUT, &poisoned),
        (binding::JACOBIAN, &case.jacobian),
        (binding::STATE, &case.state),
    ];
    for (slot, values) in reals {
        let len = values.len() as u32;
        let buffer = device.allocate(Kind::Real, len, "reals").unwrap();
        recording.push(Command::UploadReals { buffer, offset: 0, data: values.clone() });
        bindings[slot] = Some(Slice { buffer, offset: 0, len });
    }
    let len = case.index.len() as u32;
    let buffer = device.allocate(Kind::Index, len, "indices").unwrap();
    recording.push(Command::UploadIndices { buffer, offset: 0, data: case.index.clone() });
    bindings[binding::INDEX] = Some(Slice { buffer, offset: 0, len });
    let words = [0; PARAM_WORDS];
    recording.push(Command::Dispatch(Dispatch { kernel, bindings, count: case.count, single_group: false, words }));
    let deadline = if cut.sliced { f64::NEG_INFINITY } else { f64::INFINITY };
    let mut run = |recording| {
        let mut play = device.start(recording);
        loop {
            match device.resume(&mut play, deadline).unwrap() {
                Playing::Yielded => {}
                Playing::Waiting(_) => unreachable!("a CPU waits for nothing"),
                Playing::Finished(values) => return values,
            }
        }
    };
    run(recording);
    let mut read = |slot: usize| {
        let mut recording = Recording::new();
        recording.push(Command::Read { slice: bindings[slot].unwrap() });
        run(recording)
    };
    Outputs { vector: read(binding::VECTOR_OUT), jacobian: read(binding::JACOBIAN) }
}
