//! The twin of `assign`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::clustering::multiply::{PANEL, Panels, ROWS, Sum};
use crate::twins::clustering::{tile, two};
use crate::twins::reduce::{larger, smaller};
use leastwise_kernels as kernels;

#[derive(Clone, Copy)]
struct Candidate<R> {
    best: R,
    second: R,
    which: u32,
}

impl<R: Real> Candidate<R> {
    fn or(self, other: Self) -> Self {
        let least = |a: R, b: R| if b < a { b } else { a };
        if other.best < self.best || other.best == self.best && other.which < self.which {
            return Self { second: least(self.best, other.second), ..other };
        }
        Self { second: least(self.second, other.best), ..self }
    }
}

/// The same of every column of a panel, so that a panel's scores are judged side by side.
#[derive(Clone, Copy)]
struct Lanes<R> {
    best: [R; PANEL],
    second: [R; PANEL],
    /// First columns of their panels.
    which: [u32; PANEL],
}

impl<R: Real> Lanes<R> {
    fn new(far: R) -> Self {
        Self { best: [far; PANEL], second: [far; PANEL], which: [0; PANEL] }
    }

    /// Takes a panel's scores; of equals the first stays. Loops are apart, and read what was before: so they become vector instructions.
    #[inline(always)]
    fn take(&mut self, column: u32, scores: &[R; PANEL]) {
        let Self { best, second, which } = *self;
        for lane in 0..PANEL {
            self.best[lane] = smaller(best[lane], scores[lane]);
        }
        for lane in 0..PANEL {
            self.second[lane] = smaller(second[lane], larger(scores[lane], best[lane]));
        }
        for lane in 0..PANEL {
            self.which[lane] = if scores[lane] < best[lane] { column } else { which[lane] };
        }
    }

    fn best(&self) -> Candidate<R> {
        // Where no score is less than any number, it is the first anchor's.
        let of = |lane: usize| Candidate { best: self.best[lane], second: self.second[lane], which: self.which[lane] + lane as u32 };
        (1..PANEL).fold(of(0), |found, lane| found.or(of(lane)))
    }
}

/// The nearest anchor of every point, and how far it and the second nearest are.
pub fn assign<R: Real>(work: &Workgroups, args: kernels::clustering::lloyd::Assign, bindings: kernels::clustering::lloyd::AssignSlices<R>) {
    let [count, dimensions, anchors_here, first_anchor, first_point, labels, candidates, flags, guard, partial, all] = [
        args.points,
        args.dimensions,
        args.anchors,
        args.first_anchor,
        args.first_point,
        args.labels,
        args.candidates,
        args.flags,
        args.guard,
        args.partial,
        args.all_points,
    ]
    .map(|word| word as usize);
    if bindings.state[guard] != R::ZERO {
        return;
    }
    let (points, anchors) = (bindings.points, bindings.anchors);
    let (squares, norms) = (bindings.squares, bindings.norms);
    let (table, nearest, partials) = (bindings.table, bindings.nearest, bindings.partials);
    let sum = match flags & 9 {
        0 | 8 => Sum::Products,
        1 => Sum::Differences,
        _ => Sum::DifferencesByFours,
    };
    // As long as whole panels.
    let mut padded = norms[..if flags & 1 == 0 { anchors_here } else { 0 }].to_vec();
    padded.resize(anchors_here.next_multiple_of(PANEL), R::ZERO);
    let panels = Panels::new(anchors_here, dimensions, |anchor, k| anchors[anchor * dimensions + k]);
    let (tile, _) = tile(work.group_size);
    let of_group = |group: u32| {
        let start = (group as usize * tile).min(count);
        start..(start + tile).min(count)
    };
    let (best, second) = nearest.split_at_mut(all);
    let (labels, candidates) = two(table, labels..labels + all, candidates..candidates + all);
    let (mut best, mut second) = (Pieces::new(best), Pieces::new(second));
    let (mut labels, mut candidates) = (Pieces::new(labels), Pieces::new(candidates));
    let tasks = work.groups.clone().map(|group| {
        let points = of_group(group);
        let numbers = first_point + points.start..first_point + points.end;
        (points, best.take(numbers.clone()), second.take(numbers.clone()), labels.take(numbers.clone()), candidates.take(numbers))
    });
    let tasks: Vec<_> = tasks.collect();
    let elements = work.items().len() * dimensions * anchors_here;
    let changed = threads::map(tasks, elements, |(of, best, second, labels, candidates)| {
        let far = R::from_f64(3e38);
        let mut found = vec![Candidate { best: far, second: far, which: 0 }; of.len()];
        let mut lanes = [Lanes::new(far); ROWS];
        let row = |i: usize| &points[(of.start + i) * dimensions..(of.start + i + 1) * dimensions];
        panels.multiply(sum, of.len(), row, |first, column, sums| {
            if column == 0 {
                lanes = [Lanes::new(far); ROWS];
            }
            let here = panels.columns.min(column + PANEL) - column;
            for (lanes, sums) in lanes.iter_mut().zip(sums) {
                let mut scores = *sums;
                if flags & 1 == 0 {
                    for (score, norm) in scores.iter_mut().zip(&padded[column..column + PANEL]) {
                        *score = *norm - (*score + *score);
                    }
                }
                if here < PANEL {
                    scores[here..].fill(far);
                }
                lanes.take(column as u32, &scores);
            }
            if column + PANEL >= panels.columns {
                found[first..].iter_mut().zip(&lanes).for_each(|(found, lanes)| *found = lanes.best());
            }
        });
        let mut changed = 0;
        for (i, found) in found.into_iter().enumerate() {
            let square = if flags & 1 != 0 { R::ZERO } else { squares[first_point + of.start + i] };
            let positive = |x: R| if x > R::ZERO { x } else { R::ZERO };
            let mut found = Candidate {
                best: positive(found.best + square),
                second: positive(found.second + square),
                which: found.which.wrapping_add(first_anchor as u32),
            };
            if flags & 2 == 0 {
                found = Candidate { best: best[i], second: second[i], which: candidates[i] }.or(found);
            }
            (best[i], second[i]) = (found.best, found.second);
            if flags & 4 == 0 {
                candidates[i] = found.which;
            } else {
                changed += u32::from(labels[i] != found.which);
                candidates[i] = std::mem::replace(&mut labels[i], found.which);
            }
        }
        R::from_f64(changed.into())
    });
    partials[partial + work.groups.start as usize..][..changed.len()].copy_from_slice(&changed);
}
