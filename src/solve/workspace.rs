//! The buffers of a solver, and the dispatches that are the same for all solvers.

use super::buffers::{Buffers, Lengths, NOWHERE};
use super::reduction::Reduction;
use super::segment_sums::Along;
use leastwise_device::{
    Arguments, BufferId, Command, Device, Dispatch, KernelId, KernelSource, PARAM_WORDS, Reduction as Reduces, Scalars, Slice,
    StaticKernels, binding::*,
};
use leastwise_error::Error;
use leastwise_kernels::{StaticKernel, bounds, descent, line_search, pcg, step, system, trust_region};
use leastwise_problem::{Batch, Bounds, Chunk, Incidence, Problem, Table, TrialChunk};
use std::ops::Deref;

/// A solver's buffers, and its static kernels.
pub struct Workspace {
    buffers: Buffers,
    /// The accepted point.
    pub point: Slice,
    /// Scratch columns and partial sums of inner iterations: buffers of their own in mixed precision alone.
    pub inner_scratch: Slice,
    /// Partial sums of inner iterations.
    pub inner_partials: Slice,
    /// Unknowns that may move, where some may not; and those that may in a step.
    pub(super) bounds: Option<Bounds>,
    pub(super) free: Option<Slice>,
    alignment: u32,
    /// Elements between the kinds of partials.
    pub partial_distance: u32,
    /// True if there are systems to be solved, and what they need.
    pub(super) solves_systems: bool,
    reduction: Reduction,
    fixed: StaticKernels,
    /// Exchanges with other ranks.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) ranked: Option<super::ranks::Ranked>,
    /// `gather` in the precision of inner iterations.
    inner_gather: KernelId,
}

/// The buffers are fields of the workspace.
impl Deref for Workspace {
    type Target = Buffers;

    fn deref(&self) -> &Buffers {
        &self.buffers
    }
}

/// Needs of a method besides those of all.
#[derive(Clone, Copy, Default)]
pub struct Needs {
    /// True if the solution of the linear system and its residual are kept for later steps.
    pub keeps_solution: bool,
    /// True if the best accepted values are kept, because accepted steps may raise the cost.
    pub keeps_best: bool,
    /// True if it solves no linear system: then what only those need is not there, and z, p and q are its own.
    pub descends: bool,
}

impl Workspace {
    /// A workspace without buffers or kernels, of a solver that is not set up yet.
    pub fn empty(device: &Device) -> Self {
        Self {
            buffers: Buffers::NONE,
            point: NOWHERE,
            inner_scratch: NOWHERE,
            inner_partials: NOWHERE,
            bounds: None,
            free: None,
            alignment: device.limits().offset_alignment,
            partial_distance: 0,
            solves_systems: false,
            reduction: Reduction::on(device),
            fixed: StaticKernels::default(),
            #[cfg(not(target_arch = "wasm32"))]
            ranked: None,
            inner_gather: KernelId(u32::MAX),
        }
    }

