//! Products of a few rows with all columns of a matrix: what assignment and responsibilities spend their time with.
//!
//! Columns stand in panels of [`PANEL`], entry by entry, so that a column is a lane: a sum runs over the entries one after the other,
//! whatever the width of vectors is.

use crate::block::{Instructions, SimdKernel};
use crate::real::Real;

/// Columns of a panel: what [`ROWS`] rows of sums leave registers for.
pub const PANEL: usize = if cfg!(target_arch = "wasm32") { 8 } else { 16 };

/// Rows that go through a panel together.
pub const ROWS: usize = 4;

/// What is summed over the entries of a row and a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sum {
    /// x·a
    Products,
    /// (x − a)²
    Differences,
    /// The same, four squares added up before they are added to the sum, as the published compressor does.
    DifferencesByFours,
}

/// A matrix's rows as columns to multiply with.
pub struct Panels<R> {
    panels: Vec<[R; PANEL]>,
    entries: usize,
    pub columns: usize,
}

impl<R: Real> Panels<R> {
    /// `entry(column, k)`
    pub fn new(columns: usize, entries: usize, entry: impl Fn(usize, usize) -> R) -> Self {
        let mut panels = vec![[R::ZERO; PANEL]; columns.div_ceil(PANEL) * entries];
        for column in 0..columns {
            for k in 0..entries {
                panels[column / PANEL * entries + k][column % PANEL] = entry(column, k);
            }
        }
        Self { panels, entries, columns }
    }

    /// Hands the sums of rows `0 .. count` with each panel to `take(first row, first column, sums)`; `row(i)` is a row.
    pub fn multiply<'a>(&self, sum: Sum, count: usize, row: impl Fn(usize) -> &'a [R], take: impl FnMut(usize, usize, &[[R; PANEL]; ROWS]))
    where
        R: 'a,
    {
        Instructions::best().run(Multiply { panels: self, sum, count, row, take });
    }
}

struct Multiply<'p, R, F, G> {
    panels: &'p Panels<R>,
    sum: Sum,
    count: usize,
    row: F,
    take: G,
}

impl<'a, R: Real + 'a, F: Fn(usize) -> &'a [R], G: FnMut(usize, usize, &[[R; PANEL]; ROWS])> SimdKernel for Multiply<'_, R, F, G> {
    #[inline(always)]
    fn run(mut self) {
        let entries = self.panels.entries;
        for first in (0..self.count).step_by(ROWS) {
            // What is missing of the last few is another row once more.
            let rows: [&[R]; ROWS] = std::array::from_fn(|i| &(self.row)((first + i).min(self.count - 1))[..entries]);
            for (number, panel) in self.panels.panels.chunks_exact(entries.max(1)).enumerate() {
                let sums = match self.sum {
                    Sum::Products => products(&rows, panel),
                    Sum::Differences => differences([[R::ZERO; PANEL]; ROWS], &rows, panel),
                    Sum::DifferencesByFours => {
                        let rest = entries / 4 * 4;
                        differences(by_fours(&rows, panel), &rows.map(|row| &row[rest..]), &panel[rest..])
                    }
                };
                (self.take)(first, number * PANEL, &sums);
            }
        }
    }
}

// In each, sums have names of their own, so that they stay in registers: indexed by rows, they do not.

#[inline(always)]
fn products<R: Real>(rows: &[&[R]; ROWS], panel: &[[R; PANEL]]) -> [[R; PANEL]; ROWS] {
    let [mut s0, mut s1, mut s2, mut s3] = [[R::ZERO; PANEL]; ROWS];
    let [r0, r1, r2, r3] = *rows;
    for ((((a, x0), x1), x2), x3) in panel.iter().zip(r0).zip(r1).zip(r2).zip(r3) {
        for lane in 0..PANEL {
            s0[lane] += *x0 * a[lane];
            s1[lane] += *x1 * a[lane];
            s2[lane] += *x2 * a[lane];
            s3[lane] += *x3 * a[lane];
        }
    }
    [s0, s1, s2, s3]
}

