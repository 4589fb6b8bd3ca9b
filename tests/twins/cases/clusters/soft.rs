//! Soft assignment, and the end of an iteration.

use super::{Shape, bound_of_sum, only, row, tile};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{
    StaticKernel,
    clustering::{anneal, lloyd},
};
use leastwise::program::state::cluster::*;

/// Points of a chunk of which a block has some.
fn block_of(shape: &Shape, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
    let Shape { points, before, all, dimensions, .. } = *shape;
    let block = random.vector(points * dimensions);
    (only(all * dimensions, before * dimensions..(before + points) * dimensions, &block), block)
}

/// Few points at a time have scores of all anchors, which may be more than a tile has columns.
fn shape_of_scores(size: usize, group: usize, random: &mut Random) -> Shape {
    let shape = Shape::new(size, group, random);
    let most = if size > 300 { 1 + 40_000 / size } else { usize::MAX };
    let clusters = if size <= 300 && random.below(3) == 0 { 150 } else { shape.clusters };
    Shape { clusters: clusters.min(most), ..shape }
}

pub fn scores(size: usize, group: usize, random: &mut Random) -> Case {
    let shape = shape_of_scores(size, group, random);
    let Shape { before, dimensions, clusters, .. } = shape;
    let (points, block) = block_of(&shape, random);
    let (anchors, norms) = (random.vector(clusters * dimensions), random.vector(clusters));
    let (rows, columns) = tile(group);
    let groups = size.div_ceil(rows) * clusters.div_ceil(columns);
    let mut case = Case::new(StaticKernel::ClusteringAnnealScores, shape.name());
    case.bound = bound_of_sum(dimensions);
    case.dispatch(
        (groups * group) as u32,
        anneal::Scores { points: size as u32, dimensions: dimensions as u32, anchors: clusters as u32, first_point: before as u32 },
    );
    case.poisoned(anneal::Scores::SCORES, clusters * size);
    for (anchor, norm) in norms.iter().enumerate() {
        for i in 0..size {
            let terms = row(&block, i, dimensions).iter().zip(row(&anchors, anchor, dimensions));
            let product: Value = terms.map(|(x, a)| Value::from(x * a)).sum();
            case.expect(anneal::Scores::SCORES, anchor * size + i, Value::from(*norm) - product - product);
        }
    }
    case.reals(anneal::Scores::POINTS, points);
    case.reals(anneal::Scores::ANCHORS, anchors);
    case.reals(anneal::Scores::NORMS, norms);
    case
}

pub fn soften(size: usize, group: usize, random: &mut Random) -> Case {
    let shape = shape_of_scores(size, group, random);
    let Shape { before, all, clusters, .. } = shape;
    let temperature = random.within(0.2, 2.0);
    let mut scores = vec![0.0; clusters * size];
    for i in 0..size {
        let (least, nearest) = (random.signed(), random.below(clusters as u32) as usize);
        for anchor in 0..clusters {
            // Nothing is as unlikely as what is taken for impossible.
            let above = [random.within(0.0, 2.0), random.within(0.0, 15.9), random.within(16.1, 60.0)][random.below(3) as usize];
            let above = if anchor == nearest { 0.0 } else { above };
            scores[anchor * size + i] = f64::from((least + temperature * above) as f32);
        }
    }
    let squares = random.positive(size);
    let mut case = Case::new(StaticKernel::ClusteringAnnealSoften, shape.name());
    case.bound = bound_of_sum(clusters);
    let (groups, partial) = (size.div_ceil(group), 2);
    case.dispatch(size as u32, anneal::Soften { anchors: clusters as u32, first_point: before as u32, partial: partial as u32 });
    case.reals(anneal::Soften::SQUARES, only(all, shape.chunk(), &squares));
    case.reals(anneal::Soften::SCORES, scores.clone());
    case.reals(anneal::Soften::STATE, random_state(random, &[(TEMPERATURE, temperature)]));
    case.poisoned(anneal::Soften::PARTIALS, partial + groups + 2);
    let mut free = vec![Value::default(); groups];
    for i in 0..size {
        let least = (0..clusters).map(|anchor| scores[anchor * size + i]).fold(f64::INFINITY, f64::min);
        // An exponent's rounding is relative to what it was subtracted from.
        let part = |anchor: usize| {
            let score = scores[anchor * size + i];
            let exponent = (least - score) / temperature;
            let value = if exponent > -16.0 { exponent.exp() } else { 0.0 };
            Value { value, size: value * (2.0 + (score.abs() + least.abs()) / temperature) }
        };
        let whole: Value = (0..clusters).map(part).sum();
        (0..clusters).for_each(|anchor| case.expect(anneal::Soften::SCORES, anchor * size + i, part(anchor) / whole));
        let log = Value { value: -temperature * whole.value.ln(), size: temperature * (whole.size / whole.value + whole.value.ln()) };
        free[i / group] = free[i / group] + squares[i].into() + least.into() + log;
    }
    free.into_iter().enumerate().for_each(|(number, free)| case.expect(anneal::Soften::PARTIALS, partial + number, free));
    case
}

