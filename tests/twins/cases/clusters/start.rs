//! Where anchors start.

use super::{DIMENSIONS, Members, Shape, Table, bound_of_sum, only, row, squared_distance, words};
use crate::twins::harness::Case;
use crate::twins::value::{Random, Value};
use leastwise::device::binding::{ARENA, DATA, PARTIALS, VECTOR_IN, VECTOR_OUT};
use leastwise::kernel::Fixed;

/// Lanes that have a row together (`shaders/share_rows.wgsl`).
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
        let mut case = Case::new(Fixed::Farthest, format!("{}, first {is_first}, {} groups", shape.name(), runs.groups));
        case.bound = bound_of_sum(size + dimensions);
        let partial = 5;
        case.dispatch((runs.groups * group) as u32, &words(&[size, dimensions, anchor, before, is_first.into(), partial]));
        if is_first {
            case.poisoned(VECTOR_OUT, all);
        } else {
            let nearest: Vec<f64> = (0..size).map(|_| random.within(0.0, dimensions as f64)).collect();
            case.reals(VECTOR_OUT, only(all, shape.chunk(), &nearest));
        }
        case.poisoned(PARTIALS, partial + 2 * runs.groups + 3);
        for (number, run) in runs.each() {
            let (mut peak, mut sum) = (Value::from(-1.0), Value::default());
            for i in run {
                let distance = squared_distance(row(&points, i, dimensions), row(&anchors, anchor, dimensions));
                let earlier = if is_first { f64::INFINITY } else { case.before(VECTOR_OUT, before + i) };
                let least = if earlier <= distance.value { earlier.into() } else { distance };
                case.expect(VECTOR_OUT, before + i, least);
                peak = if least.value > peak.value { least } else { peak };
                sum = sum + least;
            }
            case.expect(PARTIALS, partial + 2 * number, peak);
            case.expect(PARTIALS, partial + 2 * number + 1, sum);
        }
        case.reals(ARENA, points);
        case.reals(DATA, anchors);
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
        let mut case = Case::new(Fixed::Pick, name);
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
        let all = [groups, chunk_points, size, at_random.into(), skipped, choice, dimensions, first_row, at_hand.into()];
        case.dispatch((picks * group) as u32, &words(&all));
        case.poisoned(VECTOR_OUT, (first_row + picks + 1) * dimensions);
        for (number, u) in uniforms[skipped..skipped + picks].iter().enumerate() {
            let point = expected(*u);
            case.expect_index(choice + number, point as u32);
            for (k, x) in row(&points, point, dimensions).iter().enumerate().filter(|_| at_hand) {
                case.expect(VECTOR_OUT, (first_row + number) * dimensions + k, *x);
            }
        }
        case.reals(ARENA, points);
        case.reals(DATA, uniforms);
        case.reals(VECTOR_IN, nearest.iter().map(|distance| f64::from(*distance)).collect());
        case.reals(PARTIALS, partials);
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
        let mut case = Case::new(Fixed::Adopt, format!("points {numbers:?} of {count} from {first} on"));
        case.dispatch((picks * size) as u32, &words(&[first, count, size, first_row, choice]));
        case.indices(table.0);
        case.poisoned(VECTOR_OUT, (first_row + picks + 1) * size);
        for (pick, number) in numbers.into_iter().enumerate().filter(|(_, number)| (first..first + count).contains(number)) {
            (0..size).for_each(|k| case.expect(VECTOR_OUT, (first_row + pick) * size + k, points[(number - first) * size + k]));
        }
        case.reals(ARENA, points);
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
        let mut case = Case::new(Fixed::Potentials, name);
        case.bound = bound_of_sum(size + dimensions);
        let partial = 5;
        case.dispatch((runs.groups * group) as u32, &words(&[size, dimensions, several, before, partial]));
        let nearest: Vec<f64> = (0..size).map(|_| random.within(0.0, dimensions as f64)).collect();
        case.poisoned(PARTIALS, partial + several * runs.groups + 3);
        for (number, run) in runs.each() {
            for candidate in 0..several {
                let least = |i: usize| {
                    let distance = squared_distance(row(&points, i, dimensions), row(&candidates, candidate, dimensions));
                    if nearest[i] <= distance.value { nearest[i].into() } else { distance }
                };
                case.expect(PARTIALS, partial + number * several + candidate, run.clone().map(least).sum::<Value>());
            }
        }
        case.reals(VECTOR_IN, only(all, shape.chunk(), &nearest));
        case.reals(ARENA, points);
        case.reals(DATA, candidates);
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
        let mut case = Case::of_one_group(Fixed::Elect, format!("up to {most}, {several} candidates, dimension {dimensions}"));
        case.dispatch(1, &words(&[runs, several, dimensions, anchor, partial]));
        case.reals(PARTIALS, [0.0; 3].into_iter().chain(potentials.iter().map(|potential| f64::from(*potential))).collect());
        case.poisoned(VECTOR_OUT, (anchor + 2) * dimensions);
        for (k, x) in row(&candidates, elected, dimensions).iter().enumerate() {
            case.expect(VECTOR_OUT, anchor * dimensions + k, *x);
        }
        case.reals(DATA, candidates);
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
        let mut case = Case::new(Fixed::Seed, format!("{}, parts {parts:?}", shape.name()));
        let items = (2 * clusters * dimensions) as u32;
        case.dispatch(items, &words(&[dimensions, before, size, 0, list, begins, parts[0], parts[1]]));
        case.indices(table.0);
        case.poisoned(VECTOR_OUT, 2 * clusters * dimensions);
        let mut written = false;
        for candidate in 0..2 * clusters {
            let of = members.of(candidate / 2);
            let Some(last) = of.len().checked_sub(1) else { continue };
            let point = of[last * parts[candidate % 2] / 65535] as usize;
            if shape.chunk().contains(&point) {
                written = true;
                let row = row(&points, point - before, dimensions);
                row.iter().enumerate().for_each(|(k, x)| case.expect(VECTOR_OUT, candidate * dimensions + k, *x));
            }
        }
        if !written {
            case.scratch(VECTOR_OUT, 2 * clusters * dimensions);
        }
        case.reals(ARENA, points);
        case
    };
    [[0, 65535], [20_000, 52_768]].map(case).into()
}
