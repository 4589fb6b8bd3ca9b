//! Weights, means, and how far points and anchors are.

use super::half::nearest_half;
use super::{Members, Shape, Table, bound_of_sum, guard, only, row, square, squared_distance};
use crate::twins::harness::{Case, poison};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, clustering::lloyd};
use leastwise::program::state::cluster::*;

pub fn weigh(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |trims: bool| {
        let shape = Shape::new(size, group, random);
        let labels = shape.labels(random);
        let mut members = Members::new(&labels, shape.clusters, 0..shape.all);
        members.shuffle(random);
        let nearest: Vec<f64> = (0..shape.all).map(|i| if i % 9 == 4 { 0.0 } else { random.within(0.0, 1.0) }).collect();
        let mut table = Table::new(random);
        let list = table.part(members.list.iter().copied());
        let begins = table.part(members.begins.iter().copied());
        let at = table.part(labels.iter().copied());
        // What has no rounding: ⌊ct⌋ is the same in f32.
        let (trim, huber) = (f64::from(random.below(9)) / 16.0, random.within(0.3, 0.8));
        let mut case = Case::new(StaticKernel::ClusteringLloydWeigh, format!("{}, trimmed {trims} by {trim}", shape.name()));
        let guard = guard(&mut case, random, &[(TRIM, trim), (HUBER, huber)]);
        case.dispatch(
            shape.all as u32,
            lloyd::Weigh { members: list as u32, beginnings: begins as u32, labels: at as u32, guard, trims: u32::from(trims) },
        );
        case.indices(table.0);
        case.reals(lloyd::Weigh::NEAREST, nearest.clone());
        case.poisoned(lloyd::Weigh::WEIGHTS, shape.all);
        for cluster in 0..shape.clusters {
            let of = members.of(cluster);
            let cut = (of.len() as f64 * trim) as usize;
            for (place, number) in of.iter().enumerate() {
                let number = *number as usize;
                let kept = place >= cut && place < of.len().saturating_sub(cut);
                let weight = if trims { f64::from(u8::from(kept)) } else { (huber / nearest[number].sqrt()).min(1.0) };
                case.expect(lloyd::Weigh::WEIGHTS, number, weight);
            }
        }
        case
    };
    [false, true].map(case).into()
}

pub fn centroid_sums(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    const WEIGHTED: usize = 1;
    const ADDS: usize = 2;
    const UNORDERED: usize = 4;
    let mut flags = [0, WEIGHTED, ADDS, WEIGHTED | ADDS, UNORDERED, UNORDERED | WEIGHTED];
    random.shuffle(&mut flags);
    let mut case = |flags: usize| {
        let shape = Shape::new(size, group, random);
        let Shape { before, all, dimensions, clusters, .. } = shape;
        let labels = shape.labels(random);
        let mut members =
            if flags & UNORDERED != 0 { Members::new(&labels, clusters, shape.chunk()) } else { Members::new(&labels, clusters, 0..all) };
        if flags & UNORDERED != 0 {
            members.shuffle(random);
        }
        let points = random.vector(shape.points * dimensions);
        let weights: Vec<f64> = (0..shape.points).map(|_| [0.0, 1.0, random.within(0.1, 1.0)][random.below(3) as usize]).collect();
        let mut table = Table::new(random);
        let list = table.part(members.list.iter().copied());
        let begins = table.part(members.begins.iter().copied());
        let first = random.below(clusters as u32) as usize;
        let here = 1 + random.below((clusters - first) as u32) as usize;
        let shares = 1 + random.below(3) as usize;
        let mut case = Case::new(
            StaticKernel::ClusteringLloydCentroidSums,
            format!("{}, {here} of them, {shares} shares, flags {flags}", shape.name()),
        );
        case.bound = bound_of_sum(size);
        let guard = guard(&mut case, random, &[]);
        let groups = here * shares;
        case.dispatch(
            (groups * group) as u32,
            lloyd::CentroidSums {
                clusters: here as u32,
                first_cluster: first as u32,
                dimensions: dimensions as u32,
                shares: shares as u32,
                first_point: before as u32,
                points: shape.points as u32,
                members: list as u32,
                beginnings: begins as u32,
                guard,
                flags: flags as u32,
            },
        );
        case.indices(table.0);
        case.reals(lloyd::CentroidSums::WEIGHTS, only(all, shape.chunk(), &weights));
        let width = dimensions + 1;
        if flags & ADDS != 0 {
            case.reals(lloyd::CentroidSums::SUMS, random.vector(groups * width));
        } else {
            case.poisoned(lloyd::CentroidSums::SUMS, groups * width);
        }
        for cluster in 0..here {
            let in_chunk =
                members.of(first + cluster).iter().map(|number| *number as usize).filter(|number| shape.chunk().contains(number));
            let in_chunk: Vec<usize> = in_chunk.map(|number| number - before).collect();
            let length = in_chunk.len().div_ceil(shares);
            for share in 0..shares {
                let ends = [share, share + 1].map(|share| (share * length).min(in_chunk.len()));
                let to = (share * here + cluster) * width;
                for column in 0..width {
                    let term = |point: &usize| {
                        let weight = if flags & WEIGHTED != 0 { weights[*point] } else { 1.0 };
                        Value::from(weight * if column < dimensions { points[point * dimensions + column] } else { 1.0 })
                    };
                    let sum: Value = in_chunk[ends[0]..ends[1]].iter().map(term).sum();
                    let was = if flags & ADDS != 0 { case.before(lloyd::CentroidSums::SUMS, to + column).into() } else { Value::default() };
                    case.expect(lloyd::CentroidSums::SUMS, to + column, was + sum);
                }
            }
        }
        case.reals(lloyd::CentroidSums::POINTS, points);
        case
    };
    flags.into_iter().take(if size <= 300 { 6 } else { 2 }).map(&mut case).collect()
}

