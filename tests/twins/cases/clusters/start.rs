//! Where anchors start.

use super::{DIMENSIONS, Members, Shape, Table, bound_of_sum, only, row, squared_distance};
use crate::twins::harness::Case;
use crate::twins::value::{Random, Value};
use leastwise::kernels::{
    StaticKernel,
    clustering::{init, moves},
};

/// Lanes that have a row together (`shaders/clustering/shared/share_rows.wgsl`).
const SHARE: usize = 8;
/// Rows that a lane of `potentials` has at a time.
const ABREAST: usize = 4;

/// Runs of whole rounds of rows, as many as workgroups.
#[derive(Clone, Copy)]
struct Runs {
    rows: usize,
    groups: usize,
    round: usize,
}

impl Runs {
    /// One workgroup, a few, or so many that the last ones have nothing to do; small limits allow no more than 256 in a row.
    fn new(rows: usize, round: usize, random: &mut Random) -> Self {
        let groups = [1, 3, rows.div_ceil(3 * round), rows.div_ceil(round) + 2][random.below(4) as usize];
        Self { rows, groups: groups.clamp(1, 256), round }
    }

    fn each(self) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
        let length = self.rows.div_ceil(self.groups * self.round) * self.round;
        (0..self.groups).map(move |run| (run, (run * length).min(self.rows)..((run + 1) * length).min(self.rows)))
    }
}

pub fn farthest(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |is_first: bool| {
        let shape = Shape::new(size, group, random);
        let Shape { before, all, dimensions, clusters, .. } = shape;
        let (points, anchors) = (random.vector(size * dimensions), random.vector(clusters * dimensions));
        let anchor = random.below(clusters as u32) as usize;
        let runs = Runs::new(size, group / SHARE, random);
        let mut case =
            Case::new(StaticKernel::ClusteringInitFarthest, format!("{}, first {is_first}, {} groups", shape.name(), runs.groups));
        case.bound = bound_of_sum(size + dimensions);
        let partial = 5;
        case.dispatch(
            (runs.groups * group) as u32,
            init::Farthest {
                points: size as u32,
                dimensions: dimensions as u32,
                anchor: anchor as u32,
                first_point: before as u32,
                starts: u32::from(is_first),
                partial: partial as u32,
            },
        );
        if is_first {
            case.poisoned(init::Farthest::NEAREST, all);
        } else {
            let nearest: Vec<f64> = (0..size).map(|_| random.within(0.0, dimensions as f64)).collect();
            case.reals(init::Farthest::NEAREST, only(all, shape.chunk(), &nearest));
        }
        case.poisoned(init::Farthest::PARTIALS, partial + 2 * runs.groups + 3);
        for (number, run) in runs.each() {
            let (mut peak, mut sum) = (Value::from(-1.0), Value::default());
            for i in run {
                let distance = squared_distance(row(&points, i, dimensions), row(&anchors, anchor, dimensions));
                let earlier = if is_first { f64::INFINITY } else { case.before(init::Farthest::NEAREST, before + i) };
                let least = if earlier <= distance.value { earlier.into() } else { distance };
                case.expect(init::Farthest::NEAREST, before + i, least);
                peak = if least.value > peak.value { least } else { peak };
                sum = sum + least;
            }
            case.expect(init::Farthest::PARTIALS, partial + 2 * number, peak);
            case.expect(init::Farthest::PARTIALS, partial + 2 * number + 1, sum);
        }
        case.reals(init::Farthest::POINTS, points);
        case.reals(init::Farthest::ANCHORS, anchors);
        case
    };
    [false, true].map(case).into()
}

