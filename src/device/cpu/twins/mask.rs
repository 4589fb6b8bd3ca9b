//! Twins of the shaders that keep what is fixed where it is: `mask`, `mask_blocks`.

use super::super::{Bindings, Work};
use super::blocks::row_start;
use crate::device::binding::{STATE, VECTOR_IN, VECTOR_OUT};
use crate::real::Real;

/// What is not free of a vector becomes 0.
pub fn mask<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    if bindings.read(STATE)[work.params.words[0] as usize] != R::ZERO {
        return;
    }
    let (free, vector, items) = (bindings.read(VECTOR_IN), bindings.write(VECTOR_OUT), work.items());
    for (value, free) in vector[items.clone()].iter_mut().zip(&free[items]) {
        if *free == R::ZERO {
            *value = R::ZERO;
        }
    }
}

/// Rows and columns of diagonal blocks that belong to what is not free become those of the identity.
pub fn mask_blocks<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [vector, width, first, ..] = work.params.words.map(|word| word as usize);
    let (free, blocks) = (bindings.read(VECTOR_IN), bindings.write(VECTOR_OUT));
    for i in work.items() {
        let free = &free[vector + i * width..][..width];
        let block = &mut blocks[first + i * row_start(width)..][..row_start(width)];
        for r in 0..width {
            for c in 0..=r {
                if free[r] == R::ZERO || free[c] == R::ZERO {
                    block[row_start(r) + c] = if r == c { R::ONE } else { R::ZERO };
                }
            }
        }
    }
}
