//! The elimination of a front: a dense matrix, of which the first columns become the factor's and the rest is changed.

use super::schedule::LARGE;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, MatRef, Par};
use leastwise_base::parallel;

/// Columns of a large front that are eliminated at a time; tiles have as many columns, and twice the rows.
const BLOCK: usize = 64;
/// The same from so many multiplications on.
const LARGE_BLOCK: usize = 128;
const VERY_LARGE: f64 = (1 << 27) as f64;

/// Room that a front of this width takes besides itself.
pub fn room(width: usize) -> StackReq {
    cholesky_in_place_scratch::<f64>(width, Par::Seq, Default::default())
}

/// Eliminates the columns of a panel of this height; what they change is subtracted from the lower triangle of `update`, which lies by
/// columns. False if the matrix is not positive definite.
pub fn eliminate(panel: &mut [f64], height: usize, update: &mut [f64], memory: &mut MemBuffer) -> bool {
    let width = panel.len() / height;
    let below = height - width;
    let panel = MatMut::from_column_major_slice_mut(panel, height, width);
    let update = MatMut::from_column_major_slice_mut(&mut update[..below * below], below, below);
    let work = width as f64 * height as f64 * height as f64 / 2.0;
    if work < LARGE {
        return whole(panel, update, memory);
    }
    by_tiles(panel, update, if work < VERY_LARGE { BLOCK } else { LARGE_BLOCK }, memory)
}

/// The factor of a block on the diagonal.
fn factorize(mut block: MatMut<'_, f64>, memory: &mut MemBuffer) -> bool {
    let done = cholesky_in_place(block.rb_mut(), Default::default(), Par::Seq, MemStack::new(memory), Default::default());
    // A pivot that is not a number may pass as positive.
    done.is_ok() && (0..block.ncols()).all(|k| block[(k, k)].is_finite())
}

fn whole(mut panel: MatMut<'_, f64>, update: MatMut<'_, f64>, memory: &mut MemBuffer) -> bool {
    let width = panel.ncols();
    let (mut top, mut bottom) = panel.rb_mut().split_at_row_mut(width);
    if !factorize(top.rb_mut(), memory) {
        return false;
    }
    if bottom.nrows() > 0 {
        solve_lower_triangular_in_place(top.rb(), bottom.rb_mut().transpose_mut(), Par::Seq);
        subtract_lower(update, bottom.rb());
    }
    true
}

/// The lower triangle of −LLᵀ is added.
fn subtract_lower(target: MatMut<'_, f64>, rows: MatRef<'_, f64>) {
    let (lower, whole) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    triangular::matmul(target, lower, Accum::Add, rows, whole, rows.transpose(), whole, -1.0, Par::Seq);
}

/// Block by block of columns, of which threads share the rows. Sizes alone decide how it is divided.
fn by_tiles(mut panel: MatMut<'_, f64>, update: MatMut<'_, f64>, block: usize, memory: &mut MemBuffer) -> bool {
    let (width, height) = (panel.ncols(), panel.nrows());
    for first in (0..width).step_by(block) {
        let end = width.min(first + block);
        let (before, rest) = panel.rb_mut().split_at_col_mut(end);
        let own = before.subcols_mut(first, end - first);
        let (above, mut below) = own.split_at_row_mut(end);
        let mut top = above.subrows_mut(first, end - first);
        if !factorize(top.rb_mut(), memory) {
            return false;
        }
        let top = top.rb();
        let solve = |rows: MatMut<'_, f64>| solve_lower_triangular_in_place(top, rows.transpose_mut(), Par::Seq);
        parallel::each(rows_of(below.rb_mut(), 2 * block), &solve);
        let rest = rest.subrows_mut(end, height - end);
        subtract_tiles(rest, below.rb(), block);
    }
    subtract_tiles(update, panel.rb().subrows(width, height - width), block);
    true
}

/// Runs of so many of a matrix's rows.
fn rows_of(mut rest: MatMut<'_, f64>, many: usize) -> Vec<MatMut<'_, f64>> {
    let mut runs = Vec::new();
    while rest.nrows() > 0 {
        let count = many.min(rest.nrows());
        let (run, after) = rest.split_at_row_mut(count);
        runs.push(run);
        rest = after;
    }
    runs
}

/// The lower triangle of −LRᵀ is added, tile by tile; R is the first rows of L. What is above the diagonal means nothing.
fn subtract_tiles(mut target: MatMut<'_, f64>, rows: MatRef<'_, f64>, block: usize) {
    let mut tiles = Vec::new();
    let mut column = 0;
    while target.ncols() > 0 {
        let count = block.min(target.ncols());
        let (own, rest) = target.split_at_col_mut(count);
        let (_, below) = own.split_at_row_mut(column);
        let mut row = column;
        for tile in rows_of(below, 2 * block) {
            let height = tile.nrows();
            tiles.push((tile, row, column));
            row += height;
        }
        column += count;
        target = rest;
    }
    parallel::each(tiles, &|(tile, row, column): (MatMut<'_, f64>, usize, usize)| {
        let (left, right) = (rows.subrows(row, tile.nrows()), rows.subrows(column, tile.ncols()));
        matmul(tile, Accum::Add, left, right.transpose(), -1.0, Par::Seq);
    });
}
