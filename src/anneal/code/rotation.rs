//! The rotation into coordinates that are uncorrelated, in which some vary much and most little: principal axes.
//!
//! It is stored with 4 or 8 bits an entry and made orthogonal again on loading, so that what the few bits cost is a little
//! of its effect, never of the vectors. Where a whole rotation would cost too much, or take too long, it is one of blocks of
//! coordinates; blocks of one coordinate are no rotation at all, and nothing is stored.

use super::columns::{dot, products};
use super::eigen::eigenvectors;
use leastwise_base::task::{Pace, Task};
use leastwise_cpu::block::{Instructions, SimdKernel};
use leastwise_cpu::threads;
use std::ops::Range;

/// Widest block: finding its axes takes some tenths of a second.
pub const WIDEST: usize = 512;

/// How an orthogonal matrix is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Number of diagonal blocks; the dimension, if nothing is rotated.
    pub blocks: usize,
    /// Of an entry: 4 or 8; 0 where there is nothing to store.
    pub bits: u32,
    /// What one unit of an entry is, by row.
    pub units: Vec<f32>,
    /// Two's complement, the lower half of a byte first.
    pub entries: Vec<u8>,
}

/// Orthogonal, block-diagonal matrix R of principal axes.
pub struct Rotation {
    /// The matrix as a file has it.
    pub stored: Stored,
    dim: usize,
    /// Blocks one after the other, each by columns.
    columns: Vec<f32>,
}

/// The coordinates of one of so many blocks of about equal width.
fn span(dim: usize, blocks: usize, block: usize) -> Range<usize> {
    block * dim / blocks..(block + 1) * dim / blocks
}

/// Entries of all blocks.
fn entries(dim: usize, blocks: usize) -> usize {
    (0..blocks).map(|block| span(dim, blocks, block).len().pow(2)).sum()
}

/// Bytes that a rotation of so many blocks takes in a file.
pub fn bytes(dim: usize, blocks: usize, bits: u32) -> usize {
    if blocks == dim { 0 } else { (entries(dim, blocks) * bits as usize).div_ceil(8) + 4 * dim }
}

