//! Twins of what is computed of clusters and their anchors: `centroid_sums`, `update`, `distances`, `weigh`, `norms`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::clustering::{nearest_half, squared_distance};
use crate::twins::reduce::clamp;
use leastwise_kernels as kernels;
use leastwise_kernels::state::cluster as state;

/// Σ w x and Σ w over the members of every cluster that are in a chunk.
pub fn centroid_sums<R: Real>(
    work: &Workgroups,
    args: kernels::clustering::lloyd::CentroidSums,
    bindings: kernels::clustering::lloyd::CentroidSumsSlices<R>,
) {
    let [clusters, first, dimensions, shares, first_point, count, members, begins, guard, flags] = [
        args.clusters,
        args.first_cluster,
        args.dimensions,
        args.shares,
        args.first_point,
        args.points,
        args.members,
        args.beginnings,
        args.guard,
        args.flags,
    ]
    .map(|word| word as usize);
    if bindings.state[guard] != R::ZERO {
        return;
    }
    let (points, table, weights) = (bindings.points, bindings.table, bindings.weights);
    let mut sums = Pieces::new(bindings.sums);
    let width = dimensions + 1;
    let groups = work.groups.start.min(work.params.group_count)..work.groups.end.min(work.params.group_count);
    let tasks = groups.map(|group| (group as usize, sums.take(group as usize * width..(group as usize + 1) * width)));
    let tasks: Vec<_> = tasks.collect();
    let elements = tasks.len() * count / (clusters * shares).max(1) * dimensions;
    threads::each(tasks, elements.max(1), |(group, sums)| {
        let cluster = first + group % clusters;
        let listed = &table[members + table[begins + cluster] as usize..members + table[begins + cluster + 1] as usize];
        let here = if flags & 4 == 0 {
            let place = |number: usize| listed.partition_point(|member| (*member as usize) < number);
            &listed[place(first_point)..place(first_point + count)]
        } else {
            listed
        };
        let length = here.len().div_ceil(shares);
        let begin = (group / clusters * length).min(here.len());
        if flags & 2 == 0 {
            sums.fill(R::ZERO);
        }
        let Some((total, sums)) = sums.split_last_mut() else { return };
        for &number in &here[begin..(begin + length).min(here.len())] {
            let weight = if flags & 1 != 0 { weights[number as usize] } else { R::ONE };
            if weight == R::ZERO {
                continue;
            }
            let row = &points[(number as usize - first_point) * dimensions..][..dimensions];
            if weight == R::ONE {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += *x);
            } else {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * *x);
            }
            *total += weight;
        }
    });
}

/// Anchors go to the means of their clusters, or a step towards them.
pub fn update<R: Real>(work: &Workgroups, args: kernels::clustering::lloyd::Update, bindings: kernels::clustering::lloyd::UpdateSlices<R>) {
    let [count, dimensions, shares, flags, guard] =
        [args.anchors, args.dimensions, args.shares, args.flags, args.guard].map(|word| word as usize);
    let state = bindings.state;
    if state[guard] != R::ZERO {
        return;
    }
    let (sums, anchors, velocity) = (bindings.sums, bindings.anchors, bindings.velocity);
    let temperature = state[state::TEMPERATURE as usize];
    let rate = state[state::RATE as usize] * (temperature / (R::ONE + temperature));
    let limit = state[state::STEP_LIMIT as usize];
    for i in work.items() {
        let (mut sum, mut weight) = (R::ZERO, R::ZERO);
        for share in 0..shares {
            let from = (share * count + i / dimensions) * (dimensions + 1);
            sum += sums[from + i % dimensions];
            weight += sums[from + dimensions];
        }
        if weight <= R::ZERO {
            continue;
        }
        let mut value = sum / weight;
        if flags & 1 != 0 {
            let mut step = clamp((value - anchors[i]) * rate, -limit, limit);
            if flags & 2 != 0 {
                step += state[state::MOMENTUM as usize] * velocity[i];
                velocity[i] = step;
            }
            value = anchors[i] + step;
        }
        anchors[i] = if flags & 4 != 0 { nearest_half(value) } else { value };
    }
}

