//! The block interpreter: a program over blocks of lanes.
//!
//! Interpreting scalar by scalar would cost more than the arithmetic. Here every step is one loop over a block of
//! [`LANES`](lanes::LANES) instances, so that its dispatch is paid once a block and the loop itself is vector code.
//! [`allocate`] turns the program into steps on registers, [`lanes`] has the register file and the loops, [`trig`]
//! sin and cos over lanes.
//!
//! **Same bits, however the work is cut.** What a lane computes depends on that lane alone: there is no reduction, no
//! choice made for a whole block, and the lanes past the end of a chunk compute on a copy of its last item and are
//! never stored.

mod allocate;
mod error_function;
mod exponential;
mod hyperbolic;
mod inverse_trig;
mod lanes;
mod logarithm;
mod numbers;
mod operations;
mod power;
mod trig;

use super::{Address, Program, Store};
use crate::device::binding::*;
use crate::device::cpu::{Bindings, Work};
use crate::real::Real;
use allocate::{Allocation, Source, Step, Uniform, View};
use lanes::{Columns, LANES, Registers, padded};
use operations::{binary, multiply_add, select, unary};
use std::ops::Range;

/// A program with registers assigned.
pub struct BlockProgram {
    addresses: Vec<Address>,
    header: usize,
    shared: usize,
    guard: Option<u32>,
    allocation: Allocation,
}

/// What a run is bound to.
struct Memory<'a, R> {
    count: usize,
    arena: &'a [R],
    vector: &'a [R],
    /// Where each table begins in the gathered buffer, an entry an address.
    bases: Vec<u32>,
    out: &'a mut [R],
    jacobian: &'a mut [R],
}

impl BlockProgram {
    pub fn new(program: &Program) -> Self {
        let mut program = program.clone();
        program.keep_used_addresses();
        Self {
            allocation: Allocation::new(&program),
            header: program.header as usize,
            shared: program.shared as usize,
            guard: program.guard,
            addresses: program.addresses,
        }
    }

    /// Computes the items of `work`.
    ///
    /// # Panics
    /// When an index leads out of its table: tables are validated before they come here.
    pub fn run<R: Real>(&self, work: &Work, mut bindings: Bindings<R>) {
        let items = work.items();
        if items.is_empty() || self.guard.is_some_and(|element| bindings.read(STATE)[element as usize] != R::ZERO) {
            return;
        }
        let count = work.params.count as usize;
        let writes_jacobian = self.allocation.steps.iter().any(|step| matches!(step, Step::Store { to: Store::Jacobian(_), .. }));
        let (data, index) = (bindings.read(DATA), bindings.index());
        let (jacobian_in, jacobian): (&[R], &mut [R]) = match writes_jacobian {
            true => (&[], bindings.write(JACOBIAN)),
            false => (bindings.read(JACOBIAN), &mut []),
        };
        let mut memory = Memory {
            count,
            arena: bindings.read(ARENA),
            vector: bindings.read(VECTOR_IN),
            bases: self.addresses.iter().map(|address| index[address.base as usize]).collect(),
            out: bindings.write(VECTOR_OUT),
            jacobian,
        };
        let mut registers = self.registers(data);
        let column_of = |view: &View| match *view {
            View::Data(column) => &data[self.shared + column as usize * count..][..count],
            View::Jacobian(column) => &jacobian_in[column as usize * count..][..count],
        };
        let views: Vec<&[R]> = self.allocation.views.iter().map(column_of).collect();
        let indices: Vec<&[u32]> =
            self.addresses.iter().map(|address| &index[self.header + address.column as usize * count..][..count]).collect();
        let mut addresses = vec![[0; LANES]; self.addresses.len()];
        for start in items.clone().step_by(LANES) {
            let block = start..items.end.min(start + LANES);
            let (short_indices, short_views);
            let (indices, views) = if start + LANES <= count {
                (Columns::Memory { columns: &indices, start }, Columns::Memory { columns: &views, start })
            } else {
                short_indices = indices.iter().map(|column| padded(column, start)).collect::<Vec<_>>();
                short_views = views.iter().map(|column| padded(column, start)).collect::<Vec<_>>();
                (Columns::Padded(&short_indices), Columns::Padded(&short_views))
            };
            self.addresses(&mut addresses, indices, &memory.bases);
            self.block(&mut registers, &addresses, views, &mut memory, block);
        }
    }

    /// The register file, its uniform registers filled.
    fn registers<R: Real>(&self, data: &[R]) -> Registers<R> {
        let mut registers = Registers::new(self.allocation.registers);
        for (register, uniform) in self.allocation.uniforms.iter().enumerate() {
            let value = match *uniform {
                Uniform::Const(value) => R::from_f64(value),
                Uniform::Shared(k) => data[k as usize],
            };
            registers.fill(register, value);
        }
        registers
    }

    /// Wraps as it does on a GPU; where it leads is checked by the gathers.
    fn addresses(&self, addresses: &mut [[u32; LANES]], indices: Columns<u32>, bases: &[u32]) {
        for (number, (lanes, address)) in addresses.iter_mut().zip(&self.addresses).enumerate() {
            let indices = indices.block(number);
            for lane in 0..LANES {
                lanes[lane] = indices[lane].wrapping_mul(address.stride).wrapping_add(bases[number]);
            }
        }
    }

    fn block<R: Real>(
        &self,
        registers: &mut Registers<R>,
        addresses: &[[u32; LANES]],
        views: Columns<R>,
        memory: &mut Memory<R>,
        items: Range<usize>,
    ) {
        for step in &self.allocation.steps {
            match *step {
                Step::Gather { out, source, address, component } => {
                    let source = match source {
                        Source::Arena => memory.arena,
                        Source::Vector => memory.vector,
                    };
                    lanes::gather(registers.output(out), &source[component as usize..], &addresses[address as usize]);
                }
                Step::CopyJacobian { out, column } => {
                    let column = &memory.jacobian[column as usize * memory.count..][..memory.count];
                    *registers.output(out) = padded(column, items.start);
                }
                Step::Unary { out, operation, operand } => {
                    let (out, a) = registers.split(out, [operand], views);
                    unary(operation, out, a);
                }
                Step::SinCos { sin, cos, operand } => {
                    let ([sin, cos], x) = registers.split_two([sin, cos], operand, views);
                    trig::sin_cos(x, sin, cos);
                }
                Step::Binary { out, operation, operands } => {
                    let (out, operands) = registers.split(out, operands, views);
                    binary(operation, out, operands);
                }
                Step::MulAdd { out, operands } => {
                    let (out, operands) = registers.split(out, operands, views);
                    multiply_add(out, operands);
                }
                Step::Select { out, operands } => {
                    let (out, operands) = registers.split(out, operands, views);
                    select(out, operands);
                }
                Step::Store { to, value } => {
                    let (target, column) = match to {
                        Store::Column(column) => (&mut *memory.out, column),
                        Store::Jacobian(column) => (&mut *memory.jacobian, column),
                    };
                    let target = &mut target[column as usize * memory.count..][items.clone()];
                    target.copy_from_slice(&registers.read(value, views)[..items.len()]);
                }
            }
        }
    }
}
