//! Products of matrices on the CPU: C = A·B.
//!
//! A product of n³ multiplications reads 2n² numbers: it is as fast as arithmetic is when what it reads is near. As in Goto and
//! van de Geijn, *Anatomy of High-Performance Matrix Multiplication* (2008), and Van Zee and van de Geijn, *BLIS* (2015):
//!
//! - [`DEPTH`] rows of B are packed into panels of a few columns; one of them stays in the first cache.
//! - A block of [`ROWS`] rows of A is packed into panels of a few rows, which stay in the second.
//! - The inner loop goes through a panel of each with a [tile](tile::tile) of sums in registers.
//!
//! Packing is where a factor's layout is seen, and forgotten: transposed, strided, broadcast or windowed, it costs n² reads.
//!
//! **Same bits, however the work is cut, and wherever.** An entry is Σ over blocks of [`DEPTH`] products, first to last, of Σ over
//! the block's products, first to last. Threads, tiles, rows that are multiplied apart, and the width of vectors change nothing of
//! it: every lane is a sum of its own, and a product and a sum are rounded separately, as wasm does. Contracting them (AVX2 has the
//! instruction) was measured to be worth 2–20 % on a processor that multiplies and adds side by side (Zen 4).

mod pack;
mod tile;

use crate::block::{Instructions, SimdKernel};
use crate::half;
use crate::real::Real;
use crate::threads;
use pack::pack;
use std::ops::Range;
use tile::tile;

/// Products that are summed up before their sum is added to the entry. Part of the result's bits.
pub const DEPTH: usize = 256;

/// Most rows of A in a block.
const ROWS: usize = 192;

/// Most columns of B that are packed at once.
const COLUMNS: usize = 2048;

/// Rows that are worth packing a block's columns for; what is lower is shared between threads by columns.
const FEWEST_ROWS: usize = 48;

/// Multiplications that take as long as an element of a kernel does, about.
const PER_ELEMENT: usize = 32;

/// Bytes of a line of the cache: a vector that lies in two of them is loaded twice.
const LINE: usize = 64;

/// Where a factor's numbers are.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a, R> {
    /// Numbers, one an address.
    Reals(&'a [R]),
    /// Halves, two in a word, which become numbers when they are packed.
    Halves(&'a [u32]),
}

impl<R: Real> Values<'_, R> {
    /// # Panics
    /// When there is no such address.
    #[inline(always)]
    fn at(&self, address: u32) -> R {
        match self {
            Self::Reals(values) => values[address as usize],
            Self::Halves(words) => half::at(words, address).expect("an address of the values"),
        }
    }
}

/// A matrix whose entry (i, j) is `values[rows[i] + columns[j]]`, an addition that wraps around at 2³².
///
/// Strided, transposed, broadcast (all offsets of an axis zero) and windowed matrices (the columns of a convolution) are all of
/// this form. Quickest to read are offsets that count up by one along one of the axes.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a, R> {
    /// Storage of the entries.
    pub values: Values<'a, R>,
    /// Offset of every row i.
    pub rows: &'a [u32],
    /// Offset of every column j.
    pub columns: &'a [u32],
}

/// C = A·B; `c` is m×n, row after row, and only written to.
///
/// A row of C has the same bits when it is computed alone.
///
/// # Panics
/// When A has not as many columns as B has rows, C is not m×n, or an address is not one of the values.
pub fn multiply<R: Real>(a: Factor<R>, b: Factor<R>, c: &mut [R]) {
    multiply_with(Instructions::best(), a, b, c);
}

/// The same with a set of instructions; the bits are those of any other.
///
/// # Panics
/// As [`multiply`].
pub fn multiply_with<R: Real>(instructions: Instructions, a: Factor<R>, b: Factor<R>, c: &mut [R]) {
    // Tiles, measured: eight registers of sums with 16 of them, which leaves V8 what it loads for a step; ten with AVX2.
    let double = size_of::<R>() == size_of::<f64>();
    match instructions {
        Instructions::Baseline if double => by_blocks::<R, 2, 8>(instructions, a, b, c),
        Instructions::Baseline => by_blocks::<R, 2, 16>(instructions, a, b, c),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2(_) if double => by_blocks::<R, 5, 8>(instructions, a, b, c),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2(_) => by_blocks::<R, 5, 16>(instructions, a, b, c),
    }
}

