//! Twins of the shaders that keep what is bounded within its limits: `active_set`, `project_point`, `moved`, `clip`,
//! `clipped`, `clipped_model`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::reduce::{Lanes, MAX_GROUP, group_max, group_sum, larger, run_elements, runs, strided_sum};
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::*;

/// What is at a limit and pushed outwards, or has equal limits, is not free.
pub fn active_set<R: Real>(work: &Workgroups, args: kernels::bounds::ActiveSet, bindings: kernels::bounds::ActiveSetSlices<R>) {
    let [arena, vector] = [args.arena, args.vector].map(|word| word as usize);
    let (point, lower, upper) = (bindings.point, bindings.lower, bindings.upper);
    let (gradient, mut free) = (bindings.gradient, Pieces::new(bindings.free));
    let tasks = threads::cut(work.items()).map(|items| (free.take(vector + items.start..vector + items.end), items));
    threads::each(tasks.collect(), work.items().len(), |(free, items)| {
        for (free, i) in free.iter_mut().zip(items) {
            let (x, v) = (point[arena + i], vector + i);
            let below = x <= lower[v] && gradient[v] > R::ZERO;
            let above = x >= upper[v] && gradient[v] < R::ZERO;
            if below || above || lower[v] == upper[v] {
                *free = R::ZERO;
            }
        }
    });
}

fn clamp<R: Real>(value: R, lower: R, upper: R) -> R {
    let raised = if value < lower { lower } else { value };
    if raised > upper { upper } else { raised }
}

/// The nearest point within the limits, but for what is fixed; partial sums of how many components were moved.
pub fn project_point<R: Real>(work: &Workgroups, args: kernels::bounds::ProjectPoint, bindings: kernels::bounds::ProjectPointSlices<R>) {
    let [arena, vector, partial, elements] = [args.arena, args.vector, args.partial, args.elements].map(|word| word as usize);
    let (lower, upper, pins) = (bindings.lower, bindings.upper, bindings.pins);
    let (mut point, partials) = (Pieces::new(bindings.point), bindings.partials);
    let group_size = work.group_size as usize;
    let tasks = runs(work, elements).map(|run| (point.take(arena + run.start..arena + run.end), run));
    let sums = threads::map(tasks.collect(), run_elements(work, elements), |(point, run)| {
        let mut moved: Lanes<R> = [R::ZERO; MAX_GROUP];
        for (place, i) in run.enumerate() {
            let (x, v) = (point[place], vector + i);
            let inside = clamp(x, lower[v], upper[v]);
            if inside != x && pins[v] != R::ZERO {
                point[place] = inside;
                moved[place % group_size] += R::ONE;
            }
        }
        group_sum(&moved, group_size)
    });
    partials[partial + work.groups.start as usize..][..sums.len()].copy_from_slice(&sums);
}

/// How many components were moved into their limits.
pub fn moved<R: Real>(work: &Workgroups, args: kernels::bounds::Moved, bindings: kernels::bounds::MovedSlices<R>) {
    let (state, partials) = (bindings.state, bindings.partials);
    state[MOVED as usize] += strided_sum(work, args.partial_count, |i| partials[i]);
}

/// s = P(x + s) − x, its trial point, and p = s; partial sums of gᵀs and sᵀs and maxima of |P(x − g) − x|.
pub fn clip<R: Real>(work: &Workgroups, args: kernels::bounds::Clip, bindings: kernels::bounds::ClipSlices<R>) {
    let [distance, arena, vector, partial, elements, limited] =
        [args.distance, args.arena, args.vector, args.partial, args.elements, args.limited].map(|word| word as usize);
    let (point, lower, upper) = (bindings.point, bindings.lower, bindings.upper);
    let (gradient, partials) = (bindings.gradient, bindings.partials);
    let (mut step, mut p) = (Pieces::new(bindings.step), Pieces::new(bindings.p));
    let mut trial = Pieces::new(bindings.trial);
    let group_size = work.group_size as usize;
    let tasks = runs(work, elements).map(|run| {
        let vectors = vector + run.start..vector + run.end;
        // Without limits the trial point is not touched; on a manifold it is of another length.
        let trial = if limited == 0 { &mut [][..] } else { trial.take(arena + run.start..arena + run.end) };
        (step.take(vectors.clone()), p.take(vectors), trial, run)
    });
    let sums = threads::map(tasks.collect(), run_elements(work, elements), |(step, p, trial, run)| {
        let [mut slope, mut square, mut largest]: [Lanes<R>; 3] = [[R::ZERO; MAX_GROUP]; 3];
        for (place, i) in run.enumerate() {
            let (v, lane) = (vector + i, place % group_size);
            let (g, mut s) = (gradient[v], step[place]);
            let mut projected = g;
            if limited != 0 {
                let x = point[arena + i];
                let inside = clamp(x + s, lower[v], upper[v]);
                // What is fixed stays where it is, inside or not, and what is not finite is seen.
                if s != R::ZERO && inside != x + s && (x + s).is_finite() {
                    s = inside - x;
                    step[place] = s;
                    trial[place] = inside;
                }
                if g != R::ZERO {
                    projected = clamp(x - g, lower[v], upper[v]) - x;
                }
            }
            p[place] = s;
            slope[lane] += g * s;
            square[lane] += s * s;
            largest[lane] = larger(largest[lane], projected.abs());
        }
        [group_sum(&slope, group_size), group_sum(&square, group_size), group_max(&largest, group_size)]
    });
    for (group, sums) in (work.groups.start as usize..).zip(sums) {
        (0..).zip(sums).for_each(|(kind, sum): (usize, R)| partials[kind * distance + partial + group] = sum);
    }
}

/// gᵀs, ‖s‖ and the largest component of the projected gradient; the product may begin.
pub fn clipped<R: Real>(work: &Workgroups, args: kernels::bounds::Clipped, bindings: kernels::bounds::ClippedSlices<R>) {
    let (count, distance) = (args.partial_count, args.distance);
    let (state, partials) = (bindings.state, bindings.partials);
    let [slope, square] = [0, 1].map(|kind| strided_sum(work, count, |i| partials[kind * distance as usize + i]));
    let largest = partials[2 * distance as usize..][..count as usize].iter().fold(R::ZERO, |top, &value| larger(top, value));
    state[MODEL as usize] = slope;
    state[STEP_NORM as usize] = square.sqrt();
    // A gradient that is not finite is still seen.
    if state[GRADIENT_MAX as usize].is_finite() {
        state[GRADIENT_MAX as usize] = largest;
    }
    state[SOLVED as usize] = R::ZERO;
}

/// −gᵀs − ½ sᵀ(JᵀWJ)s.
pub fn clipped_model<R: Real>(work: &Workgroups, args: kernels::bounds::ClippedModel, bindings: kernels::bounds::ClippedModelSlices<R>) {
    let (state, partials) = (bindings.state, bindings.partials);
    let curvature = strided_sum(work, args.partial_count, |i| partials[i]);
    state[MODEL as usize] = -state[MODEL as usize] - R::from_f64(0.5) * curvature;
}
