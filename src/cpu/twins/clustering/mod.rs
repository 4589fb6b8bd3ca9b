//! Twins of the shaders of clusterings.

pub mod anneal;
pub mod init;
pub mod lloyd;
pub mod moves;
pub(super) mod multiply;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a number of halves and the next, in the precision that is asked: what is nearest to either, and to the middle.
    #[test]
    fn halves_are_the_nearest_to_the_bit() {
        let half = |bits: u32| match bits / 1024 {
            0 => f64::from(bits) * 2f64.powi(-24),
            exponent => f64::from(1024 + bits % 1024) * 2f64.powi(exponent as i32 - 25),
        };
        let single = |x: f64| f64::from(nearest_half(x as f32));
        for bits in 0..0x7c00u32 {
            // Behind the largest is what would be the next.
            let (low, high) = (half(bits), if bits == 0x7bff { 65_504.0 } else { half(bits + 1) });
            let middle = (low + half(bits + 1)) / 2.0;
            let even = if bits.is_multiple_of(2) { low } else { high };
            let near = middle as f32;
            for (x, expected) in [
                (low, low),
                (middle.next_down(), low),
                (f64::from(near.next_down()), low),
                (middle, even),
                (f64::from(near.next_up()), high),
                (middle.next_up(), high),
            ] {
                for sign in [1.0, -1.0] {
                    assert_eq!(nearest_half(sign * x).to_bits(), (sign * expected).to_bits(), "{:e}", sign * x);
                    if f64::from(x as f32) == x {
                        assert_eq!(single(sign * x).to_bits(), (sign * expected).to_bits(), "{:e} in f32", sign * x);
                    }
                }
            }
        }
        for beyond in [65_536.0, 1e9, 3e38, 1e300, f64::INFINITY] {
            assert_eq!((nearest_half(beyond), nearest_half(-beyond)), (65_504.0, -65_504.0));
        }
        assert!(nearest_half(f64::NAN).is_nan() && nearest_half(f32::NAN).is_nan());
    }
}
