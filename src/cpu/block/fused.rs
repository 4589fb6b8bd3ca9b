//! Kernels of tensors on the CPU: the lanes of a block are filled from the views, and the stage's program runs over them.
//!
//! Sums run over the lanes of a block first and over the lanes at the end, or element after element where lanes are
//! results, whichever reads memory in order. Where the work is cut depends on the dispatch alone, never on threads.

use super::BlockProgram;
use super::interpreter::{Bound, Inputs};
use super::lanes::{Columns, LANES, Lanes};
use super::parts::{self, Part};
use super::{SimdKernel, allocate::View};
use crate::half;
use crate::product::{Factor, Values, multiply};
use crate::real::Real;
use crate::{Bindings, Workgroups};
use leastwise_program::fused::{
    Anchor, FactorCode, FactorWords, Fold, Folding, Fused, Product, Source, Stage, StageWords, Stride, ViewCode, ViewWords, Words,
};
use leastwise_recording::binding::*;
use std::ops::Range;

/// Rows of a product that a workgroup stands for.
pub const PRODUCT_ROWS: u32 = 64;

/// Words of halves that are rounded at a time.
const WORDS: usize = 16 * LANES;

/// A stage with registers assigned.
struct StageProgram {
    stage: Stage,
    words: StageWords,
    block: BlockProgram,
}

impl StageProgram {
    fn new(stage: &Stage, words: &StageWords) -> Self {
        Self { stage: stage.clone(), words: words.clone(), block: BlockProgram::new(&stage.program) }
    }

    /// Whether it stores what the anchor made, and nothing else.
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
    /// The slots that halves are in, and whether results are kept as halves.
    halves: [bool; COUNT],
    rounds: bool,
}

/// What a run reads, whichever part of it.
struct Memory<'a, R> {
    slots: [&'a [R]; COUNT],
    /// Halves, two in a word.
    halves: [&'a [u32]; COUNT],
    table: &'a [u32],
}

/// The elements of a block: which axes' coordinates run, from which element on, and what the others add.
struct Block<'a> {
    /// The axes that run.
    axes: Range<usize>,
    start: usize,
    len: usize,
    /// Coordinates of the axes that don't.
    others: &'a [u32],
}

impl FusedProgram {
    /// The interpreter's programs of a fused kernel.
    pub fn new(fused: &Fused) -> Self {
        let words = fused.words();
        let prologue = match &fused.anchor {
            Anchor::Reduce { prologue, .. } => Some(StageProgram::new(prologue, &words.prologue)),
            Anchor::None { .. } | Anchor::Product(_) => None,
        };
        Self {
            anchor: fused.anchor.clone(),
            prologue,
            finish: StageProgram::new(&fused.finish, &words.finish),
            halves: std::array::from_fn(|slot| fused.has_halves(slot)),
            rounds: fused.halves,
            words,
        }
    }

    /// Whether an item is more than a few operations.
    pub fn is_heavy(&self) -> bool {
        !matches!(self.anchor, Anchor::None { .. })
    }

