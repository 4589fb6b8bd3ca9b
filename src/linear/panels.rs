//! Cholesky's factor of a panel: columns that follow each other, of which the first rows are a lower triangle. Small code,
//! of whose inner loops compilers make vector instructions.

use crate::matrix::Unsolved;
use leastwise_base::task::{Pace, Stopped, UNIT};
use leastwise_cpu::block::{Instructions, SimdKernel};
use std::ops::Range;

/// Columns that stay in a cache while they are subtracted from all behind them.
const CACHED: usize = 36;
/// Of them those that are subtracted at a time: the target and their factors fit the registers. Most variables have three
/// unknowns.
const MANY: usize = 6;
const FEW: usize = 3;

/// Makes a panel of this height its factor (Golub & Van Loan, *Matrix Computations*, 4th ed., section 4.2.6). What is above
/// the diagonal means nothing.
pub async fn factorize(panel: &mut [f64], height: usize, pace: &Pace) -> Result<(), Unsolved> {
    let width = panel.len().checked_div(height).unwrap_or(0);
    for start in (0..width).step_by(CACHED) {
        let end = width.min(start + CACHED);
        let mut column = start;
        while column < width {
            let each = 2 * (column.max(start + 1).min(end) - start) * (height - column);
            let columns = column..width.min(column + UNIT.div_ceil(4 * each));
            column = columns.end;
            let spent = each * columns.len();
            let mut definite = true;
            Instructions::best().run(Factorize { panel, height, start, columns, definite: &mut definite });
            if !definite {
                return Err(Unsolved::Singular);
            }
            pace.spend(spent).await?;
        }
    }
    Ok(())
}

/// The lower triangle of −LRᵀ by columns: L is what a factorised panel has from its row `first` on, R the `count` upper rows
/// of that.
pub async fn negative_product(
    product: &mut [f64],
    panel: &[f64],
    height: usize,
    first: usize,
    count: usize,
    pace: &Pace,
) -> Result<(), Stopped> {
    // Columns, by the operations that one takes.
    let each = 2 * (panel.len() / height.max(1)) * (height - first);
    let many = UNIT.div_ceil(4 * each.max(1));
    for start in (0..count).step_by(many) {
        let columns = start..count.min(start + many);
        let spent = each * columns.len();
        Instructions::best().run(NegativeProduct { product, panel, height, first, columns });
        pace.spend(spent).await?;
    }
    Ok(())
}

/// Columns of a panel: those from `start` to `start + CACHED` become the factor's, what they add is subtracted from the others.
struct Factorize<'a> {
    panel: &'a mut [f64],
    height: usize,
    start: usize,
    columns: Range<usize>,
    definite: &'a mut bool,
}

impl SimdKernel for Factorize<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { panel, height, start, columns, definite } = self;
        let end = start + CACHED;
        for column in columns {
            let (before, rest) = panel.split_at_mut(column * height);
            let target = &mut rest[column..height];
            subtract_all(target, &before[start * height..column.min(end) * height], height, column);
            if column < end {
                // Not so where it is not a number.
                *definite &= target[0] > 0.0;
                let inverse = 1.0 / target[0].sqrt();
                target.iter_mut().for_each(|entry| *entry *= inverse);
            }
        }
    }
}

struct NegativeProduct<'a> {
    product: &'a mut [f64],
    panel: &'a [f64],
    height: usize,
    first: usize,
    columns: Range<usize>,
}

impl SimdKernel for NegativeProduct<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { product, panel, height, first, columns } = self;
        let rows = height - first;
        for place in columns {
            let target = &mut product[place * rows..][place..rows];
            target.fill(0.0);
            subtract_all(target, panel, height, first + place);
        }
    }
}

/// Subtracts columns from `row` on, each times its entry in that row.
#[inline(always)]
fn subtract_all(target: &mut [f64], columns: &[f64], height: usize, row: usize) {
    let mut many = columns.chunks_exact(MANY * height);
    many.by_ref().for_each(|columns| subtract::<MANY>(target, columns, height, row));
    let mut few = many.remainder().chunks_exact(FEW * height);
    few.by_ref().for_each(|columns| subtract::<FEW>(target, columns, height, row));
    few.remainder().chunks_exact(height).for_each(|column| subtract::<1>(target, column, height, row));
}

#[inline(always)]
fn subtract<const COUNT: usize>(target: &mut [f64], columns: &[f64], height: usize, row: usize) {
    let columns: [&[f64]; COUNT] = std::array::from_fn(|k| &columns[k * height..][row..height][..target.len()]);
    let factors = columns.map(|column| column[0]);
    for (place, entry) in target.iter_mut().enumerate() {
        let mut value = *entry;
        for k in 0..COUNT {
            value -= columns[k][place] * factors[k];
        }
        *entry = value;
    }
}
