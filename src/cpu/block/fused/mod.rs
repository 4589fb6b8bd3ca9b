//! Kernels of tensors on the CPU: a stage's program runs over strips of elements, a few kilobytes a value, which are read where they
//! lie in memory.
//!
//! - [`views`] tells which views of a strip are runs of memory, and copies the others.
//! - [`fold`] reduces: element after element where lanes are results, and over lanes first where a result's elements lie side by side.
//! - [`words`] runs programs of whole numbers.
//! - [`functions`] has the interpreter's loops for strips, and exponentials of vectors.
//!
//! Where the work is cut depends on the dispatch alone, never on threads.

mod fold;
mod functions;
mod views;
mod words;

use super::BlockProgram;
use super::interpreter::{Bound, Inputs};
use super::lanes::{Columns, FEWEST, LANES};
use super::parts::{self, Part};
use super::{SimdKernel, allocate::Step, allocate::View};
use crate::half;
use crate::product::{Factor, Values, multiply};
use crate::real::Real;
use crate::{Bindings, Body, CpuDevice, Workgroups};
use fold::{Folded, How};
pub(super) use functions::{streamed, streamed_of_two, streamed_sin_cos};
use leastwise_program::Numerics;
use leastwise_program::fused::{Anchor, FactorCode, FactorWords, Folding, Fused, Product, Stage, StageWords, Stride, WordKernel, Words};
use leastwise_recording::binding::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use views::Filler;

/// Rows of a product that a workgroup stands for.
pub const PRODUCT_ROWS: u32 = 64;

/// Words of halves that are rounded at a time.
const WORDS: usize = 16 * LANES;

/// Bytes of the values of a strip, which stay in the first cache, and lanes of one at most.
const STRIP: usize = 1 << 14;
const MOST_LANES: usize = 1 << 10;

/// Operations between two looks at the clock: some 0.1 to 1 ms.
const SLICE: usize = 1 << 19;

/// Operations that a call of a function stands for.
const FUNCTION: usize = 16;

/// Operations of a strip that take as long as a step of the block interpreter, about: parts for threads are as many times longer.
const STREAMED: usize = 4;

/// A stage with registers assigned.
struct StageProgram {
    stage: Stage,
    words: StageWords,
    block: BlockProgram,
    /// The block's steps with results in targets, for strips without lanes past their ends.
    in_targets: Vec<Step>,
    /// Elements that were read where they lie, and those that were copied first.
    elements: [AtomicU64; 2],
}

impl StageProgram {
    fn new(stage: &Stage, words: &StageWords) -> Self {
        let block = BlockProgram::new(&stage.program);
        let in_targets = block.allocation.in_targets();
        Self { stage: stage.clone(), words: words.clone(), block, in_targets, elements: Default::default() }
    }

    /// Operations of an item, about.
    fn operations(&self) -> usize {
        let each = |step: &Step| {
            let is_function = match *step {
                Step::SinCos { .. } => true,
                Step::Unary { operation, .. } => !matches!(operation.numerics(), Numerics::Instruction | Numerics::BuiltIn(_)),
                Step::Binary { operation, .. } => matches!(operation.numerics(), Numerics::Function(_)),
                _ => false,
            };
            if is_function { FUNCTION } else { 1 }
        };
        self.block.allocation.steps.iter().map(each).sum::<usize>() + self.stage.views.len()
    }

    /// Lanes of a strip.
    fn width<R>(&self) -> usize {
        let values = self.block.allocation.registers + self.stage.views.len() + 1;
        (STRIP / (values * size_of::<R>()) / LANES * LANES).clamp(LANES, MOST_LANES)
    }

    /// True if it stores one view, and nothing else.
    fn is_view(&self) -> bool {
        self.block.allocation.steps.len() == 1 && self.block.allocation.views.len() == 1
    }

    /// True if it stores what the anchor made, and nothing else.
    fn is_plain(&self) -> bool {
        let given = View::Given(self.stage.views.len() as u32);
        self.block.allocation.steps.len() == 1 && self.block.allocation.views == [given] && self.stage.outputs.len() == 1
    }
}

