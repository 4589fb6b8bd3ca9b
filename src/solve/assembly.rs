//! JᵀWJ as a matrix: assembled on the device, block by block, and brought back where a solver on the host needs it.
//!
//! Every instance stores its blocks JₐᵀWJ_b in columns, which are gathered along lists whose rows are the matrix's blocks:
//! as the diagonal blocks are, with which the matrix shares its buffer. What a host needs besides — the state, g, D and
//! what may move — is copied next to it, so that one readback brings all.

use super::workspace::evaluate;
use super::{Workspace, state};
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::{BufferId, Command, Device, KernelId, Kind, Slice, binding::*};
use leastwise_error::Error;
use leastwise_kernels::system;
use leastwise_problem::{Batch, BlockList, Links, OffDiagonalKernels, Pattern, PatternBatch, Problem, Registry, Target, pair_bits};
use leastwise_program::{OffDiagonalPass, OffDiagonalPrograms, SlotPair, wgsl};
use std::collections::HashSet;
use std::sync::Arc;

/// One pass of a batch's pairs over one of its chunks.
struct Pass {
    batch: usize,
    chunk: usize,
    kernel: KernelId,
    lists: Vec<List>,
}

/// Where the parts of a list begin in its buffer, and what it adds to.
#[derive(Clone, Copy)]
struct List {
    buffer: BufferId,
    len: u32,
    rows: u32,
    width: u32,
    map: u32,
    starts: u32,
    ids: u32,
    entries: u32,
    bits: u32,
    /// The first element of the part's or table's blocks.
    base: u32,
    on_diagonal: bool,
}

/// The matrix of a problem's systems, while its structure stays.
pub struct Assembly {
    /// Structure of the matrix.
    pub pattern: Arc<Pattern>,
    /// Everything, to be read at once; and its pieces.
    pub whole: Slice,
    layout: Layout,
    scratch: Slice,
    passes: Vec<Pass>,
    /// The lists, until they are on the device.
    uploads: Vec<Command>,
    buffers: Vec<BufferId>,
}

/// Beginnings of the readback's pieces.
#[derive(Clone, Copy, Default)]
struct Layout {
    gradient: u32,
    scale: u32,
    peak: u32,
    free: u32,
    diagonal: u32,
    lower: u32,
    len: u32,
}

/// What an assembly brought back, in f64.
pub struct Assembled<'a> {
    /// Scalars of the solver's state.
    pub state: &'a [f64],
    /// Gradient g, over all unknowns.
    pub gradient: &'a [f64],
    /// Damping's scale D, over all unknowns.
    pub scale: &'a [f64],
    /// Largest diagonal entries of JᵀWJ so far, over all unknowns.
    pub peak: &'a [f64],
    /// 1 for what may move, 0 for what may not; none while everything may.
    pub free: Option<&'a [f64]>,
    /// Diagonal blocks of JᵀWJ, the lower triangle of each row by row.
    pub diagonal: &'a [f64],
    /// Blocks below the diagonal, in the order of the pattern's parts.
    pub lower: &'a [f64],
}

/// The structure of a problem's JᵀWJ, and where each chunk's values go.
pub type Structure = (Pattern, Vec<BlockList>);

/// That of a problem's links; none where there are sums over entries, whose Jacobian is never stored.
pub async fn structure(links: &Links, pace: &Pace) -> Result<Option<Structure>, Stopped> {
    if links.has_sums() {
        return Ok(None);
    }
    let mut pattern = Pattern::of_links(links);
    let place = |table: u32| pattern.tables.iter().position(|rows| rows.table == table).map(|number| number as u32);
    let batches = links.batches.iter().map(|batch| PatternBatch {
        batch: batch.number as u32,
        slots: batch.slots().map(|(table, variables)| Some((place(table)?, variables))).collect(),
        pairs: SlotPair::all(&batch.programs.inputs).iter().map(|pair| (pair.a, pair.b)).collect(),
        chunks: batch.chunks.clone(),
    });
    let batches: Vec<PatternBatch> = batches.collect();
    let mut lists = pattern.add(&batches, pace).await?;
    // The diagonal blocks have what two slots of one variable have in common already, but where that was too much.
    let done: HashSet<u32> = links.batches.iter().filter(|batch| batch.has_repeated_slots).map(|batch| batch.number as u32).collect();
    lists.retain(|list| !(matches!(list.target, Target::Diagonal(_)) && done.contains(&list.batch)));
    Ok(Some((pattern, lists)))
}

