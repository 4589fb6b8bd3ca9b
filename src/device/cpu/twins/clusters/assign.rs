//! The twin of `assign`.

use super::multiply::{Panels, Sum};
use super::{tile, two};
use crate::device::binding::{ARENA, DATA, JACOBIAN, PARTIALS, STATE, VECTOR_IN, VECTOR_OUT};
use crate::device::cpu::threads::{self, Pieces};
use crate::device::cpu::{Bindings, Work};
use crate::real::Real;

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

/// The nearest anchor of every point, and how far it and the second nearest are.
pub fn assign<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [count, dimensions, anchors_here, first_anchor, first_point, labels, candidates, flags, guard, partial, all, _] =
        work.params.words.map(|word| word as usize);
    if bindings.read(STATE)[guard] != R::ZERO {
        return;
    }
    let (points, anchors) = (bindings.read(ARENA), bindings.read(DATA));
    let (squares, norms) = (bindings.read(VECTOR_IN), bindings.read(JACOBIAN));
    let (table, nearest, partials) = (bindings.index_mut(), bindings.write(VECTOR_OUT), bindings.write(PARTIALS));
    let sum = match flags & 9 {
        0 | 8 => Sum::Products,
        1 => Sum::Differences,
        _ => Sum::DifferencesByFours,
    };
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
        let row = |i: usize| &points[(of.start + i) * dimensions..(of.start + i + 1) * dimensions];
        panels.multiply(sum, of.len(), row, |first, column, sums| {
            let here = panels.columns.min(column + sums[0].len()) - column;
            for (found, sums) in found[first..].iter_mut().zip(sums) {
                for (lane, sum) in sums[..here].iter().enumerate() {
                    let score = if flags & 1 != 0 { *sum } else { norms[column + lane] - (*sum + *sum) };
                    if score < found.second {
                        if score < found.best {
                            *found = Candidate { best: score, second: found.best, which: (column + lane) as u32 };
                        } else {
                            found.second = score;
                        }
                    }
                }
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
