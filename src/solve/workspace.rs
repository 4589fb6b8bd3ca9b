//! The buffers of a solver, and the dispatches that are the same for all solvers.

use super::reduction::Reduction;
use super::state;
use super::sums::Along;
use leastwise_device::{BufferId, Command, Device, Dispatch, KernelId, KernelSource, Kind, PARAM_WORDS, Profile, Reals, Slice, binding::*};
use leastwise_error::Error;
use leastwise_kernel::Fixed;
use leastwise_problem::{Batch, Chunk, Constraints, Incidence, Problem, Table, TrialChunk, Trials};

/// Kinds of partial sums that one kernel writes at most.
const PARTIAL_KINDS: u32 = 6;

/// Vectors over all unknowns, packed diagonal blocks, scratch columns, partial sums and the state.
pub struct Workspace {
    /// The accepted point.
    pub point: Slice,
    pub gradient: Slice,
    /// s, the step.
    pub step: Slice,
    /// r = −g − (JᵀWJ + λD)s.
    pub residual: Slice,
    pub z: Slice,
    pub p: Slice,
    pub q: Slice,
    /// D, and the largest that the diagonal of JᵀWJ has been.
    pub scale: Slice,
    pub peak: Slice,
    /// The diagonal blocks of JᵀWJ, and of the preconditioner.
    pub blocks: Slice,
    pub inverse: Slice,
    pub scratch: Slice,
    pub partials: Slice,
    /// The same for inner iterations: others in mixed precision alone.
    pub inner_scratch: Slice,
    pub inner_partials: Slice,
    pub state: Slice,
    /// For reports, where terms share a batch: a copy of the partial sums, and the costs of the shared batches' instances.
    pub instance_costs: Option<Slice>,
    /// What may move, where something may not; and what may in a step, which is a buffer of the solver's where there are bounds.
    pub(super) constraints: Option<Constraints>,
    pub(super) free: Option<Slice>,
    /// For methods that keep it: the solution of the linear system, and what it left of it.
    newton: Option<[Slice; 2]>,
    /// d = −D⁻¹g and its product, where clipping the step takes what they were made in.
    pub(super) steepest: Option<[Slice; 2]>,
    /// For steps that may go uphill: an arena with the best point, while the accepted one is another.
    pub best: Option<Slice>,
    /// For energies: eigenvectors of their Hessians.
    eigenvectors: Option<Slice>,
    /// An arena with the point before the last step that was accepted.
    pub previous: Slice,
    /// An arena with the point that a solve began at.
    pub start: Slice,
    alignment: u32,
    /// Elements between the kinds of partials.
    pub partial_distance: u32,
    /// Whether there are systems to be solved, and what they need.
    pub(super) solves_systems: bool,
    reduction: Reduction,
    fixed: Vec<KernelId>,
    /// `gather` in the precision of inner iterations.
    inner_gather: KernelId,
}

/// What inner iterations write.
const INNER: [&str; 8] =
    ["step", "residual", "z", "p", "q", "preconditioner", "scratch columns of inner iterations", "partial sums of inner iterations"];

/// What a method needs besides.
#[derive(Clone, Copy, Default)]
pub struct Needs {
    pub keeps_solution: bool,
    pub keeps_best: bool,
    /// Whether it solves no linear system: then what only those need is not there, and z, p and q are its own.
    pub descends: bool,
}

/// Where nothing is.
const NOWHERE: Slice = Slice { buffer: BufferId(u32::MAX), offset: 0, len: 0 };

