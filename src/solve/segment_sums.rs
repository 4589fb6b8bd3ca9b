//! Segment sums in a solver: products with ∂S, where a batch has sums over the entries of rows.
//!
//! Every product with ∂S is a pass over the entries, whose columns are then added up along the tree of rows (towards S)
//! or along the incidence lists of the entries' variables (away from it). `program/segment_sums.rs` has the formulas.

use super::workspace::{Gathered, evaluate};
use super::{Workspace, state};
use leastwise_device::{Command, Dispatch, KernelId, Slice, binding::*};
use leastwise_kernels::system;
use leastwise_problem::{Batch, Problem, SegmentSumBatch, SegmentTree, SumChunk, SumPlace};

/// What it takes to sum over entries; also where there is no solver.
#[derive(Clone, Copy)]
pub struct Summing {
    /// The kernel `gather`.
    pub gather: KernelId,
    /// Columns that the entries' kernels store into.
    pub scratch: Slice,
    /// State buffer, which has the kernels' guards.
    pub state: Slice,
}

/// The quantities that rows sum.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Summed {
    Values,
    Slopes,
}

impl Summing {
    /// S at the point that `arena` holds.
    pub fn values(&self, sums: &SegmentSumBatch, arena: Slice, commands: &mut Vec<Command>) {
        self.clear(arena, sums.sums.arena, sums.sums, commands);
        self.along_rows(sums, sums.kernels.value, Summed::Values, arena, arena, sums.sums.arena, state::ALWAYS, commands);
    }

    /// S, T and G at a point: all that the residual's own `linearize` needs, and what products need besides.
    pub fn linearize(&self, sums: &SegmentSumBatch, arena: Slice, commands: &mut Vec<Command>) {
        self.values(sums, arena, commands);
        if let Some(slopes) = sums.kernels.slopes {
            self.clear(arena, sums.slopes.arena, sums.slopes, commands);
            self.along_rows(sums, slopes, Summed::Slopes, arena, arena, sums.slopes.arena, state::ALWAYS, commands);
        }
        if let Some(linearize) = sums.kernels.linearize {
            commands.extend(
                sums.chunks().map(|chunk| evaluate(linearize, chunk, &[(ARENA, arena), (VECTOR_OUT, self.scratch), (STATE, self.state)])),
            );
        }
    }

    fn clear(&self, of: Slice, offset: u32, place: SumPlace, commands: &mut Vec<Command>) {
        commands.push(Command::Clear { slice: Slice { offset, len: place.count * place.width, ..of } });
    }

    /// Adds what `kernel` stores for the entries of every row to `total`, from element `base` on.
    #[allow(clippy::too_many_arguments)]
    fn along_rows(
        &self,
        sums: &SegmentSumBatch,
        kernel: KernelId,
        what: Summed,
        from: Slice,
        total: Slice,
        base: u32,
        guard: u32,
        commands: &mut Vec<Command>,
    ) {
        let width = if what == Summed::Values { sums.sums.width } else { sums.slopes.width };
        for SumChunk { chunk, tree } in &sums.chunks {
            let bindings = [(ARENA, from), (VECTOR_IN, from), (VECTOR_OUT, self.scratch), (STATE, self.state)];
            commands.push(evaluate(kernel, chunk, &bindings));
            let to = Along { gather: self.gather, state: self.state, width, total, base, guard };
            to.add(tree, what as usize, (self.scratch, chunk.count), commands);
        }
    }
}

/// Where what is summed along trees goes: elements of `width` from `base` on.
#[derive(Clone, Copy)]
pub(super) struct Along {
    pub gather: KernelId,
    pub state: Slice,
    pub width: u32,
    pub total: Slice,
    pub base: u32,
    pub guard: u32,
}