/// The squared distance of every point to the anchor that its label says.
pub fn distances<R: Real>(
    work: &Workgroups,
    args: kernels::clustering::lloyd::Distances,
    bindings: kernels::clustering::lloyd::DistancesSlices<R>,
) {
    let [dimensions, anchors_here, first_anchor, first_point, labels, guard, by_fours] =
        [args.dimensions, args.anchors, args.first_anchor, args.first_point, args.labels, args.guard, args.fours].map(|word| word as usize);
    if bindings.state[guard] != R::ZERO {
        return;
    }
    let (points, anchors, table) = (bindings.points, bindings.anchors, bindings.table);
    let nearest = bindings.nearest;
    for i in work.items() {
        let Some(anchor) = (table[labels + first_point + i] as usize).checked_sub(first_anchor).filter(|a| *a < anchors_here) else {
            continue;
        };
        let (x, a) = (&points[i * dimensions..][..dimensions], &anchors[anchor * dimensions..][..dimensions]);
        nearest[first_point + i] = if by_fours != 0 {
            let (quarters, rest) = (x.chunks_exact(4).zip(a.chunks_exact(4)), dimensions / 4 * 4);
            let sum = quarters.fold(R::ZERO, |sum, (x, a)| {
                let [p, q, r, s]: [R; 4] = std::array::from_fn(|k| (x[k] - a[k]) * (x[k] - a[k]));
                sum + (p + q + r + s)
            });
            x[rest..].iter().zip(&a[rest..]).fold(sum, |sum, (x, a)| sum + (*x - *a) * (*x - *a))
        } else {
            squared_distance(x, a)
        };
    }
}

/// Weights of a robust mean.
pub fn weigh<R: Real>(work: &Workgroups, args: kernels::clustering::lloyd::Weigh, bindings: kernels::clustering::lloyd::WeighSlices<R>) {
    let [members, begins, labels, guard, trims] =
        [args.members, args.beginnings, args.labels, args.guard, args.trims].map(|word| word as usize);
    let state = bindings.state;
    if state[guard] != R::ZERO {
        return;
    }
    let (table, nearest, weights) = (bindings.table, bindings.nearest, bindings.weights);
    for place in work.items() {
        let number = table[members + place] as usize;
        let cluster = table[labels + number] as usize;
        let begin = table[begins + cluster] as usize;
        let count = table[begins + cluster + 1] as usize - begin;
        weights[number] = if trims != 0 {
            let cut = (R::from_f64(count as f64) * state[state::TRIM as usize]).floor().to_f64() as usize;
            if place >= begin + cut && place + cut < begin + count { R::ONE } else { R::ZERO }
        } else {
            let (distance, huber) = (nearest[number].sqrt(), state[state::HUBER as usize]);
            if distance > huber { huber / distance } else { R::ONE }
        };
    }
}

/// ‖x‖² of every row, and for soft assignments − T ln p besides.
pub fn norms<R: Real>(work: &Workgroups, args: kernels::clustering::lloyd::Norms, bindings: kernels::clustering::lloyd::NormsSlices<R>) {
    let [dimensions, first, soft, shares, guard] =
        [args.dimensions, args.first, args.soft, args.shares, args.guard].map(|word| word as usize);
    let state = bindings.state;
    if state[guard] != R::ZERO {
        return;
    }
    let (rows, sums, norms) = (bindings.rows, bindings.sums, bindings.norms);
    let count = work.params.count as usize;
    for i in work.items() {
        let mut sum = rows[i * dimensions..][..dimensions].iter().fold(R::ZERO, |sum, x| sum + *x * *x);
        if soft != 0 {
            let mass = (0..shares).fold(R::ZERO, |mass, share| mass + sums[(share * count + i) * (dimensions + 1) + dimensions]);
            let part = (mass / state[state::POINTS as usize]).to_f64().max(1e-12);
            sum -= state[state::TEMPERATURE as usize] * R::from_f64(libm::log(part));
        }
        norms[first + i] = sum;
    }
}
