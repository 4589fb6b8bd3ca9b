//! Runs the steps of a program over the blocks of a part.

use super::BlockProgram;
use super::allocate::{Place, Source, Step, TARGET, Uniform};
use super::fused::{streamed, streamed_of_two, streamed_sin_cos};
use super::instructions::SimdKernel;
use super::lanes::{Columns, LANES, Operands, Registers, gather, pad, padded, width};
use super::operations::{binary, multiply_add, own_exp, select, unary};
use super::parts::Part;
use super::trig::sin_cos;
use crate::real::Real;
use leastwise_program::Unary;
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
        let width = width(items.len());
        let mut registers = self.registers(width);
        let mut addresses = vec![0; indices.len() * width];
        for start in items.clone().step_by(width) {
            let block = start..items.end.min(start + width);
            let (short_indices, short_views);
            let (indices, views) = if start + width <= *count {
                (Columns::Memory { columns: indices, start, width }, Columns::Memory { columns: views, start, width })
            } else {
                (short_indices, short_views) = (padded(indices, start, width), padded(views, start, width));
                (Columns::Padded { lanes: &short_indices, width }, Columns::Padded { lanes: &short_views, width })
            };
            self.addresses(&mut addresses, width, indices);
            let steps = &self.program.allocation.steps;
            self.block::<false>(steps, &mut registers, &addresses, views, block.start - items.start..block.end - items.start);
        }
    }
}

impl<R: Real> Bound<'_, '_, R> {
    /// The register file of blocks of so many lanes, its uniform registers filled.
    pub fn registers(&self, width: usize) -> Registers<R> {
        let allocation = &self.program.allocation;
        let mut registers = Registers::new(allocation.registers, width);
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
    fn addresses(&self, addresses: &mut [u32], width: usize, indices: Columns<u32>) {
        for (number, (lanes, address)) in addresses.chunks_exact_mut(width).zip(&self.program.addresses).enumerate() {
            let (indices, base) = (indices.block(number), self.inputs.bases[number]);
            for (to, index) in lanes.iter_mut().zip(indices) {
                *to = index.wrapping_mul(address.stride).wrapping_add(base);
            }
        }
    }

    /// One block: `items` counts from the beginning of the part. What is streamed may have more lanes than [`LANES`], and steps whose
    /// outputs are in targets.
    #[inline(always)]
    pub fn block<const STREAMED: bool>(
        &mut self,
        steps: &[Step],
        registers: &mut Registers<R>,
        addresses: &[u32],
        views: Columns<R>,
        items: Range<usize>,
    ) {
        let width = registers.width();
        for step in steps {
            match *step {
                Step::Gather { out, source, address, component } => {
                    let source = match source {
                        Source::Arena => self.inputs.arena,
                        Source::Vector => self.inputs.vector,
                    };
                    gather(registers.output(out), &source[component as usize..], &addresses[address as usize * width..]);
                }
                Step::CopyJacobian { out, target } => {
                    pad(registers.output(out), self.part.targets[target as usize], items.start);
                }
                Step::Unary { out, operation, operand } => {
                    let (out, operands) = output::<R, STREAMED>(registers, &mut self.part, out, views, &items);
                    // In f64 they are the same.
                    match operation {
                        Unary::Exp if self.program.has_own_exp && size_of::<R>() == 4 => own_exp(out, operands.at(operand)),
                        _ if STREAMED => streamed(operation, out, operands.at(operand)),
                        _ => unary(operation, out, operands.at(operand)),
                    }
                }
                Step::SinCos { sin, cos, operand } => {
                    let ([sin, cos], x) = registers.split_two([sin, cos], operand, views);
                    if STREAMED { streamed_sin_cos(x, sin, cos) } else { sin_cos(x, sin, cos) }
                }
                Step::Binary { out, operation, operands: [a, b] } => {
                    let (out, operands) = output::<R, STREAMED>(registers, &mut self.part, out, views, &items);
                    let (a, b) = (operands.at(a), operands.at(b));
                    if STREAMED { streamed_of_two(operation, out, a, b) } else { binary(operation, out, a, b) }
                }
                Step::MulAdd { out, operands: [a, b, c] } => {
                    let (out, operands) = output::<R, STREAMED>(registers, &mut self.part, out, views, &items);
                    multiply_add(out, operands.at(a), operands.at(b), operands.at(c));
                }
                Step::Select { out, operands: [condition, then, otherwise] } => {
                    let (out, operands) = output::<R, STREAMED>(registers, &mut self.part, out, views, &items);
                    select(out, operands.at(condition), operands.at(then), operands.at(otherwise));
                }
                Step::Store { target, value } => {
                    let value = registers.read(value, views);
                    let target = &mut self.part.targets[target as usize][items.clone()];
                    // One of a few items is not worth a call.
                    match target.as_mut_array::<LANES>().zip(value.as_array()) {
                        Some((block, value)) => *block = *value,
                        None => target.iter_mut().zip(value).for_each(|(to, from)| *to = *from),
                    }
                }
            }
        }
    }
}

/// A step's output, and where its operands are: elsewhere.
#[inline(always)]
fn output<'a, R: Real, const STREAMED: bool>(
    registers: &'a mut Registers<R>,
    part: &'a mut Part<'_, R>,
    out: Place,
    views: Columns<'a, R>,
    items: &Range<usize>,
) -> (&'a mut [R], Operands<'a, R>) {
    if STREAMED && out & TARGET != 0 {
        return (&mut part.targets[(out & !TARGET) as usize][items.clone()], registers.operands(views));
    }
    registers.split(out, views)
}
