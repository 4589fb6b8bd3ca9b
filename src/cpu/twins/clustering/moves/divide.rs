//! Twins of what looks into clusters: `divide`, `relabel`, `totals`.

use crate::Workgroups;
use crate::real::Real;
use crate::twins::clustering::squared_distance;
use crate::twins::reduce::{Lanes, MAX_GROUP, group_sum};
use leastwise_kernels as kernels;

/// Which of its cluster's two candidates a point is nearer to.
pub fn divide<R: Real>(work: &Workgroups, args: kernels::clustering::moves::Divide, bindings: kernels::clustering::moves::DivideSlices<R>) {
    let [dimensions, first_point, labels, sides] = [args.dimensions, args.first_point, args.labels, args.sides].map(|word| word as usize);
    let (points, candidates) = (bindings.points, bindings.anchors);
    let (table, nearest) = (bindings.table, bindings.nearest);
    for i in work.items() {
        let number = first_point + i;
        let first = 2 * table[labels + number] as usize;
        let x = &points[i * dimensions..][..dimensions];
        let [a, b] = [first, first + 1].map(|row| squared_distance(x, &candidates[row * dimensions..][..dimensions]));
        table[sides + number] = (first + usize::from(a >= b)) as u32;
        nearest[number] = if a < b { a } else { b };
    }
}

/// Labels by way of a map, and how many differ from those before.
pub fn relabel<R: Real>(
    work: &Workgroups,
    args: kernels::clustering::moves::Relabel,
    bindings: kernels::clustering::moves::RelabelSlices<R>,
) {
    let [from, map, to, before, partial] = [args.source, args.map, args.labels, args.before, args.partial].map(|word| word as usize);
    let (table, partials) = (bindings.table, bindings.partials);
    for group in work.groups.clone() {
        let mut lanes: Lanes<R> = [R::ZERO; MAX_GROUP];
        for (lane, changed) in lanes[..work.group_size as usize].iter_mut().enumerate() {
            let i = group as usize * work.group_size as usize + lane;
            if i < work.params.count as usize {
                let label = table[map + table[from + i] as usize];
                table[to + i] = label;
                *changed = if label == table[before + i] { R::ZERO } else { R::ONE };
            }
        }
        partials[partial + group as usize] = group_sum(&lanes, work.group_size as usize);
    }
}

/// Two candidates for every cluster, where two of its members are.
pub fn seed<R: Real>(work: &Workgroups, args: kernels::clustering::moves::Seed, bindings: kernels::clustering::moves::SeedSlices<R>) {
    let [dimensions, first_point, count, members, begins, u, v] =
        [args.dimensions, args.first_point, args.points, args.members, args.beginnings, args.u, args.v].map(|word| word as usize);
    let (points, table, candidates) = (bindings.points, bindings.table, bindings.candidates);
    for i in work.items() {
        let candidate = i / dimensions;
        let (begin, end) = (table[begins + candidate / 2] as usize, table[begins + candidate / 2 + 1] as usize);
        let Some(last) = (end - begin).checked_sub(1) else { continue };
        let part = if candidate % 2 == 1 { v } else { u } as u64;
        let place = begin + (last as u64 * part / 65535) as usize;
        if let Some(point) = (table[members + place] as usize).checked_sub(first_point).filter(|point| *point < count) {
            candidates[i] = points[point * dimensions + i % dimensions];
        }
    }
}