#[inline(always)]
fn differences<R: Real>(sums: [[R; PANEL]; ROWS], rows: &[&[R]; ROWS], panel: &[[R; PANEL]]) -> [[R; PANEL]; ROWS] {
    let [mut s0, mut s1, mut s2, mut s3] = sums;
    let [r0, r1, r2, r3] = *rows;
    for ((((a, x0), x1), x2), x3) in panel.iter().zip(r0).zip(r1).zip(r2).zip(r3) {
        for lane in 0..PANEL {
            s0[lane] += (*x0 - a[lane]) * (*x0 - a[lane]);
            s1[lane] += (*x1 - a[lane]) * (*x1 - a[lane]);
            s2[lane] += (*x2 - a[lane]) * (*x2 - a[lane]);
            s3[lane] += (*x3 - a[lane]) * (*x3 - a[lane]);
        }
    }
    [s0, s1, s2, s3]
}

#[inline(always)]
fn by_fours<R: Real>(rows: &[&[R]; ROWS], panel: &[[R; PANEL]]) -> [[R; PANEL]; ROWS] {
    let [mut s0, mut s1, mut s2, mut s3] = [[R::ZERO; PANEL]; ROWS];
    let [r0, r1, r2, r3] = rows.map(|row| row.as_chunks::<4>().0);
    for ((((a, x0), x1), x2), x3) in panel.as_chunks::<4>().0.iter().zip(r0).zip(r1).zip(r2).zip(r3) {
        for lane in 0..PANEL {
            let four = |x: &[R; 4]| {
                let [p, q, r, s]: [R; 4] = std::array::from_fn(|k| (x[k] - a[k][lane]) * (x[k] - a[k][lane]));
                p + q + r + s
            };
            s0[lane] += four(x0);
            s1[lane] += four(x1);
            s2[lane] += four(x2);
            s3[lane] += four(x3);
        }
    }
    [s0, s1, s2, s3]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One entry after the other, and by fours what makes fours.
    fn in_order<R: Real>(sum: Sum, row: &[R], column: &[R]) -> R {
        let square = |k: usize| (row[k] - column[k]) * (row[k] - column[k]);
        let quarters = if sum == Sum::DifferencesByFours { row.len() / 4 } else { 0 };
        let mut total = R::ZERO;
        for k in (0..4 * quarters).step_by(4) {
            total += square(k) + square(k + 1) + square(k + 2) + square(k + 3);
        }
        for k in 4 * quarters..row.len() {
            total += if sum == Sum::Products { row[k] * column[k] } else { square(k) };
        }
        total
    }

    /// Numbers of all sizes, so that every other order of additions would show.
    fn numbers<R: Real>(len: usize, seed: u64) -> Vec<R> {
        let mut word = seed;
        let number = |_| {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            R::from_f64(((word >> 33) as f64 / f64::from(1u32 << 30) - 1.0) * f64::powi(2.0, (word >> 28 & 7) as i32))
        };
        (0..len).map(number).collect()
    }

    fn sums_are_those_in_order<R: Real>() {
        for (number, (rows, columns, entries)) in
            [(1, 1, 1), (4, 16, 4), (3, 17, 7), (5, 33, 37), (9, 5, 64), (13, 70, 130), (2, 3, 0)].into_iter().enumerate()
        {
            let (left, right) = (numbers::<R>(rows * entries, number as u64), numbers::<R>(columns * entries, 99 + number as u64));
            let panels = Panels::new(columns, entries, |column, k| right[column * entries + k]);
            for sum in [Sum::Products, Sum::Differences, Sum::DifferencesByFours] {
                let mut found = vec![R::from_f64(-1.0); rows * columns];
                let row = |i: usize| &left[i * entries..(i + 1) * entries];
                panels.multiply(sum, rows, row, |first, column, sums| {
                    for (i, sums) in (first..rows).zip(sums) {
                        (column..columns).zip(sums).for_each(|(column, sum)| found[i * columns + column] = *sum);
                    }
                });
                for (place, found) in found.into_iter().enumerate().filter(|_| entries > 0) {
                    let (i, column) = (place / columns, place % columns);
                    let expected = in_order(sum, row(i), &right[column * entries..(column + 1) * entries]);
                    let [found, expected] = [found, expected].map(|value| value.to_f64().to_bits());
                    assert_eq!(found, expected, "{sum:?} of row {i} and column {column}, {entries} entries");
                }
            }
        }
    }

    #[test]
    fn sums_run_over_the_entries_in_order_to_the_bit() {
        sums_are_those_in_order::<f32>();
        sums_are_those_in_order::<f64>();
    }
}