impl Rotation {
    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.stored.entries.capacity() + 4 * (self.stored.units.capacity() + self.columns.capacity())
    }

    /// The identity, which stores nothing.
    pub fn identity(dim: usize) -> Self {
        Self::from_stored(dim, Stored { blocks: dim, bits: 0, units: Vec::new(), entries: Vec::new() })
    }

    /// The principal axes of a sample of rows, by blocks.
    pub async fn principal(sample: &[f32], dim: usize, blocks: usize, bits: u32, pace: &Pace) -> Self {
        if blocks == dim {
            return Self::identity(dim);
        }
        let most = (1 << (bits - 1)) - 1;
        let mut units = Vec::with_capacity(dim);
        let mut quantized: Vec<i8> = Vec::with_capacity(entries(dim, blocks));
        for block in 0..blocks {
            let span = span(dim, blocks, block);
            let part = pace.part(0.9 * span.start as f64 / dim as f64..0.9 * span.end as f64 / dim as f64);
            let covariance = covariance(sample, dim, span.clone(), &part.part(0.0..0.5)).await;
            for row in eigenvectors(&covariance, span.len(), &part.part(0.5..1.0)).await.chunks_exact(span.len()) {
                part.rest(1, 1).await;
                let unit = best_unit(row, most);
                units.push(unit);
                quantized.extend(row.iter().map(|&value| quantize(value, unit, most)));
            }
        }
        let entries = match bits {
            8 => quantized.iter().map(|&value| value as u8).collect(),
            _ => quantized.chunks(2).map(|pair| pair[0] as u8 & 15 | (pair.get(1).copied().unwrap_or(0) as u8) << 4).collect(),
        };
        Self::restore(dim, Stored { blocks, bits, units, entries }, &pace.part(0.9..1.0)).await
    }

    /// # Panics
    /// When there are not as many units and entries as [`Stored::fits`] wants.
    pub fn from_stored(dim: usize, stored: Stored) -> Self {
        Task::new(|pace| async move { Self::restore(dim, stored, &pace).await }).finish()
    }

    async fn restore(dim: usize, stored: Stored, pace: &Pace) -> Self {
        let mut columns = Vec::new();
        if stored.bits > 0 {
            for block in 0..stored.blocks {
                let (first, span) = (columns.len(), span(dim, stored.blocks, block));
                let width = span.len();
                let mut rows: Vec<f64> = (0..width * width)
                    .map(|i| f64::from(stored.entry(first + i)) * f64::from(stored.units[span.start + i / width]))
                    .collect();
                let mut covered = vec![0.0; width];
                for index in 0..width {
                    Instructions::best().run(Orthonormalize { rows: &mut rows, width, index, covered: &mut covered });
                    pace.rest(span.start + index, dim).await;
                }
                columns.extend((0..width * width).map(|i| rows[i % width * width + i / width] as f32));
            }
        }
        Self { stored, dim, columns }
    }

    /// True if R is the identity.
    pub(crate) fn is_identity(&self) -> bool {
        self.stored.bits == 0
    }

    /// The coordinates of each block, and its columns; none of one that turns nothing.
    #[inline(always)]
    pub fn blocks(&self) -> impl Iterator<Item = (Range<usize>, &[f32])> {
        let mut rest = &self.columns[..];
        (0..if self.is_identity() { 0 } else { self.stored.blocks }).map(move |block| {
            let span = span(self.dim, self.stored.blocks, block);
            let columns;
            (columns, rest) = rest.split_at(span.len() * span.len());
            (span, columns)
        })
    }

    /// `out` = R·`row`
    #[inline(always)]
    pub fn turn(&self, row: &[f32], out: &mut [f32]) {
        if self.is_identity() {
            out.copy_from_slice(row);
            return;
        }
        for (span, columns) in self.blocks() {
            products(&row[span.clone()], columns, &mut out[span]);
        }
    }

    /// `out` = Rᵀ·`row`
    pub fn turn_back(&self, row: &[f32], out: &mut [f32]) {
        if self.is_identity() {
            out.copy_from_slice(row);
            return;
        }
        for (span, columns) in self.blocks() {
            for (column, place) in columns.chunks_exact(span.len()).zip(span.clone()) {
                out[place] = dot(column, &row[span.clone()]);
            }
        }
    }
}

impl Stored {
    fn entry(&self, place: usize) -> i8 {
        match self.bits {
            8 => self.entries[place] as i8,
            _ => ((self.entries[place / 2] >> (place % 2 * 4)) << 4) as i8 >> 4,
        }
    }

    /// Whether some row of one that [fits](Self::fits) is zero, as no axis is.
    pub fn has_empty_rows(&self, dim: usize) -> bool {
        if self.bits == 0 {
            return false;
        }
        let (mut rows, mut first) = ((0..self.blocks).flat_map(|block| span(dim, self.blocks, block).map(move |row| (block, row))), 0);
        rows.any(|(block, row)| {
            let width = span(dim, self.blocks, block).len();
            first += width;
            self.units[row] == 0.0 || (first - width..first).all(|place| self.entry(place) == 0)
        })
    }

    /// Whether there are as many units and entries as so many dimensions need, all finite.
    pub fn fits(&self, dim: usize) -> bool {
        if self.bits == 0 {
            return self.blocks == dim && self.units.is_empty() && self.entries.is_empty();
        }
        (self.bits == 4 || self.bits == 8)
            && (1..dim).contains(&self.blocks)
            && dim.div_ceil(self.blocks) <= WIDEST
            && self.units.len() == dim
            && self.entries.len() == (entries(dim, self.blocks) * self.bits as usize).div_ceil(8)
            && self.units.iter().all(|unit| unit.is_finite())
    }
}

fn quantize(value: f64, unit: f32, most: i32) -> i8 {
    (value / f64::from(unit)).round_ties_even().clamp(f64::from(-most), f64::from(most)) as i8
}