impl Workspace {
    /// A workspace without buffers or kernels, of a solver that is not set up yet.
    pub fn empty(device: &Device) -> Self {
        Self {
            point: NOWHERE,
            gradient: NOWHERE,
            step: NOWHERE,
            residual: NOWHERE,
            z: NOWHERE,
            p: NOWHERE,
            q: NOWHERE,
            scale: NOWHERE,
            peak: NOWHERE,
            blocks: NOWHERE,
            inverse: NOWHERE,
            scratch: NOWHERE,
            partials: NOWHERE,
            inner_scratch: NOWHERE,
            inner_partials: NOWHERE,
            state: NOWHERE,
            instance_costs: None,
            constraints: None,
            free: None,
            newton: None,
            steepest: None,
            best: None,
            eigenvectors: None,
            previous: NOWHERE,
            start: NOWHERE,
            alignment: device.limits().offset_alignment,
            partial_distance: 0,
            solves_systems: false,
            reduction: Reduction::on(device),
            fixed: Vec::new(),
            inner_gather: KernelId(u32::MAX),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.fixed.is_empty()
    }

    pub fn new(device: &mut Device, problem: &Problem, needs: Needs) -> Result<Self, Error> {
        if !problem.has_enabled_terms() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        let kernels = if needs.descends { Fixed::OF_DESCENTS } else { Fixed::OF_SOLVERS };
        let sources: Vec<_> = kernels.iter().map(|kernel| KernelSource::of_fixed(*kernel)).collect();
        let fixed = device.kernels(&sources)?;
        let inner_gather = device.kernels(&[KernelSource::of_fixed(Fixed::Gather).of_inner()])?[0];
        let limits = device.limits();
        let reduction = Reduction::on(device);
        let point = problem.arenas()?.0;
        let vector = problem.vector_len();
        let (with_sums, blocks) = (problem.total_vector_len(), problem.total_blocks_len());
        let of_trials = problem.moving().filter_map(|table| table.trials.as_ref()).map(Trials::longest_scratch);
        let scratch = problem.batches().iter().map(Batch::longest_scratch).chain(of_trials).max();
        let over_terms: u32 = problem.batches().iter().flat_map(|batch| &batch.chunks).map(|chunk| reduction.groups(chunk.count)).sum();
        let over_table = |table: &Table| match &table.trials {
            None => reduction.groups(table.elements()),
            Some(trials) => trials.chunks.iter().map(|chunk| reduction.groups(chunk.count * table.width)).sum(),
        };
        let over_tables: u32 = problem.moving().map(over_table).sum();
        // A preconditioner of two levels has partial sums over all unknowns behind those over tables.
        let partial_distance = over_terms.max(over_tables + reduction.groups(vector));
        let shared = problem.batches().iter().filter(|batch| batch.members.len() > 1).flat_map(|batch| &batch.chunks);
        let shared: u32 = shared.map(|chunk| limits.align(chunk.count)).sum();
        let constraints = problem.constraints();
        let bounded = constraints.is_some_and(|known| known.bounds.is_some());
        let of_systems = |len: u32| if needs.descends { 1 } else { len };
        let mut sizes = vec![
            ("gradient", with_sums),
            ("step", vector),
            ("residual", of_systems(vector)),
            ("z", vector),
            ("p", with_sums),
            ("q", with_sums),
            ("scale", of_systems(vector)),
            ("diagonal blocks", of_systems(blocks)),
            ("preconditioner", of_systems(problem.blocks_len())),
            ("scratch columns", scratch.unwrap_or(1)),
            ("partial sums", partial_distance * PARTIAL_KINDS),
            ("state", state::STATE_LEN),
            ("largest diagonal", of_systems(vector)),
            ("previous point", problem.arenas()?.0.len),
            ("starting point", problem.arenas()?.0.len),
        ];
        let mut optional = |wanted: bool, label, len| {
            wanted.then(|| {
                sizes.push((label, len));
                sizes.len() - 1
            })
        };
        let instance_costs = optional(shared > 0, "instance costs", shared + limits.align(partial_distance * PARTIAL_KINDS));
        let newton = optional(needs.keeps_solution, "Gauss–Newton step", vector);
        let newton_residual = optional(needs.keeps_solution, "Gauss–Newton residual", vector);
        // A step that is clipped needs p and q itself.
        let steepest = optional(needs.keeps_solution && bounded, "steepest descent", vector);
        let steepest_product = optional(needs.keeps_solution && bounded, "product of the steepest descent", vector);
        let best = optional(needs.keeps_best, "best point", problem.arenas()?.0.len);
        let active = optional(bounded, "active set", vector);
        let of_energies = problem.batches().iter().filter_map(|batch| Some((batch.programs.curvature.as_ref()?.work(), batch)));
        let projecting = of_energies
            .filter(|_| !needs.descends)
            .flat_map(|(columns, batch)| batch.chunks.iter().map(move |chunk| columns * chunk.count))
            .max();
        // The kernel's twin has working memory of its own.
        let projecting = projecting.map(|len| if device.profile() == Profile::Cpu { 1 } else { len });
        let eigenvectors = optional(projecting.is_some(), "eigenvectors", projecting.unwrap_or(0));
        let is_mixed = device.reals() == Reals::Mixed && !needs.descends;
        let inner_scratch = optional(is_mixed, "scratch columns of inner iterations", scratch.unwrap_or(1));
        let inner_partials = optional(is_mixed, "partial sums of inner iterations", partial_distance * PARTIAL_KINDS);
        let mut slices: Vec<Slice> = Vec::new();
        for (label, len) in sizes {
            let kind = if !needs.descends && INNER.contains(&label) { Kind::Inner } else { Kind::Real };
            match device.allocate(kind, len, label) {
                Ok(buffer) => slices.push(Slice { buffer, offset: 0, len }),
                Err(error) => {
                    slices.iter().for_each(|slice| device.free(slice.buffer));
                    return Err(error.into());
                }
            }
        }
        let slice = |place: usize| slices[place];
        Ok(Self {
            point,
            gradient: slice(0),
            step: slice(1),
            residual: slice(2),
            z: slice(3),
            p: slice(4),
            q: slice(5),
            scale: slice(6),
            blocks: slice(7),
            inverse: slice(8),
            scratch: slice(9),
            partials: slice(10),
            inner_scratch: slice(inner_scratch.unwrap_or(9)),
            inner_partials: slice(inner_partials.unwrap_or(10)),
            state: slice(11),
            peak: slice(12),
            previous: slice(13),
            start: slice(14),
            constraints,
            free: constraints.map(|known| active.map_or(known.pins, slice)),
            instance_costs: instance_costs.map(slice),
            newton: newton.zip(newton_residual).map(|(step, residual)| [slice(step), slice(residual)]),
            steepest: steepest.zip(steepest_product).map(|(d, q)| [slice(d), slice(q)]),
            best: best.map(slice),
            eigenvectors: eigenvectors.map(slice),
            alignment: limits.offset_alignment,
            partial_distance,
            solves_systems: !needs.descends,
            reduction,
            fixed,
            inner_gather,
        })
    }

    /// `len` elements rounded up to the alignment of slices.
    pub fn aligned(&self, len: u32) -> u32 {
        len.next_multiple_of(self.alignment)
    }

    pub fn buffers(&self) -> Vec<BufferId> {
        if self.is_empty() {
            return Vec::new();
        }
        [
            self.gradient,
            self.step,
            self.residual,
            self.z,
            self.p,
            self.q,
            self.scale,
            self.peak,
            self.previous,
            self.start,
            self.blocks,
            self.inverse,
            self.scratch,
            self.partials,
            self.state,
        ]
        .into_iter()
        .chain([self.inner_scratch].into_iter().filter(|inner| *inner != self.scratch))
        .chain([self.inner_partials].into_iter().filter(|inner| *inner != self.partials))
        .chain(self.instance_costs)
        .chain(self.newton.into_iter().flatten())
        .chain(self.steepest.into_iter().flatten())
        .chain(self.best)
        .chain(self.eigenvectors)
        .chain(self.free.filter(|_| self.bounds().is_some()))
        .map(|slice| slice.buffer)
        .collect()
    }

    /// The solution that is kept, and what it left of the system.
    pub fn newton(&self) -> Result<[Slice; 2], Error> {
        self.newton.ok_or(Error::Disposed("solver"))
    }

    pub fn kernel(&self, kernel: Fixed) -> KernelId {
        self.fixed[kernel as usize]
    }

    /// A static kernel over `count` items.
    pub fn fixed(&self, kernel: Fixed, count: u32, words: &[u32], bindings: &[(usize, Slice)]) -> Command {
        dispatch(self.fixed[kernel as usize], count, words, bindings)
    }

    /// A static kernel that leaves partial sums over `elements`; gives how many with the command.
    pub fn partial(&self, kernel: Fixed, elements: u32, words: &[u32], bindings: &[(usize, Slice)]) -> (Command, u32) {
        let groups = self.reduction.groups(elements);
        (self.fixed(kernel, groups * self.reduction.group_size, words, bindings), groups)
    }

    /// How many partial sums a batch's instances leave.
    pub fn batch_partials(&self, batch: &Batch) -> u32 {
        batch.chunks.iter().map(|chunk| self.reduction.groups(chunk.count)).sum()
    }

    /// How many runs the elements of a reduction are cut into.
    pub fn runs(&self, elements: u32) -> u32 {
        self.reduction.groups(elements)
    }

    /// A static kernel of one workgroup.
    pub fn single(&self, kernel: Fixed, words: &[u32], bindings: &[(usize, Slice)]) -> Command {
        match dispatch(self.fixed[kernel as usize], 1, words, bindings) {
            Command::Dispatch(dispatch) => Command::Dispatch(Dispatch { single_group: true, ..dispatch }),
            other => other,
        }
    }

    /// A static kernel of one workgroup, over partials.
    pub fn reduce(&self, kernel: Fixed, words: &[u32]) -> Command {
        self.single(kernel, words, &[(STATE, self.state), (PARTIALS, self.partials)])
    }

    /// The same over what inner iterations left.
    pub fn reduce_inner(&self, kernel: Fixed, words: &[u32]) -> Command {
        self.single(kernel, words, &[(STATE, self.state), (PARTIALS, self.inner_partials)])
    }

    /// A static kernel of one invocation, over the state alone.
    pub fn scalars(&self, kernel: Fixed) -> Command {
        self.fixed(kernel, 1, &[], &[(STATE, self.state)])
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
            let bindings = [
                (ARENA, projection.limits),
                (INDEX, projection.map),
                (VECTOR_IN, self.scratch),
                (VECTOR_OUT, Slice { buffer: chunk.jacobian, offset: 0, len: chunk.jacobian_len }),
                (JACOBIAN, work),
            ];
            commands.push(dispatch(projection.project, chunk.count, &[curvature.width, 0, curvature.first], &bindings));
        }
    }