/// A kernel of tensors with registers assigned.
pub struct FusedProgram {
    anchor: Anchor,
    words: Words,
    prologue: Option<StageProgram>,
    finish: StageProgram,
    /// The slots that words are in, halves or int32s, and whether results are kept as halves.
    words_in: [bool; COUNT],
    rounds: bool,
}

/// Memory that a run reads, whichever part of it.
struct Memory<'a, R> {
    slots: [&'a [R]; COUNT],
    /// Words: halves, two in each, or int32s.
    words: [&'a [u32]; COUNT],
    table: &'a [u32],
}

/// Elements that the device's kernels of tensors read where they lie, and those that they copied first: masked, strided, gathered ones,
/// halves, and what is repeated along an axis.
pub fn elements_read(device: &CpuDevice) -> [u64; 2] {
    let mut sums = [0; 2];
    for kernel in &device.kernels.list {
        let Some(Some(Body::Fused(program))) = kernel.body.get() else { continue };
        for stage in program.prologue.iter().chain([&program.finish]) {
            sums.iter_mut().zip(&stage.elements).for_each(|(sum, count)| *sum += count.load(Relaxed));
        }
    }
    sums
}

impl FusedProgram {
    /// The interpreter's programs of a fused kernel.
    pub fn new(fused: &Fused) -> Self {
        let words = fused.words();
        let prologue = match &fused.anchor {
            Anchor::Reduce { prologue, .. } => Some(StageProgram::new(prologue, &words.prologue)),
            Anchor::None { .. } | Anchor::Product(_) | Anchor::Words(_) | Anchor::Rows(_) => None,
        };
        Self {
            anchor: fused.anchor.clone(),
            prologue,
            finish: StageProgram::new(&fused.finish, &words.finish),
            words_in: std::array::from_fn(|slot| fused.has_words(slot)),
            rounds: fused.halves,
            words,
        }
    }

    /// True if an item is more than a few operations.
    pub fn is_heavy(&self) -> bool {
        !matches!(self.anchor, Anchor::None { .. } | Anchor::Words(WordKernel { fold: None, .. }))
    }

    /// Items between two looks at the clock, where an item is an element, or two that are kept as halves.
    pub fn slice(&self) -> u32 {
        let elements = if self.rounds { 2 } else { 1 };
        let operations = if let Anchor::Words(kernel) = &self.anchor { kernel.program.steps.len() } else { self.finish.operations() };
        (SLICE / (elements * operations.max(1))).max(LANES) as u32
    }

    /// Computes the workgroups of `work`.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub fn run<R: Real>(&self, work: &Workgroups, mut bindings: Bindings<R>) {
        let table = bindings.words(INDEX);
        let written = &self.finish.stage.outputs;
        let makes_words = self.rounds || matches!(self.anchor, Anchor::Words(WordKernel { to_reals: false, .. }));
        let words = if makes_words { bindings.words_mut(written[0]) } else { &mut [] };
        let outputs: Vec<&mut [R]> = written.iter().map(|&slot| bindings.write(slot)).collect();
        let words_read = std::array::from_fn(|slot| if self.words_in[slot] { bindings.words(slot) } else { &[][..] });
        let slots = std::array::from_fn(|slot| if slot == INDEX { &[][..] } else { bindings.read(slot) });
        let memory = Memory { slots, words: words_read, table };
        match &self.anchor {
            Anchor::None { .. } if self.rounds => self.run_halves(&memory, work.items(), words),
            Anchor::None { .. } => self.run_map(&memory, work.items(), outputs),
            Anchor::Reduce { fold, folding, inner, .. } => {
                // A workgroup an element, or a lane.
                let items = match folding {
                    Folding::Lane | Folding::Strip => work.items(),
                    Folding::Group => work.groups.start as usize..work.groups.end as usize,
                };
                let how = How { fold: *fold, folding: *folding, inner: *inner as usize };
                self.run_reduction(&memory, how, items, outputs);
            }
            Anchor::Words(kernel) => words::run(kernel, &self.words.prologue, &memory, work.items(), outputs, words),
            Anchor::Rows(_) => unreachable!("plans have rows for GPUs alone"),
            Anchor::Product(Product { left, right, .. }) => self.run_product(&memory, (left, right), work.groups.clone(), outputs),
        }
    }

    fn run_map<R: Real>(&self, memory: &Memory<R>, items: Range<usize>, outputs: Vec<&mut [R]>) {
        let steps = self.finish.operations().div_ceil(STREAMED);
        parts::run(parts::parts(outputs, items, steps), |part| self.finish_part(memory, None, part));
    }

    /// Items are words, of two elements each.
    fn run_halves<R: Real>(&self, memory: &Memory<R>, items: Range<usize>, words: &mut [u32]) {
        let count = memory.table[0] as usize;
        let steps = (2 * self.finish.operations()).div_ceil(STREAMED);
        let pieces = words[items.clone()].chunks_mut(WORDS);
        let tasks = items.clone().step_by(WORDS).zip(pieces).collect();
        parts::each(tasks, steps * items.len(), |(first, words): (usize, &mut [u32])| {
            let elements = 2 * first..count.min(2 * (first + words.len()));
            let mut numbers = vec![R::ZERO; elements.len()];
            self.finish_part(memory, None, Part { items: elements, targets: vec![&mut numbers] });
            half::pack(&numbers, words);
        });
    }

    /// The last stage over the items of a part; `made` is what the anchor made of them.
    // Not inlined into what plays recordings, which pages without tensors download.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn finish_part<R: Real>(&self, memory: &Memory<R>, made: Option<&[R]>, part: Part<R>) {
        let Some(first) = part.items.clone().next() else { return };
        let axes = 0..self.finish.stage.rank as usize;
        let filler = Filler::new(&self.finish, memory, made.map(|made| (made, first)), axes).cut_by_rows();
        self.finish.block.instructions.run(Stored { filler, part });
    }

    fn run_reduction<R: Real>(&self, memory: &Memory<R>, how: How, items: Range<usize>, outputs: Vec<&mut [R]>) {
        let Some(prologue) = &self.prologue else { return };
        let elements = memory.table[1] as usize;
        let steps = ((prologue.operations() + 1) * elements.max(1)).div_ceil(STREAMED);
        parts::run(parts::parts(outputs, items, steps), |part| {
            let mut made = vec![R::ZERO; part.items.len()];
            prologue.block.instructions.run(Folded { prologue, memory, how, first: part.items.start, made: &mut made });
            self.finish_part(memory, Some(&made), part);
        });
    }

    fn run_product<R: Real>(
        &self,
        memory: &Memory<R>,
        (left, right): (&FactorCode, &FactorCode),
        groups: Range<u32>,
        mut outputs: Vec<&mut [R]>,
    ) {
        let table = memory.table;
        let [m, n, k, tiles] = [table[0], table[1], table[2], table[3].max(1)];
        let [batch, rows, depth, columns] = self.words.groups;
        let mut group = groups.start;
        while group < groups.end {
            // Tiles of one matrix at a time.
            let b = group / tiles;
            let end = groups.end.min((b + 1) * tiles);
            let first = (group % tiles * PRODUCT_ROWS).min(m);
            let last = ((end - b * tiles) * PRODUCT_ROWS).min(m);
            group = end;
            let (left_words, right_words) = (&self.words.left, &self.words.right);
            let a = (
                offsets(table, &left.rows, &left_words.rows, rows, start_of(table, left, left_words, batch, b), first..last),
                offsets(table, &left.columns, &left_words.columns, depth, 0, 0..k),
            );
            let c = (
                offsets(table, &right.rows, &right_words.rows, depth, start_of(table, right, right_words, batch, b), 0..k),
                offsets(table, &right.columns, &right_words.columns, columns, 0, 0..n),
            );
            let values = |factor: &FactorCode| match factor.half {
                true => Values::Halves(memory.words[factor.slot]),
                false => Values::Reals(memory.slots[factor.slot]),
            };
            let a = Factor { values: values(left), rows: &a.0, columns: &a.1 };
            let c = Factor { values: values(right), rows: &c.0, columns: &c.1 };
            let items = (b * m + first) as usize * n as usize..(b * m + last) as usize * n as usize;
            if self.finish.is_plain() {
                multiply(a, c, &mut outputs[0][items]);
                continue;
            }
            let mut made = vec![R::ZERO; items.len()];
            multiply(a, c, &mut made);
            let views = outputs.iter_mut().map(|output| &mut **output).collect();
            let steps = self.finish.operations().div_ceil(STREAMED);
            parts::run(parts::parts(views, items.clone(), steps), |part| {
                let own = &made[part.items.start - items.start..part.items.end - items.start];
                self.finish_part(memory, Some(own), part);
            });
        }
    }
}