    /// Kernels and buffers for a problem that is laid out.
    ///
    /// # Errors
    /// [`Error::EmptyProblem`] if no term is enabled, and [`Error::Device`] if the buffers do not fit.
    pub fn new(device: &mut Device, problem: &Problem, needs: Needs) -> Result<Self, Error> {
        if !problem.has_enabled_terms() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        let mut sets = vec![system::ALL, bounds::ALL, pcg::ALL, step::ALL, trust_region::ALL];
        if needs.descends {
            sets.extend([line_search::ALL, descent::ALL]);
        }
        let fixed = StaticKernels::request(device, &sets.concat(), |source| source)?;
        let inner_gather = device.kernels(&[KernelSource::of_static(StaticKernel::SystemGather).of_inner()])?[0];
        let reduction = Reduction::on(device);
        let point = problem.arenas()?.0;
        let bounds = problem.bounds();
        #[cfg_attr(target_arch = "wasm32", expect(unused_mut, reason = "there are no ranks"))]
        let mut lengths = Lengths::new(device, problem, needs, reduction)?;
        #[cfg(not(target_arch = "wasm32"))]
        let ranked = super::ranks::Ranked::new(device, problem, lengths.partial_distance)?;
        #[cfg(not(target_arch = "wasm32"))]
        ranked.iter().for_each(|ranked| lengths.partial_distance = ranked.distance());
        let buffers = Buffers::allocate(device, &lengths);
        #[cfg(not(target_arch = "wasm32"))]
        if let (Err(_), Some(ranked)) = (&buffers, &ranked) {
            device.free(ranked.buffer());
        }
        let buffers = buffers?;
        Ok(Self {
            point,
            inner_scratch: buffers.own_inner_scratch.unwrap_or(buffers.scratch),
            inner_partials: buffers.own_inner_partials.unwrap_or(buffers.partials),
            bounds,
            free: bounds.map(|known| buffers.active.unwrap_or(known.pins)),
            alignment: device.limits().offset_alignment,
            partial_distance: lengths.partial_distance,
            solves_systems: !needs.descends,
            reduction,
            fixed,
            #[cfg(not(target_arch = "wasm32"))]
            ranked,
            inner_gather,
            buffers,
        })
    }

    /// `len` elements rounded up to the alignment of slices.
    pub fn aligned(&self, len: u32) -> u32 {
        len.next_multiple_of(self.alignment)
    }

    /// Every buffer that it owns.
    pub fn buffers(&self) -> Vec<BufferId> {
        let own = self.buffers.ids();
        #[cfg(not(target_arch = "wasm32"))]
        let own = own.chain(self.ranked.as_ref().map(super::ranks::Ranked::buffer));
        own.collect()
    }

    /// The solution that is kept, and what it left of the system.
    pub fn newton(&self) -> Result<[Slice; 2], Error> {
        self.newton_step.zip(self.newton_residual).map(|(step, residual)| [step, residual]).ok_or(Error::Internal("no solution is kept"))
    }

    /// d = −D⁻¹g and its product, where they have buffers of their own.
    pub(super) fn steepest(&self) -> Option<[Slice; 2]> {
        self.steepest_direction.zip(self.steepest_product).map(|(direction, product)| [direction, product])
    }

    /// The number of `gather`.
    pub fn gather_kernel(&self) -> KernelId {
        self.fixed.number(StaticKernel::SystemGather)
    }

    /// A static kernel over `count` items.
    pub fn fixed<K: Arguments>(&self, args: K, count: u32, bindings: K::Bindings<Slice>) -> Command {
        Command::Dispatch(self.fixed.dispatch(args, count, bindings))
    }

    /// A static kernel that leaves partial sums over `elements`; gives how many with the command.
    pub fn partial<K: Arguments>(&self, args: K, elements: u32, bindings: K::Bindings<Slice>) -> (Command, u32) {
        let groups = self.reduction.groups(elements);
        (self.fixed(args, groups * self.reduction.group_size, bindings), groups)
    }

    /// Number of partial sums of a batch's instances.
    pub fn batch_partials(&self, batch: &Batch) -> u32 {
        batch.chunks.iter().map(|chunk| self.reduction.groups(chunk.count)).sum()
    }

    /// Number of runs that the elements of a reduction are cut into.
    pub fn runs(&self, elements: u32) -> u32 {
        self.reduction.groups(elements)
    }

    /// A static kernel of one workgroup.
    pub fn single<K: Arguments>(&self, args: K, bindings: K::Bindings<Slice>) -> Command {
        Command::Dispatch(Dispatch { single_group: true, ..self.fixed.dispatch(args, 1, bindings) })
    }

    /// A static kernel of one workgroup, over partials.
    pub fn reduce<K: Reduces>(&self, args: K) -> Command {
        self.single(args, K::over(self.state, self.partials))
    }

    /// The same over what inner iterations left.
    pub fn reduce_inner<K: Reduces>(&self, args: K) -> Command {
        self.single(args, K::over(self.state, self.inner_partials))
    }

