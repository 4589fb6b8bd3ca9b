//! Twins of the shaders of a step: `trial`, `place`, `model`, `sum`, `cost`, `accept`, `commit`,
//! and of the rules of Levenberg–Marquardt and Gauss–Newton: `nielsen`, `step_length`; `wake`.

use super::super::threads::{self, Pieces};
use super::super::{Bindings, Work};
use super::reduce::{
    Exact, Lanes, MAX_GROUP, clamp, group_sum, group_sum_exact, larger, run_elements, runs, smaller, strided_sum, strided_sum_exact,
};
use crate::real::Real;
use leastwise_kernel::state::solver::*;
use leastwise_recording::binding::{ARENA, DATA, INDEX, JACOBIAN, PARTIALS, STATE, VECTOR_IN, VECTOR_OUT};

/// x′ = x + s, and partial sums of gᵀs, sᵀDs, sᵀr, sᵀs and xᵀx.
pub fn trial<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [distance, arena, vector, partial, elements, ..] = work.params.words.map(|word| word as usize);
    let (point, scale, gradient) = (bindings.read(ARENA), bindings.read(DATA), bindings.read(INDEX));
    let (step, mut trial) = (bindings.read(VECTOR_IN), Pieces::new(bindings.write(VECTOR_OUT)));
    let (residual, partials) = (bindings.read(JACOBIAN), bindings.write(PARTIALS));
    let group_size = work.group_size as usize;
    let tasks = runs(work, elements).map(|run| (trial.take(arena + run.start..arena + run.end), run));
    let sums = threads::map(tasks.collect(), run_elements(work, elements), |(trial, run)| {
        let mut sums: [Lanes<R>; 5] = [[R::ZERO; MAX_GROUP]; 5];
        for (place, i) in run.enumerate() {
            let (s, x, v) = (step[vector + i], point[arena + i], vector + i);
            // What does not move keeps its bits: −0 + 0 would be 0.
            trial[place] = if s == R::ZERO { x } else { x + s };
            let kinds = [gradient[v] * s, s * scale[v] * s, s * residual[v], s * s, x * x];
            sums.iter_mut().zip(kinds).for_each(|(sum, value)| sum[place % group_size] += value);
        }
        sums.map(|lanes| group_sum(&lanes, group_size))
    });
    for (group, sums) in (work.groups.start as usize..).zip(sums) {
        (0..).zip(sums).for_each(|(kind, sum): (usize, R)| partials[kind * distance + partial + group] = sum);
    }
}

/// x′ from the columns of a retraction, and partial sums of gᵀs, sᵀDs, sᵀr, sᵀs and xᵀx.
pub fn place<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [distance, arena, vector, partial, unknowns, elements, width, count, ..] = work.params.words.map(|word| word as usize);
    let (point, scale, gradient) = (bindings.read(ARENA), bindings.read(DATA), bindings.read(INDEX));
    let (step, mut trial) = (bindings.read(VECTOR_IN), Pieces::new(bindings.write(VECTOR_OUT)));
    let (residual, columns, partials) = (bindings.read(JACOBIAN), bindings.read(STATE), bindings.write(PARTIALS));
    let group_size = work.group_size as usize;
    let tasks = runs(work, elements).map(|run| (trial.take(arena + run.start..arena + run.end), run));
    let sums = threads::map(tasks.collect(), run_elements(work, elements), |(trial, run)| {
        let mut sums: [Lanes<R>; 5] = [[R::ZERO; MAX_GROUP]; 5];
        for (place, i) in run.enumerate() {
            let (x, lane) = (point[arena + i], place % group_size);
            trial[place] = columns[i % width * count + i / width];
            sums[4][lane] += x * x;
            if i < unknowns {
                let (s, v) = (step[vector + i], vector + i);
                let kinds = [gradient[v] * s, s * scale[v] * s, s * residual[v], s * s];
                sums.iter_mut().zip(kinds).for_each(|(sum, value)| sum[lane] += value);
            }
        }
        sums.map(|lanes| group_sum(&lanes, group_size))
    });
    for (group, sums) in (work.groups.start as usize..).zip(sums) {
        (0..).zip(sums).for_each(|(kind, sum): (usize, R)| partials[kind * distance + partial + group] = sum);
    }
}