/// Distances are whole numbers, so that all sums are exact; of 0 there are many.
pub fn pick(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let size = size.max(1);
    let case = |(most, at_random, at_hand): (u32, bool, bool)| {
        let nearest: Vec<u32> = (0..size).map(|_| random.below(most + 1).saturating_sub(random.below(3))).collect();
        // All points are at hand where they are in one chunk.
        let chunk_points = if at_hand { size } else { [size, size.div_ceil(2), size.div_ceil(3)][random.below(3) as usize] };
        // As `farthest` cuts a chunk.
        let round = group / SHARE;
        let groups = Runs::new(chunk_points, round, random).groups;
        let name = format!("up to {most}, at random {at_random}, chunks of {chunk_points}, {groups} groups, at hand {at_hand}");
        let mut case = Case::new(StaticKernel::ClusteringInitPick, name);
        let mut partials = Vec::new();
        for chunk in nearest.chunks(chunk_points) {
            for (_, run) in (Runs { rows: chunk.len(), groups, round }).each() {
                let of = &chunk[run];
                partials.push(of.iter().max().map_or(-1.0, |largest| f64::from(*largest)));
                partials.push(f64::from(of.iter().sum::<u32>()));
            }
        }
        let total: u32 = nearest.iter().sum();
        let expected = |u: f64| -> usize {
            if !at_random {
                let largest = nearest.iter().max();
                return nearest.iter().rposition(|distance| Some(distance) == largest).expect("the largest is one of them");
            }
            let ends = nearest.iter().scan(0, |sum, distance| {
                *sum += distance;
                Some(f64::from(*sum))
            });
            ends.enumerate().find(|(_, end)| u * f64::from(total) < *end).map_or(0, |(number, _)| number)
        };
        // In the middle of one of the units of distance, where no rounding matters: the first and the last of all are among them.
        let units = [0, total.saturating_sub(1), random.below(total.max(1)), random.below(total.max(1))];
        let mut uniforms: Vec<f64> =
            units.iter().map(|unit| f64::from(((f64::from(*unit) + 0.5) / f64::from(total.max(1))) as f32)).collect();
        uniforms.push(0.0);
        // All at once, or without the first two; the farthest alone.
        let (skipped, picks) = match random.below(2) {
            _ if !at_random => (0, 1),
            0 => (0, uniforms.len()),
            _ => (2, uniforms.len() - 2),
        };
        let dimensions = [1, 3, group + 3][random.below(3) as usize].min(200_000 / size).max(1);
        let (points, first_row) = (random.vector(size * dimensions), random.below(3) as usize);
        let mut table = Table::new(random);
        let choice = table.unwritten(picks);
        case.indices(table.0);
        case.dispatch(
            (picks * group) as u32,
            init::Pick {
                runs: groups as u32,
                chunk_points: chunk_points as u32,
                points: size as u32,
                random: u32::from(at_random),
                uniform: skipped as u32,
                choice: choice as u32,
                dimensions: dimensions as u32,
                row: first_row as u32,
                whole: u32::from(at_hand),
            },
        );
        case.poisoned(init::Pick::ROWS, (first_row + picks + 1) * dimensions);
        for (number, u) in uniforms[skipped..skipped + picks].iter().enumerate() {
            let point = expected(*u);
            case.expect_index(choice + number, point as u32);
            for (k, x) in row(&points, point, dimensions).iter().enumerate().filter(|_| at_hand) {
                case.expect(init::Pick::ROWS, (first_row + number) * dimensions + k, *x);
            }
        }
        case.reals(init::Pick::POINTS, points);
        case.reals(init::Pick::UNIFORMS, uniforms);
        case.reals(init::Pick::NEAREST, nearest.iter().map(|distance| f64::from(*distance)).collect());
        case.reals(init::Pick::PARTIALS, partials);
        case
    };
    [(7, false, true), (7, false, false), (0, false, true), (7, true, true), (7, true, false), (0, true, false)].map(case).into()
}

/// Points are in the chunk or in another one; `size` is the number of components.
pub fn adopt(size: usize, random: &mut Random) -> Vec<Case> {
    let case = |picks: usize| {
        let picks = picks.min(200_000 / size.max(1)).max(1);
        let (first, count, first_row) = (random.below(50) as usize + 1, 7, random.below(4) as usize);
        // The first is in the chunk; others are before it, in it or behind it.
        let inside = first + random.below(count as u32) as usize;
        let number = |pick: usize| match random.below(3) {
            _ if pick == 0 => inside,
            0 => first - 1,
            1 => first + random.below(count as u32) as usize,
            _ => first + count + random.below(2) as usize * 1000,
        };
        let numbers: Vec<usize> = (0..picks).map(number).collect();
        let points = random.vector(count * size);
        let mut table = Table::new(random);
        let choice = table.part(numbers.iter().map(|number| *number as u32));
        let mut case = Case::new(StaticKernel::ClusteringInitAdopt, format!("points {numbers:?} of {count} from {first} on"));
        case.dispatch(
            (picks * size) as u32,
            init::Adopt {
                first_point: first as u32,
                points: count as u32,
                dimensions: size as u32,
                row: first_row as u32,
                choice: choice as u32,
            },
        );
        case.indices(table.0);
        case.poisoned(init::Adopt::ROWS, (first_row + picks + 1) * size);
        for (pick, number) in numbers.into_iter().enumerate().filter(|(_, number)| (first..first + count).contains(number)) {
            (0..size).for_each(|k| case.expect(init::Adopt::ROWS, (first_row + pick) * size + k, points[(number - first) * size + k]));
        }
        case.reals(init::Adopt::POINTS, points);
        case
    };
    [1, 6].map(case).into()
}

