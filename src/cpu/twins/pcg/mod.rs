//! Twins of the shaders `pcg_*`: preconditioned conjugate gradients (Hestenes & Stiefel; Saad, section 9.2).

pub mod block_jacobi;

pub use block_jacobi::block_jacobi;

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::pcg::block_jacobi::{row_start, symmetric_product};
use crate::twins::reduce::{Lanes, MAX_GROUP, group_max, group_sum, larger, run_elements, runs, strided_sum};
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::*;

/// s = 0, r = −g, z = M⁻¹r; partial sums of rᵀz and maxima of |g|.
pub fn start<R: Real>(work: &Workgroups, args: kernels::pcg::Start, bindings: kernels::pcg::StartSlices<R>) {
    let [vector, width, block, partial, distance, variables] =
        [args.vector, args.width, args.block, args.partial, args.distance, args.variables].map(|word| word as usize);
    let (mut residual, mut step) = (Pieces::new(bindings.residual), Pieces::new(bindings.step));
    let (gradient, mut z) = (bindings.gradient, Pieces::new(bindings.z));
    let (inverse, partials) = (bindings.inverse, bindings.partials);
    let (group_size, packed) = (work.group_size as usize, row_start(width));
    let tasks = runs(work, variables).map(|run| {
        let range = vector + run.start * width..vector + run.end * width;
        let inverse = &inverse[block + run.start * packed..block + run.end * packed];
        (residual.take(range.clone()), step.take(range.clone()), z.take(range.clone()), &gradient[range], inverse)
    });
    let sums = threads::map(tasks.collect(), run_elements(work, variables) * row_start(width), |(residual, step, z, gradient, inverse)| {
        step.fill(R::ZERO);
        residual.iter_mut().zip(gradient).for_each(|(r, g)| *r = -*g);
        let mut largest: Lanes<R> = [R::ZERO; MAX_GROUP];
        for (i, g) in gradient.chunks_exact(width).enumerate() {
            let lane = &mut largest[i % group_size];
            *lane = g.iter().fold(*lane, |largest, g| larger(largest, g.abs()));
        }
        let mut rz: Lanes<R> = [R::ZERO; MAX_GROUP];
        precondition(inverse, residual, z, width, 0, &mut rz[..group_size]);
        (group_sum(&rz, group_size), group_max(&largest, group_size))
    });
    for (group, (rz, largest)) in (work.groups.start as usize..).zip(sums) {
        partials[partial + group] = rz;
        partials[distance + partial + group] = largest;
    }
}

/// z = M⁻¹r for variables of a workgroup's run, after `before` others of it; adds rᵀz to the lanes.
pub fn precondition<R: Real>(inverse: &[R], residual: &[R], z: &mut [R], width: usize, before: usize, lanes: &mut [R]) {
    let variables = inverse.chunks_exact(row_start(width)).zip(residual.chunks_exact(width)).zip(z.chunks_exact_mut(width));
    for (i, ((inverse, residual), z)) in (before..).zip(variables) {
        lanes[i % lanes.len()] += symmetric_product(inverse, residual, z);
    }
}

/// rᵀz and max |g| from their partials.
pub fn begin<R: Real>(work: &Workgroups, args: kernels::pcg::Begin, bindings: kernels::pcg::BeginSlices<R>) {
    let (count, distance) = (args.partial_count, args.distance);
    let (state, partials) = (bindings.state, bindings.partials);
    let rz = strided_sum(work, count, |i| partials[i]);
    let largest = &partials[distance as usize..(distance + count) as usize];
    state[RZ as usize] = rz;
    state[RZ_START as usize] = rz;
    // The maximum may drop a NaN; the sum never does, and the host must see it.
    let top = largest.iter().fold(R::ZERO, |top, &value| larger(top, value));
    state[GRADIENT_MAX as usize] = if rz.is_finite() { top } else { rz };
    state[BETA as usize] = R::ZERO;
    state[INNER as usize] = R::ZERO;
    state[HURRIED as usize] = R::ZERO;
    state[SOLVED as usize] = if rz.is_finite() && rz > R::ZERO { R::ZERO } else { R::ONE };
}

/// p = z + βp and q = λDp.
pub fn direction<R: Real>(work: &Workgroups, _: kernels::pcg::Direction, bindings: kernels::pcg::DirectionSlices<R>) {
    let state = bindings.state;
    if state[SOLVED as usize] != R::ZERO {
        return;
    }
    let (scale, z) = (bindings.scale, bindings.z);
    let (mut p, mut q) = (Pieces::new(bindings.p), Pieces::new(bindings.q));
    let (beta, damping) = (state[BETA as usize], state[DAMPING as usize]);
    let tasks = threads::cut(work.items()).map(|items| (p.take(items.clone()), q.take(items.clone()), &z[items.clone()], &scale[items]));
    threads::each(tasks.collect(), work.items().len(), |(p, q, z, scale)| {
        // The first direction does not look at p: it may hold anything.
        if beta == R::ZERO {
            p.copy_from_slice(z);
        } else {
            p.iter_mut().zip(z).for_each(|(p, z)| *p = *z + beta * *p);
        }
        for ((q, p), scale) in q.iter_mut().zip(p).zip(scale) {
            *q = damping * *scale * *p;
        }
    });
}