    /// Computes the workgroups of `work`.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub fn run<R: Real>(&self, work: &Workgroups, mut bindings: Bindings<R>) {
        let table = bindings.words(INDEX);
        let written = &self.finish.stage.outputs;
        let words = if self.rounds { bindings.words_mut(written[0]) } else { &mut [] };
        let outputs: Vec<&mut [R]> = written.iter().map(|&slot| bindings.write(slot)).collect();
        let halves = std::array::from_fn(|slot| if self.halves[slot] { bindings.words(slot) } else { &[][..] });
        let slots = std::array::from_fn(|slot| if slot == INDEX { &[][..] } else { bindings.read(slot) });
        let memory = Memory { slots, halves, table };
        match &self.anchor {
            Anchor::None { .. } if self.rounds => self.run_halves(&memory, work.items(), words),
            Anchor::None { .. } => self.run_map(&memory, work.items(), outputs),
            Anchor::Reduce { fold, folding, inner, .. } => {
                // A workgroup an element, or a lane.
                let items = match folding {
                    Folding::Lane => work.items(),
                    Folding::Group => work.groups.start as usize..work.groups.end as usize,
                };
                let how = How { fold: *fold, folding: *folding, inner: *inner as usize };
                self.run_reduction(&memory, how, items, outputs);
            }
            Anchor::Product(Product { left, right, .. }) => self.run_product(&memory, (left, right), work.groups.clone(), outputs),
        }
    }

    fn run_map<R: Real>(&self, memory: &Memory<R>, items: Range<usize>, outputs: Vec<&mut [R]>) {
        let steps = self.finish.block.allocation.steps.len() + self.finish.stage.views.len();
        parts::run(parts::parts(outputs, items, steps), |part| self.finish_part(memory, None, part));
    }

    /// Items are words, of two elements each.
    fn run_halves<R: Real>(&self, memory: &Memory<R>, items: Range<usize>, words: &mut [u32]) {
        let count = memory.table[0] as usize;
        let steps = 2 * (self.finish.block.allocation.steps.len() + self.finish.stage.views.len());
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
        let filler = Filler::new(&self.finish, memory, made.map(|made| (made, first)), axes);
        self.finish.block.instructions.run(Stored { filler, part });
    }

    fn run_reduction<R: Real>(&self, memory: &Memory<R>, how: How, items: Range<usize>, outputs: Vec<&mut [R]>) {
        let Some(prologue) = &self.prologue else { return };
        let elements = memory.table[1] as usize;
        let steps = (prologue.block.allocation.steps.len() + prologue.stage.views.len() + 1) * elements.max(1);
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
                true => Values::Halves(memory.halves[factor.slot]),
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
            let steps = self.finish.block.allocation.steps.len() + self.finish.stage.views.len();
            parts::run(parts::parts(views, items.clone(), steps), |part| {
                let own = &made[part.items.start - items.start..part.items.end - items.start];
                self.finish_part(memory, Some(own), part);
            });
        }
    }
}

/// What a stride adds.
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

/// What a group of axes adds to addresses, for its elements in `range`.
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

/// Fills the lanes of a stage's views, block by block.
struct Filler<'a, R> {
    program: &'a StageProgram,
    memory: &'a Memory<'a, R>,
    /// What the anchor made, and of which item first.
    made: Option<(&'a [R], usize)>,
    /// The axes whose coordinates run.
    axes: Range<usize>,
    /// All views, and those that the registers read, in their order.
    views: Vec<Lanes<R>>,
    lanes: Vec<Lanes<R>>,
}

impl<'a, R: Real> Filler<'a, R> {
    fn new(program: &'a StageProgram, memory: &'a Memory<'a, R>, made: Option<(&'a [R], usize)>, axes: Range<usize>) -> Self {
        let views = vec![[R::ZERO; LANES]; program.stage.views.len()];
        let lanes = vec![[R::ZERO; LANES]; program.block.allocation.views.len()];
        Self { program, memory, made, axes, views, lanes }
    }

    /// Elements `start ..` of the axes that run, at these coordinates of the others.
    #[inline(always)]
    fn fill(&mut self, start: usize, len: usize, others: &[u32]) {
        let StageProgram { stage, words, block } = self.program;
        let place = Block { axes: self.axes.clone(), start, len, others };
        for (number, (view, view_words)) in stage.views.iter().zip(&words.views).enumerate() {
            let (before, rest) = self.views.split_at_mut(number);
            let rows = view.row.map(|row| &before[row as usize]);
            fill_view(self.memory, (view, view_words), words.sizes, &place, rows, &mut rest[0]);
        }
        for (lanes, view) in self.lanes.iter_mut().zip(&block.allocation.views) {
            match *view {
                View::Given(number) if (number as usize) < self.views.len() => *lanes = self.views[number as usize],
                _ => {
                    let (made, first) = self.made.unwrap_or((&[], 0));
                    let made = &made[start - first..];
                    lanes.iter_mut().zip(made).for_each(|(lane, made)| *lane = *made);
                }
            }
        }
    }
}

/// What a stage reads besides its views: constants.
fn inputs<'a, R: Real>(memory: &Memory<'a, R>) -> Inputs<'a, R> {
    let data = memory.slots[DATA];
    Inputs { count: 0, arena: &[], vector: &[], data, bases: Vec::new(), indices: Vec::new(), views: Vec::new() }
}

