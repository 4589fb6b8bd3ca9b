//! The block interpreter: a program over blocks of lanes.
//!
//! Interpreting scalar by scalar would cost more than the arithmetic. Here every step is one loop over a block of
//! [`LANES`](lanes::LANES) instances, so that its dispatch is paid once a block and the loop itself is vector code.
//! [`allocate`] turns the program into steps on registers, [`lanes`] has the register file, [`operations`] the loops, and
//! [`exponential`], [`logarithm`], [`power`], [`trig`], [`inverse_trig`], [`hyperbolic`] and [`error_function`] the
//! mathematics. [`parts`] spreads a dispatch over threads, [`instructions`] over the width of the processor.
//!
//! **Same bits, however the work is cut, and wherever.** What a lane computes depends on that lane alone: there is no
//! reduction, no choice made for a whole block, and the lanes past the end of a chunk compute on a copy of its last item
//! and are never stored. Nothing is fused, and no function is the platform's own.

mod allocate;
mod error_function;
pub(super) mod exponential;
mod fit;
mod fused;
mod hyperbolic;
mod instructions;
mod interpreter;
mod inverse_trig;
mod lanes;
mod logarithm;
mod merged;
pub(super) mod numbers;
mod operations;
mod parts;
mod power;
mod reduced;
mod tiles;
mod trig;

pub use allocate::View;
pub(super) use allocate::{Allocation, Schedule, Source, Step, in_place, view};
pub use exponential::{exp, exp_single};
pub use fit::FitBlocks;
pub use fused::{FusedProgram, PRODUCT_ROWS, elements_read};
pub use instructions::{Instructions, SimdKernel};
pub use lanes::{LANES, Lanes};
pub use merged::MergedTiles;
pub(super) use operations::{binary, unary};
pub use parts::threads;
pub use reduced::ReducedTiles;
pub use tiles::TileProgram;
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub use tiles::forget_tile;
pub(super) use trig::sin_cos;
#[cfg(target_arch = "wasm32")]
pub(super) use {interpreter::Inputs, parts::Part};

use crate::real::Real;
#[cfg(target_arch = "wasm32")]
use crate::wasm::{Linked, Ready};
use crate::{Bindings, Evaluator, Pieces, Workgroups};
use interpreter::Bound;
use leastwise_program::{Address, Program, Store};
use leastwise_recording::Precision;
use leastwise_recording::binding::*;
#[cfg(target_arch = "wasm32")]
use std::sync::Arc;
#[cfg(not(target_arch = "wasm32"))]
use {interpreter::Inputs, parts::Part};

/// The module that a dispatch is run by, if not the interpreter alone.
#[cfg(target_arch = "wasm32")]
type Compiled = Arc<Ready>;
#[cfg(not(target_arch = "wasm32"))]
type Compiled = std::convert::Infallible;

fn precision<R: Real>() -> Precision {
    if size_of::<R>() == size_of::<f64>() { Precision::F64 } else { Precision::F32 }
}

/// How many steps a module does while the interpreter does one, about (benches/results).
const BY_MODULES: usize = 3;

/// A program with registers assigned.
pub struct BlockProgram {
    addresses: Vec<Address>,
    header: usize,
    shared: usize,
    guard: Option<u32>,
    allocation: Allocation,
    /// Numbers of targets, by buffer and column.
    order: Vec<u32>,
    instructions: Instructions,
    /// True if eᵃ is computed in the arithmetic of the reals ([`Real::exp`]).
    has_own_exp: bool,
    #[cfg(target_arch = "wasm32")]
    linked: Linked,
    #[cfg(target_arch = "wasm32")]
    key: u64,
}

impl BlockProgram {
    /// The interpreter's form of a program, for the widest instructions of this processor.
    pub fn new(program: &Program) -> Self {
        Self::with_instructions(program, Instructions::best())
    }

    /// The interpreter's form of a program, for a set of instructions.
    pub fn with_instructions(program: &Program, instructions: Instructions) -> Self {
        let mut program = program.clone();
        program.keep_used_addresses();
        let allocation = Allocation::new(&program);
        // By counting: columns are few more than targets.
        let mut places: [Vec<u32>; 2] = Default::default();
        for (number, target) in (0..).zip(&allocation.targets) {
            let (buffer, column) = match *target {
                Store::Column(column) => (0, column as usize),
                Store::Jacobian(column) => (1, column as usize),
                // Only tiles have these, which are cut elsewhere.
                Store::Tile(_) => continue,
            };
            let of_buffer: &mut Vec<u32> = &mut places[buffer];
            of_buffer.resize(of_buffer.len().max(column + 1), u32::MAX);
            of_buffer[column] = number;
        }
        let order = places.concat().into_iter().filter(|target| *target != u32::MAX).collect();
        Self {
            order,
            allocation,
            header: program.header as usize,
            shared: program.shared as usize,
            guard: program.guard,
            #[cfg(target_arch = "wasm32")]
            key: program.key(),
            #[cfg(target_arch = "wasm32")]
            linked: Linked::new(&program),
            addresses: program.addresses,
            instructions,
            has_own_exp: false,
        }
    }

