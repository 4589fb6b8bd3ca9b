//! Twins of the shaders `pcg_*`: preconditioned conjugate gradients (Hestenes & Stiefel; Saad, section 9.2).

use super::super::{Bindings, Work};
use super::blocks::{row_start, symmetric_product};
use super::reduce::{Lanes, MAX_GROUP, for_each_group, group_max, group_sum, larger, strided_sum};
use crate::device::binding::{ARENA, DATA, INDEX, JACOBIAN, PARTIALS, STATE, VECTOR_IN, VECTOR_OUT};
use crate::real::Real;
use crate::solve::state::*;

/// s = 0, r = −g, z = M⁻¹r; partial sums of rᵀz and maxima of |g|.
pub fn pcg_start<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [vector, width, block, partial, distance, variables, ..] = work.params.words.map(|word| word as usize);
    let (residual, step) = (bindings.write(DATA), bindings.write(INDEX));
    let (gradient, z) = (bindings.read(VECTOR_IN), bindings.write(VECTOR_OUT));
    let (inverse, partials) = (bindings.read(JACOBIAN), bindings.write(PARTIALS));
    for_each_group(work, variables, |group, rounds| {
        let mut rz: Lanes<R> = [R::ZERO; MAX_GROUP];
        let mut largest: Lanes<R> = [R::ZERO; MAX_GROUP];
        for (lane, i) in rounds.flat_map(Iterator::enumerate) {
            let range = vector + i * width..vector + (i + 1) * width;
            for (r, g) in residual[range.clone()].iter_mut().zip(&gradient[range.clone()]) {
                *r = -*g;
                largest[lane] = larger(largest[lane], g.abs());
            }
            step[range.clone()].fill(R::ZERO);
            let packed = &inverse[block + i * row_start(width)..][..row_start(width)];
            rz[lane] += symmetric_product(packed, &residual[range.clone()], &mut z[range]);
        }
        partials[partial + group] = group_sum(&rz, work.group_size as usize);
        partials[distance + partial + group] = group_max(&largest, work.group_size as usize);
    });
}

/// rᵀz and max |g| from their partials.
pub fn pcg_begin<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [count, distance, ..] = work.params.words;
    let (state, partials) = (bindings.write(STATE), bindings.read(PARTIALS));
    let rz = strided_sum(work, count, |i| partials[i]);
    let largest = &partials[distance as usize..(distance + count) as usize];
    state[RZ as usize] = rz;
    state[RZ_START as usize] = rz;
    // The maximum may drop a NaN; the sum never does, and the host must see it.
    let top = largest.iter().fold(R::ZERO, |top, &value| larger(top, value));
    state[GRADIENT_MAX as usize] = if rz.is_finite() { top } else { rz };
    state[BETA as usize] = R::ZERO;
    state[INNER as usize] = R::ZERO;
    state[SOLVED as usize] = if rz.is_finite() && rz > R::ZERO { R::ZERO } else { R::ONE };
}

/// p = z + βp and q = λDp.
pub fn pcg_direction<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let state = bindings.read(STATE);
    if state[SOLVED as usize] != R::ZERO {
        return;
    }
    let (scale, z) = (bindings.read(DATA), bindings.read(VECTOR_IN));
    let (p, q) = (bindings.write(VECTOR_OUT), bindings.write(JACOBIAN));
    let (beta, damping) = (state[BETA as usize], state[DAMPING as usize]);
    let items = work.items();
    let (p, q) = (&mut p[items.clone()], &mut q[items.clone()]);
    // The first direction does not look at p: it may hold anything.
    if beta == R::ZERO {
        p.copy_from_slice(&z[items.clone()]);
    } else {
        p.iter_mut().zip(&z[items.clone()]).for_each(|(p, z)| *p = *z + beta * *p);
    }
    for ((q, p), scale) in q.iter_mut().zip(p).zip(&scale[items]) {
        *q = damping * *scale * *p;
    }
}

/// Partial sums of pᵀq.
pub fn pcg_curvature<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    if bindings.read(STATE)[SOLVED as usize] != R::ZERO {
        return;
    }
    let (p, q, partials) = (bindings.read(DATA), bindings.read(VECTOR_IN), bindings.write(PARTIALS));
    for_each_group(work, work.params.words[0] as usize, |group, rounds| {
        let mut lanes: Lanes<R> = [R::ZERO; MAX_GROUP];
        for items in rounds {
            for ((lane, p), q) in lanes.iter_mut().zip(&p[items.clone()]).zip(&q[items]) {
                *lane += *p * *q;
            }
        }
        partials[group] = group_sum(&lanes, work.group_size as usize);
    });
}

/// α = rᵀz / pᵀq.
pub fn pcg_alpha<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let (state, partials) = (bindings.write(STATE), bindings.read(PARTIALS));
    if state[SOLVED as usize] != R::ZERO {
        return;
    }
    let curvature = strided_sum(work, work.params.words[0], |i| partials[i]);
    if curvature.is_finite() && curvature > R::ZERO {
        state[ALPHA as usize] = state[RZ as usize] / curvature;
    } else {
        state[SOLVED as usize] = R::ONE;
    }
}

/// s += αp, r −= αq, z = M⁻¹r; partial sums of rᵀz.
pub fn pcg_update<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let state = bindings.read(STATE);
    if state[SOLVED as usize] != R::ZERO {
        return;
    }
    let [vector, width, block, partial, variables, ..] = work.params.words.map(|word| word as usize);
    let (z, p, q) = (bindings.write(ARENA), bindings.read(DATA), bindings.read(INDEX));
    let (inverse, step) = (bindings.read(VECTOR_IN), bindings.write(VECTOR_OUT));
    let (residual, partials) = (bindings.write(JACOBIAN), bindings.write(PARTIALS));
    let alpha = state[ALPHA as usize];
    for_each_group(work, variables, |group, rounds| {
        let mut rz: Lanes<R> = [R::ZERO; MAX_GROUP];
        for items in rounds {
            let all = vector + items.start * width..vector + items.end * width;
            step[all.clone()].iter_mut().zip(&p[all.clone()]).for_each(|(s, p)| *s += alpha * *p);
            residual[all.clone()].iter_mut().zip(&q[all]).for_each(|(r, q)| *r -= alpha * *q);
            for (lane, i) in items.enumerate() {
                let range = vector + i * width..vector + (i + 1) * width;
                let packed = &inverse[block + i * row_start(width)..][..row_start(width)];
                rz[lane] += symmetric_product(packed, &residual[range.clone()], &mut z[range]);
            }
        }
        partials[partial + group] = group_sum(&rz, work.group_size as usize);
    });
}

/// β = rᵀz / (rᵀz before), and whether the system is solved well enough.
pub fn pcg_beta<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let (state, partials) = (bindings.write(STATE), bindings.read(PARTIALS));
    if state[SOLVED as usize] != R::ZERO {
        return;
    }
    let rz = strided_sum(work, work.params.words[0], |i| partials[i]);
    let before = state[RZ as usize];
    let forcing = state[FORCING as usize];
    let solved = rz <= forcing * forcing * state[RZ_START as usize];
    state[INNER as usize] += R::ONE;
    state[BETA as usize] = rz / before;
    state[RZ as usize] = rz;
    state[SOLVED as usize] = if rz.is_finite() && rz > R::ZERO && !solved { R::ZERO } else { R::ONE };
}
