//! The twin of `shaders/pcg/block_jacobi.wgsl`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::DAMPING;

/// Where row r of a lower triangle begins in packed storage.
pub fn row_start(r: usize) -> usize {
    r * (r + 1) / 2
}

/// M⁻¹: the inverses of the diagonal blocks of JᵀWJ + λD.
pub fn block_jacobi<R: Real>(work: &Workgroups, args: kernels::pcg::BlockJacobi, bindings: kernels::pcg::BlockJacobiSlices<R>) {
    let [vector, width, first] = [args.vector, args.width, args.block].map(|word| word as usize);
    let (scale, blocks) = (bindings.scale, bindings.blocks);
    let (mut inverse, lambda) = (Pieces::new(bindings.inverse), bindings.state[DAMPING as usize]);
    let packed = row_start(width);
    let tasks = threads::cut_by(work.items(), packed).map(|items| {
        let range = first + items.start * packed..first + items.end * packed;
        (inverse.take(range.clone()), &blocks[range], &scale[vector + items.start * width..vector + items.end * width])
    });
    threads::each(tasks.collect(), work.items().len() * packed, |(inverse, blocks, scale)| {
        let variables = inverse.chunks_exact_mut(packed).zip(blocks.chunks_exact(packed)).zip(scale.chunks_exact(width));
        for ((inverse, block), scale) in variables {
            let damped = |r: usize| block[row_start(r) + r] + lambda * scale[r];
            if factor(block, damped, inverse, width) {
                invert_factor(inverse, width);
                multiply_transposed(inverse, width);
            } else {
                inverse.fill(R::ZERO);
                // What nothing depends on does not move.
                (0..width).filter(|&r| damped(r) > R::ZERO).for_each(|r| inverse[row_start(r) + r] = R::ONE / damped(r));
            }
        }
    });
}

/// Cholesky's L, row by row; false when the block is not positive definite in this precision.
fn factor<R: Real>(block: &[R], damped: impl Fn(usize) -> R, l: &mut [R], width: usize) -> bool {
    let tiny = R::from_f64(1e-7);
    for r in 0..width {
        for c in 0..=r {
            let entry = if r == c { damped(r) } else { block[row_start(r) + c] };
            let mut value = entry;
            for k in 0..c {
                value -= l[row_start(r) + k] * l[row_start(c) + k];
            }
            if r != c {
                value = value / l[row_start(c) + c];
            } else if value > tiny * entry {
                value = value.sqrt();
            } else {
                return false;
            }
            l[row_start(r) + c] = value;
        }
    }
    true
}

/// L becomes L⁻¹: a row only needs the inverted rows above it.
fn invert_factor<R: Real>(l: &mut [R], width: usize) {
    for r in 0..width {
        let diagonal = l[row_start(r) + r];
        for c in 0..r {
            let mut sum = R::ZERO;
            for k in c..r {
                sum += l[row_start(r) + k] * l[row_start(k) + c];
            }
            l[row_start(r) + c] = -sum / diagonal;
        }
        l[row_start(r) + r] = R::ONE / diagonal;
    }
}

/// L⁻¹ becomes L⁻ᵀL⁻¹: entry (r, c) only needs rows r and below.
pub fn multiply_transposed<R: Real>(l: &mut [R], width: usize) {
    for r in 0..width {
        for c in 0..=r {
            let mut sum = R::ZERO;
            for k in r..width {
                sum += l[row_start(k) + r] * l[row_start(k) + c];
            }
            l[row_start(r) + c] = sum;
        }
    }
}

/// y = Ax for a packed symmetric A; gives xᵀy.
pub fn symmetric_product<R: Real>(a: &[R], x: &[R], y: &mut [R]) -> R {
    // Three is what meshes have: the compiler unrolls it when it knows.
    if let ([a, b, c, d, e, f], [x0, x1, x2], [y0, y1, y2]) = (a, x, &mut *y) {
        *y0 = *a * *x0 + *b * *x1 + *d * *x2;
        *y1 = *b * *x0 + *c * *x1 + *e * *x2;
        *y2 = *d * *x0 + *e * *x1 + *f * *x2;
        return *x0 * *y0 + *x1 * *y1 + *x2 * *y2;
    }
    let mut product = R::ZERO;
    for r in 0..x.len() {
        let mut sum = R::ZERO;
        for k in 0..x.len() {
            sum += a[row_start(r.max(k)) + r.min(k)] * x[k];
        }
        y[r] = sum;
        product += x[r] * sum;
    }
    product
}
