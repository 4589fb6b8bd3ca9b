//! Conjugate gradients on a Schur complement that is never formed, on the device.
//!
//! With JᵀWJ + λD = [B E; Eᵀ C], where C has small blocks, one for each eliminated variable, and g = [g_b; g_c], a step is
//!
//!   S s_b = −g_b + E C⁻¹ g_c,  S = B − E C⁻¹ Eᵀ,  s_c = −C⁻¹(g_c + Eᵀ s_b)
//!
//! (Agarwal, Snavely, Seitz & Szeliski, *Bundle Adjustment in the Large*, 2010; Saad, section 14.2). Where S p = q is needed,
//! w = C⁻¹Eᵀp and q = B p − E w. Where all instances of an eliminated variable lie next to each other, that is one kernel, which reads J
//! once ([`ReducedProgram`](leastwise_program::ReducedProgram)); else it is two products with JᵀWJ: p and −w in their places.
//!
//! Preconditioned by the inverted diagonal blocks of S, or of B. The vectors z, p and q have their usual places, of which only those
//! of the kept variables are used between two products.

mod eliminated;
pub mod formed;
mod plan;
mod tables;
pub mod worth;

pub use eliminated::Eliminated;
pub use plan::{Plan, plan};
#[cfg(not(target_arch = "wasm32"))]
pub use tables::{Candidate, choose_tables, in_two_slots};

use super::super::ranks::Fold;
use super::super::workspace::{Gathered, launch};
use super::super::{Workspace, state};
use super::{DeviceSolver, pcg};
use leastwise_device::{BufferId, Command, Device, Dispatch, KernelId, KernelSource, Kind, Slice, binding::*};
use leastwise_error::Error;
use leastwise_kernels::{pcg as kernels, system};
use leastwise_problem::{Batch, Incidence, ListWords, Problem, Registry, Table};
use leastwise_program::{ReducedArguments, wgsl};
use plan::{BatchPlan, DiagonalPlan, TilePlan, TileWords};

/// Why there is no Schur complement.
pub fn refused(why: &str) -> Error {
    Error::InvalidOption(format!("linear \"schur-pcg\": {why}: use \"pcg\""))
}

/// Why sums have no Schur complement.
pub const OF_SUMS: &str = "a term sums over entries (sumOver), whose pairs of variables are never stored";

/// The Schur complement of a problem, while its structure stays.
pub struct SchurComplement {
    gone: Eliminated,
    tiled: Option<Vec<TiledProduct>>,
    diagonals: Option<Diagonals>,
    uploads: Vec<Command>,
    buffers: Vec<BufferId>,
}

/// The product of a chunk by tiles.
struct TiledProduct {
    batch: usize,
    chunk: usize,
    kernel: KernelId,
    words: Slice,
    tiles: u32,
    args: ReducedArguments,
    lists: Vec<Incidence>,
}

/// The diagonal blocks of S.
struct Diagonals {
    blocks: Slice,
    /// Columns of what is taken, where the workspace's are too short.
    columns: Option<Slice>,
    passes: Vec<DiagonalPass>,
}

struct DiagonalPass {
    batch: usize,
    chunk: usize,
    kernel: KernelId,
    /// First element of C⁻¹ for addresses that begin where the table does in vectors.
    inverse: u32,
    lists: Vec<Incidence>,
}

/// Makes buffers: freed again where one of them can't be.
struct Making<'a> {
    /// Name of the linear solver.
    linear: &'static str,
    device: &'a mut Device,
    buffers: Vec<BufferId>,
    uploads: Vec<Command>,
}

impl<'a> Making<'a> {
    fn new(linear: &'static str, device: &'a mut Device) -> Self {
        Self { linear, device, buffers: Vec::new(), uploads: Vec::new() }
    }

    fn free(self) {
        self.buffers.into_iter().for_each(|buffer| self.device.free(buffer));
    }

    /// Words in a buffer of their own.
    fn words(&mut self, words: Vec<u32>, label: &str) -> Result<Slice, Error> {
        let slice = self.slice(Kind::Index, words.len() as u64, label)?;
        self.uploads.push(Command::UploadIndices { buffer: slice.buffer, offset: 0, data: words });
        Ok(slice)
    }