/// `size` components of anchors, or more.
pub fn update(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    const STEPS: usize = 1;
    const MOMENTUM_TOO: usize = 2;
    const HALVES: usize = 4;
    let case = |flags: usize| {
        let Shape { dimensions, .. } = Shape::new(size, group, random);
        let (anchors, shares) = (size.div_ceil(dimensions), 1 + random.below(3) as usize);
        let mut case = Case::new(
            StaticKernel::ClusteringLloydUpdate,
            format!("{anchors} anchors, dimension {dimensions}, {shares} shares, flags {flags}"),
        );
        // To be rounded to halves, everything is a number of 14 bits or less: no device rounds anything else, ties are ties.
        let coarse = |random: &mut Random| (f64::from(random.below(1 << 14)) - 8192.0) / 4096.0;
        let some = |random: &mut Random| if flags & HALVES != 0 { coarse(random) } else { random.signed() };
        let [temperature, rate] = if flags & HALVES != 0 { [1.0, 0.5] } else { [0, 1].map(|_| random.within(0.2, 1.0)) };
        let (momentum, limit) = if flags & HALVES != 0 { (0.5, 0.25) } else { (random.within(0.2, 0.9), random.within(0.05, 0.3)) };
        let mut state = [(TEMPERATURE, temperature), (RATE, rate), (MOMENTUM, momentum), (STEP_LIMIT, limit)];
        random.shuffle(&mut state);
        let guard = guard(&mut case, random, &state);
        let width = dimensions + 1;
        let mut sums = vec![0.0; shares * anchors * width];
        let old: Vec<f64> = (0..anchors * dimensions).map(|_| some(random)).collect();
        let velocity: Vec<f64> = (0..anchors * dimensions).map(|_| some(random)).collect();
        for anchor in 0..anchors {
            let weight = [0.0, 1.0, 4.0][random.below(3) as usize];
            for share in 0..shares {
                let to = (share * anchors + anchor) * width;
                (0..dimensions).for_each(|k| sums[to + k] = some(random) * f64::max(weight, 1.0));
                let any = if flags & HALVES != 0 { f64::from(u8::from(share == 0)) } else { random.within(0.5, 1.0) };
                sums[to + dimensions] = f64::from((weight * any) as f32);
            }
            // Beyond the largest half, and below the smallest that has all its bits.
            if anchor % 11 == 3 && flags == HALVES {
                sums[anchor * width] = 70_000.0 * weight;
                sums[anchor * width + dimensions / 2] *= 2f64.powi(-18);
                (1..shares).for_each(|share| sums[(share * anchors + anchor) * width..][..dimensions].fill(0.0));
            }
        }
        case.dispatch(
            (anchors * dimensions) as u32,
            lloyd::Update { anchors: anchors as u32, dimensions: dimensions as u32, shares: shares as u32, flags: flags as u32, guard },
        );
        case.reals(lloyd::Update::ANCHORS, old.clone());
        case.reals(lloyd::Update::VELOCITY, velocity.clone());
        for i in 0..anchors * dimensions {
            let of = |column: usize| (0..shares).map(|share| Value::from(sums[(share * anchors + i / dimensions) * width + column])).sum();
            let (sum, weight): (Value, Value) = (of(i % dimensions), of(dimensions));
            if weight.value <= 0.0 {
                continue;
            }
            let mut value = sum / weight;
            if flags & STEPS != 0 {
                let wanted = (value - old[i].into()) * (rate * temperature / (1.0 + temperature)).into();
                let mut step = Value { value: wanted.value.clamp(-limit, limit), ..wanted };
                if flags & MOMENTUM_TOO != 0 {
                    step = step + Value::from(momentum * velocity[i]);
                    case.expect(lloyd::Update::VELOCITY, i, step);
                }
                value = step + old[i].into();
            }
            let stored = if flags & HALVES != 0 { nearest_half(value.value).into() } else { value };
            case.expect(lloyd::Update::ANCHORS, i, stored);
        }
        case.reals(lloyd::Update::SUMS, sums);
        case
    };
    [0, HALVES, STEPS, STEPS | MOMENTUM_TOO, STEPS | MOMENTUM_TOO | HALVES].map(case).into()
}

