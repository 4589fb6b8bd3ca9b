//! Elimination of variables on the device, for all that does it: which tables go, C⁻¹, and the way back to what was eliminated.

use super::super::super::ranks::Fold;
use super::super::super::{Workspace, state};
use super::part;
use leastwise_device::{Arguments, Command, Device, Dispatch, KernelId, KernelSource, Slice, StaticKernel};
use leastwise_error::Error;
use leastwise_kernels::{pcg as kernels, reduced};
use leastwise_problem::{Problem, Table};

/// Elimination of whole tables of a problem, while its structure stays.
pub struct Eliminated {
    /// For every table of the problem, whether it is eliminated.
    tables: Vec<bool>,
    /// Batches whose instances link kept variables with eliminated ones.
    pub batches: Vec<usize>,
    /// `invert` and `substitute`.
    kernels: [KernelId; 2],
}

impl Eliminated {
    /// Requests the kernels.
    pub fn new(device: &mut Device, tables: Vec<bool>, batches: Vec<usize>) -> Result<Self, Error> {
        let source = |kernel: StaticKernel| KernelSource::of_static(kernel).of_inner();
        let numbers = device.kernels(&[source(reduced::Invert::KERNEL), source(reduced::Substitute::KERNEL)])?;
        Ok(Self { tables, batches, kernels: [numbers[0], numbers[1]] })
    }

    /// True if a table is eliminated.
    pub fn is_gone(&self, table: u32) -> bool {
        self.tables[table as usize]
    }

    /// The tables that are eliminated, or those that are kept.
    pub fn tables<'a>(&'a self, problem: &'a Problem, gone: bool) -> impl Iterator<Item = &'a Table> {
        problem.tables().iter().zip(&self.tables).filter(move |(table, is_gone)| table.moving && **is_gone == gone).map(|(table, _)| table)
    }

    /// The same without the copies of variables that other ranks own.
    pub fn counted<'a>(&'a self, problem: &'a Problem, gone: bool) -> impl Iterator<Item = &'a Table> {
        problem.counted().filter(move |part| self.has(problem, part) == gone)
    }

