//! Twins of what chooses where anchors start: `farthest`, `pick`, `adopt`, `potentials`, `elect`.

use crate::Workgroups;
use crate::block::{Instructions, SimdKernel};
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::clustering::multiply::{PANEL, Panels, Sum};
use crate::twins::clustering::squared_distance;
use crate::twins::reduce::{larger, smaller};
use leastwise_kernels as kernels;
use std::ops::Range;

/// Lanes that have a row together (`shaders/clustering/shared/share_rows.wgsl`).
pub const SHARE: u32 = 8;

/// Rows that a lane of `potentials` has at a time.
pub const POTENTIALS_ABREAST: u32 = 4;

/// Workgroups for so many rows, which have so many at a time.
pub fn runs_for(rows: u32, round: u32) -> u32 {
    rows.div_ceil(round).clamp(1, MOST_RUNS)
}

/// Workgroups of what goes over a chunk: what fills a large GPU.
const MOST_RUNS: u32 = 1024;

/// Lanes of a bundle, whose sums are added up first (`shaders/clustering/init/pick.wgsl`).
const BUNDLE: usize = 16;

/// Rows whose distances are summed side by side: a sum's additions wait for one another.
const ABREAST: usize = 8;

/// One of the runs that so many rows are cut into: whole rounds of so many.
fn rows_of(run: usize, runs: usize, rows: usize, round: usize) -> Range<usize> {
    let length = rows.div_ceil(runs * round) * round;
    (run * length).min(rows)..((run + 1) * length).min(rows)
}

/// Hands ‖x − a‖² of a few rows at a time to `take(first row, distances)`, each summed one square after the other.
struct Distances<'a, R, F> {
    rows: &'a [R],
    anchor: &'a [R],
    take: F,
}

impl<R: Real, F: FnMut(usize, &[R])> SimdKernel for Distances<'_, R, F> {
    #[inline(always)]
    fn run(mut self) {
        let dimensions = self.anchor.len();
        let blocks = self.rows.chunks_exact(ABREAST * dimensions);
        let rest = blocks.remainder();
        let first_of_rest = (self.rows.len() - rest.len()) / dimensions;
        for (number, block) in blocks.enumerate() {
            (self.take)(number * ABREAST, &abreast(block, self.anchor));
        }
        for (number, row) in rest.chunks_exact(dimensions).enumerate() {
            (self.take)(first_of_rest + number, &[squared_distance(row, self.anchor)]);
        }
    }
}

#[inline(always)]
fn abreast<R: Real>(block: &[R], anchor: &[R]) -> [R; ABREAST] {
    let dimensions = anchor.len();
    let [r0, r1, r2, r3, r4, r5, r6, r7]: [&[R]; ABREAST] = std::array::from_fn(|row| &block[row * dimensions..][..dimensions]);
    let mut sums = [R::ZERO; ABREAST];
    for ((((((((a, x0), x1), x2), x3), x4), x5), x6), x7) in anchor.iter().zip(r0).zip(r1).zip(r2).zip(r3).zip(r4).zip(r5).zip(r6).zip(r7) {
        let row = [*x0, *x1, *x2, *x3, *x4, *x5, *x6, *x7];
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += (x - *a) * (x - *a);
        }
    }
    sums
}

