//! Twins of the shaders of the damping matrix D and of what it measures: `peak`, `damping`, `extent`, `reach`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::pcg::block_jacobi::row_start;
use crate::twins::reduce::{larger, smaller};
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::{COST, FLOOR};

/// Hands every element of a table's vector with its entry of the diagonal of JᵀWJ, and its place in the vector, to `each`.
fn over_diagonal<R: Real>(
    work: &Workgroups,
    [to, width, first]: [u32; 3],
    blocks: &[R],
    vector: &mut [R],
    each: impl Fn(&mut R, R, usize) + Sync,
) {
    let [to, width, first] = [to, width, first].map(|word| word as usize);
    let mut vector = Pieces::new(vector);
    let tasks = threads::cut(work.items()).map(|items| (vector.take(to + items.start..to + items.end), items));
    threads::each(tasks.collect(), work.items().len(), |(values, items)| {
        for (value, i) in values.iter_mut().zip(items) {
            let (variable, component) = (i / width, i % width);
            each(value, blocks[first + variable * row_start(width) + row_start(component) + component], to + i);
        }
    });
}

/// The largest that the diagonal of JᵀWJ has been.
pub fn diagonal_max<R: Real>(work: &Workgroups, args: kernels::system::DiagonalMax, bindings: kernels::system::DiagonalMaxSlices<R>) {
    over_diagonal(work, [args.vector, args.width, args.block], bindings.blocks, bindings.peak, |peak, diagonal, _| {
        if diagonal > *peak {
            *peak = diagonal;
        }
    });
}

/// D = the diagonal of JᵀWJ, but no less than φ times the largest that it has been, nor than 10⁻⁷ min(1, cost); 1 where it was
/// always 0.
pub fn damping_diagonal<R: Real>(
    work: &Workgroups,
    args: kernels::system::DampingDiagonal,
    bindings: kernels::system::DampingDiagonalSlices<R>,
) {
    let (peak, state) = (bindings.peak, bindings.state);
    let (floor, least) = (state[FLOOR as usize], R::from_f64(1e-7) * smaller(state[COST as usize], R::ONE));
    let [nothing, highest] = [1e-36, 1e30].map(R::from_f64);
    over_diagonal(work, [args.vector, args.width, args.block], bindings.blocks, bindings.scale, |scale, diagonal, place| {
        let lowest = floor * peak[place];
        let value = if diagonal > lowest { diagonal } else { lowest };
        let value = if value < nothing { R::ONE } else { larger(value, least) };
        *scale = if value < highest { value } else { highest };
    });
}
