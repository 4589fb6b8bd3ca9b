//! Conjugate gradients with diagonal blocks in few dispatches, for problems within the caches of a GPU: there dispatches cost more than
//! what they move.
//!
//! An iteration is
//!
//! 1. the first halves of the products J z of all batches, in one kernel ([`halves`]), each stored into a part of the same columns;
//! 2. `merged/accumulate`: β, p = z + βp and q = (JᵀWJ + λD)z + βq, gathered along one list of all batches; partial sums of pᵀq;
//! 3. `merged/update`: α, s += αp, r −= αq, z = M⁻¹r; partial sums of rᵀz.
//!
//! A product with z instead of p needs no β, so it need not wait for one; that q = (JᵀWJ + λD)p stays true by recurrence costs no
//! accuracy to speak of: q adds up the roundings that p does (Chronopoulos & Gear, *s-step iterative methods for symmetric linear
//! systems*, 1989; Carson, Rozložník, Strakoš, Tichý & Tůma, *The numerical stability analysis of pipelined conjugate gradient methods*,
//! 2018). α is rᵀz / pᵀq as ever. What reductions leave is added up by every workgroup that needs it. That the system is solved is known
//! one round late, in which nothing is done but the first half of a product.

mod halves;
mod plan;

pub use plan::{Plan, Sources, plan, sources};

use super::super::{Workspace, state};
use super::{Correction, DeviceSolver, pcg};
use halves::Half;
use leastwise_device::{Arguments, BufferId, Command, KernelSource, Kind, Slice, StaticKernels};
use leastwise_error::Error;
use leastwise_kernels::{merged, pcg as kernels};
use leastwise_problem::Problem;
use plan::Making;

/// Entries, and elements of columns and Jacobians, at most: where there are more, an iteration costs what it moves, and one more product a
/// step, which finds out late that the system is solved, would cost more than dispatches do.
const MOST: usize = 1 << 22;

/// Merged products of a problem, while its structure stays.
pub struct MergedProducts {
    kernels: StaticKernels,
    halves: Vec<Half>,
    list: Slice,
    columns: Slice,
    /// λD, then what owners store.
    vectors: Slice,
    /// Elements between two vectors.
    length: u32,
    tables: u32,
    variables: u32,
    elements: u32,
    starts: u32,
    entries: u32,
    kind_bits: u32,
    of_owners: u32,
    uploads: Vec<Command>,
    buffers: Vec<BufferId>,
}

impl MergedProducts {
    fn make(making: &mut Making, problem: &Problem, plan: Plan) -> Result<Self, Error> {
        let Plan { tables, variables, elements, words, starts, entries, kind_bits, parts, columns, vectors } = plan;
        let kernels = StaticKernels::request(making.device, merged::ALL, KernelSource::of_inner)?;
        let length = making.device.limits().align(elements);
        let halves = halves::make(making, problem, parts, length)?;
        let list = making.slice(Kind::Index, words.len() as u32, "list of merged products")?;
        making.uploads.push(Command::UploadIndices { buffer: list.buffer, offset: 0, data: words });
        let columns = making.slice(Kind::Inner, columns, "columns of merged products")?;
        let vectors_len = length.checked_mul(1 + vectors).ok_or(Error::Internal("vectors of merged products"))?;
        let slice = making.slice(Kind::Inner, vectors_len, "vectors of merged products")?;
        // What nothing owns stays 0.
        making.uploads.push(Command::Clear { slice });
        Ok(Self {
            kernels,
            halves,
            list,
            columns,
            vectors: slice,
            length,
            tables,
            variables,
            elements,
            starts,
            entries,
            kind_bits,
            of_owners: vectors,
            uploads: Vec::new(),
            buffers: Vec::new(),
        })
    }

    fn fixed<K: Arguments>(&self, args: K, count: u32, bindings: K::Bindings<Slice>) -> Command {
        Command::Dispatch(self.kernels.dispatch(args, count, bindings))
    }

    /// A vector over all unknowns.
    fn vector(&self, number: u32) -> Slice {
        Slice { offset: number * self.length, len: self.length, ..self.vectors }
    }

