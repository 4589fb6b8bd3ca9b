//! The block interpreter: a program over blocks of lanes, one tight loop an instruction.

use super::{Address, Binary, Instruction, Load, Program, Store, Unary};
use crate::device::binding::*;
use crate::device::cpu::{Bindings, Work};
use crate::real::Real;

/// Items that one instruction does at a time.
const LANES: usize = 64;

type Block<R> = [R; LANES];

/// A program with registers assigned.
pub struct BlockProgram {
    addresses: Vec<Address>,
    header: usize,
    shared: usize,
    guard: Option<u32>,
    instructions: Vec<(Instruction, usize)>,
    stores: Vec<(Store, usize)>,
    registers: usize,
}

impl BlockProgram {
    pub fn new(program: &Program) -> Self {
        let instructions: Vec<_> = program.instructions.iter().copied().enumerate().map(|(k, i)| (i, k)).collect();
        Self {
            addresses: program.addresses.clone(),
            header: program.header as usize,
            shared: program.shared as usize,
            guard: program.guard,
            registers: instructions.len(),
            stores: program.stores.iter().map(|(s, v)| (*s, *v as usize)).collect(),
            instructions,
        }
    }

    pub fn run<R: Real>(&self, work: &Work, mut bindings: Bindings<R>) {
        if let Some(guard) = self.guard
            && bindings.read(STATE)[guard as usize] != R::ZERO
        {
            return;
        }
        let count = work.params.count as usize;
        let (arena, data, index, vector) = (bindings.read(ARENA), bindings.read(DATA), bindings.index(), bindings.read(VECTOR_IN));
        let out = bindings.write(VECTOR_OUT);
        let stores_j = self.stores.iter().any(|(s, _)| matches!(s, Store::Jacobian(_)));
        let empty: &mut [R] = &mut [];
        let (jr, jw): (&[R], &mut [R]) = if stores_j { (&[], bindings.write(JACOBIAN)) } else { (bindings.read(JACOBIAN), empty) };
        let mut registers = vec![[R::ZERO; LANES]; self.registers];
        let mut addresses = vec![[0usize; LANES]; self.addresses.len()];
        let items = work.items();
        let mut start = items.start;
        while start < items.end {
            let lanes = LANES.min(items.end - start);
            for (a, block) in self.addresses.iter().zip(&mut addresses) {
                let col = &index[self.header + a.column as usize * count + start..][..lanes];
                for (to, i) in block.iter_mut().zip(col) {
                    *to = index[a.base as usize] as usize + *i as usize * a.stride as usize;
                }
            }
            for (instruction, to) in &self.instructions {
                let mut value: Block<R> = [R::ZERO; LANES];
                let column =
                    |source: &[R], first: usize, value: &mut Block<R>| value[..lanes].copy_from_slice(&source[first + start..][..lanes]);
                match *instruction {
                    Instruction::Const(x) => value = [R::from_f64(x); LANES],
                    Instruction::Load(load) => match load {
                        Load::Arena { address, component } => {
                            for l in 0..lanes {
                                value[l] = arena[addresses[address as usize][l] + component as usize]
                            }
                        }
                        Load::Vector { address, component } => {
                            for l in 0..lanes {
                                value[l] = vector[addresses[address as usize][l] + component as usize]
                            }
                        }
                        Load::Shared(k) => value = [data[k as usize]; LANES],
                        Load::Data(k) => column(data, self.shared + k as usize * count, &mut value),
                        Load::Jacobian(k) => column(jr, k as usize * count, &mut value),
                    },
                    Instruction::Unary(op, a) => {
                        let a = &registers[a as usize];
                        for l in 0..LANES {
                            value[l] = match op {
                                Unary::Neg => -a[l],
                                Unary::Sqrt => a[l].sqrt(),
                                Unary::Sin => a[l].sin(),
                                Unary::Cos => a[l].cos(),
                                Unary::Not => {
                                    if a[l] == R::ZERO {
                                        R::ONE
                                    } else {
                                        R::ZERO
                                    }
                                }
                            }
                        }
                    }
                    Instruction::Binary(op, a, b) => {
                        let (a, b) = (&registers[a as usize], &registers[b as usize]);
                        let t = |c: bool| if c { R::ONE } else { R::ZERO };
                        for l in 0..LANES {
                            value[l] = match op {
                                Binary::Add => a[l] + b[l],
                                Binary::Sub => a[l] - b[l],
                                Binary::Mul => a[l] * b[l],
                                Binary::Div => a[l] / b[l],
                                Binary::Lt => t(a[l] < b[l]),
                                Binary::Le => t(a[l] <= b[l]),
                                Binary::And => t(a[l] != R::ZERO && b[l] != R::ZERO),
                                Binary::Or => t(a[l] != R::ZERO || b[l] != R::ZERO),
                            }
                        }
                    }
                    Instruction::MulAdd(a, b, c) => {
                        let (a, b, c) = (&registers[a as usize], &registers[b as usize], &registers[c as usize]);
                        for l in 0..LANES {
                            value[l] = a[l] * b[l] + c[l]
                        }
                    }
                    Instruction::Select { condition, then, otherwise } => {
                        let (a, b, c) = (&registers[condition as usize], &registers[then as usize], &registers[otherwise as usize]);
                        for l in 0..LANES {
                            value[l] = if a[l] != R::ZERO { b[l] } else { c[l] }
                        }
                    }
                }
                registers[*to] = value;
            }
            for (store, value) in &self.stores {
                match store {
                    Store::Column(k) => out[*k as usize * count + start..][..lanes].copy_from_slice(&registers[*value][..lanes]),
                    Store::Jacobian(k) => jw[*k as usize * count + start..][..lanes].copy_from_slice(&registers[*value][..lanes]),
                }
            }
            start += lanes;
        }
    }
}
