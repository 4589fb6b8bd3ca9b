//! A Schur complement that is formed on the device and solved by a factor on the host.
//!
//! JᵀWJ is assembled on the device as for every factor ([`Assembly`]). There
//!
//!   Y = E C⁻¹,  S = B − Y Eᵀ,  right-hand side −g_b + Y g_c
//!
//! are made block by block, along a list of the eliminated variables that join two kept ones: whoever computes an entry of a block adds up
//! its products in their order. S, its right-hand side, D and what may move come back, in one readback; s_b goes there, and
//! s_c = −C⁻¹(g_c + Eᵀ s_b) follows on the device. λ is in C⁻¹: where it changes, S is formed anew.

mod plan;

pub use plan::{MOST_PAIRS, Plan, Room};

use super::super::super::assembly::Assembly;
use super::super::super::{Workspace, state};
use super::{Eliminated, Making, part};
use leastwise_base::task::Pace;
use leastwise_device::{Arguments, BufferId, Command, Device, Dispatch, KernelId, KernelSource, Kind, Slice};
use leastwise_error::Error;
use leastwise_kernels::reduced;
use leastwise_linear::matrix::{BlockMatrix, System, Unsolved};
use leastwise_linear::schur::Reduced;
use leastwise_problem::{Pattern, Problem};
use plan::Places;
use std::sync::Arc;

/// A Schur complement on the device, and what solves with it.
pub struct Formed {
    gone: Eliminated,
    /// Structure of S.
    pub pattern: Arc<Pattern>,
    kept: Vec<u32>,
    layout: Layout,
    whole: Slice,
    y: Slice,
    partials: Slice,
    solved: Vec<SolvedList>,
    products: Vec<ProductList>,
    /// `solved_blocks`, `pair_products` and `complement`.
    kernels: [KernelId; 3],
    solver: Reduced,
    uploads: Vec<Command>,
    buffers: Vec<BufferId>,
}

struct SolvedList {
    words: Slice,
    table: u32,
    rows: u32,
    columns: u32,
}

struct ProductList {
    words: Slice,
    packed: bool,
    size: u32,
    blocks: u32,
    segments: u32,
    products: reduced::PairProducts,
    complement: reduced::Complement,
}

/// Beginnings of the readback's pieces.
#[derive(Clone, Copy, Default)]
struct Layout {
    right: u32,
    scale: u32,
    free: u32,
    diagonal: u32,
    lower: u32,
    len: u32,
}

impl Layout {
    fn new(pattern: &Pattern, align: impl Fn(u64) -> u64) -> Option<Self> {
        let scalars = u64::from(pattern.scalars);
        let (mut next, mut starts) = (0, Vec::new());
        for len in [state::STATE_LEN.into(), scalars, scalars, scalars, pattern.blocks_len.into(), pattern.values] {
            starts.push(u32::try_from(next).ok()?);
            next = align(next + len.max(1));
        }
        let len = u32::try_from(next).ok()?;
        Some(Self { right: starts[1], scale: starts[2], free: starts[3], diagonal: starts[4], lower: starts[5], len })
    }
}

/// Values that came back: −(right-hand side), D and what may move, over what is kept; S.
pub struct Arrived {
    /// The reduced gradient g_b − E C⁻¹ g_c.
    pub gradient: Vec<f64>,
    /// D.
    pub scale: Vec<f64>,
    /// 1 for what may move, 0 for what may not; none while everything may.
    pub free: Option<Vec<f64>>,
    /// S without its damping.
    pub matrix: BlockMatrix,
    /// max |gᵢ| of all.
    pub gradient_max: f64,
}

