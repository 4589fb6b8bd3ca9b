//! Programs of whole numbers, over strips: every step is one loop, of int32s alone.
//!
//! Results don't depend on the order in which elements are folded, because sums wrap. So a result's elements are folded strip by
//! strip, or an element of many results after the other, whichever reads what lies side by side.

use super::{Memory, coordinates, stride};
use crate::block::parts;
use crate::half;
use crate::real::Real;
use leastwise_program::fused::{Fold, Source, StageWords, ViewCode, ViewWords, WordKernel};
use leastwise_program::words::{WordBinary, WordStep, WordUnary};
use std::ops::Range;

/// Numbers of all steps of a strip, which stay in the first caches, and lanes of one.
const STRIP: usize = 1 << 13;
const FEWEST: usize = 64;
const MOST: usize = 1 << 10;
const PARTS: usize = 16;

/// Computes the items, and stores them: as reals, or as words.
pub fn run<R: Real>(
    kernel: &WordKernel,
    words: &StageWords,
    memory: &Memory<R>,
    items: Range<usize>,
    mut reals: Vec<&mut [R]>,
    stored: &mut [u32],
) {
    let each = if kernel.fold.is_some() { memory.table[1] as usize } else { 1 };
    let steps = (kernel.program.steps.len() + kernel.stage.views.len()) * each.max(1);
    let runner = Runner { kernel, words, memory };
    // Parts of as many elements as a strip has, or of one result of many. Threads get some each.
    let length = if runner.is_across(items.len()) { (items.len() / PARTS).clamp(FEWEST, MOST) } else { (STRIP / each.max(1)).max(1) };
    let starts = items.clone().step_by(length);
    match (kernel.to_reals, reals.pop()) {
        (true, Some(reals)) => {
            let tasks = starts.zip(reals[items.clone()].chunks_mut(length)).collect();
            parts::each(tasks, steps * items.len(), |(first, out): (usize, &mut [R])| {
                runner.compute(first, out.len(), each, |place, value| out[place] = R::from_f64(f64::from(value)));
            });
        }
        _ => {
            let tasks = starts.zip(stored[items.clone()].chunks_mut(length)).collect();
            parts::each(tasks, steps * items.len(), |(first, out): (usize, &mut [u32])| {
                runner.compute(first, out.len(), each, |place, value| out[place] = value as u32);
            });
        }
    }
}

struct Runner<'a, R> {
    kernel: &'a WordKernel,
    words: &'a StageWords,
    memory: &'a Memory<'a, R>,
}

