//! Twins of the shaders of Schur complements.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::pcg::block_jacobi::{multiply_transposed, row_start};
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::{DAMPING, INNER_EPSILON};

/// Roundings of an entry of `floors` that a pivot is above; below them the block of `floors` is inverted.
const NOISE: f64 = 512.0;
/// Roundings of it that a pivot of that block is at least.
const LEAST: f64 = 8.0;

/// The inverses of the damped blocks of a table; where a pivot is noise, those of the blocks in `floors`.
pub fn invert<R: Real>(work: &Workgroups, args: kernels::reduced::Invert, bindings: kernels::reduced::InvertSlices<R>) {
    let [vector, width, first] = [args.vector, args.width, args.block].map(|word| word as usize);
    let (scale, blocks, floors) = (bindings.scale, bindings.blocks, bindings.floors);
    let (mut inverse, lambda) = (Pieces::new(bindings.inverse), bindings.state[DAMPING as usize]);
    let epsilon = bindings.state[INNER_EPSILON as usize];
    let free = (args.masked != 0).then_some(bindings.free);
    let packed = row_start(width);
    let tasks =
        threads::cut_by(work.items(), packed).map(|items| (inverse.take(first + items.start * packed..first + items.end * packed), items));
    threads::each(tasks.collect(), work.items().len() * packed, |(inverse, items)| {
        for (variable, inverse) in items.zip(inverse.chunks_exact_mut(packed)) {
            let [at, unknown] = [first + variable * packed, vector + variable * width];
            let moves = |r: usize| free.is_none_or(|free| free[unknown + r] != R::ZERO);
            let damping = |r: usize| lambda * scale[unknown + r];
            let rounding = |r: usize| epsilon * (floors[at + row_start(r) + r] + damping(r));
            let is_noisy = factor(&blocks[at..], rounding, damping, moves, inverse, width);
            if is_noisy {
                factor(&floors[at..], rounding, damping, moves, inverse, width);
            }
            invert_factor(inverse, width);
            multiply_transposed(inverse, width);
        }
    });
}

/// Cholesky's L, row by row, and if a pivot is noise; 0 where nothing may move.
fn factor<R: Real>(
    block: &[R],
    rounding: impl Fn(usize) -> R,
    damping: impl Fn(usize) -> R,
    moves: impl Fn(usize) -> bool,
    l: &mut [R],
    width: usize,
) -> bool {
    let [noise, least] = [NOISE, LEAST].map(R::from_f64);
    let mut is_noisy = false;
    for r in 0..width {
        for c in 0..=r {
            let mut value = if moves(r) && moves(c) { block[row_start(r) + c] } else { R::ZERO };
            for k in 0..c {
                value -= l[row_start(r) + k] * l[row_start(c) + k];
            }
            l[row_start(r) + c] = if r == c {
                let (pivot, rounding) = (value + damping(r), rounding(r));
                let is_clear = pivot >= noise * rounding;
                // One that may not move is none.
                is_noisy |= moves(r) && !is_clear;
                let least = least * rounding;
                let pivot = if pivot > least { pivot } else { least };
                if moves(r) && pivot > R::ZERO { pivot.sqrt() } else { R::ZERO }
            } else {
                let pivot = l[row_start(c) + c];
                if pivot > R::ZERO { value / pivot } else { R::ZERO }
            };
        }
    }
    is_noisy
}

/// L becomes L⁻¹, but for rows without a pivot, which become 0.
fn invert_factor<R: Real>(l: &mut [R], width: usize) {
    for r in 0..width {
        let pivot = l[row_start(r) + r];
        let scaled = if pivot > R::ZERO { R::ONE / pivot } else { R::ZERO };
        for c in 0..r {
            let mut sum = R::ZERO;
            for k in c..r {
                sum += l[row_start(r) + k] * l[row_start(k) + c];
            }
            l[row_start(r) + c] = -sum * scaled;
        }
        l[row_start(r) + r] = scaled;
    }
}