/// Partial sums of pᵀq.
pub fn curvature<R: Real>(work: &Workgroups, args: kernels::pcg::Curvature, bindings: kernels::pcg::CurvatureSlices<R>) {
    if bindings.state[SOLVED as usize] != R::ZERO {
        return;
    }
    let (p, q, partials) = (bindings.p, bindings.q, bindings.partials);
    let (elements, group_size) = (args.elements as usize, work.group_size as usize);
    let sums = threads::map(runs(work, elements).collect(), run_elements(work, elements), |run| {
        let mut lanes: Lanes<R> = [R::ZERO; MAX_GROUP];
        for (p, q) in p[run.clone()].chunks(group_size).zip(q[run].chunks(group_size)) {
            for ((lane, p), q) in lanes.iter_mut().zip(p).zip(q) {
                *lane += *p * *q;
            }
        }
        group_sum(&lanes, group_size)
    });
    let partial = args.partial as usize;
    partials[partial + work.groups.start as usize..][..sums.len()].copy_from_slice(&sums);
}

/// α = rᵀz / pᵀq, s += αp, r −= αq, z = M⁻¹r; partial sums of rᵀz. Over the variables of one table or of two.
pub fn update<R: Real>(work: &Workgroups, args: kernels::pcg::Update, bindings: kernels::pcg::UpdateSlices<R>) {
    let state = bindings.state;
    if state[SOLVED as usize] != R::ZERO {
        return;
    }
    let [partial, along] = [args.partial, args.curvature].map(|word| word as usize);
    let tables = [args.first, args.second].map(Table::of);
    let (mut z, p, q) = (Pieces::new(bindings.z), bindings.p, bindings.q);
    let (inverse, mut step) = (bindings.inverse, Pieces::new(bindings.step));
    let (mut residual, partials) = (Pieces::new(bindings.residual), bindings.partials);
    let curvature = strided_sum(work, args.curvature_count, |i| partials[along + i]);
    let (alpha, group_size) = (state[RZ as usize] / curvature, work.group_size as usize);
    let written = &mut partials[partial + work.groups.start as usize..][..work.groups.len()];
    if !(curvature.is_finite() && curvature > R::ZERO) {
        written.fill(R::ZERO);
        return;
    }
    let variables = tables[0].variables + tables[1].variables;
    let tasks = runs(work, variables).map(|run| {
        let first = tables[0].variables;
        let parts = [run.start.min(first)..run.end.min(first), run.start.max(first) - first..run.end.max(first) - first];
        let mut parts = tables.iter().zip(parts).filter(|(_, part)| !part.is_empty()).map(|(table, part)| {
            let range = table.vector + part.start * table.width..table.vector + part.end * table.width;
            let packed = row_start(table.width);
            let inverse = &inverse[table.block + part.start * packed..table.block + part.end * packed];
            let of_table = (step.take(range.clone()), residual.take(range.clone()), z.take(range.clone()));
            (table.width, of_table, &p[range.clone()], &q[range], inverse)
        });
        [parts.next(), parts.next()]
    });
    let widest = tables[0].width.max(tables[1].width);
    let sums = threads::map(tasks.collect(), run_elements(work, variables) * row_start(widest), |parts| {
        let mut rz: Lanes<R> = [R::ZERO; MAX_GROUP];
        let mut before = 0;
        for (width, (step, residual, z), p, q, inverse) in parts.into_iter().flatten() {
            step.iter_mut().zip(p).for_each(|(s, p)| *s += alpha * *p);
            residual.iter_mut().zip(q).for_each(|(r, q)| *r -= alpha * *q);
            precondition(inverse, residual, z, width, before, &mut rz[..group_size]);
            before += z.len() / width;
        }
        group_sum(&rz, group_size)
    });
    written.copy_from_slice(&sums);
}

/// Where a table's parts begin.
struct Table {
    vector: usize,
    width: usize,
    block: usize,
    variables: usize,
}

impl Table {
    fn of(table: kernels::pcg::Table) -> Self {
        let [vector, width, block, variables] = [table.vector, table.width, table.block, table.variables].map(|word| word as usize);
        Self { vector, width, block, variables }
    }
}

/// β = rᵀz / (rᵀz before), and whether the system is solved well enough.
pub fn beta<R: Real>(work: &Workgroups, args: kernels::pcg::Beta, bindings: kernels::pcg::BetaSlices<R>) {
    let (state, partials) = (bindings.state, bindings.partials);
    if state[SOLVED as usize] != R::ZERO {
        return;
    }
    let (count, along, alongs) = (args.partial_count, args.curvature, args.curvature_count);
    let rz = strided_sum(work, count, |i| partials[i]);
    let curvature = strided_sum(work, alongs, |i| partials[along as usize + i]);
    if !(curvature.is_finite() && curvature > R::ZERO) {
        state[SOLVED as usize] = R::ONE;
        return;
    }
    let before = state[RZ as usize];
    let forcing = state[FORCING as usize];
    let solved = rz <= forcing * forcing * state[RZ_START as usize] || state[HURRIED as usize] != R::ZERO;
    state[INNER as usize] += R::ONE;
    state[BETA as usize] = rz / before;
    state[RZ as usize] = rz;
    state[SOLVED as usize] = if rz.is_finite() && rz > R::ZERO && !solved { R::ZERO } else { R::ONE };
}
