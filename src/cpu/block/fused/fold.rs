//! Reductions: the prologue's values, folded.
//!
//! A lane's values are folded in their order. Those of a group are 64 lanes first, of which lane k has the elements k, k + 64, …, and
//! then a tree of halves. So the order depends on sizes and on how the operand lies, not on strips or threads, and both are loops over
//! vectors.

use super::views::Filler;
use super::{Memory, StageProgram, coordinates, inputs};
use crate::block::SimdKernel;
use crate::block::interpreter::Bound;
use crate::block::lanes::{Columns, FEWEST, LANES, Lanes};
use crate::block::parts::Part;
use crate::real::Real;
use leastwise_program::fused::{Fold, Folding};

/// Rows that are folded together.
const ROWS: usize = 8;

/// Fold of a prologue: its rule, who folds, and how many axes.
#[derive(Clone, Copy)]
pub struct How {
    pub fold: Fold,
    pub folding: Folding,
    pub inner: usize,
}

/// The prologue, folded.
pub struct Folded<'a, 'b, R> {
    pub prologue: &'a StageProgram,
    pub memory: &'a Memory<'a, R>,
    pub how: How,
    pub first: usize,
    pub made: &'b mut [R],
}

/// Rule that makes one value of two.
trait Rule {
    /// Identity of the rule: it changes no value, not even the sign of a zero.
    const IDENTITY: f64;

    fn combine<R: Real>(a: R, b: R) -> R;
}

struct Sum;
struct Max;
struct Min;

/// The larger and the smaller one where neither is NaN: an instruction each.
struct Larger;
struct Smaller;

impl Rule for Sum {
    const IDENTITY: f64 = -0.0;

    #[inline(always)]
    fn combine<R: Real>(a: R, b: R) -> R {
        a + b
    }
}

impl Rule for Max {
    const IDENTITY: f64 = f64::NEG_INFINITY;

    // NaN stays, whichever comes first.
    #[inline(always)]
    fn combine<R: Real>(a: R, b: R) -> R {
        if (b > a) | b.is_nan() { b } else { a }
    }
}

impl Rule for Min {
    const IDENTITY: f64 = f64::INFINITY;

    #[inline(always)]
    fn combine<R: Real>(a: R, b: R) -> R {
        if (b < a) | b.is_nan() { b } else { a }
    }
}

impl Rule for Larger {
    const IDENTITY: f64 = f64::NEG_INFINITY;

    #[inline(always)]
    fn combine<R: Real>(a: R, b: R) -> R {
        if a < b { b } else { a }
    }
}

impl Rule for Smaller {
    const IDENTITY: f64 = f64::INFINITY;

    #[inline(always)]
    fn combine<R: Real>(a: R, b: R) -> R {
        if b < a { b } else { a }
    }
}

/// True if one is NaN.
#[inline(always)]
fn has_nan<R: Real>(values: &[R]) -> bool {
    values.iter().fold(false, |any, value| any | value.is_nan())
}