/// The unit that stores a row with the least error: few large entries, or many alike, want different ones.
fn best_unit(row: &[f64], most: i32) -> f32 {
    let largest = row.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let units = (0..12).map(|step| (largest / f64::from(most) * 0.85_f64.powi(step)) as f32);
    let error =
        |unit: f32| -> f64 { row.iter().map(|&value| (value - f64::from(quantize(value, unit, most)) * f64::from(unit)).powi(2)).sum() };
    units.map(|unit| (error(unit), unit)).min_by(|a, b| a.0.total_cmp(&b.0)).map_or(1.0, |best| best.1)
}

async fn covariance(sample: &[f32], dim: usize, span: Range<usize>, pace: &Pace) -> Vec<f64> {
    let (rows, width) = (sample.len() / dim, span.len());
    let sample: Vec<f32> = sample.chunks_exact(dim).flat_map(|row| &row[span.clone()]).copied().collect();
    let mut sums = vec![0.0_f32; width * width];
    let together = threads::count();
    for (step, some) in sums.chunks_mut(together * width).enumerate() {
        let tasks = (step * together..).zip(some.chunks_exact_mut(width)).collect();
        threads::each(tasks, together * width * rows, |(row, sums): (usize, &mut [f32])| {
            Instructions::best().run(CovarianceRow { sample: &sample, row, sums });
        });
        pace.rest(step * together, width).await;
    }
    let at = |a: usize, b: usize| f64::from(sums[a.max(b) * width + a.min(b)]);
    (0..width * width).map(|place| at(place / width, place % width)).collect()
}

/// The products of one coordinate with all.
struct CovarianceRow<'a> {
    sample: &'a [f32],
    row: usize,
    sums: &'a mut [f32],
}

impl SimdKernel for CovarianceRow<'_> {
    #[inline(always)]
    fn run(self) {
        let column: Vec<f32> = self.sample.iter().skip(self.row).step_by(self.sums.len()).copied().collect();
        products(&column, self.sample, self.sums);
    }
}

/// A row made orthogonal to those before it, and of length 1, by Gram and Schmidt's method in its modified form; rows are nearly orthonormal
/// already. One of which nothing is left (of a matrix that few bits could not hold) becomes what is left of the axis of which most is.
struct Orthonormalize<'a> {
    rows: &'a mut [f64],
    width: usize,
    index: usize,
    /// Σ of the squares of the rows before, by axis.
    covered: &'a mut [f64],
}

impl SimdKernel for Orthonormalize<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { rows, width, index, covered } = self;
        let (done, rest) = rows.split_at_mut(index * width);
        let row = &mut rest[..width];
        let before = sum_of_squares(row);
        remove(done, row);
        let mut left = sum_of_squares(row);
        if left <= 1e-3 * before {
            let axis = (0..width).min_by(|&a, &b| covered[a].total_cmp(&covered[b])).unwrap_or(0);
            row.fill(0.0);
            row[axis] = 1.0;
            remove(done, row);
            remove(done, row);
            left = sum_of_squares(row);
        }
        let scale = left.sqrt().recip();
        for (value, covered) in row.iter_mut().zip(covered) {
            *value *= scale;
            *covered += *value * *value;
        }
    }
}

const WIDE: usize = 8;

#[inline(always)]
fn sum_of_squares(row: &[f64]) -> f64 {
    product(row, row)
}

#[inline(always)]
fn product(a: &[f64], b: &[f64]) -> f64 {
    let whole = a.len() / WIDE * WIDE;
    let mut sums = [0.0; WIDE];
    for (a, b) in a[..whole].chunks_exact(WIDE).zip(b[..whole].chunks_exact(WIDE)) {
        for lane in 0..WIDE {
            sums[lane] += a[lane] * b[lane];
        }
    }
    for (lane, (a, b)) in a[whole..].iter().zip(&b[whole..]).enumerate() {
        sums[lane] += a * b;
    }
    sums.iter().sum()
}

#[inline(always)]
fn remove(done: &[f64], row: &mut [f64]) {
    for axis in done.chunks_exact(row.len()) {
        let part = product(axis, row);
        for (value, axis) in row.iter_mut().zip(axis) {
            *value -= part * axis;
        }
    }
}
