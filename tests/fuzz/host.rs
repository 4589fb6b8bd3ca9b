//! What CUDA is given, played by the host: the text as C++, compiled for the CPU.

use super::cuda_on_host;
use super::engine::{Memory, Outputs};
use leastwise::device::{PARAM_WORDS, Params, Precision, binding, cuda::written};
use leastwise::program::{KernelText, Program, wgsl};
use wgsl_cuda::Parameter;

const GROUP_SIZE: u32 = 64;

/// The slot of the uniform block.
const PARAMS: usize = 0;

/// Plays a linearisation once.
pub fn play(program: &Program, memory: &Memory, precision: Precision) -> Outputs {
    let kernel =
        written(&KernelText::new(&wgsl::write(program), program.access()), precision, GROUP_SIZE).unwrap_or_else(|error| panic!("{error}"));
    let groups = memory.count.div_ceil(GROUP_SIZE);
    let params = Params { count: memory.count, grid_width: groups * GROUP_SIZE, zero: 0, group_count: groups, words: [0; PARAM_WORDS] };
    let words = |reals: &[f64]| -> Vec<u32> {
        match precision {
            Precision::F32 => reals.iter().map(|real| (*real as f32).to_bits()).collect(),
            Precision::F32x2 | Precision::F64 => {
                reals.iter().map(|real| real.to_bits()).flat_map(|bits| [bits as u32, (bits >> 32) as u32]).collect()
            }
        }
    };
    let slots: Vec<usize> = kernel
        .parameters
        .iter()
        .map(|parameter| match *parameter {
            Parameter::Uniform { .. } => PARAMS,
            Parameter::Storage { binding, .. } => binding as usize,
        })
        .collect();
    let buffer = |slot: &usize| match *slot {
        PARAMS => [params.count, params.grid_width, params.zero, params.group_count].into_iter().chain(params.words).collect(),
        binding::ARENA => words(&memory.arena),
        binding::DATA => words(&memory.data),
        binding::INDEX => memory.index.clone(),
        binding::JACOBIAN => words(&memory.jacobian),
        binding::STATE => words(&[0.0; 4]),
        slot => unreachable!("a linearisation binds nothing to slot {slot}"),
    };
    let buffers: Vec<Vec<u32>> = slots.iter().map(buffer).collect();
    let played = cuda_on_host::play(&format!("fuzz_{precision:?}"), &kernel, [groups, 1, 1], &buffers);
    let stored = &played[slots.iter().position(|slot| *slot == binding::JACOBIAN).expect("it stores r and J")];
    let jacobian = match precision {
        Precision::F32 => stored.iter().map(|bits| f64::from(f32::from_bits(*bits))).collect(),
        Precision::F32x2 | Precision::F64 => {
            stored.chunks(2).map(|pair| f64::from_bits(u64::from(pair[0]) | u64::from(pair[1]) << 32)).collect()
        }
    };
    Outputs { vector: Vec::new(), jacobian }
}
