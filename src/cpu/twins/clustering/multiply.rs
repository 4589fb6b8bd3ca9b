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
    /// Number of columns.
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
