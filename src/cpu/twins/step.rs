//! Twins of `shaders/step/`: the trial point, its cost, and whether it is taken.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::reduce::{
    Exact, Lanes, MAX_GROUP, clamp, group_sum, group_sum_exact, larger, run_elements, runs, strided_sum, strided_sum_exact,
};
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::*;

/// x′ = x + s, and partial sums of gᵀs, sᵀDs, sᵀr, sᵀs and xᵀx.
pub fn trial<R: Real>(work: &Workgroups, args: kernels::step::Trial, bindings: kernels::step::TrialSlices<R>) {
    let [distance, arena, vector, partial, elements] =
        [args.distance, args.arena, args.vector, args.partial, args.elements].map(|word| word as usize);
    let (point, scale, gradient) = (bindings.point, bindings.scale, bindings.gradient);
    let (step, mut trial) = (bindings.step, Pieces::new(bindings.trial));
    let (residual, partials) = (bindings.residual, bindings.partials);
    let group_size = work.group_size as usize;
    let tasks = runs(work, elements).map(|run| (trial.take(arena + run.start..arena + run.end), run));
    let sums = threads::map(tasks.collect(), run_elements(work, elements), |(trial, run)| {
        let (mut sums, lanes): ([Lanes<R>; 5], _) = ([[R::ZERO; MAX_GROUP]; 5], work.lanes_of(run.len()));
        for (place, i) in run.enumerate() {
            let (s, x, v) = (step[vector + i], point[arena + i], vector + i);
            // What does not move keeps its bits: −0 + 0 would be 0.
            trial[place] = if s == R::ZERO { x } else { x + s };
            let kinds = [gradient[v] * s, s * scale[v] * s, s * residual[v], s * s, x * x];
            sums.iter_mut().zip(kinds).for_each(|(sum, value)| sum[place % group_size] += value);
        }
        sums.map(|sum| group_sum(&sum, lanes))
    });
    for (group, sums) in (work.groups.start as usize..).zip(sums) {
        (0..).zip(sums).for_each(|(kind, sum): (usize, R)| partials[kind * distance + partial + group] = sum);
    }
}

/// x′ from the columns of a retraction, and partial sums of gᵀs, sᵀDs, sᵀr, sᵀs and xᵀx.
pub fn trial_manifold<R: Real>(work: &Workgroups, args: kernels::step::TrialManifold, bindings: kernels::step::TrialManifoldSlices<R>) {
    let [distance, arena, vector, partial, unknowns, elements, width, count] =
        [args.distance, args.arena, args.vector, args.partial, args.unknowns, args.elements, args.width, args.instances]
            .map(|word| word as usize);
    let (point, scale, gradient) = (bindings.point, bindings.scale, bindings.gradient);
    let (step, mut trial) = (bindings.step, Pieces::new(bindings.trial));
    let (residual, columns, partials) = (bindings.residual, bindings.columns, bindings.partials);
    let group_size = work.group_size as usize;
    let tasks = runs(work, elements).map(|run| (trial.take(arena + run.start..arena + run.end), run));
    let sums = threads::map(tasks.collect(), run_elements(work, elements), |(trial, run)| {
        let (mut sums, lanes): ([Lanes<R>; 5], _) = ([[R::ZERO; MAX_GROUP]; 5], work.lanes_of(run.len()));
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
        sums.map(|sum| group_sum(&sum, lanes))
    });
    for (group, sums) in (work.groups.start as usize..).zip(sums) {
        (0..).zip(sums).for_each(|(kind, sum): (usize, R)| partials[kind * distance + partial + group] = sum);
    }
}

/// What the quadratic model promises for the step.
pub fn model<R: Real>(work: &Workgroups, args: kernels::step::Model, bindings: kernels::step::ModelSlices<R>) {
    let (count, distance) = (args.partial_count, args.distance);
    let (state, partials) = (bindings.state, bindings.partials);
    let [slope, damped, unsolved, step, point] =
        [0, 1, 2, 3, 4].map(|kind| strided_sum(work, count, |i| partials[kind * distance as usize + i]));
    state[MODEL as usize] = R::from_f64(0.5) * (state[DAMPING as usize] * damped + unsolved - slope);
    state[STEP_NORM as usize] = step.sqrt();
    state[POINT_NORM as usize] = point.sqrt();
}

