//! What looks into clusters: merging, dividing, sums over members.

use super::half::nearest_half;
use super::{Members, Shape, Table, bound_of_sum, row, squared_distance};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{
    StaticKernel,
    clustering::{lloyd, moves},
};
use leastwise::program::state::cluster::MERGED;

/// Up to 150 anchors: one workgroup looks at all pairs.
pub fn merge(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let count = size.clamp(1, 150);
    let some: &[bool] = if size <= 65 || size == 257 { &[false, true] } else { &[] };
    some.iter().map(|halves| one_merge(count, *halves, group, random)).collect()
}

/// The squared distances that are compared, each of a pair, and what they are compared with.
fn threshold(anchors: &[f64], count: usize, dimensions: usize) -> f64 {
    let at = |number: usize| row(anchors, number, dimensions);
    let apart = |i: usize| squared_distance(at(i), at((i + count / 2) % count)).value.sqrt();
    let sampled = count.min(100);
    let mean = if count < 2 { 1.0 } else { (0..sampled).map(apart).sum::<f64>() / sampled as f64 };
    (0.1 * mean).powi(2)
}

fn one_merge(count: usize, halves: bool, group: usize, random: &mut Random) -> Case {
    let dimensions = if halves { [8, 37][random.below(2) as usize] } else { [1, 2, 3, 37, group + 3][random.below(5) as usize] };
    // Of anchors at random some are close to an earlier one. To be rounded to halves, they have few bits, far from one another, and close
    // pairs have as many members each, a power of two: no device rounds anything else.
    let coarse = |random: &mut Random| 1.0 + f64::from(random.below(1 << 12)) / 4096.0;
    let (anchors, members, map) = loop {
        let mut anchors: Vec<f64> = (0..count * dimensions).map(|_| if halves { coarse(random) } else { random.signed() }).collect();
        let mut members: Vec<u32> = (0..count).map(|_| if random.below(6) == 0 { 0 } else { 1 << random.below(5) }).collect();
        for close in (1..count).step_by(if halves { 2 } else { 3 }) {
            if random.below(2) == 0 {
                let of = if halves { close - 1 } else { random.below(close as u32) as usize };
                // Chains of which some links are too long, and the ends.
                let reach = random.within(1e-3, 0.15);
                for k in 0..dimensions {
                    let step = if halves { f64::from(random.below(3)) / 4096.0 } else { random.signed() * reach };
                    anchors[close * dimensions + k] = f64::from((anchors[of * dimensions + k] + step) as f32);
                }
                members[close] = if halves { members[of] } else { random.below(50) };
            }
        }
        let threshold = threshold(&anchors, count, dimensions);
        let apart = |i: usize, j: usize| squared_distance(row(&anchors, i, dimensions), row(&anchors, j, dimensions)).value;
        let unclear = |i: usize, j: usize| (apart(i, j) - threshold).abs() < 1e-5 * threshold;
        if (0..count).any(|i| (0..i).any(|j| unclear(i, j))) {
            continue;
        }
        let mut map: Vec<usize> = (0..count).collect();
        for i in 0..count {
            for j in i + 1..count {
                if map[i] == i && map[j] == j && apart(i, j) < threshold {
                    map[j] = i;
                }
            }
        }
        break (anchors, members, map);
    };
    let mut table = Table::new(random);
    let counts_at = table.part(members.iter().copied());
    let map_at = table.unwritten(count);
    let name = format!("{count} anchors, dimension {dimensions}, halves {halves}");
    let mut case = Case::of_one_group(StaticKernel::ClusteringMovesMerge, name);
    case.bound = 3e-6;
    case.dispatch(
        1,
        moves::Merge {
            anchors: count as u32,
            dimensions: dimensions as u32,
            counts: counts_at as u32,
            map: map_at as u32,
            flags: (if halves { 4 } else { random.below(2) as usize }) as u32,
        },
    );
    case.indices(table.0);
    case.reals(moves::Merge::STATE, random_state(random, &[]));
    case.scratch(moves::Merge::SUMS, (count * dimensions).max(count.min(100)));
    case.reals(moves::Merge::ANCHORS, anchors.clone());
    for (i, to) in map.iter().enumerate() {
        case.expect_index(map_at + i, *to as u32);
        let of: Vec<usize> = (0..count).filter(|from| map[*from] == i).collect();
        let all: u32 = of.iter().map(|from| members[*from]).sum();
        if *to != i || all == 0 {
            continue;
        }
        case.expect_index(counts_at + i, all);
        for k in 0..dimensions {
            let sum: Value = of.iter().map(|from| Value::from(anchors[from * dimensions + k] * f64::from(members[*from]))).sum();
            let mean = sum / f64::from(all).into();
            let stored = if halves { nearest_half(mean.value).into() } else { mean };
            case.expect(moves::Merge::ANCHORS, i * dimensions + k, stored);
        }
    }
    let merged = map.iter().enumerate().filter(|(i, to)| i != *to).count();
    case.expect_state(&[(MERGED, (merged as f64).into())]);
    case
}