impl Assembly {
    /// Buffers, kernels and lists of an assembly with this structure.
    ///
    /// # Errors
    /// [`Error::Limits`] if the matrix needs more than a buffer, and [`Error::Device`] if the buffers do not fit.
    pub fn new(device: &mut Device, registry: &mut Registry, problem: &Problem, found: Structure) -> Result<Self, Error> {
        let mut made = Vec::new();
        let assembly = Self::make(device, registry, problem, found, &mut made);
        if assembly.is_err() {
            made.into_iter().for_each(|buffer| device.free(buffer));
        }
        assembly
    }

    fn make(
        device: &mut Device,
        registry: &mut Registry,
        problem: &Problem,
        (pattern, mut lists): (Pattern, Vec<BlockList>),
        made: &mut Vec<BufferId>,
    ) -> Result<Self, Error> {
        let limits = device.limits();
        let bytes = limits.binding_bytes.min(limits.buffer_bytes);
        let elements = bytes / device.precision().bytes();
        let layout = Layout::new(&pattern, problem, |len| len.next_multiple_of(u64::from(limits.offset_alignment)))
            .filter(|layout| u64::from(layout.len) <= elements);
        let layout = layout.ok_or_else(|| {
            Error::Limits(format!(
                "JᵀWJ has {} values off its diagonal, more than a buffer of this device holds ({bytes} bytes): use linear: \"pcg\", which needs no matrix",
                pattern.values
            ))
        })?;
        let (mut passes, mut uploads) = (Vec::new(), Vec::new());
        let mut scratch = 1;
        for (number, batch) in problem.batches().iter().enumerate().filter(|(_, batch)| batch.enabled) {
            let longest = batch.chunks.iter().map(|chunk| chunk.count).max().unwrap_or(1);
            let most = (elements / u64::from(longest)).min(1 << 16) as u32;
            let OffDiagonalKernels { programs, kernels } = problem.offdiagonal(device, registry, batch, most)?;
            let widest = programs.passes.iter().map(|pass| device.cut().map_or(pass.columns, |cut| wgsl::columns(&pass.program, cut)));
            let widest = u64::from(widest.max().unwrap_or(0)) * u64::from(longest);
            if widest > elements {
                return Err(Error::Limits(format!(
                    "term \"{}\": the products of its Jacobian's columns need more than a buffer binding ({bytes} bytes): use linear: \"pcg\"",
                    batch.name
                )));
            }
            scratch = scratch.max(widest as u32);
            for chunk in 0..batch.chunks.len() {
                let is_mine = |list: &mut BlockList| (list.batch as usize, list.chunk as usize) == (number, chunk);
                let mut mine: Vec<BlockList> = lists.extract_if(.., is_mine).collect();
                for (place, (pass, &kernel)) in programs.passes.iter().zip(&kernels).enumerate() {
                    let is_last = place + 1 == programs.passes.len();
                    let mut pieces = Vec::new();
                    for list in &mut mine {
                        let maps = maps(&programs, pass, &pattern, list.target);
                        let bits = pair_bits(programs.pairs.len());
                        if u64::from(batch.chunks[chunk].count) << bits > 1 << 32 {
                            return Err(Error::Limits(format!("term \"{}\" has too many pairs of slots to assemble", batch.name)));
                        }
                        let (base, on_diagonal) = match list.target {
                            Target::Part(part) => (pattern.parts[part as usize].base as u32, false),
                            Target::Diagonal(table) => (pattern.tables[table as usize].block, true),
                        };
                        for (mut piece, words) in pieces_of(list, maps, (bytes / 4) as usize, is_last) {
                            (piece.bits, piece.base, piece.on_diagonal) = (bits, base, on_diagonal);
                            piece.buffer = device.allocate(Kind::Index, piece.len, "blocks of JᵀWJ")?;
                            made.push(piece.buffer);
                            let mut offset = 0;
                            for data in words.into_iter().filter(|words| !words.is_empty()) {
                                let next = offset + data.len() as u32;
                                uploads.push(Command::UploadIndices { buffer: piece.buffer, offset, data });
                                offset = next;
                            }
                            pieces.push(piece);
                        }
                    }
                    passes.push(Pass { batch: number, chunk, kernel, lists: pieces });
                }
            }
        }
        let mut slice = |len: u32, label: &str| {
            let buffer = device.allocate(Kind::Real, len, label)?;
            made.push(buffer);
            Ok::<_, Error>(Slice { buffer, offset: 0, len })
        };
        let (scratch, whole) = (slice(scratch, "columns of pairs")?, slice(layout.len, "JᵀWJ")?);
        Ok(Self { pattern: Arc::new(pattern), whole, layout, scratch, passes, uploads, buffers: made.clone() })
    }

