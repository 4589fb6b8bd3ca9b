//! The register file.
//!
//! A value is an array of [`LANES`] reals. Every loop over lanes runs over whole arrays whose length the compiler knows,
//! with neither bounds checks nor branches a lane, so that it becomes vector instructions (SSE2, AVX2, simd128).

use super::allocate::{Place, VIEW};
use crate::real::Real;

/// Items that one step computes at a time: enough to hide the interpreter, few enough that some sixty f64 registers
/// fit the first-level cache. (Measured in f64: 32 lanes take 1.3 times as long for multiply-adds, 128 take 1.5.)
pub const LANES: usize = 64;

/// One value of every item of a block.
pub type Lanes<R> = [R; LANES];

/// The lanes of a block in columns that operands are read from without a copy.
#[derive(Clone, Copy)]
pub enum Columns<'a, T> {
    /// Whole columns, and where the block begins in each.
    Memory { columns: &'a [&'a [T]], start: usize },
    /// Copies, for a block that would reach past the end.
    Padded(&'a [[T; LANES]]),
}

impl<'a, T> Columns<'a, T> {
    #[inline(always)]
    pub fn block(&self, number: usize) -> &'a [T; LANES] {
        match *self {
            Self::Memory { columns, start } => columns[number][start..].first_chunk().expect("a short block is padded"),
            Self::Padded(columns) => &columns[number],
        }
    }
}

/// Lanes of a column from `start`, the last item repeated: lanes past the end compute on valid indices.
#[inline(always)]
pub fn padded<T: Copy>(column: &[T], start: usize) -> [T; LANES] {
    std::array::from_fn(|lane| column[(start + lane).min(column.len() - 1)])
}

pub struct Registers<R> {
    lanes: Vec<Lanes<R>>,
}

impl<R: Real> Registers<R> {
    pub fn new(count: usize) -> Self {
        Self { lanes: vec![[R::ZERO; LANES]; count] }
    }

    pub fn fill(&mut self, register: usize, value: R) {
        self.lanes[register] = [value; LANES];
    }

    #[inline(always)]
    pub fn output(&mut self, register: Place) -> &mut Lanes<R> {
        &mut self.lanes[register as usize]
    }

    #[inline(always)]
    pub fn read<'a>(&'a self, place: Place, views: Columns<'a, R>) -> &'a Lanes<R> {
        match place & VIEW {
            0 => &self.lanes[place as usize],
            _ => views.block((place & !VIEW) as usize),
        }
    }

    /// A step's output, and where its operands are: elsewhere.
    #[inline(always)]
    pub fn split<'a>(&'a mut self, out: Place, views: Columns<'a, R>) -> (&'a mut Lanes<R>, Operands<'a, R>) {
        let (below, rest) = self.lanes.split_at_mut(out as usize);
        let (output, above) = rest.split_first_mut().expect("a register of the file");
        (output, Operands { below, above, views })
    }

    /// Two outputs, and an operand.
    #[inline(always)]
    pub fn split_two<'a>(
        &'a mut self,
        outputs: [Place; 2],
        operand: Place,
        views: Columns<'a, R>,
    ) -> ([&'a mut Lanes<R>; 2], &'a Lanes<R>) {
        let [first, second] = outputs.map(|out| out as usize);
        if operand & VIEW != 0 {
            let outputs = self.lanes.get_disjoint_mut([first, second]).expect("two registers");
            return (outputs, views.block((operand & !VIEW) as usize));
        }
        let [first, second, operand] = self.lanes.get_disjoint_mut([first, second, operand as usize]).expect("three registers");
        ([first, second], operand)
    }
}

/// All registers but one, and the columns.
pub struct Operands<'a, R> {
    below: &'a [Lanes<R>],
    above: &'a [Lanes<R>],
    views: Columns<'a, R>,
}

impl<'a, R> Operands<'a, R> {
    #[inline(always)]
    pub fn at(&self, place: Place) -> &'a Lanes<R> {
        let number = (place & !VIEW) as usize;
        match place & VIEW {
            0 if number < self.below.len() => &self.below[number],
            0 => &self.above[number - self.below.len() - 1],
            _ => self.views.block(number),
        }
    }
}

/// A gather; the index of every lane is checked as it is used.
#[inline(always)]
pub fn gather<R: Real>(out: &mut Lanes<R>, source: &[R], addresses: &[u32; LANES]) {
    for lane in 0..LANES {
        out[lane] = source[addresses[lane] as usize];
    }
}
