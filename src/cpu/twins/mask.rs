//! Twins of the shaders that keep what is fixed where it is: `mask`, `mask_blocks`.

use super::super::threads::{self, Pieces};
use super::super::{Bindings, Work};
use super::blocks::row_start;
use crate::real::Real;
use leastwise_recording::binding::{STATE, VECTOR_IN, VECTOR_OUT};

/// What is not free of a vector becomes 0.
pub fn mask<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    if bindings.read(STATE)[work.params.words[0] as usize] != R::ZERO {
        return;
    }
    let (free, mut vector) = (bindings.read(VECTOR_IN), Pieces::new(bindings.write(VECTOR_OUT)));
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
pub fn mask_blocks<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [vector, width, first, ..] = work.params.words.map(|word| word as usize);
    let (free, mut blocks, packed) = (bindings.read(VECTOR_IN), Pieces::new(bindings.write(VECTOR_OUT)), row_start(width));
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
