//! Products of matrices on the CPU.

mod pack;
mod tile;

use crate::device::cpu::threads;
use crate::kernel::block::{Instructions, Task};
use crate::real::Real;
use pack::{Lanes, pack};
use std::ops::Range;
use tile::tile;

/// Products that are summed up before the sum is added to the entry.
const DEPTH: usize = 256;
const ROWS: usize = 192;
const COLUMNS: usize = 2048;

/// Rows that are worth a task.
const FEWEST_ROWS: usize = 48;

#[derive(Clone, Copy, Debug)]
pub struct Factor<'a, R> {
    pub values: &'a [R],
    pub rows: &'a [u32],
    pub columns: &'a [u32],
}

pub fn multiply<R: Real>(a: Factor<R>, b: Factor<R>, c: &mut [R]) {
    multiply_with(Instructions::best(), a, b, c);
}

pub fn multiply_with<R: Real>(instructions: Instructions, a: Factor<R>, b: Factor<R>, c: &mut [R]) {
    let double = size_of::<R>() == 8;
    match instructions {
        Instructions::Baseline if double => blocks::<R, 4, 4>(instructions, a, b, c),
        Instructions::Baseline => blocks::<R, 4, 8>(instructions, a, b, c),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2(_) if double => blocks::<R, 6, 8>(instructions, a, b, c),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2(_) => blocks::<R, 6, 16>(instructions, a, b, c),
    }
}

fn blocks<R: Real, const M: usize, const N: usize>(instructions: Instructions, a: Factor<R>, b: Factor<R>, c: &mut [R]) {
    let [m, k, n] = [a.rows.len(), b.rows.len(), b.columns.len()];
    assert_eq!(a.columns.len(), k);
    assert_eq!(c.len(), m * n);
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        return c.fill(R::ZERO);
    }
    let tasks = threads::count();
    let height = m.div_ceil(tasks * m.div_ceil(tasks * ROWS)).max(FEWEST_ROWS).next_multiple_of(M);
    let mut packed = vec![Lanes([R::ZERO; N]); k.min(DEPTH) * n.min(COLUMNS).div_ceil(N)];
    for left in (0..n).step_by(COLUMNS) {
        let columns = left..n.min(left + COLUMNS);
        let parts = tasks.div_ceil(m.div_ceil(height));
        let width = columns.len().div_ceil(parts).next_multiple_of(N);
        for top in (0..k).step_by(DEPTH) {
            let depth = top..k.min(top + DEPTH);
            let packed = &mut packed[..depth.len() * columns.len().div_ceil(N)];
            let panels: Vec<_> = packed.chunks_exact_mut(depth.len()).zip(b.columns[columns.clone()].chunks(N)).collect();
            threads::each(panels, depth.len() * columns.len(), |(panel, lanes)| {
                instructions.run(Pack { values: b.values, lanes, depth: &b.rows[depth.clone()], panel });
            });
            let work = m * columns.len() * depth.len() / 32;
            threads::each(pieces(c, n, height, columns.clone(), width), work, |piece| {
                let panels = &packed[piece.column / N * depth.len()..];
                instructions.run(Block::<R, M, N> { a, depth: depth.clone(), panels, piece });
            });
        }
    }
}

struct Pack<'a, R, const N: usize> {
    values: &'a [R],
    lanes: &'a [u32],
    depth: &'a [u32],
    panel: &'a mut [Lanes<R, N>],
}

impl<R: Real, const N: usize> Task for Pack<'_, R, N> {
    #[inline(always)]
    fn run(self) {
        pack(self.values, self.lanes, self.depth, self.panel);
    }
}

struct Piece<'a, R> {
    row: usize,
    /// After the block's first.
    column: usize,
    rows: Vec<&'a mut [R]>,
}

fn pieces<R>(c: &mut [R], n: usize, height: usize, columns: Range<usize>, width: usize) -> Vec<Piece<'_, R>> {
    let mut pieces = Vec::new();
    for (number, rows) in c.chunks_mut(height * n).enumerate() {
        let first = pieces.len();
        pieces.extend((0..columns.len()).step_by(width).map(|column| Piece { row: number * height, column, rows: Vec::new() }));
        for row in rows.chunks_exact_mut(n) {
            pieces[first..].iter_mut().zip(row[columns.clone()].chunks_mut(width)).for_each(|(piece, part)| piece.rows.push(part));
        }
    }
    pieces
}

struct Block<'a, 'c, R, const M: usize, const N: usize> {
    a: Factor<'a, R>,
    depth: Range<usize>,
    panels: &'a [Lanes<R, N>],
    piece: Piece<'c, R>,
}

impl<R: Real, const M: usize, const N: usize> Task for Block<'_, '_, R, M, N> {
    #[inline(always)]
    fn run(mut self) {
        let Factor { values, rows, columns } = self.a;
        let len = self.depth.len();
        let rows = &rows[self.piece.row..][..self.piece.rows.len()];
        let mut packed = vec![[R::ZERO; M]; len * rows.len().div_ceil(M)];
        for (panel, lanes) in packed.chunks_exact_mut(len).zip(rows.chunks(M)) {
            pack(values, lanes, &columns[self.depth.clone()], panel);
        }
        let width = self.piece.rows[0].len();
        for (left, b) in (0..width).step_by(N).zip(self.panels.chunks_exact(len)) {
            for (a, rows) in packed.chunks_exact(len).zip(self.piece.rows.chunks_mut(M)) {
                let sums = tile(a, b);
                for (row, sums) in rows.iter_mut().zip(&sums) {
                    let row = &mut row[left..width.min(left + N)];
                    if self.depth.start == 0 {
                        row.copy_from_slice(&sums[..row.len()]);
                    } else {
                        row.iter_mut().zip(sums).for_each(|(entry, &sum)| *entry += sum);
                    }
                }
            }
        }
    }
}
