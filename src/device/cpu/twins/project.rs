//! Twin of `shaders/project_blocks.wgsl`, in working memory of its own.

use super::super::{Bindings, Work};
use super::blocks::row_start;
use crate::device::binding::{ARENA, VECTOR_IN, VECTOR_OUT};
use crate::kernel::NEGATIVE;
use crate::real::Real;

const SWEEPS: usize = 16;

/// Eigenvalues λ of packed symmetric matrices become max(λ, ε) or max(|λ|, ε).
pub fn project_blocks<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [width, absolute, first, ..] = work.params.words;
    let (width, first, count) = (width as usize, first as usize, work.params.count as usize);
    let limits: &[R] = bindings.read(ARENA);
    let (epsilon, tolerance) = (limits[0], limits[1]);
    let (map, columns, blocks) = (bindings.index(), bindings.read(VECTOR_IN), bindings.write(VECTOR_OUT));
    let packed = row_start(width);
    let (mut given, mut block, mut vectors) = (vec![R::ZERO; packed], vec![R::ZERO; packed], vec![R::ZERO; width * width]);
    for i in work.items() {
        for (value, &code) in given.iter_mut().zip(map) {
            *value = match code & !NEGATIVE {
                0 => R::ZERO,
                column if code & NEGATIVE != 0 => -columns[(column as usize - 1) * count + i],
                column => columns[(column as usize - 1) * count + i],
            };
        }
        block.copy_from_slice(&given);
        let largest = given.iter().fold(R::ZERO, |largest, value| if value.abs() > largest { value.abs() } else { largest });
        let finite = given.iter().all(|value| value.is_finite());
        if finite && !is_semidefinite(&mut block, width, epsilon, tolerance * largest) {
            block.copy_from_slice(&given);
            diagonalise(&mut block, &mut vectors, width, R::from_f64(0.0625) * tolerance * largest);
            for k in 0..width {
                let eigenvalue = block[row_start(k) + k];
                let kept = if absolute != 0 { eigenvalue.abs() } else { eigenvalue };
                let lacking = (if kept > epsilon { kept } else { epsilon }) - eigenvalue;
                for r in 0..width {
                    for c in 0..=r {
                        given[row_start(r) + c] += lacking * vectors[r * width + k] * vectors[c * width + k];
                    }
                }
            }
        }
        given.iter().enumerate().for_each(|(k, value)| blocks[(first + k) * count + i] = *value);
    }
}

/// Whether a − εI has a factor L Lᵀ up to `least`; L takes the place of a.
fn is_semidefinite<R: Real>(a: &mut [R], width: usize, epsilon: R, least: R) -> bool {
    for r in 0..width {
        for c in 0..=r {
            let mut value = a[row_start(r) + c];
            if r == c {
                value -= epsilon;
            }
            for k in 0..c {
                value -= a[row_start(r) + k] * a[row_start(c) + k];
            }
            if r == c {
                if value < -least {
                    return false;
                }
                value = if value > least { value.sqrt() } else { R::ZERO };
            } else {
                let pivot = a[row_start(c) + c];
                if pivot > R::ZERO {
                    value = value / pivot;
                } else if value.abs() > least {
                    return false;
                } else {
                    value = R::ZERO;
                }
            }
            a[row_start(r) + c] = value;
        }
    }
    true
}

/// a becomes diagonal, as far as entries exceed `least`; the columns of v are its eigenvectors.
fn diagonalise<R: Real>(a: &mut [R], v: &mut [R], width: usize, least: R) {
    let at = |r: usize, c: usize| row_start(r.max(c)) + r.min(c);
    v.iter_mut().enumerate().for_each(|(k, entry)| *entry = if k / width == k % width { R::ONE } else { R::ZERO });
    for _ in 0..SWEEPS {
        let mut done = true;
        for q in 1..width {
            for p in 0..q {
                let off = a[at(q, p)];
                if off.abs() <= least {
                    continue;
                }
                done = false;
                let cotangent = R::from_f64(0.5) * (a[at(q, q)] - a[at(p, p)]) / off;
                let size = R::ONE / (cotangent.abs() + (cotangent * cotangent + R::ONE).sqrt());
                let t = if cotangent < R::ZERO { -size } else { size };
                let c = R::ONE / (t * t + R::ONE).sqrt();
                let s = t * c;
                a[at(p, p)] -= t * off;
                a[at(q, q)] += t * off;
                a[at(q, p)] = R::ZERO;
                let h = s / (R::ONE + c);
                let turned = |x: R, y: R| (x - s * (y + h * x), y + s * (x - h * y));
                for r in 0..width {
                    if r != p && r != q {
                        (a[at(r, p)], a[at(r, q)]) = turned(a[at(r, p)], a[at(r, q)]);
                    }
                    (v[r * width + p], v[r * width + q]) = turned(v[r * width + p], v[r * width + q]);
                }
            }
        }
        if done {
            return;
        }
    }
}