impl<R: Real> SimdKernel for Folded<'_, '_, R> {
    #[inline(always)]
    fn run(self) {
        let Self { prologue, memory, how: How { fold, folding, inner }, first, made } = self;
        let elements = memory.table[1] as usize;
        if elements == 0 {
            made.fill(R::ZERO);
            return;
        }
        let (outer, sizes) = (prologue.stage.rank as usize - inner, prologue.words.sizes);
        let (axes, fixed) = match folding {
            Folding::Lane | Folding::Strip => (0..outer, outer..outer + inner),
            Folding::Group => (outer..outer + inner, 0..outer),
        };
        let mut filler = Filler::new(prologue, memory, None, axes);
        if folding != Folding::Group {
            filler = filler.cut_by_rows();
        }
        let (inputs, is_view) = (inputs(memory), prologue.is_view());
        let mut value = vec![R::ZERO; filler.width];
        let part = Part { items: 0..value.len(), targets: vec![&mut value[..]] };
        let mut bound = Bound { program: &prologue.block, inputs: &inputs, part };
        let mut registers = bound.registers(filler.width);
        let (mut others, mut rows) = (Vec::new(), Vec::with_capacity(ROWS));
        let identity = R::from_f64(match fold {
            Fold::Sum => Sum::IDENTITY,
            Fold::Max => Max::IDENTITY,
            Fold::Min => Min::IDENTITY,
        });
        // Folds a filled strip into totals: of lanes where these are results, else of the lanes of all chunks.
        let mut strip = |filler: &Filler<R>, len: usize, totals: &mut [R]| {
            let values = if is_view {
                &filler.column(0, len)[..len]
            } else {
                let (columns, width) = (filler.columns(len), len.next_multiple_of(FEWEST));
                registers.narrow(width);
                let steps = if len == width { &prologue.in_targets } else { &prologue.block.allocation.steps };
                bound.block::<true>(steps, &mut registers, &[], Columns::Memory { columns: &columns, start: 0, width }, 0..len);
                &bound.part.targets[0][..len]
            };
            match folding {
                Folding::Lane | Folding::Strip => down(fold, totals, &[values]),
                Folding::Group => across(fold, totals, values),
            }
        };
        match folding {
            Folding::Lane | Folding::Strip => {
                let mut start = 0;
                while start < made.len() {
                    let len = filler.strip(first + start, first + made.len());
                    let totals = &mut made[start..start + len];
                    totals.fill(identity);
                    for t in 0..elements {
                        coordinates(memory.table, sizes, &fixed, t, &mut others);
                        filler.fill(first + start, len, &others);
                        match filler.row(len).filter(|_| is_view) {
                            Some(row) => rows.push(row),
                            None => {
                                down(fold, totals, &rows);
                                rows.clear();
                                strip(&filler, len, totals);
                            }
                        }
                        if rows.len() == ROWS {
                            down(fold, totals, &rows);
                            rows.clear();
                        }
                    }
                    down(fold, totals, &rows);
                    rows.clear();
                    start += len;
                }
            }
            Folding::Group => {
                for (number, made) in made.iter_mut().enumerate() {
                    coordinates(memory.table, sizes, &fixed, first + number, &mut others);
                    let mut totals = [identity; LANES];
                    for start in (0..elements).step_by(filler.width) {
                        let len = (elements - start).min(filler.width);
                        filler.fill(start, len, &others);
                        strip(&filler, len, &mut totals);
                    }
                    *made = match fold {
                        Fold::Sum => tree::<R, Sum>(&mut totals, elements.min(LANES)),
                        Fold::Max => tree::<R, Max>(&mut totals, elements.min(LANES)),
                        Fold::Min => tree::<R, Min>(&mut totals, elements.min(LANES)),
                    };
                }
            }
        }
    }
}

/// Folds the lanes of all chunks into those of one, and what is left into the first ones.
// A function of its own in wasm: as part of the kernel's large one it takes 1.7 times as long in Node 20.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn across<R: Real>(fold: Fold, totals: &mut [R], values: &[R]) {
    // As many vectors are kept in registers as for rows.
    match (fold, size_of::<R>()) {
        (Fold::Sum, _) => add::<R, Sum>(totals, values),
        (Fold::Max, 8) => add_extremes::<R, Larger, Max, 8>(totals, values),
        (Fold::Max, _) => add_extremes::<R, Larger, Max, 16>(totals, values),
        (Fold::Min, 8) => add_extremes::<R, Smaller, Min, 8>(totals, values),
        (Fold::Min, _) => add_extremes::<R, Smaller, Min, 16>(totals, values),
    }
}

/// Folds rows into totals, one after the other, a value into each.
// A function of its own in wasm: as part of the kernel's large one it takes 1.7 times as long in Node 20.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn down<R: Real>(fold: Fold, totals: &mut [R], rows: &[&[R]]) {
    // Eight vectors of 128 bits are kept in registers, or four and as many that look for NaN.
    match (fold, size_of::<R>()) {
        _ if rows.is_empty() => {}
        (Fold::Sum, 8) => add_rows::<R, Sum, 16>(totals, rows),
        (Fold::Sum, _) => add_rows::<R, Sum, 32>(totals, rows),
        (Fold::Max, 8) => extremes::<R, Larger, Max, 8>(totals, rows),
        (Fold::Max, _) => extremes::<R, Larger, Max, 16>(totals, rows),
        (Fold::Min, 8) => extremes::<R, Smaller, Min, 8>(totals, rows),
        (Fold::Min, _) => extremes::<R, Smaller, Min, 16>(totals, rows),
    }
}

#[inline(always)]
fn add_rows<R: Real, F: Rule, const N: usize>(totals: &mut [R], rows: &[&[R]]) {
    let (blocks, end) = totals.as_chunks_mut::<N>();
    let whole = blocks.len();
    for (number, totals) in blocks.iter_mut().enumerate() {
        let mut sums = *totals;
        for row in rows {
            combine::<R, F, N>(&mut sums, &row.as_chunks().0[number]);
        }
        *totals = sums;
    }
    ends::<R, F>(end, rows, whole * N);
}