    /// The same of words that are not in one piece.
    fn words_in_pieces(&mut self, pieces: Vec<Vec<u32>>, label: &str) -> Result<Slice, Error> {
        let slice = self.slice(Kind::Index, pieces.iter().map(|words| words.len() as u64).sum(), label)?;
        let mut offset = 0;
        for data in pieces.into_iter().filter(|words| !words.is_empty()) {
            let next = offset + data.len() as u32;
            self.uploads.push(Command::UploadIndices { buffer: slice.buffer, offset, data });
            offset = next;
        }
        Ok(slice)
    }

    fn slice(&mut self, kind: Kind, len: u64, label: &str) -> Result<Slice, Error> {
        let limits = self.device.limits();
        let bytes = len * if kind == Kind::Index { 4 } else { self.device.precision().bytes() };
        let len = u32::try_from(len.max(1)).ok().filter(|_| bytes <= limits.binding_bytes.min(limits.buffer_bytes));
        let len = len.ok_or_else(|| {
            let linear = self.linear;
            Error::Limits(format!("linear \"{linear}\": {label} need {bytes} bytes, more than a buffer of this device holds: use \"pcg\""))
        })?;
        let buffer = self.device.allocate(kind, len, label)?;
        self.buffers.push(buffer);
        Ok(Slice { buffer, offset: 0, len })
    }

    fn lists(&mut self, lists: Vec<ListWords>, label: &str) -> Result<Vec<Incidence>, Error> {
        let mut placed = Vec::new();
        for list in lists {
            let list = list.place(self.device, label, &mut self.uploads)?;
            self.buffers.extend(list.buffers());
            placed.push(list);
        }
        Ok(placed)
    }

    fn tiled(&mut self, problem: &Problem, batch: BatchPlan, TilePlan { program, chunks }: TilePlan) -> Result<Vec<TiledProduct>, Error> {
        let kernel = self.device.kernels(&[KernelSource::of_reduced(&program).of_inner()])?[0];
        let mut products = Vec::new();
        for (chunk, TileWords { words, tiles, starts, lists }) in chunks.into_iter().enumerate() {
            let instances = problem.batches()[batch.batch].chunks[chunk].count;
            let words = self.words(words, "tiles of eliminated variables")?;
            let args = ReducedArguments { instances, starts, block: problem.tables()[batch.table as usize].block };
            let lists = self.lists(lists, "kept variables")?;
            products.push(TiledProduct { batch: batch.batch, chunk, kernel, words, tiles, args, lists });
        }
        Ok(products)
    }

    fn diagonals(&mut self, problem: &Problem, batches: &[BatchPlan], plans: Vec<DiagonalPlan>) -> Result<Diagonals, Error> {
        let (mut passes, mut scratch) = (Vec::new(), 0);
        for (of, DiagonalPlan { program, lists }) in batches.iter().zip(plans) {
            let batch = &problem.batches()[of.batch];
            let kernel = self.device.kernels(&[KernelSource::of(&program.program)])?[0];
            let columns = self.device.cut().map_or(program.columns, |cut| wgsl::columns(&program.program, cut)).max(program.columns);
            let Table { vector, block, .. } = problem.tables()[of.table as usize];
            for (chunk, lists) in lists.into_iter().enumerate() {
                scratch = scratch.max(u64::from(columns) * u64::from(batch.chunks[chunk].count));
                let lists = self.lists(lists, "blocks of kept variables")?;
                passes.push(DiagonalPass { batch: of.batch, chunk, kernel, inverse: block - vector, lists });
            }
        }
        let known = problem.batches().iter().map(Batch::longest_scratch).max().unwrap_or(0);
        let is_longer = scratch > u64::from(known);
        let columns = is_longer.then(|| self.slice(Kind::Real, scratch, "columns of the Schur complement")).transpose()?;
        Ok(Diagonals {
            blocks: self.slice(Kind::Real, problem.total_blocks_len().into(), "diagonal blocks of the Schur complement")?,
            columns,
            passes,
        })
    }

