//! Twins of what a line search knows of a trial point: `scale_step`, `changed`, `slopes`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::reduce::*;
use crate::twins::step::total;
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::*;

/// s = αd.
pub fn scale_step<R: Real>(work: &Workgroups, _: kernels::line_search::ScaleStep, bindings: kernels::line_search::ScaleStepSlices<R>) {
    let (direction, items) = (bindings.direction, work.items());
    let (length, mut step) = (bindings.state[LENGTH as usize], Pieces::new(bindings.step));
    let tasks = threads::cut(items.clone()).map(|range| (step.take(range.clone()), &direction[range]));
    threads::each(tasks.collect(), items.len(), |(step, direction)| {
        // A direction that is not used may hold anything.
        if length == R::ZERO {
            step.fill(R::ZERO);
        } else {
            step.iter_mut().zip(direction).for_each(|(s, d)| *s = length * *d);
        }
    });
}

/// How much higher the trial point lies than the accepted one.
pub fn changed<R: Real>(work: &Workgroups, args: kernels::line_search::Changed, bindings: kernels::line_search::ChangedSlices<R>) {
    let (state, since) = (bindings.state, total(work, args.partial_count, args.distance, bindings.partials));
    let sets_out = state[SETTING_OUT as usize] != R::ZERO;
    let change = if sets_out { R::ZERO } else { state[CHANGE_KNOWN as usize] + since };
    let takes_all = args.unconditional != 0;
    let far = !takes_all && change > R::from_f64(10.0) * state[COST as usize].abs() && !sets_out;
    let keeps = !change.is_finite() || far;
    if !keeps {
        state[CHANGE_KNOWN as usize] = change;
    }
    state[CHANGE as usize] = change;
    state[LINEARIZED as usize] = if keeps { R::ONE } else { R::ZERO };
    state[ANCHORED as usize] = if keeps { R::ZERO } else { R::ONE };
    state[TURNING as usize] = R::ZERO;
}

/// Partial sums of dᵀg′, gᵀs, g′ᵀs and sᵀs, and maxima of |g′ᵢ|.
pub fn slopes<R: Real>(work: &Workgroups, args: kernels::line_search::Slopes, bindings: kernels::line_search::SlopesSlices<R>) {
    let [distance, elements, masked, bounded] = [args.distance, args.elements, args.masked, args.limited].map(|word| word as usize);
    let (gradient, direction, free) = (bindings.gradient, bindings.direction, bindings.free);
    let (trial_gradient, step, length) = (bindings.trial_gradient, bindings.step, bindings.state[LENGTH as usize]);
    let (partials, group_size) = (bindings.partials, work.group_size as usize);
    let sums = threads::map(runs(work, elements).collect(), run_elements(work, elements), |run| {
        let [mut ahead, mut before, mut after, mut squared, mut largest]: [Lanes<R>; 5] = [[R::ZERO; MAX_GROUP]; 5];
        for (place, i) in run.enumerate() {
            let (s, g, lane) = (step[i], trial_gradient[i], place % group_size);
            // What does not move may hold anything.
            if s != R::ZERO {
                if bounded == 0 || s == length * direction[i] {
                    ahead[lane] += direction[i] * g;
                }
                before[lane] += gradient[i] * s;
                after[lane] += g * s;
                squared[lane] += s * s;
            }
            if masked == 0 || free[i] != R::ZERO {
                largest[lane] = larger(largest[lane], g.abs());
                if !g.is_finite() {
                    ahead[lane] = R::from_f64(f64::NAN);
                }
            }
        }
        let sum = |lanes: &Lanes<R>| group_sum(lanes, group_size);
        [sum(&ahead), sum(&before), sum(&after), sum(&squared), group_max(&largest, group_size)]
    });
    for (group, sums) in (work.groups.start as usize..).zip(sums) {
        (0..).zip(sums).for_each(|(kind, sum): (usize, R)| partials[kind * distance + group] = sum);
    }
}