impl Formed {
    /// Buffers, kernels and lists.
    ///
    /// # Errors
    /// [`Error::Limits`] where a buffer of the device holds too little, and [`Error::Device`] if the buffers do not fit.
    pub fn new(device: &mut Device, problem: &Problem, plan: Plan) -> Result<Self, Error> {
        let mut making = Making::new("schur", device);
        match Self::make(&mut making, problem, plan) {
            Ok(made) => Ok(Self { uploads: making.uploads, buffers: making.buffers, ..made }),
            Err(error) => {
                making.free();
                Err(error)
            }
        }
    }

    fn make(making: &mut Making, problem: &Problem, plan: Plan) -> Result<Self, Error> {
        let Plan { tables, batches, pattern, kept, y, partials, solved, products, solver, .. } = plan;
        let gone = Eliminated::new(making.device, tables, batches)?;
        let source = KernelSource::of_static;
        let numbers = making.device.kernels(&[
            source(reduced::SolvedBlocks::KERNEL),
            source(reduced::PairProducts::KERNEL),
            source(reduced::Complement::KERNEL),
        ])?;
        let alignment = u64::from(making.device.limits().offset_alignment);
        let layout = Layout::new(&pattern, |len| len.next_multiple_of(alignment));
        let layout = layout.ok_or_else(|| Error::Limits("the Schur complement has more values than a buffer".into()))?;
        let mut solved_lists = Vec::new();
        for list in solved {
            let (table, rows, columns) = (problem.tables()[list.table as usize].block, list.rows, list.columns);
            solved_lists.push(SolvedList {
                words: making.words_in_pieces(list.words, "blocks of eliminated variables")?,
                table,
                rows,
                columns,
            });
        }
        let mut product_lists = Vec::new();
        for list in products {
            let (size, [blocks, segments]) = (list.size(), list.counts());
            let (packed, again, rows, columns, inner, first) = (list.packed, list.again, list.rows, list.columns, list.inner, list.first);
            let (words, Places { segments: of_blocks, origins, starts, pairs }) = list.words();
            product_lists.push(ProductList {
                words: making.words_in_pieces(words, "pairs of the Schur complement")?,
                packed,
                size,
                blocks,
                segments,
                products: reduced::PairProducts { rows, columns, inner, packed: u32::from(packed), starts, pairs },
                complement: reduced::Complement { size, first, segments: of_blocks, origins, again: u32::from(again) },
            });
        }
        Ok(Self {
            gone,
            kept,
            whole: making.slice(Kind::Real, layout.len.into(), "the Schur complement")?,
            y: making.slice(Kind::Real, y, "solved blocks of the Schur complement")?,
            partials: making.slice(Kind::Real, partials, "sums of the Schur complement")?,
            layout,
            pattern: Arc::new(pattern),
            solved: solved_lists,
            products: product_lists,
            kernels: [numbers[0], numbers[1], numbers[2]],
            solver,
            uploads: Vec::new(),
            buffers: Vec::new(),
        })
    }