/// Partial sums of a column, with what rounding took from each.
pub fn sum<R: Real>(work: &Workgroups, args: kernels::step::Sum, bindings: kernels::step::SumSlices<R>) {
    let [first, distance, elements] = [args.partial, args.distance, args.elements].map(|word| word as usize);
    let (column, partials) = (bindings.column, bindings.partials);
    let group_size = work.group_size as usize;
    let sums = threads::map(runs(work, elements).collect(), run_elements(work, elements), |run| {
        let (mut lanes, reached) = ([Exact::default(); MAX_GROUP], work.lanes_of(run.len()));
        for round in column[run].chunks(group_size) {
            for (lane, value) in lanes.iter_mut().zip(round) {
                *lane = lane.add(Exact { high: *value, low: R::ZERO });
            }
        }
        group_sum_exact(&lanes, reached)
    });
    for (group, sum) in (work.groups.start as usize..).zip(sums) {
        partials[first + group] = sum.high;
        partials[distance + first + group] = sum.low;
    }
}

/// The sum of so many partials, whose low parts are so far behind them.
pub fn total<R: Real>(work: &Workgroups, count: u32, distance: u32, partials: &[R]) -> R {
    let part = |i: usize| Exact { high: partials[i], low: partials[distance as usize + i] };
    let sum = strided_sum_exact(work, count, part);
    sum.high + sum.low
}

/// A cost from its partial sums.
pub fn cost<R: Real>(work: &Workgroups, args: kernels::step::Cost, bindings: kernels::step::CostSlices<R>) {
    bindings.state[args.element as usize] = total(work, args.partial_count, args.distance, bindings.partials);
}

/// Whether the trial point is taken, and the next step's forcing term.
pub fn accept<R: Real>(work: &Workgroups, args: kernels::step::Accept, bindings: kernels::step::AcceptSlices<R>) {
    let (state, change) = (bindings.state, total(work, args.partial_count, args.distance, bindings.partials));
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

/// A table's values where the state says so.
pub fn commit<R: Real>(work: &Workgroups, args: kernels::step::Commit, bindings: kernels::step::CommitSlices<R>) {
    let [arena, flag] = [args.arena, args.condition].map(|word| word as usize);
    if bindings.state[flag] != R::ZERO {
        let items = work.items();
        let (from, mut to) = (bindings.from_arena, Pieces::new(bindings.to_arena));
        let tasks = threads::cut(arena + items.start..arena + items.end).map(|range| (to.take(range.clone()), &from[range]));
        threads::each(tasks.collect(), items.len(), |(to, from)| to.copy_from_slice(from));
    }
}

/// A linear combination of tables.
pub fn linear_combination<R: Real>(
    work: &Workgroups,
    args: kernels::step::LinearCombination,
    bindings: kernels::step::LinearCombinationSlices<R>,
) {
    let (arena, sources) = (args.arena as usize, args.sources as usize);
    let (factors, places, values) = (&bindings.factors[..sources], &bindings.places[..sources], bindings.values);
    for i in work.items() {
        let first = factors[0] * values[places[0] as usize + i];
        let others = factors.iter().zip(places).skip(1);
        values[arena + i] = others.fold(first, |sum, (factor, place)| sum + *factor * values[*place as usize + i]);
    }
}

/// How far a step goes: partial sums of sᵀDs and xᵀDx.
pub fn step_norms<R: Real>(work: &Workgroups, args: kernels::step::StepNorms, bindings: kernels::step::StepNormsSlices<R>) {
    let [distance, arena, vector, partial, elements] =
        [args.distance, args.arena, args.vector, args.partial, args.elements].map(|word| word as usize);
    let (point, scale, step) = (bindings.point, bindings.scale, bindings.step);
    let partials = bindings.partials;
    let group_size = work.group_size as usize;
    let sums = threads::map(runs(work, elements).collect(), run_elements(work, elements), |run| {
        let (mut sums, lanes): ([Lanes<R>; 2], _) = ([[R::ZERO; MAX_GROUP]; 2], work.lanes_of(run.len()));
        for (place, i) in run.enumerate() {
            let (d, s, x) = (scale[vector + i], step[vector + i], point[arena + i]);
            sums.iter_mut().zip([s * d * s, x * d * x]).for_each(|(sum, value)| sum[place % group_size] += value);
        }
        sums.map(|sum| group_sum(&sum, lanes))
    });
    for (group, sums) in (work.groups.start as usize..).zip(sums) {
        (0..).zip(sums).for_each(|(kind, sum): (usize, R)| partials[kind * distance + partial + group] = sum);
    }
}

/// Whether a first step goes farther than the values that it starts from say anything about.
pub fn step_too_far<R: Real>(work: &Workgroups, args: kernels::step::StepTooFar, bindings: kernels::step::StepTooFarSlices<R>) {
    let (count, distance) = (args.partial_count, args.distance);
    let (state, partials) = (bindings.state, bindings.partials);
    let [step, point] = [0, 1].map(|kind| strided_sum(work, count, |i| partials[kind * distance as usize + i]));
    let too_far = point > R::ZERO && step > R::from_f64(100.0) * point;
    state[TOO_FAR as usize] = if too_far { R::ONE } else { R::ZERO };
}
