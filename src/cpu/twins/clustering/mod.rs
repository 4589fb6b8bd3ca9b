//! Twins of the shaders of clusterings.

pub mod anneal;
pub mod init;
pub mod lloyd;
pub mod moves;
pub mod multiply;
pub mod sort;

use crate::real::Real;
use std::ops::Range;

/// Rows and columns of the lanes of a workgroup, and so of its tile, eight times as many (`shaders/clustering/shared/tile.wgsl`).
pub fn tile(group_size: u32) -> (usize, usize) {
    let columns = 1 << ((group_size - 1).count_ones() / 2);
    (8 * group_size as usize / columns, 8 * columns)
}

/// Two parts of a slice that do not overlap.
fn two<T>(values: &mut [T], a: Range<usize>, b: Range<usize>) -> (&mut [T], &mut [T]) {
    match values.get_disjoint_mut([a, b]) {
        Ok([a, b]) => (a, b),
        Err(_) => (&mut [], &mut []),
    }
}

/// ‖a − b‖², one square after the other.
#[inline(always)]
fn squared_distance<R: Real>(a: &[R], b: &[R]) -> R {
    a.iter().zip(b).fold(R::ZERO, |sum, (a, b)| {
        let difference = *a - *b;
        sum + difference * difference
    })
}

/// x rounded to half precision (`nearest_half` of `shaders/functions/bits.wgsl`).
pub fn nearest_half<R: Real>(x: R) -> R {
    let x = x.to_f64();
    let exponent = ((x as f32).to_bits() >> 23 & 0xff) as i32 - 127;
    let unit = f64::from(f32::from_bits(((exponent.max(-14) + 117) as u32) << 23));
    R::from_f64(((x / unit).round_ties_even() * unit).clamp(-65504.0, 65504.0))
}
