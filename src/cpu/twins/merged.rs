//! Twins of the shaders `merged/*`: conjugate gradients whose products are gathered along one list of all batches.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::pcg::{block_jacobi::row_start, precondition};
use crate::twins::reduce::{Lanes, MAX_GROUP, group_max, group_sum, larger, run_elements, runs, strided_sum};
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::*;
use leastwise_program::NEGATIVE;
use std::ops::Range;

/// λD, and −1 where something is fixed.
pub fn diagonal<R: Real>(work: &Workgroups, args: kernels::merged::Diagonal, bindings: kernels::merged::DiagonalSlices<R>) {
    let (scale, free, lambda) = (bindings.scale, bindings.free, bindings.state[DAMPING as usize]);
    for i in work.items() {
        let is_fixed = args.masked != 0 && free[i] == R::ZERO;
        bindings.diagonal[i] = if is_fixed { -R::ONE } else { lambda * scale[i] };
    }
}

/// A table of a list (`shaders/merged/shared/tables.wgsl`).
#[derive(Clone, Copy)]
struct Table {
    vector: usize,
    width: usize,
    block: usize,
    first: usize,
    map: usize,
    variables: usize,
}

fn tables(list: &[u32], count: u32) -> Vec<Table> {
    let of = |words: &[u32]| {
        let [vector, width, block, first, map, variables] = std::array::from_fn(|k| words[k] as usize);
        Table { vector, width, block, first, map, variables }
    };
    list[..6 * count as usize].chunks_exact(6).map(of).collect()
}

/// The variables `run` by tables: each with a range of its own variables.
fn parts(tables: &[Table], run: Range<usize>) -> impl Iterator<Item = (Table, Range<usize>)> {
    let part = move |table: &Table| {
        let range = run.start.max(table.first)..run.end.min(table.first + table.variables);
        (range.start < range.end).then(|| (*table, range.start - table.first..range.end - table.first))
    };
    tables.iter().filter_map(part)
}

/// s = 0, r = −g, z = M⁻¹r; partial sums of rᵀz and maxima of |g|.
pub fn start<R: Real>(work: &Workgroups, args: kernels::merged::Start, bindings: kernels::merged::StartSlices<R>) {
    let (tables, variables) = (tables(bindings.incidence, args.tables), args.variables as usize);
    let (mut residual, mut step, mut z) = (Pieces::new(bindings.residual), Pieces::new(bindings.step), Pieces::new(bindings.z));
    let (gradient, inverse, partials, group_size) = (bindings.gradient, bindings.inverse, bindings.partials, work.group_size as usize);
    let tasks = runs(work, variables).map(|run| {
        let of_table = |(table, part): (Table, Range<usize>)| {
            let range = table.vector + part.start * table.width..table.vector + part.end * table.width;
            let packed = row_start(table.width);
            let inverse = &inverse[table.block + part.start * packed..table.block + part.end * packed];
            (table.width, residual.take(range.clone()), step.take(range.clone()), z.take(range.clone()), &gradient[range], inverse)
        };
        parts(&tables, run).map(of_table).collect::<Vec<_>>()
    });
    let widest = tables.iter().map(|table| row_start(table.width)).max().unwrap_or(1);
    let sums = threads::map(tasks.collect(), run_elements(work, variables) * widest, |parts| {
        let (mut rz, mut largest): (Lanes<R>, Lanes<R>) = ([R::ZERO; MAX_GROUP], [R::ZERO; MAX_GROUP]);
        let mut before = 0;
        for (width, residual, step, z, gradient, inverse) in parts {
            step.fill(R::ZERO);
            residual.iter_mut().zip(gradient).for_each(|(r, g)| *r = -*g);
            for (i, g) in (before..).zip(gradient.chunks_exact(width)) {
                let lane = &mut largest[i % group_size];
                *lane = g.iter().fold(*lane, |largest, g| larger(largest, g.abs()));
            }
            precondition(inverse, residual, z, width, before, &mut rz[..group_size]);
            before += z.len() / width;
        }
        (group_sum(&rz, group_size), group_max(&largest, group_size))
    });
    for (group, (rz, largest)) in (work.groups.start as usize..).zip(sums) {
        partials[group] = rz;
        partials[args.distance as usize + group] = largest;
    }
}

