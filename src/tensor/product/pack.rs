//! Panels: a part of a factor, copied into the order in which the inner loop reads it.

use crate::real::Real;

/// Whether each is the one before it plus one.
#[inline(always)]
fn consecutive(offsets: &[u32]) -> bool {
    offsets.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1))
}

/// So many values from an address on; none when not all are there, or the addresses start again at zero in between.
#[inline(always)]
fn run<R>(values: &[R], start: u32, len: usize) -> Option<&[R]> {
    let end = start.checked_add(len as u32)?;
    values.get(start as usize..end as usize)
}

/// Fills a panel, a row for each of `depth`: `panel[p][l] = values[depth[p] + lanes[l]]`, and zero in lanes that there are not.
///
/// # Panics
/// When an address is not one of `values`.
#[inline(always)]
pub fn pack<R: Real, const N: usize>(values: &[R], lanes: &[u32], depth: &[u32], panel: &mut [[R; N]]) {
    let count = lanes.len();
    panel.iter_mut().for_each(|row| row[count..].fill(R::ZERO));
    if consecutive(lanes) {
        for (row, offset) in panel.iter_mut().zip(depth) {
            match run(values, offset.wrapping_add(lanes[0]), count) {
                // A copy whose length is known is a few moves.
                Some(run) if count == N => row.copy_from_slice(run),
                Some(run) => row[..count].copy_from_slice(run),
                None => gather(values, lanes, *offset, row),
            }
        }
        return;
    }
    let along = |lane: &u32| run(values, lane.wrapping_add(depth[0]), depth.len());
    if consecutive(depth) && lanes.iter().all(|lane| along(lane).is_some()) {
        for (l, run) in lanes.iter().filter_map(along).enumerate() {
            panel.iter_mut().zip(run).for_each(|(row, value)| row[l] = *value);
        }
    } else {
        panel.iter_mut().zip(depth).for_each(|(row, offset)| gather(values, lanes, *offset, row));
    }
}

#[inline(always)]
fn gather<R: Real>(values: &[R], lanes: &[u32], offset: u32, row: &mut [R]) {
    row.iter_mut().zip(lanes).for_each(|(entry, lane)| *entry = values[lane.wrapping_add(offset) as usize]);
}