impl<R: Real> Runner<'_, R> {
    /// True where a strip is one element of each of many results: more views lie side by side that way than along the results' own
    /// elements, as in columns and products of matrices.
    fn is_across(&self, items: usize) -> bool {
        let WordKernel { stage, inner, fold, .. } = self.kernel;
        let (rank, outer) = (stage.rank as usize, (stage.rank - inner) as usize);
        if fold.is_none() || items < FEWEST || outer == 0 || outer == rank {
            return false;
        }
        let near = |axis: usize| {
            let views = stage.views.iter().zip(&self.words.views);
            views.filter(|(view, words)| stride(self.memory.table, view.strides[axis], words.strides[axis]) <= 1).count()
        };
        near(outer - 1) > near(rank - 1)
    }

    /// Items from `first` on, each of so many elements; gives every one's place and value.
    fn compute(&self, first: usize, count: usize, each: usize, mut give: impl FnMut(usize, i32)) {
        let WordKernel { stage, program, fold, inner, .. } = self.kernel;
        let outer = (stage.rank - inner) as usize;
        let width = (STRIP / program.steps.len().max(1)).clamp(FEWEST, MOST);
        let mut lanes = vec![0i32; (program.steps.len() + stage.views.len()) * width];
        let mut others = Vec::new();
        let Some(fold) = fold else {
            for start in (0..count).step_by(width) {
                let len = width.min(count - start);
                let values = self.strip(&mut lanes, width, &(0..outer), first + start, len, &others);
                values.iter().enumerate().for_each(|(lane, &value)| give(start + lane, value));
            }
            return;
        };
        let combine = |a: i32, b: i32| match fold {
            Fold::Sum => WordBinary::Add.apply(a, b),
            Fold::Max => WordBinary::Max.apply(a, b),
            Fold::Min => WordBinary::Min.apply(a, b),
        };
        let first_total = match fold {
            Fold::Sum => 0,
            Fold::Max => i32::MIN,
            Fold::Min => i32::MAX,
        };
        if self.is_across(count) {
            let mut totals = vec![first_total; width];
            for start in (0..count).step_by(width) {
                let totals = &mut totals[..width.min(count - start)];
                totals.fill(first_total);
                for t in 0..each {
                    coordinates(self.memory.table, self.words.sizes, &(outer..stage.rank as usize), t, &mut others);
                    let values = self.strip(&mut lanes, width, &(0..outer), first + start, totals.len(), &others);
                    let both = totals.iter_mut().zip(values);
                    match fold {
                        Fold::Sum => both.for_each(|(total, &value)| *total = total.wrapping_add(value)),
                        Fold::Max => both.for_each(|(total, &value)| *total = value.max(*total)),
                        Fold::Min => both.for_each(|(total, &value)| *total = value.min(*total)),
                    }
                }
                totals.iter().enumerate().for_each(|(lane, &total)| give(start + lane, total));
            }
            return;
        }
        for item in 0..count {
            coordinates(self.memory.table, self.words.sizes, &(0..outer), first + item, &mut others);
            let mut total = first_total;
            for start in (0..each).step_by(width) {
                let len = width.min(each - start);
                let values = self.strip(&mut lanes, width, &(outer..stage.rank as usize), start, len, &others);
                total = values.iter().fold(total, |total, &value| combine(total, value));
            }
            give(item, total);
        }
    }

    /// Results of the elements `start ..` of the axes that run, at these coordinates of the others.
    fn strip<'b>(&self, lanes: &'b mut [i32], width: usize, axes: &Range<usize>, start: usize, len: usize, others: &[u32]) -> &'b [i32] {
        let WordKernel { stage, program, .. } = self.kernel;
        let (views, steps) = lanes.split_at_mut(stage.views.len() * width);
        for (number, (view, words)) in stage.views.iter().zip(&self.words.views).enumerate() {
            let (before, rest) = views.split_at_mut(number * width);
            let rows = view.row.map(|row| &before[row as usize * width..][..len]);
            self.read(view, words, axes, start, others, rows, &mut rest[..len]);
        }
        for (number, step) in program.steps.iter().enumerate() {
            let (before, rest) = steps.split_at_mut(number * width);
            let of = |number: u32| &before[number as usize * width..][..len];
            let out = &mut rest[..len];
            match *step {
                WordStep::View(view) => out.copy_from_slice(&views[view as usize * width..][..len]),
                WordStep::Constant(value) => out.fill(value),
                WordStep::Unary(operation, a) => unary(operation, out, of(a)),
                WordStep::Binary(operation, a, b) => binary(operation, out, of(a), of(b)),
                WordStep::Select(condition, then, otherwise) => {
                    let choices = of(then).iter().zip(of(otherwise));
                    out.iter_mut().zip(of(condition)).zip(choices).for_each(|((out, condition), (then, otherwise))| {
                        *out = if *condition == 0 { *otherwise } else { *then };
                    });
                }
            }
        }
        &steps[program.result as usize * width..][..len]
    }

    /// The elements of a view, in runs along the last axis.
    #[expect(clippy::too_many_arguments, reason = "what a strip is, and what is read of it")]
    fn read(
        &self,
        view: &ViewCode,
        words: &ViewWords,
        axes: &Range<usize>,
        start: usize,
        others: &[u32],
        rows: Option<&[i32]>,
        out: &mut [i32],
    ) {
        let table = self.memory.table;
        let step = |axis: usize| stride(table, view.strides[axis], words.strides[axis]);
        let inside =
            |axis: usize, at: u32| words.masks[axis].is_none_or(|word| at.wrapping_sub(table[word as usize]) < table[word as usize + 1]);
        let (mut base, mut is_inside) = (words.offset.map_or(0, |word| table[word as usize]), true);
        for (axis, &at) in (0..view.strides.len()).filter(|axis| !axes.contains(axis)).zip(others) {
            base = base.wrapping_add(at.wrapping_mul(step(axis)));
            is_inside &= inside(axis, at);
        }
        let mut at = Vec::new();
        let mut lane = 0;
        while lane < out.len() {
            coordinates(table, self.words.sizes, axes, start + lane, &mut at);
            let last = axes.len().checked_sub(1);
            let (mut address, mut run_inside) = (base, is_inside);
            for (axis, &at) in axes.clone().zip(&at) {
                address = address.wrapping_add(at.wrapping_mul(step(axis)));
                run_inside &= Some(axis - axes.start) == last || inside(axis, at);
            }
            // An axis alone has as many elements as there are.
            let (first, along, size) = match last {
                Some(0) => (at[0], step(axes.start), u32::MAX),
                Some(last) => (at[last], step(axes.start + last), table[self.words.sizes as usize + axes.start + last]),
                None => (0, 0, u32::MAX),
            };
            let run = (out.len() - lane).min((size - first) as usize).max(1);
            // Words side by side, or one for all, of which there are all.
            let is_masked = last.is_some_and(|last| words.masks[axes.start + last].is_some());
            if let Source::Word(slot) = view.source
                && run_inside
                && !is_masked
                && rows.is_none()
                && along <= 1
                && let Some(stored) =
                    self.memory.words[slot].get(address as usize..).filter(|stored| stored.len() > along as usize * (run - 1))
            {
                let out = &mut out[lane..lane + run];
                match along {
                    0 => out.fill(stored[0] as i32),
                    _ => out.iter_mut().zip(stored).for_each(|(out, &word)| *out = word as i32),
                }
                lane += run;
                continue;
            }
            for offset in 0..run as u32 {
                let is_there = run_inside && last.is_none_or(|last| inside(axes.start + last, first + offset));
                let mut place = address.wrapping_add(offset.wrapping_mul(along));
                if let (Some(rows), Some(word)) = (rows, words.row) {
                    let [count, apart] = [table[word as usize], table[word as usize + 1]];
                    let row = (rows[lane + offset as usize].max(0) as u32).min(count.wrapping_sub(1));
                    place = place.wrapping_add(row.wrapping_mul(apart));
                }
                out[lane + offset as usize] = if is_there { self.element(view.source, place) } else { 0 };
            }
            lane += run;
        }
    }

    /// Whole number at an address.
    #[inline(always)]
    fn element(&self, source: Source, address: u32) -> i32 {
        let place = address as usize;
        match source {
            Source::Word(slot) => self.memory.words[slot].get(place).map_or(0, |&word| word as i32),
            // At the ends where it lies beyond, and 0 of NaN.
            Source::Slot(slot) => self.memory.slots[slot].get(place).map_or(0, |real| real.to_f64() as i32),
            Source::Half(slot) => half::at::<f32>(self.memory.words[slot], address).map_or(0, |real| real as i32),
            Source::Address => address as i32,
            Source::One => 1,
        }
    }
}

/// A loop of its own for every operation.
macro_rules! loops {
    ($operation:expr, $kind:ident, [$($name:ident),*], |$known:ident| $run:expr) => {
        match $operation {
            $($kind::$name => {
                let $known = $kind::$name;
                $run
            })*
        }
    };
}

fn unary(operation: WordUnary, out: &mut [i32], a: &[i32]) {
    loops!(operation, WordUnary, [Neg, Abs, Sign, Not], |known| out.iter_mut().zip(a).for_each(|(out, &a)| *out = known.apply(a)));
}

fn binary(operation: WordBinary, out: &mut [i32], a: &[i32], b: &[i32]) {
    loops!(
        operation,
        WordBinary,
        [Add, Sub, Mul, FloorDivide, Mod, Pow, Min, Max, Lt, Le, Eq, Ne, And, Or, Xor, ShiftLeft, ShiftRight],
        |known| out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (&a, &b))| *out = known.apply(a, b))
    );
}