/// β, p = z + βp and q = (JᵀWJ + λD)z + βq; partial sums of pᵀq.
pub fn accumulate<R: Real>(work: &Workgroups, args: kernels::merged::Accumulate, bindings: kernels::merged::AccumulateSlices<R>) {
    let (state, partials, list) = (bindings.state, bindings.partials, bindings.incidence);
    let control = args.control as usize;
    let rz = strided_sum(work, args.partial_count, |i| partials[i]);
    let before = partials[control + 1];
    let is_first = before == R::ZERO;
    let forcing = state[FORCING as usize];
    let is_solved = !is_first && rz <= forcing * forcing * state[RZ_START as usize];
    let goes_on = rz.is_finite() && rz > R::ZERO && !is_solved && partials[control + 2] == R::ZERO;
    if work.groups.contains(&0) {
        partials[control] = if goes_on { rz } else { R::ZERO };
        if goes_on {
            state[RZ as usize] = rz;
            state[INNER as usize] += R::ONE;
        } else {
            state[SOLVED as usize] = R::ONE;
        }
    }
    if !goes_on {
        return;
    }
    let beta = if is_first { R::ZERO } else { rz / before };
    let (tables, elements, group_size) = (tables(list, args.tables), args.elements as usize, work.group_size as usize);
    let (mut p, mut q) = (Pieces::new(bindings.p), Pieces::new(bindings.q));
    let (vectors, z) = (bindings.vectors, bindings.z);
    let sums = Sums { args, tables, list, columns: bindings.columns, vectors };
    let tasks = runs(work, elements).map(|run| (p.take(run.clone()), q.take(run.clone()), run));
    let found = threads::map(tasks.collect(), run_elements(work, elements), |(p, q, run)| {
        let mut lanes: Lanes<R> = [R::ZERO; MAX_GROUP];
        for (place, ((p, q), i)) in p.iter_mut().zip(q).zip(run).enumerate() {
            let (diagonal, mut direction) = (vectors[i], z[i]);
            let mut product = diagonal * direction + sums.of(i);
            // The first direction does not look at p and q: they may hold anything.
            if !is_first {
                product += beta * *q;
                direction += beta * *p;
            }
            if diagonal < R::ZERO {
                product = R::ZERO;
            }
            (*p, *q) = (direction, product);
            lanes[place % group_size] += direction * product;
        }
        group_sum(&lanes, group_size)
    });
    partials[args.curvature as usize + work.groups.start as usize..][..found.len()].copy_from_slice(&found);
}

/// Contributions of vectors and instances to unknowns.
struct Sums<'a, R> {
    args: kernels::merged::Accumulate,
    tables: Vec<Table>,
    list: &'a [u32],
    columns: &'a [R],
    vectors: &'a [R],
}

impl<R: Real> Sums<'_, R> {
    /// The sum for an element, in the order of the list; 0 between two tables.
    fn of(&self, i: usize) -> R {
        let table = self.tables.iter().rfind(|table| table.vector <= i).expect("the first table begins at 0");
        let variable = (i - table.vector) / table.width;
        if variable >= table.variables {
            return R::ZERO;
        }
        let map = &self.list[table.map + (i - table.vector) % table.width..];
        let row = self.args.starts as usize + table.first + variable;
        let entries = &self.list[self.args.entries as usize..][self.list[row] as usize..self.list[row + 1] as usize];
        let bits = self.args.kind_bits;
        let own = (1..=self.args.vectors as usize).map(|k| self.vectors[k * self.args.length as usize + i]);
        let mut sum = own.fold(R::ZERO, |sum, own| sum + own);
        for entry in entries {
            let code = map[(entry & ((1 << bits) - 1)) as usize * table.width];
            if code != 0 {
                let value = self.columns[(code & !NEGATIVE) as usize - 1 + (entry >> bits) as usize];
                sum += if code & NEGATIVE == 0 { value } else { -value };
            }
        }
        sum
    }
}

/// α = rᵀz / pᵀq, s += αp, r −= αq, z = M⁻¹r; partial sums of rᵀz.
pub fn update<R: Real>(work: &Workgroups, args: kernels::merged::Update, bindings: kernels::merged::UpdateSlices<R>) {
    let (partials, control) = (bindings.partials, args.control as usize);
    let before = partials[control];
    if before <= R::ZERO {
        return;
    }
    let curvature = strided_sum(work, args.curvature_count, |i| partials[args.curvature as usize + i]);
    let is_curved = curvature.is_finite() && curvature > R::ZERO;
    if work.groups.contains(&0) {
        partials[control + 1] = before;
        partials[control + 2] = if is_curved { R::ZERO } else { R::ONE };
    }
    let written = &mut partials[work.groups.start as usize..][..work.groups.len()];
    if !is_curved {
        written.fill(R::ZERO);
        return;
    }
    let (tables, variables) = (tables(bindings.incidence, args.tables), args.variables as usize);
    let (alpha, group_size) = (before / curvature, work.group_size as usize);
    let (mut z, mut step, mut residual) = (Pieces::new(bindings.z), Pieces::new(bindings.step), Pieces::new(bindings.residual));
    let (p, q, inverse) = (bindings.p, bindings.q, bindings.inverse);
    let tasks = runs(work, variables).map(|run| {
        let of_table = |(table, part): (Table, Range<usize>)| {
            let range = table.vector + part.start * table.width..table.vector + part.end * table.width;
            let packed = row_start(table.width);
            let inverse = &inverse[table.block + part.start * packed..table.block + part.end * packed];
            let written = (step.take(range.clone()), residual.take(range.clone()), z.take(range.clone()));
            (table.width, written, &p[range.clone()], &q[range], inverse)
        };
        parts(&tables, run).map(of_table).collect::<Vec<_>>()
    });
    let widest = tables.iter().map(|table| row_start(table.width)).max().unwrap_or(1);
    let sums = threads::map(tasks.collect(), run_elements(work, variables) * widest, |parts| {
        let mut rz: Lanes<R> = [R::ZERO; MAX_GROUP];
        let mut before = 0;
        for (width, (step, residual, z), p, q, inverse) in parts {
            step.iter_mut().zip(p).for_each(|(s, p)| *s += alpha * *p);
            residual.iter_mut().zip(q).for_each(|(r, q)| *r -= alpha * *q);
            precondition(inverse, residual, z, width, before, &mut rz[..group_size]);
            before += z.len() / width;
        }
        group_sum(&rz, group_size)
    });
    written.copy_from_slice(&sums);
}