    /// A static kernel of one invocation, over the state alone.
    pub fn scalars<K: Scalars>(&self, args: K) -> Command {
        self.fixed(args, 1, K::over(self.state))
    }

    /// A generated kernel over a chunk. `arena` is the point to evaluate at, `vector` what J is multiplied with.
    pub fn generated(&self, kernel: KernelId, chunk: &Chunk, arena: Slice, vector: Slice) -> Command {
        self.generated_into(self.scratch, kernel, chunk, arena, vector)
    }

    /// The same with its columns elsewhere.
    pub fn generated_into(&self, columns: Slice, kernel: KernelId, chunk: &Chunk, arena: Slice, vector: Slice) -> Command {
        let bindings = [(ARENA, arena), (VECTOR_IN, vector), (VECTOR_OUT, columns), (STATE, self.state)];
        evaluate(kernel, chunk, &bindings)
    }

    /// The second derivatives of a batch of energies at a point, and the semidefinite matrices nearest to them.
    pub fn curve(&self, batch: &Batch, point: Slice, commands: &mut Vec<Command>) {
        let (Some(projection), Some(curvature), Some(work)) = (&batch.projection, &batch.programs.curvature, self.eigenvectors) else {
            return;
        };
        for chunk in &batch.chunks {
            commands.push(self.generated(projection.curvature, chunk, point, self.step));
            let bindings = system::PsdBlocksBindings {
                limits: projection.limits,
                map: projection.map,
                columns: self.scratch,
                blocks: Slice { buffer: chunk.jacobian, offset: 0, len: chunk.jacobian_len },
                work,
            };
            let args = system::PsdBlocks { width: curvature.width, absolute: 0, column: curvature.first };
            commands.push(Command::Dispatch(Dispatch::of(projection.project, args, chunk.count, bindings)));
        }
    }

    /// A kernel that stores the trial points of a table's instances, in columns.
    pub fn retraction(&self, kernel: KernelId, chunk: &TrialChunk, point: Slice) -> Command {
        let index = Slice { buffer: chunk.index, offset: 0, len: chunk.index_len };
        let bindings = [(ARENA, point), (INDEX, index), (VECTOR_IN, self.step), (VECTOR_OUT, self.scratch)];
        dispatch(kernel, chunk.count, &bindings)
    }

    /// Adds the chunk's contribution columns to a vector, or to the packed diagonal blocks.
    pub fn gather(&self, chunk: &Chunk, to: Gathered, guard: u32, commands: &mut Vec<Command>) {
        self.gather_lists(&chunk.incidence, chunk.count, to, guard, commands);
    }

    /// The same along other lists, for columns that begin `distance` elements after each other.
    pub fn gather_lists(&self, lists: &[Incidence], distance: u32, to: Gathered, guard: u32, commands: &mut Vec<Command>) {
        for list in lists {
            let (width, map, base, total, which) = match to {
                Gathered::Vector(total) | Gathered::Product(total) => (list.width, list.gradient_map, list.vector, total, 0),
                Gathered::Blocks => (list.width * (list.width + 1) / 2, list.diagonal_map, list.block, self.blocks, 1),
                Gathered::BlocksIn { blocks, .. } => (list.width * (list.width + 1) / 2, list.diagonal_map, list.block, blocks, 1),
            };
            let (gather, scratch) = match to {
                Gathered::Product(_) => (self.inner_gather, self.inner_scratch),
                Gathered::BlocksIn { columns, .. } => (self.gather_kernel(), columns),
                _ => (self.gather_kernel(), self.scratch),
            };
            if list.rows > 0 {
                let Incidence { starts, ids, entries, bits, .. } = *list;
                let args = system::Gather {
                    width,
                    columns: map,
                    starts,
                    ids,
                    entries,
                    slot_bits: bits,
                    length: distance,
                    first: base,
                    guard,
                    store: 0,
                };
                let incidence = Slice { buffer: list.buffer, offset: 0, len: list.len };
                let bindings = system::GatherBindings { incidence, columns: scratch, total, state: self.state };
                commands.push(Command::Dispatch(Dispatch::of(gather, args, list.rows * width, bindings)));
            }
            if let Some(tree) = &list.hubs {
                let to = Along { gather: self.gather_kernel(), state: self.state, width, total, base, guard };
                to.add(tree, which, (scratch, distance), commands);
            }
        }
    }

