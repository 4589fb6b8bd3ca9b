//! Twins of soft assignment, and of the end of an iteration: `scores`, `soften`, `blend`, `converge`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::clustering::multiply::{Panels, Sum};
use crate::twins::clustering::tile;
use crate::twins::reduce::{Lanes, MAX_GROUP, group_sum};
use leastwise_kernels as kernels;
use leastwise_kernels::state::cluster::*;

/// ‖a‖² − T ln p − 2x·a, anchor by anchor.
pub fn scores<R: Real>(
    work: &Workgroups,
    args: kernels::clustering::anneal::Scores,
    bindings: kernels::clustering::anneal::ScoresSlices<R>,
) {
    let [count, dimensions, anchors_here, first_point] =
        [args.points, args.dimensions, args.anchors, args.first_point].map(|word| word as usize);
    let (points, anchors, norms) = (bindings.points, bindings.anchors, bindings.norms);
    let scores = bindings.scores;
    let (rows, columns) = tile(work.group_size);
    // A workgroup of the shader has a tile of anchors too; here the first of a row of tiles does all of them.
    let tiles = anchors_here.div_ceil(columns).max(1);
    let panels = Panels::new(anchors_here, dimensions, |anchor, k| anchors[anchor * dimensions + k]);
    for group in work.groups.clone().filter(|group| (*group as usize).is_multiple_of(tiles)) {
        let first = (group as usize / tiles * rows).min(count);
        let here = (first + rows).min(count) - first;
        let row = |i: usize| &points[(first_point + first + i) * dimensions..][..dimensions];
        panels.multiply(Sum::Products, here, row, |i, anchor, sums| {
            for (r, sums) in sums.iter().enumerate().take(here - i) {
                for (lane, sum) in sums.iter().enumerate().take(panels.columns - anchor) {
                    scores[(anchor + lane) * count + first + i + r] = norms[anchor + lane] - (*sum + *sum);
                }
            }
        });
    }
}

/// Scores become responsibilities; partial sums of the free energy.
pub fn soften<R: Real>(
    work: &Workgroups,
    args: kernels::clustering::anneal::Soften,
    bindings: kernels::clustering::anneal::SoftenSlices<R>,
) {
    let [anchors, first_point, partial] = [args.anchors, args.first_point, args.partial].map(|word| word as usize);
    let (squares, scores) = (bindings.squares, bindings.scores);
    let (temperature, partials) = (bindings.state[TEMPERATURE as usize], bindings.partials);
    let (count, group_size) = (work.params.count as usize, work.group_size as usize);
    for group in work.groups.clone() {
        let first = (group as usize * group_size).min(count);
        let here = (first + group_size).min(count) - first;
        let mut least: Lanes<R> = [R::ZERO; MAX_GROUP];
        let mut whole: Lanes<R> = [R::ZERO; MAX_GROUP];
        least[..here].copy_from_slice(&scores[first..first + here]);
        for row in scores[..anchors * count].chunks(count).skip(1) {
            for (least, score) in least.iter_mut().zip(&row[first..first + here]) {
                *least = if *score < *least { *score } else { *least };
            }
        }
        for row in scores[..anchors * count].chunks_mut(count) {
            for ((score, least), whole) in row[first..first + here].iter_mut().zip(&least).zip(&mut whole) {
                let exponent = (*least - *score) / temperature;
                *score = R::ZERO;
                if exponent > R::from_f64(-16.0) {
                    *score = R::from_f64(libm::exp(exponent.to_f64()));
                    *whole += *score;
                }
            }
        }
        for row in scores[..anchors * count].chunks_mut(count) {
            row[first..first + here].iter_mut().zip(&whole).for_each(|(score, whole)| *score = *score / *whole);
        }
        let mut free: Lanes<R> = [R::ZERO; MAX_GROUP];
        for lane in 0..here {
            let log = R::from_f64(libm::log(whole[lane].to_f64()));
            free[lane] = squares[first_point + first + lane] + least[lane] - temperature * log;
        }
        partials[partial + group as usize] = group_sum(&free, group_size);
    }
}

/// Σ p x and Σ p over a block of points, for every anchor.
pub fn blend<R: Real>(work: &Workgroups, args: kernels::clustering::anneal::Blend, bindings: kernels::clustering::anneal::BlendSlices<R>) {
    let [count, dimensions, anchors, shares, first_point, adds] =
        [args.points, args.dimensions, args.anchors, args.shares, args.first_point, args.adds].map(|word| word as usize);
    let (points, responsibilities) = (bindings.points, bindings.responsibilities);
    let (rows, columns) = tile(work.group_size);
    // A workgroup of the shader has a tile of columns too; here the first of a row of tiles does all of them.
    let wide = dimensions / columns + 1;
    let high = anchors.div_ceil(rows);
    let mut sums = Pieces::new(bindings.sums);
    let length = count.div_ceil(shares);
    let mut tasks = Vec::new();
    for group in work.groups.clone().filter(|group| (*group as usize).is_multiple_of(wide)) {
        let (share, first) = (group as usize / wide / high, group as usize / wide % high * rows);
        for anchor in (first..(first + rows).min(anchors)).take_while(|_| share < shares) {
            let to = (share * anchors + anchor) * (dimensions + 1);
            tasks.push((share, anchor, sums.take(to..to + dimensions + 1)));
        }
    }
    let elements = tasks.len() * length * dimensions / 4;
    threads::each(tasks, elements, |(share, anchor, sums)| {
        if adds == 0 {
            sums.fill(R::ZERO);
        }
        let Some((mass, sums)) = sums.split_last_mut() else { return };
        for point in (share * length).min(count)..((share + 1) * length).min(count) {
            let part = responsibilities[anchor * count + point];
            // Most of them.
            if part != R::ZERO {
                let row = &points[(first_point + point) * dimensions..][..dimensions];
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += part * *x);
                *mass += part;
            }
        }
    });
}