/// What the quadratic model promises for the step.
pub fn model<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [count, distance, ..] = work.params.words;
    let (state, partials) = (bindings.write(STATE), bindings.read(PARTIALS));
    let [slope, damped, unsolved, step, point] =
        [0, 1, 2, 3, 4].map(|kind| strided_sum(work, count, |i| partials[kind * distance as usize + i]));
    state[MODEL as usize] = R::from_f64(0.5) * (state[DAMPING as usize] * damped + unsolved - slope);
    state[STEP_NORM as usize] = step.sqrt();
    state[POINT_NORM as usize] = point.sqrt();
}

/// Partial sums of a column, with what rounding took from each.
pub fn sum<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [first, distance, elements, ..] = work.params.words.map(|word| word as usize);
    let (column, partials) = (bindings.read(VECTOR_IN), bindings.write(PARTIALS));
    let group_size = work.group_size as usize;
    let sums = threads::map(runs(work, elements).collect(), run_elements(work, elements), |run| {
        let mut lanes = [Exact::default(); MAX_GROUP];
        for round in column[run].chunks(group_size) {
            for (lane, value) in lanes.iter_mut().zip(round) {
                *lane = lane.add(Exact { high: *value, low: R::ZERO });
            }
        }
        group_sum_exact(&lanes, group_size)
    });
    for (group, sum) in (work.groups.start as usize..).zip(sums) {
        partials[first + group] = sum.high;
        partials[distance + first + group] = sum.low;
    }
}

pub(super) fn total<R: Real>(work: &Work, partials: &[R]) -> R {
    let [count, distance, ..] = work.params.words;
    let part = |i: usize| Exact { high: partials[i], low: partials[distance as usize + i] };
    let sum = strided_sum_exact(work, count, part);
    sum.high + sum.low
}

/// A cost from its partial sums.
pub fn cost<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    bindings.write(STATE)[work.params.words[2] as usize] = total(work, bindings.read(PARTIALS));
}

/// Whether the trial point is taken, and the next step's forcing term.
pub fn accept<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let (state, change) = (bindings.write(STATE), total(work, bindings.read(PARTIALS)));
    let at = |element: u32| state[element as usize];
    let model = at(MODEL);
    let mut gain = R::ZERO;
    if change.is_finite() && model.is_finite() && model > R::ZERO {
        let since = (at(REFERENCE) - change) / (at(REFERENCE_MODEL) + model);
        gain = clamp(larger(-change / model, since), R::from_f64(-10.0), R::from_f64(10.0));
    }
    if at(TOO_FAR) != R::ZERO {
        gain = R::ZERO;
    }
    let accepted = gain > R::from_f64(1e-3);
    let mut leaving = false;
    if accepted {
        let above = at(ABOVE_BEST) + change;
        let (mut reference, mut reference_model) = (at(REFERENCE) - change, at(REFERENCE_MODEL) + model);
        let (mut candidate, mut candidate_model) = (at(CANDIDATE) - change, at(CANDIDATE_MODEL) + model);
        let mut uphill = at(UPHILL) + R::ONE;
        if above < R::ZERO {
            uphill = R::ZERO;
        } else {
            leaving = at(ABOVE_BEST) == R::ZERO;
        }
        if above < R::ZERO || candidate < R::ZERO {
            (candidate, candidate_model) = (R::ZERO, R::ZERO);
        }
        if uphill == at(WINDOW) {
            (reference, reference_model) = (candidate, candidate_model);
        }
        state[COST as usize] += change;
        state[UPHILL as usize] = uphill;
        state[REFERENCE as usize] = reference;
        state[REFERENCE_MODEL as usize] = reference_model;
        state[CANDIDATE as usize] = candidate;
        state[CANDIDATE_MODEL as usize] = candidate_model;
        state[ABOVE_BEST as usize] = larger(R::ZERO, above);
    }
    // A step that the model judged badly was solved too loosely as well: what is cheap to move has moved, what is stiff
    // has not. A good one may be solved more loosely next time.
    let mut forcing = state[FORCING as usize];
    if gain < R::from_f64(0.5) {
        forcing = forcing * R::from_f64(0.3);
    } else if gain > R::from_f64(0.75) {
        forcing = forcing * R::from_f64(2.0);
    }
    state[FORCING as usize] = clamp(forcing, state[FORCING_LEAST as usize], state[FORCING_MOST as usize]);
    let flag = |set: bool| if set { R::ONE } else { R::ZERO };
    let resolved = state[EPSILON as usize] * state[COST as usize].abs();
    state[TELLING as usize] = flag(accepted || !model.is_finite() || model.abs() > resolved);
    for (before, now) in [(DAMPING_BEFORE, DAMPING), (RADIUS_BEFORE, RADIUS), (LENGTH_BEFORE, ALONG_NEWTON)] {
        state[before as usize] = state[now as usize];
    }
    state[TOO_FAR as usize] = R::ZERO;
    state[LEAVING as usize] = flag(leaving);
    state[CHANGE as usize] = change;
    state[GAIN as usize] = gain;
    state[ACCEPTED as usize] = flag(accepted);
    state[LINEARIZED as usize] = flag(!accepted);
    state[STEPS as usize] += R::ONE;
    state[TAKEN as usize] += flag(accepted);
}