/// Blocks are small: a workgroup goes through all points of one.
pub fn blend(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let size = size.min(2000 + size % 8);
    let case = |adds: bool| {
        let shape = shape_of_scores(size, group, random);
        let Shape { before, dimensions, clusters, .. } = shape;
        let (points, block) = block_of(&shape, random);
        let shares = 1 + random.below(3) as usize;
        let parts: Vec<f64> = (0..clusters * size).map(|_| if random.below(3) == 0 { random.within(1e-6, 1.0) } else { 0.0 }).collect();
        let (rows, columns) = tile(group);
        let groups = clusters.div_ceil(rows) * (dimensions + 1).div_ceil(columns) * shares;
        let mut case = Case::new(StaticKernel::ClusteringAnnealBlend, format!("{}, {shares} shares, adds {adds}", shape.name()));
        case.bound = bound_of_sum(size);
        case.dispatch(
            (groups * group) as u32,
            anneal::Blend {
                points: size as u32,
                dimensions: dimensions as u32,
                anchors: clusters as u32,
                shares: shares as u32,
                first_point: before as u32,
                adds: u32::from(adds),
            },
        );
        let width = dimensions + 1;
        if adds {
            case.reals(anneal::Blend::SUMS, random.vector(shares * clusters * width));
        } else {
            case.poisoned(anneal::Blend::SUMS, shares * clusters * width);
        }
        let length = size.div_ceil(shares);
        for share in 0..shares {
            let here = (share * length).min(size)..((share + 1) * length).min(size);
            for anchor in 0..clusters {
                for column in 0..width {
                    let to = (share * clusters + anchor) * width + column;
                    let x = |i: usize| if column < dimensions { block[i * dimensions + column] } else { 1.0 };
                    let sum: Value = here.clone().map(|i| Value::from(parts[anchor * size + i] * x(i))).sum();
                    let was = if adds { case.before(anneal::Blend::SUMS, to).into() } else { Value::default() };
                    case.expect(anneal::Blend::SUMS, to, was + sum);
                }
            }
        }
        case.reals(anneal::Blend::POINTS, points);
        case.reals(anneal::Blend::RESPONSIBILITIES, parts);
        case
    };
    [false, true].map(case).into()
}

/// `size` partials of the energy. Still or not, by the energy and by labels; the last iteration or not; at any place of the ring.
pub fn converge(size: usize, random: &mut Random) -> Vec<Case> {
    let case = |(moves, changes, streak): (bool, bool, f64)| {
        let (energy, low) = (5, size + 9);
        let changes_count = 1 + random.below(300) as usize;
        let changes_at = low + energy + size + 3;
        let mut partials = random.vector(changes_at + changes_count);
        let (high, rest) = (random.positive(size), (0..size).map(|_| f64::from((random.signed() * 1e-7) as f32)).collect::<Vec<_>>());
        partials[energy..energy + size].copy_from_slice(&high);
        partials[low + energy..low + energy + size].copy_from_slice(&rest);
        let changed: Vec<f64> = (0..changes_count).map(|_| f64::from(random.below(9))).collect();
        partials[changes_at..].copy_from_slice(&changed);
        let points = f64::from(10 + random.below(1000));
        let sum: Value = high.iter().chain(&rest).map(|part| Value::from(*part)).sum();
        let mean = sum / points.into();
        let changed: f64 = changed.iter().sum();
        let tolerance = f64::from((0.01 * mean.value + 0.01) as f32);
        let before =
            f64::from((mean.value + if moves { 1.5 } else { 0.5 } * if random.below(2) == 0 { tolerance } else { -tolerance }) as f32);
        let fewest = if changes { changed } else { changed + 1.0 };
        let iteration = f64::from(random.below(3 * HISTORY_LEN));
        let (heat, kept) = (random.within(0.1, 1.0), random.within(0.5, 1.0));
        let set = [
            (ENERGY, before),
            (STREAK, streak),
            (ITERATION, iteration),
            (TEMPERATURE, heat),
            (KEPT_HEAT, kept),
            (TOLERANCE, tolerance),
            (FEWEST_CHANGES, fewest),
            (STREAK_NEEDED, 3.0),
            (POINTS, points),
            (DONE, 0.0),
        ];
        let args = lloyd::Converge {
            energy: energy as u32,
            energy_count: size as u32,
            distance: low as u32,
            guard: DONE,
            changes: changes_at as u32,
            change_count: changes_count as u32,
        };
        let name = format!("the energy moves {moves}, labels change {changes}, a streak of {streak}");
        let mut case = Case::reduction(args, name, random_state(random, &set));
        case.stop = Some((DONE, 1.0));
        case.bound = 2e-6;
        case.reals(lloyd::Converge::PARTIALS, partials);
        let streak = if moves || changes { 0.0 } else { streak + 1.0 };
        let entry = HISTORY + 3 * (iteration as u32 % HISTORY_LEN);
        let cooled = Value::from(heat * kept);
        case.expect_state(&[(ENERGY, mean), (CHANGED, changed.into()), (STREAK, streak.into()), (ITERATION, (iteration + 1.0).into())]);
        case.expect_state(&[(TEMPERATURE, cooled), (entry, mean), (entry + 1, changed.into()), (entry + 2, heat.into())]);
        if streak >= 3.0 {
            case.expect_state(&[(DONE, 1.0.into())]);
        }
        case
    };
    [(false, false, 0.0), (false, false, 2.0), (true, false, 2.0), (false, true, 5.0)].map(case).into()
}