    /// What must be uploaded before the first [`assemble`](Self::assemble).
    pub fn take_uploads(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.uploads)
    }

    /// Every buffer that it owns.
    pub fn buffers(&self) -> &[BufferId] {
        &self.buffers
    }

    fn piece(&self, offset: u32, len: u32) -> Slice {
        Slice { buffer: self.whole.buffer, offset, len }
    }

    /// The diagonal blocks, and those below.
    pub fn diagonal(&self) -> Slice {
        self.piece(self.layout.diagonal, self.layout.lower - self.layout.diagonal)
    }

    /// Blocks below the diagonal.
    pub fn lower(&self) -> Slice {
        self.piece(self.layout.lower, self.layout.len - self.layout.lower)
    }

    /// Appends what makes the matrix, after [`Workspace::differentiate`].
    pub fn assemble(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let point = problem.arenas()?.0;
        let copied = |from: Slice, len: u32, at: u32| Command::Copy { from: Slice { len, ..from }, to: self.piece(at, len) };
        commands.push(copied(work.blocks, problem.blocks_len(), self.layout.diagonal));
        commands.push(Command::Clear { slice: self.lower() });
        for pass in &self.passes {
            let batch: &Batch = &problem.batches()[pass.batch];
            let chunk = &batch.chunks[pass.chunk];
            let bindings = [(ARENA, point), (VECTOR_IN, work.step), (VECTOR_OUT, self.scratch), (STATE, work.state)];
            commands.push(evaluate(pass.kernel, chunk, &bindings));
            for list in &pass.lists {
                let args = system::Gather {
                    width: list.width,
                    columns: list.map,
                    starts: list.starts,
                    ids: list.ids,
                    entries: list.entries,
                    slot_bits: list.bits,
                    length: chunk.count,
                    first: list.base,
                    guard: state::ALWAYS,
                    store: 0,
                };
                let total = if list.on_diagonal { self.diagonal() } else { self.lower() };
                let index = Slice { buffer: list.buffer, offset: 0, len: list.len };
                let bindings = system::GatherBindings { incidence: index, columns: self.scratch, total, state: work.state };
                commands.push(work.fixed(args, list.rows * list.width, bindings));
            }
        }
        Ok(())
    }

    /// Appends the readback of the matrix and of all that a solver on the host needs besides.
    pub fn read(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        let vector = problem.vector_len();
        let Layout { gradient, scale, peak, free, .. } = self.layout;
        let copies = [
            (Some(work.state), state::STATE_LEN, 0),
            (Some(work.gradient), vector, gradient),
            (Some(work.scale), vector, scale),
            (Some(work.peak), vector, peak),
            (work.free(), vector, free),
        ];
        for (from, len, at) in copies {
            let Some(from) = from else { continue };
            commands.push(Command::Copy { from: Slice { len, ..from }, to: self.piece(at, len) });
        }
        commands.push(Command::Read { slice: self.whole });
    }

    /// What [`read`](Self::read) brought.
    pub fn assembled<'a>(&self, is_masked: bool, readback: &'a [f64]) -> Assembled<'a> {
        let Layout { gradient, scale, peak, free, diagonal, lower, .. } = self.layout;
        let vector = self.pattern.vector_len as usize;
        let at = |offset: u32, len: usize| &readback[offset as usize..][..len];
        Assembled {
            state: at(0, state::STATE_LEN as usize),
            gradient: at(gradient, vector),
            scale: at(scale, vector),
            peak: at(peak, vector),
            free: is_masked.then(|| at(free, vector)),
            diagonal: at(diagonal, self.pattern.blocks_len as usize),
            lower: at(lower, self.pattern.values as usize),
        }
    }
}