/// Candidates are any, where points are, or all at one place from which no point is farther than 0.
pub fn potentials(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |what: u32| {
        let shape = Shape::new(size, group, random);
        let Shape { before, all, dimensions, .. } = shape;
        // Fewer than share a row, as many, and more.
        let several = [1, 5, SHARE, 14, 33][random.below(5) as usize];
        let mut points = random.vector(size * dimensions);
        let mut candidates = random.vector(several * dimensions);
        for (number, candidate) in candidates.chunks_mut(dimensions).enumerate().filter(|_| what > 0 && size > 0) {
            candidate.copy_from_slice(row(&points, number * 7 % size, dimensions));
        }
        if what == 2 {
            points = points[..dimensions.min(points.len())].repeat(size);
            candidates = if points.is_empty() { candidates } else { points[..dimensions].repeat(several) };
        }
        let runs = Runs::new(size, ABREAST * group / SHARE, random);
        let name = format!("{}, {several} candidates, {}, {} groups", shape.name(), ["any", "points", "alike"][what as usize], runs.groups);
        let mut case = Case::new(StaticKernel::ClusteringInitPotentials, name);
        case.bound = bound_of_sum(size + dimensions);
        let partial = 5;
        case.dispatch(
            (runs.groups * group) as u32,
            init::Potentials {
                points: size as u32,
                dimensions: dimensions as u32,
                candidates: several as u32,
                first_point: before as u32,
                partial: partial as u32,
            },
        );
        let nearest: Vec<f64> = (0..size).map(|_| random.within(0.0, dimensions as f64)).collect();
        case.poisoned(init::Potentials::PARTIALS, partial + several * runs.groups + 3);
        for (number, run) in runs.each() {
            for candidate in 0..several {
                let least = |i: usize| {
                    let distance = squared_distance(row(&points, i, dimensions), row(&candidates, candidate, dimensions));
                    if nearest[i] <= distance.value { nearest[i].into() } else { distance }
                };
                case.expect(init::Potentials::PARTIALS, partial + number * several + candidate, run.clone().map(least).sum::<Value>());
            }
        }
        case.reals(init::Potentials::NEAREST, only(all, shape.chunk(), &nearest));
        case.reals(init::Potentials::POINTS, points);
        case.reals(init::Potentials::CANDIDATES, candidates);
        case
    };
    [0, 1, 2].map(case).into()
}

/// `size` is the number of runs. Potentials are whole numbers, so that sums are exact; some are equal.
pub fn elect(size: usize, random: &mut Random) -> Vec<Case> {
    let case = |(most, several): (u32, usize)| {
        let runs = size.min(200_000 / several);
        let dimensions = DIMENSIONS[random.below(5) as usize];
        let (candidates, anchor) = (random.vector(several * dimensions), random.below(4) as usize);
        let potentials: Vec<u32> = (0..runs * several).map(|_| random.below(most + 1)).collect();
        let total = |candidate: usize| potentials.iter().skip(candidate).step_by(several).sum::<u32>();
        let elected = (0..several).min_by_key(|candidate| total(*candidate)).expect("several");
        let partial = 3;
        let mut case =
            Case::of_one_group(StaticKernel::ClusteringInitElect, format!("up to {most}, {several} candidates, dimension {dimensions}"));
        case.dispatch(
            1,
            init::Elect {
                runs: runs as u32,
                candidates: several as u32,
                dimensions: dimensions as u32,
                row: anchor as u32,
                partial: partial as u32,
            },
        );
        case.reals(init::Elect::PARTIALS, [0.0; 3].into_iter().chain(potentials.iter().map(|potential| f64::from(*potential))).collect());
        case.poisoned(init::Elect::ANCHORS, (anchor + 2) * dimensions);
        for (k, x) in row(&candidates, elected, dimensions).iter().enumerate() {
            case.expect(init::Elect::ANCHORS, anchor * dimensions + k, *x);
        }
        case.reals(init::Elect::CANDIDATES, candidates);
        case
    };
    [(40, 1), (40, 14), (1, 33), (0, 6)].map(case).into()
}

/// The size is the number of points; not all are in the chunk.
pub fn seed(size: usize, random: &mut Random) -> Vec<Case> {
    let case = |parts: [usize; 2]| {
        let shape = Shape::new(size, 16, random);
        let Shape { before, all, dimensions, clusters, .. } = shape;
        let labels = shape.labels(random);
        let members = Members::new(&labels, clusters, 0..all);
        let points = random.vector(size * dimensions);
        let mut table = Table::new(random);
        let (list, begins) = (table.part(members.list.iter().copied()), table.part(members.begins.iter().copied()));
        let mut case = Case::new(StaticKernel::ClusteringMovesSeed, format!("{}, parts {parts:?}", shape.name()));
        let items = (2 * clusters * dimensions) as u32;
        case.dispatch(
            items,
            moves::Seed {
                dimensions: dimensions as u32,
                first_point: before as u32,
                points: size as u32,
                members: list as u32,
                beginnings: begins as u32,
                u: parts[0] as u32,
                v: parts[1] as u32,
            },
        );
        case.indices(table.0);
        case.poisoned(moves::Seed::CANDIDATES, 2 * clusters * dimensions);
        let mut written = false;
        for candidate in 0..2 * clusters {
            let of = members.of(candidate / 2);
            let Some(last) = of.len().checked_sub(1) else { continue };
            let point = of[last * parts[candidate % 2] / 65535] as usize;
            if shape.chunk().contains(&point) {
                written = true;
                let row = row(&points, point - before, dimensions);
                row.iter().enumerate().for_each(|(k, x)| case.expect(moves::Seed::CANDIDATES, candidate * dimensions + k, *x));
            }
        }
        if !written {
            case.scratch(moves::Seed::CANDIDATES, 2 * clusters * dimensions);
        }
        case.reals(moves::Seed::POINTS, points);
        case
    };
    [[0, 65535], [20_000, 52_768]].map(case).into()
}