    /// A kernel that stores the trial points of a table's instances, in columns.
    pub fn retraction(&self, kernel: KernelId, chunk: &TrialChunk, point: Slice) -> Command {
        let index = Slice { buffer: chunk.index, offset: 0, len: chunk.index_len };
        let bindings = [(ARENA, point), (INDEX, index), (VECTOR_IN, self.step), (VECTOR_OUT, self.scratch)];
        dispatch(kernel, chunk.count, &[], &bindings)
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
            };
            let (gather, scratch) = match to {
                Gathered::Product(_) => (self.inner_gather, self.inner_scratch),
                _ => (self.kernel(Fixed::Gather), self.scratch),
            };
            if list.rows > 0 {
                let Incidence { starts, ids, entries, bits, .. } = *list;
                let words = [width, map, starts, ids, entries, bits, distance, base, guard];
                let incidence = Slice { buffer: list.buffer, offset: 0, len: list.len };
                let bindings = [(INDEX, incidence), (VECTOR_IN, scratch), (VECTOR_OUT, total), (STATE, self.state)];
                commands.push(dispatch(gather, list.rows * width, &words, &bindings));
            }
            if let Some(tree) = &list.hubs {
                let to = Along { gather: self.kernel(Fixed::Gather), state: self.state, width, total, base, guard };
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
                let words = [first, self.partial_distance, chunk.count];
                let bindings = [(VECTOR_IN, self.scratch), (PARTIALS, self.partials)];
                let (sum, partials) = self.partial(Fixed::Sum, chunk.count, &words, &bindings);
                commands.push(sum);
                first += partials;
            }
        }
        first
    }

    /// A static kernel over every moving table: `per_table` gives its items and its words.
    pub fn over_tables(
        &self,
        kernel: Fixed,
        problem: &Problem,
        per_table: impl Fn(&Table) -> (u32, Vec<u32>),
        bindings: &[(usize, Slice)],
        commands: &mut Vec<Command>,
    ) {
        for table in problem.moving() {
            let (count, words) = per_table(table);
            commands.push(self.fixed(kernel, count, &words, bindings));
        }
    }

    /// The same for a kernel that leaves partial sums: `per_table` gives the elements, and the words for the table's
    /// first partial. Gives the number of partials.
    pub fn partial_over_tables(
        &self,
        kernel: Fixed,
        problem: &Problem,
        per_table: impl Fn(&Table, u32) -> (u32, Vec<u32>),
        bindings: &[(usize, Slice)],
        commands: &mut Vec<Command>,
    ) -> u32 {
        let mut first = 0;
        for table in problem.moving() {
            let (elements, words) = per_table(table, first);
            let (command, partials) = self.partial(kernel, elements, &words, bindings);
            commands.push(command);
            first += partials;
        }
        first
    }
}

/// Where gathered contributions go.
#[derive(Clone, Copy)]
pub enum Gathered {
    Vector(Slice),
    /// A vector of inner iterations.
    Product(Slice),
    Blocks,
}

/// A generated kernel over a chunk, with the chunk's own buffers and those given.
pub fn evaluate(kernel: KernelId, chunk: &Chunk, given: &[(usize, Slice)]) -> Command {
    let mut bindings = chunk.bindings().to_vec();
    bindings.extend(given);
    dispatch(kernel, chunk.count, &[], &bindings)
}

/// A dispatch with its slots and words in their places.
pub fn dispatch(kernel: KernelId, count: u32, words: &[u32], bound: &[(usize, Slice)]) -> Command {
    let mut bindings = [None; COUNT];
    for &(slot, slice) in bound {
        bindings[slot] = Some(slice);
    }
    let mut all = [0; PARAM_WORDS];
    all[..words.len()].copy_from_slice(words);
    Command::Dispatch(Dispatch { kernel, bindings, count, single_group: false, words: all })
}