/// With tiles of M×N.
fn by_blocks<R: Real, const M: usize, const N: usize>(instructions: Instructions, a: Factor<R>, b: Factor<R>, c: &mut [R]) {
    let [m, k, n] = [a.rows.len(), b.rows.len(), b.columns.len()];
    assert_eq!(a.columns.len(), k, "A has as many columns as B has rows");
    assert_eq!(c.len(), m * n, "C has the rows of A and the columns of B");
    if k == 0 {
        c.fill(R::ZERO);
    }
    if m == 0 || k == 0 || n == 0 {
        return;
    }
    let mut storage = vec![R::ZERO; k.min(DEPTH) * n.min(COLUMNS).next_multiple_of(N) + LINE / size_of::<R>()];
    let start = storage.as_ptr().align_offset(LINE);
    let (packed, _) = storage[start..].as_chunks_mut::<N>();

    // As many blocks for each thread, and all about as high.
    let count = threads::count();
    let height = m.div_ceil(count * m.div_ceil(count * ROWS)).max(FEWEST_ROWS).next_multiple_of(M);
    let parts = count.div_ceil(m.div_ceil(height));
    for left in (0..n).step_by(COLUMNS) {
        let columns = left..n.min(left + COLUMNS);
        let width = columns.len().div_ceil(parts).next_multiple_of(N);
        for top in (0..k).step_by(DEPTH) {
            let depth = top..k.min(top + DEPTH);
            let lanes = b.columns[columns.clone()].chunks(N);
            let panels = packed.chunks_exact_mut(depth.len()).zip(lanes);
            let packs = panels.map(|(panel, lanes)| Pack { values: b.values, lanes, depth: &b.rows[depth.clone()], panel }).collect();
            threads::each(packs, depth.len() * columns.len(), |pack| instructions.run(pack));

            let work = m * depth.len() * columns.len() / PER_ELEMENT;
            threads::each(pieces(c, n, height, columns.clone(), width), work, |piece| {
                let panels = &packed[piece.column / N * depth.len()..];
                instructions.run(Block::<R, M, N> { a, depth: depth.clone(), panels, piece });
            });
        }
    }
}

/// Fills a panel of B.
struct Pack<'a, R, const N: usize> {
    values: Values<'a, R>,
    lanes: &'a [u32],
    depth: &'a [u32],
    panel: &'a mut [[R; N]],
}

impl<R: Real, const N: usize> SimdKernel for Pack<'_, R, N> {
    #[inline(always)]
    fn run(self) {
        pack(self.values, self.lanes, self.depth, self.panel);
    }
}

/// A part of C that one thread writes.
struct Piece<'c, R> {
    /// The first row.
    row: usize,
    /// The first column, counted from the first that is packed.
    column: usize,
    rows: Vec<&'c mut [R]>,
}

/// Cuts columns of C into pieces of a height and a width.
fn pieces<R>(c: &mut [R], n: usize, height: usize, columns: Range<usize>, width: usize) -> Vec<Piece<'_, R>> {
    let mut pieces = Vec::new();
    for (number, rows) in c.chunks_mut(height * n).enumerate() {
        let first = pieces.len();
        let empty = |column| Piece { row: number * height, column, rows: Vec::with_capacity(height) };
        pieces.extend((0..columns.len()).step_by(width).map(empty));
        for row in rows.chunks_exact_mut(n) {
            let parts = row[columns.clone()].chunks_mut(width);
            pieces[first..].iter_mut().zip(parts).for_each(|(piece, part)| piece.rows.push(part));
        }
    }
    pieces
}

/// A piece's products of one depth.
struct Block<'a, 'c, R, const M: usize, const N: usize> {
    a: Factor<'a, R>,
    depth: Range<usize>,
    /// Of B, from the piece's first column on.
    panels: &'a [[R; N]],
    piece: Piece<'c, R>,
}

impl<R: Real, const M: usize, const N: usize> SimdKernel for Block<'_, '_, R, M, N> {
    #[inline(always)]
    fn run(mut self) {
        let len = self.depth.len();
        let rows = &self.a.rows[self.piece.row..][..self.piece.rows.len()];
        let mut packed = vec![[R::ZERO; M]; len * rows.len().div_ceil(M)];
        for (panel, lanes) in packed.chunks_exact_mut(len).zip(rows.chunks(M)) {
            pack(self.a.values, lanes, &self.a.columns[self.depth.clone()], panel);
        }
        let width = self.piece.rows[0].len();
        for (left, b) in (0..width).step_by(N).zip(self.panels.chunks_exact(len)) {
            let columns = left..width.min(left + N);
            for (rows, a) in self.piece.rows.chunks_mut(M).zip(packed.chunks_exact(len)) {
                for (row, sums) in rows.iter_mut().zip(&tile(a, b)) {
                    let row = &mut row[columns.clone()];
                    if self.depth.start == 0 {
                        row.copy_from_slice(&sums[..row.len()]);
                    } else {
                        row.iter_mut().zip(sums).for_each(|(entry, sum)| *entry += *sum);
                    }
                }
            }
        }
    }
}
