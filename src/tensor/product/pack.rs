//! Panels: a part of a factor, copied to the order in which the inner loop reads it.

use crate::real::Real;

/// The entries at one depth of all lanes of a panel. Aligned, so that no vector lies in two lines of the cache.
#[repr(C, align(32))]
#[derive(Clone, Copy)]
pub struct Lanes<R, const N: usize>(pub [R; N]);

/// A row of an aligned panel or of one that is not.
pub trait Row<R> {
    fn lanes(&mut self) -> &mut [R];
}

impl<R, const N: usize> Row<R> for Lanes<R, N> {
    #[inline(always)]
    fn lanes(&mut self) -> &mut [R] {
        &mut self.0
    }
}

impl<R, const N: usize> Row<R> for [R; N] {
    #[inline(always)]
    fn lanes(&mut self) -> &mut [R] {
        self
    }
}

/// Whether each is the one before it plus one.
#[inline(always)]
fn consecutive(offsets: &[u32]) -> bool {
    offsets.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1))
}

/// So many values from an address on; none where counting on would leave the numbers of 32 bits.
#[inline(always)]
fn run<R>(values: &[R], start: u32, len: usize) -> Option<&[R]> {
    let start = start as usize;
    (start + len <= 1 << 31).then(|| &values[start..start + len])
}

/// Fills a panel, a row for each of `depth`: `panel[p][l] = values[depth[p] + lanes[l]]`, and zero in lanes that there are not.
///
/// # Panics
/// When an address is not one of `values`.
#[inline(always)]
pub fn pack<R: Real, T: Row<R>>(values: &[R], lanes: &[u32], depth: &[u32], panel: &mut [T]) {
    let count = lanes.len();
    let [first, start] = [lanes[0], depth[0]];
    panel.iter_mut().for_each(|row| row.lanes()[count..].fill(R::ZERO));
    if consecutive(lanes) {
        for (row, offset) in panel.iter_mut().zip(depth) {
            let row = row.lanes();
            match run(values, offset.wrapping_add(first), count) {
                Some(run) if count == row.len() => row.copy_from_slice(run),
                Some(run) => row[..count].copy_from_slice(run),
                None => gather(values, lanes, *offset, row),
            }
        }
    } else if consecutive(depth) && lanes.iter().all(|lane| run(values, lane.wrapping_add(start), depth.len()).is_some()) {
        for (l, lane) in lanes.iter().enumerate() {
            let run = run(values, lane.wrapping_add(start), depth.len()).unwrap_or_default();
            panel.iter_mut().zip(run).for_each(|(row, value)| row.lanes()[l] = *value);
        }
    } else {
        panel.iter_mut().zip(depth).for_each(|(row, offset)| gather(values, lanes, *offset, row.lanes()));
    }
}

#[inline(always)]
fn gather<R: Real>(values: &[R], lanes: &[u32], offset: u32, row: &mut [R]) {
    row.iter_mut().zip(lanes).for_each(|(to, lane)| *to = values[lane.wrapping_add(offset) as usize]);
}