/// Coordinates of an element of the axes that run, the first of them last.
fn coordinates(table: &[u32], sizes: u32, axes: &Range<usize>, element: usize) -> Vec<u32> {
    let mut rest = element;
    let mut coordinates = vec![0; axes.len()];
    for axis in (0..axes.len()).rev() {
        let size = if axis == 0 { usize::MAX } else { (table[sizes as usize + axes.start + axis] as usize).max(1) };
        coordinates[axis] = (rest % size) as u32;
        rest /= size;
    }
    coordinates
}

/// The elements of a view, in runs along the last axis.
#[inline(always)]
fn fill_view<R: Real>(
    memory: &Memory<R>,
    (view, words): (&ViewCode, &ViewWords),
    sizes: u32,
    place: &Block,
    rows: Option<&Lanes<R>>,
    lanes: &mut Lanes<R>,
) {
    let table = memory.table;
    let axis_stride = |axis: usize| stride(table, view.strides[axis], words.strides[axis]);
    let inside = |axis: usize, coordinate: u32| {
        words.masks[axis].is_none_or(|word| coordinate.wrapping_sub(table[word as usize]) < table[word as usize + 1])
    };
    let mut base = words.offset.map_or(0, |word| table[word as usize]);
    let mut is_inside = true;
    let others = (0..view.strides.len()).filter(|axis| !place.axes.contains(axis));
    for (axis, &coordinate) in others.zip(place.others) {
        base = base.wrapping_add(coordinate.wrapping_mul(axis_stride(axis)));
        is_inside &= inside(axis, coordinate);
    }
    let mut at = coordinates(table, sizes, &place.axes, place.start);
    let Some(last) = place.axes.clone().next_back() else {
        read_run(memory, view, words, (base, 0), 0..place.len, |_| is_inside, rows, lanes);
        return;
    };
    let size = |axis: usize| if axis == place.axes.start { u32::MAX } else { table[sizes as usize + axis] };
    let mut lane = 0;
    while lane < place.len {
        let (mut start, mut run_inside) = (base, is_inside);
        for (axis, &coordinate) in place.axes.clone().zip(&at) {
            start = start.wrapping_add(coordinate.wrapping_mul(axis_stride(axis)));
            run_inside &= axis == last || inside(axis, coordinate);
        }
        let first = at[at.len() - 1];
        let length = (place.len - lane).min((size(last) - first) as usize);
        let is_there = |offset: u32| run_inside && inside(last, first + offset);
        read_run(memory, view, words, (start, axis_stride(last)), lane..lane + length, is_there, rows, lanes);
        lane += length;
        // On to the next run.
        let mut axis = at.len() - 1;
        at[axis] += length as u32;
        while axis > 0 && at[axis] >= size(place.axes.start + axis) {
            at[axis] = 0;
            axis -= 1;
            at[axis] += 1;
        }
    }
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "one inner loop, cut out")]
fn read_run<R: Real>(
    memory: &Memory<R>,
    view: &ViewCode,
    words: &ViewWords,
    (start, step): (u32, u32),
    range: Range<usize>,
    is_inside: impl Fn(u32) -> bool,
    rows: Option<&Lanes<R>>,
    lanes: &mut Lanes<R>,
) {
    let plain = rows.is_none() && words.masks.iter().all(Option::is_none);
    if let (Source::Half(slot), true, 1) = (view.source, plain, step)
        && (start as usize + range.len()).div_ceil(2) <= memory.halves[slot].len()
    {
        half::widen(memory.halves[slot], start, &mut lanes[range]);
        return;
    }
    if let (Source::Slot(slot), true) = (view.source, plain) {
        let values = memory.slots[slot];
        let out = &mut lanes[range];
        match step {
            0 => out.fill(values.get(start as usize).copied().unwrap_or(R::ZERO)),
            1 if start as usize + out.len() <= values.len() => out.copy_from_slice(&values[start as usize..][..out.len()]),
            _ => {
                for (offset, out) in out.iter_mut().enumerate() {
                    let address = start.wrapping_add((offset as u32).wrapping_mul(step));
                    *out = values.get(address as usize).copied().unwrap_or(R::ZERO);
                }
            }
        }
        return;
    }
    for (offset, lane) in range.enumerate() {
        let offset = offset as u32;
        let mut address = start.wrapping_add(offset.wrapping_mul(step));
        if let (Some(rows), Some(word)) = (rows, words.row) {
            let [count, stride] = [memory.table[word as usize], memory.table[word as usize + 1]];
            let row = (rows[lane].to_f64().max(0.0) as u32).min(count.wrapping_sub(1));
            address = address.wrapping_add(row.wrapping_mul(stride));
        }
        lanes[lane] = match view.source {
            _ if !is_inside(offset) => R::ZERO,
            Source::Slot(slot) => memory.slots[slot].get(address as usize).copied().unwrap_or(R::ZERO),
            Source::Half(slot) => half::at(memory.halves[slot], address).unwrap_or(R::ZERO),
            Source::Address => R::from_f64(f64::from(address)),
            Source::One => R::ONE,
        };
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
        let mut registers = bound.registers(LANES);
        for start in items.clone().step_by(LANES) {
            let end = items.end.min(start + LANES);
            filler.fill(start, end - start, &[]);
            bound.block(
                &mut registers,
                &[],
                Columns::Padded { lanes: filler.lanes.as_flattened(), width: LANES },
                start - items.start..end - items.start,
            );
        }
    }
}

