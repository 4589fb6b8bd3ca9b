//! Twins of what chooses where anchors start: `farthest`, `pick`, `adopt`.

use super::super::reduce::{Lanes, MAX_GROUP, group_max, group_sum, larger, run_elements, runs};
use super::squared_distance;
use crate::device::binding::{ARENA, DATA, PARTIALS, VECTOR_IN, VECTOR_OUT};
use crate::device::cpu::threads::{self, Pieces};
use crate::device::cpu::{Bindings, Work};
use crate::real::Real;
use std::ops::Range;

/// Rows whose distances are summed side by side: a sum's additions wait for one another.
const ABREAST: usize = 8;

/// ‖x − a‖² of every row, each summed one square after the other.
fn rows_from<R: Real>(rows: &[R], anchor: &[R]) -> Vec<R> {
    let dimensions = anchor.len();
    let mut distances = Vec::with_capacity(rows.len() / dimensions);
    let mut blocks = rows.chunks_exact(ABREAST * dimensions);
    for block in &mut blocks {
        let rows: [&[R]; ABREAST] = std::array::from_fn(|row| &block[row * dimensions..(row + 1) * dimensions]);
        let mut sums = [R::ZERO; ABREAST];
        for (k, a) in anchor.iter().enumerate() {
            for row in 0..ABREAST {
                let difference = rows[row][k] - *a;
                sums[row] += difference * difference;
            }
        }
        distances.extend(sums);
    }
    distances.extend(blocks.remainder().chunks_exact(dimensions).map(|row| squared_distance(row, anchor)));
    distances
}

/// How far every point is from the anchors that were chosen; of each run the largest and the sum.
pub fn farthest<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [count, dimensions, anchor, first_point, is_first, partial, ..] = work.params.words.map(|word| word as usize);
    let (points, anchors) = (bindings.read(ARENA), bindings.read(DATA));
    let (mut nearest, partials) = (Pieces::new(bindings.write(VECTOR_OUT)), bindings.write(PARTIALS));
    let anchor = &anchors[anchor * dimensions..][..dimensions];
    let group_size = work.group_size as usize;
    let tasks: Vec<_> = runs(work, count).map(|run| (run.clone(), nearest.take(first_point + run.start..first_point + run.end))).collect();
    let found = threads::map(tasks, run_elements(work, count) * dimensions, |(run, nearest)| {
        let mut peaks: Lanes<R> = [-R::ONE; MAX_GROUP];
        let mut sums: Lanes<R> = [R::ZERO; MAX_GROUP];
        let distances = rows_from(&points[run.start * dimensions..run.end * dimensions], anchor);
        for (place, (distance, least)) in distances.into_iter().zip(nearest).enumerate() {
            if is_first != 0 || distance < *least {
                *least = distance;
            }
            let lane = place % group_size;
            peaks[lane] = larger(peaks[lane], *least);
            sums[lane] += *least;
        }
        [group_max(&peaks, group_size), group_sum(&sums, group_size)]
    });
    let to = &mut partials[partial + 2 * work.groups.start as usize..];
    found.into_iter().flatten().zip(to).for_each(|(value, to)| *to = value);
}

/// The point that becomes the next anchor.
pub fn pick<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [groups, chunk_points, points, at_random, number, choice, ..] = work.params.words.map(|word| word as usize);
    let (uniforms, nearest, partials) = (bindings.read(DATA), bindings.read(VECTOR_IN), bindings.read(PARTIALS));
    let table = bindings.index_mut();
    let group_size = work.group_size as usize;
    let run_at = |run: usize| -> Range<usize> {
        let begin = run / groups * chunk_points;
        let elements = chunk_points.min(points - begin);
        let length = elements.div_ceil(groups).next_multiple_of(group_size);
        let start = (run % groups * length).min(elements);
        begin + start..begin + (start + length).min(elements)
    };
    let all = points.div_ceil(chunk_points) * groups;
    if at_random == 0 {
        let (mut largest, mut at) = (-R::ONE, 0);
        for run in 0..all {
            if partials[2 * run] >= largest {
                (largest, at) = (partials[2 * run], run);
            }
        }
        let last = run_at(at).rev().find(|i| nearest[*i] >= largest);
        table[choice] = last.unwrap_or(run_at(at).start) as u32;
        return;
    }
    // The first up to which the sums exceed what is left; else the last of those that are not 0.
    let search = |range: Range<usize>, left: &mut R, sum: &dyn Fn(usize) -> R| {
        let mut at = range.start;
        for i in range.filter(|i| sum(*i) > R::ZERO) {
            at = i;
            if *left < sum(i) {
                break;
            }
            *left -= sum(i);
        }
        at
    };
    let total = (0..all).fold(R::ZERO, |total, run| total + partials[2 * run + 1]);
    let mut left = total * uniforms[number];
    let run = run_at(search(0..all, &mut left, &|run| partials[2 * run + 1]));
    let piece = run.len().div_ceil(group_size);
    let piece_at = |lane: usize| (run.start + lane * piece).min(run.end)..(run.start + (lane + 1) * piece).min(run.end);
    let sums: Vec<R> = (0..group_size).map(|lane| piece_at(lane).fold(R::ZERO, |sum, i| sum + nearest[i])).collect();
    let lane = search(0..group_size, &mut left, &|lane| sums[lane]);
    let within = piece_at(lane).start.min(run.end - 1)..piece_at(lane).end;
    table[choice] = search(within, &mut left, &|i| nearest[i]) as u32;
}

/// An anchor starts where the point that was picked is.
pub fn adopt<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [first_point, count, dimensions, anchor, choice, ..] = work.params.words.map(|word| word as usize);
    let (points, table, anchors) = (bindings.read(ARENA), bindings.index(), bindings.write(VECTOR_OUT));
    let Some(point) = (table[choice] as usize).checked_sub(first_point).filter(|point| *point < count) else { return };
    for k in work.items() {
        anchors[anchor * dimensions + k] = points[point * dimensions + k];
    }
}

/// Two candidates for every cluster, where two of its members are.
pub fn seed<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [dimensions, first_point, count, _, members, begins, u, v, ..] = work.params.words.map(|word| word as usize);
    let (points, table, candidates) = (bindings.read(ARENA), bindings.index(), bindings.write(VECTOR_OUT));
    for i in work.items() {
        let candidate = i / dimensions;
        let (begin, end) = (table[begins + candidate / 2] as usize, table[begins + candidate / 2 + 1] as usize);
        let Some(last) = (end - begin).checked_sub(1) else { continue };
        let part = if candidate % 2 == 1 { v } else { u } as u64;
        let place = begin + (last as u64 * part / 65535) as usize;
        if let Some(point) = (table[members + place] as usize).checked_sub(first_point).filter(|point| *point < count) {
            candidates[i] = points[point * dimensions + i % dimensions];
        }
    }
}
