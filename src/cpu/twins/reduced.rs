//! Twins of the shaders of Schur complements.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::pcg::block_jacobi::{multiply_transposed, row_start};
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::{DAMPING, INNER_EPSILON};

/// The inverses of the damped blocks of a table, of which pivots are at least eight roundings of the entries in `floors`.
pub fn invert<R: Real>(work: &Workgroups, args: kernels::reduced::Invert, bindings: kernels::reduced::InvertSlices<R>) {
    let [vector, width, first] = [args.vector, args.width, args.block].map(|word| word as usize);
    let (scale, blocks, floors) = (bindings.scale, bindings.blocks, bindings.floors);
    let (mut inverse, lambda) = (Pieces::new(bindings.inverse), bindings.state[DAMPING as usize]);
    let least = R::from_f64(8.0) * bindings.state[INNER_EPSILON as usize];
    let free = (args.masked != 0).then_some(bindings.free);
    let packed = row_start(width);
    let tasks =
        threads::cut_by(work.items(), packed).map(|items| (inverse.take(first + items.start * packed..first + items.end * packed), items));
    threads::each(tasks.collect(), work.items().len() * packed, |(inverse, items)| {
        for (variable, inverse) in items.zip(inverse.chunks_exact_mut(packed)) {
            let [at, unknown] = [first + variable * packed, vector + variable * width];
            let moves = |r: usize| free.is_none_or(|free| free[unknown + r] != R::ZERO);
            let damping = |r: usize| lambda * scale[unknown + r];
            factor(&blocks[at..], |r| least * (floors[at + row_start(r) + r] + damping(r)), damping, moves, inverse, width);
            invert_factor(inverse, width);
            multiply_transposed(inverse, width);
        }
    });
}

/// Cholesky's L, row by row, with pivots of at least `least`; 0 where nothing may move.
fn factor<R: Real>(
    block: &[R],
    least: impl Fn(usize) -> R,
    damping: impl Fn(usize) -> R,
    moves: impl Fn(usize) -> bool,
    l: &mut [R],
    width: usize,
) {
    for r in 0..width {
        for c in 0..=r {
            let mut value = if moves(r) && moves(c) { block[row_start(r) + c] } else { R::ZERO };
            for k in 0..c {
                value -= l[row_start(r) + k] * l[row_start(c) + k];
            }
            l[row_start(r) + c] = if r == c {
                let (pivot, least) = (value + damping(r), least(r));
                let pivot = if pivot > least { pivot } else { least };
                if moves(r) && pivot > R::ZERO { pivot.sqrt() } else { R::ZERO }
            } else {
                let pivot = l[row_start(c) + c];
                if pivot > R::ZERO { value / pivot } else { R::ZERO }
            };
        }
    }
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