/// How a prologue is folded: with what, by whom, and how many of its axes.
#[derive(Clone, Copy)]
struct How {
    fold: Fold,
    folding: Folding,
    inner: usize,
}

/// The prologue, folded.
struct Folded<'a, 'b, R> {
    prologue: &'a StageProgram,
    memory: &'a Memory<'a, R>,
    how: How,
    first: usize,
    made: &'b mut [R],
}

#[inline(always)]
fn combine<R: Real>(fold: Fold, a: R, b: R) -> R {
    match fold {
        Fold::Sum => a + b,
        // NaN stays, whichever comes first.
        Fold::Max if b > a || b.is_nan() => b,
        Fold::Min if b < a || b.is_nan() => b,
        Fold::Max | Fold::Min => a,
    }
}

impl<R: Real> SimdKernel for Folded<'_, '_, R> {
    #[inline(always)]
    fn run(self) {
        let Self { prologue, memory, how: How { fold, folding, inner }, first, made } = self;
        let elements = memory.table[1] as usize;
        let outer = prologue.stage.rank as usize - inner;
        let (axes, fixed) = match folding {
            Folding::Lane => (0..outer, outer..outer + inner),
            Folding::Group => (outer..outer + inner, 0..outer),
        };
        let mut filler = Filler::new(prologue, memory, None, axes);
        let inputs = inputs(memory);
        let mut value = [R::ZERO; LANES];
        let part = Part { items: 0..LANES, targets: vec![&mut value[..]] };
        let mut bound = Bound { program: &prologue.block, inputs: &inputs, part };
        let mut registers = bound.registers(LANES);
        let mut add = |total: &mut Lanes<R>, start: usize, len: usize, others: &[u32], is_first: bool| {
            filler.fill(start, len, others);
            bound.block(&mut registers, &[], Columns::Padded { lanes: filler.lanes.as_flattened(), width: LANES }, 0..LANES);
            let values = bound.part.targets[0].iter();
            for (total, value) in total.iter_mut().zip(values).take(len) {
                *total = if is_first { *value } else { combine(fold, *total, *value) };
            }
        };
        match folding {
            Folding::Lane => {
                for start in (0..made.len()).step_by(LANES) {
                    let len = (made.len() - start).min(LANES);
                    let mut total = [R::ZERO; LANES];
                    for t in 0..elements {
                        let others = coordinates(memory.table, prologue.words.sizes, &fixed, t);
                        add(&mut total, first + start, len, &others, t == 0);
                    }
                    made[start..start + len].copy_from_slice(&total[..len]);
                }
            }
            Folding::Group => {
                for (number, made) in made.iter_mut().enumerate() {
                    let others = coordinates(memory.table, prologue.words.sizes, &fixed, first + number);
                    let mut total = [R::ZERO; LANES];
                    for start in (0..elements).step_by(LANES) {
                        add(&mut total, start, (elements - start).min(LANES), &others, start == 0);
                    }
                    let total = total[..elements.min(LANES)].iter().copied();
                    *made = total.reduce(|a, b| combine(fold, a, b)).unwrap_or(R::ZERO);
                }
            }
        }
    }
}