    /// Uploads before the first [`form`](Self::form).
    pub fn take_uploads(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.uploads)
    }

    /// Every buffer that it owns.
    pub fn buffers(&self) -> &[BufferId] {
        &self.buffers
    }

    /// Appends what forms S and its right-hand side of an assembled matrix and D, and the readback.
    pub fn form(&self, work: &Workspace, problem: &Problem, assembly: &Assembly, commands: &mut Vec<Command>) {
        let (gone, whole) = (&self.gone, (0, problem.vector_len()));
        // The inverted blocks of B are for the sums that max |g| is found with.
        [true, false].into_iter().for_each(|is_gone| gone.invert(work, problem, is_gone, work.blocks, commands));
        gone.clear(work.p, &gone.ranges(problem, false), commands);
        commands.push(Command::Copy { from: part(work.gradient, whole), to: part(work.q, whole) });
        gone.begin(work, problem, (work.gradient, Some(work.p)), commands);
        commands.push(Eliminated::unsolved(work));
        gone.reduce_gradient(work, problem, commands);

        let [solved_blocks, pair_products, complement] = self.kernels;
        for list in &self.solved {
            let args = reduced::SolvedBlocks { rows: list.rows, columns: list.columns, inverse: list.table };
            let bindings =
                reduced::SolvedBlocksBindings { table: list.words, blocks: assembly.lower(), inverse: work.inverse, solved: self.y };
            let count = list.words.len / 3 * list.rows;
            commands.push(Command::Dispatch(Dispatch::of(solved_blocks, args, count, bindings)));
        }
        for list in &self.products {
            if list.segments > 0 {
                let bindings =
                    reduced::PairProductsBindings { table: list.words, solved: self.y, blocks: assembly.lower(), partials: self.partials };
                commands.push(Command::Dispatch(Dispatch::of(pair_products, list.products, list.segments * list.size, bindings)));
            }
            let (blocks, to) = if list.packed { (assembly.diagonal(), self.diagonal()) } else { (assembly.lower(), self.lower()) };
            let bindings = reduced::ComplementBindings { table: list.words, blocks, partials: self.partials, complement: to };
            commands.push(Command::Dispatch(Dispatch::of(complement, list.complement, list.blocks * list.size, bindings)));
        }
        self.read(work, commands);
    }

    fn read(&self, work: &Workspace, commands: &mut Vec<Command>) {
        commands.push(Command::Copy { from: part(work.state, (0, state::STATE_LEN)), to: self.piece(0, state::STATE_LEN) });
        let Layout { right, scale, free, .. } = self.layout;
        for (from, at) in [(Some(work.q), right), (Some(work.scale), scale), (work.free(), free)] {
            let Some(from) = from else { continue };
            for (table, &vector) in self.pattern.tables.iter().zip(&self.kept) {
                let len = table.count * table.width;
                commands.push(Command::Copy { from: part(from, (vector, len)), to: self.piece(at + table.scalar, len) });
            }
        }
        commands.push(Command::Read { slice: self.whole });
    }

    fn piece(&self, offset: u32, len: u32) -> Slice {
        part(self.whole, (offset, len))
    }

    fn diagonal(&self) -> Slice {
        self.piece(self.layout.diagonal, self.layout.lower - self.layout.diagonal)
    }

    fn lower(&self) -> Slice {
        self.piece(self.layout.lower, self.layout.len - self.layout.lower)
    }

    /// Values that [`form`](Self::form) brought.
    pub fn arrived(&self, readback: &[f64], is_masked: bool) -> Arrived {
        let Layout { right, scale, free, diagonal, lower, .. } = self.layout;
        let at = |offset: u32, len: u64| readback[offset as usize..][..len as usize].to_vec();
        let scalars = u64::from(self.pattern.scalars);
        Arrived {
            gradient: at(right, scalars),
            scale: at(scale, scalars),
            free: is_masked.then(|| at(free, scalars)),
            matrix: BlockMatrix {
                pattern: self.pattern.clone(),
                diagonal: at(diagonal, self.pattern.blocks_len.into()),
                lower: at(lower, self.pattern.values),
            },
            gradient_max: readback[state::GRADIENT_MAX as usize],
        }
    }

    /// `right` becomes s_b.
    pub async fn solve(&mut self, system: &System<'_>, right: &mut [f64], pace: &Pace) -> Result<(), Unsolved> {
        self.solver.solve(system, right, pace).await
    }

    /// s_b as parts of a vector of the device, with their first elements.
    pub fn pieces(&self, step: &[f64]) -> Vec<(u32, Vec<f64>)> {
        let piece = |(table, &vector): (&leastwise_problem::BlockRows, &u32)| {
            let first = table.scalar as usize;
            (vector, step[first..first + (table.count * table.width) as usize].to_vec())
        };
        self.pattern.tables.iter().zip(&self.kept).map(piece).collect()
    }

    /// Appends what makes the rest of the step of s_b, which is in its place.
    pub fn complete(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        self.gone.back(work, problem, commands);
    }
}