pub fn relabel(size: usize, group: usize, random: &mut Random) -> Case {
    let clusters = 33;
    let word = |random: &mut Random| random.below(clusters);
    let map: Vec<u32> = (0..clusters).map(|_| word(random)).collect();
    let [from, other] = [0, 1].map(|_| (0..size).map(|_| word(random)).collect::<Vec<u32>>());
    let labels: Vec<u32> = from.iter().map(|label| map[*label as usize]).collect();
    let earlier: Vec<u32> = labels.iter().zip(other).map(|(label, other)| if random.below(2) == 0 { *label } else { other }).collect();
    let mut table = Table::new(random);
    let [from, map, before] = [&from, &map, &earlier].map(|part| table.part(part.iter().copied()));
    let to = table.unwritten(size);
    let mut case = Case::new(StaticKernel::ClusteringMovesRelabel, "");
    let (groups, partial) = (size.div_ceil(group), 4);
    case.dispatch(
        size as u32,
        moves::Relabel { source: from as u32, map: map as u32, labels: to as u32, before: before as u32, partial: partial as u32 },
    );
    case.indices(table.0);
    case.poisoned(moves::Relabel::PARTIALS, partial + groups + 2);
    for (number, (labels, earlier)) in labels.chunks(group).zip(earlier.chunks(group)).enumerate() {
        labels.iter().enumerate().for_each(|(lane, label)| case.expect_index(to + number * group + lane, *label));
        let changed = labels.iter().zip(earlier).filter(|(label, earlier)| label != earlier).count();
        case.expect(moves::Relabel::PARTIALS, partial + number, changed as f64);
    }
    case
}

pub fn divide(size: usize, group: usize, random: &mut Random) -> Case {
    let shape = Shape::new(size, group, random);
    let Shape { before, all, dimensions, clusters, .. } = shape;
    let labels = shape.labels(random);
    let mut candidates = random.vector(2 * clusters * dimensions);
    // Some pairs are one place: ties.
    for cluster in (0..clusters).step_by(4) {
        let first = 2 * cluster * dimensions;
        candidates.copy_within(first..first + dimensions, first + dimensions);
    }
    let mut table = Table::new(random);
    let labels_at = table.part(labels.iter().copied());
    let sides = table.unwritten(all);
    let mut case = Case::new(StaticKernel::ClusteringMovesDivide, shape.name());
    case.bound = bound_of_sum(dimensions);
    case.dispatch(
        size as u32,
        moves::Divide {
            points: size as u32,
            dimensions: dimensions as u32,
            first_point: before as u32,
            labels: labels_at as u32,
            sides: sides as u32,
        },
    );
    case.indices(table.0);
    case.poisoned(moves::Divide::NEAREST, all);
    let mut points = Vec::new();
    for number in shape.chunk() {
        let first = 2 * labels[number] as usize;
        let (x, a, b) = loop {
            let x = random.vector(dimensions);
            let [a, b] = [first, first + 1].map(|candidate| squared_distance(&x, row(&candidates, candidate, dimensions)));
            if a.value == b.value || (a.value - b.value).abs() > 1e-5 * a.value {
                break (x, a, b);
            }
        };
        points.extend(x);
        let (side, least) = if a.value < b.value { (first, a) } else { (first + 1, b) };
        case.expect_index(sides + number, side as u32);
        case.expect(moves::Divide::NEAREST, number, least);
    }
    case.reals(moves::Divide::POINTS, points);
    case.reals(moves::Divide::ANCHORS, candidates);
    case
}

pub fn totals(size: usize, group: usize, random: &mut Random) -> Case {
    let shape = Shape::new(size, group, random);
    let labels = shape.labels(random);
    let mut members = Members::new(&labels, shape.clusters, shape.chunk());
    members.shuffle(random);
    let other = shape.all + 7;
    let numbers = random.vector(other + shape.all);
    let mut table = Table::new(random);
    let list = table.part(members.list.iter().copied());
    let begins = table.part(members.begins.iter().copied());
    let mut case = Case::new(StaticKernel::ClusteringLloydTotals, shape.name());
    case.bound = bound_of_sum(size);
    case.dispatch(
        (shape.clusters * group) as u32,
        lloyd::Totals { clusters: shape.clusters as u32, members: list as u32, beginnings: begins as u32, distance: other as u32 },
    );
    case.indices(table.0);
    case.poisoned(lloyd::Totals::TOTALS, 2 * shape.clusters);
    for cluster in 0..shape.clusters {
        for (which, first) in [0, other].into_iter().enumerate() {
            let sum: Value = members.of(cluster).iter().map(|number| Value::from(numbers[first + *number as usize])).sum();
            case.expect(lloyd::Totals::TOTALS, 2 * cluster + which, sum);
        }
    }
    case.reals(lloyd::Totals::NUMBERS, numbers);
    case
}