    /// Workgroups of a reduction over so many elements.
    pub fn groups(&self, elements: u32) -> u32 {
        self.reduction.groups(elements)
    }

    /// Invocations of a workgroup.
    pub fn group_size(&self) -> u32 {
        self.reduction.group_size
    }

    /// Partial sums of a value that `kernel` stores for every instance of every enabled batch; gives their number.
    pub fn sum_batches(&self, problem: &Problem, kernel: impl Fn(&Batch) -> KernelId, arena: Slice, commands: &mut Vec<Command>) -> u32 {
        let mut first = 0;
        for batch in problem.enabled_batches() {
            for chunk in &batch.chunks {
                commands.push(self.generated(kernel(batch), chunk, arena, self.step));
                let (sum, partials) = self.partial(
                    step::Sum { partial: first, distance: self.partial_distance, elements: chunk.count },
                    chunk.count,
                    step::SumBindings { column: self.scratch, partials: self.partials },
                );
                commands.push(sum);
                first += partials;
            }
        }
        first
    }

    /// A static kernel over every moving table: `per_table` gives its items and its arguments.
    pub fn over_tables<K: Arguments>(
        &self,
        problem: &Problem,
        per_table: impl Fn(&Table) -> (u32, K),
        bindings: K::Bindings<Slice>,
        commands: &mut Vec<Command>,
    ) {
        for table in problem.moving() {
            let (count, args) = per_table(table);
            commands.push(self.fixed(args, count, bindings));
        }
    }

    /// The same for a kernel that leaves partial sums: `per_table` gives the elements, and the arguments for the table's
    /// first partial. Gives the number of partials, without those of copies, which lie behind.
    pub fn partial_over_tables<K: Arguments>(
        &self,
        problem: &Problem,
        per_table: impl Fn(&Table, u32) -> (u32, K),
        bindings: K::Bindings<Slice>,
        commands: &mut Vec<Command>,
    ) -> u32 {
        let mut first = 0;
        let mut over = |table: &Table| {
            let (elements, args) = per_table(table, first);
            let (command, partials) = self.partial(args, elements, bindings);
            commands.push(command);
            first += partials;
            first
        };
        let counted = problem.counted().map(&mut over).last().unwrap_or(0);
        for table in problem.copies() {
            over(table);
        }
        counted
    }
}

/// Where gathered contributions go.
#[derive(Clone, Copy)]
pub enum Gathered {
    Vector(Slice),
    /// A vector of inner iterations.
    Product(Slice),
    Blocks,
    /// Diagonal blocks that are not the workspace's, of columns that may not be either.
    BlocksIn {
        blocks: Slice,
        columns: Slice,
    },
}

/// A generated kernel over a chunk, with the chunk's own buffers and those given.
pub fn evaluate(kernel: KernelId, chunk: &Chunk, given: &[(usize, Slice)]) -> Command {
    let mut bindings = chunk.bindings().to_vec();
    bindings.extend(given);
    dispatch(kernel, chunk.count, &bindings)
}

/// A dispatch of a generated kernel, with its slots in their places.
pub fn dispatch(kernel: KernelId, count: u32, bound: &[(usize, Slice)]) -> Command {
    Command::Dispatch(launch(kernel, count, bound))
}

/// The same, whose words may be set.
pub(super) fn launch(kernel: KernelId, count: u32, bound: &[(usize, Slice)]) -> Dispatch {
    let mut bindings = [None; COUNT];
    for &(slot, slice) in bound {
        bindings[slot] = Some(slice);
    }
    Dispatch { kernel, bindings, count, single_group: false, words: [0; PARAM_WORDS] }
}
