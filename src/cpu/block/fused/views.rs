//! Strips of a stage's views: where they lie in memory, or copied.

use super::{Memory, StageProgram, coordinates, stride};
use crate::block::allocate::View;
use crate::block::lanes::FEWEST;
use crate::half;
use crate::real::Real;
use leastwise_program::fused::{Source, ViewCode, ViewWords};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Elements of a row that a strip ends with, where rows are to be read in place: shorter ones are copied, several at a time.
const ROW: usize = 64;

/// Layout of a view's elements.
#[derive(Clone, Copy)]
enum Form {
    /// Element after element, of all axes that run.
    Run(usize),
    /// Element after element along the last axis.
    Rows(usize),
    /// Otherwise, or what lies there is no number of the device.
    Apart,
}

/// The elements of a strip: which axes' coordinates run, from which element on, and what the others add.
struct Strip<'a> {
    /// The axes that run.
    axes: Range<usize>,
    /// Coordinates of the first element along them.
    at: &'a [u32],
    /// Coordinates of the axes that don't run.
    others: &'a [u32],
}

/// Brings the lanes of a stage's views, strip by strip.
pub struct Filler<'a, R> {
    pub program: &'a StageProgram,
    pub memory: &'a Memory<'a, R>,
    /// Lanes of a strip at most.
    pub width: usize,
    /// Values that the anchor made, and the first one's item.
    made: Option<(&'a [R], usize)>,
    /// The axes whose coordinates run.
    axes: Range<usize>,
    forms: Vec<Form>,
    /// Elements of a row, and of the strips that it is cut into.
    row: Option<[usize; 2]>,
    /// Copies: so many lanes for each view, and for what the anchor made.
    copies: Vec<R>,
    /// The views' slices in memory: slot and first element. None where the strip is copied; what the anchor made comes last.
    places: Vec<Option<[usize; 2]>>,
    /// Coordinates of a strip's first element, and which it is.
    at: Vec<u32>,
    first: Option<usize>,
    /// Elements read in place, and copied.
    elements: [u64; 2],
}

impl<'a, R: Real> Filler<'a, R> {
    pub fn new(program: &'a StageProgram, memory: &'a Memory<'a, R>, made: Option<(&'a [R], usize)>, axes: Range<usize>) -> Self {
        let (views, width) = (&program.stage.views, program.width::<R>());
        let is_row = |number: usize| views.iter().any(|view| view.row == Some(number as u32));
        let form = |number: usize| form(program, memory, number, &axes).filter(|_| !is_row(number)).unwrap_or(Form::Apart);
        let forms = (0..views.len()).map(form).collect();
        let (copies, places) = (vec![R::ZERO; (views.len() + 1) * width], vec![None; views.len() + 1]);
        Self { program, memory, width, made, axes, forms, row: None, copies, places, at: Vec::new(), first: None, elements: [0; 2] }
    }

    /// Ends strips with rows, where that lets views be read in place. Lanes of sums need strips of whole vectors instead.
    pub fn cut_by_rows(mut self) -> Self {
        let sizes = self.program.words.sizes as usize;
        let size = self.axes.clone().next_back().map_or(0, |last| self.memory.table[sizes + last] as usize);
        if self.axes.len() > 1 && size >= ROW && self.forms.iter().any(|form| matches!(form, Form::Rows(_))) {
            // Pieces of about the same length.
            let piece = size.div_ceil(size.div_ceil(self.width)).next_multiple_of(FEWEST);
            self.row = Some([size, piece.min(self.width)]);
        }
        self
    }

    /// Elements of the strip that begins with one.
    #[inline(always)]
    pub fn strip(&self, start: usize, end: usize) -> usize {
        match self.row {
            Some([size, piece]) => {
                let at = start % size;
                (piece - at % piece).min(size - at).min(end - start)
            }
            None => self.width.min(end - start),
        }
    }

    /// Elements `start ..` of the axes that run, at these coordinates of the others.
    #[inline(always)]
    pub fn fill(&mut self, start: usize, len: usize, others: &[u32]) {
        let StageProgram { stage, words, .. } = self.program;
        let wide = len.next_multiple_of(FEWEST);
        let table = self.memory.table;
        for (number, (view, view_words)) in stage.views.iter().zip(&words.views).enumerate() {
            let form = self.forms[number];
            if self.first != Some(start) && !matches!(form, Form::Run(_)) {
                coordinates(table, words.sizes, &self.axes, start, &mut self.at);
                self.first = Some(start);
            }
            let base = || {
                let fixed = (0..view.strides.len()).filter(|axis| !self.axes.contains(axis)).zip(others);
                let offset = view_words.offset.map_or(0, |word| table[word as usize]);
                fixed.fold(offset, |base, (axis, at)| {
                    base.wrapping_add(at.wrapping_mul(stride(table, view.strides[axis], view_words.strides[axis])))
                })
            };
            let place = match form {
                Form::Run(slot) => Some([slot, base().wrapping_add(start as u32) as usize]),
                Form::Rows(slot) if self.row.is_some() => {
                    let along = self.axes.clone().zip(&self.at);
                    let step = |axis: usize| stride(table, view.strides[axis], view_words.strides[axis]);
                    Some([slot, along.fold(base(), |base, (axis, at)| base.wrapping_add(at.wrapping_mul(step(axis)))) as usize])
                }
                _ => None,
            };
            self.places[number] = place.filter(|[slot, first]| first.saturating_add(wide) <= self.memory.slots[*slot].len());
            self.elements[usize::from(self.places[number].is_none())] += len as u64;
            if self.places[number].is_some() {
                continue;
            }
            if self.first != Some(start) {
                coordinates(table, words.sizes, &self.axes, start, &mut self.at);
                self.first = Some(start);
            }
            let strip = Strip { axes: self.axes.clone(), at: &self.at, others };
            let (before, rest) = self.copies.split_at_mut(number * self.width);
            let rows = view.row.map(|row| &before[row as usize * self.width..][..len]);
            fill_view(self.memory, (view, view_words), words.sizes, &strip, rows, &mut rest[..len]);
        }
        if let Some((made, first)) = self.made {
            let (made, last) = (&made[start - first..], stage.views.len());
            let is_whole = made.len() >= wide;
            self.places[last] = is_whole.then_some([0, start - first]);
            if !is_whole {
                self.copies[last * self.width..][..len].copy_from_slice(&made[..len]);
            }
        }
    }

    /// The strip's lanes of the number-th of what the registers read.
    #[inline(always)]
    pub fn column(&self, number: usize, len: usize) -> &[R] {
        let wide = len.next_multiple_of(FEWEST);
        let last = self.program.stage.views.len();
        let number = if let View::Given(number) = self.program.block.allocation.views[number] { (number as usize).min(last) } else { last };
        match (self.places[number], self.made) {
            (Some([_, first]), Some((made, _))) if number == last => &made[first..][..wide],
            (Some([slot, first]), _) => &self.memory.slots[slot][first..][..wide],
            (None, _) => &self.copies[number * self.width..][..wide],
        }
    }

    /// The strip of the only view that registers read, if it lies in memory.
    #[inline(always)]
    pub fn row(&self, len: usize) -> Option<&'a [R]> {
        let [View::Given(number)] = self.program.block.allocation.views[..] else { return None };
        let [slot, first] = self.places.get(number as usize).copied().flatten()?;
        self.memory.slots[slot].get(first..first + len)
    }

    /// All of them, in their order.
    pub fn columns(&self, len: usize) -> Vec<&[R]> {
        (0..self.program.block.allocation.views.len()).map(|number| self.column(number, len)).collect()
    }
}

