//! Where anchors start.

use super::super::Spread;
use super::{Members, Shape, Table, bound_of_sum, only, row, squared_distance, words};
use crate::harness::Case;
use crate::value::{Random, Value};
use leastwise::device::binding::{ARENA, DATA, PARTIALS, VECTOR_IN, VECTOR_OUT};
use leastwise::kernel::Fixed;

pub fn farthest(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |is_first: bool| {
        let shape = Shape::new(size, group, random);
        let Shape { before, all, dimensions, clusters, .. } = shape;
        let (points, anchors) = (random.vector(size * dimensions), random.vector(clusters * dimensions));
        let anchor = random.below(clusters as u32) as usize;
        let spread = Spread::new(size, group, random);
        let mut case = Case::new(Fixed::Farthest, format!("{}, first {is_first}", shape.name()));
        case.bound = bound_of_sum(size + dimensions);
        let partial = 5;
        case.dispatch(spread.lanes(), &words(&[size, dimensions, anchor, before, is_first.into(), partial]));
        if is_first {
            case.poisoned(VECTOR_OUT, all);
        } else {
            let nearest: Vec<f64> = (0..size).map(|_| random.within(0.0, dimensions as f64)).collect();
            case.reals(VECTOR_OUT, only(all, shape.chunk(), &nearest));
        }
        case.poisoned(PARTIALS, partial + 2 * spread.groups + 3);
        for (number, run) in spread.each() {
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
    let case = |(most, at_random): (u32, bool)| {
        let nearest: Vec<u32> = (0..size).map(|_| random.below(most + 1).saturating_sub(random.below(3))).collect();
        let chunk_points = [size, size.div_ceil(2), size.div_ceil(3)][random.below(3) as usize];
        // The workgroups of a chunk: as `farthest` spreads them, whatever they are.
        let groups = [1, 3, chunk_points.div_ceil(group), 40][random.below(4) as usize];
        let mut case =
            Case::of_one_group(Fixed::Pick, format!("up to {most}, at random {at_random}, chunks of {chunk_points}, {groups} groups"));
        let mut partials = Vec::new();
        for chunk in nearest.chunks(chunk_points) {
            let length = chunk.len().div_ceil(groups * group) * group;
            for run in 0..groups {
                let of = &chunk[(run * length).min(chunk.len())..((run + 1) * length).min(chunk.len())];
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
        let mut table = Table::new(random);
        let choices: Vec<usize> = uniforms.iter().map(|_| table.unwritten(1)).collect();
        case.indices(table.0);
        for (number, (u, choice)) in uniforms.iter().zip(choices).enumerate() {
            case.dispatch(1, &words(&[groups, chunk_points, size, at_random.into(), number, choice]));
            case.expect_index(choice, expected(*u) as u32);
        }
        case.reals(DATA, uniforms);
        case.reals(VECTOR_IN, nearest.iter().map(|distance| f64::from(*distance)).collect());
        case.reals(PARTIALS, partials);
        case
    };
    [(7, false), (0, false), (7, true), (0, true)].map(case).into()
}

/// The point is in the chunk or in another one; `size` is the number of components.
pub fn adopt(size: usize, random: &mut Random) -> Vec<Case> {
    let case = |inside: bool| {
        let (first, count, anchor) = (random.below(50) as usize + 1, 7, random.below(4) as usize);
        let point = if inside { random.below(count as u32) as usize } else { count + random.below(2) as usize * 1000 };
        // Before the chunk, too.
        let number = if !inside && random.below(2) == 0 { first - 1 } else { first + point };
        let points = random.vector(count * size);
        let mut table = Table::new(random);
        let choice = table.part([number as u32]);
        let mut case = Case::new(Fixed::Adopt, format!("point {number} of {count} from {first} on"));
        case.dispatch(size as u32, &words(&[first, count, size, anchor, choice]));
        case.indices(table.0);
        case.poisoned(VECTOR_OUT, 5 * size);
        if inside {
            (0..size).for_each(|k| case.expect(VECTOR_OUT, anchor * size + k, points[point * size + k]));
        }
        case.reals(ARENA, points);
        case
    };
    [false, true].map(case).into()
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