/// Levenberg–Marquardt's next damping (Nielsen 1999).
pub fn nielsen<R: Real>(_: &Work, mut bindings: Bindings<R>) {
    let state = bindings.write(STATE);
    let mut damping = state[DAMPING as usize];
    if state[TELLING as usize] == R::ZERO {
        // Nothing to be learnt, unless it is the damping that makes the promise so small.
        if damping > R::ONE {
            state[DAMPING as usize] = R::from_f64(0.1) * damping;
            state[GROWTH as usize] = R::from_f64(2.0);
        }
        return;
    }
    if state[ACCEPTED as usize] != R::ZERO {
        let t = state[GAIN as usize] + state[GAIN as usize] - R::ONE;
        damping = damping * larger(R::ONE / R::from_f64(3.0), R::ONE - t * t * t);
        state[GROWTH as usize] = R::from_f64(2.0);
    } else {
        damping = damping * state[GROWTH as usize];
        state[GROWTH as usize] = smaller(state[GROWTH as usize] + state[GROWTH as usize], R::from_f64(1e6));
        state[FLOOR as usize] = smaller(R::from_f64(3.0) * state[FLOOR as usize], R::ONE);
    }
    state[DAMPING as usize] = clamp(damping, R::from_f64(1e-20), R::from_f64(1e15));
}

/// Gauss–Newton's next step length.
pub fn step_length<R: Real>(_: &Work, mut bindings: Bindings<R>) {
    let state = bindings.write(STATE);
    let halved = larger(R::from_f64(0.5) * state[ALONG_NEWTON as usize], R::from_f64(1e-12));
    // A promise that rounding hides may be one of a step that was cut too often.
    let whole = state[ACCEPTED as usize] != R::ZERO || state[TELLING as usize] == R::ZERO;
    state[ALONG_NEWTON as usize] = if whole { R::ONE } else { halved };
}

/// What rest has made of the damping, the radius and the length is forgotten.
pub fn wake<R: Real>(_: &Work, mut bindings: Bindings<R>) {
    let state = bindings.write(STATE);
    state[DAMPING as usize] = smaller(state[DAMPING as usize], R::from_f64(1e3));
    state[GROWTH as usize] = R::from_f64(2.0);
    state[RADIUS as usize] = larger(state[RADIUS as usize], R::from_f64(1e-2));
    state[ALONG_NEWTON as usize] = R::ONE;
}

/// A table's values where the state says so.
pub fn commit<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [arena, flag, ..] = work.params.words.map(|word| word as usize);
    if bindings.read(STATE)[flag] != R::ZERO {
        let items = work.items();
        let (from, mut to) = (bindings.read(VECTOR_IN), Pieces::new(bindings.write(VECTOR_OUT)));
        let tasks = threads::cut(arena + items.start..arena + items.end).map(|range| (to.take(range.clone()), &from[range]));
        threads::each(tasks.collect(), items.len(), |(to, from)| to.copy_from_slice(from));
    }
}
