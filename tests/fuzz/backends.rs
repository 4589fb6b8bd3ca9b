//! The programs that linearise, on every backend, within running error bounds of an interpreter in f64.

use super::bounds::{Arithmetic, Bounded, evaluate};
use super::check::Outcome;
use super::engine::{self, Memory, Outputs, Term, load, play_in};
use super::traced::{Point, Traced};
use leastwise::device::{Device, Kind, Precision};
use leastwise::program::*;
use std::ops::AddAssign;

/// f32 without subnormal numbers, with the accuracy that WGSL promises of quotients and roots.
pub const WEBGPU: Arithmetic = Arithmetic { tiny: f32::MIN_POSITIVE as f64, quotient: 3.0, function: 4.0, ..Arithmetic::F32 };

/// Double-floats, as they are promised: within 10⁻¹⁰ of the running bound, for numbers from 10⁻²⁵ to 10³⁰.
pub const DOUBLES: Arithmetic = Arithmetic { unit: 0.5e-10, tiny: 1e-35, huge: 1e30, quotient: 1.0, function: 1.0 };

/// How many stored values were compared, were flags, or could not be known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    pub known: u64,
    pub flagged: u64,
    pub unknown: u64,
}

impl AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        self.known += other.known;
        self.flagged += other.flagged;
        self.unknown += other.unknown;
    }
}

/// Compares what a linearisation stored.
pub fn compare(program: &Program, memory: &Memory, outputs: &Outputs, arithmetic: Arithmetic) -> Result<Share, String> {
    let mut share = Share::default();
    for instance in 0..memory.count as usize {
        let expected = evaluate(program, arithmetic, |place| load(program, memory, instance, place));
        for ((store, _), expected) in program.stores.iter().zip(expected) {
            let Store::Jacobian(column) = *store else { unreachable!("a linearisation stores r and J") };
            let got = outputs.jacobian[(column * memory.count) as usize + instance];
            let place = || format!("column {column} of point {instance} is {got:e}");
            let Bounded { value, error } = expected;
            if expected.flagged() {
                share.flagged += 1;
                if got.is_finite() {
                    return Err(format!("{} and should be the flag", place()));
                }
            } else if expected.known() {
                share.known += 1;
                // What is NaN is not near.
                let near = (got - value).abs() <= error;
                if !near {
                    return Err(format!("{}, not {value:e} ± {error:e}", place()));
                }
            } else {
                share.unknown += 1;
            }
        }
    }
    Ok(share)
}

/// How a device rounds reals of a kind.
pub fn arithmetic(device: &Device, kind: Kind) -> Arithmetic {
    match (device.backend(), kind, device.precision()) {
        ("webgpu", Kind::Double, _) => DOUBLES,
        ("webgpu", ..) => WEBGPU,
        ("cuda", _, precision) => cuda(precision),
        (_, _, Precision::F32) => Arithmetic::F32,
        _ => Arithmetic::F64,
    }
}

/// IEEE's quotients and roots, and in f32 functions that are made for WebGPU.
pub fn cuda(precision: Precision) -> Arithmetic {
    if precision == Precision::F32 { Arithmetic { tiny: WEBGPU.tiny, ..Arithmetic::F32 } } else { Arithmetic::F64 }
}

/// One program on a device.
pub fn check(device: &mut Device, traced: &Traced, points: &[Point]) -> Result<Share, Outcome> {
    check_in(device, Kind::Real, traced, points)
}

/// The same in reals of a kind.
pub fn check_in(device: &mut Device, kind: Kind, traced: &Traced, points: &[Point]) -> Result<Share, Outcome> {
    let Term { programs, memory } = engine::term(traced, points, &[1.0], true).map_err(|_| Outcome::Refused)?;
    let program = &programs.linearize;
    let outputs = play_in(device, kind, program, &memory);
    compare(program, &memory, &outputs, arithmetic(device, kind)).map_err(Outcome::Differs)
}

/// Many programs as one kernel: compiling is dear.
#[derive(Default)]
pub struct Merged {
    pub program: Program,
    pub memory: Memory,
    /// For every program its first column of what is stored.
    pub columns: Vec<u32>,
    shared: Vec<f64>,
    varying: Vec<f64>,
    bases: Vec<u32>,
    indices: Vec<u32>,
}

impl Merged {
    /// All programs have as many instances.
    pub fn new<'a>(terms: impl Iterator<Item = &'a Term>) -> Self {
        let mut merged = Self::default();
        terms.for_each(|term| merged.push(term));
        let Self { program, memory, bases, indices, shared, varying, .. } = &mut merged;
        program.header = bases.len() as u32;
        program.shared = shared.len() as u32;
        memory.data = [shared.as_slice(), varying].concat();
        memory.index = [bases.as_slice(), indices].concat();
        memory.vector = vec![0.0; memory.arena.len()];
        merged
    }

    fn push(&mut self, Term { programs, memory }: &Term) {
        let from = &programs.linearize;
        let count = memory.count as usize;
        let (into, all) = (&mut self.program, &mut self.memory);
        all.count = memory.count;
        let (tables, addresses) = (self.bases.len() as u32, into.addresses.len() as u32);
        let (shared, varying) = (self.shared.len() as u32, (self.varying.len() / count) as u32);
        let (values, stored) = (into.instructions.len() as Value, (all.jacobian.len() / count) as u32);
        let header = from.header as usize;
        self.bases.extend(memory.index[..header].iter().map(|base| base + all.arena.len() as u32));
        self.indices.extend(&memory.index[header..]);
        all.arena.extend(&memory.arena);
        self.shared.extend(&memory.data[..from.shared as usize]);
        self.varying.extend(&memory.data[from.shared as usize..]);
        all.jacobian.extend(&memory.jacobian);
        self.columns.push(stored);
        let moved = |a: &Address| Address { base: a.base + tables, column: a.column + tables, stride: a.stride };
        into.addresses.extend(from.addresses.iter().map(moved));
        let at = |value: Value| value + values;
        into.instructions.extend(from.instructions.iter().map(|instruction| match *instruction {
            Instruction::Const(value) => Instruction::Const(value),
            Instruction::Load(load) => Instruction::Load(match load {
                Load::Arena { address, component } => Load::Arena { address: address + addresses, component },
                Load::Vector { address, component } => Load::Vector { address: address + addresses, component },
                Load::Shared(k) => Load::Shared(k + shared),
                Load::Data(k) => Load::Data(k + varying),
                Load::Jacobian(k) => Load::Jacobian(k + stored),
                Load::Given(_) => unreachable!("nothing stands around these programs"),
            }),
            Instruction::Unary(operation, a) => Instruction::Unary(operation, at(a)),
            Instruction::Binary(operation, a, b) => Instruction::Binary(operation, at(a), at(b)),
            Instruction::MulAdd(a, b, c) => Instruction::MulAdd(at(a), at(b), at(c)),
            Instruction::Select { condition, then, otherwise } => {
                Instruction::Select { condition: at(condition), then: at(then), otherwise: at(otherwise) }
            }
        }));
        into.stores.extend(from.stores.iter().map(|(store, value)| match *store {
            Store::Jacobian(column) => (Store::Jacobian(column + stored), at(*value)),
            other => (other, at(*value)),
        }));
    }

    /// What one of the programs stored.
    pub fn outputs_of(&self, number: usize, term: &Term, outputs: &Outputs) -> Outputs {
        let first = (self.columns[number] * term.memory.count) as usize;
        let jacobian = outputs.jacobian[first..first + term.memory.jacobian.len()].to_vec();
        Outputs { vector: Vec::new(), jacobian }
    }
}