    /// Copies of variables that other ranks own.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn copies<'a>(&'a self, problem: &'a Problem, gone: bool) -> impl Iterator<Item = &'a Table> {
        problem.copies().filter(move |part| self.has(problem, part) == gone)
    }

    /// Whether a table is eliminated that this one is a part of.
    fn has(&self, problem: &Problem, part: &Table) -> bool {
        self.tables(problem, true).any(|table| (table.vector..table.vector + table.unknowns()).contains(&part.vector))
    }

    /// The parts of a vector that belong to these tables, as few as they are: tables next to each other are one.
    pub fn ranges(&self, problem: &Problem, gone: bool) -> Vec<(u32, u32)> {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let mut is_next = false;
        for (table, is_gone) in problem.tables().iter().zip(&self.tables).filter(|(table, _)| table.moving) {
            match ranges.last_mut() {
                Some((first, len)) if is_next && *is_gone == gone => *len = table.vector + table.unknowns() - *first,
                _ if *is_gone == gone => ranges.push((table.vector, table.unknowns())),
                _ => {}
            }
            is_next = *is_gone == gone;
        }
        ranges
    }

    /// Clears parts of a vector.
    pub fn clear(&self, vector: Slice, ranges: &[(u32, u32)], commands: &mut Vec<Command>) {
        commands.extend(ranges.iter().map(|&range| Command::Clear { slice: part(vector, range) }));
    }

    /// Inverts the blocks of some tables.
    pub fn invert(&self, work: &Workspace, problem: &Problem, gone: bool, blocks: Slice, commands: &mut Vec<Command>) {
        let free = work.free();
        for table in self.tables(problem, gone) {
            let (vector, width, block) = (table.vector, table.tangent, table.block);
            let args = reduced::Invert { vector, width, block, masked: u32::from(free.is_some()) };
            let bindings = reduced::InvertBindings {
                scale: work.scale,
                free: free.unwrap_or(work.scale),
                floors: work.blocks,
                blocks,
                inverse: work.inverse,
                state: work.state,
            };
            commands.push(Command::Dispatch(Dispatch::of(self.kernels[0], args, table.count, bindings)));
        }
    }

    /// x = −C⁻¹(product + gradient) of what is eliminated.
    pub fn substitute(&self, work: &Workspace, problem: &Problem, [product, x]: [Slice; 2], whole: bool, commands: &mut Vec<Command>) {
        let guard = if whole { state::ALWAYS } else { state::SOLVED };
        for table in self.tables(problem, true) {
            let (vector, width, block) = (table.vector, table.tangent, table.block);
            let args = reduced::Substitute { vector, width, block, whole: u32::from(whole), guard };
            let bindings = reduced::SubstituteBindings { product, gradient: work.gradient, x, inverse: work.inverse, state: work.state };
            commands.push(Command::Dispatch(Dispatch::of(self.kernels[1], args, table.count, bindings)));
        }
    }

    /// s = 0, r = −gradient and z = M⁻¹r of what is kept, with rᵀz and the greatest |gradient|; of what is eliminated, too, where there is a
    /// vector for its z.
    pub fn begin(&self, work: &Workspace, problem: &Problem, (gradient, of_gone): (Slice, Option<Slice>), commands: &mut Vec<Command>) {
        let parts = [(true, of_gone), (false, Some(work.z))];
        let parts = parts.into_iter().filter_map(|(gone, z)| Some((gone, z?)));
        let mut partials = 0;
        for (gone, z) in parts.clone() {
            for table in self.counted(problem, gone) {
                partials += self.start(work, table, [gradient, z], partials, commands);
            }
        }
        // Partial sums of copies lie behind, where nobody looks at them.
        #[cfg(not(target_arch = "wasm32"))]
        {
            let mut behind = partials;
            for (gone, z) in parts {
                for table in self.copies(problem, gone) {
                    behind += self.start(work, table, [gradient, z], behind, commands);
                }
            }
        }
        let partials = work.combine_inner("start of conjugate gradients", &[Fold::Sum, Fold::Largest], partials, commands);
        commands.push(work.reduce_inner(kernels::Begin { partial_count: partials, distance: work.partial_distance }));
    }

    /// s = 0, r = −gradient and z = M⁻¹r of a table; gives the number of partial sums.
    fn start(&self, work: &Workspace, table: &Table, [gradient, z]: [Slice; 2], partial: u32, commands: &mut Vec<Command>) -> u32 {
        let Table { vector, tangent: width, block, count: variables, .. } = *table;
        let args = kernels::Start { vector, width, block, partial, distance: work.partial_distance, variables };
        let bindings = kernels::StartBindings {
            residual: work.residual,
            step: work.step,
            gradient,
            z,
            inverse: work.inverse,
            partials: work.inner_partials,
        };
        let (command, partials) = work.partial(args, variables, bindings);
        commands.push(command);
        partials
    }

    /// Marks the system as unsolved: products are made.
    pub fn unsolved(work: &Workspace) -> Command {
        Command::Clear { slice: Slice { offset: state::SOLVED, len: 1, ..work.state } }
    }

    /// q = g + E y on the rows of what is kept, for y = −C⁻¹g_c, which is in p: with the right-hand side's sign turned. g is in q before.
    pub fn reduce_gradient(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        work.clear_copies(problem, work.q, commands);
        for &batch in &self.batches {
            work.multiply_batch(&problem.batches()[batch], work.q, commands);
        }
        work.mask(work.q, state::SOLVED, problem, commands);
        work.complete_vector(work.q, commands);
    }

    /// s_c = −C⁻¹(g_c + Eᵀ s_b), the part of the step that what is kept leads to.
    pub fn back(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        let (gone, whole) = (self.ranges(problem, true), (0, problem.vector_len()));
        commands.push(Self::unsolved(work));
        self.clear(work.step, &gone, commands);
        commands.push(Command::Copy { from: part(work.step, whole), to: part(work.p, whole) });
        self.clear(work.q, &gone, commands);
        for &batch in &self.batches {
            work.multiply_batch(&problem.batches()[batch], work.q, commands);
        }
        self.substitute(work, problem, [work.q, work.step], true, commands);
    }
}