/// Anchors are a piece of all; labels that are not in it leave their points as they are.
pub fn distances(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |by_fours: bool| {
        let shape = Shape::new(size, group, random);
        let Shape { before, all, dimensions, clusters, .. } = shape;
        let labels = shape.labels(random);
        let first = random.below(clusters as u32) as usize;
        let here = 1 + random.below((clusters - first) as u32) as usize;
        let (points, anchors) = (random.vector(size * dimensions), random.vector(here * dimensions));
        let mut table = Table::new(random);
        let at = table.part(labels.iter().copied());
        let mut case = Case::new(
            StaticKernel::ClusteringLloydDistances,
            format!("{}, {here} of them from {first} on, by fours {by_fours}", shape.name()),
        );
        case.bound = bound_of_sum(dimensions);
        let guard = guard(&mut case, random, &[]);
        case.dispatch(
            size as u32,
            lloyd::Distances {
                points: size as u32,
                dimensions: dimensions as u32,
                anchors: here as u32,
                first_anchor: first as u32,
                first_point: before as u32,
                labels: at as u32,
                guard,
                fours: u32::from(by_fours),
            },
        );
        case.indices(table.0);
        case.poisoned(lloyd::Distances::NEAREST, all);
        for i in 0..size {
            if let Some(anchor) = (labels[before + i] as usize).checked_sub(first).filter(|anchor| *anchor < here) {
                case.expect(
                    lloyd::Distances::NEAREST,
                    before + i,
                    squared_distance(row(&points, i, dimensions), row(&anchors, anchor, dimensions)),
                );
            }
        }
        case.reals(lloyd::Distances::POINTS, points);
        case.reals(lloyd::Distances::ANCHORS, anchors);
        case
    };
    [false, true].map(case).into()
}

/// Of points in chunks, and of anchors with the logarithms of their shares.
pub fn norms(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |soft: bool| {
        let Shape { before, all, dimensions, .. } = Shape::new(size, group, random);
        let (rows, width) = (random.vector(size * dimensions), dimensions + 1);
        let shares = 1 + random.below(if size <= 1000 { 3 } else { 1 }) as usize;
        // Only masses are read; some anchors have none.
        let mut sums: Vec<f64> = (0..shares * size * width).map(poison).collect();
        for anchor in 0..size {
            let none = random.below(5) == 0;
            (0..shares)
                .for_each(|share| sums[(share * size + anchor) * width + dimensions] = if none { 0.0 } else { random.within(1e-6, 30.0) });
        }
        let (temperature, points) = (random.within(0.1, 2.0), f64::from(100 + random.below(100)));
        let mut case = Case::new(
            StaticKernel::ClusteringLloydNorms,
            format!("dimension {dimensions}, from {before} on, soft {soft}, {shares} shares"),
        );
        case.bound = bound_of_sum(dimensions);
        let guard = guard(&mut case, random, &[(TEMPERATURE, temperature), (POINTS, points)]);
        case.dispatch(
            size as u32,
            lloyd::Norms { dimensions: dimensions as u32, first: before as u32, soft: u32::from(soft), shares: shares as u32, guard },
        );
        case.poisoned(lloyd::Norms::NORMS, all);
        for i in 0..size {
            let mut norm = square(row(&rows, i, dimensions));
            if soft {
                let mass: f64 = (0..shares).map(|share| sums[(share * size + i) * width + dimensions]).sum();
                let log = (mass / points).max(1e-12).ln();
                // A rounding error of p is one of 1 in ln p.
                norm = norm + Value { value: -temperature * log, size: temperature * (log.abs() + 1.0) };
            }
            case.expect(lloyd::Norms::NORMS, before + i, norm);
        }
        case.reals(lloyd::Norms::ROWS, rows);
        case.reals(lloyd::Norms::SUMS, sums);
        case
    };
    [false, true].map(case).into()
}