    fn all(&mut self, problem: &Problem, plan: Plan) -> Result<SchurComplement, Error> {
        let Plan { eliminated, batches, tiled, diagonals } = plan;
        let gone = Eliminated::new(self.device, eliminated, batches.iter().map(|batch| batch.batch).collect())?;
        let tiled = match tiled {
            None => None,
            Some(plans) => {
                let mut products = Vec::new();
                for (&batch, plan) in batches.iter().zip(plans) {
                    products.extend(self.tiled(problem, batch, plan)?);
                }
                Some(products)
            }
        };
        let diagonals = diagonals.map(|plans| self.diagonals(problem, &batches, plans)).transpose()?;
        Ok(SchurComplement { gone, tiled, diagonals, uploads: Vec::new(), buffers: Vec::new() })
    }
}

impl super::Plan for Plan {
    fn make(self: Box<Self>, device: &mut Device, _: &mut Registry, problem: &Problem) -> Result<Box<dyn DeviceSolver>, Error> {
        let mut making = Making::new("schur-pcg", device);
        match making.all(problem, *self) {
            Ok(made) => Ok(Box::new(SchurComplement { uploads: making.uploads, buffers: making.buffers, ..made })),
            Err(error) => {
                making.free();
                Err(error)
            }
        }
    }
}

/// A part of a vector.
fn part(of: Slice, (offset, len): (u32, u32)) -> Slice {
    Slice { offset: of.offset + offset, len, ..of }
}

impl SchurComplement {
    /// The diagonal blocks of S, and M⁻¹ of these or of B's.
    fn precondition(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let Some(Diagonals { blocks, columns, passes }) = &self.diagonals else {
            self.gone.invert(work, problem, false, work.blocks, commands);
            return Ok(());
        };
        let point = problem.arenas()?.0;
        let len = blocks.len.min(work.blocks.len);
        commands.push(Command::Copy { from: Slice { len, ..work.blocks }, to: Slice { len, ..*blocks } });
        work.clear_copied_blocks(problem, *blocks, commands);
        let columns = columns.unwrap_or(work.scratch);
        for pass in passes {
            let chunk = &problem.batches()[pass.batch].chunks[pass.chunk];
            let mut bindings = chunk.bindings().to_vec();
            let inverse = part(work.inverse, (pass.inverse, work.inverse.len - pass.inverse));
            bindings.extend([(ARENA, point), (VECTOR_IN, inverse), (VECTOR_OUT, columns), (STATE, work.state)]);
            commands.push(Command::Dispatch(launch(pass.kernel, chunk.count, &bindings)));
            work.gather_lists(&pass.lists, chunk.count, Gathered::BlocksIn { blocks: *blocks, columns }, state::ALWAYS, commands);
        }
        work.complete_blocks(*blocks, commands);
        self.gone.invert(work, problem, false, *blocks, commands);
        Ok(())
    }

    /// q += S p − λDp for what is kept.
    fn multiply(&self, work: &Workspace, problem: &Problem, kept: &[(u32, u32)], commands: &mut Vec<Command>) {
        let gone = self.gone.ranges(problem, true);
        let is_linking = |number: usize| self.gone.batches.contains(&number);
        match &self.tiled {
            Some(products) => {
                for product in products {
                    let chunk = &problem.batches()[product.batch].chunks[product.chunk];
                    let mut bindings = chunk.bindings().to_vec();
                    bindings.extend([
                        (ARENA, product.words),
                        (VECTOR_IN, work.p),
                        (VECTOR_OUT, work.inner_scratch),
                        (STATE, work.state),
                        (PARTIALS, work.inverse),
                    ]);
                    // A workgroup is a tile.
                    let launched = launch(product.kernel, product.tiles * work.group_size(), &bindings);
                    commands.push(Command::Dispatch(Dispatch { words: product.args.words(), ..launched }));
                    work.gather_lists(&product.lists, 1, Gathered::Product(work.q), state::SOLVED, commands);
                }
            }
            None => {
                // z is made anew behind every product: until then it has Eᵀp.
                self.gone.clear(work.z, &[(0, problem.vector_len())], commands);
                self.gone.clear(work.p, &gone, commands);
                let linking = || self.gone.batches.iter().map(|&batch| &problem.batches()[batch]);
                linking().for_each(|batch| work.multiply_batch(batch, work.z, commands));
                self.gone.substitute(work, problem, [work.z, work.p], false, commands);
                linking().for_each(|batch| work.multiply_batch(batch, work.q, commands));
            }
        }
        // What only eliminated variables are in is in C alone.
        let keeps = |batch: &Batch| {
            (0..)
                .zip(&batch.signature().slots)
                .any(|(slot, shape)| shape.vector.is_some() && !self.gone.is_gone(problem.slot_of(batch, slot).0))
        };
        let others = problem.batches().iter().enumerate().filter(|(number, batch)| batch.enabled && !is_linking(*number) && keeps(batch));
        others.for_each(|(_, batch)| work.multiply_batch(batch, work.q, commands));
        if let Some(free) = work.free() {
            for &range in kept {
                let bindings = system::MaskBindings { free: part(free, range), vector: part(work.q, range), state: work.state };
                commands.push(work.fixed(system::Mask { guard: state::SOLVED }, range.1, bindings));
            }
        }
    }