/// Elements that a stride adds.
#[inline(always)]
fn stride(table: &[u32], stride: Stride, word: Option<u32>) -> u32 {
    match (stride, word) {
        (Stride::Zero, _) => 0,
        (Stride::Word, Some(word)) => table[word as usize],
        _ => 1,
    }
}

/// Where a factor's matrix of the batch begins.
fn start_of(table: &[u32], factor: &FactorCode, words: &FactorWords, sizes: u32, b: u32) -> u32 {
    let start = words.offset.map_or(0, |word| table[word as usize]);
    offsets(table, &factor.batch, &words.batch, sizes, start, b..b + 1)[0]
}

/// Offsets of a group of axes, for its elements in `range`.
fn offsets(table: &[u32], strides: &[Stride], words: &[Option<u32>], sizes: u32, start: u32, range: Range<u32>) -> Vec<u32> {
    let offset = |element: u32| {
        let (mut rest, mut offset) = (element, start);
        for axis in (0..strides.len()).rev() {
            let size = if axis == 0 { u32::MAX } else { table[sizes as usize + axis].max(1) };
            offset = offset.wrapping_add((rest % size).wrapping_mul(stride(table, strides[axis], words[axis])));
            rest /= size;
        }
        offset
    };
    range.map(offset).collect()
}

