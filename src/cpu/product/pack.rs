//! Panels: a part of a factor, copied into the order in which the inner loop reads it.

use super::{DEPTH, Values};
use crate::half;
use crate::real::Real;

/// Whether each is the one before it plus one.
#[inline(always)]
fn consecutive(offsets: &[u32]) -> bool {
    offsets.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1))
}

/// The address behind so many values from one on; none when not all are there, or the addresses start again at zero in between.
#[inline(always)]
fn end<R>(values: Values<R>, start: u32, len: usize) -> Option<usize> {
    let count = match values {
        Values::Reals(values) => values.len(),
        Values::Halves(words) => 2 * words.len(),
    };
    start.checked_add(len as u32).map(|end| end as usize).filter(|end| *end <= count)
}

/// Fills a panel, a row for each of `depth`: `panel[p][l] = values[depth[p] + lanes[l]]`, and zero in lanes that there are not.
///
/// # Panics
/// When an address is not one of `values`.
#[inline(always)]
pub fn pack<R: Real, const N: usize>(values: Values<R>, lanes: &[u32], depth: &[u32], panel: &mut [[R; N]]) {
    let count = lanes.len();
    panel.iter_mut().for_each(|row| row[count..].fill(R::ZERO));
    if consecutive(lanes) {
        for (row, offset) in panel.iter_mut().zip(depth) {
            let start = offset.wrapping_add(lanes[0]);
            match (values, end(values, start, count)) {
                // A copy whose length is known is a few moves.
                (Values::Reals(values), Some(end)) if count == N => row.copy_from_slice(&values[start as usize..end]),
                (Values::Reals(values), Some(end)) => row[..count].copy_from_slice(&values[start as usize..end]),
                (Values::Halves(words), Some(_)) => half::widen(words, start, &mut row[..count]),
                (values, None) => gather(values, lanes, *offset, row),
            }
        }
        return;
    }
    let start = |lane: &u32| lane.wrapping_add(depth[0]);
    if consecutive(depth) && lanes.iter().all(|lane| end(values, start(lane), depth.len()).is_some()) {
        for (l, start) in lanes.iter().map(start).enumerate() {
            match values {
                Values::Reals(values) => panel.iter_mut().zip(&values[start as usize..]).for_each(|(row, value)| row[l] = *value),
                Values::Halves(words) => {
                    let mut numbers = [R::ZERO; DEPTH];
                    for (start, rows) in (start..).step_by(DEPTH).zip(panel.chunks_mut(DEPTH)) {
                        half::widen(words, start, &mut numbers[..rows.len()]);
                        rows.iter_mut().zip(&numbers).for_each(|(row, number)| row[l] = *number);
                    }
                }
            }
        }
    } else {
        panel.iter_mut().zip(depth).for_each(|(row, offset)| gather(values, lanes, *offset, row));
    }
}

#[inline(always)]
fn gather<R: Real>(values: Values<R>, lanes: &[u32], offset: u32, row: &mut [R]) {
    row.iter_mut().zip(lanes).for_each(|(entry, lane)| *entry = values.at(lane.wrapping_add(offset)));
}