    fn iteration(&self, work: &Workspace, problem: &Problem) -> Vec<Command> {
        let (kept, mut body) = (self.gone.ranges(problem, false), Vec::new());
        for &range in &kept {
            let of = |vector: Slice| part(vector, range);
            let bindings = kernels::DirectionBindings {
                scale: of(work.product_scale()),
                z: of(work.z),
                p: of(work.p),
                q: of(work.q),
                state: work.state,
            };
            body.push(work.fixed(kernels::Direction, range.1, bindings));
        }
        self.multiply(work, problem, &kept, &mut body);
        let mut alongs = 0;
        for &range in &kept {
            let (p, q) = (part(work.p, range), part(work.q, range));
            let (curvature, more) = work.partial(
                kernels::Curvature { elements: range.1, partial: work.partial_distance + alongs },
                range.1,
                kernels::CurvatureBindings { p, q, state: work.state, partials: work.inner_partials },
            );
            body.push(curvature);
            alongs += more;
        }
        let alongs = work.complete_product(work.partial_distance, alongs, &mut body);
        let partials = pcg::update(work, &self.gone.counted(problem, false).collect::<Vec<_>>(), (0, alongs), &mut body);
        #[cfg(not(target_arch = "wasm32"))]
        pcg::update(work, &self.gone.copies(problem, false).collect::<Vec<_>>(), (partials, alongs), &mut body);
        let partials = work.combine_inner("residual", &[Fold::Sum], partials, &mut body);
        body.push(work.reduce_inner(kernels::Beta { partial_count: partials, curvature: work.partial_distance, curvature_count: alongs }));
        body
    }
}

impl DeviceSolver for SchurComplement {
    fn buffers(&self) -> &[BufferId] {
        &self.buffers
    }

    fn take_uploads(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.uploads)
    }

    fn solve(&self, work: &Workspace, problem: &Problem, most: u32, commands: &mut Vec<Command>) -> Result<(), Error> {
        let (gone, kept) = (&self.gone, self.gone.ranges(problem, false));
        let whole = (0, problem.vector_len());
        gone.invert(work, problem, true, work.blocks, commands);
        self.precondition(work, problem, commands)?;

        // The gradient of what is left: g_b + E y with y = −C⁻¹g_c, which is in p. The greatest |g| is that of all.
        commands.push(Eliminated::unsolved(work));
        gone.clear(work.p, &kept, commands);
        commands.push(Command::Copy { from: part(work.gradient, whole), to: part(work.q, whole) });
        gone.begin(work, problem, (work.gradient, Some(work.p)), commands);
        // The forcing term is a part of what the whole system's residual is at first: rᵀz with M⁻¹ and C⁻¹. Where that is not finite, the
        // greatest |g| tells.
        let aside = |place: u32| part(work.inner_partials, (2 * work.partial_distance + place, 1));
        let of_all = [state::RZ_START, state::GRADIENT_MAX].map(|element| part(work.state, (element, 1)));
        commands.extend((0..).zip(of_all).map(|(place, of_all)| Command::Copy { from: of_all, to: aside(place) }));
        gone.reduce_gradient(work, problem, commands);
        gone.begin(work, problem, (work.q, None), commands);
        commands.extend((0..).zip(of_all).map(|(place, of_all)| Command::Copy { from: aside(place), to: of_all }));

        commands.push(Command::Repeat { body: self.iteration(work, problem), max: most, until: (work.state.buffer, state::SOLVED) });

        // Nothing is left of the rows of what was eliminated.
        gone.back(work, problem, commands);
        let rows = gone.ranges(problem, true);
        gone.clear(work.residual, &rows, commands);
        Ok(())
    }
}