impl Along {
    /// Adds the columns of so many elements, whose maps and entries are the tree's for one of its two widths.
    pub fn add(&self, tree: &SegmentTree, which: usize, (columns, stride): (Slice, u32), commands: &mut Vec<Command>) {
        let list = Slice { buffer: tree.buffer, offset: 0, len: tree.len };
        // The columns of the leaves, then nodes whose components lie next to each other.
        let (mut below, mut stride, mut map, mut bits) = (columns, stride, tree.leaf_maps[which], tree.bits);
        for (number, level) in tree.levels.iter().enumerate() {
            let is_last = number + 1 == tree.levels.len();
            let (to, first) = if is_last {
                (self.total, self.base)
            } else {
                let (buffer, _) = tree.nodes[number % 2];
                (Slice { buffer, offset: 0, len: level.count * self.width }, 0)
            };
            let args = system::Gather {
                width: self.width,
                columns: map,
                starts: level.starts,
                ids: level.ids,
                entries: level.entries[which],
                slot_bits: bits,
                length: stride,
                first,
                guard: self.guard,
                store: u32::from(!is_last),
            };
            let bindings = system::GatherBindings { incidence: list, columns: below, total: to, state: self.state };
            commands.push(Command::Dispatch(Dispatch::of(self.gather, args, level.count * self.width, bindings)));
            (below, stride, map, bits) = (to, 1, tree.map, 0);
        }
    }
}

impl Workspace {
    /// Kernels and buffers of a solver for sums over entries.
    pub fn summing(&self) -> Summing {
        Summing { gather: self.gather_kernel(), scratch: self.scratch, state: self.state }
    }

    /// The sums of all enabled batches, at a point that is going to be evaluated.
    pub fn evaluate_sums(&self, problem: &Problem, arena: Slice, commands: &mut Vec<Command>) {
        for sums in problem.enabled_batches().filter_map(|batch| batch.sums.as_ref()) {
            self.summing().values(sums, arena, commands);
        }
    }

    /// r and J of a batch, with its sums.
    pub fn linearize(&self, batch: &Batch, point: Slice, commands: &mut Vec<Command>) {
        if let Some(sums) = &batch.sums {
            self.summing().linearize(sums, point, commands);
        }
        commands.extend(batch.chunks.iter().map(|chunk| self.generated(batch.kernels.linearize, chunk, point, self.step)));
    }

    /// Clears what of p and q belongs to sums, before a product.
    pub fn clear_sums(&self, problem: &Problem, commands: &mut Vec<Command>) {
        let (offset, end) = (problem.vector_len(), problem.total_vector_len());
        if end > offset {
            commands.extend([self.p, self.q].map(|vector| Command::Clear { slice: Slice { offset, len: end - offset, ..vector } }));
        }
    }

    /// The part of p that belongs to a batch's sums: G p.
    pub fn forward(&self, batch: &Batch, commands: &mut Vec<Command>) {
        let Some(sums) = &batch.sums else { return };
        let Some(forward) = sums.kernels.forward else { return };
        self.summing().along_rows(sums, forward, Summed::Values, self.p, self.p, sums.sums.vector, state::SOLVED, commands);
    }

    /// Adds Gᵀu for the part u of `vector` that belongs to the batch's sums: the second half of Jᵀ….
    pub fn backward(&self, batch: &Batch, vector: Slice, guard: u32, commands: &mut Vec<Command>) {
        let Some(sums) = &batch.sums else { return };
        let kernel = if guard == state::SOLVED { sums.kernels.product } else { sums.kernels.gradient };
        self.away_from_rows(sums, kernel, vector, Gathered::Vector(vector), guard, commands);
    }

    /// Adds the diagonal blocks of GᵀBG.
    pub fn diagonal_of_entries(&self, batch: &Batch, commands: &mut Vec<Command>) {
        let Some(sums) = &batch.sums else { return };
        self.away_from_rows(sums, sums.kernels.diagonal, self.blocks, Gathered::Blocks, state::ALWAYS, commands);
    }

    fn away_from_rows(
        &self,
        sums: &SegmentSumBatch,
        kernel: Option<KernelId>,
        from: Slice,
        to: Gathered,
        guard: u32,
        commands: &mut Vec<Command>,
    ) {
        let Some(kernel) = kernel else { return };
        for chunk in sums.chunks() {
            commands.push(self.generated(kernel, chunk, from, from));
            self.gather(chunk, to, guard, commands);
        }
    }
}
