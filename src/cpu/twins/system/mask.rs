//! Twins of the shaders that keep what is fixed where it is: `mask`, `mask_blocks`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::pcg::block_jacobi::row_start;
use leastwise_kernels as kernels;

/// What is not free of a vector becomes 0.
pub fn mask<R: Real>(work: &Workgroups, args: kernels::system::Mask, bindings: kernels::system::MaskSlices<R>) {
    if bindings.state[args.guard as usize] != R::ZERO {
        return;
    }
    let (free, mut vector) = (bindings.free, Pieces::new(bindings.vector));
    let tasks = threads::cut(work.items()).map(|items| (vector.take(items.clone()), &free[items]));
    threads::each(tasks.collect(), work.items().len(), |(vector, free)| {
        for (value, free) in vector.iter_mut().zip(free) {
            if *free == R::ZERO {
                *value = R::ZERO;
            }
        }
    });
}

/// Rows and columns of diagonal blocks that belong to what is not free become those of the identity.
pub fn mask_blocks<R: Real>(work: &Workgroups, args: kernels::system::MaskBlocks, bindings: kernels::system::MaskBlocksSlices<R>) {
    let [vector, width, first] = [args.vector, args.width, args.block].map(|word| word as usize);
    let (free, mut blocks, packed) = (bindings.free, Pieces::new(bindings.blocks), row_start(width));
    let tasks = threads::cut(work.items()).map(|items| {
        let free = &free[vector + items.start * width..vector + items.end * width];
        (blocks.take(first + items.start * packed..first + items.end * packed), free)
    });
    threads::each(tasks.collect(), work.items().len() * packed, |(blocks, free)| {
        for (block, free) in blocks.chunks_exact_mut(packed).zip(free.chunks_exact(width)) {
            for r in 0..width {
                for c in 0..=r {
                    if free[r] == R::ZERO || free[c] == R::ZERO {
                        block[row_start(r) + c] = if r == c { R::ONE } else { R::ZERO };
                    }
                }
            }
        }
    });
}