impl<R> Drop for Filler<'_, R> {
    fn drop(&mut self) {
        self.program.elements.iter().zip(self.elements).for_each(|(all, own)| {
            all.fetch_add(own, Relaxed);
        });
    }
}

/// Layout of a view's elements along the axes that run; none where they are not numbers that can be read as they are.
fn form<R>(program: &StageProgram, memory: &Memory<R>, number: usize, axes: &Range<usize>) -> Option<Form> {
    let (view, words) = (&program.stage.views[number], &program.words.views[number]);
    let Source::Slot(slot) = view.source else { return None };
    if view.row.is_some() || view.masked.contains(&true) {
        return None;
    }
    let step = |axis: usize| stride(memory.table, view.strides[axis], words.strides[axis]);
    let size = |axis: usize| memory.table[program.words.sizes as usize + axis];
    let mut expected = 1u32;
    let mut is_run = true;
    for axis in axes.clone().rev() {
        is_run &= size(axis) <= 1 || step(axis) == expected;
        expected = expected.wrapping_mul(size(axis));
    }
    if is_run {
        return Some(Form::Run(slot));
    }
    axes.clone().next_back().filter(|last| step(*last) == 1).map(|_| Form::Rows(slot))
}

/// The elements of a view, in runs along the last axis.
#[inline(always)]
fn fill_view<R: Real>(
    memory: &Memory<R>,
    (view, words): (&ViewCode, &ViewWords),
    sizes: u32,
    place: &Strip,
    rows: Option<&[R]>,
    lanes: &mut [R],
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
    let len = lanes.len();
    let Some(last) = place.axes.clone().next_back() else {
        read_run(memory, view, words, (base, 0), 0..len, |_| is_inside, rows, lanes);
        return;
    };
    let mut at = place.at.to_vec();
    let size = |axis: usize| if axis == place.axes.start { u32::MAX } else { table[sizes as usize + axis] };
    let mut lane = 0;
    while lane < len {
        let (mut start, mut run_inside) = (base, is_inside);
        for (axis, &coordinate) in place.axes.clone().zip(&at) {
            start = start.wrapping_add(coordinate.wrapping_mul(axis_stride(axis)));
            run_inside &= axis == last || inside(axis, coordinate);
        }
        let first = at[at.len() - 1];
        let length = (len - lane).min((size(last) - first) as usize);
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
    rows: Option<&[R]>,
    lanes: &mut [R],
) {
    let plain = rows.is_none() && words.masks.iter().all(Option::is_none);
    if let (Source::Half(slot), true, 1) = (view.source, plain, step)
        && (start as usize + range.len()).div_ceil(2) <= memory.words[slot].len()
    {
        half::widen(memory.words[slot], start, &mut lanes[range]);
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
            Source::Half(slot) => half::at(memory.words[slot], address).unwrap_or(R::ZERO),
            Source::Word(slot) => R::from_f64(f64::from(memory.words[slot].get(address as usize).copied().unwrap_or(0) as i32)),
            Source::Address => R::from_f64(f64::from(address)),
            Source::One => R::ONE,
        };
    }
}