    /// What products need of the system at the current point: copies of Jacobians, λD, and which unknowns are fixed.
    pub fn set_up(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        self.halves.iter().for_each(|half| half.set_up(problem, commands));
        let free = work.free();
        commands.push(self.fixed(
            merged::Diagonal { masked: u32::from(free.is_some()) },
            self.elements,
            merged::DiagonalBindings { scale: work.scale, free: free.unwrap_or(work.scale), diagonal: self.vector(0), state: work.state },
        ));
    }

    /// β, p = z + βp and q = (JᵀWJ + λD)z + βq, where so many partial sums of rᵀz are positive.
    pub fn product(&self, work: &Workspace, problem: &Problem, partial_count: u32, body: &mut Vec<Command>) {
        self.halves.iter().for_each(|half| half.multiply(work, problem, [self.columns, self.vectors], self.length, body));
        body.push(self.fixed(
            merged::Accumulate {
                elements: self.elements,
                tables: self.tables,
                starts: self.starts,
                entries: self.entries,
                kind_bits: self.kind_bits,
                vectors: self.of_owners,
                length: self.length,
                partial_count,
                curvature: work.partial_distance,
                control: control(work),
            },
            work.groups(self.elements) * work.group_size(),
            merged::AccumulateBindings {
                vectors: self.vectors,
                z: work.z,
                incidence: self.list,
                columns: self.columns,
                p: work.p,
                q: work.q,
                state: work.state,
                partials: work.inner_partials,
            },
        ));
    }

    /// Partial sums of rᵀz that a start or an iteration leaves without a correction.
    pub fn partials(&self, work: &Workspace) -> u32 {
        work.groups(self.variables)
    }

    /// Appends the iterations, of so many partial sums of rᵀz, corrections' included.
    fn iterate(&self, work: &Workspace, problem: &Problem, correction: Option<&dyn Correction>, partials: u32) -> Vec<Command> {
        let mut body = Vec::new();
        self.product(work, problem, partials, &mut body);
        body.push(self.fixed(
            merged::Update {
                tables: self.tables,
                variables: self.variables,
                curvature: work.partial_distance,
                curvature_count: work.groups(self.elements),
                control: control(work),
            },
            self.partials(work) * work.group_size(),
            merged::UpdateBindings {
                z: work.z,
                p: work.p,
                incidence: self.list,
                q: work.q,
                step: work.step,
                residual: work.residual,
                inverse: work.inverse,
                partials: work.inner_partials,
            },
        ));
        if let Some(correction) = correction {
            correction.apply(work, problem, self.partials(work), 0, &mut body);
        }
        body
    }

    /// Appends the solve, where the preconditioner is set up.
    pub(super) fn solve_preconditioned(
        &self,
        work: &Workspace,
        problem: &Problem,
        correction: Option<&dyn Correction>,
        most: u32,
        commands: &mut Vec<Command>,
    ) {
        self.set_up(work, problem, commands);
        let mut partials = self.partials(work);
        commands.push(self.fixed(
            merged::Start { tables: self.tables, variables: self.variables, distance: work.partial_distance },
            partials * work.group_size(),
            merged::StartBindings {
                residual: work.residual,
                step: work.step,
                incidence: self.list,
                gradient: work.gradient,
                z: work.z,
                inverse: work.inverse,
                partials: work.inner_partials,
            },
        ));
        if let Some(correction) = correction {
            partials += correction.apply(work, problem, partials, work.partial_distance + partials, commands);
        }
        commands.push(work.reduce_inner(kernels::Begin { partial_count: partials, distance: work.partial_distance }));
        // There is no rᵀz before, and nothing is known of curvature.
        commands.push(Command::Clear { slice: Slice { offset: control(work) + 1, len: 2, ..work.inner_partials } });
        let body = self.iterate(work, problem, correction, partials);
        commands.push(Command::Repeat { body, max: most, until: (work.state.buffer, state::SOLVED) });
    }
}

/// The partial sum that `merged/accumulate` leaves rᵀz in; the next one has that before, 0 at first.
pub fn control(work: &Workspace) -> u32 {
    2 * work.partial_distance
}

impl DeviceSolver for MergedProducts {
    fn buffers(&self) -> &[BufferId] {
        &self.buffers
    }

    fn take_uploads(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.uploads)
    }

    fn solve(&self, work: &Workspace, problem: &Problem, most: u32, commands: &mut Vec<Command>) -> Result<(), Error> {
        pcg::invert(work, problem, commands);
        self.solve_preconditioned(work, problem, None, most, commands);
        Ok(())
    }
}
