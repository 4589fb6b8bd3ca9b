//! Twins of what looks into clusters: `divide`, `relabel`, `totals`.

use super::super::reduce::{Lanes, MAX_GROUP, group_sum};
use super::squared_distance;
use crate::real::Real;
use crate::{Bindings, Work};
use leastwise_recording::binding::{ARENA, DATA, PARTIALS, VECTOR_IN, VECTOR_OUT};

/// Which of its cluster's two candidates a point is nearer to.
pub fn divide<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [_, dimensions, first_point, _, labels, sides, ..] = work.params.words.map(|word| word as usize);
    let (points, candidates) = (bindings.read(ARENA), bindings.read(DATA));
    let (table, nearest) = (bindings.index_mut(), bindings.write(VECTOR_OUT));
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
pub fn relabel<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [from, map, to, before, partial, ..] = work.params.words.map(|word| word as usize);
    let (table, partials) = (bindings.index_mut(), bindings.write(PARTIALS));
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

/// Sums of two numbers of every point over the members of each cluster, one after the other.
pub fn totals<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [clusters, members, begins, other, ..] = work.params.words.map(|word| word as usize);
    let (table, numbers, totals) = (bindings.index(), bindings.read(VECTOR_IN), bindings.write(VECTOR_OUT));
    for cluster in (work.groups.start as usize..work.groups.end as usize).take_while(|cluster| *cluster < clusters) {
        let (mut a, mut b) = (R::ZERO, R::ZERO);
        for place in table[begins + cluster]..table[begins + cluster + 1] {
            let number = table[members + place as usize] as usize;
            a += numbers[number];
            b += numbers[other + number];
        }
        (totals[2 * cluster], totals[2 * cluster + 1]) = (a, b);
    }
}