/// x = −C⁻¹(product + gradient).
pub fn substitute<R: Real>(work: &Workgroups, args: kernels::reduced::Substitute, bindings: kernels::reduced::SubstituteSlices<R>) {
    if bindings.state[args.guard as usize] != R::ZERO {
        return;
    }
    let [vector, width, first] = [args.vector, args.width, args.block].map(|word| word as usize);
    let (product, gradient, inverse) = (bindings.product, bindings.gradient, bindings.inverse);
    let (mut x, packed) = (Pieces::new(bindings.x), row_start(width));
    let tasks =
        threads::cut_by(work.items(), packed).map(|items| (x.take(vector + items.start * width..vector + items.end * width), items));
    threads::each(tasks.collect(), work.items().len() * packed, |(x, items)| {
        for (variable, x) in items.zip(x.chunks_exact_mut(width)) {
            let unknown = vector + variable * width;
            let inverse = &inverse[first + variable * packed..][..packed];
            for (c, x) in x.iter_mut().enumerate() {
                let mut value = R::ZERO;
                for k in 0..width {
                    let mut right = product[unknown + k];
                    if args.whole != 0 {
                        right += gradient[unknown + k];
                    }
                    value -= inverse[row_start(c.max(k)) + c.min(k)] * right;
                }
                *x = value;
            }
        }
    });
}

/// Marks blocks of E whose rows are those of the kept variable; the rest of the word is the first element.
const KEPT_ROWS: u32 = 1 << 31;

/// First element of a row of a block of E, and the distance to the next one of an eliminated variable of `inner` unknowns.
fn row_of(word: u32, row: usize, rows: usize, inner: usize) -> (usize, usize) {
    let first = (word & !KEPT_ROWS) as usize;
    if word & KEPT_ROWS == 0 { (first + row, rows) } else { (first + row * inner, 1) }
}

/// Y = E C⁻¹.
pub fn solved_blocks<R: Real>(work: &Workgroups, args: kernels::reduced::SolvedBlocks, bindings: kernels::reduced::SolvedBlocksSlices<R>) {
    let [rows, columns, first] = [args.rows, args.columns, args.inverse].map(|word| word as usize);
    for item in work.items() {
        let (place, row) = (item / rows, item % rows);
        let &[word, variable, to] = &bindings.table[3 * place..][..3] else { continue };
        let (start, step) = row_of(word, row, rows, columns);
        let own = &bindings.inverse[first + variable as usize * row_start(columns)..][..row_start(columns)];
        for c in 0..columns {
            let mut sum = R::ZERO;
            for k in 0..columns {
                sum += bindings.blocks[start + k * step] * own[row_start(c.max(k)) + c.min(k)];
            }
            bindings.solved[to as usize + row * columns + c] = sum;
        }
    }
}

/// Sums of products Y_i E_jᵀ over the pairs of segments.
pub fn pair_products<R: Real>(work: &Workgroups, args: kernels::reduced::PairProducts, bindings: kernels::reduced::PairProductsSlices<R>) {
    let [rows, columns, inner, starts, pairs] = [args.rows, args.columns, args.inner, args.starts, args.pairs].map(|word| word as usize);
    let size = if args.packed != 0 { row_start(rows) } else { rows * columns };
    for item in work.items() {
        let (segment, entry) = (item / size, item % size);
        let (row, column) = if args.packed != 0 {
            let row = (0..rows).rfind(|&row| row_start(row) <= entry).unwrap_or(0);
            (row, entry - row_start(row))
        } else {
            (entry / columns, entry % columns)
        };
        let mut sum = R::ZERO;
        for pair in bindings.table[starts + segment] as usize..bindings.table[starts + segment + 1] as usize {
            let left = bindings.table[pairs + 2 * pair] as usize + row * inner;
            let (right, step) = row_of(bindings.table[pairs + 2 * pair + 1], column, columns, inner);
            for k in 0..inner {
                sum += bindings.solved[left + k] * bindings.blocks[right + k * step];
            }
        }
        bindings.partials[item] = sum;
    }
}

/// Blocks of B, less the sums of their segments.
pub fn complement<R: Real>(work: &Workgroups, args: kernels::reduced::Complement, bindings: kernels::reduced::ComplementSlices<R>) {
    let [size, first, segments, origins] = [args.size, args.first, args.segments, args.origins].map(|word| word as usize);
    for item in work.items() {
        let (row, entry) = (item / size, item % size);
        let value = match bindings.table[origins + row] {
            _ if args.again != 0 => bindings.complement[first + item],
            u32::MAX => R::ZERO,
            origin => bindings.blocks[origin as usize + entry],
        };
        let mut sum = R::ZERO;
        for segment in bindings.table[segments + row] as usize..bindings.table[segments + row + 1] as usize {
            sum += bindings.partials[segment * size + entry];
        }
        bindings.complement[first + item] = value - sum;
    }
}
