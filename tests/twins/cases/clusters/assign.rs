use super::{Shape, Table, bound_of_sum, guard, only, row, square, squared_distance, tile};
use crate::twins::harness::{Case, POISONED_WORD};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, clustering::lloyd};

const DIFFERENCES: usize = 1;
const FIRST: usize = 2;
const LAST: usize = 4;
const BY_FOURS: usize = 8;

/// How much nearer the nearest must be, as a part of what distances are made of, for f32 to know it.
const GAP: f64 = 2e-5;

/// Where there is no anchor.
const FAR: f64 = 3e38;

#[derive(Clone, Copy)]
struct Found {
    best: Value,
    second: Value,
    which: usize,
}

impl Found {
    const NOTHING: Self = Self { best: Value { value: FAR, size: FAR }, second: Value { value: FAR, size: FAR }, which: usize::MAX };

    /// With one more, behind all others.
    fn and(self, value: Value, which: usize) -> Self {
        if value.value < self.best.value {
            Self { best: value, second: self.best, which }
        } else if value.value < self.second.value {
            Self { second: value, ..self }
        } else {
            self
        }
    }
}

pub fn assign(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let pieces = [FIRST | LAST, FIRST, 0, LAST];
    let sums = [0, DIFFERENCES, DIFFERENCES | BY_FOURS, 0];
    let turn = random.below(4) as usize;
    // Fewer where they take long.
    let numbers = (0..4).filter(|number| size <= 300 || *number == turn || size <= 3000 && *number == turn ^ 1);
    numbers.map(|number| one(&Shape::new(size, group, random), pieces[number] | sums[(number + turn / 2) % 4], group, random)).collect()
}

fn one(shape: &Shape, flags: usize, group: usize, random: &mut Random) -> Case {
    let Shape { points: count, before, all, dimensions, clusters } = *shape;
    let by_differences = flags & DIFFERENCES != 0;
    let mut anchors = random.vector(clusters * dimensions);
    // Some stand twice: the first of them is the nearest.
    for copy in (5..clusters).step_by(7) {
        let of = random.below(copy as u32) as usize;
        anchors.copy_within(of * dimensions..(of + 1) * dimensions, copy * dimensions);
    }
    let rounded = |x: &[f64]| f64::from(square(x).value as f32);
    let norms: Vec<f64> = (0..clusters).map(|anchor| rounded(row(&anchors, anchor, dimensions))).collect();
    // ‖x‖² + ‖a‖² − 2x·a cancels.
    let distance = |x: &[f64], square: f64, anchor: usize| {
        let a = row(&anchors, anchor, dimensions);
        if by_differences {
            return squared_distance(x, a);
        }
        let product: Value = x.iter().zip(a).map(|(x, a)| Value::from(x * a)).sum();
        let sum = Value::from(square) + norms[anchor].into() - product - product;
        Value { value: sum.value.max(0.0), ..sum }
    };
    let first_anchor = if flags & FIRST != 0 { 0 } else { 40 };
    let (mut points, mut found) = (Vec::new(), Vec::new());
    while found.len() < count {
        let coincides = by_differences && random.below(8) == 0;
        let x =
            if coincides { row(&anchors, random.below(clusters as u32) as usize, dimensions).to_vec() } else { random.vector(dimensions) };
        let square = rounded(&x);
        let distances: Vec<Value> = (0..clusters).map(|anchor| distance(&x, square, anchor)).collect();
        let nearest = distances.iter().enumerate().fold(Found::NOTHING, |found, (anchor, value)| found.and(*value, first_anchor + anchor));
        // Copies are no rivals.
        let best = nearest.best.value;
        let rival = distances.iter().map(|value| value.value).filter(|value| *value > best).fold(FAR, f64::min);
        let gap = GAP * (square + 1.0).max(nearest.best.size);
        if coincides && rival > gap || rival - best > gap && best > gap {
            points.extend(x);
            found.push(nearest);
        }
    }
    // What earlier pieces found: both nearer, one between, one or both farther, or as near as can be.
    let mut nearest = only(2 * all, 0..0, &[]);
    let mut candidates = vec![POISONED_WORD; all];
    if flags & FIRST == 0 {
        for (i, found) in found.iter_mut().enumerate() {
            let (best, second) = [(0.3, 0.5), (0.3, 2.0), (1.7, 2.0), (3.0, 100.0)][random.below(4) as usize];
            let [best, second] = [best, second].map(|factor| f64::from((factor * found.best.value) as f32));
            let which = random.below(first_anchor as u32);
            (nearest[before + i], nearest[all + before + i], candidates[before + i]) = (best, second, which);
            let earlier = Found { best: best.into(), second: second.into(), which: which as usize };
            *found = earlier.and(found.best, found.which).and(found.second, found.which);
        }
    }
    let labels: Vec<u32> = (0..all)
        .map(|number| match found.get(number.wrapping_sub(before)) {
            Some(found) if random.below(2) == 0 => found.which as u32,
            _ => random.below(clusters as u32),
        })
        .collect();
    let mut table = Table::new(random);
    let labels_at = table.part(labels.iter().copied());
    let candidates_at = table.part(candidates);
    let (rows, _) = tile(group);
    let (groups, partial) = (count.div_ceil(rows), 3);
    let squares: Vec<f64> = (0..count).map(|i| rounded(row(&points, i, dimensions))).collect();
    let mut case = Case::new(StaticKernel::ClusteringLloydAssign, format!("{}, flags {flags}", shape.name()));
    case.bound = bound_of_sum(dimensions);
    let guard = guard(&mut case, random, &[]);
    case.dispatch(
        (groups * group) as u32,
        lloyd::Assign {
            points: count as u32,
            dimensions: dimensions as u32,
            anchors: clusters as u32,
            first_anchor: first_anchor as u32,
            first_point: before as u32,
            labels: labels_at as u32,
            candidates: candidates_at as u32,
            flags: flags as u32,
            guard,
            partial: partial as u32,
            all_points: all as u32,
        },
    );
    case.reals(lloyd::Assign::POINTS, points);
    case.reals(lloyd::Assign::ANCHORS, anchors);
    case.reals(lloyd::Assign::NORMS, norms);
    case.reals(lloyd::Assign::SQUARES, only(all, shape.chunk(), &squares));
    case.reals(lloyd::Assign::NEAREST, nearest);
    case.poisoned(lloyd::Assign::PARTIALS, partial + groups + 3);
    case.indices(table.0);
    let mut changed = vec![0.0; groups];
    for (i, found) in found.iter().enumerate() {
        let (number, which) = (before + i, found.which as u32);
        case.expect(lloyd::Assign::NEAREST, number, found.best);
        case.expect(lloyd::Assign::NEAREST, all + number, found.second);
        if flags & LAST == 0 {
            case.expect_index(candidates_at + number, which);
        } else {
            case.expect_index(candidates_at + number, labels[number]);
            case.expect_index(labels_at + number, which);
            changed[i / rows] += f64::from(u8::from(which != labels[number]));
        }
    }
    changed.into_iter().enumerate().for_each(|(g, changed)| case.expect(lloyd::Assign::PARTIALS, partial + g, changed));
    case
}