/// How far every point is from the anchors that were chosen; of each run the largest and the sum.
pub fn farthest<R: Real>(
    work: &Workgroups,
    args: kernels::clustering::init::Farthest,
    bindings: kernels::clustering::init::FarthestSlices<R>,
) {
    let [count, dimensions, anchor, first_point, is_first, partial] =
        [args.points, args.dimensions, args.anchor, args.first_point, args.starts, args.partial].map(|word| word as usize);
    let (points, anchors) = (bindings.points, bindings.anchors);
    let (mut nearest, partials) = (Pieces::new(bindings.nearest), bindings.partials);
    let anchor = &anchors[anchor * dimensions..][..dimensions];
    let slots = (work.group_size / SHARE) as usize;
    let run = |group: u32| rows_of(group as usize, work.params.group_count as usize, count, slots);
    let tasks: Vec<_> =
        work.groups.clone().map(run).map(|run| (run.clone(), nearest.take(first_point + run.start..first_point + run.end))).collect();
    let elements = tasks.iter().map(|(run, _)| run.len()).sum::<usize>() * dimensions;
    let found = threads::map(tasks, elements, |(run, nearest)| {
        let (mut peaks, mut sums) = (vec![-R::ONE; slots], vec![R::ZERO; slots]);
        let rows = &points[run.start * dimensions..run.end * dimensions];
        let take = |first: usize, distances: &[R]| {
            for (place, distance) in (first..).zip(distances) {
                let least = if is_first != 0 { *distance } else { smaller(nearest[place], *distance) };
                nearest[place] = least;
                peaks[place % slots] = larger(peaks[place % slots], least);
                sums[place % slots] += least;
            }
        };
        Instructions::best().run(Distances { rows, anchor, take });
        [peaks.into_iter().fold(-R::ONE, larger), sums.into_iter().fold(R::ZERO, |sum, of_slot| sum + of_slot)]
    });
    let to = &mut partials[partial + 2 * work.groups.start as usize..];
    found.into_iter().flatten().zip(to).for_each(|(value, to)| *to = value);
}

/// The first of a few sums up to which they exceed what is left, which becomes less by those before; else the last of those that are
/// not 0.
fn search<R: Real>(range: Range<usize>, left: &mut R, sum: impl Fn(usize) -> R) -> usize {
    let mut at = range.start;
    for i in range.filter(|i| sum(*i) > R::ZERO) {
        at = i;
        if *left < sum(i) {
            break;
        }
        *left -= sum(i);
    }
    at
}

/// The points that may become the next anchors.
pub fn pick<R: Real>(work: &Workgroups, args: kernels::clustering::init::Pick, bindings: kernels::clustering::init::PickSlices<R>) {
    let [groups, chunk_points, points, at_random, uniform, choice, dimensions, row, at_hand] =
        [args.runs, args.chunk_points, args.points, args.random, args.uniform, args.choice, args.dimensions, args.row, args.whole]
            .map(|word| word as usize);
    let (all_points, uniforms) = (bindings.points, bindings.uniforms);
    let (nearest, partials) = (bindings.nearest, bindings.partials);
    let (table, rows) = (bindings.table, bindings.rows);
    let group_size = work.group_size as usize;
    let run_at = |run: usize| -> Range<usize> {
        let begin = run / groups * chunk_points;
        let run = rows_of(run % groups, groups, chunk_points.min(points - begin), (work.group_size / SHARE) as usize);
        begin + run.start..begin + run.end
    };
    let runs = points.div_ceil(chunk_points) * groups;
    let farthest = || {
        let (mut largest, mut at) = (-R::ONE, 0);
        for run in 0..runs {
            if partials[2 * run] >= largest {
                (largest, at) = (partials[2 * run], run);
            }
        }
        run_at(at).rev().find(|i| nearest[*i] >= largest).unwrap_or(run_at(at).start)
    };
    // Lanes have a piece of the terms each, and sums of bundles of lanes are searched first.
    let within = |terms: Range<usize>, left: &mut R, is_part: bool, term: &dyn Fn(usize) -> R| {
        let piece = terms.len().div_ceil(group_size);
        let piece_at = |lane: usize| (terms.start + lane * piece).min(terms.end)..(terms.start + (lane + 1) * piece).min(terms.end);
        let sum = |sums: &[R]| sums.iter().fold(R::ZERO, |sum, x| sum + *x);
        let lanes: Vec<R> = (0..group_size).map(|lane| piece_at(lane).fold(R::ZERO, |sum, i| sum + term(i))).collect();
        let bundles: Vec<R> = lanes.chunks(BUNDLE).map(sum).collect();
        if is_part {
            *left = *left * sum(&bundles);
        }
        let bundle = search(0..bundles.len(), left, |bundle| bundles[bundle]);
        let lane = search(bundle * BUNDLE..(bundle + 1) * BUNDLE, left, |lane| lanes[lane]);
        search(piece_at(lane).start.min(terms.end - 1)..piece_at(lane).end, left, term)
    };
    let at_random_by = |u: R| {
        let mut left = u;
        let run = within(0..runs, &mut left, true, &|run| partials[2 * run + 1]);
        within(run_at(run), &mut left, false, &|i| nearest[i])
    };
    for group in work.groups.clone().map(|group| group as usize) {
        let point = if at_random == 0 { farthest() } else { at_random_by(uniforms[uniform + group]) };
        table[choice + group] = point as u32;
        if at_hand != 0 {
            rows[(row + group) * dimensions..][..dimensions].copy_from_slice(&all_points[point * dimensions..][..dimensions]);
        }
    }
}

