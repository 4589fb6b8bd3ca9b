//! Twins of the shaders of the damping matrix D and of what it measures: `peak`, `damping`, `extent`, `reach`.

use super::super::threads::{self, Pieces};
use super::super::{Bindings, Work};
use super::blocks::row_start;
use super::reduce::{Lanes, MAX_GROUP, group_sum, larger, run_elements, runs, smaller, strided_sum};
use crate::real::Real;
use leastwise_kernel::state::solver::{COST, FLOOR, TOO_FAR};
use leastwise_recording::binding::{ARENA, DATA, PARTIALS, STATE, VECTOR_IN, VECTOR_OUT};

/// Hands every element of a table's vector with its entry of the diagonal of JᵀWJ, and its place in the vector, to `each`.
fn over_diagonal<R: Real>(work: &Work, blocks: &[R], vector: &mut [R], each: impl Fn(&mut R, R, usize) + Sync) {
    let [to, width, first, ..] = work.params.words.map(|word| word as usize);
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
pub fn peak<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    over_diagonal(work, bindings.read(VECTOR_IN), bindings.write(VECTOR_OUT), |peak, diagonal, _| {
        if diagonal > *peak {
            *peak = diagonal;
        }
    });
}

/// D = the diagonal of JᵀWJ, but no less than φ times the largest that it has been, nor than 10⁻⁷ min(1, cost); 1 where it was
/// always 0.
pub fn damping<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let (peak, state) = (bindings.read(DATA), bindings.read(STATE));
    let (floor, least) = (state[FLOOR as usize], R::from_f64(1e-7) * smaller(state[COST as usize], R::ONE));
    let [nothing, highest] = [1e-36, 1e30].map(R::from_f64);
    over_diagonal(work, bindings.read(VECTOR_IN), bindings.write(VECTOR_OUT), |scale, diagonal, place| {
        let lowest = floor * peak[place];
        let value = if diagonal > lowest { diagonal } else { lowest };
        let value = if value < nothing { R::ONE } else { larger(value, least) };
        *scale = if value < highest { value } else { highest };
    });
}

/// How far a step goes: partial sums of sᵀDs and xᵀDx.
pub fn extent<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [distance, arena, vector, partial, elements, ..] = work.params.words.map(|word| word as usize);
    let (point, scale, step) = (bindings.read(ARENA), bindings.read(DATA), bindings.read(VECTOR_IN));
    let partials = bindings.write(PARTIALS);
    let group_size = work.group_size as usize;
    let sums = threads::map(runs(work, elements).collect(), run_elements(work, elements), |run| {
        let mut sums: [Lanes<R>; 2] = [[R::ZERO; MAX_GROUP]; 2];
        for (place, i) in run.enumerate() {
            let (d, s, x) = (scale[vector + i], step[vector + i], point[arena + i]);
            sums.iter_mut().zip([s * d * s, x * d * x]).for_each(|(sum, value)| sum[place % group_size] += value);
        }
        sums.map(|lanes| group_sum(&lanes, group_size))
    });
    for (group, sums) in (work.groups.start as usize..).zip(sums) {
        (0..).zip(sums).for_each(|(kind, sum): (usize, R)| partials[kind * distance + partial + group] = sum);
    }
}

/// Whether a first step goes farther than the values that it starts from say anything about.
pub fn reach<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [count, distance, ..] = work.params.words;
    let (state, partials) = (bindings.write(STATE), bindings.read(PARTIALS));
    let [step, point] = [0, 1].map(|kind| strided_sum(work, count, |i| partials[kind * distance as usize + i]));
    let too_far = point > R::ZERO && step > R::from_f64(100.0) * point;
    state[TOO_FAR as usize] = if too_far { R::ONE } else { R::ZERO };
}
