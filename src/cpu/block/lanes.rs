//! The register file.
//!
//! A value is a run of reals, one a lane: [`LANES`] of them, or a few times [`FEWEST`] where there are fewer items. All runs of a
//! block are equally long, and every loop over lanes takes [`FEWEST`] at a time, so that it becomes vector instructions (SSE2, AVX2,
//! simd128) without a rest.

use super::allocate::{Place, VIEW};
use crate::real::Real;

/// Items that one step computes at a time: enough to hide the interpreter, few enough that some sixty f64 registers
/// fit the first-level cache. (Measured in f64: 32 lanes take 1.3 times as long for multiply-adds, 128 take 1.5.)
pub const LANES: usize = 64;

/// Lanes that a block has at least, and a multiple of: a problem of a few instances computes a few lanes, not all. Two vectors of f64:
/// in WebAssembly, whose code crosses the network, half of those of AVX2.
pub const FEWEST: usize = if cfg!(target_arch = "wasm32") { 4 } else { 8 };

/// One value of every item of a whole block.
pub type Lanes<R> = [R; LANES];

/// Lanes of the blocks that so many items are computed in.
pub fn width(items: usize) -> usize {
    items.next_multiple_of(FEWEST).min(LANES)
}

/// Lanes as a loop takes them: a few at a time, so that compilers know how many.
#[inline(always)]
pub fn few<T>(lanes: &[T]) -> &[[T; FEWEST]] {
    lanes.as_chunks().0
}

/// The same of lanes that are written.
#[inline(always)]
pub fn few_mut<T>(lanes: &mut [T]) -> &mut [[T; FEWEST]] {
    lanes.as_chunks_mut().0
}

/// The lanes of a block in columns that operands are read from without a copy.
#[derive(Clone, Copy)]
pub enum Columns<'a, T> {
    /// Whole columns, and the block's lanes in each: first and number.
    Memory { columns: &'a [&'a [T]], start: usize, width: usize },
    /// Copies of so many lanes each, for a block that would reach past the end.
    Padded { lanes: &'a [T], width: usize },
}

impl<'a, T> Columns<'a, T> {
    #[inline(always)]
    pub fn block(&self, number: usize) -> &'a [T] {
        match *self {
            Self::Memory { columns, start, width } => &columns[number][start..][..width],
            Self::Padded { lanes, width } => &lanes[number * width..][..width],
        }
    }
}

/// Lanes of a column from `start`, the last item repeated: lanes past the end compute on valid indices.
#[inline(always)]
pub fn pad<T: Copy>(lanes: &mut [T], column: &[T], start: usize) {
    for (lane, to) in lanes.iter_mut().enumerate() {
        *to = column[(start + lane).min(column.len() - 1)];
    }
}

/// The same of several columns, one after the other.
pub fn padded<T: Copy + Default>(columns: &[&[T]], start: usize, width: usize) -> Vec<T> {
    let mut lanes = vec![T::default(); columns.len() * width];
    lanes.chunks_exact_mut(width).zip(columns).for_each(|(lanes, column)| pad(lanes, column, start));
    lanes
}

pub struct Registers<R> {
    lanes: Vec<R>,
    /// Lanes that a register has room for, and those that are computed.
    room: usize,
    width: usize,
}

impl<R: Real> Registers<R> {
    pub fn new(count: usize, width: usize) -> Self {
        Self { lanes: vec![R::ZERO; count * width], room: width, width }
    }

    /// Computes so many lanes from now on; no more than there is room for.
    pub fn narrow(&mut self, width: usize) {
        debug_assert!(width <= self.room);
        self.width = width;
    }

    /// Lanes that are computed.
    #[inline(always)]
    pub fn width(&self) -> usize {
        self.width
    }

    pub fn fill(&mut self, register: usize, value: R) {
        self.lanes[register * self.room..][..self.room].fill(value);
    }

    #[inline(always)]
    pub fn output(&mut self, register: Place) -> &mut [R] {
        &mut self.lanes[register as usize * self.room..][..self.width]
    }

    #[inline(always)]
    pub fn read<'a>(&'a self, place: Place, views: Columns<'a, R>) -> &'a [R] {
        match place & VIEW {
            0 => &self.lanes[place as usize * self.room..][..self.width],
            _ => views.block((place & !VIEW) as usize),
        }
    }

    /// A step's output, and where its operands are: elsewhere.
    #[inline(always)]
    pub fn split<'a>(&'a mut self, out: Place, views: Columns<'a, R>) -> (&'a mut [R], Operands<'a, R>) {
        let Self { room, width, .. } = *self;
        let (below, rest) = self.lanes.split_at_mut(out as usize * room);
        let (output, above) = rest.split_at_mut(room);
        (&mut output[..width], Operands { below, above, views, room, width })
    }

    /// Operands of a step whose output is elsewhere.
    #[inline(always)]
    pub fn operands<'a>(&'a self, views: Columns<'a, R>) -> Operands<'a, R> {
        Operands { below: &self.lanes, above: &[], views, room: self.room, width: self.width }
    }

    /// Two outputs, and an operand.
    #[inline(always)]
    pub fn split_two<'a>(&'a mut self, outputs: [Place; 2], operand: Place, views: Columns<'a, R>) -> ([&'a mut [R]; 2], &'a [R]) {
        let range = |place: Place| place as usize * self.room..place as usize * self.room + self.width;
        let [first, second] = outputs.map(range);
        if operand & VIEW != 0 {
            let outputs = self.lanes.get_disjoint_mut([first, second]).expect("two registers");
            return (outputs, views.block((operand & !VIEW) as usize));
        }
        let [first, second, operand] = self.lanes.get_disjoint_mut([first, second, range(operand)]).expect("three registers");
        ([first, second], operand)
    }
}

/// All registers but an output, and the columns.
pub struct Operands<'a, R> {
    below: &'a [R],
    above: &'a [R],
    views: Columns<'a, R>,
    room: usize,
    width: usize,
}

impl<'a, R> Operands<'a, R> {
    #[inline(always)]
    pub fn at(&self, place: Place) -> &'a [R] {
        let first = (place & !VIEW) as usize * self.room;
        match place & VIEW {
            0 if first < self.below.len() => &self.below[first..][..self.width],
            0 => &self.above[first - self.below.len() - self.room..][..self.width],
            _ => self.views.block((place & !VIEW) as usize),
        }
    }
}

/// A gather; the index of every lane is checked as it is used.
#[inline(always)]
pub fn gather<R: Real>(out: &mut [R], source: &[R], addresses: &[u32]) {
    for (out, &address) in out.iter_mut().zip(addresses) {
        *out = source[address as usize];
    }
}