    /// Number of its steps.
    pub fn length(&self) -> u32 {
        self.allocation.steps.len() as u32
    }

    /// By what tuning tables know it.
    #[cfg(target_arch = "wasm32")]
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The modules that it may be run by instead.
    #[cfg(target_arch = "wasm32")]
    pub fn linked(&self) -> &Linked {
        &self.linked
    }

    /// Computes the items of `work`.
    ///
    /// # Panics
    /// When an index leads out of its table: tables are validated before they come here.
    pub fn run<R: Real>(&self, work: &Workgroups, mut bindings: Bindings<R>, evaluator: Evaluator) {
        let items = work.items();
        if items.is_empty() || self.guard.is_some_and(|element| bindings.read(STATE)[element as usize] != R::ZERO) {
            return;
        }
        let count = work.params.count as usize;
        let writes_jacobian = self.allocation.targets.iter().any(|target| matches!(target, Store::Jacobian(_)));
        let (jacobian_in, jacobian): (&[R], &mut [R]) = match writes_jacobian {
            true => (&[], bindings.write(JACOBIAN)),
            false => (bindings.read(JACOBIAN), &mut []),
        };
        let index = bindings.words(INDEX);
        let inputs = self.inputs(&mut bindings, index, jacobian_in, count);
        let columns = self.targets(bindings.write(VECTOR_OUT), jacobian, count);
        let compiled = self.compiled(evaluator, precision::<R>());
        let parts = parts::parts(columns, items, self.steps(&compiled));
        parts::run(parts, |part| self.compute(&inputs, part, &compiled));
    }

    /// Steps of an item, each of which takes as long as one of the interpreter's.
    fn steps(&self, compiled: &Option<Compiled>) -> usize {
        let steps = self.allocation.steps.len();
        if compiled.is_some() { steps.div_ceil(BY_MODULES) } else { steps }
    }

    #[cfg(target_arch = "wasm32")]
    fn compiled(&self, evaluator: Evaluator, precision: Precision) -> Option<Compiled> {
        if evaluator == Evaluator::Compiled { self.linked.ready(precision) } else { None }
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn compiled(&self, _: Evaluator, _: Precision) -> Option<Compiled> {
        None
    }

    /// Computes a part, by the interpreter where there is nothing else that can.
    #[cfg_attr(not(target_arch = "wasm32"), expect(unused_variables, unused_mut))]
    fn compute<R: Real>(&self, inputs: &Inputs<R>, mut part: Part<R>, compiled: &Option<Compiled>) {
        #[cfg(target_arch = "wasm32")]
        if compiled.as_ref().is_some_and(|module| module.run(inputs, &mut part)) {
            return;
        }
        self.instructions.run(Bound { program: self, inputs, part });
    }

    /// What is read: columns of `count` items.
    fn inputs<'a, R: Real>(&self, bindings: &mut Bindings<'a, R>, index: &'a [u32], jacobian: &'a [R], count: usize) -> Inputs<'a, R> {
        let (arena, vector, data) = (bindings.read(ARENA), bindings.read(VECTOR_IN), bindings.read(DATA));
        self.inputs_of([arena, vector, data], index, jacobian, count)
    }

    /// The same of slices.
    fn inputs_of<'a, R: Real>(
        &self,
        [arena, vector, data]: [&'a [R]; 3],
        index: &'a [u32],
        jacobian: &'a [R],
        count: usize,
    ) -> Inputs<'a, R> {
        let view = |view: &View| match *view {
            View::Data(column) => &data[self.shared + column as usize * count..][..count],
            View::Jacobian(column) => &jacobian[column as usize * count..][..count],
            View::Given(_) => &[],
        };
        let column = |address: &Address| &index[self.header + address.column as usize * count..][..count];
        Inputs {
            count,
            arena,
            vector,
            data,
            bases: self.addresses.iter().map(|address| index[address.base as usize]).collect(),
            indices: self.addresses.iter().map(column).collect(),
            views: self.allocation.views.iter().map(view).collect(),
        }
    }

    /// The columns that are written.
    fn targets<'a, R: Real>(&self, out: &'a mut [R], jacobian: &'a mut [R], count: usize) -> Vec<&'a mut [R]> {
        let mut targets: Vec<&mut [R]> = self.allocation.targets.iter().map(|_| &mut [][..]).collect();
        let [mut out, mut jacobian] = [out, jacobian].map(Pieces::new);
        for &number in &self.order {
            let (buffer, column) = match self.allocation.targets[number as usize] {
                Store::Column(column) => (&mut out, column as usize),
                Store::Jacobian(column) => (&mut jacobian, column as usize),
                Store::Tile(_) => continue,
            };
            targets[number as usize] = buffer.take(column * count..(column + 1) * count);
        }
        targets
    }
}