/// Inputs of a stage besides its views: constants.
fn inputs<'a, R: Real>(memory: &Memory<'a, R>) -> Inputs<'a, R> {
    let data = memory.slots[DATA];
    Inputs { count: 0, arena: &[], vector: &[], data, bases: Vec::new(), indices: Vec::new(), views: Vec::new() }
}

/// Coordinates of an element of the axes that run, the first of them last.
fn coordinates(table: &[u32], sizes: u32, axes: &Range<usize>, element: usize, coordinates: &mut Vec<u32>) {
    let mut rest = element;
    coordinates.clear();
    coordinates.resize(axes.len(), 0);
    for axis in (0..axes.len()).rev() {
        let size = if axis == 0 { usize::MAX } else { (table[sizes as usize + axes.start + axis] as usize).max(1) };
        coordinates[axis] = (rest % size) as u32;
        rest /= size;
    }
}

/// The last stage, stored.
struct Stored<'a, 'b, R> {
    filler: Filler<'a, R>,
    part: Part<'b, R>,
}

impl<R: Real> SimdKernel for Stored<'_, '_, R> {
    #[inline(always)]
    fn run(self) {
        let Self { mut filler, part } = self;
        let items = part.items.clone();
        let inputs = inputs(filler.memory);
        let mut bound = Bound { program: &filler.program.block, inputs: &inputs, part };
        let mut registers = bound.registers(filler.width);
        let mut start = items.start;
        while start < items.end {
            let len = filler.strip(start, items.end);
            filler.fill(start, len, &[]);
            let (columns, width) = (filler.columns(len), len.next_multiple_of(FEWEST));
            registers.narrow(width);
            let lanes = Columns::Memory { columns: &columns, start: 0, width };
            let steps = if len == width { &filler.program.in_targets } else { &filler.program.block.allocation.steps };
            bound.block::<true>(steps, &mut registers, &[], lanes, start - items.start..start - items.start + len);
            start += len;
        }
    }
}