impl Layout {
    fn new(pattern: &Pattern, problem: &Problem, align: impl Fn(u64) -> u64) -> Option<Self> {
        let (mut next, mut starts) = (0, Vec::new());
        let vector = u64::from(problem.vector_len());
        let lens = [state::STATE_LEN.into(), vector, vector, vector, vector, u64::from(problem.blocks_len()), pattern.values];
        for len in lens {
            starts.push(u32::try_from(next).ok()?);
            next = align(next + len.max(1));
        }
        let len = u32::try_from(next).ok()?;
        Some(Self { gradient: starts[1], scale: starts[2], peak: starts[3], free: starts[4], diagonal: starts[5], lower: starts[6], len })
    }
}

/// The column maps of a list: of every pair, as it is and turned; 0 throughout for pairs of other tables.
fn maps(programs: &OffDiagonalPrograms, pass: &OffDiagonalPass, pattern: &Pattern, target: Target) -> (u32, Vec<u32>) {
    let (rows, columns, on_diagonal) = match target {
        Target::Part(part) => (pattern.parts[part as usize].rows, pattern.parts[part as usize].width, false),
        Target::Diagonal(table) => (pattern.tables[table as usize].width, pattern.tables[table as usize].width, true),
    };
    let width = if on_diagonal { rows * (rows + 1) / 2 } else { rows * columns };
    let places: Vec<(u32, u32)> = (0..rows).flat_map(|r| (0..if on_diagonal { r + 1 } else { columns }).map(move |c| (r, c))).collect();
    let mut words = Vec::new();
    for (pair, map) in programs.pairs.iter().zip(&pass.maps) {
        for turned in [false, true] {
            let shape = if turned { (pair.columns, pair.rows) } else { (pair.rows, pair.columns) };
            if shape != (rows, columns) {
                words.resize(words.len() + width as usize, 0);
                continue;
            }
            words.extend(places.iter().map(|&(r, c)| {
                let (r, c) = if turned { (c, r) } else { (r, c) };
                map.codes[(r * pair.columns + c) as usize]
            }));
        }
    }
    (width, words)
}

/// A list as index buffers of so many words at most, each in parts behind each other. A row's entries may be in several: what they add is
/// added up. `is_last`: the list's own words are moved.
fn pieces_of(list: &mut BlockList, (width, maps): (u32, Vec<u32>), most: usize, is_last: bool) -> Vec<(List, [Vec<u32>; 4])> {
    let piece = |words: [Vec<u32>; 4], rows: usize, starts: usize| {
        let [starts, ids] = [starts as u32, (starts + rows + 1) as u32];
        let list = List {
            buffer: BufferId(u32::MAX),
            len: words.iter().map(Vec::len).sum::<usize>() as u32,
            rows: rows as u32,
            width,
            map: 0,
            starts,
            ids,
            entries: ids + rows as u32,
            bits: 0,
            base: 0,
            on_diagonal: false,
        };
        (list, words)
    };
    // Usually all of it fits.
    if maps.len() + 2 * list.ids.len() + 1 + list.entries.len() <= most {
        let (rows, starts) = (list.ids.len(), maps.len());
        let own = [&mut list.starts, &mut list.ids, &mut list.entries];
        let [of_rows, ids, entries] = own.map(|words| if is_last { std::mem::take(words) } else { words.clone() });
        return vec![piece([maps, of_rows, ids, entries], rows, starts)];
    }
    let room = most.saturating_sub(maps.len() + 1).max(3);
    let (mut pieces, mut row, mut entry) = (Vec::new(), 0, 0);
    while row < list.ids.len() {
        let (mut ids, mut starts, first) = (Vec::new(), vec![0u32], entry);
        // A row takes two words, an entry one.
        while row < list.ids.len() && 2 * (ids.len() + 1) + (entry - first) < room {
            ids.push(list.ids[row]);
            let end = list.starts[row + 1] as usize;
            let taken = (end - entry).min(room - 2 * ids.len() - (entry - first));
            entry += taken;
            starts.push((entry - first) as u32);
            if entry < end {
                break;
            }
            row += 1;
        }
        let rows = ids.len();
        pieces.push(piece([maps.clone(), starts, ids, list.entries[first..entry].to_vec()], rows, maps.len()));
    }
    pieces
}