/// Rows start where the points that were picked are.
pub fn adopt<R: Real>(work: &Workgroups, args: kernels::clustering::init::Adopt, bindings: kernels::clustering::init::AdoptSlices<R>) {
    let [first_point, count, dimensions, row, choice] =
        [args.first_point, args.points, args.dimensions, args.row, args.choice].map(|word| word as usize);
    let (points, table, rows) = (bindings.points, bindings.table, bindings.rows);
    for i in work.items() {
        let point = (table[choice + i / dimensions] as usize).checked_sub(first_point).filter(|point| *point < count);
        if let Some(point) = point {
            rows[row * dimensions + i] = points[point * dimensions + i % dimensions];
        }
    }
}

/// What candidates would leave of each run.
pub fn potentials<R: Real>(
    work: &Workgroups,
    args: kernels::clustering::init::Potentials,
    bindings: kernels::clustering::init::PotentialsSlices<R>,
) {
    let [count, dimensions, several, first_point, partial] =
        [args.points, args.dimensions, args.candidates, args.first_point, args.partial].map(|word| word as usize);
    let (points, candidates, nearest) = (bindings.points, bindings.candidates, bindings.nearest);
    let partials = bindings.partials;
    let panels = Panels::new(several, dimensions, |candidate, k| candidates[candidate * dimensions + k]);
    let round = (POTENTIALS_ABREAST * work.group_size / SHARE) as usize;
    let run = |group: u32| rows_of(group as usize, work.params.group_count as usize, count, round);
    let tasks: Vec<_> = work.groups.clone().map(run).collect();
    let elements = tasks.iter().map(Range::len).sum::<usize>() * dimensions * several;
    let found = threads::map(tasks, elements, |run| {
        let mut sums = vec![[R::ZERO; PANEL]; several.div_ceil(PANEL)];
        let nearest = &nearest[first_point + run.start..first_point + run.end];
        let row = |i: usize| &points[(run.start + i) * dimensions..][..dimensions];
        panels.multiply(Sum::Differences, run.len(), row, |first, candidate, distances| {
            let mut sum = sums[candidate / PANEL];
            for (least, distances) in nearest[first..].iter().zip(distances) {
                for lane in 0..PANEL {
                    sum[lane] += smaller(*least, distances[lane]);
                }
            }
            sums[candidate / PANEL] = sum;
        });
        sums
    });
    let to = partials[partial + several * work.groups.start as usize..].chunks_exact_mut(several);
    found.iter().zip(to).for_each(|(sums, to)| to.copy_from_slice(&sums.as_flattened()[..several]));
}

/// The candidate that leaves the least becomes the anchor.
pub fn elect<R: Real>(_: &Workgroups, args: kernels::clustering::init::Elect, bindings: kernels::clustering::init::ElectSlices<R>) {
    let [runs, several, dimensions, row, partial] =
        [args.runs, args.candidates, args.dimensions, args.row, args.partial].map(|word| word as usize);
    let (candidates, anchors, partials) = (bindings.candidates, bindings.anchors, bindings.partials);
    let potential = |candidate: usize| {
        let mut lanes = [R::ZERO; BUNDLE];
        (0..runs).for_each(|run| lanes[run % BUNDLE] += partials[partial + run * several + candidate]);
        lanes.into_iter().fold(R::ZERO, |sum, of_lane| sum + of_lane)
    };
    let potentials = (0..several).map(|candidate| (candidate, potential(candidate)));
    let Some((elected, _)) = potentials.reduce(|least, other| if other.1 < least.1 { other } else { least }) else { return };
    anchors[row * dimensions..][..dimensions].copy_from_slice(&candidates[elected * dimensions..][..dimensions]);
}
