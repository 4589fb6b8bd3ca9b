//! Twins of the shaders of a Levenberg–Marquardt step: `trial`, `place`, `model`, `sum`, `cost`, `accept`, `commit`.

use super::super::threads::{self, Pieces};
use super::super::{Bindings, Work};
use super::reduce::{Exact, Lanes, MAX_GROUP, group_sum, group_sum_exact, run_elements, runs, strided_sum, strided_sum_exact};
use crate::device::binding::{ARENA, DATA, INDEX, JACOBIAN, PARTIALS, STATE, VECTOR_IN, VECTOR_OUT};
use crate::real::Real;
use crate::solve::state::*;

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

fn total<R: Real>(work: &Work, partials: &[R]) -> R {
    let [count, distance, ..] = work.params.words;
    let part = |i: usize| Exact { high: partials[i], low: partials[distance as usize + i] };
    let sum = strided_sum_exact(work, count, part);
    sum.high + sum.low
}

/// The cost from its partial sums.
pub fn cost<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    bindings.write(STATE)[COST as usize] = total(work, bindings.read(PARTIALS));
}

/// Whether the trial point is taken, and the next damping (Nielsen 1999).
pub fn accept<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let (state, change) = (bindings.write(STATE), total(work, bindings.read(PARTIALS)));
    let model = state[MODEL as usize];
    let sensible = change.is_finite() && model.is_finite() && model > R::ZERO && change < R::ZERO;
    let mut gain = if sensible { -change / model } else { R::ZERO };
    if gain > R::from_f64(10.0) {
        gain = R::from_f64(10.0);
    }
    let accepted = gain > R::from_f64(1e-3);
    let mut damping = state[DAMPING as usize];
    if accepted {
        let t = gain + gain - R::ONE;
        let factor = R::ONE - t * t * t;
        let least = R::ONE / R::from_f64(3.0);
        damping = damping * if factor > least { factor } else { least };
        state[GROWTH as usize] = R::from_f64(2.0);
        state[COST as usize] += change;
    } else if !model.is_finite() || model.abs() > state[EPSILON as usize] * state[COST as usize].abs() {
        damping = damping * state[GROWTH as usize];
        let growth = state[GROWTH as usize] + state[GROWTH as usize];
        state[GROWTH as usize] = if growth < R::from_f64(1e6) { growth } else { R::from_f64(1e6) };
    }
    // A step that the model judged badly was solved too loosely as well: what is cheap to move has moved, what is stiff
    // has not. A good one may be solved more loosely next time.
    let mut forcing = state[FORCING as usize];
    if gain < R::from_f64(0.5) {
        forcing = forcing * R::from_f64(0.3);
    } else if gain > R::from_f64(0.75) {
        forcing = forcing * R::from_f64(2.0);
    }
    state[FORCING as usize] = clamp(forcing, R::from_f64(1e-3), R::from_f64(0.1));
    state[DAMPING as usize] = clamp(damping, R::from_f64(1e-15), R::from_f64(1e15));
    state[CHANGE as usize] = change;
    state[GAIN as usize] = gain;
    state[ACCEPTED as usize] = if accepted { R::ONE } else { R::ZERO };
    state[LINEARIZED as usize] = if accepted { R::ZERO } else { R::ONE };
    state[STEPS as usize] += R::ONE;
}

/// x = x′ where the step was accepted.
pub fn commit<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    if bindings.read(STATE)[ACCEPTED as usize] != R::ZERO {
        let (arena, items) = (work.params.words[0] as usize, work.items());
        let (trial, mut point) = (bindings.read(VECTOR_IN), Pieces::new(bindings.write(VECTOR_OUT)));
        let tasks = threads::cut(arena + items.start..arena + items.end).map(|range| (point.take(range.clone()), &trial[range]));
        threads::each(tasks.collect(), items.len(), |(point, trial)| point.copy_from_slice(trial));
    }
}

fn clamp<R: Real>(value: R, lowest: R, highest: R) -> R {
    let raised = if value > lowest { value } else { lowest };
    if raised < highest { raised } else { highest }
}