/// Extremes by a rule for numbers, which the sum of all values shows these to be; else by one for NaN as well. (Of ∞ and −∞ the sum is NaN,
/// too.)
#[inline(always)]
fn extremes<R: Real, F: Rule, G: Rule, const N: usize>(totals: &mut [R], rows: &[&[R]]) {
    let (blocks, end) = totals.as_chunks_mut::<N>();
    let whole = blocks.len();
    for (number, totals) in blocks.iter_mut().enumerate() {
        let (mut found, mut sums) = (*totals, [R::ZERO; N]);
        for row in rows {
            let values = &row.as_chunks().0[number];
            combine::<R, F, N>(&mut found, values);
            combine::<R, Sum, N>(&mut sums, values);
        }
        if has_nan(&sums) {
            found = *totals;
            rows.iter().for_each(|row| combine::<R, G, N>(&mut found, &row.as_chunks().0[number]));
        }
        *totals = found;
    }
    ends::<R, G>(end, rows, whole * N);
}

/// Extremes of chunks, in one pass over them, and of what is left.
#[inline(always)]
fn add_extremes<R: Real, F: Rule, G: Rule, const N: usize>(totals: &mut [R], values: &[R]) {
    let (chunks, rest) = values.as_chunks::<LANES>();
    if let Some(totals) = totals.as_mut_array::<LANES>() {
        for (number, totals) in totals.as_chunks_mut::<N>().0.iter_mut().enumerate() {
            let (mut found, mut sums) = (*totals, [R::ZERO; N]);
            for chunk in chunks {
                let values = &chunk.as_chunks().0[number];
                combine::<R, F, N>(&mut found, values);
                combine::<R, Sum, N>(&mut sums, values);
            }
            if has_nan(&sums) {
                found = *totals;
                chunks.iter().for_each(|chunk| combine::<R, G, N>(&mut found, &chunk.as_chunks().0[number]));
            }
            *totals = found;
        }
    }
    add::<R, G>(totals, rest);
}

#[inline(always)]
fn combine<R: Real, F: Rule, const N: usize>(totals: &mut [R; N], values: &[R; N]) {
    totals.iter_mut().zip(values).for_each(|(total, value)| *total = F::combine(*total, *value));
}

/// Lanes from `start` on, which are fewer than a block.
#[inline(always)]
fn ends<R: Real, F: Rule>(totals: &mut [R], rows: &[&[R]], start: usize) {
    for row in rows {
        totals.iter_mut().zip(&row[start..]).for_each(|(total, value)| *total = F::combine(*total, *value));
    }
}

/// Folds chunks of as many values as there are totals, then what is left into the first ones.
#[inline(always)]
fn add<R: Real, F: Rule>(totals: &mut [R], values: &[R]) {
    let mut rest = values;
    if let (Some(totals), true) = (totals.as_mut_array::<LANES>(), values.len() > LANES) {
        let chunks;
        (chunks, rest) = values.as_chunks::<LANES>();
        // Eight vectors of 128 bits are summed up in registers.
        match size_of::<R>() {
            8 => sweep::<R, F, 16>(totals, chunks),
            _ => sweep::<R, F, 32>(totals, chunks),
        }
    }
    // A vector at a time, whatever the compiler thinks of loops of two.
    let (chunks, last) = rest.as_chunks::<FEWEST>();
    let (whole, end) = totals.split_at_mut(chunks.len() * FEWEST);
    for (totals, values) in whole.as_chunks_mut::<FEWEST>().0.iter_mut().zip(chunks) {
        let before = *totals;
        totals.iter_mut().zip(before).zip(values).for_each(|((total, before), value)| *total = F::combine(before, *value));
    }
    end.iter_mut().zip(last).for_each(|(total, value)| *total = F::combine(*total, *value));
}

/// Whole chunks, N lanes of all of them at a time.
#[inline(always)]
fn sweep<R: Real, F: Rule, const N: usize>(totals: &mut Lanes<R>, chunks: &[Lanes<R>]) {
    for (number, totals) in totals.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        let mut sums = *totals;
        for chunk in chunks {
            let values = &chunk.as_chunks::<N>().0[number];
            combine::<R, F, N>(&mut sums, values);
        }
        *totals = sums;
    }
}

/// The lanes, in halves: k and k + 32, k and k + 16, …; of so many alone.
#[inline(always)]
fn tree<R: Real, F: Rule>(total: &mut Lanes<R>, lanes: usize) -> R {
    let mut half = lanes.next_power_of_two() / 2;
    while half > 0 {
        let (low, high) = total.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(low, high)| *low = F::combine(*low, *high));
        half /= 2;
    }
    total[0]
}
