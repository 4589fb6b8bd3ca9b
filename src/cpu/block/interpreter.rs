//! Runs the steps of a program over the blocks of a part.

use super::BlockProgram;
use super::allocate::{Source, Step, Uniform};
use super::instructions::SimdKernel;
use super::lanes::{Columns, LANES, Registers, gather, padded};
use super::operations::{binary, multiply_add, select, unary};
use super::parts::Part;
use super::trig::sin_cos;
use crate::real::Real;
use std::ops::Range;

/// What a run reads, whichever part of it.
pub struct Inputs<'a, R> {
    pub count: usize,
    pub arena: &'a [R],
    pub vector: &'a [R],
    pub data: &'a [R],
    /// Where each table begins in the gathered buffer, an entry an address.
    pub bases: Vec<u32>,
    /// The index column of every address.
    pub indices: Vec<&'a [u32]>,
    pub views: Vec<&'a [R]>,
}

/// A program, bound to what one part of it reads and writes.
pub struct Bound<'a, 'b, R> {
    pub program: &'a BlockProgram,
    pub inputs: &'a Inputs<'a, R>,
    pub part: Part<'b, R>,
}

impl<R: Real> SimdKernel for Bound<'_, '_, R> {
    #[inline(always)]
    fn run(mut self) {
        let Inputs { count, indices, views, .. } = self.inputs;
        let items = self.part.items.clone();
        let mut registers = self.registers();
        let mut addresses = vec![[0; LANES]; indices.len()];
        for start in items.clone().step_by(LANES) {
            let block = start..items.end.min(start + LANES);
            let (short_indices, short_views);
            let (indices, views) = if start + LANES <= *count {
                (Columns::Memory { columns: indices, start }, Columns::Memory { columns: views, start })
            } else {
                short_indices = indices.iter().map(|column| padded(column, start)).collect::<Vec<_>>();
                short_views = views.iter().map(|column| padded(column, start)).collect::<Vec<_>>();
                (Columns::Padded(&short_indices), Columns::Padded(&short_views))
            };
            self.addresses(&mut addresses, indices);
            self.block(&mut registers, &addresses, views, block.start - items.start..block.end - items.start);
        }
    }
}

impl<R: Real> Bound<'_, '_, R> {
    /// The register file, its uniform registers filled.
    pub fn registers(&self) -> Registers<R> {
        let allocation = &self.program.allocation;
        let mut registers = Registers::new(allocation.registers);
        for (register, uniform) in allocation.uniforms.iter().enumerate() {
            let value = match *uniform {
                Uniform::Const(value) => R::from_f64(value),
                Uniform::Shared(k) => self.inputs.data[k as usize],
            };
            registers.fill(register, value);
        }
        registers
    }

    /// Wraps as it does on a GPU; where it leads is checked by the gathers.
    #[inline(always)]
    fn addresses(&self, addresses: &mut [[u32; LANES]], indices: Columns<u32>) {
        for (number, (lanes, address)) in addresses.iter_mut().zip(&self.program.addresses).enumerate() {
            let (indices, base) = (indices.block(number), self.inputs.bases[number]);
            for lane in 0..LANES {
                lanes[lane] = indices[lane].wrapping_mul(address.stride).wrapping_add(base);
            }
        }
    }

    /// One block: `items` counts from the beginning of the part.
    #[inline(always)]
    pub fn block(&mut self, registers: &mut Registers<R>, addresses: &[[u32; LANES]], views: Columns<R>, items: Range<usize>) {
        for step in &self.program.allocation.steps {
            match *step {
                Step::Gather { out, source, address, component } => {
                    let source = match source {
                        Source::Arena => self.inputs.arena,
                        Source::Vector => self.inputs.vector,
                    };
                    gather(registers.output(out), &source[component as usize..], &addresses[address as usize]);
                }
                Step::CopyJacobian { out, target } => {
                    *registers.output(out) = padded(self.part.targets[target as usize], items.start);
                }
                Step::Unary { out, operation, operand } => {
                    let (out, operands) = registers.split(out, views);
                    unary(operation, out, operands.at(operand));
                }
                Step::SinCos { sin, cos, operand } => {
                    let ([sin, cos], x) = registers.split_two([sin, cos], operand, views);
                    sin_cos(x, sin, cos);
                }
                Step::Binary { out, operation, operands: [a, b] } => {
                    let (out, operands) = registers.split(out, views);
                    binary(operation, out, operands.at(a), operands.at(b));
                }
                Step::MulAdd { out, operands: [a, b, c] } => {
                    let (out, operands) = registers.split(out, views);
                    multiply_add(out, operands.at(a), operands.at(b), operands.at(c));
                }
                Step::Select { out, operands: [condition, then, otherwise] } => {
                    let (out, operands) = registers.split(out, views);
                    select(out, operands.at(condition), operands.at(then), operands.at(otherwise));
                }
                Step::Store { target, value } => {
                    let value = registers.read(value, views);
                    let target = &mut self.part.targets[target as usize][items.clone()];
                    match target.as_mut_array() {
                        Some(block) => *block = *value,
                        None => target.copy_from_slice(&value[..items.len()]),
                    }
                }
            }
        }
    }
}
